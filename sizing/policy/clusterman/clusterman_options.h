// The settings in a Clusterman service file and pool file that concern the size of one pool.
//
// Units:   as named; capacity is in weight units, of which an instance has one or more.
// Threads: pure.
// Source:  Clusterman, "Keys".  The file reader rejects a file without a required key.  It accepts
//          `draining: true` as well as `draining_enabled: true`.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_OPTIONS_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sizing/policy/clusterman/clusterman_resources.h"

namespace ebb {

// Keys that may be in the `autoscaling` section of both the service and the pool; the pool's value
// wins.
struct ClustermanAutoscaling {
  std::optional<double> setpoint{};                // Required in the service.  A fraction of 1.
  std::optional<double> target_capacity_margin{};  // Required in the service.  A fraction of 1.
  // The pool's list replaces the service's list entirely, even if the pool's list is empty.
  std::optional<std::vector<ClustermanResource>> excluded_resources{};
};

// The values in effect, after the pool's have replaced the service's.
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
  // A node may be removed only if it has fewer tasks than this, and all removed nodes together have
  // no more tasks than this.  0: only empty nodes.  "inf" is infinity.
  double max_tasks_to_kill = 0;
  // Nodes that have been up no longer than this go after the others.  Values above 900 count as
  // 900.
  int64_t min_node_scalein_uptime_seconds = -1;
};

// The section `parameters` of the internal signal.
struct ClustermanPendingPodsOptions {
  double pending_pods_multiplier = 2;  // The factor by which a pending pod's requests count.
  // v2 only: older pods do not count.  Absent: all pods count.
  std::optional<double> pending_pods_max_scheduling_seconds{};
  bool v2 = false;
  // Makes every run of the program fail, so Problems() reports it.
  bool per_pod_resource_requests = false;
};

// The section `autoscale_signal` of the pool; without a name there, that of the service.
struct ClustermanSignalOptions {
  bool internal = false;  // Pending pods; false: an outside program answers.
  std::string name;
  int64_t period_minutes = 10;              // Between runs.  An older answer is stale.
  ClustermanPendingPodsOptions parameters;  // Of the internal signal.
};

struct ClustermanOptions {
  std::vector<std::string> apps{};  // More than one for a pool is a problem.

  ClustermanAutoscaling service;
  ClustermanAutoscaling pool;
  // Only from the pool's `autoscaling`.
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
  ClustermanSignalOptions default_signal;  // Used if the pool's signal fails.

  bool dry_run = false;  // Decide as usual, but return no actions.
};

// All problems, each as `key: what`; empty if there are no problems.  A pool with a problem gets no
// action. The problems include everything that makes the program fail, and also a limit below 0 and
// a minimum above the maximum.
std::vector<std::string> Problems(const ClustermanOptions& options);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_OPTIONS_H_
