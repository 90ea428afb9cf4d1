// Compares what the table of filters states that each filter reads with what the filter reads.
// EBB_TEST_SEED=<n> sets the first seed.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "predicates/filters.h"
#include "predicates/node_resources_fit.h"
#include "tests/support/random_cluster.h"
#include "tests/support/random_seed.h"

namespace ebb::test::filter_reads_test {
namespace {

constexpr PodParts kEveryPodHas = kConstraintsPart | kRequestsPart;

std::vector<PodParts> SinglePartsOf(PodParts parts) {
  std::vector<PodParts> singles;
  for (size_t i = 0; i < kPodPartCount; ++i) {
    if ((parts >> i & 1) != 0) singles.push_back(static_cast<PodParts>(1 << i));
  }
  return singles;
}

TEST(FilterReadsTest, APodThatNoFilterReadsTakesAllShortCuts) {
  const ShortCuts cuts = ShortCutsOf(kEveryPodHas);
  EXPECT_TRUE(cuts.passes_pre_filter);
  EXPECT_TRUE(cuts.statics_of_fit_class);
  EXPECT_TRUE(cuts.statics_of_node_shape);
  EXPECT_TRUE(cuts.requests_alone);
  EXPECT_TRUE(cuts.alike_before_room);
  EXPECT_TRUE(cuts.topology_alone);
  EXPECT_TRUE(cuts.only_room_and_counts);
}

// If the short cuts left out a filter, no search would evaluate it.
TEST(FilterReadsTest, FieldsThatAFilterReadsPreventTheShortCut) {
  for (size_t f = 0; f < kFilterCount; ++f) {
    if (Filter(f) == Filter::kNodeResourcesFit) continue;  // Every search evaluates it.
    const FilterReads reads = ReadsOf(Filter(f));
    for (const PodParts part : SinglePartsOf(reads.other_pods)) {
      // Tables count a pod even if it is not placed in the snapshot.
      EXPECT_EQ(ShortCutsOf(kEveryPodHas | part).only_room_and_counts, part == kCountedPart)
          << FilterName(Filter(f)) << part;
    }
    for (const PodParts part : SinglePartsOf(reads.pre_filter_for)) {
      EXPECT_FALSE(ShortCutsOf(kEveryPodHas | part).passes_pre_filter)
          << FilterName(Filter(f)) << part;
    }
    const bool before_room = Filter(f) < Filter::kNodeResourcesFit;
    for (const PodParts part : SinglePartsOf(before_room ? reads.node_name_for : PodParts{0})) {
      EXPECT_FALSE(ShortCutsOf(kEveryPodHas | part).alike_before_room) << FilterName(Filter(f));
    }
    for (const PodParts part : SinglePartsOf(reads.pod)) {
      const ShortCuts cuts = ShortCutsOf(kEveryPodHas | part);
      const bool of_fit_class =
          (part & (kConstraintsPart | kNodeNamesPart | kRequestsPart)) == part;
      EXPECT_TRUE(of_fit_class || !cuts.statics_of_fit_class || !cuts.requests_alone ||
                  !cuts.passes_pre_filter)
          << FilterName(Filter(f)) << part;
      if (cuts.topology_alone && !cuts.requests_alone) {
        EXPECT_EQ(reads.other_pods, kCountedPart) << FilterName(Filter(f)) << part;
      }
      EXPECT_TRUE(of_fit_class || !before_room || !cuts.alike_before_room)
          << FilterName(Filter(f)) << part;
    }
  }
}

TEST(FilterReadsTest, EveryFieldBelongsToAPart) {
  const Catalog& catalog = *[] {
    static const auto* const snapshot = new ClusterSnapshot([] {
      const std::vector<uint8_t> bytes(100, 0);
      Choices choices(bytes);
      return BuildSnapshot(RandomCluster(choices)).value();
    }());
    return &snapshot->catalog();
  }();
  const auto parts = [&](auto&& change) {
    PodShape shape;
    change(shape);
    return static_cast<PodParts>(PartsOf(catalog, shape) & ~kEveryPodHas);
  };
  EXPECT_EQ(parts([](PodShape&) {}), 0);
  EXPECT_EQ(parts([](PodShape& s) { s.needs_restart_all_containers = true; }), kFeaturesPart);
  EXPECT_EQ(parts([](PodShape& s) { s.needs_host_network_user_namespaces = true; }), kFeaturesPart);
  EXPECT_EQ(parts([](PodShape& s) { s.needs_bind_mount_options = true; }), kFeaturesPart);
  EXPECT_EQ(parts([](PodShape& s) { s.host_ports.emplace_back(); }), kHostPortsPart);
  EXPECT_EQ(parts([](PodShape& s) { s.claims.emplace_back(); }), kVolumesPart);
  EXPECT_EQ(parts([](PodShape& s) { s.volumes = 1; }), kVolumesPart);
  EXPECT_EQ(parts([](PodShape& s) { s.spread.emplace_back(); }), kSpreadPart);
  EXPECT_EQ(parts([](PodShape& s) { s.affinity.emplace_back(); }), kAffinityPart);
  EXPECT_EQ(parts([](PodShape& s) { s.anti_affinity.emplace_back(); }), kAffinityPart);
  EXPECT_EQ(parts([](PodShape& s) { s.repelled_by.emplace_back(); }), kAffinityPart);
  EXPECT_EQ(parts([](PodShape& s) { s.feeds.emplace_back(); }), kCountedPart);
  EXPECT_EQ(parts([](PodShape& s) { s.not_understood = "x"; }), kNotUnderstoodPart);
  EXPECT_EQ(parts([](PodShape& s) { s.device_claims.emplace_back(); }), kDevicesPart);
}

// A shape that has only these parts of `shape`.
PodShape Only(const PodShape& shape, PodParts parts) {
  PodShape only;
  if ((parts & (kConstraintsPart | kNodeNamesPart)) != 0) only.constraints = shape.constraints;
  if ((parts & kRequestsPart) != 0) {
    only.fit_requests = shape.fit_requests;
    only.charge_requests = shape.charge_requests;
  }
  if ((parts & kFeaturesPart) != 0) {
    only.needs_restart_all_containers = shape.needs_restart_all_containers;
    only.needs_host_network_user_namespaces = shape.needs_host_network_user_namespaces;
    only.needs_bind_mount_options = shape.needs_bind_mount_options;
  }
  if ((parts & kHostPortsPart) != 0) only.host_ports = shape.host_ports;
  if ((parts & kVolumesPart) != 0) {
    only.claims = shape.claims;
    only.volumes = shape.volumes;
  }
  if ((parts & kSpreadPart) != 0) only.spread = shape.spread;
  if ((parts & kAffinityPart) != 0) {
    only.affinity = shape.affinity;
    only.matches_own_affinity = shape.matches_own_affinity;
    only.anti_affinity = shape.anti_affinity;
    only.repelled_by = shape.repelled_by;
    only.ignores_pod_affinity = shape.ignores_pod_affinity;
  }
  if ((parts & kCountedPart) != 0) only.feeds = shape.feeds;
  if ((parts & kDevicesPart) != 0) only.device_claims = shape.device_claims;
  return only;
}

// The verdict of each filter on its own; empty if PreFilter fails.
std::map<Filter, std::vector<std::string>> Verdicts(const ClusterSnapshot& snapshot,
                                                    const PodShape& shape, NodeId node) {
  std::map<Filter, std::vector<std::string>> verdicts;
  if (!PreFilter(snapshot, shape).fits) return verdicts;
  for (const FilterVerdict& verdict : ExplainEach(snapshot, shape, node)) {
    verdicts[verdict.filter] = verdict.reasons;
  }
  return verdicts;
}

class FilterReadsRandomTest : public testing::Test {
 protected:
  // Calls `check` with random clusters, each with a pod that is not placed.
  template <typename Check>
  void ForEachPod(int clusters, Check&& check) {
    const uint64_t first = RandomSeed();
    for (uint64_t seed = first; seed < first + clusters && !HasFailure(); ++seed) {
      std::mt19937_64 random(seed);
      std::vector<uint8_t> bytes(3000);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      Choices choices(bytes);
      ClusterSnapshot snapshot = BuildSnapshot(RandomCluster(choices)).value();
      SCOPED_TRACE("EBB_TEST_SEED=" + std::to_string(seed));
      for (uint32_t p = 0; p < snapshot.catalog().pods(); ++p) {
        snapshot.Fork();
        if (snapshot.NodeOf(PodId{p}) != kNoNode) snapshot.RemovePod(PodId{p});
        check(snapshot, snapshot.catalog().shape_of(PodId{p}));
        snapshot.Revert();
      }
    }
  }

  template <typename Check>
  static void ForEachNode(const ClusterSnapshot& snapshot, Check&& check) {
    for (uint32_t n = 0; n < snapshot.catalog().nodes(); ++n) check(NodeId{n});
  }

  std::array<int, kFilterCount> refusals_{};
};

TEST_F(FilterReadsRandomTest, NoFilterReadsOfThePodWhatItDoesNotSay) {
  ForEachPod(600, [&](const ClusterSnapshot& snapshot, const PodShape& shape) {
    ForEachNode(snapshot, [&](NodeId node) {
      for (const auto& [filter, reasons] : Verdicts(snapshot, shape, node)) {
        const auto blank = Verdicts(snapshot, Only(shape, ReadsOf(filter).pod), node);
        if (blank.empty()) continue;  // The stand-in constraints of another pod conflict.
        refusals_[static_cast<size_t>(filter)] += reasons.empty() ? 0 : 1;
        EXPECT_EQ(blank.at(filter), reasons) << FilterName(filter);
      }
    });
  });
  for (size_t f = 0; f < kFilterCount; ++f) {
    // Random clusters have no devices; dynamic_resources_test.cc and the oracle have.
    const bool says_nothing = ReadsOf(Filter(f)).pod == 0 || Filter(f) == Filter::kNotUnderstood ||
                              Filter(f) == Filter::kDynamicResources;
    EXPECT_EQ(refusals_[f] > 20, !says_nothing) << FilterName(Filter(f));
  }
}

TEST_F(FilterReadsRandomTest, NoFilterReadsOfOtherPodsWhatItDoesNotSay) {
  ForEachPod(600, [&](ClusterSnapshot& snapshot, const PodShape& shape) {
    const Catalog& catalog = snapshot.catalog();
    std::vector<std::map<Filter, std::vector<std::string>>> before;
    ForEachNode(snapshot, [&](NodeId node) { before.push_back(Verdicts(snapshot, shape, node)); });
    for (size_t f = 0; f < kFilterCount; ++f) {
      snapshot.Fork();
      for (uint32_t p = 0; p < catalog.pods(); ++p) {  // Remove pods that it does not read.
        if (snapshot.NodeOf(PodId{p}) == kNoNode) continue;
        const PodParts parts = PartsOf(catalog, catalog.shape_of(PodId{p}));
        if ((parts & ReadsOf(Filter(f)).other_pods) == 0) snapshot.RemovePod(PodId{p});
      }
      ForEachNode(snapshot, [&](NodeId node) {
        const auto& all = before[Index(node)];
        const auto found = all.find(Filter(f));
        if (found == all.end()) return;
        refusals_[f] += found->second.empty() ? 0 : 1;
        EXPECT_EQ(Verdicts(snapshot, shape, node).at(Filter(f)), found->second)
            << FilterName(Filter(f));
      });
      snapshot.Revert();
    }
  });
  EXPECT_GT(refusals_[static_cast<size_t>(Filter::kNodePorts)], 20);
  EXPECT_GT(refusals_[static_cast<size_t>(Filter::kVolumeRestrictions)], 20);
  EXPECT_GT(refusals_[static_cast<size_t>(Filter::kNodeVolumeLimits)], 20);
  EXPECT_GT(refusals_[static_cast<size_t>(Filter::kPodTopologySpread)], 20);
  EXPECT_GT(refusals_[static_cast<size_t>(Filter::kInterPodAffinity)], 20);
}

TEST_F(FilterReadsRandomTest, NoShortCutChangesAnAnswer) {
  int spared = 0, not_spared = 0;
  ForEachPod(600, [&](const ClusterSnapshot& snapshot, const PodShape& shape) {
    const ShortCuts cuts = ShortCutsOf(PartsOf(snapshot.catalog(), shape));
    const bool passes = PreFilter(snapshot, shape).fits;
    EXPECT_TRUE(passes || !cuts.passes_pre_filter);
    if (!passes) return;
    std::map<NodeShapeId, bool> statics;
    ForEachNode(snapshot, [&](NodeId node) {
      if (cuts.requests_alone) {
        EXPECT_EQ(DynamicFits(snapshot, shape, node), FitsNodeResources(snapshot, shape, node));
      }
      const bool fits = StaticFits(snapshot, shape, node);
      if (cuts.statics_of_fit_class) {
        const PodShape alike = Only(shape, kConstraintsPart | kRequestsPart);
        EXPECT_EQ(StaticFits(snapshot, alike, node), fits);
      }
      if (cuts.statics_of_node_shape) {
        const NodeShapeId alike = snapshot.catalog().node(node).shape;
        EXPECT_EQ(statics.try_emplace(alike, fits).first->second, fits);
      }
    });
    (cuts.requests_alone && cuts.statics_of_fit_class ? spared : not_spared) += 1;
  });
  EXPECT_GT(spared, 200);
  EXPECT_GT(not_spared, 200);
}

}  // namespace
}  // namespace ebb::test::filter_reads_test
