// The figures of answers that --fail-if compares with its limits (cli/flags/fail_if.h).
//
// Each function returns the exit code of a command that printed the answer and would end with
// `exit_code`: see FailIf::ExitCode.
//
// REQUIRES: the conditions fit the figures of a plan, or those of a comparison.

#ifndef EBB_CLI_COMMANDS_GATE_H_
#define EBB_CLI_COMMANDS_GATE_H_

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "cli/flags/fail_if.h"
#include "report/plan_comparison.h"
#include "report/plan_report.h"
#include "wire/planner.pb.h"

namespace ebb {

int GateOf(const FailIf& fail_if, const PlanReport& report, int exit_code, std::ostream& err);
// A daemon's plan, with tables or as JSON.  Tables do not have the cost of the cluster.
int GateOf(const FailIf& fail_if, const v1alpha1::PlanReply& reply, int exit_code,
           std::ostream& err);
int GateOf(const FailIf& fail_if, const PlanComparison& comparison, int exit_code,
           std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_GATE_H_
