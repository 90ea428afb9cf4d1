#include "snapshot/formats/object_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "tests/support/dump_sink.h"

namespace ebb::object_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ObjectJsonTest : public ::testing::Test {
 protected:
  // What the batch holds then: lines of objects, and "left N" for what is left to the caller.
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

TEST_F(ObjectJsonTest, AnItemThatIsAListIsLeftToTheCallerUnlessItIsNone) {
  constexpr std::string_view kList = R"({"apiVersion":"v1","kind":"NodeList","items":[]})";
  ObjectPlace place;
  Read(kList, place);
  place.no_list = true;
  Read(kList, place);
  EXPECT_EQ(HandOver(), "");
  EXPECT_THAT(left_, ElementsAre("list 0"));
  EXPECT_THAT(sink_.ignored(), ElementsAre("NodeList"));
}

TEST_F(ObjectJsonTest, APodOfADebuggingSnapshotIsOnItsNodeWhateverItSays) {
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

// Forms and writers of JSON differ in the order of members.
TEST_F(ObjectJsonTest, StatusesOfInitContainersStandBehindTheOthersInWhicheverOrderTheyCome) {
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

TEST_F(ObjectJsonTest, OfSeveralMembersThatAreNotUnderstoodTheLeastIsNamed) {
  Read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"b":1,"a":1,"c":1}})");
  Read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"c":1,"b":1,"a":1}})");
  EXPECT_EQ(HandOver(), "");
  for (const std::string& line : sink_.lines()) {
    EXPECT_THAT(line, HasSubstr("not_understood=[spec.a]"));
  }
}

TEST_F(ObjectJsonTest, NothingOfAnObjectIsLeftInTheNextOne) {
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

TEST(ObjectReaderTest, OnlyGroupsWithADotThatAreNotKubernetesOwnAreForeign) {
  EXPECT_TRUE(ObjectReader::IsForeign("example.com/v1"));
  EXPECT_FALSE(ObjectReader::IsForeign("storage.k8s.io/v1"));
  EXPECT_FALSE(ObjectReader::IsForeign("apps/v1"));
  EXPECT_FALSE(ObjectReader::IsForeign("v1"));
}

TEST(ObjectReaderTest, AKindInAnotherSpellingIsAProblemAndAnUnknownWordIsNone) {
  EXPECT_THAT(ObjectReader::KindProblem("v1", "pods"), HasSubstr("Pod of v1 is"));
  EXPECT_THAT(ObjectReader::KindProblem("apps/v1", "Pod"), HasSubstr("Pod of v1 is"));
  EXPECT_THAT(ObjectReader::KindProblem("v1", "Po d"), HasSubstr("is not one of Kubernetes"));
  EXPECT_THAT(ObjectReader::KindProblem("v1", "Pod"), IsEmpty());
  EXPECT_THAT(ObjectReader::KindProblem("v1", "Secret"), IsEmpty());
  EXPECT_THAT(ObjectReader::KindProblem("example.com/v1", "Pod"), IsEmpty());
}

}  // namespace
}  // namespace ebb::object_reader_test
