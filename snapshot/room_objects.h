// RoomObjects: the objects that say which pods run together, what room is to be kept, what a pod
// will ask for when it returns, and which pods are to be evicted: PodGroups, CapacityBuffers and
// their PodTemplates, VerticalPodAutoscalers, and EvictionRequests.
//
// Cost:      Put: some hash look-ups, and a copy of the object's texts; Find: one look-up.
// Threads:   const methods may run concurrently; the others need exclusive access.
// Source:    k8s.io/api scheduling/v1alpha2, v1alpha3, v1beta1; kubernetes/autoscaler
//            cluster-autoscaler/apis/capacitybuffer; vertical-pod-autoscaler
//            pkg/admission-controller and pkg/utils/vpa (capping).

#ifndef EBB_SNAPSHOT_ROOM_OBJECTS_H_
#define EBB_SNAPSHOT_ROOM_OBJECTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "snapshot/ids.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"
#include "snapshot/symbols.h"

namespace ebb {

// How a pod says that it belongs to a gang.
enum class GangKind : uint8_t {
  kPodGroup,         // spec.schedulingGroup, or the older spec.workloadRef.
  kCoscheduling,     // The label of scheduler-plugins.
  kLabels,           // Labels of scheduler-plugins before 0.19, which also declare the minimum.
  kVolcano,          // The annotation scheduling.k8s.io/group-name.
  kKueue,            // The label kueue.x-k8s.io/pod-group-name.
  kJobSet,           // The label jobset.sigs.k8s.io/jobset-name.
  kLeaderWorkerSet,  // The labels leaderworkerset.sigs.k8s.io/name and group-index.
  kRayCluster,       // The label ray.io/cluster.
};
// "PodGroup", "PodGroup.scheduling.x-k8s.io", "JobSet".
std::string_view ToString(GangKind kind);

// The labels or annotations in which schedulers and controllers of gangs put a gang's name, in the
// order in which they count.
inline constexpr std::pair<std::string_view, GangKind> kGangKeys[] = {
    {"scheduling.x-k8s.io/pod-group", GangKind::kCoscheduling},
    {"pod-group.scheduling.sigs.k8s.io", GangKind::kCoscheduling},  // The older name.
    {"pod-group.scheduling.sigs.k8s.io/name", GangKind::kLabels},
    {"scheduling.k8s.io/group-name", GangKind::kVolcano},
    {"scheduling.volcano.sh/group-name", GangKind::kVolcano},
    {"kueue.x-k8s.io/pod-group-name", GangKind::kKueue},
    {"jobset.sigs.k8s.io/jobset-name", GangKind::kJobSet},
    {"leaderworkerset.sigs.k8s.io/name", GangKind::kLeaderWorkerSet},
    {"ray.io/cluster", GangKind::kRayCluster},
};
// The labels or annotations in which pods declare how many pods their gang has; kLabels: at least;
// kJobSet: how many Jobs.
inline constexpr std::pair<std::string_view, GangKind> kGangSizeKeys[] = {
    {"pod-group.scheduling.sigs.k8s.io/min-available", GangKind::kLabels},
    {"kueue.x-k8s.io/pod-group-total-count", GangKind::kKueue},
    {"jobset.sigs.k8s.io/global-replicas", GangKind::kJobSet},
    {"leaderworkerset.sigs.k8s.io/size", GangKind::kLeaderWorkerSet},
};
// Whether gangs of this kind have an object of their own, a PodGroup, which ebb reads.
constexpr bool HasPodGroup(GangKind kind) {
  return kind == GangKind::kPodGroup || kind == GangKind::kCoscheduling ||
         kind == GangKind::kVolcano;
}

class RoomObjects {
 public:
  struct Group {
    std::optional<int64_t> min_count;  // Absent: the group's policy is not a gang.
    bool whole = false;                // Its pods go together.
    std::string not_understood = {};   // PodGroup::not_understood.
  };

  // The workload whose pods a VerticalPodAutoscaler changes.
  struct VpaTarget {
    TextId namespace_name;
    TextId vpa;  // The name of the VerticalPodAutoscaler.
    TextId kind;
    TextId name;
  };

  struct Vpa {
    // What a container will ask for.
    struct Target {
      TextId container;
      std::optional<int64_t> cpu_milli;
      std::optional<int64_t> memory_bytes;
    };
    TextId name = kNoText;
    int64_t creation_time = 0;
    bool has_recommendation = false;
    std::string not_understood = {};
    std::vector<Target> targets;  // Bounded by the policies; without containers that have mode Off.

    [[nodiscard]] const Target* Find(TextId container) const;
  };

  struct Buffer {
    TextId namespace_name;
    TextId name;
    std::string uid;
    std::string strategy;
    TextId template_name;
    std::optional<int64_t> replicas;
    bool ready = false;
  };

  // A second object of the same name replaces the first.
  void Put(const objects::PodGroup& group, Symbols& symbols);
  void Put(const objects::PodTemplate& from, Symbols& symbols);
  void Put(const objects::CapacityBuffer& buffer, Symbols& symbols);
  void Put(const objects::VerticalPodAutoscaler& vpa, Symbols& symbols);
  // One that is not active is dropped.
  void Put(const objects::EvictionRequest& request, Symbols& symbols);

  // Null if the input has no such group.
  [[nodiscard]] const Group* FindGroup(GangKind kind, TextId namespace_name, TextId name) const;
  // The VerticalPodAutoscaler that changes pods of this workload; the oldest of several, as its
  // webhook chooses.  Null if none does, or none is in a mode that changes pods.
  [[nodiscard]] const Vpa* FindVpa(TextId namespace_name, TextId kind, TextId name) const;
  [[nodiscard]] bool HasVpas() const { return !vpas_.empty(); }
  // The name of the EvictionRequest for the pod; kNoText: there is none.  `uid` may be anything
  // that is no UID, if the pod has none.
  [[nodiscard]] TextId FindEvictionRequest(TextId namespace_name, TextId pod, TextId uid) const;
  [[nodiscard]] bool HasEvictionRequests(TextId namespace_name) const {
    return eviction_namespaces_.contains(namespace_name);
  }
  // Of all VerticalPodAutoscalers that change pods, in the order of the input.
  [[nodiscard]] const std::vector<VpaTarget>& vpa_targets() const { return vpa_targets_; }
  // The pod of the template, which has the names of the template's metadata alone.
  [[nodiscard]] const objects::Pod* FindTemplate(TextId namespace_name, TextId name) const;
  // In the order of the input.
  [[nodiscard]] const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  struct OwnedPod;

  absl::flat_hash_map<std::tuple<GangKind, TextId, TextId>, Group> groups_;
  absl::flat_hash_map<std::tuple<TextId, TextId, TextId>, Vpa> vpas_;  // Namespace, kind, name.
  absl::flat_hash_map<std::pair<TextId, TextId>, std::shared_ptr<const OwnedPod>> templates_;
  std::vector<Buffer> buffers_;
  // By namespace, name and UID of the pod.
  absl::flat_hash_map<std::tuple<TextId, TextId, TextId>, TextId> eviction_requests_;
  absl::flat_hash_set<TextId> eviction_namespaces_;
  std::vector<VpaTarget> vpa_targets_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_ROOM_OBJECTS_H_
