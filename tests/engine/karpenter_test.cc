// Karpenter's rules in plans: which nodes they keep, where pods may go, and how many nodes of a
// NodePool go at a time.  Each plan is verified by the verifier's own code.

#include "engine/plan/karpenter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/make_plan.h"
#include "engine/plan/node_standing.h"
#include "engine/verify/slow_node_pools.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::karpenter_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Keep;
using test::Node;
using test::Pod;
using ::testing::HasSubstr;

constexpr int64_t kNow = 1'795'867'200;  // 2026-11-28T12:00:00Z, a Saturday.

objects::NodePool Pool(std::string_view name = "p") {
  objects::NodePool pool;
  pool.meta.name = name;
  pool.policy = "WhenEmptyOrUnderutilized";
  pool.consolidate_after = "0s";
  pool.has_budgets = true;
  return pool;
}

objects::NodePool::Budget Allows(std::string_view nodes) {
  objects::NodePool::Budget budget;
  budget.nodes = nodes;
  return budget;
}

objects::NodePool::Budget Allows(std::string_view nodes, std::string_view schedule,
                                 std::string_view duration) {
  objects::NodePool::Budget budget = Allows(nodes);
  budget.schedule = schedule;
  budget.duration = duration;
  return budget;
}

objects::NodePool::Budget For(std::string_view reason, std::string_view nodes) {
  objects::NodePool::Budget budget = Allows(nodes);
  budget.has_reasons = true;
  budget.reasons = {reason};
  return budget;
}

objects::NodeClaim Claim(std::string_view node) {
  objects::NodeClaim claim;
  claim.meta.name = Keep("claim-" + std::string(node));
  claim.node_name = Keep(node);
  claim.conditions = {{"Initialized", "True", 1}, {"Consolidatable", "True", 1}};
  return claim;
}

Node Of(std::string_view name, std::string_view pool = "p") {
  return Node(name)
      .Label("karpenter.sh/nodepool", pool)
      .Label("karpenter.sh/registered", "true")
      .Label("karpenter.sh/initialized", "true");
}

class KarpenterTest : public ::testing::Test {
 protected:
  // "a: p>b; b:" of the plan; nodes are tried in the order of the input.
  std::string Plan(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    groups_.groups[0].managed_by = PoolManager::kKarpenterRules;
    groups_.ebb_consolidates = ebb_consolidates_;
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = kNow;
    request_.pass.pending = {};
    absl::StatusOr<PlanResult> made = MakePlan(*snapshot_, groups_, request_);
    EXPECT_TRUE(made.ok()) << made.status();
    if (!made.ok()) return "";
    made_ = *std::move(made);
    kept_ = test::Kept(*snapshot_, made_.plan);
    return test::Removals(*snapshot_, made_.plan);
  }

  // What the verifier says of a plan that also removes `node`, with its pods on `to`.
  std::string Refused(std::string_view node, std::string_view to) {
    ebb::Plan plan;
    RemovableNode& removal = plan.remove.emplace_back();
    removal.node = test::NodeNamed(*snapshot_, node);
    for (const PodId pod : snapshot_->PodsOn(removal.node)) {
      removal.moves.push_back({pod, test::NodeNamed(*snapshot_, to)});
    }
    for (const Pdb& pdb : snapshot_->catalog().pdbs()) {
      plan.pdb_remaining.push_back(pdb.disruptions_allowed);
    }
    PassInput input = request_.pass;
    const std::vector<NodeId> candidates = {removal.node};
    input.candidates = candidates;
    const absl::Status status = Verify(*snapshot_, groups_, request_.planner, input, plan);
    return std::string(status.message());
  }

  bool ebb_consolidates_ = false;  // RuleSet::kDelegated.
  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  PlanResult made_;
  std::string kept_;
};

// A pod of 100m on a; b has room.
Cluster Two() {
  Cluster cluster;
  cluster.Add(Of("a").Cpu(1000)).Add(Of("b").Cpu(4000));
  cluster.Add(Pod("w").On("a").Cpu(100)).Add(Pod("f").On("b").Cpu(3000));
  return cluster;
}

// The reason that keeps a; "": a goes.
std::string ReasonOf(const std::string& kept) {
  const size_t at = kept.find("a=");
  return at == std::string::npos ? "" : kept.substr(at + 2, kept.find(' ', at) - at - 2);
}

TEST_F(KarpenterTest, RulesOfTheAutoscalerDoNotHold) {
  // More than half of a is requested, by a pod that nothing controls, has local storage and is
  // annotated for the autoscaler.  The group may not get smaller by the autoscaler's rules.
  Cluster cluster;
  cluster.Add(
      Of("a").Cpu(1000).Annotation("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"));
  cluster.Add(Of("b").Cpu(4000)).Add(Pod("f").On("b").Cpu(3000));
  cluster.Add(Pod("w").On("a").Cpu(900).WithoutOwner().SafeToEvict("false").Volume("emptyDir"));
  EXPECT_EQ(Plan(cluster), "a: w>b");
}

TEST_F(KarpenterTest, WithoutObjectsOfKarpenterTheOtherRulesHold) {
  EXPECT_EQ(Plan(Two()), "a: w>b");
  EXPECT_EQ(Plan(Two().Add(Pod("x").On("a").Annotation("karpenter.sh/do-not-disrupt", "true"))),
            "");
  EXPECT_THAT(kept_, HasSubstr("a=BlockedByPod"));
  EXPECT_EQ(
      Plan(Cluster().Add(Of("a").Annotation("karpenter.sh/do-not-disrupt", "true")).Add(Of("b"))),
      "b:");
  EXPECT_EQ(ReasonOf(kept_), "ScaleDownDisabledAnnotation");
}

TEST_F(KarpenterTest, TheNodePoolMustBeInTheInputAndAllowConsolidation) {
  EXPECT_EQ(Plan(Two().Add(Pool("other"))), "");
  EXPECT_EQ(ReasonOf(kept_), "NodePoolNotFound");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("node \"a\" has no NodePool"));

  objects::NodePool pool = Pool();
  EXPECT_EQ(Plan(Two().Add(pool)), "a: w>b");
  pool.consolidate_after = "Never";
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "ConsolidationDisabled");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("is never consolidated"));
  pool.consolidate_after = "soon";
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "ConsolidationDisabled");

  pool = Pool();
  pool.is_static = true;
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "StaticNodePool");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("is of a static NodePool"));
}

// Symptom: ebb consolidates in Karpenter's place, and Karpenter's own rules keep every node for it.
TEST_F(KarpenterTest, NodePoolsThatLeaveConsolidationToEbbAreConsolidatedByEbb) {
  ebb_consolidates_ = true;
  objects::NodePool pool = Pool();
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "ConsolidationPolicyNotEvaluated");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("is consolidated by Karpenter"));
  pool.policy = "WhenEmpty";
  EXPECT_EQ(Plan(Two().Add(pool)), "a: w>b");
  // These are for Karpenter.
  pool.consolidate_after = "1h";
  objects::NodeClaim claim = Claim("a");
  claim.last_pod_event = kNow - 1;
  claim.conditions = {{"Initialized", "True", 1}};
  objects::NodeClaim other = Claim("b");
  other.last_pod_event = kNow - 1;
  EXPECT_EQ(Plan(Two().Add(pool).Add(claim).Add(other)), "a: w>b");
  pool.policy = "WhenEmptyOrUnderutilized";
  pool.consolidate_after = "Never";
  EXPECT_EQ(Plan(Two().Add(pool)), "a: w>b");
  // Its budgets hold.
  pool.budgets = {For("Underutilized", "0")};
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "UnderutilizedBudgetReached");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("beyond the budgets"));
  pool.budgets = {};
  pool.is_static = true;
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "StaticNodePool");
}

TEST_F(KarpenterTest, WithWhenEmptyOnlyEmptyNodesGo) {
  objects::NodePool pool = Pool();
  pool.policy = "WhenEmpty";
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "NodeNotEmpty");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("is not empty"));
  Cluster empty;
  empty.Add(Of("a").Cpu(1000)).Add(Of("b")).Add(Pod("f").On("b").Cpu(100));
  empty.Add(Pod("d").On("a").DaemonSet()).Add(Pod("m").On("a").Mirror());
  empty.Add(Pod("ended").On("a").Phase("Succeeded"));
  empty.Add(Pod("leaves").On("a").DeletedAt(kNow - 1));
  EXPECT_EQ(Plan(Cluster(empty).Add(pool)), "a:");
  // Karpenter counts nothing for such a pod, which finds room nevertheless.
  EXPECT_EQ(Plan(Cluster(empty).Add(Pod("low").On("a").Priority(-(1 << 25))).Add(pool)),
            "a: low>b");
  // A pod that came from a removed node makes a node not empty.
  objects::NodePool other = Pool("q");
  Cluster guest;
  guest.Add(Of("x", "q").Cpu(1000)).Add(Of("a").Cpu(1000)).Add(Of("z").Cpu(1000).Unschedulable());
  guest.Add(Pod("w").On("x").Cpu(100)).Add(pool).Add(other);
  EXPECT_EQ(Plan(guest), "x: w>a; z:");
  EXPECT_EQ(ReasonOf(kept_), "NodeNotEmpty");
}

TEST_F(KarpenterTest, APolicyThatIsNotEvaluatedKeepsNodesThatAreNotEmpty) {
  objects::NodePool pool = Pool();
  pool.policy = "Balanced";
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "ConsolidationPolicyNotEvaluated");
}

TEST_F(KarpenterTest, TheNodeClaimMustBeInTheInputAndConsolidatable) {
  EXPECT_EQ(Plan(Two().Add(Pool()).Add(Claim("b"))), "");
  EXPECT_EQ(ReasonOf(kept_), "NodeClaimNotFound");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("is not managed by Karpenter"));
  EXPECT_EQ(Plan(Two().Add(Pool()).Add(Claim("a")).Add(Claim("b"))), "a: w>b");

  objects::NodeClaim claim = Claim("a");
  claim.conditions[1].status = "False";
  EXPECT_EQ(Plan(Two().Add(Pool()).Add(claim)), "");
  EXPECT_EQ(ReasonOf(kept_), "NotConsolidatable");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("is not consolidatable"));

  claim = Claim("a");
  claim.conditions.push_back({"InstanceTerminating", "True", 1});
  EXPECT_EQ(Plan(Two().Add(Pool()).Add(claim).Add(Claim("b"))), "");
  EXPECT_EQ(WhyLeaving(snapshot_->catalog(), test::NodeNamed(*snapshot_, "a")),
            "on NodeClaim claim-a, which is being deleted");
}

TEST_F(KarpenterTest, ANodeThatIsNotInitializedStays) {
  Cluster cluster;
  cluster
      .Add(Node("a").Label("karpenter.sh/nodepool", "p").Label("karpenter.sh/registered", "true"))
      .Add(Of("b"));
  // Nor do pods of removed nodes go there, whatever the time to start.
  EXPECT_EQ(Plan(Cluster(cluster).Add(Pod("f").On("b"))), "");
  EXPECT_EQ(ReasonOf(kept_), "NodeNotInitialized");
  EXPECT_THAT(kept_, HasSubstr("b=NoPlaceToMovePods"));
  EXPECT_THAT(Refused("b", "a"), HasSubstr("or not initialized"));
  // Without Karpenter's labels, its conditions decide.
  Cluster unlabelled;
  unlabelled.Add(Node("a").Label("karpenter.sh/nodepool", "p")).Add(Of("b"));
  EXPECT_EQ(Plan(Cluster(unlabelled).Add(Pod("f").On("b"))), "a:");
  objects::NodeClaim claim = Claim("a");
  EXPECT_EQ(Plan(Cluster(unlabelled).Add(Pod("f").On("b")).Add(claim)), "");
  EXPECT_EQ(ReasonOf(kept_), "NodeNotInitialized");
}

TEST_F(KarpenterTest, UnderConsolidateAfterANodeIsNeitherCandidateNorDestination) {
  objects::NodePool pool = Pool();
  pool.consolidate_after = "30m";
  objects::NodeClaim young = Claim("b");
  const auto cluster = [&] { return Cluster(Two()).Add(pool).Add(Claim("a")).Add(young); };
  young.last_pod_event = kNow - 1799;
  EXPECT_EQ(Plan(cluster()), "");
  EXPECT_EQ(ReasonOf(kept_), "NoPlaceToMovePods");
  EXPECT_THAT(kept_, HasSubstr("b=NotConsolidatable"));
  EXPECT_THAT(Refused("a", "b"), HasSubstr("moves to node \"b\", which is under consolidateAfter"));
  young.last_pod_event = kNow - 1800;
  EXPECT_EQ(Plan(cluster()), "a: w>b");
  // The time since the initialization counts if no pod came or went.
  young.last_pod_event.reset();
  young.conditions[0].since = kNow - 60;
  EXPECT_EQ(Plan(cluster()), "");
  EXPECT_EQ(
      UnderConsolidateAfterUntil(snapshot_->catalog(), test::NodeNamed(*snapshot_, "b"), kNow),
      kNow + 1740);
  // Pods that wait for a node may go there.
  young.last_pod_event = kNow - 1;
  snapshot_.emplace(cluster().Add(Pod("new").Cpu(500).Phase("Pending")).Build());
  const std::vector<PodId> pending = {test::PodNamed(*snapshot_, "new")};
  groups_ = test::OneGroup(*snapshot_);
  groups_.groups[0].managed_by = PoolManager::kKarpenterRules;
  request_.pass.pending = pending;
  const auto made = MakePlan(*snapshot_, groups_, request_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->plan.packed.size(), 1u);
}

// --- Pods ----------------------------------------------------------------------------------

TEST_F(KarpenterTest, ABudgetOfPodsKeepsTheNodeAlsoForADaemonSetsPod) {
  const auto with = [](Pod pod, int64_t allowed) {
    Cluster cluster;
    cluster.Add(Of("a").Cpu(1000)).Add(Of("b")).Add(Pod("f").On("b").Cpu(2000));
    cluster.Add(pod.On("a").Label("app", "w"));
    return cluster.Add(Budget("w").Matching("app", "w").Allows(allowed));
  };
  EXPECT_EQ(Plan(with(Pod("w"), 1)), "a: w>b");
  EXPECT_EQ(Plan(with(Pod("w"), 0)), "");
  EXPECT_EQ(Plan(with(Pod("d").DaemonSet(), 1)), "a:");
  EXPECT_EQ(Plan(with(Pod("d").DaemonSet(), 0)), "");
  EXPECT_THAT(kept_, HasSubstr("a=BlockedByPod"));
  EXPECT_EQ(Plan(with(Pod("m").Mirror(), 0)), "a:");
  EXPECT_EQ(Plan(with(Pod("e").Phase("Failed"), 0)), "a:");
  EXPECT_EQ(Plan(with(Pod("t").DeletedAt(kNow), 0)), "a:");
  // A pod that tolerates Karpenter's taint is not evicted.
  EXPECT_EQ(Plan(with(Pod("t").ToleratesKey("karpenter.sh/disrupted"), 0)), "a: t>b");
  EXPECT_EQ(Plan(with(Pod("t").ToleratesEverything(), 0)), "a: t>b");
}

TEST_F(KarpenterTest, TwoBudgetsOverOnePodKeepTheNode) {
  Cluster cluster = Two();
  cluster.Add(Budget("x").MatchingEverything().Allows(9));
  EXPECT_EQ(Plan(cluster), "a: w>b");
  EXPECT_EQ(Plan(cluster.Add(Budget("y").MatchingEverything().Allows(9))), "");
  EXPECT_EQ(made_.plan.keep[0].blocking_reason, BlockingPodReason::kSeveralPdbs);
  EXPECT_THAT(Refused("a", "b"), HasSubstr("several budgets select pod \"default/w\""));
}

TEST_F(KarpenterTest, AnUnreadyPodGoesIfItsBudgetAlwaysAllowsThat) {
  const auto with = [](bool always, bool unready) {
    Budget budget = Budget("w").MatchingEverything();
    budget.raw.always_allows_unready = always;
    Cluster cluster;
    cluster.Add(Of("a").Cpu(1000)).Add(Node("b"));
    return cluster.Add(Pod("w").On("a").With([&](auto& pod) { pod.unready = unready; }))
        .Add(budget);
  };
  EXPECT_EQ(Plan(with(true, true)), "a: w>b");
  EXPECT_EQ(Plan(with(true, false)), "");
  EXPECT_EQ(Plan(with(false, true)), "");
}

TEST_F(KarpenterTest, ATerminatingPodOfAStatefulSetNeedsRoom) {
  const auto with = [](Pod pod) {
    Cluster cluster;
    cluster.Add(Of("a").Cpu(1000)).Add(Node("b").Cpu(100));
    return cluster.Add(pod.On("a").Cpu(500).DeletedAt(kNow));
  };
  EXPECT_EQ(Plan(with(Pod("s").OwnedBy("StatefulSet", "s"))), "");
  EXPECT_EQ(Plan(with(Pod("r"))), "a:");
}

// --- Budgets of NodePools -------------------------------------------------------------------

// Ten empty nodes, n0 to n9.
Cluster Ten() {
  Cluster cluster;
  for (int n = 0; n < 10; ++n) cluster.Add(Of(Keep("n" + std::to_string(n))));
  return cluster;
}

TEST_F(KarpenterTest, TheTightestOpenBudgetHoldsAndPercentagesAreRoundedUp) {
  const auto removed = [&](std::vector<objects::NodePool::Budget> budgets) {
    objects::NodePool pool = Pool();
    pool.budgets = std::move(budgets);
    Plan(Ten().Add(pool));
    return made_.plan.remove.size();
  };
  EXPECT_EQ(removed({}), 10u);
  EXPECT_EQ(removed({Allows("3")}), 3u);
  EXPECT_EQ(removed({Allows("11%")}), 2u);
  EXPECT_EQ(removed({Allows("10%")}), 1u);
  EXPECT_EQ(removed({Allows("0")}), 0u);
  EXPECT_THAT(kept_, HasSubstr("n0=EmptyBudgetReached"));
  EXPECT_EQ(removed({Allows("5"), Allows("20%"), Allows("9")}), 2u);
  EXPECT_EQ(removed({For("Empty", "4"), For("Underutilized", "1")}), 4u);
  EXPECT_EQ(removed({For("Drifted", "0"), Allows("6")}), 6u);
  // It is noon, on a Saturday.
  EXPECT_EQ(removed({Allows("0", "0 11 * * *", "1h")}), 10u);
  EXPECT_EQ(removed({Allows("0", "0 11 * * *", "61m")}), 0u);
  EXPECT_EQ(removed({Allows("0", "0 12 * * *", "1m")}), 0u);
  EXPECT_EQ(removed({Allows("0", "0 9 * * mon-fri", "8h")}), 10u);
  EXPECT_EQ(removed({Allows("0", "@daily", "12h1m")}), 0u);
  EXPECT_EQ(removed({Allows("7"), Allows("1", "0 9 * * sat", "8h")}), 1u);
  objects::NodePool pool = Pool();
  pool.has_budgets = false;
  Plan(Ten().Add(pool));
  EXPECT_EQ(made_.plan.remove.size(), 1u) << "10% is the API server's default";
}

TEST_F(KarpenterTest, ABudgetThatIsNotUnderstoodKeepsAllNodes) {
  objects::NodePool pool = Pool();
  const std::pair<objects::NodePool::Budget, std::string_view> budgets[] = {
      {Allows("many"), "budgets[0].nodes: \"many\" is neither a number nor a percentage"},
      {Allows("5", "0 25 * * *", "1h"), "budgets[0].schedule: not a cron expression: hour \"25\""},
      {Allows("5", "@daily", "soon"), "budgets[0].duration: \"soon\" is not a duration"},
  };
  for (const auto& [budget, problem] : budgets) {
    pool.budgets = {budget};
    EXPECT_EQ(Plan(Ten().Add(pool)), "") << problem;
    EXPECT_THAT(kept_, HasSubstr("n0=EmptyBudgetReached"));
    EXPECT_THAT(NodePoolBudgets(*snapshot_, groups_, {}, kNow).allowances().at("p").problem,
                HasSubstr(std::string(problem)));
  }
  objects::NodePool::Budget without_schedule = Allows("5");
  without_schedule.duration = "1h";
  pool.budgets = {without_schedule};
  EXPECT_EQ(Plan(Ten().Add(pool)), "");
}

TEST_F(KarpenterTest, NodesThatAreNotReadyOrLeaveUseUpTheBudget) {
  objects::NodePool pool = Pool();
  pool.budgets = {Allows("3")};
  Cluster cluster;
  cluster.Add(Of("down").NotReady());
  cluster.Add(Of("goes").Taint("karpenter.sh/disrupted"));
  for (int n = 0; n < 8; ++n) cluster.Add(Of(Keep("n" + std::to_string(n))));
  EXPECT_EQ(Plan(Cluster(cluster).Add(pool)), "down:") << "one of three is left";
  const NodePoolBudgets::Allowance of_pool =
      NodePoolBudgets(*snapshot_, groups_, {}, kNow).allowances().at("p");
  EXPECT_EQ(of_pool.nodes, 10);
  EXPECT_EQ(of_pool.disrupting, 2);
  const std::vector<NodeId> in_deletion = {test::NodeNamed(*snapshot_, "n0")};
  EXPECT_EQ(NodePoolBudgets(*snapshot_, groups_, in_deletion, kNow)
                .allowances()
                .at("p")
                .Left(DisruptionReason::kEmpty),
            0);
}

TEST_F(KarpenterTest, NodesThatAreNotSetUpDoNotCount) {
  Cluster cluster = Two();
  cluster.Add(
      Node("c").Label("karpenter.sh/nodepool", "p").Label("karpenter.sh/registered", "true"));
  objects::NodeClaim terminating = Claim("b");
  terminating.conditions.push_back({"InstanceTerminating", "True", 1});
  Plan(cluster.Add(Pool()).Add(Claim("a")).Add(terminating));
  EXPECT_EQ(NodePoolBudgets(*snapshot_, groups_, {}, kNow).allowances().at("p").nodes, 1);
}

TEST_F(KarpenterTest, BothReasonsShareWhatIsBeingDisrupted) {
  objects::NodePool pool = Pool();
  pool.budgets = {For("Empty", "1"), For("Underutilized", "2")};
  Cluster cluster;
  cluster.Add(Of("e0").Cpu(1000)).Add(Of("e1").Cpu(1000));
  cluster.Add(Of("u0").Cpu(1000)).Add(Of("u1").Cpu(1000)).Add(Node("room").Cpu(9000));
  cluster.Add(Pod("p0").On("u0").Cpu(900)).Add(Pod("p1").On("u1").Cpu(900));
  cluster.Add(Pod("f").On("room").Cpu(900).Annotation("karpenter.sh/do-not-disrupt", "true"));
  EXPECT_EQ(Plan(cluster.Add(pool)), "e0:; u0: p0>room");
  EXPECT_THAT(kept_, HasSubstr("e1=EmptyBudgetReached"));
  EXPECT_THAT(kept_, HasSubstr("u1=UnderutilizedBudgetReached"));
}

// A pod that the plan brings to an empty node is not there yet.  To Karpenter the node is empty.
TEST_F(KarpenterTest, AnEmptyNodeNeedsTheBudgetForEmptyNodesWhateverComes) {
  objects::NodePool pool = Pool();
  const auto plan = [&] {
    Cluster cluster;
    cluster.Add(Of("c").Cpu(1000)).Add(Of("a").Cpu(1000)).Add(Node("b").Cpu(1000)).Add(pool);
    cluster.Add(Pod("w").On("c").Cpu(500));
    cluster.Add(Pod("f").On("b").Cpu(100).Annotation("karpenter.sh/do-not-disrupt", "true"));
    return Plan(cluster);
  };
  pool.budgets = {For("Empty", "0")};
  EXPECT_EQ(plan(), "c: w>a");
  EXPECT_EQ(ReasonOf(kept_), "EmptyBudgetReached");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("beyond the budgets"));
  pool.budgets = {For("Underutilized", "1")};
  EXPECT_EQ(plan(), "c: w>a") << "when the pod has come, the node is not empty";
  EXPECT_EQ(ReasonOf(kept_), "UnderutilizedBudgetReached");
  pool.budgets = {For("Underutilized", "2")};
  EXPECT_EQ(plan(), "c: w>a; a: w>b");
}

// Wherever room is kept for a pod that waits.
TEST_F(KarpenterTest, ANodeWithRoomForAPodThatWaitsIsEmpty) {
  objects::NodePool pool = Pool();
  pool.budgets = {For("Empty", "0")};
  for (const bool is_first : {false, true}) {
    Cluster cluster;
    if (is_first) cluster.Add(Of("a").Cpu(1000));
    cluster.Add(Node("b").Cpu(1000));
    if (!is_first) cluster.Add(Of("a").Cpu(1000));
    cluster.Add(Pod("f").On("b").Cpu(100).Annotation("karpenter.sh/do-not-disrupt", "true"));
    snapshot_.emplace(cluster.Add(Pod("waits").Cpu(500)).Add(pool).Build());
    groups_ = test::OneGroup(*snapshot_);
    groups_.groups[0].managed_by = PoolManager::kKarpenterRules;
    const std::vector<PodId> pending = {test::PodNamed(*snapshot_, "waits")};
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = kNow;
    request_.pass.pending = pending;
    const absl::StatusOr<PlanResult> made = MakePlan(*snapshot_, groups_, request_);
    request_.pass.pending = {};
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->plan.packed.size(), 1u);
    EXPECT_EQ(ReasonOf(test::Kept(*snapshot_, made->plan)), "EmptyBudgetReached");
  }
}

TEST_F(KarpenterTest, ABudgetThatIsNeverDueIsAlwaysOpen) {
  objects::NodePool pool = Pool();
  pool.budgets = {Allows("0", "0 0 30 2 *", "1h")};
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "UnderutilizedBudgetReached");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("beyond the budgets"));
  pool.budgets = {Allows("0", "0 0 29 2 *", "1h")};
  EXPECT_EQ(Plan(Two().Add(pool)), "a: w>b");
}

TEST_F(KarpenterTest, NumbersOfBudgetsHaveTheirLower32Bits) {
  objects::NodePool pool = Pool();
  for (const char* const nodes : {"4294967296", "2147483648"}) {
    pool.budgets = {Allows(nodes)};
    EXPECT_EQ(Plan(Two().Add(pool)), "") << nodes;
    EXPECT_THAT(Refused("a", "b"), HasSubstr("beyond the budgets")) << nodes;
  }
  pool.budgets = {Allows("4294967297")};
  EXPECT_EQ(Plan(Two().Add(pool)), "a: w>b");
}

TEST_F(KarpenterTest, ANodeOfSeveralNodeClaimsStays) {
  objects::NodeClaim second = Claim("a");
  second.meta.name = "claim-z";
  EXPECT_EQ(Plan(Two().Add(Pool()).Add(Claim("a")).Add(Claim("b")).Add(second)), "");
  EXPECT_EQ(ReasonOf(kept_), "NodeClaimNotFound");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("has several NodeClaims"));
}

TEST_F(KarpenterTest, ANodePoolThatIsNotUnderstoodKeepsItsNodes) {
  objects::NodePool pool = Pool();
  pool.not_understood = "spec.disruption.paused";
  EXPECT_EQ(Plan(Two().Add(pool)), "");
  EXPECT_EQ(ReasonOf(kept_), "ConsolidationPolicyNotEvaluated");
  EXPECT_THAT(Refused("a", "b"), HasSubstr("is not understood"));
}

// --- The planner and the verifier read NodePools with code of their own ---------------------

std::string_view RandomCron(Random& dice) {
  static constexpr std::string_view kCrons[] = {
      "* * * * *",     "0 12 * * *",   "*/7 * * * *",       "0 9-17 * * mon-fri", "59 11 * * sat",
      "0 0 1 * *",     "30 10 28 * *", "0 12 13 * sat",     "0 */5 * * *",        "@hourly",
      "@daily",        "@weekly",      "@every 30m",        "61 * * * *",         "0 0 * * 7",
      "0 12 28 nov ?", "0 12 * feb *", "1-59/2 11,12 * * *"};
  return kCrons[dice.Below(std::size(kCrons))];
}

objects::NodePool RandomPool(std::string_view name, Random& dice) {
  static constexpr std::string_view kNodes[] = {"0", "1", "2", "5", "10%", "33%", "100%", "x"};
  static constexpr std::string_view kDurations[] = {"1m", "1h", "10h", "24h", "90s", "2h30m"};
  static constexpr std::string_view kAfter[] = {"", "0s", "10m", "1h", "Never"};
  static constexpr std::string_view kPolicies[] = {"", "WhenEmpty", "WhenEmptyOrUnderutilized",
                                                   "WhenEmptyOrUnderutilized"};
  objects::NodePool pool = Pool(name);
  pool.policy = kPolicies[dice.Below(std::size(kPolicies))];
  pool.consolidate_after = kAfter[dice.Below(std::size(kAfter))];
  pool.is_static = dice.Below(20) == 0;
  pool.has_budgets = dice.Below(8) != 0;
  for (uint64_t b = dice.Below(4); pool.has_budgets && b > 0; --b) {
    objects::NodePool::Budget& budget = pool.budgets.emplace_back();
    const uint64_t nodes = dice.Below(dice.Below(20) == 0 ? 8 : 7);
    budget.nodes = kNodes[nodes];
    if (dice.Below(2) == 0) {
      budget.schedule = RandomCron(dice);
      budget.duration = kDurations[dice.Below(std::size(kDurations))];
    }
    budget.has_reasons = dice.Below(3) == 0;
    if (budget.has_reasons && dice.Below(2) == 0) budget.reasons.push_back("Empty");
    if (budget.has_reasons && dice.Below(2) == 0) budget.reasons.push_back("Underutilized");
  }
  return pool;
}

Cluster RandomCluster(Random& dice) {
  Cluster cluster;
  const bool claims = dice.Below(4) != 0;
  const bool pools = dice.Below(6) != 0;
  static constexpr std::string_view kPools[] = {"p", "q", "gone"};
  for (uint64_t n = 0; n < 12; ++n) {
    const std::string_view name = Keep("n" + std::to_string(n));
    Node node(name);
    node.Cpu(2000);
    if (dice.Below(8) != 0) {
      node.Label("karpenter.sh/nodepool", kPools[dice.Below(dice.Below(8) == 0 ? 3 : 2)]);
    }
    if (dice.Below(6) != 0) {
      node.Label("karpenter.sh/registered", "true");
      if (dice.Below(8) != 0) node.Label("karpenter.sh/initialized", "true");
    }
    if (dice.Below(8) == 0) node.NotReady();
    if (dice.Below(12) == 0) node.Taint("karpenter.sh/disrupted");
    if (dice.Below(12) == 0) node.Annotation("karpenter.sh/do-not-disrupt", "true");
    cluster.Add(node);
    if (claims && dice.Below(10) != 0) {
      objects::NodeClaim claim = Claim(name);
      if (dice.Below(8) == 0) claim.conditions.clear();
      if (!claim.conditions.empty() && dice.Below(6) == 0) claim.conditions[1].status = "False";
      if (dice.Below(12) == 0) claim.conditions.push_back({"InstanceTerminating", "True", 1});
      if (dice.Below(2) == 0) {
        claim.last_pod_event = kNow - static_cast<int64_t>(dice.Below(5000));
      }
      cluster.Add(claim);
    }
    for (uint64_t p = dice.Below(4); p > 0; --p) {
      Pod pod(Keep(std::string(name) + "-" + std::to_string(p)));
      pod.On(name).Cpu(100 + 100 * static_cast<int64_t>(dice.Below(8)));
      pod.Label("app", dice.Below(2) == 0 ? "x" : "y");
      switch (dice.Below(12)) {
        case 0:
          pod.DaemonSet();
          break;
        case 1:
          pod.Phase("Succeeded");
          break;
        case 2:
          pod.DeletedAt(kNow - 5);
          break;
        case 3:
          pod.OwnedBy("StatefulSet", "s").DeletedAt(kNow - 5);
          break;
        case 4:
          pod.ToleratesKey("karpenter.sh/disrupted");
          break;
        case 5:
          pod.With([](auto& raw) { raw.unready = true; });
          break;
        case 6:
          pod.Priority(-(1 << 25));
          break;
        default:
          break;
      }
      if (dice.Below(20) == 0) pod.Annotation("karpenter.sh/do-not-disrupt", "true");
      cluster.Add(pod);
    }
  }
  if (pools) cluster.Add(RandomPool("p", dice)).Add(RandomPool("q", dice));
  Budget x = Budget("x").Matching("app", "x").Allows(static_cast<int64_t>(dice.Below(4)));
  x.raw.always_allows_unready = dice.Below(2) == 0;
  cluster.Add(x);
  if (dice.Below(6) == 0) cluster.Add(Budget("all").MatchingEverything().Allows(9));
  return cluster;
}

TEST_F(KarpenterTest, PlannerAndVerifierAgreeOnRandomClusters) {
  Random dice(test::RandomSeed());
  size_t removed = 0;
  size_t by_budgets = 0;
  for (int round = 0; round < 100; ++round) {
    ebb_consolidates_ = dice.Below(3) == 0;
    Plan(RandomCluster(dice));
    removed += made_.plan.remove.size();
    by_budgets += kept_.find("BudgetReached") != std::string::npos ? 1 : 0;
    if (HasFailure()) break;
    // Before any removal both give the same answer for each node.
    const Catalog& catalog = snapshot_->catalog();
    const NodePoolBudgets budgets(*snapshot_, groups_, {}, kNow);
    const SlowNodePools slow(catalog, groups_, {}, kNow);
    for (uint32_t n = 0; n < catalog.nodes(); ++n) {
      const NodeId node{n};
      ASSERT_EQ(WhyNotDisruptable(catalog, node) == UnremovableReason::kNoReason,
                slow.WhyNotDisrupted(node).empty())
          << catalog.NodeName(node) << " in round " << round;
      NodeSet open(catalog.nodes());
      open.Insert(node);
      ASSERT_EQ(EraseClosed(catalog, groups_, kNow, open), slow.IsClosed(node));
      for (const DisruptionReason reason :
           {DisruptionReason::kEmpty, DisruptionReason::kUnderutilized}) {
        const bool goes =
            WhyNotConsolidatable(catalog, node, reason, kNow, groups_.ebb_consolidates) ==
                UnremovableReason::kNoReason &&
            budgets.Allows(node, reason);
        const std::string kept = slow.WhyKept(node, reason == DisruptionReason::kEmpty);
        ASSERT_EQ(goes, kept.empty())
            << catalog.NodeName(node) << " for " << ToString(reason) << ": " << kept;
      }
    }
  }
  EXPECT_GT(removed, 50u);
  EXPECT_GT(by_budgets, 12u);
}

}  // namespace
}  // namespace ebb::karpenter_test
