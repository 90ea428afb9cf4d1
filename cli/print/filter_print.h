// The verdicts of filters for people, from a daemon's reply or from the same message made in this
// process.

#ifndef EBB_CLI_PRINT_FILTER_PRINT_H_
#define EBB_CLI_PRINT_FILTER_PRINT_H_

#include <iosfwd>

#include "session/wire_tables.h"

namespace ebb {

// Prints one table for each pod, with an empty line between.
void PrintFilterTables(const v1alpha1::FilterReply& reply, std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_FILTER_PRINT_H_
