#include "session/plan_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/live/live_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::plan_digest_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A plan as a client has it: the removals in order, the kept nodes, and the utilizations, each with
// the hash of its entry.
struct ClientPlan {
  std::vector<std::pair<std::string, uint64_t>> removes;
  std::map<std::string, uint64_t> keeps;
  std::map<std::string, uint64_t> uses;
  bool operator==(const ClientPlan&) const = default;
};

PlanDigest DigestOf(const ClientPlan& plan) {
  PlanDigest digest;
  uint32_t place = 0;
  for (const auto& [node, entry] : plan.removes) {
    digest.nodes[node] = {.place = place++, .is_listed = true, .entry = entry};
  }
  for (const auto& [node, entry] : plan.keeps) {
    digest.nodes[node] = {.place = {}, .is_listed = true, .entry = entry};
  }
  for (const auto& [node, use] : plan.uses) digest.nodes[node].use = use;
  return digest;
}

// What PlanReply.whole tells clients to do.
ClientPlan Updated(ClientPlan plan, const ClientPlan& now, const PlanDifference& difference) {
  const auto is_dropped = [&](const std::string& node) {
    return difference.entries.contains(node) || std::ranges::binary_search(difference.gone, node);
  };
  std::erase_if(plan.removes, [&](const auto& each) { return is_dropped(each.first); });
  std::erase_if(plan.keeps, [&](const auto& each) { return is_dropped(each.first); });
  std::erase_if(plan.uses, [&](const auto& each) { return is_dropped(each.first); });
  for (size_t place = 0; place < now.removes.size(); ++place) {
    if (!difference.entries.contains(now.removes[place].first)) continue;
    plan.removes.insert(plan.removes.begin() + static_cast<std::ptrdiff_t>(place),
                        now.removes[place]);
  }
  for (const auto& each : now.keeps) {
    if (difference.entries.contains(each.first)) plan.keeps.insert(each);
  }
  for (const auto& each : now.uses) {
    if (difference.uses.contains(each.first)) plan.uses[each.first] = each.second;
  }
  return plan;
}

ClientPlan RandomPlan(std::mt19937& random) {
  const auto below = [&](uint32_t bound) { return random() % bound; };
  ClientPlan plan;
  for (int node = 0; node < 8; ++node) {
    const std::string name(1, static_cast<char>('a' + node));
    const uint32_t kind = below(4);
    if (kind == 0) plan.removes.emplace_back(name, below(2));
    if (kind == 1) plan.keeps.emplace(name, below(2));
    if (kind != 3 && below(4) > 0) plan.uses.emplace(name, 1 + below(2));
  }
  std::ranges::shuffle(plan.removes, random);
  return plan;
}

TEST(PlanDifferenceTest, AClientThatAppliesItHasThePlan) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const ClientPlan before = RandomPlan(random);
    const ClientPlan now = RandomPlan(random);
    const PlanDifference difference = DifferenceOf(DigestOf(before), DigestOf(now));
    EXPECT_EQ(Updated(before, now, difference), now) << "seed " << seed;
  }
}

TEST(PlanDifferenceTest, EqualPlansDifferInNothing) {
  const ClientPlan plan{.removes = {{"a", 1}, {"b", 2}}, .keeps = {{"c", 3}}, .uses = {{"a", 1}}};
  const PlanDifference difference = DifferenceOf(DigestOf(plan), DigestOf(plan));
  EXPECT_THAT(difference.entries, IsEmpty());
  EXPECT_THAT(difference.uses, IsEmpty());
  EXPECT_THAT(difference.gone, IsEmpty());
}

TEST(PlanDifferenceTest, ANodeThatComesFirstIsTheOnlyOneSent) {
  const ClientPlan before{.removes = {{"a", 1}, {"b", 2}}, .keeps = {{"c", 3}}, .uses = {}};
  const ClientPlan now{.removes = {{"c", 4}, {"a", 1}, {"b", 2}}, .keeps = {}, .uses = {}};
  const PlanDifference difference = DifferenceOf(DigestOf(before), DigestOf(now));
  EXPECT_THAT(difference.entries, UnorderedElementsAre("c"));
  EXPECT_THAT(difference.gone, IsEmpty());
}

TEST(PlanDifferenceTest, NodesThatLeaveAreNamed) {
  const ClientPlan before{.removes = {{"b", 2}, {"a", 1}}, .keeps = {{"c", 3}}, .uses = {}};
  const PlanDifference difference = DifferenceOf(DigestOf(before), DigestOf({}));
  EXPECT_THAT(difference.gone, ElementsAre("a", "b", "c"));
}

TEST(PodHashesTest, AnIdThatIsGivenAgainHasTheHashOfItsNewPod) {
  LiveSnapshot live;
  const auto change = [&](Change::Type type, const objects::ObjectRef& object) {
    const Change one{.type = type, .object = object};
    ASSERT_TRUE(live.Take({&one, 1}).ok());
  };
  const test::Node node("n");
  const test::Pod a = test::Pod("a").On("n");
  const test::Pod b = test::Pod("b").On("n");
  const test::Pod c = test::Pod("c").On("n");
  change(Change::Type::kPut, &node.raw);
  change(Change::Type::kPut, &a.raw);
  change(Change::Type::kPut, &b.raw);
  PodHashes kept;
  const auto hash_of = [&](PodHashes& hashes, const char* name) {
    hashes.Attach(live.Snapshot().catalog());
    return hashes.Of(live.FindPod("default", name));
  };
  const uint64_t of_a = hash_of(kept, "a");
  const uint64_t of_b = hash_of(kept, "b");
  EXPECT_NE(of_a, of_b);
  const PodId id = live.FindPod("default", "a");
  change(Change::Type::kDelete, &a.raw);
  change(Change::Type::kPut, &c.raw);
  ASSERT_EQ(live.FindPod("default", "c"), id);
  const uint64_t of_c = hash_of(kept, "c");
  EXPECT_NE(of_c, of_a);
  EXPECT_EQ(hash_of(kept, "b"), of_b);
  change(Change::Type::kPut, &a.raw);
  EXPECT_EQ(hash_of(kept, "a"), of_a);
  PodHashes fresh;
  EXPECT_EQ(hash_of(fresh, "c"), of_c);
}

TEST(PlanVersionsTest, RemembersTheLastPlansAndNoOthers) {
  PlanVersions versions("x");
  const auto digest = std::make_shared<const PlanDigest>();
  const std::string first = versions.Add(digest);
  EXPECT_EQ(versions.Find(first, PlanDigest::Form::kData), digest);
  EXPECT_EQ(versions.Find(first, PlanDigest::Form::kJson), nullptr);
  EXPECT_EQ(versions.Find("", PlanDigest::Form::kData), nullptr);
  EXPECT_EQ(PlanVersions("y").Find(first, PlanDigest::Form::kData), nullptr);
  for (size_t i = 1; i < PlanVersions::kKept; ++i) versions.Add(digest);
  EXPECT_EQ(versions.Find(first, PlanDigest::Form::kData), digest);
  EXPECT_NE(versions.Add(digest), first);
  EXPECT_EQ(versions.Find(first, PlanDigest::Form::kData), nullptr);
}

}  // namespace
}  // namespace ebb::plan_digest_test
