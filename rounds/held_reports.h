// HeldReports: what was reported of deletions, until a round has taken it in.
//
//   HeldReports held;
//   absl::StatusOr<HeldReports::Changes> changes = held.ChangesOf(update);
//   held.Apply(*std::move(changes));       // Once a state file has them (sqlite_state.h).
//   settings.report = held.With(settings.report);
//   held.ForgetRound();                    // Once the round is saved.
//
// A deletion is in progress from its beginning until a result of its node comes.  Results,
// evictions and groups that grew are for one round, the next one.  Unready nodes and unregistered
// machines stand until another report replaces them.
//
// Cost:    ChangesOf and Apply O(update), whatever is held; of an update that names all deletions
//          in progress O(those that are held) more.  With O(held).
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
  // in_progress: deletions that began, the last of a node counts; `results` end them, those of the
  // same update too.
  DeletionReport report;
  // Whether the list names all that there are, in place of what is held.
  bool all_in_progress = false;
  bool all_unready = false;
  bool all_unregistered = false;
};

class HeldReports {
 public:
  struct Changes {
    std::vector<DeletionReport::Deletion> ended;  // In progress no more.
    std::vector<DeletionReport::Deletion> begun;  // New, or otherwise than they are held.
    // Added to what is held.
    std::vector<DeletionReport::DeletionResult> results;
    std::vector<DeletionReport::Eviction> evictions;
    std::vector<DeletionReport::ScaleUp> scale_ups;
    // In place of what is held; absent: that stays.
    std::optional<std::vector<std::string>> unready;
    std::optional<std::vector<DeletionReport::Unregistered>> unregistered;
  };

  HeldReports() = default;
  explicit HeldReports(DeletionReport report);

  // Errors: InvalidArgument: a deletion is in progress that ended in an earlier report for the same
  // round.
  [[nodiscard]] absl::StatusOr<Changes> ChangesOf(const ReportUpdate& update) const;
  // REQUIRES: they are of what is held now.
  void Apply(Changes changes);
  // A round has taken in what is for one round.
  void ForgetRound();

  // What is held, and `more` on top, as a round is told both.
  [[nodiscard]] DeletionReport With(const DeletionReport& more) const;

  [[nodiscard]] const std::map<std::string, DeletionReport::Deletion>& in_progress() const {
    return in_progress_;
  }
  // All but the deletions in progress.
  [[nodiscard]] const DeletionReport& rest() const { return rest_; }

 private:
  std::map<std::string, DeletionReport::Deletion> in_progress_;  // By node.
  DeletionReport rest_;
  absl::flat_hash_set<std::string> ended_;  // Nodes of rest_.results.
};

}  // namespace ebb

#endif  // EBB_ROUNDS_HELD_REPORTS_H_
