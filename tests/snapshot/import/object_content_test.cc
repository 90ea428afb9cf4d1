#include "snapshot/import/object_content.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "snapshot/formats/read_input.h"
#include "snapshot/objects/any_object_sink.h"
#include "tests/support/every_field.h"

namespace ebb::object_content_test {
namespace {

// Records the content of each object.
class Contents : public AnyObjectSink {
 public:
  std::vector<uint64_t> all;

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    all.push_back(std::visit([](const auto* o) { return ContentOf(*o); }, object));
    return absl::OkStatus();
  }
};

uint64_t ContentOfText(const std::string& text) {
  Contents contents;
  ImportStats stats;
  EXPECT_TRUE(ReadBytes("text", text, contents, stats).ok()) << text;
  EXPECT_EQ(contents.all.size(), 1u) << text;
  return contents.all.empty() ? 0 : contents.all[0];
}

TEST(ObjectContentTest, YamlAndJsonOfOneObjectHaveOneContent) {
  EXPECT_EQ(ContentOfText(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a\u002db"},
                              "spec":{"priority":7,"nodeSelector":{"x":"1"}}})"),
            ContentOfText("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a-b\n"
                          "spec:\n  priority: 7\n  nodeSelector: {x: '1'}\n"));
}

template <typename Kind>
uint64_t Content(const Kind& object) {
  if constexpr (std::is_constructible_v<objects::StorageObject, Kind>) {
    return ContentOf(objects::StorageObject(object));
  } else {
    return ContentOf(object);
  }
}

TEST(ObjectContentTest, EveryFieldCounts) {
  testing::ForEachKindFilled([]<typename Kind>(Kind full) {
    if constexpr (std::is_same_v<Kind, objects::Pod>) full.node_name = {};
    if constexpr (std::is_same_v<Kind, objects::PodTemplate>) full.pod.node_name = {};
    testing::ForEachFieldEmptied(full, [&](const std::string& name, const Kind& without) {
      constexpr bool has_pod =
          std::is_same_v<Kind, objects::Pod> || std::is_same_v<Kind, objects::PodTemplate>;
      if (name == "node_name" && has_pod) return;
      EXPECT_NE(Content(without), Content(full)) << name;
    });
  });
}

TEST(ObjectContentTest, HowTheSchedulerSeesAPodCountsOnlyWhileThePodHasNoNode) {
  const auto full = testing::Filled<objects::Pod>();
  testing::ForEachFieldEmptied(full, [&](const std::string& name, const objects::Pod& without) {
    EXPECT_EQ(Content(without) != Content(full), name != "scheduling") << name;
  });
}

TEST(ObjectContentTest, TheOrderOfAMapDoesNotCount) {
  objects::Node one;
  one.meta.labels = {{"a", "1"}, {"b", "2"}};
  one.capacity = {{"cpu", 1, 0}, {"memory", 2, 0}};
  objects::Node other;
  other.meta.labels = {{"b", "2"}, {"a", "1"}};
  other.capacity = {{"memory", 2, 0}, {"cpu", 1, 0}};
  EXPECT_EQ(Content(one), Content(other));
  one.taints = {{"a", "", ""}, {"b", "", ""}};
  other.taints = {{"b", "", ""}, {"a", "", ""}};
  EXPECT_NE(Content(one), Content(other));
}

TEST(ObjectContentTest, EveryFieldThatADecisionReadsCounts) {
  const std::vector<std::string> kPods = {
      R"("spec":{})",
      R"("spec":{"nodeName":"n"})",
      R"("spec":{"priority":0})",
      R"("spec":{"priority":1})",
      R"("spec":{"hostNetwork":true})",
      R"("spec":{"nodeSelector":{}})",
      R"("spec":{"nodeSelector":{"a":"b"}})",
      R"("spec":{"nodeSelector":{"ab":""}})",
      R"("spec":{"restartPolicy":"Never"})",
      R"("spec":{"terminationGracePeriodSeconds":5})",
      R"("spec":{"containers":[{"name":"c"}]})",
      R"("spec":{"initContainers":[{"name":"c"}]})",
      R"("spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})",
      R"("spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1m"}}}]})",
      R"("spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1n"}}}]})",
      R"("spec":{"containers":[{"name":"c","ports":[{"hostPort":80}]}]})",
      R"("spec":{"tolerations":[{"key":"a"}]})",
      R"("spec":{"tolerations":[{"value":"a"}]})",
      R"("spec":{"volumes":[{"name":"v","emptyDir":{}}]})",
      R"("spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]})",
      R"("spec":{"overhead":{"cpu":"1"}})",
      R"("spec":{"resources":{"requests":{"cpu":"1"}}})",
      R"("spec":{"topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"z"}]})",
      R"("spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z"}]}}})",
      R"("spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z"}]}}})",
      R"("status":{"phase":"Running"})",
      R"("status":{"nominatedNodeName":"n"})",
      R"("spec":{"cosmicConstraint":1})",
  };
  std::set<uint64_t> contents;
  for (const std::string& part : kPods) {
    contents.insert(
        ContentOfText(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},)" + part + "}"));
  }
  for (const char* meta : {R"(,"namespace":"x")", R"(,"uid":"u")", R"(,"labels":{"a":"b"})",
                           R"(,"annotations":{"a":"b"})", R"(,"ownerReferences":[{"name":"o"}])",
                           R"(,"creationTimestamp":"2026-01-01T00:00:00Z")",
                           R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"}) {
    contents.insert(ContentOfText(
        std::string(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p")") + meta + "}}"));
  }
  EXPECT_EQ(contents.size(), kPods.size() + 7);
  const std::vector<std::string> kNodes = {
      R"("spec":{})",
      R"("spec":{"unschedulable":true})",
      R"("spec":{"providerID":"p"})",
      R"("spec":{"taints":[{"key":"k"}]})",
      R"("status":{"allocatable":{"cpu":"1"}})",
      R"("status":{"capacity":{"cpu":"1"}})",
      R"("status":{"conditions":[{"type":"Ready","status":"True"}]})"};
  contents.clear();
  for (const std::string& part : kNodes) {
    contents.insert(
        ContentOfText(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},)" + part + "}"));
  }
  EXPECT_EQ(contents.size(), kNodes.size());
}

}  // namespace
}  // namespace ebb::object_content_test
