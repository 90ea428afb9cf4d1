// What tables are printed from, as it travels: the section at the end of planner.proto.
//
// The command line makes its tables of these messages too, whether it plans itself or a daemon
// does, so that both print the same bytes.
//
// Threads: as of the snapshots behind the reports.

#ifndef EBB_SESSION_WIRE_TABLES_H_
#define EBB_SESSION_WIRE_TABLES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "report/plan_report.h"
#include "snapshot/import/input_warning.h"
#include "wire/planner.pb.h"

namespace ebb {

// As they travel.  PrintableLine of what is read: it may come from anywhere.
void PutWarning(const InputWarning& warning, v1alpha1::Warning& to);
InputWarning ReadWarning(const v1alpha1::Warning& warning);

template <typename Reply>
void PutWarnings(std::span<const InputWarning> warnings, Reply& reply) {
  for (const InputWarning& warning : warnings) PutWarning(warning, *reply.add_warnings());
}
template <typename Message>
std::vector<InputWarning> ReadWarnings(const Message& message) {
  std::vector<InputWarning> warnings;
  for (const v1alpha1::Warning& each : message.warnings()) warnings.push_back(ReadWarning(each));
  return warnings;
}

// Every field of a reply that its form does not decide, but for version, freshness and `tried_out`.
void PutFigures(const PlanContext& context, v1alpha1::PlanReply& reply);

// `rows`, `every_node`: as PlanCall's.
// Cost: O(nodes), and with `every_node` the words of each node that stays.
void PutTables(const PlanReport& report, uint32_t rows, bool every_node, v1alpha1::PlanTables& to);

// Every field of a reply AS_TABLES, but for version, freshness and remedies: why the nodes, which
// are of the report, stay or go.  Ends with the nodes so far where `stops` has expired; null:
// never. Cost: as of ExplanationJson.
void PutExplanations(const PlanReport& report, std::span<const NodeId> nodes, const Deadline* stops,
                     v1alpha1::ExplainReply& reply);
// The same without `nodes`.
void PutExplainFigures(const PlanReport& report, v1alpha1::ExplainReply& reply);

// What the filters say of the pod: each of them on `only`, or the first no of every node.
void PutVerdicts(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                 v1alpha1::PodVerdicts& to);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_TABLES_H_
