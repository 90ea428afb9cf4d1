// Remedy: a change that a user could make so that more nodes go.  RemedyPlanner makes a plan as if
// the change were made.
//
//   RemedyPlanner remedy_planner(cluster, query);
//   absl::StatusOr<RemedyPlanner::Outcome> outcome = remedy_planner.Try(remedy);
//
// Cost:    that of the query's greedy plan, and of PatchedCluster.
// Threads: one at a time.

#ifndef EBB_WHAT_IF_REMEDY_H_
#define EBB_WHAT_IF_REMEDY_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "planning/live_cluster.h"
#include "planning/plan_query.h"
#include "report/plan_report.h"
#include "snapshot/catalog.h"
#include "what_if/object_patch.h"
#include "what_if/patched_cluster.h"

namespace ebb {

struct Remedy {
  std::string what;  // "PodDisruptionBudget shop/db allows 1 disruption more"
  std::vector<ObjectPatch> objects;
  // Changes beside those of objects.  Null: none.
  std::function<void(PlanQuery& query, NodeGroups& groups)> adjust = nullptr;
  std::vector<std::string> commands = {};  // kubectl lines that make the change (mild_remedy.h).
};

class RemedyPlanner {
 public:
  // Borrows both.  Restores the cluster before each call returns.
  RemedyPlanner(LiveCluster& cluster, const PlanQuery& query);

  // From now on, tries nodes in the order of `nodes` instead of the query's order.  If the nodes of
  // a plan come first, the gain of a new plan is due to the remedy and not to another order.
  void TryInOrder(std::vector<std::string> nodes) { order_ = std::move(nodes); }

  struct Outcome {
    std::vector<std::string> goes;  // Names of nodes, in the order of removal.
    // What keeps the node in question: "BlockedByPod, shop/web-1: NotEnoughPdb web".  Empty: it
    // goes, or no node was in question.
    std::string still_kept_by;
  };
  // Makes a plan with the remedy (TryPlan).  `node`: the node in question; empty: none.
  // Errors: those of PatchedCluster and MakePlan.
  absl::StatusOr<Outcome> Try(const Remedy& remedy, std::string_view node = "");
  // As Try(), but verifies the plan only if it removes more than `nodes` nodes: for a caller that
  // tries many remedies and wants to be sure of the best one.
  // Cost: that of an unverified plan; or of one, and one that is verified.
  absl::StatusOr<Outcome> TryForMoreThan(size_t nodes, const Remedy& remedy);

  [[nodiscard]] PatchedCluster& patched() { return patched_; }

 private:
  using Planning = std::function<absl::StatusOr<PlanResult>(const PlanQuery&, const NodeGroups&)>;
  // Makes a plan by `planning` with the remedy, and takes the remedy back.
  absl::StatusOr<Outcome> TryWith(const Planning& planning, const Remedy& remedy,
                                  std::string_view node);

  LiveCluster& cluster_;
  PatchedCluster patched_;
  const PlanQuery& query_;
  std::vector<std::string> order_;  // Empty: the query's order.
};

// The nodes that the plan removes, in its order, followed by the other nodes.
std::vector<std::string> NodesOfPlanFirst(const PlanReport& report);

// --- Changes of objects ----------------------------------------------------------

ObjectName NameOfPod(const Catalog& catalog, PodId pod);

// Makes the budget allow this many disruptions.
ObjectPatch BudgetAllows(const Catalog& catalog, PdbId pdb, int64_t disruptions);

// Gates the pod, which has no node, so that it does not wait for one.
ObjectPatch PodIsGated(const ObjectName& pod);
// No room is kept for the CapacityBuffer.
ObjectPatch BufferIsNotReady(std::string_view namespace_name, std::string_view name);

// Removes every annotation that keeps the node.
ObjectPatch NodeMayGo(const std::string& node);

// Makes the node offer this much of a resource, as a quantity: "4300m".
ObjectPatch NodeOffers(const std::string& node, const std::string& resource,
                       const std::string& quantity);

// The flag after which pods that are kept for `reason` may move, if there is one.
std::optional<Remedy> FlagFor(BlockingPodReason reason);

// Whether a VerticalPodAutoscaler changes what the pod asks for when it moves, or leaves it open.
bool FollowsVpa(const Catalog& catalog, PodId pod);
// --vpa=ignore: pods ask for what they ask for now.
Remedy IgnoreVpas(const Catalog& catalog);

// A rule of a pod that restricts where it may run.
struct PlaceRule {
  std::string_view name;   // "required pod anti-affinity"
  std::string_view place;  // JSON pointer within the pod: "/spec/affinity/podAntiAffinity".
};
std::span<const PlaceRule> PlaceRules();
// `pod`: its JSON.
bool HasRule(std::string_view pod, const PlaceRule& rule);
ObjectPatch WithoutRule(const ObjectName& pod, const PlaceRule& rule);

}  // namespace ebb

#endif  // EBB_WHAT_IF_REMEDY_H_
