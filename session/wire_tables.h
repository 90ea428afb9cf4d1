// Messages from which tables are printed: the section at the end of planner.proto.
//
// The command line prints its tables from these messages, whether it plans itself or a daemon does,
// so both print the same bytes.
//
// Threads: those of the snapshots behind the reports.

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

// Convert warnings.  Texts that are read are made printable (PrintableLine), because they may come
// from anywhere.
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

// Sets every field of a reply that does not depend on its form, except version, freshness and
// `tried_out`.
void PutFigures(const PlanContext& context, v1alpha1::PlanReply& reply);

// How a stable plan came about.
void PutStable(const Catalog& catalog, const StablePlan& stable, v1alpha1::StableFigures& to);

// `rows`, `every_node`: as in PlanCall.
// Cost: O(nodes); with `every_node`, also the texts for each node that stays.
void PutTables(const PlanReport& report, uint32_t rows, bool every_node, v1alpha1::PlanTables& to);

// Sets every field of a reply AS_TABLES, except version, freshness and remedies: why each of
// `nodes`, which belong to the report, stays or goes.  When `stops` expires, the reply has the
// nodes explained so far; null: no time limit.
// Cost: as for ExplanationJson.
void PutExplanations(const PlanReport& report, std::span<const NodeId> nodes, const Deadline* stops,
                     v1alpha1::ExplainReply& reply);
// As PutExplanations(), without `nodes`.
void PutExplainFigures(const PlanReport& report, v1alpha1::ExplainReply& reply);

// The verdicts of the filters on the pod: of each filter on `only`, or of the first filter that
// rejects, on every node.
void PutVerdicts(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                 v1alpha1::PodVerdicts& to);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_TABLES_H_
