// SchedulerConfig: a KubeSchedulerConfiguration, the file that kube-scheduler reads at its start,
// reduced to what decides where pods may run and which nodes the simulated scheduler prefers.
// ParseSchedulerConfig (formats/read_scheduler_config.h) makes it.
//
// A pod belongs to the profile whose name is its spec.schedulerName.  A pod without a profile
// is placed by the default configuration.  A profile that ebb does not understand keeps the nodes
// of its pods (SchedulerProfile::not_understood).
//
// Cost:    FindProfile: a comparison for each profile.
// Threads: immutable.
// Source:  k8s.io/kube-scheduler config/v1; kubernetes pkg/scheduler/apis/config/v1
//          default_plugins.go and pkg/scheduler/framework/runtime (expandMultiPointPlugins).

#ifndef EBB_SNAPSHOT_SCHEDULER_CONFIG_H_
#define EBB_SNAPSHOT_SCHEDULER_CONFIG_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/objects/objects.h"

namespace ebb {

// kube-scheduler's filters in its order, which is also the order of Filter (predicates/filters.h).
inline constexpr std::string_view kSchedulerFilters[] = {
    "NodeUnschedulable",  "NodeName",
    "TaintToleration",    "NodeAffinity",
    "NodePorts",          "NodeResourcesFit",
    "VolumeRestrictions", "NodeVolumeLimits",
    "VolumeBinding",      "VolumeZone",
    "PodTopologySpread",  "InterPodAffinity",
    "DynamicResources",   "NodeDeclaredFeatures"};
// A set of filters: bit i stands for kSchedulerFilters[i].
using FilterSet = uint16_t;
inline constexpr FilterSet kNodeAffinityFilter = 1 << 3;
inline constexpr FilterSet kNodePortsFilter = 1 << 4;
inline constexpr FilterSet kNodeResourcesFitFilter = 1 << 5;
inline constexpr FilterSet kVolumeBindingFilter = 1 << 8;
inline constexpr FilterSet kPodTopologySpreadFilter = 1 << 10;
inline constexpr FilterSet kInterPodAffinityFilter = 1 << 11;
inline constexpr FilterSet kDynamicResourcesFilter = 1 << 12;

// The weight of each plugin in the sum of scores; 0: the plugin does not score.
struct ScoreWeights {
  int64_t taint_toleration = 3;
  int64_t node_affinity = 2;
  int64_t pod_topology_spread = 2;
  int64_t inter_pod_affinity = 2;
  int64_t node_resources_fit = 1;
  int64_t balanced_allocation = 1;
  int64_t image_locality = 1;
  int64_t dynamic_resources = 2;
  bool operator==(const ScoreWeights&) const = default;
};

// How NodeResourcesFit scores a node.
struct FitScore {
  enum class Strategy : uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };
  Strategy strategy = Strategy::kLeastAllocated;
  // The weights of the resources that are scored; 0: the resource is not scored.
  int64_t cpu_weight = 1;
  int64_t memory_weight = 1;
  // kRequestedToCapacityRatio: points from utilization, in percent, to a score from 0 to 10, by
  // utilization.
  std::vector<std::pair<int64_t, int64_t>> shape = {};
  bool operator==(const FitScore&) const = default;
};

struct SchedulerProfile {
  // One of the default constraints of PodTopologySpread.
  struct Spread {
    std::string topology_key;
    int32_t max_skew = 1;
    int32_t min_domains = 1;
    bool hard = true;  // DoNotSchedule, otherwise ScheduleAnyway.
    bool honor_affinity = true;
    bool honor_taints = false;
  };

  std::string name;               // schedulerName.
  std::string place;              // "profiles[0]".
  FilterSet filters_off = 0;      // Filters that do not run at the extension point filter.
  FilterSet pre_filters_off = 0;  // The same for preFilter.
  // Whether `spread` replaces the scheduler's own default constraints, which reject no node.
  bool lists_spread = false;
  std::vector<Spread> spread;
  // addedAffinity of NodeAffinity; its texts are in SchedulerConfig::texts.
  objects::NodeSelector added_affinity;
  std::vector<objects::PreferredNodeTerm> added_preferences;
  // Extended resources that NodeResourcesFit does not test: names, and prefixes before the slash.
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_groups;
  // Why pods of the profile keep their nodes, with the field; empty: ebb understands the profile.
  std::string not_understood;
  // What only changes which node the scheduler prefers, and ebb does not evaluate; with the field.
  std::vector<std::string> not_scored;
  ScoreWeights weights;
  FitScore fit_score;

  [[nodiscard]] bool IgnoresResource(std::string_view resource) const;
};

struct SchedulerConfig {
  std::vector<SchedulerProfile> profiles;
  std::deque<std::string> texts;
  std::string source;     // The text from which it was read.
  bool of_input = false;  // It was an object of the input.

  // Whether it has no profiles, and nothing else that matters.
  [[nodiscard]] bool SaysNothing() const {
    return profiles.size() == 1 && profiles[0].place.empty() && profiles[0].not_understood.empty();
  }
  // An index of `profiles`.
  [[nodiscard]] std::optional<uint32_t> FindProfile(std::string_view scheduler_name) const;
};

// Whether both were read from the same text, or are null.
inline bool IsSame(const SchedulerConfig* a, const SchedulerConfig* b) {
  return a == b || (a != nullptr && b != nullptr && a->source == b->source);
}

inline constexpr uint32_t kNoProfile = ~uint32_t{0};
inline constexpr std::string_view kDefaultScheduler = "default-scheduler";

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SCHEDULER_CONFIG_H_
