#include "snapshot/samples/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/devices.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/samples/generate.h"
#include "tests/support/dump_sink.h"

namespace ebb::samples::devices_test {
namespace {

using ::testing::IsEmpty;

const Kind& KindOf(std::string_view name) { return *std::ranges::find(Kinds(), name, &Kind::name); }

std::vector<std::string> Made(const GenerateOptions& options, std::string_view kind = "company") {
  testing::DumpSink sink;
  EXPECT_TRUE(GenerateDump(KindOf(kind), options, sink).ok());
  return sink.lines();
}

absl::StatusOr<LoadedCluster> Loaded(const GenerateOptions& options, std::string_view kind) {
  ClusterLoader loader;
  if (absl::Status s = GenerateDump(KindOf(kind), options, loader); !s.ok()) return s;
  return std::move(loader).Finish();
}

TEST(DeviceSinkTest, TheSameOptionsMakeTheSameDevicesAndOtherSeedsOthers) {
  const GenerateOptions options = {.nodes = 20, .seed = 3, .devices = 0.5};
  EXPECT_EQ(Made(options), Made(options));
  EXPECT_NE(Made(options, "uniform"), Made({.nodes = 20, .seed = 4, .devices = 0.5}, "uniform"));
  EXPECT_EQ(Made({.nodes = 20, .seed = 3}, "uniform"), Made({.nodes = 20, .seed = 4}, "uniform"));
}

TEST(DeviceSinkTest, EveryClaimIsUnderstoodAndHasADeviceOfItsOwnOnThePodsNode) {
  for (const std::string_view kind : {"company", "uniform", "mixed"}) {
    const absl::StatusOr<LoadedCluster> cluster =
        Loaded({.nodes = 40, .seed = 2, .devices = 0.5}, kind);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    const ClusterSnapshot& snapshot = cluster->snapshot;
    const Catalog& catalog = snapshot.catalog();
    ASSERT_TRUE(catalog.devices().HasSlices());
    int with_devices = 0;
    int with_claims = 0;
    snapshot.alive().ForEach([&](NodeId node) {
      with_devices += catalog.devices().HasOwnSlices(node) ? 1 : 0;
      uint32_t used = 0;
      for (const PodId pod : snapshot.PodsOn(node)) {
        const PodShape& shape = catalog.shape_of(pod);
        if (shape.resource_claims.empty()) continue;
        ++used;
        EXPECT_THAT(shape.not_understood, IsEmpty()) << catalog.PodName(pod);
        ASSERT_EQ(shape.device_claims.size(), 1u) << catalog.PodName(pod);
        const DeviceClaimState& claim = snapshot.devices().claim(shape.device_claims[0]);
        ASSERT_EQ(claim.devices.size(), 1u) << catalog.PodName(pod);
        EXPECT_EQ(snapshot.devices().Uses(claim.devices[0].id), 1u) << catalog.PodName(pod);
      }
      EXPECT_LE(used, kDevicesOfNode / 2);
      EXPECT_TRUE(used == 0 || catalog.devices().HasOwnSlices(node));
      with_claims += static_cast<int>(used);
    });
    EXPECT_GT(with_devices, 8) << kind;
    EXPECT_LT(with_devices, 36) << kind;
    EXPECT_GT(with_claims, 8) << kind;
  }
}

TEST(DeviceSinkTest, AllPodsThatMayHaveClaimsIfAsked) {
  testing::DumpSink dump;
  DeviceSink sink({.one_product = true}, dump);
  const std::string node = "n";
  ASSERT_TRUE(sink.OnNode(NodeOf(node, 1000, 1000)).ok());
  const size_t before = dump.lines().size();
  for (const std::string name : {"a", "b", "c"}) {
    ASSERT_TRUE(sink.OnPod(PodOf("default", name, name, node, 10, 10)).ok());
  }
  objects::Pod ended = PodOf("default", "d", "d", node, 10, 10);
  ended.phase = "Succeeded";
  ASSERT_TRUE(sink.OnPod(ended).ok());
  // Three pods with a claim each, one without, and the templates.
  const auto lines =
      std::vector(dump.lines().begin() + static_cast<ptrdiff_t>(before), dump.lines().end());
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [](const std::string& line) {
                                    return line.find("-gpu") != std::string::npos &&
                                           line.find("gpu.nvidia.com") != std::string::npos;
                                  }),
            3);
}

}  // namespace
}  // namespace ebb::samples::devices_test
