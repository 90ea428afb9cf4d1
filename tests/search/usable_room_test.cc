#include "search/usable_room.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::usable_room_test {
namespace {

using test::Dice;

using Amounts = std::vector<int64_t>;

Amounts MostOf(const std::vector<Amounts>& kinds, const Amounts& room) {
  Amounts most(room.size());
  UsableRoom(kinds).Of(room, most);
  return most;
}

TEST(UsableRoomTest, RoomForAPodAndAHalfIsUsableForOnePod) {
  EXPECT_EQ(MostOf({{2000, 4}}, {3900, 100}), (Amounts{2000, 4}));
}

TEST(UsableRoomTest, RoomThatFitsNoPodIsNotUsable) {
  EXPECT_EQ(MostOf({{2000, 4}, {2500, 1}}, {1999, 100}), (Amounts{0, 0}));
  EXPECT_EQ(MostOf({}, {1999, 100}), (Amounts{0, 0}));
}

TEST(UsableRoomTest, ANodeThatIsShortOfOneResourceCannotUseUpTheOther) {
  // The leanest takes a unit of the second for 100 of the first.
  EXPECT_EQ(MostOf({{100, 1}, {100, 2}}, {10'000, 5}), (Amounts{500, 5}));
}

TEST(UsableRoomTest, APodThatDoesNotRequestAResourceIsNotLimitedByIt) {
  EXPECT_EQ(MostOf({{100, 0}, {300, 2}}, {1000, 0}), (Amounts{1000, 0}));
}

TEST(UsableRoomTest, TheLargestAmountsDoNotOverflow) {
  constexpr int64_t kMost = int64_t{1} << 62;
  EXPECT_EQ(MostOf({{kMost, 1}, {1, kMost}}, {kMost, kMost}), (Amounts{kMost, kMost}));
}

// The most of a resource that any pods take together, by trying all.
int64_t Tried(const std::vector<Amounts>& kinds, const Amounts& room, size_t resource) {
  int64_t best = 0;
  const std::function<void(size_t, Amounts)> go = [&](size_t kind, Amounts left) {
    best = std::max(best, room[resource] - left[resource]);
    for (; kind < kinds.size(); ++kind) {
      Amounts after = left;
      bool fits = true;
      for (size_t r = 0; r < room.size(); ++r) {
        after[r] -= kinds[kind][r];
        fits = fits && after[r] >= 0;
      }
      if (fits) go(kind, after);
    }
  };
  go(0, room);
  return best;
}

TEST(UsableRoomTest, AllRoomThatPodsCanUseIsUsable) {
  Dice dice(test::RandomSeed());
  int64_t room_in_all = 0;
  int64_t usable_in_all = 0;
  int64_t tried_in_all = 0;
  for (int run = 0; run < 2000; ++run) {
    const size_t resources = 1 + static_cast<size_t>(dice.Below(3));
    std::vector<Amounts> kinds;
    for (int k = 0; k < 1 + dice.Below(4); ++k) {
      Amounts& kind = kinds.emplace_back();
      for (size_t r = 0; r < resources; ++r) kind.push_back(dice.Below(7));
      kind[0] += 1;  // A pod takes something.
    }
    Amounts room;
    for (size_t r = 0; r < resources; ++r) room.push_back(dice.Below(14));
    const Amounts most = MostOf(kinds, room);
    for (size_t r = 0; r < resources; ++r) {
      const int64_t tried = Tried(kinds, room, r);
      ASSERT_GE(most[r], tried) << "run " << run;
      ASSERT_LE(most[r], room[r]) << "run " << run;
      room_in_all += room[r];
      usable_in_all += most[r];
      tried_in_all += tried;
    }
  }
  // And it is much nearer to that than the room is.
  EXPECT_LT((usable_in_all - tried_in_all) * 3, room_in_all - tried_in_all);
}

TEST(UsableRoomTest, KindsThatFitDecideHowRoomIsRoundedAndHowLeanPodsAre) {
  struct Case {
    std::vector<Amounts> kinds;
    Amounts room;
    Amounts most;
  };
  const std::vector<Case> cases = {
      // Both fit: amounts are even, and there is a pod of 6 for the unit of the second.
      {{{4, 1}, {6, 1}}, {11, 1}, {6, 1}},
      {{{4, 1}, {6, 1}}, {11, 9}, {10, 2}},
      // 6 does not fit into 5.
      {{{4, 1}, {6, 1}}, {5, 1}, {4, 1}},
      {{{4, 1}, {6, 1}}, {4, 1}, {4, 1}},
      {{{6, 1}, {4, 1}}, {6, 1}, {6, 1}},
      // What takes none of the first sets no limit to what is taken of it by others.
      {{{100, 0}, {300, 2}}, {1000, 5}, {1000, 4}},
      {{{100, 0}, {300, 2}}, {500, 5}, {500, 2}},
      // Of the second only the other kind fits.
      {{{4, 5}, {6, 1}}, {11, 3}, {6, 1}},
      {{{4, 5}, {6, 1}}, {3, 9}, {0, 0}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(MostOf(cases[i].kinds, cases[i].room), cases[i].most) << "case " << i;
  }
}

}  // namespace
}  // namespace ebb::usable_room_test
