// The range of valid times: the years 1 to 9999, as in RFC 3339, in seconds since the Unix
// epoch.  Durations are at most a century.
//
// Sums and differences of a few such times and durations do not overflow an int64.

#ifndef EBB_BASE_TIME_RANGE_H_
#define EBB_BASE_TIME_RANGE_H_

#include <algorithm>
#include <cstdint>

namespace ebb {

inline constexpr int64_t kEarliestTimeS = -62'135'596'800;  // 0001-01-01T00:00:00Z
inline constexpr int64_t kLatestTimeS = 253'402'300'799;    // 9999-12-31T23:59:59Z
inline constexpr int64_t kLongestDurationS = int64_t{100} * 366 * 24 * 3600;

constexpr bool IsTime(int64_t time_s) { return kEarliestTimeS <= time_s && time_s <= kLatestTimeS; }

// `time_s` itself, or the nearer end of the range if it is outside.
constexpr int64_t NearestTime(int64_t time_s) {
  return std::clamp(time_s, kEarliestTimeS, kLatestTimeS);
}

}  // namespace ebb

#endif  // EBB_BASE_TIME_RANGE_H_
