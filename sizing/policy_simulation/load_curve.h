// LoadCurve: how many pods are wanted over time.
//
// Units:   pods; seconds since the beginning of the load.
// Cost:    At is O(log points).
// Threads: const methods may run concurrently.

#ifndef EBB_SIZING_POLICY_SIMULATION_LOAD_CURVE_H_
#define EBB_SIZING_POLICY_SIMULATION_LOAD_CURVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sizing/signal_series.h"

namespace ebb {

class LoadCurve {
 public:
  struct Point {
    int64_t at_s;
    int64_t pods;
    friend bool operator==(const Point&, const Point&) = default;
  };

  // Points are in order of time, and the first is at time 0; each holds until the next.  REQUIRES:
  // not empty.
  explicit LoadCurve(std::vector<Point> points);

  [[nodiscard]] int64_t At(int64_t time_s) const;
  [[nodiscard]] int64_t most() const { return most_; }

  // "day": from half of `pods` at two in the morning to one and a half times `pods` at two in the
  // afternoon; time 0 is eight in the morning.  "spike": twice `pods` for an hour in the middle.
  // "ramp": from half of `pods` to one and a half times `pods`.  Always between 1 and ten million
  // pods.  Errors: NotFound: an unknown name.
  static absl::StatusOr<LoadCurve> Generated(std::string_view name, int64_t pods,
                                             int64_t duration_s);
  static std::vector<std::string> Names();

  // The signal "pods" of a pool, whose first point becomes time 0.  Errors: NotFound: the pool has
  // no such signal; InvalidArgument: a value is not a number of pods.
  static absl::StatusOr<LoadCurve> FromSeries(const std::vector<SignalPoint>& series,
                                              std::string_view pool);

 private:
  std::vector<Point> points_;
  int64_t most_ = 0;
};

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_SIMULATION_LOAD_CURVE_H_
