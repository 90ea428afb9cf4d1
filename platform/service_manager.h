// ServiceManager: what a daemon and systemd tell each other (sd-daemon.h), if systemd started the
// process.  Otherwise nothing is loaded, and the methods do nothing.
//
// Reads and removes the environment's LISTEN_FDS, and reads NOTIFY_SOCKET and WATCHDOG_USEC.
//
// Errors:  Internal if libsystemd is needed and cannot be loaded.
// Threads: one thread at a time.

#ifndef EBB_PLATFORM_SERVICE_MANAGER_H_
#define EBB_PLATFORM_SERVICE_MANAGER_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace ebb {

class ServiceManager {
 public:
  static absl::StatusOr<ServiceManager> Connect();

  // The socket that systemd has opened; -1 if systemd passes no socket.
  absl::StatusOr<int> InheritedSocket() const;

  // Sends a state: "READY=1", "WATCHDOG=1", "STOPPING=1".
  void Notify(const char* state) const;

  // The longest time between two WATCHDOG=1, in microseconds; 0: systemd does not watch.
  uint64_t WatchdogUs() const;

 private:
  // The functions of libsystemd; null without systemd.
  int (*listen_fds_)(int unset_environment) = nullptr;
  int (*is_socket_unix_)(int, int, int, const char*, size_t) = nullptr;
  int (*notify_)(int unset_environment, const char* state) = nullptr;
  int (*watchdog_enabled_)(int unset_environment, uint64_t* usec) = nullptr;
};

}  // namespace ebb

#endif  // EBB_PLATFORM_SERVICE_MANAGER_H_
