// --fail-if CONDITION: ends a command with kGateExit if a figure of its answer is beyond a limit.
//
//   CONDITION:  FIGURE OPERATOR NUMBER [UNIT], blanks allowed between them
//   OPERATOR:   <  <=  >  >=  =  !=
//   UNIT:       none, or % of the figure's whole; for money [CURRENCY]/hour, /day, /month (730
//               hours) or /year, where no period means /hour
//
// docs/gates.md lists the figures of each command.
//
// Threads: pure but for printing.

#ifndef EBB_CLI_FLAGS_FAIL_IF_H_
#define EBB_CLI_FLAGS_FAIL_IF_H_

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

// The exit code of a command whose answer meets a condition.  The answer itself is printed.
inline constexpr int kGateExit = 11;

// A figure of an answer.
struct GateFigure {
  std::string_view name;
  std::string_view whole;  // What % is a share of: "of the nodes"; "": % is refused.
  bool is_money = false;   // Per hour.
};

// The figures of a plan, and of the difference between two plans (after less before).
std::span<const GateFigure> PlanFigures();
std::span<const GateFigure> ComparisonFigures();

// The value of a figure in an answer.
struct GateValue {
  std::string_view name;
  std::optional<double> value;  // Absent: the answer does not say, because of `why_absent`.
  std::optional<double> whole = std::nullopt;  // What % is a share of.
  std::string_view why_absent = "";            // Why `value`, or `whole` with %, is absent.
};

struct FailIf {
  std::vector<std::string> conditions;

  void AddTo(CLI::App& app, const std::string& group);
  [[nodiscard]] bool active() const { return !conditions.empty(); }
  // Whether some condition is about this figure, or about a share of it.
  [[nodiscard]] bool Names(std::string_view figure) const;
  // Returns false and prints an error if a condition is not about one of `figures`, or has a unit
  // that the figure does not have.  `who`: "ebb plan".
  bool Fit(std::span<const GateFigure> figures, std::string_view who, std::ostream& err) const;
  // Prints a line for each condition that is met, and returns kGateExit if any is; else
  // `exit_code`.  Returns 1 and prints why if a condition is about a figure that the answer lacks,
  // or names another currency.
  // REQUIRES: Fit(figures, ...) returned true, and `values` has a value for each of `figures`.
  int ExitCode(std::span<const GateFigure> figures, std::span<const GateValue> values,
               std::string_view currency, int exit_code, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_FAIL_IF_H_
