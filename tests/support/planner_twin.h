// PlannerTwin: the planner's slow and obvious twin.
//
// It makes the same decisions as Planner, node for node, and keeps the same memory, but caches
// nothing.  It evaluates every rule for every pod, and every filter for every node in turn.  A
// failed attempt is dropped with a whole copy of the snapshot.  The scan pointer is an index into a
// list of nodes, and hints are a map of names.
//
// It shares with Planner only code that has a twin or a table of its own: the snapshot and the
// filters (twins in this folder), and the rules (tables in their tests).
//
// Cost:    a copy of the snapshot for each candidate, every filter for each pod and node.
// Threads: none.
// Source:  as planner.h.

#ifndef EBB_TESTS_SUPPORT_PLANNER_TWIN_H_
#define EBB_TESTS_SUPPORT_PLANNER_TWIN_H_

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/pass/planner.h"

namespace ebb::test {

class PlannerTwin {
 public:
  explicit PlannerTwin(PlannerOptions options) : options_(std::move(options)) {}

  // As Planner::Pass, but without a deadline.
  Plan Pass(const ClusterSnapshot& snapshot, const NodeGroups& groups, const PassInput& input);

  // As Planner::Save.
  [[nodiscard]] PlannerMemory Save() const;

 private:
  struct Hint {
    std::string node;
    int pass;  // The pass that set the hint.
  };
  using HintMap = std::map<std::string, Hint>;  // By pod key.

  struct Attempt {
    std::vector<Move> moves;
    PodId first_failed = kNoPod;
  };

  Attempt Place(ClusterSnapshot& snapshot, std::span<const PodId> pods, bool stop_group,
                const NodeSet& destinations, HintMap& hints);
  NodeId Search(const ClusterSnapshot& snapshot, const PodShape& shape,
                const NodeSet& destinations);
  void DropOld(HintMap& hints) const;

  const PlannerOptions options_;
  HintMap hints_;
  HintMap pending_hints_;
  std::map<std::string, PlannerMemory::Unremovable> unremovable_;  // By node.
  size_t pointer_ = 0;
  int pass_ = 0;
};

// Everything that a pass decides, as text: equal texts for equal plans.
std::string PlanText(const ClusterSnapshot& snapshot, const Plan& plan);
std::string MemoryText(const PlannerMemory& memory);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_PLANNER_TWIN_H_
