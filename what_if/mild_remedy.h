// The mildest changes of annotations that let pods move, changes of NodePools of Karpenter that let
// nodes go, and the kubectl lines that make changes.
//
// A pod with local volumes is annotated with their names, as Cluster Autoscaler reads them, so that
// its budgets and all other rules still hold.  Only a pod without a controller that replaces it,
// and a pod of kube-system without a budget, is annotated as safe to evict.  Annotations that keep
// a pod are removed.
//
// Threads: one at a time.
// Source:  cluster-autoscaler utils/drain/drain.go, FAQ "What types of pods can prevent CA from
//          removing a node?".

#ifndef EBB_WHAT_IF_MILD_REMEDY_H_
#define EBB_WHAT_IF_MILD_REMEDY_H_

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/plan_report.h"
#include "snapshot/catalog.h"
#include "what_if/object_patch.h"
#include "what_if/patched_cluster.h"

namespace ebb {

// Values by the full key; nullopt: the annotation is removed.
using AnnotationChanges = std::map<std::string, std::optional<std::string>>;

// The mildest changes after which no annotation and no rule but budgets keeps `pods`, which are of
// one workload.
// REQUIRES: PatchedCluster::Find() found the pods.
AnnotationChanges MildestChanges(const PlanReport& report, std::span<const PodId> pods,
                                 const PatchedCluster& patched);
// `annotated KEY: "VALUE" and without KEY`.
std::string WordsOf(const AnnotationChanges& changes);
ObjectPatch Annotated(const ObjectName& object, const AnnotationChanges& changes);

// A change of the node's NodePool, if that keeps the node: its policy, consolidateAfter or budgets.
// `change` is what the NodePool has then ("consolidationPolicy: WhenEmptyOrUnderutilized").
struct NodePoolRemedy {
  std::string pool;
  std::string change;
  ObjectPatch patch;
  std::string command;  // A line to paste; empty for budgets.
};
std::optional<NodePoolRemedy> RemedyOfNodePool(const PlanReport& report,
                                               const UnremovableNode& kept);

// --- Lines to paste into a shell ---------------------------------------------------
// Each is quoted for a POSIX shell, and empty if no one line makes the change, if it would name
// more than kNamesInLineMax objects, or if a name is not one that Kubernetes accepts.

inline constexpr size_t kNamesInLineMax = 50;

// Changes the template of a Deployment or StatefulSet, which then replaces its pods.  Annotates
// other pods themselves, and also the template of a ReplicaSet or ReplicationController.
std::string LineToAnnotate(const Catalog& catalog, const PlanReport::Keeper& workload,
                           std::span<const PodId> pods, const AnnotationChanges& changes);
// Removes a field of the pods' spec, a JSON pointer like "/spec/nodeSelector", from the template of
// a Deployment or StatefulSet.
std::string LineToRemove(const PlanReport::Keeper& workload, std::string_view field);
// Merges a strategic patch into the template of a Deployment or StatefulSet.
std::string LineToPatchPods(const PlanReport::Keeper& workload, const nlohmann::ordered_json& pod);
// Makes the budget allow one disruption at a time.
std::string LineToAllowOne(std::string_view namespace_name, std::string_view budget);
std::string LineToAnnotateNodes(std::span<const std::string> nodes,
                                const AnnotationChanges& changes);

}  // namespace ebb

#endif  // EBB_WHAT_IF_MILD_REMEDY_H_
