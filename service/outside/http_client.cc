#include "service/outside/http_client.h"

#include <fmt/format.h>
#include <httplib.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/printable.h"

namespace ebb {
namespace {

std::string NameOf(const HttpAddress& address) { return Printable(address.server + address.path); }

// Ends a connection when its time is up, from a thread of its own: the library's timeouts are of
// one read each, and begin anew with every byte.
class TimeUp {
 public:
  explicit TimeUp(int64_t timeout_s)
      : end_(std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s)),
        watcher_([this] { Watch(); }) {}
  ~TimeUp() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    watcher_.join();
    if (connection_ >= 0) close(connection_);
  }
  TimeUp(const TimeUp&) = delete;
  TimeUp& operator=(const TimeUp&) = delete;

  // Another descriptor of the connection: one that the library closes may become another file's.
  void Connection(int socket) {
    const std::lock_guard lock(mutex_);
    if (connection_ >= 0) close(connection_);
    connection_ = dup(socket);
  }
  [[nodiscard]] bool Passed() {
    const std::lock_guard lock(mutex_);
    return passed_;
  }

 private:
  void Watch() {
    std::unique_lock lock(mutex_);
    const auto is_done = [&] { return done_; };
    if (changed_.wait_until(lock, end_, is_done)) return;
    passed_ = true;
    // Again and again: the library may go on with another address of the server.
    do {
      if (connection_ >= 0) shutdown(connection_, SHUT_RDWR);
    } while (!changed_.wait_for(lock, std::chrono::milliseconds(20), is_done));
  }

  const std::chrono::steady_clock::time_point end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  bool passed_ = false;
  int connection_ = -1;
  std::thread watcher_;  // The last: it uses the others.
};

// TLS writes to a connection that is gone: an error of this request, and no signal, which would end
// the process.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

absl::Status Refused(const HttpAddress& address, int code) {
  const std::string what = fmt::format("{}: HTTP {}", NameOf(address), code);
  if (code == 408 || code == 429 || code >= 500) return absl::UnavailableError(what);
  return absl::FailedPreconditionError(what);
}

absl::StatusOr<std::string> Send(const HttpAddress& address, httplib::Request request,
                                 int64_t timeout_s) {
  httplib::Client client(address.server);
  if (!client.is_valid()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: this build cannot speak to such an address", NameOf(address)));
  }
  client.set_connection_timeout(timeout_s);
  client.set_read_timeout(timeout_s);
  client.set_write_timeout(timeout_s);
  std::string body;
  bool too_large = false;
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    too_large = size > kHttpAnswerBytesMax - body.size();
    if (!too_large) body.append(data, size);
    return !too_large;
  };
  TimeUp time_up(timeout_s);
  client.set_socket_options([&](socket_t socket) { time_up.Connection(socket); });
  const NoPipeSignal no_signal;
  const httplib::Result answer = client.send(request);
  if (too_large) {
    return absl::FailedPreconditionError(
        fmt::format("{}: its answer has more than {} MiB", NameOf(address), kHttpAnswerMiBMax));
  }
  // A body without a length ends where the connection does, also if that is cut.
  if (time_up.Passed()) {
    return absl::UnavailableError(
        fmt::format("{}: it gave no whole answer within {} s", NameOf(address), timeout_s));
  }
  if (!answer) {
    return absl::UnavailableError(
        fmt::format("{}: {}", NameOf(address), httplib::to_string(answer.error())));
  }
  if (answer->status < 200 || answer->status >= 300) return Refused(address, answer->status);
  return body;
}

std::string PathOf(const HttpAddress& address) { return address.path.empty() ? "/" : address.path; }

}  // namespace

absl::StatusOr<std::string> HttpGet(
    const HttpAddress& address, const std::vector<std::pair<std::string, std::string>>& parameters,
    int64_t timeout_s) {
  httplib::Params params;
  for (const auto& [name, value] : parameters) params.emplace(name, value);
  httplib::Request request;
  request.method = "GET";
  request.path = httplib::append_query_params(PathOf(address), params);
  return Send(address, std::move(request), timeout_s);
}

absl::StatusOr<std::string> HttpPostJson(const HttpAddress& address, const std::string& body,
                                         int64_t timeout_s) {
  httplib::Request request;
  request.method = "POST";
  request.path = PathOf(address);
  request.set_header("Content-Type", "application/json");
  request.body = body;
  return Send(address, std::move(request), timeout_s);
}

}  // namespace ebb
