// InputWarning: something that cannot be told from the input alone.  The plan is made
// all the same, and the warning goes with it: to stderr, and to `summary.warnings`.

#ifndef EBB_TOOLS_INPUT_WARNING_H_
#define EBB_TOOLS_INPUT_WARNING_H_

#include <string>

namespace ebb {

struct InputWarning {
  std::string code;     // One word for machines, stable: "NoPodDisruptionBudgets".
  std::string message;  // One sentence for people, without its full stop; printable.
  std::string
      command;  // What to run for the missing part ("kubectl get pdb -A ..."); may be empty.
};

}  // namespace ebb

#endif  // EBB_TOOLS_INPUT_WARNING_H_
