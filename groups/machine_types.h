// Machine types: what a plan that replaces nodes may buy (planning/plan_replace.h).
//
//   absl::StatusOr<MachineFile> file = ReadMachineFile("machine_types.yaml");
//   MachineCatalogue catalogue = FindMachineTypes(snapshot, groups, prices, list, &*file);
//
// Two sources:
//   - The cluster: each shape of a group's nodes (instance type, zone, capacity type, allocatable
//     amounts) is a type of this group, at the price of its nodes.
//   - A file: machines that groups of the cluster may also have.
//
// A new node looks like a node of its group, its sibling: it has the sibling's DaemonSets' pods,
// the labels that all ready nodes of the group share, and the taints that any of them has.  A type
// is usable only if there is a sibling with its capacity type and one in its zone, so that no label
// has to be invented.  The requirements and limits of a group's NodePool (node_pools.h) decide
// which types, zones and capacity types are usable.  Unusable types are listed with the reason.
//
// The file is YAML or JSON:
//
//   machineTypes:
//   - name: m7i.large                  # the instance type
//     groups: [general]                # the groups that may have it
//     capacity: {cpu: "2", memory: 8Gi, ephemeral-storage: 80Gi, nvidia.com/gpu: "1"}
//     pods: 29                         # default: 110
//     kubeReserved: {cpu: 70m, memory: 574Mi}      # these three are subtracted
//     systemReserved: {memory: 100Mi}
//     evictionHard: {memory: 100Mi, ephemeral-storage: 10%}
//     labels: {example.com/disk: ssd}  # over those of the sibling
//     taints: [{key: a, value: b, effect: NoSchedule}]     # beside those of the sibling
//     offers:                          # where and how it is sold
//     - {zones: [z1, z2], capacityType: on-demand, hourly: 0.1008}
//     - {capacityType: spot}           # default: the group's zones, and the price of --prices
//
// Or it is a list of a cloud's tool (cloud_machines.h).
//
// Units:   as objects.h: milli-CPU, else whole units; prices per hour in the currency of the
//          price list.
// Errors:  InvalidArgument, naming file, type and field.
// Cost:    FindMachineTypes: O(nodes * labels + pods).
// Threads: pure but for reading the file.  Types own their texts.

#ifndef EBB_GROUPS_MACHINE_TYPES_H_
#define EBB_GROUPS_MACHINE_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/plan/node_groups.h"
#include "groups/machine_file.h"
#include "groups/node_facts.h"
#include "groups/prices.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

absl::StatusOr<MachineFile> ReadMachineFile(const std::string& path);
// `name` stands for the file in errors.
absl::StatusOr<MachineFile> ParseMachineFile(const std::string& name, const std::string& text);

// One machine type in one group, zone and capacity type.
struct MachineType {
  std::string name;  // The instance type; of nodes without one, the name of the sibling.
  GroupId group = kNoGroup;
  std::string zone;           // This and the next: empty if the nodes have no such label.
  std::string capacity_type;  // As NodeFacts::capacity_type.
  double hourly = 0;
  // Amounts by resource name, in the order of names; of all resources that are above 0.
  std::map<std::string, int64_t> allocatable;
  std::string sibling;  // The name of the node that a new node looks like.
  // Labels of the sibling that a new node does not have: those of this one node, those that other
  // nodes of the group lack or have with another value, and for another instance type those about
  // hardware.
  std::set<std::string, std::less<>> left_out = {};
  std::vector<MachineTaint> group_taints = {};  // Of other nodes of the group, and of its NodePool.
  // Of its NodePool.  Empty, or null: the group is none of Karpenter's, or its NodePool is not
  // known.
  const KarpenterObjects::Pool* pool = nullptr;
  std::map<std::string, std::string> pool_labels = {};
  std::set<std::string, std::less<>> startup_taints =
      {};  // Keys of taints that a ready node lacks.
  std::map<std::string, int64_t> capacity = {};
  size_t daemon_pods = 0;  // Pods of DaemonSets and static pods of the sibling.
  // Null: the new node is like its sibling in everything.  Points into the MachineFile.
  const FileMachine* of_file = nullptr;

  [[nodiscard]] bool IsSpot() const { return ebb::IsSpot(capacity_type); }
};

// "m7i.large in z1, spot".
std::string ToText(const MachineType& type);

// Types that cannot be bought, by reason.
struct UnusableTypes {
  std::string_view reason;         // "NoPrice".
  std::string_view text;           // What it means, as a sentence's end.
  std::vector<std::string> names;  // Of the types, in order.
};

class MachineCatalogue {
 public:
  // By weight of the NodePool, the largest first, group, name, zone and capacity type.
  std::vector<MachineType> usable;
  std::vector<UnusableTypes> unusable;

  enum class Why : uint8_t {
    kNoPrice,
    kUnknownGroup,
    kNoGroups,
    kGroupAtMaximum,
    kAtomicGroup,
    kStaticNodePool,
    kRequirementsNotRead,
    kRequirementsNotMet,
    kLimitExceeded,
    kNoZone,
    kNoSibling,
    kDominated,
    kTooDear,
    kSpotFromOnDemand,
    kTooFewSpotTypes,
    kNotSold,
    kOtherArchitecture,
    kLeftOut,
  };
  void Refuse(Why why, std::string name);
};

// `file`: null: only the cluster's own shapes; otherwise it must outlive the types.  So must the
// snapshot's catalog.
MachineCatalogue FindMachineTypes(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const NodePrices& prices, const PriceList& list,
                                  const MachineFile* file);

}  // namespace ebb

#endif  // EBB_GROUPS_MACHINE_TYPES_H_
