#include "snapshot/formats/object_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/dump_sink.h"

namespace ebb::object_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ObjectJsonTest : public ::testing::Test {
 protected:
  // Appends what the batch holds: lines of objects, and "left N" for entries left to the caller.
  void Read(std::string_view json, ObjectPlace place = {}) {
    place.file = "dump.json";
    texts_.push_back(std::string(json) + std::string(256, '\0'));  // More than kJsonPadding.
    reader_.Read(std::string_view(texts_.back()).substr(0, json.size()), place, batch_);
  }
  std::string HandOver() {
    const absl::Status given =
        batch_.HandOver("dump.json", sink_, stats_, [&](ObjectBatch::Left what, size_t position) {
          left_.push_back((what == ObjectBatch::Left::kList ? "list " : "no kind ") +
                          std::to_string(position));
          return absl::OkStatus();
        });
    return std::string(given.message());
  }

  std::deque<std::string> texts_;
  ObjectReader reader_;
  ObjectBatch batch_;
  testing::DumpSink sink_;
  ImportStats stats_;
  std::vector<std::string> left_;
};

ObjectPlace OnNode(std::string_view node) {
  ObjectPlace place;
  place.on_node = node;
  return place;
}

constexpr std::string_view kNamespace =
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}})";

TEST_F(ObjectJsonTest, ObjectsComeInOrderWithWhatIsIgnoredBetweenThem) {
  Read(kNamespace);
  Read(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}})");
  Read(R"({"metadata":{"name":"n"},"kind":"Node","apiVersion":"v1"})");
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(sink_.lines(), ElementsAre("Namespace name=[shop]", "Node name=[n]"));
  EXPECT_THAT(sink_.ignored(), ElementsAre("ConfigMap"));
  EXPECT_EQ(stats_.objects, 2u);
  EXPECT_EQ(stats_.ignored["ConfigMap"], 1u);
}

TEST_F(ObjectJsonTest, AnObjectWithoutAKindIsWhatItsSurroundingsSay) {
  ObjectPlace in_list;
  in_list.api_version = "v1";
  in_list.kind = "Node";
  Read(R"({"metadata":{"name":"n"}})", in_list);
  Read(R"({"metadata":{"name":"m"}})");
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(sink_.lines(), ElementsAre("Node name=[n]"));
  EXPECT_THAT(left_, ElementsAre("no kind 1"));
}

TEST_F(ObjectJsonTest, AnItemThatIsAListIsLeftToTheCallerUnlessListsAreForbidden) {
  constexpr std::string_view kList = R"({"apiVersion":"v1","kind":"NodeList","items":[]})";
  ObjectPlace place;
  Read(kList, place);
  place.no_list = true;
  Read(kList, place);
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(left_, ElementsAre("list 0"));
  EXPECT_THAT(sink_.ignored(), ElementsAre("NodeList"));
}

TEST_F(ObjectJsonTest, APodOfADebuggingSnapshotIsOnTheNodeThatListsIt) {
  constexpr std::string_view kPod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"b"}})";
  Read(kPod, OnNode("a"));
  Read(kPod, OnNode(""));
  Read(kPod);
  EXPECT_EQ(HandOver(), "");
  ASSERT_EQ(sink_.lines().size(), 3u);
  EXPECT_THAT(sink_.lines()[0], HasSubstr("node=[a]"));
  EXPECT_EQ(sink_.lines()[1].find("node=["), std::string::npos);
  EXPECT_THAT(sink_.lines()[2], HasSubstr("node=[b]"));
}

TEST_F(ObjectJsonTest, AnErrorNamesTheObjectAndTheFieldAndComesAfterWhatWasRead) {
  Read(kNamespace);
  Read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":5}})");
  Read(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":7})");
  EXPECT_THAT(HandOver(), HasSubstr("dump.json: Pod p: spec.nodeName"));
  EXPECT_THAT(sink_.lines(), ElementsAre("Namespace name=[shop]"));
}

// The order of members differs between forms and between writers of JSON.
TEST_F(ObjectJsonTest, StatusesOfInitContainersComeLastInAnyOrderOfTheInput) {
  const std::string_view pods[] = {
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"status":{
          "initContainerStatuses":[{"name":"i","resources":{}}],
          "containerStatuses":[{"name":"c","resources":{}}]}})",
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"status":{
          "containerStatuses":[{"name":"c","resources":{}}],
          "initContainerStatuses":[{"name":"i","resources":{}}]}})"};
  for (const std::string_view pod : pods) Read(pod);
  EXPECT_EQ(HandOver(), "");
  for (const std::string& line : sink_.lines()) {
    EXPECT_THAT(line, HasSubstr("status=[c] has=true status=[i] has=true"));
  }
}

TEST_F(ObjectJsonTest, TheFirstByNameOfSeveralUnknownMembersIsNamed) {
  Read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"b":1,"a":1,"c":1}})");
  Read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"c":1,"b":1,"a":1}})");
  EXPECT_EQ(HandOver(), "");
  for (const std::string& line : sink_.lines()) {
    EXPECT_THAT(line, HasSubstr("not_understood=[spec.a]"));
  }
}

TEST_F(ObjectJsonTest, FieldsOfAnObjectDoNotCarryOverToTheNext) {
  Read(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u","labels":{"a":"b"}},
           "spec":{"unschedulable":true,"taints":[{"key":"k"}]},
           "status":{"allocatable":{"cpu":"1"},"conditions":[{"type":"Ready","status":"True"}]}})");
  EXPECT_EQ(HandOver(), "");
  batch_.Clear();
  Read(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"m"}})");
  EXPECT_EQ(HandOver(), "");
  EXPECT_EQ(sink_.lines().back(), "Node name=[m]");
  EXPECT_EQ(reader_.last_name(), "m");
}

TEST_F(ObjectJsonTest, LastReturnsTheLastObjectAndDropsItIfItIsWrong) {
  ObjectSink::Unevaluated ignored;
  const auto error = [&] { return std::string(batch_.Last(ignored).status().message()); };
  Read(R"({"apiVersion":"v1","kind":"Namespace",
           "metadata":{"name":"shop","resourceVersion":"7"}})");
  const auto object = batch_.Last(ignored);
  ASSERT_TRUE(object.ok() && object->has_value());
  EXPECT_EQ(objects::MetaOf((*object)->object).name, "shop");
  EXPECT_EQ((*object)->aside.resource_version, "7");
  Read(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}})");
  const auto other = batch_.Last(ignored);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->has_value());
  EXPECT_EQ(ignored.kind, "ConfigMap");
  EXPECT_EQ(ignored.name, "") << "nothing is looked for in what decides nothing";
  Read(R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(error(), "it has no kind, and is not an object of Kubernetes");
  Read(R"({"apiVersion":"v1","kind":"NodeList","items":[]})");
  EXPECT_EQ(error(), "it is a list, where one object is expected");
  Read(R"({"apiVersion":"v1","kind":"NodeList","items":[]})");
  EXPECT_TRUE(absl::IsUnimplemented(batch_.Last(ignored).status()));
  Read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":5}})");
  EXPECT_EQ(error(), "dump.json: Pod p: spec.nodeName: 5 is not a string");
  Read(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"m"},"spec":7})");
  EXPECT_EQ(error(), "dump.json: Node m: spec: 7 is not an object");
  Read(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})");
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(sink_.lines(), ElementsAre("Namespace name=[shop]", "Node name=[n]"));
  EXPECT_THAT(sink_.ignored(), ElementsAre("ConfigMap"));
  EXPECT_THAT(left_, IsEmpty());
}

TEST(ObjectReaderTest, OnlyGroupsWithADotThatAreNotKubernetesOwnAreForeign) {
  EXPECT_TRUE(ObjectReader::IsForeign("example.com/v1"));
  EXPECT_FALSE(ObjectReader::IsForeign("storage.k8s.io/v1"));
  EXPECT_FALSE(ObjectReader::IsForeign("apps/v1"));
  EXPECT_FALSE(ObjectReader::IsForeign(R"(exam\u0070le.com/v1)")) << "it was not unescaped";
  EXPECT_FALSE(ObjectReader::IsForeign("v1"));
}

TEST(ObjectReaderTest, AMisspelledKindIsAProblemAndAnUnknownKindIsNot) {
  EXPECT_THAT(ObjectReader::KindProblem("v1", "pods"), HasSubstr("Pod of v1 is"));
  EXPECT_THAT(ObjectReader::KindProblem("apps/v1", "Pod"), HasSubstr("Pod of v1 is"));
  EXPECT_THAT(ObjectReader::KindProblem("v1", "Po d"), HasSubstr("is not one of Kubernetes"));
  EXPECT_THAT(ObjectReader::KindProblem("v1", "Pod"), IsEmpty());
  EXPECT_THAT(ObjectReader::KindProblem("v1", "Secret"), IsEmpty());
  EXPECT_THAT(ObjectReader::KindProblem("example.com/v1", "Pod"), IsEmpty());
}

TEST_F(ObjectJsonTest, AnErrorOfABatchIsNotThatOfTheNext) {
  Read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":5}})");
  EXPECT_EQ(HandOver(), "dump.json: Pod p: spec.nodeName: 5 is not a string");
  batch_.Clear();
  Read(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":7})");
  EXPECT_EQ(HandOver(), "dump.json: Node n: spec: 7 is not an object");
  batch_.Clear();
  Read(kNamespace);
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(sink_.lines(), ElementsAre("Namespace name=[shop]"));
}

TEST_F(ObjectJsonTest, ClearedObjectsAreNotHandedOverAgain) {
  Read(kNamespace);
  Read(R"({"apiVersion":"v1","kind":"Secret"})");
  Read(R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(HandOver(), "");
  batch_.Clear();
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(sink_.lines(), ElementsAre("Namespace name=[shop]"));
  EXPECT_THAT(sink_.ignored(), ElementsAre("Secret"));
  EXPECT_THAT(left_, ElementsAre("no kind 2"));
  EXPECT_EQ(stats_.objects, 1u);
}

// Two objects of each type that a batch stores separately.
TEST_F(ObjectJsonTest, ObjectsOfAllTypesComeInTheirOrder) {
  for (const char* name : {"1", "2"}) {
    for (const char* kind :
         {R"("v1","kind":"Pod")", R"("v1","kind":"Node")",
          R"("policy/v1","kind":"PodDisruptionBudget")", R"("batch/v1","kind":"Job")",
          R"("v1","kind":"Namespace")", R"("storage.k8s.io/v1","kind":"CSIDriver")"}) {
      Read(R"({"apiVersion":)" + std::string(kind) + R"(,"metadata":{"name":")" + name + "\"}}");
    }
  }
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(sink_.lines(),
              ElementsAre("Pod name=[1] namespace=[default]", "Node name=[1]",
                          "PodDisruptionBudget name=[1] namespace=[default]",
                          "Controller kind=4 name=[1] namespace=[default]", "Namespace name=[1]",
                          "CSIDriver name=[1]", "Pod name=[2] namespace=[default]", "Node name=[2]",
                          "PodDisruptionBudget name=[2] namespace=[default]",
                          "Controller kind=4 name=[2] namespace=[default]", "Namespace name=[2]",
                          "CSIDriver name=[2]"));
  EXPECT_EQ(stats_.objects, 12u);
}

TEST(ObjectReaderTest, TheKindThatIsMeantIsThatOfTheSameGroupIfThereIsOne) {
  const auto problem = [](const std::string& version, const std::string& kind,
                          const std::string& meant) {
    EXPECT_EQ(
        ObjectReader::KindProblem(version, kind),
        "\"" + kind + "\" of apiVersion \"" + version + "\" is not one of Kubernetes" + meant);
  };
  problem("apps/v1", "replicaset", "; ReplicaSet of apps is");
  problem("extensions/v1beta1", "replicaset", "; ReplicaSet of extensions is");
  problem("v1", "replicaset", "; ReplicaSet of apps is");
  problem("extensions/v1beta1", "DaemonSets", "; DaemonSet of extensions is");
  problem("v1", "nodes", "; Node of v1 is");
  problem("storage.k8s.io/v1", "csinodes", "; CSINode of storage.k8s.io is");
  problem("resource.k8s.io/v1", "Resourceslice", "; ResourceSlice of resource.k8s.io is");
  problem("v1", "Po d", "");
  problem("v1", "Pod-", "");
  problem("v1", "Caf\xc3\xa9", "");
  for (const char* kind : {"Secret", "Pods2", "PodTemplate", "A1"}) {
    EXPECT_THAT(ObjectReader::KindProblem("v1", kind), IsEmpty()) << kind;
  }
  EXPECT_THAT(ObjectReader::KindProblem("metrics.k8s.io/v1beta1", "nodes"), IsEmpty());
}

// Every kind that ebb reads, in each API group that has it.
TEST(ObjectReaderTest, EachKindIsKnownInItsGroup) {
  for (const auto& [version, kind] : std::vector<std::pair<std::string, std::string>>{
           {"v1", "Pod"},
           {"v1", "Node"},
           {"apps/v1", "ReplicaSet"},
           {"extensions/v1beta1", "ReplicaSet"},
           {"apps/v1", "StatefulSet"},
           {"apps/v1", "DaemonSet"},
           {"extensions/v1beta1", "DaemonSet"},
           {"batch/v1", "Job"},
           {"v1", "ReplicationController"},
           {"policy/v1", "PodDisruptionBudget"},
           {"v1", "Namespace"},
           {"v1", "PersistentVolume"},
           {"v1", "PersistentVolumeClaim"},
           {"storage.k8s.io/v1", "StorageClass"},
           {"storage.k8s.io/v1", "CSIDriver"},
           {"storage.k8s.io/v1", "CSINode"},
           {"storage.k8s.io/v1", "VolumeAttachment"},
           {"storage.k8s.io/v1", "CSIStorageCapacity"},
           {"resource.k8s.io/v1", "DeviceClass"},
           {"resource.k8s.io/v1", "ResourceClaim"},
           {"resource.k8s.io/v1", "ResourceClaimTemplate"},
           {"resource.k8s.io/v1", "ResourceSlice"},
           {"resource.k8s.io/v1", "DeviceTaintRule"}}) {
    EXPECT_THAT(ObjectReader::KindProblem(version, kind), IsEmpty()) << kind;
    EXPECT_THAT(ObjectReader::KindProblem("core/v1", kind), HasSubstr("; " + kind + " of "));
    EXPECT_THAT(ObjectReader::KindProblem(version, kind + "s"), HasSubstr("; " + kind + " of "));
  }
}

TEST(TextArenaTest, TextsStayValidWhileOthersAreAdded) {
  TextArena arena;
  EXPECT_EQ(arena.Copy(""), "");
  std::vector<std::string> texts;
  std::vector<std::string_view> copies;
  for (size_t i = 0; i < 3000; ++i) {
    // Some texts fill the rest of a block exactly, and some are larger than a block.
    texts.push_back(std::string(1 + i % 97, static_cast<char>('a' + i % 26)));
    if (i % 1000 == 500) texts.back() = std::string(20'000, static_cast<char>('A' + i / 1000));
  }
  for (const std::string& text : texts) copies.push_back(arena.Copy(text));
  for (size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(copies[i], texts[i]) << i;
  arena.Clear();
  EXPECT_EQ(arena.Copy("again"), "again");
}

TEST(TextArenaTest, UnusedRoomIsReused) {
  TextArena arena;
  uint8_t* const first = arena.Room(10);
  arena.Keep(first + 4);
  EXPECT_EQ(arena.Room(10), first + 4);
  EXPECT_EQ(arena.Room((16 << 10) - 4), first + 4) << "as much as is left of the block";
}

}  // namespace
}  // namespace ebb::object_reader_test
