// Escalator: keep what pods request between thresholds of what nodes can hold; one round for one
// node group.
//
//   EscalatorState state;
//   const EscalatorDecision round = Decide(options, observation, now_s, calls, &state);
//   if (round.error != EscalatorError::kNone) Tell(Describe(round));
//   Store(options.name, state);
//
// Order of a round; the first step that decides ends it:
//  1. the size of the first node is remembered; 2. unhealthy nodes are tainted, whatever follows;
//  3. neither nodes nor pods; 4. fewer nodes than min_nodes: an error, and no growth;
//  5., 6. fewer untainted ones: growth, locked or not; 7. percentages; 8. locked;
//  10. the thresholds; 11. to 13. starving pods, old nodes, max_nodes;
//  14. empty nodes with a force taint go, and nothing is scaled while too many nodes are unhealthy;
//  15. growth, taints or reaping.
//
// Calls are made as the round comes to them, because what follows depends on what came of them;
// with EscalatorNoCalls a round only tells.
//
// Units:     seconds since the Unix epoch; nodes; percent.
// Cost:      O(pods + nodes log nodes), and the calls.
// Errors:    data, as in the program: a round with an error has delta 0.  Options with a problem
//            and observations with a fault are refused: nothing is done and the state stays.
//            Except min_nodes = max_nodes: that is a problem, and decided for.
// Threads:   none.
// Source:    Escalator, "One round, in this order", its numbers.  Beyond the program: warnings of
//            unlike nodes and of pods without requests, by name.

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

// Where the round ended.
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
  kOptions,  // `refusal` says more, as of kObservation.
  kObservation,
  kBelowTotalMin,  // Fewer nodes than min_nodes.
  kDivideByZero,   // Nodes without cpu or memory.
  kBeyondMaximum,  // Of step 6: the cloud group is at its max.
  kCloud,          // Of step 6: `up.why`.
};

// "divide_by_zero" and so on; "" for none.
std::string_view Name(EscalatorError error);

// Step 9: nodes that came since the cloud group last grew.
struct EscalatorNewNodes {
  int64_t expected = 0;
  int64_t actual = 0;

  bool operator==(const EscalatorNewNodes&) const = default;
};

// Step 14.
struct EscalatorHealth {
  int64_t tested = 0;  // The newest ones.
  int64_t unhealthy = 0;
  bool healthy = true;

  bool operator==(const EscalatorHealth&) const = default;
};

// What a round was computed from, and what came of it.  What it did not come to is absent.  Nodes
// and pods are indices of the observation.
struct EscalatorDecision {
  EscalatorPath path = EscalatorPath::kRefused;
  int64_t delta = 0;  // As the program returns it: as asked for, but of step 6 as achieved.
  EscalatorError error = EscalatorError::kNone;
  std::string refusal = {};

  int64_t min_nodes = 0;  // Those that held.
  int64_t max_nodes = 0;
  int64_t cloud_desired = 0;  // At the start of the round.
  EscalatorGroup group = {};
  EscalatorWarnings warnings = {};
  std::optional<EscalatorSums> sums = {};
  std::optional<EscalatorPercents> percents = {};
  std::optional<EscalatorAsk> ask = {};
  std::optional<EscalatorNewNodes> new_nodes = {};  // Only if they are not as many as expected.
  std::vector<EscalatorForce> forced = {};
  std::optional<EscalatorHealth> health = {};

  EscalatorTaints unhealthy_tainted = {};  // Step 2.
  EscalatorReap force_reap = {};           // Step 14.
  std::optional<EscalatorScaleUp> up = {};
  std::optional<EscalatorScaleDown> down = {};
  std::optional<EscalatorReap> reap = {};  // Of a round with delta 0.
};

// The error as a sentence, in the program's words where it has some; "" for none.
std::string Describe(const EscalatorDecision& decision);

// One round.  REQUIRES: state is not null.
EscalatorDecision Decide(const EscalatorOptions& options, const EscalatorObservation& observation,
                         int64_t now_s, EscalatorCalls& calls, EscalatorState* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_H_
