// CronSchedule: the times at which a cron expression is due, in UTC.
//
//   absl::StatusOr<CronSchedule> opening = CronSchedule::Parse("0 9 * * mon-fri");
//   std::optional<int64_t> next_s = opening->Next(now_s);
//
// Five fields (minute, hour, day of month, month, day of week) of numbers, names, ranges, steps and
// lists; or @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or "@every 1h30m".
// If neither day field begins with a star, a day is due that matches one of them.  Sunday is 0; 7
// is not a day.
//
// Units:   seconds since the Unix epoch.
// Cost:    Next visits at most the months and days of five years.
// Errors:  Parse: InvalidArgument that says what is wrong.
// Threads: pure.
// Source:  github.com/robfig/cron v3 (ParseStandard), which Karpenter uses.

#ifndef EBB_BASE_CRON_H_
#define EBB_BASE_CRON_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace ebb {

class CronSchedule {
 public:
  static absl::StatusOr<CronSchedule> Parse(std::string_view text);

  // The first time after `after_s`; nullopt: none within five years.
  [[nodiscard]] std::optional<int64_t> Next(int64_t after_s) const;

 private:
  // Bit n: the value n is due.  star: some part is a star without a step.
  struct Field {
    uint64_t bits = 0;
    bool star = false;
  };
  static absl::StatusOr<Field> ParseField(std::string_view text, int which);

  [[nodiscard]] bool IsDue(const Field& field, unsigned value) const {
    return (field.bits >> value & 1) != 0;
  }
  [[nodiscard]] bool IsDueOn(int64_t day) const;

  Field minute_, hour_, day_, month_, weekday_;
  int64_t every_s_ = 0;  // Above 0: "@every".
};

}  // namespace ebb

#endif  // EBB_BASE_CRON_H_
