// Turns the requested capacity into a size for each resource group of a pool: applies the scaling
// limits, then spreads the result evenly over the groups, one unit at a time.
//
//   const double current = *CurrentTarget(groups);
//   const ClustermanConstraint within = Constrain(asked, current, limits, {});
//   const ClustermanBalance balance = Balance(groups, within.capacity);
//
// Units:     capacity in weight units, possibly fractional.
// Cost:      Balance: groups * units moved; returns kTooManySteps beyond 100 million.
// Threads:   pure.
// Source:    Clusterman, "Constrain" and "Balance over groups".
// Surprise:  if the present target is out of bounds, a request for more can shrink the pool to its
//            maximum, and a request for less can grow it to its minimum.  A group outside its own
//            bounds is not pulled back.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_CAPACITY_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_CAPACITY_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/clusterman/clusterman_options.h"

namespace ebb {

enum class ClustermanGroupKind : uint8_t { kAsg, kSfr };

// A resource group as its cloud reports it.
struct ClustermanGroup {
  std::string id;
  ClustermanGroupKind kind = ClustermanGroupKind::kAsg;
  // The capacity last requested from the cloud, minus stale_weight.
  double target_capacity = 0;
  // A cancelled spot fleet, whose target counts as 0.  An ASG is never stale.
  bool is_stale = false;
  double min_capacity = 0;
  double max_capacity = std::numeric_limits<double>::infinity();
  double fulfilled_capacity = 0;  // Total weight of its instances, in any state.
  double stale_weight = 0;        // ASG only: weight of the instances tagged as stale.
};

// Whether no two groups have the same id.  For assertions.
bool HaveUniqueIds(const std::vector<ClustermanGroup>& groups);

// The sum of the targets of the groups that are not stale; absent if there is no such group.
std::optional<double> CurrentTarget(const std::vector<ClustermanGroup>& groups);

struct ClustermanConstrainOptions {
  bool force = false;          // Set explicitly: the limits only warn.
  bool no_scale_down = false;  // Capacity was lost a moment ago.
};

// The last check that changed the step.
enum class ClustermanLimit : uint8_t {
  kNone,
  kMinCapacity,
  kMaxCapacity,
  kMaxWeightToAdd,
  kMaxWeightToRemove,
  kNoScaleDown,
};
std::string_view Name(ClustermanLimit limit);

struct ClustermanConstraint {
  double requested = 0;
  double ask = 0;         // `requested` minus the present target.
  double step = 0;        // What the limits leave of `ask`; the sign may differ.
  double restricted = 0;  // The present target plus `step`.
  double capacity = 0;    // The result: `restricted`, or with `force` what was requested.
  ClustermanLimit limit = ClustermanLimit::kNone;
  std::string warning{};  // In the program's words, if step and ask differ.

  bool operator==(const ClustermanConstraint&) const = default;
};

ClustermanConstraint Constrain(double requested, double current, const ClustermanLimits& limits,
                               const ClustermanConstrainOptions& options);

struct ClustermanGroupTarget {
  std::string group_id;
  double target = 0;

  bool operator==(const ClustermanGroupTarget&) const = default;
};

struct ClustermanBalance {
  enum class Outcome : uint8_t { kBalanced, kNoRoom, kAllStale, kTooManySteps };

  Outcome outcome = Outcome::kBalanced;
  // Live groups in the order given, then stale ones.  Empty for kAllStale and kTooManySteps.
  std::vector<ClustermanGroupTarget> targets{};
  std::string warning{};  // kNoRoom: in the program's words.

  bool operator==(const ClustermanBalance&) const = default;
};

// REQUIRES: ids are unique; every number except max_capacity is finite.
ClustermanBalance Balance(const std::vector<ClustermanGroup>& groups, double capacity);

// The integer to send to the cloud for a target: truncated; for an ASG, including its stale
// instances and within its own bounds.
int64_t CloudSize(const ClustermanGroup& group, double target);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_CAPACITY_H_
