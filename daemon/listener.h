// Listener: a Unix socket that only permitted users may use.
//
//   auto listener = Listener::Open({.path = "/run/ebb/ebb.sock"});
//   (*listener)->Start([](UniqueFd connection) { Serve(std::move(connection)); });
//
// Safety: the socket has mode 0600 from its creation.  If other users are allowed, the mode is
//         0666, and the listener checks the uid of each connection.  Other users must not have
//         write permission to its folder, unless that is sticky as /tmp is, nor to a folder above
//         it (folder_owner.h).  A connection of a user who is not allowed is closed before a byte
//         of it is read.
// Stale:  an existing socket file is replaced only if no process listens on it.  A lock file beside
//         it (PATH.lock), whose lock ends with its process, decides between two daemons that start
//         at once.
// Errors: one line naming the path: it is too long, its folder does not exist, a process listens
//         there, it is not a socket, or it belongs to another user.
// Threads: one of its own, which passes connections on.

#ifndef EBB_DAEMON_LISTENER_H_
#define EBB_DAEMON_LISTENER_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "platform/lock_file.h"

namespace ebb {

struct ListenerOptions {
  std::string path;
  // A listening socket that already exists, such as one passed by systemd; -1: make one at `path`.
  int inherited = -1;
  // Users who may connect; empty: the user that this process runs as.  Root may always connect.
  std::set<uid_t> allowed_users = {};
};

// Makes sure that `path` is free for a socket, removing a stale one.
// Returns the lock file beside it, which must be held as long as the socket exists.
// Errors: as Listener's.
absl::StatusOr<LockFile> ClaimSocketPath(const std::string& path);

class Listener {
 public:
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const ListenerOptions& options);
  // Stops, and removes the socket if the file is still this listener's.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // `take` receives every connection of an allowed user; it must not block for long.
  void Start(std::function<void(UniqueFd connection)> take);
  // Accepts no more connections.
  void Stop();

  [[nodiscard]] uint64_t accepted() const { return accepted_; }
  [[nodiscard]] uint64_t refused() const { return refused_; }

 private:
  Listener() = default;
  void Run();

  std::string path_;  // Empty: the socket is inherited, and must not be removed.
  ino_t inode_ = 0;
  LockFile lock_;
  UniqueFd socket_;
  UniqueFd stop_;  // An eventfd.
  std::set<uid_t> allowed_users_;
  std::function<void(UniqueFd)> take_;
  std::atomic<uint64_t> accepted_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_LISTENER_H_
