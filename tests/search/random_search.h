// A search over a random cluster, and all that must hold of what it found.

#ifndef EBB_TESTS_SEARCH_RANDOM_SEARCH_H_
#define EBB_TESTS_SEARCH_RANDOM_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace ebb::test {

struct RandomSearchResult {
  std::string wrong;  // Empty: nothing is.
  size_t nodes = 0;
  int64_t greedy = 0;  // Nodes that go by the plan that was asked for.
  int64_t best = 0;    // By the best plan.
  int64_t bound = 0;   // By no plan.
  std::string plan;    // The best plan, and after how many iterations.
};

// The same seed makes the same cluster, and the same search of at most so many iterations.
RandomSearchResult RunRandomSearch(uint64_t seed, uint64_t iterations = 2);

}  // namespace ebb::test

#endif  // EBB_TESTS_SEARCH_RANDOM_SEARCH_H_
