#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "base/text.h"
#include "groups/groups.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "planning/plan_query.h"
#include "report/explain.h"
#include "report/plan_report.h"
#include "snapshot/samples/generate.h"
#include "tests/predicates/storage_builder.h"
#include "tests/testing/cluster_builder.h"
#include "what_if/blockers.h"
#include "what_if/counterfactual.h"
#include "what_if/lower_requests.h"
#include "what_if/mild_remedy.h"
#include "what_if/patched_cluster.h"
#include "what_if/pod_usage.h"
#include "what_if/remedy.h"
#include "what_if/what_if_file.h"

namespace ebb::what_if_test {
namespace {

using test::Budget;
using test::Node;
using test::Pod;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kNow = 1780315200;

ObjectName PodName(std::string_view name) {
  return {.kind = "Pod", .namespace_name = "default", .name = std::string(name)};
}

ObjectPatch PodMayMove(const ObjectName& pod) {
  return Annotated(pod, {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "true"}});
}

// A cluster of objects, and a plan for it.
class Planned {
 public:
  Planned() : live_(LoadOptions{.assume_complete = true}) {
    const test::Controller controller(objects::ControllerKind::kReplicaSet, "rs");
    Put(&controller.raw);
    query_.now_s = kNow;
  }

  Planned& Add(const Node& node) { return Put(&node.raw); }
  Planned& Add(const Pod& pod) { return Put(&pod.raw); }
  Planned& Add(const Budget& budget) { return Put(&budget.raw); }
  Planned& Put(const objects::ObjectRef& object) {
    const Change change{.object = object};
    const absl::Status taken = live_.Take({&change, 1});
    EXPECT_TRUE(taken.ok()) << taken;
    return *this;
  }
  Planned& Minimum(std::string_view group, int64_t nodes) {
    const absl::StatusOr<GroupRules> rules = ParseGroups(
        "groups", absl::StrCat("nodeGroups: [{name: ", Absl(group), ", minSize: ", nodes, "}]"));
    EXPECT_TRUE(rules.ok()) << rules.status();
    query_.groups = *rules;
    return *this;
  }

  // The plan of the current cluster.
  const PlanReport& Report() {
    version_ = std::make_unique<LiveCluster::Version>(live_.Unchecked());
    absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query_, version_->cluster);
    EXPECT_TRUE(answer.ok()) << answer.status();
    answer_ = *std::move(answer);
    report_ = answer_->Report();
    return report_;
  }

  std::vector<std::string> Removed() {
    std::vector<std::string> names;
    const PlanReport& report = Report();
    for (const PlanReport::Removal& each : report.remove) {
      names.emplace_back(report.context.catalog().NodeName(each.node));
    }
    return names;
  }

  Counterfactual RemediesOf(std::string_view node) {
    const PlanReport& report = Report();
    const absl::StatusOr<NodeId> id = report.context.catalog().FindNode(node);
    EXPECT_TRUE(id.ok()) << id.status();
    const absl::StatusOr<Counterfactual> found =
        FindRemedies(report, Explain(report, *id), query_, live_);
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }

  Blockers AllBlockers(const BlockersOptions& options = {}) {
    const absl::StatusOr<Blockers> found = FindBlockers(Report(), query_, live_, options);
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }

  LiveCluster& live() { return live_; }
  PlanQuery& query() { return query_; }

 private:
  LiveCluster live_;
  PlanQuery query_;
  std::unique_ptr<LiveCluster::Version> version_;
  std::unique_ptr<PlanAnswer> answer_;
  PlanReport report_;
};

std::vector<std::string> Helps(const Counterfactual& found) {
  std::vector<std::string> texts;
  for (const Counterfactual::Help& help : found.helps) texts.push_back(help.what);
  return texts;
}

std::vector<std::string> InVain(const Counterfactual& found) {
  std::vector<std::string> texts;
  for (const Counterfactual::InVain& each : found.in_vain) {
    texts.push_back(absl::StrCat(each.what, " -> ", each.still_kept_by));
  }
  return texts;
}

// Node a has pods that may move, unless a test adds others; b has room for them.
struct TwoNodes : Planned {
  TwoNodes() { Add(Node("a")).Add(Node("b")).Add(Pod("full").On("b").Cpu(2500)); }
};

TEST(PatchedClusterTest, AnObjectIsPatchedAndRestored) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  PatchedCluster patched(planned.live());
  ASSERT_THAT(planned.Removed(), IsEmpty());
  const ObjectPatch patch = PodMayMove(PodName("web"));
  ASSERT_TRUE(patched.Apply({&patch, 1}).ok());
  EXPECT_THAT(planned.Removed(), ElementsAre("a"));
  patched.Undo();
  EXPECT_THAT(planned.Removed(), IsEmpty());
}

TEST(PatchedClusterTest, PatchesOfOneObjectAddUp) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  PatchedCluster patched(planned.live());
  const ObjectPatch label{.of = PodName("web"),
                          .merge = R"({"metadata": {"labels": {"app": "web"}}})"};
  const std::vector<ObjectPatch> both = {PodMayMove(PodName("web")), label};
  ASSERT_TRUE(patched.Apply(both).ok());
  EXPECT_THAT(planned.Removed(), ElementsAre("a"));
}

TEST(PatchedClusterTest, UnchangedNamesObjectsThatAPatchDoesNotChange) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("true"));
  planned.Add(Pod("db").On("a").Cpu(100).SafeToEvict("false"));
  planned.Add(Budget("web").Matching("app", "web").Allows(0));
  PatchedCluster patched(planned.live());
  const ObjectName budget{
      .kind = "PodDisruptionBudget", .namespace_name = "default", .name = "web"};
  const std::vector<ObjectPatch> patches = {
      PodMayMove(PodName("web")),
      PodMayMove(PodName("db")),
      {.of = budget, .merge = R"({"status": {"disruptionAllowed": 3}})"}};
  ASSERT_TRUE(patched.Apply(patches).ok());
  const absl::StatusOr<std::vector<ObjectName>> unchanged = patched.Unchanged();
  ASSERT_TRUE(unchanged.ok()) << unchanged.status();
  EXPECT_THAT(*unchanged, ElementsAre(PodName("web"), budget));
}

TEST(PatchedClusterTest, FieldsThatNoDecisionReadsAreNamed) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100));
  planned.Add(Budget("web").Matching("app", "web").Allows(0));
  PatchedCluster patched(planned.live());
  const ObjectName budget{
      .kind = "PodDisruptionBudget", .namespace_name = "default", .name = "web"};
  const std::vector<ObjectPatch> patches = {
      {.of = budget, .merge = R"({"spec": {"maxUnavailable": 3}})"},
      {.of = PodName("web"), .merge = R"({"spec": {"dnsPolicy": "None", "priority": 3}})"}};
  ASSERT_TRUE(patched.Apply(patches).ok());
  const auto fields = patched.WithoutEffect(patches);
  ASSERT_TRUE(fields.ok()) << fields.status();
  ASSERT_EQ(fields->size(), 2u);
  EXPECT_EQ((*fields)[0].of, budget);
  EXPECT_EQ((*fields)[0].field, "spec.maxUnavailable");
  EXPECT_EQ((*fields)[1].field, "spec.dnsPolicy");
}

TEST(PatchedClusterTest, AFieldOfASpecThatIsNotKnownIsAnError) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100));
  PatchedCluster patched(planned.live());
  const ObjectPatch patch{.of = PodName("web"), .merge = R"({"spec": {"template": {"a": 1}}})"};
  ASSERT_TRUE(patched.Apply({&patch, 1}).ok());
  EXPECT_THAT(std::string(patched.WithoutEffect({&patch, 1}).status().message()),
              HasSubstr("Pod default/web: spec.template: is a field that ebb does not know; patch "
                        "each pod: the same fields, without spec.template"));
}

TEST(PatchedClusterTest, APodRemovedFromItsNodeIsPending) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).With(
      [](objects::Pod& pod) { pod.scheduling = objects::Scheduling::kOther; }));
  PatchedCluster patched(planned.live());
  const ObjectPatch patch{.of = PodName("web"), .merge = R"({"spec": {"nodeName": null}})"};
  ASSERT_TRUE(patched.Apply({&patch, 1}).ok());
  EXPECT_EQ(planned.live().Here().pending.size(), 1u);
  patched.Undo();
  EXPECT_EQ(planned.live().Here().pending.size(), 0u);
}

TEST(BlockersTest, PendingPodsForWhichRoomIsKeptAreNamed) {
  TwoNodes planned;
  planned.Add(Pod("surge").Cpu(2400));
  const Blockers found = planned.AllBlockers();
  const auto surge =
      std::ranges::find(found.blockers, std::string("RoomForPendingPods"), &Blocker::reason);
  ASSERT_NE(surge, found.blockers.end());
  EXPECT_EQ(surge->keeps, 1u);
  EXPECT_EQ(surge->change, "without its 1 pending pod");
  EXPECT_EQ(surge->gained, 1);
}

TEST(PatchedClusterTest, MissingObjectsAreNamed) {
  TwoNodes planned;
  PatchedCluster patched(planned.live());
  const std::vector<ObjectPatch> patches = {PodMayMove(PodName("web")), NodeMayGo("a"),
                                            NodeMayGo("z")};
  const absl::Status status = patched.Apply(patches);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "not in the cluster: Node z, Pod default/web");
  planned.Add(Pod("web").On("a").Priority(-100));
  EXPECT_EQ(patched.Apply({patches.data(), 1}).message(),
            "not in the cluster: Pod default/web (it has ended, or is expendable)");
}

TEST(PatchedClusterTest, ReadyCountsAreRestored) {
  TwoNodes planned;
  test::Controller web(objects::ControllerKind::kReplicaSet, "web");
  const Change change{.object = &web.raw, .pods_ready = 3};
  ASSERT_TRUE(planned.live().Take({&change, 1}).ok());
  PatchedCluster patched(planned.live());
  const ObjectPatch patch{.of = {.kind = "ReplicaSet", .namespace_name = "default", .name = "web"},
                          .merge = R"({"metadata": {"labels": {"app": "web"}}})"};
  ASSERT_TRUE(patched.Apply({&patch, 1}).ok());
  patched.Undo();
  EXPECT_EQ(planned.live().counts().ready, 0U);
  ASSERT_TRUE(planned.live().Take({&change, 1}).ok());
  EXPECT_EQ(planned.live().counts().ready, 0U);
}

TEST(PatchedClusterTest, APatchThatMakesNoObjectChangesNothing) {
  TwoNodes planned;
  PatchedCluster patched(planned.live());
  const ObjectPatch bad = NodeOffers("a", "cpu", "much");
  absl::Status status = patched.Apply({&bad, 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), HasSubstr("cpu"));
  for (const char* merge : {R"({"metadata": {"name": "c"}})", "[1]", "{", ""}) {
    const ObjectPatch wrong{.of = bad.of, .merge = merge};
    status = patched.Apply({&wrong, 1});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << merge << ": " << status;
  }
  EXPECT_THAT(planned.Removed(), ElementsAre("a"));
}

// A pod with a field that ebb does not know and so cannot write.
Pod Strange(std::string_view name) {
  return Pod(name).On("a").Cpu(100).With(
      [](objects::Pod& pod) { pod.not_understood = "spec.affinity.fromTheFuture"; });
}

TEST(PatchedClusterTest, AnObjectThatCannotBeWrittenIsNotPatched) {
  TwoNodes planned;
  planned.Add(Strange("web"));
  PatchedCluster patched(planned.live());
  const ObjectPatch patch = PodMayMove(PodName("web"));
  const absl::Status status = patched.Apply({&patch, 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(status.message(), HasSubstr("Pod default/web: cannot be patched"));
  EXPECT_THAT(planned.Removed(), IsEmpty());
}

TEST(CounterfactualTest, ObjectsThatCannotBePatchedAreReported) {
  TwoNodes planned;
  planned.Add(Strange("web").SafeToEvict("false"));
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(Helps(found), IsEmpty());
  EXPECT_THAT(InVain(found), ElementsAre(HasSubstr("not tried, Pod default/web: cannot be")));
}

TEST(BlockersTest, ObjectsThatCannotBePatchedAreReported) {
  TwoNodes planned;
  planned.Add(Strange("web").SafeToEvict("false").WithoutOwner());
  const Blockers found = planned.AllBlockers();
  ASSERT_EQ(found.blockers.size(), 2);
  EXPECT_EQ(found.blockers[0].kind, "Flag");
  EXPECT_THAT(found.blockers[1].not_tried, HasSubstr("cannot be patched"));
}

TEST(PatchedClusterTest, APatchMayDeleteAnObject) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  PatchedCluster patched(planned.live());
  const ObjectPatch gone{.of = PodName("web"), .gone = true};
  ASSERT_TRUE(patched.Apply({&gone, 1}).ok());
  EXPECT_THAT(planned.Removed(), ElementsAre("a"));
  patched.Undo();
  EXPECT_THAT(planned.Removed(), IsEmpty());
}

// Symptom: an object of another UID or API group was taken for the one that the patch names.
TEST(PatchedClusterTest, APatchIsOfTheObjectThatItNames) {
  TwoNodes planned;
  PatchedCluster patched(planned.live());
  const auto wrong = [&](const char* merge, bool gone) {
    const ObjectPatch patch{
        .of = {.kind = "Node", .namespace_name = "", .name = "a"}, .merge = merge, .gone = gone};
    return std::string(patched.Apply({&patch, 1}).message());
  };
  for (const bool gone : {true, false}) {
    EXPECT_THAT(wrong(R"({"metadata": {"uid": "other"}})", gone),
                HasSubstr("Node a: metadata.uid: \"other\" is not the object's; "));
    EXPECT_EQ(wrong(R"({"apiVersion": "foo/v9"})", gone),
              "Node a: apiVersion: \"foo/v9\" is not the object's; \"v1\" is expected");
  }
  EXPECT_EQ(wrong(R"({"apiVersion": "v1"})", true), "");
}

// Symptom: of a patch and a deletion of one object one was ignored.
TEST(PatchedClusterTest, AnObjectIsDeletedOnceAndNotPatched) {
  TwoNodes planned;
  PatchedCluster patched(planned.live());
  const ObjectPatch gone{.of = {.kind = "Node", .namespace_name = "", .name = "a"}, .gone = true};
  const ObjectPatch patch{.of = gone.of, .merge = R"({"spec": {"unschedulable": true}})"};
  const auto wrong = [&](const std::vector<ObjectPatch>& patches) {
    return std::string(patched.Apply(patches).message());
  };
  EXPECT_EQ(wrong({gone, gone}), "Node a: is deleted twice");
  EXPECT_EQ(wrong({gone, patch}), "Node a: is patched after it is deleted");
  EXPECT_EQ(wrong({patch, gone}), "Node a: is deleted after it is patched");
  EXPECT_EQ(wrong({patch, patch}), "");
}

TEST(CounterfactualTest, ABudgetThatAllowsMore) {
  TwoNodes planned;
  for (const char* name : {"w0", "w1", "w2"}) {
    planned.Add(Pod(name).On("a").Cpu(100).Label("app", "web"));
  }
  planned.Add(Budget("web").Matching("app", "web").Allows(0));
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(Helps(found),
              ElementsAre("PodDisruptionBudget default/web allows 1 disruption more"));
  EXPECT_EQ(found.helps[0].removed, 1);
  EXPECT_EQ(found.removed, 0);
  EXPECT_THAT(InVain(found), ElementsAre("it is tried before all other nodes -> BlockedByPod, "
                                         "default/w0: NotEnoughPdb web"));
}

TEST(CounterfactualTest, AnAnnotationOfAPod) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(
      Helps(found),
      ElementsAre("Pod default/web is without cluster-autoscaler.kubernetes.io/safe-to-evict"));
  ASSERT_EQ(found.helps[0].commands.size(), 1);
  EXPECT_THAT(found.helps[0].commands[0],
              HasSubstr("kubectl annotate pods -n default web "
                        "cluster-autoscaler.kubernetes.io/safe-to-evict- --overwrite"));
}

// Symptom: a pod with an emptyDir was to be annotated safe-to-evict: "true", and the other remedies
// named no line that makes the change.
TEST(CounterfactualTest, EachPodGetsTheMildestAnnotation) {
  TwoNodes planned;
  planned.Add(Pod("cache").On("a").Cpu(100).Volume("emptyDir", "tmp"));
  planned.Add(Pod("bare").On("a").Cpu(100).WithoutOwner());
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(
      Helps(found),
      ElementsAre("Pod default/cache is annotated "
                  "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: \"tmp\", and Pod "
                  "default/bare is annotated cluster-autoscaler.kubernetes.io/safe-to-evict: "
                  "\"true\""));
  EXPECT_THAT(found.helps[0].commands,
              ElementsAre(HasSubstr("kubectl annotate pods -n default cache "
                                    "cluster-autoscaler.kubernetes.io/"
                                    "safe-to-evict-local-volumes=tmp --overwrite"),
                          "kubectl annotate pods -n default bare "
                          "cluster-autoscaler.kubernetes.io/safe-to-evict=true --overwrite"));
  EXPECT_EQ(CounterfactualJson(found)["helps"][0]["commands"].size(), 2);
}

TEST(CounterfactualTest, PodsWithOneChangeAreNamedTogether) {
  TwoNodes planned;
  for (const char* name : {"x", "y", "z"}) planned.Add(Pod(name).On("a").Cpu(10).WithoutOwner());
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(Helps(found),
              ElementsAre("Pod default/x and 2 others are annotated "
                          "cluster-autoscaler.kubernetes.io/safe-to-evict: \"true\""));
  EXPECT_EQ(found.helps[0].commands.size(), 3);
}

TEST(CounterfactualTest, ABudgetThatNeverAllowsGetsALine) {
  TwoNodes planned;
  planned.Add(Pod("w").On("a").Cpu(100).Label("app", "web"));
  Budget budget("web");
  budget.Matching("app", "web").Allows(0);
  budget.raw.desired_healthy = 1;
  budget.raw.expected_pods = 1;
  planned.Add(budget);
  const Counterfactual found = planned.RemediesOf("a");
  ASSERT_THAT(Helps(found),
              ElementsAre("PodDisruptionBudget default/web allows 1 disruption more"));
  EXPECT_THAT(found.helps[0].commands, ElementsAre(HasSubstr("kubectl patch pdb -n default web")));
}

TEST(CounterfactualTest, TheNextObstacleIsReported) {
  TwoNodes planned;
  planned.Add(Pod("x").On("a").Cpu(100).SafeToEvict("false"))
      .Add(Pod("y").On("a").Cpu(100).Label("app", "web"))
      .Add(Budget("web").Matching("app", "web").Allows(0));
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(Helps(found), IsEmpty());
  EXPECT_THAT(InVain(found), ElementsAre("Pod default/x is without "
                                         "cluster-autoscaler.kubernetes.io/safe-to-evict -> "
                                         "BlockedByPod, default/y: NotEnoughPdb web"));
}

TEST(CounterfactualTest, AFlagIsNamedIfNoObjectHelps) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).OwnedByMissing("ReplicaSet", "gone"));
  EXPECT_THAT(Helps(planned.RemediesOf("a")),
              ElementsAre("--skip-nodes-with-custom-controller-pods=false"));
  EXPECT_EQ(planned.AllBlockers().blockers[1].change,
            "--skip-nodes-with-custom-controller-pods=false");
}

TEST(CounterfactualTest, TheAnnotationOfTheNode) {
  Planned planned;
  planned.Add(Node("a").Annotation("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"))
      .Add(Node("b"))
      .Add(Pod("full").On("b").Cpu(2500));
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(Helps(found), ElementsAre("it is no longer annotated "
                                        "cluster-autoscaler.kubernetes.io/scale-down-disabled"));
  EXPECT_THAT(found.helps[0].commands,
              ElementsAre("kubectl annotate nodes a "
                          "cluster-autoscaler.kubernetes.io/scale-down-disabled-"));
}

TEST(CounterfactualTest, AThresholdOfItsUtilization) {
  Planned planned;
  planned.Add(Node("a")).Add(Node("b").Cpu(8000)).Add(Pod("web").On("a").Cpu(2500));
  planned.Add(Pod("full").On("b").Cpu(5000));
  EXPECT_THAT(Helps(planned.RemediesOf("a")),
              ElementsAre("the utilization threshold of group default is 0.63"));
}

TEST(CounterfactualTest, TheMinimumOfItsGroup) {
  Planned planned;
  planned.Add(Node("a")).Add(Node("b")).Add(Node("c")).Minimum("default", 2);
  ASSERT_THAT(planned.Removed(), ElementsAre("a"));
  EXPECT_THAT(Helps(planned.RemediesOf("b")),
              ElementsAre("the minimum of group default is 1 instead of 2"));
  EXPECT_THAT(Helps(planned.RemediesOf("c")),
              ElementsAre("the minimum of group default is 0 instead of 2"));
}

TEST(CounterfactualTest, RoomOnANode) {
  Planned planned;
  planned.Add(Node("a")).Add(Node("b"));
  planned.Add(Pod("web").On("a").Cpu(1000)).Add(Pod("full").On("b").Cpu(3300));
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(Helps(found), ElementsAre("300m cpu more on node b of group default"));
  EXPECT_EQ(found.helps[0].objects[0].merge, R"({"status":{"allocatable":{"cpu":"4300m"}}})");
  EXPECT_THAT(InVain(found), ElementsAre(HasSubstr("before all other nodes -> NoPlaceToMovePods")));
}

TEST(CounterfactualTest, NoRoomHelpsAPodWhoseClaimCanNotBeBound) {
  // Symptom: plan --explain --counterfactual crashed.  The pod mounts a claim that has neither a
  // volume nor a storage class.
  Planned planned;
  planned.Add(Node("a")).Add(Node("b"));
  const objects::StorageObject claim = test::Claim("data");
  planned.Put(&claim).Add(test::Mounting(Pod("p").On("a").Cpu(1000), "data"));
  planned.Add(Pod("full").On("b").Cpu(3300).SafeToEvict("false"));
  EXPECT_THAT(Helps(planned.RemediesOf("a")), IsEmpty());
}

TEST(CounterfactualTest, ARuleOfAPod) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).NodeSelector("disk", "ssd"));
  EXPECT_THAT(Helps(planned.RemediesOf("a")), ElementsAre("Pod default/web has no node selector"));
}

// The objects have the form of a what-if file, in which null removes a field.
TEST(CounterfactualTest, TheJsonOfAChangeHasWhatItTakesAway) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).NodeSelector("disk", "ssd"));
  const auto json = CounterfactualJson(planned.RemediesOf("a"));
  ASSERT_EQ(json["helps"].size(), 1);
  EXPECT_EQ(json["helps"][0]["objects"].dump(),
            R"([{"kind":"Pod","metadata":{"namespace":"default","name":"web"},)"
            R"("spec":{"nodeSelector":null}}])");
  const absl::StatusOr<WhatIf> file =
      ParseWhatIf("w.json", absl::StrCat("{objects: ", json["helps"][0]["objects"].dump(), "}"));
  ASSERT_TRUE(file.ok()) << file.status();
  PatchedCluster patched(planned.live());
  ASSERT_TRUE(patched.Apply(file->objects).ok());
  EXPECT_THAT(planned.Removed(), ElementsAre("a"));
}

// Four pods of one workload, each on its own node; one of them may be evicted at a share of a
// quarter.
struct FourOfOne : Planned {
  FourOfOne() {
    for (const char* const name : {"a", "b", "c", "d"}) {
      Add(Node(name)).Add(Pod(absl::StrCat("on-", name)).On(name).Cpu(100));
    }
    Add(Node("e")).Add(Pod("full").On("e").Cpu(2500).WithoutOwner());
    query().max_workload_share = 0.25;
  }
};

TEST(CounterfactualTest, ALargerShareOfItsWorkload) {
  FourOfOne planned;
  ASSERT_THAT(planned.Removed(), ElementsAre("a"));
  const PlanReport& report = planned.Report();
  const Explanation explanation = Explain(report, report.context.catalog().FindNode("b").value());
  std::vector<std::string> blocks;  // The other pod on b came from node a, and may move on.
  for (const Explanation::Pod& pod : explanation.pods) {
    if (pod.outcome != Explanation::Outcome::kBlocks) continue;
    EXPECT_EQ(pod.reason, BlockingPodReason::kWorkloadShareReached);
    blocks.push_back(NameOfPod(report.context.catalog(), pod.pod).name);
  }
  EXPECT_THAT(blocks, ElementsAre("on-b"));
  const Counterfactual found = planned.RemediesOf("b");
  EXPECT_THAT(Helps(found), ElementsAre("it is tried before all other nodes",
                                        "--max-workload-share is 0.5 instead of 0.25"));
  EXPECT_EQ(found.helps[1].removed, 2);
}

TEST(BlockersTest, TheShareOfWorkloadsIsOneFlag) {
  FourOfOne planned;
  const Blockers found = planned.AllBlockers();
  ASSERT_FALSE(found.blockers.empty());
  EXPECT_EQ(found.blockers[0].kind, "Flag");
  EXPECT_EQ(found.blockers[0].name, "--max-workload-share");
  EXPECT_EQ(found.blockers[0].reason, "WorkloadShareReached");
  EXPECT_EQ(found.blockers[0].change, "no limit");
  EXPECT_EQ(found.blockers[0].keeps, 3);
  EXPECT_EQ(found.blockers[0].gained, 3);
  for (const Blocker& each : found.blockers) EXPECT_EQ(each.kind, "Flag") << each.name;
}

TEST(CounterfactualTest, ARemovableNodeNeedsNoRemedy) {
  TwoNodes planned;
  const Counterfactual found = planned.RemediesOf("a");
  EXPECT_THAT(found.helps, IsEmpty());
  EXPECT_THAT(found.in_vain, IsEmpty());
}

TEST(BlockersTest, AreRankedByTheNodesThatGoWithoutThem) {
  Planned planned;
  planned.Add(Node("a")).Add(Node("b")).Add(Node("c")).Add(Node("d"));
  planned.Add(Pod("full").On("d").Cpu(2500));
  planned.Add(Pod("w0").On("a").Cpu(100).Label("app", "web"))
      .Add(Pod("w1").On("b").Cpu(100).Label("app", "web"))
      .Add(Budget("web").Matching("app", "web").Allows(0))
      .Add(Pod("db").On("c").Cpu(100).SafeToEvict("false").WithoutOwner());
  const Blockers found = planned.AllBlockers();
  EXPECT_EQ(found.removed, 0);
  EXPECT_EQ(found.kept, 4);
  ASSERT_EQ(found.blockers.size(), 3);
  EXPECT_EQ(found.blockers[0].kind, "PodDisruptionBudget");
  EXPECT_EQ(found.blockers[0].name, "web");
  EXPECT_EQ(found.blockers[0].keeps, 2);
  EXPECT_EQ(found.blockers[0].gained, 2);
  EXPECT_EQ(found.blockers[1].kind, "Flag");
  EXPECT_EQ(found.blockers[1].reason, "NotUnderutilized");
  EXPECT_EQ(found.blockers[1].gained, 1);
  EXPECT_EQ(found.blockers[2].kind, "Pod");
  EXPECT_EQ(found.blockers[2].name, "db");
  EXPECT_EQ(found.blockers[2].gained, 1);
}

TEST(BlockersTest, BeyondTheLimitNothingIsTried) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  const Blockers found =
      planned.AllBlockers({.limit = 1, .price = nullptr, .on_progress = nullptr});
  ASSERT_EQ(found.blockers.size(), 2);
  EXPECT_TRUE(found.blockers[0].gained.has_value());
  EXPECT_FALSE(found.blockers[1].gained.has_value());
  EXPECT_EQ(found.blockers[1].not_tried, "it is beyond --limit");
}

TEST(BlockersTest, AfterTheDeadlineNothingIsTried) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  CancelToken over;
  over.Cancel();
  BlockersOptions options;
  options.deadline = &over;
  const Blockers found = planned.AllBlockers(options);
  ASSERT_EQ(found.blockers.size(), 2);
  for (const Blocker& each : found.blockers) {
    EXPECT_FALSE(each.gained.has_value());
    EXPECT_EQ(each.not_tried, "the time was over");
  }
}

// Plans with a remedy have no deadline of the plan: a plan that was cut would prove nothing.
TEST(CounterfactualTest, TheDeadlinesOfThePlanAreNotThoseOfTrials) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  const PlanReport& report = planned.Report();
  const Explanation explanation = Explain(report, report.context.catalog().FindNode("a").value());
  planned.query().seconds = -1;
  const absl::StatusOr<Counterfactual> found =
      FindRemedies(report, explanation, planned.query(), planned.live());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->helps.size(), 1);
}

TEST(BlockersTest, CostsOfNodesAreAddedUp) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  BlockersOptions options;
  options.price = [](NodeId) { return 0.25; };
  const Blockers found = planned.AllBlockers(options);
  ASSERT_EQ(found.blockers[0].gained, 1);
  EXPECT_EQ(found.blockers[0].saved_per_hour, 0.25);
}

// Plans with a remedy leave no trace, and no removed blocker makes a plan of fewer nodes.
TEST(BlockersTest, OfARandomCluster) {
  Planned planned;
  ASSERT_TRUE(planned.live()
                  .Read([](ObjectSink& sink) {
                    return samples::GenerateMixed({.nodes = 120, .seed = 3}, sink);
                  })
                  .ok());
  const std::vector<std::string> before = planned.Removed();
  ASSERT_THAT(before, Not(IsEmpty()));
  const Blockers found = planned.AllBlockers();
  ASSERT_GT(found.blockers.size(), 5);
  int64_t most = 0;
  for (const Blocker& each : found.blockers) {
    if (!each.gained) continue;
    EXPECT_GE(*each.gained, 0) << each.name;
    most = std::max(most, *each.gained);
  }
  EXPECT_GT(most, 0);
  EXPECT_EQ(planned.Removed(), before);
}

// --- Blockers that help

Blocker BlockerNamed(const Blockers& found, std::string_view name) {
  const auto it = std::ranges::find(found.blockers, name, &Blocker::name);
  EXPECT_NE(it, found.blockers.end()) << name;
  return it == found.blockers.end() ? Blocker() : *it;
}

// Symptom: a pod with an emptyDir was to be annotated safe-to-evict: "true", which also passes over
// its budgets.
TEST(BlockersTest, PodsWithLocalVolumesAreAnnotatedWithTheirNames) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).Volume("emptyDir", "cache").Volume("emptyDir", "tmp"));
  const Blocker found = BlockerNamed(planned.AllBlockers(), "rs");
  EXPECT_EQ(found.reason, "LocalStorageRequested");
  EXPECT_EQ(found.change,
            "pods annotated cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: "
            "\"cache,tmp\"");
  EXPECT_EQ(found.gained, 1);
  EXPECT_THAT(found.command,
              HasSubstr("kubectl patch replicaset -n default rs --type merge -p "
                        "'{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"));
  EXPECT_THAT(found.command,
              HasSubstr(" && kubectl annotate pods -n default web full "
                        "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes=cache,tmp "
                        "--overwrite"));
}

TEST(BlockersTest, AnAnnotationThatKeepsAPodIsRemoved) {
  TwoNodes planned;
  planned.Add(Pod("web").On("a").Cpu(100).SafeToEvict("false"));
  const Blocker found = BlockerNamed(planned.AllBlockers(), "rs");
  EXPECT_EQ(found.change, "pods without cluster-autoscaler.kubernetes.io/safe-to-evict");
  EXPECT_EQ(found.gained, 1);
}

TEST(BlockersTest, OnlyAPodWithoutAControllerIsAnnotatedAsSafe) {
  TwoNodes planned;
  planned.Add(Pod("bare").On("a").Cpu(100).WithoutOwner());
  const Blocker found = BlockerNamed(planned.AllBlockers(), "bare");
  EXPECT_EQ(found.change,
            "pods annotated cluster-autoscaler.kubernetes.io/safe-to-evict: \"true\"");
  EXPECT_EQ(found.command,
            "kubectl annotate pods -n default bare "
            "cluster-autoscaler.kubernetes.io/safe-to-evict=true --overwrite");
  EXPECT_EQ(found.gained, 1);
}

// A command is for a shell, so a name that no API server accepts gets none.
TEST(BlockersTest, AHostileNameGetsNoCommand) {
  TwoNodes planned;
  planned.Add(Pod("x;$(reboot)'").On("a").Cpu(100).WithoutOwner());
  planned.Add(Pod("--all").On("a").Cpu(100).WithoutOwner());
  const Blockers found = planned.AllBlockers();
  EXPECT_EQ(BlockerNamed(found, "x;$(reboot)'").command, "");
  for (const Blocker& each : found.blockers) EXPECT_EQ(each.command, "") << each.name;
}

// Nodes a, b and c have a pod each; d has room for them.
struct FourNodes : Planned {
  FourNodes() {
    Add(Node("a")).Add(Node("b")).Add(Node("c")).Add(Node("d"));
    Add(Pod("full").On("d").Cpu(2500));
  }
};

// The pod asks for little now, and after a move for more than b has free.
void AskForMoreLater(TwoNodes& planned) {
  planned.Add(Pod("web").On("a").Cpu(100));
  objects::VerticalPodAutoscaler vpa;
  vpa.meta.namespace_name = "default";
  vpa.meta.name = "web";
  vpa.target_kind = "ReplicaSet";
  vpa.target_name = "rs";
  vpa.update_mode = "Recreate";
  vpa.has_recommendation = true;
  vpa.recommendations.push_back({.container = "main", .target = {{"cpu", 3000}}});
  const objects::StorageObject object = vpa;
  planned.Put(&object);
}

TEST(CounterfactualTest, RequestsThatAVpaWillSetAreIgnored) {
  TwoNodes planned;
  AskForMoreLater(planned);
  ASSERT_THAT(planned.Removed(), IsEmpty());
  EXPECT_THAT(Helps(planned.RemediesOf("a")), Contains("--vpa=ignore"));
  EXPECT_THAT(planned.Removed(), IsEmpty()) << "the objects are as before";
}

// What a pod asks for while it starts is not evaluated.
void BoostAtStart(TwoNodes& planned) {
  planned.Add(Pod("web").On("a").Cpu(100));
  objects::VerticalPodAutoscaler vpa;
  vpa.meta.namespace_name = "default";
  vpa.meta.name = "web";
  vpa.target_kind = "ReplicaSet";
  vpa.target_name = "rs";
  vpa.update_mode = "Recreate";
  vpa.has_recommendation = true;
  vpa.not_understood = "spec.startupBoost";
  const objects::StorageObject object = vpa;
  planned.Put(&object);
}

TEST(CounterfactualTest, IgnoringAVpaWithAStartupBoostFreesTheNode) {
  TwoNodes planned;
  BoostAtStart(planned);
  ASSERT_THAT(planned.Removed(), IsEmpty());
  EXPECT_THAT(Helps(planned.RemediesOf("a")), Contains("--vpa=ignore"));
}

TEST(BlockersTest, AVpaWithAStartupBoostIsNamedOnceByItsRemedy) {
  TwoNodes planned;
  BoostAtStart(planned);
  const Blockers blockers = planned.AllBlockers();
  const auto vpa = std::ranges::find(blockers.blockers, "--vpa=ignore", &Blocker::name);
  ASSERT_NE(vpa, blockers.blockers.end());
  EXPECT_EQ(vpa->gained, 1);
  EXPECT_TRUE(std::ranges::all_of(blockers.blockers,
                                  [](const Blocker& each) { return each.not_tried.empty(); }));
}

TEST(BlockersTest, RequestsThatAVpaWillSetKeepNodes) {
  TwoNodes planned;
  AskForMoreLater(planned);
  const Blockers blockers = planned.AllBlockers();
  const auto vpa = std::ranges::find(blockers.blockers, "--vpa=ignore", &Blocker::name);
  ASSERT_NE(vpa, blockers.blockers.end());
  EXPECT_EQ(vpa->kind, "Flag");
  EXPECT_EQ(vpa->reason, "NoPlaceToMovePods");
  EXPECT_EQ(vpa->keeps, 1u);
  EXPECT_EQ(vpa->gained, 1);
}

TEST(BlockersTest, ABudgetThatRecoversComesAfterThoseThatNeverAllowAny) {
  FourNodes planned;
  for (const char* const name : {"a", "b"}) {
    planned.Add(Pod(absl::StrCat("spent-", name)).On(name).Cpu(100).Label("app", "spent"));
  }
  planned.Add(Pod("never").On("c").Cpu(100).Label("app", "never"));
  const auto budget = [](const char* name, int64_t allows, int64_t desired, int64_t expected) {
    Budget made(name);
    made.Matching("app", name).Allows(allows);
    made.raw.desired_healthy = desired;
    made.raw.expected_pods = expected;
    return made;
  };
  planned.Add(budget("spent", 1, 1, 2)).Add(budget("never", 0, 1, 1));
  const Blockers found = planned.AllBlockers();
  const Blocker spent = BlockerNamed(found, "spent");
  const Blocker never = BlockerNamed(found, "never");
  EXPECT_EQ(spent.outlook, "recovers");
  EXPECT_EQ(spent.change, "nothing: it recovers");
  EXPECT_EQ(spent.command, "");
  EXPECT_EQ(never.outlook, "neverAllows");
  EXPECT_EQ(never.command,
            "kubectl patch pdb -n default never --type merge -p "
            "'{\"spec\":{\"minAvailable\":null,\"maxUnavailable\":1}}'");
  EXPECT_EQ(found.blockers.back().name, "spent");
}

// Node a has two obstacles.  It goes only if both are removed.
TEST(BlockersTest, ChangesThatHelpOnlyTogetherAreASet) {
  FourNodes planned;
  planned.Add(Pod("one").On("a").Cpu(100).Label("app", "one").WithoutOwner());
  planned.Add(Pod("two").On("b").Cpu(100).WithoutOwner());
  planned.Add(Pod("three").On("c").Cpu(2100));
  const Blockers found = planned.AllBlockers();
  ASSERT_EQ(found.sets.size(), 1u);
  EXPECT_EQ(found.sets[0].gained, 2);
  EXPECT_EQ(found.sets_tried, 1u);
  std::vector<std::string> names;
  for (const size_t member : found.sets[0].blockers) names.push_back(found.blockers[member].name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("one", "two"));
  BlockersOptions none;
  none.sets = 0;
  EXPECT_THAT(planned.AllBlockers(none).sets, IsEmpty());
  const auto json = BlockersJson(found);
  EXPECT_EQ(json["setsTried"], 1);
  EXPECT_EQ(json["sets"][0]["changes"].size(), 2u);
}

// --- Lower requests

PodUsage UsageOf(std::string_view pod, std::string_view container, std::string_view cpu) {
  PodUsage usage;
  const absl::Status read = usage.Read(
      "u",
      absl::StrCat(R"({"kind": "PodMetricsList", "items": [{"metadata": {"namespace": )",
                   R"("default", "name": ")", Absl(pod), R"("}, "containers": [{"name": ")",
                   Absl(container), R"(", "usage": {"cpu": ")", Absl(cpu), R"("}}]}]})"),
      "");
  EXPECT_TRUE(read.ok()) << read;
  return usage;
}

struct Wasteful : Planned {
  Wasteful() {
    Add(Node("a")).Add(Node("b"));
    Add(Pod("full").On("b").Cpu(2500));
    Add(Pod("web").On("a").Cpu(3000).OwnedByMissing("Widget", "web").SafeToEvict("true"));
  }
  absl::StatusOr<LowerRequests> Lower(const PodUsage& usage) {
    return FindLowerRequests(Report(), query(), live(), usage, {}, {});
  }
};

std::string ContainerName(Planned& planned) {
  PatchedCluster patched(planned.live());
  const ObjectName name = PodName("web");
  EXPECT_TRUE(patched.Find({&name, 1}).ok());
  return nlohmann::json::parse(*patched.Object(name))["spec"]["containers"][0].value("name", "");
}

TEST(LowerRequestsTest, ANodeGoesIfItsPodRequestsWhatItUses) {
  Wasteful planned;
  ASSERT_THAT(planned.Removed(), IsEmpty());
  const std::string container = ContainerName(planned);
  const absl::StatusOr<LowerRequests> found = planned.Lower(UsageOf("web", container, "200m"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->pods_with_usage, 1u);
  EXPECT_EQ(found->gained, 1);
  ASSERT_EQ(found->workloads.size(), 1u);
  EXPECT_EQ(found->workloads[0].containers[0].cpu_milli, 200);
  EXPECT_EQ(found->workloads[0].freed.cpu_milli, 2800);
  EXPECT_EQ(found->workloads[0].gained, 1);
  ASSERT_EQ(found->skipped.size(), 1u);
  EXPECT_EQ(found->skipped[0].named.first[0], "default/full");
  EXPECT_THAT(planned.Removed(), IsEmpty());  // Nothing stays changed.
}

TEST(LowerRequestsTest, RequestsAreNeverRaised) {
  Wasteful planned;
  const absl::StatusOr<LowerRequests> found =
      planned.Lower(UsageOf("web", ContainerName(planned), "3500m"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->gained, 0);
  EXPECT_THAT(found->workloads, IsEmpty());
  ASSERT_EQ(found->skipped.size(), 2u);
  EXPECT_THAT(found->skipped[1].what, HasSubstr("use more than they request"));
}

TEST(LowerRequestsTest, UsageOfOtherPodsAndContainersIsNamed) {
  Wasteful planned;
  const absl::StatusOr<LowerRequests> other = planned.Lower(UsageOf("elsewhere", "c", "1m"));
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(other.status().message(),
            "--usage: none of its 1 pod runs in the cluster; the first is default/elsewhere");
  const absl::StatusOr<LowerRequests> unknown = planned.Lower(UsageOf("web", "sidecar", "1m"));
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  ASSERT_EQ(unknown->skipped.size(), 2u);
  EXPECT_EQ(unknown->skipped[1].what, "containers with usage that no pod of their workload has");
  EXPECT_EQ(unknown->skipped[1].named.first[0], "default/web sidecar");
}

}  // namespace
}  // namespace ebb::what_if_test
