// The daemon's answers for people, as the commands print them.

#ifndef EBB_TOOLS_VIEWS_H_
#define EBB_TOOLS_VIEWS_H_

#include <string>

#include "service/session/session.h"
#include "tools/terminal.h"

namespace ebb {

ViewPrinters MakeViewPrinters();

// The view that `-o OUTPUT` asks for.  REQUIRES: `output` is one of the command's choices.
wire::View ViewOf(const std::string& output, bool all_rows, const Terminal& terminal);

}  // namespace ebb

#endif  // EBB_TOOLS_VIEWS_H_
