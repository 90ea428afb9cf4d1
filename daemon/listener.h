// Listener: a Unix socket that only the right users may use.
//
//   auto listener = Listener::Open({.path = "/run/ebb/ebb.sock"});
//   (*listener)->Start([](UniqueFd connection) { Serve(std::move(connection)); });
//
// Safety: the socket has mode 0600 from its first moment, or 0666 where other users are
//         allowed, whose uid is then what counts; others may write neither its folder, unless it is
//         sticky as /tmp is, nor one above it (folder_owner.h).  A connection of a user who is not
//         allowed is closed as it comes, before a byte of it is read.
// Stale:  a socket file is taken over only if nobody listens.  A lock beside it (PATH.lock),
//         which ends with its process, decides between two that start at once.
// Errors: one line naming the path: too long, no such folder, somebody listens, not a socket,
//         someone else's.
// Threads: one of its own, which hands connections on.

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
  // A listening socket that is there already, as systemd hands it over; -1: `path` is made.
  int inherited = -1;
  // Who may connect; empty: the user that this process runs as.  Root may always.
  std::set<uid_t> allowed_users = {};
};

// Makes sure that `path` is free for a socket, taking a stale one away.
// Returns the lock beside it, to be held as long as the socket is there.
// Errors: as Listener's.
absl::StatusOr<LockFile> ClaimSocketPath(const std::string& path);

class Listener {
 public:
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const ListenerOptions& options);
  // Stops, and takes the socket away if it is still this one's.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // `take` is given every connection of a user who is allowed; it does not block for long.
  void Start(std::function<void(UniqueFd connection)> take);
  // No more connections are taken.
  void Stop();

  [[nodiscard]] uint64_t accepted() const { return accepted_; }
  [[nodiscard]] uint64_t refused() const { return refused_; }

 private:
  Listener() = default;
  void Run();

  std::string path_;  // Empty: the socket is not ours to take away.
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
