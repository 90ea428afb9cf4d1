// How the verifier evaluates selectors.

#include "engine/verify/slow_matches.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::slow_matches_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(SlowMatchesTest, GtAndLtCompareNumbersAndMatchNoOtherText) {
  const ClusterSnapshot snapshot = Cluster().Add(Node("n")).Build();
  Symbols& symbols = *snapshot.catalog().shared_symbols();
  const SlowMatches matches(snapshot.catalog());
  const TextId key = symbols.Intern("gen");
  // "above", "below" or "".
  const auto compared = [&](const LabelSet& labels, int64_t bound) {
    const LabelRequirement above{.key = key, .op = Operator::kGt, .values = {}, .bound = bound};
    const LabelRequirement below{.key = key, .op = Operator::kLt, .values = {}, .bound = bound};
    return std::string(matches.Holds(above, labels) ? "above" : "") +
           (matches.Holds(below, labels) ? "below" : "");
  };
  const auto text = [&](std::string_view value, int64_t bound) {
    return compared({{key, symbols.Intern(value)}}, bound);
  };
  for (const char* const twelve : {"12", "+12", "012"}) {
    EXPECT_EQ(text(twelve, 11), "above") << twelve;
    EXPECT_EQ(text(twelve, 12), "") << twelve;
    EXPECT_EQ(text(twelve, 13), "below") << twelve;
  }
  EXPECT_EQ(text("-12", -13), "above");
  EXPECT_EQ(text("-12", -12), "");
  EXPECT_EQ(text("-12", -11), "below");
  EXPECT_EQ(text("0", -1), "above");
  EXPECT_EQ(text("90", 89), "above");
  EXPECT_EQ(text("90", 90), "");
  EXPECT_EQ(text("9223372036854775807", kMost - 1), "above");
  EXPECT_EQ(text("9223372036854775807", kMost), "");
  EXPECT_EQ(text("-9223372036854775808", kLeast + 1), "below");
  EXPECT_EQ(text("-9223372036854775808", kLeast), "");
  for (const char* const none :
       {"", "+", "-", "+-1", "-+1", "--1", "1x", "x1", "1 ", "1:", "1/", "1.5", "0x1",
        "9223372036854775808", "-9223372036854775809", "99999999999999999999999999"}) {
    EXPECT_EQ(text(none, -5), "") << none;
    EXPECT_EQ(text(none, 5), "") << none;
  }
  EXPECT_EQ(compared({}, 5), "") << "no such label";
  EXPECT_EQ(compared({}, -5), "") << "no such label";
}

// Which pods of a cluster Find returns for a list of matchers.
class SlowMatchesFindTest : public ::testing::Test {
 protected:
  TextId T(std::string_view text) { return snapshot_.catalog().shared_symbols()->Intern(text); }
  std::vector<TextId> Ts(const std::vector<std::string_view>& texts) {
    std::vector<TextId> ids;
    for (const std::string_view text : texts) ids.push_back(T(text));
    std::ranges::sort(ids);
    return ids;
  }
  LabelRequirement Label(std::string_view key, Operator op,
                         const std::vector<std::string_view>& values = {}) {
    return {.key = T(key), .op = op, .values = Ts(values), .bound = 0};
  }
  PodMatcher In(const std::vector<std::string_view>& namespaces,
                std::vector<LabelRequirement> requirements) {
    return {.namespaces = Ts(namespaces),
            .all_namespaces = false,
            .selector = {.nothing = false, .requirements = std::move(requirements)}};
  }
  // The pods of the shapes that were found, "web-1 db"; each shape must be found once.
  std::string Found(const std::vector<PodMatcher>& all) {
    std::vector<PodShapeId> shapes = matches_.Find(all);
    std::ranges::sort(shapes);
    EXPECT_EQ(std::ranges::adjacent_find(shapes), shapes.end()) << "found twice";
    const Catalog& catalog = snapshot_.catalog();
    std::string names;
    for (uint32_t p = 0; p < catalog.pods(); ++p) {
      if (!std::ranges::binary_search(shapes, catalog.shape_id(PodId{p}))) continue;
      names += (names.empty() ? "" : " ") + std::string(catalog.Text(catalog.pod(PodId{p}).name));
    }
    return names;
  }

  ClusterSnapshot snapshot_ =
      Cluster()
          .Add(Node("n"))
          .Add(Pod("web-1").Label("app", "web"))
          .Add(Pod("web-2").Label("app", "web").Label("tier", "front").Priority(5))
          .Add(Pod("web-3").Label("app", "web").Label("tier", "front"))
          .Add(Pod("db").Label("app", "db").Label("tier", "back"))
          .Add(Pod("plain"))
          .Add(Pod("other").In("other").Label("app", "web"))
          .Build();
  SlowMatches matches_{snapshot_.catalog()};
};

TEST_F(SlowMatchesFindTest, EveryRequirementMustHold) {
  using enum Operator;
  EXPECT_EQ(Found({In({"default"}, {})}), "web-1 web-2 web-3 db plain");
  EXPECT_EQ(Found({In({"default"}, {Label("app", kIn, {"web"})})}), "web-1 web-2 web-3");
  EXPECT_EQ(Found({In({"default"}, {Label("app", kIn, {"web", "db"})})}), "web-1 web-2 web-3 db");
  EXPECT_EQ(Found({In({"default"}, {Label("app", kIn, {"web"}), Label("tier", kExists)})}),
            "web-2 web-3");
  EXPECT_EQ(Found({In({"default"}, {Label("tier", kExists)})}), "web-2 web-3 db");
  EXPECT_EQ(Found({In({"default"}, {Label("tier", kDoesNotExist)})}), "web-1 plain");
  EXPECT_EQ(Found({In({"default"}, {Label("app", kNotIn, {"web"})})}), "db plain");
  EXPECT_EQ(Found({In({"default"}, {Label("app", kNotIn, {"web"}), Label("app", kExists)})}), "db");
  EXPECT_EQ(Found({In({"default"}, {Label("app", kIn, {"none"})})}), "");
  EXPECT_EQ(Found({In({"none"}, {})}), "");
}

TEST_F(SlowMatchesFindTest, NamespacesAreListedOrAll) {
  using enum Operator;
  PodMatcher web = In({"default", "other"}, {Label("app", kIn, {"web"})});
  EXPECT_EQ(Found({web}), "web-1 web-2 web-3 other");
  web.namespaces = Ts({"other"});
  EXPECT_EQ(Found({web}), "other");
  web.all_namespaces = true;
  EXPECT_EQ(Found({web}), "web-1 web-2 web-3 other");
  web.namespaces.clear();
  EXPECT_EQ(Found({web}), "web-1 web-2 web-3 other");
  web.selector.nothing = true;
  EXPECT_EQ(Found({web}), "");
}

TEST_F(SlowMatchesFindTest, ADuplicateNamespaceOrValueMatchesOnce) {
  using enum Operator;
  EXPECT_EQ(Found({In({"default", "default"}, {})}), "web-1 web-2 web-3 db plain");
  EXPECT_EQ(Found({In({"default"}, {Label("app", kIn, {"web", "web"})})}), "web-1 web-2 web-3");
}

TEST_F(SlowMatchesFindTest, AllMatchersMustMatch) {
  using enum Operator;
  const PodMatcher web = In({"default"}, {Label("app", kIn, {"web"})});
  const PodMatcher front = In({"default"}, {Label("tier", kIn, {"front"})});
  const PodMatcher back = In({"default"}, {Label("tier", kIn, {"back"})});
  EXPECT_EQ(Found({web, front}), "web-2 web-3");
  EXPECT_EQ(Found({front, web}), "web-2 web-3");
  EXPECT_EQ(Found({web, back}), "");
  EXPECT_EQ(Found({back}), "db");
  EXPECT_EQ(Found({}), "web-1 web-2 web-3 db plain other");
}

}  // namespace
}  // namespace ebb::slow_matches_test
