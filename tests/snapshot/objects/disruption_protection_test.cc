#include "snapshot/objects/disruption_protection.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ebb::disruption_protection_test {
namespace {

constexpr int64_t kStart = 1'800'000'000;

objects::Pod Annotated(std::string_view key, std::string_view value,
                       std::optional<int64_t> start = kStart) {
  objects::Pod pod;
  pod.meta.annotations = {{key, value}};
  pod.start_time = start;
  return pod;
}
objects::Pod DoNotDisrupt(std::string_view value, std::optional<int64_t> start = kStart) {
  return Annotated("karpenter.sh/do-not-disrupt", value, start);
}

// Source: karpenter pkg/utils/pod/scheduling.go, IsDoNotDisruptActive; Go time.ParseDuration.
TEST(DisruptionProtectionTest, ADurationProtectsFromTheStartOn) {
  struct Case {
    const char* value;
    int64_t seconds;
  };
  for (const auto& [value, seconds] : {Case{"30m", 1800}, Case{"1h30m", 5400}, Case{"+1.5h", 5400},
                                       Case{"1h0.5s", 3601}, Case{"1ns", 1}, Case{"300ms", 1}}) {
    const auto protection = ProtectionOf(DoNotDisrupt(value));
    ASSERT_TRUE(protection.has_value()) << value;
    EXPECT_EQ(protection->ends, kStart + seconds) << value;
    EXPECT_FALSE(protection->start_unknown) << value;
    EXPECT_TRUE(AsksForStart(DoNotDisrupt(value).meta.annotations)) << value;
  }
}

TEST(DisruptionProtectionTest, APodWhoseStartIsNotKnownIsProtected) {
  const auto protection = ProtectionOf(DoNotDisrupt("30m", std::nullopt));
  ASSERT_TRUE(protection.has_value());
  EXPECT_EQ(protection->ends, std::nullopt);
  EXPECT_TRUE(protection->start_unknown);
}

TEST(DisruptionProtectionTest, TrueProtectsForever) {
  for (const objects::Pod& pod :
       {DoNotDisrupt("true"), Annotated("karpenter.sh/do-not-evict", "true")}) {
    const auto protection = ProtectionOf(pod);
    ASSERT_TRUE(protection.has_value());
    EXPECT_EQ(protection->ends, std::nullopt);
    EXPECT_FALSE(protection->start_unknown);
    EXPECT_FALSE(AsksForStart(pod.meta.annotations));
  }
}

TEST(DisruptionProtectionTest, AnUnparsableValueProtectsNothing) {
  for (const char* value : {"", "false", "True", "TRUE", " true", "0", "0s", "-5m", "30", "30 m",
                            " 30m", "30m ", "1d", "forever", "30M", "m", "9999999h"}) {
    EXPECT_FALSE(ProtectionOf(DoNotDisrupt(value)).has_value()) << value;
    EXPECT_FALSE(AsksForStart(DoNotDisrupt(value).meta.annotations)) << value;
  }
  EXPECT_FALSE(ProtectionOf(Annotated("karpenter.sh/do-not-evict", "5m")).has_value());
  EXPECT_FALSE(ProtectionOf(objects::Pod()).has_value());
}

}  // namespace
}  // namespace ebb::disruption_protection_test
