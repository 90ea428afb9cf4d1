// `ebb policy`: sizing policies, from a file of pools to a decision.
//
//   ebb policy schema                        the JSON schema of the file
//   ebb policy init [--school X]             a commented sample
//   ebb policy check FILE                    is the file right?
//   ebb policy eval FILE INPUT... [--series F] [--now T] [-o table|json]
//
// eval decides one round of each pool as if it were the first, and shows what each decision was
// computed from.  It changes nothing.
//
// Threads: none.

#ifndef EBB_TOOLS_POLICY_COMMAND_H_
#define EBB_TOOLS_POLICY_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct PolicyCommand {
  std::string school = "escalator";
  std::string file;
  std::vector<std::string> inputs;
  std::string series;
  std::string now;
  std::string output = "table";

  void AddTo(CLI::App& app);
  // The exit code: 0, or 1 for bad input.
  int Run(std::ostream& out, std::ostream& err) const;

 private:
  int Check(std::ostream& out, std::ostream& err) const;
  int Eval(std::ostream& out, std::ostream& err) const;

  CLI::App* schema_ = nullptr;
  CLI::App* init_ = nullptr;
  CLI::App* check_ = nullptr;
};

}  // namespace ebb

#endif  // EBB_TOOLS_POLICY_COMMAND_H_
