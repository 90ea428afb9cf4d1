// UnneededLimit: the number of removable nodes after which a pass may stop.
//
// A pass that finds more nodes than can be deleted before the next pass wastes time.  So the limit
// grows by twice the parallelism from pass to pass, up to the number of nodes that could be deleted
// during the unneeded time.
//
// Threads: not thread-safe.
// Source:  cluster-autoscaler core/scaledown/planner unneededNodesLimit.

#ifndef EBB_ENGINE_PLAN_LIMITS_H_
#define EBB_ENGINE_PLAN_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ebb {

// The limit of the first pass of an autoscaler that has the default unneeded time.
size_t FirstPassLimit(int64_t max_scale_down_parallelism);

class UnneededLimit {
 public:
  // The state that must survive a restart.
  struct State {
    std::optional<int64_t> latest_update_s;  // Absent: no pass yet.
    std::optional<int64_t> min_interval_s;   // The shortest time between two passes so far.
    friend bool operator==(const State&, const State&) = default;
  };

  // Both arguments are the planner-wide options; values that a group overrides do not count.
  UnneededLimit(int64_t scale_down_unneeded_time_s, int64_t max_scale_down_parallelism);

  // Notes that a pass starts at `now_s` and that the previous pass found `unneeded_before` nodes.
  // Returns the limit of the new pass.
  //
  // Surprise: the interval is the smallest one since the process began.  With an unneeded time of 0
  // the limit never exceeds twice the parallelism.  If two passes have the same time, the
  // autoscaler divides by zero; here the limit is then bounded by its growth alone.
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
