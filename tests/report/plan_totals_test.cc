#include "report/plan_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "groups/groups.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "planning/plan_query.h"
#include "report/plan_report.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/samples/devices.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::plan_totals_test {
namespace {

using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A plan for the nodes a and b: a can go.
class Planned {
 public:
  Planned() : live_(LoadOptions{.assume_complete = true}) {
    const test::Controller controller(objects::ControllerKind::kReplicaSet, "rs");
    Put(&controller.raw);
    const test::Controller job(objects::ControllerKind::kJob, "report");
    Put(&job.raw);
    const test::Controller one(objects::ControllerKind::kReplicaSet, "one");
    Put(&one.raw);
    const test::Controller agents(objects::ControllerKind::kDaemonSet, "ds");
    Put(&agents.raw);
    query_.now_s = 1780315200;
    Add(Node("a").Label("pool", "p").Label("topology.kubernetes.io/zone", "z"));
    Add(Node("b").Label("pool", "p").Label("topology.kubernetes.io/zone", "z"));
    Add(Pod("full").On("b").Cpu(2500).Memory(test::kGiB));
  }

  Planned& Add(const Node& node) { return Put(&node.raw); }
  Planned& Add(const Pod& pod) { return Put(&pod.raw); }
  Planned& Put(const objects::ObjectRef& object) {
    const Change change{.object = object};
    const absl::Status taken = live_.Take({&change, 1});
    EXPECT_TRUE(taken.ok()) << taken;
    return *this;
  }
  Planned& Groups(const std::string& yaml) {
    const absl::StatusOr<GroupRules> rules = ParseGroups("groups", yaml);
    EXPECT_TRUE(rules.ok()) << rules.status();
    query_.groups = *rules;
    return *this;
  }
  Planned& Price(double hourly) {
    query_.prices = PriceList{.file = "p", .currency = "EUR", .prices = {}, .fallback = hourly};
    return *this;
  }

  PlanTotals Totals() {
    version_ = std::make_unique<LiveCluster::Version>(live_.Unchecked());
    absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query_, version_->cluster);
    EXPECT_TRUE(answer.ok()) << answer.status();
    answer_ = *std::move(answer);
    const PlanReport report = answer_->Report();
    removed_ = report.remove.size();
    return TotalsOf(report);
  }
  [[nodiscard]] size_t removed() const { return removed_; }
  [[nodiscard]] std::vector<std::string> Warnings() const {
    std::vector<std::string> texts;
    for (const InputWarning& each : version_->cluster.warnings) {
      texts.push_back(each.code + ": " + each.message);
    }
    return texts;
  }

 private:
  LiveCluster live_;
  PlanQuery query_;
  std::unique_ptr<LiveCluster::Version> version_;
  std::unique_ptr<PlanAnswer> answer_;
  size_t removed_ = 0;
};

TEST(PlanTotalsTest, CountTheWholeClusterBeforeAndAfter) {
  Planned planned;
  planned.Add(Pod("web").On("a").Cpu(500).Memory(test::kGiB));
  planned.Add(Pod("agent").On("a").Cpu(100).DaemonSet());
  const PlanTotals totals = planned.Price(0.25).Totals();
  ASSERT_EQ(planned.removed(), 1u);
  EXPECT_EQ(totals.before.nodes, 2u);
  EXPECT_EQ(totals.after.nodes, 1u);
  EXPECT_EQ(totals.before.allocatable.cpu_milli, 8000);
  EXPECT_EQ(totals.after.allocatable.cpu_milli, 4000);
  EXPECT_EQ(totals.before.requested.cpu_milli, 3100);
  EXPECT_EQ(totals.after.requested.cpu_milli, 3000);  // The DaemonSet's pod goes with its node.
  EXPECT_DOUBLE_EQ(totals.before.cpu.value_or(0), 3100. / 8000);
  EXPECT_DOUBLE_EQ(totals.after.cpu.value_or(0), 0.75);
  EXPECT_DOUBLE_EQ(totals.after.memory.value_or(0), 0.25);
  EXPECT_FALSE(totals.before.gpu.has_value());
  EXPECT_EQ(totals.before.cost_per_hour, 0.5);
  EXPECT_EQ(totals.after.cost_per_hour, 0.25);
  EXPECT_THAT(
      TotalsText(totals, "EUR"),
      ElementsAre("Whole cluster: 2 nodes; requested: cpu 38.8%, memory 12.5%; 0.50 EUR an hour",
                  "After the plan: 1 node; requested: cpu 75.0%, memory 25.0%; 0.25 EUR an hour"));
}

// Gives the planned cluster what it gets.
class PutSink : public AnyObjectSink {
 public:
  explicit PutSink(Planned& to) : to_(to) {}
  absl::Status OnObject(const objects::ObjectRef& object) override {
    to_.Put(object);
    return absl::OkStatus();
  }

 private:
  Planned& to_;
};

// Symptom: a cluster with devices and without claims crashed.
TEST(PlanTotalsTest, CountDevicesThatNoClaimUses) {
  Planned planned;
  PutSink put(planned);
  samples::DeviceSink sink({.used_max = 0, .one_product = true}, put);
  ASSERT_TRUE(sink.OnNode(Node("a").raw).ok());
  ASSERT_TRUE(sink.OnNode(Node("b").raw).ok());
  ASSERT_TRUE(sink.OnPod(Pod("web").Uid("w").On("a").Cpu(100).raw).ok());
  const PlanTotals totals = planned.Totals();
  ASSERT_EQ(totals.devices.size(), 1u);
  EXPECT_EQ(totals.devices[0].devices, 16u);
  EXPECT_EQ(totals.devices[0].in_use, 0u);
}

TEST(PlanTotalsTest, CountDevicesByDriverAndProduct) {
  Planned planned;
  EXPECT_THAT(planned.Totals().devices, IsEmpty());
  PutSink put(planned);
  samples::DeviceSink sink({.used_max = 3, .one_product = true}, put);
  ASSERT_TRUE(sink.OnNode(Node("a").raw).ok());
  ASSERT_TRUE(sink.OnNode(Node("b").raw).ok());
  ASSERT_TRUE(sink.OnPod(Pod("web").Uid("w").On("a").Cpu(100).raw).ok());
  ASSERT_TRUE(sink.OnPod(Pod("api").Uid("v").On("b").Cpu(100).raw).ok());
  const PlanTotals totals = planned.Totals();
  ASSERT_EQ(planned.removed(), 1u);
  ASSERT_EQ(totals.devices.size(), 1u);
  EXPECT_EQ(totals.devices[0].driver, "gpu.nvidia.com");
  EXPECT_EQ(totals.devices[0].product, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(totals.devices[0].devices, 16u);
  EXPECT_EQ(totals.devices[0].in_use, 2u);
  EXPECT_EQ(totals.devices[0].freed, 8u);
  EXPECT_THAT(TotalsText(totals, "").back(),
              "Devices: 16 gpu.nvidia.com NVIDIA A100-SXM4-40GB, 2 in use; 8 go with the nodes");
  nlohmann::ordered_json summary;
  PutTotals(totals, summary);
  EXPECT_EQ(summary["totals"]["devices"].dump(),
            R"([{"driver":"gpu.nvidia.com","product":"NVIDIA A100-SXM4-40GB","devices":16,)"
            R"("devicesInUse":2,"devicesFreed":8}])");
}

TEST(PlanTotalsTest, NameWhatRestarts) {
  Planned planned;
  planned.Add(Pod("job").On("a").Cpu(100).OwnedBy("Job", "report"));
  planned.Add(Pod("only").On("a").Cpu(100).OwnedBy("ReplicaSet", "one"));
  planned.Add(Pod("bare").On("a").Cpu(100).WithoutOwner().SafeToEvict("true"));
  planned.Add(Pod("web").On("a").Cpu(100));  // Of "rs", as is "full" on b.
  const PlanTotals totals = planned.Totals();
  EXPECT_THAT(totals.jobs.first, ElementsAre("default/report"));
  EXPECT_THAT(totals.single_replicas.first, ElementsAre("default/one"));
  EXPECT_THAT(totals.unowned.first, ElementsAre("default/bare"));
  EXPECT_THAT(totals.workloads_on_one_node.first, ElementsAre("default/rs"));
}

TEST(PlanTotalsTest, AWorkloadWithPodsOnTwoNodesAfterwardsIsNotNamed) {
  Planned planned;
  planned.Add(Node("c"));
  planned.Add(Pod("third").On("c").Cpu(2500));
  planned.Add(Pod("web").On("a").Cpu(100));
  EXPECT_EQ(planned.Totals().workloads_on_one_node.count, 0u);
}

TEST(PlanTotalsTest, NameGroupsAndZonesThatEndOnOneNode) {
  Planned planned;
  planned.Groups("nodeGroups: [{name: p, nodeSelector: {pool: p}}]");
  const PlanTotals totals = planned.Totals();
  ASSERT_EQ(planned.removed(), 1u);
  EXPECT_THAT(totals.groups_on_one_node.first, ElementsAre("p"));
  EXPECT_THAT(totals.zones_on_one_node.first, ElementsAre("z"));
  EXPECT_THAT(totals.assumed_minimums.first, ElementsAre("p"));
  EXPECT_THAT(
      ChecksOf(totals),
      ElementsAre("1 group ends with one node or none: p", "1 zone ends with one node or none: z",
                  "1 group that shrinks has no known minimum, and 0 is assumed: p"));
}

TEST(PlanTotalsTest, AKnownMinimumIsNotNamed) {
  Planned planned;
  planned.Groups("nodeGroups: [{name: p, nodeSelector: {pool: p}, minSize: 1}]");
  EXPECT_EQ(planned.Totals().assumed_minimums.count, 0u);
  EXPECT_EQ(planned.removed(), 1u);
}

TEST(PlanTotalsTest, CountPodsWithoutRequestsAndWarnOfThoseThatMove) {
  Planned planned;
  planned.Add(Pod("web").On("a"));
  planned.Add(Pod("stays").On("b"));
  planned.Add(Pod("agent").On("a").DaemonSet());
  const PlanTotals totals = planned.Totals();
  EXPECT_THAT(totals.without_requests.first, ElementsAre("default/web", "default/stays"));
  EXPECT_THAT(planned.Warnings(),
              ElementsAre(HasSubstr("PodsWithoutRequests: 1 pod that moves requests neither cpu "
                                    "nor memory, so that the plan keeps no room for what it uses: "
                                    "default/web")));
}

TEST(PlanTotalsTest, APlanThatRemovesNothingHasNothingToCheck) {
  Planned planned;
  planned.Add(Pod("big").On("a").Cpu(3000));
  const PlanTotals totals = planned.Totals();
  ASSERT_EQ(planned.removed(), 0u);
  EXPECT_THAT(ChecksOf(totals), IsEmpty());
  nlohmann::ordered_json summary;
  PutTotals(totals, summary);
  EXPECT_EQ(summary.size(), 1u) << summary;
  EXPECT_EQ(summary["totals"]["before"], summary["totals"]["after"]);
}

TEST(PlanTotalsTest, TheFirstNamesStandForTheRest) {
  Named named;
  for (int i = 0; i < 7; ++i) named.Add(absl::StrCat("n", i));
  EXPECT_EQ(NamesText(named), "n0, n1, n2 and 4 more");
  EXPECT_EQ(named.first.size(), kFirstNamed);
  Named four;
  for (int i = 0; i < 4; ++i) four.Add(absl::StrCat("n", i));
  EXPECT_EQ(NamesText(four), "n0, n1, n2, n3");
}

}  // namespace
}  // namespace ebb::plan_totals_test
