#include "snapshot/csi_migration.h"

#include <gtest/gtest.h>

#include <string>

#include "snapshot/storage_objects.h"

namespace ebb::csi_migration_test {
namespace {

std::string GceHandle(objects::Text zones) {
  objects::PersistentVolume volume;
  volume.source = "gcePersistentDisk";
  volume.id = "disk-1";
  if (!zones.empty()) volume.meta.labels = {{"topology.kubernetes.io/zone", zones}};
  const absl::StatusOr<std::string> handle = CsiHandle(volume);
  return handle.ok() ? *handle : std::string(handle.status().message());
}

// translateInTreePVToCSI of k8s.io/csi-translation-lib/plugins/gce_pd.go.
TEST(CsiMigrationTest, AGceDiskIsOfAZoneOrOfARegion) {
  EXPECT_EQ(GceHandle("us-central1-a"), "projects/UNSPECIFIED/zones/us-central1-a/disks/disk-1");
  EXPECT_EQ(GceHandle("us-central1-a__us-central1-b"),
            "projects/UNSPECIFIED/regions/us-central1/disks/disk-1");
  EXPECT_EQ(GceHandle(""), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-1");
  EXPECT_EQ(GceHandle("us-central1-a__us-east1-b"),
            "failed to get region from zones: multiple regions");
}

}  // namespace
}  // namespace ebb::csi_migration_test
