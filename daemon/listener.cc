#include "daemon/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "platform/folder_owner.h"

namespace ebb {
namespace {

// More than the kernel allows: it reduces the number to its own limit.
constexpr int kBacklog = 4096;

absl::Status Wrong(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Printable(path), ": ", std::string(what)));
}
absl::Status Failed(const std::string& path, std::string_view what) {
  return Wrong(path, absl::StrCat(std::string(what), ": ", std::strerror(errno)));
}

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return absl::InvalidArgumentError("the path of the socket is empty");
  if (path.find('\0') != std::string::npos) return Wrong(path, "has a zero byte in it");
  if (path.size() >= sizeof(address.sun_path)) {
    return Wrong(path, absl::StrCat("is too long for a socket: ", path.size(), " bytes, and ",
                                    sizeof(address.sun_path) - 1, " is the most"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Checks that no other user may put another socket in its place.
absl::Status CheckFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  struct stat status{};
  if (stat(folder.c_str(), &status) != 0) return Failed(path, "its folder cannot be used");
  if (!S_ISDIR(status.st_mode)) return Wrong(path, "its folder is not a folder");
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return Wrong(path, "its folder is another user's");
  }
  const bool sticky = (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky) {
    return Wrong(path, "its folder may be written by others; chmod go-w it");
  }
  const absl::Status above = CheckOnlyWeMayReplace(folder);
  return above.ok()
             ? above
             : Wrong(path, absl::StrCat("other users may replace its folder: ", above.message()));
}

absl::StatusOr<LockFile> Lock(const std::string& path) {
  const std::string name = path + ".lock";
  absl::StatusOr<LockFile> lock = LockFile::Take(name);
  if (lock.ok()) return lock;
  if (absl::IsFailedPrecondition(lock.status())) return Wrong(path, "another ebb serves on it");
  return Wrong(name, absl::StrCat("cannot be made: ", lock.status().message()));
}

// Removes a socket on which no process listens.
absl::Status ClearStale(const std::string& path, const sockaddr_un& address) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? absl::OkStatus() : Failed(path, "cannot be looked at");
  }
  if (!S_ISSOCK(status.st_mode)) return Wrong(path, "exists already and is not a socket");
  if (status.st_uid != geteuid()) return Wrong(path, "is another user's socket");
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return Failed(path, "cannot be tried");
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno != ECONNREFUSED) {
    return Wrong(path, "another process listens on it already");
  }
  if (unlink(path.c_str()) != 0) return Failed(path, "is stale, and cannot be taken away");
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Bind(const std::string& path, const sockaddr_un& address, mode_t mode) {
  UniqueFd bound(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bound.get() < 0) return Failed(path, "cannot be made");
  // The file gets the mode of the bound socket, less the umask, so it is never wider.
  const mode_t umask_before = umask(0);
  const bool made =
      fchmod(bound.get(), mode) == 0 &&
      bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const int error = errno;
  umask(umask_before);
  errno = error;
  if (!made) return Failed(path, "cannot be made");
  if (listen(bound.get(), kBacklog) != 0) return Failed(path, "cannot be listened on");
  return bound;
}

}  // namespace

absl::StatusOr<LockFile> ClaimSocketPath(const std::string& path) {
  const absl::StatusOr<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.status();
  if (absl::Status s = CheckFolder(path); !s.ok()) return s;
  absl::StatusOr<LockFile> lock = Lock(path);
  if (!lock.ok()) return lock;
  if (absl::Status s = ClearStale(path, *address); !s.ok()) return s;
  return lock;
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const ListenerOptions& options) {
  std::unique_ptr<Listener> listener(new Listener());
  listener->allowed_users_ = options.allowed_users;
  if (listener->allowed_users_.empty()) listener->allowed_users_.insert(geteuid());
  listener->allowed_users_.insert(0);
  listener->stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (options.inherited >= 0) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (getsockopt(options.inherited, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        listens == 0) {
      return absl::InvalidArgumentError("the socket that was handed over does not listen");
    }
    fcntl(options.inherited, F_SETFD, FD_CLOEXEC);
    fcntl(options.inherited, F_SETFL, fcntl(options.inherited, F_GETFL) | O_NONBLOCK);
    listener->socket_ = UniqueFd(options.inherited);
    return listener;
  }
  absl::StatusOr<LockFile> lock = ClaimSocketPath(options.path);
  if (!lock.ok()) return lock.status();
  listener->lock_ = *std::move(lock);
  const absl::StatusOr<sockaddr_un> address = AddressOf(options.path);
  if (!address.ok()) return address.status();
  const bool others = listener->allowed_users_.size() > (geteuid() == 0 ? 1 : 2);
  absl::StatusOr<UniqueFd> bound = Bind(options.path, *address, others ? 0666 : 0600);
  if (!bound.ok()) return bound.status();
  listener->socket_ = *std::move(bound);
  struct stat status{};
  if (lstat(options.path.c_str(), &status) == 0) listener->inode_ = status.st_ino;
  listener->path_ = options.path;
  return listener;
}

Listener::~Listener() {
  Stop();
  if (path_.empty()) return;
  struct stat status{};
  if (lstat(path_.c_str(), &status) == 0 && status.st_ino == inode_) unlink(path_.c_str());
}

void Listener::Start(std::function<void(UniqueFd)> take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void Listener::Run() {
  std::array<pollfd, 2> ready{pollfd{socket_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (true) {
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    if (ready[0].revents == 0) continue;
    UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.get() < 0) {
      // Out of descriptors or memory: other connections have to end first.
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      continue;
    }
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        !allowed_users_.contains(peer.uid)) {
      ++refused_;
      continue;
    }
    ++accepted_;
    take_(std::move(connection));
  }
}

}  // namespace ebb
