#include "snapshot/shape_matches.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "snapshot/selector_index.h"
#include "tests/support/random_seed.h"

namespace ebb::shape_matches_test {
namespace {

using test::Dice;

TextId Text(int number) { return TextId{static_cast<uint32_t>(number)}; }

PodShape Shape(int namespace_name, LabelSet labels) {
  PodShape shape;
  shape.namespace_name = Text(namespace_name);
  shape.labels = std::move(labels);
  return shape;
}

PodMatcher Matcher(std::vector<LabelRequirement> requirements) {
  PodMatcher matcher{.namespaces = {}, .all_namespaces = true, .selector = {}};
  matcher.selector.requirements = std::move(requirements);
  return matcher;
}

LabelRequirement In(int key, std::vector<TextId> values) {
  return {.key = Text(key), .op = Operator::kIn, .values = std::move(values)};
}

std::vector<PodShapeId> Found(ShapeMatches& matches, const std::vector<PodMatcher>& matchers) {
  std::vector<PodShapeId> found;
  matches.ForEach(matchers, [&](PodShapeId shape) { found.push_back(shape); });
  return found;
}

// Ready for questions about every key of the shapes, and about those of RandomSelector.
ShapeMatches AboutAllKeys(const std::vector<PodShape>& shapes) {
  ShapeMatches matches(shapes);
  const auto expect = [&](TextId key) {
    matches.Expect(Matcher({{.key = key, .op = Operator::kExists, .values = {}}}));
  };
  for (int key = 1; key <= 4; ++key) expect(Text(key));
  for (const PodShape& shape : shapes) {
    for (const Label& label : shape.labels) expect(label.key);
  }
  return matches;
}

// --- Matches --------------------------------------------------------------------------

Selector RandomSelector(Dice& dice) {
  Selector selector;
  selector.nothing = dice.Percent(3);
  for (int r = dice.Below(4); r > 0; --r) {
    LabelRequirement requirement{
        .key = Text(1 + dice.Below(4)), .op = static_cast<Operator>(dice.Below(4)), .values = {}};
    std::set<TextId> values;
    for (int v = 1 + dice.Below(3); v > 0; --v) values.insert(Text(10 + dice.Below(5)));
    if (requirement.op == Operator::kIn || requirement.op == Operator::kNotIn) {
      requirement.values.assign(values.begin(), values.end());
    }
    selector.requirements.push_back(std::move(requirement));
  }
  return selector;
}

std::vector<PodShape> RandomShapes(Dice& dice) {
  std::vector<PodShape> shapes;
  for (int s = dice.Below(30); s >= 0; --s) {
    LabelSet labels;
    for (int key = 1; key <= 4; ++key) {
      if (dice.Percent(50)) labels.push_back({Text(key), Text(10 + dice.Below(5))});
    }
    shapes.push_back(Shape(20 + dice.Below(3), std::move(labels)));
  }
  return shapes;
}

std::vector<PodMatcher> RandomMatchers(Dice& dice) {
  std::vector<PodMatcher> matchers;
  for (int m = dice.Below(3); m > 0; --m) {
    PodMatcher& matcher = matchers.emplace_back();
    matcher.all_namespaces = dice.Percent(50);
    for (int n = 20; n < 23; ++n) {
      if (dice.Percent(50)) matcher.namespaces.push_back(Text(n));
    }
    matcher.selector = RandomSelector(dice);
  }
  return matchers;
}

bool AllMatch(const std::vector<PodMatcher>& matchers, const PodShape& shape) {
  return std::ranges::all_of(matchers, [&](const PodMatcher& m) { return m.Matches(shape); });
}

TEST(ShapeMatchesTest, FindsEveryShapeThatMatchesOnceAndNoOther) {
  const uint64_t seed = test::RandomSeed();
  Dice dice(seed);
  size_t matched = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<PodShape> shapes = RandomShapes(dice);
    ShapeMatches matches(shapes);
    std::vector<std::vector<PodMatcher>> questions(1 + dice.Below(4));
    for (std::vector<PodMatcher>& matchers : questions) {
      matchers = RandomMatchers(dice);
      for (const PodMatcher& matcher : matchers) matches.Expect(matcher);
    }
    for (const std::vector<PodMatcher>& matchers : questions) {
      std::vector<PodShapeId> want;
      for (uint32_t s = 0; s < shapes.size(); ++s) {
        if (AllMatch(matchers, shapes[s])) want.push_back(PodShapeId{s});
      }
      std::vector<PodShapeId> found = Found(matches, matchers);
      std::ranges::sort(found);
      ASSERT_EQ(found, want) << "round " << round;
      matched += found.size();
    }
  }
  EXPECT_GT(matched, 10'000u);
}

TEST(ShapeMatchesTest, NoMoreShapesMatchThanMayAndAllThatDoAreAmongThem) {
  Dice dice(test::RandomSeed());
  for (int round = 0; round < 1000; ++round) {
    const std::vector<PodShape> shapes = RandomShapes(dice);
    ShapeMatches matches = AboutAllKeys(shapes);
    std::vector<PodMatcher> matchers(1 + dice.Below(4));
    std::vector<std::span<const PodMatcher>> questions;
    std::set<PodShapeId> found;
    for (PodMatcher& matcher : matchers) {
      matcher.all_namespaces = true;
      matcher.selector = RandomSelector(dice);
      questions.emplace_back(&matcher, 1);
      size_t count = 0;
      matches.ForEach(questions.back(), [&](PodShapeId shape) {
        found.insert(shape);
        ++count;
      });
      ASSERT_LE(count, matches.Most(questions.back())) << "round " << round;
      ASSERT_LE(matches.Most(questions.back()), shapes.size()) << "round " << round;
    }
    std::set<PodShapeId> may;
    matches.ForEachThatMayMatch(questions, [&](PodShapeId shape) {
      ASSERT_TRUE(may.insert(shape).second) << "round " << round;
    });
    ASSERT_TRUE(std::ranges::includes(may, found)) << "round " << round;
  }
}

TEST(ShapeMatchesTest, TheLowestCandidateThatMatchesIsTheFirst) {
  Dice dice(test::RandomSeed());
  for (int round = 0; round < 1000; ++round) {
    const std::vector<PodShape> shapes = RandomShapes(dice);
    LabelIndex index;
    for (const PodShape& shape : shapes) index.Add(shape.labels);
    index.Finish();
    const Selector selector = RandomSelector(dice);
    LabelIndex::Candidates candidates(index);
    candidates.Narrow(selector);
    std::optional<uint32_t> want;
    for (uint32_t s = 0; s < shapes.size() && !want; ++s) {
      if (selector.Matches(shapes[s].labels)) want = s;
    }
    const auto matches = [&](uint32_t s) { return selector.Matches(shapes[s].labels); };
    ASSERT_EQ(candidates.First(matches), want) << "round " << round;
  }
}

TEST(ShapeMatchesTest, TheBroadestAreTooBroadAndTheFirstOfEqualOnesStay) {
  EXPECT_EQ(TooBroad(std::vector<uint64_t>{5, 1, 3}, 9), std::vector<bool>());
  EXPECT_EQ(TooBroad(std::vector<uint64_t>{5, 1, 3}, 8), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(TooBroad(std::vector<uint64_t>{4, 4, 1, 4}, 9),
            (std::vector<bool>{false, false, false, true}));
}

// --- While shapes and selectors are added and removed ---------------------------------------

// A SelectorIndex and everything that was added to it.
struct Changing {
  ShapeIndex index;
  std::vector<PodShape> shapes;
  SelectorIndex selectors{index, /*kinds=*/2};
  std::vector<std::vector<PodMatcher>> matchers;
  std::vector<size_t> kinds;

  void AddShape(const PodShape& shape) {
    shapes.push_back(shape);
    index.Add(shape);
    selectors.CountShape(shape);
  }
  void ChangeSelectors(Dice& dice) {
    const bool adds = matchers.empty() || dice.Percent(60);
    const int which = adds ? 0 : dice.Below(static_cast<int>(matchers.size()));
    if (adds) {
      matchers.push_back(RandomMatchers(dice));
      kinds.push_back(static_cast<size_t>(dice.Below(2)));
      selectors.Add(matchers.back(), kinds.back());
    } else if (dice.Percent(50)) {
      matchers[which] = RandomMatchers(dice);
      selectors.Replace(static_cast<uint32_t>(which), matchers[which]);
    } else {
      matchers.erase(matchers.begin() + which);
      kinds.erase(kinds.begin() + which);
      selectors.Remove(static_cast<uint32_t>(which));
    }
  }
  // In both directions, every match is among the possible matches, once and in order.
  void CheckFound() const {
    std::vector<std::vector<uint32_t>> for_shape;
    for (const PodShape& shape : shapes) {
      std::vector<uint32_t>& found = for_shape.emplace_back();
      selectors.ForEachSelector(shape, [&](uint32_t number) { found.push_back(number); });
      ASSERT_TRUE(std::ranges::is_sorted(found, std::less_equal<>()));
    }
    std::vector<uint64_t> pairs(2);
    for (uint32_t m = 0; m < matchers.size(); ++m) {
      std::vector<PodShapeId> found;
      selectors.ForEachShape(m, [&](PodShapeId shape) { found.push_back(shape); });
      ASSERT_TRUE(std::ranges::is_sorted(found, std::less_equal<>()));
      pairs[kinds[m]] += found.size();
      for (uint32_t s = 0; s < shapes.size(); ++s) {
        const bool may = std::ranges::binary_search(found, PodShapeId{s});
        ASSERT_EQ(may, std::ranges::binary_search(for_shape[s], m));
        ASSERT_TRUE(may || !AllMatch(matchers[m], shapes[s]));
      }
    }
    ASSERT_EQ(selectors.size(), matchers.size());
    for (const size_t kind : {0, 1}) ASSERT_EQ(selectors.most(kind), pairs[kind]);
  }
  // ShapeMatches counts no more matches, so a catalog within limits here is within limits there.
  void CheckMost() const {
    ShapeMatches matches = AboutAllKeys(shapes);
    std::vector<uint64_t> most(2);
    for (size_t m = 0; m < matchers.size(); ++m) most[kinds[m]] += matches.Most(matchers[m]);
    for (const size_t kind : {0, 1}) ASSERT_LE(most[kind], selectors.most(kind));
  }
};

TEST(SelectorIndexTest, FindsWhatMayMatchFromBothSidesWhileBothCome) {
  Dice dice(test::RandomSeed());
  for (int round = 0; round < 300; ++round) {
    Changing changing;
    for (const PodShape& shape : RandomShapes(dice)) changing.AddShape(shape);
    for (int step = 0; step < 30; ++step) {
      if (dice.Percent(30)) {
        changing.AddShape(RandomShapes(dice).front());
      } else {
        changing.ChangeSelectors(dice);
      }
    }
    ASSERT_NO_FATAL_FAILURE(changing.CheckFound()) << "round " << round;
    ASSERT_NO_FATAL_FAILURE(changing.CheckMost()) << "round " << round;
  }
}

TEST(SelectorIndexTest, SelectorsThatComeLastMatchAsManyShapesAsShapeMatchesSays) {
  Dice dice(test::RandomSeed());
  for (int round = 0; round < 1000; ++round) {
    Changing changing;
    for (const PodShape& shape : RandomShapes(dice)) changing.AddShape(shape);
    const std::vector<PodMatcher> matchers = RandomMatchers(dice);
    changing.selectors.Add(matchers);
    ShapeMatches matches = AboutAllKeys(changing.shapes);
    ASSERT_EQ(changing.selectors.most(), matches.Most(matchers)) << "round " << round;
  }
}

// --- Work -----------------------------------------------------------------------------

constexpr int kShapes = 2000;
constexpr int kApp = 1;      // The key of a label with the same value in every shape.
constexpr int kId = 2;       // The key of a label with a different value in every shape.
constexpr int kOwn = 10000;  // The first of kShapes keys, each of which only one shape has.

std::vector<PodShape> DistinctShapes() {
  std::vector<PodShape> shapes;
  for (int s = 0; s < kShapes; ++s) {
    shapes.push_back(
        Shape(50000 + s,
              {{Text(kApp), Text(5)}, {Text(kId), Text(5000 + s)}, {Text(kOwn + s), kNoText}}));
  }
  return shapes;
}

// Each query matches one shape.  Comparing every pair would take 4,000,000 comparisons.
void ExpectFewComparisons(const std::function<PodMatcher(int)>& ask) {
  const std::vector<PodShape> shapes = DistinctShapes();
  ShapeMatches matches = AboutAllKeys(shapes);
  for (int s = 0; s < kShapes; ++s) {
    EXPECT_EQ(Found(matches, {ask(s)}), std::vector{PodShapeId{static_cast<uint32_t>(s)}});
  }
  EXPECT_LE(matches.comparisons(), 2 * kShapes);
}

TEST(ShapeMatchesTest, ComparesOnlyShapesThatHaveTheRarestLabelOfTheSelector) {
  ExpectFewComparisons(
      [](int s) { return Matcher({In(kApp, {Text(5)}), In(kId, {Text(5000 + s)})}); });
}

TEST(ShapeMatchesTest, ComparesOnlyShapesThatHaveOneOfSeveralValues) {
  ExpectFewComparisons(
      [](int s) { return Matcher({In(kApp, {Text(5)}), In(kId, {Text(4), Text(5000 + s)})}); });
}

TEST(ShapeMatchesTest, ComparesOnlyShapesThatHaveTheKey) {
  ExpectFewComparisons([](int s) {
    return Matcher(
        {In(kApp, {Text(5)}), {.key = Text(kOwn + s), .op = Operator::kExists, .values = {}}});
  });
}

TEST(ShapeMatchesTest, ComparesOnlyShapesOfTheNamespaces) {
  ExpectFewComparisons([](int s) {
    return PodMatcher{.namespaces = {Text(50000 + s)}, .all_namespaces = false, .selector = {}};
  });
}

TEST(ShapeMatchesTest, ComparesShapesThatDifferInNoLabelOnce) {
  std::vector<PodShape> shapes(kShapes, Shape(1, {{Text(kApp), Text(5)}}));
  ShapeMatches matches = AboutAllKeys(shapes);
  EXPECT_EQ(Found(matches, {Matcher({In(kApp, {Text(5)})})}).size(), kShapes);
  EXPECT_EQ(matches.comparisons(), 1u);
}

TEST(ShapeMatchesTest, ComparesShapesThatDifferInLabelsThatNoSelectorReadsOnce) {
  std::vector<PodShape> shapes;
  for (int s = 0; s < kShapes; ++s) {
    shapes.push_back(Shape(1, {{Text(kApp), Text(5)}, {Text(kId), Text(5000 + s)}}));
  }
  const PodMatcher by_app = Matcher({In(kApp, {Text(5)})});
  ShapeMatches about_app(shapes);
  about_app.Expect(by_app);
  EXPECT_EQ(Found(about_app, {by_app}).size(), kShapes);
  EXPECT_EQ(about_app.comparisons(), 1u);
  EXPECT_EQ(about_app.Most({&by_app, 1}), kShapes);

  ShapeMatches about_both = AboutAllKeys(shapes);
  EXPECT_EQ(Found(about_both, {by_app}).size(), kShapes);
  EXPECT_EQ(about_both.comparisons(), kShapes);
}

TEST(ShapeMatchesTest, TheNumberOfMatchesIsExactForOneLabel) {
  const std::vector<PodShape> shapes = {
      Shape(20, {{Text(1), Text(10)}}), Shape(20, {{Text(1), Text(11)}}),
      Shape(20, {{Text(1), Text(10)}}), Shape(20, {{Text(1), Text(10)}}),
      Shape(21, {{Text(2), Text(10)}}), Shape(20, {{Text(1), Text(11)}, {Text(2), Text(12)}})};
  ShapeMatches matches = AboutAllKeys(shapes);
  const auto most = [&](const PodMatcher& matcher) { return matches.Most({&matcher, 1}); };
  const auto exists = [](int key) {
    return Matcher({{.key = Text(key), .op = Operator::kExists, .values = {}}});
  };
  EXPECT_EQ(most(Matcher({})), 6u);
  EXPECT_EQ(most(Matcher({In(1, {Text(10)})})), 3u);
  EXPECT_EQ(most(Matcher({In(1, {Text(11)})})), 2u);
  EXPECT_EQ(most(Matcher({In(1, {Text(10), Text(11)})})), 5u);
  EXPECT_EQ(most(Matcher({In(1, {Text(12)})})), 0u);
  EXPECT_EQ(most(exists(1)), 5u);
  EXPECT_EQ(most(exists(2)), 2u);
  EXPECT_EQ(most(exists(3)), 0u);
  EXPECT_EQ(most({.namespaces = {Text(21)}, .all_namespaces = false, .selector = {}}), 1u);
  EXPECT_EQ(most({.namespaces = {Text(20)}, .all_namespaces = false, .selector = {}}), 5u);
  EXPECT_EQ(most({.namespaces = {}, .all_namespaces = false, .selector = {}}), 0u);
  PodMatcher nothing = Matcher({});
  nothing.selector.nothing = true;
  EXPECT_EQ(most(nothing), 0u);
  EXPECT_EQ(matches.Most({}), 6u) << "no matcher";
}

TEST(ShapeMatchesTest, AShapeThatMayMatchSeveralQuestionsIsReturnedOnce) {
  const std::vector<PodShape> shapes = {
      Shape(20, {{Text(1), Text(10)}}), Shape(20, {{Text(1), Text(11)}}),
      Shape(20, {{Text(1), Text(10)}}), Shape(21, {{Text(2), Text(10)}}), Shape(22, {})};
  const auto may = [&](const std::vector<PodMatcher>& matchers) {
    ShapeMatches matches = AboutAllKeys(shapes);
    std::vector<std::span<const PodMatcher>> questions;
    for (const PodMatcher& matcher : matchers) questions.emplace_back(&matcher, 1);
    std::vector<uint32_t> found;
    matches.ForEachThatMayMatch(
        questions, [&](PodShapeId shape) { found.push_back(static_cast<uint32_t>(shape)); });
    std::ranges::sort(found);
    return found;
  };
  using Ids = std::vector<uint32_t>;
  const PodMatcher ten = Matcher({In(1, {Text(10)})});
  const PodMatcher any = Matcher({{.key = Text(1), .op = Operator::kExists, .values = {}}});
  const PodMatcher of_21{.namespaces = {Text(21)}, .all_namespaces = false, .selector = {}};
  EXPECT_EQ(may({}), Ids());
  EXPECT_EQ(may({ten}), (Ids{0, 2}));
  // `ten` lists the first shapes of `any`'s list; the union must use the longer list.
  EXPECT_EQ(may({ten, any}), (Ids{0, 1, 2}));
  EXPECT_EQ(may({any, ten}), (Ids{0, 1, 2}));
  EXPECT_EQ(may({of_21, ten, of_21}), (Ids{0, 2, 3}));
  EXPECT_EQ(may({ten, Matcher({}), of_21}), (Ids{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace ebb::shape_matches_test
