#include "daemon/http_pages.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "daemon/http_server.h"
#include "daemon/listener.h"
#include "daemon/page_json.h"
#include "report/html_page.h"
#include "report/page_files.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(250);
constexpr auto kAnswerWithin = std::chrono::seconds(30);

// Allows no script but the page's own, and nothing from other servers.
constexpr const char* kPageHeaders =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store\r\n";

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

// Paths that are served for any Host header, because they name no node and no pod.
bool IsForAll(const std::string& path) { return path == "/metrics" || path == "/healthz"; }

// Whether a Host header is an IP address, localhost or the name `listened`.  Another site can make
// its own name resolve to an address of this machine and then read the answers (DNS rebinding), but
// the browser keeps sending that site's name in the Host header.
bool IsHost(const std::string& header, const std::string& listened) {
  std::string host = header.substr(0, header.rfind(':'));
  if (header.starts_with('[')) host = header.substr(1, header.find(']') - 1);
  in6_addr address{};
  return host == "localhost" || host == listened ||
         inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

HttpResponse Failed(const absl::Status& status) {
  const int code = status.code() == absl::StatusCode::kNotFound          ? 404
                   : status.code() == absl::StatusCode::kInvalidArgument ? 400
                                                                         : 503;
  return {.status = code, .body = std::string(status.message())};
}

// Runs `question` on a session, as any other call does, and waits for the answer.
absl::StatusOr<std::string> Ask(
    const Sessions& sessions, const std::string& name,
    const std::function<absl::StatusOr<std::string>(Session&)>& question) {
  const auto session = sessions.Find(name);
  if (!session.ok()) return session.status();
  using Answer = absl::StatusOr<std::string>;
  // The waiting thread may be gone when the answer comes.
  const auto answer = std::make_shared<std::promise<Answer>>();
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  std::future<Answer> future = answer->get_future();
  (*session)->Post({.run = [answer, question](Session& session) -> SessionCall::Respond {
                      return [answer, made = std::make_shared<Answer>(question(session))] {
                        answer->set_value(std::move(*made));
                      };
                    },
                    .refuse = [answer](const absl::Status& why) { answer->set_value(why); },
                    .cancelled = [gone] { return gone->load(); },
                    .kind = SessionCall::Kind::kQuestion});
  if (future.wait_for(kAnswerWithin) == std::future_status::ready) return future.get();
  *gone = true;
  return absl::UnavailableError("the session is busy");
}

}  // namespace

class HttpPages::Impl {
 public:
  Impl(Sessions& sessions, std::function<std::string()> metrics)
      : sessions_(sessions),
        metrics_(std::move(metrics)),
        server_([this](const HttpRequest& request) { return Respond(request); },
                {.headers = kPageHeaders,
                 .is_quick = [](const HttpRequest& request) { return request.path == "/healthz"; },
                 .is_reserved =
                     [](const HttpRequest& request) { return request.path == "/metrics"; }}) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (!socket_.empty()) unlink(socket_.c_str());
  }

  absl::Status ListenAt(const std::string& address) {
    const absl::StatusOr<HostAndPort> parts = ParseAddress(address);
    if (!parts.ok()) return parts.status();
    host_ = parts->host;
    absl::Status listens = server_.ListenAt(parts->host, parts->port);
    if (listens.ok()) return listens;
    return absl::InvalidArgumentError(absl::StrCat("--metrics-address: ", Printable(address),
                                                   ": cannot be listened on; is it taken? ",
                                                   listens.message()));
  }

  absl::Status ListenOn(const std::string& path) {
    absl::StatusOr<LockFile> lock = ClaimSocketPath(path);
    if (!lock.ok()) return lock.status();
    lock_ = *std::move(lock);
    const absl::Status listens = server_.ListenOn(path);
    if (!listens.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--metrics-socket: ", Printable(path),
                                                     ": cannot be made: ", listens.message()));
    }
    socket_ = path;
    return absl::OkStatus();
  }

  void Start() { server_.Start(); }

 private:
  // Called by any thread of the server.
  HttpResponse Respond(const HttpRequest& request) {
    const std::string& path = request.path;
    if (request.at_address && !IsForAll(path) && !IsHost(request.host, host_)) {
      return Failed(absl::InvalidArgumentError("Host: is no address of this machine"));
    }
    if (path == "/") return File(ServedPage(), "text/html; charset=utf-8");
    if (path == "/page.js") return File(kPageJs, "text/javascript; charset=utf-8");
    if (path == "/page.css") return File(kPageCss, "text/css; charset=utf-8");
    if (path == "/healthz") return File("ok\n", "text/plain");
    if (path == "/metrics")
      return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_()};
    if (path == "/sessions.json") return SessionNames();
    if (path == "/events") return Follow(request.Parameter("session"));
    if (path == "/page.json") {
      const auto owner = sessions_.Find(request.Parameter("session"));
      if (!owner.ok()) return Failed(owner.status());
      return Answer(request, [this, of = std::weak_ptr<const void>(*owner)](Session& session) {
        return pages_.Of(of, session);
      });
    }
    if (path == "/explain.json") return ExplainNode(request);
    return {.status = 404, .body = "there is no such page\n"};
  }

  static HttpResponse File(std::string_view content, const char* type) {
    return {.type = type, .body = std::string(content)};
  }

  [[nodiscard]] HttpResponse SessionNames() const {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const auto& session : sessions_.All()) names.push_back(session->name());
    return {.type = "application/json", .body = CompactJson(names)};
  }

  [[nodiscard]] HttpResponse ExplainNode(const HttpRequest& request) const {
    wire::ExplainCall call;
    call.add_nodes(request.Parameter("node"));
    return Answer(request, [call](Session& session) -> absl::StatusOr<std::string> {
      const auto reply = session.questions().Explain(call, std::nullopt);
      if (!reply.ok()) return reply.status();
      return std::string(reply->json());
    });
  }

  [[nodiscard]] HttpResponse Answer(
      const HttpRequest& request,
      const std::function<absl::StatusOr<std::string>(Session&)>& question) const {
    absl::StatusOr<std::string> answer = Ask(sessions_, request.Parameter("session"), question);
    if (!answer.ok()) return Failed(answer.status());
    return {.type = "application/json", .body = *std::move(answer)};
  }

  // Streams the session's versions.
  HttpResponse Follow(const std::string& name) {
    const auto session = sessions_.Find(name);
    if (!session.ok()) return Failed(session.status());
    if (followers_.fetch_add(1) >= kFollowersMax) {
      --followers_;
      return Failed(absl::UnavailableError("too many pages follow already"));
    }
    // Decremented when the last copy of the response is gone.
    const auto counted = std::shared_ptr<void>(nullptr, [this](void*) { --followers_; });
    return {.type = "text/event-stream",
            .next = [this, counted, session = *session, last = std::string()]() mutable {
              return NextEvent(*session, last);
            }};
  }

  // "": nothing has changed since `last` for a while; nullopt: the stream ends.
  std::optional<std::string> NextEvent(const SessionThread& session, std::string& last) {
    const wire::SessionStatus status = session.Status();
    std::string now = absl::StrCat(status.version(), " ", status.rounds(), " ", status.fill(), " ",
                                   status.feeds());
    if (last != now) {
      last = std::move(now);
      return absl::StrCat("data: ", status.version(), "\n\n");
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kLookEvery, [this] { return ends_; })) return std::nullopt;
    return "";
  }

  Sessions& sessions_;
  const std::function<std::string()> metrics_;
  std::string host_;  // The host name that is listened on.
  LockFile lock_;
  std::string socket_;
  std::atomic<size_t> followers_ = 0;
  PageJsons pages_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;

  HttpServer server_;  // The last member: its threads use the others.
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
  impl->Start();
  return std::unique_ptr<HttpPages>(new HttpPages(std::move(impl)));
}

}  // namespace ebb
