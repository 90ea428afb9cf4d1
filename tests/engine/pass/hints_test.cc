// Where pods were last placed, across passes and catalogs.

#include "engine/pass/hints.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "snapshot/live/live_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::hints_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;

// All hints, sorted: "default/p>a default/q>b".
std::string All(const Hints& hints, const Symbols& symbols) {
  std::vector<std::string> each;
  hints.ForEach([&](TextId pod_key, TextId node) {
    each.push_back(std::string(symbols.Text(pod_key)) + ">" + std::string(symbols.Text(node)));
  });
  std::ranges::sort(each);
  std::string all;
  for (const std::string& hint : each) all += (all.empty() ? "" : " ") + hint;
  return all;
}

// The name of the node; "" for no hint.
std::string HintOf(const Hints& hints, const ClusterSnapshot& snapshot, std::string_view pod) {
  const NodeId node = hints.Get(PodNamed(snapshot, pod));
  return node == kNoNode ? "" : std::string(snapshot.catalog().NodeName(node));
}

class HintsTest : public ::testing::Test {
 protected:
  ClusterSnapshot Build(const std::vector<std::string>& nodes,
                        const std::vector<std::string>& pods) const {
    Cluster cluster(symbols_);
    for (const std::string& node : nodes) cluster.Add(Node(node));
    for (const std::string& pod : pods) cluster.Add(Pod(pod));
    return cluster.Build();
  }
  void Set(const ClusterSnapshot& snapshot, std::string_view pod, std::string_view node) {
    hints_.Set(PodNamed(snapshot, pod), NodeNamed(snapshot, node));
  }
  // By names, as in Restore.
  void SetByName(std::string_view pod_key, std::string_view node) {
    hints_.Set(symbols_->Intern(pod_key), symbols_->Intern(node));
  }
  std::string All() const { return hints_test::All(hints_, *symbols_); }

  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  Hints hints_;
};

TEST_F(HintsTest, APassThatSetsTheSameHintsChangesNothing) {
  const ClusterSnapshot snapshot = Build({"a", "b"}, {"p", "q"});
  hints_.Attach(snapshot.shared_catalog());
  EXPECT_EQ(hints_.size(), 2U);
  Set(snapshot, "p", "a");
  Set(snapshot, "q", "b");
  EXPECT_FALSE(hints_.DropOld()) << "they are new";
  Set(snapshot, "p", "a");
  Set(snapshot, "q", "b");
  EXPECT_TRUE(hints_.DropOld());
  EXPECT_EQ(All(), "default/p>a default/q>b");
  Set(snapshot, "p", "a");
  EXPECT_FALSE(hints_.DropOld()) << "that of q went";
  EXPECT_EQ(All(), "default/p>a");
  EXPECT_EQ(HintOf(hints_, snapshot, "q"), "");
  Set(snapshot, "p", "b");
  EXPECT_FALSE(hints_.DropOld()) << "it is another";
  EXPECT_EQ(HintOf(hints_, snapshot, "p"), "b");
  EXPECT_FALSE(hints_.DropOld()) << "it went";
  EXPECT_EQ(All(), "");
  EXPECT_TRUE(hints_.DropOld());
}

TEST_F(HintsTest, AHintByNameLivesForOneMorePassToo) {
  SetByName("default/p", "b");
  EXPECT_EQ(All(), "default/p>b");
  EXPECT_FALSE(hints_.DropOld());
  EXPECT_EQ(All(), "default/p>b");
  EXPECT_FALSE(hints_.DropOld());
  EXPECT_EQ(All(), "");
  EXPECT_TRUE(hints_.DropOld());
}

TEST_F(HintsTest, AHintByNameIsAsOldInTheCatalogThatHasItsPod) {
  SetByName("default/p", "b");
  EXPECT_FALSE(hints_.DropOld());
  SetByName("default/q", "a");
  const ClusterSnapshot snapshot = Build({"a", "b"}, {"p", "q"});
  hints_.Attach(snapshot.shared_catalog());
  EXPECT_EQ(HintOf(hints_, snapshot, "p"), "b");
  EXPECT_EQ(HintOf(hints_, snapshot, "q"), "a");
  EXPECT_FALSE(hints_.DropOld());
  EXPECT_EQ(HintOf(hints_, snapshot, "p"), "") << "it was old before";
  EXPECT_EQ(HintOf(hints_, snapshot, "q"), "a");
  EXPECT_FALSE(hints_.DropOld());
  EXPECT_EQ(All(), "");
}

TEST_F(HintsTest, HintsKeepTheirAgeInRebuiltCatalogs) {
  const ClusterSnapshot first = Build({"a", "b"}, {"p", "q"});
  const ClusterSnapshot second = Build({"b", "a"}, {"r", "q", "p"});
  const ClusterSnapshot third = Build({"a"}, {"q"});
  hints_.Attach(first.shared_catalog());
  Set(first, "p", "b");
  Set(first, "q", "a");
  hints_.Attach(second.shared_catalog());
  EXPECT_EQ(HintOf(hints_, second, "p"), "b");
  EXPECT_EQ(HintOf(hints_, second, "q"), "a");
  EXPECT_EQ(HintOf(hints_, second, "r"), "");
  EXPECT_FALSE(hints_.DropOld());
  Set(second, "r", "b");
  hints_.Attach(third.shared_catalog());
  EXPECT_EQ(HintOf(hints_, third, "q"), "a");
  EXPECT_EQ(All(), "default/p>b default/q>a default/r>b") << "of those that are away too";
  hints_.Attach(second.shared_catalog());
  EXPECT_EQ(HintOf(hints_, second, "p"), "b");
  EXPECT_EQ(HintOf(hints_, second, "q"), "a");
  EXPECT_EQ(HintOf(hints_, second, "r"), "b");
  EXPECT_FALSE(hints_.DropOld());
  EXPECT_EQ(All(), "default/r>b");
}

TEST_F(HintsTest, ANewHintTakesThePlaceOfTheOneByName) {
  SetByName("default/p", "b");
  const ClusterSnapshot without = Build({"a"}, {"p"});
  hints_.Attach(without.shared_catalog());
  EXPECT_EQ(HintOf(hints_, without, "p"), "");
  EXPECT_EQ(All(), "default/p>b");
  Set(without, "p", "a");
  EXPECT_EQ(All(), "default/p>a");
  const ClusterSnapshot with = Build({"a", "b"}, {"p"});
  hints_.Attach(with.shared_catalog());
  EXPECT_EQ(HintOf(hints_, with, "p"), "a");
}

// A catalog that changes in place.  Pods p and q run on a and have hints to b and to a.
class LiveHintsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Take(&a_.raw, Change::Type::kPut);
    Take(&b_.raw, Change::Type::kPut);
    Take(&p_.raw, Change::Type::kPut);
    Take(&q_.raw, Change::Type::kPut);
    hints_.Attach(live_.Snapshot().shared_catalog());
    hints_.Set(Id("p"), NodeNamed(live_.Snapshot(), "b"));
    hints_.Set(Id("q"), NodeNamed(live_.Snapshot(), "a"));
  }
  void Take(const objects::ObjectRef& object, Change::Type type) {
    const Change change{.type = type, .object = object};
    ASSERT_TRUE(live_.Take({&change, 1}).ok());
  }
  void Put(const objects::ObjectRef& object) { Take(object, Change::Type::kPut); }
  void Delete(const objects::ObjectRef& object) { Take(object, Change::Type::kDelete); }
  PodId Id(std::string_view pod) { return PodNamed(live_.Snapshot(), pod); }
  std::string Hint(std::string_view pod) { return HintOf(hints_, live_.Snapshot(), pod); }
  std::string All() const { return hints_test::All(hints_, *live_.symbols()); }

  const Node a_ = Node("a");
  const Node b_ = Node("b");
  const Pod p_ = Pod("p").On("a");
  const Pod q_ = Pod("q").On("a");
  const Pod r_ = Pod("r").On("a");
  LiveSnapshot live_;
  Hints hints_;
};

constexpr const char* kBoth = "default/p>b default/q>a";

TEST_F(LiveHintsTest, AHintToANodeThatWentIsThereAgainWhenTheNodeIs) {
  Delete(&b_.raw);
  hints_.CatchUp();
  EXPECT_EQ(Hint("p"), "");
  EXPECT_EQ(Hint("q"), "a");
  EXPECT_EQ(All(), kBoth);
  Put(&b_.raw);
  hints_.CatchUp();
  EXPECT_EQ(Hint("p"), "b");
  Delete(&b_.raw);
  Put(&b_.raw);
  hints_.CatchUp();
  EXPECT_EQ(Hint("p"), "b") << "under another id";
  EXPECT_EQ(All(), kBoth);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

TEST_F(LiveHintsTest, ThePodThatGetsAnIdDoesNotGetTheHint) {
  const PodId id = Id("q");
  Delete(&q_.raw);
  Put(&r_.raw);
  hints_.CatchUp();
  ASSERT_EQ(Id("r"), id);
  EXPECT_EQ(Hint("r"), "");
  EXPECT_EQ(All(), kBoth);
  Delete(&r_.raw);
  hints_.CatchUp();
  EXPECT_EQ(All(), kBoth) << "r had none";
  Put(&r_.raw);
  Put(&q_.raw);
  hints_.CatchUp();
  EXPECT_EQ(Hint("q"), "a");
  EXPECT_EQ(Hint("r"), "");
  EXPECT_EQ(Hint("p"), "b");
}

TEST_F(LiveHintsTest, APodAndTheNodeOfItsHintMayGoTogether) {
  Delete(&p_.raw);
  Delete(&b_.raw);
  hints_.CatchUp();
  EXPECT_EQ(All(), kBoth);
  Put(&p_.raw);
  hints_.CatchUp();
  EXPECT_EQ(Hint("p"), "");
  EXPECT_EQ(All(), kBoth);
  Put(&b_.raw);
  hints_.CatchUp();
  EXPECT_EQ(Hint("p"), "b");
}

TEST_F(LiveHintsTest, HintsSurviveAnyNumberOfPodChangesIfEachIsFollowed) {
  for (int i = 0; i < 1'500; ++i) {
    Put(&r_.raw);
    hints_.CatchUp();
    Delete(&r_.raw);
    hints_.CatchUp();
  }
  ASSERT_GT(live_.Snapshot().catalog().pod_changes().forgotten, 0U);
  EXPECT_EQ(All(), kBoth);
  EXPECT_EQ(Hint("p"), "b");
}

TEST_F(LiveHintsTest, HintsAreLostAfterMoreChangesThanTheLogKeeps) {
  for (int i = 0; i < 1'500; ++i) {
    Put(&r_.raw);
    Delete(&r_.raw);
  }
  ASSERT_GT(live_.Snapshot().catalog().pod_changes().forgotten, 0U);
  hints_.CatchUp();
  EXPECT_EQ(All(), "");
  hints_.Set(Id("p"), NodeNamed(live_.Snapshot(), "a"));
  hints_.CatchUp();
  EXPECT_EQ(All(), "default/p>a");
}

TEST_F(LiveHintsTest, AnEarlierVersionIsFollowedByNames) {
  LiveBranch before = live_.Branch();
  Delete(&q_.raw);
  Put(&r_.raw);
  hints_.Attach(live_.Snapshot().shared_catalog());
  hints_.Set(Id("r"), NodeNamed(live_.Snapshot(), "b"));
  hints_.Attach(before.Snapshot().shared_catalog());
  EXPECT_EQ(HintOf(hints_, before.Snapshot(), "p"), "b");
  EXPECT_EQ(HintOf(hints_, before.Snapshot(), "q"), "a");
  EXPECT_EQ(All(), "default/p>b default/q>a default/r>b");
  hints_.Attach(live_.Snapshot().shared_catalog());
  EXPECT_EQ(Hint("p"), "b");
  EXPECT_EQ(Hint("r"), "b");
  EXPECT_EQ(All(), "default/p>b default/q>a default/r>b");
}

}  // namespace
}  // namespace ebb::hints_test
