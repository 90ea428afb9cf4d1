// What a plan buys, and what that saves, as text.

#ifndef EBB_CLI_PRINT_PURCHASES_PRINT_H_
#define EBB_CLI_PRINT_PURCHASES_PRINT_H_

#include <cstddef>
#include <iosfwd>

#include "wire/planner.pb.h"

namespace ebb {

// Prints the nodes to buy, which comes before the plan.  `columns`: of the terminal; 0: no limit.
// REQUIRES, as the next: reply.has_purchases().
void PrintPurchases(const v1alpha1::PlanReply& reply, size_t columns, std::ostream& out);
// Prints what the purchases save, what was left out and what is assumed: after the plan.
void PrintSavings(const v1alpha1::PlanReply& reply, size_t columns, std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_PURCHASES_PRINT_H_
