// RecordActuator touches no cluster: it tells what it would do, a line a deed, and lets rounds go
// on as if it had been done.  For a dry run beside an autoscaler that is not to be disturbed.
//
//   RecordActuator actuator([](int64_t, std::string_view line) { std::cout << line << "\n"; });
//   DeductingSource cluster(source, actuator, scale_down);
//   OwnRounds rounds(scale_down, cluster);
//   Loop loop(rounds, actuator, options);
//
// A soft taint is told when it changes; the cluster that is observed goes on without it.
// A deletion that begins is told and has ended at once.  From then on the DeductingSource shows
// the cluster without the node: its pods are where the plan put them, and those that are not
// listed in the plan (they came later), or for which there is no room any more, are pending.
//
// An evicted pod runs again in the next turn, and its budgets then allow what the source says.  So
// nodes that a budget kept (NotEnoughPdb) are tried again then, and not only when the time is over
// for which nodes that were found unremovable are passed over.
//
// Machines that a group was asked for are told, and count for its target from then on; none comes.
//
// Deletions are forgotten for a node that leaves the cluster or becomes another machine.  Soft
// taints and sizes asked for are remembered by name.
//
// Cost:    an observation copies the snapshot (O(pages)) and moves the pods of all nodes that
//          would be gone.
// Threads: one at a time.

#ifndef EBB_ENGINE_ACTUATION_RECORD_ACTUATOR_H_
#define EBB_ENGINE_ACTUATION_RECORD_ACTUATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/actuation/actuator.h"
#include "engine/actuation/loop.h"
#include "engine/round.h"

namespace ebb {

class RecordActuator : public Actuator {
 public:
  using Tell = std::function<void(int64_t now_s, std::string_view line)>;

  explicit RecordActuator(Tell tell) : tell_(std::move(tell)) {}

  absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) override;
  absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) override;
  // There is never a deletion to go on with.
  absl::Status Drain(std::string_view node, int64_t now_s) override;
  absl::Status Delete(std::string_view node, int64_t now_s) override;
  absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) override;
  absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) override;
  absl::Status Taint(std::string_view node, const NodeTaint& taint, bool put,
                     int64_t now_s) override;
  absl::StatusOr<ActuatorStatus> Status(int64_t now_s) override;
  void Acknowledge(size_t results) override;

  // What would be gone, in the order in which it would have gone.
  [[nodiscard]] const std::vector<DeletionOrder>& done() const { return done_; }

 private:
  friend class DeductingSource;

  const Tell tell_;
  std::vector<DeletionOrder> done_;
  std::map<std::string, bool> soft_taints_;  // As they were last told.
  std::map<std::string, int64_t> grown_to_;  // By group.
  // By node and key: the last one set; absent: it was removed.
  std::map<std::string, std::map<std::string, std::optional<NodeTaint>>, std::less<>> taints_;
  std::vector<DeletionResult> results_;
  bool evicted_ = false;  // Pods, since the last observation.
};

// Names of nodes by namespace and name of the pod; "" is that of a pod that waits.
using PodPlaces = std::map<std::pair<std::string, std::string>, std::string>;

class DeductingSource : public ClusterSource {
 public:
  // `scale_down` makes the rounds.
  DeductingSource(ClusterSource& source, RecordActuator& actuator, ScaleDown& scale_down)
      : source_(source), actuator_(actuator), scale_down_(scale_down) {}

  absl::StatusOr<Observation> Observe(int64_t now_s) override;

 private:
  void Deduct(const DeletionOrder& order, NodeId node, Observation& observed);
  // The objects of a cluster in which all was done, as the last observation has it.
  absl::Status Show(const std::function<absl::Status(ObjectSink& sink)>& objects,
                    ObjectSink& to) const;

  ClusterSource& source_;
  RecordActuator& actuator_;
  ScaleDown& scale_down_;
  std::optional<ClusterSnapshot> snapshot_;  // That the last observation shows.
  PodPlaces places_;                         // Where it has the pods of nodes that would be gone.
};

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_RECORD_ACTUATOR_H_
