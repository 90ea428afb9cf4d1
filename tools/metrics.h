// Metrics: what a planner over time counts, in Prometheus' text form.
//
// Names are Cluster Autoscaler's (namespace cluster_autoscaler) where it has them:
//   scaled_down_nodes_total{reason}        nodes whose deletion was started: "empty",
//                                          "underutilized", "unready"
//   failed_scale_down_total{reason}        deletions said to have failed, by their result
//   unneeded_nodes_count                   of the last round
//   unremovable_nodes_count{reason}        of the last round
//   pending_node_deletions                 nodes being deleted as the last round began
//   scale_down_in_cooldown                 1 if the last round was, else 0
//   function_duration_seconds{function}    "scaleDown": every round; "scaleDown:empty" and
//                                          "scaleDown:nonEmpty": rounds that started to delete such
//   max_node_skip_eval_duration_seconds    how long a candidate has waited for its turn
// and ebb's own: ebb_rounds_total{status}.
//
// Counters and histograms go on from what Save gave an earlier process; gauges are those
// of the last round.
//
// Threads: calls may come from any.
// Source:  cluster-autoscaler metrics/metrics.go.

#ifndef EBB_TOOLS_METRICS_H_
#define EBB_TOOLS_METRICS_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/round.h"
#include "engine/state_store.h"
#include "snapshot/catalog.h"

namespace ebb {

// A round as it is counted.
struct ObservedRound {
  const Catalog* catalog;  // Of the round's snapshot.
  const RoundResult* result;
  int64_t deletions_in_progress = 0;
  std::vector<std::string> failed_deletions = {};  // The result of each.
  double seconds = 0;                              // That the round took.
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void Observe(const ObservedRound& round);

  [[nodiscard]] std::string Text() const;

  // Sorted.  What a later version counted and this one does not is dropped.
  [[nodiscard]] std::vector<StoredCounter> Save() const;
  // Adds what an earlier process counted.  REQUIRES: nothing was counted yet.
  void Restore(const std::vector<StoredCounter>& counters);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_TOOLS_METRICS_H_
