#include "snapshot/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/object_ref.h"

namespace ebb::storage_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

objects::PersistentVolume Volume(std::string_view name, std::string_view storage_class,
                                 int64_t bytes) {
  objects::PersistentVolume volume;
  volume.meta.name = name;
  volume.storage_class_name = storage_class;
  volume.capacity_bytes = bytes;
  return volume;
}

objects::VolumeAttachment Attachment(std::string_view name, std::string_view volume) {
  objects::VolumeAttachment attachment;
  attachment.meta.name = name;
  attachment.attacher = "csi.example.com";
  attachment.node_name = "a";
  attachment.volume_name = volume;
  return attachment;
}

class StorageTest : public ::testing::Test {
 protected:
  std::string Add(const objects::StorageObject& object) {
    return std::string(storage_.Add(object, symbols_).message());
  }

  std::vector<std::string_view> VolumesOf(std::string_view storage_class) {
    storage_.Connect(symbols_);
    std::vector<std::string_view> names;
    for (const VolumeInfo* volume : storage_.VolumesOfClass(symbols_.Intern(storage_class))) {
      names.push_back(symbols_.Text(volume->name));
    }
    return names;
  }

  Symbols symbols_;
  Storage storage_;
};

TEST_F(StorageTest, AnObjectWithoutANameIsRefusedWithItsKind) {
  EXPECT_EQ(Add(Volume("", "", 1)), "PersistentVolume: metadata.name is empty");
  EXPECT_EQ(Add(objects::ResourceSlice()), "ResourceSlice: metadata.name is empty");
}

TEST_F(StorageTest, WhatOccursTwiceIsRefusedByKindNamespaceAndName) {
  objects::PersistentVolumeClaim claim;
  claim.meta.namespace_name = "shop";
  claim.meta.name = "data";
  EXPECT_EQ(Add(claim), "");
  EXPECT_EQ(Add(claim), "PersistentVolumeClaim shop/data: occurs twice");
  claim.meta.namespace_name = "other";
  EXPECT_EQ(Add(claim), "");
  EXPECT_EQ(Add(Volume("data", "", 1)), "");
  EXPECT_EQ(Add(Volume("data", "", 1)), "PersistentVolume data: occurs twice");
}

TEST_F(StorageTest, FreeVolumesComeBySizeAndThenReservedOnesClaimByClaim) {
  const auto reserved = [](std::string_view name, std::string_view claim) {
    objects::PersistentVolume volume = Volume(name, "fast", 1);
    volume.claim.emplace();
    volume.claim->namespace_name = "shop";
    volume.claim->name = claim;
    return volume;
  };
  for (const auto& volume :
       {reserved("x1", "x"), Volume("large", "fast", 8), reserved("y1", "y"), reserved("x2", "x"),
        Volume("small", "fast", 2), Volume("equal", "fast", 2), Volume("slow", "slow", 1)}) {
    EXPECT_EQ(Add(volume), "");
  }
  EXPECT_THAT(VolumesOf("fast"), ElementsAre("small", "equal", "large", "x1", "x2", "y1"));
  EXPECT_THAT(VolumesOf("none"), IsEmpty());
}

TEST_F(StorageTest, TheClassOfTheOldAnnotationWins) {
  objects::PersistentVolume volume = Volume("v", "new", 1);
  volume.meta.annotations = {{"volume.beta.kubernetes.io/storage-class", "old"}};
  EXPECT_EQ(Add(volume), "");
  EXPECT_THAT(VolumesOf("old"), ElementsAre("v"));
}

TEST_F(StorageTest, ACsiNodeKeepsTheLimitsThatItsDriversName) {
  objects::CsiNode node;
  node.meta.name = "a";
  node.meta.annotations = {{"storage.alpha.kubernetes.io/migrated-plugins", "x,y"}};
  node.drivers = {{"limited", 3}, {"unlimited", std::nullopt}};
  EXPECT_EQ(Add(node), "");
  const CsiNodeInfo* info = storage_.FindCsiNode(symbols_.Intern("a"));
  ASSERT_NE(info, nullptr);
  ASSERT_EQ(info->limits.size(), 1u);
  EXPECT_EQ(symbols_.Text(info->limits[0].driver), "limited");
  EXPECT_EQ(info->limits[0].volumes_max, 3);
  ASSERT_EQ(info->migrated_plugins.size(), 2u);
  EXPECT_EQ(symbols_.Text(info->migrated_plugins[1]), "y");
  EXPECT_EQ(storage_.FindCsiNode(symbols_.Intern("b")), nullptr);
}

TEST_F(StorageTest, AVolumeThatIsAttachedTwiceToANodeCountsOnce) {
  objects::PersistentVolume volume = Volume("v", "", 1);
  volume.source = "csi";
  volume.driver = "csi.example.com";
  volume.id = "handle";
  EXPECT_EQ(Add(volume), "");
  EXPECT_EQ(Add(Attachment("first", "v")), "");
  EXPECT_EQ(Add(Attachment("second", "v")), "");
  storage_.Connect(symbols_);
  const auto attached = storage_.AttachedTo(symbols_.Intern("a"));
  ASSERT_EQ(attached.size(), 1u);
  EXPECT_EQ(symbols_.Text(attached[0].id), "csi.example.com/handle");
  EXPECT_THAT(storage_.AttachedTo(symbols_.Intern("b")), IsEmpty());
}

TEST_F(StorageTest, APodWithoutVolumesHasNothingToKeep) {
  objects::Pod pod;
  pod.meta.name = "p";
  EXPECT_EQ(storage_.AddVolumesOf(pod, symbols_), 0u);
}

TEST_F(StorageTest, APodsClaimIsConnectedWhicheverComesFirst) {
  objects::Pod pod;
  pod.meta.namespace_name = "shop";
  pod.meta.name = "p";
  pod.volumes.resize(2);
  for (objects::Volume& volume : pod.volumes) volume.source = "persistentVolumeClaim";
  pod.volumes[0].claim_name = "data";
  pod.volumes[1].claim_name = "missing";
  const uint32_t kept = storage_.AddVolumesOf(pod, symbols_);
  ASSERT_GT(kept, 0u);
  objects::PersistentVolumeClaim claim;
  claim.meta.namespace_name = "shop";
  claim.meta.name = "data";
  EXPECT_EQ(Add(claim), "");
  storage_.Connect(symbols_);
  const PodVolumes& volumes = storage_.volumes(kept);
  ASSERT_EQ(volumes.claims.size(), 2u);
  ASSERT_NE(volumes.claims[0].claim, nullptr);
  EXPECT_EQ(symbols_.Text(volumes.claims[0].claim->name), "data");
  EXPECT_EQ(volumes.claims[1].claim, nullptr);
}

TEST_F(StorageTest, AResourceClaimIsDescribedByWhatIsKnownOfIt) {
  objects::ResourceClaimTemplate gpus;
  gpus.meta.namespace_name = "shop";
  gpus.meta.name = "gpus";
  ASSERT_EQ(Add(gpus), "");
  const auto of_template = [&](std::string_view name) {
    const PodResourceClaimInfo claim{.name = symbols_.Intern("gpu"),
                                     .claim_name = kNoText,
                                     .template_name = symbols_.Intern(name)};
    return storage_.Describe(symbols_.Intern("shop"), claim, symbols_);
  };
  EXPECT_EQ(of_template("gpus"),
            "no ResourceClaim was made yet from ResourceClaimTemplate shop/gpus");
  EXPECT_EQ(of_template("nics"),
            "no ResourceClaim was made yet from ResourceClaimTemplate shop/nics, which is not in "
            "the input");
}

TEST_F(StorageTest, AResourceClaimIsDescribedWithItsDevices) {
  objects::ResourceClaim claim;
  claim.meta.namespace_name = "shop";
  claim.meta.name = "waits";
  ASSERT_EQ(Add(claim), "");
  claim.meta.name = "held";
  claim.meta.deletion_time = 1;
  claim.allocated = true;
  claim.devices = {{"d", "pool", "gpu-0"}, {"d", "pool", "gpu-1"}};
  ASSERT_EQ(Add(claim), "");
  const auto describe = [&](std::string_view namespace_name, std::string_view name) {
    const PodResourceClaimInfo info{.name = symbols_.Intern("gpu"),
                                    .claim_name = symbols_.Intern(name),
                                    .template_name = kNoText};
    return storage_.Describe(symbols_.Intern(namespace_name), info, symbols_);
  };
  EXPECT_EQ(describe("shop", "waits"), "ResourceClaim shop/waits is not allocated");
  EXPECT_EQ(
      describe("shop", "held"),
      "ResourceClaim shop/held is allocated (d/pool/gpu-0, d/pool/gpu-1) and is being deleted");
  EXPECT_EQ(describe("other", "held"), "ResourceClaim other/held is not in the input");
  EXPECT_EQ(describe("shop", ""), "no ResourceClaim is named");
}

TEST_F(StorageTest, AResourceIsAllocatedThroughTheClassThatNamesIt) {
  objects::DeviceClass gpus;
  gpus.meta.name = "gpus";
  gpus.extended_resource_name = "example.com/gpu";
  EXPECT_EQ(Add(gpus), "");
  storage_.Connect(symbols_);
  EXPECT_EQ(symbols_.Text(storage_.DeviceClassOf(symbols_.Intern("example.com/gpu"))), "gpus");
  EXPECT_EQ(storage_.DeviceClassOf(symbols_.Intern("example.com/other")), kNoText);
  const TextId implied = symbols_.Intern("deviceclass.resource.kubernetes.io/gpus");
  EXPECT_EQ(symbols_.Text(storage_.DeviceClassOf(implied)), "gpus");
}

TEST_F(StorageTest, ADeviceClassThatNamesNoResourceStandsForNone) {
  objects::DeviceClass nics;
  nics.meta.name = "nics";
  EXPECT_EQ(Add(nics), "");
  EXPECT_EQ(storage_.DeviceClassOf(kNoText), kNoText);
}

TEST_F(StorageTest, AttachmentsThatNameNoAttacherOrVolumeNeitherCountNorGo) {
  objects::PersistentVolume volume = Volume("v", "", 1);
  volume.source = "csi";
  volume.driver = "csi.example.com";
  volume.id = "handle";
  EXPECT_EQ(Add(volume), "");
  const objects::VolumeAttachment held = Attachment("held", "v");
  objects::VolumeAttachment nobodys = Attachment("nobodys", "v");
  nobodys.attacher = "";
  objects::VolumeAttachment nothings = Attachment("nothings", "v");
  nothings.volume_name.reset();
  for (const auto& attachment : {held, nobodys, nothings}) EXPECT_EQ(Add(attachment), "");
  storage_.Connect(symbols_);
  const TextId node = symbols_.Intern("a");
  EXPECT_EQ(storage_.AttachedTo(node).size(), 1u);
  storage_.Remove(nobodys, symbols_);
  storage_.Remove(nothings, symbols_);
  EXPECT_EQ(storage_.AttachedTo(node).size(), 1u);
  storage_.Remove(held, symbols_);
  EXPECT_THAT(storage_.AttachedTo(node), IsEmpty());
  storage_.Replace(nullptr, held, symbols_);
  EXPECT_EQ(storage_.AttachedTo(node).size(), 1u);
}

TEST_F(StorageTest, AVolumesZonesAreListedWithoutBlanks) {
  objects::PersistentVolume volume = Volume("v", "fast", 1);
  volume.meta.labels = {{"topology.kubernetes.io/zone", " a __\tb"},
                        {"failure-domain.beta.kubernetes.io/region", "r"},
                        {"topology.kubernetes.io/region", "r__ "}};
  EXPECT_EQ(Add(volume), "");
  storage_.Connect(symbols_);
  const std::vector<VolumeZoneLabel>& zones =
      storage_.VolumesOfClass(symbols_.Intern("fast"))[0]->zones;
  ASSERT_EQ(zones.size(), 2u) << "a list with an empty zone says nothing";
  EXPECT_EQ(symbols_.Text(zones[0].key), "failure-domain.beta.kubernetes.io/region");
  EXPECT_EQ(symbols_.Text(zones[0].ga_key), "topology.kubernetes.io/region");
  EXPECT_THAT(zones[0].values, ElementsAre(symbols_.Intern("r")));
  EXPECT_EQ(symbols_.Text(zones[1].key), "topology.kubernetes.io/zone");
  EXPECT_THAT(zones[1].values, ElementsAre(symbols_.Intern("a"), symbols_.Intern("b")));
}

// What counts against a node's limit for the only volume of a pod, which may be a claim of a class
// with that provisioner.
class CountedVolumeTest : public StorageTest {
 protected:
  const PodVolumes& Mount(const objects::Volume& volume) {
    objects::Pod pod;
    pod.meta.namespace_name = "shop";
    pod.meta.name = "p";
    pod.meta.uid = "uid-p";
    pod.volumes = {volume};
    const uint32_t kept = storage_.AddVolumesOf(pod, symbols_);
    storage_.Connect(symbols_);
    return storage_.volumes(kept);
  }

  std::string OfUnboundClaim(std::string_view provisioner) {
    storage_ = Storage();
    objects::StorageClass late;
    late.meta.name = "late";
    late.provisioner = provisioner;
    late.volume_binding_mode = "WaitForFirstConsumer";
    EXPECT_EQ(Add(late), "");
    objects::PersistentVolumeClaim claim;
    claim.meta.namespace_name = "shop";
    claim.meta.name = "data";
    claim.storage_class_name = "late";
    EXPECT_EQ(Add(claim), "");
    objects::Volume volume;
    volume.source = "persistentVolumeClaim";
    volume.claim_name = "data";
    const PodVolumes& volumes = Mount(volume);
    return volumes.attachables.empty() ? "" : std::string(symbols_.Text(volumes.attachables[0].id));
  }
};

TEST_F(CountedVolumeTest, AnUnboundClaimCountsUnderTheDriverOfItsClass) {
  EXPECT_EQ(OfUnboundClaim("csi.example.com"), "csi.example.com/(unbound)shop/data");
  EXPECT_EQ(OfUnboundClaim("kubernetes.io/cinder"), "cinder.csi.openstack.org/(unbound)shop/data");
  EXPECT_EQ(OfUnboundClaim("kubernetes.io/azure-file"), "");
  EXPECT_EQ(OfUnboundClaim("kubernetes.io/vsphere-volume"), "");
  EXPECT_EQ(OfUnboundClaim(""), "");
}

TEST_F(CountedVolumeTest, ADiskWithoutACsiEquivalentIsNamed) {
  objects::Volume volume;
  volume.name = "disk";
  volume.source = "awsElasticBlockStore";
  volume.id = "aws://zone/disk-1";
  const PodVolumes& volumes = Mount(volume);
  EXPECT_THAT(volumes.attachables, IsEmpty());
  EXPECT_EQ(volumes.attach_error,
            "converting volume(disk) from inline to csi: failed to translate Kubernetes ID to EBS "
            "Volume ID Invalid format for AWS volume (aws://zone/disk-1)");
}

TEST_F(CountedVolumeTest, AnEphemeralClaimBelongsToWhoeverControlsItFirst) {
  objects::PersistentVolumeClaim claim;
  claim.meta.namespace_name = "shop";
  claim.meta.name = "p-scratch";
  claim.meta.owners = {{"v1", "Pod", "guest", "uid-guest", false},
                       {"v1", "Pod", "q", "uid-q", true},
                       {"v1", "Pod", "p", "uid-p", true}};
  EXPECT_EQ(Add(claim), "");
  objects::Volume volume;
  volume.name = "scratch";
  volume.source = "ephemeral";
  const PodVolumes& volumes = Mount(volume);
  ASSERT_EQ(volumes.claims.size(), 1u);
  ASSERT_NE(volumes.claims[0].claim, nullptr);
  EXPECT_EQ(volumes.claims[0].claim->controller_uid, symbols_.Intern("uid-q"));
  EXPECT_FALSE(volumes.claims[0].owned);
  EXPECT_EQ(volumes.attach_error,
            "ephemeral volume: the PersistentVolumeClaim is not owned by the pod");
}

TEST_F(StorageTest, WhatAChangeOfAKindMeansForACatalogIsTold) {
  using enum Storage::Effect;
  const std::pair<objects::StorageObject, Storage::Effect> effects[] = {
      {objects::ResourceSlice(), kNone},
      {objects::CsiNode(), kInPlace},
      {objects::VolumeAttachment(), kInPlace},
      {objects::PersistentVolume(), kAnew},
      {objects::PersistentVolumeClaim(), kAnew},
      {objects::StorageClass(), kAnew},
      {objects::CsiDriver(), kAnew},
      {objects::CsiStorageCapacity(), kAnew},
      {objects::DeviceClass(), kShapes},
      {objects::ResourceClaim(), kShapes},
      {objects::ResourceClaimTemplate(), kShapes}};
  for (const auto& [object, effect] : effects) {
    EXPECT_EQ(Storage::EffectOf(object), effect) << objects::KindOf(object);
  }
}

TEST_F(StorageTest, AttachmentsThatDoNotCountHideNoneBehindThem) {
  const auto csi = [](std::string_view name) {
    objects::PersistentVolume volume = Volume(name, "", 1);
    volume.source = "csi";
    volume.driver = "csi.example.com";
    volume.id = name;
    return volume;
  };
  objects::PersistentVolume local = Volume("local", "", 1);
  local.source = "local";
  for (const auto& volume : {csi("v"), csi("w"), local}) EXPECT_EQ(Add(volume), "");
  const objects::VolumeAttachment of_v = Attachment("3", "v");
  for (const auto& attachment :
       {Attachment("1", "gone"), Attachment("2", "local"), of_v, Attachment("4", "w")}) {
    EXPECT_EQ(Add(attachment), "");
  }
  storage_.Connect(symbols_);
  const auto attached = [this] {
    std::vector<std::string_view> ids;
    for (const AttachableVolume& volume : storage_.AttachedTo(symbols_.Intern("a"))) {
      ids.push_back(symbols_.Text(volume.id));
    }
    return ids;
  };
  EXPECT_THAT(attached(), ElementsAre("csi.example.com/v", "csi.example.com/w"));
  storage_.Remove(of_v, symbols_);
  EXPECT_THAT(attached(), ElementsAre("csi.example.com/w"));
  storage_.Replace(nullptr, of_v, symbols_);
  EXPECT_THAT(attached(), ElementsAre("csi.example.com/w", "csi.example.com/v"));
  // In place of another of the node.
  objects::VolumeAttachment moved = of_v;
  moved.volume_name = "gone";
  const objects::StorageObject old = of_v;
  storage_.Replace(&old, moved, symbols_);
  EXPECT_THAT(attached(), ElementsAre("csi.example.com/w"));
}

TEST_F(StorageTest, CapacitiesThatSayNothingAreLeftOut) {
  const auto capacity = [](std::string_view name, std::optional<int64_t> largest,
                           std::optional<int64_t> all) {
    objects::CsiStorageCapacity made;
    made.meta.namespace_name = "shop";
    made.meta.name = name;
    made.storage_class_name = name;
    made.node_topology.nil = false;
    made.maximum_volume_size_bytes = largest;
    made.capacity_bytes = all;
    return made;
  };
  objects::CsiStorageCapacity nowhere = capacity("nowhere", 1, 1);
  nowhere.node_topology.nil = true;
  objects::CsiStorageCapacity odd = capacity("odd", 1, 1);
  odd.node_topology.match_expressions = {{"k", "Near", {"x"}}};
  for (const auto& each : {capacity("both", 3, 9), capacity("none", std::nullopt, std::nullopt),
                           nowhere, odd, capacity("all", std::nullopt, 7)}) {
    EXPECT_EQ(Add(each), "");
  }
  ASSERT_EQ(storage_.capacities().size(), 2U);
  EXPECT_EQ(symbols_.Text(storage_.capacities()[0].storage_class), "both");
  EXPECT_EQ(storage_.capacities()[0].volume_size_max, 3);
  EXPECT_EQ(symbols_.Text(storage_.capacities()[1].storage_class), "all");
  EXPECT_EQ(storage_.capacities()[1].volume_size_max, 7);
}

TEST_F(CountedVolumeTest, AClaimSaysHowItIsBoundAndWhatItAsksFor) {
  objects::PersistentVolumeClaim claim;
  claim.meta.namespace_name = "shop";
  claim.meta.name = "data";
  claim.meta.uid = "u";
  claim.request_bytes = 5;
  EXPECT_EQ(Add(claim), "");
  claim.meta.name = "used";
  claim.meta.deletion_time = 1;
  claim.meta.annotations = {{"pv.kubernetes.io/bind-completed", "yes"},
                            {"volume.kubernetes.io/selected-node", "a"}};
  claim.access_modes = {"ReadWriteOnce", "ReadWriteOncePod"};
  claim.volume_mode = "Block";
  claim.volume_attributes_class_name = "gold";
  claim.volume_name = "pv";
  claim.phase = "Lost";
  claim.selector.nil = false;
  claim.selector.match_expressions = {{"k", "Near", {"x"}}};
  EXPECT_EQ(Add(claim), "");
  objects::Volume volume;
  volume.source = "persistentVolumeClaim";
  volume.claim_name = "data";
  const ClaimInfo& plain = *Mount(volume).claims.at(0).claim;
  EXPECT_FALSE(plain.lost || plain.deleting || plain.bind_completed || plain.read_write_once_pod);
  EXPECT_FALSE(plain.selected_node.has_value());
  EXPECT_EQ(symbols_.Text(plain.mode), "Filesystem");
  EXPECT_EQ(plain.volume_name, kNoText);
  EXPECT_EQ(plain.request_bytes, 5);
  EXPECT_EQ(plain.selector_error, "");
  volume.claim_name = "used";
  storage_ = storage_.WithoutObjects();
  EXPECT_EQ(Add(claim), "");
  const ClaimInfo& used = *Mount(volume).claims.at(0).claim;
  EXPECT_TRUE(used.lost && used.deleting && used.bind_completed && used.read_write_once_pod);
  EXPECT_EQ(used.selected_node, symbols_.Intern("a"));
  EXPECT_EQ(symbols_.Text(used.mode), "Block");
  EXPECT_EQ(symbols_.Text(used.attributes_class), "gold");
  EXPECT_EQ(symbols_.Text(used.volume_name), "pv");
  EXPECT_EQ(
      used.selector_error.rfind("error creating internal label selector for claim: shop/used: ", 0),
      0U);
}

TEST_F(CountedVolumeTest, AClassSaysWhenAndWhereItProvisions) {
  const auto info = [this](objects::StorageClass from, bool reports) {
    storage_ = Storage();
    from.meta.name = "c";
    EXPECT_EQ(Add(from), "");
    objects::CsiDriver driver;
    driver.meta.name = from.provisioner.empty() ? "x" : from.provisioner;
    driver.storage_capacity = reports;
    EXPECT_EQ(Add(driver), "");
    objects::PersistentVolumeClaim claim;
    claim.meta.namespace_name = "shop";
    claim.meta.name = "data";
    claim.storage_class_name = "c";
    EXPECT_EQ(Add(claim), "");
    objects::Volume volume;
    volume.source = "persistentVolumeClaim";
    volume.claim_name = "data";
    return *Mount(volume).claims.at(0).claim->class_info;
  };
  objects::StorageClass none;
  const StorageClassInfo of_none = info(none, true);
  EXPECT_FALSE(of_none.has_binding_mode || of_none.delayed || of_none.provisions ||
               of_none.tracks_capacity);
  EXPECT_TRUE(of_none.allows_every_node);
  objects::StorageClass now;
  now.provisioner = "kubernetes.io/no-provisioner";
  now.volume_binding_mode = "Immediate";
  const StorageClassInfo of_now = info(now, false);
  EXPECT_TRUE(of_now.has_binding_mode);
  EXPECT_FALSE(of_now.delayed || of_now.provisions || of_now.tracks_capacity);
  objects::StorageClass late;
  late.provisioner = "csi.example.com";
  late.volume_binding_mode = "WaitForFirstConsumer";
  // The first term has a requirement that nothing meets.
  late.allowed_topologies = {{{"zone", {"a"}}, {"rack", {}}},
                             {{"zone", {"b"}}, {"region", {"r", "s"}}}};
  const StorageClassInfo of_late = info(late, true);
  EXPECT_TRUE(of_late.delayed && of_late.provisions && of_late.tracks_capacity);
  EXPECT_FALSE(of_late.allows_every_node);
  ASSERT_EQ(of_late.allowed_topologies.size(), 1U);
  ASSERT_EQ(of_late.allowed_topologies[0].size(), 2U);
  EXPECT_EQ(symbols_.Text(of_late.allowed_topologies[0][1].key), "region");
  EXPECT_EQ(of_late.allowed_topologies[0][1].values.size(), 2U);
}

}  // namespace
}  // namespace ebb::storage_test
