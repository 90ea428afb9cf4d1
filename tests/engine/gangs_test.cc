#include "snapshot/gangs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/make_plan.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::gangs_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

objects::StorageObject Group(std::string_view name, std::optional<int64_t> min_count, bool whole) {
  objects::PodGroup group;
  group.meta.name = name;
  group.meta.namespace_name = "default";
  group.group = "scheduling.k8s.io";
  group.min_count = min_count;
  group.whole = whole;
  return group;
}

Pod Member(std::string_view name, std::string_view node, std::string_view group = "train") {
  Pod pod(name);
  pod.On(node).Cpu(100).OwnedBy("Job", "train");
  pod.raw.scheduling_group = group;
  return pod;
}

class GangsTest : public ::testing::Test {
 protected:
  // Two pods of the gang on c, two on d; b has room for all.
  static Cluster Train() {
    Cluster cluster;
    cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Node("d").Cpu(1000));
    cluster.Add(Pod("filler").On("b").Cpu(5000));
    cluster.Add(Member("train-0", "c")).Add(Member("train-1", "c"));
    cluster.Add(Member("train-2", "d")).Add(Member("train-3", "d"));
    return cluster;
  }
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
  }
  std::vector<std::string> Removed() {
    made_ = MakePlan(*snapshot_, groups_, request_).value();
    std::vector<std::string> names;
    for (const RemovableNode& removal : made_.plan.remove) {
      names.emplace_back(snapshot_->catalog().NodeName(removal.node));
    }
    return names;
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  PlanResult made_;
};

TEST_F(GangsTest, AGangKeepsItsNodesAndIsNamed) {
  Make(Train().Add(Group("train", 4, /*whole=*/true)));
  EXPECT_THAT(Removed(), IsEmpty());
  ASSERT_FALSE(made_.plan.keep.empty());
  const auto kept = std::ranges::find(made_.plan.keep, BlockingPodReason::kPodOfGang,
                                      &UnremovableNode::blocking_reason);
  ASSERT_NE(kept, made_.plan.keep.end());
  EXPECT_EQ(kept->reason, UnremovableReason::kBlockedByPod);
  EXPECT_EQ(snapshot_->catalog().PodName(kept->pod), "default/train-0");
}

TEST_F(GangsTest, AGangIsIgnoredIfAsked) {
  Make(Train().Add(Group("train", 4, /*whole=*/true)));
  request_.planner.drain.gangs = Gangs::kIgnore;
  EXPECT_THAT(Removed(), UnorderedElementsAre("c", "d"));
}

TEST_F(GangsTest, AGangWhoseGroupIsMissingKeepsItsNodes) {
  Make(Train());
  EXPECT_THAT(Removed(), IsEmpty());
}

TEST_F(GangsTest, AGroupThatIsNoGangKeepsNoNodeUnlessItsPodsGoTogether) {
  Make(Train().Add(Group("train", std::nullopt, /*whole=*/false)));
  EXPECT_THAT(Removed(), UnorderedElementsAre("c", "d"));
  Make(Train().Add(Group("train", std::nullopt, /*whole=*/true)));
  EXPECT_THAT(Removed(), IsEmpty());
}

TEST_F(GangsTest, PodsBeyondTheMinimumMayMoveIfTheyMayGoOneByOne) {
  for (const auto& [least, nodes] :
       std::map<int64_t, size_t>{{4, 0}, {3, 0}, {2, 1}, {1, 1}, {0, 2}}) {
    Make(Train().Add(Group("train", least, /*whole=*/false)));
    EXPECT_EQ(Removed().size(), nodes) << least;
  }
}

// Symptom: with a minimum of 2 of 3 pods, one on a node in deletion, one more was evicted.
TEST_F(GangsTest, PodsOnNodesInDeletionAreNotBeyondTheMinimum) {
  for (const bool by_taint : {false, true}) {
    Cluster cluster;
    cluster.Add(Node("b").Cpu(8000)).Add(Pod("filler").On("b").Cpu(5000));
    for (const char* const name : {"c", "d", "e"}) {
      Node node = Node(name).Cpu(1000);
      if (std::string_view(name) == "e" && by_taint) {
        node.raw.taints.push_back({.key = "ToBeDeletedByClusterAutoscaler",
                                   .value = test::Keep(std::to_string(test::kPassTime)),
                                   .effect = "NoSchedule"});
      } else if (std::string_view(name) == "e") {
        node.raw.meta.deletion_time = test::kPassTime;
      }
      cluster.Add(node);
      cluster.Add(Member(test::Keep(std::string("train-") + name), name));
    }
    Make(cluster.Add(Group("train", 2, /*whole=*/false)));
    EXPECT_THAT(Removed(), IsEmpty()) << by_taint;
    EXPECT_EQ(snapshot_->catalog().gang_states().gangs[0].leaving, 1);
    // The verifier counts by itself.
    request_.planner.drain.gangs = Gangs::kIgnore;
    ASSERT_FALSE(Removed().empty());
    request_.planner.drain.gangs = Gangs::kKeep;
    EXPECT_FALSE(
        Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made_), made_.plan)
            .ok());
  }
}

TEST_F(GangsTest, PodsOfAGroupThatIsNotUnderstoodStay) {
  auto group = std::get<objects::PodGroup>(Group("train", std::nullopt, /*whole=*/false));
  group.not_understood = "spec.schedulingConstraints";
  Make(Train().Add(objects::StorageObject(group)));
  EXPECT_THAT(Removed(), IsEmpty());
  // Even a gang of one.
  Cluster cluster;
  cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Pod("filler").On("b").Cpu(5000));
  Make(cluster.Add(Member("train-0", "c")).Add(objects::StorageObject(group)));
  EXPECT_THAT(Removed(), IsEmpty());
}

// Symptom: the PodGroup, whose pods may go one by one, hid the JobSet, whose pods stay together.
TEST_F(GangsTest, EachGangOfAPodCounts) {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Node("d").Cpu(1000));
  cluster.Add(Pod("filler").On("b").Cpu(5000));
  for (const char* const node : {"c", "d"}) {
    cluster.Add(Member(test::Keep(std::string("train-") + node), node)
                    .Label("jobset.sigs.k8s.io/jobset-name", "train"));
  }
  Make(cluster.Add(Group("train", std::nullopt, /*whole=*/false)));
  EXPECT_THAT(Removed(), IsEmpty());
  EXPECT_EQ(snapshot_->catalog().gangs().size(), 2u);
}

// Symptom: the pod that might move was on a node that could not go.
TEST_F(GangsTest, PodsMoveFromNodesThatMayGo) {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Node("d").Cpu(1000));
  cluster.Add(Node("e").Cpu(1000)).Add(Pod("filler").On("b").Cpu(5000));
  cluster.Add(Pod("busy").On("c").Cpu(600));  // Above the threshold.
  cluster.Add(Pod("safe").On("d").Cpu(1).SafeToEvict("false"));
  for (const char* const node : {"c", "d", "e"}) {
    cluster.Add(Member(test::Keep(std::string("train-") + node), node));
  }
  Make(cluster.Add(Group("train", 2, /*whole=*/false)));
  EXPECT_THAT(Removed(), UnorderedElementsAre("e"));
}

TEST_F(GangsTest, CountedAnewMovedPodsRunAgain) {
  Make(Train().Add(Group("train", 2, /*whole=*/false)));
  ASSERT_THAT(Removed(), UnorderedElementsAre("c"));
  for (const RemovableNode& removal : made_.plan.remove) {
    for (const Move& move : removal.moves) {
      snapshot_->MovePod(move.pod, test::NodeNamed(*snapshot_, "b"));
    }
    snapshot_->RemoveNode(removal.node);
  }
  EXPECT_THAT(Removed(), IsEmpty());  // The pods that may move have moved.
  snapshot_ = WithGangsCounted(*snapshot_);
  EXPECT_THAT(Removed(), UnorderedElementsAre("d"));
}

TEST_F(GangsTest, AGangOfOnePodMoves) {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Pod("filler").On("b").Cpu(5000));
  cluster.Add(Member("train-0", "c"));
  Make(Cluster(cluster).Add(Group("train", 1, /*whole=*/true)));
  EXPECT_THAT(Removed(), UnorderedElementsAre("c"));
  Make(cluster);  // Nothing says how many pods the gang has.
  EXPECT_THAT(Removed(), IsEmpty());
}

TEST_F(GangsTest, PodsThatHaveEndedOrAreDeclaredSafeDoNotStay) {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Node("d").Cpu(1000));
  cluster.Add(Pod("filler").On("b").Cpu(5000));
  cluster.Add(Member("train-0", "c").SafeToEvict("true")).Add(Member("train-1", "d"));
  Make(cluster);
  EXPECT_THAT(Removed(), UnorderedElementsAre("c"));
}

TEST_F(GangsTest, GangsOfOtherSchedulersAndControllersAreKnownByLabels) {
  for (const auto& [key, kind] : std::map<std::string_view, GangKind>{
           {"scheduling.x-k8s.io/pod-group", GangKind::kCoscheduling},
           {"pod-group.scheduling.sigs.k8s.io", GangKind::kCoscheduling},
           {"scheduling.k8s.io/group-name", GangKind::kVolcano},
           {"kueue.x-k8s.io/pod-group-name", GangKind::kKueue},
           {"jobset.sigs.k8s.io/jobset-name", GangKind::kJobSet},
           {"leaderworkerset.sigs.k8s.io/name", GangKind::kLeaderWorkerSet},
           {"ray.io/cluster", GangKind::kRayCluster}}) {
    Cluster cluster;
    cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Pod("filler").On("b").Cpu(5000));
    cluster.Add(Pod("x-0").On("c").Cpu(1).Label(key, "x"));
    cluster.Add(Pod("x-1").On("b").Cpu(1).Label(key, "x"));
    Make(cluster);
    EXPECT_THAT(Removed(), IsEmpty()) << key;
    ASSERT_EQ(snapshot_->catalog().gangs().size(), 1u);
    EXPECT_EQ(snapshot_->catalog().gangs()[0].kind, kind);
  }
}

TEST_F(GangsTest, EachGroupOfALeaderWorkerSetIsAGangOfItsOwn) {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Pod("filler").On("b").Cpu(5000));
  for (const char* const index : {"0", "1"}) {
    cluster.Add(Pod(index)
                    .On("c")
                    .Cpu(1)
                    .Label("leaderworkerset.sigs.k8s.io/name", "x")
                    .Label("leaderworkerset.sigs.k8s.io/group-index", index));
  }
  Make(cluster);
  EXPECT_EQ(snapshot_->catalog().gangs().size(), 2u);
  EXPECT_THAT(Removed(), UnorderedElementsAre("c"));
}

// --- Declared sizes ------------------------------------------------------------------------------

struct SizeKey {
  std::string_view gang;
  std::string_view size;
};
constexpr SizeKey kSizeKeys[] = {
    {"kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"},
    {"leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/size"},
    {"pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.sigs.k8s.io/min-available"}};

Pod Sized(std::string_view name, std::string_view node, const SizeKey& key, std::string_view size) {
  Pod pod(name);
  if (!node.empty()) pod.On(node);
  pod.Cpu(100).OwnedBy("Job", "train").Label(key.gang, "x").Annotation(key.size, size);
  return pod;
}

// One pod on c; b has room for it.
Cluster OneSized(const SizeKey& key, std::string_view size) {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Pod("filler").On("b").Cpu(5000));
  cluster.Add(Sized("x-0", "c", key, size));
  return cluster;
}

// Symptom: the last pod of a group of four moved although three were in another dump.
TEST_F(GangsTest, ALonePodOfALargerGangStays) {
  for (const SizeKey& key : kSizeKeys) {
    for (const std::string_view size : {"1", "2"}) {
      for (const Gangs rule : {Gangs::kKeep, Gangs::kMove}) {
        Make(OneSized(key, size));
        request_.planner.drain.gangs = rule;
        EXPECT_EQ(Removed().empty(), size == "2") << key.size << " " << size;
        const GangStates::State& state = snapshot_->catalog().gang_states().gangs.at(0);
        EXPECT_EQ(state.declared, size == "2" ? 2 : 1) << key.size;
        EXPECT_EQ(state.missing, size == "2" ? 1 : 0) << key.size;
      }
    }
    request_.planner.drain.gangs = Gangs::kKeep;
    for (const std::string_view wrong : {"", "0", "-3", "many"}) {
      Make(OneSized(key, wrong));
      EXPECT_THAT(Removed(), IsEmpty()) << key.size << " " << wrong;
      EXPECT_EQ(snapshot_->catalog().gangs().at(0).not_understood,
                "the declared size is not a positive number");
    }
  }
}

TEST_F(GangsTest, TheOnlyRunningPodStaysIfOthersMayComeOrRunElsewhere) {
  const SizeKey ray = {"ray.io/cluster", "no-size"};
  for (const std::string_view other : {"", "gone", "deleted"}) {
    Cluster cluster = OneSized(ray, "1");
    Pod pod = Sized("x-1", other == "gone" ? "gone" : other.empty() ? "" : "b", ray, "1");
    if (other == "deleted") pod.DeletedAt(1);
    Make(cluster.Add(std::move(pod)));
    for (const Gangs rule : {Gangs::kKeep, Gangs::kMove}) {
      request_.planner.drain.gangs = rule;
      const bool moves_along = rule == Gangs::kMove && other != "gone";
      EXPECT_EQ(Removed().size(), moves_along ? 1u : 0u) << other;
    }
    request_.planner.drain.gangs = Gangs::kKeep;
  }
}

TEST_F(GangsTest, TheVerifierRefusesToMoveALonePodOfALargerGang) {
  for (const SizeKey& key : kSizeKeys) {
    Make(OneSized(key, "2"));
    request_.planner.drain.gangs = Gangs::kIgnore;
    ASSERT_EQ(Removed().size(), 1u);
    for (const Gangs rule : {Gangs::kKeep, Gangs::kMove}) {
      request_.planner.drain.gangs = rule;
      EXPECT_FALSE(
          Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made_), made_.plan)
              .ok())
          << key.size;
    }
  }
}

TEST_F(GangsTest, PodsOfTheGangThatDoNotRunAreCountedByCause) {
  const SizeKey& key = kSizeKeys[0];
  Cluster cluster = OneSized(key, "7");
  cluster.Add(Sized("x-1", "", key, "7")).Add(Sized("x-2", "gone", key, "7"));
  cluster.Add(Sized("x-3", "c", key, "7").DeletedAt(test::kPassTime));
  Make(cluster);
  const GangStates::State& state = snapshot_->catalog().gang_states().gangs.at(0);
  EXPECT_EQ(state.running, 1);
  EXPECT_EQ(state.absent.waiting, 1);
  EXPECT_EQ(state.absent.elsewhere, 1);
  EXPECT_EQ(state.absent.deleted, 1);
  EXPECT_EQ(state.missing, 3);
  EXPECT_EQ(state.least, 7);
}

// As in their controllers: Kueue and Volcano count pods that have succeeded, others do not.
TEST_F(GangsTest, PodsThatHaveSucceededCountAsTheGangsControllerCountsThem) {
  for (const SizeKey& key : kSizeKeys) {
    SnapshotBuilder builder;
    Node b("b");
    Node c("c");
    ASSERT_TRUE(builder.AddNode(b.Cpu(8000).raw).ok());
    ASSERT_TRUE(builder.AddNode(c.Cpu(1000).raw).ok());
    ASSERT_TRUE(builder.AddPod(Sized("x-0", "c", key, "2").raw).ok());
    builder.CountLeftOut(Sized("x-1", "c", key, "2").Phase("Succeeded").raw);
    snapshot_ = std::move(builder).Build().value();
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
    const GangStates::State& state = snapshot_->catalog().gang_states().gangs.at(0);
    EXPECT_EQ(state.absent.succeeded, 1);
    EXPECT_EQ(state.missing, 0) << key.size;
    EXPECT_EQ(state.held, &key != &kSizeKeys[0]) << key.size;
  }
}

TEST_F(GangsTest, ASizeThatOnlyAPodThatHasEndedDeclaresCounts) {
  const SizeKey& key = kSizeKeys[0];
  SnapshotBuilder builder;
  Node c("c");
  ASSERT_TRUE(builder.AddNode(c.Cpu(1000).raw).ok());
  Pod running("x-0");
  running.On("c").Cpu(100).OwnedBy("Job", "train").Label(key.gang, "x");
  ASSERT_TRUE(builder.AddPod(running.raw).ok());
  builder.CountLeftOut(Sized("x-1", "c", key, "4").Phase("Failed").raw);
  snapshot_ = std::move(builder).Build().value();
  const GangStates::State& state = snapshot_->catalog().gang_states().gangs.at(0);
  EXPECT_EQ(state.declared, 4);
  EXPECT_TRUE(state.held);
}

TEST_F(GangsTest, AJobIsWholeIfAsManyPodsRunAsItsParallelismSays) {
  for (const int64_t succeeded : {0, 2}) {
    test::Controller job(objects::ControllerKind::kJob, "one");
    job.raw.spec_replicas = 2;
    job.raw.completions = 3;
    job.raw.succeeded = succeeded;
    Cluster cluster;
    cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(job);
    cluster.Add(Pod("filler").On("b").Cpu(5000));
    cluster.Add(Pod("x")
                    .On("c")
                    .Cpu(100)
                    .OwnedBy("Job", "one")
                    .Label("jobset.sigs.k8s.io/jobset-name", "train")
                    .Label("jobset.sigs.k8s.io/global-replicas", "1"));
    Make(cluster);
    EXPECT_EQ(snapshot_->catalog().gang_states().gangs.at(0).missing, succeeded == 0 ? 1 : 0);
    EXPECT_EQ(Removed().size(), succeeded == 0 ? 0u : 1u);
  }
}

TEST_F(GangsTest, PodsBeyondADeclaredMinimumMayMove) {
  const SizeKey& key = kSizeKeys[2];
  Cluster cluster = OneSized(key, "1");
  cluster.Add(Node("d").Cpu(1000)).Add(Sized("x-1", "d", key, "1"));
  Make(cluster);
  EXPECT_EQ(Removed().size(), 1u);
}

TEST_F(GangsTest, AJobSetIsWholeIfItsInputHasPodsOfEachJob) {
  for (const std::string_view jobs : {"2", "3"}) {
    Cluster cluster;
    cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Node("d").Cpu(1000));
    cluster.Add(Pod("filler").On("b").Cpu(5000));
    for (const char* const node : {"c", "d"}) {
      cluster.Add(Pod(std::string("of-") + node)
                      .On(node)
                      .Cpu(100)
                      .OwnedBy("Job", node)
                      .Label("jobset.sigs.k8s.io/jobset-name", "train")
                      .Label("jobset.sigs.k8s.io/global-replicas", jobs));
    }
    Make(cluster);
    request_.planner.drain.gangs = Gangs::kMove;
    EXPECT_EQ(Removed().size(), jobs == "2" ? 2u : 0u);
    EXPECT_EQ(snapshot_->catalog().gang_states().gangs.at(0).missing, jobs == "2" ? 0 : 1);
  }
  request_.planner.drain.gangs = Gangs::kKeep;
}

TEST_F(GangsTest, AJobIsThereIfAPodOfItRunsOrHasSucceeded) {
  for (const std::string_view phase : {"Running", "Succeeded", "Failed", "Pending"}) {
    Cluster cluster;
    cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000));
    cluster.Add(Pod("filler").On("b").Cpu(5000));
    for (const std::string_view job : {"one", "two"}) {
      Pod pod(job);
      if (job == "one") {
        pod.On("c");
      } else if (phase != "Pending") {
        pod.On("b").Phase(phase);
      }
      cluster.Add(pod.Cpu(100)
                      .OwnedBy("Job", job)
                      .Label("jobset.sigs.k8s.io/jobset-name", "train")
                      .Label("jobset.sigs.k8s.io/global-replicas", "2"));
    }
    Make(cluster);
    const bool is_there = phase == "Running" || phase == "Succeeded";
    EXPECT_EQ(snapshot_->catalog().gang_states().gangs.at(0).missing, is_there ? 0 : 1) << phase;
    EXPECT_EQ(Removed().size(), phase == "Succeeded" ? 1u : 0u) << phase;
  }
}

TEST_F(GangsTest, TheVerifierRefusesAPlanThatBreaksAGang) {
  Make(Train().Add(Group("train", 4, /*whole=*/true)));
  request_.planner.drain.gangs = Gangs::kIgnore;
  EXPECT_EQ(Removed().size(), 2u);
  request_.planner.drain.gangs = Gangs::kKeep;
  const absl::Status refused =
      Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made_), made_.plan);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("PodOfGang"));
}

// Any subset of the nodes that a plan removes leaves each gang its minimum.
TEST_F(GangsTest, RandomGangsKeepTheirMinimum) {
  test::Dice seed(test::RandomSeed());
  for (int round = 0; round < 200; ++round) {
    Cluster cluster;
    std::vector<std::string> nodes;
    for (int n = 0; n < 8; ++n) nodes.push_back("n" + std::to_string(n));
    cluster.Add(Node("big").Cpu(80000)).Add(Pod("filler").On("big").Cpu(50000));
    for (const std::string& node : nodes) cluster.Add(Node(node).Cpu(4000));
    std::vector<int64_t> least;
    for (int g = 0; g < 3; ++g) {
      const std::string group = "g" + std::to_string(g);
      const auto pods = static_cast<int64_t>(seed.Below(7));
      least.push_back(static_cast<int64_t>(seed.Below(6)));
      for (int64_t p = 0; p < pods; ++p) {
        cluster.Add(Member(test::Keep(group + "-" + std::to_string(p)), test::Keep(seed.Of(nodes)),
                           test::Keep(group)));
      }
      cluster.Add(Group(test::Keep(group), least.back(), /*whole=*/false));
    }
    Make(cluster);
    (void)Removed();
    std::map<std::string, int64_t> running;
    std::map<std::string, std::set<std::string>> moved;  // A pod may move several times.
    const Catalog& catalog = snapshot_->catalog();
    snapshot_->alive().ForEach([&](NodeId node) {
      for (const PodId pod : snapshot_->PodsOn(node)) {
        const std::string name = catalog.PodName(pod);
        if (name.starts_with("default/g")) ++running[name.substr(8, 2)];
      }
    });
    for (const RemovableNode& removal : made_.plan.remove) {
      for (const Move& move : removal.moves) {
        const std::string name = catalog.PodName(move.pod);
        moved[name.substr(8, 2)].insert(name);
      }
    }
    for (int g = 0; g < 3; ++g) {
      const std::string group = "g" + std::to_string(g);
      const auto gone = static_cast<int64_t>(moved[group].size());
      if (gone == 0 || running[group] <= 1) continue;
      EXPECT_GE(running[group] - gone, least[static_cast<size_t>(g)]) << group;
    }
  }
}

// --- Gangs that move whole -----------------------------------------------------------------------

TEST_F(GangsTest, AGangMovesWholeIfAsked) {
  Make(Train().Add(Group("train", 4, /*whole=*/true)));
  request_.planner.drain.gangs = Gangs::kMove;
  EXPECT_THAT(Removed(), UnorderedElementsAre("c", "d"));
}

TEST_F(GangsTest, AGangThatCannotMoveWholeKeepsAllItsNodes) {
  // One of its pods does not move: its node is no candidate, or nothing else has room for it.
  for (const bool has_room : {true, false}) {
    Cluster cluster = Train();
    cluster.Add(Group("train", 5, /*whole=*/true)).Add(Node("e").Cpu(4000));
    cluster.Add(Member("train-4", "e").Cpu(has_room ? 100 : 3500));
    Make(cluster);
    request_.planner.drain.gangs = Gangs::kMove;
    request_.planner.scale_down_utilization_threshold = 1.5;
    std::vector<NodeId> candidates;
    for (const char* const name : {"c", "d", "e"}) {
      if (has_room && std::string_view(name) == "e") continue;
      candidates.push_back(test::NodeNamed(*snapshot_, name));
    }
    request_.candidates = &candidates;
    EXPECT_THAT(Removed(), IsEmpty());
    const auto why = [&](const char* name) {
      const auto kept = std::ranges::find(made_.excluded, test::NodeNamed(*snapshot_, name),
                                          &UnremovableNode::node);
      return kept == made_.excluded.end() ? BlockingPodReason::kNoReason : kept->blocking_reason;
    };
    EXPECT_EQ(why("c"), BlockingPodReason::kPodOfGang);
    EXPECT_EQ(why("d"), BlockingPodReason::kPodOfGang);
    EXPECT_GT(made_.passes, 1u);
    request_.candidates = nullptr;
  }
}

TEST_F(GangsTest, AGangThatMayBeIncompleteDoesNotMove) {
  const auto removed = [&](const Cluster& cluster) {
    Make(cluster);
    request_.planner.drain.gangs = Gangs::kMove;
    return Removed();
  };
  EXPECT_THAT(removed(Train()), IsEmpty()) << "its group is missing";
  EXPECT_THAT(removed(Train().Add(Group("train", 5, /*whole=*/true))), IsEmpty())
      << "fewer pods run than the minimum";
  // A JobSet has no minimum of its own.
  Cluster job_set;
  job_set.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(1000)).Add(Node("d").Cpu(1000));
  job_set.Add(Pod("filler").On("b").Cpu(5000));
  for (const char* const node : {"c", "d"}) {
    job_set.Add(Pod(std::string("of-") + node)
                    .On(node)
                    .Cpu(100)
                    .OwnedBy("Job", "train")
                    .Label("jobset.sigs.k8s.io/jobset-name", "train"));
  }
  EXPECT_THAT(removed(job_set), UnorderedElementsAre("c", "d"));
}

TEST_F(GangsTest, AGangWhoseBudgetLetsItsPodsGoOneByOneStays) {
  for (const int allowed : {3, 4}) {
    Cluster cluster;
    cluster.Add(Node("b").Cpu(8000)).Add(Node("c").Cpu(200)).Add(Node("d").Cpu(200));
    cluster.Add(Pod("filler").On("b").Cpu(5000).WithoutOwner());
    for (const char* const name : {"c-0", "c-1", "d-0", "d-1"}) {
      cluster.Add(Member(name, test::Keep(std::string(name, 1))).Label("app", "train"));
    }
    Make(cluster.Add(Group("train", 4, /*whole=*/true))
             .Add(test::Budget("b").Matching("app", "train").Allows(allowed)));
    request_.planner.drain.gangs = Gangs::kMove;
    request_.planner.scale_down_utilization_threshold = 1;
    EXPECT_EQ(Removed().size(), allowed == 4 ? 2u : 0u);
  }
}

TEST_F(GangsTest, ACutPlanMovesNoGangInPart) {
  Make(Train().Add(Group("train", 4, /*whole=*/true)));
  request_.planner.drain.gangs = Gangs::kMove;
  EXPECT_EQ(Removed().size(), 2u);
  CutPlan(*snapshot_, groups_, request_, 1, Termination::kRobust, made_);
  EXPECT_THAT(made_.plan.remove, IsEmpty());
}

TEST_F(GangsTest, TheVerifierRefusesHalfAGang) {
  Make(Train().Add(Group("train", 4, /*whole=*/true)));
  request_.planner.drain.gangs = Gangs::kMove;
  EXPECT_EQ(Removed().size(), 2u);
  made_.plan.remove.pop_back();
  const absl::Status refused =
      Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made_), made_.plan);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("leaves its gang"));
}

// Each gang moves whole, or no more of its pods than it may lose.  MakePlan verifies each plan.
TEST_F(GangsTest, RandomGangsMoveWholeOrKeepTheirMinimum) {
  test::Dice seed(test::RandomSeed());
  size_t whole = 0;
  for (int round = 0; round < 300; ++round) {
    Cluster cluster;
    std::vector<std::string> nodes;
    for (int n = 0; n < 8; ++n) nodes.push_back("n" + std::to_string(n));
    cluster.Add(Node("big").Cpu(80000)).Add(Pod("filler").On("big").Cpu(79000 - 100 * round));
    for (const std::string& node : nodes) cluster.Add(Node(node).Cpu(4000));
    std::map<std::string, int64_t> running;
    std::map<std::string, int64_t> least;
    for (int g = 0; g < 4; ++g) {
      const std::string group = "g" + std::to_string(g);
      running[group] = static_cast<int64_t>(seed.Below(7));
      least[group] = static_cast<int64_t>(seed.Below(6));
      const bool is_whole = seed.Below(2) == 0;
      for (int64_t p = 0; p < running[group]; ++p) {
        cluster.Add(Member(test::Keep(group + "-" + std::to_string(p)), test::Keep(seed.Of(nodes)),
                           test::Keep(group))
                        .Cpu(200));
      }
      cluster.Add(Group(test::Keep(group), least[group], is_whole));
      if (is_whole) least[group] = running[group];
    }
    Make(cluster);
    request_.planner.drain.gangs = Gangs::kMove;
    (void)Removed();
    std::map<std::string, std::set<std::string>> moved;  // A pod may move several times.
    for (const RemovableNode& removal : made_.plan.remove) {
      for (const Move& move : removal.moves) {
        const std::string name = snapshot_->catalog().PodName(move.pod);
        moved[name.substr(8, 2)].insert(name);
      }
    }
    for (const auto& [group, pods] : moved) {
      const auto gone = static_cast<int64_t>(pods.size());
      if (gone == running[group]) {
        whole += gone > 1 ? 1 : 0;
        continue;
      }
      EXPECT_GE(running[group] - gone, least[group]) << group;
    }
  }
  EXPECT_GT(whole, 0u);
}

}  // namespace
}  // namespace ebb::gangs_test
