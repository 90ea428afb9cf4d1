// PlanPurchases: what a plan buys so that more nodes can go, and what that saves
// (planning/plan_replace.h finds it).
//
// The new nodes are bought first.  When all of them are Ready, the plan's nodes are removed in
// their order.  So every pod has room at each step.
//
// Units:     prices per hour, in the currency of the plan's prices.
// Threads:   plain data.
// Ownership: ids are those of the plan's catalog; reasons live as long as the program.

#ifndef EBB_REPORT_PLAN_PURCHASES_H_
#define EBB_REPORT_PLAN_PURCHASES_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/ids.h"

namespace ebb {

struct PlanReport;

struct PlanPurchases {
  struct Purchase {
    NodeId node = kNoNode;
    std::string type;  // The instance type.
    std::string group;
    std::string zone;  // This and the next: empty if unknown.
    std::string capacity_type;
    std::string sibling;  // The node whose labels, taints and DaemonSets' pods it has.
    double hourly = 0;
    size_t pods = 0;         // Pods that move to it.
    size_t daemon_pods = 0;  // Pods of DaemonSets and static pods that run on it.
  };
  // Types that are not bought, by reason.
  struct Unusable {
    std::string_view reason;
    std::string_view text;
    size_t types = 0;
    std::vector<std::string> first;  // At most kFirstNamed (plan_totals.h).
  };
  // A plan's figures.
  struct Figures {
    size_t removed = 0;
    size_t moved = 0;           // Evicted pods.
    double saved_per_hour = 0;  // Price of the removed nodes less that of the bought ones.
    // Karpenter's Balanced score: the share of the groups' cost that is saved, divided by the share
    // of their disruption that it takes.  A node's disruption is 1 for itself and 1 for each pod.
    double score = 0;
  };

  std::vector<Purchase> buy;  // Empty: the plan without purchases is as good.
  std::string why_none;       // Why nothing is bought; empty: something is.
  Figures without;            // The plan without purchases, searched for in the same way.
  Figures with;               // This plan.
  double cost_per_hour = 0;   // Of all nodes, if nothing is done.
  size_t max_new_nodes = 1;
  double min_saving = 0;
  double min_score = 0;
  // No set of nodes that stay and new nodes, of the types that can be bought, costs less per hour;
  // nullopt: no bound is known, and `why_no_bound` says why.
  std::optional<double> least_cost_per_hour = {};
  std::string why_no_bound = {};
  size_t types = 0;  // Usable types.
  size_t tried = 0;  // Sets of new nodes for which a plan was made.
  std::vector<Unusable> unusable;
  std::vector<std::string> assumptions;
};

// Saved by the purchases themselves: more than without them.
double SavedByPurchases(const PlanPurchases& purchases);
// How far the plan's cost can be above the least cost, as a share of it; nullopt: no bound is
// known.
std::optional<double> GapOf(const PlanPurchases& purchases);
// What the whole plan saves for each evicted pod; nullopt: it evicts none.
std::optional<double> SavedPerEviction(const PlanPurchases& purchases);

// Adds `replace` to the JSON of the plan.
void PutPurchases(const PlanReport& report, nlohmann::ordered_json& plan);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_PURCHASES_H_
