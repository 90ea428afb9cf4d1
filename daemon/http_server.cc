#include "daemon/http_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text.h"
#include "daemon/listener.h"
#include "platform/clock.h"

namespace ebb {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr int kHttpBacklog = 4096;  // The kernel reduces it to its own limit.

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes a part of a query: %XX is a byte and "+" a space; anything else is unchanged.
std::string Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// "/page.json?session=prod".
void ReadTarget(std::string_view target, HttpRequest& request) {
  const size_t query = std::min(target.find('?'), target.size());
  request.path = target.substr(0, query);
  if (query == target.size()) return;
  for (const absl::string_view each : absl::StrSplit(Absl(target.substr(query + 1)), '&')) {
    const std::string_view pair(each.data(), each.size());
    const size_t equals = std::min(pair.find('='), pair.size());
    request.parameters.try_emplace(
        Decoded(pair.substr(0, equals)),
        equals < pair.size() ? Decoded(pair.substr(equals + 1)) : std::string());
  }
}

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

// The system's message for an error number.
std::string SystemError(int error) { return std::generic_category().message(error); }

// A connection whose request is incomplete.
struct Incoming {
  UniqueFd socket;
  bool at_address;
  Clock::time_point end;
  std::string head;
};

struct HttpCall {
  UniqueFd socket;
  HttpHead head;
  bool reserved;
};

// Sends all of `bytes` before `end`; false: the client is gone or too slow.
bool SendAll(int socket, std::string_view bytes, Clock::time_point end) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd writable{socket, POLLOUT, 0};
    if (left <= 0 || poll(&writable, 1, static_cast<int>(left)) == 0) return false;
  }
  return true;
}

// Whether the client has closed its connection.
bool IsGone(int socket) {
  pollfd state{socket, POLLIN | POLLRDHUP, 0};
  return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

}  // namespace

std::string HttpRequest::Parameter(std::string_view name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

std::optional<HttpHead> ParseHttpHead(std::string_view text) {
  if (!text.ends_with(kHeadEnd)) return std::nullopt;
  text.remove_suffix(kHeadEnd.size());
  HttpHead head;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(Absl(text), "\r\n")) {
    if (std::exchange(first, false)) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      if (words.size() != 3 || !absl::StartsWith(words[1], "/") ||
          (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")) {
        return std::nullopt;
      }
      head.method = std::string(words[0]);
      ReadTarget({words[1].data(), words[1].size()}, head.request);
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (!absl::EqualsIgnoreCase(field.first, "Host")) continue;
    if (!head.request.host.empty()) return std::nullopt;  // Two Host headers are ambiguous.
    head.request.host = std::string(absl::StripAsciiWhitespace(field.second));
  }
  return head;
}

class HttpServer::Impl {
 public:
  Impl(std::function<HttpResponse(const HttpRequest&)> handler, HttpServerOptions options)
      : handler_(std::move(handler)),
        options_(std::move(options)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Impl() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
    if (reader_.joinable()) reader_.join();
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      for (const int socket : answering_) shutdown(socket, SHUT_RDWR);
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  absl::Status ListenAt(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    if (const int e = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
        e != 0) {
      return absl::InvalidArgumentError(gai_strerror(e));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
    int error = EADDRNOTAVAIL;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      UniqueFd fd(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const int yes = 1;
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
      if (bind(fd.get(), each->ai_addr, each->ai_addrlen) == 0 &&
          listen(fd.get(), kHttpBacklog) == 0) {
        listeners_.push_back({std::move(fd), /*at_address=*/true});
        return absl::OkStatus();
      }
      error = errno;
    }
    return absl::InvalidArgumentError(SystemError(error));
  }

  absl::Status ListenOn(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
      return absl::InvalidArgumentError(SystemError(ENAMETOOLONG));
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.get() < 0) return absl::InvalidArgumentError(SystemError(errno));
    // The file gets the mode of the bound socket, less the umask.
    const mode_t before = umask(0177);
    const bool bound =
        bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
        listen(fd.get(), kHttpBacklog) == 0;
    const int error = errno;
    umask(before);
    if (!bound) return absl::InvalidArgumentError(SystemError(error));
    listeners_.push_back({std::move(fd), /*at_address=*/false});
    return absl::OkStatus();
  }

  void Start() {
    reader_ = std::thread([this] { Read(); });
  }

 private:
  struct Listening {
    UniqueFd socket;
    bool at_address;
  };

  // --- The reading thread

  void Read() {
    std::vector<pollfd> ready;
    while (true) {
      ready.clear();
      ready.push_back({stop_.get(), POLLIN, 0});
      for (const Listening& each : listeners_) ready.push_back({each.socket.get(), POLLIN, 0});
      for (const Incoming& each : incoming_) ready.push_back({each.socket.get(), POLLIN, 0});
      // The deadlines of heads are checked every second.
      if (poll(ready.data(), ready.size(), incoming_.empty() ? -1 : 1000) < 0 && errno != EINTR) {
        return;
      }
      if (ready[0].revents != 0) return;
      const size_t heads = 1 + listeners_.size();
      for (size_t i = heads; i < ready.size(); ++i) {
        if (ready[i].revents != 0) ReadOn(incoming_[i - heads]);
      }
      for (size_t i = 1; i < heads; ++i) {
        if (ready[i].revents != 0) Accept(listeners_[i - 1]);
      }
      std::erase_if(incoming_, [now = Clock::now()](const Incoming& each) {
        return each.socket.get() < 0 || each.end < now;
      });
    }
  }

  void Accept(const Listening& listener) {
    // Only some, so that heads are read in between.
    for (int i = 0; i < 64; ++i) {
      UniqueFd socket(
          accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.get() < 0) {
        // Out of descriptors or memory: other connections have to end first.
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return;
      }
      if (incoming_.size() >= kHeadsMax) incoming_.pop_front();
      incoming_.push_back({.socket = std::move(socket),
                           .at_address = listener.at_address,
                           .end = Clock::now() + std::chrono::seconds(kHeadSeconds),
                           .head = {}});
      ReadOn(incoming_.back());
    }
  }

  // Reads the available part of a head.  Afterwards the connection is passed on, closed or still
  // incomplete.
  void ReadOn(Incoming& from) {
    std::array<char, kHeadBytesMax + 1> bytes;
    const ssize_t got = recv(from.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return Close(from);
    from.head.append(bytes.data(), static_cast<size_t>(got));
    const size_t end = from.head.find(kHeadEnd);
    if (std::min(end, from.head.size()) > kHeadBytesMax) return Refuse(from, 431);
    if (end == std::string::npos) return;
    std::optional<HttpHead> head =
        ParseHttpHead(std::string_view(from.head).substr(0, end + kHeadEnd.size()));
    if (!head) return Refuse(from, 400);
    if (head->method != "GET" && head->method != "HEAD") return Refuse(from, 405);
    head->request.at_address = from.at_address;
    if (options_.is_quick != nullptr && options_.is_quick(head->request)) {
      SendShort(from, handler_(head->request), head->method == "HEAD");
      return Close(from);
    }
    if (!Take(from, *std::move(head))) Refuse(from, 503);
  }

  // Passes a request to an answering thread; false: too many are busy.
  bool Take(Incoming& from, HttpHead head) {
    const bool reserved = options_.is_reserved != nullptr && options_.is_reserved(head.request);
    const std::lock_guard lock(mutex_);
    size_t& busy = reserved ? busy_reserved_ : busy_;
    if (busy >= (reserved ? kReserved : kThreads - kReserved)) return false;
    ++busy;
    waiting_calls_.push_back({std::move(from.socket), std::move(head), reserved});
    // Threads are started on demand: there are always at least as many threads as requests.
    if (workers_.size() < busy_ + busy_reserved_) workers_.emplace_back([this] { Work(); });
    changed_.notify_one();
    return true;
  }

  void Refuse(Incoming& from, int status) {
    HttpResponse response{.status = status};
    response.body = absl::StrCat(ReasonOf(status), "\n");
    SendShort(from, response, /*without_body=*/false);
    Close(from);
  }
  // A few bytes on a new connection: they fit into its buffer, or the client is gone.
  void SendShort(const Incoming& to, const HttpResponse& response, bool without_body) const {
    SendAll(to.socket.get(), HeadOf(response) + (without_body ? "" : response.body), Clock::now());
  }
  static void Close(Incoming& from) { UniqueFd closed = std::move(from.socket); }

  // --- The answering threads

  void Work() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !waiting_calls_.empty(); });
      if (ends_) return;
      HttpCall asked = std::move(waiting_calls_.front());
      waiting_calls_.pop_front();
      answering_.push_back(asked.socket.get());
      lock.unlock();
      Answer(asked);
      lock.lock();
      std::erase(answering_, asked.socket.get());
      --(asked.reserved ? busy_reserved_ : busy_);
    }
  }

  void Answer(const HttpCall& asked) {
    const int socket = asked.socket.get();
    const HttpResponse response = handler_(asked.head.request);
    const auto end = Clock::now() + std::chrono::seconds(kAnswerSeconds);
    if (!SendAll(socket, HeadOf(response), end) || asked.head.method == "HEAD") return;
    if (!SendAll(socket, response.body, end) || response.next == nullptr) return;
    while (!IsGone(socket)) {
      const std::optional<std::string> piece = response.next();
      const auto piece_end = Clock::now() + std::chrono::seconds(kPieceSeconds);
      if (!piece || !SendAll(socket, *piece, piece_end)) return;
    }
  }

  [[nodiscard]] std::string HeadOf(const HttpResponse& response) const {
    // The end of the connection ends the body of a stream.
    const std::string length = response.next != nullptr
                                   ? ""
                                   : absl::StrCat("Content-Length: ", response.body.size(), "\r\n");
    return absl::StrCat("HTTP/1.1 ", response.status, " ", ReasonOf(response.status), "\r\n",
                        "Content-Type: ", response.type, "\r\n", length, options_.headers,
                        "Connection: close\r\n\r\n");
  }

  const std::function<HttpResponse(const HttpRequest&)> handler_;
  const HttpServerOptions options_;
  const UniqueFd stop_;
  std::vector<Listening> listeners_;
  std::deque<Incoming> incoming_;  // Used only by the reading thread.
  std::thread reader_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<HttpCall> waiting_calls_;
  std::vector<int> answering_;  // Sockets.
  std::vector<std::thread> workers_;
  size_t busy_ = 0;
  size_t busy_reserved_ = 0;
  bool ends_ = false;
};

HttpServer::HttpServer(std::function<HttpResponse(const HttpRequest&)> handler,
                       HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(handler), std::move(options))) {}
HttpServer::~HttpServer() = default;

absl::Status HttpServer::ListenAt(const std::string& host, int port) {
  return impl_->ListenAt(host, port);
}
absl::Status HttpServer::ListenOn(const std::string& path) { return impl_->ListenOn(path); }
void HttpServer::Start() { impl_->Start(); }

}  // namespace ebb
