// Stable plans of a session, and answers that have only what differs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "session/session.h"
#include "tests/session/session_objects.h"

namespace ebb::stable_plan_test {
namespace {

using Json = nlohmann::ordered_json;
using test::NodeJson;
using test::PodJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNow = 1780315200;

class StablePlanTest : public ::testing::Test {
 protected:
  StablePlanTest() {
    options_.clock_s = [this] { return clock_s_; };
    session_ = std::make_unique<Session>("s", options_);
  }

  void Put(const std::vector<std::string>& objects) {
    ChangeBatch batch;
    for (const std::string& object : objects) ASSERT_TRUE(batch.PutJson(object).ok()) << object;
    Take(batch);
  }
  void Delete(const std::string& kind, const std::string& space, const std::string& name) {
    ChangeBatch batch;
    batch.Delete(*ChangeBatch::NamesOf(kind), space, name, "");
    Take(batch);
  }
  void Take(const ChangeBatch& batch) {
    for (Session* const session : {session_.get(), twin_.get()}) {
      if (session == nullptr) continue;
      const absl::Status taken = session->cluster().Take(batch);
      ASSERT_TRUE(taken.ok()) << taken;
    }
  }
  // Either a or b can go, whose pod the other one or c takes.
  void PutCluster() {
    Put({NodeJson("a"), NodeJson("b"), NodeJson("c"), test::ReplicaSetJson(), PodJson("p", "a"),
         PodJson("q", "b"), PodJson("r", "c", "3")});
  }
  std::string ExportAll() {
    std::string bytes;
    const absl::Status exported = session_->cluster().Export([&](std::string_view part) {
      bytes += part;
      return absl::OkStatus();
    });
    EXPECT_TRUE(exported.ok()) << exported;
    return bytes;
  }

  // A question a second after the last one, so that no answer is cached.
  wire::PlanCall Call() {
    wire::PlanCall call;
    call.mutable_input()->set_now(++now_s_);
    call.mutable_input()->mutable_stable()->set_greedy_every(0);
    return call;
  }
  absl::StatusOr<wire::PlanReply> Ask(const wire::PlanCall& call) {
    return session_->questions().Plan(call, std::nullopt);
  }
  wire::PlanReply Plan(const wire::PlanCall& call) {
    absl::StatusOr<wire::PlanReply> reply = Ask(call);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *std::move(reply) : wire::PlanReply();
  }
  std::string Origin() { return Plan(Call()).stable().origin(); }
  static std::vector<std::string> Changes(const wire::PlanReply& reply) {
    std::vector<std::string> changes;
    for (const wire::StableChange& change : reply.stable().changes()) {
      changes.push_back(
          absl::StrCat(change.removes() ? "came " : "left ", change.node(), ": ", change.words()));
    }
    return changes;
  }

  int64_t clock_s_ = kNow;
  int64_t now_s_ = kNow;
  SessionOptions options_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> twin_;  // Takes the same changes; null: there is none.
};

TEST_F(StablePlanTest, ThePlanSaysWhyNodesCameAndLeft) {
  PutCluster();
  wire::PlanReply reply = Plan(Call());
  EXPECT_EQ(reply.stable().origin(), "first");
  EXPECT_EQ(reply.removes(), 1);
  Put({NodeJson("d")});
  reply = Plan(Call());
  EXPECT_EQ(reply.stable().origin(), "kept");
  EXPECT_EQ(reply.stable().kept(), 1);
  EXPECT_EQ(reply.stable().unchanged(), 1);
  EXPECT_TRUE(reply.stable().verified());  // Certificates do not cover a node that came.
  EXPECT_THAT(Changes(reply), ElementsAre("came d: the last plan did not judge it"));
  Delete("Node", "", "d");
  EXPECT_THAT(Changes(Plan(Call())), ElementsAre("left d: is no longer in the cluster"));
  Put({PodJson("p", "a", "3500m")});
  reply = Plan(Call());
  EXPECT_THAT(Changes(reply), ElementsAre(HasSubstr("came b: was NoPlaceToMovePods"),
                                          HasSubstr("left a: NotUnderutilized")));
  const Json plan = Json::parse(reply.plan());
  EXPECT_EQ(plan["summary"]["stable"]["origin"], "kept");
  EXPECT_EQ(plan["summary"]["stable"]["changes"][1]["reason"], "NotUnderutilized");
}

TEST_F(StablePlanTest, APlanWithoutItNeitherSaysAnythingNorChangesTheKeptOne) {
  PutCluster();
  EXPECT_EQ(Origin(), "first");
  wire::PlanCall plain = Call();
  plain.mutable_input()->clear_stable();
  const wire::PlanReply reply = Plan(plain);
  EXPECT_FALSE(reply.has_stable());
  EXPECT_FALSE(Json::parse(reply.plan())["summary"].contains("stable"));
  EXPECT_EQ(Origin(), "kept");
}

// Bad input: in each case the plan is made from nothing, and says so once.
TEST_F(StablePlanTest, OtherOptionsStartFromNothing) {
  PutCluster();
  EXPECT_EQ(Origin(), "first");
  wire::PlanCall other = Call();
  other.mutable_input()->set_max_workload_share(0.9);
  EXPECT_EQ(Plan(other).stable().origin(), "otherOptions");
  EXPECT_EQ(Origin(), "otherOptions");
  EXPECT_EQ(Origin(), "kept");
}

TEST_F(StablePlanTest, TimeThatGoesBackStartsFromNothing) {
  PutCluster();
  EXPECT_EQ(Origin(), "first");
  now_s_ = kNow - 100;
  EXPECT_EQ(Origin(), "timeWentBack");
  EXPECT_EQ(Origin(), "kept");
}

TEST_F(StablePlanTest, AClusterThatIsReplacedStartsFromNothing) {
  PutCluster();
  EXPECT_EQ(Origin(), "first");
  const absl::StatusOr<wire::LoadReply> loaded = session_->cluster().Load(ExportAll(), nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  wire::PlanReply reply = Plan(Call());
  EXPECT_EQ(reply.stable().origin(), "otherCluster");
  EXPECT_THAT(Changes(reply), IsEmpty());
  EXPECT_EQ(Origin(), "kept");
}

TEST_F(StablePlanTest, AStreamWithAGapStartsFromNothing) {
  SessionCluster& cluster = session_->cluster();
  uint64_t resync = cluster.BeginResync();
  PutCluster();
  const auto relist = [&](std::optional<uint64_t> feeder) {
    const std::vector<std::string> objects = {
        NodeJson("a"),     NodeJson("b"),     NodeJson("c"),         test::ReplicaSetJson(),
        PodJson("p", "a"), PodJson("q", "b"), PodJson("r", "c", "3")};
    resync = cluster.BeginResync();
    Put(objects);
    EXPECT_TRUE(cluster.EndResync(resync, feeder).ok());
  };
  ASSERT_TRUE(cluster.EndResync(resync).ok());
  const uint64_t first = cluster.BeginFeed();
  EXPECT_EQ(Origin(), "first");
  // A second client sees what the first one sees.
  relist(std::nullopt);
  const uint64_t second = cluster.BeginFeed();
  EXPECT_EQ(Origin(), "kept");
  cluster.EndFeed(second);
  EXPECT_EQ(Origin(), "kept");
  // The only client lists everything again, since its watch had ended.
  relist(first);
  EXPECT_EQ(Origin(), "changesMissed");
  EXPECT_EQ(Origin(), "kept");
  // No client feeds the session for a while.
  cluster.EndFeed(first);
  EXPECT_EQ(Origin(), "kept");
  relist(std::nullopt);
  const uint64_t third = cluster.BeginFeed();
  EXPECT_EQ(Origin(), "changesMissed");
  // A watch breaks, and is repaired.
  wire::BrokenWatches broken;
  broken.add_watches()->set_kind("Pod");
  broken.mutable_watches(0)->set_since(kNow);
  cluster.SetBrokenWatches(third, broken);
  EXPECT_EQ(Origin(), "kept");
  cluster.SetBrokenWatches(third, {});
  EXPECT_EQ(Origin(), "changesMissed");
  EXPECT_EQ(Origin(), "kept");
}

TEST_F(StablePlanTest, NamesAreVerifiedEachTime) {
  PutCluster();
  wire::PlanCall call = Call();
  const wire::StableFigures first = Plan(call).stable();
  EXPECT_TRUE(first.verified());
  EXPECT_EQ(first.certificates_not_covered(), "nothingCertified");
  Put({PodJson("small", "b", "10m")});
  call = Call();
  const wire::StableFigures covered = Plan(call).stable();
  EXPECT_FALSE(covered.verified());
  EXPECT_EQ(covered.certificates_not_covered(), "");
  EXPECT_EQ(covered.certificates_held() + covered.certificates_checked(), covered.kept());
  Put({PodJson("small2", "b", "10m")});
  call = Call();
  call.set_form(wire::AS_NAMES);
  call.mutable_input()->set_allow_incomplete(true);
  EXPECT_TRUE(Plan(call).stable().verified());
}

TEST_F(StablePlanTest, WrongQuestionsAreRefused) {
  PutCluster();
  const auto why = [&](const auto& change) {
    wire::PlanCall call = Call();
    change(call);
    const absl::Status status = Ask(call).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(why([](auto& call) { call.mutable_input()->mutable_stable()->set_margin(-0.5); }),
            "input.stable.margin: -0.5 is not from 0 to 1000");
  EXPECT_EQ(why([](auto& call) { call.mutable_input()->mutable_search(); }),
            "input.stable: takes no input.search; a stable plan keeps the last one");
  EXPECT_EQ(why([](auto& call) {
              call.mutable_input()->mutable_trials()->set_trials(1);
              call.mutable_input()->mutable_trials()->set_robust(0);
            }),
            "input.stable: takes no input.trials.robust; a stable plan keeps the last one");
  EXPECT_EQ(why([](auto& call) { call.set_since_version(""); }),
            "since_version: AS_JSON takes none; AS_DATA does");
  EXPECT_EQ(session_->questions().Pass(Call().input(), std::nullopt).status().message(),
            "input.stable: Pass takes none");
  wire::ExplainCall explain;
  *explain.mutable_input() = Call().input();
  explain.add_nodes("a");
  EXPECT_TRUE(session_->questions().Explain(explain, std::nullopt).ok());
  explain.set_remedies(true);
  EXPECT_THAT(std::string(session_->questions().Explain(explain, std::nullopt).status().message()),
              HasSubstr("stable"));
}

// --- Answers that have only what differs ------------------------------------------------------

// A client's copy of a plan, kept as planner.proto says.
class Copy {
 public:
  void Apply(const wire::PlanReply& reply) {
    if (reply.whole()) *this = Copy();
    std::vector<std::string> dropped(reply.gone_nodes().begin(), reply.gone_nodes().end());
    for (const auto& removal : reply.data().removes()) dropped.push_back(removal.node());
    for (const auto& kept : reply.data().keeps()) dropped.push_back(kept.node());
    for (const std::string& node : dropped) {
      std::erase_if(plan_, [&](const auto& each) { return each.first == node; });
      kept_.erase(node);
      uses_.erase(node);
    }
    for (int i = 0; i < reply.data().removes_size(); ++i) {
      const wire::Removal& removal = reply.data().removes(i);
      const size_t place = reply.whole() ? plan_.size() : reply.places(i);
      plan_.emplace(plan_.begin() + static_cast<std::ptrdiff_t>(place), removal.node(),
                    removal.SerializeAsString());
    }
    for (const auto& kept : reply.data().keeps()) kept_[kept.node()] = kept.SerializeAsString();
    for (const auto& use : reply.data().utilization()) uses_[use.node()] = use.SerializeAsString();
  }
  bool operator==(const Copy&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> plan_;
  std::map<std::string, std::string> kept_;
  std::map<std::string, std::string> uses_;
};

size_t Entries(const wire::PlanReply& reply) {
  return static_cast<size_t>(reply.data().removes_size() + reply.data().keeps_size() +
                             reply.gone_nodes_size());
}

class SinceVersionTest : public StablePlanTest {
 protected:
  wire::PlanCall DataCall(bool stable) {
    wire::PlanCall call = Call();
    if (!stable) call.mutable_input()->clear_stable();
    call.set_form(wire::AS_DATA);
    call.mutable_input()->set_allow_incomplete(true);
    return call;
  }
  // Changes the cluster at random, and compares a client that gets differences with one that gets
  // whole plans.
  void CompareClients(bool stable) {
    std::mt19937 random(stable ? 1 : 2);
    twin_ = std::make_unique<Session>("twin", options_);
    Put({test::ReplicaSetJson()});
    for (int node = 0; node < 12; ++node) Put({NodeJson(absl::StrCat("n", node))});
    Copy copy;
    std::string version;
    for (int step = 0; step < 150; ++step) {
      for (int change = 0; change < 3; ++change) Change(random);
      wire::PlanCall call = DataCall(stable);
      call.set_since_version(version);
      const wire::PlanReply reply = Plan(call);
      EXPECT_EQ(reply.whole(), step == 0);
      copy.Apply(reply);
      version = reply.plan_version();
      call.clear_since_version();
      absl::StatusOr<wire::PlanReply> of_twin = twin_->questions().Plan(call, std::nullopt);
      ASSERT_TRUE(of_twin.ok()) << of_twin.status();
      wire::PlanReply whole = *std::move(of_twin);
      EXPECT_EQ(whole.plan_version(), "");
      whole.set_whole(true);
      Copy of_whole;
      of_whole.Apply(whole);
      ASSERT_TRUE(copy == of_whole) << "step " << step;
    }
  }
  void Change(std::mt19937& random) {
    const auto below = [&](uint32_t bound) { return random() % bound; };
    const std::string pod = absl::StrCat("p", below(30));
    const std::string node = absl::StrCat("n", below(12));
    switch (below(8)) {
      case 0:
        return Delete("Pod", "default", pod);
      case 1:
        return Delete("Node", "", node);
      case 2:
        return Put({NodeJson(node)});
      default:
        return Put({PodJson(pod, node, absl::StrCat(100 * (1 + below(15)), "m"))});
    }
  }
};

TEST_F(SinceVersionTest, ClientsThatGetDifferencesHaveTheStablePlan) { CompareClients(true); }

TEST_F(SinceVersionTest, ClientsThatGetDifferencesHaveThePlan) { CompareClients(false); }

TEST_F(SinceVersionTest, APlanThatIsTheSameCostsNothing) {
  PutCluster();
  wire::PlanCall call = DataCall(true);
  call.set_since_version("");
  const wire::PlanReply first = Plan(call);
  EXPECT_TRUE(first.whole());
  EXPECT_EQ(Entries(first), 3);
  call = DataCall(true);
  call.set_since_version(first.plan_version());
  const wire::PlanReply again = Plan(call);
  EXPECT_FALSE(again.whole());
  EXPECT_EQ(Entries(again), 0);
  EXPECT_EQ(again.data().utilization_size(), 0);
  EXPECT_EQ(again.removes(), first.removes());
}

TEST_F(SinceVersionTest, AVersionThatIsNotRememberedGivesTheWholePlan) {
  PutCluster();
  wire::PlanCall call = DataCall(true);
  call.set_since_version("of another daemon-7");
  const wire::PlanReply reply = Plan(call);
  EXPECT_TRUE(reply.whole());
  EXPECT_EQ(Entries(reply), 3);
}

TEST_F(SinceVersionTest, AWatchInTheAutoscalersOrderContinuesToo) {
  PutCluster();
  SessionQuestions::SentPlan sent;
  const auto changes = [&] {
    wire::PlanInput input;
    input.set_now(kNow);
    const absl::StatusOr<wire::PlanChange> change = session_->questions().PlanChanges(input, sent);
    EXPECT_TRUE(change.ok()) << change.status();
    return change.value_or(wire::PlanChange());
  };
  const wire::PlanChange first = changes();
  EXPECT_TRUE(first.whole());
  EXPECT_EQ(first.removes_size() + first.keeps_size(), 3);
  EXPECT_FALSE(first.has_stable());
  sent = session_->questions().PlanSince(first.plan_version());
  const wire::PlanChange second = changes();
  EXPECT_FALSE(second.whole());
  EXPECT_EQ(second.removes_size() + second.keeps_size() + second.gone_nodes_size(), 0);
  EXPECT_EQ(second.plan_version(), first.plan_version());
  Put({PodJson("p", "a", "3500m")});
  const wire::PlanChange third = changes();
  EXPECT_FALSE(third.whole());
  EXPECT_GT(third.removes_size() + third.keeps_size(), 0);
  Delete("Pod", "default", "p");
  Delete("Node", "", "a");
  EXPECT_THAT(changes().gone_nodes(), ElementsAre("a"));
}

TEST_F(SinceVersionTest, AWatchContinuesWhereItEnded) {
  PutCluster();
  SessionQuestions::SentPlan sent;
  const auto changes = [&] {
    const absl::StatusOr<wire::PlanChange> change =
        session_->questions().PlanChanges(Call().input(), sent);
    EXPECT_TRUE(change.ok()) << change.status();
    return change.value_or(wire::PlanChange());
  };
  const wire::PlanChange first = changes();
  EXPECT_TRUE(first.whole());
  EXPECT_EQ(first.removes_size() + first.keeps_size(), 3);
  EXPECT_EQ(first.stable().origin(), "first");
  EXPECT_EQ(changes().plan_version(), first.plan_version());
  sent = session_->questions().PlanSince(first.plan_version());
  wire::PlanChange change = changes();
  EXPECT_FALSE(change.whole());
  EXPECT_EQ(change.removes_size() + change.keeps_size(), 0);
  Put({NodeJson("d")});
  change = changes();
  ASSERT_EQ(change.removes_size(), 1);
  EXPECT_EQ(change.keeps_size(), 0);
  EXPECT_EQ(Json::parse(change.removes(0))["node"], "d");
  EXPECT_EQ(change.stable().kept(), 1);
  EXPECT_NE(change.plan_version(), first.plan_version());
  EXPECT_EQ(session_->questions().PlanSince("?").plan, nullptr);
}

}  // namespace
}  // namespace ebb::stable_plan_test
