#include "loop/buyer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "loop/loop.h"
#include "tests/loop/scripted_actuator.h"

namespace ebb::buyer_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int64_t kStart = 1'000'000;

class ScriptedMarket : public Market {
 public:
  Offer offer = {.buy = {{.group = "g", .machine_type = "m8"}},
                 .remove = {"a", "b"},
                 .nodes = {"a", "b", "c"},
                 .text = "saves 0.19 USD an hour"};
  absl::Status answer;
  // Destinations of the pods of each node that can go; a node that is absent cannot.
  std::vector<std::pair<std::string, std::string>> can_go = {{"a", "new"}, {"b", "new"}};
  absl::Status removals;
  int found = 0;

  absl::StatusOr<Offer> Find(int64_t) override {
    ++found;
    if (!answer.ok()) return answer;
    return offer;
  }
  absl::StatusOr<std::vector<DeletionOrder>> Removals(std::span<const std::string> nodes,
                                                      int64_t) override {
    if (!removals.ok()) return removals;
    std::vector<DeletionOrder> orders;
    for (const auto& [node, to] : can_go) {
      if (std::ranges::find(nodes, node) == nodes.end()) continue;
      orders.push_back({.node = node,
                        .group = "g",
                        .drain = true,
                        .moves = {{.namespace_name = "n", .name = "p-" + node, .to = to}}});
    }
    return orders;
  }
};

// Sells machines whose nodes become Ready when the test says so.
class Shop : public test::ScriptedActuator {
 public:
  absl::Status buys;
  bool ready = false;
  std::vector<std::vector<MachineOrder>> bought;

  absl::StatusOr<std::vector<BoughtMachine>> Buy(std::span<const MachineOrder> wanted,
                                                 int64_t) override {
    bought.emplace_back(wanted.begin(), wanted.end());
    if (!buys.ok()) return buys;
    std::vector<BoughtMachine> machines;
    for (const MachineOrder& order : wanted) {
      machines.push_back({.id = order.id, .node = "new", .ready = ready, .waits_for = "it boots"});
    }
    return machines;
  }
};

// Rounds that delete nothing themselves.
class CountedRounds : public Rounds {
 public:
  absl::Status answer;
  std::vector<std::string> left_alone;
  std::vector<std::string> running;

  absl::StatusOr<Observation*> Observe(int64_t) override {
    return absl::UnimplementedError("no cluster");
  }
  absl::StatusOr<RoundOrders> Make(const ActuatorStatus& report, int64_t,
                                   std::span<const std::string> alone) override {
    left_alone.assign(alone.begin(), alone.end());
    running.clear();
    for (const RunningDeletion& each : report.running) running.push_back(each.node);
    if (!answer.ok()) return answer;
    return RoundOrders();
  }
};

class BuyerTest : public testing::Test {
 protected:
  void Turn(int64_t after_s) {
    shop_.calls.clear();
    loop_.Turn(kStart + after_s);
  }
  LoopOptions Options() {
    LoopOptions options;
    options.buyer = &buyer_;
    options.on_turn = [this](const LoopTurn& turn) { log_ = turn.log; };
    return options;
  }
  // All of a deletion's phases.
  void EndDeletions() {
    for (const RunningDeletion& each : shop_.status.running) {
      shop_.status.results.push_back({.node = each.node, .ok = true, .at_s = kStart});
    }
    shop_.status.running.clear();
  }
  [[nodiscard]] std::string log() const { return absl::StrJoin(log_, "\n"); }

  ScriptedMarket market_;
  Shop shop_;
  CountedRounds rounds_;
  Buyer buyer_{market_, {.interval_s = 1800, .ready_within_s = 900}};
  std::vector<std::string> log_;
  Loop loop_{rounds_, shop_, Options()};
};

TEST_F(BuyerTest, NodesGoOnlyWhenTheBoughtNodesAreReady) {
  Turn(0);
  ASSERT_THAT(shop_.bought, SizeIs(1));
  EXPECT_THAT(log(), HasSubstr("buys ebb-"));
  EXPECT_THAT(log(), HasSubstr("2 nodes go: saves 0.19 USD an hour"));
  // Rounds may not remove any node meanwhile, and each turn asks for the same order.
  for (int64_t turn = 1; turn <= 5; ++turn) {
    EXPECT_THAT(rounds_.left_alone, ElementsAre("a", "b", "c"));
    EXPECT_THAT(shop_.calls, IsEmpty());
    Turn(10 * turn);
  }
  EXPECT_THAT(shop_.bought, Each(shop_.bought[0]));
  shop_.ready = true;
  Turn(60);
  EXPECT_THAT(log(), HasSubstr("the bought nodes are Ready: new"));
  EXPECT_THAT(shop_.calls, ElementsAre("begin a"));
  EXPECT_THAT(rounds_.running, ElementsAre("a"));
  EXPECT_THAT(rounds_.left_alone, ElementsAre("a", "b", "c"));
  Turn(70);
  EXPECT_THAT(shop_.calls, Not(Contains("begin b")));  // a is not gone yet.
  EndDeletions();
  Turn(80);
  EXPECT_THAT(shop_.calls, ElementsAre("begin b"));
  EndDeletions();
  Turn(90);
  EXPECT_THAT(log(), HasSubstr("is carried out"));
  EXPECT_THAT(rounds_.left_alone, IsEmpty());
  EXPECT_EQ(market_.found, 1);
  Turn(1800);
  EXPECT_EQ(market_.found, 2);
}

TEST_F(BuyerTest, AnActuatorThatRefusesLeavesPlansThatOnlyRemove) {
  shop_.buys = absl::FailedPreconditionError("NodePool g: its limits allow no further cpu");
  Turn(0);
  EXPECT_THAT(log_, Contains("refused: NodePool g: its limits allow no further cpu"));
  EXPECT_THAT(rounds_.left_alone, IsEmpty());
  Turn(10);
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_THAT(shop_.bought, SizeIs(1));
}

TEST_F(BuyerTest, AnActuatorThatBuysNothingSaysSo) {
  test::ScriptedActuator plain;
  Loop loop(rounds_, plain, Options());
  loop.Turn(kStart);
  EXPECT_THAT(log_, Contains("refused: this actuator buys no machines"));
}

TEST_F(BuyerTest, ItGivesUpAfterItsTime) {
  Turn(0);
  Turn(899);
  EXPECT_THAT(rounds_.left_alone, Not(IsEmpty()));
  shop_.buys = absl::UnavailableError("the API is away");  // That alone ends nothing.
  Turn(899);
  EXPECT_THAT(rounds_.left_alone, Not(IsEmpty()));
  shop_.buys = absl::OkStatus();
  Turn(900);
  EXPECT_THAT(log(), HasSubstr("gives up after 900 s (--replace-ready-within): ebb-"));
  EXPECT_THAT(log(), HasSubstr("it boots"));
  EXPECT_THAT(rounds_.left_alone, IsEmpty());
  EXPECT_THAT(shop_.calls, IsEmpty());
}

TEST_F(BuyerTest, NothingBeginsIfTheRoundIsNotKept) {
  shop_.ready = true;
  rounds_.answer = absl::UnavailableError("disk full");
  Turn(0);
  EXPECT_THAT(shop_.calls, IsEmpty());
  rounds_.answer = absl::OkStatus();
  Turn(10);
  EXPECT_THAT(shop_.calls, ElementsAre("begin a"));
}

TEST_F(BuyerTest, NodesThatCanNoLongerGoStay) {
  shop_.ready = true;
  market_.can_go = {{"b", "c"}};
  Turn(0);
  EXPECT_THAT(shop_.calls, ElementsAre("begin b"));
  EndDeletions();
  Turn(10);
  EXPECT_THAT(log(), HasSubstr("these nodes of the plan stay, as they can no longer go: a"));
  EXPECT_THAT(rounds_.left_alone, IsEmpty());
}

TEST_F(BuyerTest, NodesThatBeginTogetherDoNotTakeEachOthersPods) {
  Buyer buyer(market_, {.parallel = 3});
  market_.offer.remove = {"a", "b", "c"};
  market_.can_go = {{"a", "new"}, {"b", "new"}, {"c", "a"}};
  shop_.ready = true;
  const BuyingTurn turn = buyer.Decide(shop_, {}, kStart);
  ASSERT_THAT(turn.begin, SizeIs(2));
  EXPECT_EQ(turn.begin[1].node, "b");
}

TEST_F(BuyerTest, NoSearchBeginsWhileADeletionRuns) {
  ActuatorStatus status;
  status.running = {{.node = "x"}};
  EXPECT_THAT(buyer_.Decide(shop_, status, kStart).log, IsEmpty());
  EXPECT_EQ(market_.found, 0);
  market_.answer = absl::UnavailableError("no cluster");
  EXPECT_THAT(buyer_.Decide(shop_, {}, kStart).log, ElementsAre("buys nothing: no cluster"));
}

TEST_F(BuyerTest, AnOrdersIdFollowsFromThePlan) {
  const std::vector<std::string> remove = {"a", "b"};
  const MachineOrder order{.group = "g", .machine_type = "m8"};
  const std::string id = OrderId(order, remove, 1);
  EXPECT_EQ(id, OrderId(order, remove, 1));
  EXPECT_THAT(id, testing::MatchesRegex("ebb-[0-9a-f]+"));
  EXPECT_EQ(id.size(), 20u);
  EXPECT_NE(id, OrderId(order, remove, 2));
  EXPECT_NE(id, OrderId(order, {}, 1));
  EXPECT_NE(id, OrderId({.group = "g", .machine_type = "m9"}, remove, 1));
  // The order's own id does not count.
  EXPECT_EQ(id, OrderId({.id = "x", .group = "g", .machine_type = "m8"}, remove, 1));
}

}  // namespace
}  // namespace ebb::buyer_test
