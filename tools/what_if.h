// `ebb plan INPUT... --what-if FILE`: the plan as things are, beside the plan with changes
// (service/what_if/what_if_file.h).

#ifndef EBB_TOOLS_WHAT_IF_H_
#define EBB_TOOLS_WHAT_IF_H_

#include <iosfwd>

namespace ebb {

struct PlanCommand;

// The exit code: 0, 1 bad input, 2 usage.
int RunWhatIf(const PlanCommand& command, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_TOOLS_WHAT_IF_H_
