#include "report/plan_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ebb::plan_comparison_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json Plan(const std::vector<std::string>& remove, const Json& keep = Json::array()) {
  Json removals = Json::array();
  for (const std::string& name : remove) removals.push_back({{"node", name}, {"group", "g"}});
  return {{"apiVersion", "ebb/v1alpha1"},
          {"kind", "Plan"},
          {"summary",
           {{"nodes", remove.size() + keep.size()},
            {"removed", remove.size()},
            {"movedPods", 2 * remove.size()}}},
          {"remove", std::move(removals)},
          {"keep", keep}};
}

std::vector<std::string> Texts(const std::vector<PlanComparison::Difference>& nodes) {
  std::vector<std::string> texts;
  for (const PlanComparison::Difference& each : nodes) {
    texts.push_back(each.node + ": " + each.kept_because);
  }
  return texts;
}

TEST(PlanComparisonTest, ListsNodesThatOnlyOnePlanRemovesAndWhyTheOtherKeepsThem) {
  const Json kept = Json::parse(R"([{"node": "d", "reason": "BlockedByPod", "blockingPod":
      {"namespace": "shop", "name": "db-0", "reason": "NotEnoughPdb", "podDisruptionBudget": "db"}}])");
  const absl::StatusOr<PlanComparison> found =
      ComparePlans(Plan({"a", "b", "c"}, kept), Plan({"d", "b"}));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->in_both, 1u);
  EXPECT_THAT(Texts(found->no_more), ElementsAre("a: not in the cluster", "c: not in the cluster"));
  EXPECT_THAT(Texts(found->now_too), ElementsAre("d: BlockedByPod, shop/db-0: NotEnoughPdb db"));
  EXPECT_EQ(found->before.removed, 3u);
  EXPECT_EQ(found->after.moved_pods, 4u);
}

TEST(PlanComparisonTest, APlanIsLikeItself) {
  const absl::StatusOr<PlanComparison> found = ComparePlans(Plan({"a"}), Plan({"a"}));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->in_both, 1u);
  EXPECT_THAT(found->no_more, IsEmpty());
  EXPECT_THAT(found->now_too, IsEmpty());
}

TEST(PlanComparisonTest, PlansWithoutACommonNodeAreOfTwoClusters) {
  const Json kept = Json::parse(R"([{"node": "a", "reason": "NotUnderutilized"}])");
  const auto are = [](const Json& before, const Json& after) {
    const absl::StatusOr<PlanComparison> found = ComparePlans(before, after);
    EXPECT_EQ(ComparisonJson(*found).at("ofTwoClusters"), found->of_two_clusters);
    return found->of_two_clusters;
  };
  EXPECT_TRUE(are(Plan({"a", "b"}), Plan({"c"})));
  EXPECT_FALSE(are(Plan({"a", "b"}), Plan({"b", "c"})));
  EXPECT_FALSE(are(Plan({"a"}), Plan({"b"}, kept)));
  EXPECT_FALSE(are(Plan({"b"}, kept), Plan({"a"})));
  EXPECT_FALSE(are(Plan({"a"}), Plan({}))) << "it names no node";
}

TEST(PlanComparisonTest, AnInputThatIsNotAPlanIsRejected) {
  const auto error = [](const Json& json) {
    return std::string(ComparePlans(Plan({}), json).status().message());
  };
  EXPECT_THAT(error(Json::array()), HasSubstr("the second is not a plan"));
  EXPECT_THAT(error(Json{{"kind", "Pod"}}), HasSubstr("kind is not Plan"));
  for (const char* member : {"summary", "remove", "keep", "apiVersion"}) {
    Json broken = Plan({"a"});
    broken[member] = 1;
    EXPECT_THAT(error(broken), HasSubstr(member));
    broken.erase(member);
    EXPECT_THAT(error(broken), HasSubstr(member));
  }
  Json broken = Plan({"a"});
  broken["summary"]["removed"] = -1;
  EXPECT_THAT(error(broken), HasSubstr("summary.removed is not a count"));
  broken = Plan({"a"});
  broken["remove"][0] = "a";
  EXPECT_THAT(error(broken), HasSubstr("a node has no name"));
}

}  // namespace
}  // namespace ebb::plan_comparison_test
