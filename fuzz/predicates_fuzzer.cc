// The filters against their slow twin, on clusters made from the input.
//
// The limit is more than the bytes that make a cluster; longer inputs would only slow the search.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "tests/support/filter_differential.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kBytesMax = 8192;
  if (size > kBytesMax) return 0;
  ebb::test::Choices choices(std::span(data, size));
  ebb::test::DifferentialStats stats;
  const std::string wrong = ebb::test::CompareWithTwin(choices, stats);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
