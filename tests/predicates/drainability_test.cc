#include "predicates/drainability.h"

#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/predicates/verdict.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::drainability_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Controller;
using test::Node;
using test::Pod;
using test::PodNamed;

constexpr int64_t kNow = 1'000'000;
constexpr int64_t kHour = 3600;

struct RuleCase {
  const char* rule;
  Pod pod;
  std::string expected;
  DrainOptions options = {};
  std::vector<Budget> budgets = {};
  std::vector<Controller> controllers = {};
};
std::ostream& operator<<(std::ostream& out, const RuleCase& c) { return out << c.rule; }

class DrainRuleTest : public testing::TestWithParam<RuleCase> {};

TEST_P(DrainRuleTest, Decides) {
  const RuleCase& c = GetParam();
  Cluster cluster;
  for (const Budget& budget : c.budgets) cluster.Add(budget);
  for (const Controller& controller : c.controllers) cluster.Add(controller);
  const ClusterSnapshot snapshot = cluster.Add(Node("n")).Add(Pod(c.pod).On("n")).Build();
  const PdbTracker pdbs(snapshot.catalog());
  EXPECT_EQ(test::TextOf(ApplyDrainRules(snapshot.catalog(), PodId{0}, c.options, pdbs, kNow)),
            c.expected);
  DrainRules rules(snapshot.catalog(), c.options, pdbs, kNow);
  EXPECT_EQ(test::TextOf(rules.Apply(PodId{0})), c.expected);
  EXPECT_EQ(test::TextOf(rules.Apply(PodId{0})), c.expected) << "asked again";
}

Pod P() { return Pod("p"); }
Pod System(int64_t age_s) { return P().In("kube-system").CreatedAt(kNow - age_s); }
Pod Grace(Pod pod, int64_t grace_s) {
  pod.raw.termination_grace_period_s = grace_s;
  return pod;
}
Pod Restart(Pod pod, std::string_view policy) {
  pod.raw.restart_policy = policy;
  return pod;
}
Pod EmptyDir(std::string_view medium = "") {
  Pod pod = P().Volume("emptyDir", "scratch");
  pod.raw.volumes[0].medium = medium;
  return pod;
}
constexpr std::string_view kLocalVolumes =
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
Controller ReplicaSet(int64_t replicas) {
  return Controller(objects::ControllerKind::kReplicaSet, "rs").Replicas(replicas);
}

const DrainOptions kNoCustom = {.skip_nodes_with_custom_controller_pods = false};
const DrainOptions kNoSystem = {.skip_nodes_with_system_pods = false};
const DrainOptions kNoLocal = {.skip_nodes_with_local_storage = false};
const DrainOptions kTwoReplicas = {.min_replica_count = 2};
const DrainOptions kTwoReplicasNoCustom = {.skip_nodes_with_custom_controller_pods = false,
                                           .min_replica_count = 2};

const Budget kSpent = Budget("spent").MatchingEverything();
const Budget kSystemSpent = Budget("spent").In("kube-system").MatchingEverything();
const Budget kSystemOne = Budget("one").In("kube-system").MatchingEverything().Allows(1);

const RuleCase kRules[] = {
    {"a pod of a ReplicaSet moves", P(), "undefined"},
    // 1 Mirror.
    {"a mirror pod is skipped", P().Mirror(), "skip"},
    {"a mirror pod without a controller is skipped", P().Mirror().WithoutOwner(), "skip"},
    // 2 LongTerminating.
    {"a pod 61 s after its deletion with 30 s grace is skipped", P().DeletedAt(kNow - 61), "skip"},
    {"after 60 s it is not yet", P().DeletedAt(kNow - 60), "undefined"},
    {"its own grace period counts", Grace(P().DeletedAt(kNow - 61), 31), "undefined"},
    {"a grace period of zero leaves the margin", Grace(P().DeletedAt(kNow - 31), 0), "skip"},
    {"an endless grace period is not over",
     Grace(P().DeletedAt(kNow - 61), std::numeric_limits<int64_t>::max()), "undefined"},
    {"a grace period that ended before all time is over",
     Grace(P().DeletedAt(-1), std::numeric_limits<int64_t>::min()), "skip"},
    {"a long terminating pod without a controller is skipped",
     P().DeletedAt(kNow - 61).WithoutOwner(), "skip"},
    // 3 ReplicaCount.
    {"a ReplicaSet that is gone blocks", P().OwnedByMissing("ReplicaSet", "rs"),
     "ControllerNotFound"},
    {"a ReplicaSet of any API group counts",
     P().OwnedByMissing("ReplicaSet", "rs", "example.com/v1"), "ControllerNotFound"},
    {"too few replicas block", P(), "MinReplicasReached", kTwoReplicas, {}, {ReplicaSet(1)}},
    {"enough replicas do not", P(), "undefined", kTwoReplicas, {}, {ReplicaSet(2)}},
    {"unset replicas do not",
     P(),
     "undefined",
     kTwoReplicas,
     {},
     {Controller(objects::ControllerKind::kReplicaSet, "rs")}},
    {"without custom controllers in mind replicas are not counted",
     P(),
     "undefined",
     kTwoReplicasNoCustom,
     {},
     {ReplicaSet(1)}},
    {"a ReplicationController that is gone blocks",
     P().OwnedByMissing("ReplicationController", "rc"), "ControllerNotFound"},
    {"too few replicas of a ReplicationController block",
     P().OwnedBy("ReplicationController", "rc"), "MinReplicasReached", kTwoReplicas},
    {"a Job that is gone blocks", P().OwnedByMissing("Job", "j"), "ControllerNotFound"},
    {"a Job is not counted", P().OwnedBy("Job", "j"), "undefined", kTwoReplicas},
    {"a StatefulSet that is gone blocks", P().OwnedByMissing("StatefulSet", "s"),
     "ControllerNotFound"},
    {"a StatefulSet is not counted", P().OwnedBy("StatefulSet", "s"), "undefined", kTwoReplicas},
    {"a StatefulSet of another API group is not looked up",
     P().OwnedByMissing("StatefulSet", "s", "apps.kruise.io/v1"), "undefined"},
    {"nor is one of an API version without a group", P().OwnedByMissing("StatefulSet", "s", "apps"),
     "undefined"},
    {"a DaemonSet that is gone blocks", P().OwnedByMissing("DaemonSet", "d"), "ControllerNotFound"},
    {"a DaemonSet of another API group is not looked up",
     P().OwnedByMissing("DaemonSet", "d", "extensions/v1beta1"), "drain"},
    {"a pod annotated as of a DaemonSet does not look for its Job",
     P().OwnedByMissing("Job", "j")
         .Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod", "true"),
     "drain"},
    {"an API version that does not parse switches the rule off",
     P().OwnedByMissing("ReplicaSet", "rs", "a/b/c"), "undefined"},
    {"the rule comes before safe-to-evict",
     P().OwnedByMissing("ReplicaSet", "rs").SafeToEvict("true"), "ControllerNotFound"},
    {"and before on-completion", P().OwnedByMissing("Job", "j").SafeToEvict("on-completion"),
     "ControllerNotFound"},
    {"and before terminal pods", P().OwnedByMissing("Job", "j").Phase("Failed"),
     "ControllerNotFound"},
    // 4 DaemonSet.
    {"a DaemonSet pod drains", P().DaemonSet(), "drain"},
    {"an annotated pod drains without a controller",
     P().WithoutOwner().Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod", "true"),
     "drain"},
    {"the annotation must say true",
     P().WithoutOwner().Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod", "yes"),
     "NotReplicated"},
    {"a DaemonSet pod drains whatever else it says",
     P().DaemonSet().In("kube-system").SafeToEvict("false").Volume("hostPath"), "drain"},
    // 5 SafeToEvict.
    {"safe-to-evict true drains a bare pod", P().WithoutOwner().SafeToEvict("true"), "drain"},
    {"safe-to-evict true spares the budget", P().SafeToEvict("true"), "drain", {}, {kSpent}},
    {"safe-to-evict in other words says nothing", P().SafeToEvict("True"), "undefined"},
    // 6 Terminal.
    {"a failed pod drains", P().WithoutOwner().Phase("Failed"), "drain"},
    {"a succeeded pod that is not restarted drains",
     Restart(P().WithoutOwner().Phase("Succeeded"), "Never"), "drain"},
    {"or is restarted on failure only", Restart(P().WithoutOwner().Phase("Succeeded"), "OnFailure"),
     "drain"},
    {"one that is always restarted does not",
     Restart(P().WithoutOwner().Phase("Succeeded"), "Always"), "NotReplicated"},
    {"a failed pod comes before on-completion", P().Phase("Failed").SafeToEvict("on-completion"),
     "drain"},
    // 7 OnCompletion.
    {"on-completion waits", P().WithoutOwner().SafeToEvict("on-completion"), "wait"},
    {"on-completion waits whatever the budget",
     P().SafeToEvict("on-completion"),
     "wait",
     {},
     {kSpent}},
    // 8 Replicated.
    {"a pod without an owner blocks", P().WithoutOwner(), "NotReplicated"},
    {"a pod without an owner blocks with custom controllers allowed", P().WithoutOwner(),
     "NotReplicated", kNoCustom},
    {"a custom controller blocks", P().OwnedBy("CloneSet", "c", "apps.kruise.io/v1"),
     "NotReplicated"},
    {"unless they are allowed", P().OwnedBy("CloneSet", "c", "apps.kruise.io/v1"), "undefined",
     kNoCustom},
    {"an owner that does not control is none",
     P().With([](objects::Pod& pod) { pod.meta.owners[0].controller = false; }), "NotReplicated"},
    // 9 System.
    {"a young system pod blocks", System(10), "UnmovableKubeSystemPod"},
    {"an hour old it blocks still", System(kHour), "UnmovableKubeSystemPod"},
    {"then it drains", System(kHour + 1), "drain"},
    {"a system pod of unknown age blocks", P().In("kube-system"), "UnmovableKubeSystemPod"},
    {"an endless timeout never ends",
     System(kHour + 1),
     "UnmovableKubeSystemPod",
     {.blocking_system_pod_disruption_timeout_s = std::numeric_limits<int64_t>::max()}},
    {"system pods may be allowed", System(10), "undefined", kNoSystem},
    {"a budget that matches is as good as a permission", System(10), "undefined", {}, {kSystemOne}},
    {"a budget that is spent is asked in its turn",
     System(kHour + 1),
     "NotEnoughPdb",
     {},
     {kSystemSpent}},
    {"a budget of another namespace does not help",
     System(10),
     "UnmovableKubeSystemPod",
     {},
     {Budget("b").MatchingEverything().Allows(1)}},
    {"an aged system pod skips the safe-to-evict rule", System(kHour + 1).SafeToEvict("false"),
     "drain"},
    {"and the local storage rule", System(kHour + 1).Volume("hostPath"), "drain"},
    {"a system pod without an owner is not replicated first", System(kHour + 1).WithoutOwner(),
     "NotReplicated"},
    // 10 NotSafeToEvict.
    {"safe-to-evict false blocks", P().SafeToEvict("false"), "NotSafeToEvictAnnotation"},
    {"before local storage", P().SafeToEvict("false").Volume("hostPath"),
     "NotSafeToEvictAnnotation"},
    // 11 LocalStorage.
    {"hostPath blocks", P().Volume("hostPath"), "LocalStorageRequested"},
    {"emptyDir blocks", EmptyDir(), "LocalStorageRequested"},
    {"emptyDir in memory does not", EmptyDir("Memory"), "undefined"},
    {"other volumes do not", P().Volume("configMap"), "undefined"},
    {"a volume named safe does not", EmptyDir().Annotation(kLocalVolumes, "other,scratch"),
     "undefined"},
    {"names are not trimmed", EmptyDir().Annotation(kLocalVolumes, "other, scratch"),
     "LocalStorageRequested"},
    {"every volume must be named",
     EmptyDir().Volume("hostPath", "host").Annotation(kLocalVolumes, "scratch"),
     "LocalStorageRequested"},
    {"local storage may be allowed", P().Volume("hostPath"), "undefined", kNoLocal},
    {"local storage comes before the budget", EmptyDir(), "LocalStorageRequested", {}, {kSpent}},
    // 12 PDB.
    {"a spent budget blocks", P(), "NotEnoughPdb", {}, {kSpent}},
    {"a budget with one left does not",
     P(),
     "undefined",
     {},
     {Budget("b").MatchingEverything().Allows(1)}},
    {"one spent budget of two is enough",
     P(),
     "NotEnoughPdb",
     {},
     {Budget("b").MatchingEverything().Allows(5), kSpent}},
    {"a budget with a nil selector matches no pod", P(), "undefined", {}, {Budget("nil")}},
    {"a budget with other labels does not match",
     P().Label("app", "web"),
     "undefined",
     {},
     {Budget("b").Matching("app", "db")}},
};

INSTANTIATE_TEST_SUITE_P(Rules, DrainRuleTest, testing::ValuesIn(kRules));

TEST(ApplyDrainRulesAloneTest, ControllersAreNotLookedUp) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("n")).Add(P().OwnedByMissing("ReplicaSet", "rs").On("n")).Build();
  EXPECT_EQ(test::TextOf(ApplyDrainRulesAlone(snapshot.catalog(), PodId{0}, {}, kNow)),
            "undefined");
}

TEST(ApplyDrainRulesAloneTest, NoBudgetIsKnown) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(kSpent)
                                       .Add(kSystemOne)
                                       .Add(P().On("n"))
                                       .Add(System(10).On("n"))
                                       .Build();
  const auto rules = [&](uint32_t pod) {
    return test::TextOf(ApplyDrainRulesAlone(snapshot.catalog(), PodId{pod}, {}, kNow));
  };
  EXPECT_EQ(rules(0), "undefined");
  EXPECT_EQ(rules(1), "UnmovableKubeSystemPod");
}

TEST(ApplyDrainRulesTest, NamesTheFirstBudgetThatIsSpent) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(Budget("a").MatchingEverything().Allows(1))
                                       .Add(Budget("b").MatchingEverything())
                                       .Add(Budget("c").MatchingEverything())
                                       .Add(P().On("n"))
                                       .Build();
  const PdbTracker pdbs(snapshot.catalog());
  EXPECT_EQ(ApplyDrainRules(snapshot.catalog(), PodId{0}, {}, pdbs, kNow).pdb, PdbId{1});
}

TEST(ApplyDrainRulesTest, BudgetSpentByThePlanBlocks) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(Budget("a").MatchingEverything().Allows(1))
                                       .Add(P().On("n"))
                                       .Build();
  PdbTracker pdbs(snapshot.catalog());
  const PodId pods[] = {PodId{0}};
  pdbs.RemovePods(pods);
  EXPECT_EQ(test::TextOf(ApplyDrainRules(snapshot.catalog(), PodId{0}, {}, pdbs, kNow)),
            "NotEnoughPdb");
}

TEST(BlockingPodReasonTest, SpellsEveryReasonAsTheAutoscalerDoes) {
  using enum BlockingPodReason;
  EXPECT_EQ(ToString(kNoReason), "NoReason");
  EXPECT_EQ(ToString(kControllerNotFound), "ControllerNotFound");
  EXPECT_EQ(ToString(kMinReplicasReached), "MinReplicasReached");
  EXPECT_EQ(ToString(kNotReplicated), "NotReplicated");
  EXPECT_EQ(ToString(kLocalStorageRequested), "LocalStorageRequested");
  EXPECT_EQ(ToString(kNotSafeToEvictAnnotation), "NotSafeToEvictAnnotation");
  EXPECT_EQ(ToString(kUnmovableKubeSystemPod), "UnmovableKubeSystemPod");
  EXPECT_EQ(ToString(kNotEnoughPdb), "NotEnoughPdb");
  EXPECT_EQ(ToString(kUnexpectedError), "UnexpectedError");
  EXPECT_EQ(ToString(kDoNotDisruptAnnotation), "DoNotDisruptAnnotation");
  EXPECT_EQ(ToString(kWorkloadShareReached), "WorkloadShareReached");
}

TEST(BlockingPodReasonTest, EveryReasonIsReadByItsName) {
  for (int i = 0; i <= static_cast<int>(BlockingPodReason::kWorkloadShareReached); ++i) {
    EXPECT_EQ(BlockingPodReasonOf(ToString(BlockingPodReason(i))), BlockingPodReason(i)) << i;
  }
  for (const char* none : {"", "NotEnoughPdbs", "notReplicated"}) {
    EXPECT_EQ(BlockingPodReasonOf(none), BlockingPodReason::kNoReason) << none;
  }
}

class GetPodsToMoveTest : public testing::Test {
 protected:
  void Apply(const Cluster& cluster, PoolManager manager = PoolManager::kClusterAutoscaler) {
    snapshot_ = cluster.Build();
    const PdbTracker pdbs(snapshot_.catalog());
    const DrainOptions options;
    DrainRules rules(snapshot_.catalog(), options, pdbs, kNow);
    rules.GetPodsToMove(snapshot_.PodsOn(NodeId{0}), result_, manager);
  }
  std::string Names(const std::vector<PodId>& pods) const {
    std::string names;
    for (const PodId pod : pods) {
      names += (names.empty() ? "" : " ") +
               std::string(snapshot_.catalog().Text(snapshot_.catalog().pod(pod).name));
    }
    return names;
  }

  ClusterSnapshot snapshot_;
  PodsToMove result_;
};

TEST_F(GetPodsToMoveTest, SortsPodsByWhatBecomesOfThem) {
  Apply(Cluster()
            .Add(Node("n"))
            .Add(Pod("web-0").On("n"))
            .Add(Pod("agent").DaemonSet().On("n"))
            .Add(Pod("static").Mirror().On("n"))
            .Add(Pod("batch").SafeToEvict("on-completion").On("n"))
            .Add(Pod("gone").DeletedAt(kNow - 1000).On("n"))
            .Add(Pod("bare").WithoutOwner().SafeToEvict("true").On("n"))
            .Add(Pod("elsewhere")));
  EXPECT_FALSE(result_.blocked());
  EXPECT_EQ(Names(result_.move), "web-0 bare");
  EXPECT_EQ(Names(result_.daemonset), "agent");
  EXPECT_EQ(Names(result_.on_completion), "batch");
}

TEST_F(GetPodsToMoveTest, FirstPodThatBlocksIsNamed) {
  Apply(Cluster()
            .Add(Node("n"))
            .Add(Pod("web-0").On("n"))
            .Add(Pod("bare").WithoutOwner().On("n"))
            .Add(Pod("pinned").SafeToEvict("false").On("n")));
  ASSERT_TRUE(result_.blocked());
  EXPECT_EQ(result_.blocking_pod, PodNamed(snapshot_, "bare"));
  EXPECT_EQ(result_.reason, BlockingPodReason::kNotReplicated);
}

constexpr const char* kDoNotDisrupt = "karpenter.sh/do-not-disrupt";

TEST_F(GetPodsToMoveTest, DoNotDisruptKeepsKarpentersNodesAndNoOthers) {
  const Cluster cluster = Cluster()
                              .Add(Node("n"))
                              .Add(Pod("web-0").On("n"))
                              .Add(Pod("job").On("n").Annotation(kDoNotDisrupt, "true"));
  Apply(cluster);
  EXPECT_EQ(Names(result_.move), "web-0 job");
  Apply(cluster, PoolManager::kKarpenter);
  ASSERT_TRUE(result_.blocked());
  EXPECT_EQ(result_.blocking_pod, PodNamed(snapshot_, "job"));
  EXPECT_EQ(result_.reason, BlockingPodReason::kDoNotDisruptAnnotation);
}

// As in Karpenter: whatever else is true of the pod, unless the pod ends by itself.
TEST_F(GetPodsToMoveTest, DoNotDisruptHoldsForEveryPodThatIsActive) {
  const auto blocks = [&](Pod pod) {
    Apply(Cluster().Add(Node("n")).Add(pod.On("n").Annotation(kDoNotDisrupt, "true")),
          PoolManager::kKarpenter);
    return result_.blocked();
  };
  EXPECT_TRUE(blocks(Pod("agent").DaemonSet()));
  EXPECT_TRUE(blocks(Pod("static").Mirror()));
  EXPECT_TRUE(blocks(Pod("safe").SafeToEvict("true")));
  EXPECT_FALSE(blocks(Pod("going").DeletedAt(kNow)));
  EXPECT_FALSE(blocks(Pod("ended").Phase("Succeeded")));
  EXPECT_FALSE(blocks(Pod("failed").Phase("Failed")));
}

TEST_F(GetPodsToMoveTest, DoNotDisruptIsTrueOrADuration) {
  const auto blocks = [&](const char* key, const char* value) {
    Apply(Cluster().Add(Node("n")).Add(Pod("p").On("n").Annotation(key, value)),
          PoolManager::kKarpenter);
    return result_.blocked();
  };
  for (const char* value : {"true", "5m", "1h30m", "+1.5h"}) {
    EXPECT_TRUE(blocks(kDoNotDisrupt, value)) << value;
  }
  for (const char* value : {"false", "", "0s", "-5m", "True"}) {
    EXPECT_FALSE(blocks(kDoNotDisrupt, value)) << value;
  }
  EXPECT_TRUE(blocks("karpenter.sh/do-not-evict", "true"));
  EXPECT_FALSE(blocks("karpenter.sh/do-not-evict", "5m"));
}

// Source: karpenter IsDoNotDisruptActive: active while the pod's age is below the duration.
TEST_F(GetPodsToMoveTest, DoNotDisruptEndsADurationAfterTheStart) {
  const auto blocks = [&](int64_t age_s) {
    Pod pod = Pod("p").On("n").Annotation(kDoNotDisrupt, "30m");
    pod.raw.start_time = kNow - age_s;
    Apply(Cluster().Add(Node("n")).Add(pod), PoolManager::kKarpenter);
    return result_.blocked();
  };
  EXPECT_TRUE(blocks(0));
  EXPECT_TRUE(blocks(1799));
  EXPECT_FALSE(blocks(1800));
  EXPECT_FALSE(blocks(7200));
  EXPECT_TRUE(blocks(-60)) << "it starts in the future, by another clock";
}

TEST_F(GetPodsToMoveTest, ResultOfTheNodeBeforeIsForgotten) {
  Apply(Cluster().Add(Node("n")).Add(Pod("a").On("n")).Add(Pod("b").WithoutOwner().On("n")));
  ASSERT_TRUE(result_.blocked());
  Apply(Cluster().Add(Node("n")).Add(Pod("c").On("n")));
  EXPECT_FALSE(result_.blocked());
  EXPECT_EQ(result_.reason, BlockingPodReason::kNoReason);
  EXPECT_EQ(Names(result_.move), "c");
}

TEST_F(GetPodsToMoveTest, BudgetWithOneLeftLetsSeveralPodsOfANodeGo) {
  Apply(Cluster()
            .Add(Node("n"))
            .Add(Budget("b").MatchingEverything().Allows(1))
            .Add(Pod("a").On("n"))
            .Add(Pod("b").On("n")));
  EXPECT_EQ(Names(result_.move), "a b");
}

// NextDrainChange is the first second at which some verdict may change.
TEST(NextDrainChangeTest, ComesWhenADeletedPodIsOverdueOrASystemPodComesOfAge) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  const auto next = [](const std::vector<Pod>& pods, const DrainOptions& options = {}) {
    Cluster cluster;
    cluster.Add(Node("n"));
    for (size_t i = 0; i < pods.size(); ++i) {
      Pod pod = pods[i];
      pod.raw.meta.name = test::Keep("p" + std::to_string(i));
      cluster.Add(pod.On("n"));
    }
    return NextDrainChange(cluster.Build().catalog(), options, kNow);
  };
  EXPECT_EQ(next({}), kNever);
  EXPECT_EQ(next({P(), P().CreatedAt(kNow - 10)}), kNever);
  EXPECT_EQ(next({P().DeletedAt(kNow - 10)}), kNow + 51);
  EXPECT_EQ(next({Grace(P().DeletedAt(kNow - 10), 100)}), kNow + 121);
  EXPECT_EQ(next({P().DeletedAt(kNow - 60)}), kNow + 1);
  EXPECT_EQ(next({P().DeletedAt(kNow - 61)}), kNever) << "it is overdue already";
  EXPECT_EQ(next({System(10)}), kNow + kHour - 10 + 1);
  EXPECT_EQ(next({System(kHour)}), kNow + 1);
  EXPECT_EQ(next({System(kHour + 1)}), kNever) << "it is of age already";
  EXPECT_EQ(next({P().In("kube-system")}), kNever) << "its age is unknown";
  EXPECT_EQ(next({System(10)}, {.blocking_system_pod_disruption_timeout_s = 50}), kNow + 41);
  EXPECT_EQ(next({System(kHour + 1), P(), System(10), P().DeletedAt(kNow - 61),
                  P().DeletedAt(kNow - 5), System(20)}),
            kNow + 56);
}

TEST(NextDrainChangeTest, ComesWhenTheProtectionOfAPodEnds) {
  const auto next = [](std::optional<int64_t> age_s) {
    Pod pod = Pod("p").On("n").Annotation(kDoNotDisrupt, "30m");
    if (age_s) pod.raw.start_time = kNow - *age_s;
    return NextDrainChange(Cluster().Add(Node("n")).Add(pod).Build().catalog(), {}, kNow);
  };
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(next(0), kNow + 1800);
  EXPECT_EQ(next(1799), kNow + 1);
  EXPECT_EQ(next(1800), kNever) << "it is over already";
  EXPECT_EQ(next(std::nullopt), kNever);
}

TEST_F(GetPodsToMoveTest, PodsOfOneShapeThatComeApartKeepTheirPlaces) {
  Apply(Cluster()
            .Add(Node("n"))
            .Add(Pod("w1").On("n"))
            .Add(Pod("w2").On("n"))
            .Add(Pod("agent-1").DaemonSet().On("n"))
            .Add(Pod("w3").On("n"))
            .Add(Pod("safe-1").WithoutOwner().SafeToEvict("true").On("n"))
            .Add(Pod("safe-2").WithoutOwner().SafeToEvict("true").On("n"))
            .Add(Pod("static").Mirror().On("n"))
            .Add(Pod("batch-1").SafeToEvict("on-completion").On("n"))
            .Add(Pod("w4").On("n"))
            .Add(Pod("agent-2").DaemonSet().On("n"))
            .Add(Pod("batch-2").SafeToEvict("on-completion").On("n")));
  EXPECT_FALSE(result_.blocked());
  EXPECT_EQ(Names(result_.move), "w1 w2 w3 safe-1 safe-2 w4");
  EXPECT_EQ(Names(result_.daemonset), "agent-1 agent-2");
  EXPECT_EQ(Names(result_.on_completion), "batch-1 batch-2");
}

TEST_F(GetPodsToMoveTest, TheSpentBudgetIsNamedAndNothingOfItIsLeftForTheNextNode) {
  Apply(Cluster()
            .Add(Node("n"))
            .Add(Budget("many").MatchingEverything().Allows(5))
            .Add(Budget("spent").Matching("app", "web"))
            .Add(Pod("agent").DaemonSet().On("n"))
            .Add(Pod("batch").SafeToEvict("on-completion").On("n"))
            .Add(Pod("free").On("n"))
            .Add(Pod("web").Label("app", "web").On("n")));
  ASSERT_TRUE(result_.blocked());
  EXPECT_EQ(result_.blocking_pod, PodNamed(snapshot_, "web"));
  EXPECT_EQ(result_.reason, BlockingPodReason::kNotEnoughPdb);
  EXPECT_EQ(result_.pdb, PdbId{1});
  Apply(Cluster().Add(Node("n")).Add(Pod("p").On("n")));
  EXPECT_FALSE(result_.blocked());
  EXPECT_EQ(result_.pdb, std::nullopt);
  EXPECT_EQ(Names(result_.move), "p");
  EXPECT_TRUE(result_.daemonset.empty());
  EXPECT_TRUE(result_.on_completion.empty());
}

}  // namespace
}  // namespace ebb::drainability_test
