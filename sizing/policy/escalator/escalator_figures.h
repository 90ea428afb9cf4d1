// Escalator's arithmetic: requests as a percentage of capacity, and how many nodes are missing.
//
// Units:     milli-cores, bytes, percent.
// Cost:      O(nodes + pods) for the sums, O(1) for the rest.
// Threads:   pure.
// Source:    Escalator, "One round", steps 5, 7, 10 and 11.
// Surprise:  memory is computed in thousandths of bytes, as in the program: amounts above 2^53
//            thousandths are rounded.

#ifndef EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_FIGURES_H_
#define EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_FIGURES_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "sizing/policy/escalator/escalator_group.h"
#include "sizing/policy/escalator/escalator_options.h"

namespace ebb {

// Step 5.  Requests of all pods of the group, including pending pods and pods on tainted or
// cordoned nodes; capacity of the group's untainted nodes.
struct EscalatorSums {
  EscalatorResources requests = {};
  EscalatorResources capacity = {};
  // The largest request of a single pending pod, and the most that one untainted node has free.
  // Cpu and memory are separate maxima, possibly of different pods or nodes.
  EscalatorResources largest_pending = {};
  EscalatorResources largest_free = {};

  bool operator==(const EscalatorSums&) const = default;
};
EscalatorSums Sum(const EscalatorObservation& observation, const EscalatorGroup& group);

// The utilization of a group that has requests and no untainted nodes.
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
  kBetween,   // No threshold: the group is left alone.
  kFast,      // Below the lower taint threshold.
  kSlow,      // Below the upper taint threshold.
  kGrow,      // Above the scale-up threshold.
  kFromZero,  // Without nodes: computed from the remembered size of a node.
  kFirst,     // Without nodes or a remembered size: one node.
};
std::string_view Name(EscalatorRule rule);

struct EscalatorAsk {
  EscalatorRule rule = EscalatorRule::kBetween;
  int64_t delta = 0;

  bool operator==(const EscalatorAsk&) const = default;
};
// Step 10.  `node` is the remembered size of a node.
EscalatorAsk Ask(const EscalatorOptions& options, const EscalatorPercents& percents,
                 const EscalatorResources& requests, const EscalatorResources& node,
                 int64_t untainted);

// Step 11, without the test of max_nodes: a pending pod asks for more than any node has free.
bool IsStarving(const EscalatorSums& sums);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_FIGURES_H_
