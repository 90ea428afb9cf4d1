// Metrics: what a planner over time counts, in Prometheus' text form.
//
// Names are Cluster Autoscaler's (namespace cluster_autoscaler) where it has them:
//   scaled_down_nodes_total{reason}        nodes whose deletion was started; reason "empty" or
//                                          "underutilized"
//   unneeded_nodes_count                   of the last round
//   unremovable_nodes_count{reason}        of the last round
//   function_duration_seconds{function}    "scaleDown": every round; "scaleDown:empty" and
//                                          "scaleDown:nonEmpty": rounds that started to delete such
//   max_node_skip_eval_duration_seconds    how long a candidate has waited for its turn
// and ebb's own: ebb_rounds_total{status}.
//
// Threads: Observe and Text may be called from any.
// Source:  cluster-autoscaler metrics/metrics.go.

#ifndef EBB_TOOLS_METRICS_H_
#define EBB_TOOLS_METRICS_H_

#include <memory>
#include <string>

#include "engine/round.h"

namespace ebb {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Takes in a round that took `seconds`.
  void Observe(const RoundResult& result, double seconds);

  [[nodiscard]] std::string Text() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_TOOLS_METRICS_H_
