#include "session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "daemon/client.h"
#include "engine/make_plan.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "rounds/round_driver.h"
#include "rounds/round_replay.h"
#include "rounds/sqlite_state.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/samples/generate.h"
#include "tests/session/session_objects.h"

namespace ebb::session_test {
namespace {

using Json = nlohmann::ordered_json;
using test::NodeJson;
using test::PodJson;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kNow = 1780315200;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    options_.clock_s = [this] { return clock_s_; };
    options_.resident_bytes = [this] { return resident_bytes_; };
    session_ = std::make_unique<Session>("s", options_);
  }

  absl::Status Put(const std::vector<std::string>& objects) {
    ChangeBatch batch;
    for (const std::string& object : objects) {
      if (absl::Status s = batch.PutJson(object); !s.ok()) return s;
    }
    return session_->cluster().Take(batch);
  }
  absl::Status Delete(const std::string& kind, const std::string& space, const std::string& name) {
    ChangeBatch batch;
    batch.Delete(*ChangeBatch::NamesOf(kind), space, name, "");
    return session_->cluster().Take(batch);
  }
  // Two nodes, each half free; one can go.
  absl::Status PutCluster() {
    return Put({NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(), PodJson("p", "a"),
                PodJson("q", "b")});
  }

  wire::PlanCall Call() const {
    wire::PlanCall call;
    call.mutable_input()->set_now(kNow);
    return call;
  }
  Json PlanJsonOf(const absl::StatusOr<wire::PlanReply>& reply) const {
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? Json::parse(reply->plan()) : Json();
  }
  static std::vector<std::string> Removed(const Json& plan) {
    std::vector<std::string> nodes;
    for (const Json& node : plan["remove"]) nodes.push_back(node["node"]);
    return nodes;
  }
  static wire::Settings SettingsOf(const std::string& options) {
    wire::Settings settings;
    EXPECT_TRUE(PutOptions(Json::parse(options), settings).ok());
    return settings;
  }
  std::string ExportAll() {
    std::string bytes;
    const absl::Status s = session_->cluster().Export([&](std::string_view part) {
      bytes += part;
      return absl::OkStatus();
    });
    EXPECT_TRUE(s.ok()) << s;
    return bytes;
  }

  // Starts a new session, as a new process would.
  void StartAgain() {
    session_.reset();
    session_ = std::make_unique<Session>("s", options_);
  }

  int64_t clock_s_ = kNow;
  uint64_t resident_bytes_ = 1000;
  SessionOptions options_;
  std::unique_ptr<Session> session_;
};

TEST(SessionNameTest, InvalidNamesAreRejected) {
  for (const char* good : {"a", "prod", "eu-west.1", "9"}) EXPECT_TRUE(CheckSessionName(good).ok());
  for (const char* bad : {"", "A", "a/b", "..", "-a", "a-", "a b", "\xff"}) {
    EXPECT_EQ(CheckSessionName(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_TRUE(CheckSessionName(std::string(63, 'a')).ok());
  EXPECT_FALSE(CheckSessionName(std::string(64, 'a')).ok());
}

TEST_F(SessionTest, CountsTheBatchesThatItTook) {
  EXPECT_EQ(session_->cluster().version(), 0);
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_EQ(session_->cluster().version(), 1);
  const wire::SessionStatus status = session_->Status();
  EXPECT_EQ(status.nodes(), 2);
  EXPECT_EQ(status.pods(), 2);
  EXPECT_EQ(status.put(), 5);
}

// Symptom: a pod for Linux was planned onto a Windows node.  The autoscaler's planner still does.
TEST_F(SessionTest, PlansKeepPodsOnTheirOperatingSystemAndPassesFollowTheScheduler) {
  const auto labelled = [](std::string node, const std::string& os) {
    Json json = Json::parse(node);
    json["metadata"]["labels"]["kubernetes.io/os"] = os;
    return json.dump();
  };
  ASSERT_TRUE(Put({labelled(NodeJson("a"), "linux"), labelled(NodeJson("b"), "windows"),
                   test::ReplicaSetJson(), PodJson("p", "a"), PodJson("q", "b")})
                  .ok());
  const auto removes = [&] {
    return Removed(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))).size();
  };
  EXPECT_EQ(removes(), 0u);
  wire::PlanInput pass;
  pass.set_now(kNow);
  pass.mutable_candidates()->add_nodes("a");
  const absl::StatusOr<wire::PassReply> passed = session_->questions().Pass(pass, std::nullopt);
  ASSERT_TRUE(passed.ok()) << passed.status();
  EXPECT_EQ(passed->plan().removes_size(), 1);
  EXPECT_EQ(removes(), 0u);  // The session's own setting is unchanged.
}

TEST_F(SessionTest, RefusedBatchLeavesItAsItWas) {
  ASSERT_TRUE(PutCluster().ok());
  const auto before = session_->questions().Plan(Call(), std::nullopt);
  // A pod with an invalid request, after a valid pod.
  const absl::Status refused = Put({PodJson("r", "a"), PodJson("t", "a", "-1")});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("default/t"), HasSubstr("cpu")));
  EXPECT_EQ(session_->cluster().version(), 1);
  EXPECT_EQ(session_->Status().pods(), 2);
  EXPECT_EQ(session_->questions().Plan(Call(), std::nullopt)->plan(), before->plan());
}

TEST_F(SessionTest, PlansForTheCurrentObjects) {
  ASSERT_TRUE(PutCluster().ok());
  const auto reply = session_->questions().Plan(Call(), std::nullopt);
  EXPECT_THAT(Removed(PlanJsonOf(reply)), ElementsAre("a"));
  EXPECT_EQ(reply->version(), 1);
  EXPECT_EQ(reply->now(), kNow);
  EXPECT_EQ(reply->removes(), 1);
  // The pods together are too large for one node.
  ASSERT_TRUE(Put({PodJson("q", "b", "3500m")}).ok());
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))), IsEmpty());
}

TEST_F(SessionTest, WavesGoWithTheFormsThatHaveAPlaceForThem) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall call = Call();
  call.mutable_input()->mutable_waves()->set_pod_startup_seconds(90);
  const Json plan = PlanJsonOf(session_->questions().Plan(call, std::nullopt));
  EXPECT_EQ(plan["summary"]["waves"]["podStartupSeconds"], 90);
  EXPECT_EQ(plan["waves"][0]["remove"], Json::array({"a"}));
  call.set_form(wire::AS_TABLES);
  const auto tables = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(tables.ok()) << tables.status();
  const wire::WaveFigures& waves = tables->tables().waves();
  ASSERT_EQ(waves.waves_size(), 1);
  EXPECT_EQ(waves.waves(0).removed(), 1);
  EXPECT_EQ(waves.takes_seconds(), 90);
  EXPECT_GT(waves.assumptions_size(), 0);
  const auto refusal = [&] {
    return std::string(session_->questions().Plan(call, std::nullopt).status().message());
  };
  call.set_form(wire::AS_NAMES);
  EXPECT_EQ(refusal(), "input.waves: AS_NAMES takes none; AS_JSON and AS_TABLES do");
  call.set_form(wire::AS_JSON);
  call.mutable_input()->mutable_waves()->set_unneeded_seconds(-1);
  EXPECT_THAT(refusal(), HasSubstr("input.waves.unneeded_seconds: -1 is not a time from 0 to"));
  // Without waves in the question there are none in the answer.
  EXPECT_FALSE(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt)).contains("waves"));
}

TEST_F(SessionTest, AQuestionMayAskForPurchases) {
  std::vector<std::string> objects = {test::ReplicaSetJson()};
  for (const std::string name : {"a", "b", "c"}) {
    objects.push_back(NodeJson(
        name, absl::StrCat(R"(,"node.kubernetes.io/instance-type":"m4","kubernetes.io/hostname":")",
                           name, R"(","topology.kubernetes.io/zone":"z1")")));
    objects.push_back(PodJson("p" + name, name, "2500m"));
  }
  ASSERT_TRUE(Put(objects).ok());
  wire::PlanCall call = Call();
  wire::PlanInput& input = *call.mutable_input();
  input.set_prices("prices: [{instanceType: m4, hourly: 0.2}]\n");
  auto& options = *input.mutable_settings()->mutable_options()->mutable_fields();
  auto& scale_down = *options["scaleDown"].mutable_struct_value()->mutable_fields();
  auto& planner = *scale_down["planner"].mutable_struct_value()->mutable_fields();
  planner["scaleDownUtilizationThreshold"].set_number_value(1);
  input.set_settings_over_session(true);
  wire::Replace& replace = *input.mutable_replace();
  replace.set_machine_types(
      "machineTypes: [{name: m9, groups: [g], capacity: {cpu: 9, memory: 32Gi}, "
      "offers: [{hourly: 0.4}]}]\n");
  const auto reply = session_->questions().Plan(call, std::nullopt);
  const Json plan = PlanJsonOf(reply);
  EXPECT_EQ(plan["replace"]["buy"][0]["machineType"], "m9");
  ASSERT_EQ(reply->purchases().buy_size(), 1);
  EXPECT_EQ(reply->purchases().buy(0).pods(), 3);
  EXPECT_DOUBLE_EQ(reply->purchases().with().net_saved_per_hour(), 3 * 0.2 - 0.4);
  EXPECT_GT(reply->purchases().assumptions_size(), 0);
  call.set_form(wire::AS_DATA);
  const auto moves = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(moves.ok()) << moves.status();
  ASSERT_EQ(moves->data().removes_size(), 3);
  EXPECT_EQ(moves->data().removes(0).moves(0).to(), moves->purchases().buy(0).node());
  // The session's own cluster has no new node.
  EXPECT_EQ(session_->cluster().Snapshot().nodes(), 3);
  const auto refusal = [&] {
    return std::string(session_->questions().Plan(call, std::nullopt).status().message());
  };
  call.set_form(wire::AS_NAMES);
  EXPECT_EQ(refusal(), "input.replace: AS_NAMES takes none; AS_JSON, AS_TABLES and AS_DATA do");
  call.set_form(wire::AS_JSON);
  replace.set_max_new_nodes(0);
  EXPECT_EQ(refusal(), "replace: max_new_nodes: 0 is not from 1 to 100");
  replace.set_max_new_nodes(1);
  input.set_time_limit_seconds(3);
  EXPECT_EQ(refusal(), "input.replace: takes no input.time_limit_seconds; leave one of them out");
  input.clear_time_limit_seconds();
  replace.set_machine_types("machineTypes: 3\n");
  EXPECT_THAT(refusal(), HasSubstr("input.replace.machine_types: "));
  replace.clear_machine_types();
  EXPECT_EQ(session_->questions().Plan(call, Clock::time_point()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(SessionTest, NoPlanForAnInputThatIsNotACluster) {
  EXPECT_EQ(session_->questions().Plan(Call(), std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Put({NodeJson("a")}).ok());
  const absl::Status none = session_->questions().Plan(Call(), std::nullopt).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(none.message()), HasSubstr("session s: "));
}

TEST_F(SessionTest, AnswersFromMemoryUntilSomethingChanges) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  ASSERT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  EXPECT_EQ(session_->Status().plans(), 1);
  wire::PlanCall other = Call();
  other.set_form(wire::AS_TABLES);
  ASSERT_TRUE(session_->questions().Plan(other, std::nullopt).ok());
  EXPECT_EQ(session_->Status().plans(), 2);
  ASSERT_TRUE(Put({PodJson("r", "a")}).ok());
  ASSERT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  EXPECT_EQ(session_->Status().plans(), 3);
  // A question at another second gets a new plan.
  wire::PlanCall later = Call();
  later.mutable_input()->set_now(kNow + 1);
  EXPECT_EQ(session_->questions().Plan(later, std::nullopt)->now(), kNow + 1);
}

TEST_F(SessionTest, TheClockIsReadIfNoTimeIsGiven) {
  ASSERT_TRUE(PutCluster().ok());
  clock_s_ = kNow + 77;
  EXPECT_EQ(session_->questions().Plan(wire::PlanCall(), std::nullopt)->now(), kNow + 77);
}

TEST_F(SessionTest, SettingsOfTheSessionAndOfACall) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(session_->cluster()
                  .SetSettings(SettingsOf(
                      R"({"scaleDown":{"planner":{"scaleDownUtilizationThreshold":0.1}}})"))
                  .ok());
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))), IsEmpty());
  wire::PlanCall own = Call();
  *own.mutable_input()->mutable_settings() = wire::Settings();
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(own, std::nullopt))), ElementsAre("a"));
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))), IsEmpty());
}

TEST_F(SessionTest, WrongSettingsAreNamed) {
  const auto why = [&](const wire::Settings& settings) {
    const absl::Status s = session_->cluster().SetSettings(settings);
    EXPECT_FALSE(s.ok());
    return std::string(s.message());
  };
  EXPECT_THAT(why(SettingsOf(R"({"scaleDown":{"planner":{"scaleDownUtilizationThresh":1}}})")),
              HasSubstr("scaleDown.planner.scaleDownUtilizationThresh"));
  EXPECT_THAT(why(SettingsOf(R"({"scaleDown":{"planner":{"scaleDownUtilizationThreshold":7}}})")),
              HasSubstr("scaleDownUtilizationThreshold"));
  EXPECT_THAT(why(SettingsOf(R"({"scaleDown":7})")), HasSubstr("scaleDown"));
  wire::Settings groups;
  groups.set_node_groups("nodeGroups: [{nome: a}]");
  EXPECT_THAT(why(groups), HasSubstr("nome"));
  wire::Settings sizes;
  sizes.add_group_sizes()->set_name("a");
  sizes.mutable_group_sizes(0)->set_min_size(3);
  EXPECT_THAT(why(sizes), HasSubstr("group_sizes"));
}

TEST_F(SessionTest, GroupSizesKeepNodes) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall call = Call();
  wire::GroupSize& size = *call.mutable_input()->mutable_settings()->add_group_sizes();
  size.set_name("g");
  size.set_min_size(2);
  size.set_max_size(5);
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(call, std::nullopt))), IsEmpty());
}

TEST_F(SessionTest, HowToLoadIsSettledWhileThereAreObjects) {
  const wire::Settings settings = SettingsOf(R"({"load":{"assumeComplete":true}})");
  ASSERT_TRUE(session_->cluster().SetSettings(settings).ok());
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_EQ(
      session_->cluster().SetSettings(SettingsOf(R"({"load":{"assumeComplete":false}})")).code(),
      absl::StatusCode::kFailedPrecondition);
  // Settings without options.load leave it unchanged.
  EXPECT_TRUE(session_->cluster().SetSettings(wire::Settings()).ok());
  wire::PlanCall call = Call();
  *call.mutable_input()->mutable_settings() = SettingsOf(R"({"load":{"assumeComplete":false}})");
  EXPECT_EQ(session_->questions().Plan(call, std::nullopt).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, ResyncDeletesWhatItDoesNotName) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Put({PodJson("ended", "a", "1", "Succeeded"), NodeJson("c")}).ok());
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(Put({NodeJson("a"), NodeJson("b"), PodJson("p", "a")}).ok());
  EXPECT_EQ(session_->Status().nodes(), 3);  // Nothing is deleted before the resync ends.
  const absl::StatusOr<uint64_t> deleted = session_->cluster().EndResync(resync);
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(*deleted, 4);  // Node c, pods q and ended, the ReplicaSet.
  EXPECT_EQ(session_->Status().nodes(), 2);
  EXPECT_EQ(session_->Status().pods(), 1);
}

TEST_F(SessionTest, ResyncForgetsWhatIsDeletedMeanwhile) {
  ASSERT_TRUE(PutCluster().ok());
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Delete("Pod", "default", "q").ok());
  EXPECT_EQ(*session_->cluster().EndResync(resync), 0);
  EXPECT_EQ(session_->Status().pods(), 1);
  EXPECT_EQ(session_->cluster().EndResync(resync).status().code(), absl::StatusCode::kAborted);
}

// Symptom: the end of one resync deleted objects that it had listed before the other began.
TEST_F(SessionTest, ConcurrentResyncsAreIndependent) {
  ASSERT_TRUE(PutCluster().ok());
  const uint64_t first = session_->cluster().BeginResync();
  ASSERT_TRUE(PutCluster().ok());
  const uint64_t second = session_->cluster().BeginResync();
  ASSERT_TRUE(Put({NodeJson("a")}).ok());
  EXPECT_EQ(*session_->cluster().EndResync(first), 0);
  EXPECT_EQ(session_->Status().nodes(), 2);
  EXPECT_EQ(*session_->cluster().EndResync(second), 4);  // Everything but node a.
  EXPECT_EQ(session_->Status().nodes(), 1);
}

// Objects that are not evaluated are held like others: they are put, deleted and resynced.
TEST_F(SessionTest, AnswersNameObjectsThatAreNotEvaluated) {
  const auto pools = [](const std::string& name) {
    return R"({"apiVersion":"karpenter.sh/v1alpha5","kind":"Provisioner","metadata":{"name":")" +
           name + R"("},"spec":{}})";
  };
  const auto warning = [&]() -> std::string {
    const absl::StatusOr<wire::PlanReply> reply = session_->questions().Plan(Call(), std::nullopt);
    EXPECT_TRUE(reply.ok()) << reply.status();
    for (const wire::Warning& each : reply->warnings()) {
      if (each.code() == "NodePoolsNotEvaluated") return each.message();
    }
    return "";
  };
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_EQ(warning(), "");
  ASSERT_TRUE(Put({pools("spot"), pools("spot"), pools("general")}).ok());
  EXPECT_THAT(warning(), HasSubstr("2 Provisioners (general and 1 more) are not evaluated"));
  ChangeBatch gone;
  ASSERT_TRUE(gone.DeleteJson(pools("general")).ok());
  ASSERT_TRUE(session_->cluster().Take(gone).ok());
  EXPECT_THAT(warning(), HasSubstr("1 Provisioner (spot) is not evaluated"));
  const std::string snapshot = ExportAll();
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(session_->cluster().EndResync(resync).ok());
  EXPECT_EQ(warning(), "") << "the resync did not name it";
  ASSERT_TRUE(session_->cluster().Load(snapshot, nullptr).ok());
  EXPECT_THAT(warning(), HasSubstr("1 Provisioner (spot)"));
}

TEST_F(SessionTest, ResyncThatIsDroppedDeletesNothing) {
  ASSERT_TRUE(PutCluster().ok());
  const uint64_t resync = session_->cluster().BeginResync();
  session_->cluster().DropResync(resync);
  EXPECT_FALSE(session_->cluster().EndResync(resync).ok());
  EXPECT_EQ(session_->Status().nodes(), 2);
}

TEST_F(SessionTest, LoadEndsResyncs) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string snapshot = ExportAll();
  session_->cluster().KeepToCluster("uid-one");
  const uint64_t resync = session_->cluster().BeginResync();
  EXPECT_TRUE(session_->cluster().InResync(resync));
  ASSERT_TRUE(session_->cluster().Load(snapshot, nullptr, "uid-one").ok());
  EXPECT_FALSE(session_->cluster().InResync(resync));
  EXPECT_FALSE(session_->cluster().EndResync(resync).ok());
  EXPECT_EQ(session_->Status().pods(), 2);
}

// --- Complete clusters -----------------------------------------------------------------

std::string NamespaceJson(const std::string& name, const std::string& uid) {
  return absl::StrCat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", name,
                      R"(","uid":")", uid, R"("}})");
}

// Is evaluated since version 1.37.
std::string PreventingDriverJson() {
  return R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d.csi",)"
         R"("uid":"d"},"spec":{"preventPodSchedulingIfMissing":true}})";
}

class SessionFeedTest : public SessionTest {
 protected:
  absl::Status PutInResync(uint64_t resync, const std::vector<std::string>& objects) {
    ChangeBatch batch;
    for (const std::string& object : objects) {
      if (absl::Status s = batch.PutJson(object); !s.ok()) return s;
    }
    return session_->cluster().Take(batch, resync);
  }
  absl::Status Resync() {
    const uint64_t resync = session_->cluster().BeginResync();
    absl::Status s = PutInResync(resync, {NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(),
                                          PodJson("p", "a"), PodJson("q", "b")});
    return s.ok() ? session_->cluster().EndResync(resync).status() : s;
  }
  // The status of each question.
  std::vector<absl::Status> Answers() {
    wire::ExplainCall explain;
    *explain.mutable_input() = Call().input();
    explain.add_nodes("a");
    const wire::PlanInput pass = Call().input();
    wire::FilterCall filter;
    filter.add_pods("default/p");
    SessionQuestions::SentPlan sent;
    wire::WhatIfCall what_if;
    what_if.set_changes("objects: [{kind: Node, metadata: {name: a}, $patch: delete}]");
    return {session_->questions().Plan(Call(), std::nullopt).status(),
            session_->questions().Explain(explain, std::nullopt).status(),
            session_->questions().Blockers({}, std::nullopt).status(),
            session_->questions().Frontier({}, std::nullopt).status(),
            session_->questions().WhatIf(what_if, std::nullopt).status(),
            session_->questions().Pass(pass, std::nullopt).status(),
            session_->questions().PassTable(pass, std::nullopt).status(),
            session_->questions().Filter(filter).status(),
            session_->questions().PlanChanges(Call().input(), sent).status(),
            session_->questions().WithReport(Call().input(), std::nullopt,
                                             [](const PlanReport&) { return absl::OkStatus(); }),
            session_->cluster().Export([](std::string_view) { return absl::OkStatus(); })};
  }
  std::vector<std::string> WarningCodes() {
    const auto reply = session_->questions().Plan(Call(), std::nullopt);
    EXPECT_TRUE(reply.ok()) << reply.status();
    std::vector<std::string> codes;
    if (!reply.ok()) return codes;
    for (const wire::Warning& warning : reply->warnings()) {
      if (warning.code().starts_with("Session")) codes.push_back(warning.code());
    }
    return codes;
  }
};

// Symptom: if the pods of a cluster were still to come, all nodes could go.
TEST_F(SessionFeedTest, NoQuestionIsAnsweredBeforeTheFirstResyncHasEnded) {
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(
      PutInResync(resync, {NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(), PodJson("p", "a")})
          .ok());
  for (const absl::Status& answer : Answers()) {
    EXPECT_EQ(answer.code(), absl::StatusCode::kUnavailable) << answer;
    EXPECT_THAT(std::string(answer.message()),
                AllOf(HasSubstr("session s: is being filled since 2026-06-01T12:00:00Z"),
                      HasSubstr("4 objects so far, with 2 nodes and 1 pod")));
  }
  EXPECT_EQ(session_->Status().fill(), wire::SessionStatus::FILLING);
  EXPECT_EQ(session_->Status().filling_since(), kNow);
  EXPECT_EQ(session_->Status().objects(), 4);
  ASSERT_TRUE(PutInResync(resync, {PodJson("q", "b")}).ok());
  ASSERT_TRUE(session_->cluster().EndResync(resync).ok());
  for (const absl::Status& answer : Answers()) EXPECT_TRUE(answer.ok()) << answer;
  EXPECT_EQ(session_->Status().fill(), wire::SessionStatus::WHOLE);
}

// Symptom: an object that was put before the first resync disabled the protection.
TEST_F(SessionFeedTest, AFirstResyncOverWhatBatchesPutIsWaitedForToo) {
  ASSERT_TRUE(Put({NodeJson("early"), PodJson("r", "early")}).ok());
  const uint64_t resync = session_->cluster().BeginResync();
  for (const absl::Status& answer : Answers()) {
    EXPECT_EQ(answer.code(), absl::StatusCode::kUnavailable) << answer;
  }
  session_->cluster().DropResync(resync);  // The stream breaks off.
  EXPECT_FALSE(session_->questions().Plan(Call(), std::nullopt).ok());
  ASSERT_TRUE(Resync().ok());
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
}

TEST_F(SessionFeedTest, ALoadEndsTheWait) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string snapshot = ExportAll();
  StartAgain();
  session_->cluster().KeepToCluster("uid-one");
  session_->cluster().BeginResync();
  EXPECT_FALSE(session_->questions().Plan(Call(), std::nullopt).ok());
  ASSERT_TRUE(session_->cluster().Load(snapshot, nullptr, "uid-one").ok());
  EXPECT_THAT(WarningCodes(), IsEmpty());
}

TEST_F(SessionFeedTest, BatchesAloneFillASessionWithAWarning) {
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_THAT(WarningCodes(), ElementsAre("SessionMaybeIncomplete"));
  EXPECT_EQ(session_->Status().fill(), wire::SessionStatus::MAYBE_INCOMPLETE);
  wire::PlanCall names = Call();
  names.set_form(wire::AS_NAMES);
  EXPECT_THAT(std::string(session_->questions().Plan(names, std::nullopt).status().message()),
              HasSubstr("no client has said that they are the whole cluster"));
  ASSERT_TRUE(session_->cluster().SayWhole().ok());
  EXPECT_TRUE(session_->questions().Plan(names, std::nullopt).ok());
  EXPECT_THAT(WarningCodes(), IsEmpty());
}

// Symptom: after a first resync broke off, an empty batch allowed answers about the partial
// cluster.
TEST_F(SessionFeedTest, AFirstResyncThatBrokeOffIsWaitedForUntilAnotherEnds) {
  session_->cluster().DropResync(session_->cluster().BeginResync());
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Put({}).ok());
  EXPECT_EQ(session_->questions().Plan(Call(), std::nullopt).status().code(),
            absl::StatusCode::kUnavailable);
  const uint64_t open = session_->cluster().BeginResync();
  EXPECT_EQ(session_->cluster().SayWhole().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(session_->cluster().EndResync(open).ok());
  EXPECT_THAT(WarningCodes(), IsEmpty());
}

// Symptom: a resync without pods was answered with the judgement of the previous one, and the
// reverse.
TEST_F(SessionFeedTest, EveryResyncIsChecked) {
  const auto resync = [&](const std::vector<std::string>& objects) {
    const uint64_t number = session_->cluster().BeginResync();
    EXPECT_TRUE(PutInResync(number, objects).ok());
    EXPECT_TRUE(session_->cluster().EndResync(number).ok());
  };
  const std::vector<std::string> all = {NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(),
                                        PodJson("p", "a"), PodJson("q", "b")};
  const std::vector<std::string> nodes = {NodeJson("a"), NodeJson("b")};
  resync(all);
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  resync(nodes);
  EXPECT_FALSE(session_->questions().Plan(Call(), std::nullopt).ok());
  resync(all);
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
}

// Symptom: the assumption of one Load made a resync of nodes without pods count as complete.
TEST_F(SessionFeedTest, AResyncForgetsWhatALoadAssumed) {
  ASSERT_TRUE(PutCluster().ok());
  const wire::Settings assumed = SettingsOf(R"({"load":{"assumeComplete":true}})");
  ASSERT_TRUE(session_->cluster().Load(ExportAll(), &assumed).ok());
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(PutInResync(resync, {NodeJson("a"), NodeJson("b")}).ok());
  ASSERT_TRUE(session_->cluster().EndResync(resync).ok());
  EXPECT_EQ(session_->questions().Plan(Call(), std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Symptom: a user of ebb-kube read "the dump seems to be made without -A; try `kubectl get ...`".
TEST_F(SessionFeedTest, WarningsAdviseWhatTheUserOfADumpOrOfAFeederCanDo) {
  const auto warning_of = [&](std::string_view code) {
    const auto reply = session_->questions().Plan(Call(), std::nullopt);
    EXPECT_TRUE(reply.ok()) << reply.status();
    for (const wire::Warning& each : reply->warnings()) {
      if (each.code() == code) return each;
    }
    ADD_FAILURE() << "no " << code;
    return wire::Warning();
  };
  // The objects of one namespace, from a feeder.
  ASSERT_TRUE(Resync().ok());
  const wire::Warning fed = warning_of("NoKubeSystemPods");
  EXPECT_EQ(fed.message(),
            "all pods are of namespace default and none of kube-system; the feeder seems to be "
            "restricted to that namespace");
  EXPECT_EQ(fed.command(), "");
  EXPECT_EQ(fed.advice(),
            "the feeder needs the right to list and watch pods in all namespaces (a ClusterRole "
            "with a ClusterRoleBinding), and must feed them; `ebb-kube --check` names the rights "
            "that are missing");
  const auto plan = session_->questions().Plan(Call(), std::nullopt);
  const Json json = PlanJsonOf(plan);
  EXPECT_EQ(json["summary"]["warnings"][0]["advice"], fed.advice());
  EXPECT_FALSE(json["summary"]["warnings"][0].contains("command"));
  // The same objects as a dump.
  const std::string dump = ExportAll();
  StartAgain();
  ASSERT_TRUE(session_->cluster().Load(dump, nullptr).ok());
  const wire::Warning dumped = warning_of("NoKubeSystemPods");
  EXPECT_EQ(dumped.message(),
            "all pods are of namespace default and none of kube-system; the dump seems to be made "
            "without -A");
  EXPECT_THAT(dumped.command(), AllOf(HasSubstr("kubectl get nodes,pods,"), HasSubstr(" -A ")));
  EXPECT_EQ(dumped.advice(), "");
  // After a resync the objects come from a feeder again.
  ASSERT_TRUE(Resync().ok());
  EXPECT_EQ(warning_of("NoKubeSystemPods").advice(), fed.advice());
}

TEST_F(SessionFeedTest, ARefusalAdvisesWhatTheUserOfADumpOrOfAFeederCanDo) {
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(PutInResync(resync, {NodeJson("a"), NodeJson("b")}).ok());
  ASSERT_TRUE(session_->cluster().EndResync(resync).ok());
  EXPECT_EQ(
      std::string(session_->questions().Plan(Call(), std::nullopt).status().message()),
      "session s: what was fed has 2 nodes and not a single pod, so that it cannot be a whole "
      "cluster; there is no answer about a part of a cluster; the feeder needs the right to "
      "list and watch pods in all namespaces (a ClusterRole with a ClusterRoleBinding), and "
      "must feed them; `ebb-kube --check` names the rights that are missing; "
      "--allow-incomplete (allow_incomplete) goes on with what is there");
  const std::string dump = ExportAll();
  StartAgain();
  ASSERT_TRUE(session_->cluster().Load(dump, nullptr).ok());
  EXPECT_THAT(std::string(session_->questions().Plan(Call(), std::nullopt).status().message()),
              AllOf(HasSubstr("the input has 2 nodes and not a single pod"),
                    HasSubstr("fetch what is missing with `ebb dump` or `kubectl get ")));
}

TEST_F(SessionFeedTest, BesideAFeederAResyncNamesItsCluster) {
  ASSERT_TRUE(Resync().ok());
  const uint64_t feeder = session_->cluster().BeginFeed();
  session_->cluster().KeepToCluster("uid-one");
  EXPECT_EQ(session_->Status().cluster_uid(), "");
  session_->cluster().KeepToCluster("uid-one", feeder);
  const absl::Status unnamed = session_->cluster().CheckNamesCluster("", ChangeBatch());
  EXPECT_EQ(unnamed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unnamed.message()),
              AllOf(HasSubstr("cluster_uid"), HasSubstr("uid-one")));
  EXPECT_TRUE(session_->cluster().CheckNamesCluster("uid-one", ChangeBatch()).ok());
  EXPECT_TRUE(session_->cluster().CheckNamesCluster("", ChangeBatch(), feeder).ok());
  // A dump must not be of another cluster either.
  const std::string dump = ExportAll();
  EXPECT_EQ(session_->cluster().Load(dump, nullptr).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session_->Status().nodes(), 2);
  EXPECT_TRUE(session_->cluster().Load(dump, nullptr, "uid-one").ok());
}

TEST_F(SessionFeedTest, ALaterResyncIsWaitedForOnceItBringsNewNodes) {
  ASSERT_TRUE(Resync().ok());
  const uint64_t feeder = session_->cluster().BeginFeed();
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(PutInResync(resync, {NodeJson("a"), NodeJson("b")}).ok());
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  ASSERT_TRUE(PutInResync(resync, {NodeJson("new")}).ok());
  const absl::Status waits = session_->questions().Plan(Call(), std::nullopt).status();
  EXPECT_EQ(waits.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(waits.message()), HasSubstr("has brought new nodes"));
  // The resync breaks off: the nodes that only it has put are gone, and everything else is
  // unchanged.
  session_->cluster().DropResync(resync);
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  EXPECT_EQ(session_->Status().nodes(), 2);
  // Another client puts the node meanwhile.
  const uint64_t second = session_->cluster().BeginResync();
  ASSERT_TRUE(PutInResync(second, {NodeJson("new")}).ok());
  ASSERT_TRUE(Put({NodeJson("new"), PodJson("r", "new")}).ok());
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  session_->cluster().DropResync(second);
  EXPECT_EQ(session_->Status().nodes(), 3);
  session_->cluster().EndFeed(feeder);
}

TEST_F(SessionFeedTest, AnswersHaveTheTimeOfTheCluster) {
  ASSERT_TRUE(Resync().ok());
  const uint64_t feeder = session_->cluster().BeginFeed();
  clock_s_ = kNow + 1000;
  wire::PlanCall call;
  auto reply = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->freshness().as_of(), kNow + 1000);
  EXPECT_FALSE(reply->freshness().has_not_fed_since());
  EXPECT_THAT(WarningCodes(), IsEmpty());
  EXPECT_EQ(PlanJsonOf(reply)["summary"]["session"],
            Json::parse(R"({"name":"s","asOf":"2026-06-01T12:16:40Z"})"));
  session_->cluster().EndFeed(feeder);
  clock_s_ = kNow + 5000;
  reply = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->freshness().as_of(), kNow + 1000);
  EXPECT_EQ(reply->freshness().not_fed_since(), kNow + 1000);
  EXPECT_THAT(WarningCodes(), ElementsAre("SessionNotFed"));
  EXPECT_EQ(PlanJsonOf(reply)["summary"]["session"]["notFedSince"], "2026-06-01T12:16:40Z");
  EXPECT_EQ(session_->Status().not_fed_since(), kNow + 1000);
  EXPECT_EQ(session_->questions().Pass(wire::PlanInput(), std::nullopt)->freshness().as_of(),
            kNow + 1000);
  wire::FilterCall filter;
  filter.add_pods("default/p");
  EXPECT_EQ(session_->questions().Filter(filter)->freshness().not_fed_since(), kNow + 1000);
  EXPECT_TRUE(
      std::ranges::any_of(session_->questions().Filter(filter)->warnings(),
                          [](const auto& warning) { return warning.code() == "SessionNotFed"; }));
  wire::ExplainCall explain;
  explain.add_nodes("a");
  const auto why = session_->questions().Explain(explain, std::nullopt);
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_EQ(Json::parse(why->json())["session"]["asOf"], "2026-06-01T12:16:40Z");
  SessionQuestions::SentPlan sent;
  EXPECT_EQ(session_->questions().PlanChanges({}, sent)->freshness().not_fed_since(), kNow + 1000);
}

TEST_F(SessionFeedTest, AnswersOlderThanTheRequestedAgeAreRefused) {
  ASSERT_TRUE(Resync().ok());
  const uint64_t feeder = session_->cluster().BeginFeed();
  clock_s_ = kNow + 1000;
  wire::PlanCall call;
  call.mutable_input()->set_max_age_seconds(60);
  EXPECT_TRUE(session_->questions().Plan(call, std::nullopt).ok());
  session_->cluster().EndFeed(feeder);
  clock_s_ = kNow + 1060;
  EXPECT_TRUE(session_->questions().Plan(call, std::nullopt).ok());
  clock_s_ = kNow + 1061;
  const absl::Status old = session_->questions().Plan(call, std::nullopt).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(old.message()),
      AllOf(HasSubstr("as of 2026-06-01T12:16:40Z, 1 min 1 s ago"), HasSubstr("no client")));
  wire::FilterCall filter;
  filter.add_pods("default/p");
  filter.set_max_age_seconds(60);
  EXPECT_EQ(session_->questions().Filter(filter).status().code(),
            absl::StatusCode::kFailedPrecondition);
  call.mutable_input()->set_max_age_seconds(-1);
  EXPECT_EQ(session_->questions().Plan(call, std::nullopt).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Symptom: another client loaded its own cluster between a client's Load and its question, and the
// answer was about that cluster.
TEST_F(SessionFeedTest, AQuestionAboutALoadIsRefusedOnceTheSessionHoldsSomethingElse) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string dump = ExportAll();
  std::string token;
  const auto load = [&] {
    const auto loaded = session_->cluster().Load(dump, nullptr);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_NE(loaded->cluster_token(), token);
    token = loaded->cluster_token();
  };
  const auto plan = [&] {
    wire::PlanCall call = Call();
    call.mutable_input()->set_cluster_token(token);
    return session_->questions().Plan(call, std::nullopt).status();
  };
  load();
  ASSERT_TRUE(plan().ok());
  const std::function<absl::Status()> changes[] = {
      [&] { return session_->cluster().Load(dump, nullptr).status(); },
      [&] { return Put({NodeJson("a")}); }, [&] { return session_->cluster().SetSettings({}); },
      [&] { return session_->cluster().SayWhole(); },
      [&] {
        StartAgain();
        return session_->cluster().Load(dump, nullptr).status();
      }};
  for (const auto& change : changes) {
    load();
    EXPECT_TRUE(plan().ok());
    ASSERT_TRUE(change().ok());
    const absl::Status refused = plan();
    EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("session s holds another cluster than the one that was loaded"));
  }
  wire::FilterCall filter;
  filter.add_pods("default/p");
  EXPECT_TRUE(session_->questions().Filter(filter).ok());
  filter.set_cluster_token(token);
  EXPECT_EQ(session_->questions().Filter(filter).status().code(), absl::StatusCode::kAborted);
  wire::PlanInput input;
  input.set_cluster_token(token);
  EXPECT_EQ(session_->questions().Pass(input, std::nullopt).status().code(),
            absl::StatusCode::kAborted);
}

// A recently loaded dump is answered as the command answers over the dump file.
TEST_F(SessionFeedTest, ALoadedDumpAges) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(session_->cluster().Load(ExportAll(), nullptr).ok());
  wire::PlanCall call;
  EXPECT_FALSE(
      PlanJsonOf(session_->questions().Plan(call, std::nullopt))["summary"].contains("session"));
  clock_s_ = kNow + SessionFeed::kNotFedMaxS + 1;
  EXPECT_THAT(WarningCodes(), ElementsAre("SessionNotFed"));
  EXPECT_EQ(
      PlanJsonOf(session_->questions().Plan(call, std::nullopt))["summary"]["session"]["asOf"],
      "2026-06-01T12:00:00Z");
}

TEST_F(SessionFeedTest, AnAnswerIsNotFresherThanAnUnreadStream) {
  ASSERT_TRUE(Resync().ok());
  session_->cluster().BeginFeed();
  const auto as_of_at = [&](int64_t now_s) {
    clock_s_ = now_s;
    return session_->cluster().Freshness().as_of();
  };
  clock_s_ = kNow + 10;
  session_->cluster().NoteUnread(kNow + 3);
  EXPECT_EQ(as_of_at(kNow + 10), kNow + 3);
  EXPECT_EQ(as_of_at(kNow + 11), kNow + 3);
  // It met its limit again: what had come by the first time may still wait.
  session_->cluster().NoteUnread(kNow + 11);
  EXPECT_EQ(as_of_at(kNow + 12), kNow + 3);
  EXPECT_EQ(as_of_at(kNow + 13), kNow + 13);
  session_->cluster().NoteUnread(kNow + 12);
  EXPECT_EQ(as_of_at(kNow + 13), kNow + 12);
}

TEST_F(SessionFeedTest, ABrokenWatchGivesAWarningAndAnAsOfTime) {
  ASSERT_TRUE(Resync().ok());
  const uint64_t first = session_->cluster().BeginFeed();
  wire::BrokenWatches broken;
  broken.add_watches()->set_kind("Pod");
  broken.mutable_watches(0)->set_since(kNow - 30);
  session_->cluster().SetBrokenWatches(first, broken);
  EXPECT_THAT(WarningCodes(), ElementsAre("SessionWatchBroken"));
  const auto reply = session_->questions().Plan(Call(), std::nullopt);
  EXPECT_EQ(reply->freshness().as_of(), kNow - 30);
  EXPECT_EQ(reply->freshness().broken_watches(0).kind(), "Pod");
  wire::PlanCall call = Call();
  call.mutable_input()->set_max_age_seconds(10);
  EXPECT_EQ(session_->questions().Plan(call, std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // Another client sees the changes that the first one does not see.
  const uint64_t second = session_->cluster().BeginFeed();
  EXPECT_THAT(WarningCodes(), IsEmpty());
  session_->cluster().EndFeed(second);
  // The feeder ends while its watch is broken: the cluster is as old as its pods.
  clock_s_ = kNow + 40;
  session_->cluster().EndFeed(first);
  EXPECT_EQ(session_->cluster().Freshness().as_of(), kNow - 30);
  EXPECT_EQ(session_->cluster().Freshness().not_fed_since(), kNow + 40);
  const uint64_t third = session_->cluster().BeginFeed();
  session_->cluster().SetBrokenWatches(third, {});
  EXPECT_THAT(WarningCodes(), IsEmpty());
}

// Symptom: a kind that the feeder has no permission to list made every answer as old as the
// feeder's start.
TEST_F(SessionFeedTest, AKindThatWasNeverListedIsNamedAndAgesNothing) {
  ASSERT_TRUE(Resync().ok());
  const uint64_t first = session_->cluster().BeginFeed();
  wire::BrokenWatches broken;
  broken.add_watches()->set_kind("NodeClaim.karpenter.sh");
  broken.mutable_watches(0)->set_since(kNow - 30);
  broken.mutable_watches(0)->set_never_listed(true);
  session_->cluster().SetBrokenWatches(first, broken);
  EXPECT_THAT(WarningCodes(), ElementsAre("SessionKindNotListed"));
  const auto warned = session_->questions().Plan(Call(), std::nullopt);
  for (const wire::Warning& each : warned->warnings()) {
    if (each.code() != "SessionKindNotListed") continue;
    EXPECT_EQ(each.advice(),
              "the feeder needs the right to list and watch NodeClaim.karpenter.sh, and must feed "
              "them; `ebb-kube --check` names the rights that are missing");
  }
  wire::PlanCall call = Call();
  call.mutable_input()->set_max_age_seconds(0);
  const auto reply = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->freshness().as_of(), kNow);
  EXPECT_TRUE(reply->freshness().broken_watches(0).never_listed());
  EXPECT_FALSE(PlanJsonOf(reply)["summary"]["session"].contains("brokenWatches"));
  // A client that listed the kind before, and whose watch then broke, decides the age.
  const uint64_t second = session_->cluster().BeginFeed();
  broken.mutable_watches(0)->set_never_listed(false);
  session_->cluster().SetBrokenWatches(second, broken);
  EXPECT_THAT(WarningCodes(), ElementsAre("SessionWatchBroken"));
}

// Symptom: a control plane of 1.37 with kubelets of 1.36 was planned by the rules of 1.36.
TEST_F(SessionFeedTest, TheApiServersVersionDecidesTheRules) {
  ASSERT_TRUE(Resync().ok());
  ASSERT_TRUE(Put({PreventingDriverJson()}).ok());
  const auto version = [&] {
    return PlanJsonOf(
        session_->questions().Plan(Call(), std::nullopt))["summary"]["kubernetesVersion"];
  };
  EXPECT_EQ(version(), "1.36");
  const uint64_t before = session_->cluster().version();
  session_->cluster().SetServerVersion("v1.37.2");
  EXPECT_EQ(version(), "1.37");
  EXPECT_EQ(session_->cluster().version(), before + 1);
  session_->cluster().SetServerVersion("");
  session_->cluster().SetServerVersion("unknown");
  session_->cluster().SetServerVersion("v1.37.3-eks-1");
  EXPECT_EQ(version(), "1.37");
  EXPECT_EQ(session_->cluster().version(), before + 1);
  // A dump may be of another cluster, unless a client feeds the session.
  const std::string dump = ExportAll();
  const uint64_t feeder = session_->cluster().BeginFeed();
  session_->cluster().KeepToCluster("uid-one", feeder);
  ASSERT_TRUE(session_->cluster().Load(dump, nullptr, "uid-one").ok());
  EXPECT_EQ(version(), "1.37");
  session_->cluster().EndFeed(feeder);
  ASSERT_TRUE(session_->cluster().Load(dump, nullptr).ok());
  EXPECT_EQ(version(), "1.36");
}

TEST_F(SessionFeedTest, AVersionThatTheSettingsNameHolds) {
  wire::Settings settings;
  ASSERT_TRUE(PutOptions({{"load", {{"kubernetesVersion", "1.36"}}}}, settings).ok());
  ASSERT_TRUE(session_->cluster().SetSettings(settings).ok());
  ASSERT_TRUE(Resync().ok());
  ASSERT_TRUE(Put({PreventingDriverJson()}).ok());
  session_->cluster().SetServerVersion("v1.37.2");
  EXPECT_EQ(
      PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))["summary"]["kubernetesVersion"],
      "1.36");
}

// Symptom: a feeder of another cluster deleted all objects of the first.
TEST_F(SessionFeedTest, ASessionKeepsToOneCluster) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Put({NamespaceJson("kube-system", "uid-one")}).ok());
  EXPECT_EQ(session_->Status().cluster_uid(), "uid-one");
  const uint64_t version = session_->cluster().version();
  ChangeBatch other;
  ASSERT_TRUE(other.PutJson(NamespaceJson("kube-system", "uid-two")).ok());
  for (const absl::Status& refused :
       {session_->cluster().CheckCluster("uid-two", ChangeBatch()),
        session_->cluster().CheckCluster("", other), session_->cluster().Take(other),
        session_->cluster().Load("{}", nullptr, "uid-two").status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("uid-one"), HasSubstr("uid-two")));
  }
  EXPECT_EQ(session_->cluster().version(), version);
  EXPECT_TRUE(session_->cluster().CheckCluster("uid-one", ChangeBatch()).ok());
  EXPECT_FALSE(session_->cluster().CheckCluster("uid-one", other).ok());
  EXPECT_TRUE(session_->cluster().CheckCluster("", ChangeBatch()).ok());
}

TEST_F(SessionFeedTest, ADumpReplacesAnotherClusterUnlessItIsFed) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Put({NamespaceJson("kube-system", "uid-two")}).ok());
  const std::string two = ExportAll();
  StartAgain();
  ASSERT_TRUE(PutCluster().ok());
  session_->cluster().KeepToCluster("uid-one");
  const uint64_t feeder = session_->cluster().BeginFeed();
  EXPECT_EQ(session_->cluster().Load(two, nullptr).status().code(),
            absl::StatusCode::kFailedPrecondition);
  session_->cluster().EndFeed(feeder);
  ASSERT_TRUE(session_->cluster().Load(two, nullptr).ok());
  EXPECT_EQ(session_->Status().cluster_uid(), "uid-two");
}

TEST_F(SessionTest, LimitOfObjects) {
  options_.objects_max = 5;
  ASSERT_TRUE(PutCluster().ok());
  const absl::Status full = Put({PodJson("r", "a")});
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("--max-objects"));
  EXPECT_EQ(session_->Status().pods(), 2);
  // Held objects may change and be deleted, and deletions make room.
  EXPECT_TRUE(Put({PodJson("q", "a")}).ok());
  EXPECT_TRUE(Delete("Pod", "default", "q").ok());
  EXPECT_TRUE(Put({PodJson("r", "a")}).ok());
}

// Symptom: at the limit, a batch with one deletion and one put was rejected.
TEST_F(SessionTest, DeletionsOfABatchMakeRoomForItsPuts) {
  options_.objects_max = 5;
  ASSERT_TRUE(PutCluster().ok());
  const auto take = [&](const std::vector<std::string>& gone, const std::vector<std::string>& put) {
    ChangeBatch batch;
    for (const std::string& name : gone) {
      EXPECT_TRUE(batch.DeleteNamed("Pod", "default", name, "").ok());
    }
    for (const std::string& name : put) EXPECT_TRUE(batch.PutJson(PodJson(name, "a")).ok());
    return session_->cluster().Take(batch);
  };
  EXPECT_TRUE(take({"q"}, {"r"}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(take({"r", "r"}, {"s", "t"})));
  EXPECT_TRUE(absl::IsResourceExhausted(take({"none"}, {"s"})));
  EXPECT_EQ(session_->Status().objects(), 5);
}

TEST_F(SessionTest, LimitOfMemory) {
  options_.memory_bytes_max = 500;
  EXPECT_EQ(PutCluster().code(), absl::StatusCode::kResourceExhausted);
  resident_bytes_ = 400;
  EXPECT_TRUE(PutCluster().ok());
  // Batches that only delete are accepted.
  resident_bytes_ = 600;
  EXPECT_TRUE(absl::IsResourceExhausted(Put({PodJson("r", "a")})));
  EXPECT_TRUE(Delete("Pod", "default", "q").ok());
}

// Symptom: a Filter and an Explain continued for half a minute after their client's deadline.
TEST_F(SessionTest, FilterAndExplainEndWithTheirCall) {
  ASSERT_TRUE(PutCluster().ok());
  CancelToken gone;
  wire::FilterCall filter;
  filter.add_pods("default/p");
  wire::ExplainCall explain;
  *explain.mutable_input() = Call().input();
  explain.add_nodes("a");
  EXPECT_TRUE(session_->questions().Filter(filter, &gone).ok());
  EXPECT_TRUE(session_->questions().Explain(explain, std::nullopt, &gone).ok());
  gone.Cancel();
  EXPECT_TRUE(absl::IsDeadlineExceeded(session_->questions().Filter(filter, &gone).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      session_->questions().Explain(explain, std::nullopt, &gone).status()));
}

TEST_F(SessionTest, LimitOfADump) {
  ASSERT_TRUE(PutCluster().ok());
  options_.dump_bytes_max = 1000;
  const absl::Status large = session_->cluster().Load(std::string(1001, ' '), nullptr).status();
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(large.message()), HasSubstr("--max-dump"));
  EXPECT_EQ(session_->Status().pods(), 2);
}

TEST_F(SessionTest, LimitOfObjectsInADump) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string snapshot = ExportAll();
  options_.objects_max = 4;
  const absl::Status full = session_->cluster().Load(snapshot, nullptr).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("--max-objects"));
  EXPECT_EQ(session_->cluster().version(), 1);
}

// Symptom: one message asked for more verdicts than fit into memory.
TEST_F(SessionTest, LimitOfVerdicts) {
  ASSERT_TRUE(PutCluster().ok());
  wire::FilterCall filter;
  for (uint64_t i = 0; i <= SessionQuestions::kVerdictsMax / 2; ++i) filter.add_pods("default/p");
  const absl::Status many = session_->questions().Filter(filter).status();
  EXPECT_EQ(many.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(many.message()), HasSubstr("pods"));
}

TEST_F(SessionTest, CountsWhatChangedNothing) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Put({NodeJson("a"), R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}})",
                   R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"f"}})"})
                  .ok());
  ASSERT_TRUE(Delete("Node", "", "nobody").ok());
  const wire::SessionStatus status = session_->Status();
  EXPECT_EQ(status.version(), 3);
  EXPECT_EQ(status.unchanged(), 1);
  EXPECT_EQ(status.unknown_deletes(), 1);
  EXPECT_EQ(status.ignored_kinds().at("Event"), 2);
}

TEST_F(SessionTest, ExplainsAndFilters) {
  ASSERT_TRUE(PutCluster().ok());
  wire::ExplainCall explain;
  explain.mutable_input()->set_now(kNow);
  EXPECT_EQ(session_->questions().Explain(explain, std::nullopt).status().code(),
            absl::StatusCode::kInvalidArgument);
  explain.add_nodes("a");
  const auto why = session_->questions().Explain(explain, std::nullopt);
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_THAT(why->json(), HasSubstr("\"outcome\": \"moves\""));
  explain.add_nodes("nobody");
  EXPECT_EQ(session_->questions().Explain(explain, std::nullopt).status().code(),
            absl::StatusCode::kNotFound);

  wire::FilterCall filter;
  filter.add_pods("default/p");
  const auto verdicts = session_->questions().Filter(filter);
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_THAT(Json::parse(verdicts->json())["results"][0]["nodes"], SizeIs(2));
  filter.set_node("b");
  EXPECT_THAT(Json::parse(session_->questions().Filter(filter)->json())["results"][0]["nodes"],
              SizeIs(1));
  filter.set_node("nobody");
  EXPECT_EQ(session_->questions().Filter(filter).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SessionTest, ChangesAreTriedOnACopy) {
  ASSERT_TRUE(PutCluster().ok());
  // With a second pod on b, neither node can take the pods of the other.
  ASSERT_TRUE(Put({PodJson("r", "b"), PodJson("s", "a")}).ok());
  const std::string before = ExportAll();
  const uint64_t put = session_->Status().put();
  wire::BlockersCall blockers;
  *blockers.mutable_input() = Call().input();
  const auto found = session_->questions().Blockers(blockers, std::nullopt);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->removes() + found->keeps(), 2);

  wire::WhatIfCall call;
  *call.mutable_input() = Call().input();
  call.set_changes("objects: [{kind: Node, metadata: {name: a}, $patch: delete}]");
  const auto without = session_->questions().WhatIf(call, std::nullopt);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->differences().before().nodes(), 2);
  EXPECT_EQ(without->differences().after().nodes(), 1);
  EXPECT_EQ(ExportAll(), before);
  EXPECT_EQ(session_->Status().put(), put);
  EXPECT_EQ(session_->cluster().version(), 2);

  call.set_changes("objects: [{kind: Node, metadata: {name: nobody}, $patch: delete}]");
  EXPECT_THAT(std::string(session_->questions().WhatIf(call, std::nullopt).status().message()),
              AllOf(HasSubstr("changes: "), HasSubstr("nobody")));
}

TEST_F(SessionTest, WhatIfTakesOtherSettingsForItsSecondPlan) {
  ASSERT_TRUE(PutCluster().ok());
  wire::WhatIfCall call;
  *call.mutable_input() = Call().input();
  *call.mutable_then() = Call().input();
  *call.mutable_then()->mutable_settings() =
      SettingsOf(R"({"scaleDown": {"planner": {"scaleDownUtilizationThreshold": 0.01}}})");
  call.mutable_then()->set_settings_over_session(true);
  call.set_changes("options: {scale-down-utilization-threshold: 0.01}");
  const auto reply = session_->questions().WhatIf(call, std::nullopt);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->differences().before().removes(), 1);
  EXPECT_EQ(reply->differences().after().removes(), 0);
  ASSERT_EQ(reply->differences().no_more_size(), 1);
  EXPECT_EQ(reply->differences().no_more(0).kept_because(), "NotUnderutilized");
}

// Symptom: without `then` the options of the changes were ignored, unknown names among them.
TEST_F(SessionTest, OptionsOfChangesAreReadOrRefused) {
  ASSERT_TRUE(PutCluster().ok());
  wire::WhatIfCall call;
  *call.mutable_input() = Call().input();
  const auto refusal = [&](const std::string& options) {
    call.set_changes("options: {" + options + "}");
    return std::string(session_->questions().WhatIf(call, std::nullopt).status().message());
  };
  EXPECT_EQ(refusal("scale-down-utilization-threshold: 0.9"),
            "changes: options.scale-down-utilization-threshold: a call takes it as "
            "then.settings.options.scaleDown.planner.scaleDownUtilizationThreshold");
  EXPECT_EQ(refusal("prices: p.yaml"), "changes: options.prices: a call takes it as then.prices");
  EXPECT_EQ(refusal("threads: 3"), "changes: options.threads: a call takes no such option");
  EXPECT_EQ(refusal("xyz: 1"), "changes: options.xyz: is not a flag of a plan");
  *call.mutable_then() = Call().input();
  EXPECT_EQ(refusal("scale-down-utilization-threshold: 0.9"), "");
  EXPECT_EQ(refusal("xyz: 1"), "changes: options.xyz: is not a flag of a plan");
}

TEST_F(SessionTest, CallsThatTryChangesEndWithTheirClient) {
  Json alone = Json::parse(PodJson("p", "a"));
  alone["metadata"].erase("ownerReferences");
  ASSERT_TRUE(Put({NodeJson("a"), NodeJson("b"), alone.dump()}).ok());
  CancelToken cancelled;
  cancelled.Cancel();
  wire::BlockersCall blockers;
  *blockers.mutable_input() = Call().input();
  const auto found = session_->questions().Blockers(blockers, std::nullopt, &cancelled);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_GE(found->blockers_size(), 1);
  for (const wire::Blocker& blocker : found->blockers()) {
    EXPECT_FALSE(blocker.has_gained());
    EXPECT_EQ(blocker.not_tried(), "the time was over");
  }
  wire::ExplainCall explain;
  *explain.mutable_input() = Call().input();
  explain.add_nodes("a");
  explain.set_remedies(true);
  EXPECT_EQ(session_->questions().Explain(explain, std::nullopt, &cancelled).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  explain.set_form(wire::AS_TABLES);
  const auto why = session_->questions().Explain(explain, std::nullopt);
  ASSERT_TRUE(why.ok()) << why.status();
  ASSERT_TRUE(why->nodes(0).has_remedies());
  // The empty node b goes first, so the pod has no place.
  EXPECT_EQ(why->nodes(0).remedies().helps_size(), 0);
  EXPECT_GE(why->nodes(0).remedies().in_vain_size(), 1);
}

TEST_F(SessionTest, SearchFieldsThatACallDoesNotSupportAreRefused) {
  ASSERT_TRUE(PutCluster().ok());
  wire::BlockersCall blockers;
  blockers.mutable_input()->mutable_search();
  EXPECT_THAT(
      std::string(session_->questions().Blockers(blockers, std::nullopt).status().message()),
      HasSubstr("input.search: Blockers takes none"));
  wire::FrontierCall frontier;
  frontier.mutable_input()->set_bound(true);
  EXPECT_THAT(
      std::string(session_->questions().Frontier(frontier, std::nullopt).status().message()),
      HasSubstr("input.bound: Frontier takes none"));
  wire::PlanCall trials = Call();
  trials.mutable_input()->mutable_trials();
  EXPECT_THAT(std::string(session_->questions().Plan(trials, std::nullopt).status().message()),
              HasSubstr("input.trials.trials: 0 is not from 1 to 10000"));
}

TEST_F(SessionTest, TablesHaveTheRequestedNumberOfNodes) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall call = Call();
  call.set_form(wire::AS_TABLES);
  const auto first = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->tables().remove_size(), 1);
  EXPECT_EQ(first->tables().remove(0).node(), "a");
  EXPECT_EQ(first->tables().remove(0).to(0).node(), "b");
  EXPECT_EQ(first->tables().keep_size(), 0);
  EXPECT_EQ(first->tables().kept(), 1);
  EXPECT_EQ(first->plan(), "");
  call.set_every_node(true);
  const auto whole = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->tables().keep_size(), 1);
  EXPECT_EQ(whole->tables().keep(0).node(), "b");
}

TEST_F(SessionTest, ACallNamesTheFormThatItDoesNotTake) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall call = Call();
  call.set_form(static_cast<wire::Form>(99));
  EXPECT_THAT(std::string(session_->questions().Plan(call, std::nullopt).status().message()),
              HasSubstr("form: 99 is not a form of Plan"));
  wire::ExplainCall explain;
  explain.add_nodes("a");
  explain.set_form(wire::AS_NAMES);
  EXPECT_THAT(std::string(session_->questions().Explain(explain, std::nullopt).status().message()),
              HasSubstr("form: AS_NAMES is not a form of Explain"));
}

TEST_F(SessionTest, ExportedClusterLoadsAsTheSame) {
  ASSERT_TRUE(PutCluster().ok());
  Json over = Json::parse(PodJson("over", "a"));
  over["status"]["phase"] = "Succeeded";
  Json cheap = Json::parse(PodJson("cheap", "b"));
  cheap["spec"]["priority"] = -100;
  ASSERT_TRUE(Put({over.dump(), cheap.dump()}).ok());
  const std::string plan = session_->questions().Plan(Call(), std::nullopt)->plan();
  const std::string snapshot = ExportAll();
  Session other("other", options_);
  const auto loaded = other.cluster().Load(snapshot, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->nodes(), 2);
  EXPECT_EQ(loaded->pods(), 4);
  Json here = Json::parse(plan);
  EXPECT_EQ(here["summary"]["leftOut"]["endedPods"], 1);
  EXPECT_EQ(here["summary"]["leftOut"]["expendablePods"], 1);
  Json there = PlanJsonOf(other.questions().Plan(Call(), std::nullopt));
  here["summary"].erase("warnings");  // A snapshot does not have the same lists.
  here["summary"].erase("session");   // A loaded dump is answered like the dump file.
  there["summary"].erase("warnings");
  for (Json* const plan_json : {&here, &there}) {  // The advice differs by source.
    EXPECT_EQ((*plan_json)["missing"][0]["code"], "NoPodDisruptionBudgets");
    plan_json->erase("missing");
  }
  EXPECT_EQ(here, there);
}

// Symptom: a session with as_given left pods out after it had loaded a dump.
TEST_F(SessionTest, ASessionWithAsGivenLeavesOutNoPodOfALoadedDump) {
  options_.as_given = true;
  Session given("given", options_);
  Json over = Json::parse(PodJson("over", "a"));
  over["status"]["phase"] = "Succeeded";
  Json cheap = Json::parse(PodJson("cheap", "b"));
  cheap["spec"]["priority"] = -100;
  ChangeBatch batch;
  for (const std::string& object : {NodeJson("a"), NodeJson("b"), over.dump(), cheap.dump()}) {
    ASSERT_TRUE(batch.PutJson(object).ok());
  }
  ASSERT_TRUE(given.cluster().Take(batch).ok());
  const auto left_out = [&] {
    return PlanJsonOf(given.questions().Plan(Call(), std::nullopt))["summary"]["leftOut"];
  };
  const Json before = left_out();
  EXPECT_EQ(before["endedPods"], 0);
  std::string snapshot;
  BinarySnapshotWriter writer([&](std::string_view part) {
    snapshot += part;
    return absl::OkStatus();
  });
  for (const Change& change : batch.changes()) ASSERT_TRUE(Give(change.object, writer).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_TRUE(given.cluster().Load(snapshot, nullptr).ok());
  EXPECT_EQ(left_out(), before);
}

TEST_F(SessionTest, LoadReplacesTheCluster) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string snapshot = ExportAll();
  ASSERT_TRUE(Put({NodeJson("later"), PodJson("r", "later")}).ok());
  const auto loaded = session_->cluster().Load(snapshot, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->version(), 3);
  EXPECT_EQ(loaded->nodes(), 2);
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))),
              ElementsAre("a"));
  // Later changes of these objects have their usual effect.
  ASSERT_TRUE(Put({PodJson("q", "b", "3500m")}).ok());
  EXPECT_EQ(session_->cluster().version(), 4);
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))), IsEmpty());
}

// The plan of `ebb plan` for the same dump, except for the time spent.
TEST_F(SessionTest, PlansAsOfTheDump) {
  std::string dump;
  BinarySnapshotWriter writer([&](std::string_view part) {
    dump += part;
    return absl::OkStatus();
  });
  ASSERT_TRUE(samples::GenerateCompany({.nodes = 60, .seed = 3}, writer).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_TRUE(session_->cluster().Load(dump, nullptr).ok());
  Json served = PlanJsonOf(session_->questions().Plan(Call(), std::nullopt));

  const test::TemporaryFolder folder;
  const std::vector<std::string> inputs = {folder.File("dump.pb")};
  std::ofstream(inputs[0], std::ios::binary) << dump;
  absl::StatusOr<LoadedCluster> cluster = LoadCluster(inputs, LoadOptions());
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const NodeGroups groups = AssignGroups(cluster->snapshot.catalog(), GroupRules());
  PlanRequest request;
  request.pass.now_s = kNow;
  request.pass.pending = cluster->pending;
  const auto made = MakePlan(cluster->snapshot, groups, request);
  ASSERT_TRUE(made.ok()) << made.status();
  Json planned = PlanJson(MakeReport({.cluster = &*cluster,
                                      .groups = &groups,
                                      .request = &request,
                                      .made = &*made,
                                      .pass_s = 0,
                                      .verify_s = 0}));
  EXPECT_GT(planned["remove"].size(), 0);
  served.erase("summary");  // The summary has the time spent.
  planned.erase("summary");
  EXPECT_EQ(served, planned);
}

TEST_F(SessionTest, ABadDumpLeavesThePresentCluster) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string plan = session_->questions().Plan(Call(), std::nullopt)->plan();
  for (const std::string dump : {"", "{", R"({"kind":"List","items":[{"kind":"Node"}]})"}) {
    EXPECT_EQ(session_->cluster().Load(dump, nullptr).status().code(),
              absl::StatusCode::kInvalidArgument)
        << dump;
  }
  const wire::Settings wrong = SettingsOf(R"({"nobody":1})");
  EXPECT_FALSE(session_->cluster().Load(ExportAll(), &wrong).ok());
  EXPECT_EQ(session_->cluster().version(), 1);
  EXPECT_EQ(session_->questions().Plan(Call(), std::nullopt)->plan(), plan);
}

TEST_F(SessionTest, LoadTakesSettingsWithIt) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string snapshot = ExportAll();
  const wire::Settings settings = SettingsOf(
      R"({"load":{"assumeComplete":true},
          "scaleDown":{"planner":{"scaleDownUtilizationThreshold":0.1}}})");
  ASSERT_TRUE(session_->cluster().Load(snapshot, &settings).ok());
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))), IsEmpty());
  EXPECT_THAT(session_->questions().Plan(Call(), std::nullopt)->warnings(), IsEmpty());
}

TEST_F(SessionTest, PlanChangesHasOnlyTheChangesOfThePlan) {
  ASSERT_TRUE(PutCluster().ok());
  SessionQuestions::SentPlan sent;
  wire::PlanInput input;
  input.set_now(kNow);
  auto change = session_->questions().PlanChanges(input, sent);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_TRUE(change->whole());
  EXPECT_EQ(change->removes_size(), 1);
  EXPECT_EQ(change->keeps_size(), 1);
  change = session_->questions().PlanChanges(input, sent);
  EXPECT_FALSE(change->whole());
  EXPECT_EQ(change->removes_size() + change->keeps_size() + change->gone_nodes_size(), 0);
  ASSERT_TRUE(Put({NodeJson("c"), PodJson("r", "c", "100m")}).ok());
  change = session_->questions().PlanChanges(input, sent);
  EXPECT_FALSE(change->whole());
  EXPECT_EQ(change->remove_count(), 2);
  ASSERT_TRUE(Delete("Pod", "default", "r").ok());
  ASSERT_TRUE(Delete("Node", "", "c").ok());
  change = session_->questions().PlanChanges(input, sent);
  EXPECT_THAT(change->gone_nodes(), ElementsAre("c"));
}

TEST_F(SessionTest, ACallThatIsLateGetsAShorterPlan) {
  std::vector<std::string> objects = {test::ReplicaSetJson()};
  for (int n = 0; n < 300; ++n) {
    const std::string name = absl::StrCat("n", n);
    objects.push_back(NodeJson(name));
    objects.push_back(PodJson("p" + name, name, "500m"));
  }
  ASSERT_TRUE(Put(objects).ok());
  const Json whole = PlanJsonOf(session_->questions().Plan(Call(), std::nullopt));
  // The time is over at the start; the minimum number of candidates is judged nevertheless.
  wire::PlanCall late = Call();
  *late.mutable_input()->mutable_settings() =
      SettingsOf(R"({"scaleDown":{"planner":{"minNodesPerPass":1}}})");
  const auto reply = session_->questions().Plan(late, Clock::now() - std::chrono::seconds(1));
  const Json cut = PlanJsonOf(reply);
  EXPECT_EQ(cut["summary"]["termination"], "deadline");
  EXPECT_LT(cut["remove"].size(), whole["remove"].size());
  late.mutable_input()->set_time_limit_seconds(-1);
  EXPECT_EQ(session_->questions().Plan(late, std::nullopt).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, ANegativeParallelismIsRefused) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall call = Call();
  call.mutable_input()->set_max_scale_down_parallelism(-5);
  EXPECT_EQ(session_->questions().Plan(call, std::nullopt).status().message(),
            "input.max_scale_down_parallelism: -5 is not from 0 to 1000000000");
}

// --- Searches ------------------------------------------------------------------------

class SessionSearchTest : public SessionTest {
 protected:
  // A cluster in which a search finds more than the greedy plan.
  void SetUp() override {
    std::string dump;
    BinarySnapshotWriter writer([&](std::string_view bytes) {
      dump += bytes;
      return absl::OkStatus();
    });
    const auto mixed = std::ranges::find(samples::Kinds(), "mixed", &samples::Kind::name);
    ASSERT_TRUE(samples::GenerateDump(*mixed, {.nodes = 120, .seed = 1}, writer).ok());
    ASSERT_TRUE(writer.Finish().ok());
    ASSERT_TRUE(session_->cluster().Load(dump, nullptr).ok());
  }
  wire::PlanCall SearchCall(uint64_t iterations = 5) const {
    wire::PlanCall call = Call();
    call.mutable_input()->mutable_search()->set_iterations(iterations);
    return call;
  }
  std::string Refusal(const wire::PlanCall& call) {
    const absl::Status status = session_->questions().Plan(call, std::nullopt).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
};

TEST_F(SessionSearchTest, ACallMayAskForABetterPlan) {
  const Json greedy = PlanJsonOf(session_->questions().Plan(Call(), std::nullopt));
  wire::PlanCall call = SearchCall();
  call.mutable_input()->set_bound(true);
  const Json found = PlanJsonOf(session_->questions().Plan(call, std::nullopt));
  EXPECT_GT(found["summary"]["removed"], greedy["summary"]["removed"]);
  EXPECT_EQ(found["summary"]["search"]["firstPlanRemoved"], greedy["summary"]["removed"]);
  EXPECT_GE(found["summary"]["bound"]["removed"], found["summary"]["removed"]);
  EXPECT_FALSE(greedy["summary"].contains("search"));
}

TEST_F(SessionSearchTest, TheReplyHasTheBoundWithoutASearchToo) {
  wire::PlanCall call = Call();
  call.mutable_input()->set_bound(true);
  const Json found = PlanJsonOf(session_->questions().Plan(call, std::nullopt));
  EXPECT_GT(found["summary"]["bound"]["removed"], found["summary"]["removed"]);
  EXPECT_FALSE(found["summary"].contains("search"));
}

TEST_F(SessionSearchTest, TheEndOfTheCallEndsTheSearch) {
  wire::PlanCall call = Call();
  call.mutable_input()->mutable_search()->set_budget_seconds(600);
  const auto reply = session_->questions().Plan(call, Clock::now());
  const Json found = PlanJsonOf(reply);
  EXPECT_EQ(found["summary"]["search"]["iterations"], 0);
  EXPECT_EQ(found["summary"]["search"]["ended"], "timeLimit");
}

TEST_F(SessionSearchTest, ACallThatIsCancelledHasTheBestSoFar) {
  CancelToken cancelled;
  cancelled.Cancel();
  const Json greedy = PlanJsonOf(session_->questions().Plan(Call(), std::nullopt));
  const Json found =
      PlanJsonOf(session_->questions().Plan(SearchCall(1000), std::nullopt, &cancelled));
  EXPECT_EQ(found["summary"]["search"]["iterations"], 0);
  EXPECT_EQ(found["summary"]["search"]["ended"], "interrupted");
  EXPECT_EQ(found["summary"]["removed"], greedy["summary"]["removed"]);
}

TEST_F(SessionSearchTest, PricesAreInTheReplyAndGuideTheSearch) {
  wire::PlanCall call = SearchCall();
  call.mutable_input()->set_prices("default: 0.5\ncurrency: EUR\n");
  call.mutable_input()->mutable_search()->set_objective(wire::Search::COST);
  call.mutable_input()->mutable_search()->set_move_cost(0.25);
  const Json found = PlanJsonOf(session_->questions().Plan(call, std::nullopt));
  EXPECT_EQ(found["summary"]["search"]["moveCost"], 0.25);
  EXPECT_TRUE(found["summary"].contains("savedPerHour"));
}

TEST_F(SessionTest, APlanIsOfTheNodesThatTheQuestionNames) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall call = Call();
  call.mutable_input()->mutable_candidates()->add_nodes("b");
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(call, std::nullopt))),
              ElementsAre("b"));
  call.mutable_input()->mutable_candidates()->clear_nodes();  // The list is present and empty.
  EXPECT_THAT(Removed(PlanJsonOf(session_->questions().Plan(call, std::nullopt))), ElementsAre());
  call.mutable_input()->mutable_candidates()->add_nodes("nowhere");
  EXPECT_EQ(session_->questions().Plan(call, std::nullopt).status().message(),
            "candidates[0]: node nowhere is not in the cluster");
}

TEST_F(SessionTest, AFieldThatACallDoesNotTakeIsRefused) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall plan = Call();
  plan.mutable_input()->set_pod_order(wire::AS_LISTED);
  EXPECT_EQ(session_->questions().Plan(plan, std::nullopt).status().message(),
            "input.pod_order: Plan takes none");
  wire::PlanInput pass;
  pass.set_max_scale_down_parallelism(3);
  EXPECT_EQ(session_->questions().Pass(pass, std::nullopt).status().message(),
            "input.max_scale_down_parallelism: Pass takes none");
  wire::RoundCall round;
  round.mutable_input()->mutable_candidates();
  EXPECT_EQ(session_->rounds().Round(round, std::nullopt).status().message(),
            "input.candidates: Round takes none");
}

// Symptom: Explain computed the bound and the trials, and its reply had neither.
TEST_F(SessionTest, ExplainAcceptsOnlyFieldsThatItsReplyUses) {
  ASSERT_TRUE(PutCluster().ok());
  wire::ExplainCall explain;
  *explain.mutable_input() = Call().input();
  explain.add_nodes("a");
  const auto refusal = [&] {
    return std::string(session_->questions().Explain(explain, std::nullopt).status().message());
  };
  explain.mutable_input()->set_bound(true);
  EXPECT_EQ(refusal(), "input.bound: Explain takes none");
  explain.mutable_input()->clear_bound();
  explain.mutable_input()->mutable_trials()->set_trials(1);
  EXPECT_EQ(refusal(),
            "input.trials: Explain takes none without trials.robust, as the reply tells nothing of "
            "them");
  explain.mutable_input()->mutable_trials()->set_robust(1);
  EXPECT_EQ(refusal(), "");
}

TEST_F(SessionTest, RowsAreOfTables) {
  ASSERT_TRUE(PutCluster().ok());
  wire::PlanCall plan = Call();
  plan.set_rows(3);
  EXPECT_EQ(session_->questions().Plan(plan, std::nullopt).status().message(),
            "rows: AS_JSON takes none; AS_TABLES does");
  plan.clear_rows();
  plan.set_every_node(true);
  plan.set_form(wire::AS_NAMES);
  EXPECT_EQ(session_->questions().Plan(plan, std::nullopt).status().message(),
            "every_node: AS_NAMES takes none; AS_TABLES does");
}

TEST_F(SessionTest, BothPlansOfAWhatIfAreOfOneCluster) {
  ASSERT_TRUE(PutCluster().ok());
  wire::WhatIfCall call;
  *call.mutable_input() = Call().input();
  call.set_changes("objects: [{kind: Node, metadata: {name: a}, $patch: delete}]");
  const auto refusal = [&] {
    return std::string(session_->questions().WhatIf(call, std::nullopt).status().message());
  };
  *call.mutable_then() = Call().input();
  EXPECT_EQ(refusal(), "");
  call.mutable_then()->set_session("other");
  EXPECT_EQ(refusal(),
            "then.session: is not as in input; both plans are of the cluster that input asks for");
  *call.mutable_then() = Call().input();
  call.mutable_then()->set_min_version(7);
  EXPECT_EQ(refusal(),
            "then.min_version: is not as in input; both plans are of the cluster that input asks "
            "for");
  *call.mutable_then() = Call().input();
  call.mutable_then()->set_bound(true);
  EXPECT_EQ(refusal(), "then.bound: WhatIf takes none");
}

TEST_F(SessionSearchTest, ABudgetOrIterationsEndASearch) {
  wire::PlanCall call = SearchCall();
  call.mutable_input()->mutable_search()->set_budget_seconds(1);
  EXPECT_EQ(Refusal(call),
            "input.search.budget_seconds: takes no input.search.iterations, as each of them ends "
            "the search");
}

TEST_F(SessionSearchTest, EvictionsMayBeLimited) {
  wire::PlanCall call = SearchCall(1);
  call.mutable_input()->mutable_search()->set_max_evictions(10);
  EXPECT_LE(PlanJsonOf(session_->questions().Plan(call, std::nullopt))["summary"]["movedPods"], 10);
  wire::PlanCall share = Call();
  share.mutable_input()->set_max_workload_share(0.05);
  EXPECT_LT(PlanJsonOf(session_->questions().Plan(share, std::nullopt))["summary"]["movedPods"],
            PlanJsonOf(session_->questions().Plan(Call(), std::nullopt))["summary"]["movedPods"]);
}

TEST_F(SessionSearchTest, ErrorsOfASearchNameTheField) {
  wire::PlanCall call = SearchCall();
  wire::Search& search = *call.mutable_input()->mutable_search();
  search.set_objective(wire::Search::COST);
  EXPECT_EQ(Refusal(call), "input.search.objective: COST needs input.prices");
  search.set_objective(wire::Search::NODES);
  search.set_move_cost(1);
  EXPECT_EQ(Refusal(call), "input.search.move_cost: is for the objective COST");
  search.set_move_cost(-1);
  EXPECT_EQ(Refusal(call), "input.search.move_cost: -1 is not from 0 to 1000000");
  search.set_move_cost(0);
  search.clear_iterations();
  search.set_budget_seconds(601);
  EXPECT_EQ(Refusal(call), "input.search.budget_seconds: 601 is not from 0 to 600");
  call = Call();
  call.mutable_input()->set_prices("prices: [{zone: z, hourly: -1}]");
  EXPECT_THAT(Refusal(call), HasSubstr("input.prices: prices[0].hourly: -1 is below 0"));
  call = Call();
  call.mutable_input()->set_max_workload_share(0);
  EXPECT_THAT(Refusal(call), HasSubstr("max_workload_share: 0 is not above 0"));
  wire::RoundCall round;
  round.mutable_input()->mutable_search();
  EXPECT_EQ(session_->rounds().Round(round, std::nullopt).status().message(),
            "input.search: Round takes none");
  wire::PlanInput pass;
  pass.set_prices("default: 1");
  EXPECT_EQ(session_->questions().Pass(pass, std::nullopt).status().message(),
            "input.prices: Pass takes none");
}

// --- Rounds --------------------------------------------------------------------------

TEST_F(SessionTest, RoundsWantAFolder) {
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_EQ(session_->rounds().Round(wire::RoundCall(), std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session_->rounds().ReportActuation(wire::ActuationReport()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

class SessionRoundTest : public SessionTest {
 protected:
  SessionRoundTest() {
    options_.state_folder = folder_.path();
    options_.allow_incomplete = true;  // The clusters have no budgets, and no list that says so.
  }

  absl::StatusOr<wire::RoundReply> Round(int64_t now_s) {
    wire::RoundCall call;
    call.mutable_input()->set_now(now_s);
    return session_->rounds().Round(call, std::nullopt);
  }
  test::TemporaryFolder folder_;
};

TEST_F(SessionRoundTest, AnIncompleteClusterHasRoundsAndNamesOnlyIfAllowed) {
  options_.allow_incomplete = false;
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_EQ(Round(kNow).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Round(kNow).status().message()), HasSubstr("no client has said"));
  ASSERT_TRUE(session_->cluster().Load(ExportAll(), nullptr).ok());
  EXPECT_THAT(std::string(Round(kNow).status().message()),
              HasSubstr("session s: the input has no PodDisruptionBudget"));
  wire::PlanCall call = Call();
  const auto shown = session_->questions().Plan(call, std::nullopt);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_FALSE(shown->complete());
  ASSERT_EQ(shown->missing_size(), 1);
  EXPECT_EQ(shown->missing(0).code(), "NoPodDisruptionBudgets");
  call.set_form(wire::AS_NAMES);
  EXPECT_EQ(session_->questions().Plan(call, std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
  call.mutable_input()->set_allow_incomplete(true);
  EXPECT_THAT(session_->questions().Plan(call, std::nullopt)->names(), ElementsAre("a"));
  wire::RoundCall round;
  round.mutable_input()->set_now(kNow);
  round.mutable_input()->set_allow_incomplete(true);
  EXPECT_TRUE(session_->rounds().Round(round, std::nullopt).ok());
  // A resync lists all objects of the cluster, so no kind is missing afterwards.
  const uint64_t resync = session_->cluster().BeginResync();
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(session_->cluster().EndResync(resync).ok());
  EXPECT_TRUE(Round(kNow + 10).ok());
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt)->complete());
}

TEST_F(SessionTest, IfPodsAreMissingQuestionsAreRefusedUnlessTheyAllowThat) {
  ASSERT_TRUE(Put({NodeJson("a"), NodeJson("b")}).ok());
  wire::ExplainCall explain;
  explain.add_nodes("a");
  EXPECT_EQ(session_->questions().Plan(Call(), std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session_->questions().Explain(explain, std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
  SessionQuestions::SentPlan sent;
  EXPECT_FALSE(session_->questions().PlanChanges(Call().input(), sent).ok());
  explain.mutable_input()->set_allow_incomplete(true);
  EXPECT_TRUE(session_->questions().Explain(explain, std::nullopt).ok());
  wire::PlanCall call = Call();
  call.mutable_input()->set_allow_incomplete(true);
  EXPECT_FALSE(session_->questions().Plan(call, std::nullopt)->complete());
}

TEST_F(SessionRoundTest, TimersOutliveTheProcess) {
  ASSERT_TRUE(PutCluster().ok());
  const auto first = Round(kNow);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->round(), 1);
  EXPECT_THAT(first->delete_drain(), IsEmpty());
  StartAgain();
  ASSERT_TRUE(PutCluster().ok());
  // The node has been unneeded for the required ten minutes.
  const auto second = Round(kNow + 601);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->round(), 2);
  EXPECT_THAT(second->delete_drain(), ElementsAre("a"));
  EXPECT_EQ(session_->Status().rounds(), 2);
  EXPECT_THAT(MetricsText(std::vector<std::pair<std::string, MetricsSnapshot>>{
                  {"s", session_->rounds().RoundMetrics()}}),
              HasSubstr(R"(scaled_down_nodes_total{reason="underutilized",session="s"} 1)"));
}

// Symptom: "0 unneeded" for minutes, and no mention of the nodes that rounds remember.
TEST_F(SessionRoundTest, ARoundAndTheStatusListUnremovableNodes) {
  EXPECT_FALSE(session_->Status().has_unremovable()) << "no round was made";
  // A pod without a controller may not be moved.
  const std::string bare =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"bare","uid":"uid-bare",)"
      R"("namespace":"default"},"spec":{"nodeName":"b","containers":[{"name":"c"}]},)"
      R"("status":{"phase":"Running"}})";
  ASSERT_TRUE(
      Put({NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(), PodJson("p", "a", "3"), bare})
          .ok());
  for (const int64_t now_s : {kNow, kNow + 10}) {
    const auto round = Round(now_s);
    ASSERT_TRUE(round.ok()) << round.status();
    EXPECT_EQ(round->unneeded(), 0);
    const wire::SessionStatus status = session_->Status();
    EXPECT_EQ(status.last_round_at(), now_s);
    for (const wire::UnremovableNodes& listed : {round->unremovable(), status.unremovable()}) {
      EXPECT_EQ(listed.nodes(), 2);
      ASSERT_EQ(listed.reasons_size(), 2);
      EXPECT_EQ(listed.reasons(0).reason(), "NotReplicated");
      EXPECT_EQ(listed.reasons(0).nodes(), 1);
      EXPECT_EQ(listed.reasons(1).reason(), "NotUnderutilized");
      EXPECT_EQ(listed.remembered(), 1);
      EXPECT_EQ(listed.first_recheck(), kNow + 300);
      EXPECT_EQ(listed.last_recheck(), kNow + 300);
    }
  }
}

TEST_F(SessionRoundTest, AReportOfAFailedDeletionIsAccepted) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Round(kNow).ok());
  ASSERT_THAT(Round(kNow + 601)->delete_drain(), ElementsAre("a"));
  wire::ActuationReport report;
  report.add_begun()->set_node("a");
  report.mutable_begun(0)->set_drained(true);
  EXPECT_EQ(session_->rounds().ReportActuation(report)->in_progress(), 1);
  report.Clear();
  report.add_ended()->set_node("a");
  report.mutable_ended(0)->set_result("FailedToEvictPods");
  StartAgain();
  ASSERT_TRUE(PutCluster().ok());
  const auto reported = session_->rounds().ReportActuation(report);
  ASSERT_TRUE(reported.ok()) << reported.status();
  EXPECT_EQ(reported->in_progress(), 0);
  // The cooldown after the failure applies.
  const auto round = Round(kNow + 610);
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_THAT(round->delete_drain(), IsEmpty());
  EXPECT_EQ(round->status(), "ScaleDownInCooldown");
}

// A record contains the reports to each round, because a replay has no session.
TEST_F(SessionRoundTest, ReportsAreInTheRecordAndAreReplayed) {
  options_.record_file = folder_.File("record.db");
  StartAgain();
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Put({PodJson("done", "b", "1", "Succeeded")}).ok());  // A decision counts it.
  ASSERT_TRUE(Round(kNow).ok());
  wire::ActuationReport report;
  report.add_begun()->set_node("b");
  report.add_evicted()->set_json(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"gone","namespace":"default",)"
      R"("uid":"u"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}})");
  report.mutable_unready_nodes()->add_nodes("a");
  ASSERT_TRUE(session_->rounds().ReportActuation(report).ok());
  ASSERT_TRUE(Round(kNow + 10).ok());
  ASSERT_TRUE(Round(kNow + 20).ok());
  size_t rounds = 0;
  const absl::Status replayed = ReplayRecord(options_.record_file, [&](const ReplayedRound& round) {
    ++rounds;
    EXPECT_EQ(round.departure, "") << round.round;
  });
  EXPECT_TRUE(replayed.ok()) << replayed;
  EXPECT_EQ(rounds, 3);
}

TEST_F(SessionRoundTest, ARoundReturnsItsDeletionsAsData) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Round(kNow).ok());
  wire::RoundCall call;
  call.mutable_input()->set_now(kNow + 601);
  call.set_form(wire::AS_DATA);
  const auto round = session_->rounds().Round(call, std::nullopt);
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_EQ(round->json(), "");
  EXPECT_EQ(round->nodes(), 2);
  EXPECT_EQ(round->unneeded(), 1);
  EXPECT_THAT(round->soft_taint(), ElementsAre("a"));
  ASSERT_EQ(round->deletions_size(), 1);
  const wire::OrderedDeletion& deletion = round->deletions(0);
  EXPECT_EQ(deletion.node(), "a");
  EXPECT_EQ(deletion.uid(), "uid-a");
  EXPECT_EQ(deletion.group(), "g");
  EXPECT_TRUE(deletion.drain());
  ASSERT_EQ(deletion.moves_size(), 1);
  EXPECT_EQ(deletion.moves(0).pod().uid(), "uid-p");
  EXPECT_EQ(deletion.moves(0).to(), "b");
}

// Symptom: after its state file was deleted, a daemon returned INTERNAL permanently.
TEST_F(SessionRoundTest, ADeletedStateFileIsCreatedAgainAfterOneError) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Round(kNow).ok());
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
    if (each.path().extension() == ".db") std::filesystem::remove(each.path());
  }
  EXPECT_EQ(Round(kNow + 10).status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(Round(kNow + 20).ok());
  EXPECT_TRUE(Round(kNow + 30).ok());
}

// Symptom: "another round was made meanwhile; run again", and then round 1 again.
TEST_F(SessionRoundTest, AStateFileThatHoldsLessThanBeforeIsRefusedUntilTheSessionIsMadeAgain) {
  ASSERT_TRUE(PutCluster().ok());
  const std::string file = folder_.File("s.db");
  ASSERT_TRUE(Round(kNow).ok());
  std::filesystem::copy_file(file, folder_.File("older.db"));
  ASSERT_TRUE(Round(kNow + 10).ok());
  std::filesystem::copy_file(file, folder_.File("newer.db"));
  const auto put = [&](const std::string& copy) {  // Into the same file, as `cp` does.
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        << std::ifstream(folder_.File(copy), std::ios::binary).rdbuf();
  };
  const auto refusals = [&] {
    std::string messages;
    for (int i = 0; i < 3; ++i) {
      const absl::Status refused = Round(kNow + 20).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
      absl::StrAppend(&messages, refused.message(), "\n");
    }
    return messages;
  };
  put("older.db");
  EXPECT_THAT(refusals(),
              AllOf(HasSubstr("s.db: ends with round 1 now, and ended with round 2 when"),
                    HasSubstr("s.db: ends with round 1, and session s has made round 2 "
                              "from it: put the newer file back")));
  put("newer.db");
  EXPECT_EQ(Round(kNow + 30)->round(), 3);
  std::filesystem::resize_file(file, 0);
  EXPECT_THAT(refusals(), AllOf(HasSubstr("s.db: is empty now, and ended with round 3 when"),
                                HasSubstr("s.db: holds no round, and session s has made round 3")));
  StartAgain();
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_EQ(Round(kNow + 40)->round(), 1);
}

TEST_F(SessionRoundTest, NoRoundOverHalfACluster) {
  session_->cluster().BeginResync();
  ASSERT_TRUE(PutCluster().ok());  // The objects that have arrived so far.
  const auto half = Round(kNow);
  EXPECT_EQ(half.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(half.status().message()), HasSubstr("is being filled"));
  // The resync's stream ends and another one begins: still no resync has ended.
  session_->cluster().DropResync(1);
  EXPECT_FALSE(Round(kNow).ok());
  const uint64_t resync = session_->cluster().BeginResync();
  EXPECT_FALSE(Round(kNow).ok());
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(session_->cluster().EndResync(resync).ok());
  EXPECT_TRUE(Round(kNow).ok());
  // A resync of a complete cluster makes no caller wait.
  session_->cluster().BeginResync();
  EXPECT_TRUE(Round(kNow + 10).ok());
}

TEST_F(SessionRoundTest, ARoundCallMayRequireAFeed) {
  ASSERT_TRUE(PutCluster().ok());
  wire::RoundCall call;
  call.mutable_input()->set_now(kNow);
  call.set_needs_feed(true);
  EXPECT_EQ(session_->rounds().Round(call, std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const uint64_t feeder = session_->cluster().BeginFeed();
  EXPECT_TRUE(session_->rounds().Round(call, std::nullopt).ok());
  EXPECT_EQ(session_->Status().feeds(), 1);
  session_->cluster().EndFeed(feeder);
  EXPECT_FALSE(session_->rounds().Round(call, std::nullopt).ok());
}

TEST_F(SessionRoundTest, AStateFileMayBeNamedAndARoundRecorded) {
  options_.state_folder = "";
  options_.state_file = folder_.File("mine.db");
  options_.record_file = folder_.File("record.db");
  StartAgain();
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Round(kNow).ok());
  ASSERT_TRUE(session_->rounds().ReportActuation({}).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_.File("mine.db")));
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(each.path().extension(), ".db") << each.path();
  }
  const auto record = SqliteState::Open(folder_.File("record.db"), {.use = SqliteUse::kRecord});
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ((*record)->Rounds()->size(), 1);
}

// Symptom: a record in the state folder lost its rounds.
TEST_F(SessionRoundTest, ARecordInTheStateFolderIsRefusedAndKept) {
  {
    const auto record = SqliteState::Open(folder_.File("s.db"), {.use = SqliteUse::kRecord});
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_TRUE((*record)->Save({}, {.round = 1, .arguments = "{}"}, {}).ok());
  }
  ASSERT_TRUE(PutCluster().ok());
  for (const absl::Status& refused :
       {Round(kNow).status(), session_->rounds().ReportActuation({}).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(refused.message(), folder_.File("s.db") + ": is a record, not a state file");
  }
  const auto kept = SqliteState::Open(folder_.File("s.db"), {.use = SqliteUse::kRecord});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ((*kept)->Rounds()->size(), 1);
}

TEST_F(SessionRoundTest, ADamagedStateIsAnErrorAndPlansContinue) {
  ASSERT_TRUE(PutCluster().ok());
  std::ofstream(folder_.File("s.db")) << "no database, and long enough to be looked at";
  for (const absl::Status& refused :
       {Round(kNow).status(), session_->rounds().ReportActuation({}).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("s.db"));
  }
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  std::filesystem::remove(folder_.File("s.db"));
  EXPECT_TRUE(Round(kNow).ok());
}

TEST_F(SessionRoundTest, ARoundIsSavedBeforeTheReply) {
  ASSERT_TRUE(PutCluster().ok());
  const auto round = Round(kNow);
  ASSERT_TRUE(round.ok()) << round.status();
  // Another process sees it while this one continues, and this one has written nothing else.
  const auto driver = RoundDriver::Open({.state = folder_.File("s.db"), .rounds_kept = 10});
  ASSERT_TRUE(driver.ok()) << driver.status();
  ASSERT_TRUE((*driver)->before().has_value());
  EXPECT_EQ((*driver)->before()->rounds, round->round());
}

// Symptom: after one failure every later round of the session was rejected.
TEST_F(SessionRoundTest, AStateFileThatIsMendedIsUsedAgain) {
  ASSERT_TRUE(PutCluster().ok());
  ASSERT_TRUE(Round(kNow).ok());
  const std::string file = folder_.File("s.db");
  const std::string kept = folder_.File("kept.db");
  std::filesystem::copy_file(file, kept);
  std::ofstream(file, std::ios::trunc) << std::string(5000, 'x');
  EXPECT_FALSE(Round(kNow + 300).ok());
  EXPECT_FALSE(Round(kNow + 300).ok());
  EXPECT_TRUE(session_->questions().Plan(Call(), std::nullopt).ok());
  std::filesystem::rename(kept, file);
  const auto next = Round(kNow + 601);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->round(), 2);
  EXPECT_THAT(next->delete_drain(), ElementsAre("a"));
}

TEST_F(SessionRoundTest, ARefusedRoundStartsNoTimer) {
  ASSERT_TRUE(PutCluster().ok());
  wire::RoundCall refused;
  refused.mutable_input()->set_now(kNow);
  refused.set_form(wire::AS_TABLES);
  EXPECT_FALSE(session_->rounds().Round(refused, std::nullopt).ok());
  EXPECT_EQ(session_->Status().rounds(), 0);
  const auto first = Round(kNow + 601);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->round(), 1);
  EXPECT_THAT(first->delete_drain(), IsEmpty());
}

TEST_F(SessionRoundTest, NoPlanNoRound) {
  EXPECT_EQ(Round(kNow).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(PutCluster().ok());
  EXPECT_EQ(Round(-1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Round(kNow)->round(), 1);
}

}  // namespace
}  // namespace ebb::session_test
