#include "loop/run/round_advisor.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/make_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::round_advisor_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::ElementsAre;

constexpr int64_t kStart = 1'000'000;

// If `wide` is tried first, as given, its pods take all the room of `host`, which would suffice for
// each of the three other nodes.
class RoundAdvisorTest : public ::testing::Test {
 protected:
  RoundAdvisorTest() {
    Cluster cluster;
    cluster.Add(Node("wide").Cpu(4000)).Add(Pod("of-wide").On("wide").Cpu(1500));
    for (const char* const name : {"a", "b", "c"}) {
      cluster.Add(Node(name).Cpu(1000)).Add(Pod(std::string("of-") + name).On(name).Cpu(510));
    }
    cluster.Add(Node("host").Cpu(6000)).Add(Pod("of-host").On("host").Cpu(4400));
    snapshot_ = cluster.Build();
    rounds_.planner.scale_down_utilization_threshold = 0.6;
    observed_.snapshot = &snapshot_;
    observed_.groups.groups.resize(1);
    observed_.groups.groups[0].name = "group";
    observed_.groups.groups[0].target_size = 5;
    observed_.groups.group_of.assign(snapshot_.catalog().nodes(), GroupId{0});
  }
  std::vector<std::string> Names(const RoundAdvice& advice) const {
    std::vector<std::string> names;
    for (const NodeId node : advice.candidates) {
      names.emplace_back(snapshot_.catalog().NodeName(node));
    }
    return names;
  }

  ClusterSnapshot snapshot_ = Cluster().Build();
  ScaleDownOptions rounds_;
  Observation observed_;
};

TEST_F(RoundAdvisorTest, NodesOfTheSearchedPlanAreTriedFirst) {
  RoundAdvisor advisor(rounds_, {.iterations = 2});
  const RoundAdvice advice = advisor.Advise(observed_, kStart, {}).value();
  std::vector<std::string> first = Names(advice);
  EXPECT_EQ(first.size(), 5u);
  first.resize(3);
  std::ranges::sort(first);
  EXPECT_THAT(first, ElementsAre("a", "b", "c"));
  EXPECT_EQ(advice.suggestions.size(), 3u);
}

TEST_F(RoundAdvisorTest, UntilTheNextSearchTheOrderStays) {
  RoundAdvisor advisor(rounds_, {.iterations = 2, .interval_s = 60});
  const std::vector<std::string> first = Names(advisor.Advise(observed_, kStart, {}).value());
  EXPECT_EQ(Names(advisor.Advise(observed_, kStart + 59, {}).value()), first);
  EXPECT_EQ(advisor.searches(), 1u);
  (void)advisor.Advise(observed_, kStart + 60, {});
  EXPECT_EQ(advisor.searches(), 2u);
}

// Three nodes are better than one, however long that one has been unneeded; between plans with the
// same number of nodes, the time that nodes have been unneeded decides.
TEST_F(RoundAdvisorTest, ANodeThatIsUnneededAlreadyIsWorthALittleMore) {
  RoundAdvisor advisor(rounds_, {.iterations = 2});
  const RoundAdvice advice = advisor.Advise(observed_, kStart, {"wide"}).value();
  EXPECT_NE(Names(advice)[0], "wide");
}

TEST_F(RoundAdvisorTest, WithoutTimeForASearchTheGreedyOrderIsAdvised) {
  RoundAdvisor advisor(rounds_, {.budget_s = 0});
  EXPECT_EQ(Names(advisor.Advise(observed_, kStart, {}).value())[0], "wide");
}

}  // namespace
}  // namespace ebb::round_advisor_test
