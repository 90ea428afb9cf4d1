// One random cluster, lived through by the filters and by their twin: every pod
// against every node, then again after pods moved and nodes left.
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
  std::array<size_t, static_cast<size_t>(Filter::kNotUnderstood) + 1> refusals{};  // By Filter.
  // Refusals by reason up to the first quoted name in it; by the filter's name where
  // the plugin fails with a text of its own.
  std::map<std::string, size_t> reasons;
};

// "" where both agree throughout; else the first disagreement.
std::string CompareWithTwin(Choices& choices, DifferentialStats& stats);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_FILTER_DIFFERENTIAL_H_
