// Devices is the part of a Catalog for dynamic resource allocation: device classes, the claims of
// pods, the devices that resource slices offer, and which of them each node reaches.
//
// SnapshotBuilder fills it, with kinds in any order, and connects it once.  After that only a
// LiveSnapshot changes it: claims and slices, in place.
// Which devices are in use is part of the ClusterSnapshot (device_state.h), and device_allocator.h
// searches for free ones.
//
// Not understood: an object with a field that ebb does not evaluate carries a reason.  A pod whose
//            claim or class has one keeps its node; no node takes a pod that needs devices while a
//            slice there has one.
// Cost:      Connect: nearly linear in devices, plus (nodes * slices that belong to no single
//            node).  Reconnect: the same for the nodes of the pools that changed.  A selector is
//            compiled once.  A device's answer to a selector, or its error, is computed when it is
//            first asked for; devices with equal attributes and capacities share the answer.
// Threads:   const methods may run concurrently; the others need exclusive access.
// Source:    k8s.io/dynamic-resource-allocation v0.36 and v0.37, structured/internal/incubating,
//            which kube-scheduler uses by default.

#ifndef EBB_SNAPSHOT_DEVICES_H_
#define EBB_SNAPSHOT_DEVICES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "cel/device_selector.h"
#include "snapshot/device_amount.h"
#include "snapshot/ids.h"
#include "snapshot/matching.h"
#include "snapshot/objects/kubernetes_version.h"
#include "snapshot/objects/storage_objects.h"
#include "snapshot/symbols.h"

namespace ebb {

// What is read of a node.
struct DeviceNode {
  TextId name;  // kNoText: the node has gone.
  const LabelSet& labels;
};

struct DeviceNodes {
  size_t count;
  absl::FunctionRef<DeviceNode(NodeId)> at;
  absl::FunctionRef<NodeId(TextId)> find;  // kNoNode: there is no node of this name.
};

// The nodes that reach a device, or on which a claim's devices may be used.
struct DeviceReach {
  TextId node = kNoText;  // Only this node.
  bool everywhere = false;
  bool has_selector = false;
  Constraints selector;

  [[nodiscard]] bool Matches(const DeviceNode& of, const Symbols& symbols) const;
};

// A capacity of a device, and its policy for the amounts that one request takes.
struct DeviceCapacityInfo {
  struct Range {
    absl::int128 min = 0;
    std::optional<absl::int128> max;
    std::optional<absl::int128> step;
  };
  TextId name = kNoText;
  absl::int128 nanos = 0;
  std::optional<absl::int128> standard;
  std::vector<absl::int128> valid_values;
  std::optional<Range> range;

  // What a request for `asked` (nullopt: for no amount) takes, rounded up as the policy says: in a
  // range with a step, to whole units.  nullopt: the policy allows no such amount.
  [[nodiscard]] std::optional<absl::int128> Taken(std::optional<absl::int128> asked) const;
};

struct DeviceInfo {
  struct NamedCounter {
    TextId counter_set;
    TextId name;
    absl::int128 nanos;
    [[nodiscard]] bool IsNamedAs(const NamedCounter& other) const {
      return counter_set == other.counter_set && name == other.name;
    }
  };
  DeviceId id{};
  TextId name = kNoText;
  uint32_t slice = 0;
  uint32_t shape = 0;  // Devices with equal attributes and capacities have the same.
  std::vector<Taint> taints;
  DeviceReach reach;                   // If the slice has per_device_nodes.
  std::vector<NamedCounter> consumes;  // In the order of the object.
  bool allow_multiple = false;         // Several claims may share it, each a part of its capacity.
  bool limits_requests = false;        // allow_multiple, or a capacity with a policy.
  bool binds_to_node = false;  // A claim that holds it may be used on the node of its allocation.
  bool has_binding_conditions = false;
};

struct SliceInfo {
  TextId name = kNoText;
  TextId driver = kNoText;
  TextId pool = kNoText;
  int64_t generation = 0;
  int64_t slice_count = 0;
  DeviceReach reach;
  bool reach_known = false;
  bool per_device_nodes = false;
  bool has_counters = false;
  bool depends_on_version = false;
  uint32_t first_device = 0;  // Of Devices::device().
  uint32_t end_device = 0;
  uint64_t order = 0;                              // Higher for slices that were added later.
  std::vector<DeviceInfo::NamedCounter> counters;  // spec.sharedCounters.
  std::vector<TextId> counter_sets;                // In order; one that occurs twice is wrong.
  std::string not_understood;                      // "spec.x".
};

// A pool of devices as one node sees it.
struct NodePool {
  uint32_t first_slice = 0;  // Any slice of the pool: for its names.
  bool incomplete = false;   // Some slices of the newest generation are missing.
  bool invalid = false;
  bool has_binding_conditions = false;
  bool uses_unknown = false;  // Some pod that may use its devices has claims that are not known.
  std::optional<uint32_t> wrong_slice;  // The first one that is not understood.
  std::vector<uint32_t> slices;         // That have devices for the node, by name.
  std::vector<uint32_t> others;  // The pool's other slices with devices, if some consume counters.
  // What the pool has.
  std::vector<TextId> counter_sets;
  std::vector<DeviceInfo::NamedCounter> counters;

  // Whether nothing of the pool may be allocated.
  [[nodiscard]] bool IsClosed() const { return incomplete || invalid || uses_unknown; }
};

struct DeviceAskInfo {
  TextId name = kNoText;  // Empty for `exactly`.
  TextId class_name = kNoText;
  std::vector<uint32_t> selectors;  // Of Devices::selector().
  bool all = false;
  int64_t count = 1;
  bool admin_access = false;
  std::vector<Constraints::Toleration> tolerations;
  bool unknown_mode = false;
  std::vector<DeviceAmount> capacity;
};

struct DeviceRequestInfo {
  TextId name = kNoText;
  bool first_available = false;
  std::vector<DeviceAskInfo> asks;
};

struct DeviceConstraintInfo {
  bool distinct = false;
  // The attribute: its full name, and the two parts of the name.
  TextId attribute = kNoText;
  TextId domain = kNoText;
  TextId id = kNoText;
  std::vector<std::pair<TextId, TextId>> requests;  // Request, or request and alternative.
};

struct DeviceClaimInfo {
  struct Device {
    DeviceId id;
    bool admin_access;
    bool shared;
    std::vector<DeviceAmount> consumed;  // If shared.
  };
  TextId namespace_name = kNoText;
  TextId name = kNoText;
  TextId owner_uid = kNoText;  // The UID of the owner with controller: true.
  bool owned = false;          // A pod that uses the claim owns it; set by SnapshotBuilder.
  bool deleting = false;
  std::vector<DeviceRequestInfo> requests;
  std::vector<DeviceConstraintInfo> constraints;
  bool depends_on_version = false;
  size_t unused_min = 0;  // It needs at least this many devices that are not in use.
  uint32_t spec = 0;      // Claims with equal requests and constraints have the same.
  // As the status says.
  bool allocated = false;
  std::vector<Device> devices;
  DeviceReach allocated_on;
  std::vector<TextId> reserved_for;  // UIDs.
  // The reservations of consumers that are no placed pods whose claims ebb understands.
  uint32_t other_users = 0;
  std::string not_understood;
  // "device gpu-0 of pool n: ..."; empty: the binding conditions of its devices hold.
  std::string not_bound;

  [[nodiscard]] bool IsReservedFor(TextId uid) const;
};

struct DeviceClassInfo {
  TextId name = kNoText;
  std::vector<uint32_t> selectors;  // Of Devices::selector().
  std::string not_understood;
};

class Devices {
 public:
  Devices() = default;
  void Put(const objects::DeviceClass& from, Symbols& symbols);
  void Put(const objects::ResourceClaim& from, Symbols& symbols);
  void Put(const objects::ResourceSlice& from, Symbols& symbols);
  void Put(const objects::DeviceTaintRule& from, Symbols& symbols);

  // Must be called once, after everything was added.  `version`: whose rules apply.
  void Connect(const DeviceNodes& nodes, const Symbols& symbols, KubernetesVersion version);

  // A pod on each of these nodes uses devices that the input does not tell (IsAllocated): so
  // nothing of the pools that the nodes reach is allocated, and something of all others.
  // REQUIRES: Connect was called.
  void CloseUnknownPools(std::span<const DeviceNode> nodes, const Symbols& symbols);

  // --- Changes after Connect.  Reconnect must follow before anything is read.

  // Put the object in the place of that of its name, if there is one, or as the last one.
  void Replace(const objects::ResourceClaim& from, Symbols& symbols);
  void Replace(const objects::ResourceSlice& from, Symbols& symbols);
  // The ids of the claim and of the slice's devices may be given again.
  void RemoveClaim(DeviceClaimId id);
  void RemoveSlice(TextId name);
  // `changed`: nodes that came, went, or have other labels.
  void Reconnect(const DeviceNodes& nodes, std::span<const NodeId> changed, const Symbols& symbols);
  // Forgets what SetOwned and PlacesUser noted.
  void ForgetUsers(DeviceClaimId id);
  // Counts the calls of Reconnect.
  [[nodiscard]] uint64_t changes() const { return changes_; }
  // Whether most of what is kept for names, requests and attributes belongs to objects that have
  // gone.
  [[nodiscard]] bool HasMuchGone() const;
  // A copy that may be changed while others read this one.
  [[nodiscard]] std::shared_ptr<Devices> Copy() const;

  // What a selector says of a device.
  enum class Answer : uint8_t { kNotAsked, kNo, kYes, kError, kNotUnderstood };
  [[nodiscard]] Answer Ask(uint32_t selector, const DeviceInfo& device) const;
  // Why Ask returned kError or kNotUnderstood.  REQUIRES: it did.
  [[nodiscard]] std::string ErrorOf(uint32_t selector, const DeviceInfo& device) const;
  [[nodiscard]] std::string_view Expression(uint32_t selector) const {
    return selectors_[selector].expression;
  }

  [[nodiscard]] size_t ids() const { return ids_.size(); }
  // The number of ids that claims have or had.
  [[nodiscard]] size_t claims() const { return claims_.size(); }
  [[nodiscard]] bool HasSlices() const { return !slices_by_name_.empty(); }
  [[nodiscard]] const DeviceClaimInfo& claim(DeviceClaimId id) const { return claims_[Index(id)]; }
  [[nodiscard]] std::optional<DeviceClaimId> FindClaim(TextId namespace_name, TextId name) const;
  // Whether the claim exists and its status tells the devices of its users.
  [[nodiscard]] bool IsAllocated(TextId namespace_name, TextId name) const;
  [[nodiscard]] const DeviceClassInfo* FindClass(TextId name) const;
  [[nodiscard]] const DeviceInfo& device(uint32_t index) const { return devices_[index]; }
  [[nodiscard]] const SliceInfo& slice(uint32_t index) const { return slices_[index]; }
  [[nodiscard]] std::span<const DeviceCapacityInfo> CapacitiesOf(const DeviceInfo& device) const {
    return shapes_[device.shape].capacities;
  }
  // Whether several claims may, or might once, hold one device.
  [[nodiscard]] bool HasSharedDevices() const { return has_shared_devices_; }
  // Whether a version of Kubernetes may allocate the devices otherwise than another.
  [[nodiscard]] bool DependOnVersion() const { return depend_on_version_ > 0; }
  // Sorted by driver and pool; pools with binding conditions come last.
  [[nodiscard]] std::span<const NodePool> PoolsOf(NodeId node) const {
    if (Index(node) >= pools_of_.size()) return {};
    return pools_of_[Index(node)];
  }
  // The device's value of a constraint's attribute: a type and a text; nullopt if it has none.
  [[nodiscard]] std::optional<std::pair<TextId, TextId>> AttributeOf(
      const DeviceInfo& device, const DeviceConstraintInfo& constraint) const;

  // Why ebb does not evaluate the claim: "spec.x is not evaluated"; empty if it does.
  [[nodiscard]] std::string WhyNotUnderstood(DeviceClaimId id, const Symbols& symbols) const;

  // A pod that uses the claim owns it.
  void SetOwned(DeviceClaimId id) { claims_[Index(id)].owned = true; }
  // One reservation of the claim belongs to a pod that the snapshot places itself.
  void PlacesUser(DeviceClaimId id) { --claims_[Index(id)].other_users; }

  // The utilization of the node's own pools, as the autoscaler computes it, if these devices count
  // as used.  Of equal ones the last by name.
  struct PoolUse {
    TextId driver = kNoText;
    TextId pool = kNoText;
    double utilization = 0;
  };
  // nullopt: a pool is incomplete.  REQUIRES: HasOwnSlices(node).
  [[nodiscard]] std::optional<PoolUse> HighestUse(NodeId node,
                                                  const absl::flat_hash_set<DeviceId>& used,
                                                  const Symbols& symbols) const;
  // Remembers searches for devices that took many steps and found none.  `key` is a hash of all
  // that the search depends on; `too_long`: it was ended because of its steps.
  using SearchKey = std::pair<uint64_t, uint64_t>;
  void RememberFailure(const SearchKey& key, bool too_long) const;
  [[nodiscard]] std::optional<bool> FindFailure(const SearchKey& key) const;

  // Whether some slice belongs to this node alone.
  [[nodiscard]] bool HasOwnSlices(NodeId node) const {
    return Index(node) < own_slices_.size() && !own_slices_[Index(node)].empty();
  }

 private:
  Devices(const Devices&) = default;  // Without answers: Copy makes room for them.

  struct TaintRule {
    TextId name;
    // kNoText: any.
    TextId driver;
    TextId pool;
    TextId device;
    Taint taint;
    std::string not_understood;
  };
  struct Selector {
    std::string_view expression;
    std::optional<absl::StatusOr<cel::DeviceSelector>> compiled;
    std::unique_ptr<std::atomic<Answer>[]> answers;  // By shape.

    Selector() = default;
    Selector(const Selector& other) : expression(other.expression), compiled(other.compiled) {}
    Selector(Selector&&) = default;
  };
  struct Attribute {
    TextId name;
    TextId type;
    TextId value;
  };
  struct Shape {
    std::string_view driver;
    TextId driver_id = kNoText;
    std::vector<Attribute> attributes;  // Sorted by name.
    std::vector<cel::DeviceAttribute> for_selectors;
    std::vector<cel::DeviceCapacity> capacity;
    std::vector<DeviceCapacityInfo> capacities;
    bool allow_multiple = false;
  };

  // Filled on use, because what it keeps is expensive to find again.
  struct Cache {
    absl::Mutex mutex;
    absl::node_hash_set<std::string> error_texts ABSL_GUARDED_BY(mutex);
    // By selector and shape.
    absl::flat_hash_map<std::pair<uint32_t, uint32_t>, const std::string*> errors
        ABSL_GUARDED_BY(mutex);
    absl::flat_hash_map<SearchKey, bool> failures ABSL_GUARDED_BY(mutex);

    Cache() = default;
    Cache(const Cache&) {}  // NOLINT(bugprone-copy-constructor-init): a copy is empty.
  };

  DeviceClaimInfo Compile(const objects::ResourceClaim& from, Symbols& symbols);
  // Fills the slice, whose devices begin at first_device, where there is room for them.
  void Fill(const objects::ResourceSlice& from, uint32_t index, Symbols& symbols);
  void Link(uint32_t slice);
  void Unlink(uint32_t slice);
  // The pools of nodes that see the slice's pool must be gathered again.
  void Touch(const SliceInfo& slice);
  void GatherNode(NodeId id, const DeviceNode& node, const Symbols& symbols);
  void PrepareSelectors();
  uint32_t InternSelector(std::string_view expression, Symbols& symbols);
  DeviceId InternDevice(TextId driver, TextId pool, TextId name);
  uint32_t InternShape(const objects::Device& device, std::string_view driver, SliceInfo& slice,
                       Symbols& symbols);
  static std::vector<DeviceAmount> Amounts(const std::vector<objects::DeviceQuantity>& from,
                                           std::string_view where, std::string& not_understood,
                                           Symbols& symbols);
  std::vector<DeviceInfo::NamedCounter> Counters(const std::vector<objects::DeviceCounters>& sets,
                                                 std::string_view where, SliceInfo& slice,
                                                 Symbols& symbols) const;
  void ApplyTaintRules(uint32_t slice, const Symbols& symbols);
  void AddIfNewest(uint32_t slice, std::vector<uint32_t>& newest) const;
  std::vector<NodePool> GatherPools(const DeviceNode& node, std::span<const uint32_t> own,
                                    const Symbols& symbols) const;
  void BuildPool(std::span<const uint32_t> seen, std::span<const uint32_t> all,
                 NodePool& pool) const;
  [[nodiscard]] bool IsSeen(const SliceInfo& slice, const DeviceNode& node,
                            const Symbols& symbols) const;
  // Whether each node looks at the slice.
  [[nodiscard]] bool IsOfAllNodes(const SliceInfo& slice) const {
    return slice.reach.node == kNoText ||
           (slice.has_counters && version_ < KubernetesVersion::k137);
  }
  [[nodiscard]] bool CountersExist(uint32_t slice, const NodePool& pool) const;
  [[nodiscard]] cel::DeviceForSelector ForSelector(uint32_t shape) const;
  [[nodiscard]] double UseOfPool(std::span<const uint32_t> slices,
                                 const absl::flat_hash_set<DeviceId>& used) const;

  std::vector<TaintRule> taint_rules_;
  bool has_shared_devices_ = false;
  size_t depend_on_version_ = 0;  // How many claims and slices do.
  absl::flat_hash_map<std::string, uint32_t> specs_by_key_;
  std::vector<DeviceClassInfo> classes_;
  absl::flat_hash_map<TextId, uint32_t> classes_by_name_;
  std::vector<DeviceClaimInfo> claims_;
  absl::flat_hash_map<std::pair<TextId, TextId>, DeviceClaimId> claims_by_name_;
  std::vector<DeviceClaimId> free_claims_;
  std::vector<SliceInfo> slices_;
  absl::flat_hash_map<TextId, uint32_t> slices_by_name_;
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> free_slices_;  // By number of devices.
  size_t live_devices_ = 0;
  uint64_t next_slice_order_ = 0;
  std::vector<DeviceInfo> devices_;
  std::vector<Selector> selectors_;
  absl::flat_hash_map<TextId, uint32_t> selectors_by_text_;
  std::vector<Shape> shapes_;
  absl::flat_hash_map<std::string, uint32_t> shapes_by_key_;
  absl::flat_hash_map<std::tuple<TextId, TextId, TextId>, DeviceId> ids_;

  // Set by Connect.
  size_t answers_ = 0;  // Of each selector there is room for so many.
  KubernetesVersion version_ = KubernetesVersion::k136;
  // Lists of slices are in their order.
  absl::flat_hash_map<std::pair<TextId, TextId>, std::vector<uint32_t>> slices_of_pool_;
  absl::flat_hash_map<TextId, std::vector<uint32_t>> slices_of_node_;  // By nodeName.
  std::vector<uint32_t> shared_slices_;            // That belong to no single node.
  std::vector<std::vector<uint32_t>> own_slices_;  // By NodeId: with its nodeName.
  std::vector<std::vector<NodePool>> pools_of_;    // By NodeId.

  // Changes since the last Reconnect.
  absl::flat_hash_set<std::pair<TextId, TextId>> touched_pools_;
  absl::flat_hash_set<TextId> touched_nodes_;
  bool touched_all_ = false;
  uint64_t changes_ = 0;

  mutable Cache cache_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_DEVICES_H_
