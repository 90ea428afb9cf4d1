// LoadCurve: how many pods are wanted, over time.
//
// Units:   pods; seconds since the beginning of the load.
// Cost:    O(log points) a look.
// Threads: const methods may run concurrently.

#ifndef EBB_SIZING_TRIAL_LOAD_CURVE_H_
#define EBB_SIZING_TRIAL_LOAD_CURVE_H_

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

  // By time, the first at 0; each holds until the next.  REQUIRES: not empty.
  explicit LoadCurve(std::vector<Point> points);

  [[nodiscard]] int64_t At(int64_t time_s) const;
  [[nodiscard]] int64_t most() const { return most_; }

  // "day": least at two in the morning and most at two in the afternoon, half as many and one and
  // a half times as many as `pods`; time 0 is eight in the morning.  "spike": twice as many for an
  // hour, in the middle.  "ramp": from half as many to one and a half times as many.  Between 1 and
  // ten million pods.  Errors: NotFound: another name.
  static absl::StatusOr<LoadCurve> Generated(std::string_view name, int64_t pods,
                                             int64_t duration_s);
  static std::vector<std::string> Names();

  // The signal "pods" of a pool; its first point is time 0.  Errors: NotFound: there is none;
  // InvalidArgument: a value is no number of pods.
  static absl::StatusOr<LoadCurve> FromSeries(const std::vector<SignalPoint>& series,
                                              std::string_view pool);

 private:
  std::vector<Point> points_;
  int64_t most_ = 0;
};

}  // namespace ebb

#endif  // EBB_SIZING_TRIAL_LOAD_CURVE_H_
