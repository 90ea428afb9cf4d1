// Plans that are kept and repaired: what each plan says of itself, and random changes of a live
// cluster, after each of which the plan must verify whole, remove no fewer nodes than the greedy
// plan, and stay as it is while the cluster stands still.

#include "engine/stable_planner.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/support/live_twin.h"
#include "tests/support/random_seed.h"
#include "tests/support/sanitized.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::stable_planner_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::StartsWith;

// "+a" for a node that came, "-b(NoPlaceToMovePods)" for one that left, separated by spaces.
std::string Changes(const StablePlan& plan) {
  std::string text;
  for (const PlanChange& change : plan.changes) {
    absl::StrAppend(&text, text.empty() ? "" : " ", change.removes ? "+" : "-", change.name);
    if (change.reason != UnremovableReason::kNoReason) {
      absl::StrAppend(&text, "(", std::string(ToString(change.reason)), ")");
    }
  }
  return text;
}

class StablePlannerTest : public ::testing::Test {
 protected:
  // Builds the next version of the cluster, over the same Symbols.
  void Build(const std::vector<Node>& nodes, const std::vector<Pod>& pods) {
    Cluster cluster(symbols_);
    for (const Node& node : nodes) cluster.Add(node);
    for (const Pod& pod : pods) cluster.Add(pod);
    snapshot_ = cluster.Build();
    groups_ = test::OneGroup(snapshot_);
  }

  StablePlan Make() {
    absl::StatusOr<StablePlan> plan = planner_.Make(snapshot_, groups_, request_);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }
  std::string Removals(const StablePlan& plan) {
    return test::Removals(snapshot_, plan.made->plan);
  }

  void SetUp() override { request_.pass.now_s = test::kPassTime; }

  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  ClusterSnapshot snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  StablePlanner planner_{{.margin = 0, .greedy_every = 0, .verify_every = 1}};
};

TEST_F(StablePlannerTest, KeepsThePlanWhereTheGreedyOrderWouldMoveIt) {
  const std::vector<Node> nodes = {Node("a").Cpu(1000), Node("b").Cpu(1000), Node("big").Cpu(4000)};
  const Pod large = Pod("large").On("big").Cpu(3000);
  Build(nodes, {Pod("p").On("a").Cpu(300), Pod("q").On("b").Cpu(300), large});
  const StablePlan first = Make();
  EXPECT_EQ(first.origin, StableOrigin::kFirst);
  EXPECT_TRUE(first.verified);
  EXPECT_EQ(Removals(first), "a: p>b; b: q>big p>big");

  // A new node comes first in the order and could go as well: the greedy plan would begin with it.
  std::vector<Node> more = {Node("new").Cpu(1000)};
  more.insert(more.end(), nodes.begin(), nodes.end());
  Build(more,
        {Pod("n").On("new").Cpu(450), Pod("p").On("a").Cpu(300), Pod("q").On("b").Cpu(300), large});
  const StablePlan second = Make();
  EXPECT_EQ(second.origin, StableOrigin::kKept);
  EXPECT_EQ(second.kept, first.made->plan.remove.size());
  EXPECT_EQ(second.unchanged, second.kept);
  // The same places as before, without the detour of p.
  EXPECT_THAT(Removals(second), StartsWith("a: p>big; b: q>big"));
}

TEST_F(StablePlannerTest, SaysWhyANodeLeavesAndComes) {
  const std::vector<Node> nodes = {Node("a").Cpu(1000), Node("big").Cpu(4000)};
  Build(nodes, {Pod("p").On("a").Cpu(300), Pod("large").On("big").Cpu(3000)});
  EXPECT_EQ(Removals(Make()), "a: p>big");

  Build(nodes, {Pod("p").On("a").Cpu(300), Pod("large").On("big").Cpu(3900)});
  const StablePlan full = Make();
  EXPECT_EQ(Removals(full), "");
  EXPECT_EQ(Changes(full), "-a(NoPlaceToMovePods)");
  ASSERT_EQ(full.changes.size(), 1U);
  EXPECT_EQ(test::PodNamed(snapshot_, "p"), full.changes[0].pod);

  Build(nodes, {Pod("p").On("a").Cpu(300), Pod("large").On("big").Cpu(3000)});
  EXPECT_EQ(Changes(Make()), "+a(NoPlaceToMovePods)");

  Build({Node("big").Cpu(4000)}, {Pod("large").On("big").Cpu(3000)});
  const StablePlan gone = Make();
  EXPECT_EQ(gone.origin, StableOrigin::kOtherCluster);
}

TEST_F(StablePlannerTest, NamesANodeThatHasLeftTheCluster) {
  const auto pods = [](const char* name) { return Pod(name).On(name).Cpu(100); };
  Build({Node("a").Cpu(1000), Node("b").Cpu(1000), Node("big").Cpu(4000)},
        {pods("a"), pods("b"), Pod("large").On("big").Cpu(3000)});
  EXPECT_EQ(Make().made->plan.remove.size(), 2U);
  Build({Node("b").Cpu(1000), Node("big").Cpu(4000)},
        {pods("b"), Pod("large").On("big").Cpu(3000)});
  const StablePlan plan = Make();
  EXPECT_EQ(plan.origin, StableOrigin::kKept);
  EXPECT_EQ(Changes(plan), "-a");
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].node, kNoNode);
}

TEST_F(StablePlannerTest, BeginsAnewWithOtherOptionsOrAnEarlierTime) {
  const std::vector<Node> nodes = {Node("a").Cpu(1000), Node("big").Cpu(4000)};
  Build(nodes, {Pod("p").On("a").Cpu(300), Pod("large").On("big").Cpu(3000)});
  EXPECT_EQ(Make().origin, StableOrigin::kFirst);
  request_.planner.scale_down_utilization_threshold = 0.6;
  EXPECT_EQ(Make().origin, StableOrigin::kOptions);
  EXPECT_EQ(Make().origin, StableOrigin::kKept);
  request_.pass.now_s -= 1;
  EXPECT_EQ(Make().origin, StableOrigin::kTime);
  planner_.Forget();
  EXPECT_EQ(Make().origin, StableOrigin::kFirst);
}

// The random clusters of LiveTwin are small, but have objects of every kind.
class Walk {
 public:
  Walk(uint64_t seed, StableOptions options)
      : twin_(seed, test::LiveTwin::Uids::kUnique),
        dice_(seed),
        planner_(options),
        same_history_(options) {
    request_.pass.now_s = test::kPassTime;
    request_.planner.scale_down_utilization_threshold = 2;
    request_.planner.drain.skip_nodes_with_system_pods = false;
    request_.planner.drain.skip_nodes_with_local_storage = false;
  }

  // Changes the cluster, or the question, and plans.  Returns "" or what is wrong.
  std::string Step(bool margin_holds) {
    twin_.Step();
    if (dice_.Percent(50)) request_.pass.now_s += dice_.Below(100);
    if (dice_.Percent(2)) request_.pass.now_s -= 1;
    if (dice_.Percent(3)) {
      request_.planner.scale_down_utilization_threshold = 0.5 * (1 + dice_.Below(4));
    }
    ClusterSnapshot& snapshot = twin_.live().Snapshot();
    const NodeGroups groups = test::OneGroup(snapshot);
    const std::vector<PodId> pending = twin_.live().Pending();
    request_.pass.pending = pending;
    request_.verify = true;
    const std::string before = snapshot.Fingerprint();
    const absl::StatusOr<StablePlan> plan = planner_.Make(snapshot, groups, request_);
    if (!plan.ok()) return std::string(plan.status().message());
    if (snapshot.Fingerprint() != before) return "the plan changed the snapshot";
    const std::string text = test::Removals(snapshot, plan->made->plan);
    if (margin_holds) {
      const absl::StatusOr<PlanResult> greedy = MakePlan(snapshot, groups, request_);
      if (!greedy.ok()) return std::string(greedy.status().message());
      if (plan->made->plan.remove.size() < greedy->plan.remove.size()) {
        return absl::StrCat("removes fewer nodes than the greedy plan: ", text);
      }
    }
    const absl::StatusOr<StablePlan> again = planner_.Make(snapshot, groups, request_);
    if (!again.ok()) return std::string(again.status().message());
    if (const std::string now = test::Removals(snapshot, again->made->plan); now != text) {
      return absl::StrCat("a cluster that stands still has another plan:\n", text, "\n", now);
    }
    if (again->kept != again->made->plan.remove.size() || !again->changes.empty()) {
      return "a plan that is repeated says that it changed";
    }
    const absl::StatusOr<StablePlan> other = same_history_.Make(snapshot, groups, request_);
    if (!other.ok() || test::Removals(snapshot, other->made->plan) != text) {
      return "two planners with the same history have other plans";
    }
    size_t came = 0;
    for (const PlanChange& change : plan->changes) came += change.removes ? 1 : 0;
    const bool continues =
        plan->origin == StableOrigin::kKept || plan->origin == StableOrigin::kGreedy;
    if (continues && plan->kept + came != plan->made->plan.remove.size()) {
      return "nodes that stayed and nodes that came are not the plan";
    }
    if (plan->not_covered.has_value() == (plan->held + plan->checked > 0) &&
        !plan->made->plan.remove.empty()) {
      return "the removals are neither covered nor not covered";
    }
    held_ += plan->held;
    checked_ += plan->checked;
    kept_ += plan->kept;
    greedy_ += plan->origin == StableOrigin::kGreedy ? 1 : 0;
    removed_ += plan->made->plan.remove.size();
    return "";
  }

  [[nodiscard]] size_t kept() const { return kept_; }
  // Removals whose certificates held, and that were checked again.
  [[nodiscard]] size_t held() const { return held_; }
  [[nodiscard]] size_t checked() const { return checked_; }
  [[nodiscard]] size_t removed() const { return removed_; }
  // How many times the greedy plan replaced the kept one.
  [[nodiscard]] size_t greedy() const { return greedy_; }

 private:
  test::LiveTwin twin_;
  test::Dice dice_;
  StablePlanner planner_;
  StablePlanner same_history_;
  PlanRequest request_;
  size_t kept_ = 0;
  size_t held_ = 0;
  size_t checked_ = 0;
  size_t removed_ = 0;
  size_t greedy_ = 0;
};

// Each step makes 1 to 10 changes: 20 walks of 1,000 steps make more than 100,000.
#ifdef NDEBUG
constexpr uint64_t kWalks = 20;
constexpr int kSteps = 1'000;
#else  // Every attempt of a pass is checked, which takes long.
constexpr uint64_t kWalks = 4;
constexpr int kSteps = 200;
#endif

TEST(StablePlannerRandomTest, NeverRemovesFewerNodesThanTheGreedyPlan) {
  const uint64_t seed = test::RandomSeed();
  size_t kept = 0;
  size_t removed = 0;
  size_t greedy = 0;
  size_t held = 0;
  size_t checked = 0;
  for (uint64_t walk = 0; walk < test::Rounds(kWalks); ++walk) {
    Walk cluster(seed + walk, {.margin = 0, .greedy_every = 1, .verify_every = 1});
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_EQ(cluster.Step(/*margin_holds=*/true), "")
          << "seed " << seed + walk << " step " << step;
    }
    kept += cluster.kept();
    held += cluster.held();
    checked += cluster.checked();
    removed += cluster.removed();
    greedy += cluster.greedy();
  }
  EXPECT_GT(kept, removed / 3);
  EXPECT_GT(removed, 100U);
  EXPECT_GT(greedy, 0U);
  EXPECT_GT(held, 0U);
  EXPECT_GT(checked, 0U);
}

TEST(StablePlannerRandomTest, RepairsWithoutTheGreedyPlanBeside) {
  const uint64_t seed = test::RandomSeed();
  for (uint64_t walk = 0; walk < test::Rounds(kWalks / 4); ++walk) {
    Walk cluster(seed + walk, {.margin = 0, .greedy_every = 0, .verify_every = 1});
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_EQ(cluster.Step(/*margin_holds=*/false), "")
          << "seed " << seed + walk << " step " << step;
    }
  }
}

}  // namespace
}  // namespace ebb::stable_planner_test
