// The options of one of Escalator's node groups: an entry of its list `node_groups`.
//
// Nothing has a default but zero, and keys that are not here are ignored.  The program does not
// start with options that have a problem.
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

// Names are those of the keys.
struct EscalatorOptions {
  std::string name = {};  // "default": the group of the pods that ask for no node.
  std::string label_key = {};
  std::string label_value = {};  // Nodes with this label are the group's.
  std::string cloud_provider_group_name = {};

  // Bounds of the untainted nodes.  Both 0: the cloud group's, as they are in each round.
  int64_t min_nodes = 0;
  int64_t max_nodes = 0;

  bool dry_mode = false;         // Nothing is changed; taints are only remembered.
  bool scale_on_starve = false;  // A pod that fits on no node asks for one more.

  int64_t scale_up_threshold_percent = 0;              // Above it: grow.
  int64_t taint_upper_capacity_threshold_percent = 0;  // Below it: taint at the slow rate,
  int64_t taint_lower_capacity_threshold_percent = 0;  // below this: at the fast rate.
  int64_t slow_node_removal_rate = 0;                  // Nodes a round.
  int64_t fast_node_removal_rate = 0;

  std::string soft_delete_grace_period = {};   // Since its taint, of an empty node.
  std::string hard_delete_grace_period = {};   // Of any node.
  std::string scale_up_cool_down_period = {};  // After the cloud group has grown.

  std::string taint_effect = {};   // NoSchedule (so is ""), NoExecute or PreferNoSchedule.
  std::string max_node_age = {};   // Older nodes are replaced at the minimum.  "", <= 0: none are.
  std::string aws_lifecycle = {};  // aws.lifecycle: "", "on-demand" or "spot".

  // "": the health of nodes does not matter, nor do the two keys below.
  std::string unhealthy_node_grace_period = {};   // So long a new node may be unready.
  int64_t health_check_newest_nodes_percent = 0;  // Which share of the newest nodes is tested.
  int64_t max_unhealthy_nodes_percent = 0;        // More of these: no scaling.

  bool operator==(const EscalatorOptions&) const = default;
};

// The durations of the options in nanoseconds; 0 for what is empty or no duration.
struct EscalatorDurations {
  int64_t soft_delete_ns = 0;
  int64_t hard_delete_ns = 0;
  int64_t cool_down_ns = 0;
  int64_t max_node_age_ns = 0;
  int64_t unhealthy_grace_ns = 0;

  // Whether health matters.
  [[nodiscard]] bool HasHealth() const { return unhealthy_grace_ns > 0; }
};
EscalatorDurations Durations(const EscalatorOptions& options);

// What is wrong with an option, in the program's words.  Those name another key than `key` for
// scale_up_cool_down_period.
struct EscalatorProblem {
  std::string_view key;
  std::string_view text;

  bool operator==(const EscalatorProblem&) const = default;
};

// All that is wrong, in the program's order.
std::vector<EscalatorProblem> Problems(const EscalatorOptions& options);

// time.ParseDuration: nanoseconds, or nothing where `text` is no duration or does not fit.
std::optional<int64_t> ParseGoDuration(std::string_view text);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_OPTIONS_H_
