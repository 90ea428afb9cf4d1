#include "engine/actuation/record_actuator.h"

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/actuation/leaving_pods.h"
#include "predicates/filters.h"

namespace ebb {
namespace {

absl::Status NothingRuns(std::string_view node) {
  return absl::FailedPreconditionError(
      absl::StrCat("node ", Absl(node), ": a recorded deletion has ended when it begins"));
}

bool Fits(const ClusterSnapshot& snapshot, PodId pod, NodeId node) {
  const PodShape& shape = snapshot.catalog().shape_of(pod);
  return PreFilter(snapshot, shape).fits && StaticFits(snapshot, shape, node) &&
         DynamicFits(snapshot, shape, node);
}

}  // namespace

absl::Status RecordActuator::SoftTaint(std::string_view node, bool taint, int64_t now_s) {
  const auto [told, is_new] = soft_taints_.try_emplace(std::string(node), taint);
  if (!is_new && told->second == taint) return absl::OkStatus();
  told->second = taint;
  tell_(absl::StrCat(now_s, taint ? " soft taint " : " soft untaint ", Absl(node)));
  return absl::OkStatus();
}

absl::Status RecordActuator::Begin(std::span<const DeletionOrder> orders, int64_t now_s) {
  for (const DeletionOrder& order : orders) tell_(absl::StrCat(now_s, " taint ", order.node));
  for (const DeletionOrder& order : orders) {
    for (const PlannedMove& move : order.moves) {
      tell_(absl::StrCat(now_s, " evict ", move.namespace_name, "/", move.name, " from ",
                         order.node, ", which lands on ", move.to));
    }
    tell_(absl::StrCat(now_s, " delete ", order.node));
    const auto same = [&](const DeletionOrder& done) { return done.node == order.node; };
    std::erase_if(done_, same);
    done_.push_back(order);
    results_.push_back({.node = order.node, .group = order.group, .at_s = now_s});
  }
  return absl::OkStatus();
}

absl::Status RecordActuator::Drain(std::string_view node, int64_t) { return NothingRuns(node); }
absl::Status RecordActuator::Delete(std::string_view node, int64_t) { return NothingRuns(node); }
absl::Status RecordActuator::RollBack(std::string_view node, std::string_view, int64_t) {
  return NothingRuns(node);
}

absl::Status RecordActuator::Grow(std::string_view group, int64_t size, int64_t now_s) {
  int64_t& grown_to = grown_to_[std::string(group)];
  if (size <= grown_to) return absl::OkStatus();
  grown_to = size;
  tell_(absl::StrCat(now_s, " grow ", Absl(group), " to ", size));
  return absl::OkStatus();
}

absl::StatusOr<ActuatorStatus> RecordActuator::Status(int64_t) {
  return ActuatorStatus{.running = {}, .results = results_, .recent_evictions = {}};
}

void RecordActuator::Acknowledge(size_t results) {
  results_.erase(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(
                                                          std::min(results, results_.size())));
}

// A node that is gone takes along only the pods for which GoesWithItsNode holds.
void DeductingSource::Deduct(const DeletionOrder& order, NodeId node, Observation& observed) {
  ClusterSnapshot& snapshot = *observed.snapshot;
  const Catalog& catalog = snapshot.catalog();
  absl::flat_hash_map<std::string_view, std::string_view> to;  // By UID.
  for (const PlannedMove& move : order.moves) to.emplace(move.uid, move.to);
  const std::span<const PodId> on_node = snapshot.PodsOn(node);
  for (const PodId pod : std::vector<PodId>(on_node.begin(), on_node.end())) {
    const PodShape& shape = catalog.shape_of(pod);
    snapshot.RemovePod(pod);
    if (GoesWithItsNode(catalog, shape)) continue;
    const auto it = to.find(catalog.Text(catalog.pod(pod).key));
    const absl::StatusOr<NodeId> planned =
        it == to.end() ? absl::NotFoundError("") : catalog.FindNode(it->second);
    if (planned.ok() && *planned != node && snapshot.Contains(*planned) &&
        Fits(snapshot, pod, *planned)) {
      snapshot.AddPod(pod, *planned);
    } else {
      observed.pending.push_back(pod);
    }
  }
  snapshot.RemoveNode(node);
  const GroupId group = observed.groups.Of(node);
  if (group == kNoGroup) return;
  int64_t& target = observed.groups.groups[Index(group)].target_size;
  target = std::max<int64_t>(0, target - 1);
}

namespace {

// Leaves out nodes that would be gone; their pods are where the plan put them, or wait.
class DeductingSink : public ObjectSink {
 public:
  DeductingSink(const std::vector<DeletionOrder>& done, ObjectSink& to) : to_(to) {
    for (const DeletionOrder& order : done) {
      gone_.emplace(order.node, &order);
      for (const PlannedMove& move : order.moves) {
        moved_to_.emplace(std::make_pair(move.namespace_name, move.name), move.to);
      }
    }
  }

  absl::Status OnNode(const objects::Node& node) override {
    return gone_.contains(node.meta.name) ? absl::OkStatus() : to_.OnNode(node);
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    if (!gone_.contains(pod.node_name)) return to_.OnPod(pod);
    for (const objects::OwnerReference& owner : pod.meta.owners) {
      if (owner.controller && (owner.kind == "DaemonSet" || owner.kind == "Node")) {
        return absl::OkStatus();
      }
    }
    const auto moved = moved_to_.find(
        std::make_pair(std::string(pod.meta.namespace_name), std::string(pod.meta.name)));
    objects::Pod elsewhere = pod;
    const bool has_place = moved != moved_to_.end() && !gone_.contains(moved->second);
    elsewhere.node_name = has_place ? std::string_view(moved->second) : std::string_view();
    return to_.OnPod(elsewhere);
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    return to_.OnPodDisruptionBudget(budget);
  }
  absl::Status OnController(const objects::Controller& controller) override {
    return to_.OnController(controller);
  }
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override {
    return to_.OnNamespace(namespace_object);
  }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    return to_.OnStorageObject(object);
  }

 private:
  ObjectSink& to_;
  std::map<std::string, const DeletionOrder*, std::less<>> gone_;
  std::map<std::pair<std::string, std::string>, std::string> moved_to_;
};

}  // namespace

absl::Status DeductingSource::Show(const std::function<absl::Status(ObjectSink& sink)>& objects,
                                   ObjectSink& to) const {
  DeductingSink sink(actuator_.done_, to);
  return objects(sink);
}

absl::StatusOr<Observation> DeductingSource::Observe(int64_t now_s) {
  absl::StatusOr<Observation> observed = source_.Observe(now_s);
  if (!observed.ok()) return observed;
  const Catalog& catalog = observed->snapshot->catalog();
  const auto is_there = [&](const DeletionOrder& order) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(order.node);
    return node.ok() && observed->snapshot->Contains(*node) &&
           catalog.Text(catalog.node(*node).uid) == order.uid;
  };
  std::erase_if(actuator_.done_, [&](const DeletionOrder& order) { return !is_there(order); });
  for (NodeGroup& group : observed->groups.groups) {
    const auto grown = actuator_.grown_to_.find(group.name);
    if (grown == actuator_.grown_to_.end()) continue;
    group.target_size = std::max(group.target_size, grown->second);
  }
  if (actuator_.done_.empty()) return observed;
  if (observed->objects != nullptr) {
    observed->objects = [this, objects = observed->objects](ObjectSink& to) {
      return Show(objects, to);
    };
  }
  snapshot_.emplace(*observed->snapshot);
  observed->snapshot = &*snapshot_;
  for (const DeletionOrder& order : actuator_.done_) {
    Deduct(order, *catalog.FindNode(order.node), *observed);
  }
  return observed;
}

}  // namespace ebb
