#include "session/wire_pass.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "session/session.h"
#include "snapshot/live/change_batch.h"
#include "tests/session/session_objects.h"

namespace ebb::wire_pass_test {
namespace {

using test::NodeJson;
using test::PodJson;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int64_t kNow = 1780315200;

// Converts a table to a plan, as a caller would read it.
class TableReader {
 public:
  explicit TableReader(const wire::PassTable& table) : table_(table) {}

  wire::PassPlan Plan() {
    wire::PassPlan plan;
    plan.set_termination(table_.termination());
    for (int i = 0; i < table_.removed_nodes_size(); ++i) Removal(i, *plan.add_removes());
    for (int i = 0; i < table_.kept_nodes_size(); ++i) Kept(i, *plan.add_keeps());
    for (const uint32_t node : table_.skipped()) plan.add_skipped(Node(node));
    for (int i = 0; i < table_.used_nodes_size(); ++i) {
      wire::NodeUse& use = *plan.add_utilization();
      use.set_node(Node(table_.used_nodes(i)));
      use.set_cpu(table_.cpu(i));
      use.set_memory(table_.memory(i));
      use.set_gpu(table_.gpu(i));
      use.set_resource(table_.resources(static_cast<int>(table_.used_resources(i))));
      use.set_utilization(table_.utilization(i));
    }
    EXPECT_EQ(pod_, table_.pod_name_sizes_size());
    EXPECT_EQ(to_, table_.to_size());
    EXPECT_EQ(at_, table_.pod_names().size());
    return plan;
  }

 private:
  std::string Node(uint32_t number) { return table_.nodes(static_cast<int>(number)); }
  void NextPod(wire::PodName& pod) {
    pod.set_namespace_(table_.namespaces(static_cast<int>(table_.pod_namespaces(pod_))));
    const size_t size = table_.pod_name_sizes(pod_++);
    pod.set_name(table_.pod_names().substr(at_, size));
    at_ += size;
  }
  void Removal(int i, wire::Removal& removal) {
    removal.set_node(Node(table_.removed_nodes(i)));
    removal.set_risky(table_.risky(i));
    for (uint32_t n = 0; n < table_.moves(i); ++n) {
      wire::Move& move = *removal.add_moves();
      NextPod(*move.mutable_pod());
      move.set_to(Node(table_.to(to_++)));
    }
    for (uint32_t n = 0; n < table_.daemonset(i); ++n) NextPod(*removal.add_daemonset());
    for (uint32_t n = 0; n < table_.on_completion(i); ++n) NextPod(*removal.add_on_completion());
  }
  void Kept(int i, wire::KeptNode& kept) {
    kept.set_node(Node(table_.kept_nodes(i)));
    kept.set_reason(table_.reasons(static_cast<int>(table_.kept_reasons(i))));
    if (const uint32_t blocks = table_.blocking_reasons(i); blocks > 0) {
      kept.set_blocking_reason(table_.reasons(static_cast<int>(blocks) - 1));
    }
    if (table_.has_pod(i)) NextPod(*kept.mutable_pod());
  }

  const wire::PassTable& table_;
  int pod_ = 0;
  int to_ = 0;
  size_t at_ = 0;
};

// Clears the fields that a table lacks.
void Forget(wire::PassPlan& plan) {
  for (wire::Removal& removal : *plan.mutable_removes()) {
    for (wire::Move& move : *removal.mutable_moves()) move.mutable_pod()->clear_uid();
    for (wire::PodName& pod : *removal.mutable_daemonset()) pod.clear_uid();
    for (wire::PodName& pod : *removal.mutable_on_completion()) pod.clear_uid();
  }
  for (wire::KeptNode& kept : *plan.mutable_keeps()) {
    kept.clear_pdb();
    if (kept.has_pod()) kept.mutable_pod()->clear_uid();
  }
}

// Three nodes of four cores, each with a pod of one core.  A second session gets the same requests
// for tables.
class WirePassTest : public ::testing::Test {
 protected:
  WirePassTest() {
    options_.clock_s = [] { return kNow; };
    session_ = std::make_unique<Session>("s", options_);
    twin_ = std::make_unique<Session>("s", options_);
    Put({NodeJson("a"), NodeJson("b"), NodeJson("c"), test::ReplicaSetJson(), PodJson("p", "a"),
         PodJson("q", "b"), PodJson("r", "c")});
  }

  void Put(const std::vector<std::string>& objects) {
    ChangeBatch batch;
    for (const std::string& object : objects) ASSERT_TRUE(batch.PutJson(object).ok());
    Take(batch);
  }
  void Take(const ChangeBatch& batch) {
    ASSERT_TRUE(session_->cluster().Take(batch).ok());
    ASSERT_TRUE(twin_->cluster().Take(batch).ok());
  }
  static wire::PlanInput Call(const std::vector<std::string>& candidates) {
    wire::PlanInput call;
    call.set_now(kNow);
    for (const std::string& node : candidates) call.mutable_candidates()->add_nodes(node);
    return call;
  }
  wire::PassPlan Pass(const wire::PlanInput& call) {
    const absl::StatusOr<wire::PassReply> reply = session_->questions().Pass(call, std::nullopt);
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return wire::PassPlan();
    const absl::StatusOr<wire::PassTable> table = twin_->questions().PassTable(call, std::nullopt);
    EXPECT_TRUE(table.ok()) << table.status();
    if (!table.ok()) return wire::PassPlan();
    EXPECT_EQ(table->version(), reply->version());
    EXPECT_EQ(table->now(), reply->now());
    wire::PassPlan expected = reply->plan();
    Forget(expected);
    const wire::PassPlan read = TableReader(*table).Plan();
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, expected))
        << "the table says\n"
        << read.DebugString() << "and the plan\n"
        << expected.DebugString();
    return reply->plan();
  }
  std::string Refusal(const wire::PlanInput& call) {
    const std::string message(twin_->questions().PassTable(call, std::nullopt).status().message());
    EXPECT_EQ(message, session_->questions().Pass(call, std::nullopt).status().message());
    return message;
  }
  static std::vector<std::string> Removed(const wire::PassPlan& plan) {
    std::vector<std::string> nodes;
    for (const wire::Removal& removal : plan.removes()) nodes.push_back(removal.node());
    return nodes;
  }

  SessionOptions options_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> twin_;
};

TEST_F(WirePassTest, CandidatesGoInTheirOrder) {
  EXPECT_THAT(Removed(Pass(Call({"c", "a"}))), ElementsAre("c", "a"));
}

TEST_F(WirePassTest, EachMoveNamesThePodAndItsNode) {
  wire::PlanInput call = Call({"c"});
  call.mutable_destinations()->add_nodes("a");
  const wire::PassPlan plan = Pass(call);
  ASSERT_EQ(plan.removes_size(), 1);
  ASSERT_EQ(plan.removes(0).moves_size(), 1);
  const wire::Move& move = plan.removes(0).moves(0);
  EXPECT_EQ(move.pod().namespace_(), "default");
  EXPECT_EQ(move.pod().name(), "r");
  EXPECT_EQ(move.pod().uid(), "uid-r");
  EXPECT_EQ(move.to(), "a");
  EXPECT_EQ(plan.termination(), "complete");
}

TEST_F(WirePassTest, PodsLandOnDestinationsAlone) {
  wire::PlanInput call = Call({"a"});
  call.mutable_destinations()->add_nodes("c");
  EXPECT_EQ(Pass(call).removes(0).moves(0).to(), "c");
  call.mutable_destinations()->clear_nodes();  // The list is present and empty.
  const wire::PassPlan plan = Pass(call);
  EXPECT_THAT(Removed(plan), IsEmpty());
  EXPECT_EQ(plan.keeps(0).reason(), "NoPlaceToMovePods");
  EXPECT_EQ(plan.keeps(0).pod().name(), "p");
}

TEST_F(WirePassTest, PodsArePlacedInTheRequestedPodOrder) {
  std::string high = PodJson("high", "a");
  high.replace(high.find("\"nodeName\""), 0, "\"priority\":9,");
  Put({high});
  wire::PlanInput call = Call({"a"});
  EXPECT_EQ(Pass(call).removes(0).moves(0).pod().name(), "high");
  call.set_pod_order(wire::AS_LISTED);
  EXPECT_EQ(Pass(call).removes(0).moves(0).pod().name(), "p");
  call.set_pod_order(static_cast<wire::PodOrder>(7));
  EXPECT_EQ(Refusal(call), "pod_order: 7 is not an order");
}

TEST_F(WirePassTest, PodsThatDoNotMoveAreReportedToo) {
  std::string daemon = PodJson("d", "a", "100m");
  daemon.replace(daemon.find("ReplicaSet"), 10, "DaemonSet");
  std::string job = PodJson("w", "a", "100m");
  job.replace(
      job.find("\"ownerReferences\""), 0,
      R"("annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"on-completion"},)");
  std::string other = PodJson("o", "b");
  other.replace(other.find("default"), 7, "another");
  const std::string daemon_set =
      R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"web","uid":"rs",)"
      R"("namespace":"default"},"spec":{},"status":{"desiredNumberScheduled":1}})";
  Put({daemon_set, daemon, job, other});
  const wire::PassPlan plan = Pass(Call({"a", "b", "c"}));
  ASSERT_GE(plan.removes_size(), 1);
  ASSERT_EQ(plan.removes(0).daemonset_size(), 1);
  ASSERT_EQ(plan.removes(0).on_completion_size(), 1);
  EXPECT_EQ(plan.removes(0).daemonset(0).name(), "d");
  EXPECT_EQ(plan.removes(0).on_completion(0).name(), "w");
}

TEST_F(WirePassTest, NodesOfNoGroupOfTheCallStay) {
  wire::PlanInput call = Call({"a", "b"});
  wire::PassGroup& group = *call.mutable_groups()->add_groups();
  group.set_name("g");
  group.add_nodes("b");
  const wire::PassPlan plan = Pass(call);
  EXPECT_THAT(Removed(plan), ElementsAre("b"));
  EXPECT_EQ(plan.keeps(0).node(), "a");
  EXPECT_EQ(plan.keeps(0).reason(), "NotAutoscaled");
}

TEST_F(WirePassTest, AGroupsOwnThresholdCounts) {
  wire::PlanInput call = Call({"a", "b"});
  for (const char* node : {"a", "b"}) {
    wire::PassGroup& group = *call.mutable_groups()->add_groups();
    group.set_name(absl::StrCat("g-", node));
    group.add_nodes(node);
  }
  call.mutable_groups()->mutable_groups(0)->set_scale_down_utilization_threshold(0.1);
  const wire::PassPlan plan = Pass(call);
  EXPECT_THAT(Removed(plan), ElementsAre("b"));
  EXPECT_EQ(plan.keeps(0).reason(), "NotUnderutilized");
  ASSERT_EQ(plan.utilization_size(), 2);
  EXPECT_EQ(plan.utilization(0).node(), "a");
  EXPECT_EQ(plan.utilization(0).cpu(), 0.25);
  EXPECT_EQ(plan.utilization(0).resource(), "cpu");
}

TEST_F(WirePassTest, TheLimitLeavesAtomicGroupsOut) {
  wire::PlanInput call = Call({"a", "b", "c"});
  call.set_unneeded_limit(1);
  wire::PassPlan plan = Pass(call);
  EXPECT_THAT(Removed(plan), ElementsAre("a"));
  EXPECT_EQ(plan.termination(), "limit");
  EXPECT_THAT(plan.skipped(), ElementsAre("b", "c"));
  wire::PassGroup& group = *call.mutable_groups()->add_groups();
  group.set_name("g");
  for (const char* node : {"a", "b", "c"}) group.add_nodes(node);
  group.set_atomic(true);
  EXPECT_THAT(Removed(Pass(call)), ElementsAre("a", "b"));
}

TEST_F(WirePassTest, RemembersUnremovableNodes) {
  wire::PlanInput call = Call({"a"});
  call.mutable_destinations();
  EXPECT_EQ(Pass(call).keeps(0).reason(), "NoPlaceToMovePods");
  call.clear_destinations();
  EXPECT_EQ(Pass(call).keeps(0).reason(), "RecentlyUnremovable");
  // With other options too.
  wire::Settings settings;
  (*settings.mutable_options()->mutable_fields())["scaleDown"]
      .mutable_struct_value()
      ->mutable_fields()
      ->operator[]("planner")
      .mutable_struct_value()
      ->mutable_fields()
      ->operator[]("scaleDownUtilizationThreshold")
      .set_number_value(0.6);
  *call.mutable_settings() = settings;
  EXPECT_EQ(Pass(call).keeps(0).reason(), "RecentlyUnremovable");
  call.set_now(kNow + 301);
  EXPECT_THAT(Removed(Pass(call)), ElementsAre("a"));
}

TEST_F(WirePassTest, ErrorsForWrongNamesNameTheField) {
  EXPECT_EQ(Refusal(Call({"a", "nowhere"})),
            "candidates.nodes[1]: node nowhere is not in the cluster");
  EXPECT_EQ(Refusal(Call({"a", "a"})), "candidates.nodes[1]: node a is named twice");
  wire::PlanInput call = Call({"a"});
  call.mutable_destinations()->add_nodes("");
  EXPECT_THAT(Refusal(call), HasSubstr("destinations.nodes[0]: node "));
  call = Call({"a"});
  for (int g = 0; g < 2; ++g) {
    wire::PassGroup& group = *call.mutable_groups()->add_groups();
    group.set_name(absl::StrCat("g", g));
    group.add_nodes("a");
  }
  EXPECT_EQ(Refusal(call), "groups.groups[1].nodes[0]: node a is named twice");
  call.mutable_groups()->mutable_groups(1)->clear_nodes();
  call.mutable_groups()->mutable_groups(1)->set_name("g0");
  EXPECT_THAT(Refusal(call), HasSubstr("g0"));
  call.mutable_groups()->mutable_groups()->RemoveLast();
  call.mutable_groups()->mutable_groups(0)->set_scale_down_utilization_threshold(
      std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Refusal(call), HasSubstr("threshold"));
  call.clear_groups();
  call.set_now(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(Refusal(call), HasSubstr("now"));
}

// Symptom: of a group's thresholds only NaN was refused.
TEST_F(WirePassTest, AGroupsThresholdsAreFiniteAndNotNegative) {
  wire::PlanInput call = Call({"a"});
  wire::PassGroup& group = *call.mutable_groups()->add_groups();
  group.set_name("g");
  group.add_nodes("a");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double threshold : {-1.0, kInfinity, -kInfinity}) {
    group.set_scale_down_utilization_threshold(threshold);
    EXPECT_THAT(Refusal(call),
                AllOf(StartsWith("groups.groups[0].scale_down_utilization_threshold: "),
                      HasSubstr(" is not a finite number from 0 on")));
    group.clear_scale_down_utilization_threshold();
    group.set_scale_down_gpu_utilization_threshold(threshold);
    EXPECT_THAT(Refusal(call),
                AllOf(StartsWith("groups.groups[0].scale_down_gpu_utilization_threshold: "),
                      HasSubstr(" is not a finite number from 0 on")));
    group.clear_scale_down_gpu_utilization_threshold();
  }
  for (const double threshold : {0.0, 1.0, 1.5}) {  // 1.5: case ext-008 of tests/golden.
    group.set_scale_down_utilization_threshold(threshold);
    Pass(call);
  }
}

TEST_F(WirePassTest, AGroupHasAName) {
  wire::PlanInput call = Call({"a"});
  call.mutable_groups()->add_groups()->add_nodes("a");
  EXPECT_EQ(Refusal(call), "groups.groups[0].name: is empty");
}

TEST_F(WirePassTest, ADeletedNodeIsNotACandidate) {
  ChangeBatch batch;
  batch.Delete(*ChangeBatch::NamesOf("Node"), "", "a", "");
  Take(batch);
  EXPECT_EQ(Refusal(Call({"a"})), "candidates.nodes[0]: node a is not in the cluster");
}

TEST_F(WirePassTest, AnEmptyClusterHasAnEmptyPlan) {
  Session empty("e", options_);
  const absl::StatusOr<wire::PassReply> reply = empty.questions().Pass(Call({}), std::nullopt);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->plan().removes_size(), 0);
}

}  // namespace
}  // namespace ebb::wire_pass_test
