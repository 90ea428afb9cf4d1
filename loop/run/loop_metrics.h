// LoopMetrics: what a loop counts, in Prometheus' text form.
//
// What rounds count, the daemon tells that makes them (metrics.h).  Beside it, under the
// autoscaler's name:
//   evicted_pods_total{eviction_result}   pods that the actuator told it evicted: "succeeded"
// and ebb's own:
//   ebb_loop_turns_total{result}          "round", or "left-out": there was none
//   ebb_loop_deletions_total{result}      "begun", "ok", "failed"
//   ebb_loop_deletions_in_progress        as the last turn began
//   ebb_loop_last_round_time              Unix seconds; 0: there was none
//
// Threads: calls may come from any.

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

  // `evictions`: all so far.
  void Observe(const LoopTurn& turn, uint64_t evictions);
  [[nodiscard]] std::string Text() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_LOOP_RUN_LOOP_METRICS_H_
