// ActuationLog: what a session was told of deletions and evictions, until a round knows it.
//
//   auto log = ActuationLog::Open("/var/lib/ebb/prod.actuation.json");
//   absl::Status status = (*log)->Report(report, /*rounds=*/7);  // On disk when it returns.
//   const std::string events = (*log)->EventsAfter(7);           // For round 8.
//
// Deletions are in progress from their beginning until a result of the node comes.  Results,
// evictions and groups that grew are for one round: the one after those that there were when
// they were told.  A process that is killed at any moment tells none of them twice to the
// state, and none never: they are kept by the number of the round that they are for.
//
// Cost:    a report is parsed once, and the reports before it are not parsed again.  The
//          log is copied and written as a whole, which is a second for 300,000 entries.
// Errors:  one line naming the file.  A file that is not of this class is refused.
// Threads: one at a time.

#ifndef EBB_SERVICE_SESSION_ACTUATION_LOG_H_
#define EBB_SERVICE_SESSION_ACTUATION_LOG_H_

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/wire/planner.pb.h"

namespace ebb {

class ActuationLog {
 public:
  // A file that is not there is made by the first report.
  static absl::StatusOr<std::unique_ptr<ActuationLog>> Open(const std::string& path);
  ~ActuationLog();

  // `rounds`: how many rounds there were.  What is told is checked as events of a round are.
  // Errors: also of what is told, naming the field; nothing has changed then.  Aborted: somebody
  // else has written the file since.  What they wrote counts from now on, so the same report may be
  // told again.
  absl::Status Report(const v1alpha1::ActuationReport& report, int64_t rounds);

  // What the round after `rounds` rounds is told, in the form of round_events.h; "": nothing.
  [[nodiscard]] std::string EventsAfter(int64_t rounds) const;

  [[nodiscard]] uint64_t InProgress() const;

 private:
  ActuationLog(std::string path, nlohmann::ordered_json log);

  // Errors: Aborted, as Report's.
  absl::Status CheckNotWritten();

  std::string path_;
  std::unique_ptr<nlohmann::ordered_json> log_;
  // The file as the last report here left it; absent: it was read, or is not there.
  std::optional<std::array<int64_t, 7>> written_;
};

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_ACTUATION_LOG_H_
