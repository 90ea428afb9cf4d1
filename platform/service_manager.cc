#include "platform/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/unique_fd.h"

namespace ebb {
namespace {

constexpr int kFirstInherited = 3;  // SD_LISTEN_FDS_START.

std::optional<int64_t> WholeNumberIn(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return -1;
  return number;
}

bool IsThisProcess(int64_t pid) { return pid == static_cast<int64_t>(getpid()); }

int SocketOption(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

ServiceManager ServiceManager::Connect() {
  ServiceManager manager;
  // The variables are for the process with this id; a parent may have left them.
  if (IsThisProcess(WholeNumberIn("LISTEN_PID").value_or(-1))) {
    manager.sockets_ = WholeNumberIn("LISTEN_FDS").value_or(0);
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
  if (const char* const socket = std::getenv("NOTIFY_SOCKET")) manager.notify_socket_ = socket;
  const std::optional<int64_t> watched = WholeNumberIn("WATCHDOG_PID");
  const int64_t watchdog_us = WholeNumberIn("WATCHDOG_USEC").value_or(0);
  if (watchdog_us > 0 && (!watched || IsThisProcess(*watched))) {
    manager.watchdog_us_ = static_cast<uint64_t>(watchdog_us);
  }
  return manager;
}

absl::StatusOr<int> ServiceManager::InheritedSocket() const {
  if (sockets_ == 0) return -1;
  if (sockets_ < 0) return absl::InvalidArgumentError("what systemd hands over cannot be used");
  if (sockets_ > 1) return absl::InvalidArgumentError("systemd hands over more than one socket");
  sockaddr_un address{};
  socklen_t size = sizeof(address);
  if (SocketOption(kFirstInherited, SO_TYPE) != SOCK_STREAM ||
      SocketOption(kFirstInherited, SO_ACCEPTCONN) != 1 ||
      getsockname(kFirstInherited, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sun_family != AF_UNIX) {
    return absl::InvalidArgumentError("the socket that systemd passes is not a Unix stream socket");
  }
  fcntl(kFirstInherited, F_SETFD, FD_CLOEXEC);
  return kFirstInherited;
}

void ServiceManager::Notify(const std::string& state) const {
  sockaddr_un address{};
  if (notify_socket_.empty() || notify_socket_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, notify_socket_.data(), notify_socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // Not a file: an abstract name.
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return;
  sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + notify_socket_.size()));
}

}  // namespace ebb
