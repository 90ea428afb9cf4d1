#include "snapshot/objects/csi_migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "snapshot/objects/storage_objects.h"

namespace ebb::csi_migration_test {
namespace {

using testing::ElementsAre;

constexpr objects::Text kZone = "topology.kubernetes.io/zone";
constexpr objects::Text kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr objects::Text kBetaRegion = "failure-domain.beta.kubernetes.io/region";

// The handle, or the error's text.
template <typename Volume>
std::string HandleOf(const Volume& volume) {
  const absl::StatusOr<std::string> handle = CsiHandle(volume);
  return handle.ok() ? *handle : std::string(handle.status().message());
}

std::string GceHandle(objects::KeyValues labels) {
  objects::PersistentVolume volume;
  volume.source = "gcePersistentDisk";
  volume.id = "disk-1";
  volume.meta.labels = std::move(labels);
  return HandleOf(volume);
}

std::string GceHandle(objects::Text zones) {
  return GceHandle(zones.empty() ? objects::KeyValues() : objects::KeyValues{{kZone, zones}});
}

// Source: k8s.io/csi-translation-lib/plugins/gce_pd.go, translateInTreePVToCSI.
TEST(CsiMigrationTest, AGceDiskIsOfAZoneOrOfARegion) {
  EXPECT_EQ(GceHandle("us-central1-a"), "projects/UNSPECIFIED/zones/us-central1-a/disks/disk-1");
  EXPECT_EQ(GceHandle("us-central1-a__us-central1-b"),
            "projects/UNSPECIFIED/regions/us-central1/disks/disk-1");
  EXPECT_EQ(GceHandle(""), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-1");
  EXPECT_EQ(GceHandle("us-central1-a__us-east1-b"),
            "failed to get region from zones: multiple regions");
}

TEST(CsiMigrationTest, AGceDisksZonesMustLookLikeZones) {
  EXPECT_EQ(GceHandle("us-central1-a__odd"),
            "failed to get region from zones: zone in unexpected format, expected: "
            "{locale}-{region}-{zone}, got: odd");
}

TEST(CsiMigrationTest, AGceDisksBetaLabelWinsUnlessItIsEmpty) {
  EXPECT_EQ(GceHandle(objects::KeyValues{{kZone, "new"}, {kBetaZone, "old"}}),
            "projects/UNSPECIFIED/zones/old/disks/disk-1");
  EXPECT_EQ(GceHandle(objects::KeyValues{{kZone, "new"}, {kBetaZone, ""}}),
            "projects/UNSPECIFIED/zones/new/disks/disk-1");
}

// Source: awsElasticBlockStoreCSITranslator, KubernetesVolumeIDToEBSVolumeID.
TEST(CsiMigrationTest, AnAwsVolumeIsWhatItsIdEndsWith) {
  const auto handle = [](objects::Text id) {
    objects::PersistentVolume volume;
    volume.source = "awsElasticBlockStore";
    volume.id = id;
    objects::Volume inline_volume;
    inline_volume.source = volume.source;
    inline_volume.id = id;
    EXPECT_EQ(HandleOf(inline_volume), HandleOf(volume));
    return HandleOf(volume);
  };
  EXPECT_EQ(handle("vol-1"), "vol-1");
  EXPECT_EQ(handle("anything"), "anything");
  for (const char* id : {"aws://zone/vol-1", "aws:///vol-1", "aws://zone/vol-1/",
                         "aws://zone/vol-1?a=b", "aws://zone/vol-1#part"}) {
    EXPECT_EQ(handle(id), "vol-1") << id;
  }
  for (const char* id : {"aws://vol-1", "aws://zone/", "aws://zone/disk-1", "aws://zone/vol-1/more",
                         "aws://zone/more/vol-1"}) {
    EXPECT_EQ(handle(id),
              "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (" +
                  std::string(id) + ")");
  }
}

TEST(CsiMigrationTest, AnAzureDiskMustBeManaged) {
  const auto handle = [](objects::Text kind) {
    objects::PersistentVolume volume;
    volume.source = "azureDisk";
    volume.id = "uri";
    volume.disk_kind = kind;
    return HandleOf(volume);
  };
  for (const char* kind : {"", "Managed", "managed", "MANAGED"}) EXPECT_EQ(handle(kind), "uri");
  EXPECT_EQ(handle("Dedicated"), "kind(Dedicated) is not supported in csi migration");
}

TEST(CsiMigrationTest, APluginIsFoundByItsSourceAndByItsName) {
  for (const auto& [source, name, driver] :
       {std::tuple("awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        std::tuple("gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        std::tuple("azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
        std::tuple("cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org"),
        std::tuple("portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com")}) {
    ASSERT_NE(InTreePluginOfSource(source), nullptr) << source;
    EXPECT_EQ(InTreePluginOfSource(source)->driver, driver);
    EXPECT_EQ(InTreePluginNamed(name), InTreePluginOfSource(source));
  }
  EXPECT_EQ(InTreePluginOfSource("nfs"), nullptr);
  EXPECT_EQ(InTreePluginNamed("cinder"), nullptr);
}

objects::PersistentVolume CinderVolume(objects::KeyValues labels,
                                       std::vector<objects::NodeSelectorTerm> terms) {
  objects::PersistentVolume volume;
  volume.source = "cinder";
  volume.meta.labels = std::move(labels);
  volume.required_node_affinity.nil = terms.empty();
  volume.required_node_affinity.terms = std::move(terms);
  return volume;
}

objects::NodeSelector Migrated(const objects::PersistentVolume& volume) {
  return CsiNodeAffinity(volume, *InTreePluginOfSource(volume.source));
}

constexpr objects::Text kCinderZone = "topology.cinder.csi.openstack.org/zone";

TEST(CsiMigrationTest, EveryTermRequiresTheZonesOfTheLabel) {
  const objects::NodeSelector alone = Migrated(CinderVolume({{kZone, "a__ b__"}}, {}));
  EXPECT_FALSE(alone.nil);
  ASSERT_EQ(alone.terms.size(), 1u);
  ASSERT_EQ(alone.terms[0].match_expressions.size(), 1u);
  EXPECT_EQ(alone.terms[0].match_expressions[0].op, "In");
  const objects::NodeSelector beside = Migrated(CinderVolume(
      {{kZone, "a__ b__"}}, {{{{"disk", "Exists", {}}}, {}}, {{{"rack", "Exists", {}}}, {}}}));
  ASSERT_EQ(beside.terms.size(), 2u);
  for (const objects::NodeSelectorTerm& term : beside.terms) {
    ASSERT_EQ(term.match_expressions.size(), 2u);
    EXPECT_EQ(term.match_expressions[1].key, kCinderZone);
    EXPECT_THAT(term.match_expressions[1].values, ElementsAre("a", "b"));
  }
  EXPECT_TRUE(Migrated(CinderVolume({{kZone, "__ "}}, {})).nil);
  EXPECT_TRUE(Migrated(CinderVolume({}, {})).nil);
}

TEST(CsiMigrationTest, AZoneInTheAffinityIsTranslatedAndTheLabelIsIgnored) {
  const objects::NodeSelector affinity = Migrated(CinderVolume(
      {{kZone, "b"}}, {{{{kZone, "In", {"a"}}}, {}}, {{{kZone, "NotIn", {"c"}}}, {}}}));
  ASSERT_EQ(affinity.terms.size(), 2u);
  for (const objects::NodeSelectorTerm& term : affinity.terms) {
    ASSERT_EQ(term.match_expressions.size(), 1u);
    EXPECT_EQ(term.match_expressions[0].key, kCinderZone);
  }
}

TEST(CsiMigrationTest, ABetaRegionIsRenamedWhereTheZoneIsBeta) {
  const auto keys = [](objects::Text zone) {
    const objects::NodeSelector affinity =
        Migrated(CinderVolume({}, {{{{zone, "In", {"a"}}, {kBetaRegion, "In", {"r"}}}, {}}}));
    const auto& expressions = affinity.terms.at(0).match_expressions;
    return std::pair(std::string(expressions.at(0).key), std::string(expressions.at(1).key));
  };
  EXPECT_EQ(keys(kBetaZone),
            std::pair(std::string(kCinderZone), std::string("topology.kubernetes.io/region")));
  EXPECT_EQ(keys(kZone), std::pair(std::string(kCinderZone), std::string(kBetaRegion)));
}

}  // namespace
}  // namespace ebb::csi_migration_test
