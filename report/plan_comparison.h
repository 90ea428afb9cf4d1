// Compare tells in what two plans differ, as `ebb plan -o json` gives them.
//
// Threads: pure.
// Errors:  InvalidArgument: a JSON value that is no plan, and what it lacks.

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
    size_t nodes = 0;  // Of the cluster.
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
  // Neither plan says that it is of an incomplete cluster.
  bool complete = true;
  // No node is in both plans, removed or kept, although each names some.
  bool of_two_clusters = false;
  size_t in_both = 0;               // Nodes that both remove.
  std::vector<Difference> no_more;  // That `before` alone removes, in its order.
  std::vector<Difference> now_too;  // That `after` alone removes, in its order.
};

absl::StatusOr<PlanComparison> ComparePlans(const nlohmann::ordered_json& before,
                                            const nlohmann::ordered_json& after);

// Kind PlanComparison of docs/comparison.schema.json.
nlohmann::ordered_json ComparisonJson(const PlanComparison& comparison);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_COMPARISON_H_
