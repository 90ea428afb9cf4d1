// ServiceManager: what a daemon and systemd tell each other, if systemd started the process.
// Otherwise the methods do nothing.
//
// This is the protocol of sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3), which systemd
// documents as stable, so that programs need not link libsystemd.
//
//   ServiceManager systemd = ServiceManager::Connect();
//   const absl::StatusOr<int> socket = systemd.InheritedSocket();
//   systemd.Notify("READY=1");
//
// Connect removes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment, so that child
// processes do not see them, and reads NOTIFY_SOCKET, WATCHDOG_PID and WATCHDOG_USEC.
//
// Threads: one thread at a time.

#ifndef EBB_PLATFORM_SERVICE_MANAGER_H_
#define EBB_PLATFORM_SERVICE_MANAGER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace ebb {

class ServiceManager {
 public:
  static ServiceManager Connect();

  // The socket that systemd has opened; -1 if systemd passes no socket.
  // Errors: InvalidArgument, if it is not one listening Unix stream socket.
  [[nodiscard]] absl::StatusOr<int> InheritedSocket() const;

  // Sends a state: "READY=1", "WATCHDOG=1", "STOPPING=1".  A state that cannot be sent is dropped,
  // because systemd then acts as if the process were stuck.
  void Notify(const std::string& state) const;

  // The longest time between two WATCHDOG=1, in microseconds; 0: systemd does not watch.
  [[nodiscard]] uint64_t WatchdogUs() const { return watchdog_us_; }

 private:
  int64_t sockets_ = 0;  // Inherited descriptors, from 3 on; negative: not a number.
  std::string notify_socket_;
  uint64_t watchdog_us_ = 0;
};

}  // namespace ebb

#endif  // EBB_PLATFORM_SERVICE_MANAGER_H_
