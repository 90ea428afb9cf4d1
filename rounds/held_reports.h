// HeldReports keeps what was reported about deletions until a round has used it.
//
//   HeldReports held;
//   absl::StatusOr<HeldReports::Changes> changes = held.ChangesOf(update);
//   held.Apply(*std::move(changes));       // Once a state file has them (sqlite_state.h).
//   settings.report = held.With(settings.report);
//   held.ForgetRound();                    // Once the round is saved.
//
// A deletion is in progress from its start until a result for its node arrives.  Results, evictions
// and groups that grew are used by one round, the next one.  Unready nodes and unregistered
// machines are kept until another report replaces them.
//
// Cost:    ChangesOf and Apply: O(update), however much is held; an update that lists all deletions
//          in progress costs O(deletions held) more.  With: O(held).
// Threads: none.

#ifndef EBB_ROUNDS_HELD_REPORTS_H_
#define EBB_ROUNDS_HELD_REPORTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "engine/scale_down/deletion_report.h"

namespace ebb {

struct ReportUpdate {
  // `in_progress`: deletions that started; if a node is listed twice, the last entry counts.
  // `results` end deletions, including deletions that the same update starts.
  DeletionReport report;
  // Whether the list is complete and replaces the held one.
  bool all_in_progress = false;
  bool all_unready = false;
  bool all_unregistered = false;
};

class HeldReports {
 public:
  struct Changes {
    std::vector<DeletionReport::Deletion> ended;  // No longer in progress.
    std::vector<DeletionReport::Deletion> begun;  // New, or different from the held ones.
    // Added to what is held.
    std::vector<DeletionReport::DeletionResult> results;
    std::vector<DeletionReport::Eviction> evictions;
    std::vector<DeletionReport::ScaleUp> scale_ups;
    // Replace what is held; absent: what is held stays.
    std::optional<std::vector<std::string>> unready;
    std::optional<std::vector<DeletionReport::Unregistered>> unregistered;
  };

  HeldReports() = default;
  explicit HeldReports(DeletionReport report);

  // Errors: InvalidArgument: `update` says that a deletion is in progress, but an earlier report
  // for the same round said that it ended.
  [[nodiscard]] absl::StatusOr<Changes> ChangesOf(const ReportUpdate& update) const;
  // REQUIRES: `changes` was computed from what is held now.
  void Apply(Changes changes);
  // Drops what is kept for one round only: a round has used it.
  void ForgetRound();

  // What is held, followed by `more`: the whole report for a round.
  [[nodiscard]] DeletionReport With(const DeletionReport& more) const;

  [[nodiscard]] const std::map<std::string, DeletionReport::Deletion>& in_progress() const {
    return in_progress_;
  }
  // Everything held except the deletions in progress.
  [[nodiscard]] const DeletionReport& rest() const { return rest_; }

 private:
  std::map<std::string, DeletionReport::Deletion> in_progress_;  // By node.
  DeletionReport rest_;
  absl::flat_hash_set<std::string> ended_;  // Nodes of rest_.results.
};

}  // namespace ebb

#endif  // EBB_ROUNDS_HELD_REPORTS_H_
