#include "planning/plan_waves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::plan_waves_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kNow = 1780315200;

struct Followed {
  std::unique_ptr<LoadedCluster> cluster;
  std::unique_ptr<PlanAnswer> answer;
  PlanWaves waves;

  [[nodiscard]] std::vector<std::string> Names(const PlanWave& wave) const {
    std::vector<std::string> names;
    for (const NodeId node : wave.remove) {
      names.emplace_back(cluster->snapshot.catalog().NodeName(node));
    }
    return names;
  }
  // The nodes of each wave, with commas.
  [[nodiscard]] std::vector<std::string> Removed() const {
    std::vector<std::string> texts;
    for (const PlanWave& wave : waves.waves) {
      texts.emplace_back();
      for (const std::string& name : Names(wave)) {
        absl::StrAppend(&texts.back(), texts.back().empty() ? "" : ",", name);
      }
    }
    return texts;
  }
};

Followed Follow(LoadedCluster loaded, const PlanQuery& query, const WaveModel& model = {},
                const Deadline* deadline = nullptr) {
  Followed followed;
  followed.cluster = std::make_unique<LoadedCluster>(std::move(loaded));
  auto answer = AnswerPlan(query, *followed.cluster);
  EXPECT_TRUE(answer.ok()) << answer.status();
  followed.answer = *std::move(answer);
  const std::string before = followed.cluster->snapshot.Fingerprint();
  auto waves = FollowWaves(*followed.answer, model, deadline);
  EXPECT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(followed.cluster->snapshot.Fingerprint(), before);
  followed.waves = *std::move(waves);
  return followed;
}

Followed Follow(const Cluster& cluster, const PlanQuery& query = {.now_s = kNow},
                const WaveModel& model = {}) {
  return Follow({.snapshot = cluster.Build(), .pending = {}, .counts = {}, .warnings = {}}, query,
                model);
}

// Nodes a, b, ..., each with one pod of the budget "web", and room for all pods on any of them.
Cluster OnePodEach(const std::string& nodes, int32_t allowed) {
  Cluster cluster;
  for (const char name : nodes) {
    cluster.Add(Node(std::string(1, name)).Cpu(8000).Label("pool", "all"));
  }
  for (const char name : nodes) {
    cluster.Add(Pod(absl::StrCat("web-", std::string(1, name)))
                    .On(std::string(1, name))
                    .Cpu(100)
                    .Label("app", "web"));
  }
  return cluster.Add(Budget("web").Matching("app", "web").Allows(allowed));
}

TEST(FollowWavesTest, ABudgetOfOneLetsTheNextNodeGoWhenItsPodsAreReady) {
  const Followed followed = Follow(OnePodEach("abcd", 1), {.now_s = kNow}, {.pod_startup_s = 30});
  const PlanWaves& waves = followed.waves;
  ASSERT_EQ(waves.waves.size(), 3U);
  EXPECT_EQ(waves.nodes_at_first, 4U);
  EXPECT_EQ(waves.nodes, 1U);
  EXPECT_EQ(waves.removed(), 3U);
  EXPECT_EQ(waves.ended, WavesEnd::kNothingMoreGoes);
  EXPECT_THAT(waves.kept, ElementsAre(Pair("NoPlaceToMovePods", 1U)));
  EXPECT_EQ(waves.waves[0].at_s, 0);
  EXPECT_EQ(waves.waves[0].takes_s, 30);
  EXPECT_EQ(waves.waves[0].moved, 1U);
  EXPECT_EQ(waves.waves[0].may_go_later, 3U);
  EXPECT_THAT(waves.waves[0].kept, ElementsAre(Pair("NotEnoughPdb", 3U)));
  EXPECT_EQ(waves.waves[1].at_s, 30);
  EXPECT_EQ(waves.waves[2].freed.cpu_milli, 3 * 8000);
  // The pods of a and b both move until one node has all of them.
  EXPECT_EQ(waves.moved(), waves.moved_again() + 3);
  EXPECT_FALSE(waves.waves[0].saved_per_hour.has_value());
}

// Symptom it guards against: a node with three pods of a budget of one counted as one start of a
// pod.
TEST(FollowWavesTest, PodsOfABudgetOnOneNodeAreEvictedOneAfterTheOther) {
  Cluster cluster;
  cluster.Add(Node("a").Cpu(8000)).Add(Node("z").Cpu(8000));
  for (const char* name : {"web-1", "web-2", "web-3"}) {
    cluster.Add(Pod(name).On("a").Cpu(100).Label("app", "web"));
  }
  cluster.Add(Pod("big").On("z").Cpu(6000));
  cluster.Add(Budget("web").Matching("app", "web").Allows(2));
  const Followed followed = Follow(cluster, {.now_s = kNow}, {.pod_startup_s = 60});
  EXPECT_THAT(followed.Removed(), ElementsAre("a"));
  EXPECT_EQ(followed.waves.takes_s(), 120);
}

TEST(FollowWavesTest, EmptyNodesGoAtOnceAndTakeNoTime) {
  const Followed followed = Follow(Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Node("z").Cpu(4000))
                                       .Add(Pod("big").On("z").Cpu(3000)));
  EXPECT_THAT(followed.Removed(), ElementsAre("a,b"));
  EXPECT_EQ(followed.waves.takes_s(), 0);
  EXPECT_EQ(followed.waves.moved(), 0U);
}

TEST(FollowWavesTest, WhereNothingGoesThereIsNoWave) {
  const Followed followed = Follow(OnePodEach("ab", 0));
  EXPECT_THAT(followed.Removed(), IsEmpty());
  EXPECT_EQ(followed.waves.nodes, 2U);
  EXPECT_EQ(followed.waves.takes_s(), 0);
  EXPECT_THAT(followed.waves.kept, ElementsAre(Pair("NotEnoughPdb", 2U)));
}

TEST(FollowWavesTest, MinimumSizesOfGroupsHoldOverAllWaves) {
  PlanQuery query{.now_s = kNow};
  GroupRule rule;
  rule.group.name = "all";
  rule.group.min_size = 2;
  rule.node_selector = {{"pool", "all"}};
  query.groups.rules.push_back(rule);
  const Followed followed = Follow(OnePodEach("abcd", 1), query);
  EXPECT_EQ(followed.waves.nodes, 2U);
  EXPECT_EQ(followed.waves.waves.size(), 2U);
  EXPECT_THAT(followed.waves.kept, ElementsAre(Pair("NodeGroupMinSizeReached", 2U)));
}

TEST(FollowWavesTest, TimersCountIfTheModelHasThem) {
  const Followed followed =
      Follow(OnePodEach("abc", 1), {.now_s = kNow},
             {.pod_startup_s = 60, .unneeded_s = 600, .delay_after_delete_s = 900});
  ASSERT_EQ(followed.waves.waves.size(), 2U);
  EXPECT_EQ(followed.waves.waves[0].at_s, 600);
  EXPECT_EQ(followed.waves.waves[1].at_s, 600 + 60 + 900);
  EXPECT_THAT(WaveAssumptions(followed.waves),
              ::testing::Contains(HasSubstr("unneeded for 10 min")));
}

TEST(FollowWavesTest, ATimeLimitReturnsTheWavesSoFar) {
  CancelToken over;
  over.Cancel();
  const Followed followed = Follow(
      {.snapshot = OnePodEach("abcd", 1).Build(), .pending = {}, .counts = {}, .warnings = {}},
      {.now_s = kNow}, {}, &over);
  EXPECT_EQ(followed.waves.waves.size(), 1U);
  EXPECT_EQ(followed.waves.ended, WavesEnd::kTimeLimit);
  EXPECT_EQ(followed.waves.nodes, 3U);
}

// A node in deletion is gone from the second wave on, and its pod holds its budget back until it
// is ready elsewhere.
TEST(FollowWavesTest, NodesInDeletionAreGoneAfterTheFirstWave) {
  Cluster cluster = OnePodEach("abz", 2);
  cluster.Add(Node("d").Cpu(8000).Taint("ToBeDeletedByClusterAutoscaler", absl::StrCat(kNow - 60)));
  cluster.Add(Pod("web-d").On("d").Cpu(100).Label("app", "web"));
  const Followed followed = Follow(cluster);
  ASSERT_EQ(followed.waves.waves.size(), 2U);
  EXPECT_EQ(followed.waves.in_deletion, 1U);
  EXPECT_EQ(followed.waves.nodes_at_first, 4U);
  EXPECT_EQ(followed.waves.waves[0].nodes, 2U);
  EXPECT_EQ(followed.waves.nodes, 1U);
  EXPECT_EQ(followed.waves.removed(), 2U);
}

// --- A slow twin: each wave is planned from objects -----------------------------------------

// Keeps the objects of a cluster, so that they can be changed and read again.
class ObjectStore : public ObjectSink {
 public:
  absl::Status OnNode(const objects::Node& node) override { return Put(&node); }
  absl::Status OnPod(const objects::Pod& pod) override { return Put(&pod); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    return Put(&budget);
  }
  absl::Status OnController(const objects::Controller& controller) override {
    return Put(&controller);
  }
  absl::Status OnNamespace(const objects::Namespace& object) override { return Put(&object); }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    return Put(&object);
  }

  LoadedCluster Load() const {
    ClusterLoader loader({.use = InputUse::kPlan, .assume_complete = true});
    for (const UnpackedObject& object : objects_) {
      EXPECT_TRUE(Give(object.ref(), loader).ok());
    }
    auto loaded = std::move(loader).Finish();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *std::move(loaded);
  }

  // Removes nodes with their pods, and puts the pods of `places`, by "namespace/name" in this
  // order, on their nodes.
  void CarryOut(const std::set<std::string>& gone,
                const std::vector<std::pair<std::string, std::string>>& places) {
    std::map<std::string, UnpackedObject> moved;
    std::set<std::string> moves;
    for (const auto& [pod, node] : places) moves.insert(pod);
    std::vector<UnpackedObject> kept;
    for (UnpackedObject& object : objects_) {
      if (const auto* const node = std::get_if<const objects::Node*>(&object.ref())) {
        if (gone.contains(std::string((*node)->meta.name))) continue;
      }
      if (const auto* const pod = std::get_if<const objects::Pod*>(&object.ref())) {
        const std::string name = absl::StrCat(std::string((*pod)->meta.namespace_name), "/",
                                              std::string((*pod)->meta.name));
        if (moves.contains(name)) {
          moved.emplace(name, std::move(object));
          continue;
        }
        if (gone.contains(std::string((*pod)->node_name))) continue;
      }
      kept.push_back(std::move(object));
    }
    objects_ = std::move(kept);
    for (const auto& [name, node] : places) {
      objects::Pod pod = *std::get<const objects::Pod*>(moved.at(name).ref());
      pod.node_name = node;
      pod.phase = "Running";
      pod.scheduling = objects::Scheduling::kOther;
      (void)Put(&pod);
    }
  }

 private:
  absl::Status Put(const objects::ObjectRef& object) {
    objects_.emplace_back(PackObject(object));
    return absl::OkStatus();
  }

  std::vector<UnpackedObject> objects_;
};

// Where each pod that the plan moves or keeps room for ends, in the order of the plan.
std::vector<std::pair<std::string, std::string>> PlacesOf(const Catalog& catalog,
                                                          const Plan& plan) {
  std::vector<Move> moves = plan.packed;
  for (const RemovableNode& removal : plan.remove) {
    moves.insert(moves.end(), removal.moves.begin(), removal.moves.end());
  }
  std::vector<std::pair<std::string, std::string>> places;
  for (size_t i = 0; i < moves.size(); ++i) {
    bool moves_on = false;
    for (size_t j = i + 1; j < moves.size(); ++j) moves_on |= moves[j].pod == moves[i].pod;
    if (moves_on) continue;
    places.emplace_back(std::string(catalog.PodName(moves[i].pod)),
                        std::string(catalog.NodeName(moves[i].to)));
  }
  return places;
}

class WavesTwinTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(WavesTwinTest, EachWaveIsThePlanOfTheObjectsAfterTheWaveBefore) {
  ObjectStore store;
  ASSERT_TRUE(samples::GenerateCompany({.nodes = 120, .seed = GetParam()}, store).ok());
  const PlanQuery query{.now_s = samples::kNewYearS + samples::kDayS};
  const Followed followed = Follow(store.Load(), query);
  ASSERT_GE(followed.waves.waves.size(), 2U);
  for (const PlanWave& wave : followed.waves.waves) {
    LoadedCluster loaded = store.Load();
    PlanQuery then = query;
    then.now_s += wave.at_s;
    const auto answer = AnswerPlan(then, loaded);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const PlanReport report = (*answer)->Report();
    const Catalog& catalog = loaded.snapshot.catalog();
    std::vector<std::string> names;
    for (const PlanReport::Removal& each : report.remove) {
      names.emplace_back(catalog.NodeName(each.node));
    }
    EXPECT_EQ(followed.Names(wave), names);
    EXPECT_EQ(wave.moved, report.moved);
    EXPECT_EQ(wave.may_go_later, NodesThatMayGoLater(report));
    EXPECT_EQ(wave.nodes, loaded.snapshot.nodes() - names.size());
    store.CarryOut({names.begin(), names.end()}, PlacesOf(catalog, (*answer)->made.plan));
  }
  LoadedCluster last = store.Load();
  EXPECT_EQ(last.snapshot.nodes(), followed.waves.nodes);
  PlanQuery then = query;
  then.now_s += followed.waves.takes_s();
  const auto answer = AnswerPlan(then, last);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT((*answer)->made.plan.remove, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, WavesTwinTest, ::testing::Values(1, 2, 3, 4, 5));

}  // namespace
}  // namespace ebb::plan_waves_test
