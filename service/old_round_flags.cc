#include "service/old_round_flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/printable.h"
#include "base/text.h"
#include "service/options/option_words.h"

namespace ebb {
namespace {

constexpr Word<CandidateOrder> kCandidateOrderWords[] = {
    {"autoscaler", CandidateOrder::kAutoscaler},
    {"fewest-pods", CandidateOrder::kFewestPods},
    {"input", CandidateOrder::kInput},
    {"least-utilized", CandidateOrder::kLeastUtilized}};
constexpr Word<DisplacedPods> kDisplacedPodsWords[] = {{"must-fit", DisplacedPods::kMustFit},
                                                       {"best-effort", DisplacedPods::kBestEffort}};
constexpr Word<SkippedTimer> kSkippedTimerWords[] = {{"kept", SkippedTimer::kKept},
                                                     {"lost", SkippedTimer::kLost}};
constexpr Word<ReturnedNode> kReturnedNodeWords[] = {{"anew", ReturnedNode::kStartsAnew},
                                                     {"keep-timer", ReturnedNode::kKeepsTimer}};

// --- Values.  Each reader returns false where `text` is no such value. -----------------

bool ReadCount(std::string_view text, int64_t& value) {
  const std::optional<int64_t> number = ParseInt64(text);
  if (!number || *number < 0 || *number > kOptionCountMax) return false;
  value = *number;
  return true;
}

bool ReadSeconds(std::string_view text, int64_t& value) {
  const auto duration = ParseDuration(text);
  if (!duration) return false;
  value = std::chrono::ceil<std::chrono::seconds>(*duration).count();
  return value <= kOptionSecondsMax;
}

bool ReadNumber(std::string_view text, double max, double& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 && value <= max;
}

// As Go's strconv.ParseBool.
bool ReadSwitch(std::string_view text, bool& value) {
  const auto is_one_of = [text](const std::array<std::string_view, 6>& words) {
    return std::ranges::find(words, text) != words.end();
  };
  value = is_one_of({"1", "t", "T", "TRUE", "true", "True"});
  return value || is_one_of({"0", "f", "F", "FALSE", "false", "False"});
}

template <typename Enum, size_t kSize>
bool ReadWord(std::string_view text, const Word<Enum> (&words)[kSize], Enum& value) {
  const std::optional<Enum> found = ValueOf(words, text);
  if (found) value = *found;
  return found.has_value();
}

// The MIN of MIN:MAX, in multiples of `unit`.
bool ReadMinimum(std::string_view text, int64_t unit, int64_t& value) {
  if (!ReadCount(text.substr(0, text.find(':')), value)) return false;
  value *= unit;
  return true;
}

bool ReadGroupSize(std::string_view text, GroupSize& size) {
  const size_t first = text.find(':');
  const size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos) return false;
  size.name = text.substr(second + 1);
  return ReadCount(text.substr(0, first), size.min_size) &&
         ReadCount(text.substr(first + 1, second - first - 1), size.max_size);
}

// --- The table ----------------------------------------------------------------------------

// What was read on the way; two flags may say the same.
struct Reading {
  OldRoundFlags flags;
  std::optional<int64_t> max_scale_down_parallelism;
  std::optional<int64_t> max_empty_bulk_delete;  // Its old name.

  ScaleDownOptions& scale_down() { return flags.options.scale_down; }
  PlannerOptions& planner() { return flags.options.scale_down.planner; }
  DrainOptions& drain() { return flags.options.scale_down.planner.drain; }
  DeletionOptions& deletion() { return flags.options.scale_down.deletion; }
  CooldownOptions& cooldown() { return flags.options.scale_down.cooldown; }
};

struct OldFlag {
  std::string_view name;
  bool (*read)(std::string_view text, Reading& r);
};
// Kept by the first records, and without a say in what a round decides.
bool ReadNothing(std::string_view /*text*/, Reading& /*r*/) { return true; }

constexpr OldFlag kOldFlags[] = {
    {"all", ReadNothing},
    {"assume-complete",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.flags.options.load.assume_complete);
     }},
    {"blocking-system-pod-distruption-timeout",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.drain().blocking_system_pod_disruption_timeout_s);
     }},
    {"candidate-order",
     [](std::string_view t, Reading& r) {
       return ReadWord(t, kCandidateOrderWords, r.flags.options.candidate_order);
     }},
    {"clock-jump-max", [](std::string_view t,
                          Reading& r) { return ReadSeconds(t, r.scale_down().clock_jump_max_s); }},
    {"cores-total",
     [](std::string_view t, Reading& r) { return ReadMinimum(t, 1, r.deletion().minimums.cores); }},
    {"displaced-pods",
     [](std::string_view t, Reading& r) {
       return ReadWord(t, kDisplacedPodsWords, r.scale_down().displaced_pods);
     }},
    {"exit-code", ReadNothing},
    {"expendable-pods-priority-cutoff",
     [](std::string_view t, Reading& r) {
       const std::optional<int64_t> priority = ParseInt64(t);
       if (!priority || *priority < INT32_MIN || *priority > INT32_MAX) return false;
       r.flags.options.load.expendable_pods_priority_cutoff = *priority;
       return true;
     }},
    {"ignore-daemonsets-utilization",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.planner().ignore_daemonsets_utilization);
     }},
    {"ignore-mirror-pods-utilization",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.planner().ignore_mirror_pods_utilization);
     }},
    {"max-bulk-soft-taint-count",
     [](std::string_view t, Reading& r) {
       return ReadCount(t, r.scale_down().max_bulk_soft_taint_count);
     }},
    {"max-drain-parallelism",
     [](std::string_view t, Reading& r) {
       return ReadCount(t, r.scale_down().budgets.max_drain_parallelism);
     }},
    {"max-empty-bulk-delete",
     [](std::string_view t, Reading& r) {
       return ReadCount(t, r.max_empty_bulk_delete.emplace());
     }},
    {"max-input-bytes", ReadNothing},
    {"max-node-startup-time",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.scale_down().max_node_startup_time_s);
     }},
    {"max-scale-down-parallelism",
     [](std::string_view t, Reading& r) {
       return ReadCount(t, r.max_scale_down_parallelism.emplace());
     }},
    {"max-total-unready-percentage",
     [](std::string_view t, Reading& r) {
       return ReadNumber(t, 100, r.scale_down().max_total_unready_percentage);
     }},
    {"memory-total",
     [](std::string_view t, Reading& r) {
       return ReadMinimum(t, int64_t{1} << 30, r.deletion().minimums.memory_bytes);
     }},
    {"min-nodes-per-pass",
     [](std::string_view t, Reading& r) {
       int64_t count = 0;
       if (!ReadCount(t, count)) return false;
       r.planner().min_nodes_per_pass = static_cast<size_t>(count);
       return true;
     }},
    {"min-replica-count",
     [](std::string_view t, Reading& r) { return ReadCount(t, r.drain().min_replica_count); }},
    {"node-deletion-candidate-ttl",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.scale_down().node_deletion_candidate_ttl_s);
     }},
    {"nodes", [](std::string_view t,
                 Reading& r) { return ReadGroupSize(t, r.flags.group_sizes.emplace_back()); }},
    {"nodes-min",
     [](std::string_view t, Reading& r) { return ReadCount(t, r.deletion().minimums.nodes); }},
    {"ok-total-unready-count",
     [](std::string_view t, Reading& r) {
       return ReadCount(t, r.scale_down().ok_total_unready_count);
     }},
    {"recent-eviction-ttl",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.scale_down().recent_eviction_ttl_s);
     }},
    {"returned-nodes",
     [](std::string_view t, Reading& r) {
       return ReadWord(t, kReturnedNodeWords, r.scale_down().returned_node);
     }},
    {"scale-down-delay-after-add",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.cooldown().scale_down_delay_after_add_s);
     }},
    {"scale-down-delay-after-delete",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.cooldown().scale_down_delay_after_delete_s);
     }},
    {"scale-down-delay-after-failure",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.cooldown().scale_down_delay_after_failure_s);
     }},
    {"scale-down-delay-type-local",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.cooldown().scale_down_delay_type_local);
     }},
    {"scale-down-gpu-utilization-threshold",
     [](std::string_view t, Reading& r) {
       return ReadNumber(t, 1, r.planner().scale_down_gpu_utilization_threshold);
     }},
    {"scale-down-simulation-timeout",
     [](std::string_view t, Reading& r) {
       int64_t seconds = 0;  // The question at which it was over is what counts.
       r.flags.has_deadline = true;
       return ReadSeconds(t, seconds);
     }},
    {"scale-down-unneeded-time",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.deletion().scale_down_unneeded_time_s);
     }},
    {"scale-down-unready-enabled",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.planner().scale_down_unready_enabled);
     }},
    {"scale-down-unready-time",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.deletion().scale_down_unready_time_s);
     }},
    {"scale-down-utilization-threshold",
     [](std::string_view t, Reading& r) {
       return ReadNumber(t, 1, r.planner().scale_down_utilization_threshold);
     }},
    {"skip-nodes-with-custom-controller-pods",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.drain().skip_nodes_with_custom_controller_pods);
     }},
    {"skip-nodes-with-local-storage",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.drain().skip_nodes_with_local_storage);
     }},
    {"skip-nodes-with-system-pods",
     [](std::string_view t, Reading& r) {
       return ReadSwitch(t, r.drain().skip_nodes_with_system_pods);
     }},
    {"skipped-timers",
     [](std::string_view t, Reading& r) {
       return ReadWord(t, kSkippedTimerWords, r.scale_down().skipped_timer);
     }},
    {"strict", ReadNothing},
    {"unremovable-node-recheck-timeout",
     [](std::string_view t, Reading& r) {
       return ReadSeconds(t, r.planner().unremovable_node_recheck_timeout_s);
     }},
};

absl::Status Wrong(const std::string& name, const std::string& flag, std::string_view how) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": flags: --", Printable(flag), ": ", Absl(how)));
}

}  // namespace

absl::StatusOr<OldRoundFlags> ReadOldFlags(const std::string& name, const Json& flags) {
  Reading reading;
  reading.planner().min_nodes_per_pass = 1;  // The flag's default, and not the engine's.
  for (const auto& [flag, values] : flags.items()) {
    const auto* const known = std::ranges::find(kOldFlags, flag, &OldFlag::name);
    if (known == std::end(kOldFlags)) return Wrong(name, flag, "is not a flag of a round");
    if (!values.is_array()) return Wrong(name, flag, "is not a list of values");
    for (const Json& value : values) {  // Of several the last one counts; groups add up.
      if (!value.is_string() || !known->read(value.get_ref<const std::string&>(), reading)) {
        return Wrong(name, flag, "has a value that it cannot have");
      }
    }
  }
  if (reading.max_scale_down_parallelism || reading.max_empty_bulk_delete) {
    reading.scale_down().budgets.max_scale_down_parallelism =
        reading.max_scale_down_parallelism ? *reading.max_scale_down_parallelism
                                           : *reading.max_empty_bulk_delete;
  }
  return std::move(reading.flags);
}

}  // namespace ebb
