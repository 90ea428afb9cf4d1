#include "snapshot/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

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

TEST_F(StorageTest, AResourceIsAllocatedThroughTheClassThatNamesIt) {
  objects::DeviceClass gpus;
  gpus.meta.name = "gpus";
  gpus.extended_resource_name = "example.com/gpu";
  EXPECT_EQ(Add(gpus), "");
  storage_.Connect(symbols_);
  EXPECT_EQ(symbols_.Text(storage_.DeviceClassOf(symbols_.Intern("example.com/gpu"))), "gpus");
  EXPECT_EQ(storage_.DeviceClassOf(symbols_.Intern("example.com/other")), kNoText);
}

}  // namespace
}  // namespace ebb::storage_test
