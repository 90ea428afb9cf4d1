// NodePools of Karpenter: which machines may be bought for one, and how many.
//
//   return UnreadRequirement(pool).empty() && UnmetRequirement(pool, labels, unknown).empty();
//
// Requirements are those of spec.template.spec.requirements: In, NotIn, Exists, DoesNotExist, Gt,
// Lt, Gte and Lte.  A requirement about a label that no machine decides, such as `team`, restricts
// no machine: it sets a label of new nodes (LabelFor).
//
// Limits are those of spec.limits, counted by capacity as Karpenter counts them.  Nodes that go
// later still count, because new nodes are bought before.
//
// Units:   as objects.h: milli-CPU, else whole units.
// Cost:    UsedOfLimits one pass over the nodes; others O(requirements).
// Threads: pure functions.
// Source:  karpenter pkg/scheduling/requirement.go, pkg/controllers/provisioning/scheduling
// (1.14.3).

#ifndef EBB_GROUPS_NODE_POOLS_H_
#define EBB_GROUPS_NODE_POOLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "snapshot/cluster_snapshot.h"
#include "snapshot/karpenter_objects.h"

namespace ebb {

using TextMap = std::map<std::string, std::string>;
using AmountMap = std::map<std::string, int64_t>;

// Whether a label follows from the machine, or from where and how it is bought.
bool IsOfMachine(std::string_view key);

// What Karpenter's providers say in labels about a machine, as far as its name and capacity tell:
// family, size, generation, CPUs and memory on AWS, Azure and GCP.
TextMap MachineLabels(const std::string& instance_type, const AmountMap& capacity);

// The architecture that the name of a cloud's instance type tells: "arm64", "amd64", or "" if the
// name is of no known form.  AWS: a `g` after the generation ("c7g.large"); Azure: a `p` after the
// size ("Standard_D2ps_v5"); Google: by family ("t2a-standard-1").
std::string_view ArchOfName(std::string_view instance_type);

// The place of a requirement, or of a field of the template, that ebb cannot read:
// "requirements[2].operator"; empty: all are read.
std::string UnreadRequirement(const KarpenterObjects::Pool& pool);
// The key of the first requirement about machines that `labels` do not meet.  `is_unknown`: whether
// it is not known if the machine has the label; such a label meets no requirement.
std::string UnmetRequirement(const KarpenterObjects::Pool& pool, const TextMap& labels,
                             const std::function<bool(std::string_view)>& is_unknown);
// Whether a node with this value (nullopt: without the label) meets the requirement.
bool Meets(const KarpenterObjects::Requirement& requirement,
           const std::optional<std::string>& value);

// For each resource that the NodePool limits, how much its nodes have: status.resources, or the sum
// of the capacity of its nodes where the status does not say.
AmountMap UsedOfLimits(const ClusterSnapshot& snapshot, const KarpenterObjects::Pool& pool);
// Adds what a new node of this capacity counts.
void CountNode(const AmountMap& capacity, AmountMap& used);
// The first resource of which more is used than the NodePool allows; empty: none.
std::string ExceededLimit(const KarpenterObjects::Pool& pool, const AmountMap& used);

// By resource name, as in the node's status.capacity; allocatable amounts if it has none.
AmountMap CapacityOf(const Catalog& catalog, NodeId node);

}  // namespace ebb

#endif  // EBB_GROUPS_NODE_POOLS_H_
