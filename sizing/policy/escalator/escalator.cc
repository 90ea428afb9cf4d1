#include "sizing/policy/escalator/escalator.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "sizing/policy/replicator/replicator_figures.h"

namespace ebb {
namespace {

using Error = EscalatorError;
using Force = EscalatorForce;
using Path = EscalatorPath;

int64_t Count(const std::vector<size_t>& nodes) { return static_cast<int64_t>(nodes.size()); }

// The program rejects a group of a fixed size, but a round can handle it.
bool IsFixedSize(const EscalatorOptions& options, const EscalatorProblem& problem) {
  return problem.key == "min_nodes" && options.min_nodes == options.max_nodes;
}

bool Refuses(const EscalatorOptions& options, const EscalatorObservation& observation,
             EscalatorDecision* decision) {
  for (const EscalatorProblem& problem : Problems(options)) {
    if (IsFixedSize(options, problem)) continue;
    decision->error = Error::kOptions;
    decision->refusal = absl::StrCat(Absl(problem.key), ": ", Absl(problem.text));
    return true;
  }
  decision->refusal = Fault(observation);
  if (decision->refusal.empty()) return false;
  decision->error = Error::kObservation;
  return true;
}

void SetBounds(const EscalatorOptions& options, const EscalatorCloudGroup& cloud,
               EscalatorDecision* decision) {
  const bool from_cloud = options.min_nodes == 0 && options.max_nodes == 0;
  decision->min_nodes = from_cloud ? cloud.min : options.min_nodes;
  decision->max_nodes = from_cloud ? cloud.max : options.max_nodes;
  decision->cloud_desired = cloud.desired;
}

void End(Path path, int64_t delta, Error error, EscalatorDecision* decision) {
  decision->path = path;
  decision->delta = delta;
  decision->error = error;
}

// Steps 3 to 6: whether the round ends because there are too few nodes.
bool EndsWithFewNodes(const EscalatorRound& round, EscalatorDecision* decision) {
  const EscalatorGroup& group = round.group;
  if (group.nodes.empty() && group.pods.empty()) {
    End(Path::kEmpty, 0, Error::kNone, decision);
    return true;
  }
  if (Count(group.nodes) < round.min_nodes) {
    End(Path::kBelowTotalMin, 0, Error::kBelowTotalMin, decision);
    return true;
  }
  decision->sums = Sum(round.observation, group);
  const int64_t missing = round.min_nodes - Count(group.untainted);
  if (missing <= 0) return false;
  decision->up = ScaleGroupUp(round, missing);
  const auto error = decision->up->error;
  End(Path::kBelowUntaintedMin, decision->up->Result(),
      error == EscalatorScaleUp::Error::kNone            ? Error::kNone
      : error == EscalatorScaleUp::Error::kBeyondMaximum ? Error::kBeyondMaximum
                                                         : Error::kCloud,
      decision);
  return true;
}

// Step 8.  An expired lock is opened.
bool IsLocked(const EscalatorRound& round) {
  EscalatorState& state = round.state;
  if (state.locked_at_s && AgeNs(round.now_s, *state.locked_at_s) < round.durations.cool_down_ns) {
    return true;
  }
  state.is_locked = false;
  state.requested = 0;
  return false;
}

// Step 9.
std::optional<EscalatorNewNodes> UnexpectedNewNodes(const EscalatorRound& round) {
  const EscalatorState& state = round.state;
  if (state.last_delta <= 0) return std::nullopt;
  const int64_t came =
      std::count_if(round.group.nodes.begin(), round.group.nodes.end(), [&](size_t i) {
        const EscalatorNode& node = round.Node(i);
        return node.has_readable_instance &&
               (!state.last_growth_s || node.created_s > *state.last_growth_s);
      });
  if (came == state.last_delta) return std::nullopt;
  return EscalatorNewNodes{.expected = state.last_delta, .actual = came};
}

// Step 12: the group is at its minimum, and a node is older than allowed.
bool MustRotate(const EscalatorRound& round) {
  const int64_t max_age_ns = round.durations.max_node_age_ns;
  const EscalatorGroup& group = round.group;
  if (max_age_ns <= 0 || !group.tainted.empty()) return false;
  if (Count(group.untainted) != round.min_nodes) return false;
  return std::any_of(group.untainted.begin(), group.untainted.end(), [&](size_t i) {
    return AgeNs(round.now_s, round.Node(i).created_s) > max_age_ns;
  });
}

// Steps 10 to 13.
int64_t Asked(const EscalatorOptions& options, const EscalatorRound& round,
              EscalatorDecision* decision) {
  const int64_t untainted = Count(round.group.untainted);
  decision->ask = Ask(options, *decision->percents, decision->sums->requests,
                      round.state.cached_capacity, untainted);
  int64_t delta = decision->ask->delta;
  if (options.scale_on_starve && IsStarving(*decision->sums) && untainted < decision->max_nodes) {
    round.forced.push_back(Force::kStarve);
    delta = std::max<int64_t>(delta, 1);
  }
  if (MustRotate(round)) {
    round.forced.push_back(Force::kMaxAge);
    delta = std::max<int64_t>(delta, 1);
  }
  if (untainted > decision->max_nodes) {
    round.forced.push_back(Force::kOverMax);
    delta = std::min(delta, decision->max_nodes - untainted);
  }
  return delta;
}

// Step 14: how many of the newest nodes are unhealthy.
EscalatorHealth Health(const EscalatorOptions& options, const EscalatorRound& round) {
  if (!round.durations.HasHealth()) return {};
  std::vector<size_t> nodes;
  for (const size_t i : round.group.nodes) {
    if (AgeNs(round.now_s, round.Node(i).created_s) > round.durations.unhealthy_grace_ns) {
      nodes.push_back(i);
    }
  }
  std::stable_sort(nodes.begin(), nodes.end(), [&](size_t a, size_t b) {
    return round.Node(a).created_s > round.Node(b).created_s;
  });
  const double share = static_cast<double>(options.health_check_newest_nodes_percent) / 100;
  const auto tested = static_cast<size_t>(std::ceil(share * static_cast<double>(nodes.size())));
  nodes.resize(std::min(tested, nodes.size()));
  EscalatorHealth health{.tested = Count(nodes)};
  if (nodes.empty()) return health;
  health.unhealthy =
      std::count_if(nodes.begin(), nodes.end(), [&](size_t i) { return round.IsUnhealthy(i); });
  health.healthy = health.unhealthy * 100 / health.tested <= options.max_unhealthy_nodes_percent;
  return health;
}

// Step 15.  Failures here are recorded in the decision, and are not errors of the round.
void Act(const EscalatorRound& round, int64_t delta, EscalatorDecision* decision) {
  if (delta < 0) {
    decision->down = ScaleGroupDown(round, SaturatedSubtract(0, delta));
    End(Path::kDown, delta, Error::kNone, decision);
  } else if (delta > 0) {
    decision->up = ScaleGroupUp(round, delta);
    round.state.last_growth_s = round.now_s;
    End(Path::kUp, delta, Error::kNone, decision);
  } else {
    decision->reap = ReapTainted(round, /*only_unhealthy=*/!decision->health->healthy);
    End(Path::kNone, 0, Error::kNone, decision);
  }
}

// Steps 3 to 15.
void Run(const EscalatorOptions& options, const EscalatorRound& round,
         EscalatorDecision* decision) {
  if (EndsWithFewNodes(round, decision)) return;
  const int64_t untainted = Count(round.group.untainted);
  decision->percents = Percents(*decision->sums, untainted);
  if (decision->percents->divides_by_zero) {
    return End(Path::kCalcError, 0, Error::kDivideByZero, decision);
  }
  if (IsLocked(round)) return End(Path::kLocked, round.state.requested, Error::kNone, decision);
  decision->new_nodes = UnexpectedNewNodes(round);

  int64_t delta = Asked(options, round, decision);
  decision->force_reap = ReapForceTainted(round);
  decision->health = Health(options, round);
  if (!decision->health->healthy) {
    round.forced.push_back(Force::kUnhealthy);
    delta = 0;
  }
  Act(round, delta, decision);
}

}  // namespace

EscalatorDecision Decide(const EscalatorOptions& options, const EscalatorObservation& observation,
                         int64_t now_s, EscalatorCalls& calls, EscalatorState* state) {
  EBB_DCHECK(state != nullptr);
  EscalatorDecision decision;
  if (Refuses(options, observation, &decision)) return decision;
  SetBounds(options, *observation.cloud, &decision);
  decision.group = Select(options, observation);
  EscalatorGroup& group = decision.group;
  const EscalatorRound round{.observation = observation,
                             .durations = Durations(options),
                             .cloud = *observation.cloud,
                             .min_nodes = decision.min_nodes,
                             .dry_mode = options.dry_mode,
                             .now_s = now_s,
                             .group = group,
                             .state = *state,
                             .calls = calls,
                             .forced = decision.forced};

  // 1., 2.  Outside dry mode, Classify does not see the taints that step 2 sets.
  if (!group.nodes.empty()) state->cached_capacity = round.Node(group.nodes.front()).allocatable;
  decision.unhealthy_tainted = TaintUnhealthy(round);
  Classify(observation, options.dry_mode, state->taint_tracker, &group);
  decision.warnings = Warnings(observation, group);

  Run(options, round, &decision);
  state->last_delta = decision.delta;
  return decision;
}

std::string Describe(const EscalatorDecision& decision) {
  switch (decision.error) {
    case Error::kNone:
      return "";
    case Error::kOptions:
    case Error::kObservation:
      return decision.refusal;
    case Error::kBelowTotalMin:
      return "node count less than the minimum";
    case Error::kDivideByZero:
      return "cannot divide by zero in percent calculation";
    case Error::kBeyondMaximum:
      return absl::StrCat(
          "refusing to scaleup up beyond the maximum size of the autoscaling group (TargetSize: ",
          decision.cloud_desired, "; MaxNodes: ", decision.max_nodes, "). Taking no action");
    case Error::kCloud:
      break;
  }
  return decision.up ? decision.up->why : "";
}

std::string_view Name(EscalatorError error) {
  switch (error) {
    case Error::kNone:
      return "";
    case Error::kOptions:
      return "options";
    case Error::kObservation:
      return "observation";
    case Error::kBelowTotalMin:
      return "below_total_min";
    case Error::kDivideByZero:
      return "divide_by_zero";
    case Error::kBeyondMaximum:
      return "beyond_maximum";
    case Error::kCloud:
      break;
  }
  return "cloud";
}

std::string_view Name(EscalatorPath path) {
  switch (path) {
    case Path::kRefused:
      return "refused";
    case Path::kEmpty:
      return "empty";
    case Path::kBelowTotalMin:
      return "below_total_min";
    case Path::kBelowUntaintedMin:
      return "below_untainted_min";
    case Path::kCalcError:
      return "calc_error";
    case Path::kLocked:
      return "locked";
    case Path::kUp:
      return "up";
    case Path::kDown:
      return "down";
    case Path::kNone:
      break;
  }
  return "none";
}

}  // namespace ebb
