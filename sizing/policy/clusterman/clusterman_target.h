// How much capacity a request needs of a pool: Clusterman keeps utilization at a setpoint and
// ignores small changes.
//
//   const ClustermanTarget target = ComputeClustermanTarget(
//       {.setpoint = {.setpoint = 0.8, .target_capacity_margin = 0.1},
//        .total = {100, 0, 0, 0},
//        .request = {96, std::nullopt, std::nullopt, std::nullopt},
//        .current = 100,
//        .non_orphan_fulfilled = 100},
//       now_s);
//
// Units:     capacity in weight units, never rounded here; resources as in clusterman_resources.h.
// Cost:      O(length of the history).
// Threads:   pure.
// Ownership: borrows the history during the call.
// Source:    Clusterman, "Target capacity", tests a to e in their order.
// Surprise:  the capacity that has joined is scaled, not the present target.  The resource with the
//            largest utilization decides, not the one with the largest change.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_TARGET_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_TARGET_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sizing/policy/clusterman/clusterman_options.h"
#include "sizing/policy/clusterman/clusterman_resources.h"

namespace ebb {

struct ClustermanPoint {
  int64_t at_s = 0;
  double value = 0;

  bool operator==(const ClustermanPoint&) const = default;
};

// Past capacity and totals of the pool, which say what a unit of weight holds while the pool is
// empty.
// In order of time.  Points older than a week, not above 0, or not finite do not count.
struct ClustermanHistory {
  std::vector<ClustermanPoint> non_orphan_fulfilled_capacity{};
  std::array<std::vector<ClustermanPoint>, kClustermanResourceCount> total;

  bool operator==(const ClustermanHistory&) const = default;
};

struct ClustermanTargetInput {
  ClustermanSetpoint setpoint;
  ClustermanAmounts total{};  // Of the present nodes.
  ClustermanRequest request{};
  double current = 0;               // Sum of the targets of the groups that are not stale.
  double non_orphan_fulfilled = 0;  // Weight of the instances that run and have joined the cluster.
  const ClustermanHistory* history = nullptr;  // Null: an empty history.
};

enum class ClustermanTargetRule : uint8_t {
  kNoRequest,         // a: the signal requests no resource; the target stays.
  kZeroRequest,       // b: the signal requests 0.
  kFromHistory,       // c: an empty pool, sized by its history.
  kNoHistory,         // c: an empty pool without a history: 1.
  kWaitForNodes,      // d: no instance has joined yet; the target stays.
  kScaled,            // e: scaled to the setpoint.
  kWithinMargin,      // e: the change is below the margin; the target stays.
  kNoUsableResource,  // e: every requested resource is excluded; there is no target.
};
std::string_view Name(ClustermanTargetRule rule);

struct ClustermanTarget {
  ClustermanTargetRule rule = ClustermanTargetRule::kNoRequest;
  double capacity = 0;
  // Only in test e; otherwise absent and 0.
  std::optional<ClustermanResource> most_constrained{};
  double usage = 0;         // Of the most constrained resource; 1 is all of it.
  double new_capacity = 0;  // At the setpoint, before the margin.
  double change = 0;        // As a fraction of the present target.

  bool operator==(const ClustermanTarget&) const = default;
};

// REQUIRES: setpoint above 0.
ClustermanTarget ComputeClustermanTarget(const ClustermanTargetInput& input, int64_t now_s);

// Removes points that can no longer influence a target.
void Forget(int64_t now_s, ClustermanHistory& history);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_TARGET_H_
