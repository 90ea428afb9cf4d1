#include "cel/values.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb::cel::values_test {
namespace {

Quantity Parse(std::string_view text) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.ok()) << text << ": " << quantity.status();
  return quantity.value_or(Quantity(-424242));
}

absl::StatusCode WhyNot(std::string_view text) { return Quantity::Parse(text).status().code(); }

TEST(CelQuantityTest, AmountsAreExactToTheNano) {
  EXPECT_EQ(Parse("1500m").nanos(), 1'500'000'000);
  EXPECT_EQ(Parse("1.5").nanos(), 1'500'000'000);
  EXPECT_EQ(Parse("2Ki").nanos(), absl::int128(2048) * 1'000'000'000);
  EXPECT_EQ(Parse("0.1n").nanos(), 1);  // Away from zero.
  EXPECT_EQ(Parse("-0.1n").nanos(), -1);
  EXPECT_EQ(Parse("1e3"), Parse("1k"));
}

TEST(CelQuantityTest, BinaryAmountsEndAtInt64) {
  EXPECT_EQ(Parse("100Ei").nanos(), absl::int128(INT64_MAX) * 1'000'000'000);
  EXPECT_GT(Parse("100E").nanos(), absl::int128(INT64_MAX) * 1'000'000'000);
}

TEST(CelQuantityTest, IntegersAreThoseThatKubernetesHoldsAsInt64) {
  EXPECT_EQ(Parse("1Ki").AsInt64(), 1024);
  EXPECT_EQ(Parse("3k").AsInt64(), 3000);
  EXPECT_EQ(Parse("1.0").AsInt64(), std::nullopt);
  EXPECT_EQ(Parse("1.5Ki").AsInt64(), std::nullopt);
  EXPECT_TRUE(Parse("1.5Ki").is_decimal());
}

TEST(CelQuantityTest, SumsAreExact) {
  EXPECT_EQ(Parse("1k").Add(Parse("500m"))->nanos(), absl::int128(1'000'500) * 1'000'000);
  EXPECT_EQ(Parse("1").Subtract(Parse("2"))->Sign(), -1);
  EXPECT_EQ(Parse("0").Add(Parse("0"))->AsInt64(), 0);
}

TEST(CelQuantityTest, RefusesOtherTexts) {
  for (const std::string_view text : {"", "x", "1 ", "1Gib", "--1", "1e", "1e+-5", "Ki1"}) {
    EXPECT_EQ(WhyNot(text), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(WhyNot("1e50"), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(WhyNot("1e-5000"), absl::StatusCode::kUnimplemented);
}

TEST(SemverTest, ParsesOnlyWholeVersions) {
  const std::optional<Semver> version = Semver::Parse("1.2.3-rc.1+build.5");
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->minor, 2u);
  EXPECT_EQ(version->prerelease, "rc.1");
  EXPECT_EQ(version->build, "build.5");
  for (const std::string_view text :
       {"", "1", "1.2", "v1.2.3", "1.02.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b", "1.2.x",
        "99999999999999999999.0.0"}) {
    EXPECT_FALSE(Semver::Parse(text).has_value()) << text;
  }
}

TEST(SemverTest, ComparesByPrecedence) {
  constexpr std::string_view kAscending[] = {"1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta",
                                             "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
                                             "1.0.0",        "1.0.1",         "1.10.0"};
  for (size_t i = 1; i < std::size(kAscending); ++i) {
    const Semver less = *Semver::Parse(kAscending[i - 1]);
    const Semver more = *Semver::Parse(kAscending[i]);
    EXPECT_EQ(less.Compare(more), -1) << i;
    EXPECT_EQ(more.Compare(less), 1) << i;
    EXPECT_EQ(more.Compare(more), 0) << i;
  }
  EXPECT_EQ(Semver::Parse("1.0.0+a")->Compare(*Semver::Parse("1.0.0+b")), 0);
}

}  // namespace
}  // namespace ebb::cel::values_test
