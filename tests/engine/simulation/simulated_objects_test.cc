#include "engine/simulation/simulated_objects.h"

#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::simulated_objects_test {
namespace {

using test::Budget;
using test::Node;
using test::Pod;

TEST(SimulatedObjectsTest, ABarePodThatIsRemovedIsWantedByItsBudgetNoMore) {
  SimulatedObjects objects;
  absl::Status status = objects.OnNode(Node("a").raw);
  status.Update(objects.OnPodDisruptionBudget(Budget("web").Matching("app", "web").Allows(1).raw));
  for (const char* const name : {"p", "q", "r"}) {
    status.Update(objects.OnPod(Pod(name).On("a").Label("app", "web").OwnedByNobody().raw));
  }
  ASSERT_TRUE(status.ok()) << status;
  objects.Settle();
  EXPECT_EQ(objects.budgets().Desired(0), 2);
  EXPECT_EQ(objects.budgets().Allowed(0), 1);
  objects.RemovePod(0);
  EXPECT_EQ(objects.CountHealthy(0), 2);
  EXPECT_EQ(objects.budgets().Desired(0), 1);
  EXPECT_EQ(objects.budgets().Allowed(0), 1);
}

}  // namespace
}  // namespace ebb::simulated_objects_test
