// InputWarning: something that cannot be told from the input alone.  The plan is made
// all the same, and the warning goes with it: to stderr, and to `summary.warnings`.

#ifndef EBB_SNAPSHOT_IMPORT_INPUT_WARNING_H_
#define EBB_SNAPSHOT_IMPORT_INPUT_WARNING_H_

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace ebb {

struct InputWarning {
  std::string code;     // One word for machines, stable: "NoPodDisruptionBudgets".
  std::string message;  // One sentence for people, without its full stop; printable.
  std::string
      command;  // What to run for the missing part ("kubectl get pdb -A ..."); may be empty.
};

// "warning: MESSAGE; try `COMMAND`"
std::string WarningText(const InputWarning& warning);
// A line each: "ebb: warning: MESSAGE; try `COMMAND`".
void PrintInputWarnings(std::span<const InputWarning> warnings, std::ostream& err);

// [{"code": ..., "message": ..., "command": ...}]; without "command" where it is empty.
nlohmann::ordered_json InputWarningsJson(std::span<const InputWarning> warnings);
// The reverse; what is not of that form is left out.
std::vector<InputWarning> InputWarningsFrom(const nlohmann::ordered_json& json);

// Of a cluster that is asked again and again: each warning when it comes, not every time.
class NewWarnings {
 public:
  // Those whose code the last call did not have.  Numbers in the texts change all the time.
  std::vector<InputWarning> Among(std::span<const InputWarning> warnings);

 private:
  std::set<std::string> codes_;  // Of the last call.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_INPUT_WARNING_H_
