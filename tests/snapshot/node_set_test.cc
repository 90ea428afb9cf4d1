#include "snapshot/node_set.h"

#include <vector>

#include "gtest/gtest.h"

namespace ebb::node_set_test {
namespace {

std::vector<uint32_t> Members(const NodeSet& set) {
  std::vector<uint32_t> members;
  set.ForEach([&](NodeId node) { members.push_back(static_cast<uint32_t>(Index(node))); });
  return members;
}

TEST(NodeSetTest, HoldsMembersAtTheEdgesOfWordsInOrder) {
  NodeSet set(130);
  for (const uint32_t node : {129u, 0u, 63u, 64u, 127u, 128u}) set.Insert(NodeId{node});
  EXPECT_EQ(Members(set), (std::vector<uint32_t>{0, 63, 64, 127, 128, 129}));
  EXPECT_EQ(set.Count(), 6u);
  set.Erase(NodeId{64});
  set.Set(NodeId{63}, false);
  set.Set(NodeId{1}, true);
  EXPECT_EQ(Members(set), (std::vector<uint32_t>{0, 1, 127, 128, 129}));
  EXPECT_FALSE(set.Contains(NodeId{64}));
  EXPECT_TRUE(set.Contains(NodeId{129}));
}

TEST(NodeSetTest, HasOneWordForEveryStarted64Nodes) {
  EXPECT_EQ(NodeSet(0).words().size(), 0u);
  EXPECT_EQ(NodeSet(1).words().size(), 1u);
  EXPECT_EQ(NodeSet(64).words().size(), 1u);
  EXPECT_EQ(NodeSet(65).words().size(), 2u);
}

TEST(NodeSetTest, GrowingKeepsMembersAndAddsNone) {
  NodeSet set(10);
  set.Insert(NodeId{9});
  set.Resize(200);
  EXPECT_EQ(Members(set), std::vector<uint32_t>{9});
  EXPECT_EQ(set.range(), 200u);
}

}  // namespace
}  // namespace ebb::node_set_test
