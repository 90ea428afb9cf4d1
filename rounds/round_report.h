// A round as data, and where two such documents differ.
//
// docs/rounds.md describes the fields; docs/plan.schema.json is their schema.

#ifndef EBB_ROUNDS_ROUND_REPORT_H_
#define EBB_ROUNDS_ROUND_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/actuation_status.h"
#include "engine/plan/node_groups.h"
#include "engine/scale_down/round.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Nodes that the plan of a round does not mention.
struct NodesOutsideThePlan {
  std::vector<UnremovableNode> excluded;  // Not candidates, each with the reason.
  std::vector<NodeId> not_judged;         // Candidates, if the pass judged no node.
};
NodesOutsideThePlan OutsideThePlan(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                   const ActuationStatus& actuation, const RoundResult& result);

// Explains the status of a round to people: for a cooldown, which event began it and when it ends.
// May be empty.
std::string RoundMessage(const RoundResult& result);
std::string RoundMessage(const std::string& message,
                         const std::optional<Cooldowns::Hold>& cooldown);

// Adds the round's own fields to the JSON of its plan.  `number`: from 1.
void PutRound(const Catalog& catalog, const NodeGroups& groups, const ActuationStatus& actuation,
              int64_t number, const RoundResult& result, nlohmann::ordered_json& json);

// "unneeded[0].since: recorded "...", now "..."" for the first member, in document order, that
// differs; empty if none differs.
std::string FirstDifference(const nlohmann::ordered_json& recorded,
                            const nlohmann::ordered_json& now);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_REPORT_H_
