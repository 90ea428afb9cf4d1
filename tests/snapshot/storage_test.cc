#include "snapshot/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/objects/object_ref.h"

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

// The volume's name is also its handle.
objects::PersistentVolume CsiVolume(std::string_view name, std::string_view driver) {
  objects::PersistentVolume volume = Volume(name, "", 1);
  volume.source = "csi";
  volume.driver = driver;
  volume.id = name;
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

TEST_F(StorageTest, ADuplicateIsRejectedByKindNamespaceAndName) {
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

TEST_F(StorageTest, APodsClaimIsConnectedInAnyOrderOfArrival) {
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
  for (const std::string_view device : {"gpu-0", "gpu-1"}) {
    objects::ResourceClaim::Device& held = claim.devices.emplace_back();
    held.driver = "d";
    held.pool = "pool";
    held.name = device;
  }
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

TEST_F(StorageTest, ADeviceClassWithoutAResourceNameHasNone) {
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
  objects::VolumeAttachment unattached = Attachment("unattached", "v");
  unattached.attacher = "";
  objects::VolumeAttachment nothings = Attachment("nothings", "v");
  nothings.volume_name.reset();
  for (const auto& attachment : {held, unattached, nothings}) EXPECT_EQ(Add(attachment), "");
  storage_.Connect(symbols_);
  const TextId node = symbols_.Intern("a");
  EXPECT_EQ(storage_.AttachedTo(node).size(), 1u);
  storage_.Remove(unattached, symbols_);
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

// Tests the volume that counts against a node's limit for a pod's only volume.  That volume may be
// a claim of a class with the given provisioner.
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

TEST_F(CountedVolumeTest, AnEphemeralClaimBelongsToItsFirstController) {
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

TEST_F(StorageTest, EffectOfGivesTheEffectOfEachKindOnACatalog) {
  using enum Storage::Effect;
  const std::pair<objects::StorageObject, Storage::Effect> effects[] = {
      {objects::Machine(), kInPlace},
      {objects::NodeClaim(), kInPlace},
      {objects::NodePool(), kInPlace},
      {objects::CsiNode(), kInPlace},
      {objects::VolumeAttachment(), kInPlace},
      {objects::PersistentVolume(), kAnew},
      {objects::PersistentVolumeClaim(), kAnew},
      {objects::StorageClass(), kAnew},
      {objects::CsiDriver(), kAnew},
      {objects::CsiStorageCapacity(), kAnew},
      {objects::DeviceClass(), kShapes},
      {objects::ResourceClaim(), kInPlace},
      {objects::ResourceClaimTemplate(), kInPlace},
      {objects::ResourceSlice(), kInPlace},
      {objects::DeviceTaintRule(), kShapes},
      {objects::PodGroup(), kShapes},
      {objects::EvictionRequest(), kShapes},
      {objects::PodTemplate(), kShapes},
      {objects::CapacityBuffer(), kShapes},
      {objects::VerticalPodAutoscaler(), kShapes},
      {objects::Service(), kInPlace}};
  for (const auto& [object, effect] : effects) {
    EXPECT_EQ(Storage::EffectOf(object), effect) << objects::KindOf(object);
  }
}

TEST_F(StorageTest, AttachmentsThatDoNotCountHideNoLaterOne) {
  objects::PersistentVolume local = Volume("local", "", 1);
  local.source = "local";
  for (const auto& volume :
       {CsiVolume("v", "csi.example.com"), CsiVolume("w", "csi.example.com"), local})
    EXPECT_EQ(Add(volume), "");
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
  // Replaces the attachment by another one on the same node.
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

TEST_F(CountedVolumeTest, AClaimHasItsBindingAndItsRequest) {
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
  // The first term has a requirement that no node can meet.
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

TEST_F(StorageTest, AVolumeSaysAllThatItsObjectSays) {
  const objects::PersistentVolume plain = Volume("plain", "c", 5);
  objects::PersistentVolume full = Volume("full", "c", 7);
  full.meta.labels = {{"disk", "ssd"}};
  full.meta.deletion_time = 1;
  full.access_modes = {"ReadWriteOnce", "ReadOnlyMany"};
  full.volume_mode = "Block";
  full.volume_attributes_class_name = "gold";
  full.claim = objects::ClaimReference{"shop", "data", "u"};
  full.phase = "Available";
  EXPECT_EQ(Add(plain), "");
  EXPECT_EQ(Add(full), "");
  storage_.Connect(symbols_);
  const auto volumes = storage_.VolumesOfClass(symbols_.Intern("c"));
  ASSERT_EQ(volumes.size(), 2u);
  const VolumeInfo& a = *volumes[0];
  EXPECT_EQ(symbols_.Text(a.name), "plain");
  EXPECT_EQ(a.capacity_bytes, 5);
  EXPECT_FALSE(a.available || a.deleting || a.is_csi || a.claim.has_value());
  EXPECT_FALSE(a.attachable.has_value());
  EXPECT_EQ(symbols_.Text(a.mode), "Filesystem");
  EXPECT_EQ(a.attributes_class, kNoText);
  EXPECT_EQ(a.in_tree_plugin, kNoText);
  EXPECT_TRUE(a.affinity.everywhere);
  const VolumeInfo& b = *volumes[1];
  EXPECT_EQ(b.capacity_bytes, 7);
  EXPECT_TRUE(b.available && b.deleting);
  EXPECT_EQ(symbols_.Text(b.mode), "Block");
  EXPECT_EQ(symbols_.Text(b.attributes_class), "gold");
  EXPECT_THAT(b.access_modes,
              ElementsAre(symbols_.Intern("ReadWriteOnce"), symbols_.Intern("ReadOnlyMany")));
  EXPECT_EQ(b.labels, (LabelSet{{symbols_.Intern("disk"), symbols_.Intern("ssd")}}));
  ASSERT_TRUE(b.claim.has_value());
  EXPECT_EQ(symbols_.Text(b.claim->namespace_name), "shop");
  EXPECT_EQ(symbols_.Text(b.claim->name), "data");
  EXPECT_EQ(symbols_.Text(b.claim->uid), "u");
}

TEST_F(StorageTest, AVolumeSaysUnderWhichDriverItIsAttached) {
  const auto info = [this](std::string_view source, std::string_view driver, std::string_view id,
                           std::string_view disk_kind = "") {
    storage_ = Storage();
    objects::PersistentVolume volume = Volume("v", "c", 1);
    volume.meta.labels = {{"topology.kubernetes.io/zone", "z"}};
    volume.source = source;
    volume.driver = driver;
    volume.id = id;
    volume.disk_kind = disk_kind;
    EXPECT_EQ(Add(volume), "");
    storage_.Connect(symbols_);
    return *storage_.VolumesOfClass(symbols_.Intern("c"))[0];
  };
  const auto attached = [this](const VolumeInfo& volume) {
    if (!volume.attachable) return std::string("-");
    return std::string(symbols_.Text(volume.attachable->id)) + " of " +
           std::string(symbols_.Text(volume.attachable->driver));
  };
  const VolumeInfo csi = info("csi", "d.example.com", "handle");
  EXPECT_TRUE(csi.is_csi);
  EXPECT_EQ(symbols_.Text(csi.csi_handle), "handle");
  EXPECT_EQ(attached(csi), "d.example.com/handle of d.example.com");
  EXPECT_EQ(csi.in_tree_plugin, kNoText);
  EXPECT_EQ(attached(info("csi", "", "handle")), "-");
  EXPECT_EQ(attached(info("csi", "d.example.com", "")), "-");
  EXPECT_TRUE(info("csi", "", "").is_csi);
  EXPECT_EQ(attached(info("nfs", "", "handle")), "-");

  const VolumeInfo cinder = info("cinder", "", "disk-1");
  EXPECT_FALSE(cinder.is_csi);
  EXPECT_EQ(symbols_.Text(cinder.in_tree_plugin), "kubernetes.io/cinder");
  EXPECT_EQ(attached(cinder), "cinder.csi.openstack.org/disk-1 of cinder.csi.openstack.org");
  EXPECT_EQ(cinder.translation_error, "");
  EXPECT_TRUE(cinder.affinity.everywhere);
  EXPECT_FALSE(cinder.csi_affinity.everywhere) << "the zone of its label";
  const auto on = [&](std::string_view zone) {
    const LabelSet labels = {
        {symbols_.Intern("topology.cinder.csi.openstack.org/zone"), symbols_.Intern(zone)}};
    return cinder.csi_affinity.Matches(labels, symbols_);
  };
  EXPECT_TRUE(on("z"));
  EXPECT_FALSE(on("y"));
  EXPECT_EQ(attached(info("cinder", "", "")), "-");

  const VolumeInfo azure = info("azureDisk", "", "uri", "Dedicated");
  EXPECT_EQ(azure.translation_error,
            "could not translate pv: kind(Dedicated) is not supported in csi migration");
  EXPECT_EQ(symbols_.Text(azure.in_tree_plugin), "kubernetes.io/azure-disk");
  EXPECT_EQ(attached(azure), "-");
}

TEST_F(StorageTest, FieldsOfAVolumesAffinityAreReadAndNeverCompared) {
  using Terms = std::vector<objects::NodeSelectorTerm>;
  const auto reach = [this](const Terms& terms) {
    storage_ = Storage();
    objects::PersistentVolume volume = Volume("v", "c", 1);
    volume.required_node_affinity.nil = false;
    volume.required_node_affinity.terms = terms;
    EXPECT_EQ(Add(volume), "");
    storage_.Connect(symbols_);
    const VolumeAffinity& affinity = storage_.VolumesOfClass(symbols_.Intern("c"))[0]->affinity;
    std::string zones;
    for (const std::string_view zone : {"x", "y"}) {
      const LabelSet labels = {{symbols_.Intern("zone"), symbols_.Intern(zone)}};
      if (affinity.Matches(labels, symbols_)) zones += zone;
    }
    return zones + (affinity.everywhere ? " everywhere" : "");
  };
  const std::vector<objects::Requirement> x = {{"zone", "In", {"x"}}};
  const std::vector<objects::Requirement> y = {{"zone", "In", {"y"}}};
  const std::vector<objects::Requirement> name = {{"metadata.name", "In", {"n"}}};
  const std::vector<objects::Requirement> not_name = {{"metadata.name", "NotIn", {"n"}}};
  const std::vector<objects::Requirement> two_names = {{"metadata.name", "In", {"n", "m"}}};
  const std::vector<objects::Requirement> exists = {{"metadata.name", "Exists", {}}};
  EXPECT_EQ(reach({}), "");
  EXPECT_EQ(reach({{x, {}}}), "x");
  EXPECT_EQ(reach({{x, {}}, {y, {}}}), "xy");
  EXPECT_EQ(reach({{x, name}}), "x") << "whatever the node is called";
  EXPECT_EQ(reach({{x, not_name}}), "x");
  EXPECT_EQ(reach({{x, {}}, {{}, name}}), "xy everywhere");
  EXPECT_EQ(reach({{{}, not_name}, {x, {}}}), "xy everywhere");
  // A term that does not parse is ignored, and does not hide later terms.
  EXPECT_EQ(reach({{x, two_names}, {y, {}}}), "y");
  EXPECT_EQ(reach({{{}, exists}, {y, {}}}), "y");
  EXPECT_EQ(reach({{{}, {}}, {y, {}}}), "y") << "an empty term matches no node";
}

TEST_F(CountedVolumeTest, AClaimThatNoVolumeMayServeSelectsNothing) {
  objects::PersistentVolume volume = Volume("v", "c", 5);
  volume.meta.labels = {{"disk", "ssd"}};
  volume.access_modes = {"ReadWriteOnce", "ReadOnlyMany"};
  volume.phase = "Available";
  objects::PersistentVolume reserved = Volume("reserved", "c", 100);
  reserved.access_modes = volume.access_modes;
  reserved.phase = "Available";
  reserved.claim = objects::ClaimReference{"shop", "other", ""};
  objects::PersistentVolumeClaim fits;
  fits.meta.namespace_name = "shop";
  fits.storage_class_name = "c";
  fits.access_modes = {"ReadWriteOnce"};
  fits.request_bytes = 5;
  std::vector<objects::PersistentVolumeClaim> claims;
  std::vector<std::string> want;
  const auto add = [&](const objects::PersistentVolumeClaim& claim, std::string_view answer) {
    claims.push_back(claim);
    want.emplace_back(answer);
  };
  const auto with = [&](auto&& change) {
    objects::PersistentVolumeClaim claim = fits;
    change(claim);
    return claim;
  };
  add(fits, "may");
  add(with([](auto& c) { c.request_bytes = 6; }), "none");
  add(with([](auto& c) { c.request_bytes = 1; }), "may");
  add(with([](auto& c) { c.request_bytes.reset(); }), "may");
  add(with([](auto& c) { c.access_modes = {"ReadOnlyMany", "ReadWriteOnce"}; }), "may");
  add(with([](auto& c) { c.access_modes = {"ReadWriteOnce", "ReadWriteMany"}; }), "none");
  add(with([](auto& c) { c.volume_mode = "Block"; }), "none");
  add(with([](auto& c) { c.volume_attributes_class_name = "gold"; }), "none");
  add(with([](auto& c) { c.storage_class_name = "other"; }), "none");
  add(fits, "may");
  const auto selects = [](std::string_view value) {
    return objects::LabelSelector{
        .nil = false, .match_labels = {{"disk", value}}, .match_expressions = {}};
  };
  add(with([&](auto& c) { c.selector = selects("ssd"); }), "selected");
  add(with([&](auto& c) { c.selector = selects("hdd"); }), "none");
  add(with([&](auto& c) {
        c.selector = selects("ssd");
        c.request_bytes = 6;
      }),
      "none");
  // A bound claim needs no free volume.
  add(with([](auto& c) {
        c.request_bytes = 6;
        c.volume_name = "v";
        c.meta.annotations = {{"pv.kubernetes.io/bind-completed", "yes"}};
      }),
      "may");
  add(with([](auto& c) {
        c.request_bytes = 6;
        c.volume_name = "v";
      }),
      "none");
  std::vector<std::string> names;
  for (size_t i = 0; i < claims.size(); ++i) names.push_back("claim-" + std::to_string(i));
  objects::Pod pod;
  pod.meta.namespace_name = "shop";
  pod.meta.name = "p";
  for (size_t i = 0; i < claims.size(); ++i) {
    claims[i].meta.name = names[i];
    EXPECT_EQ(Add(claims[i]), "");
    objects::Volume& mounted = pod.volumes.emplace_back();
    mounted.source = "persistentVolumeClaim";
    mounted.claim_name = names[i];
  }
  EXPECT_EQ(Add(volume), "");
  EXPECT_EQ(Add(reserved), "");
  const uint32_t kept = storage_.AddVolumesOf(pod, symbols_);
  storage_.Connect(symbols_);
  const PodVolumes& mounted = storage_.volumes(kept);
  ASSERT_EQ(mounted.claims.size(), claims.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    const std::optional<Selector>& selector = mounted.claims[i].claim->selector;
    EXPECT_EQ(!selector ? "may" : selector->nothing ? "none" : "selected", want[i]) << i;
  }
}

TEST_F(StorageTest, APodsVolumesAreKeptInItsOrderAndCountOnce) {
  const auto volume = [](std::string_view source, std::string_view id) {
    objects::Volume made;
    made.name = id;
    made.source = source;
    made.id = id;
    return made;
  };
  objects::Volume rbd = volume("rbd", "image");
  rbd.pool = "pool";
  rbd.monitors = {"m1", "m2"};
  rbd.read_only = true;
  objects::Volume claim = volume("persistentVolumeClaim", "c");
  claim.claim_name = "data";
  objects::Pod first;
  first.meta.namespace_name = "shop";
  first.meta.name = "first";
  first.meta.uid = "u1";
  first.volumes = {volume("configMap", "x"),
                   volume("gcePersistentDisk", "g"),
                   volume("awsElasticBlockStore", "vol-1"),
                   volume("iscsi", "iqn"),
                   rbd,
                   volume("awsElasticBlockStore", "vol-1"),
                   volume("cinder", "disk"),
                   volume("ephemeral", "scratch"),
                   claim};
  objects::Pod second;
  second.meta.namespace_name = "other";
  second.meta.name = "second";
  second.meta.uid = "u2";
  second.volumes = {volume("iscsi", "iqn")};
  EXPECT_EQ(storage_.AddVolumesOf(first, symbols_), 1u);
  EXPECT_EQ(storage_.AddVolumesOf(second, symbols_), 2u);
  storage_.Connect(symbols_);
  const PodVolumes& of_first = storage_.volumes(1);
  EXPECT_EQ(symbols_.Text(of_first.namespace_name), "shop");
  EXPECT_EQ(symbols_.Text(of_first.pod_name), "first");
  EXPECT_EQ(symbols_.Text(of_first.pod_uid), "u1");
  std::vector<std::string_view> disks;
  std::vector<InlineDisk::Kind> kinds;
  for (const InlineDisk& disk : of_first.disks) {
    disks.push_back(symbols_.Text(disk.id));
    kinds.push_back(disk.kind);
  }
  using enum InlineDisk::Kind;
  EXPECT_THAT(disks, ElementsAre("g", "vol-1", "iqn", "image", "vol-1"));
  EXPECT_THAT(kinds, ElementsAre(kGcePersistentDisk, kAwsElasticBlockStore, kIscsi, kRbd,
                                 kAwsElasticBlockStore));
  EXPECT_FALSE(of_first.disks[0].read_only);
  EXPECT_EQ(of_first.disks[0].pool, kNoText);
  EXPECT_TRUE(of_first.disks[3].read_only);
  EXPECT_EQ(symbols_.Text(of_first.disks[3].pool), "pool");
  EXPECT_THAT(of_first.disks[3].monitors,
              ElementsAre(symbols_.Intern("m1"), symbols_.Intern("m2")));
  std::vector<std::string_view> attachables;
  for (const AttachableVolume& each : of_first.attachables) {
    attachables.push_back(symbols_.Text(each.id));
  }
  EXPECT_THAT(attachables,
              ElementsAre("pd.csi.storage.gke.io/projects/UNSPECIFIED/zones/UNSPECIFIED/disks/g",
                          "ebs.csi.aws.com/vol-1", "cinder.csi.openstack.org/disk"));
  EXPECT_EQ(of_first.attach_error, "");
  ASSERT_EQ(of_first.claims.size(), 2u);
  EXPECT_EQ(symbols_.Text(of_first.claims[0].name), "first-scratch");
  EXPECT_TRUE(of_first.claims[0].ephemeral);
  EXPECT_EQ(symbols_.Text(of_first.claims[1].name), "data");
  EXPECT_FALSE(of_first.claims[1].ephemeral);
  EXPECT_EQ(symbols_.Text(storage_.volumes(2).pod_name), "second");
  EXPECT_EQ(storage_.volumes(2).disks.size(), 1u);
}

TEST_F(StorageTest, ClaimsOfOneVolumeCountOnceAndOneThatIsNotOwnedHidesNone) {
  const auto claim = [](std::string_view name, std::string_view volume) {
    objects::PersistentVolumeClaim made;
    made.meta.namespace_name = "shop";
    made.meta.name = name;
    made.volume_name = volume;
    return made;
  };
  objects::StorageClass late;
  late.meta.name = "late";
  late.provisioner = "e";
  objects::PersistentVolumeClaim lost = claim("lost", "gone");
  lost.storage_class_name = "late";
  objects::PersistentVolumeClaim own = claim("p-own", "w");
  own.meta.owners = {{"v1", "Pod", "p", "u", true}};
  for (const objects::StorageObject& object : std::vector<objects::StorageObject>{
           CsiVolume("v", "d"), CsiVolume("w", "d"), CsiVolume("x", "d"), late, claim("one", "v"),
           claim("two", "v"), lost, own, claim("p-foreign", "x"), claim("last", "x")}) {
    EXPECT_EQ(Add(object), "");
  }
  const auto pod_with = [](std::vector<std::string_view> claims,
                           std::vector<std::string_view> ephemeral) {
    objects::Pod pod;
    pod.meta.namespace_name = "shop";
    pod.meta.name = "p";
    pod.meta.uid = "u";
    for (const std::string_view name : ephemeral) {
      objects::Volume& volume = pod.volumes.emplace_back();
      volume.source = "ephemeral";
      volume.name = name;
    }
    for (const std::string_view name : claims) {
      objects::Volume& volume = pod.volumes.emplace_back();
      volume.source = "persistentVolumeClaim";
      volume.claim_name = name;
    }
    return pod;
  };
  const objects::Pod bound = pod_with({"missing", "one", "two", "lost"}, {"own"});
  const objects::Pod foreign = pod_with({"last"}, {"foreign", "own"});
  ASSERT_EQ(storage_.AddVolumesOf(bound, symbols_), 1u);
  ASSERT_EQ(storage_.AddVolumesOf(foreign, symbols_), 2u);
  storage_.Connect(symbols_);
  const auto attachables = [this](uint32_t index) {
    std::vector<std::string_view> ids;
    for (const AttachableVolume& each : storage_.volumes(index).attachables) {
      ids.push_back(symbols_.Text(each.id));
    }
    return ids;
  };
  EXPECT_THAT(attachables(1), ElementsAre("d/w", "d/v", "e/(unbound)shop/lost"));
  EXPECT_EQ(storage_.volumes(1).attach_error, "");
  EXPECT_TRUE(storage_.volumes(1).claims[0].owned);
  EXPECT_EQ(storage_.volumes(1).claims[1].claim, nullptr);
  EXPECT_THAT(attachables(2), ElementsAre("d/w", "d/x"));
  EXPECT_EQ(storage_.volumes(2).attach_error,
            "ephemeral volume: the PersistentVolumeClaim is not owned by the pod");
  EXPECT_FALSE(storage_.volumes(2).claims[0].owned);
  EXPECT_TRUE(storage_.volumes(2).claims[1].owned);
}

TEST_F(StorageTest, MigratedPluginsAreSplitAtCommas) {
  const auto plugins = [this](std::string_view annotation) {
    storage_ = Storage();
    objects::CsiNode node;
    node.meta.name = "a";
    node.meta.annotations = {{"storage.alpha.kubernetes.io/migrated-plugins", annotation}};
    EXPECT_EQ(Add(node), "");
    std::vector<std::string_view> texts;
    for (const TextId id : storage_.FindCsiNode(symbols_.Intern("a"))->migrated_plugins) {
      texts.push_back(symbols_.Text(id));
    }
    return texts;
  };
  EXPECT_THAT(plugins(""), IsEmpty());
  EXPECT_THAT(plugins("x"), ElementsAre("x"));
  EXPECT_THAT(plugins("x,y,z"), ElementsAre("x", "y", "z"));
  EXPECT_THAT(plugins(",x,"), ElementsAre("", "x"));
}

}  // namespace
}  // namespace ebb::storage_test
