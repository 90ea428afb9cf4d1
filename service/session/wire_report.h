// Converts a client's report of deletions (ActuationReport of service/wire/planner.proto) to the
// engine's form.
//
// Errors:  InvalidArgument, naming the field: "ended[0].node: is not a name".  ResourceExhausted: a
//          list is longer than kWireRowsMax.
// Cost:    O(report).
// Threads: pure functions.

#ifndef EBB_SERVICE_SESSION_WIRE_REPORT_H_
#define EBB_SERVICE_SESSION_WIRE_REPORT_H_

#include "absl/status/statusor.h"
#include "service/held_reports.h"
#include "service/wire/planner.pb.h"

namespace ebb {

absl::StatusOr<ReportUpdate> ReadReport(const v1alpha1::ActuationReport& wire);

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_WIRE_REPORT_H_
