// What a Clusterman service file and pool file say about sizing one pool.
//
// Units:   as named; capacity is in weight units: what an instance counts for.
// Threads: pure.
// Source:  Clusterman, "Keys".  The reader of files refuses a file without a required key; it
//          takes `draining: true` as well as `draining_enabled: true`.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_OPTIONS_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sizing/policy/clusterman/clusterman_resources.h"

namespace ebb {

// What both the service's and the pool's `autoscaling` may say; the pool's word goes first.
struct ClustermanAutoscaling {
  std::optional<double> setpoint{};                // Required in the service.  A share of 1.
  std::optional<double> target_capacity_margin{};  // Required in the service.  A share of 1.
  // The pool's list replaces the service's as a whole, an empty one too.
  std::optional<std::vector<ClustermanResource>> excluded_resources{};
};

// What holds in the end.
struct ClustermanSetpoint {
  double setpoint = 0;
  double target_capacity_margin = 0;
  std::vector<ClustermanResource> excluded_resources{};

  bool operator==(const ClustermanSetpoint&) const = default;
};

ClustermanSetpoint Effective(const ClustermanAutoscaling& service,
                             const ClustermanAutoscaling& pool);

// The pool's `scaling_limits`.  The first four are required.
struct ClustermanLimits {
  int64_t min_capacity = 0;
  int64_t max_capacity = 0;
  int64_t max_weight_to_add = 0;     // In one run.
  int64_t max_weight_to_remove = 0;  // In one run.
  // A node goes only with fewer tasks than this, all marked ones together with no more; 0:
  // empty nodes only.  "inf" is infinity.
  double max_tasks_to_kill = 0;
  // Nodes up no longer than this go after those up longer.  At most 900 counts.
  int64_t min_node_scalein_uptime_seconds = -1;
};

// What the internal signal is given in its `parameters`.
struct ClustermanPendingPodsOptions {
  double pending_pods_multiplier = 2;  // What one pending pod counts for.
  // v2 only: pods older than this no longer count.  Absent: all count.
  std::optional<double> pending_pods_max_scheduling_seconds{};
  bool v2 = false;
  // Makes the program fail each run, so it is a problem here.
  bool per_pod_resource_requests = false;
};

// `autoscale_signal` of the pool; without a name, of the service.
struct ClustermanSignalOptions {
  bool internal = false;  // Pending pods; else an outside program answers.
  std::string name;
  int64_t period_minutes = 10;              // Between runs.  An answer that is older is stale.
  ClustermanPendingPodsOptions parameters;  // Of the internal signal.
};

struct ClustermanOptions {
  std::vector<std::string> apps{};  // More than one for a pool: a problem.

  ClustermanAutoscaling service;
  ClustermanAutoscaling pool;
  // From the pool's `autoscaling` only.
  bool prevent_scale_down_after_capacity_loss = false;
  int64_t instance_loss_threshold = 0;  // Nodes.
  int64_t orphan_instance_uptime_threshold_seconds = 1800;
  bool killable_nodes_prioritizing_v2 = false;

  ClustermanLimits limits;
  bool draining_enabled = false;      // Also spelled `draining: true`.
  bool alert_on_max_capacity = true;  // A tag on a metric; decides nothing.
  bool exclude_daemonset_pods = false;

  // For the reader of the cluster.
  std::string pool_label_key = "clusterman.com/pool";
  std::string node_label_key = "clusterman.com/pool";
  std::string safe_to_evict_key = "clusterman.com/safe_to_evict";
  std::string pod_safe_to_evict_annotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";

  ClustermanSignalOptions signal;
  ClustermanSignalOptions default_signal;  // Answers if the pool's fails.

  bool dry_run = false;  // Decide as ever, act in nothing.
};

// What is wrong, each as `key: what`; empty if nothing is.  A pool with a problem gets no
// action.  Beside what makes the program fail: a setpoint or a limit below 0, a minimum above
// the maximum.
std::vector<std::string> Problems(const ClustermanOptions& options);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_OPTIONS_H_
