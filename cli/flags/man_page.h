// Man pages, generated from the definitions of commands and flags.

#ifndef EBB_CLI_FLAGS_MAN_PAGE_H_
#define EBB_CLI_FLAGS_MAN_PAGE_H_

#include <string>

namespace CLI {
class App;
}

namespace ebb {

// The page of a command as roff with the macros of man(7): `ebb.1`, `ebb-plan.1`, ...
std::string ManPage(const CLI::App& command);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_MAN_PAGE_H_
