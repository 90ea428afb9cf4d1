// When a pass returns the plan of the pass before, and when it does not.

#include "engine/pass/settled_pass.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/pass/planner.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::settled_pass_test {
namespace {

using test::Cluster;
using test::kPassTime;
using test::Node;
using test::Pod;

constexpr int64_t kRecheck = 301;  // Seconds after which kept nodes are tried again.

class SettledPassTest : public testing::Test {
 protected:
  // Two nodes whose pods fit on the third node, a node whose pod fits nowhere, and a pending pod.
  SettledPassTest() {
    cluster_.Add(Node("a").Cpu(1000).Memory(test::kGiB));
    cluster_.Add(Node("b").Cpu(1000).Memory(test::kGiB));
    cluster_.Add(Node("c").Cpu(4000).Memory(test::kGiB));
    cluster_.Add(Node("d").Cpu(9000).Memory(test::kGiB));
    cluster_.Add(Pod("pa").On("a").Cpu(100)).Add(Pod("pb").On("b").Cpu(100));
    cluster_.Add(Pod("pd").On("d").Cpu(4200)).Add(Pod("waits").Cpu(100));
  }

  void Start() {
    planner_.emplace(PlannerOptions());
    snapshot_ = cluster_.Build();
    groups_ = test::OneGroup(snapshot_);
    candidates_ = test::NodesNamed(snapshot_, {"a", "b", "d"});
    pending_ = test::PodsNamed(snapshot_, {"waits"});
    evicting_.clear();
    input_ = PassInput();
    input_.now_s = kPassTime;
    input_.candidates = candidates_;
    input_.pending = pending_;
  }

  std::string Pass(int64_t later_s = kRecheck) {
    input_.now_s += later_s;
    const Plan plan = planner_->Pass(snapshot_, groups_, input_).value();
    return test::Removals(snapshot_, plan) + " | " + test::Kept(snapshot_, plan);
  }
  bool Repeats(int64_t later_s = kRecheck) {
    const uint64_t before = planner_->repeated_passes();
    Pass(later_s);
    return planner_->repeated_passes() > before;
  }
  // Makes passes until one is repeated.
  void Settle() {
    for (int pass = 0; pass < 10; ++pass) {
      if (Repeats()) return;
    }
    FAIL() << "no pass was repeated";
  }

  Cluster cluster_;
  ClusterSnapshot snapshot_;
  NodeGroups groups_;
  std::vector<NodeId> candidates_;
  std::vector<PodId> pending_, evicting_;
  NodeSet destinations_;
  PassInput input_;
  std::optional<Planner> planner_;
};

TEST_F(SettledPassTest, AnUnchangedClusterIsPlannedOnce) {
  Start();
  Settle();
  const std::string plan = Pass();
  EXPECT_EQ(plan, "a: pa>c; b: pb>c waits>d | d=NoPlaceToMovePods");
  EXPECT_TRUE(Repeats());
  EXPECT_EQ(Pass(), plan);
}

TEST_F(SettledPassTest, ARepeatedPassRemembersAsAPassDoes) {
  Start();
  Settle();
  Planner other{PlannerOptions()};
  other.Restore(planner_->Save(), snapshot_.catalog().shared_symbols());
  ASSERT_TRUE(Repeats());
  ASSERT_TRUE(other.Pass(snapshot_, groups_, input_).ok());
  EXPECT_EQ(other.repeated_passes(), 0u);
  EXPECT_EQ(planner_->Save(), other.Save());
}

TEST_F(SettledPassTest, ANodeThatIsDueForARetryMakesANewPassNecessary) {
  Start();
  Settle();
  EXPECT_FALSE(Repeats(5)) << "d is not tried again yet";
  EXPECT_EQ(Pass(5), "a: pa>c; b: pb>c waits>d | d=RecentlyUnremovable");
  EXPECT_TRUE(Repeats(5)) << "d is still not tried";
  EXPECT_FALSE(Repeats()) << "d is tried";
}

TEST_F(SettledPassTest, ADifferentQuestionGetsANewPass) {
  const std::vector<std::pair<std::string, std::function<void()>>> changes = {
      {"order", [this] { std::swap(candidates_[0], candidates_[1]); }},
      {"fewer", [this] { input_.candidates = std::span(candidates_).first(2); }},
      {"destinations",
       [this] {
         destinations_ = snapshot_.alive();
         input_.destinations = &destinations_;
       }},
      {"in deletion", [this] { input_.in_deletion = std::span(candidates_).first(1); }},
      {"limit", [this] { input_.unneeded_limit = 1; }},
      {"pending", [this] { input_.pending = {}; }},
      {"must fit", [this] { input_.must_fit = 1; }},
      {"evicting",
       [this] {
         evicting_ = test::PodsNamed(snapshot_, {"pa"});
         input_.evicting = evicting_;
       }},
      {"groups", [this] { groups_.groups[0].scale_down_utilization_threshold = 0.4; }},
      {"atomic", [this] { groups_.groups[0].atomic = true; }},
      {"a pod moved",
       [this] {
         snapshot_.MovePod(test::PodNamed(snapshot_, "pa"), test::NodeNamed(snapshot_, "b"));
       }},
      {"a node went", [this] { snapshot_.RemoveNode(test::NodeNamed(snapshot_, "a")); }},
      {"another snapshot", [this] { snapshot_ = cluster_.Build(); }},
  };
  for (const auto& [what, change] : changes) {
    Start();
    Settle();
    change();
    EXPECT_FALSE(Repeats()) << what;
  }
}

TEST_F(SettledPassTest, AnUndoneChangeIsNotAChange) {
  Start();
  Settle();
  snapshot_.Fork();
  snapshot_.RemoveNode(test::NodeNamed(snapshot_, "c"));
  snapshot_.Revert();
  EXPECT_TRUE(Repeats());
  ClusterSnapshot copy = snapshot_;
  EXPECT_EQ(copy.StateId(), snapshot_.StateId());
  copy.RemovePod(test::PodNamed(copy, "pa"));
  EXPECT_NE(copy.StateId(), snapshot_.StateId());
  EXPECT_TRUE(Repeats());
}

class Never final : public Deadline {
 public:
  [[nodiscard]] bool Expired() const override { return false; }
};

TEST_F(SettledPassTest, APassWithADeadlineIsMade) {
  Start();
  Settle();
  const Never never;
  input_.deadline = &never;
  EXPECT_FALSE(Repeats());
  EXPECT_FALSE(Repeats());
}

TEST_F(SettledPassTest, TimeThatChangesAVerdictIsNoticed) {
  const int64_t start = kPassTime;
  const std::string tainted_at = std::to_string(start + 4300);
  const std::vector<std::pair<std::string, std::function<void()>>> timed = {
      {"a system pod comes of age",
       [&] { cluster_.Add(Pod("s").In("kube-system").On("a").CreatedAt(start + 1000)); }},
      {"a deleted pod is long terminating",
       [&] { cluster_.Add(Pod("t").On("a").DeletedAt(start + 4000)); }},
      {"a deletion was given up",
       [&] {
         cluster_.Add(Node("e")
                          .Cpu(1000)
                          .Memory(test::kGiB)
                          .Taint("ToBeDeletedByClusterAutoscaler", tainted_at));
       }},
  };
  for (const auto& [what, add] : timed) {
    cluster_ = Cluster();
    cluster_.Add(Node("a").Cpu(1000).Memory(test::kGiB))
        .Add(Node("c").Cpu(4000).Memory(test::kGiB));
    cluster_.Add(Pod("pa").On("a").Cpu(100)).Add(Pod("waits").Cpu(100));
    add();
    planner_.emplace(PlannerOptions());
    snapshot_ = cluster_.Build();
    groups_ = test::OneGroup(snapshot_);
    candidates_.clear();
    snapshot_.alive().ForEach([&](NodeId node) { candidates_.push_back(node); });
    pending_ = test::PodsNamed(snapshot_, {"waits"});
    input_ = PassInput();
    input_.now_s = start;
    input_.candidates = candidates_;
    input_.pending = pending_;
    // A planner without memory shows which nodes are kept.
    std::string last;
    size_t changes = 0;
    for (int pass = 0; pass < 24; ++pass) {
      const std::string plan = Pass();
      Planner fresh{PlannerOptions()};
      const Plan right = fresh.Pass(snapshot_, groups_, input_).value();
      EXPECT_EQ(plan.substr(plan.find('|') + 2), test::Kept(snapshot_, right))
          << what << ", pass " << pass;
      changes += !last.empty() && plan != last ? 1 : 0;
      last = plan;
    }
    EXPECT_GT(planner_->repeated_passes(), 10u) << what;
    EXPECT_GT(changes, 0u) << what;
  }
}

TEST_F(SettledPassTest, TheOrderOfPodsAndTheShareOfWorkloadsArePartOfTheQuestion) {
  Start();
  Settle();
  input_.pod_order = PodOrder::kAsListed;
  EXPECT_FALSE(Repeats());
  Start();
  Settle();
  input_.max_workload_share = 0.5;
  EXPECT_FALSE(Repeats());
}

TEST_F(SettledPassTest, DestinationsAreComparedByValue) {
  Start();
  destinations_ = snapshot_.alive();
  input_.destinations = &destinations_;
  Settle();
  const NodeSet same = destinations_;
  input_.destinations = &same;
  EXPECT_TRUE(Repeats());
  NodeSet fewer = destinations_;
  fewer.Erase(test::NodeNamed(snapshot_, "b"));
  input_.destinations = &fewer;
  EXPECT_FALSE(Repeats());
  input_.destinations = &destinations_;
  Settle();
  input_.destinations = nullptr;
  EXPECT_FALSE(Repeats());
}

TEST_F(SettledPassTest, AnEarlierInstantNeedsANewPassAndTheSameInstantDoesNot) {
  Start();
  // Only nodes that are not tried again later.
  input_.candidates = std::span(candidates_).first(2);
  bool repeated = false;
  for (int pass = 0; pass < 10 && !repeated; ++pass) repeated = Repeats(0);
  ASSERT_TRUE(repeated);
  EXPECT_TRUE(Repeats(0));
  EXPECT_FALSE(Repeats(-1));
}

TEST_F(SettledPassTest, APassHoldsUntilTheFirstDeletionIsGivenUp) {
  const auto going = [](const char* name, int64_t age_s) {
    return Node(name)
        .Cpu(1000)
        .Memory(test::kGiB)
        .Taint("ToBeDeletedByClusterAutoscaler", std::to_string(kPassTime - age_s));
  };
  cluster_.Add(going("e", 50)).Add(going("f", 80)).Add(going("g", 10));
  Start();
  input_.candidates = std::span(candidates_).first(2);
  bool repeated = false;
  for (int pass = 0; pass < 10 && !repeated; ++pass) repeated = Repeats(0);
  ASSERT_TRUE(repeated);
  EXPECT_TRUE(Repeats(219));
  EXPECT_FALSE(Repeats(1)) << "f is being deleted no more";
}

TEST_F(SettledPassTest, SuggestionsMakeANewPassNecessaryUnlessEmpty) {
  Start();
  Settle();
  planner_->Suggest(snapshot_, {});
  EXPECT_TRUE(Repeats());
  const std::vector<Move> places = {
      {test::PodNamed(snapshot_, "pa"), test::NodeNamed(snapshot_, "d")}};
  planner_->Suggest(snapshot_, places);
  EXPECT_FALSE(Repeats());
  EXPECT_EQ(Pass(), "a: pa>d; b: pb>c waits>d | d=NoPlaceToMovePods");
}

}  // namespace
}  // namespace ebb::settled_pass_test
