// Converts a client's report of deletions (ActuationReport of wire/planner.proto) to the
// engine's form.
//
// Errors:  InvalidArgument, naming the field: "ended[0].node: is not a name".  ResourceExhausted: a
//          list is longer than kWireRowsMax.
// Cost:    O(report).
// Threads: pure functions.

#ifndef EBB_SESSION_WIRE_REPORT_H_
#define EBB_SESSION_WIRE_REPORT_H_

#include "absl/status/statusor.h"
#include "rounds/held_reports.h"
#include "wire/planner.pb.h"

namespace ebb {

absl::StatusOr<ReportUpdate> ReadReport(const v1alpha1::ActuationReport& wire);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_REPORT_H_
