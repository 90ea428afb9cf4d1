// `ebb policy`: sizing policies, from a file of pools to a decision.
//
//   ebb policy schema                        the JSON schema of the file
//   ebb policy init [--school X]             a commented sample
//   ebb policy check FILE                    checks the file
//   ebb policy eval FILE INPUT...            one round of each pool (policy_eval.h)
//   ebb policy failsafe list|clear [POOL]    pools in failsafe, which do nothing (policy_state.h)
//   ebb policy simulate [FILE]               policies over a load (policy_simulate.h)
//
// Threads: none.

#ifndef EBB_CLI_POLICIES_POLICY_COMMAND_H_
#define EBB_CLI_POLICIES_POLICY_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/policies/policy_eval.h"
#include "cli/policies/policy_simulate.h"

namespace CLI {
class App;
}

namespace ebb {

struct PolicyCommand {
  std::string school = "escalator";
  std::string file;
  PolicyEvalRequest eval;
  PolicySimulateRequest simulate;
  // For failsafe.
  std::string action;
  std::string state;
  std::string pool;

  void AddTo(CLI::App& app);
  // Returns the exit code: 0, or 1 for bad input.
  int Run(std::ostream& out, std::ostream& err) const;

 private:
  void AddEval(CLI::App& app);
  void AddFailsafe(CLI::App& app);
  void AddSimulate(CLI::App& app);
  int Failsafe(std::ostream& out, std::ostream& err) const;
  int Check(std::ostream& out, std::ostream& err) const;

  CLI::App* schema_ = nullptr;
  CLI::App* init_ = nullptr;
  CLI::App* check_ = nullptr;
  CLI::App* simulate_ = nullptr;
  CLI::App* failsafe_ = nullptr;
};

}  // namespace ebb

#endif  // EBB_CLI_POLICIES_POLICY_COMMAND_H_
