// A live cluster against its twin: the input selects the changes of LiveTwin.  Every few steps, and
// at the end, the live snapshot must equal the one that an import of the objects gives.
//
// At most 60 steps: clusters are small, and each comparison makes two imports and two plans.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "tests/support/live_twin.h"

namespace {

constexpr int kStepsMax = 60;

void Check(const std::string& difference) {
  if (difference.empty()) return;
  std::fprintf(stderr, "%s\n", difference.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ebb::test::LiveTwin twin{ebb::test::Dice(std::span(data, size))};
  for (int step = 0; step < kStepsMax && !twin.Exhausted(); ++step) {
    twin.Step();
    if (step % 8 == 0) Check(twin.Compare());
  }
  Check(twin.Compare());
  return 0;
}
