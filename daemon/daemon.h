// Daemon: a socket, a gRPC server behind it, and the sessions that it serves.
//
//   absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(options);
//   WaitForSignal();
//   (*daemon)->Stop();
//
// Errors:  those of Listener; a state folder that does not exist, that other users may access, or
//          that another daemon uses.
// Threads: Start and Stop by one thread.

#ifndef EBB_DAEMON_DAEMON_H_
#define EBB_DAEMON_DAEMON_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/http_pages.h"
#include "daemon/listener.h"
#include "daemon/planner_service.h"
#include "daemon/sessions.h"
#include "session/session_options.h"

namespace ebb {

struct DaemonOptions {
  ListenerOptions listener;
  SessionOptions session;
  Sessions::Limits limits;
  HttpPagesOptions pages;
  // More text for /metrics, after the daemon's own metrics.  Null: none.
  std::function<std::string()> more_metrics = nullptr;
  size_t message_bytes_max = size_t{64} << 20;
  // How long running calls may continue after Stop() begins.
  std::chrono::milliseconds grace{10'000};
  std::function<void(const EndedCall&)> on_call;
};

class Daemon {
 public:
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(DaemonOptions options);
  // As Stop().
  ~Daemon();

  // Accepts no new calls, waits for running calls, and ends streams.
  void Stop();

  [[nodiscard]] Sessions& sessions();
  [[nodiscard]] uint64_t connections_accepted() const;
  [[nodiscard]] uint64_t connections_refused() const;

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_DAEMON_H_
