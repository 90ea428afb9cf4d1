#include "loop/deletion_steps.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

// The state of an atomic group.
struct Batch {
  int64_t ready = 0;       // Drained, or being deleted.
  bool some_come = false;  // Some nodes are not drained yet.
  bool failed = false;
};

std::map<std::string_view, Batch> BatchesOf(const ActuatorStatus& status) {
  std::map<std::string_view, Batch> batches;
  for (const RunningDeletion& deletion : status.running) {
    if (deletion.batch_size == 0) continue;
    Batch& batch = batches[deletion.group];
    const bool ready =
        deletion.phase == DeletionPhase::kDrained || deletion.phase == DeletionPhase::kDeleting;
    batch.ready += ready ? 1 : 0;
    batch.some_come = batch.some_come || deletion.phase == DeletionPhase::kTainted ||
                      deletion.phase == DeletionPhase::kDraining;
    batch.failed = batch.failed || deletion.phase == DeletionPhase::kFailed;
  }
  for (const DeletionResult& result : status.results) {
    const auto it = batches.find(result.group);
    if (it == batches.end()) continue;
    it->second.ready += result.ok ? 1 : 0;
    it->second.failed = it->second.failed || !result.ok;
  }
  return batches;
}

}  // namespace

std::vector<std::string> AdvanceDeletions(Actuator& actuator, const ActuatorStatus& status,
                                          const DeletionStepOptions& options, int64_t now_s) {
  const std::map<std::string_view, Batch> batches = BatchesOf(status);
  std::vector<std::string> log;
  for (const RunningDeletion& deletion : status.running) {
    const auto it = batches.find(deletion.group);
    const bool in_batch = deletion.batch_size > 0;
    const bool others_failed = in_batch && it->second.failed;
    absl::Status done;
    switch (deletion.phase) {
      case DeletionPhase::kTainted:
        if (others_failed) {
          done = actuator.RollBack(deletion.node, "another node of its group failed", now_s);
        } else if (now_s - deletion.since_s >= options.node_delete_delay_after_taint_s) {
          done = actuator.Drain(deletion.node, now_s);
        }
        break;
      case DeletionPhase::kDrained:
        if (others_failed) {
          done = actuator.RollBack(deletion.node, "another node of its group failed", now_s);
        } else if (!in_batch || it->second.ready >= deletion.batch_size) {
          done = actuator.Delete(deletion.node, now_s);
        } else if (!it->second.some_come) {
          done = actuator.RollBack(deletion.node, "its group does not come together", now_s);
        }
        break;
      case DeletionPhase::kFailed:
        done = actuator.RollBack(deletion.node, deletion.why, now_s);
        break;
      case DeletionPhase::kDraining:
      case DeletionPhase::kDeleting:
        break;
    }
    if (!done.ok()) log.push_back(absl::StrCat("node ", deletion.node, ": ", done.message()));
  }
  return log;
}

}  // namespace ebb
