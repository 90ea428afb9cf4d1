// DeviceSink passes a cluster on and gives it devices (resource.k8s.io): some nodes get a
// ResourceSlice with eight GPUs, and some of their pods a ResourceClaim for one of them, allocated
// and made from a ResourceClaimTemplate.
//
// The driver, its DeviceClass and its attributes are named as those of NVIDIA's driver.  A node's
// GPUs are all of one product; each GPU has a UUID of its own.  Claims ask for any GPU, for the
// product of their node, or for 40 GiB of memory at least.  Pods of DaemonSets and of nodes, and
// pods that have ended, are being deleted or have no node, get no claim.  If only a share of the
// nodes gets devices, these are in groups of their own: the label nodegroup ends with "-gpu".
//
// Deterministic: the same objects in the same order and the same options give the same cluster.
// Errors:        those of the sink.
// Ownership:     borrows the sink.
// Threads:       not thread-safe.

#ifndef EBB_SNAPSHOT_SAMPLES_DEVICES_H_
#define EBB_SNAPSHOT_SAMPLES_DEVICES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {

inline constexpr uint32_t kDevicesOfNode = 8;

struct DeviceOptions {
  double nodes = 1;                    // The share of nodes with devices, from 0 to 1.
  double pods = 1;                     // The share of pods with a claim, of those that may.
  uint32_t used_max = kDevicesOfNode;  // Claims on a node, at most kDevicesOfNode.
  bool one_product = false;            // All nodes have the same GPUs.
  uint64_t seed = 1;
};

class DeviceSink final : public ObjectSink {
 public:
  DeviceSink(const DeviceOptions& options, ObjectSink& to);

  // A node must come before its pods; pods of nodes that come later get no claims.
  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
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
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    return to_.OnList(kind, items);
  }
  void OnAside(const Aside& aside) override { to_.OnAside(aside); }

 private:
  struct NodeDevices {
    uint32_t product = 0;
    uint32_t used = 0;
  };
  absl::Status GiveNode(const objects::Node& node);
  absl::Status GiveClass();
  absl::Status GiveSlice(const std::string& node, uint32_t product);
  absl::Status GiveTemplate(objects::Text namespace_name, const std::string& name);
  absl::Status GiveClaim(const objects::Pod& pod, const std::string& name,
                         const NodeDevices& on_node, uint32_t asks);
  bool Draw(double share);

  DeviceOptions options_;
  ObjectSink& to_;
  Dice dice_;
  bool has_class_ = false;
  absl::flat_hash_map<std::string, NodeDevices> nodes_;
  absl::flat_hash_set<std::string> templates_;  // "namespace/name"
};

}  // namespace ebb::samples

#endif  // EBB_SNAPSHOT_SAMPLES_DEVICES_H_
