#include "simulation/simulated_input.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/plan/eligibility.h"
#include "engine/plan/node_standing.h"
#include "snapshot/objects/listed_pods.h"

namespace ebb {
namespace {

// What a simulation leaves out or simplifies, in the order of the answer.
enum class GapKind : uint8_t {
  kLeavingNodes,
  kGatedPods,
  kDeletedPods,
  kUnknownNodes,
  kUnreadyNodes,
  kNoGroup,
  kUnreadyPods,
  kBarePods,
  kJobPods,
  kStatefulPods,
  kOtherOwners,
  kVolumes,
  kClaims,
};

constexpr std::string_view kGapWords[] = {
    "nodes that are being deleted: they are gone from the start, and their pods wait for a node",
    "pods with scheduling gates: left out",
    "pods without a node that are being deleted: left out",
    "pods on nodes that the input lacks: left out",
    "nodes that are not ready: they stay so",
    "nodes in no group: they neither go nor become more",
    "pods that are not ready: they count as running",
    "pods without a controller: nothing replaces them, and they never end",
    "pods of Jobs: under a daily load one ends now and then and another begins; no Job ends",
    "pods of StatefulSets: their number stays the same",
    ("pods of controllers that ebb does not know: replaced when they are lost, their number stays "
     "the same"),
    "pods with persistent volumes: the volumes stay where they are",
    "pods with a template of a resource claim of which there is no claim yet: they wait",
};

class GapCounts {
 public:
  void Add(GapKind kind, const auto& name) {
    SimulatedGap& gap = gaps_[kind];
    if (gap.objects++ == 0) gap.first = name();
  }
  [[nodiscard]] std::vector<SimulatedGap> Take() && {
    std::vector<SimulatedGap> gaps;
    for (auto& [kind, gap] : gaps_) {
      gap.what = kGapWords[static_cast<size_t>(kind)];
      gaps.push_back(std::move(gap));
    }
    return gaps;
  }

 private:
  std::map<GapKind, SimulatedGap> gaps_;
};

std::string_view OwnerKind(const objects::Pod& pod) {
  for (const objects::OwnerReference& owner : pod.meta.owners) {
    if (owner.controller) return owner.kind;
  }
  return "";
}

// Whether the pod belongs to its node: DaemonSets' pods and static pods.
bool IsOfNode(const objects::Pod& pod) {
  const std::string_view kind = OwnerKind(pod);
  return kind == "DaemonSet" || kind == "Node";
}

class PlayableObjects : public ObjectSink {
 public:
  using Names = absl::flat_hash_set<std::string_view>;

  PlayableObjects(const Names& known, const Names& leaving, GapCounts& counts, ObjectSink& to)
      : known_(known), leaving_(leaving), counts_(counts), to_(to) {}

  absl::Status OnNode(const objects::Node& node) override {
    return leaving_.contains(node.meta.name) ? absl::OkStatus() : to_.OnNode(node);
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    if (ListingOf(pod, kExpendablePodsPriorityCutoff) != PodListing::kListed) {
      return absl::OkStatus();
    }
    const auto name = [&] {
      return absl::StrCat(Absl(pod.meta.namespace_name), "/", Absl(pod.meta.name));
    };
    if (pod.node_name.empty()) {
      if (pod.scheduling == objects::Scheduling::kGated) return LeaveOut(GapKind::kGatedPods, name);
      if (pod.meta.deletion_time) return LeaveOut(GapKind::kDeletedPods, name);
    } else if (!known_.contains(pod.node_name)) {
      return LeaveOut(GapKind::kUnknownNodes, name);
    }
    const bool loses_node = leaving_.contains(pod.node_name);
    if (loses_node && (IsOfNode(pod) || pod.meta.deletion_time)) return absl::OkStatus();
    Count(pod, name);
    if (!loses_node) return to_.OnPod(pod);
    objects::Pod waiting = pod;
    waiting.node_name = {};
    waiting.phase = "Pending";
    waiting.scheduling = objects::Scheduling::kUnschedulable;
    return to_.OnPod(waiting);
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    return to_.OnPodDisruptionBudget(budget);
  }
  absl::Status OnController(const objects::Controller& controller) override {
    return to_.OnController(controller);
  }
  absl::Status OnNamespace(const objects::Namespace& object) override {
    return to_.OnNamespace(object);
  }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    return to_.OnStorageObject(object);
  }

 private:
  absl::Status LeaveOut(GapKind kind, const auto& name) {
    counts_.Add(kind, name);
    return absl::OkStatus();
  }

  void Count(const objects::Pod& pod, const auto& name) {
    const std::string_view kind = OwnerKind(pod);
    if (pod.unready) counts_.Add(GapKind::kUnreadyPods, name);
    if (kind.empty()) {
      counts_.Add(GapKind::kBarePods, name);
    } else if (kind == "Job") {
      counts_.Add(GapKind::kJobPods, name);
    } else if (kind == "StatefulSet") {
      counts_.Add(GapKind::kStatefulPods, name);
    } else if (kind != "ReplicaSet" && !IsOfNode(pod)) {
      counts_.Add(GapKind::kOtherOwners,
                  [&] { return absl::StrCat(name(), " of a ", Absl(kind)); });
    }
    const bool has_volume = std::ranges::any_of(
        pod.volumes, [](const objects::Volume& volume) { return !volume.claim_name.empty(); });
    if (has_volume) counts_.Add(GapKind::kVolumes, name);
    const bool lacks_claim = std::ranges::any_of(
        pod.resource_claims, [](const auto& claim) { return claim.claim_name.empty(); });
    if (lacks_claim) counts_.Add(GapKind::kClaims, name);
  }

  const Names& known_;
  const Names& leaving_;
  GapCounts& counts_;
  ObjectSink& to_;
};

}  // namespace

bool SimulatedInput::Leaves(NodeId node) const {
  const Catalog& catalog = snapshot_.catalog();
  return IsBeingDeleted(catalog.node(node), start_s_) || IsLeaving(catalog, node);
}

SimulatedCluster::Read SimulatedInput::AsRead() {
  return [this](ObjectSink& sink) { return ReadInto(sink); };
}

absl::Status SimulatedInput::ReadInto(ObjectSink& sink) {
  PlayableObjects::Names known;
  PlayableObjects::Names leaving;
  GapCounts counts;
  const Catalog& catalog = snapshot_.catalog();
  snapshot_.alive().ForEach([&](NodeId node) {
    const auto name = [&] { return std::string(catalog.NodeName(node)); };
    known.insert(catalog.NodeName(node));
    if (Leaves(node)) {
      leaving.insert(catalog.NodeName(node));
      return counts.Add(GapKind::kLeavingNodes, name);
    }
    if (!IsReady(catalog, groups_, node)) counts.Add(GapKind::kUnreadyNodes, name);
    if (groups_.Find(node) == nullptr) counts.Add(GapKind::kNoGroup, name);
  });
  PlayableObjects playable(known, leaving, counts, sink);
  if (absl::Status s = read_(playable); !s.ok()) return s;
  const std::lock_guard lock(mutex_);
  gaps_ = std::move(counts).Take();
  return absl::OkStatus();
}

std::vector<SimulatedGap> SimulatedInput::gaps() const {
  const std::lock_guard lock(mutex_);
  return gaps_;
}

}  // namespace ebb
