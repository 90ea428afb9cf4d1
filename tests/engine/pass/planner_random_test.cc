// The planner compared with its slow twin, over random clusters and several passes each: the plans
// and the memory after each pass must be equal.

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/pass/planner.h"
#include "engine/verify/verify.h"
#include "gtest/gtest.h"
#include "tests/support/planner_twin.h"
#include "tests/support/random_apps.h"
#include "tests/support/random_seed.h"
#include "tests/support/sanitized.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::planner_random_test {
namespace {

using test::App;
using test::Budget;
using test::Cluster;
using test::Dice;
using test::kHostname;
using test::Name;
using test::Node;
using test::Pod;
using test::RandomNode;

constexpr int64_t kNow = 1'000'000;
// One cluster, and its changes between passes.
class Scenario {
 public:
  explicit Scenario(uint64_t seed) : dice_(seed) {
    const int nodes = dice_.Percent(70) ? 1 + dice_.Below(12) : 60 + dice_.Below(80);
    Fill(nodes);
  }

  // `open` nodes may have room; `full` nodes have none, so a search must skip whole words.  Few
  // nodes are candidates, because the twin is slow.
  Scenario(uint64_t seed, int open, int full) : dice_(seed), candidates_max_(15) {
    for (int n = 0; n < full; ++n) {
      nodes_.push_back(Node(Name("f", n)).Label(kHostname, Name("f", n)).Cpu(1000));
      nodes_.back().Memory(test::kGiB);
      pods_.push_back(Pod(Name("filler", n)).On(Name("f", n)).Cpu(980).Memory(test::kMiB));
    }
    Fill(open);
    for (size_t n = nodes_.size(); n-- > 1;) {
      std::swap(nodes_[n], nodes_[static_cast<size_t>(dice_.Below(static_cast<int>(n) + 1))]);
    }
    Rebuild();
  }

  void Fill(int nodes) {
    for (int n = 0; n < nodes; ++n) {
      nodes_.push_back(RandomNode(n, dice_));
      objects::Node& node = nodes_.back().raw;
      if (dice_.Percent(20)) node.meta.creation_time = kNow - dice_.Below(1200);
      if (dice_.Percent(3)) node.meta.deletion_time = kNow;
      if (dice_.Percent(3)) nodes_.back().Taint("karpenter.sh/disrupted", "", "PreferNoSchedule");
      if (dice_.Percent(3)) nodes_.back().Taint("karpenter.sh/unregistered", "", "NoExecute");
      if (dice_.Percent(10)) nodes_.back().Label("karpenter.sh/nodepool", "p");
    }
    std::vector<App> apps;
    for (int a = 0; a < 2 + dice_.Below(8); ++a) apps.emplace_back(a, dice_);
    const int pods = dice_.Below(nodes * 6 + 1);
    for (int p = 0; p < pods; ++p) {
      Pod pod = dice_.Of(apps).Make(p, dice_);
      if (!dice_.Percent(4)) pod.On(Name("n", dice_.Below(nodes)));
      pods_.push_back(pod);
    }
    for (const App& app : apps) {
      if (!dice_.Percent(25)) continue;
      budgets_.push_back(Budget(app.name)
                             .In(app.namespace_name)
                             .Matching("app", app.name)
                             .Allows(dice_.Below(12)));
    }
    options_.scale_down_utilization_threshold = dice_.Percent(50) ? 0.5 : 2;
    options_.unremovable_node_recheck_timeout_s = dice_.Percent(50) ? 10 : 300;
    options_.drain.skip_nodes_with_system_pods = dice_.Percent(50);
    options_.ignore_daemonsets_utilization = dice_.Percent(20);
    twin_ = std::make_unique<test::PlannerTwin>(options_);
    planner_ = std::make_unique<Planner>(options_);
    Rebuild();
  }

  // Makes a pass with both.  Returns "" or how they differ.
  std::string Compare() {
    if (asked_ && dice_.Percent(60)) {
      now_s_ += dice_.Percent(70) ? 400 : 5;  // The same input again.
    } else {
      Change();
      Ask();
    }
    PassInput input = input_;
    input.now_s = now_s_;

    const std::string before = snapshot_.Fingerprint();
    const Plan plan = planner_->Pass(snapshot_, groups_, input).value();
    const Plan expected = twin_->Pass(snapshot_, groups_, input);
    if (snapshot_.Fingerprint() != before) return "the pass changed the snapshot";
    if (const absl::Status sound = snapshot_.CheckInvariants(); !sound.ok()) {
      return std::string(sound.message());
    }
    const std::string text = test::PlanText(snapshot_, plan);
    const std::string expected_text = test::PlanText(snapshot_, expected);
    if (text != expected_text) return "plan:\n" + text + "twin:\n" + expected_text;
    const std::string memory = test::MemoryText(planner_->Save());
    const std::string expected_memory = test::MemoryText(twin_->Save());
    if (memory != expected_memory) return "memory:\n" + memory + "twin:\n" + expected_memory;
    if (const absl::Status valid = Verify(snapshot_, groups_, options_, input, plan); !valid.ok()) {
      return std::string(valid.message());
    }

    repeated_ = planner_->repeated_passes();
    removed_ += plan.remove.size();
    for (const RemovableNode& node : plan.remove) moved_ += node.moves.size();
    for (const UnremovableNode& node : plan.keep) {
      no_place_ += node.reason == UnremovableReason::kNoPlaceToMovePods ? 1 : 0;
      blocked_ += node.reason == UnremovableReason::kBlockedByPod ? 1 : 0;
      over_share_ += node.blocking_reason == BlockingPodReason::kWorkloadShareReached ? 1 : 0;
    }
    return "";
  }

  [[nodiscard]] size_t repeated() const { return repeated_; }
  [[nodiscard]] size_t removed() const { return removed_; }
  [[nodiscard]] size_t moved() const { return moved_; }
  [[nodiscard]] size_t no_place() const { return no_place_; }
  [[nodiscard]] size_t blocked() const { return blocked_; }
  [[nodiscard]] size_t over_share() const { return over_share_; }

 private:
  // Draws the input of a pass.
  void Ask() {
    asked_ = true;
    input_ = PassInput();
    candidates_.clear();
    for (uint32_t n = 0; n < snapshot_.catalog().nodes(); ++n) candidates_.push_back(NodeId{n});
    for (size_t i = candidates_.size(); i-- > 1 && !ordered_;) {
      std::swap(candidates_[i],
                candidates_[static_cast<size_t>(dice_.Below(static_cast<int>(i) + 1))]);
    }
    if (candidates_.size() > candidates_max_) {
      std::ranges::stable_partition(candidates_, [&](NodeId node) {
        return snapshot_.catalog().NodeName(node).starts_with("n");  // A node that is not full.
      });
      candidates_.resize(candidates_max_);
    }
    input_.candidates = candidates_;
    destinations_ = snapshot_.alive();
    for (const NodeId node : candidates_) {
      if (dice_.Percent(20)) destinations_.Erase(node);
    }
    if (dice_.Percent(20)) input_.destinations = &destinations_;
    in_deletion_.clear();
    for (uint32_t n = 0; n < snapshot_.catalog().nodes(); ++n) {
      if (dice_.Percent(20)) in_deletion_.push_back(NodeId{n});
    }
    if (dice_.Percent(20)) input_.in_deletion = in_deletion_;
    if (dice_.Percent(10)) input_.unneeded_limit = static_cast<size_t>(dice_.Below(6));
    if (dice_.Percent(15)) input_.max_workload_share = 0.01 * (1 + dice_.Below(60));
    pending_.clear();
    evicting_.clear();
    for (uint32_t p = 0; p < snapshot_.catalog().pods(); ++p) {
      if (snapshot_.NodeOf(PodId{p}) == kNoNode) {
        pending_.push_back(PodId{p});
      } else if (dice_.Percent(2)) {
        evicting_.push_back(PodId{p});
      }
    }
    input_.pending = pending_;
    if (dice_.Percent(10)) input_.must_fit = pending_.size();
    if (dice_.Percent(30)) input_.evicting = evicting_;
  }

  // Builds another snapshot with the same Symbols, without some nodes and pods.
  void Rebuild() {
    Cluster cluster(symbols_);
    std::vector<std::string> gone;
    for (const Node& node : nodes_) {
      if (dice_.Percent(4) && gone.size() + 1 < nodes_.size()) {
        gone.emplace_back(node.raw.meta.name);
      } else {
        cluster.Add(node);
      }
    }
    for (const Pod& pod : pods_) {
      if (!dice_.Percent(4) && std::ranges::count(gone, pod.raw.node_name) == 0) cluster.Add(pod);
    }
    for (const Budget& budget : budgets_) cluster.Add(budget);
    snapshot_ = cluster.Build();

    groups_ = NodeGroups();
    groups_.groups.resize(2);
    groups_.groups[0].name = "one";
    groups_.groups[1].name = "whole";
    groups_.groups[1].atomic = true;
    if (dice_.Percent(50)) groups_.groups[1].managed_by = PoolManager::kKarpenter;
    for (uint32_t n = 0; n < snapshot_.catalog().nodes(); ++n) {
      groups_.group_of.push_back(n % 11 == 7 ? kNoGroup : GroupId{n % 5 == 3 ? 1u : 0u});
      groups_.gpu_label.push_back(n % 13 == 5);
      groups_.not_ready.push_back(n % 6 == 1 ? NotReadyReason::kStartupTaint
                                             : NotReadyReason::kNone);
    }
    groups_.groups[0].scaling_up = dice_.Percent(50);
    if (dice_.Percent(50)) groups_.max_node_startup_time_s = 900;
  }

  // Changes the cluster between two passes.
  void Change() {
    now_s_ += dice_.Percent(50) ? 5 : 400;
    ordered_ = dice_.Percent(50);
    if (dice_.Percent(30)) Rebuild();
    if (dice_.Percent(40)) return;
    const auto nodes = static_cast<int>(snapshot_.catalog().nodes());
    if (dice_.Percent(30)) {
      const NodeId node{static_cast<uint32_t>(dice_.Below(nodes))};
      if (!snapshot_.Contains(node)) {
        snapshot_.AddNode(node);
      } else if (snapshot_.nodes() > 1) {
        snapshot_.RemoveNode(node);
      }
    }
    for (uint32_t p = 0; p < snapshot_.catalog().pods(); ++p) {
      if (!dice_.Percent(5)) continue;
      if (snapshot_.NodeOf(PodId{p}) != kNoNode) snapshot_.RemovePod(PodId{p});
      const NodeId to{static_cast<uint32_t>(dice_.Below(nodes))};
      if (dice_.Percent(80) && snapshot_.Contains(to)) snapshot_.AddPod(PodId{p}, to);
    }
  }

  Dice dice_;
  std::vector<Node> nodes_;
  std::vector<Pod> pods_;
  std::vector<Budget> budgets_;
  PlannerOptions options_;
  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  ClusterSnapshot snapshot_;
  NodeGroups groups_;
  std::unique_ptr<Planner> planner_;
  std::unique_ptr<test::PlannerTwin> twin_;
  PassInput input_;  // Without the time.
  bool asked_ = false;
  size_t candidates_max_ = std::numeric_limits<size_t>::max();
  std::vector<NodeId> candidates_;
  NodeSet destinations_;
  std::vector<PodId> pending_, evicting_;
  std::vector<NodeId> in_deletion_;
  int64_t now_s_ = kNow;
  bool ordered_ = true;
  size_t removed_ = 0, moved_ = 0, no_place_ = 0, blocked_ = 0, repeated_ = 0, over_share_ = 0;
};

TEST(PlannerRandomTest, DecidesAsItsSlowTwinAmongThousandsOfNodes) {
  const uint64_t first = test::RandomSeed();
  size_t moved = 0;
  for (uint64_t seed = first * 1'000'000; seed < first * 1'000'000 + 3; ++seed) {
    Scenario scenario(seed, /*open=*/60, /*full=*/4300);
    for (int pass = 0; pass < 3; ++pass) {
      ASSERT_EQ(scenario.Compare(), "") << "scenario " << seed << ", pass " << pass;
    }
    moved += scenario.moved();
  }
  EXPECT_GT(moved, 0u);
}

TEST(PlannerRandomTest, DecidesAsItsSlowTwin) {
  const uint64_t first = test::RandomSeed();
  constexpr uint64_t kScenarios = test::Rounds(200);
  size_t removed = 0, moved = 0, no_place = 0, blocked = 0, repeated = 0, over_share = 0;
  for (uint64_t seed = first * 1'000'000; seed < first * 1'000'000 + kScenarios; ++seed) {
    Scenario scenario(seed);
    for (int pass = 0; pass < 8; ++pass) {
      ASSERT_EQ(scenario.Compare(), "") << "scenario " << seed << ", pass " << pass;
    }
    removed += scenario.removed();
    moved += scenario.moved();
    no_place += scenario.no_place();
    blocked += scenario.blocked();
    repeated += scenario.repeated();
    over_share += scenario.over_share();
  }
  // Every outcome occurs often, whatever the seed.
  EXPECT_GT(removed, 5 * kScenarios);
  EXPECT_GT(moved, 5 * kScenarios);
  EXPECT_GT(no_place, kScenarios);
  EXPECT_GT(blocked, 5 * kScenarios);
  EXPECT_GT(repeated, kScenarios / 2);
  EXPECT_GT(over_share, kScenarios / 4);
}

}  // namespace
}  // namespace ebb::planner_random_test
