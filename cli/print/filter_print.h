// What the filters say of pods, for people, whether this process asked them or a daemon.

#ifndef EBB_CLI_PRINT_FILTER_PRINT_H_
#define EBB_CLI_PRINT_FILTER_PRINT_H_

#include <iosfwd>

#include "session/wire_tables.h"

namespace ebb {

// A table a pod, with an empty line between.
void PrintFilterTables(const v1alpha1::FilterReply& reply, std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_FILTER_PRINT_H_
