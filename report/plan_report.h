// PlanReport is a plan as people read it: each pod once, with the node where it ends; each node
// once; kept nodes counted by reason.  Printers work from it.
//
// A pod that moved to a node which was removed later moved twice in the pass.  The report lists it
// with the node that it runs on now; `to` is the node where it ends and `via` the stops between.
// It is evicted once, from the node that it runs on now, and counts once in `moved` and in `risky`.
// The pass, like the autoscaler, counts it on each node.
//
// Ownership: borrows all that `context` points to.

#ifndef EBB_REPORT_PLAN_REPORT_H_
#define EBB_REPORT_PLAN_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
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

// How the plan turned out when a simulated scheduler that does not know the plan placed the evicted
// pods (simulation/eviction_trials.h).
struct PlanTrials {
  struct Figures {
    // Pods left pending; the lower median if the number of trials is even.
    size_t pending_median = 0;
    size_t pending_max = 0;
    double as_planned = 0;  // Share of all evicted pods that landed where planned.
  };
  size_t trials = 0;  // In each of the two orders.
  size_t evicted = 0;
  Figures random_order;
  Figures plan_order;
};

// Why the search for a better plan ended.
enum class SearchStop : uint8_t {
  kNothingToSearch,  // No node may be removed, or a limit ended the first plan.
  kBoundReached,     // No plan is better.
  kBudgetUsed,       // The time that was given to the search.
  kIterationsUsed,   // The number of iterations that was given to it.
  kTimeLimit,        // The time for the whole answer, of which the search may use a part.
  kInterrupted,      // A signal, or a client that cancelled the call.
};
// "boundReached".
std::string_view ToString(SearchStop stop);

// How a better plan was searched for (search).
struct PlanSearch {
  size_t greedy_nodes = 0;  // Nodes that the plan without search removes.
  uint64_t iterations = 0;
  uint64_t seed = 0;
  SearchStop ended = SearchStop::kNothingToSearch;
  // The search considers only plans that evict at most this many pods.
  std::optional<size_t> max_evictions;
  // For a search that maximises savings: hourly price of the removed nodes less the price of moves.
  struct Savings {
    double move_cost = 0;  // Price of moving one pod.
    double greedy = 0;     // Savings of the plan without search.
    double found = 0;
  };
  std::optional<Savings> savings;  // Absent: the search maximises the number of nodes.
};

// An upper bound for every plan of the request (search/bound.h).
struct PlanBound {
  size_t nodes = 0;
  // An upper bound for savings, if the plan maximises savings.
  std::optional<double> savings;
  [[nodiscard]] double GapOfSavings(double found) const {
    return !savings || *savings <= found ? 0 : (*savings - found) / *savings;
  }
  // The gap to the bound, as a share of the bound; 0: no plan removes more than `removed` nodes.
  [[nodiscard]] double Gap(size_t removed) const {
    return nodes <= removed ? 0 : static_cast<double>(nodes - removed) / static_cast<double>(nodes);
  }
};

// The session of a daemon whose cluster was planned for, and how current that cluster is.  Times
// are Unix seconds.
struct PlanSession {
  std::string name;
  int64_t as_of_s = 0;
  // Absent: a client feeds the session now.
  std::optional<int64_t> not_fed_since_s;
  std::string cluster_uid;  // "": unknown.
  // Kinds, each with the time since when it is broken.
  std::vector<std::pair<std::string, int64_t>> broken_watches;
};

struct PlanPurchases;
struct PlanWaves;
struct StablePlan;

struct PlanContext {
  const LoadedCluster* cluster;  // As it was loaded: before the plan.
  const NodeGroups* groups;
  const PlanRequest* request;
  const PlanResult* made;
  const NodePrices* prices = nullptr;  // Null: no prices were given.
  std::optional<PlanSearch> search = std::nullopt;
  std::optional<PlanBound> bound = std::nullopt;    // Absent: unknown.
  std::optional<PlanTrials> trials = std::nullopt;  // Absent: no trials were made.
  // How the plan continues the last one; its own `made` is not used.  Null: it does not.
  const StablePlan* stable = nullptr;
  const PlanWaves* waves = nullptr;                   // The plan carried on.  Null: not requested.
  const PlanPurchases* purchases = nullptr;           // Null: the plan may not buy nodes.
  std::vector<NodeId> new_nodes = {};                 // Nodes that the plan buys.
  std::optional<PlanSession> session = std::nullopt;  // Absent: the cluster is a dump.
  double pass_s = 0;                                  // How long the passes took, in seconds.
  double verify_s = 0;                                // 0: verified within a pass.

  [[nodiscard]] const Catalog& catalog() const { return cluster->snapshot.catalog(); }
  [[nodiscard]] bool Buys(NodeId node) const;
  // Nodes of the cluster, without those that the plan buys.
  [[nodiscard]] size_t Nodes() const { return cluster->snapshot.nodes() - new_nodes.size(); }
};

// The reason of a candidate that was kept because the pass ended before its turn. ebb's own word.
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

  // What the plan removes of the nodes that share a group, an instance type or a capacity type.
  struct Share {
    std::string_view name;
    size_t nodes = 0;
    size_t removed = 0;
    NodeAmounts freed;          // Allocatable of the removed nodes.
    double saved_per_hour = 0;  // Hourly price of the removed nodes, if prices were given.
  };
  // An object that keeps nodes and that the user might change: a budget without disruptions left,
  // or the workload of pods that may not move or fit nowhere.
  struct Keeper {
    std::string kind;  // "PodDisruptionBudget", "Deployment", "StatefulSet", "Pod", ...
    std::string_view namespace_name;
    std::string_view name;
    std::string_view reason;  // "NotEnoughPdb", "NoPlaceToMovePods", ...
    size_t nodes = 0;         // Nodes on which a pod of this object is the first obstacle.
  };

  PlanContext context;
  std::vector<Removal> remove;                                      // In order.
  std::vector<Kept> keep;                                           // In the order of the input.
  std::vector<std::pair<std::string_view, size_t>> kept_by_reason;  // The largest first.
  size_t pods = 0;                                                  // Pods that run on nodes.
  size_t moved = 0;
  std::vector<NodeFacts> facts;  // By NodeId.
  NodeAmounts freed;
  // Hourly price of the removed nodes; absent: no prices were given.
  std::optional<double> saved_per_hour;
  // The largest loss first; nodes without a group or type are not counted.
  std::vector<Share> by_group;
  std::vector<Share> by_instance_type;
  std::vector<Share> by_capacity_type;
  std::vector<Keeper> keepers;  // The object that keeps the most nodes first.
  // For each kind and apiVersion of owners that the input lacks: MissingControllerDetail.
  std::map<std::pair<TextId, TextId>, std::string> missing_controllers;
};

PlanReport MakeReport(const PlanContext& context);

// Pods for which the plan keeps room, and how many of them found some.  A pod on a node in deletion
// runs until it is evicted, so it counts as running and not as pending.  The report of a round does
// not contain displaced pods; RoundResult::displaced does.
struct PodsWithRoom {
  size_t pending = 0;
  size_t pending_placed = 0;
  size_t displaced = 0;  // PlanRequest::evicting.
  size_t displaced_placed = 0;
};
PodsWithRoom CountRoom(const PlanContext& context);
// How many of `pods` stand for CapacityBuffers.  They do not count in PodsWithRoom.
size_t CountBufferPods(const Catalog& catalog, std::span<const PodId> pods);
size_t CountBufferPods(const Catalog& catalog, std::span<const Move> moves);
// Pods that run on nodes, including nodes in deletion.
size_t RunningPods(const PlanContext& context);
// Nodes that stay because the plan uses up the disruptions that a budget allows at a time.  The
// budget recovers once the evicted pods are ready elsewhere, and a later round may remove the
// nodes.
size_t NodesThatMayGoLater(const PlanReport& report);

// The workload of a pod, without reason and nodes: its Deployment (derived from the name of its
// ReplicaSet), else its controller, else the pod itself.
PlanReport::Keeper WorkloadOf(const Catalog& catalog, PodId pod);
// The object of PlanReport::keepers that keeps a node, without the number of nodes.
// REQUIRES: why.pod != kNoPod.
PlanReport::Keeper KeeperOf(const Catalog& catalog, const UnremovableNode& why);

// "node/a" and so on, one line per removed node, in order.
std::string RemovedNames(const PlanContext& context);

// Whether the pod moves from `from` to a node of another architecture without declaring that it
// may.  Such a pod needs images for both architectures.
bool ChangesArchitecture(const Catalog& catalog, PodId pod, NodeId from, NodeId to);
// Warns about such pods in a plan; nullopt: there are none.  `snapshot` is as before the plan.
std::optional<InputWarning> WarningOfArchitectures(const ClusterSnapshot& snapshot,
                                                   const Plan& plan);

// "RecentlyUnremovable (NoPlaceToMovePods)".
std::string ReasonText(const PlanReport::Kept& kept);
// "counts as not ready: GPU label, and no GPU is allocatable"; empty: only its conditions decide.
std::string NotReadyWords(const NodeGroups& groups, NodeId node);
// "counts as not ready: ..., 3 h after it was made"; empty: the node is ready.
std::string UnreadyWords(const PlanContext& context, NodeId node);
// "default/db-0: NotEnoughPdb db"; empty if no pod is the reason.
std::string KeptDetail(const PlanReport& report, const UnremovableNode& why);
// For a pod that is kept because the input lacks its controller: MissingControllerDetail.
std::string_view MissingController(const PlanReport& report, PodId pod);
// What to add about the pod that keeps the node, beyond its reason: MissingController, BlockWords,
// PlaceWords.  Empty: nothing.
std::string PodDetail(const PlanReport& report, const UnremovableNode& why);
// The full names of the annotations that keep the node.  Karpenter's annotations keep nodes of
// Karpenter's groups.
std::vector<std::string_view> AnnotationsThatKeep(const PlanContext& context, NodeId node);

// Details that the reason does not contain: why the node is in no group ("a Fargate node"), or
// which annotation keeps it, also if another reason comes first ("also annotated ...").  Empty:
// there are none.
std::string DetailOf(const PlanContext& context, const UnremovableNode& why);
// PodDetail and DetailOf, with a semicolon between.
std::string KeptBy(const PlanReport& report, const UnremovableNode& why);
// The utilization above which the node stays.
double ThresholdOf(const PlanContext& context, NodeId node);
// Whether cpu and memory decide the utilization, given the resource that it is measured by: on a
// node with GPUs only GPUs do.
bool CountsCpuAndMemory(std::string_view resource);
bool CountsCpuAndMemory(const Catalog& catalog, const Utilization& utilization);

// {"cpuMilli": ..., "memoryBytes": ..., "gpus": ...}, the same in every answer.
nlohmann::ordered_json AmountsJson(const NodeAmounts& amounts);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_REPORT_H_
