#include "engine/displaced.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

namespace ebb {
namespace {

std::optional<objects::ControllerKind> KindOf(std::string_view kind) {
  using enum objects::ControllerKind;
  if (kind == "StatefulSet") return kStatefulSet;
  if (kind == "Job") return kJob;
  if (kind == "ReplicaSet") return kReplicaSet;
  if (kind == "ReplicationController") return kReplicationController;
  return std::nullopt;
}

struct KnownOwner {
  TextId uid;
  const ControllerStatus* status;  // Null: the catalog has no such controller.
  objects::ControllerKind kind;
};

std::optional<KnownOwner> OwnerOf(const Catalog& catalog, const PodShape& shape) {
  for (const Owner& owner : shape.owners) {
    const auto kind = KindOf(catalog.Text(owner.kind));
    if (!kind) continue;
    return KnownOwner{owner.uid, catalog.FindController(*kind, shape.namespace_name, owner.name),
                      *kind};
  }
  return std::nullopt;
}

// How many pods the owner lacks.
int64_t Lacking(const KnownOwner& owner) {
  int64_t target = owner.status->spec_replicas.value_or(1);
  if (owner.kind == objects::ControllerKind::kJob && owner.status->completions) {
    target = std::min(target, *owner.status->completions - owner.status->succeeded);
  }
  return target - owner.status->status_replicas;
}

bool StaysWithItsNode(const Catalog& catalog, const PodShape& shape) {
  return shape.mirror || shape.static_pod || IsDaemonSetPod(catalog, shape);
}

}  // namespace

std::vector<PodId> PodsToReplace(const ClusterSnapshot& snapshot, NodeId node, int64_t now_s) {
  const Catalog& catalog = snapshot.catalog();
  std::vector<PodId> pods;
  for (const PodId pod : snapshot.PodsOn(node)) {
    const PodShape& shape = catalog.shape_of(pod);
    if (StaysWithItsNode(catalog, shape) || HasEnded(shape) || shape.terminating ||
        IsLongTerminating(catalog, pod, now_s)) {
      continue;
    }
    pods.push_back(pod);
  }
  return pods;
}

std::vector<PodId> DisplacePods(std::span<const NodeId> in_deletion, int64_t now_s,
                                ClusterSnapshot& snapshot) {
  std::vector<PodId> displaced;
  for (const NodeId node : in_deletion) {
    for (const PodId pod : PodsToReplace(snapshot, node, now_s)) {
      snapshot.RemovePod(pod);
      displaced.push_back(pod);
    }
  }
  return displaced;
}

std::vector<PodId> PodsToPutBack(const ClusterSnapshot& snapshot,
                                 std::span<const EvictedPod> evictions) {
  const Catalog& catalog = snapshot.catalog();
  std::vector<PodId> pods;
  absl::flat_hash_set<PodId> seen;
  absl::flat_hash_map<TextId, int64_t> put_back;  // By the owner's UID.
  for (const EvictedPod& eviction : evictions) {
    const absl::StatusOr<PodId> pod = catalog.FindPod(eviction.namespace_name, eviction.name);
    if (!pod.ok() || snapshot.NodeOf(*pod) != kNoNode) continue;
    // A new pod of a StatefulSet has the name of the old one.
    if (!eviction.uid.empty() && catalog.Text(catalog.pod(*pod).key) != eviction.uid) continue;
    const PodShape& shape = catalog.shape_of(*pod);
    if (StaysWithItsNode(catalog, shape) || HasEnded(shape) || !seen.insert(*pod).second) continue;
    const std::optional<KnownOwner> owner = OwnerOf(catalog, shape);
    if (owner && owner->status != nullptr) {
      int64_t& count = put_back[owner->uid];
      if (count >= Lacking(*owner)) continue;
      ++count;
    }
    pods.push_back(*pod);
  }
  return pods;
}

}  // namespace ebb
