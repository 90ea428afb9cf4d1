#include "engine/actuation/record_actuator.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/actuation/leaving_pods.h"
#include "engine/planner_memory.h"
#include "engine/scale_down_state.h"
#include "predicates/filters.h"

namespace ebb {
namespace {

absl::Status NothingRuns(std::string_view node) {
  return absl::FailedPreconditionError(
      absl::StrCat("node ", Absl(node), ": a recorded deletion has ended when it begins"));
}

// The rounds try again which nodes budgets kept.
void ForgetSpentBudgets(const std::shared_ptr<Symbols>& symbols, ScaleDown& scale_down) {
  ScaleDownState state = scale_down.Save();
  const size_t forgotten =
      std::erase_if(state.planner.unremovable, [](const PlannerMemory::Unremovable& node) {
        return node.blocking_reason == Absl(ToString(BlockingPodReason::kNotEnoughPdb));
      });
  if (forgotten > 0) scale_down.Restore(state, symbols);
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
  tell_(now_s, absl::StrCat(taint ? "soft taint " : "soft untaint ", Absl(node)));
  return absl::OkStatus();
}

absl::Status RecordActuator::Begin(std::span<const DeletionOrder> orders, int64_t now_s) {
  for (const DeletionOrder& order : orders) tell_(now_s, absl::StrCat("taint ", order.node));
  for (const DeletionOrder& order : orders) {
    for (const PlannedMove& move : order.moves) {
      tell_(now_s, absl::StrCat("evict ", move.namespace_name, "/", move.name, " from ", order.node,
                                ", which lands on ", move.to));
    }
    evicted_ |= !order.moves.empty();
    tell_(now_s, absl::StrCat("delete ", order.node));
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
  tell_(now_s, absl::StrCat("grow ", Absl(group), " to ", size));
  return absl::OkStatus();
}

absl::Status RecordActuator::Taint(std::string_view node, const NodeTaint& taint, bool put,
                                   int64_t now_s) {
  const auto [told, is_new] = taints_[std::string(node)].try_emplace(taint.key);
  if (!is_new && told->second.has_value() == put) return absl::OkStatus();
  told->second = put ? std::optional(taint) : std::nullopt;
  tell_(now_s, put ? absl::StrCat("taint ", Absl(node), " ", taint.key, "=", taint.value, ":",
                                  taint.effect)
                   : absl::StrCat("untaint ", Absl(node), " ", taint.key));
  return absl::OkStatus();
}

absl::StatusOr<ActuatorStatus> RecordActuator::Status(int64_t) {
  return ActuatorStatus{.running = {}, .results = results_, .recent_evictions = {}};
}

void RecordActuator::Acknowledge(size_t results) {
  results_.erase(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(
                                                          std::min(results, results_.size())));
}

// A node that is gone takes along only the pods for which GoesWithItsNode holds.  The others are
// where the plan put them if they still fit there, or wait.
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
    std::string& place = places_[{std::string(catalog.Text(shape.namespace_name)),
                                  std::string(catalog.Text(catalog.pod(pod).name))}];
    const auto it = to.find(catalog.Text(catalog.pod(pod).key));
    const absl::StatusOr<NodeId> planned =
        it == to.end() ? absl::NotFoundError("") : catalog.FindNode(it->second);
    if (planned.ok() && *planned != node && snapshot.Contains(*planned) &&
        Fits(snapshot, pod, *planned)) {
      snapshot.AddPod(pod, *planned);
      place = it->second;
    } else {
      observed.pending.push_back(pod);
      place.clear();
    }
  }
  snapshot.RemoveNode(node);
  const GroupId group = observed.groups.Of(node);
  if (group == kNoGroup) return;
  int64_t& target = observed.groups.groups[Index(group)].target_size;
  target = std::max<int64_t>(0, target - 1);
}

namespace {

// By node and key, as RecordActuator's.
using ToldTaints =
    std::map<std::string, std::map<std::string, std::optional<NodeTaint>>, std::less<>>;

// Leaves out nodes that would be gone.  Their pods are where `places` says, or gone with them.
// The other nodes have the taints that were last set on them.
class DeductingSink : public ObjectSink {
 public:
  DeductingSink(const std::vector<DeletionOrder>& done, const ToldTaints& taints,
                const PodPlaces& places, ObjectSink& to)
      : to_(to), taints_(taints), places_(places) {
    for (const DeletionOrder& order : done) gone_.insert(order.node);
  }

  absl::Status OnNode(const objects::Node& node) override {
    if (gone_.contains(node.meta.name)) return absl::OkStatus();
    const auto told = taints_.find(node.meta.name);
    if (told == taints_.end()) return to_.OnNode(node);
    objects::Node tainted = node;
    for (const auto& [key, taint] : told->second) {
      const bool has_it = std::ranges::count(node.taints, key, &objects::Taint::key) > 0;
      if (!taint) std::erase_if(tainted.taints, [&](const auto& each) { return each.key == key; });
      if (taint && !has_it) tainted.taints.push_back({key, taint->value, taint->effect});
    }
    return to_.OnNode(tainted);
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    if (!gone_.contains(pod.node_name)) return to_.OnPod(pod);
    const auto place =
        places_.find({std::string(pod.meta.namespace_name), std::string(pod.meta.name)});
    if (place == places_.end()) return absl::OkStatus();
    objects::Pod elsewhere = pod;
    elsewhere.node_name = place->second;
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
  const ToldTaints& taints_;
  const PodPlaces& places_;
  std::set<std::string_view> gone_;
};

}  // namespace

absl::Status DeductingSource::Show(const std::function<absl::Status(ObjectSink& sink)>& objects,
                                   ObjectSink& to) const {
  DeductingSink sink(actuator_.done_, actuator_.taints_, places_, to);
  return objects(sink);
}

absl::StatusOr<Observation> DeductingSource::Observe(int64_t now_s) {
  absl::StatusOr<Observation> observed = source_.Observe(now_s);
  if (!observed.ok()) return observed;
  const Catalog& catalog = observed->snapshot->catalog();
  if (std::exchange(actuator_.evicted_, false)) {
    ForgetSpentBudgets(catalog.shared_symbols(), scale_down_);
  }
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
  if (actuator_.done_.empty() && actuator_.taints_.empty()) return observed;
  if (observed->objects != nullptr) {
    observed->objects = [this, objects = observed->objects](ObjectSink& to) {
      return Show(objects, to);
    };
  }
  if (actuator_.done_.empty()) return observed;
  snapshot_.emplace(*observed->snapshot);
  observed->snapshot = &*snapshot_;
  places_.clear();
  for (const DeletionOrder& order : actuator_.done_) {
    Deduct(order, *catalog.FindNode(order.node), *observed);
  }
  return observed;
}

}  // namespace ebb
