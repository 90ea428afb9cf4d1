// The snapshot against its twin: the input is a program.  Its first bytes make the cluster.  The
// others are operations, including forks up to ten deep and copies that change independently.
// After each operation the totals must be equal, and at the end everything.
//
// At most 2,000 operations: more would only repeat the states of such a small cluster.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/random_snapshot.h"

namespace {

constexpr size_t kOperationsMax = 2000;

void Check(const std::string& difference) {
  if (difference.empty()) return;
  std::fprintf(stderr, "%s\n", difference.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ebb::test;  // NOLINT(google-build-using-namespace)
  if (size < 4) return 0;
  Dice cluster(data[0] * 256 + data[1]);
  const auto objects =
      RandomObjects(cluster, {.nodes = 1 + data[2] % 10, .pods = 1 + data[3] % 40});
  struct Branch {
    ebb::ClusterSnapshot snapshot;
    SnapshotTwin twin;
  };
  const Branch start{BuildSnapshot(*objects), SnapshotTwin(objects)};
  std::array<Branch, 2> branches = {start, start};
  size_t current = 0;
  size_t operations = 0;
  for (size_t i = 4; i + 1 < size && operations < kOperationsMax; i += 2, ++operations) {
    if (data[i] == 255) {
      if (branches[current].twin.depth() == 0) branches[1 - current] = branches[current];
      current = 1 - current;
      continue;
    }
    auto& [snapshot, twin] = branches[current];
    Dice dice(data[i] * 256 + data[i + 1]);
    Change(snapshot, twin, *objects, dice);
    Check(twin.CompareDigest(snapshot, data[i + 1] % static_cast<int>(objects->nodes.size()),
                             data[i] % static_cast<int>(objects->pods.size())));
  }
  for (const Branch& branch : branches) {
    Check(branch.twin.Compare(branch.snapshot));
    Check(std::string(branch.snapshot.CheckInvariants().message()));
  }
  return 0;
}
