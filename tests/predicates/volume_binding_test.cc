#include "predicates/volume_binding.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/predicates/storage_builder.h"
#include "tests/predicates/verdict.h"

namespace ebb::test::volume_binding_test {
namespace {

constexpr char kConflict[] = "VolumeBinding: node(s) didn't match PersistentVolume's node affinity";
constexpr char kNothingToBind[] =
    "VolumeBinding: node(s) didn't find available persistent volumes to bind";
constexpr char kNoSpace[] = "VolumeBinding: node(s) did not have enough free storage";
constexpr char kImmediate[] = "VolumeBinding: pod has unbound immediate PersistentVolumeClaims";
constexpr Text kDriver = "csi.example.com";
constexpr Text kStatic = "kubernetes.io/no-provisioner";

// Nodes a and b, with labels rack=a and rack=b.  Pod p mounts claim "data".
Cluster TwoRacks() {
  return Cluster()
      .Add(Node("a").Label("rack", "a"))
      .Add(Node("b").Label("rack", "b"))
      .Add(Mounting(Pod("p"), "data"));
}

std::string Verdicts(const Cluster& cluster) {
  const ClusterSnapshot snapshot = cluster.Build();
  const std::string a = VerdictOf(snapshot, "p", "a");
  const std::string b = VerdictOf(snapshot, "p", "b");
  return a == b ? a : a + " | " + b;
}

TEST(VolumeBindingTest, ABoundVolumesNodeAffinityDecides) {
  objects::PersistentVolume volume = Volume("pv");
  OnlyWhere(volume, "rack", "a");
  EXPECT_EQ(Verdicts(TwoRacks().Add(volume).Add(BoundClaim("data", "pv"))),
            std::string("fits | ") + kConflict);
}

TEST(VolumeBindingTest, AnAffinityTermOfFieldsAloneMatchesEveryNode) {
  objects::PersistentVolume volume = Volume("pv");
  volume.required_node_affinity.nil = false;
  volume.required_node_affinity.terms = {{{}, {{"metadata.name", "In", {"elsewhere"}}}}};
  EXPECT_EQ(Verdicts(TwoRacks().Add(volume).Add(BoundClaim("data", "pv"))), "fits");
}

TEST(VolumeBindingTest, AnUnboundClaimThatIsNotDelayedFailsEverywhere) {
  objects::StorageClass immediate = LateClass("now", kDriver);
  immediate.volume_binding_mode = "Immediate";
  EXPECT_EQ(Verdicts(TwoRacks().Add(immediate).Add(Claim("data", "now"))), kImmediate);
  EXPECT_EQ(Verdicts(TwoRacks().Add(Claim("data"))), kImmediate);
  EXPECT_EQ(Verdicts(TwoRacks().Add(Claim("data", "no-such-class"))), kImmediate);
}

TEST(VolumeBindingTest, AClaimWithAVolumeNameButNoBindAnnotationIsNotBound) {
  objects::PersistentVolumeClaim claim = BoundClaim("data", "pv");
  claim.meta.annotations.clear();
  claim.storage_class_name = "late";
  EXPECT_EQ(Verdicts(TwoRacks().Add(LateClass("late", kDriver)).Add(Volume("pv")).Add(claim)),
            kImmediate);
}

TEST(VolumeBindingTest, LostAndDeletedClaimsFailByName) {
  objects::PersistentVolumeClaim claim = BoundClaim("data", "pv");
  claim.phase = "Lost";
  EXPECT_EQ(Verdicts(TwoRacks().Add(claim)),
            "VolumeBinding: persistentvolumeclaim \"data\" bound to non-existent persistentvolume "
            "\"pv\"");
  claim.phase = "Bound";
  claim.meta.deletion_time = 1;
  EXPECT_EQ(Verdicts(TwoRacks().Add(claim)),
            "VolumeBinding: persistentvolumeclaim \"data\" is being deleted");
}

TEST(VolumeBindingTest, ADelayedClaimIsProvisionedWhereItsClassAllows) {
  objects::StorageClass storage_class = LateClass("late", kDriver);
  storage_class.allowed_topologies = {{{"rack", {"b"}}}};
  EXPECT_EQ(Verdicts(TwoRacks().Add(storage_class).Add(Claim("data", "late"))),
            std::string(kNothingToBind) + " | fits");
}

TEST(VolumeBindingTest, ADelayedClaimStaysWithItsSelectedNode) {
  objects::PersistentVolumeClaim claim = Claim("data", "late");
  claim.meta.annotations = {{"volume.kubernetes.io/selected-node", "b"}};
  EXPECT_EQ(Verdicts(TwoRacks().Add(LateClass("late", kDriver)).Add(claim)),
            std::string(kNothingToBind) + " | fits");
}

TEST(VolumeBindingTest, WithoutAProvisionerAFreeVolumeOfTheClassMustServe) {
  const auto verdicts = [](auto&& change) {
    objects::PersistentVolume volume = Volume("pv", "local");
    OnlyWhere(volume, "rack", "a");
    change(volume);
    return Verdicts(
        TwoRacks().Add(LateClass("local", kStatic)).Add(volume).Add(Claim("data", "local")));
  };
  EXPECT_EQ(verdicts([](auto&) {}), std::string("fits | ") + kNothingToBind);
  using V = objects::PersistentVolume;
  EXPECT_EQ(verdicts([](V& v) { v.volume_mode = "Filesystem"; }),
            std::string("fits | ") + kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.capacity_bytes = kGiB; }), kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.storage_class_name = "other"; }), kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.access_modes = {"ReadOnlyMany"}; }), kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.volume_mode = "Block"; }), kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.volume_attributes_class_name = "gold"; }), kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.phase = "Released"; }), kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.meta.deletion_time = 1; }), kNothingToBind);
  EXPECT_EQ(verdicts([](V& v) { v.claim = {"default", "other", ""}; }), kNothingToBind);
}

TEST(VolumeBindingTest, OnlyTheVolumeReservedForTheClaimIsConsidered) {
  objects::PersistentVolume reserved = Volume("reserved", "local");
  reserved.claim = {"default", "data", "data"};
  OnlyWhere(reserved, "rack", "b");
  EXPECT_EQ(Verdicts(TwoRacks()
                         .Add(LateClass("local", kStatic))
                         .Add(reserved)
                         .Add(Volume("free", "local"))
                         .Add(Claim("data", "local"))),
            std::string(kNothingToBind) + " | fits");
}

TEST(VolumeBindingTest, OneVolumeServesOneClaimOfAPodSmallOnesFirst) {
  const auto verdict = [](int64_t second_bytes) {
    objects::PersistentVolume small = Volume("small", "local");
    small.capacity_bytes = 5 * kGiB;
    objects::PersistentVolumeClaim large = Claim("large", "local");
    large.request_bytes = second_bytes;
    return VerdictOf(Cluster()
                         .Add(Node("n"))
                         .Add(LateClass("local", kStatic))
                         .Add(Volume("big", "local"))
                         .Add(small)
                         .Add(large)
                         .Add(Claim("data", "local"))
                         .Add(Mounting(Mounting(Pod("p"), "large"), "data"))
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict(8 * kGiB), "fits");
  EXPECT_EQ(verdict(20 * kGiB), kNothingToBind);
}

TEST(VolumeBindingTest, ADriverThatTracksCapacityNeedsEnoughOfItInReach) {
  const auto verdicts = [](int64_t bytes) {
    objects::CsiDriver driver;
    driver.meta.name = kDriver;
    driver.storage_capacity = true;
    objects::CsiStorageCapacity capacity;
    capacity.meta.name = "room";
    capacity.storage_class_name = "late";
    capacity.node_topology = Select("rack", "a");
    capacity.capacity_bytes = bytes;
    return Verdicts(TwoRacks()
                        .Add(driver)
                        .Add(capacity)
                        .Add(LateClass("late", kDriver))
                        .Add(Claim("data", "late")));
  };
  EXPECT_EQ(verdicts(5 * kGiB), std::string("fits | ") + kNoSpace);
  EXPECT_EQ(verdicts(5 * kGiB - 1), kNoSpace);
}

TEST(VolumeBindingTest, AMigratedVolumeUsesTheDriversZoneLabel) {
  objects::PersistentVolume volume = Volume("pv");
  volume.source = "gcePersistentDisk";
  OnlyWhere(volume, "topology.kubernetes.io/zone", "z");
  objects::CsiNode migrated = CsiNode("a", "pd.csi.storage.gke.io", 10);
  migrated.meta.annotations = {
      {"storage.alpha.kubernetes.io/migrated-plugins", "kubernetes.io/gce-pd"}};
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label("topology.gke.io/zone", "z"))
                                       .Add(Node("b").Label("topology.gke.io/zone", "z"))
                                       .Add(migrated)
                                       .Add(volume)
                                       .Add(BoundClaim("data", "pv"))
                                       .Add(Mounting(Pod("p"), "data"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "a"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "p", "b"), kConflict);
}

TEST(VolumeBindingTest, AnEphemeralClaimMustExistAndBelongToThePod) {
  const auto verdict = [](bool exists, Text owner) {
    Cluster cluster;
    cluster.Add(Node("n")).Add(LateClass("late", kDriver));
    cluster.Add(Pod("p").Uid("uid").Volume("ephemeral", "scratch"));
    objects::PersistentVolumeClaim claim = Claim("p-scratch", "late");
    claim.meta.owners = {{"v1", "Pod", "p", owner, true}};
    if (exists) cluster.Add(claim);
    return VerdictOf(cluster.Build(), "p", "n");
  };
  EXPECT_EQ(verdict(true, "uid"), "fits");
  EXPECT_EQ(verdict(true, "other"),
            "VolumeBinding: PVC default/p-scratch was not created for pod default/p (pod is not "
            "owner)");
  EXPECT_EQ(verdict(false, ""),
            "VolumeBinding: waiting for ephemeral volume controller to create the "
            "persistentvolumeclaim \"p-scratch\"");
}

TEST(VolumeBindingTest, APodThatRequestsADeviceClassResourceIsNotUnderstood) {
  objects::DeviceClass device_class;
  device_class.meta.name = "gpus";
  device_class.extended_resource_name = "example.com/gpu";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n").Resource("example.com/gpu", 1))
                                       .Add(device_class)
                                       .Add(Pod("p").Request("example.com/gpu", 1))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n").substr(0, 14), "NotUnderstood:");
}

// Symptom: for each node, a claim that no volume can serve was compared with all volumes.
TEST(VolumeBindingTest, AClaimThatNoVolumeCanServeChecksNone) {
  objects::PersistentVolumeClaim large = Claim("data", "late");
  large.request_bytes = 11 * kGiB;
  objects::PersistentVolumeClaim shared = Claim("data", "late");
  shared.access_modes = {"ReadWriteMany"};
  objects::PersistentVolumeClaim labelled = Claim("data", "late");
  labelled.selector = Select("disk", "fast");
  for (const objects::PersistentVolumeClaim& claim : {large, shared, labelled}) {
    const ClusterSnapshot snapshot =
        TwoRacks().Add(LateClass("late", kStatic)).Add(Volume("pv", "late")).Add(claim).Build();
    const Catalog& catalog = snapshot.catalog();
    const PodShape& shape = catalog.shape_of(PodNamed(snapshot, "p"));
    const ClaimInfo& info = *catalog.storage().volumes(shape.volumes).claims[0].claim;
    ASSERT_TRUE(info.selector.has_value());
    EXPECT_TRUE(info.selector->nothing);
    EXPECT_EQ(VerdictOf(snapshot, "p", "a"), kNothingToBind);
  }
}

TEST(VolumeBindingTest, AReservedVolumeIsChosenAtAnyPlaceInTheInput) {
  objects::PersistentVolume reserved = Volume("reserved", "late");
  reserved.claim = {.namespace_name = "default", .name = "data", .uid = ""};
  OnlyWhere(reserved, "rack", "a");
  for (const bool first : {true, false}) {
    Cluster cluster = TwoRacks().Add(LateClass("late", kStatic)).Add(Claim("data", "late"));
    if (first) cluster.Add(reserved);
    cluster.Add(Volume("free", "late"));
    if (!first) cluster.Add(reserved);
    EXPECT_EQ(Verdicts(cluster), std::string("fits | ") + kNothingToBind);
  }
}

TEST(VolumeBindingTest, AMigratedVolumeWithoutACsiEquivalentFailsWithTheReason) {
  objects::PersistentVolume volume = Volume("pv");
  volume.source = "awsElasticBlockStore";
  volume.id = "aws://zone/disk-1";
  objects::CsiNode migrated = CsiNode("a", "ebs.csi.aws.com", 10);
  migrated.meta.annotations = {
      {"storage.alpha.kubernetes.io/migrated-plugins", "kubernetes.io/aws-ebs"}};
  EXPECT_EQ(Verdicts(TwoRacks().Add(migrated).Add(volume).Add(BoundClaim("data", "pv"))),
            "VolumeBinding: could not translate pv: failed to translate Kubernetes ID to EBS "
            "Volume ID Invalid format for AWS volume (aws://zone/disk-1) | fits");
}

// Only the first obstacle is reported.
TEST(VolumeBindingTest, AfterAClaimThatFailsNoOtherIsChecked) {
  objects::PersistentVolume broken = Volume("pv");
  broken.source = "awsElasticBlockStore";
  broken.id = "aws://zone/disk-1";
  objects::PersistentVolume elsewhere = Volume("elsewhere");
  OnlyWhere(elsewhere, "rack", "b");
  objects::CsiNode migrated = CsiNode("a", "ebs.csi.aws.com", 10);
  migrated.meta.annotations = {
      {"storage.alpha.kubernetes.io/migrated-plugins", "kubernetes.io/aws-ebs"}};
  Cluster cluster = TwoRacks().Add(migrated).Add(broken).Add(elsewhere);
  cluster.Add(BoundClaim("data", "pv")).Add(BoundClaim("more", "elsewhere"));
  cluster.Add(Mounting(Mounting(Pod("two"), "data"), "more"));
  const ClusterSnapshot snapshot = cluster.Build();
  const VolumeBindingVerdict verdict = FilterVolumeBinding(
      snapshot.catalog(), snapshot.catalog().shape_of(test::PodNamed(snapshot, "two")),
      snapshot.catalog().node(test::NodeNamed(snapshot, "a")));
  EXPECT_NE(verdict.error, nullptr);
  EXPECT_FALSE(verdict.node_conflict);
}

TEST(VolumeBindingTest, ASelectorThatDoesNotParseIsNamedWithItsClaim) {
  objects::PersistentVolumeClaim claim = Claim("data", "late");
  claim.selector = Select("disk", "fast");
  claim.selector.match_expressions = {{"k", "Near", {"x"}}};
  EXPECT_EQ(Verdicts(TwoRacks().Add(LateClass("late", kDriver)).Add(claim)),
            "VolumeBinding: error creating internal label selector for claim: default/data: "
            "\"Near\" is not a valid label selector operator (key \"k\")");
}

TEST(VolumeBindingTest, AClassWithoutABindingModeIsNamedBeforeClaimsThatWait) {
  objects::StorageClass odd = LateClass("odd", kDriver);
  odd.volume_binding_mode = "";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(odd)
                                       .Add(Claim("waits"))
                                       .Add(Claim("data", "odd"))
                                       .Add(Mounting(Mounting(Pod("p"), "waits"), "data"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "a"),
            "VolumeBinding: VolumeBindingMode not set for StorageClass \"odd\"");
}

}  // namespace
}  // namespace ebb::test::volume_binding_test
