// search_soak [--clusters N] [--seed S]: searches over N random clusters, and checks what must hold
// for each search (random_search.h).
//
// Exit code: 0, or 1 if a check failed: then it prints the seed and the failure, and `--seed S
// --clusters 1` repeats it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/search/random_search.h"

int main(int argc, char** argv) {
  uint64_t clusters = 1000;
  uint64_t seed = 1;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view flag = argv[i];
    uint64_t* const value = flag == "--clusters" ? &clusters : flag == "--seed" ? &seed : nullptr;
    if (value == nullptr || i + 1 == argc) {
      std::fprintf(stderr, "usage: search_soak [--clusters N] [--seed S]\n");
      return 2;
    }
    *value = std::strtoull(argv[i + 1], nullptr, 10);
  }
  ebb::test::RandomSearchResult all;
  uint64_t better = 0;
  for (uint64_t end = seed + clusters; seed != end; ++seed) {
    const ebb::test::RandomSearchResult result = ebb::test::RunRandomSearch(seed);
    if (!result.wrong.empty()) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.wrong.c_str());
      return 1;
    }
    all.nodes += result.nodes;
    all.greedy += result.greedy;
    all.best += result.best;
    better += result.best > result.greedy ? 1 : 0;
  }
  std::printf(
      "%llu clusters of %zu nodes: greedy plans are worth %lld, searched ones %lld, more in %llu "
      "clusters and less in none; nothing wrong\n",
      static_cast<unsigned long long>(clusters), all.nodes, static_cast<long long>(all.greedy),
      static_cast<long long>(all.best), static_cast<unsigned long long>(better));
  return 0;
}
