#include "service/session/pass_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/session/session.h"
#include "snapshot/live/change_batch.h"
#include "tests/service/session/session_objects.h"

namespace ebb {
namespace {

using test::NodeJson;
using test::PodJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNow = 1780315200;

// Three nodes of four cores, a pod of one core on each.
class PassCallTest : public ::testing::Test {
 protected:
  PassCallTest() {
    options_.clock_s = [] { return kNow; };
    session_ = std::make_unique<Session>("s", options_);
    Put({NodeJson("a"), NodeJson("b"), NodeJson("c"), test::ReplicaSetJson(), PodJson("p", "a"),
         PodJson("q", "b"), PodJson("r", "c")});
  }

  void Put(const std::vector<std::string>& objects) {
    ChangeBatch batch;
    for (const std::string& object : objects) ASSERT_TRUE(batch.PutJson(object).ok());
    ASSERT_TRUE(session_->Take(batch).ok());
  }
  static wire::PassCall Call(const std::vector<std::string>& candidates) {
    wire::PassCall call;
    call.mutable_input()->set_now(kNow);
    for (const std::string& node : candidates) call.add_candidates(node);
    return call;
  }
  wire::PassPlan Pass(const wire::PassCall& call) {
    const absl::StatusOr<wire::PassReply> reply = session_->Pass(call, std::nullopt);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->plan() : wire::PassPlan();
  }
  std::string Refusal(const wire::PassCall& call) {
    return std::string(session_->Pass(call, std::nullopt).status().message());
  }
  static std::vector<std::string> Removed(const wire::PassPlan& plan) {
    std::vector<std::string> nodes;
    for (const wire::Removal& removal : plan.removes()) nodes.push_back(removal.node());
    return nodes;
  }

  SessionOptions options_;
  std::unique_ptr<Session> session_;
};

TEST_F(PassCallTest, CandidatesGoInTheirOrder) {
  EXPECT_THAT(Removed(Pass(Call({"c", "a"}))), ElementsAre("c", "a"));
}

TEST_F(PassCallTest, TellsEachPodAndItsPlace) {
  wire::PassCall call = Call({"c"});
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

TEST_F(PassCallTest, PodsLandOnDestinationsAlone) {
  wire::PassCall call = Call({"a"});
  call.mutable_destinations()->add_nodes("c");
  EXPECT_EQ(Pass(call).removes(0).moves(0).to(), "c");
  call.mutable_destinations()->clear_nodes();  // Told, and none.
  const wire::PassPlan plan = Pass(call);
  EXPECT_THAT(Removed(plan), IsEmpty());
  EXPECT_EQ(plan.keeps(0).reason(), "NoPlaceToMovePods");
  EXPECT_EQ(plan.keeps(0).pod().name(), "p");
}

TEST_F(PassCallTest, PodsLookForPlacesInTheOrderThatIsToldOf) {
  std::string high = PodJson("high", "a");
  high.replace(high.find("\"nodeName\""), 0, "\"priority\":9,");
  Put({high});
  wire::PassCall call = Call({"a"});
  EXPECT_EQ(Pass(call).removes(0).moves(0).pod().name(), "high");
  call.set_pod_order(wire::AS_LISTED);
  EXPECT_EQ(Pass(call).removes(0).moves(0).pod().name(), "p");
  call.set_pod_order(static_cast<wire::PodOrder>(7));
  EXPECT_EQ(Refusal(call), "pod_order: 7 is none");
}

TEST_F(PassCallTest, NodesOfNoToldGroupStay) {
  wire::PassCall call = Call({"a", "b"});
  wire::PassGroup& group = *call.mutable_groups()->add_groups();
  group.set_name("g");
  group.add_nodes("b");
  const wire::PassPlan plan = Pass(call);
  EXPECT_THAT(Removed(plan), ElementsAre("b"));
  EXPECT_EQ(plan.keeps(0).node(), "a");
  EXPECT_EQ(plan.keeps(0).reason(), "NotAutoscaled");
}

TEST_F(PassCallTest, AGroupsOwnThresholdCounts) {
  wire::PassCall call = Call({"a", "b"});
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

TEST_F(PassCallTest, TheLimitLeavesAtomicGroupsOut) {
  wire::PassCall call = Call({"a", "b", "c"});
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

TEST_F(PassCallTest, RemembersWhatCouldNotGo) {
  wire::PassCall call = Call({"a"});
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
  *call.mutable_input()->mutable_settings() = settings;
  EXPECT_EQ(Pass(call).keeps(0).reason(), "RecentlyUnremovable");
  call.mutable_input()->set_now(kNow + 301);
  EXPECT_THAT(Removed(Pass(call)), ElementsAre("a"));
}

TEST_F(PassCallTest, WrongNamesAreToldWithTheirField) {
  EXPECT_EQ(Refusal(Call({"a", "nowhere"})), "candidates[1]: node nowhere is not in the cluster");
  EXPECT_EQ(Refusal(Call({"a", "a"})), "candidates[1]: node a is named twice");
  wire::PassCall call = Call({"a"});
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
  call.mutable_input()->set_now(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(Refusal(call), HasSubstr("now"));
}

TEST_F(PassCallTest, ANodeThatWasDeletedIsNoCandidate) {
  ChangeBatch batch;
  batch.Delete(*ChangeBatch::NamesOf("Node"), "", "a", "");
  ASSERT_TRUE(session_->Take(batch).ok());
  EXPECT_EQ(Refusal(Call({"a"})), "candidates[0]: node a is not in the cluster");
}

TEST_F(PassCallTest, AnEmptyClusterHasAnEmptyPlan) {
  Session empty("e", options_);
  const absl::StatusOr<wire::PassReply> reply = empty.Pass(Call({}), std::nullopt);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->plan().removes_size(), 0);
}

}  // namespace
}  // namespace ebb
