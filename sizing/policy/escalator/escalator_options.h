// The options of one of Escalator's node groups: an entry of its list `node_groups`.
//
// Every default is zero or empty, and unknown keys are ignored.  The program does not start with
// options that have a problem.
//
// Units:     percent; nodes; durations as Go writes them ("90s", "1h30m", "1.5m").
// Cost:      O(1).
// Threads:   pure.
// Source:    Escalator, "Options of a node group".

#ifndef EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_OPTIONS_H_
#define EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

// Each field is named after its key.
struct EscalatorOptions {
  std::string name = {};  // "default": the group of pods that select no node.
  std::string label_key = {};
  std::string label_value = {};  // Nodes with this label belong to the group.
  std::string cloud_provider_group_name = {};

  // Bounds of the number of untainted nodes.  If both are 0, each round uses the cloud group's
  // bounds.
  int64_t min_nodes = 0;
  int64_t max_nodes = 0;

  bool dry_mode = false;         // Change nothing, only remember taints.
  bool scale_on_starve = false;  // A pod that fits on no node asks for one more node.

  int64_t scale_up_threshold_percent = 0;              // Above it: grow.
  int64_t taint_upper_capacity_threshold_percent = 0;  // Below it: taint at the slow rate.
  int64_t taint_lower_capacity_threshold_percent = 0;  // Below it: taint at the fast rate.
  int64_t slow_node_removal_rate = 0;                  // Nodes per round.
  int64_t fast_node_removal_rate = 0;

  std::string soft_delete_grace_period = {};   // From its taint to the removal of an empty node.
  std::string hard_delete_grace_period = {};   // From its taint to the removal of any node.
  std::string scale_up_cool_down_period = {};  // After the cloud group has grown.

  std::string taint_effect = {};   // "" (as NoSchedule), NoSchedule, NoExecute or PreferNoSchedule.
  std::string max_node_age = {};   // At the minimum, older nodes are replaced; "" or <= 0: never.
  std::string aws_lifecycle = {};  // aws.lifecycle: "", "on-demand" or "spot".

  // "": unhealthy nodes are ignored, and so are the two keys below.
  std::string unhealthy_node_grace_period = {};   // A new node may be unready for this long.
  int64_t health_check_newest_nodes_percent = 0;  // The share of the newest nodes that is tested.
  int64_t max_unhealthy_nodes_percent = 0;        // With more than this, no scaling.

  bool operator==(const EscalatorOptions&) const = default;
};

// The durations of the options in nanoseconds; 0 for an empty or malformed duration.
struct EscalatorDurations {
  int64_t soft_delete_ns = 0;
  int64_t hard_delete_ns = 0;
  int64_t cool_down_ns = 0;
  int64_t max_node_age_ns = 0;
  int64_t unhealthy_grace_ns = 0;

  // Whether unhealthy nodes matter.
  [[nodiscard]] bool HasHealth() const { return unhealthy_grace_ns > 0; }
};
EscalatorDurations Durations(const EscalatorOptions& options);

// A problem of an option.  `text` is in the program's words, which for scale_up_cool_down_period
// name another key than `key`.
struct EscalatorProblem {
  std::string_view key;
  std::string_view text;

  bool operator==(const EscalatorProblem&) const = default;
};

// All problems, in the program's order.
std::vector<EscalatorProblem> Problems(const EscalatorOptions& options);

// As Go's time.ParseDuration: nanoseconds, or nullopt if `text` is malformed or out of range.
std::optional<int64_t> ParseGoDuration(std::string_view text);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_OPTIONS_H_
