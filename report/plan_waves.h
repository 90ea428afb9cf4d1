// PlanWaves: a plan carried on.  Budgets recover when evicted pods are ready on their new nodes,
// and a further plan, a wave, removes more nodes, until nothing more can go.
//
// The waves follow a model: WaveAssumptions() names all that it assumes.  planning/plan_waves.h
// computes them.
//
// Units:     seconds; times are counted from the time of the plan.
// Threads:   plain data.
// Ownership: ids are those of the plan's catalog; reasons are texts that live as long as the
//            program.

#ifndef EBB_REPORT_PLAN_WAVES_H_
#define EBB_REPORT_PLAN_WAVES_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "groups/node_facts.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"

namespace ebb {

struct PlanContext;

struct WaveModel {
  // From the eviction of a pod until its replacement is ready.
  int64_t pod_startup_s = 60;
  // Timers of an autoscaler, if they are to count.  Each wave, also the first, waits for
  // `unneeded_s`; each wave but the first waits for `delay_after_delete_s`, at the same time.
  int64_t unneeded_s = 0;
  int64_t delay_after_delete_s = 0;
};

// Numbers of nodes by the reason that keeps them, the largest first.  A node that a pod blocks
// counts for the rule ("NotEnoughPdb"), not for "BlockedByPod".
using WaveReasons = std::vector<std::pair<std::string_view, size_t>>;

struct PlanWave {
  int64_t at_s = 0;                 // When its evictions begin.
  int64_t takes_s = 0;              // Until its evicted pods are ready.
  std::vector<NodeId> remove = {};  // In order.
  size_t moved = 0;                 // Evicted pods, each once.
  size_t moved_again = 0;           // Those of them that an earlier wave evicted too.
  size_t nodes = 0;                 // In the cluster after the wave.
  // Of all waves up to this one.
  NodeAmounts freed = {};
  std::optional<double> saved_per_hour = {};  // Absent: no prices were given.
  WaveReasons kept = {};                      // Why nodes stay in this wave.
  // Those of them that stay because the wave spends what budgets allow at a time.
  size_t may_go_later = 0;
};

enum class WavesEnd : uint8_t {
  kNothingMoreGoes,
  kTimeLimit,  // The time for the answer was used up.
};
// "nothingMoreGoes".
std::string_view ToString(WavesEnd end);

struct PlanWaves {
  WaveModel model = {};
  std::vector<PlanWave> waves = {};
  WavesEnd ended = WavesEnd::kNothingMoreGoes;
  size_t nodes_at_first = 0;
  size_t nodes = 0;       // At the end.
  WaveReasons kept = {};  // Why these nodes stay.
  // Facts that need a sentence among the assumptions.
  size_t in_deletion = 0;     // Nodes that were being deleted already.
  size_t pending_placed = 0;  // Pending pods for which the first plan keeps room.
  bool searched = false;      // The first plan comes from a search.
  bool gangs = false;         // Some pods belong to gangs, which count.
  bool karpenter = false;     // Some nodes follow Karpenter's rules.

  [[nodiscard]] size_t removed() const;
  [[nodiscard]] size_t moved() const;
  [[nodiscard]] size_t moved_again() const;
  // Until the pods of the last wave are ready; 0: there is no wave.
  [[nodiscard]] int64_t takes_s() const;
};

// What the model assumes, one sentence each.
std::vector<std::string> WaveAssumptions(const PlanWaves& waves);

// Adds `waves` and `summary.waves` to the JSON of the plan.
void PutWaves(const PlanContext& context, const PlanWaves& waves, nlohmann::ordered_json& plan);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_WAVES_H_
