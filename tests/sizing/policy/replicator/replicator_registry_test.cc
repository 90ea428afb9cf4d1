#include "sizing/policy/replicator/replicator_registry.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/random_seed.h"

namespace ebb::replicator_registry_test {
namespace {

using Problem = ReplicatorProblem;
using Status = ReplicatorNodeRecord::Status;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;
using testing::SizeIs;

// A cluster whose nodes change one by one.
class ReplicatorRegistryTest : public testing::Test {
 protected:
  ReplicatorNodeRecord Node(const std::string& id, const std::string& pool,
                            const ReplicatorKeys& other = {}) {
    ReplicatorNodeRecord node{.id = id, .modify_index = ++index_};
    node.keys = {{"replicator_enabled", "true"},
                 {"replicator_worker_pool", pool},
                 {"replicator_region", "eu-west-1"},
                 {"replicator_notification_uid", "REP1"},
                 {"replicator_provider", "aws"}};
    for (const auto& [key, text] : other) node.keys[key] = text;
    return node;
  }

  std::vector<Problem> Take(const ReplicatorNodeRecord& node) {
    return Discover({node}, stored_, &registry_);
  }

  // The nodes of all pools, each with its pool.
  [[nodiscard]] std::multimap<std::string, std::string> Members() const {
    std::multimap<std::string, std::string> members;
    for (const auto& [name, pool] : registry_.pools) {
      for (const auto& [node, member] : pool.nodes) members.emplace(node, name);
    }
    return members;
  }

  uint64_t index_ = 0;
  std::map<std::string, ReplicatorKeys> stored_;
  ReplicatorRegistry registry_;
};

TEST_F(ReplicatorRegistryTest, FirstNodeMakesItsPool) {
  EXPECT_THAT(Take(Node("a", "web", {{"replicator_cooldown", "9"}})), IsEmpty());
  ASSERT_THAT(registry_.pools, ElementsAre(Key("web")));
  EXPECT_EQ(registry_.pools["web"].options.replicator_cooldown, 9);
  EXPECT_THAT(registry_.registered, ElementsAre(Pair("a", "web")));
}

TEST_F(ReplicatorRegistryTest, LastNodesValuesHoldButForTheProvider) {
  Take(Node("a", "web"));
  Take(Node(
      "b", "web",
      {{"replicator_cooldown", "9"}, {"replicator_provider", "gce"}, {"replicator_min", "2"}}));
  const ReplicatorOptions& options = registry_.pools["web"].options;
  EXPECT_EQ(options.replicator_cooldown, 9);
  EXPECT_EQ(options.replicator_min, 2);
  EXPECT_EQ(options.replicator_provider, "aws");
}

TEST_F(ReplicatorRegistryTest, DisagreementNamesTheNodesAndTheirKeys) {
  Take(Node("a", "web"));
  Take(Node("b", "web"));
  const std::vector<Problem> problems =
      Take(Node("c", "web", {{"replicator_cooldown", "9"}, {"replicator_max", "4"}}));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].kind, Problem::Kind::kNodesDisagree);
  EXPECT_EQ(problems[0].node, "c");
  EXPECT_THAT(problems[0].nodes, ElementsAre("a", "b"));
  EXPECT_THAT(problems[0].keys, ElementsAre("replicator_cooldown", "replicator_max"));
}

TEST_F(ReplicatorRegistryTest, NodeThatCorrectsItselfDisagreesNoLonger) {
  Take(Node("a", "web", {{"replicator_cooldown", "9"}}));
  EXPECT_THAT(Take(Node("b", "web")), SizeIs(1));
  EXPECT_THAT(Take(Node("a", "web")), IsEmpty());
  EXPECT_THAT(Take(Node("c", "web")), IsEmpty());
}

TEST_F(ReplicatorRegistryTest, NodeKeepsItsFirstCapacity) {
  ReplicatorNodeRecord node = Node("a", "web");
  node.capacity = {1000, 1000, 1000};
  Take(node);
  node = Node("a", "web");
  node.capacity = {2000, 2000, 2000};
  Take(node);
  EXPECT_EQ(registry_.pools["web"].nodes["a"].capacity.cpu, 1000);
}

TEST_F(ReplicatorRegistryTest, RecordsWithoutANewerIndexAreSkipped) {
  ReplicatorNodeRecord old = Node("b", "web");
  Take(Node("a", "web"));
  Take(old);
  EXPECT_THAT(registry_.registered, ElementsAre(Key("a")));
  old.modify_index = registry_.last_index;
  Take(old);
  EXPECT_THAT(registry_.registered, ElementsAre(Key("a")));
  old.modify_index = registry_.last_index + 1;
  Take(old);
  EXPECT_THAT(registry_.registered, ElementsAre(Key("a"), Key("b")));
}

TEST_F(ReplicatorRegistryTest, NodesOfOneListAreNewTogether) {
  ReplicatorNodeRecord a = Node("a", "web");
  ReplicatorNodeRecord b = Node("b", "web");
  std::swap(a.modify_index, b.modify_index);
  Discover({a, b}, stored_, &registry_);
  EXPECT_THAT(registry_.registered, ElementsAre(Key("a"), Key("b")));
}

TEST_F(ReplicatorRegistryTest, DownAndDrainingNodesLeave) {
  Take(Node("a", "web"));
  Take(Node("b", "web"));
  Take(Node("c", "web"));
  ReplicatorNodeRecord node = Node("a", "web");
  node.status = Status::kDown;
  Take(node);
  EXPECT_THAT(registry_.registered, ElementsAre(Key("b"), Key("c")));
  node = Node("b", "web");
  node.draining = true;
  Take(node);
  EXPECT_THAT(registry_.registered, ElementsAre(Key("c")));
}

TEST_F(ReplicatorRegistryTest, InitializingNodeStaysAsItIs) {
  Take(Node("a", "web"));
  ReplicatorNodeRecord node = Node("a", "db");
  node.status = Status::kInitializing;
  node.draining = true;
  Take(node);
  EXPECT_THAT(registry_.registered, ElementsAre(Pair("a", "web")));
}

TEST_F(ReplicatorRegistryTest, LastNodeTakesThePoolAlong) {
  Take(Node("a", "web"));
  EXPECT_TRUE(Deregister("a", &registry_));
  EXPECT_THAT(registry_.pools, IsEmpty());
  EXPECT_THAT(registry_.registered, IsEmpty());
  EXPECT_FALSE(Deregister("a", &registry_));
}

TEST_F(ReplicatorRegistryTest, ErrorInItsKeysTakesANodeOut) {
  Take(Node("a", "web"));
  Take(Node("b", "web"));
  const std::vector<Problem> problems = Take(Node("a", "web", {{"replicator_max", "zz"}}));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].kind, Problem::Kind::kUndecodable);
  EXPECT_THAT(registry_.registered, ElementsAre(Key("b")));
}

TEST_F(ReplicatorRegistryTest, DisabledNodeLeavesAndItsValuesHold) {
  Take(Node("a", "web"));
  Take(Node("b", "web"));
  Take(Node("a", "web", {{"replicator_enabled", "false"}}));
  EXPECT_THAT(registry_.registered, ElementsAre(Key("b")));
  EXPECT_FALSE(registry_.pools["web"].options.replicator_enabled);
}

TEST_F(ReplicatorRegistryTest, DisabledNodeNeitherJoinsNorMakesAPool) {
  Take(Node("a", "web", {{"replicator_enabled", "false"}}));
  EXPECT_THAT(registry_.pools, IsEmpty());
  Take(Node("b", "web"));
  Take(Node("a", "web", {{"replicator_enabled", ""}}));
  EXPECT_THAT(registry_.registered, ElementsAre(Key("b")));
}

TEST_F(ReplicatorRegistryTest, PoolNeedsAKnownProviderAndARegion) {
  const auto kind = [&](const ReplicatorKeys& keys) {
    const std::vector<Problem> problems = Take(Node("a", "web", keys));
    EXPECT_THAT(registry_.pools, IsEmpty());
    return problems.empty() ? Problem::Kind::kNodesDisagree : problems[0].kind;
  };
  EXPECT_EQ(kind({{"replicator_provider", ""}}), Problem::Kind::kNoProvider);
  EXPECT_EQ(kind({{"replicator_provider", "gce"}}), Problem::Kind::kUnknownProvider);
  EXPECT_EQ(kind({{"replicator_region", ""}}), Problem::Kind::kNoRegion);
}

TEST_F(ReplicatorRegistryTest, NodeThatChangesPoolsLeavesTheOldOne) {
  Take(Node("a", "web"));
  Take(Node("b", "web"));
  Take(Node("a", "db"));
  EXPECT_THAT(Members(), ElementsAre(Pair("a", "db"), Pair("b", "web")));
  Take(Node("b", "db"));
  EXPECT_THAT(registry_.pools, ElementsAre(Key("db")));
}

TEST_F(ReplicatorRegistryTest, ManyChangesLeaveEachNodeInOnePoolAtMost) {
  test::Dice dice(test::RandomSeed());
  const std::vector<std::string> nodes = {"a", "b", "c", "d"};
  const std::vector<std::string> pools = {"web", "db", ""};
  for (int i = 0; i < 5000; ++i) {
    const std::string id = dice.Of(nodes);
    const std::string pool = dice.Of(pools);
    ReplicatorNodeRecord node = Node(id, pool);
    if (dice.Percent(10)) node.status = Status::kDown;
    if (dice.Percent(10)) node.draining = true;
    if (dice.Percent(10)) node.keys["replicator_enabled"] = "false";
    if (dice.Percent(10)) node.keys["replicator_cooldown"] = "x";
    if (dice.Percent(10)) node.keys["replicator_provider"] = "gce";
    if (dice.Percent(10)) node.keys.erase("replicator_region");
    Take(node);
    const auto members = Members();
    ASSERT_EQ((std::map<std::string, std::string>(members.begin(), members.end())),
              registry_.registered);
    ASSERT_EQ(members.size(), registry_.registered.size());
    for (const auto& [name, made] : registry_.pools) ASSERT_FALSE(made.nodes.empty()) << name;
  }
}

TEST_F(ReplicatorRegistryTest, OnlyNodesWithOtherValuesDisagree) {
  Take(Node("a", "web", {{"replicator_cooldown", "9"}}));
  Take(Node("b", "web"));
  const std::vector<Problem> of_c = Take(Node("c", "web", {{"replicator_cooldown", "9"}}));
  ASSERT_THAT(of_c, SizeIs(1));
  EXPECT_THAT(of_c[0].nodes, ElementsAre("b"));
  EXPECT_THAT(of_c[0].keys, ElementsAre("replicator_cooldown"));
  EXPECT_EQ(of_c[0].pool, "web");
  // The node's own earlier values do not count.
  const std::vector<Problem> of_a = Take(Node("a", "web", {{"replicator_cooldown", "8"}}));
  ASSERT_THAT(of_a, SizeIs(1));
  EXPECT_THAT(of_a[0].nodes, ElementsAre("b", "c"));
}

TEST_F(ReplicatorRegistryTest, TheErrorForAPoolThatCannotBeMadeNamesItsNodeAndProvider) {
  const std::vector<Problem> problems = Take(Node("a", "web", {{"replicator_provider", "gce"}}));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].node, "a");
  EXPECT_EQ(problems[0].pool, "web");
  EXPECT_EQ(problems[0].provider, "gce");
  EXPECT_THAT(registry_.registered, IsEmpty());
}

TEST_F(ReplicatorRegistryTest, AMemberHasTheValuesOfItsNode) {
  Take(Node("b", "web"));
  ReplicatorNodeRecord node = Node("a", "web", {{"replicator_cooldown", "9"}});
  node.address = "10.0.0.1";
  node.capacity = {1, 2, 3};
  Take(node);
  const ReplicatorMember& member = registry_.pools["web"].nodes["a"];
  EXPECT_EQ(member.address, "10.0.0.1");
  EXPECT_EQ(member.capacity.disk, 3);
  EXPECT_EQ(member.options.replicator_cooldown, 9);
  EXPECT_EQ(registry_.last_index, index_);
}

TEST_F(ReplicatorRegistryTest, EveryProblemOfAListIsReturned) {
  ReplicatorNodeRecord skipped = Node("a", "web");
  skipped.modify_index = 0;
  const std::vector<Problem> problems =
      Discover({skipped, Node("b", "web", {{"replicator_max", "x"}}),
                Node("c", "db", {{"replicator_max", "y"}}), Node("d", "db")},
               stored_, &registry_);
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_EQ(problems[0].node, "b");
  EXPECT_EQ(problems[1].node, "c");
  EXPECT_THAT(registry_.registered, ElementsAre(Pair("d", "db")));
}

TEST_F(ReplicatorRegistryTest, ANodeWhoseNewPoolCannotBeMadeStaysInTheOldOne) {
  Take(Node("a", "web"));
  Take(Node("b", "web"));
  const std::vector<Problem> problems = Take(Node("a", "db", {{"replicator_provider", "gce"}}));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].kind, Problem::Kind::kUnknownProvider);
  EXPECT_EQ(problems[0].pool, "db");
  EXPECT_THAT(Members(), ElementsAre(Pair("a", "web"), Pair("b", "web")));
  // When the node is down it leaves its old pool, although its keys name another pool.
  ReplicatorNodeRecord down = Node("a", "db");
  down.status = Status::kDown;
  Take(down);
  EXPECT_THAT(Members(), ElementsAre(Pair("b", "web")));
}

TEST_F(ReplicatorRegistryTest, APoolThatANodeLeftForAnotherIsStillKnown) {
  Take(Node("a", "web"));
  Take(Node("a", "db"));
  EXPECT_THAT(registry_.pools, ElementsAre(Key("db")));
  EXPECT_THAT(Take(Node("b", "web", {{"replicator_provider", "gce"}})), IsEmpty());
  EXPECT_THAT(Members(), ElementsAre(Pair("a", "db"), Pair("b", "web")));
  EXPECT_EQ(registry_.pools["web"].options.replicator_provider, "aws");
}

// Written from the program's source: a node that changes pools stays listed in its old pool.
class Program {
 public:
  void Take(const ReplicatorNodeRecord& node) {
    const bool ready = node.status == Status::kReady;
    if (node.status == Status::kDown || (ready && node.draining)) Leave(node.id);
    if (!ready || node.draining) return;
    const auto value = [&](const char* key) {
      const auto found = node.keys.find(key);
      return found == node.keys.end() ? std::string() : found->second;
    };
    if (value("replicator_cooldown") == "x") return Leave(node.id);
    const std::string pool = value("replicator_worker_pool");
    const bool enabled = value("replicator_enabled") == "true";
    if (nodes_.contains(pool)) {
      if (enabled && nodes_[pool].insert(node.id).second) registered_[node.id] = pool;
    } else if (value("replicator_provider") == "aws") {
      nodes_[pool] = {node.id};
      registered_[node.id] = pool;
    }
    if (!enabled) Leave(node.id);
  }

  // The nodes that are still listed in a pool where they are not registered.
  [[nodiscard]] std::set<std::string> Listed() const {
    std::set<std::string> listed;
    for (const auto& [pool, nodes] : nodes_) {
      for (const std::string& node : nodes) {
        const auto entry = registered_.find(node);
        if (entry == registered_.end() || entry->second != pool) listed.insert(node);
      }
    }
    return listed;
  }
  [[nodiscard]] const std::map<std::string, std::string>& registered() const { return registered_; }

 private:
  void Leave(const std::string& node) {
    const auto entry = registered_.find(node);
    if (entry == registered_.end()) return;
    const auto pool = nodes_.find(entry->second);
    registered_.erase(entry);
    pool->second.erase(node);
    if (pool->second.empty()) nodes_.erase(pool);
  }

  std::map<std::string, std::set<std::string>> nodes_;
  std::map<std::string, std::string> registered_;
};

TEST_F(ReplicatorRegistryTest, NodesThatComeAndGoWithinARoundAreRegisteredAsInTheProgram) {
  test::Dice dice(test::RandomSeed());
  const std::vector<std::string> pools = {"pa", "pb", "pc"};
  for (int history = 0; history < 2000; ++history) {
    registry_ = {};
    Program program;
    std::set<std::string> haunted;  // Nodes that deliberately differ from then on.
    for (int round = 0; round < 8; ++round) {
      std::vector<ReplicatorNodeRecord> changed;
      for (const char* const id : {"d1", "d2", "d3", "d4"}) {
        if (dice.Percent(50)) continue;
        ReplicatorNodeRecord node = Node(id, dice.Of(pools));
        if (dice.Percent(15)) node.status = Status::kDown;
        if (dice.Percent(10)) node.status = Status::kInitializing;
        if (dice.Percent(10)) node.draining = true;
        if (dice.Percent(15)) node.keys["replicator_enabled"] = "false";
        if (dice.Percent(10)) node.keys["replicator_cooldown"] = "x";
        if (dice.Percent(15)) node.keys["replicator_provider"] = "gce";
        changed.push_back(node);
      }
      Discover(changed, stored_, &registry_);
      for (const ReplicatorNodeRecord& node : changed) program.Take(node);
      const std::set<std::string> listed = program.Listed();
      haunted.insert(listed.begin(), listed.end());
      auto expected = program.registered();
      auto registered = registry_.registered;
      for (const std::string& node : haunted) {
        expected.erase(node);
        registered.erase(node);
      }
      ASSERT_EQ(registered, expected) << "history " << history << ", round " << round;
    }
  }
}

TEST_F(ReplicatorRegistryTest, ANodeOfAMissingPoolCanLeave) {
  registry_.registered["a"] = "gone";
  Take(Node("b", "web"));
  EXPECT_TRUE(Deregister("a", &registry_));
  EXPECT_THAT(registry_.registered, ElementsAre(Pair("b", "web")));
  EXPECT_THAT(registry_.pools, ElementsAre(Key("web")));
}

TEST_F(ReplicatorRegistryTest, APoolStaysWhileANodeIsLeftInIt) {
  Take(Node("a", "web"));
  Take(Node("b", "web"));
  EXPECT_TRUE(Deregister("a", &registry_));
  EXPECT_THAT(Members(), ElementsAre(Pair("b", "web")));
}

}  // namespace
}  // namespace ebb::replicator_registry_test
