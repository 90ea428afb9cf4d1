#include "snapshot/karpenter_objects.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::karpenter_objects_test {
namespace {

using ::testing::ElementsAre;

class KarpenterObjectsTest : public ::testing::Test {
 protected:
  static objects::NodeClaim Claim(std::string_view name, std::string_view node,
                                  std::string_view provider_id = "") {
    objects::NodeClaim claim;
    claim.meta.name = name;
    claim.node_name = node;
    claim.provider_id = provider_id;
    return claim;
  }
  std::string Of(std::string_view node, std::string_view provider_id = "") {
    const KarpenterObjects::Claim* const claim =
        objects_.FindClaim(symbols_.Intern(node), symbols_.Intern(provider_id));
    return claim == nullptr ? "" : claim->name;
  }

  Symbols symbols_;
  KarpenterObjects objects_;
};

TEST_F(KarpenterObjectsTest, AClaimIsFoundByNodeElseByProviderId) {
  EXPECT_FALSE(objects_.HasClaims());
  objects_.Put(Claim("a", "n", "i-1"), symbols_);
  objects_.Put(Claim("b", "", "i-2"), symbols_);
  objects_.Put(Claim("c", ""), symbols_);
  EXPECT_EQ(Of("n", "i-1"), "a");
  EXPECT_EQ(Of("n"), "a");
  EXPECT_EQ(Of("n", "i-9"), "") << "it is of another machine";
  EXPECT_EQ(Of("m", "i-2"), "b");
  EXPECT_EQ(Of("m", "i-1"), "") << "it names another node";
  EXPECT_EQ(Of("m"), "");
}

TEST_F(KarpenterObjectsTest, AClaimThatChangesOrGoesIsFoundNoMore) {
  objects_.Put(Claim("b", "n"), symbols_);
  objects_.Put(Claim("a", "n"), symbols_);
  EXPECT_EQ(Of("n"), "a") << "the first by name";
  objects_.Put(Claim("a", "m"), symbols_);
  EXPECT_EQ(Of("n"), "b");
  EXPECT_EQ(Of("m"), "a");
  objects_.Remove(Claim("b", "n"), symbols_);
  EXPECT_EQ(Of("n"), "");
  objects_.Remove(Claim("a", "m"), symbols_);
  EXPECT_FALSE(objects_.HasClaims());
}

TEST_F(KarpenterObjectsTest, ConditionsCountIfTheyAreTrue) {
  objects::NodeClaim claim = Claim("a", "n");
  objects_.Put(claim, symbols_);
  const auto kept = [&] { return *objects_.FindClaim(symbols_.Intern("n"), kNoText); };
  EXPECT_FALSE(kept().has_conditions);
  claim.conditions = {{"Initialized", "True", 70}, {"Consolidatable", "False", 80}};
  objects_.Put(claim, symbols_);
  EXPECT_TRUE(kept().has_conditions && kept().initialized);
  EXPECT_FALSE(kept().consolidatable || kept().terminating);
  EXPECT_EQ(kept().last_pod_event, 70) << "initialized then, and no pod since";
  claim.last_pod_event = 90;
  claim.conditions = {{"Consolidatable", "True", 80}, {"InstanceTerminating", "True", 80}};
  objects_.Put(claim, symbols_);
  EXPECT_EQ(kept().last_pod_event, 90);
  EXPECT_TRUE(kept().consolidatable && kept().terminating);
}

TEST_F(KarpenterObjectsTest, ANodePoolWithoutBudgetsHasTheOneOfTheApiServer) {
  objects::NodePool pool;
  pool.meta.name = "p";
  objects_.Put(pool, symbols_);
  ASSERT_EQ(objects_.FindPool("p")->budgets.size(), 1u);
  EXPECT_EQ(objects_.FindPool("p")->budgets[0].nodes, "10%");
  pool.has_budgets = true;
  objects_.Put(pool, symbols_);
  EXPECT_TRUE(objects_.FindPool("p")->budgets.empty());
  objects::NodePool::Budget budget;
  budget.nodes = "1";
  pool.budgets = {budget};
  budget.has_reasons = true;
  budget.reasons = {"Empty"};
  budget.schedule = "@daily";
  pool.budgets.push_back(budget);
  objects_.Put(pool, symbols_);
  const KarpenterObjects::Pool& kept = *objects_.FindPool("p");
  ASSERT_EQ(kept.budgets.size(), 2u);
  EXPECT_EQ(kept.budgets[0].reasons, std::nullopt);
  EXPECT_THAT(kept.budgets[1].reasons.value(), ElementsAre("Empty"));
  EXPECT_EQ(kept.budgets[1].schedule, "@daily");
  EXPECT_EQ(kept.budgets[1].duration, std::nullopt);
  objects_.Remove(pool, symbols_);
  EXPECT_FALSE(objects_.HasPools());
  EXPECT_EQ(objects_.FindPool("p"), nullptr);
}

}  // namespace
}  // namespace ebb::karpenter_objects_test
