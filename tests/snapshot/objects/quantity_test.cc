#include "snapshot/objects/quantity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "tests/support/quantity_twin.h"

namespace ebb::quantity_test {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t Whole(std::string_view text) {
  const auto amount = ParseQuantity(text, QuantityUnit::kWhole);
  EXPECT_TRUE(amount.ok()) << text << ": " << amount.status();
  return amount.value_or(-424242);
}

int64_t Milli(std::string_view text) {
  const auto amount = ParseQuantity(text, QuantityUnit::kMilli);
  EXPECT_TRUE(amount.ok()) << text << ": " << amount.status();
  return amount.value_or(-424242);
}

std::string WhyNot(std::string_view text, QuantityUnit unit = QuantityUnit::kWhole) {
  const auto amount = ParseQuantity(text, unit);
  return amount.ok() ? "parsed as " + std::to_string(*amount)
                     : std::string(amount.status().message());
}

TEST(QuantityTest, DecimalSuffixesCountThousands) {
  EXPECT_EQ(Whole("0"), 0);
  EXPECT_EQ(Whole("7"), 7);
  EXPECT_EQ(Whole("7k"), 7'000);
  EXPECT_EQ(Whole("7M"), 7'000'000);
  EXPECT_EQ(Whole("7G"), 7'000'000'000);
  EXPECT_EQ(Whole("7T"), 7'000'000'000'000);
  EXPECT_EQ(Whole("7P"), 7'000'000'000'000'000);
  EXPECT_EQ(Whole("7E"), 7'000'000'000'000'000'000);
}

TEST(QuantityTest, BinarySuffixesCountPowersOfTwo) {
  EXPECT_EQ(Whole("3Ki"), int64_t{3} << 10);
  EXPECT_EQ(Whole("3Mi"), int64_t{3} << 20);
  EXPECT_EQ(Whole("3Gi"), int64_t{3} << 30);
  EXPECT_EQ(Whole("3Ti"), int64_t{3} << 40);
  EXPECT_EQ(Whole("3Pi"), int64_t{3} << 50);
  EXPECT_EQ(Whole("3Ei"), int64_t{3} << 60);
  EXPECT_EQ(Whole("1.5Gi"), int64_t{3} << 29);
}

TEST(QuantityTest, ExponentsScaleAndABareEIsExa) {
  EXPECT_EQ(Whole("12e3"), 12'000);
  EXPECT_EQ(Whole("12E3"), 12'000);
  EXPECT_EQ(Whole("12e+3"), 12'000);
  EXPECT_EQ(Whole("12000e-3"), 12);
  EXPECT_EQ(Whole("1.25e2"), 125);
  EXPECT_EQ(Whole("1E"), 1'000'000'000'000'000'000);
}

TEST(QuantityTest, MilliValueCountsThousandths) {
  EXPECT_EQ(Milli("100m"), 100);
  EXPECT_EQ(Milli("0.1"), 100);
  EXPECT_EQ(Milli(".5"), 500);
  EXPECT_EQ(Milli("2"), 2'000);
  EXPECT_EQ(Milli("1500000u"), 1'500);
  EXPECT_EQ(Milli("1500000000n"), 1'500);
  EXPECT_EQ(Milli("1Ki"), 1'024'000);
}

TEST(QuantityTest, TheRemainderRoundsAwayFromZero) {
  EXPECT_EQ(Whole("1n"), 1);
  EXPECT_EQ(Whole("1001m"), 2);
  EXPECT_EQ(Milli("1u"), 1);
  EXPECT_EQ(Milli("100.1m"), 101);
  EXPECT_EQ(Whole("-1001m"), -2);
  EXPECT_EQ(Whole("1e-400"), 1) << "rounded up to a nano, then to one";
  EXPECT_EQ(Whole("0.0000000000000000000000000001"), 1);
  EXPECT_EQ(Whole("0.3Ki"), 308) << "307.2";
}

TEST(QuantityTest, BytesAfterTheTextAreNotRead) {
  const std::string_view text = "1234";
  EXPECT_EQ(Whole(text.substr(0, 2)), 12);
  EXPECT_EQ(Whole(text.substr(1, 1)), 2);
}

TEST(QuantityTest, SignsAndOddFormsAreTakenAsUpstreamTakesThem) {
  EXPECT_EQ(Whole("+5"), 5);
  EXPECT_EQ(Whole("-5k"), -5'000);
  EXPECT_EQ(Whole("007"), 7);
  EXPECT_EQ(Whole("1."), 1);
  EXPECT_EQ(Whole("1.G"), 1'000'000'000);
  EXPECT_EQ(Whole("1.000000000000000000000000"), 1);
  EXPECT_EQ(Whole("."), 0) << "zero in parseQuantityString";
  EXPECT_EQ(Whole("Ki"), 0) << "zero, too";
  EXPECT_EQ(Whole("0e99999"), 0);
}

TEST(QuantityTest, GarbageIsRefusedWithItsText) {
  for (const std::string_view text : {"Pi",    "-Ei",   ".Pi",   "e-10", "1e99999999999999999999",
                                      "",      "4x",    " 4",    "4 ",   "4 Gi",
                                      "four",  "--4",   "1.2.3", "1e",   "1e+",
                                      "1e++3", "1e3i",  "4gi",   "4mi",  "4KI",
                                      "0x10",  "1_000", "1,5",   "1m5",  "NaN",
                                      "inf"}) {
    EXPECT_EQ(WhyNot(text), "\"" + std::string(text) + "\" is not a quantity");
  }
  EXPECT_EQ(WhyNot("4\n"), "\"4\\n\" is not a quantity");
}

// Expected values are the answers of apimachinery v0.36.4.  Where its answer wraps, or is zero
// although the number is not, kMax is expected, and the comment has Kubernetes' answer.
TEST(QuantityTest, AmountsAreThoseOfKubernetesUpToInt64AndTheLargestBeyond) {
  struct Row {
    std::string_view text;
    int64_t whole;
    int64_t milli;
  };
  constexpr Row kRows[] = {
      {"0", 0, 0},
      {"1500u", 1, 2},
      {"0.3Ki", 308, 307'200},
      {"12345678901234567890123n", 12'345'678'901'235, 12'345'678'901'234'568},
      {"5T", 5'000'000'000'000, 5'000'000'000'000'000},
      {"5Pi", 5'629'499'534'213'120, 5'629'499'534'213'120'000},
      {"8Pi", 9'007'199'254'740'992, 9'007'199'254'740'992'000},
      {"9P", 9'000'000'000'000'000, 9'000'000'000'000'000'000},
      {"0.5Ei", 576'460'752'303'423'488, kMax},  // 4611686018427387904 milli.
      {"9Pi", 10'133'099'161'583'616, kMax},     // -8313644912125935616 milli.
      {"10P", 10'000'000'000'000'000, kMax},     // 0 milli.
      {"1E", 1'000'000'000'000'000'000, kMax},   // 0 milli.
      {"7Ei", 8'070'450'532'247'928'832, kMax},  // -9223372036854775808 milli.
      {"7.99Ei", 9'211'842'821'808'707'339, kMax},
      {"9.2E", 9'200'000'000'000'000'000, kMax},
      {"9223372036854775.807", 9'223'372'036'854'776, kMax},
      {"9223372036854775.8071", 9'223'372'036'854'776, kMax},  // -9223372036854775808 milli.
      {"9223372036854775807", kMax, kMax},                     // -1000 milli.
      {"8Ei", kMax, kMax},
      {"16Ei", kMax, kMax},
      {"1000Ei", kMax, kMax},
      {"9.3E", kMax, kMax},                  // 0.
      {"10E", kMax, kMax},                   // 0.
      {"9223372036854775808", kMax, kMax},   // -9223372036854775808.
      {"18446744073709551617", kMax, kMax},  // 1.
      {"1e19", kMax, kMax},                  // 0.
      {"1e400", kMax, kMax},                 // 0.
      {"1e9999999999", kMax, kMax},          // The exponent wraps too.
      {"1e-9999999999", 1, 1},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(Whole(row.text), row.whole) << row.text;
    EXPECT_EQ(Milli(row.text), row.milli) << row.text;
  }
  EXPECT_EQ(kMax, kUncountable);
  EXPECT_EQ(Whole("-10E"), -kMax);
}

// Symptom: a megabyte of digits took 90 s.
TEST(QuantityTest, DigitsAreReadOnceUpToTheLongestQuantity) {
  const size_t many = 1'000'000;
  EXPECT_EQ(Whole(std::string(many, '7')), kMax);
  EXPECT_EQ(Whole(std::string(many, '0') + "7"), 7);
  EXPECT_EQ(Whole("7." + std::string(many, '0')), 7);
  EXPECT_EQ(Whole("7." + std::string(many, '0') + "1"), 8);
  EXPECT_EQ(Milli("0.3" + std::string(many, '3') + "Ki"), 341'334);
  EXPECT_EQ(Whole("0." + std::string(many, '0') + "7"), 1) << "rounded up to a nano";
  EXPECT_EQ(Whole("7" + std::string(many, '0') + "e-1000000"), 7);
  EXPECT_EQ(Whole("0." + std::string(many, '0') + "7e1000001"), 7);
  EXPECT_EQ(Whole(std::string(kQuantityBytesMax, '7')), kMax);
  EXPECT_EQ(
      WhyNot(std::string(kQuantityBytesMax + 1, '7')),
      "\"" + std::string(40, '7') + "...\" has 2097153 bytes; a quantity has 2097152 at most");
}

TEST(QuantityTest, AnErrorLeavesTheAmountAlone) {
  ExactQuantity quantity{.amount = 17, .excess = 4};
  EXPECT_EQ(ParseQuantity("4x", QuantityUnit::kWhole, quantity), QuantityError::kNotAQuantity);
  EXPECT_EQ(quantity.amount, 17);
  EXPECT_EQ(quantity.excess, 4);
  EXPECT_EQ(ParseQuantity("9E9", QuantityUnit::kWhole, quantity), QuantityError::kNone);
  EXPECT_EQ(quantity.amount, 9'000'000'000);
  EXPECT_EQ(quantity.excess, 0);
  EXPECT_EQ(ParseQuantity(std::string(kQuantityBytesMax + 1, '1'), QuantityUnit::kWhole, quantity),
            QuantityError::kTooLong);
  EXPECT_EQ(quantity.amount, 9'000'000'000);
}

std::pair<int64_t, int32_t> Exact(std::string_view text, QuantityUnit unit) {
  ExactQuantity quantity;
  EXPECT_EQ(ParseQuantity(text, unit, quantity), QuantityError::kNone) << text;
  return {quantity.amount, quantity.excess};
}

TEST(QuantityTest, RoundingIsExactToTheNano) {
  using Pair = std::pair<int64_t, int32_t>;
  constexpr QuantityUnit kWhole = QuantityUnit::kWhole;
  constexpr QuantityUnit kMilli = QuantityUnit::kMilli;
  EXPECT_EQ(Exact("250m", kMilli), Pair(250, 0));
  EXPECT_EQ(Exact("2500u", kMilli), Pair(3, 500'000'000));
  EXPECT_EQ(Exact("1n", kMilli), Pair(1, 999'999'000));
  EXPECT_EQ(Exact("1n", kWhole), Pair(1, 999'999'999));
  EXPECT_EQ(Exact("1500m", kWhole), Pair(2, 500'000'000));
  EXPECT_EQ(Exact("0.3Ki", kWhole), Pair(308, 800'000'000));
  // Anything finer than a nano counts as a nano, for every unit and length of text.
  for (const char* tiny : {"1e-10", "1e-27", "1e-28", "1e-400", "0.00000000000000000000000001"}) {
    EXPECT_EQ(Exact(tiny, kMilli), Exact("1n", kMilli)) << tiny;
    EXPECT_EQ(Exact(tiny, kWhole), Exact("1n", kWhole)) << tiny;
  }
  EXPECT_EQ(Exact("1.000000000000000000000000001", kMilli), Pair(1001, 999'999'000));
  // Negative amounts have no excess, because they are never added up: readers reject them.
  EXPECT_EQ(Exact("-2500u", kMilli), Pair(-3, 0));
}

// Trailing zeros do not change the meaning of a number, but they move its parsing from the
// fast path (up to 18 digits) to the slow one.  So the two paths can be compared.
TEST(QuantityTest, LongNumbersMeanWhatShortOnesMean) {
  std::mt19937_64 random(20260601);
  constexpr std::string_view kSuffixes[] = {"",  "n",  "u",   "m",  "k",  "M",  "G",  "T",
                                            "P", "e3", "e-5", "Ki", "Mi", "Gi", "Ti", "Ei"};
  int compared = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string number =
        std::to_string(random() % 100'000) + "." + std::to_string(random() % 1'000'000);
    const std::string_view suffix = kSuffixes[random() % std::size(kSuffixes)];
    for (const QuantityUnit unit : {QuantityUnit::kWhole, QuantityUnit::kMilli}) {
      ExactQuantity few;
      ExactQuantity many;
      const auto few_error = ParseQuantity(number + std::string(suffix), unit, few);
      // A digit at the 30th decimal place, too small to matter beyond one nano.
      const std::string grown = number + std::string(24, '0') + "1";
      const auto many_error = ParseQuantity(grown + std::string(suffix), unit, many);
      ASSERT_EQ(few_error, many_error) << number << suffix;
      if (few.amount == kMax) {
        ASSERT_EQ(many.amount, kMax) << number << suffix;
        continue;
      }
      // It adds one nano to a number of whole nanos, and nothing to any other number.
      const auto billionths = [](const ExactQuantity& q) {
        return static_cast<__int128>(q.amount) * 1'000'000'000 - q.excess;
      };
      const __int128 added = billionths(many) - billionths(few);
      ASSERT_TRUE(added == 0 || added == (unit == QuantityUnit::kMilli ? 1000 : 1))
          << number << suffix;
      ExactQuantity zeros;
      ASSERT_EQ(ParseQuantity(number + std::string(24, '0') + std::string(suffix), unit, zeros),
                QuantityError::kNone);
      ASSERT_EQ(billionths(zeros), billionths(few)) << number << suffix;
      ++compared;
    }
  }
  EXPECT_GT(compared, 20'000);
}

// Lengths, points and exponents around every limit: 18 digits, 27 places, int64.
TEST(QuantityTest, AgreesWithTheTwinThatKnowsNoBorders) {
  std::mt19937_64 random(20261122);
  constexpr std::string_view kSuffixes[] = {
      "",   "n",  "u",  "m",  "k",   "M",  "G", "T",  "P",   "E",   "Ki",   "Mi",   "Gi",
      "Ti", "Pi", "Ei", "e3", "e-5", "E9", "E", "e0", "e18", "e-9", "e-18", "e-30", "e40"};
  const auto digits = [&](size_t zeros_max, size_t size_max) {
    std::string text(random() % (zeros_max + 1), '0');
    for (size_t size = random() % (size_max + 1); size > 0; --size) {
      text += static_cast<char>('0' + random() % 10);
    }
    return text;
  };
  for (int round = 0; round < 50'000; ++round) {
    std::string text = random() % 8 == 0 ? "-" : "";
    text += random() % 2 == 0 ? digits(2, 22) : std::string();
    if (random() % 4 != 0) text += "." + digits(24, 22) + std::string(random() % 3, '0');
    text += kSuffixes[random() % std::size(kSuffixes)];
    for (const QuantityUnit unit : {QuantityUnit::kWhole, QuantityUnit::kMilli}) {
      ExactQuantity quantity;
      if (ParseQuantity(text, unit, quantity) != QuantityError::kNone) continue;
      const ExactQuantity twin = QuantityTwin(text, unit);
      ASSERT_EQ(quantity.amount, twin.amount) << text;
      ASSERT_EQ(quantity.excess, twin.excess) << text;
    }
  }
}

TEST(QuantityTest, AnAmountThatRoundsUpToTheUncountableIsUncountable) {
  EXPECT_EQ(Exact("9223372036854775806.2", QuantityUnit::kWhole), std::pair(kMax, 0));
  EXPECT_EQ(Exact("9223372036854775805.2", QuantityUnit::kWhole), std::pair(kMax - 1, 800'000'000));
}

// Symptom, found by the fuzzer: 600 thousand units counted as one.
TEST(QuantityTest, FewDigitsAfterManyZerosCountBeforeABinarySuffix) {
  EXPECT_EQ(Whole(".00000000000052102639010001021Ei"), 600'703);
  EXPECT_EQ(Milli(".00000000000052102639010001021Ei"), 600'702'530);
  EXPECT_EQ(Exact(".000000000000000000000000000999999998Ei", QuantityUnit::kWhole),
            std::pair(int64_t{1}, 999'999'998));
}

TEST(QuantityTest, DigitsBeyondTheWordStillRoundUp) {
  EXPECT_EQ(Whole("1.0000000000000000000000000000000001"), 2);
  EXPECT_EQ(Whole("1.0000000000000000000000000000000001Ki"), 1025);
  EXPECT_EQ(Whole("00000000000000000000000000000000000000012"), 12);
  EXPECT_EQ(Whole("12000000000000000000000000000e-27"), 12);
  EXPECT_EQ(Milli("0.0010000000000000000000000000001"), 2);
}

TEST(QuantityTest, OnlyCpuIsCountedInThousandths) {
  EXPECT_EQ(UnitOfResource("cpu"), QuantityUnit::kMilli);
  for (const std::string_view name : {"memory", "pods", "ephemeral-storage", "nvidia.com/gpu"}) {
    EXPECT_EQ(UnitOfResource(name), QuantityUnit::kWhole) << name;
  }
}

}  // namespace
}  // namespace ebb::quantity_test
