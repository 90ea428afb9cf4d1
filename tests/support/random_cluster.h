// Random clusters from bytes, for differential tests and fuzzing.  The same bytes make the same
// cluster, so a fuzzer that finds bytes finds a cluster.
//
// The alphabets are small, so that rules meet: few keys, few values, few ports, and nodes that hold
// a handful of pods.  Each cluster switches each family of rules on or off, so that a late filter
// is not always hidden behind an early one.
//
// Ownership: all texts are literals.
// Threads:   pure.

#ifndef EBB_TESTS_SUPPORT_RANDOM_CLUSTER_H_
#define EBB_TESTS_SUPPORT_RANDOM_CLUSTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/kubernetes_version.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb::test {

// A cluster as its Kubernetes objects.  A pod is where spec.nodeName says.
struct RawCluster {
  std::vector<objects::Node> nodes;
  std::vector<objects::Pod> pods;
  std::vector<objects::Namespace> namespaces;

  std::vector<objects::PersistentVolume> volumes;
  std::vector<objects::PersistentVolumeClaim> claims;
  std::vector<objects::StorageClass> classes;
  std::vector<objects::CsiDriver> drivers;
  std::vector<objects::CsiNode> csi_nodes;
  std::vector<objects::VolumeAttachment> attachments;
  std::vector<objects::CsiStorageCapacity> capacities;

  KubernetesVersion version = KubernetesVersion::k136;  // The version whose rules apply.
  bool match_os = false;
  // The node names where pods ran first, by index in `pods`, and the nodes at that time.  A pod
  // that was moved still has the constraints that were made for them.
  std::vector<objects::Text> homes;
  std::vector<objects::Node> first_nodes;
};

// Turns bytes into decisions; returns zeros when all bytes are used.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool Exhausted() const { return bytes_.empty(); }
  // REQUIRES: 0 < n <= 256.
  size_t Below(size_t n);
  bool Chance(int percent) { return Below(100) >= static_cast<size_t>(100 - percent); }
  template <typename T, size_t N>
  const T& Pick(const std::array<T, N>& of) {
    return of[Below(N)];
  }

 private:
  std::span<const uint8_t> bytes_;
};

// Makes at most 6 nodes and 16 pods, more than any rule needs to go wrong.
RawCluster RandomCluster(Choices& choices);

absl::StatusOr<ClusterSnapshot> BuildSnapshot(const RawCluster& cluster);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_RANDOM_CLUSTER_H_
