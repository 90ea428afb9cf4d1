#include "engine/pass/guests.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/random_seed.h"

namespace ebb::guests_test {
namespace {

std::vector<PodId> On(const Guests& guests, NodeId node) {
  std::vector<PodId> pods;
  guests.Append(node, pods);
  return pods;
}

TEST(GuestsTest, ListsPodsInTheOrderInWhichTheyCame) {
  Guests guests;
  guests.Reset(2);
  EXPECT_FALSE(guests.HasAny(NodeId{1}));
  std::vector<PodId> expected;
  for (uint32_t p = 0; p < 40; ++p) {  // More than one chunk.
    guests.Add(PodId{p}, NodeId{1});
    expected.push_back(PodId{p});
    EXPECT_EQ(On(guests, NodeId{1}), expected);
  }
  EXPECT_TRUE(guests.HasAny(NodeId{1}));
  EXPECT_FALSE(guests.HasAny(NodeId{0}));
}

TEST(GuestsTest, AppendsAfterWhatIsThere) {
  Guests guests;
  guests.Reset(1);
  guests.Add(PodId{5}, NodeId{0});
  guests.Add(PodId{3}, NodeId{0});
  std::vector<PodId> pods = {PodId{9}};
  guests.Append(NodeId{0}, pods);
  EXPECT_EQ(pods, (std::vector<PodId>{PodId{9}, PodId{5}, PodId{3}}));
}

// Compared with plain lists, over attempts that are kept and attempts that are undone.
TEST(GuestsTest, DoesAsPlainLists) {
  test::Dice dice(test::RandomSeed());
  Guests guests;
  for (int pass = 0; pass < 20; ++pass) {
    const int nodes = 1 + dice.Below(8);
    guests.Reset(static_cast<size_t>(nodes));
    std::vector<std::vector<PodId>> lists(static_cast<size_t>(nodes));
    for (int attempt = 0; attempt < 30; ++attempt) {
      std::vector<NodeId> added;
      for (int i = dice.Below(60); i > 0; --i) {
        const NodeId node{static_cast<uint32_t>(dice.Below(nodes))};
        const PodId pod{static_cast<uint32_t>(dice.Below(1000))};
        guests.Add(pod, node);
        lists[Index(node)].push_back(pod);
        added.push_back(node);
      }
      if (dice.Percent(50)) {
        for (; !added.empty(); added.pop_back()) {
          guests.TakeBack(added.back());
          lists[Index(added.back())].pop_back();
        }
      } else if (dice.Percent(50)) {
        const NodeId node{static_cast<uint32_t>(dice.Below(nodes))};
        guests.Forget(node);
        lists[Index(node)].clear();
      }
      for (int n = 0; n < nodes; ++n) {
        const NodeId node{static_cast<uint32_t>(n)};
        ASSERT_EQ(On(guests, node), lists[Index(node)]);
        ASSERT_EQ(guests.HasAny(node), !lists[Index(node)].empty());
      }
    }
  }
}

}  // namespace
}  // namespace ebb::guests_test
