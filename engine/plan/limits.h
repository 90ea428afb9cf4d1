// UnneededLimit: after how many removable nodes a pass may stop.
//
// A pass that finds more nodes than can be deleted before the next one wastes its
// time, so the bound grows by twice the parallelism from pass to pass, up to what
// could be deleted in the time that a node must be unneeded.
//
// Threads: none.
// Source:  cluster-autoscaler core/scaledown/planner unneededNodesLimit.

#ifndef EBB_ENGINE_PLAN_LIMITS_H_
#define EBB_ENGINE_PLAN_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ebb {

// As many removable nodes as end the first pass of an autoscaler with its usual unneeded time.
size_t FirstPassLimit(int64_t max_scale_down_parallelism);

class UnneededLimit {
 public:
  // What must survive a restart.
  struct State {
    std::optional<int64_t> latest_update_s;  // Absent: no pass yet.
    std::optional<int64_t> min_interval_s;   // The shortest time between two passes so far.
    friend bool operator==(const State&, const State&) = default;
  };

  // The planner-wide unneeded time and max-scale-down-parallelism; what a group
  // sets for itself does not count here.
  UnneededLimit(int64_t scale_down_unneeded_time_s, int64_t max_scale_down_parallelism);

  // Notes a pass that starts at `now_s`, after one that found `unneeded_before`
  // nodes, and returns its limit.
  //
  // Surprise: the interval is the smallest of the process's life, and with an
  // unneeded time of 0 the limit never exceeds twice the parallelism.  Where the
  // original divides by zero (two passes at one instant) only growth bounds it.
  size_t Next(int64_t now_s, size_t unneeded_before);

  [[nodiscard]] const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

 private:
  int64_t unneeded_time_s_;
  int64_t parallelism_;
  State state_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_LIMITS_H_
