// What printers need to know of standard output.
//
// Only a terminal is coloured, and only for a terminal is anything cut: a program that
// reads a pipe gets every row, whole.

#ifndef EBB_CLI_PRINT_TERMINAL_H_
#define EBB_CLI_PRINT_TERMINAL_H_

#include <cstddef>

namespace ebb {

struct Terminal {
  bool is_terminal = false;
  bool colour = false;  // It is one, and NO_COLOR says nothing.
  size_t columns = 0;   // 0: as wide as it comes.
};

// Of standard output.  COLUMNS, if it is a number, overrides the width that the terminal reports.
Terminal OutputTerminal();

}  // namespace ebb

#endif  // EBB_CLI_PRINT_TERMINAL_H_
