// Compares the filters with their twin over thousands of random clusters.
// EBB_TEST_SEED=<n> sets the first seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/filter_differential.h"
#include "tests/support/sanitized.h"

namespace ebb::test::filters_random_test {
namespace {

uint64_t Seed() {
  const char* seed = std::getenv("EBB_TEST_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}

std::vector<uint8_t> RandomBytes(std::mt19937_64& random, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Every reason that the storage filters can give.
constexpr std::string_view kStorageReasons[] = {
    "persistentvolumeclaim ",
    "persistentvolume ",
    "waiting for ephemeral volume controller to create the persistentvolumeclaim ",
    "VolumeBindingMode not set for StorageClass ",
    "pod has unbound immediate PersistentVolumeClaims",
    "node(s) had no available disk",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod",
    "node(s) exceed max volume count",
    "NodeVolumeLimits",  // A volume has no CSI equivalent, or the pod does not own it.
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    "VolumeBinding",  // A volume has no CSI equivalent; a selector does not parse.
    "node(s) had no available volume zone",
};

TEST(FiltersRandomTest, EveryVerdictIsTheTwins) {
  constexpr uint64_t kClusters = Rounds(2500);
  DifferentialStats stats;
  for (uint64_t c = 0; c < kClusters; ++c) {
    const uint64_t seed = Seed() + c;
    std::mt19937_64 random(seed);
    const std::vector<uint8_t> bytes = RandomBytes(random, 3000);
    Choices choices(bytes);
    const std::string wrong = CompareWithTwin(choices, stats);
    ASSERT_EQ(wrong, "") << "EBB_TEST_SEED=" << seed;
  }
  // Every filter must have rejected some pod; otherwise the clusters do not test it.
  EXPECT_GT(stats.verdicts, 20 * kClusters);
  EXPECT_GT(stats.fits, stats.verdicts / 10);
  for (size_t f = 0; f < kFilterCount; ++f) {
    const auto filter = static_cast<Filter>(f);
    // These reject no pod of a random cluster.
    if (filter == Filter::kNodeName || filter == Filter::kDynamicResources ||
        filter == Filter::kNotUnderstood) {
      continue;
    }
    EXPECT_GT(stats.refusals[f], filter == Filter::kOperatingSystem ? 0 : kClusters * 2 / 25)
        << FilterName(filter);
  }
  for (const std::string_view reason : kStorageReasons) {
    EXPECT_GT(stats.reasons[std::string(reason)], 0u) << reason;
  }
}

// Every verdict on a cluster, by the names of pod and node.
std::map<std::pair<std::string, std::string>, std::string> VerdictsOf(const RawCluster& raw) {
  ClusterSnapshot snapshot = BuildSnapshot(raw).value();
  const Catalog& catalog = snapshot.catalog();
  std::map<std::pair<std::string, std::string>, std::string> verdicts;
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    snapshot.Fork();
    if (snapshot.NodeOf(PodId{p}) != kNoNode) snapshot.RemovePod(PodId{p});
    for (uint32_t n = 0; n < catalog.nodes(); ++n) {
      const FilterVerdict verdict = Explain(snapshot, catalog.shape_of(PodId{p}), NodeId{n});
      std::string text(verdict.fits ? "fits" : FilterName(verdict.filter));
      for (const std::string& reason : verdict.reasons) text += "; " + reason;
      verdicts[{catalog.PodName(PodId{p}), std::string(catalog.NodeName(NodeId{n}))}] = text;
    }
    snapshot.Revert();
  }
  return verdicts;
}

TEST(FiltersRandomTest, VerdictsDoNotDependOnTheOrderOfNodesOrPods) {
  constexpr uint64_t kClusters = 300;
  for (uint64_t c = 0; c < kClusters; ++c) {
    const uint64_t seed = Seed() + c;
    std::mt19937_64 random(seed);
    const std::vector<uint8_t> bytes = RandomBytes(random, 3000);
    Choices choices(bytes);
    RawCluster raw = RandomCluster(choices);
    const auto verdicts = VerdictsOf(raw);
    std::ranges::shuffle(raw.nodes, random);
    std::ranges::shuffle(raw.pods, random);
    ASSERT_EQ(VerdictsOf(raw), verdicts) << "EBB_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace ebb::test::filters_random_test
