#include "planning/plan_replace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/verify/verify.h"
#include "groups/groups.h"
#include "report/plan_json.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::plan_replace_test {
namespace {

using test::Node;
using test::Pod;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNow = 1780315200;

Node Machine(std::string_view name, std::string_view type, int64_t cpu,
             std::string_view capacity = "ON_DEMAND") {
  return Node(name)
      .Cpu(cpu)
      .Label("eks.amazonaws.com/nodegroup", "general")
      .Label("kubernetes.io/hostname", name)
      .Label("node.kubernetes.io/instance-type", type)
      .Label("topology.kubernetes.io/zone", "z1")
      .Label("eks.amazonaws.com/capacityType", capacity);
}

std::string TypeText(std::string_view name, int64_t cpu, double hourly,
                     std::string_view more = "") {
  return absl::StrCat("- {name: ", Absl(name), ", groups: [general], capacity: {cpu: ", cpu,
                      "m, memory: 64Gi}, offers: [{hourly: ", hourly, "}]", Absl(more), "}\n");
}

// A cluster in which a purchase may be tried.
class Market {
 public:
  explicit Market(const std::string& prices) : live_(LoadOptions{.assume_complete = true}) {
    const test::Controller controller(objects::ControllerKind::kReplicaSet, "rs");
    Put(&controller.raw);
    const test::Controller daemons(objects::ControllerKind::kDaemonSet, "ds");
    Put(&daemons.raw);
    const absl::StatusOr<PriceList> list = ParsePrices("prices.yaml", prices);
    EXPECT_TRUE(list.ok()) << list.status();
    query_.prices = *list;
    query_.now_s = kNow;
    query_.planner.scale_down_utilization_threshold = 1;
  }
  Market& Add(const Node& node) { return Put(&node.raw); }
  Market& Add(const Pod& pod) { return Put(&pod.raw); }
  Market& Add(const objects::NodePool& pool) {
    const objects::StorageObject object(pool);
    return Put(&object);
  }
  Market& Types(const std::string& list) {
    const absl::StatusOr<MachineFile> file =
        ParseMachineFile("types.yaml", absl::StrCat("machineTypes:\n", list));
    EXPECT_TRUE(file.ok()) << file.status();
    replace_.machines = *file;
    return *this;
  }
  Market& Groups(const std::string& yaml) {
    const absl::StatusOr<GroupRules> rules = ParseGroups("groups.yaml", yaml);
    EXPECT_TRUE(rules.ok()) << rules.status();
    query_.groups = *rules;
    return *this;
  }
  ReplaceQuery& replace() { return replace_; }
  PlanQuery& query() { return query_; }

  const PlanPurchases& Answer(size_t threads = 1) {
    answer_.reset();
    version_ = std::make_unique<LiveCluster::Version>(live_.Unchecked());
    const Parallelism parallelism(threads);
    absl::StatusOr<std::unique_ptr<ReplaceAnswer>> answer =
        AnswerReplace(query_, replace_, live_, version_->cluster, {}, parallelism);
    EXPECT_TRUE(answer.ok()) << answer.status();
    answer_ = *std::move(answer);
    return answer_->purchases;
  }
  const ReplaceAnswer& answer() const { return *answer_; }
  std::vector<std::string> Removed() const {
    std::vector<std::string> names;
    for (const RemovableNode& each : answer_->answer().made.plan.remove) {
      names.emplace_back(answer_->answer().cluster->snapshot.catalog().NodeName(each.node));
    }
    std::ranges::sort(names);
    return names;
  }
  absl::Status Verified() const {
    const PlanAnswer& plan = answer_->answer();
    PassInput input = plan.request.pass;
    std::vector<NodeId> candidates;
    plan.cluster->snapshot.alive().ForEach([&](NodeId node) {
      if (plan.groups.Of(node) != kNoGroup) candidates.push_back(node);
    });
    input.candidates = candidates;
    return Verify(plan.cluster->snapshot, plan.groups, plan.request.planner, input, plan.made.plan);
  }
  std::string Json() const { return PlanJson(MakeReport(answer_->Context())).dump(); }

 private:
  Market& Put(const objects::ObjectRef& object) {
    const Change change{.object = object};
    const absl::Status taken = live_.Take({&change, 1});
    EXPECT_TRUE(taken.ok()) << taken;
    return *this;
  }

  LiveCluster live_;
  PlanQuery query_;
  ReplaceQuery replace_;
  std::unique_ptr<LiveCluster::Version> version_;
  std::unique_ptr<ReplaceAnswer> answer_;
};

std::vector<std::string> TypesOf(const PlanPurchases& purchases) {
  std::vector<std::string> types;
  for (const PlanPurchases::Purchase& each : purchases.buy) types.push_back(each.type);
  std::ranges::sort(types);
  return types;
}

std::vector<std::string> Reasons(const PlanPurchases& purchases) {
  std::vector<std::string> reasons;
  for (const PlanPurchases::Unusable& each : purchases.unusable) {
    reasons.emplace_back(each.reason);
  }
  return reasons;
}

// Three machines of 4 CPUs, each with a pod of 2.5: none can go.
struct ThreeNodes : Market {
  ThreeNodes() : Market("currency: USD\ntypes: {m4: 1}") {
    for (const std::string_view node : {"a", "b", "c"}) {
      Add(Machine(node, "m4", 4000));
      Add(Pod(absl::StrCat("p-", Absl(node))).On(node).Cpu(2500));
    }
  }
};

TEST(PlanReplaceTest, SeveralNodesAreReplacedByOneCheaper) {
  ThreeNodes market;
  market.Types(TypeText("m8", 8000, 2.2));
  const PlanPurchases& purchases = market.Answer();
  EXPECT_THAT(TypesOf(purchases), ElementsAre("m8"));
  EXPECT_THAT(market.Removed(), ElementsAre("a", "b", "c"));
  EXPECT_NEAR(purchases.with.saved_per_hour, 0.8, 1e-9);
  EXPECT_NEAR(purchases.without.saved_per_hour, 0, 1e-9);
  EXPECT_NEAR(purchases.cost_per_hour, 3, 1e-9);
  EXPECT_EQ(purchases.buy[0].pods, 3u);
  EXPECT_TRUE(market.Verified().ok()) << market.Verified();
  for (const InputWarning& each : market.answer().version->cluster.warnings) {
    EXPECT_NE(each.code, "MinimumAssumed") << "the group has its new node";
  }
}

TEST(PlanReplaceTest, OneNodeIsReplacedByASmallerOne) {
  ThreeNodes market;
  market.Types(TypeText("m3", 3000, 0.7));
  const PlanPurchases& purchases = market.Answer();
  EXPECT_THAT(TypesOf(purchases), ElementsAre("m3"));
  EXPECT_EQ(market.Removed().size(), 1u);
  EXPECT_NEAR(purchases.with.saved_per_hour, 0.3, 1e-9);
}

TEST(PlanReplaceTest, SeveralNodesAreBoughtOnlyWithMaxNewNodes) {
  ThreeNodes market;
  market.Types(TypeText("m3", 3000, 0.7));
  market.replace().max_new_nodes = 3;
  const PlanPurchases& purchases = market.Answer();
  EXPECT_THAT(TypesOf(purchases), ElementsAre("m3", "m3", "m3"));
  EXPECT_THAT(market.Removed(), ElementsAre("a", "b", "c"));
  EXPECT_NEAR(purchases.with.saved_per_hour, 0.9, 1e-9);
  EXPECT_TRUE(market.Verified().ok()) << market.Verified();
}

TEST(PlanReplaceTest, WithoutACheaperTypeThePlanIsTheOneWithoutPurchases) {
  ThreeNodes market;
  market.Add(Machine("d", "m4", 4000));  // Nothing runs there: it goes in any case.
  const PlanPurchases& purchases = market.Answer();
  EXPECT_THAT(purchases.buy, IsEmpty());
  EXPECT_NE(purchases.why_none, "");
  EXPECT_THAT(market.Removed(), ElementsAre("d"));
  EXPECT_EQ(market.answer().with, nullptr);
  const nlohmann::json json = nlohmann::json::parse(market.Json());
  EXPECT_EQ(json["summary"]["nodes"], 4);
  EXPECT_EQ(json["replace"]["with"]["netSavedPerHour"], 1);
}

TEST(PlanReplaceTest, PurchasesThatSaveLessThanMinSavingAreNotMade) {
  ThreeNodes market;
  market.Types(TypeText("m8", 8000, 2.2));
  market.replace().min_saving = 0.26;  // 0.8 of 3 is 27%.
  EXPECT_EQ(market.Answer().buy.size(), 1u);
  ThreeNodes other;
  other.Types(TypeText("m8", 8000, 2.2));
  other.replace().min_saving = 0.28;
  const PlanPurchases& purchases = other.Answer();
  EXPECT_THAT(purchases.why_none, HasSubstr("less than 28"));
  EXPECT_THAT(purchases.buy, IsEmpty());
}

TEST(PlanReplaceTest, PlansWithALowerScoreThanMinScoreAreNotMade) {
  // It saves 0.8 of 3, and disrupts all nodes and pods.
  for (const auto& [min_score, buys] : {std::pair(0.26, 1u), std::pair(0.27, 0u)}) {
    ThreeNodes market;
    market.Types(TypeText("m8", 8000, 2.2));
    market.replace().min_score = min_score;
    const PlanPurchases& purchases = market.Answer();
    EXPECT_EQ(purchases.buy.size(), buys) << purchases.why_none;
    EXPECT_NEAR(purchases.with.score, buys * 0.8 / 3, 1e-9);
  }
}

TEST(PlanReplaceTest, WhatMovesCostMustBeSavedToo) {
  // One node for three saves 0.8 and moves three pods.
  for (const auto& [move_cost, buys] : {std::pair(0.26, 1u), std::pair(0.27, 0u)}) {
    ThreeNodes market;
    market.Types(TypeText("m8", 8000, 2.2));
    market.replace().move_cost = move_cost;
    const PlanPurchases& purchases = market.Answer();
    EXPECT_EQ(purchases.buy.size(), buys) << purchases.why_none;
    EXPECT_NEAR(purchases.with.saved_per_hour, buys * 0.8, 1e-9) << "money, without moves";
  }
}

TEST(PlanReplaceTest, TheBestOfThePlansThatHaveTheScoreIsTaken) {
  // One m8 for all saves the most, with a score of 0.8 / 3.  The search goes on to sets of less.
  ThreeNodes market;
  market.Types(TypeText("m8", 8000, 2.2) + TypeText("m3", 3000, 0.3));
  market.replace().min_score = 0.6;
  market.replace().max_new_nodes = 1;
  const PlanPurchases& purchases = market.Answer();
  ASSERT_EQ(purchases.buy.size(), 1u) << purchases.why_none;
  EXPECT_EQ(purchases.buy[0].type, "m3");
  EXPECT_GE(purchases.with.score, 0.6);
}

TEST(PlanReplaceTest, DaemonSetsTakeRoomOnNewNodes) {
  // 3 * 2.5 CPUs fit on 8 CPUs, but not beside the pod of 0.6.
  for (const auto& [cpu, buys] : {std::pair(8000, 0u), std::pair(8200, 1u)}) {
    ThreeNodes market;
    for (const std::string_view node : {"a", "b", "c"}) {
      market.Add(Pod(absl::StrCat("ds-", Absl(node))).On(node).Cpu(600).DaemonSet());
    }
    market.Types(TypeText("m8", cpu, 2.2));
    EXPECT_EQ(market.Answer().buy.size(), buys) << cpu;
  }
}

TEST(PlanReplaceTest, TheLargestSizeOfAGroupHolds) {
  ThreeNodes market;
  market.Types(TypeText("m3", 3000, 0.7));
  market.replace().max_new_nodes = 3;
  market.Groups("nodeGroups: [{name: general, minSize: 0, maxSize: 4}]");
  const PlanPurchases& purchases = market.Answer();
  EXPECT_EQ(purchases.buy.size(), 1u);
  EXPECT_THAT(purchases.assumptions, Contains(HasSubstr("largest size of group general")));
}

TEST(PlanReplaceTest, TheSmallestSizeOfAGroupHoldsWithoutNewNodes) {
  ThreeNodes market;
  market.Types(TypeText("m8", 8000, 1.5));
  market.Groups("nodeGroups: [{name: general, minSize: 2, maxSize: 10}]");
  const PlanPurchases& purchases = market.Answer();
  EXPECT_THAT(purchases.buy, IsEmpty()) << "only one node may go, which costs less";
}

TEST(PlanReplaceTest, PodsOfOnDemandNodesDoNotMoveToNewSpotNodes) {
  const auto make = [](bool allow) {
    auto market = std::make_unique<Market>("types: {m4: 1, s1: 0.1}");
    market->Add(Machine("a", "m4", 4000)).Add(Pod("p").On("a").Cpu(3500));
    market->Add(Machine("spot", "s1", 1000, "SPOT")).Add(Pod("q").On("spot").Cpu(900));
    market->Types(
        "- {name: s4, groups: [general], capacity: {cpu: 4000m, memory: 64Gi}, "
        "offers: [{capacityType: spot, hourly: 0.3}]}\n");
    market->replace().allow_spot = allow;
    return market;
  };
  const auto refused = make(false);
  EXPECT_THAT(refused->Answer().buy, IsEmpty());
  EXPECT_THAT(Reasons(refused->answer().purchases), Contains("SpotFromOnDemand"));
  const auto allowed = make(true);
  EXPECT_THAT(TypesOf(allowed->Answer()), ElementsAre("s4"));
}

TEST(PlanReplaceTest, OneSpotNodeNeeds15CheaperSpotTypes) {
  const auto make = [](int cheaper) {
    auto market = std::make_unique<Market>("types: {s4: 1}");
    market->Add(Machine("spot", "s4", 4000, "SPOT")).Add(Pod("q").On("spot").Cpu(900));
    std::string types;
    for (int i = 0; i < cheaper; ++i) {
      absl::StrAppend(&types, "- {name: t", i, ", groups: [general], ",
                      "capacity: {cpu: 1000m, memory: 64Gi}, offers: [{hourly: 0.", 10 + i,
                      "}]}\n");
    }
    market->Types(types);
    return market;
  };
  const auto few = make(14);
  EXPECT_THAT(few->Answer().buy, IsEmpty());
  EXPECT_THAT(Reasons(few->answer().purchases), Contains("TooFewSpotTypes"));
  EXPECT_THAT(TypesOf(make(15)->Answer()), ElementsAre("t0"));
}

TEST(PlanReplaceTest, NewNodesHaveTheTaintsAndLabelsOfTheirType) {
  ThreeNodes market;
  market.Types(TypeText("m8", 8000, 2.2, ", taints: [{key: only, value: x, effect: NoSchedule}]"));
  EXPECT_THAT(market.Answer().buy, IsEmpty()) << "no pod tolerates the taint";
}

TEST(PlanReplaceTest, AnAnswerCountsNewNodesOnlyAfterThePlan) {
  ThreeNodes market;
  market.Types(TypeText("m8", 8000, 2.2));
  market.Answer();
  const nlohmann::json json = nlohmann::json::parse(market.Json());
  EXPECT_EQ(json["summary"]["nodes"], 3);
  EXPECT_EQ(json["summary"]["totals"]["before"]["nodes"], 3);
  EXPECT_EQ(json["summary"]["totals"]["after"]["nodes"], 1);
  EXPECT_THAT(json["keep"], IsEmpty());
  EXPECT_EQ(json["replace"]["buy"][0]["machineType"], "m8");
  EXPECT_EQ(json["replace"]["with"]["costPerHour"], 2.2);
}

TEST(PlanReplaceTest, WhatDoesNotGoWithPurchasesIsRefused) {
  ThreeNodes market;
  PlanQuery query = market.query();
  EXPECT_TRUE(CheckReplace(query, {}).ok());
  EXPECT_FALSE(CheckReplace(query, {.max_new_nodes = 0}).ok());
  EXPECT_FALSE(CheckReplace(query, {.min_saving = 1.5}).ok());
  EXPECT_FALSE(CheckReplace(query, {.min_score = -1}).ok());
  EXPECT_FALSE(CheckReplace(query, {.move_cost = -1}).ok());
  query.bound = true;
  EXPECT_THAT(CheckReplace(query, {}).message(), HasSubstr("bound"));
  query = market.query();
  query.prices.reset();
  EXPECT_THAT(CheckReplace(query, {}).message(), HasSubstr("prices"));
}

// --- NodePools of Karpenter ------------------------------------------------------------------

objects::NodePool Pool(std::string_view name = "general") {
  objects::NodePool pool;
  pool.meta.name = name;
  pool.has_budgets = true;
  pool.budgets.emplace_back().nodes = "100%";
  return pool;
}

Node OfPool(std::string_view name, std::string_view type, int64_t cpu,
            std::string_view pool = "general", std::string_view zone = "z1") {
  return Node(name)
      .Cpu(cpu)
      .Label("karpenter.sh/nodepool", pool)
      .Label("kubernetes.io/hostname", name)
      .Label("node.kubernetes.io/instance-type", type)
      .Label("topology.kubernetes.io/zone", zone)
      .Label("karpenter.sh/capacity-type", "on-demand");
}

// As ThreeNodes, of Karpenter.
struct ThreeOfPool : Market {
  explicit ThreeOfPool(const objects::NodePool& pool) : Market("types: {m4: 1}") {
    Add(pool);
    for (const std::string_view node : {"a", "b", "c"}) {
      Add(OfPool(node, "m4", 4000));
      Add(Pod(absl::StrCat("p-", Absl(node))).On(node).Cpu(2500));
    }
  }
};

std::vector<std::string> NamesOf(const PlanPurchases& purchases, std::string_view reason) {
  for (const PlanPurchases::Unusable& each : purchases.unusable) {
    if (each.reason == reason) return each.first;
  }
  return {};
}

TEST(PlanReplaceTest, OnlyMachinesThatMeetTheRequirementsAreBought) {
  const auto answer = [](objects::NodePool::Requirement asked) {
    objects::NodePool pool = Pool();
    pool.requirements = {std::move(asked)};
    auto market = std::make_unique<ThreeOfPool>(pool);
    market->Types(TypeText("m8.large", 8000, 2.2));
    market->Answer();
    return market;
  };
  using Asked = objects::NodePool::Requirement;
  const std::vector<Asked> met = {
      {"node.kubernetes.io/instance-type", "In", {"m4", "m8.large"}, {}},
      {"topology.kubernetes.io/zone", "NotIn", {"z2"}, {}},
      {"karpenter.k8s.aws/instance-cpu", "Gt", {"7"}, {}},
      {"karpenter.k8s.aws/instance-category", "In", {"m"}, {}},
      {"karpenter.k8s.aws/instance-gpu-count", "DoesNotExist", {}, {}},
      {"team", "In", {"a", "b"}, {}},
  };
  for (const Asked& each : met) {
    const auto market = answer(each);
    EXPECT_EQ(market->answer().purchases.buy.size(), 1u) << each.key << market->Json();
    EXPECT_TRUE(market->Verified().ok()) << market->Verified();
  }
  const std::vector<Asked> unmet = {
      {"node.kubernetes.io/instance-type", "In", {"m4"}, {}},
      {"topology.kubernetes.io/zone", "In", {"z2"}, {}},
      {"karpenter.sh/capacity-type", "In", {"spot"}, {}},
      {"karpenter.k8s.aws/instance-cpu", "Lte", {"7"}, {}},
      {"karpenter.k8s.aws/instance-generation", "Gt", {"8"}, {}},
      {"karpenter.k8s.aws/instance-local-nvme", "Exists", {}, {}},
  };
  for (const Asked& each : unmet) {
    const auto market = answer(each);
    EXPECT_THAT(market->answer().purchases.buy, IsEmpty()) << each.key;
    EXPECT_THAT(NamesOf(market->answer().purchases, "RequirementsNotMet"),
                Contains(HasSubstr(std::string(each.key))));
  }
  const auto unread = answer({"topology.kubernetes.io/zone", "Near", {"z1"}, {}});
  EXPECT_THAT(unread->answer().purchases.buy, IsEmpty());
  EXPECT_THAT(NamesOf(unread->answer().purchases, "RequirementsNotRead"),
              Contains(HasSubstr("requirements[0].operator")));
}

TEST(PlanReplaceTest, ANodePoolWithTooFewValuesForMinValuesGetsNoNodes) {
  for (const auto& [least, buys] : {std::pair(2, 1u), std::pair(3, 0u)}) {
    objects::NodePool pool = Pool();
    pool.requirements = {{"node.kubernetes.io/instance-type", "Exists", {}, least}};
    ThreeOfPool market(pool);
    market.Types(TypeText("m8", 8000, 2.2));
    EXPECT_EQ(market.Answer().buy.size(), buys);
    if (buys > 0) continue;
    EXPECT_THAT(NamesOf(market.answer().purchases, "RequirementsNotMet"),
                Contains(HasSubstr("minValues of node.kubernetes.io/instance-type")));
  }
}

TEST(PlanReplaceTest, LimitsHoldForAllNewNodesTogether) {
  // The three nodes have 12 CPUs, and a new one 3.
  const auto buys = [](int64_t cpu, int64_t nodes) {
    objects::NodePool pool = Pool();
    pool.limits = {{"cpu", cpu, 0}, {"nodes", nodes, 0}};
    auto market = std::make_unique<ThreeOfPool>(pool);
    market->Types(TypeText("m3", 3000, 0.7));
    market->replace().max_new_nodes = 3;
    market->Answer();
    return market;
  };
  EXPECT_EQ(buys(21'000, 6)->answer().purchases.buy.size(), 3u);
  EXPECT_EQ(buys(20'999, 6)->answer().purchases.buy.size(), 2u);
  EXPECT_EQ(buys(21'000, 4)->answer().purchases.buy.size(), 1u);
  const auto full = buys(14'999, 6);
  EXPECT_THAT(full->answer().purchases.buy, IsEmpty());
  EXPECT_THAT(NamesOf(full->answer().purchases, "LimitExceeded"), Contains(HasSubstr("cpu")));
}

TEST(PlanReplaceTest, TheStatusSaysWhatCountsForLimits) {
  for (const auto& [used, buys] : {std::pair(17'000, 1u), std::pair(17'001, 0u)}) {
    objects::NodePool pool = Pool();
    pool.limits = {{"cpu", 20'000, 0}};
    pool.resources = {{"cpu", used, 0}};
    ThreeOfPool market(pool);
    market.Types(TypeText("m3", 3000, 0.7));
    EXPECT_EQ(market.Answer().buy.size(), buys) << used;
  }
}

TEST(PlanReplaceTest, OfEqualOffersThatOfTheNodePoolWithTheLargerWeightIsBought) {
  for (const int64_t weight : {1, 100}) {
    objects::NodePool first = Pool("first");
    first.weight = 10;
    objects::NodePool second = Pool("second");
    second.weight = weight;
    Market market("types: {m4: 1}");
    market.Add(first).Add(second);
    for (const std::string_view pool : {"first", "second"}) {
      market.Add(OfPool(absl::StrCat("n-", Absl(pool)), "m4", 4000, pool));
      market.Add(Pod(absl::StrCat("p-", Absl(pool))).On(absl::StrCat("n-", Absl(pool))).Cpu(3000));
    }
    market.Types(
        "- {name: m8, groups: [first, second], capacity: {cpu: 8000m, memory: 64Gi}, "
        "offers: [{hourly: 1.5}]}\n");
    const PlanPurchases& purchases = market.Answer();
    ASSERT_EQ(purchases.buy.size(), 1u);
    EXPECT_EQ(purchases.buy[0].group, weight > 10 ? "second" : "first");
  }
}

TEST(PlanReplaceTest, NewNodesHaveTheLabelsAndTaintsOfTheTemplateButNotItsStartupTaints) {
  const auto buys = [](const objects::NodePool& pool) {
    ThreeOfPool market(pool);
    market.Types(TypeText("m8", 8000, 2.2));
    return market.Answer().buy.size();
  };
  objects::NodePool tainted = Pool();
  tainted.taints = {{"only", "x", "NoSchedule"}};
  EXPECT_EQ(buys(tainted), 0u) << "no pod tolerates the taint";
  objects::NodePool starting = Pool();
  starting.startup_taints = {{"only", "x", "NoSchedule"}};
  EXPECT_EQ(buys(starting), 1u);
  objects::NodePool unknown = Pool();
  unknown.not_bought = "spec.template.spec.paused";
  EXPECT_EQ(buys(unknown), 0u);

  objects::NodePool labelled = Pool();
  labelled.labels = {{"disk", "fast"}};
  ThreeOfPool market(labelled);
  market.Types(TypeText("m8", 8000, 2.2));
  ASSERT_EQ(market.Answer().buy.size(), 1u);
  const Catalog& catalog = market.answer().answer().cluster->snapshot.catalog();
  const NodeInfo& node = catalog.node(market.answer().purchases.buy[0].node);
  EXPECT_TRUE(std::ranges::any_of(node.labels, [&](const auto& label) {
    return catalog.Text(label.key) == "disk" && catalog.Text(label.value) == "fast";
  }));
}

TEST(PlanReplaceTest, MoreTriesThanAllowedAreLeftOutAndTheAnswerSaysSo) {
  ThreeNodes market;
  market.Types(TypeText("m3", 3000, 0.7));
  market.replace().max_tries = 1;
  const PlanPurchases& purchases = market.Answer();
  EXPECT_EQ(purchases.tried, 1u) << "the set without new nodes";
  EXPECT_THAT(purchases.assumptions, Contains(HasSubstr("ended after 1 set")));
}

// --- Random clusters -----------------------------------------------------------------------

struct RandomMarket {
  struct Machine {
    int64_t cpu = 0;
    double hourly = 0;
  };
  std::vector<Machine> types;              // The first three are those of nodes.
  std::vector<size_t> nodes;               // Their types.
  std::vector<std::vector<int64_t>> pods;  // By node.
  size_t max_new_nodes = 1;
  static constexpr int64_t kDaemon = 100;

  explicit RandomMarket(uint64_t seed) {
    test::Dice dice(seed);
    for (int i = 0; i < 5; ++i) {
      types.push_back(
          {.cpu = int64_t{1000} * (1 + dice.Below(8)), .hourly = 0.1 * (1 + dice.Below(40))});
    }
    const int count = 2 + dice.Below(3);
    for (int n = 0; n < count; ++n) {
      nodes.push_back(static_cast<size_t>(dice.Below(3)));
      int64_t left = types[nodes.back()].cpu - kDaemon;
      std::vector<int64_t>& list = pods.emplace_back();
      for (int p = dice.Below(3); p > 0; --p) {
        const int64_t cpu = int64_t{100} * (1 + dice.Below(30));
        if (cpu > left) continue;
        left -= cpu;
        list.push_back(cpu);
      }
    }
    max_new_nodes = dice.Percent(50) ? 2 : 1;
  }

  [[nodiscard]] std::unique_ptr<Market> Make() const {
    std::string prices = "types: {";
    std::string file;
    for (size_t t = 0; t < types.size(); ++t) {
      absl::StrAppend(&prices, t > 0 ? ", " : "", "t", t, ": ", types[t].hourly);
      file += TypeText(absl::StrCat("t", t), types[t].cpu, types[t].hourly);
    }
    auto market = std::make_unique<Market>(prices + "}");
    for (size_t n = 0; n < nodes.size(); ++n) {
      const std::string name = absl::StrCat("n", n);
      market->Add(
          plan_replace_test::Machine(name, absl::StrCat("t", nodes[n]), types[nodes[n]].cpu));
      market->Add(Pod("ds-" + name).On(name).Cpu(kDaemon).DaemonSet());
      for (size_t p = 0; p < pods[n].size(); ++p) {
        market->Add(Pod(absl::StrCat(name, "-", p)).On(name).Cpu(pods[n][p]));
      }
    }
    market->Types(file);
    market->replace().max_new_nodes = max_new_nodes;
    return market;
  }

  // Whether the pods fit into the room, tried in every way.
  static bool Fit(std::span<const int64_t> asked, std::vector<int64_t>& room) {
    if (asked.empty()) return true;
    for (int64_t& each : room) {
      if (each < asked.front()) continue;
      each -= asked.front();
      const bool fit = Fit(asked.subspan(1), room);
      each += asked.front();
      if (fit) return true;
    }
    return false;
  }

  // The most that any plan saves: each set of nodes, each set of at most `bought_max` new nodes.
  [[nodiscard]] double Best(size_t bought_max) const {
    std::vector<std::vector<size_t>> baskets = {{}};
    for (size_t a = 0; a < types.size() && bought_max > 0; ++a) {
      baskets.push_back({a});
      for (size_t b = a; b < types.size() && bought_max > 1; ++b) baskets.push_back({a, b});
    }
    double best = 0;
    for (uint32_t removed = 0; removed < (1u << nodes.size()); ++removed) {
      double saved = 0;
      std::vector<int64_t> asked;
      std::vector<int64_t> left;
      for (size_t n = 0; n < nodes.size(); ++n) {
        if ((removed >> n & 1) != 0) {
          saved += types[nodes[n]].hourly;
          asked.insert(asked.end(), pods[n].begin(), pods[n].end());
          continue;
        }
        int64_t room = types[nodes[n]].cpu - kDaemon;
        for (const int64_t cpu : pods[n]) room -= cpu;
        left.push_back(room);
      }
      for (const std::vector<size_t>& basket : baskets) {
        std::vector<int64_t> room = left;
        double net = saved;
        for (const size_t type : basket) {
          room.push_back(types[type].cpu - kDaemon);
          net -= types[type].hourly;
        }
        if (net > best && Fit(asked, room)) best = net;
      }
    }
    return best;
  }
};

TEST(PlanReplaceTest, NoPlanSavesMoreThanTheBestOfAllSetsAndMostSaveAsMuch) {
  const uint64_t seed = test::RandomSeed();
  constexpr int kMarkets = 60;
  int bought = 0;
  int as_good = 0;
  int bounds = 0;
  int close = 0;
  for (int i = 0; i < kMarkets; ++i) {
    SCOPED_TRACE(absl::StrCat("market ", i));
    const RandomMarket random(seed * 1000 + static_cast<uint64_t>(i));
    const std::unique_ptr<Market> market = random.Make();
    const PlanPurchases& purchases = market->Answer();
    const double best = random.Best(random.max_new_nodes);
    EXPECT_LE(purchases.with.saved_per_hour, best + 1e-6);
    EXPECT_LE(purchases.without.saved_per_hour, random.Best(0) + 1e-6);
    EXPECT_GE(purchases.with.saved_per_hour, purchases.without.saved_per_hour);
    if (purchases.least_cost_per_hour) {
      const double least = purchases.cost_per_hour - best;
      EXPECT_LE(*purchases.least_cost_per_hour, least + 1e-6) << "a cheaper set exists";
      EXPECT_GE(*GapOf(purchases), 0);
      ++bounds;
      close += *purchases.least_cost_per_hour > 0.5 * least ? 1 : 0;
    } else {
      EXPECT_EQ(purchases.types, 0u) << purchases.why_no_bound;
    }
    EXPECT_TRUE(market->Verified().ok()) << market->Verified();
    for (const PlanPurchases::Purchase& each : purchases.buy) EXPECT_GT(each.pods, 0u);
    bought += purchases.buy.empty() ? 0 : 1;
    as_good += purchases.with.saved_per_hour > best - 1e-6 ? 1 : 0;
  }
  std::printf("%d of %d buy, %d are as good as the best, %d of %d bounds are close\n", bought,
              kMarkets, as_good, close, bounds);
  EXPECT_GE(bounds, kMarkets / 2);
  EXPECT_GE(close, bounds / 4);
  EXPECT_GE(bought, kMarkets / 5);
  EXPECT_GE(as_good, kMarkets * 4 / 5);
}

TEST(PlanReplaceTest, TheAnswerIsTheSameWithTwoThreads) {
  const uint64_t seed = test::RandomSeed();
  for (int i = 0; i < 10; ++i) {
    const RandomMarket random(seed * 1000 + static_cast<uint64_t>(i));
    const std::unique_ptr<Market> one = random.Make();
    const std::unique_ptr<Market> two = random.Make();
    one->Answer(1);
    two->Answer(2);
    EXPECT_EQ(one->Json(), two->Json());
  }
}

}  // namespace
}  // namespace ebb::plan_replace_test
