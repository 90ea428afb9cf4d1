// RecordActuator changes no cluster: it reports what it would do, one line for each action, and
// lets rounds continue as if that had been done.  It is for a dry run next to an autoscaler that
// must not be disturbed.
//
//   RecordActuator actuator([](int64_t, std::string_view line) { std::cout << line << "\n"; });
//   DeductingSource cluster(source, actuator, scale_down);
//   OwnRounds rounds(scale_down, cluster);
//   Loop loop(rounds, actuator, options);
//
// A soft taint is reported when it changes; the observed cluster does not get it.  A deletion that
// begins is reported and has ended immediately.  From then on the DeductingSource shows the cluster
// without the node.  The node's pods are where the plan put them.  Pods that the plan does not
// list, because they came later, and pods that no longer fit there are pending.
//
// An evicted pod is running again in the next turn, and its budgets then allow what the source
// reports.  So the next turn tries nodes again that were kept because of a budget (NotEnoughPdb),
// instead of waiting until their entries in the unremovable cache expire.
//
// Machines that a group is asked for are reported, and count in its target size from then on, but
// none of them comes.
//
// A deletion is forgotten if its node leaves the cluster or becomes another machine.  Soft taints
// and requested sizes are remembered by name.
//
// Cost:    an observation copies the snapshot (O(pages)) and moves the pods of all nodes that
//          would be gone.
// Threads: one at a time.

#ifndef EBB_LOOP_RECORD_ACTUATOR_H_
#define EBB_LOOP_RECORD_ACTUATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/scale_down/round.h"
#include "loop/actuator.h"
#include "loop/loop.h"

namespace ebb {

class RecordActuator : public Actuator {
 public:
  using PrintLine = std::function<void(int64_t now_s, std::string_view line)>;

  explicit RecordActuator(PrintLine tell) : tell_(std::move(tell)) {}

  absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) override;
  absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) override;
  // Always fails, because no deletion is running.
  absl::Status Drain(std::string_view node, int64_t now_s) override;
  absl::Status Delete(std::string_view node, int64_t now_s) override;
  absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) override;
  absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) override;
  absl::Status Taint(std::string_view node, const NodeTaint& taint, bool put,
                     int64_t now_s) override;
  absl::StatusOr<ActuatorStatus> Status(int64_t now_s) override;
  void Acknowledge(size_t results) override;

  // The deletions that would have been made, in their order.
  [[nodiscard]] const std::vector<DeletionOrder>& done() const { return done_; }

 private:
  friend class DeductingSource;

  const PrintLine tell_;
  std::vector<DeletionOrder> done_;
  std::map<std::string, bool> soft_taints_;  // As last reported.
  std::map<std::string, int64_t> grown_to_;  // By group.
  // By node and key: the taint last put; nullopt: it was removed.
  std::map<std::string, std::map<std::string, std::optional<NodeTaint>>, std::less<>> taints_;
  std::vector<DeletionResult> results_;
  bool evicted_ = false;  // Whether pods were evicted since the last observation.
};

// The node of each pod, by the pod's namespace and name; "" for a pending pod.
using PodPlaces = std::map<std::pair<std::string, std::string>, std::string>;

class DeductingSource : public ClusterSource {
 public:
  // `scale_down` makes the rounds.
  DeductingSource(ClusterSource& source, RecordActuator& actuator, ScaleDown& scale_down)
      : source_(source), actuator_(actuator), scale_down_(scale_down) {}

  absl::StatusOr<Observation> Observe(int64_t now_s) override;

 private:
  void Deduct(const DeletionOrder& order, NodeId node, Observation& observed);
  // Sends the objects of the cluster as the last observation shows it to `to`.
  absl::Status Show(const std::function<absl::Status(ObjectSink& sink)>& objects,
                    ObjectSink& to) const;

  ClusterSource& source_;
  RecordActuator& actuator_;
  ScaleDown& scale_down_;
  std::optional<ClusterSnapshot> snapshot_;  // The snapshot of the last observation.
  PodPlaces places_;                         // Where it shows the pods of nodes that would be gone.
};

}  // namespace ebb

#endif  // EBB_LOOP_RECORD_ACTUATOR_H_
