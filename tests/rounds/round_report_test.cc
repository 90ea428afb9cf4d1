#include "rounds/round_report.h"

#include <gtest/gtest.h>

#include <string>

namespace ebb::round_report_test {
namespace {

// Symptom: "ScaleDownInCooldown" without the event that began it and without its end.
TEST(RoundReportTest, TheReportOfACooldownHasItsEventAndItsEnd) {
  constexpr int64_t kNoon = 1'780'315'200;  // 2026-06-01T12:00:00Z
  RoundResult result;
  EXPECT_EQ(RoundMessage(result), "");
  const auto message = [&](ScaleEventKind kind) {
    result.cooldown = {.kind = kind, .at_s = kNoon, .until_s = kNoon + 600};
    return RoundMessage(result);
  };
  const std::string until = "no node is deleted until 2026-06-01T12:10:00Z: the ";
  EXPECT_EQ(message(ScaleEventKind::kScaleUp),
            until + "scale-up was at 2026-06-01T12:00:00Z (--scale-down-delay-after-add)");
  EXPECT_EQ(message(ScaleEventKind::kDeletion),
            until + "deletion was at 2026-06-01T12:00:00Z (--scale-down-delay-after-delete)");
  EXPECT_EQ(
      message(ScaleEventKind::kFailedDeletion),
      until + "failed deletion was at 2026-06-01T12:00:00Z (--scale-down-delay-after-failure)");
  result.message = "another";
  EXPECT_EQ(RoundMessage(result), "another");
}

}  // namespace
}  // namespace ebb::round_report_test
