// What printers need to know about standard output.
//
// Only output to a terminal is coloured or cut.  A program that reads a pipe gets every row in
// full.

#ifndef EBB_CLI_PRINT_TERMINAL_H_
#define EBB_CLI_PRINT_TERMINAL_H_

#include <cstddef>

namespace ebb {

struct Terminal {
  bool is_terminal = false;
  bool colour = false;  // It is a terminal, and NO_COLOR is not set.
  size_t columns = 0;   // 0: unlimited.
};

// The state of standard output.  COLUMNS, if it is a number, overrides the terminal's width.
Terminal OutputTerminal();

}  // namespace ebb

#endif  // EBB_CLI_PRINT_TERMINAL_H_
