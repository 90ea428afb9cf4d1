// PlanReport is a plan as people read it: each pod once, with where it is in the
// end, each node once, kept nodes counted by reason.  Printers work from it.
//
// A pod that moved to a node which went later as well moved twice in the pass; here
// it is listed with the node that it runs on now, `to` is where it ends and `via`
// names the stops between.  It is evicted once, from that node, and counts once in
// `moved` and in `risky`; the pass, like the autoscaler, counts it on each node.
//
// Ownership: borrows all that `context` points to.

#ifndef EBB_REPORT_PLAN_REPORT_H_
#define EBB_REPORT_PLAN_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "groups/node_facts.h"
#include "groups/prices.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

// How a plan fared with a scheduler that does not know it (simulation/eviction_trials.h).
struct PlanTrials {
  struct Figures {
    size_t pending_median = 0;  // Pods left pending; of an even number of trials the lower one.
    size_t pending_max = 0;
    double as_planned = 0;  // Share of all evicted pods that landed where planned.
  };
  size_t trials = 0;  // In each order.
  size_t evicted = 0;
  Figures random_order;
  Figures plan_order;
};

// How a plan was searched for (search).
struct PlanSearch {
  size_t greedy_nodes = 0;  // That the plan without search removes.
  uint64_t iterations = 0;
  uint64_t seed = 0;
  std::optional<size_t> max_evictions;  // What was searched for evicts no more pods.
  // A search for savings: what nodes cost an hour, less the price of moves.
  struct Savings {
    double move_cost = 0;  // Of one pod.
    double greedy = 0;     // Of the plan without search.
    double found = 0;
  };
  std::optional<Savings> savings;  // Absent: for nodes.
};

// How many nodes any plan of the request removes at most (search/bound.h).
struct PlanBound {
  size_t nodes = 0;
  // Of savings, if they are what the plan is for.
  std::optional<double> savings;
  [[nodiscard]] double GapOfSavings(double found) const {
    return !savings || *savings <= found ? 0 : (*savings - found) / *savings;
  }
  // What may be missing, as a share of the bound; 0: no plan removes more than `removed`.
  [[nodiscard]] double Gap(size_t removed) const {
    return nodes <= removed ? 0 : static_cast<double>(nodes - removed) / static_cast<double>(nodes);
  }
};

// As of when a daemon's cluster is that was planned for.  Times are Unix seconds.
struct PlanSession {
  std::string name;
  int64_t as_of_s = 0;
  std::optional<int64_t> not_fed_since_s;                       // Absent: a client feeds it.
  std::string cluster_uid;                                      // "": not known.
  std::vector<std::pair<std::string, int64_t>> broken_watches;  // Kinds, and since when.
};

struct PlanContext {
  const LoadedCluster* cluster;  // As it was loaded: before the plan.
  const NodeGroups* groups;
  const PlanRequest* request;
  const PlanResult* made;
  const NodePrices* prices = nullptr;  // Null: nobody gave any.
  std::optional<PlanSearch> search = std::nullopt;
  std::optional<PlanBound> bound = std::nullopt;      // Absent: it is not known.
  std::optional<PlanTrials> trials = std::nullopt;    // Absent: it was not tried out.
  std::optional<PlanSession> session = std::nullopt;  // Absent: of a dump.
  double pass_s = 0;                                  // How long the passes took.
  double verify_s = 0;                                // 0: verified within a pass.

  [[nodiscard]] const Catalog& catalog() const { return cluster->snapshot.catalog(); }
};

// Why a candidate was kept that the pass did not come to.  ebb's own word.
inline constexpr std::string_view kNotJudged = "NotJudged";

struct PlanReport {
  struct PodMove {
    PodId pod;
    NodeId to = kNoNode;
    std::vector<NodeId> via;
  };
  struct Removal {
    NodeId node;
    std::vector<PodMove> pods;  // Pods that run on it now and must move.
    bool risky = false;         // Budgets do not admit all of `pods` at once.
  };
  struct Kept {
    UnremovableNode why;
    std::string_view reason;
  };

  // What goes of the nodes that have a name in common: a group, an instance type or a
  // capacity type.
  struct Share {
    std::string_view name;
    size_t nodes = 0;
    size_t removed = 0;
    NodeAmounts freed;  // Allocatable of the removed ones.
  };
  // What keeps nodes, and might be changed: a budget without disruptions left, or the
  // workload of pods that may not move or fit nowhere.
  struct Keeper {
    std::string kind;  // "PodDisruptionBudget", "Deployment", "StatefulSet", "Pod", ...
    std::string_view namespace_name;
    std::string_view name;
    std::string_view reason;  // "NotEnoughPdb", "NoPlaceToMovePods", ...
    size_t nodes = 0;         // Of which a pod of it is the first obstacle.
  };

  PlanContext context;
  std::vector<Removal> remove;                                      // In order.
  std::vector<Kept> keep;                                           // In the order of the input.
  std::vector<std::pair<std::string_view, size_t>> kept_by_reason;  // The largest first.
  size_t pods = 0;                                                  // That run on nodes.
  size_t moved = 0;
  std::vector<NodeFacts> facts;  // By NodeId.
  NodeAmounts freed;
  std::optional<double> saved_per_hour;  // By the nodes that go; absent: nobody gave prices.
  // The largest loss first; nodes without a group or type are left out.
  std::vector<Share> by_group;
  std::vector<Share> by_instance_type;
  std::vector<Share> by_capacity_type;
  std::vector<Keeper> keepers;  // Who keeps most nodes first.
  // By the kind and apiVersion of owners that are not found: what MissingControllerDetail
  // says of them.
  std::map<std::pair<TextId, TextId>, std::string> missing_controllers;
};

PlanReport MakeReport(const PlanContext& context);

// Pods that the plan keeps room for, and those that found some.  A pod on a node in deletion runs
// until it is evicted: it counts among the pods that run, and not among those that wait.  The
// report of a round does not know displaced pods; the round does (RoundResult::displaced).
struct PodsWithRoom {
  size_t pending = 0;
  size_t pending_placed = 0;
  size_t displaced = 0;  // PlanRequest::evicting.
  size_t displaced_placed = 0;
};
PodsWithRoom CountRoom(const PlanContext& context);
// Pods that run on nodes, those in deletion too.
size_t RunningPods(const PlanContext& context);
// Nodes that stay since the plan spends what budgets allow at a time, which recover once the
// evicted pods are ready elsewhere: a later round may remove them.
size_t NodesThatMayGoLater(const PlanReport& report);

// The workload of a pod, without reason and nodes: its Deployment, as its ReplicaSet's name tells,
// else its controller, else the pod itself.
PlanReport::Keeper WorkloadOf(const Catalog& catalog, PodId pod);

// "node/a" and so on, a line for each node that goes, in order.
std::string RemovedNames(const PlanContext& context);

// Whether the pod, which runs on `from`, goes to a node of another architecture and does not say
// that it may: its images must be made for both.
bool ChangesArchitecture(const Catalog& catalog, PodId pod, NodeId from, NodeId to);
// Warns of such pods in a plan; nullopt: there is none.  `snapshot` is as before the plan.
std::optional<InputWarning> WarningOfArchitectures(const ClusterSnapshot& snapshot,
                                                   const Plan& plan);

// "RecentlyUnremovable (NoPlaceToMovePods)".
std::string ReasonText(const PlanReport::Kept& kept);
// "counts as not ready: GPU label, and no GPU is allocatable"; empty: only its conditions count.
std::string NotReadyWords(const NodeGroups& groups, NodeId node);
// "counts as not ready: ..., 3 h after it was made"; empty: the node is ready.
std::string UnreadyWords(const PlanContext& context, NodeId node);
// "default/db-0: NotEnoughPdb db"; empty where no pod is to blame.
std::string KeptDetail(const PlanReport& report, const UnremovableNode& why);
// Of a pod that is kept as its controller is not in the input: MissingControllerDetail.
std::string_view MissingController(const PlanReport& report, PodId pod);
// What is to be said of the pod that keeps the node, beside its reason: MissingController,
// BlockWords, EphemeralWords.  Empty where there is nothing to add.
std::string PodDetail(const PlanReport& report, const UnremovableNode& why);
// The annotations that keep the node, by their full names: Karpenter's keep the nodes of its
// groups.
std::vector<std::string_view> AnnotationsThatKeep(const PlanContext& context, NodeId node);

// What a reason does not say: why the node is in no group ("a Fargate node"), or which
// annotation keeps it, also where another reason comes first ("also annotated ...").
// Empty where there is nothing to add.
std::string DetailOf(const PlanContext& context, const UnremovableNode& why);
// Both, with a semicolon between.
std::string KeptBy(const PlanReport& report, const UnremovableNode& why);
// Above which utilization the node stays.
double ThresholdOf(const PlanContext& context, NodeId node);
// Whether cpu and memory were looked at, by the resource that counts: on a node with GPUs these
// alone are.
bool CountsCpuAndMemory(std::string_view resource);
bool CountsCpuAndMemory(const Catalog& catalog, const Utilization& utilization);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_REPORT_H_
