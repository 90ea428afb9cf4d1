// The waves of a plan as a table, with the model's assumptions.

#ifndef EBB_CLI_PRINT_WAVES_PRINT_H_
#define EBB_CLI_PRINT_WAVES_PRINT_H_

#include <cstddef>
#include <iosfwd>

#include "wire/planner.pb.h"

namespace ebb {

// Prints the waves of `tables`.  `columns`: of the terminal; 0: no limit.  `rows_max`: the number
// of waves that are shown; 0: all.
void PrintWaves(const v1alpha1::PlanTables& tables, size_t columns, size_t rows_max,
                std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_WAVES_PRINT_H_
