#include "predicates/volume_zone.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/predicates/storage_builder.h"
#include "tests/predicates/verdict.h"

namespace ebb::test::volume_zone_test {
namespace {

constexpr char kNoZone[] = "VolumeZone: node(s) had no available volume zone";
constexpr Text kZone = "topology.kubernetes.io/zone";
constexpr Text kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr Text kRegion = "topology.kubernetes.io/region";

std::string On(const Node& node, Text key, Text value) {
  objects::PersistentVolume volume = Volume("pv");
  volume.meta.labels = {{key, value}};
  return VerdictOf(Cluster()
                       .Add(node)
                       .Add(volume)
                       .Add(BoundClaim("data", "pv"))
                       .Add(Mounting(Pod("p"), "data"))
                       .Build(),
                   "p", "n");
}

TEST(VolumeZoneTest, TheVolumesZoneMustBeTheNodes) {
  EXPECT_EQ(On(Node("n").Label(kZone, "a"), kZone, "a"), "fits");
  EXPECT_EQ(On(Node("n").Label(kZone, "b"), kZone, "a"), kNoZone);
}

TEST(VolumeZoneTest, ALabelMayListZones) {
  EXPECT_EQ(On(Node("n").Label(kZone, "b"), kZone, "a__b"), "fits");
  EXPECT_EQ(On(Node("n").Label(kZone, "c"), kZone, "a__b"), kNoZone);
  EXPECT_EQ(On(Node("n").Label(kZone, "c"), kZone, "a____b"), "fits");  // The label does not parse.
}

TEST(VolumeZoneTest, ABetaLabelIsMetByTheNodesGaLabelAndNotTheOtherWay) {
  EXPECT_EQ(On(Node("n").Label(kZone, "a"), kBetaZone, "a"), "fits");
  EXPECT_EQ(On(Node("n").Label(kZone, "b"), kBetaZone, "a"), kNoZone);
  EXPECT_EQ(On(Node("n").Label(kBetaZone, "a"), kZone, "a"), kNoZone);
}

TEST(VolumeZoneTest, ANodeWithoutAnyZoneLabelIsEverywhere) {
  EXPECT_EQ(On(Node("n"), kZone, "a"), "fits");
  EXPECT_EQ(On(Node("n").Label(kRegion, "r"), kZone, "a"), kNoZone);
}

TEST(VolumeZoneTest, AClaimBoundToNothingFailsByTheVolumesName) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(BoundClaim("data", "gone"))
                                       .Add(Mounting(Pod("p"), "data"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "VolumeZone: persistentvolume \"gone\" not found");
}

TEST(VolumeZoneTest, EveryVolumeOfThePodAndEveryLabelOfItMustBeMet) {
  objects::PersistentVolume here = Volume("here");
  here.meta.labels = {{kZone, "a"}, {kRegion, "r"}};
  objects::PersistentVolume elsewhere = Volume("elsewhere");
  elsewhere.meta.labels = {{kZone, "a"}, {kRegion, "s"}};
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("n").Label(kZone, "a").Label(kRegion, "r"))
          .Add(here)
          .Add(elsewhere)
          .Add(LateClass("late", "csi.example.com"))
          .Add(Claim("later", "late"))
          .Add(BoundClaim("of-here", "here"))
          .Add(BoundClaim("of-elsewhere", "elsewhere"))
          .Add(BoundClaim("of-gone", "gone"))
          .Add(Mounting(Mounting(Pod("fits"), "later"), "of-here"))
          .Add(Mounting(Mounting(Mounting(Pod("p"), "later"), "of-here"), "of-elsewhere"))
          .Add(Mounting(Mounting(Mounting(Pod("q"), "later"), "of-here"), "of-gone"))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "fits", "n"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), kNoZone);
  EXPECT_EQ(VerdictOf(snapshot, "q", "n"), "VolumeZone: persistentvolume \"gone\" not found");
}

}  // namespace
}  // namespace ebb::test::volume_zone_test
