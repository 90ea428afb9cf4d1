// Remedy: a change that somebody could make so that more nodes go.  RemedyTrials plans as if it
// were made.
//
//   RemedyTrials trials(cluster, query);
//   absl::StatusOr<RemedyTrials::Outcome> outcome = trials.Try(remedy);
//
// Cost:    that of the query's greedy plan, and of PatchedCluster.
// Threads: one at a time.

#ifndef EBB_WHAT_IF_REMEDY_H_
#define EBB_WHAT_IF_REMEDY_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/plan/node_groups.h"
#include "planning/live_cluster.h"
#include "planning/plan_query.h"
#include "snapshot/catalog.h"
#include "what_if/object_patch.h"
#include "what_if/patched_cluster.h"

namespace ebb {

struct Remedy {
  std::string what;  // "PodDisruptionBudget shop/db allows 1 disruption more"
  std::vector<ObjectPatch> objects;
  // What it changes beside objects.  Null: nothing.
  std::function<void(PlanQuery& query, NodeGroups& groups)> adjust;
};

class RemedyTrials {
 public:
  // Borrows both.  Between calls the cluster is as it was.
  RemedyTrials(LiveCluster& cluster, const PlanQuery& query);

  // From here on nodes are tried in the order of their names here, instead of the query's.
  // Nodes of a plan first, others behind: what such a plan gains is due to the remedy, and not to
  // another order.
  void TryInOrder(std::vector<std::string> nodes) { order_ = std::move(nodes); }

  struct Outcome {
    std::vector<std::string> goes;  // Nodes by name, in the order of removal.
    // What keeps the node that was asked about: "BlockedByPod, shop/web-1: NotEnoughPdb web".
    // Empty: it goes, or there is none.
    std::string still_kept_by;
  };
  // What a plan comes to then (TryPlan).  `node`: one to be told of; empty:
  // none. Errors: those of PatchedCluster and MakePlan.
  absl::StatusOr<Outcome> Try(const Remedy& remedy, std::string_view node = "");

  // Looks for the objects of all remedies in one pass.
  absl::Status Find(std::span<const Remedy> remedies);
  [[nodiscard]] PatchedCluster& patched() { return patched_; }

 private:
  LiveCluster& cluster_;
  PatchedCluster patched_;
  const PlanQuery& query_;
  std::vector<std::string> order_;  // Empty: that of the query.
};

// --- Changes of objects ----------------------------------------------------------

ObjectName NameOfPod(const Catalog& catalog, PodId pod);

// The budget allows so many disruptions.
ObjectPatch BudgetAllows(const Catalog& catalog, PdbId pdb, int64_t disruptions);

// The pod is annotated as safe to evict, and no annotation of Karpenter's keeps it.
ObjectPatch PodMayMove(const ObjectName& pod);
// What the former changes in some of `pods`: "annotated safe-to-evict: "true"", and without the
// annotations of Karpenter's where one of them has such.
std::string MayMoveWords(const Catalog& catalog, std::span<const PodId> pods);

// The pod, which has no node, does not wait for one: it is gated.
ObjectPatch PodIsGated(const ObjectName& pod);

// No annotation keeps the node.
ObjectPatch NodeMayGo(const std::string& node);

// The node offers so much of a resource, as a quantity: "4300m".
ObjectPatch NodeOffers(const std::string& node, const std::string& resource,
                       const std::string& quantity);

// The flag with which pods that are kept for that reason may move, where there is one.
std::optional<Remedy> FlagFor(BlockingPodReason reason);

// A rule of a pod that says where it may run.
struct PlaceRule {
  std::string_view name;   // "required pod anti-affinity"
  std::string_view place;  // In the pod's JSON: "/spec/affinity/podAntiAffinity".
};
std::span<const PlaceRule> PlaceRules();
// `pod`: its JSON.
bool HasRule(std::string_view pod, const PlaceRule& rule);
ObjectPatch WithoutRule(const ObjectName& pod, const PlaceRule& rule);

}  // namespace ebb

#endif  // EBB_WHAT_IF_REMEDY_H_
