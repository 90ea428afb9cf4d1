#include "predicates/node_volume_limits.h"

#include <gtest/gtest.h>

#include "tests/predicates/storage_builder.h"
#include "tests/predicates/verdict.h"

namespace ebb::test::node_volume_limits_test {
namespace {

constexpr char kTooMany[] = "NodeVolumeLimits: node(s) exceed max volume count";
constexpr Text kDriver = "csi.example.com";

// Claims a, b and c, each bound to a volume of the same name.
Cluster WithVolumes() {
  Cluster cluster;
  cluster.Add(Node("n"));
  for (const Text name : {"a", "b", "c"}) cluster.Add(Volume(name)).Add(BoundClaim(name, name));
  return cluster;
}

TEST(NodeVolumeLimitsTest, VolumesOfPodsCountUpToTheLimit) {
  const auto verdict = [](int64_t limit) {
    return VerdictOf(WithVolumes()
                         .Add(CsiNode("n", kDriver, limit))
                         .Add(Mounting(Pod("holder").On("n"), "a"))
                         .Add(Mounting(Pod("p"), "b"))
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict(1), kTooMany);
  EXPECT_EQ(verdict(2), "fits");
}

TEST(NodeVolumeLimitsTest, AnAttachedVolumeTakesNoRoom) {
  const ClusterSnapshot snapshot = WithVolumes()
                                       .Add(CsiNode("n", kDriver, 1))
                                       .Add(Mounting(Pod("holder").On("n"), "a"))
                                       .Add(Mounting(Pod("p"), "a"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "fits");
}

TEST(NodeVolumeLimitsTest, OneVolumeMountedTwiceCountsOnce) {
  const ClusterSnapshot snapshot = WithVolumes()
                                       .Add(CsiNode("n", kDriver, 1))
                                       .Add(Mounting(Mounting(Pod("p"), "a"), "a"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "fits");
}

TEST(NodeVolumeLimitsTest, AttachmentsOfOtherVolumesCount) {
  objects::VolumeAttachment attachment;
  attachment.meta.name = "attachment";
  attachment.attacher = kDriver;
  attachment.node_name = "n";
  attachment.volume_name = "c";
  const auto verdict = [&](int64_t limit, Text claim) {
    return VerdictOf(WithVolumes()
                         .Add(CsiNode("n", kDriver, limit))
                         .Add(attachment)
                         .Add(Mounting(Pod("p"), claim))
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict(1, "a"), kTooMany);
  EXPECT_EQ(verdict(2, "a"), "fits");
  // The scheduler counts a volume that no pod of the node uses twice: as current and as added.
  EXPECT_EQ(verdict(1, "c"), kTooMany);
}

TEST(NodeVolumeLimitsTest, WithoutALimitForTheDriverAnyNumberFits) {
  const auto p = Mounting(Pod("p"), "a");
  EXPECT_EQ(VerdictOf(WithVolumes().Add(p).Build(), "p", "n"), "fits");
  EXPECT_EQ(VerdictOf(WithVolumes().Add(CsiNode("n", "other", 0)).Add(p).Build(), "p", "n"),
            "fits");
}

TEST(NodeVolumeLimitsTest, AnUnboundClaimCountsForItsClass) {
  const auto verdict = [](int64_t limit) {
    return VerdictOf(Cluster()
                         .Add(Node("n"))
                         .Add(CsiNode("n", kDriver, limit))
                         .Add(LateClass("late", kDriver))
                         .Add(Claim("x", "late"))
                         .Add(Claim("y", "late"))
                         .Add(Mounting(Mounting(Pod("p"), "x"), "y"))
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict(1), kTooMany);
  EXPECT_EQ(verdict(2), "fits");
}

TEST(NodeVolumeLimitsTest, InTreeDisksCountUnderTheirCsiDriver) {
  const auto verdict = [](Text id) {
    return VerdictOf(Cluster()
                         .Add(Node("n"))
                         .Add(CsiNode("n", "ebs.csi.aws.com", 1))
                         .Add(WithDisk(Pod("holder").On("n"), "awsElasticBlockStore", "vol-1"))
                         .Add(WithDisk(Pod("p"), "awsElasticBlockStore", id))
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict("vol-2"), kTooMany);
  EXPECT_EQ(verdict("aws://zone/vol-1"), "fits");  // Another name of the same disk.
}

TEST(NodeVolumeLimitsTest, ADiskThatCannotBeCountedFitsIfNoLimitCounts) {
  const auto verdict = [](Text held, Text wanted, bool counts) {
    Cluster cluster;
    cluster.Add(Node("n"));
    if (counts) cluster.Add(CsiNode("n", "ebs.csi.aws.com", 9));
    return VerdictOf(cluster.Add(WithDisk(Pod("holder").On("n"), "awsElasticBlockStore", held))
                         .Add(WithDisk(Pod("p"), "awsElasticBlockStore", wanted))
                         .Build(),
                     "p", "n");
  };
  constexpr Text kOdd = "aws://zone/disk-1";
  EXPECT_EQ(verdict("vol-1", "vol-2", true), "fits");
  EXPECT_EQ(verdict("vol-1", kOdd, true),
            "NodeVolumeLimits: converting volume from inline to csi: the volume has no CSI "
            "equivalent");
  EXPECT_EQ(verdict(kOdd, "vol-1", true),
            "NodeVolumeLimits: a volume of a pod on the node cannot be counted");
  EXPECT_EQ(verdict("vol-1", kOdd, false), "fits");
  EXPECT_EQ(verdict(kOdd, "vol-1", false), "fits");
}

TEST(NodeVolumeLimitsTest, AVolumeThatSeveralPodsMountCountsOnce) {
  const auto verdict = [](int64_t limit) {
    objects::CsiNode csi_node = CsiNode("n", "other", 0);
    csi_node.drivers.push_back({kDriver, limit});
    return VerdictOf(WithVolumes()
                         .Add(csi_node)
                         .Add(Pod("plain").On("n"))
                         .Add(Mounting(Pod("first").On("n"), "b"))
                         .Add(Mounting(Mounting(Pod("second").On("n"), "a"), "b"))
                         .Add(Mounting(Pod("p"), "c"))
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict(2), kTooMany);
  EXPECT_EQ(verdict(3), "fits");
}

TEST(NodeVolumeLimitsTest, AnAttachmentOfAVolumeThatAPodMountsCountsOnce) {
  objects::VolumeAttachment attachment;
  attachment.meta.name = "attachment";
  attachment.attacher = kDriver;
  attachment.node_name = "n";
  attachment.volume_name = "a";
  const auto verdict = [&](int64_t limit) {
    return VerdictOf(WithVolumes()
                         .Add(CsiNode("n", kDriver, limit))
                         .Add(attachment)
                         .Add(Mounting(Pod("holder").On("n"), "a"))
                         .Add(Mounting(Pod("p"), "b"))
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict(1), kTooMany);
  EXPECT_EQ(verdict(2), "fits");
}

// Source: third/upstream-1.37/u7.
TEST(NodeVolumeLimitsTest, From137OnADriverMayKeepPodsOffNodesThatLackIt) {
  const auto verdict = [](std::string_view version, bool prevents,
                          std::optional<objects::CsiNode> csi_node) {
    objects::CsiDriver driver;
    driver.meta.name = kDriver;
    driver.prevents_scheduling = prevents;
    Cluster cluster;
    cluster.Add(Node("n").With([&](objects::Node& node) { node.kubelet_version = version; }))
        .Add(Volume("a"))
        .Add(BoundClaim("a", "a"))
        .Add(driver)
        .Add(Mounting(Pod("p"), "a"));
    if (csi_node) cluster.Add(*csi_node);
    return VerdictOf(cluster.Build(), "p", "n");
  };
  constexpr char kMissing[] =
      "NodeVolumeLimits: csi.example.com CSI driver is not installed on the node";
  const objects::CsiNode other = CsiNode("n", "other.example.com", 5);
  objects::CsiNode without_limit = CsiNode("n", kDriver, 5);
  without_limit.drivers[0].volumes_max.reset();
  EXPECT_EQ(verdict("v1.37.0", true, other), kMissing);
  EXPECT_EQ(verdict("v1.37.0", true, std::nullopt), kMissing);
  EXPECT_EQ(verdict("v1.37.0", true, without_limit), "fits");
  EXPECT_EQ(verdict("v1.37.0", false, other), "fits");
  EXPECT_EQ(verdict("v1.36.4", true, other), "fits");
}

}  // namespace
}  // namespace ebb::test::node_volume_limits_test
