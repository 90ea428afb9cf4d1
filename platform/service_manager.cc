#include "platform/service_manager.h"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "platform/loaded_library.h"

namespace ebb {

absl::StatusOr<ServiceManager> ServiceManager::Connect() {
  static constexpr auto kSetBySystemd =
      std::to_array<const char*>({"LISTEN_FDS", "NOTIFY_SOCKET", "WATCHDOG_USEC"});
  ServiceManager manager;
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  if (std::ranges::none_of(kSetBySystemd, is_set)) return manager;
  absl::StatusOr<LoadedLibrary> library = LoadedLibrary::Load("libsystemd.so.0");
  if (!library.ok()) return library.status();
  manager.listen_fds_ = library->Function<decltype(&::sd_listen_fds)>("sd_listen_fds");
  manager.is_socket_unix_ = library->Function<decltype(&::sd_is_socket_unix)>("sd_is_socket_unix");
  manager.notify_ = library->Function<decltype(&::sd_notify)>("sd_notify");
  manager.watchdog_enabled_ =
      library->Function<decltype(&::sd_watchdog_enabled)>("sd_watchdog_enabled");
  if (!library->status().ok()) return library->status();
  return manager;
}

absl::StatusOr<int> ServiceManager::InheritedSocket() const {
  if (listen_fds_ == nullptr) return -1;
  const int count = listen_fds_(/*unset_environment=*/1);
  if (count == 0) return -1;
  if (count < 0) return absl::InvalidArgumentError("what systemd hands over cannot be used");
  if (count > 1) return absl::InvalidArgumentError("systemd hands over more than one socket");
  if (is_socket_unix_(SD_LISTEN_FDS_START, SOCK_STREAM, 1, nullptr, 0) <= 0) {
    return absl::InvalidArgumentError("the socket that systemd passes is not a Unix stream socket");
  }
  return SD_LISTEN_FDS_START;
}

void ServiceManager::Notify(const char* state) const {
  if (notify_ != nullptr) notify_(0, state);
}

uint64_t ServiceManager::WatchdogUs() const {
  uint64_t watchdog_us = 0;
  const bool watches = watchdog_enabled_ != nullptr && watchdog_enabled_(0, &watchdog_us) > 0;
  return watches ? watchdog_us : 0;
}

}  // namespace ebb
