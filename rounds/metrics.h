// Metrics: what a planner over time counts, in Prometheus' text form.
//
// Names are Cluster Autoscaler's (namespace cluster_autoscaler) where it has them:
//   scaled_down_nodes_total{reason}        deletions that were started, each once however
//                                          often a round names the node (round.h):
//                                          "empty", "underutilized", "unready"
//   scaled_down_gpu_nodes_total{reason,gpu_resource_name,gpu_name}
//                                          the same for nodes that offer GPUs
//   failed_scale_down_total{reason}        deletions reported as failed, by their result
//   errors_total{type}                     rounds whose plan did not pass its
//                                          verification: "internalError"
//   nodes_count{state}                     "ready", "unready", "notStarted" (young and not
//                                          ready), "unregistered" (from the events)
//   cluster_safe_to_autoscale              0 if too many nodes are not ready, else 1
//   unschedulable_pods_count{type}         "unschedulable": pods without a node
//   last_activity{activity}                the time of the last round: "main",
//                                          "mainSuccessful", "autoscaling", and "scaleDown"
//                                          unless it waited or was in cooldown
//   unneeded_nodes_count                   of the last round
//   unremovable_nodes_count{reason}        of the last round
//   pending_node_deletions                 nodes being deleted as the last round began
//   scale_down_in_cooldown                 1 if the last round was, else 0
//   function_duration_seconds{function}    "scaleDown": every round; "scaleDown:empty" and
//                                          "scaleDown:nonEmpty": rounds that began to delete such
//   max_node_skip_eval_duration_seconds    how long a candidate has waited for its turn
// and ebb's own:
//   ebb_rounds_total{status}
//   ebb_unremovable_nodes{reason}          of the last round, with the causes of
//                                          unremovable_nodes.h: the remembered cause counts
//                                          in place of "RecentlyUnremovable"
//   ebb_remembered_unremovable_nodes       unremovable nodes that are not tried again before
//   ebb_unremovable_first_recheck_timestamp_seconds,
//   ebb_unremovable_last_recheck_timestamp_seconds
//                                          these times; 0: no node is remembered
//
// Counters and histograms continue from what Save returned in an earlier process; gauges are those
// of the last round.
//
// Threads: any thread may call.
// Source:  cluster-autoscaler metrics/metrics.go.

#ifndef EBB_ROUNDS_METRICS_H_
#define EBB_ROUNDS_METRICS_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/scale_down/round.h"
#include "engine/scale_down/state_store.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// A round's figures, for counting.
struct ObservedRound {
  const Catalog* catalog;  // The catalog of the round's snapshot.
  const RoundResult* result;
  const ClusterSnapshot* snapshot = nullptr;  // Null: the snapshot's nodes are not counted.
  const NodeGroups* groups = nullptr;         // Null: only conditions decide readiness.
  int64_t max_node_startup_time_s = 0;        // As in ScaleDownOptions.
  int64_t unregistered_nodes = 0;
  int64_t pending_pods = 0;
  int64_t deletions_in_progress = 0;
  std::vector<std::string> failed_deletions = {};  // The result of each.
  double seconds = 0;                              // How long the round took.
};

// What a Metrics had counted at one moment, for MetricsText.
struct CountedMetrics;
using MetricsSnapshot = std::shared_ptr<const CountedMetrics>;
// The metrics of several sessions; each sample has a label `session`.  A null snapshot means that
// nothing was counted.
std::string MetricsText(std::span<const std::pair<std::string, MetricsSnapshot>> by_session);

class Metrics {
 public:
  // Counted in the state file for a round of which nothing else is kept.
  static constexpr const char* kErrors = "cluster_autoscaler_errors_total";

  Metrics();
  ~Metrics();

  void Observe(const ObservedRound& round);

  [[nodiscard]] std::string Text() const;
  [[nodiscard]] MetricsSnapshot Collect() const;

  // Sorted.  Counters of a later version that this version does not know are dropped.
  [[nodiscard]] std::vector<StoredCounter> Save() const;
  // Adds what an earlier process counted.  REQUIRES: nothing was counted yet.
  void Restore(const std::vector<StoredCounter>& counters);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_ROUNDS_METRICS_H_
