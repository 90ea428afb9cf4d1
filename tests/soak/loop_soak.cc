// loop_soak [--rounds N] [--seed S]: runs the loop over random simulated clusters with random
// faults until it has made N rounds, and checks what must never happen (random_loop.h).
//
// Exit code: 0, or 1 if a check failed: then it prints the seed and the failure, and `--seed S
// --rounds 1` repeats it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/simulation/random_loop.h"

int main(int argc, char** argv) {
  uint64_t rounds = 10'000;
  uint64_t seed = 1;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view flag = argv[i];
    uint64_t* const value = flag == "--rounds" ? &rounds : flag == "--seed" ? &seed : nullptr;
    if (value == nullptr || i + 1 == argc) {
      std::fprintf(stderr, "usage: loop_soak [--rounds N] [--seed S]\n");
      return 2;
    }
    *value = std::strtoull(argv[i + 1], nullptr, 10);
  }
  uint64_t made = 0;
  uint64_t runs = 0;
  ebb::SimulationCounts all;
  for (; made < rounds; ++seed, ++runs) {
    const ebb::test::RandomLoopResult result = ebb::test::RunRandomLoop(seed, 200);
    if (!result.wrong.empty()) {
      std::printf("%sseed %llu: %s\n", result.trace.c_str(), static_cast<unsigned long long>(seed),
                  result.wrong.c_str());
      return 1;
    }
    made += result.rounds;
    all.evictions += result.counts.evictions;
    all.pdb_refusals += result.counts.pdb_refusals;
    all.nodes_deleted += result.counts.nodes_deleted;
    all.deletions_failed += result.counts.deletions_failed;
    all.nodes_vanished += result.counts.nodes_vanished;
    all.killed_with_node += result.counts.killed_with_node;
  }
  const auto text = [](uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "%llu rounds over %llu clusters: %llu nodes deleted, %llu deletions failed, %llu vanished, "
      "%llu evictions, %llu refused by budgets, %llu pods came after a drain, nothing wrong\n",
      text(made), text(runs), text(all.nodes_deleted), text(all.deletions_failed),
      text(all.nodes_vanished), text(all.evictions), text(all.pdb_refusals),
      text(all.killed_with_node));
  return 0;
}
