// InputWarning: a doubt about the input that the input itself does not settle.  Warnings accompany
// the answer: on stderr, and in `summary.warnings`.  incomplete.h defines which warnings prevent an
// answer.

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

// What is missing from the input, according to a warning.
enum class Lack : uint8_t {
  kNothing,  // Another doubt: the input may be the whole cluster.
  kKinds,    // Objects of a kind are missing: the answer is about an incomplete cluster.
  kPods,     // Pods, nodes or namespaces must be missing: there is no answer.
};

struct InputWarning {
  std::string code;     // One stable word for programs: "NoPodDisruptionBudgets".
  std::string message;  // One sentence for people, without the full stop; printable.
  // The command that fetches the missing part ("kubectl get pdb -A ..."); may be empty.
  std::string command;
  Lack lack = Lack::kNothing;
  bool may_be_assumed_away = false;  // --assume-complete silences it.
  // What to do if no command helps, in words, without a full stop; may be empty.
  std::string advice = {};
};

// "warning: MESSAGE; try `COMMAND`", or "warning: MESSAGE; ADVICE"
std::string WarningText(const InputWarning& warning);
// Prints one line per warning: "ebb: " and the WarningText.
void PrintInputWarnings(std::span<const InputWarning> warnings, std::ostream& err);

// [{"code": ..., "message": ..., "command": ..., "advice": ..., "lacks": "kinds"}].  "command" and
// "advice" are absent if empty, "lacks" is absent for kNothing.
nlohmann::ordered_json InputWarningsJson(std::span<const InputWarning> warnings);
// The reverse of InputWarningsJson(); skips elements that are not objects.
std::vector<InputWarning> InputWarningsFrom(const nlohmann::ordered_json& json);

// For a cluster that is asked repeatedly: reports each warning when it appears, not every time.
class NewWarnings {
 public:
  // The warnings whose code the last call did not have.  Compares codes only, because numbers in
  // the messages change all the time.
  std::vector<InputWarning> Among(std::span<const InputWarning> warnings);

 private:
  std::set<std::string> codes_;  // Codes of the last call.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_INPUT_WARNING_H_
