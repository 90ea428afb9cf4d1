// Signals of pools over time, from CSV or JSON.
//
//   time,pool,signal,value
//   2026-06-01T12:00:00Z,web,cpus,96
//
// JSON is a list of objects with the same four fields.  Times are RFC 3339 or integer seconds since
// the Unix epoch.  In CSV values may be NaN or infinite; the policies reject them.
//
// Errors:  InvalidArgument with file, line (CSV) or item (JSON) and field.
// Cost:    O(text); Latest is O(points).
// Threads: pure.

#ifndef EBB_SIZING_SIGNAL_SERIES_H_
#define EBB_SIZING_SIGNAL_SERIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sizing/policy/policy.h"

namespace ebb {

struct SignalPoint {
  int64_t at_s = 0;
  std::string pool;
  std::string signal;
  double value = 0;

  bool operator==(const SignalPoint&) const = default;
};

// Reads JSON if the first character that is not blank is "[", otherwise CSV.
absl::StatusOr<std::vector<SignalPoint>> ReadSignals(const std::string& file,
                                                     const std::string& text);

// The latest point of each signal of `pool` that is not after `now_s`.  Of two points at the same
// time, the later one in the file counts.
std::map<std::string, PolicySignal, std::less<>> Latest(const std::vector<SignalPoint>& points,
                                                        std::string_view pool, int64_t now_s);

// Names of the signals that are older than `period_s`; none if `period_s` is 0.
std::vector<std::string> StaleSignals(const PolicyObservation& observation, int64_t period_s,
                                      int64_t now_s);

}  // namespace ebb

#endif  // EBB_SIZING_SIGNAL_SERIES_H_
