// Escalator: keeps what pods request between thresholds of what nodes can hold.  Decide is one
// round for one node group.
//
//   EscalatorState state;
//   const EscalatorDecision round = Decide(options, observation, now_s, calls, &state);
//   if (round.error != EscalatorError::kNone) Log(Describe(round));
//   Store(options.name, state);
//
// Order of a round; the first step that decides ends it:
//  1. remember the size of the first node;
//  2. taint unhealthy nodes, whatever follows;
//  3. the group has neither nodes nor pods;
//  4. it has fewer nodes than min_nodes: an error, and no growth;
//  5., 6. it has fewer untainted nodes than min_nodes: growth, even if the group is locked;
//  7. percentages;
//  8. the group is locked;
//  9. compare the nodes that came since the last growth with the expected ones;
//  10. the thresholds;
//  11. to 13. starving pods, old nodes, max_nodes;
//  14. remove empty nodes with a force taint; do not scale while too many nodes are unhealthy;
//  15. growth, taints or reaping.
//
// Decide makes each call when the round reaches it, because later steps depend on its result.  With
// EscalatorNoCalls a round changes nothing and returns what it would do.
//
// Units:     seconds since the Unix epoch; nodes; percent.
// Cost:      O(pods + nodes log nodes), and the calls.
// Errors:    data, as in the program: a round with an error has delta 0.  Decide refuses options
//            with a problem and observations with a fault: it makes no call and leaves the state
//            unchanged.  Exception: it accepts min_nodes = max_nodes, which Problems() reports.
// Threads:   none.
// Source:    Escalator, "One round, in this order", its numbers.  The program lacks the warnings
//            that name unlike nodes and pods without requests.

#ifndef EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_H_
#define EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/escalator/escalator_actions.h"
#include "sizing/policy/escalator/escalator_figures.h"
#include "sizing/policy/escalator/escalator_group.h"
#include "sizing/policy/escalator/escalator_options.h"

namespace ebb {

// The step at which the round ended.
enum class EscalatorPath : uint8_t {
  kRefused,
  kEmpty,
  kBelowTotalMin,
  kBelowUntaintedMin,
  kCalcError,
  kLocked,
  kUp,
  kDown,
  kNone,
};
// "below_untainted_min" and so on.
std::string_view Name(EscalatorPath path);

enum class EscalatorError : uint8_t {
  kNone,
  kOptions,  // `refusal` has the details, also for kObservation.
  kObservation,
  kBelowTotalMin,  // Fewer nodes than min_nodes.
  kDivideByZero,   // Nodes without cpu or memory.
  kBeyondMaximum,  // Step 6: the cloud group is at its max.
  kCloud,          // Step 6: `up.why` has the details.
};

// "divide_by_zero" and so on; "" for none.
std::string_view Name(EscalatorError error);

// Step 9: nodes that were created since the cloud group last grew.
struct EscalatorNewNodes {
  int64_t expected = 0;
  int64_t actual = 0;

  bool operator==(const EscalatorNewNodes&) const = default;
};

// Step 14.
struct EscalatorHealth {
  int64_t tested = 0;  // How many of the newest nodes were tested.
  int64_t unhealthy = 0;
  bool healthy = true;

  bool operator==(const EscalatorHealth&) const = default;
};

// The figures and the result of a round.  Fields of steps that were not reached are empty.  Nodes
// and pods are indices of the observation.
struct EscalatorDecision {
  EscalatorPath path = EscalatorPath::kRefused;
  // As the program returns it: the nodes asked for; in step 6, the nodes gained.
  int64_t delta = 0;
  EscalatorError error = EscalatorError::kNone;
  std::string refusal = {};

  int64_t min_nodes = 0;  // The bounds that this round used.
  int64_t max_nodes = 0;
  int64_t cloud_desired = 0;  // At the start of the round.
  EscalatorGroup group = {};
  EscalatorWarnings warnings = {};
  std::optional<EscalatorSums> sums = {};
  std::optional<EscalatorPercents> percents = {};
  std::optional<EscalatorAsk> ask = {};
  std::optional<EscalatorNewNodes> new_nodes = {};  // Only if they differ.
  std::vector<EscalatorForce> forced = {};
  std::optional<EscalatorHealth> health = {};

  EscalatorTaints unhealthy_tainted = {};  // Step 2.
  EscalatorReap force_reap = {};           // Step 14.
  std::optional<EscalatorScaleUp> up = {};
  std::optional<EscalatorScaleDown> down = {};
  std::optional<EscalatorReap> reap = {};  // Only if delta is 0.
};

// The error as a sentence, in the program's words where the program has some; "" without an error.
std::string Describe(const EscalatorDecision& decision);

// One round.  REQUIRES: state is not null.
EscalatorDecision Decide(const EscalatorOptions& options, const EscalatorObservation& observation,
                         int64_t now_s, EscalatorCalls& calls, EscalatorState* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_H_
