#include "what_if/strategic_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace ebb::strategic_merge_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kPod = R"({"kind": "Pod", "metadata": {"labels": {"a": "1"}}, "spec": {
    "containers": [{"name": "web", "image": "w", "resources": {"requests": {"cpu": "1", "memory": "2"}}},
                   {"name": "proxy", "image": "p", "resources": {"requests": {"cpu": "800m"}}}],
    "tolerations": [{"key": "a"}, {"key": "b"}],
    "volumes": [{"name": "v", "emptyDir": {}}]}})";

// The merged pod, or the error.
struct Merged {
  Json object;
  std::string wrong;
};
Merged Merge(const std::string& patch, const std::string& object = kPod) {
  Merged merged{.object = Json::parse(object), .wrong = {}};
  merged.wrong = StrategicMerge(Json::parse(patch), merged.object);
  return merged;
}

TEST(StrategicMergeTest, ContainersAreFoundByTheirNames) {
  const auto [pod, wrong] = Merge(
      R"({"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "900m"}}}]}})");
  EXPECT_EQ(wrong, "");
  const Json& containers = pod["spec"]["containers"];
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(containers[0]["resources"]["requests"], Json({{"cpu", "900m"}, {"memory", "2"}}));
  EXPECT_EQ(containers[1]["resources"]["requests"]["cpu"], "800m");
}

TEST(StrategicMergeTest, ElementsAreAddedAndRemoved) {
  const auto [pod, wrong] = Merge(R"({"spec": {
      "containers": [{"name": "proxy", "$patch": "delete"}, {"name": "log", "image": "l"}],
      "initContainers": [{"name": "first", "image": "f"}],
      "volumes": [{"name": "w", "hostPath": {"path": "/"}}]}})");
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(pod["spec"]["containers"].size(), 2u);
  EXPECT_EQ(pod["spec"]["containers"][1]["name"], "log");
  EXPECT_EQ(pod["spec"]["initContainers"].size(), 1u);
  EXPECT_EQ(pod["spec"]["volumes"].size(), 2u);
}

// Symptom: a patch that gave a node 140,000 labels took longer than any deadline.
TEST(StrategicMergeTest, TheNumberOfMembersOfAMapIsLimited) {
  Json labels;
  for (int i = 0; i < 2'000; ++i) labels["b" + std::to_string(i)] = "";
  const Json patch = {{"metadata", {{"labels", labels}}}};
  EXPECT_EQ(Merge(patch.dump()).wrong,
            "metadata.labels: has 2001 members; at most 2000 are expected");
}

TEST(StrategicMergeTest, ListsWithoutAKeyAreReplaced) {
  EXPECT_EQ(Merge(R"({"spec": {"tolerations": [{"key": "c"}]}})").object["spec"]["tolerations"],
            Json::parse(R"([{"key": "c"}])"));
}

TEST(StrategicMergeTest, DirectivesReplaceAndDelete) {
  EXPECT_EQ(Merge(R"({"spec": {"volumes": [{"$patch": "replace"}, {"name": "z"}]}})")
                .object["spec"]["volumes"],
            Json::parse(R"([{"name": "z"}])"));
  EXPECT_EQ(Merge(R"({"metadata": {"labels": {"$patch": "replace", "b": "2"}}})")
                .object["metadata"]["labels"],
            Json::parse(R"({"b": "2"})"));
  EXPECT_FALSE(Merge(R"({"metadata": {"labels": {"$patch": "delete"}}})")
                   .object["metadata"]
                   .contains("labels"));
  EXPECT_FALSE(
      Merge(R"({"metadata": {"labels": {"a": null}}})").object["metadata"]["labels"].contains("a"));
}

struct WrongCase {
  const char* patch;
  const char* says;
};
class StrategicMergeErrorTest : public ::testing::TestWithParam<WrongCase> {};

TEST_P(StrategicMergeErrorTest, NamesTheField) {
  EXPECT_THAT(Merge(GetParam().patch).wrong, HasSubstr(GetParam().says));
}

constexpr WrongCase kWrong[] = {
    {R"({"spec": {"containers": null}})", "spec.containers: drops web, proxy"},
    {R"({"spec": {"containers": [{"$patch": "replace"}, {"name": "web", "image": "w"}]}})",
     "spec.containers: drops proxy"},
    {R"({"spec": {"containers": [{"name": "wbe", "resources": {}}]}})",
     "spec.containers[wbe]: there is no such container, and a new one needs an image; there are "
     "web, proxy"},
    {R"({"spec": {"containers": [{"image": "w"}]}})",
     "spec.containers: an element has no name, which tells elements apart; there are web, proxy"},
    {R"({"spec": {"containers": [{"name": "x", "$patch": "delete"}]}})",
     "spec.containers[x]: is not there; there are web, proxy"},
    {R"({"spec": {"$retainKeys": ["a"]}})", "spec.$retainKeys: this directive is not supported"},
    {R"({"spec": {"$setElementOrder/containers": []}})", "is not supported"},
    {R"({"spec": {"$patch": "remove"}})", "spec.$patch: remove is not delete, replace or merge"},
    {R"({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}})",
     "spec.volumes[v]: has two sources"},
};
INSTANTIATE_TEST_SUITE_P(Cases, StrategicMergeErrorTest, ::testing::ValuesIn(kWrong));

TEST(StrategicMergeTest, AnElementWhoseKeyWasNotKeptCannotBeFound) {
  const char* const object =
      R"({"spec": {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}})";
  EXPECT_THAT(Merge(R"({"spec": {"containers": [{"name": "c",
                        "ports": [{"containerPort": 80, "hostPort": 81}]}]}})",
                    object)
                  .wrong,
              HasSubstr("spec.containers[c].ports: what is kept of its elements has no "
                        "containerPort; give the whole list"));
  EXPECT_EQ(Merge(R"({"spec": {"containers": [{"name": "c",
                      "ports": [{"$patch": "replace"}, {"hostPort": 81}]}]}})",
                  object)
                .object["spec"]["containers"][0]["ports"],
            Json::parse(R"([{"hostPort": 81}])"));
}

std::vector<std::string> WithoutEffect(const std::string& patch, const std::string& before,
                                       const std::string& after) {
  return FieldsWithoutEffect(Json::parse(patch), Json::parse(before), Json::parse(after));
}

TEST(FieldsWithoutEffectTest, AreTheFieldsThatTheObjectLacksAfterwards) {
  EXPECT_THAT(WithoutEffect(R"({"kind": "PodDisruptionBudget", "metadata": {"name": "x"},
                                "spec": {"maxUnavailable": 3}})",
                            R"({"metadata": {"name": "x"}, "spec": {"selector": {}}})",
                            R"({"metadata": {"name": "x"}, "spec": {"selector": {}}})"),
              ElementsAre("spec.maxUnavailable"));
  EXPECT_THAT(
      WithoutEffect(
          R"({"spec": {"containers": [{"name": "web", "resources": {
                          "requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}]}})",
          kPod,
          R"({"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]}})"),
      ElementsAre("spec.containers[web].resources.limits"));
  EXPECT_THAT(WithoutEffect(R"({"spec": {"dnsPolicy": null, "tolerations": null}})", kPod,
                            R"({"spec": {}})"),
              ElementsAre("spec.dnsPolicy"));
  EXPECT_THAT(WithoutEffect(R"({"metadata": {"labels": {"a": "1"}}})", kPod, kPod), IsEmpty());
}

TEST(PatchInsteadTest, NamesWhatDecisionsRead) {
  EXPECT_THAT(std::string(PatchInstead("PodDisruptionBudget", "spec.minAvailable")),
              HasSubstr("status.disruptionsAllowed"));
  EXPECT_THAT(std::string(PatchInstead("Pod", "spec.containers[web].resources.limits")),
              HasSubstr("resources.requests"));
  EXPECT_EQ(PatchInstead("Node", "spec.podCIDR"), "");
}

}  // namespace
}  // namespace ebb::strategic_merge_test
