// Escalator's arithmetic: requests over capacity in percent, and how many nodes are missing.
//
// Units:     milli-cores, bytes, percent.
// Cost:      O(nodes + pods) for the sums, O(1) for the rest.
// Threads:   pure.
// Source:    Escalator, "One round", steps 5, 7, 10 and 11.
// Surprise:  memory is computed in thousandths of bytes, as the program does: amounts above 2^53
//            round differently.

#ifndef EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_FIGURES_H_
#define EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_FIGURES_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "sizing/policy/escalator/escalator_group.h"
#include "sizing/policy/escalator/escalator_options.h"

namespace ebb {

// Step 5.  Requests are of all pods of the group, pending ones and those on tainted or cordoned
// nodes too; capacity is of its untainted nodes.
struct EscalatorSums {
  EscalatorResources requests = {};
  EscalatorResources capacity = {};
  // Of any one pending pod, and free on any one untainted node; cpu and memory apart.
  EscalatorResources largest_pending = {};
  EscalatorResources largest_free = {};

  bool operator==(const EscalatorSums&) const = default;
};
EscalatorSums Sum(const EscalatorObservation& observation, const EscalatorGroup& group);

// Stands for the utilization of no nodes.
inline constexpr double kEscalatorFromZero = std::numeric_limits<double>::max();

struct EscalatorPercents {
  bool divides_by_zero = false;  // There are untainted nodes, and they have no cpu or no memory.
  double cpu = 0;
  double memory = 0;

  [[nodiscard]] double Max() const { return cpu > memory ? cpu : memory; }
  [[nodiscard]] bool IsFromZero() const { return Max() == kEscalatorFromZero; }
  bool operator==(const EscalatorPercents&) const = default;
};
// Step 7.
EscalatorPercents Percents(const EscalatorSums& sums, int64_t untainted);

// Which threshold decided.
enum class EscalatorRule : uint8_t {
  kBetween,   // None: nothing is asked.
  kFast,      // Below the lower one.
  kSlow,      // Below the upper one.
  kGrow,      // Above the one to scale up.
  kFromZero,  // Likewise, without nodes: by the remembered size of one.
  kFirst,     // Likewise, and no size is remembered: one node.
};
std::string_view Name(EscalatorRule rule);

struct EscalatorAsk {
  EscalatorRule rule = EscalatorRule::kBetween;
  int64_t delta = 0;

  bool operator==(const EscalatorAsk&) const = default;
};
// Step 10, with the size of a node as it is remembered.
EscalatorAsk Ask(const EscalatorOptions& options, const EscalatorPercents& percents,
                 const EscalatorResources& requests, const EscalatorResources& node,
                 int64_t untainted);

// Step 11, without its bound: a pending pod asks for more than any node has free.
bool IsStarving(const EscalatorSums& sums);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_FIGURES_H_
