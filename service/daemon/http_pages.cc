#include "service/daemon/http_pages.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/text.h"
#include "service/daemon/listener.h"
#include "service/daemon/page_files.h"

namespace ebb {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(250);
constexpr time_t kWriteSeconds = 5;
constexpr time_t kReadSeconds = 1;  // A request is sent at once, or holds a thread up.
constexpr auto kAnswerWithin = std::chrono::seconds(30);
constexpr size_t kRequestBytesMax = 8192;

struct HostAndPort {
  std::string host;
  int port = 0;
};

absl::StatusOr<HostAndPort> ParseAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  const auto port = colon == std::string::npos || colon == 0
                        ? std::nullopt
                        : ParseInt64(std::string_view(address).substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics-address: ", Printable(address), " is not of the form HOST:PORT"));
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return HostAndPort{std::move(host), static_cast<int>(*port)};
}

// What may be read under any name: it tells of no node and no pod.
bool IsForAll(const std::string& path) { return path == "/metrics" || path == "/healthz"; }

// Whether a browser that asks has been given an address, localhost or the name of `listened`.  A
// page from elsewhere can make its own name one of this machine's addresses and read what it
// gets then (DNS rebinding), but the browser goes on sending that name.
bool IsHost(const std::string& header, const std::string& listened) {
  std::string host = header.substr(0, header.rfind(':'));
  if (header.starts_with('[')) host = header.substr(1, header.find(']') - 1);
  in6_addr address{};
  return host == "localhost" || host == listened ||
         inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

void Fail(const absl::Status& status, httplib::Response& response) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      response.status = 404;
      break;
    case absl::StatusCode::kInvalidArgument:
      response.status = 400;
      break;
    default:
      response.status = 503;
  }
  response.set_content(std::string(status.message()), "text/plain; charset=utf-8");
}

// Asks a session, as any other call does, and waits for its answer.
absl::StatusOr<std::string> Ask(
    const Sessions& sessions, const std::string& name,
    const std::function<absl::StatusOr<std::string>(Session&)>& question) {
  const auto session = sessions.Find(name);
  if (!session.ok()) return session.status();
  using Answer = absl::StatusOr<std::string>;
  // Whoever waits may be gone when the answer comes.
  const auto answer = std::make_shared<std::promise<Answer>>();
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  std::future<Answer> future = answer->get_future();
  (*session)->Post({.run = [answer, question](Session& session) -> SessionCall::Tell {
                      answer->set_value(question(session));
                      return nullptr;
                    },
                    .refuse = [answer](const absl::Status& why) { answer->set_value(why); },
                    .cancelled = [gone] { return gone->load(); }});
  if (future.wait_for(kAnswerWithin) == std::future_status::ready) return future.get();
  *gone = true;
  return absl::UnavailableError("the session is busy");
}

}  // namespace

class HttpPages::Impl {
 public:
  Impl(Sessions& sessions, std::function<std::string()> metrics)
      : sessions_(sessions), metrics_(std::move(metrics)) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (const auto& server : servers_) server->stop();
    for (std::thread& thread : threads_) thread.join();
    if (!socket_.empty()) unlink(socket_.c_str());
  }

  absl::Status ListenAt(const std::string& address) {
    const absl::StatusOr<HostAndPort> parts = ParseAddress(address);
    if (!parts.ok()) return parts.status();
    httplib::Server& server = Add();
    // Without SO_REUSEPORT, which the library sets: with it two daemons would share an address, and
    // each get some of its connections.
    server.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server.set_pre_routing_handler(
        [host = parts->host](const Request& request, Response& response) {
          if (IsForAll(request.path) || IsHost(request.get_header_value("Host"), host)) {
            return httplib::Server::HandlerResponse::Unhandled;
          }
          Fail(absl::InvalidArgumentError("Host: is no address of this machine"), response);
          return httplib::Server::HandlerResponse::Handled;
        });
    if (!server.bind_to_port(parts->host.c_str(), parts->port)) {
      return absl::InvalidArgumentError(absl::StrCat("--metrics-address: ", Printable(address),
                                                     ": cannot be listened on; is it taken?"));
    }
    Run(server);
    return absl::OkStatus();
  }

  absl::Status ListenOn(const std::string& path) {
    absl::StatusOr<UniqueFd> lock = ClaimSocketPath(path);
    if (!lock.ok()) return lock.status();
    lock_ = *std::move(lock);
    httplib::Server& server = Add();
    server.set_address_family(AF_UNIX);
    const mode_t before = umask(0177);
    const bool bound = server.bind_to_port(path.c_str(), 80);
    umask(before);
    if (!bound) {
      return absl::InvalidArgumentError(
          absl::StrCat("--metrics-socket: ", Printable(path), ": cannot be made"));
    }
    socket_ = path;
    Run(server);
    return absl::OkStatus();
  }

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;

  httplib::Server& Add() {
    httplib::Server& server = *servers_.emplace_back(std::make_unique<httplib::Server>());
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_write_timeout(kWriteSeconds);
    server.set_read_timeout(kReadSeconds);
    server.set_keep_alive_max_count(100);
    server.set_keep_alive_timeout(2);
    server.set_payload_max_length(kRequestBytesMax);
    // No script but the page's own, and nothing from elsewhere.
    server.set_default_headers({{"Content-Security-Policy",
                                 "default-src 'none'; script-src 'self'; "
                                 "style-src 'self' 'unsafe-inline'; connect-src 'self'"},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Referrer-Policy", "no-referrer"},
                                {"Cache-Control", "no-store"}});
    Route(server);
    return server;
  }

  void Run(httplib::Server& server) {
    threads_.emplace_back([&server] { server.listen_after_bind(); });
  }

  void Route(httplib::Server& server) {
    const auto file = [&](const char* path, std::string_view content, const char* type) {
      server.Get(path, [content, type](const Request&, Response& response) {
        response.set_content(content.data(), content.size(), type);
      });
    };
    file("/", kPageHtml, "text/html; charset=utf-8");
    file("/page.js", kPageJs, "text/javascript; charset=utf-8");
    file("/page.css", kPageCss, "text/css; charset=utf-8");
    file("/healthz", "ok\n", "text/plain");
    server.Get("/metrics", [this](const Request&, Response& response) {
      response.set_content(metrics_(), "text/plain; version=0.0.4; charset=utf-8");
    });
    server.Get("/sessions.json", [this](const Request&, Response& response) {
      nlohmann::ordered_json names = nlohmann::ordered_json::array();
      for (const auto& session : sessions_.All()) names.push_back(session->name());
      response.set_content(CompactJson(names), "application/json");
    });
    server.Get("/page.json", [this](const Request& request, Response& response) {
      Answer(request, response, [](Session& session) { return session.PageJson(); });
    });
    server.Get("/explain.json", [this](const Request& request, Response& response) {
      wire::ExplainCall call;
      call.add_nodes(request.get_param_value("node"));
      Answer(request, response, [call](Session& session) -> absl::StatusOr<std::string> {
        const auto reply = session.Explain(call, std::nullopt);
        if (!reply.ok()) return reply.status();
        return std::string(reply->text());
      });
    });
    server.Get("/events", [this](const Request& request, Response& response) {
      Follow(request.get_param_value("session"), response);
    });
  }

  void Answer(const Request& request, Response& response,
              const std::function<absl::StatusOr<std::string>(Session&)>& question) {
    const absl::StatusOr<std::string> answer =
        Ask(sessions_, request.get_param_value("session"), question);
    if (!answer.ok()) return Fail(answer.status(), response);
    response.set_content(*answer, "application/json");
  }

  // The session's versions, as they come.
  void Follow(const std::string& name, Response& response) {
    const auto session = sessions_.Find(name);
    if (!session.ok()) return Fail(session.status(), response);
    if (followers_.fetch_add(1) >= kFollowersMax) {
      --followers_;
      return Fail(absl::UnavailableError("too many pages follow already"), response);
    }
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, session = *session, last = std::string()](size_t, httplib::DataSink& sink) mutable {
          const wire::SessionStatus status = session->Status();
          const std::string now = absl::StrCat(status.version(), " ", status.rounds(), " ",
                                               status.fill(), " ", status.feeds());
          if (last != now) {
            last = now;
            const std::string event = absl::StrCat("data: ", status.version(), "\n\n");
            return sink.write(event.data(), event.size());
          }
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, kLookEvery, [this] { return ends_; })) {
            lock.unlock();
            sink.done();
          }
          return sink.is_writable();
        },
        [this](bool) { --followers_; });
  }

  Sessions& sessions_;
  const std::function<std::string()> metrics_;
  std::vector<std::unique_ptr<httplib::Server>> servers_;
  std::vector<std::thread> threads_;
  UniqueFd lock_;
  std::string socket_;
  std::atomic<size_t> followers_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
};

HttpPages::HttpPages(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpPages::~HttpPages() = default;

absl::StatusOr<std::unique_ptr<HttpPages>> HttpPages::Start(const HttpPagesOptions& options,
                                                            Sessions& sessions,
                                                            std::function<std::string()> metrics) {
  auto impl = std::make_unique<Impl>(sessions, std::move(metrics));
  if (!options.address.empty()) {
    if (absl::Status s = impl->ListenAt(options.address); !s.ok()) return s;
  }
  if (!options.socket.empty()) {
    if (absl::Status s = impl->ListenOn(options.socket); !s.ok()) return s;
  }
  return std::unique_ptr<HttpPages>(new HttpPages(std::move(impl)));
}

}  // namespace ebb
