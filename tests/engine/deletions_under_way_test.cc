// What a plan gives away while other nodes are being deleted.

#include "engine/deletions_under_way.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/round.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::deletions_under_way_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Node;
using test::Pod;

const std::string kSince = std::to_string(test::kPassTime - 60);

Node Goes(std::string_view name) {
  return Node(name).Taint("ToBeDeletedByClusterAutoscaler", kSince);
}

class DeletionsUnderWayTest : public ::testing::Test {
 protected:
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.now_s = test::kPassTime;
  }

  // The plan beside the deletions.
  PlanResult Plan() {
    ClusterSnapshot beside = *snapshot_;
    pending_.clear();
    PlanRequest asked = request_;
    const DeletionsUnderWay deletions(beside, pending_, asked);
    return MakePlan(beside, groups_, pending_, asked).value();
  }
  std::string Removals() { return test::Removals(*snapshot_, Plan().plan); }

  // What a round starts that is told of the deletion of `node`.
  std::string OfRound(const std::string& node) {
    ScaleDownOptions at_once;
    at_once.deletion.scale_down_unneeded_time_s = 0;
    ActuationStatus actuation;
    actuation.drained = {{node, groups_.groups[0].name}};
    const RoundResult round =
        ScaleDown(at_once)
            .Round(*snapshot_, groups_, {.now_s = request_.now_s, .actuation = &actuation})
            .value();
    return test::Removals(*snapshot_, round.plan);
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  std::vector<PodId> pending_;
};

TEST_F(DeletionsUnderWayTest, PodsThatAreAboutToMoveHaveTheirRoomFirst) {
  const auto cluster = [](int64_t room) {
    return Cluster()
        .Add(Node("a").Cpu(4000))
        .Add(Goes("b").Cpu(4000))
        .Add(Node("z").Cpu(4000))
        .Add(Pod("of-a").On("a").Cpu(1000))
        .Add(Pod("of-b").On("b").Cpu(1000))
        .Add(Pod("of-z").On("z").Cpu(4000 - room));
  };
  Make(cluster(1550));
  EXPECT_EQ(Removals(), "");
  EXPECT_EQ(pending_, test::PodsNamed(*snapshot_, {"of-b"}));
  EXPECT_EQ(OfRound("b"), "");
  Make(cluster(2000));
  EXPECT_EQ(Removals(), "a: of-a>z");
  EXPECT_EQ(OfRound("b"), "a: of-a>z");
}

TEST_F(DeletionsUnderWayTest, NothingLandsOnANodeThatGoes) {
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Goes("b").Cpu(4000))
           .Add(Pod("anywhere").On("a").Cpu(100).ToleratesEverything()));
  const PlanResult made = Plan();
  EXPECT_EQ(test::Removals(*snapshot_, made.plan), "");
  EXPECT_EQ(test::Kept(*snapshot_, made.plan), "b=CurrentlyBeingDeleted a=NoPlaceToMovePods");
  // Destinations that the caller gives are narrowed down.
  NodeSet destinations(snapshot_->catalog().nodes());
  destinations.Insert(test::NodeNamed(*snapshot_, "b"));
  request_.destinations = &destinations;
  EXPECT_EQ(Removals(), "");
}

TEST_F(DeletionsUnderWayTest, DestinationsOfAnotherSizeAreLeftToBeRefused) {
  Make(Cluster().Add(Node("a")).Add(Goes("b")));
  const NodeSet destinations(7);
  request_.destinations = &destinations;
  const DeletionsUnderWay deletions(*snapshot_, pending_, request_);
  EXPECT_EQ(MakePlan(*snapshot_, groups_, pending_, request_).status().message(),
            "destinations: ranges over 7 nodes, and the catalog has 2");
}

TEST_F(DeletionsUnderWayTest, DisruptionsOfPodsThatAreAboutToMoveAreSpent) {
  const auto cluster = [](int64_t allowed) {
    return Cluster()
        .Add(Node("a").Cpu(2000))
        .Add(Goes("b").Cpu(2000))
        .Add(Node("z").Cpu(9000))
        .Add(Pod("p").On("a").Cpu(100).Label("app", "web"))
        .Add(Pod("q").On("b").Cpu(100).Label("app", "web"))
        .Add(Pod("large").On("z").Cpu(6000))
        .Add(Budget("web").Matching("app", "web").Allows(allowed));
  };
  Make(cluster(1));
  EXPECT_EQ(Removals(), "");
  EXPECT_EQ(OfRound("b"), "");
  Make(cluster(2));
  EXPECT_EQ(Removals(), "a: p>z");
}

TEST_F(DeletionsUnderWayTest, WherePodsThatAreAboutToMoveFindNoRoomNoNodeIsJudged) {
  Make(Cluster()
           .Add(Node("empty").Cpu(100))
           .Add(Goes("b").Cpu(9000))
           .Add(Node("z").Cpu(500))
           .Add(Pod("large").On("b").Cpu(8000))
           .Add(Pod("of-z").On("z").Cpu(400)));
  const PlanResult made = Plan();
  EXPECT_EQ(made.plan.termination, Termination::kNoRoomForPending);
  EXPECT_TRUE(made.plan.remove.empty());
  EXPECT_EQ(OfRound("b"), "");
}

TEST_F(DeletionsUnderWayTest, WithoutDeletionsNothingChanges) {
  const std::string expired = std::to_string(test::kPassTime - 300);
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("b").Cpu(4000).Taint("ToBeDeletedByClusterAutoscaler", expired))
           .Add(Pod("p").On("b").Cpu(3900)));
  EXPECT_FALSE(DeletionsUnderWay::AnyOf(*snapshot_, request_.now_s));
  EXPECT_TRUE(DeletionsUnderWay::AnyOf(*snapshot_, request_.now_s - 1));
  const std::string before = snapshot_->Fingerprint();
  const DeletionsUnderWay deletions(*snapshot_, pending_, request_);
  EXPECT_EQ(snapshot_->Fingerprint(), before);
  EXPECT_TRUE(pending_.empty());
  EXPECT_EQ(request_.destinations, nullptr);
}

TEST_F(DeletionsUnderWayTest, PodsThatAreAboutToMoveComeBeforeThoseThatWaited) {
  Make(Cluster()
           .Add(Goes("b"))
           .Add(Node("z"))
           .Add(Goes("c"))
           .Add(Pod("waits").Cpu(100))
           .Add(Pod("of-b").On("b").Cpu(100))
           .Add(Pod("stays").On("z").Cpu(100))
           .Add(Pod("of-c").On("c").Cpu(100))
           .Add(Pod("agent").On("c").DaemonSet()));
  pending_ = test::PodsNamed(*snapshot_, {"waits"});
  const DeletionsUnderWay deletions(*snapshot_, pending_, request_);
  EXPECT_EQ(pending_, test::PodsNamed(*snapshot_, {"of-b", "of-c", "waits"}));
  EXPECT_EQ(request_.must_fit, 2U);
  EXPECT_EQ(std::vector<PodId>(request_.evicting.begin(), request_.evicting.end()),
            test::PodsNamed(*snapshot_, {"of-b", "of-c"}));
  EXPECT_EQ(snapshot_->NodeOf(test::PodNamed(*snapshot_, "of-b")), kNoNode);
  EXPECT_EQ(snapshot_->NodeOf(test::PodNamed(*snapshot_, "agent")),
            test::NodeNamed(*snapshot_, "c"));
  ASSERT_NE(request_.destinations, nullptr);
  for (const auto& [name, takes] :
       {std::pair("b", false), std::pair("z", true), std::pair("c", false)}) {
    EXPECT_EQ(request_.destinations->Contains(test::NodeNamed(*snapshot_, name)), takes) << name;
  }
}

}  // namespace
}  // namespace ebb::deletions_under_way_test
