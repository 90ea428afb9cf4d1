// Compares the filters with their twin over one random cluster: every pod against every node, and
// again after pods moved and nodes left.
//
// Threads: pure.

#ifndef EBB_TESTS_SUPPORT_FILTER_DIFFERENTIAL_H_
#define EBB_TESTS_SUPPORT_FILTER_DIFFERENTIAL_H_

#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "predicates/filters.h"
#include "tests/support/random_cluster.h"

namespace ebb::test {

struct DifferentialStats {
  size_t verdicts = 0;
  size_t fits = 0;
  // Indexed by Filter.
  std::array<size_t, static_cast<size_t>(Filter::kNotUnderstood) + 1> refusals{};
  // The number of refusals by reason, cut before the first quoted name.  Where the plugin fails
  // with a text of its own, the key is the filter's name.
  std::map<std::string, size_t> reasons;
};

// "" if both always agree; else the first disagreement.
std::string CompareWithTwin(Choices& choices, DifferentialStats& stats);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_FILTER_DIFFERENTIAL_H_
