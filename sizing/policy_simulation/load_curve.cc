#include "sizing/policy_simulation/load_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"

namespace ebb {
namespace {

constexpr int64_t kStepS = 300;
constexpr double kPodsMax = 1e7;
constexpr double kBeginHour = 8;

int64_t Pods(double pods) { return std::llround(std::clamp(pods, 1.0, kPodsMax)); }

// The demand relative to the average.  `done`: the elapsed fraction of the load, from 0 to 1.
double ShareAt(std::string_view name, int64_t time_s, double done, int64_t duration_s) {
  if (name == "ramp") return 0.5 + done;
  if (name == "spike") {
    const int64_t begin_s = (duration_s - 3600) / 2;
    return time_s >= begin_s && time_s < begin_s + 3600 ? 2 : 1;
  }
  const double hour = kBeginHour + static_cast<double>(time_s) / 3600;
  return 1 - 0.5 * std::cos(2 * std::numbers::pi * (hour - 2) / 24);
}

}  // namespace

LoadCurve::LoadCurve(std::vector<Point> points) : points_(std::move(points)) {
  EBB_DCHECK(!points_.empty() && points_.front().at_s == 0);
  EBB_DCHECK(std::ranges::is_sorted(points_, {}, &Point::at_s));
  for (const Point& point : points_) most_ = std::max(most_, point.pods);
}

int64_t LoadCurve::At(int64_t time_s) const {
  const auto after = std::ranges::upper_bound(points_, time_s, {}, &Point::at_s);
  return after == points_.begin() ? points_.front().pods : std::prev(after)->pods;
}

std::vector<std::string> LoadCurve::Names() { return {"day", "spike", "ramp"}; }

absl::StatusOr<LoadCurve> LoadCurve::Generated(std::string_view name, int64_t pods,
                                               int64_t duration_s) {
  const std::vector<std::string> names = Names();
  if (std::ranges::find(names, name) == names.end()) {
    return absl::NotFoundError(fmt::format("no load has the name \"{}\"", name));
  }
  std::vector<Point> points;
  for (int64_t at_s = 0; at_s == 0 || at_s < duration_s; at_s += kStepS) {
    const double done =
        static_cast<double>(at_s) / static_cast<double>(std::max<int64_t>(1, duration_s));
    points.push_back(
        {at_s, Pods(static_cast<double>(pods) * ShareAt(name, at_s, done, duration_s))});
  }
  return LoadCurve(std::move(points));
}

absl::StatusOr<LoadCurve> LoadCurve::FromSeries(const std::vector<SignalPoint>& series,
                                                std::string_view pool) {
  std::vector<Point> points;
  for (const SignalPoint& point : series) {
    if (point.pool != pool || point.signal != "pods") continue;
    if (!(point.value >= 0 && point.value <= kPodsMax)) {
      return absl::InvalidArgumentError(
          fmt::format("pool {}: signal pods: {} is not a number of pods", pool, point.value));
    }
    points.push_back({point.at_s, std::llround(point.value)});
  }
  if (points.empty()) {
    return absl::NotFoundError(
        fmt::format("pool {}: the series has no signal \"pods\", which tells the load", pool));
  }
  std::ranges::stable_sort(points, {}, &Point::at_s);
  const int64_t begin_s = points.front().at_s;
  for (Point& point : points) point.at_s -= begin_s;
  return LoadCurve(std::move(points));
}

}  // namespace ebb
