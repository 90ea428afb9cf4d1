// Durations: as Go's flags take them ("10m", "1h30m", "1.5s", "250ms", "0"), and as ebb
// prints them for people ("10 min", "1 h 30 min", "1.5 s", "250 ms").
//
// Source: Go time.ParseDuration.  Negative durations are rejected, because no flag accepts one.

#ifndef EBB_BASE_DURATION_H_
#define EBB_BASE_DURATION_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ebb {

// Returns nullopt if `text` is not a duration, is negative, or is longer than 292 years.
std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// The only format for durations in text for people: the two largest units that are not zero;
// smaller units are cut off: "under 0.1 ms", "8.4 ms", "57 ms", "2.4 s", "45 s", "10 min 30 s",
// "47 h", "2 d 3 h" (days from 48 hours on).  A negative duration is shown as 0.  Points in time
// are formatted by FormatRfc3339.
std::string DurationText(int64_t seconds);
std::string DurationText(std::chrono::duration<double> duration);

}  // namespace ebb

#endif  // EBB_BASE_DURATION_H_
