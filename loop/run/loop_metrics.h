// LoopMetrics: the counts of a loop, in Prometheus' text format.
//
// The daemon that makes the rounds reports the rounds' metrics (metrics.h).  LoopMetrics adds one
// metric under the cluster autoscaler's name:
//   cluster_autoscaler_evicted_pods_total{eviction_result}   the actuator's evictions: "succeeded"
// and ebb's own:
//   ebb_loop_turns_total{result}          "round", or "left-out": the turn made no round
//   ebb_loop_deletions_total{result}      "begun", "ok", "failed"
//   ebb_loop_deletions_in_progress        when the last turn began
//   ebb_loop_last_round_time              Unix seconds; 0: no round yet
//
// Threads: calls may come from any thread.

#ifndef EBB_LOOP_RUN_LOOP_METRICS_H_
#define EBB_LOOP_RUN_LOOP_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "loop/loop.h"

namespace ebb {

class LoopMetrics {
 public:
  LoopMetrics();
  ~LoopMetrics();
  LoopMetrics(const LoopMetrics&) = delete;
  LoopMetrics& operator=(const LoopMetrics&) = delete;

  // `evictions`: the total so far.
  void Observe(const LoopTurn& turn, uint64_t evictions);
  [[nodiscard]] std::string Text() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_LOOP_RUN_LOOP_METRICS_H_
