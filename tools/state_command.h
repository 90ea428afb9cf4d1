// `ebb state show FILE` and `ebb state set-clock FILE`: what a state file (sqlite_state.h)
// remembers, and setting its clock back after rounds were made at a wrong time.
//
// Errors: exit code 1, one line; the file stays as it was.

#ifndef EBB_TOOLS_STATE_COMMAND_H_
#define EBB_TOOLS_STATE_COMMAND_H_

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
  int64_t round = 0;  // Whose decision is shown; 0: the state is.
  std::string output = "table";

  void AddTo(CLI::App& app);
  // 0: done, or there was nothing to do; 1: the file is no state that can be used.
  int Run(std::ostream& out, std::ostream& err) const;

 private:
  int Show(std::ostream& out, std::ostream& err) const;
  int ShowRound(std::ostream& out, std::ostream& err) const;
  int SetClockBack(std::ostream& out, std::ostream& err) const;

  CLI::App* set_clock_ = nullptr;
};

}  // namespace ebb

#endif  // EBB_TOOLS_STATE_COMMAND_H_
