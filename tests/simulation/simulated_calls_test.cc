// What the calls of an actuator do to a simulated cluster, and what its controllers do by
// themselves, second by second.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulation/simulated_cluster.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::simulated_calls_test {
namespace {

using test::Budget;
using test::Controller;
using test::Node;
using test::OneGroupOf;
using test::Pod;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kStart = 1'767'225'600;  // A midnight.

// What a cluster shows, in texts of its own.
struct Shown : ObjectSink {
  struct OfNode {
    std::string uid;
    int64_t created_s;
    std::map<std::string, std::string> labels;
    std::vector<std::string> taints;
    bool operator==(const OfNode&) const = default;
  };
  struct OfPod {
    std::string node;
    std::optional<int64_t> deletion_s;
    bool operator==(const OfPod&) const = default;
  };
  std::map<std::string, OfNode> nodes;
  std::map<std::string, OfPod> pods;           // By "namespace/name".
  std::map<std::string, int64_t> replicas;     // Wanted, the same.
  std::map<std::string, int64_t> disruptions;  // Allowed, by a budget's name.

  [[nodiscard]] std::string PodsText() const {
    std::string text;
    for (const auto& [name, pod] : pods) {
      absl::StrAppend(&text, text.empty() ? "" : " ", name, ">", pod.node,
                      pod.deletion_s ? " (ends)" : "");
    }
    return text;
  }

  absl::Status OnNode(const objects::Node& node) override {
    OfNode& shown = nodes[std::string(node.meta.name)];
    shown = {.uid = std::string(node.meta.uid),
             .created_s = node.meta.creation_time,
             .labels = {},
             .taints = {}};
    for (const auto& [key, value] : node.meta.labels) shown.labels.emplace(key, value);
    for (const auto& [key, value, effect] : node.taints) {
      shown.taints.push_back(std::string(key) + "=" + std::string(value) + ":" +
                             std::string(effect));
    }
    return absl::OkStatus();
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    const std::string name =
        std::string(pod.meta.namespace_name) + "/" + std::string(pod.meta.name);
    pods[name] = {.node = std::string(pod.node_name), .deletion_s = pod.meta.deletion_time};
    return absl::OkStatus();
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    disruptions[std::string(budget.meta.name)] = budget.disruptions_allowed;
    return absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller& controller) override {
    const objects::ObjectMeta& meta = controller.meta;
    const std::string name = std::string(meta.namespace_name) + "/" + std::string(meta.name);
    replicas[name] = controller.spec_replicas.value_or(-1);
    return absl::OkStatus();
  }
  absl::Status OnNamespace(const objects::Namespace&) override { return absl::OkStatus(); }
};

class SimulatedCallsTest : public testing::Test {
 protected:
  // All that takes time takes always the same.
  SimulatedCallsTest() {
    options_.start_s = kStart;
    options_.recount_budgets = true;
    options_.groups_grow = false;
    options_.schedule = {0, 0};
    options_.replace = {1, 1};
    options_.start = {2, 2};
    options_.end = {10, 10};
    options_.boot = {60, 60};
    options_.delete_node = {40, 40};
    Add(Controller(objects::ControllerKind::kReplicaSet, "rs"));
    Add(Controller(objects::ControllerKind::kDaemonSet, "ds"));
  }

  void Add(const Node& node) { nodes_.push_back(node); }
  void Add(const Pod& pod) { pods_.push_back(pod); }
  void Add(const Budget& budget) { budgets_.push_back(budget); }
  void Add(const Controller& controller) { controllers_.push_back(controller); }

  void Make(const SimulatedCluster::GroupsOf& groups_of = &OneGroupOf) {
    auto made = SimulatedCluster::Make(
        [&](ObjectSink& sink) {
          absl::Status status;
          for (const Controller& each : controllers_) status.Update(sink.OnController(each.raw));
          for (const Node& node : nodes_) status.Update(sink.OnNode(node.raw));
          for (const Budget& each : budgets_) {
            status.Update(sink.OnPodDisruptionBudget(each.raw));
          }
          for (const Pod& pod : pods_) status.Update(sink.OnPod(pod.raw));
          return status;
        },
        groups_of, options_);
    ASSERT_TRUE(made.ok()) << made.status();
    cluster_ = *std::move(made);
  }

  absl::Status Begin(std::string node, int64_t now_s) {
    const DeletionOrder order{.node = std::move(node), .group = "group", .drain = true};
    return cluster_->Begin({&order, 1}, now_s);
  }

  // The only deletion that runs.
  RunningDeletion Running(int64_t now_s) {
    const ActuatorStatus status = *cluster_->Status(now_s);
    EXPECT_EQ(status.running.size(), 1);
    return status.running.empty() ? RunningDeletion() : status.running[0];
  }

  // As it is shown at that time.
  Shown At(int64_t now_s) {
    cluster_->AdvanceTo(now_s);
    Shown shown;
    EXPECT_TRUE(cluster_->Export(shown).ok());
    const absl::Status sound = cluster_->CheckSound();
    EXPECT_TRUE(sound.ok()) << sound;
    return shown;
  }

  SimulatedClusterOptions options_;
  std::vector<Node> nodes_;
  std::vector<Pod> pods_;
  std::vector<Budget> budgets_;
  std::vector<Controller> controllers_;
  std::unique_ptr<SimulatedCluster> cluster_;
};

TEST_F(SimulatedCallsTest, ASoftTaintStaysAsItIsWhileTheHardOneComesAndGoes) {
  Add(Node("a").Taint("own", "x"));
  Add(Node("b"));
  Make();
  const std::string own = "own=x:NoSchedule";
  const std::string soft =
      absl::StrCat("DeletionCandidateOfClusterAutoscaler=", kStart + 1, ":PreferNoSchedule");
  const std::string hard =
      absl::StrCat("ToBeDeletedByClusterAutoscaler=", kStart + 3, ":NoSchedule");
  ASSERT_TRUE(cluster_->SoftTaint("a", true, kStart + 1).ok());
  EXPECT_THAT(At(kStart + 1).nodes["a"].taints, ElementsAre(own, soft));
  ASSERT_TRUE(cluster_->SoftTaint("a", true, kStart + 2).ok());
  EXPECT_THAT(At(kStart + 2).nodes["a"].taints, ElementsAre(own, soft));
  ASSERT_TRUE(Begin("a", kStart + 3).ok());
  EXPECT_THAT(At(kStart + 3).nodes["a"].taints, ElementsAre(own, soft, hard));
  ASSERT_TRUE(cluster_->RollBack("a", "", kStart + 4).ok());
  EXPECT_THAT(At(kStart + 4).nodes["a"].taints, ElementsAre(own, soft));
  ASSERT_TRUE(cluster_->SoftTaint("a", false, kStart + 5).ok());
  EXPECT_THAT(At(kStart + 5).nodes["a"].taints, ElementsAre(own));
  EXPECT_THAT(At(kStart + 5).nodes["b"].taints, IsEmpty());
  EXPECT_EQ(cluster_->SoftTaint("z", true, kStart + 6).code(), absl::StatusCode::kNotFound);
}

TEST_F(SimulatedCallsTest, ASoftTaintOfTheInputIsRemovedByTheCall) {
  constexpr const char* kSoft = "DeletionCandidateOfClusterAutoscaler";
  Add(Node("since").Taint(kSoft, "1767225000", "PreferNoSchedule"));
  Add(Node("unknown").Taint(kSoft, "x", "PreferNoSchedule"));
  Make();
  for (const char* const name : {"since", "unknown"}) {
    ASSERT_TRUE(cluster_->SoftTaint(name, true, kStart + 1).ok());
  }
  Shown shown = At(kStart + 1);
  EXPECT_THAT(shown.nodes["since"].taints,
              ElementsAre(absl::StrCat(kSoft, "=1767225000:PreferNoSchedule")));
  EXPECT_THAT(shown.nodes["unknown"].taints,
              ElementsAre(absl::StrCat(kSoft, "=x:PreferNoSchedule")));
  for (const char* const name : {"since", "unknown"}) {
    ASSERT_TRUE(cluster_->SoftTaint(name, false, kStart + 2).ok());
    EXPECT_THAT(At(kStart + 2).nodes[name].taints, IsEmpty());
  }
}

TEST_F(SimulatedCallsTest, BeginWithoutOrdersSucceeds) {
  options_.faults.taint_fails_permille = 1000;
  options_.faults.pod_before_taint_permille = 1000;
  Add(Node("a"));
  Make();
  EXPECT_TRUE(cluster_->Begin({}, kStart).ok());
  EXPECT_EQ(At(kStart).PodsText(), "");
}

TEST_F(SimulatedCallsTest, StatusShowsTheOrderAndTheStartOfEachPhase) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("b").Uid("uid-of-p").Cpu(500));
  Make();
  const DeletionOrder order{.node = "b", .group = "group", .drain = true, .batch_size = 2};
  ASSERT_TRUE(cluster_->Begin({&order, 1}, kStart + 5).ok());
  RunningDeletion running = Running(kStart + 6);
  EXPECT_EQ(running.node, "b");
  EXPECT_EQ(running.group, "group");
  EXPECT_TRUE(running.drain);
  EXPECT_EQ(running.batch_size, 2);
  EXPECT_EQ(running.phase, DeletionPhase::kTainted);
  EXPECT_EQ(running.since_s, kStart + 5);

  ASSERT_TRUE(cluster_->Drain("b", kStart + 10).ok());
  running = Running(kStart + 19);
  EXPECT_EQ(running.phase, DeletionPhase::kDraining);
  EXPECT_EQ(running.since_s, kStart + 10);
  EXPECT_THAT(cluster_->Status(kStart + 19)->recent_evictions,
              ElementsAre(EvictedPod{.namespace_name = "default",
                                     .name = "p",
                                     .uid = "uid-of-p",
                                     .evicted_at_s = kStart + 10}));

  running = Running(kStart + 29);
  EXPECT_EQ(running.phase, DeletionPhase::kDrained);
  EXPECT_EQ(running.since_s, kStart + 20);
  EXPECT_THAT(cluster_->counts().drains_s, ElementsAre(10));
  EXPECT_TRUE(cluster_->Drain("b", kStart + 29).ok());
  EXPECT_EQ(Running(kStart + 29).phase, DeletionPhase::kDrained);

  ASSERT_TRUE(cluster_->Delete("b", kStart + 30).ok());
  ASSERT_TRUE(cluster_->Delete("b", kStart + 40).ok());
  running = Running(kStart + 69);
  EXPECT_EQ(running.phase, DeletionPhase::kDeleting);
  EXPECT_EQ(running.since_s, kStart + 30);
  EXPECT_EQ(cluster_->Drain("b", kStart + 69).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cluster_->RollBack("b", "", kStart + 69).code(), absl::StatusCode::kFailedPrecondition);

  EXPECT_EQ(At(kStart + 70).PodsText(), "default/rs-m1>a");
  const ActuatorStatus status = *cluster_->Status(kStart + 70);
  EXPECT_THAT(status.running, IsEmpty());
  ASSERT_EQ(status.results.size(), 1);
  EXPECT_EQ(status.results[0].node, "b");
  EXPECT_EQ(status.results[0].group, "group");
  EXPECT_TRUE(status.results[0].ok);
  EXPECT_EQ(status.results[0].at_s, kStart + 70);
  EXPECT_EQ(cluster_->nodes(), 1);
  EXPECT_EQ(cluster_->counts().nodes_deleted, 1);
  EXPECT_EQ(cluster_->counts().deletions_failed, 0);
  EXPECT_EQ(cluster_->Observe(kStart + 70)->groups.groups[0].target_size, 1);
}

TEST_F(SimulatedCallsTest, ADeletionThatIsRolledBackEndsWithItsReasonUntilThatIsTakenIn) {
  Add(Node("a"));
  Add(Node("b"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(Begin("a", kStart).ok());
  EXPECT_EQ(cluster_->deletions(), 2);
  ASSERT_TRUE(cluster_->RollBack("b", "no more", kStart + 7).ok());
  ASSERT_TRUE(cluster_->RollBack("a", "nor this", kStart + 8).ok());
  EXPECT_EQ(cluster_->RollBack("a", "", kStart + 9).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cluster_->Delete("a", kStart + 9).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cluster_->deletions(), 0);
  EXPECT_EQ(cluster_->counts().nodes_deleted, 0);
  EXPECT_EQ(cluster_->counts().deletions_failed, 2);
  const auto results = [&] { return cluster_->Status(kStart + 9)->results; };
  ASSERT_EQ(results().size(), 2);
  EXPECT_EQ(results()[0].node, "b");
  EXPECT_EQ(results()[0].group, "group");
  EXPECT_FALSE(results()[0].ok);
  EXPECT_EQ(results()[0].at_s, kStart + 7);
  EXPECT_EQ(results()[0].why, "no more");
  cluster_->Acknowledge(0);
  EXPECT_EQ(results().size(), 2);
  cluster_->Acknowledge(1);
  ASSERT_EQ(results().size(), 1);
  EXPECT_EQ(results()[0].node, "a");
  cluster_->Acknowledge(5);
  EXPECT_THAT(results(), IsEmpty());
}

TEST_F(SimulatedCallsTest, EvictionsAreTriedEveryTenSecondsForTwoMinutes) {
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("fills").On("a").Cpu(3600));
  Add(Pod("p").On("b").Cpu(500).Label("app", "web"));
  Add(Pod("q").On("b").Cpu(500).Label("app", "web"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(Running(kStart + 119).phase, DeletionPhase::kDraining);
  const RunningDeletion failed = Running(kStart + 120);  // p's successor has found no room.
  EXPECT_EQ(failed.phase, DeletionPhase::kFailed);
  EXPECT_EQ(failed.since_s, kStart + 120);
  EXPECT_EQ(failed.why, "pod q was not evicted: its disruption budget holds it");
  EXPECT_EQ(cluster_->counts().evictions, 1);
  EXPECT_EQ(cluster_->counts().pdb_refusals, 13);
  EXPECT_EQ(At(kStart + 300).PodsText(), "default/fills>a default/q>b default/rs-m1>");
}

TEST_F(SimulatedCallsTest, NoPodIsEvictedIfOneOfThemIsBlocked) {
  Add(Budget("web").Matching("app", "web").Allows(0));
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("free").On("b").Cpu(100));
  Add(Pod("p").On("b").Cpu(100).Label("app", "web"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart + 5).ok());
  const RunningDeletion failed = Running(kStart + 60);
  EXPECT_EQ(failed.phase, DeletionPhase::kFailed);
  EXPECT_EQ(failed.since_s, kStart + 5);
  EXPECT_EQ(failed.why, "pod default/p blocks: NotEnoughPdb");
  EXPECT_EQ(cluster_->counts().evictions, 0);
  EXPECT_EQ(At(kStart + 60).PodsText(), "default/free>b default/p>b");
}

TEST_F(SimulatedCallsTest, ADrainIsGivenUpHalfAMinuteAfterAllGraceIsOver) {
  options_.faults.never_ends_permille = 1000;
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("b").Cpu(500));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(Running(kStart + 749).phase, DeletionPhase::kDraining);
  EXPECT_EQ(Running(kStart + 750).phase, DeletionPhase::kFailed);
  EXPECT_EQ(Running(kStart + 800).since_s, kStart + 750);
  EXPECT_EQ(At(kStart + 3599).PodsText(), "default/p>b (ends) default/rs-m1>a");
  EXPECT_EQ(At(kStart + 3600).PodsText(), "default/rs-m1>a");
}

TEST_F(SimulatedCallsTest, APodEndsWithinItsGracePeriod) {
  for (const auto& [grace_s, ends_s] : {std::pair(0, 1), {5, 5}, {40, 10}}) {
    nodes_ = {Node("a"), Node("b")};
    pods_ = {Pod("p").On("b").With(
        [grace_s](objects::Pod& pod) { pod.termination_grace_period_s = grace_s; })};
    Make();
    ASSERT_TRUE(Begin("b", kStart).ok());
    ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
    const Shown before = At(kStart + ends_s - 1);
    ASSERT_TRUE(before.pods.contains("default/p")) << grace_s;
    EXPECT_EQ(before.pods.at("default/p").deletion_s, kStart + grace_s);
    EXPECT_FALSE(At(kStart + ends_s).pods.contains("default/p")) << grace_s;
  }
}

TEST_F(SimulatedCallsTest, APodOfAStatefulSetComesBackUnderItsNameWhenTheOldOneIsGone) {
  Add(Controller(objects::ControllerKind::kStatefulSet, "db"));
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("db-0").On("b").Cpu(500).OwnedBy("StatefulSet", "db"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  const Shown while_it_ends = At(kStart + 9);
  EXPECT_EQ(while_it_ends.PodsText(), "default/db-0>b (ends)");
  Shown to_a_sizer;  // The same.
  ASSERT_TRUE(cluster_->Observe(kStart + 9)->objects(to_a_sizer).ok());
  EXPECT_EQ(to_a_sizer.nodes, while_it_ends.nodes);
  EXPECT_EQ(to_a_sizer.pods, while_it_ends.pods);
  EXPECT_EQ(At(kStart + 13).PodsText(), "default/db-0>a");
  Shown without_the_old_one;
  ASSERT_TRUE(cluster_->Observe(kStart + 13)->objects(without_the_old_one).ok());
  EXPECT_EQ(without_the_old_one.PodsText(), "default/db-0>a");
}

TEST_F(SimulatedCallsTest, APodThatIsGoneIsNotShownToASizer) {
  Add(Node("a"));
  Add(Node("b").Cpu(100));
  Add(Pod("p").On("a").Cpu(500));
  Make();
  ASSERT_TRUE(Begin("a", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("a", kStart).ok());
  cluster_->AdvanceTo(kStart + 20);
  Shown shown;
  ASSERT_TRUE(cluster_->Observe(kStart + 20)->objects(shown).ok());
  EXPECT_EQ(shown.PodsText(), "default/rs-m1>");
}

TEST_F(SimulatedCallsTest, AReplicaSetThatShrinksLosesPodsThatWaitAndThenTheNewest) {
  options_.groups_grow = true;  // No node is booted for a pod that no longer waits.
  Add(Budget("web").Matching("app", "web").Allows(0));
  for (const char* const name : {"a", "b"}) Add(Node(name).Cpu(1000));
  Add(Pod("p").On("a").Cpu(600).Label("app", "web"));
  Add(Pod("q").On("b").Cpu(600).Label("app", "web"));
  Add(Pod("waits").Cpu(600).Label("app", "web"));
  Make([](const Catalog& catalog) {
    NodeGroups groups = OneGroupOf(catalog);
    groups.groups[0].max_size = 2;
    return groups;
  });
  const Shown first = At(kStart + 2);
  EXPECT_EQ(first.PodsText(), "default/p>a default/q>b default/waits>");
  EXPECT_EQ(first.disruptions.at("web"), 0);
  EXPECT_EQ(cluster_->PendingPods(), 1);

  ASSERT_TRUE(cluster_->Want("default", "rs", 2).ok());
  EXPECT_EQ(cluster_->PendingPods(), 0);
  const Shown of_two = At(kStart + 20);
  EXPECT_EQ(of_two.PodsText(), "default/p>a default/q>b");
  EXPECT_EQ(of_two.replicas.at("default/rs"), 2);
  EXPECT_EQ(of_two.disruptions.at("web"), 1);

  ASSERT_TRUE(cluster_->Want("default", "rs", 1).ok());
  EXPECT_EQ(At(kStart + 29).PodsText(), "default/p>a default/q>b (ends)");
  EXPECT_EQ(At(kStart + 30).PodsText(), "default/p>a");

  ASSERT_TRUE(cluster_->Want("default", "rs", 2).ok());
  EXPECT_EQ(At(kStart + 40).PodsText(), "default/p>a default/rs-m1>b");
  const uint64_t scheduled = cluster_->counts().pods_scheduled;
  ASSERT_TRUE(cluster_->Want("default", "rs", 5).ok());
  ASSERT_TRUE(cluster_->Want("default", "rs", 2).ok());
  EXPECT_EQ(At(kStart + 60).PodsText(), "default/p>a default/rs-m1>b");
  EXPECT_EQ(cluster_->counts().pods_scheduled, scheduled);
  EXPECT_EQ(cluster_->counts().pods_waited, 1);
  EXPECT_EQ(cluster_->counts().nodes_added, 0);
  EXPECT_EQ(cluster_->counts().evictions, 0);
}

TEST_F(SimulatedCallsTest, AReplicaSetWithoutAPodToCopyCannotWantAny) {
  Add(Node("a"));
  Make();
  EXPECT_EQ(cluster_->Want("default", "rs", 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cluster_->Want("default", "rs", -1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(At(kStart + 60).PodsText(), "");
}

TEST_F(SimulatedCallsTest, FaultsMayComeEverySecond) {
  options_.faults.node_vanishes_per_day = 1'000'000'000;
  Add(Node("a"));
  Add(Node("b"));
  Make();
  EXPECT_EQ(At(kStart + 2).nodes.size(), 1);
}

TEST_F(SimulatedCallsTest, ANodeThatVanishesWhileItIsDeletedIsGoneAndNotReplaced) {
  options_.faults.node_vanishes_per_day = 2 * kDayS;  // One a second, down to the last.
  Add(Node("a"));
  Add(Node("b"));
  Make();
  const std::vector<DeletionOrder> orders = {{.node = "a", .group = "group", .drain = true},
                                             {.node = "b", .group = "group", .drain = false}};
  ASSERT_TRUE(cluster_->Begin(orders, kStart).ok());
  for (const char* const node : {"a", "b"}) {
    ASSERT_TRUE(cluster_->Drain(node, kStart).ok());
    ASSERT_TRUE(cluster_->Delete(node, kStart).ok());
  }
  EXPECT_EQ(cluster_->counts().drains_s.size(), 1);  // The other was to go empty.
  EXPECT_EQ(At(kStart + 20).nodes.size(), 1);
  EXPECT_EQ(cluster_->nodes(), 1);
  EXPECT_EQ(cluster_->counts().nodes_vanished, 1);
  ASSERT_EQ(cluster_->Status(kStart + 20)->results.size(), 1);
  const DeletionResult vanished = cluster_->Status(kStart + 20)->results[0];
  EXPECT_TRUE(vanished.ok);
  EXPECT_EQ(vanished.at_s, kStart + 1);
  EXPECT_EQ(vanished.why, "it vanished");
  EXPECT_EQ(cluster_->deletions(), 1);
  const Observation observed = *cluster_->Observe(kStart + 20);
  EXPECT_THAT(observed.events, IsEmpty());
  EXPECT_EQ(observed.groups.groups[0].target_size, 1);
  cluster_->AdvanceTo(kStart + 40);  // The other one goes; of the first nothing is left to go.
  EXPECT_EQ(cluster_->nodes(), 0);
  EXPECT_EQ(cluster_->counts().nodes_deleted, 2);
}

TEST_F(SimulatedCallsTest, APodThatCameBeforeTheTaintEndsByItselfLater) {
  options_.faults.pod_before_taint_permille = 1000;
  Add(Node("a"));
  Add(Node("b"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->RollBack("b", "", kStart + 1).ok());
  EXPECT_EQ(At(kStart + 599).PodsText(), "default/bare-1>b");
  EXPECT_EQ(At(kStart + 1800).PodsText(), "");
}

TEST_F(SimulatedCallsTest, ANewNodeIsLikeTheOthersOfItsGroupUnderANameOfItsOwn) {
  Node pattern("a");
  pattern.raw.meta.uid = "uid-of-a";
  Add(pattern.Label("kubernetes.io/hostname", "a").Label("pool", "x"));
  Add(Pod("ds-a").On("a").Cpu(100).DaemonSet());
  Make([](const Catalog& catalog) {
    NodeGroups groups = OneGroupOf(catalog);
    groups.gpu_label.assign(catalog.nodes(), true);
    return groups;
  });
  ASSERT_TRUE(cluster_->SoftTaint("a", true, kStart).ok());
  ASSERT_TRUE(cluster_->Grow("group", 2, kStart).ok());
  EXPECT_EQ(At(kStart + 59).nodes.size(), 1);
  EXPECT_EQ(cluster_->counts().nodes_added, 0);
  const Shown shown = At(kStart + 60);
  ASSERT_TRUE(shown.nodes.contains("group-new-1"));
  EXPECT_EQ(shown.nodes.at("group-new-1"),
            (Shown::OfNode{.uid = "uid-of-group-new-1",
                           .created_s = kStart + 60,
                           .labels = {{"kubernetes.io/hostname", "group-new-1"}, {"pool", "x"}},
                           .taints = {}}));
  EXPECT_EQ(shown.nodes.at("a").uid, "uid-of-a");
  EXPECT_EQ(shown.nodes.at("a").labels.at("kubernetes.io/hostname"), "a");
  EXPECT_EQ(shown.PodsText(), "default/ds-a>a default/ds-group-new-1>group-new-1");
  EXPECT_EQ(cluster_->counts().nodes_added, 1);
  EXPECT_EQ(cluster_->nodes(), 2);
  const Observation observed = *cluster_->Observe(kStart + 60);
  const NodeId node = test::NodeNamed(*observed.snapshot, "group-new-1");
  EXPECT_EQ(observed.groups.Of(node), GroupId{0});
  EXPECT_TRUE(observed.groups.HasGpuLabel(node));
  EXPECT_EQ(observed.groups.groups[0].target_size, 2);
}

// Groups "grows" with a and b, "never-had-any", "large" with c; d is in none.
NodeGroups SeveralGroupsOf(const Catalog& catalog) {
  NodeGroups groups;
  groups.groups.resize(3);
  groups.groups[0].name = "grows";
  groups.groups[1].name = "never-had-any";
  groups.groups[2].name = "large";
  groups.groups[2].min_size = 3;
  groups.group_of.assign(catalog.nodes(), kNoGroup);
  const auto put = [&](const char* node, uint32_t group) {
    groups.group_of[Index(catalog.FindNode(node).value())] = GroupId{group};
  };
  put("a", 0);
  put("b", 0);
  put("c", 2);
  return groups;
}

TEST_F(SimulatedCallsTest, OnlyGroupsThatMayGrowByThemselvesDoAndWaitingPodsTryAgainLessOften) {
  options_.groups_grow = true;
  options_.group_grows = [](std::string_view name) { return name == "grows"; };
  options_.boot = {200, 200};
  for (const char* const name : {"a", "b", "c", "d"}) {
    Add(Node(name));
    Add(Pod(absl::StrCat("fills-", name)).On(name).Cpu(3900));
  }
  for (const char* const name : {"x", "y", "z"}) Add(Pod(name).Cpu(3000).CreatedAt(kStart));
  Make(&SeveralGroupsOf);
  const Observation first = *cluster_->Observe(kStart);
  EXPECT_EQ(first.groups.groups[0].min_size, 1);  // A group that grows keeps one node.
  EXPECT_EQ(first.groups.groups[1].min_size, 0);
  EXPECT_EQ(first.groups.groups[2].min_size, 3);
  EXPECT_EQ(first.groups.groups[0].target_size, 2);
  EXPECT_EQ(first.groups.groups[1].target_size, 0);
  EXPECT_EQ(first.groups.groups[2].target_size, 1);
  EXPECT_EQ(first.groups.Of(test::NodeNamed(*first.snapshot, "b")), GroupId{0});
  EXPECT_EQ(first.groups.Of(test::NodeNamed(*first.snapshot, "c")), GroupId{2});
  EXPECT_EQ(first.groups.Of(test::NodeNamed(*first.snapshot, "d")), kNoGroup);
  EXPECT_EQ(cluster_->Grow("never-had-any", 1, kStart).code(),
            absl::StatusCode::kFailedPrecondition);

  EXPECT_THAT(cluster_->Observe(kStart + 9)->events, IsEmpty());
  const Observation booting = *cluster_->Observe(kStart + 10);
  ASSERT_EQ(booting.events.size(), 3);
  for (const ScaleEvent& event : booting.events) {
    EXPECT_EQ(event.kind, ScaleEventKind::kScaleUp);
    EXPECT_EQ(event.group, "grows");
    EXPECT_EQ(event.at_s, kStart + 10);
  }
  EXPECT_EQ(booting.groups.groups[0].target_size, 5);
  EXPECT_THAT(cluster_->Observe(kStart + 11)->events, IsEmpty());

  cluster_->AdvanceTo(kStart + 254);
  EXPECT_EQ(cluster_->nodes(), 7);
  EXPECT_EQ(cluster_->PendingPods(), 3);
  cluster_->AdvanceTo(kStart + 255);  // Tries at 0, 5, 15, 35, 75, 135, 195 and 255.
  EXPECT_EQ(cluster_->PendingPods(), 0);
  EXPECT_EQ(At(kStart + 600).nodes.size(), 7);
  EXPECT_EQ(cluster_->counts().pods_waited, 3);
  EXPECT_EQ(cluster_->counts().pods_scheduled, 3);
  EXPECT_EQ(cluster_->counts().pod_wait_max_s, 255);
  EXPECT_EQ(cluster_->counts().pod_wait_s, 3 * 255);
}

TEST_F(SimulatedCallsTest, PodsThatFitOntoOneNodeHaveOneBooted) {
  options_.groups_grow = true;
  Add(Node("a"));
  Add(Pod("fills").On("a").Cpu(3900));
  Add(Pod("ds-a").On("a").Cpu(100).DaemonSet());
  Add(Pod("x").Cpu(1900));
  Add(Pod("y").Cpu(2000));  // With x all that the pod of the DaemonSet leaves.
  Make();
  const Observation booting = *cluster_->Observe(kStart + 10);
  EXPECT_EQ(booting.events.size(), 1);
  EXPECT_EQ(booting.groups.groups[0].target_size, 2);
  EXPECT_EQ(At(kStart + 200).nodes.size(), 2);
  EXPECT_EQ(cluster_->PendingPods(), 0);
}

TEST_F(SimulatedCallsTest, ARequestedMachineHasRoomForAPodThatWaits) {
  options_.groups_grow = true;
  Add(Node("a"));
  Add(Pod("fills").On("a").Cpu(4000));
  Add(Pod("x").Cpu(1000));
  Make();
  ASSERT_TRUE(cluster_->Grow("group", 2, kStart).ok());
  const Observation booting = *cluster_->Observe(kStart + 10);
  EXPECT_EQ(booting.groups.groups[0].target_size, 2);
  EXPECT_EQ(At(kStart + 200).nodes.size(), 2);
  EXPECT_EQ(cluster_->PendingPods(), 0);
}

TEST_F(SimulatedCallsTest, WithLoadPodsOfJobsEndAndOthersBegin) {
  options_.daily_load = true;
  Add(Node("a"));
  for (int n = 0; n < 10; ++n) {
    const std::string name = absl::StrCat("job-", n);
    Add(Controller(objects::ControllerKind::kJob, name));
    Add(Pod(name + "-x").On("a").Cpu(10).OwnedBy("Job", name));
  }
  Make();
  const Shown shown = At(kStart + kDayS + 60);
  EXPECT_EQ(shown.pods.size(), 10);
  for (const auto& [name, pod] : shown.pods) EXPECT_EQ(pod.node, "a") << name;
  // Of ten, one time in fifty every five minutes: about 58.
  EXPECT_GT(cluster_->counts().pods_scheduled, 20);
  EXPECT_LT(cluster_->counts().pods_scheduled, 200);
  EXPECT_EQ(cluster_->counts().evictions, 0);
}

TEST_F(SimulatedCallsTest, DeploymentsAreLargestInTheAfternoonAndSmallestAtNight) {
  options_.daily_load = true;
  Add(Controller(objects::ControllerKind::kReplicaSet, "web").Replicas(8));
  Add(Controller(objects::ControllerKind::kReplicaSet, "system").In("kube-system").Replicas(8));
  Add(Node("a"));
  for (int n = 0; n < 8; ++n) {
    Add(Pod(absl::StrCat("web-", n)).On("a").Cpu(10).OwnedBy("ReplicaSet", "web"));
    Add(Pod(absl::StrCat("system-", n))
            .In("kube-system")
            .On("a")
            .Cpu(10)
            .OwnedBy("ReplicaSet", "system"));
  }
  Make();
  EXPECT_EQ(At(kStart + 14 * 3600).replicas.at("default/web"), 10);
  const Shown night = At(kStart + 26 * 3600);
  EXPECT_EQ(night.replicas.at("default/web"), 6);
  EXPECT_EQ(night.replicas.at("kube-system/system"), 8);
  for (int n = 0; n < 8; ++n) {
    EXPECT_TRUE(night.pods.contains(absl::StrCat("kube-system/system-", n)));
  }
}

TEST_F(SimulatedCallsTest, APodThatIsTerminatingAtTheStartEndsInTimeAndIsNotRecreated) {
  Add(Node("a"));
  Add(Pod("ends").On("a").DeletedAt(kStart - 5));
  Add(Pod("p").On("a"));
  Make();
  EXPECT_EQ(At(kStart + 9).PodsText(), "default/ends>a (ends) default/p>a");
  EXPECT_EQ(At(kStart + 10).PodsText(), "default/p>a");
  EXPECT_EQ(At(kStart + 60).PodsText(), "default/p>a");
}

TEST_F(SimulatedCallsTest, BeginLeavesARunningDeletionUnchangedAndStartsTheOthers) {
  for (const char* const name : {"a", "b", "c"}) Add(Node(name));
  Make();
  ASSERT_TRUE(Begin("a", kStart).ok());
  const std::vector<DeletionOrder> orders = {{.node = "a", .group = "another", .drain = false},
                                             {.node = "b", .group = "group", .drain = true}};
  ASSERT_TRUE(cluster_->Begin(orders, kStart + 5).ok());
  const std::vector<RunningDeletion> running = cluster_->Status(kStart + 6)->running;
  ASSERT_EQ(running.size(), 2);
  EXPECT_EQ(running[0].node, "a");
  EXPECT_EQ(running[0].group, "group");
  EXPECT_TRUE(running[0].drain);
  EXPECT_EQ(running[0].since_s, kStart);
  EXPECT_EQ(running[1].node, "b");
  EXPECT_EQ(running[1].since_s, kStart + 5);
  const std::vector<DeletionOrder> one_gone = {{.node = "c", .group = "group", .drain = true},
                                               {.node = "z", .group = "group", .drain = true}};
  EXPECT_EQ(cluster_->Begin(one_gone, kStart + 7).message(), "node z is gone");
  EXPECT_EQ(cluster_->deletions(), 2);
  EXPECT_EQ(At(kStart + 7).nodes.size(), 3);
}

TEST_F(SimulatedCallsTest, ADeletionThatFailedCanOnlyBeRolledBack) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("bare").On("b").WithoutOwner());
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  EXPECT_EQ(cluster_->Delete("b", kStart).message(), "node b is not drained");
  ASSERT_TRUE(cluster_->Drain("b", kStart + 1).ok());
  EXPECT_EQ(Running(kStart + 2).phase, DeletionPhase::kFailed);
  EXPECT_EQ(cluster_->Drain("b", kStart + 2).message(), "node b is not just tainted");
  EXPECT_EQ(cluster_->Delete("b", kStart + 2).message(), "node b is not drained");
  EXPECT_EQ(cluster_->Drain("a", kStart + 2).message(), "node a is not being deleted");
  ASSERT_TRUE(cluster_->RollBack("b", "it failed", kStart + 3).ok());
  EXPECT_EQ(cluster_->deletions(), 0);
  EXPECT_EQ(At(kStart + 3).PodsText(), "default/bare>b");
}

TEST_F(SimulatedCallsTest, ANodeThatWasToGoEmptyWaitsForNoPodToComplete) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("job").On("b").SafeToEvict("on-completion"));
  Make();
  const DeletionOrder order{.node = "b", .group = "group", .drain = false};
  ASSERT_TRUE(cluster_->Begin({&order, 1}, kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  const RunningDeletion failed = Running(kStart + 1);
  EXPECT_EQ(failed.phase, DeletionPhase::kFailed);
  EXPECT_EQ(failed.why, "it was to go empty, and has pods now");
}

// p spends the budget, and q starts for longer than the drain takes.
TEST_F(SimulatedCallsTest, APodThatDoesNotRunYetIsEvictedWithoutItsBudget) {
  options_.start = {1000, 1000};
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a").Cpu(100));
  Add(Node("b"));
  Add(Pod("p").On("b").Cpu(500).Label("app", "web"));
  Add(Pod("q").Cpu(500).Label("app", "web"));
  Make();
  EXPECT_EQ(At(kStart + 1).PodsText(), "default/p>b default/q>b");
  ASSERT_TRUE(Begin("b", kStart + 1).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart + 1).ok());
  EXPECT_EQ(cluster_->counts().evictions, 2);
  EXPECT_EQ(cluster_->counts().pdb_refusals, 0);
  EXPECT_EQ(Running(kStart + 20).phase, DeletionPhase::kDrained);
}

TEST_F(SimulatedCallsTest, APodThatLandsOnADrainedNodeIsKilledWithItAndRecreated) {
  Add(Node("a"));
  Add(Node("b").Label("pool", "b"));
  Add(Pod("p").On("b").NodeSelector("pool", "b").ToleratesEverything());
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(At(kStart + 9).PodsText(), "default/p>b (ends) default/rs-m1>b");
  ASSERT_TRUE(cluster_->Delete("b", kStart + 15).ok());
  EXPECT_EQ(cluster_->counts().killed_with_node, 0);
  EXPECT_EQ(At(kStart + 54).PodsText(), "default/rs-m1>b");
  EXPECT_EQ(At(kStart + 60).PodsText(), "default/rs-m2>");
  EXPECT_EQ(cluster_->counts().killed_with_node, 1);
  EXPECT_EQ(cluster_->counts().nodes_deleted, 1);
  EXPECT_EQ(cluster_->PendingPods(), 1);
  EXPECT_EQ(cluster_->nodes(), 1);
}

// The fault puts a bare pod on the node whenever a deletion begins.  The first has ended before the
// drain; the second comes behind it.
TEST_F(SimulatedCallsTest, ABarePodThatIsLostWithItsNodeIsNotSound) {
  options_.faults.pod_before_taint_permille = 1000;
  Add(Node("a"));
  Add(Node("b"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart + 1801).ok());
  EXPECT_EQ(Running(kStart + 1801).phase, DeletionPhase::kDrained);
  ASSERT_TRUE(Begin("b", kStart + 1802).ok());
  ASSERT_TRUE(cluster_->Delete("b", kStart + 1802).ok());
  EXPECT_EQ(At(kStart + 1841).PodsText(), "default/bare-2>b");
  cluster_->AdvanceTo(kStart + 1842);
  EXPECT_EQ(cluster_->nodes(), 1);
  EXPECT_EQ(cluster_->CheckSound().message(), "pod bare-2 was lost with its node");
  EXPECT_EQ(cluster_->counts().killed_with_node, 0);
}

// The eviction is refused at first, and then the API is away for as long as the drain may last.
TEST_F(SimulatedCallsTest, NothingIsEvictedWhileTheApiIsAway) {
  options_.faults.eviction_refused_permille = 1000;
  options_.faults.eviction_refused_for_s = 5;
  options_.faults.api_away_per_day = 2 * kDayS;  // Once a second, from the first on.
  options_.faults.api_away_for_s = 1000;
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("b"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(Running(kStart + 119).phase, DeletionPhase::kDraining);
  const RunningDeletion failed = Running(kStart + 120);
  EXPECT_EQ(failed.phase, DeletionPhase::kFailed);
  EXPECT_EQ(failed.why, "pod p was not evicted: the API is away");
  EXPECT_EQ(cluster_->counts().fault_refusals, 1);
  EXPECT_EQ(cluster_->counts().evictions, 0);
  EXPECT_EQ(cluster_->RollBack("b", "", kStart + 121).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(cluster_->Grow("group", 3, kStart + 121).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SimulatedCallsTest, AnApiThatIsAwayForNoTimeAnswers) {
  options_.faults.api_away_per_day = 2 * kDayS;
  options_.faults.api_away_for_s = 0;
  Add(Node("a"));
  Make();
  EXPECT_TRUE(cluster_->Observe(kStart + 5).ok());
}

TEST_F(SimulatedCallsTest, AGroupGrowsUpToItsLargestSize) {
  Add(Node("a"));
  Make([](const Catalog& catalog) {
    NodeGroups groups = OneGroupOf(catalog);
    groups.groups[0].max_size = 3;
    return groups;
  });
  EXPECT_EQ(cluster_->Grow("group", 4, kStart).message(), "group group may have 3 machines, not 4");
  EXPECT_EQ(cluster_->Grow("none", 3, kStart).message(), "no group has the name none");
  EXPECT_TRUE(cluster_->Grow("group", 3, kStart).ok());
  EXPECT_EQ(At(kStart + 60).nodes.size(), 3);
  EXPECT_EQ(cluster_->counts().nodes_added, 2);
}

TEST_F(SimulatedCallsTest, NewNodesAreLikeOneOfTheGroupThatTakesPods) {
  Add(Node("first").Cpu(1000).Unschedulable());
  Add(Node("pattern").Cpu(2000));
  Add(Node("cordoned").Cpu(9000).Unschedulable());
  Make();
  ASSERT_TRUE(cluster_->Grow("group", 4, kStart).ok());
  const Observation observed = *cluster_->Observe(kStart + 60);
  const ClusterSnapshot& snapshot = *observed.snapshot;
  const NodeId node = test::NodeNamed(snapshot, "group-new-1");
  EXPECT_EQ(snapshot.Allocatable(kCpu, node), 2000);
  EXPECT_FALSE(snapshot.catalog().node(node).unschedulable);
}

// Nodes that would take the pod are booted, and none does: it wants a pod near that there is not.
TEST_F(SimulatedCallsTest, NoMoreThanThreeNodesAreBootedForOnePod) {
  options_.groups_grow = true;
  Add(Node("a").Label("host", "1"));
  Add(Pod("lonely").Cpu(100).Near("host", test::Select("app", "nobody")));
  Make();
  const auto booted = [&](int64_t after_s) {
    return cluster_->Observe(kStart + after_s)->events.size();
  };
  EXPECT_EQ(booted(9), 0);
  EXPECT_EQ(booted(10), 1);
  EXPECT_EQ(booted(129), 0);
  EXPECT_EQ(booted(130), 1);
  EXPECT_EQ(booted(249), 0);
  EXPECT_EQ(booted(250), 1);
  EXPECT_EQ(booted(2000), 0);
  EXPECT_EQ(cluster_->counts().nodes_added, 3);
  EXPECT_EQ(cluster_->nodes(), 4);
  EXPECT_EQ(cluster_->PendingPods(), 1);
}

TEST_F(SimulatedCallsTest, AGroupGrowsByWhatItsNodesThatTakePodsAreLike) {
  options_.groups_grow = true;
  Add(Node("cordoned").Cpu(1000).Unschedulable());
  Add(Node("b").Cpu(4000));
  Add(Pod("fills").On("b").Cpu(3000));
  Add(Pod("large").Cpu(2000));
  Make();
  EXPECT_EQ(cluster_->Observe(kStart + 10)->events.size(), 1);
  EXPECT_EQ(At(kStart + 200).PodsText(), "default/fills>b default/large>group-new-1");
  EXPECT_EQ(cluster_->nodes(), 3);
}

TEST_F(SimulatedCallsTest, OnlyTheReplicaSetOfThatNameAndNamespaceIsChanged) {
  Add(Node("a"));
  Add(Pod("rs-0").On("a").OwnedBy("StatefulSet", "rs"));
  Add(Pod("y").In("other").On("a"));
  Add(Pod("z").On("a").OwnedBy("ReplicaSet", "another"));
  Add(Pod("p").On("a"));
  Make();
  ASSERT_TRUE(cluster_->Want("default", "rs", 2).ok());
  EXPECT_EQ(At(kStart + 60).PodsText(),
            "default/p>a default/rs-0>a default/rs-m1>a default/z>a other/y>a");
  EXPECT_EQ(cluster_->Want("default", "rs", -1).message(), "-1 pods cannot be wanted");
  EXPECT_EQ(cluster_->Want("none", "rs", 1).message(), "there is no ReplicaSet none/rs");
}

TEST_F(SimulatedCallsTest, ATimeThatHasPassedChangesNothing) {
  Add(Node("a"));
  Make();
  cluster_->AdvanceTo(kStart + 10);
  cluster_->AdvanceTo(kStart + 5);
  EXPECT_EQ(cluster_->now_s(), kStart + 10);
  EXPECT_TRUE(cluster_->SoftTaint("a", true, kStart + 6).ok());
  EXPECT_EQ(cluster_->now_s(), kStart + 10);
}

// q is to start at 20, when it ends or is gone already.
TEST_F(SimulatedCallsTest, APodThatEndsBeforeItWouldStartNeverRuns) {
  options_.start = {20, 20};
  Add(Node("a").Cpu(100));
  Add(Node("b"));
  Add(Pod("q").Cpu(500));
  for (const int64_t end_s : {30, 5}) {
    options_.end = {end_s, end_s};
    Make();
    ASSERT_TRUE(Begin("b", kStart + 1).ok());
    ASSERT_TRUE(cluster_->Drain("b", kStart + 1).ok());
    EXPECT_EQ(At(kStart + end_s).PodsText(), "default/q>b (ends) default/rs-m1>") << end_s;
    EXPECT_EQ(At(kStart + end_s + 1).PodsText(), "default/rs-m1>") << end_s;
    EXPECT_EQ(At(kStart + 40).PodsText(), "default/rs-m1>") << end_s;
  }
}

NodeGroups WithoutGroup(const Catalog& catalog, std::string_view node) {
  NodeGroups groups = OneGroupOf(catalog);
  groups.group_of[Index(catalog.FindNode(node).value())] = kNoGroup;
  return groups;
}

// One of a and b vanishes after a second, and its pod with it.  When that pod would have ended, the
// new one of its name is there.
TEST_F(SimulatedCallsTest, TheEndOfAPodThatWentWithItsNodeIsNotThatOfItsNamesake) {
  options_.faults.node_vanishes_per_day = 2 * kDayS;
  for (const char* const name : {"a", "b", "c"}) Add(Node(name));
  Add(Pod("db-0").On("a").Cpu(500).OwnedBy("StatefulSet", "db"));
  Add(Pod("es-0").On("b").Cpu(500).OwnedBy("StatefulSet", "es"));
  Add(Controller(objects::ControllerKind::kStatefulSet, "db"));
  Add(Controller(objects::ControllerKind::kStatefulSet, "es"));
  Make([](const Catalog& catalog) { return WithoutGroup(catalog, "c"); });
  for (const char* const name : {"a", "b"}) {
    ASSERT_TRUE(Begin(name, kStart).ok());
    ASSERT_TRUE(cluster_->Drain(name, kStart).ok());
  }
  EXPECT_EQ(cluster_->counts().evictions, 2);
  EXPECT_EQ(At(kStart + 20).PodsText(), "default/db-0>c default/es-0>c");
  EXPECT_EQ(cluster_->nodes(), 2);
  EXPECT_EQ(cluster_->counts().nodes_vanished, 1);
  EXPECT_EQ(cluster_->counts().killed_with_node, 0);
  EXPECT_EQ(Running(kStart + 20).phase, DeletionPhase::kDrained);
}

// Where c has no group, only a and b vanish, and nodes that were booted for them.
TEST_F(SimulatedCallsTest, ABarePodThatWentWithItsNodeIsWantedNoMoreAndEndsOnce) {
  options_.faults.pod_before_taint_permille = 1000;
  options_.faults.node_vanishes_per_day = 2 * kDayS;
  Add(Budget("all").MatchingEverything().Allows(0));
  for (const char* const name : {"a", "b", "c"}) Add(Node(name));
  Add(Pod("p").On("c"));
  Make([](const Catalog& catalog) { return WithoutGroup(catalog, "c"); });
  ASSERT_TRUE(Begin("b", kStart).ok());
  const Shown shown = At(kStart + 2000);
  EXPECT_EQ(shown.PodsText(), "default/p>c");
  EXPECT_EQ(shown.disruptions.at("all"), 0);
  EXPECT_TRUE(shown.nodes.contains("c"));
}

TEST_F(SimulatedCallsTest, TheApiGoesAwayAgainAndAgain) {
  options_.faults.api_away_per_day = 2 * kDayS;
  options_.faults.api_away_for_s = 1;
  Add(Node("a"));
  Make();
  EXPECT_TRUE(cluster_->Observe(kStart).ok());
  EXPECT_EQ(cluster_->Observe(kStart + 5).status().message(), "the API is away");
}

TEST_F(SimulatedCallsTest, NodesVanishOneAfterTheOtherAndAnotherIsBootedForEach) {
  options_.faults.node_vanishes_per_day = 2 * kDayS;
  for (const char* const name : {"a", "b", "c"}) {
    Add(Node(name));
    Add(Pod(absl::StrCat("of-", name)).On(name).Cpu(100));
  }
  Make();
  for (const int64_t after_s : {1, 2}) {
    const Observation observed = *cluster_->Observe(kStart + after_s);
    ASSERT_EQ(observed.events.size(), 1) << after_s;
    EXPECT_EQ(observed.events[0].kind, ScaleEventKind::kScaleUp);
    EXPECT_EQ(observed.events[0].group, "group");
    EXPECT_EQ(observed.events[0].at_s, kStart + after_s);
    EXPECT_EQ(observed.groups.groups[0].target_size, 3);
    EXPECT_EQ(cluster_->nodes(), 3 - static_cast<size_t>(after_s));
  }
  EXPECT_EQ(At(kStart + 10).nodes.size(), 1);
  EXPECT_EQ(cluster_->counts().nodes_vanished, 2);
  EXPECT_EQ(cluster_->counts().killed_with_node, 0);
  EXPECT_EQ(cluster_->counts().evictions, 0);
}

TEST_F(SimulatedCallsTest, ANodeOfNoGroupCountsForNone) {
  options_.group_grows = [](std::string_view) { return true; };  // Where groups grow at all.
  for (const char* const name : {"d", "a", "b"}) Add(Node(name));
  Make([](const Catalog& catalog) { return WithoutGroup(catalog, "d"); });
  const auto observed = [&](int64_t after_s) { return *cluster_->Observe(kStart + after_s); };
  const Observation first = observed(0);
  EXPECT_EQ(first.groups.groups[0].min_size, 0);
  EXPECT_EQ(first.groups.groups[0].target_size, 2);
  EXPECT_EQ(first.groups.Of(test::NodeNamed(*first.snapshot, "d")), kNoGroup);
  EXPECT_EQ(first.groups.Of(test::NodeNamed(*first.snapshot, "a")), GroupId{0});
  EXPECT_FALSE(first.groups.HasGpuLabel(test::NodeNamed(*first.snapshot, "a")));
  ASSERT_TRUE(cluster_->Grow("group", 3, kStart).ok());
  const Observation grown = observed(60);
  ASSERT_EQ(grown.groups.groups.size(), 1);
  EXPECT_EQ(grown.groups.groups[0].target_size, 3);
  EXPECT_EQ(grown.groups.Of(test::NodeNamed(*grown.snapshot, "group-new-1")), GroupId{0});
  EXPECT_EQ(grown.groups.Of(test::NodeNamed(*grown.snapshot, "d")), kNoGroup);
  EXPECT_FALSE(grown.groups.HasGpuLabel(test::NodeNamed(*grown.snapshot, "group-new-1")));
  ASSERT_TRUE(Begin("d", kStart + 60).ok());
  ASSERT_TRUE(cluster_->Drain("d", kStart + 60).ok());
  ASSERT_TRUE(cluster_->Delete("d", kStart + 60).ok());
  EXPECT_EQ(observed(100).groups.groups[0].target_size, 3);
  EXPECT_FALSE(At(kStart + 100).nodes.contains("d"));
  EXPECT_EQ(cluster_->nodes(), 3);
}

TEST_F(SimulatedCallsTest, ADeletionBeginsOnlyOfTheMachineThatTheOrderNames) {
  Add(Node("b").With([](objects::Node& node) { node.meta.uid = "m"; }));
  Make();
  const auto begin = [&](std::string uid) {
    const DeletionOrder order{.node = "b", .uid = std::move(uid), .group = "group"};
    return cluster_->Begin({&order, 1}, kStart);
  };
  for (const char* const another : {"a", "z"}) {
    const absl::Status begun = begin(another);
    EXPECT_EQ(begun.code(), absl::StatusCode::kNotFound) << another;
    EXPECT_EQ(begun.message(), "node b is gone") << another;
  }
  EXPECT_EQ(cluster_->deletions(), 0);
  EXPECT_TRUE(begin("m").ok());
  EXPECT_EQ(cluster_->deletions(), 1);
}

TEST_F(SimulatedCallsTest, RefusedCallsGiveTheReason) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("b"));
  Make();
  EXPECT_EQ(cluster_->SoftTaint("z", true, kStart).message(), "node z is gone");
  EXPECT_EQ(cluster_->Grow("absent", 2, kStart).message(), "no group has the name absent");
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(cluster_->RollBack("b", "", kStart + 1).message(), "node b is on its way");
  EXPECT_EQ(cluster_->deletions(), 1);
  options_.faults.taint_fails_permille = 1000;
  Make();
  EXPECT_EQ(Begin("b", kStart).message(), "node b: conflict");
}

TEST_F(SimulatedCallsTest, AnEvictionIsRecentForTwoMinutesToTheSecond) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("b"));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(cluster_->Status(kStart + 120)->recent_evictions.size(), 1);
  EXPECT_THAT(cluster_->Status(kStart + 121)->recent_evictions, IsEmpty());
}

// `job` is to end by itself, and is killed with its node.
TEST_F(SimulatedCallsTest, ADrainEvictsOnlyPodsThatMustMove) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("daemon").On("b").DaemonSet());
  Add(Pod("mirror").On("b").WithoutOwner().Mirror());
  Add(Pod("job").On("b").Cpu(100).SafeToEvict("on-completion"));
  Add(Pod("p").On("b").Cpu(100));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(cluster_->counts().evictions, 1);
  EXPECT_EQ(Running(kStart + 10).phase, DeletionPhase::kDrained);
  EXPECT_EQ(At(kStart + 20).PodsText(),
            "default/daemon>b default/job>b default/mirror>b default/rs-m1>a");
  ASSERT_TRUE(cluster_->Delete("b", kStart + 20).ok());
  EXPECT_EQ(At(kStart + 70).PodsText(), "default/rs-m1>a default/rs-m2>a");
  EXPECT_EQ(cluster_->counts().killed_with_node, 1);
  EXPECT_EQ(cluster_->counts().evictions, 1);
}

// p is evicted, ends half a minute later, and its successor finds no room.
TEST_F(SimulatedCallsTest, WhileAPodEndsTheOthersAreTriedAndTheLastThatIsRefusedIsNamed) {
  options_.end = {30, 30};
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("fills").On("a").Cpu(3600));
  for (const char* const name : {"p", "q", "r"}) {
    Add(Pod(name).On("b").Cpu(500).Label("app", "web"));
  }
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  const RunningDeletion failed = Running(kStart + 125);
  EXPECT_EQ(failed.phase, DeletionPhase::kFailed);
  EXPECT_EQ(failed.since_s, kStart + 120);
  EXPECT_EQ(failed.why, "pod r was not evicted: its disruption budget holds it");
  EXPECT_EQ(cluster_->counts().evictions, 1);
  EXPECT_EQ(cluster_->counts().pdb_refusals, 2 * 13);
}

TEST_F(SimulatedCallsTest, APodOfAStatefulSetDoesNotWaitForAnotherToEnd) {
  Add(Controller(objects::ControllerKind::kStatefulSet, "db"));
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("db-0").On("b").Cpu(500).OwnedBy("StatefulSet", "db"));
  Add(Pod("db-1").On("b").Cpu(500).OwnedBy("StatefulSet", "db").With([](objects::Pod& pod) {
    pod.termination_grace_period_s = 2;
  }));
  Make();
  ASSERT_TRUE(Begin("b", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("b", kStart).ok());
  EXPECT_EQ(At(kStart + 1).PodsText(), "default/db-0>b (ends) default/db-1>b (ends)");
  EXPECT_EQ(At(kStart + 5).PodsText(), "default/db-0>b (ends) default/db-1>a");
  EXPECT_EQ(At(kStart + 12).PodsText(), "default/db-0>a default/db-1>a");
}

// Group "other" is too small.  Of "good" one node is gone, one goes, and the third is full; the pod
// asks for all that such a node has.  For `huge`, which comes first, there is no group.
TEST_F(SimulatedCallsTest, AGroupGrowsByWhatItsNodesThatStayAreLike) {
  options_.groups_grow = true;
  Add(Node("small").Cpu(100));
  for (const char* const name : {"gone", "going", "b"}) Add(Node(name));
  Add(Pod("huge").Cpu(5000).OwnedBy("ReplicaSet", "huge"));
  Add(Pod("fills").On("b").Cpu(4000));
  Make([](const Catalog& catalog) {
    NodeGroups groups;
    groups.groups.resize(2);
    groups.groups[0].name = "other";
    groups.groups[1].name = "good";
    groups.group_of.assign(catalog.nodes(), GroupId{1});
    groups.group_of[Index(catalog.FindNode("small").value())] = GroupId{0};
    return groups;
  });
  ASSERT_TRUE(Begin("gone", kStart).ok());
  ASSERT_TRUE(Begin("going", kStart).ok());
  ASSERT_TRUE(cluster_->Drain("gone", kStart).ok());
  ASSERT_TRUE(cluster_->Delete("gone", kStart).ok());
  EXPECT_EQ(At(kStart + 50).nodes.size(), 3);
  ASSERT_TRUE(cluster_->Want("default", "rs", 2).ok());
  EXPECT_THAT(cluster_->Observe(kStart + 59)->events, IsEmpty());
  const Observation booting = *cluster_->Observe(kStart + 60);
  ASSERT_EQ(booting.events.size(), 1);
  EXPECT_EQ(booting.events[0].group, "good");
  EXPECT_EQ(At(kStart + 200).PodsText(), "default/fills>b default/huge> default/rs-m1>good-new-1");
  EXPECT_EQ(cluster_->counts().nodes_added, 1);
}

TEST_F(SimulatedCallsTest, RoomOnNodesThatBootIsThatOfEachInCoresMemoryAndPods) {
  options_.groups_grow = true;
  const auto booted = [&](const Node& node, const std::vector<Pod>& waiting) {
    nodes_ = {node};
    pods_ = {Pod("fills").On("a").Cpu(4000).Memory(8 * test::kGiB)};
    pods_.insert(pods_.end(), waiting.begin(), waiting.end());
    Make();
    return cluster_->Observe(kStart + 10)->events.size();
  };
  const Node node("a");
  const int64_t gib = test::kGiB;
  EXPECT_EQ(booted(node, {Pod("x").Cpu(1).Memory(5 * gib), Pod("y").Cpu(1).Memory(5 * gib)}), 2);
  EXPECT_EQ(booted(node, {Pod("x").Memory(3 * gib), Pod("y").Memory(3 * gib)}), 1);
  // z finds room on the second, and w on none.
  EXPECT_EQ(booted(node, {Pod("x").Cpu(3000), Pod("y").Cpu(2000), Pod("z").Cpu(1500),
                          Pod("w").Cpu(3500)}),
            3);
  EXPECT_EQ(booted(Node("a").Pods(2), {Pod("x").Cpu(10), Pod("y").Cpu(10), Pod("z").Cpu(10)}), 2);
}

TEST_F(SimulatedCallsTest, ABootedNodeNoLongerCountsAsRoomToCome) {
  options_.groups_grow = true;
  Add(Node("a"));
  Add(Pod("p").On("a").Cpu(3000));
  Make();
  ASSERT_TRUE(cluster_->Grow("group", 2, kStart).ok());
  EXPECT_EQ(cluster_->Observe(kStart + 60)->events.size(), 1);
  EXPECT_EQ(cluster_->nodes(), 2);
  ASSERT_TRUE(cluster_->Want("default", "rs", 2).ok());
  EXPECT_EQ(At(kStart + 70).PodsText(), "default/p>a default/rs-m1>group-new-1");
  ASSERT_TRUE(cluster_->Want("default", "rs", 3).ok());
  const Observation booting = *cluster_->Observe(kStart + 80);
  EXPECT_EQ(booting.events.size(), 1);
  EXPECT_EQ(booting.groups.groups[0].target_size, 3);
}

TEST_F(SimulatedCallsTest, NoOtherGroupGrowsIfOneAlreadyHasRoomToCome) {
  options_.groups_grow = true;
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("fills-a").On("a").Cpu(4000));
  Add(Pod("fills-b").On("b").Cpu(4000));
  Add(Pod("x").Cpu(1000));
  Make([](const Catalog& catalog) {
    NodeGroups groups = OneGroupOf(catalog);
    groups.groups.resize(2);
    groups.groups[1].name = "second";
    groups.group_of[Index(catalog.FindNode("b").value())] = GroupId{1};
    return groups;
  });
  ASSERT_TRUE(cluster_->Grow("group", 2, kStart).ok());
  EXPECT_EQ(cluster_->Observe(kStart)->events.size(), 1);
  EXPECT_THAT(cluster_->Observe(kStart + 10)->events, IsEmpty());
  EXPECT_EQ(At(kStart + 200).nodes.size(), 3);
  EXPECT_EQ(cluster_->PendingPods(), 0);
}

TEST_F(SimulatedCallsTest, APodThatFindsItsPlaceAtOnceHasNotWaited) {
  Add(Node("a"));
  Add(Pod("new").Cpu(100));
  Make();
  EXPECT_EQ(At(kStart + 1).PodsText(), "default/new>a");
  EXPECT_EQ(cluster_->counts().pods_scheduled, 1);
  EXPECT_EQ(cluster_->counts().pods_waited, 0);
  EXPECT_EQ(cluster_->counts().pod_wait_s, 0);
  EXPECT_EQ(cluster_->counts().pod_wait_max_s, 0);
  EXPECT_EQ(cluster_->counts().planned, 0);
}

TEST_F(SimulatedCallsTest, OnlyTheReplicaSetOfControllersWithTheSameNameIsChanged) {
  Add(Node("a"));
  const auto owned = [](std::string_view name, std::string_view in, std::string_view kind,
                        std::string_view owner) {
    return Pod(name).In(in).On("a").Cpu(10).OwnedBy(kind, owner);
  };
  Add(owned("set-0", "default", "StatefulSet", "web"));
  Add(owned("job", "default", "Job", "web"));
  Add(owned("in-aaa", "aaa", "ReplicaSet", "web"));
  Add(owned("in-zzz", "zzz", "ReplicaSet", "web"));
  Add(owned("of-v", "default", "ReplicaSet", "v"));
  Add(owned("of-x", "default", "ReplicaSet", "x"));
  Add(owned("p", "default", "ReplicaSet", "web"));
  Make();
  ASSERT_TRUE(cluster_->Want("default", "web", 2).ok());
  EXPECT_EQ(At(kStart + 60).PodsText(),
            "aaa/in-aaa>a default/job>a default/of-v>a default/of-x>a default/p>a "
            "default/set-0>a default/web-m1>a zzz/in-zzz>a");
}

TEST_F(SimulatedCallsTest, ANewNodeHasLabelsAndTaintsOfItsPatternAndOnlyItsOwnName) {
  Add(Node("m")
          .Label("kubernetes.io/hostname", "m")
          .Label("rack", "1")
          .Label("zone", "z")
          .Taint("A", "5")
          .Taint("own", "x"));
  Make();
  ASSERT_TRUE(cluster_->Grow("group", 2, kStart).ok());
  Shown shown;
  ASSERT_TRUE(cluster_->Observe(kStart + 60)->objects(shown).ok());
  const std::map<std::string, std::string> labels = {
      {"kubernetes.io/hostname", "group-new-1"}, {"rack", "1"}, {"zone", "z"}};
  EXPECT_EQ(shown.nodes.at("group-new-1").labels, labels);
  for (const char* const name : {"m", "group-new-1"}) {
    EXPECT_THAT(shown.nodes.at(name).taints, ElementsAre("A=5:NoSchedule", "own=x:NoSchedule"));
  }
}

}  // namespace
}  // namespace ebb::simulated_calls_test
