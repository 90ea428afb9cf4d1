#include "snapshot/import/load_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/formats/read_input.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::load_cluster_test {
namespace {

using test::Node;
using test::Pod;
using ::testing::ElementsAre;

// Loads nodes and pods.
LoadedCluster Loaded(const std::vector<Node>& nodes, const std::vector<Pod>& pods,
                     LoadOptions options = {}) {
  ClusterLoader loader(options);
  for (const Node& node : nodes) EXPECT_TRUE(loader.OnNode(node.raw).ok());
  for (const Pod& pod : pods) EXPECT_TRUE(loader.OnPod(pod.raw).ok());
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *std::move(cluster);
}

std::vector<std::string> PendingOf(const LoadedCluster& cluster) {
  std::vector<std::string> names;
  for (const PodId pod : cluster.pending) {
    names.emplace_back(cluster.snapshot.catalog().PodName(pod));
  }
  return names;
}

TEST(ClusterLoaderTest, PodsThatHaveEndedOrAreExpendableAreLeftOutAndCounted) {
  const std::vector<Pod> pods = {Pod("runs").On("a"),
                                 Pod("done").On("a").Phase("Succeeded"),
                                 Pod("failed").On("a").Phase("Failed"),
                                 Pod("filler").On("a").Priority(-11),
                                 Pod("cutoff").On("a").Priority(-10),
                                 Pod("over").On("a").Phase("Failed").Priority(-11)};
  const LoadedCluster cluster = Loaded({Node("a")}, pods);
  EXPECT_EQ(cluster.counts.ended, 3u);
  EXPECT_EQ(cluster.counts.expendable, 1u);
  EXPECT_EQ(cluster.snapshot.placed_pods(), 2u);
  LoadOptions options;
  options.expendable_pods_priority_cutoff = -9;
  EXPECT_EQ(Loaded({Node("a")}, pods, options).counts.expendable, 2u);
}

// Karpenter has no cutoff.
TEST(ClusterLoaderTest, APodThatKarpenterProtectsIsNotExpendable) {
  const LoadedCluster cluster = Loaded(
      {Node("a")},
      {Pod("kept").On("a").Priority(-100).Annotation("karpenter.sh/do-not-disrupt", "true"),
       Pod("filler").On("a").Priority(-100).Annotation("karpenter.sh/do-not-disrupt", "no")});
  EXPECT_EQ(cluster.counts.expendable, 1u);
  EXPECT_EQ(cluster.snapshot.placed_pods(), 1u);
}

TEST(ClusterLoaderTest, PodsWithoutANodeWaitInTheOrderOfTheInputAndThoseOfUnknownNodesAreCounted) {
  const LoadedCluster cluster = Loaded(
      {Node("a")}, {Pod("z"), Pod("lost").On("x"), Pod("on").On("a"),
                    Pod("nominated").With([](objects::Pod& pod) { pod.nominated_node_name = "a"; }),
                    Pod("void").With([](objects::Pod& pod) { pod.nominated_node_name = "x"; }),
                    Pod("b"), Pod("too").On("y")});
  EXPECT_THAT(PendingOf(cluster), ElementsAre("default/z", "default/void", "default/b"));
  EXPECT_EQ(cluster.counts.on_unknown_node, 2u);
  EXPECT_EQ(cluster.counts.first_unknown, "default/lost on x");
}

// A pod without a node whose condition PodScheduled says `scheduling`.
Pod Waiting(std::string_view name, objects::Scheduling scheduling,
            std::string_view scheduler = "default-scheduler") {
  return Pod(name).Phase("Pending").With([&](objects::Pod& pod) {
    pod.scheduling = scheduling;
    pod.scheduler_name = scheduler;
  });
}

TEST(ClusterLoaderTest, RoomIsKeptOnlyForPodsThatTheSchedulerCouldNotPlace) {
  using enum objects::Scheduling;
  const std::vector<Pod> pods = {
      Waiting("unschedulable", kUnschedulable, "custom"),
      Waiting("gated", kGated),
      Waiting("new", kUnprocessed),
      Waiting("new-custom", kUnprocessed, "custom"),
      Waiting("unnamed", kUnprocessed, ""),
      Waiting("error", kOther),
      Waiting("unknown", kNotRecorded),
      Waiting("going", kUnschedulable).DeletedAt(100),
      Waiting("nominated-going", kUnschedulable).DeletedAt(100).With([](objects::Pod& pod) {
        pod.nominated_node_name = "a";
      }),
      Waiting("nominated", kUnprocessed).With([](objects::Pod& pod) {
        pod.nominated_node_name = "a";
      }),
      Waiting("void", kUnschedulable).With([](objects::Pod& pod) {
        pod.nominated_node_name = "gone";
      })};
  LoadedCluster cluster = Loaded({Node("a")}, pods);
  EXPECT_THAT(PendingOf(cluster),
              ElementsAre("default/unschedulable", "default/unknown", "default/void"));
  EXPECT_EQ(cluster.snapshot.placed_pods(), 1u) << "the nominated one that stays";
  EXPECT_EQ(NoRoomText(cluster.counts),
            "No room is kept for 1 pod with scheduling gates (default/gated), 2 pods without a "
            "node that are being deleted (default/going, ...), 3 pods that no scheduler has judged "
            "yet (default/new, ...), 1 pod without a node that is not marked as unschedulable "
            "(default/error).");
  LoadOptions options;
  options.bypassed_schedulers = {"custom"};
  cluster = Loaded({Node("a")}, pods, options);
  EXPECT_THAT(PendingOf(cluster), ElementsAre("default/unschedulable", "default/new-custom",
                                              "default/unknown", "default/void"));
  options.bypassed_schedulers = {"default-scheduler"};
  cluster = Loaded({Node("a")}, pods, options);
  EXPECT_THAT(PendingOf(cluster),
              ElementsAre("default/unschedulable", "default/new", "default/unnamed",
                          "default/unknown", "default/void"));
}

TEST(ClusterLoaderTest, RoomIsKeptIfStatusesWereStripped) {
  using enum objects::Scheduling;
  // No pod has the condition, not even pods that run.
  LoadedCluster cluster =
      Loaded({Node("a")}, {Waiting("w", kUnprocessed), Waiting("g", kNotRecorded)});
  EXPECT_THAT(PendingOf(cluster), ElementsAre("default/w", "default/g"));
  EXPECT_EQ(NoRoomText(cluster.counts), "");
  const auto warnings = [&] {
    cluster.warnings.clear();
    // The census did not see the objects, so that many seem to be missing.
    const LoadOptions options = {.allow_incomplete = true};
    EXPECT_TRUE(CheckCompleteness(InputCensus(), {}, options, cluster).ok());
    std::vector<std::string> of;
    for (const InputWarning& warning : cluster.warnings) {
      if (warning.code == "PodsWithoutConditions") of.push_back(warning.message);
    }
    return of;
  };
  EXPECT_THAT(warnings(),
              ElementsAre("room is kept for 2 pods without a node although the input does not say "
                          "whether they wait for one (condition PodScheduled): default/g, ..."));
  cluster = Loaded({Node("a")}, {Waiting("w", kUnprocessed),
                                 Pod("runs").On("a").With([](auto& p) { p.scheduling = kOther; })});
  EXPECT_THAT(PendingOf(cluster), ElementsAre());
  EXPECT_THAT(warnings(), ElementsAre());
}

TEST(ClusterLoaderTest, APendingPodOfAnUnknownFieldIsPlacedAsIfItHadNone) {
  const auto odd = [](objects::Pod& pod) { pod.not_understood = "spec.cosmic"; };
  const LoadedCluster cluster =
      Loaded({Node("a")}, {Pod("waits").With(odd), Pod("runs").On("a").With(odd)});
  const Catalog& catalog = cluster.snapshot.catalog();
  EXPECT_EQ(catalog.shape(catalog.shape_id(PodId{0})).not_understood, "");
  EXPECT_EQ(catalog.shape(catalog.shape_id(PodId{0})).ignored, "spec.cosmic");
  EXPECT_EQ(catalog.shape(catalog.shape_id(PodId{1})).not_understood, "spec.cosmic");
}

TEST(ClusterLoaderTest, TheNewestTimeIsThatOfAnyObject) {
  const auto newest = [](auto put) {
    ClusterLoader loader;
    Node node("a");
    node.raw.meta.creation_time = 100;
    EXPECT_TRUE(loader.OnNode(node.raw).ok());
    EXPECT_TRUE(put(loader).ok());
    absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
    EXPECT_TRUE(cluster.ok());
    return cluster->newest_time;
  };
  EXPECT_EQ(newest([](ClusterLoader&) { return absl::OkStatus(); }), 100);
  EXPECT_EQ(newest([](ClusterLoader& to) { return to.OnPod(Pod("p").CreatedAt(99).raw); }), 100);
  EXPECT_EQ(newest([](ClusterLoader& to) { return to.OnPod(Pod("p").CreatedAt(101).raw); }), 101);
  EXPECT_EQ(newest([](ClusterLoader& to) {
              return to.OnPod(Pod("p").Phase("Succeeded").CreatedAt(102).raw);
            }),
            102)
      << "the time of an ended pod counts too";
  objects::ObjectMeta meta;
  meta.name = "x";
  meta.namespace_name = "default";
  meta.creation_time = 103;
  objects::PodDisruptionBudget budget;
  budget.meta = meta;
  EXPECT_EQ(newest([&](ClusterLoader& to) { return to.OnPodDisruptionBudget(budget); }), 103);
  objects::Controller controller;
  controller.meta = meta;
  EXPECT_EQ(newest([&](ClusterLoader& to) { return to.OnController(controller); }), 103);
  objects::PersistentVolumeClaim claim;
  claim.meta = meta;
  EXPECT_EQ(newest([&](ClusterLoader& to) { return to.OnStorageObject(claim); }), 103);
  objects::Namespace ns;
  ns.meta = meta;
  ns.meta.namespace_name = "";
  EXPECT_EQ(newest([&](ClusterLoader& to) { return to.OnNamespace(ns); }), 103);
}

TEST(ClusterLoaderTest, APodWithANodeNameIsNotPendingDespiteANomination) {
  const LoadedCluster cluster =
      Loaded({Node("a")},
             {Pod("lost").On("x").With([](objects::Pod& pod) { pod.nominated_node_name = "a"; }),
              Pod("waits")});
  EXPECT_THAT(PendingOf(cluster), ElementsAre("default/waits"));
  EXPECT_EQ(cluster.counts.on_unknown_node, 1u);
  EXPECT_EQ(cluster.counts.first_unknown, "default/lost on x");
  EXPECT_EQ(cluster.snapshot.placed_pods(), 0u);
}

TEST(LoadTextTest, LeftOutTextCountsEndedAndExpendablePods) {
  const auto text = [](uint64_t ended, uint64_t expendable) {
    LoadCounts counts;
    counts.ended = ended;
    counts.expendable = expendable;
    return LeftOutText(counts);
  };
  EXPECT_EQ(text(0, 0), "");
  EXPECT_EQ(text(1, 0), "1 pod that has ended");
  EXPECT_EQ(text(0, 1), "1 expendable pod");
  EXPECT_EQ(text(7, 2), "7 pods that have ended and 2 expendable pods");
}

TEST(CheckNodesAndPodsTest, AClusterHasANodeAndAPodOnOneOfThemUnlessAllWait) {
  const auto error = [](const std::vector<Node>& nodes, const std::vector<Pod>& pods) {
    return std::string(CheckNodesAndPods(Loaded(nodes, pods)).message());
  };
  EXPECT_EQ(error({}, {}),
            "no nodes in the input; pass what `kubectl get nodes,pods,... -A -o json` prints");
  EXPECT_EQ(error({Node("a")}, {}), "");
  EXPECT_EQ(error({Node("a")}, {Pod("waits")}), "");
  EXPECT_EQ(error({Node("a")}, {Pod("on").On("a"), Pod("lost").On("x")}), "");
  EXPECT_EQ(error({Node("a")}, {Pod("waits"), Pod("lost").On("x")}),
            "no pod is on a node of the input: 1 pod is on other nodes (default/lost on x); the "
            "nodes and the pods seem to be of two clusters");
}

TEST(CheckStrictTest, AnyWarningIsAnErrorIfStrict) {
  const std::vector<InputWarning> one = {{"A", "a", ""}};
  const std::vector<InputWarning> two = {{"A", "a", ""}, {"B", "b", ""}};
  LoadOptions options;
  EXPECT_TRUE(CheckStrict(options, two).ok());
  options.strict = true;
  EXPECT_TRUE(CheckStrict(options, {}).ok());
  // Symptom: the message named --assume-complete where it has no effect.
  const std::string behind = "; see above";
  EXPECT_EQ(CheckStrict(options, one).message(), "--strict, and 1 warning" + behind);
  EXPECT_EQ(CheckStrict(options, two).message(), "--strict, and 2 warnings" + behind);
  // A warning about the plan is not a flaw of the input.
  const InputWarning of_plan = {std::string(kMovesToOtherArchitecture), "moves", ""};
  const std::vector<InputWarning> plans = {of_plan};
  EXPECT_TRUE(CheckStrict(options, plans).ok());
  const std::vector<InputWarning> both = {of_plan, {"A", "a", ""}};
  EXPECT_EQ(CheckStrict(options, both).message(), "--strict, and 1 warning" + behind);
  std::vector<InputWarning> missing = {{"A", "a", ""}, {"B", "b", "", Lack::kNothing, true}};
  const std::string assume =
      " about the input; with --assume-complete those of what may be missing do not count";
  EXPECT_EQ(CheckStrict(options, missing).message(), "--strict, and 2 warnings" + assume);
  missing[1] = {"B", "b", "", Lack::kKinds};  // As in a daemon's reply.
  EXPECT_EQ(CheckStrict(options, missing).message(), "--strict, and 2 warnings" + assume);
}

// The census passes on the objects and checks them.
TEST(CheckCompletenessTest, TheCountsOfReadingAreKept) {
  InputCensus census;
  ClusterLoader loader;
  ImportStats stats;
  ASSERT_TRUE(census
                  .Read("text",
                        R"({"kind":"Node","metadata":{"name":"a"}}
                           {"kind":"Secret","metadata":{"name":"s"}})",
                        loader, stats)
                  .ok());
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  ASSERT_TRUE(cluster.ok());
  LoadOptions options;
  options.assume_complete = true;
  EXPECT_TRUE(CheckCompleteness(census, stats, options, *cluster).ok());
  EXPECT_EQ(cluster->counts.input.objects, 1u);
  EXPECT_EQ(cluster->counts.input.ignored.at("Secret"), 1u);
  EXPECT_TRUE(cluster->warnings.empty());
  options.assume_complete = false;
  EXPECT_THAT(std::string(CheckCompleteness(census, stats, options, *cluster).message()),
              ::testing::StartsWith("the input has 1 node and not a single pod"));
}

}  // namespace
}  // namespace ebb::load_cluster_test
