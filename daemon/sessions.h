// Sessions: the sessions of a daemon, by name.
//
// Threads: any thread may call.

#ifndef EBB_DAEMON_SESSIONS_H_
#define EBB_DAEMON_SESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/session_thread.h"

namespace ebb {

class Sessions {
 public:
  struct Limits {
    size_t sessions_max = 64;
    size_t calls_max = 256;  // Waiting calls per session.
  };

  // How the changes of a new session are taken (OpenRequest.as_given).
  enum class Kind : uint8_t { kUsual, kAsGiven };

  // `options` outlives it.
  Sessions(const SessionOptions& options, const Limits& limits);

  // "" is "default".
  static std::string NameOf(std::string_view name) {
    return name.empty() ? "default" : std::string(name);
  }

  // Errors: InvalidArgument: `name` is not a valid name; NotFound.
  absl::StatusOr<std::shared_ptr<SessionThread>> Find(std::string_view name) const;
  // Errors: InvalidArgument; ResourceExhausted; Unavailable: the daemon ends.
  absl::StatusOr<std::shared_ptr<SessionThread>> FindOrMake(std::string_view name,
                                                            Kind kind = Kind::kUsual);
  // Ends the session.  A running question ends soon, with Aborted; any other running call ends
  // first.  Errors: as Find().
  absl::Status Close(std::string_view name);
  // Rejects calls that wait for a version, now and later, because the daemon ends.
  void EndWaiting();
  // Ends all sessions; no new ones can be made.
  void CloseAll();

  // By name.
  [[nodiscard]] std::vector<std::shared_ptr<SessionThread>> All() const;

 private:
  const SessionOptions& options_;
  const SessionOptions as_given_options_;
  const Limits limits_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::map<std::string, std::shared_ptr<SessionThread>> sessions_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_SESSIONS_H_
