// `ebb state show FILE` prints what a state file (sqlite_state.h) contains.
// `ebb state set-clock FILE` sets the file's clock back after rounds were made at a wrong time.
//
// Errors: exit code 1, one line; the file stays as it was.

#ifndef EBB_CLI_ROUNDS_STATE_COMMAND_H_
#define EBB_CLI_ROUNDS_STATE_COMMAND_H_

#include <cstdint>
#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace ebb {

struct StateCommand {
  std::string file;
  std::string now;
  int64_t round = 0;  // The round whose decision is shown; 0: the state is shown.
  std::string output = "table";

  void AddTo(CLI::App& app);
  // Returns the exit code: 0 if done, or nothing was to be done; 1 if the state file cannot be
  // used.
  int Run(std::ostream& out, std::ostream& err) const;

 private:
  int Show(std::ostream& out, std::ostream& err) const;
  int ShowRound(std::ostream& out, std::ostream& err) const;
  int SetClockBack(std::ostream& out, std::ostream& err) const;

  CLI::App* set_clock_ = nullptr;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_STATE_COMMAND_H_
