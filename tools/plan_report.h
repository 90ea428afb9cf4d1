// PlanReport is a plan as people read it: each pod once, with where it is in the
// end, each node once, kept nodes counted by reason.  Printers work from it.
//
// A pod that moved to a node which went later as well moved twice in the pass; here
// it is listed with the node that it runs on now, `to` is where it ends and `via`
// names the stops between.
//
// Ownership: borrows all that `context` points to.

#ifndef EBB_TOOLS_PLAN_REPORT_H_
#define EBB_TOOLS_PLAN_REPORT_H_

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/node_groups.h"
#include "engine/plan.h"
#include "snapshot/cluster_snapshot.h"
#include "tools/load_cluster.h"
#include "tools/make_plan.h"

namespace ebb {

struct PlanContext {
  const LoadedCluster* cluster;  // As it was loaded: before the plan.
  const NodeGroups* groups;
  const PlanRequest* request;
  const MadePlan* made;

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
    bool risky = false;
  };
  struct Kept {
    UnremovableNode why;
    std::string_view reason;
  };

  PlanContext context;
  std::vector<Removal> remove;                                      // In order.
  std::vector<Kept> keep;                                           // In the order of the input.
  std::vector<std::pair<std::string_view, size_t>> kept_by_reason;  // The largest first.
  size_t pods = 0;                                                  // That run on nodes.
  size_t moved = 0;
};

PlanReport MakeReport(const PlanContext& context);

enum class PlanFormat : uint8_t { kTable, kWide, kJson, kYaml, kName };

// `colour`: the output is a terminal that may be coloured.
void PrintPlan(const PlanReport& report, PlanFormat format, bool colour, std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_PLAN_REPORT_H_
