#include "sizing/policy_simulation/school_pools.h"

namespace ebb {

std::string_view SchoolPools() {
  return R"yaml(pools:
- name: clusterman
  policy: clusterman
  nodes: {pool: clusterman}
  cloud: {min: 1, max: 20}
  period: 600
  options:
    autoscaling: {setpoint: 0.7, target_capacity_margin: 0.1}
    scaling_limits: {min_capacity: 1, max_capacity: 20, max_weight_to_add: 10,
                     max_weight_to_remove: 10, max_tasks_to_kill: 100}
    draining_enabled: true
    autoscale_signal: {internal: true, period_minutes: 10}
- name: escalator
  policy: escalator
  nodes: {pool: escalator}
  cloud: {min: 1, max: 20}
  period: 60
  options:
    name: escalator
    label_key: pool
    label_value: escalator
    cloud_provider_group_name: escalator
    min_nodes: 1
    max_nodes: 20
    scale_up_threshold_percent: 80
    taint_upper_capacity_threshold_percent: 60
    taint_lower_capacity_threshold_percent: 40
    slow_node_removal_rate: 1
    fast_node_removal_rate: 2
    soft_delete_grace_period: 5m
    hard_delete_grace_period: 10m
    scale_up_cool_down_period: 10m
    scale_on_starve: true
- name: maestro
  policy: maestro
  nodes: {pool: maestro}
  cloud: {min: 1, max: 20}
  period: 30
  options:
    roomsPerNode: 10
    min: 10
    max: 200
    autoScalingPeriod: 30
    up:
      cooldown: 180
      metricsTrigger:
      - {type: room, usage: 80, threshold: 80, time: 120, limit: 95}
    down:
      cooldown: 600
      metricsTrigger:
      - {type: room, usage: 60, threshold: 80, time: 300}
- name: replicator
  policy: replicator
  nodes: {pool: replicator}
  cloud: {min: 1, max: 20}
  period: 30
  options:
    replicator_enabled: true
    replicator_worker_pool: replicator
    replicator_region: here
    replicator_notification_uid: replicator
    replicator_provider: aws
    replicator_min: 1
    replicator_max: 20
    replicator_cooldown: 300
    replicator_node_fault_tolerance: 1
    replicator_scaling_threshold: 3
)yaml";
}

}  // namespace ebb
