// What the kinds of sample clusters share: random choices, and the nodes, pods and ReplicaSets
// with which most of them start.
//
// Ownership: the objects hold views of the texts from which they are made.

#ifndef EBB_SNAPSHOT_SAMPLES_SAMPLE_OBJECTS_H_
#define EBB_SNAPSHOT_SAMPLES_SAMPLE_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "snapshot/objects/object_sink.h"

namespace ebb::samples {

inline constexpr int64_t kMi = int64_t{1} << 20;
inline constexpr int64_t kGi = int64_t{1} << 30;
inline constexpr int64_t kDayS = 86400;
inline constexpr int64_t kNewYearS = 1767225600;  // 2026-01-01T00:00:00Z
inline constexpr objects::Text kHostname = "kubernetes.io/hostname";
inline constexpr objects::Text kZone = "topology.kubernetes.io/zone";
inline constexpr objects::Text kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";

class Dice : public Random {
 public:
  using Random::Random;

  // Uniform in [first, last].
  int64_t Between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(Below(static_cast<uint64_t>(last - first + 1)));
  }

  // True with a probability of `permille`/1000.
  bool Chance(uint64_t permille) { return Below(1000) < permille; }

  // A random index; the probability of each is proportional to its weight.
  // REQUIRES: at least one weight is above zero.
  size_t Weighted(std::span<const uint32_t> weights);
};

// A Ready Linux node for 110 pods, created at kNewYearS; its UID is its name.
objects::Node NodeOf(const std::string& name, int64_t cpu_milli, int64_t memory_mib);

// A running pod with one container, created a day later.
objects::Pod PodOf(objects::Text namespace_name, objects::Text name, objects::Text uid,
                   objects::Text node, int64_t cpu_milli, int64_t memory_mib);

// A selector that matches objects with the label.
objects::LabelSelector Labelled(objects::Text key, objects::Text value);

// Adds an anti-affinity term: the pod does not share a domain of `key` with a pod that `repelled`
// matches.
void Repel(objects::LabelSelector repelled, objects::Pod& pod, objects::Text key = kHostname);

// Adds a spread constraint (DoNotSchedule): in no domain of `key` may there be over `max_skew` more
// pods that `counted` matches than in another domain.
void SpreadOver(objects::Text key, objects::LabelSelector counted, int64_t max_skew,
                objects::Pod& pod);
void SpreadOverZones(objects::LabelSelector counted, int64_t max_skew, objects::Pod& pod);

// Adds a required label: the pod runs only on nodes with this label, or in this zone.
void KeepWhere(objects::Text key, objects::Text value, objects::Pod& pod);
void KeepInZone(objects::Text zone, objects::Pod& pod);

// Writes a controller that wants and has `replicas` pods; a DaemonSet has no wanted number.
absl::Status WriteController(objects::ControllerKind kind, objects::Text namespace_name,
                             objects::Text name, objects::Text uid, int64_t replicas,
                             ObjectSink& sink);

// Writes a ReplicaSet in namespace default; its UID is its name.
absl::Status WriteReplicaSet(objects::Text name, int64_t replicas, ObjectSink& sink);

// A pod of that ReplicaSet that requests 1/40 of a node of WriteNodes().
objects::Pod ReplicaOf(objects::Text replica_set, objects::Text name, objects::Text node);

// Writes nodes "node-0", "node-1", ... of 8 CPU, and appends their names to `names`.
absl::Status WriteNodes(uint32_t nodes, ObjectSink& sink, std::vector<std::string>& names);

}  // namespace ebb::samples

#endif  // EBB_SNAPSHOT_SAMPLES_SAMPLE_OBJECTS_H_
