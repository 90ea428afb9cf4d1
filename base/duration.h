// Durations as Go's flags take them: "10m", "1h30m", "1.5s", "250ms", "0".
//
// Source: Go time.ParseDuration; negative durations are refused, because no flag takes one.

#ifndef EBB_BASE_DURATION_H_
#define EBB_BASE_DURATION_H_

#include <chrono>
#include <optional>
#include <string_view>

namespace ebb {

// nullopt: not a duration, negative, or longer than 292 years.
std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);

}  // namespace ebb

#endif  // EBB_BASE_DURATION_H_
