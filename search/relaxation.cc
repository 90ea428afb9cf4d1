#include "search/relaxation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace ebb {
namespace {

// More rounds can lower the bound and cost time.  On the company and mixed clusters of 5,000 nodes
// the bound is within 0.01 nodes of the maximum after 1,000 and 4,000 rounds.
constexpr int kRounds = 4000;
// Rounds between two looks at the averages.  A look costs about as much as two rounds.
constexpr int kRoundsPerLook = 40;
// The method ends when the bound is closer to the maximum than this, as a part of it.
constexpr double kPrecision = 1e-10;
// The method restarts when the error has fallen to the first part of the error at the last restart,
// or to the second part if that took long: this part of all rounds.  The values are those of the
// source.
constexpr double kFallEnough = 0.2;
constexpr double kFallSome = 0.8;
constexpr double kLong = 0.36;
// The rounds leave out a limit that has no price and is used to less than this part.
constexpr double kNearlyReached = 0.9;

class PrimalDual {
 public:
  PrimalDual(std::span<const LimitShares> limits, std::span<const double> worth)
      : limits_(limits),
        worth_(worth.begin(), worth.end()),
        x_step_(worth.size()),
        price_step_(limits.size()),
        active_(limits.size()) {
    const double most = worth_.empty() ? 0 : std::ranges::max(worth_);
    scale_ = most > 0 ? most : 1;
    for (double& each : worth_) each /= scale_;
    for (size_t l = 0; l < limits.size(); ++l) {
      for (const auto& [choice, share] : limits[l]) {
        x_step_[choice] += share;
        price_step_[l] += share;
      }
    }
    for (std::vector<double>* steps : {&x_step_, &price_step_}) {
      for (double& step : *steps) step = step > 0 ? 1 / step : 1;
    }
    std::iota(active_.begin(), active_.end(), 0);
    now_ = Zero();
    sums_ = Zero();
    start_ = Zero();
    best_ = Zero();
    best_bound_ = BoundOf(best_.prices);
  }

  Relaxation Run(const Deadline* deadline) {
    for (int round = 1; round <= kRounds; ++round) {
      if (deadline != nullptr && deadline->Expired()) break;
      Round();
      if (round % kRoundsPerLook == 0 && !Look(round)) break;
    }
    for (double& price : best_.prices) price *= scale_;
    return std::move(best_);
  }

 private:
  [[nodiscard]] Relaxation Zero() const {
    return {.prices = std::vector<double>(limits_.size()),
            .solution = std::vector<double>(worth_.size())};
  }

  void Round() {
    left_ = worth_;
    for (const size_t l : active_) {
      const double price = now_.prices[l];
      if (price <= 0) continue;
      for (const auto& [choice, share] : limits_[l]) left_[choice] -= price * share;
    }
    for (size_t c = 0; c < left_.size(); ++c) {
      double& x = now_.solution[c];
      const double next = std::clamp(x + x_step_[c] / weight_ * left_[c], 0.0, 1.0);
      left_[c] = 2 * next - x;  // From here on: the point at which limits are looked at.
      x = next;
      sums_.solution[c] += next;
    }
    for (const size_t l : active_) {
      double& price = now_.prices[l];
      price = std::max(0.0, price + weight_ * price_step_[l] * (TakenOf(l, left_) - 1));
      sums_.prices[l] += price;
    }
    ++summed_;
  }

  [[nodiscard]] double TakenOf(size_t limit, const std::vector<double>& x) const {
    double taken = 0;
    for (const auto& [choice, share] : limits_[limit]) taken += share * x[choice];
    return taken;
  }

  // The upper bound that the prices give.
  [[nodiscard]] double BoundOf(const std::vector<double>& prices) {
    left_ = worth_;
    double bound = 0;
    for (size_t l = 0; l < prices.size(); ++l) {
      if (prices[l] <= 0) continue;
      bound += prices[l];
      for (const auto& [choice, share] : limits_[l]) left_[choice] -= prices[l] * share;
    }
    for (const double left : left_) bound += std::max(0.0, left);
    return bound;
  }

  // How far the point is from an optimum: the gap between its bound and its worth, and what exceeds
  // limits.
  double ErrorOf(const Relaxation& point) {
    const double bound = BoundOf(point.prices);
    if (bound < best_bound_) {
      best_bound_ = bound;
      best_.prices = point.prices;
    }
    double worth = 0;
    for (size_t c = 0; c < worth_.size(); ++c) worth += worth_[c] * point.solution[c];
    double excess = 0;
    for (size_t l = 0; l < limits_.size(); ++l) {
      excess += std::max(0.0, TakenOf(l, point.solution) - 1);
    }
    const double error = std::abs(bound - worth) + excess;
    if (error < least_error_) {
      least_error_ = error;
      best_.solution = point.solution;
    }
    return error;
  }

  // Restarts if it is time.  Returns false at an optimum.
  bool Look(int round) {
    Relaxation average = sums_;
    for (double& price : average.prices) price /= summed_;
    for (double& x : average.solution) x /= summed_;
    const double of_average = ErrorOf(average);
    const double of_now = ErrorOf(now_);
    const double error = std::min(of_average, of_now);
    if (error <= kPrecision * best_bound_) return false;
    const bool is_long = summed_ >= kLong * round;
    if (error <= kFallEnough * last_error_ || (is_long && error <= kFallSome * last_error_)) {
      if (of_average < of_now) now_ = std::move(average);
      last_error_ = error;
      Restart();
    }
    ChooseActive();
    return true;
  }

  // Balances the steps by how far x and prices have moved since the last restart.
  void Restart() {
    double x_moved = 0;
    double prices_moved = 0;
    for (size_t c = 0; c < worth_.size(); ++c) {
      const double moved = now_.solution[c] - start_.solution[c];
      x_moved += moved * moved / x_step_[c];
    }
    for (size_t l = 0; l < limits_.size(); ++l) {
      const double moved = now_.prices[l] - start_.prices[l];
      prices_moved += moved * moved / price_step_[l];
    }
    constexpr double kLeastMove = 1e-18;
    if (x_moved > kLeastMove && prices_moved > kLeastMove) {
      weight_ = std::sqrt(weight_ * std::sqrt(prices_moved / x_moved));
    }
    start_ = now_;
    sums_ = Zero();
    summed_ = 0;
  }

  void ChooseActive() {
    active_.clear();
    for (size_t l = 0; l < limits_.size(); ++l) {
      const bool is_priced = now_.prices[l] > 0 || sums_.prices[l] > 0;
      if (is_priced || TakenOf(l, now_.solution) >= kNearlyReached) active_.push_back(l);
    }
  }

  std::span<const LimitShares> limits_;
  std::vector<double> worth_;  // In units of scale_.
  double scale_ = 1;
  std::vector<double> x_step_;      // By choice.
  std::vector<double> price_step_;  // By limit.
  std::vector<size_t> active_;      // Limits of the rounds.
  double weight_ = 1;               // Of the steps of prices; x has its inverse.
  Relaxation now_;
  Relaxation sums_;  // Over the rounds since the last restart, `summed_` of them.
  double summed_ = 0;
  Relaxation start_;  // At the last restart.
  double last_error_ = std::numeric_limits<double>::infinity();
  Relaxation best_;  // The prices with the lowest bound, and the solution with the least error.
  double best_bound_ = 0;
  double least_error_ = std::numeric_limits<double>::infinity();
  std::vector<double> left_;  // Reused; by choice.
};

}  // namespace

Relaxation SolveRelaxation(std::span<const LimitShares> limits, std::span<const double> worth,
                           const Deadline* deadline) {
  EBB_DCHECK(std::ranges::all_of(worth, [](double each) { return each >= 0; }));
  return PrimalDual(limits, worth).Run(deadline);
}

}  // namespace ebb
