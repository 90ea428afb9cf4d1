// InputWarning: something that the input alone does not decide.  The warning goes with
// the answer: to stderr, and to `summary.warnings`.  incomplete.h has the rule which of them
// end a call.

#ifndef EBB_SNAPSHOT_IMPORT_INPUT_WARNING_H_
#define EBB_SNAPSHOT_IMPORT_INPUT_WARNING_H_

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace ebb {

// What a warning says that the input lacks.
enum class Lack : uint8_t {
  kNothing,  // Another doubt: the answer may be of all of the cluster.
  kKinds,    // Objects of a kind are missing: the answer is of an incomplete cluster.
  kPods,     // Pods, nodes or namespaces must be missing: there is no answer.
};

struct InputWarning {
  std::string code;     // One word for machines, stable: "NoPodDisruptionBudgets".
  std::string message;  // One sentence for people, without its full stop; printable.
  // What to run for the missing part ("kubectl get pdb -A ..."); may be empty.
  std::string command;
  Lack lack = Lack::kNothing;
  bool may_be_assumed_away = false;  // --assume-complete silences it.
  // What to do about it where no command does it, in words without a full stop; may be empty.
  std::string advice = {};
};

// "warning: MESSAGE; try `COMMAND`", or "warning: MESSAGE; ADVICE"
std::string WarningText(const InputWarning& warning);
// A line each: "ebb: warning: MESSAGE; try `COMMAND`", as WarningText says it.
void PrintInputWarnings(std::span<const InputWarning> warnings, std::ostream& err);

// [{"code": ..., "message": ..., "command": ..., "advice": ..., "lacks": "kinds"}]; without
// "command" and "advice" where they are empty, and without "lacks" where the input lacks nothing.
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
