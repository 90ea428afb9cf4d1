// Compare reports how two plans differ, given as `ebb plan -o json` prints them.
//
// Threads: pure.
// Errors:  InvalidArgument: a JSON value that is not a plan, and which part it lacks.

#ifndef EBB_REPORT_PLAN_COMPARISON_H_
#define EBB_REPORT_PLAN_COMPARISON_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ebb {

struct PlanComparison {
  struct Side {
    size_t nodes = 0;  // Nodes in the cluster.
    size_t removed = 0;
    size_t moved_pods = 0;
    std::optional<double> saved_per_hour;
    std::string currency;
  };
  // A node that one of the plans removes.
  struct Difference {
    std::string node;
    std::string group;
    // Why the other plan keeps it; "not in the cluster" where its cluster has no such node.
    std::string kept_because;
  };
  Side before;
  Side after;
  // Neither plan is marked as made for an incomplete cluster.
  bool complete = true;
  // Both plans name nodes, and no node is in both of them, neither removed nor kept.
  bool of_two_clusters = false;
  size_t in_both = 0;               // Nodes that both plans remove.
  std::vector<Difference> no_more;  // Nodes that only `before` removes, in its order.
  std::vector<Difference> now_too;  // Nodes that only `after` removes, in its order.
};

absl::StatusOr<PlanComparison> ComparePlans(const nlohmann::ordered_json& before,
                                            const nlohmann::ordered_json& after);

// Kind PlanComparison of docs/comparison.schema.json.
nlohmann::ordered_json ComparisonJson(const PlanComparison& comparison);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_COMPARISON_H_
