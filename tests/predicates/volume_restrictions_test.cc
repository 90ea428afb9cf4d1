#include "predicates/volume_restrictions.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/predicates/storage_builder.h"
#include "tests/predicates/verdict.h"

namespace ebb::test::volume_restrictions_test {
namespace {

constexpr char kNoDisk[] = "VolumeRestrictions: node(s) had no available disk";
constexpr char kInUse[] =
    "VolumeRestrictions: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
    "access mode already in-use by another pod";

constexpr Text kUsesOfMany[] = {"gcePersistentDisk", "awsElasticBlockStore", "iscsi", "cinder"};

struct Disk {
  Text source;
  Text id;
  bool read_only = false;
};

std::string Against(const Disk& held, const Disk& wanted) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("n"))
          .Add(WithDisk(Pod("holder").On("n"), held.source, held.id, held.read_only))
          .Add(WithDisk(Pod("p"), wanted.source, wanted.id, wanted.read_only))
          .Build();
  return VerdictOf(snapshot, "p", "n");
}

TEST(VolumeRestrictionsTest, GceAndIscsiDisksAreSharedOnlyReadOnly) {
  for (const Text source : {"gcePersistentDisk", "iscsi"}) {
    EXPECT_EQ(Against({source, "a"}, {source, "a"}), kNoDisk) << source;
    EXPECT_EQ(Against({source, "a", true}, {source, "a"}), kNoDisk) << source;
    EXPECT_EQ(Against({source, "a", true}, {source, "a", true}), "fits") << source;
    EXPECT_EQ(Against({source, "a"}, {source, "b"}), "fits") << source;
  }
}

TEST(VolumeRestrictionsTest, AwsDisksAreNeverShared) {
  EXPECT_EQ(Against({"awsElasticBlockStore", "a", true}, {"awsElasticBlockStore", "a", true}),
            kNoDisk);
  EXPECT_EQ(Against({"awsElasticBlockStore", "a"}, {"gcePersistentDisk", "a"}), "fits");
}

// Symptom: each disk of a pod was compared with each disk on the node.
TEST(VolumeRestrictionsTest, ManyDisksConflictAsFewDo) {
  const std::pair<Text, bool> kUses[] = {{"gcePersistentDisk", true},
                                         {"gcePersistentDisk", false},
                                         {"awsElasticBlockStore", true},
                                         {"iscsi", false}};
  const auto with_many = [](Pod pod, Text prefix) {
    for (int d = 0; d < 20; ++d) {
      const Text id = Keep(std::string(prefix) + std::to_string(d));
      pod = WithDisk(std::move(pod), kUsesOfMany[d % 4], id, d % 2 == 0);
    }
    return pod;
  };
  for (const auto& [held_source, held_read_only] : kUses) {
    for (const auto& [source, read_only] : kUses) {
      const ClusterSnapshot snapshot =
          Cluster()
              .Add(Node("n"))
              .Add(
                  WithDisk(with_many(Pod("holder").On("n"), "h"), held_source, "a", held_read_only))
              .Add(WithDisk(with_many(Pod("p"), "w"), source, "a", read_only))
              .Build();
      EXPECT_EQ(VerdictOf(snapshot, "p", "n"),
                Against({held_source, "a", held_read_only}, {source, "a", read_only}))
          << held_source << " " << source;
    }
  }
}

TEST(VolumeRestrictionsTest, DisksOfOtherKindsMayBeShared) {
  EXPECT_EQ(Against({"cinder", "a"}, {"cinder", "a"}), "fits");
}

TEST(VolumeRestrictionsTest, RbdImagesConflictWithinAPoolThatAMonitorShares) {
  const auto rbd = [](Pod pod, Text pool, std::vector<Text> monitors) {
    pod = WithDisk(std::move(pod), "rbd", "image");
    pod.raw.volumes.back().pool = pool;
    pod.raw.volumes.back().monitors = std::move(monitors);
    return pod;
  };
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(rbd(Pod("holder").On("n"), "rbd", {"m1", "m2"}))
                                       .Add(rbd(Pod("shares"), "rbd", {"m3", "m2"}))
                                       .Add(rbd(Pod("other-pool"), "fast", {"m2"}))
                                       .Add(rbd(Pod("other-monitor"), "rbd", {"m3"}))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "shares", "n"), kNoDisk);
  EXPECT_EQ(VerdictOf(snapshot, "other-pool", "n"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "other-monitor", "n"), "fits");
}

TEST(VolumeRestrictionsTest, AReadWriteOncePodClaimInUseKeepsOthersOffEveryNode) {
  objects::PersistentVolumeClaim claim = BoundClaim("data", "pv");
  claim.access_modes = {"ReadWriteOncePod"};
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Volume("pv"))
                                       .Add(claim)
                                       .Add(Mounting(Pod("holder").On("a"), "data"))
                                       .Add(Mounting(Pod("p"), "data"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "a"), kInUse);
  EXPECT_EQ(VerdictOf(snapshot, "p", "b"), kInUse);
  EXPECT_EQ(VerdictOf(snapshot, "holder", "b"), "fits");  // It is the claim's only user.
}

TEST(VolumeRestrictionsTest, AClaimThatDoesNotExistFailsByName) {
  const ClusterSnapshot snapshot = Cluster().Add(Node("n")).Add(Mounting(Pod("p"), "gone")).Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"),
            "VolumeRestrictions: persistentvolumeclaim \"gone\" not found");
}

TEST(VolumeRestrictionsTest, PodsWithoutTheDiskHideNoLaterPod) {
  const Text kGce = "gcePersistentDisk";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(Pod("plain").On("n"))
                                       .Add(WithDisk(Pod("other").On("n"), kGce, "b"))
                                       .Add(WithDisk(Pod("holder").On("n"), kGce, "a"))
                                       .Add(WithDisk(Pod("p"), kGce, "a"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), kNoDisk);
}

// Images with many monitors are looked up by monitor.
TEST(VolumeRestrictionsTest, ImagesWithManyMonitorsConflictAsOthersDo) {
  const auto rbd = [](Pod pod, Text image, Text pool, bool read_only, Text shared) {
    pod = WithDisk(std::move(pod), "rbd", image, read_only);
    objects::Volume& volume = pod.raw.volumes.back();
    volume.pool = pool;
    for (int m = 0; m < 70; ++m) {
      volume.monitors.push_back(Keep(std::string(pod.raw.meta.name) + std::to_string(m)));
    }
    volume.monitors.push_back(shared);
    return pod;
  };
  const auto verdict = [&](bool held_read_only, const Pod& wanted) {
    return VerdictOf(Cluster()
                         .Add(Node("n"))
                         .Add(rbd(Pod("holder").On("n"), "image", "rbd", held_read_only, "m"))
                         .Add(wanted)
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict(false, rbd(Pod("p"), "image", "rbd", false, "m")), kNoDisk);
  EXPECT_EQ(verdict(true, rbd(Pod("p"), "image", "rbd", false, "m")), kNoDisk);
  EXPECT_EQ(verdict(false, rbd(Pod("p"), "image", "rbd", true, "m")), kNoDisk);
  EXPECT_EQ(verdict(true, rbd(Pod("p"), "image", "rbd", true, "m")), "fits");
  EXPECT_EQ(verdict(false, rbd(Pod("p"), "image", "rbd", false, "none")), "fits");
  EXPECT_EQ(verdict(false, rbd(Pod("p"), "image", "fast", false, "m")), "fits");
  EXPECT_EQ(verdict(false, rbd(Pod("p"), "other", "rbd", false, "m")), "fits");
}

TEST(VolumeRestrictionsTest, EveryClaimOfAPodIsChecked) {
  objects::PersistentVolumeClaim data = BoundClaim("data", "pv");
  data.access_modes = {"ReadWriteOncePod"};
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(Volume("pv"))
                                       .Add(Volume("pv2"))
                                       .Add(BoundClaim("plain", "pv2"))
                                       .Add(data)
                                       .Add(Mounting(Pod("holder").On("n"), "data"))
                                       .Add(Mounting(Mounting(Pod("p"), "plain"), "data"))
                                       .Add(Mounting(Mounting(Pod("q"), "plain"), "gone"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), kInUse);
  EXPECT_EQ(VerdictOf(snapshot, "q", "n"),
            "VolumeRestrictions: persistentvolumeclaim \"gone\" not found");
}

}  // namespace
}  // namespace ebb::test::volume_restrictions_test
