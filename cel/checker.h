// Decides the types of an expression as cel-go's checker does: which function a call means, and
// whether Kubernetes accepts the expression.  For this folder only.

#ifndef EBB_CEL_CHECKER_H_
#define EBB_CEL_CHECKER_H_

#include "absl/status/status.h"
#include "cel/device.h"
#include "cel/syntax.h"

namespace ebb::cel {

// Sets the types and overloads of the tree.  Calls of a.b.f() that mean the function "a.b.f" lose
// their target.  Errors: see DeviceSelector::Compile.
absl::Status Check(Tree& tree, SelectorRules rules);

}  // namespace ebb::cel

#endif  // EBB_CEL_CHECKER_H_
