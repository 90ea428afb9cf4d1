// SolveRelaxation: the fractional choice of the greatest worth that respects some limits.
//
// Maximises  sum worth * x  such that  sum share * x <= 1  for each limit, and 0 <= x <= 1.
//
// The result has a solution and a price for each limit (its dual value).  Any prices of at least 0
// give an upper bound of the maximum: the sum of the prices, plus for each choice the part of its
// worth that exceeds the price of what it takes.  The result has the prices with the lowest bound
// that was found, and the solution that was closest to the maximum; usually both are it up to the
// sixth digit.
//
// Method: the primal-dual hybrid gradient method.  It takes a step for x along worth minus prices,
// and a step for the prices along what exceeds the limits.  Each step is as long as the size of its
// row or column allows.  The averages of the steps converge; from time to time the method
// continues from them (a restart).  Limits without a price that are not nearly reached are left out
// of the steps until they are.
//
// Units:   worth in any unit; prices in the same.
// Cost:    at most some thousand rounds, each O(terms of limits that are nearly reached).
// Threads: a pure function.
// Source:  D. Applegate et al., Practical large-scale linear programming using primal-dual hybrid
//          gradient, NeurIPS 2021.

#ifndef EBB_SEARCH_RELAXATION_H_
#define EBB_SEARCH_RELAXATION_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/deadline.h"

namespace ebb {

// One limit: pairs of a choice and the share of the limit that it takes, above 0 and at most 1.
using LimitShares = std::vector<std::pair<uint32_t, double>>;

struct Relaxation {
  std::vector<double> prices;    // By limit; 0 or more.
  std::vector<double> solution;  // By choice, from 0 to 1; exceeds limits by little if at all.
};

// `worth`: by choice, 0 or more.  `deadline` ends the search for prices early; null: no time limit.
// If it has expired at once, all prices are 0.
Relaxation SolveRelaxation(std::span<const LimitShares> limits, std::span<const double> worth,
                           const Deadline* deadline);

}  // namespace ebb

#endif  // EBB_SEARCH_RELAXATION_H_
