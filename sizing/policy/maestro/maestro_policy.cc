#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/figures.h"
#include "sizing/policy/figure_text.h"
#include "sizing/policy/maestro/maestro.h"
#include "sizing/policy/policy_schools.h"
#include "sizing/policy/state_text.h"

namespace ebb {

template <typename A>
void Fields(A& a, MaestroPoint& p) {
  a(p.utilization);
}
template <typename A>
void Fields(A& a, MaestroState& s) {
  a(s.status, s.last_scale_op_at, s.points, s.panic_locked_until);
}

namespace {

// The state, and the time of the round whose action has not ended.
struct MaestroPolicyState {
  MaestroState state;
  std::optional<int64_t> acting_since_s{};
};

}  // namespace

template <typename A>
void Fields(A& a, MaestroPolicyState& s) {
  a(s.state, s.acting_since_s);
}

namespace {

constexpr std::string_view kState = "maestro/1";

void AddTriggerKeys(const std::string& list, std::string_view usage, bool is_up,
                    std::vector<PolicyKey>& keys) {
  using enum PolicyValueType;
  const auto add = [&](std::string_view name, PolicyValueType type, std::string_view help,
                       std::string_view example, bool required, double min, double max) {
    keys.push_back({fmt::format("{}[].{}", list, name), type, std::string(help),
                    std::string(example), required, min, max});
  };
  constexpr double kMost = 9e18;
  add("type", kText, "room, cpu, mem or legacy", "room", true, -kMost, kMost);
  add("usage", kInt, "Percent of utilization that is aimed at", usage, true, 0, kMost);
  add("threshold", kInt, "Percent of points beyond usage from which it matches", "80", false, 0,
      100);
  add("time", kInt, "Seconds: points as old as that count", "200", false, 0, kMost);
  if (is_up) {
    add("limit", kInt, "Percent of utilization that grows even in cooldown", "90", false, 0, kMost);
  }
  add("delta", kInt, "Of type legacy: rooms, below 0 to go down", "0", false, -kMost, kMost);
}

// The old single trigger, which applies if there is no metricsTrigger.
void AddOldTriggerKeys(const std::string& section, std::vector<PolicyKey>& keys) {
  for (const char* const name : {"usage", "threshold", "time", "limit"}) {
    keys.push_back({.path = fmt::format("{}.trigger.{}", section, name),
                    .type = PolicyValueType::kInt,
                    .help = "Another spelling of metricsTrigger, with one of type room",
                    .example = "80",
                    .min = 0});
  }
}

std::vector<PolicyKey> Keys() {
  using enum PolicyValueType;
  std::vector<PolicyKey> keys = {
      {"roomsPerNode", kInt, "Rooms that one node holds", "10", true, 1},
      {"min", kInt, "Fewest rooms, of whatever state", "10", true, 0},
      {"max", kInt, "Most rooms; 0: no bound", "100", false, 0},
      {"autoScalingPeriod", kInt, "Seconds from round to round: a point each", "10", false, 1},
      {"maxScaleUpAmount", kInt, "Most rooms that one round adds", "300", false, 0},
      {"preventRoomsCreationWithError", kBool, "No room while an image cannot be had", "true"},
      {"up.cooldown", kInt, "Seconds after an operation", "60", false, 0},
  };
  AddTriggerKeys("up.metricsTrigger", "70", true, keys);
  AddOldTriggerKeys("up", keys);
  keys.push_back({"down.cooldown", kInt, "Seconds after an operation", "300", false, 0});
  AddTriggerKeys("down.metricsTrigger", "50", false, keys);
  AddOldTriggerKeys("down", keys);
  return keys;
}

void ReadScaling(const PolicySettings& settings, const std::string& section,
                 MaestroScaling& scaling) {
  const std::string list = section + ".metricsTrigger";
  const std::string old = section + ".trigger.";
  const bool is_given = settings.Has(section + ".cooldown") || settings.HasList(list) ||
                        settings.Has(old + "usage") || settings.Has(old + "threshold") ||
                        settings.Has(old + "time") || settings.Has(old + "limit");
  if (is_given) scaling = {};  // A section that is present has no default cooldown.
  settings.Read(section + ".cooldown", scaling.cooldown);
  settings.Read(old + "usage", scaling.trigger.usage);
  settings.Read(old + "threshold", scaling.trigger.threshold);
  settings.Read(old + "time", scaling.trigger.time);
  settings.Read(old + "limit", scaling.trigger.limit);
  for (size_t i = 0; i < settings.Count(list); ++i) {
    const std::string at = fmt::format("{}[{}].", list, i);
    MaestroTrigger trigger;
    settings.Read(at + "type", trigger.type);
    settings.Read(at + "usage", trigger.usage);
    settings.Read(at + "threshold", trigger.threshold);
    settings.Read(at + "time", trigger.time);
    settings.Read(at + "limit", trigger.limit);
    settings.Read(at + "delta", trigger.delta);
    scaling.metrics_trigger.push_back(std::move(trigger));
  }
}

MaestroOptions ReadOptions(const PolicySettings& settings) {
  MaestroOptions o;
  settings.Read("min", o.min);
  settings.Read("max", o.max);
  settings.Read("autoScalingPeriod", o.auto_scaling_period);
  settings.Read("maxScaleUpAmount", o.max_scale_up_amount);
  settings.Read("preventRoomsCreationWithError", o.prevent_rooms_creation_with_error);
  ReadScaling(settings, "up", o.up);
  ReadScaling(settings, "down", o.down);
  return o;
}

std::vector<const PolicyPod*> RoomPods(const PolicyObservation& observation) {
  std::vector<const PolicyPod*> pods;
  for (const PolicyNode& node : observation.nodes) {
    for (const PolicyPod& pod : node.pods) {
      if (!pod.is_daemonset) pods.push_back(&pod);
    }
  }
  return pods;
}

// A count of rooms from a signal.  If the signal is not a count, -1, which no round accepts.
int64_t RoomsOf(const PolicyObservation& observation, std::string_view name) {
  const auto found = observation.signals.find(name);
  if (found == observation.signals.end()) return 0;
  const double value = found->second.value;
  return value >= 0 && value < 9e15 ? std::llround(value) : -1;
}

int64_t RoomsOn(int64_t nodes, int64_t rooms_per_node) {
  const double all = static_cast<double>(nodes) * static_cast<double>(rooms_per_node);
  return all < 9e15 ? static_cast<int64_t>(all) : 0;
}

MaestroObservation ObservationOf(const PolicyObservation& from, int64_t rooms_per_node) {
  MaestroObservation to;
  const std::vector<const PolicyPod*> pods = RoomPods(from);
  bool has_rooms = false;
  for (const auto& [name, signal] : from.signals) {
    to.counts.signals.emplace(name, signal.value);
    has_rooms |= name.starts_with("rooms_");
  }
  if (has_rooms) {
    to.counts.rooms = {.creating = RoomsOf(from, "rooms_creating"),
                       .ready = RoomsOf(from, "rooms_ready"),
                       .occupied = RoomsOf(from, "rooms_occupied")};
  } else {
    // A pending pod needs a room.
    const auto occupied = static_cast<int64_t>(pods.size() + from.pending.size());
    const int64_t staying = std::ranges::count(from.nodes, false, &PolicyNode::is_leaving);
    const int64_t room = RoomsOn(staying, rooms_per_node);
    int64_t booting = 0;
    if (from.cloud) booting = std::max<int64_t>(0, from.cloud->desired - std::ssize(from.nodes));
    to.counts.rooms = {.creating = RoomsOn(booting, rooms_per_node),
                       .ready = std::max<int64_t>(room - std::ssize(pods), 0),
                       .occupied = occupied};
  }
  for (const PolicyPod* pod : pods) {
    if (!pod->usage) continue;
    to.counts.containers.push_back({.cpu_usage_milli = pod->usage->cpu_milli,
                                    .cpu_request_milli = pod->requests.cpu_milli,
                                    .mem_usage_bytes = pod->usage->memory_bytes,
                                    .mem_request_bytes = pod->requests.memory_bytes});
  }
  // If the rooms come from signals, a pending pod is a room that cannot start.
  if (has_rooms) to.pending_pods = static_cast<int64_t>(from.pending.size());
  return to;
}

// A NaN is shown without its sign.
std::string Shown(float utilization) {
  return std::isnan(utilization) ? "unknown (no usage)" : FigureText(utilization);
}

void AddCheck(const MaestroCheck& check, std::vector<PolicyFigure>& to) {
  const std::string at =
      fmt::format("{}.metricsTrigger[{}] {}", Name(check.direction), check.index, check.type);
  std::string text = "utilization " + Shown(check.utilization);
  if (check.limit_hit) {
    text += ", limit hit";
  } else {
    text +=
        fmt::format(", {} of {} beyond, window {}", check.beyond,
                    Count(static_cast<uint64_t>(check.points), "point", "points"), check.window);
    // A full window holds one point more than its length.
    const int64_t missing = check.window - (check.points - 1);
    if (missing > 0) {
      text +=
          fmt::format(" ({} missing)", Count(static_cast<uint64_t>(missing), "point", "points"));
    }
    text += check.matched ? ", matches" : ", no match";
  }
  if (check.delta) text += fmt::format(", delta {}", *check.delta);
  if (check.cooldown) text += ", in cooldown";
  to.push_back({at, text});
}

void AddFigures(const MaestroObservation& seen, const MaestroDecision& made,
                std::vector<PolicyFigure>& to) {
  const auto add = [&](std::string name, const auto& value) {
    to.push_back({std::move(name), FigureText(value)});
  };
  add("rooms creating", seen.counts.rooms.creating);
  add("rooms ready", seen.counts.rooms.ready);
  add("rooms occupied", seen.counts.rooms.occupied);
  add("pending pods", seen.pending_pods);
  for (const MaestroSample& sample : made.samples) {
    add("point of " + sample.type, Shown(sample.utilization));
  }
  for (const MaestroCheck& check : made.checks) AddCheck(check, to);
  add("rooms asked for", made.asked);
  add("within bounds", made.bounded);
  if (made.bound != MaestroBound::kNone) add("bounded by", Name(made.bound));
  add("rooms to change", made.delta);
}

class MaestroPolicy final : public Policy {
 public:
  MaestroPolicy(MaestroOptions options, int64_t rooms_per_node)
      : options_(std::move(options)), rooms_per_node_(rooms_per_node) {}

  PolicyDecision Decide(const PolicyObservation& observation, int64_t now_s,
                        std::string* state) const override {
    EBB_DCHECK(state != nullptr);
    MaestroPolicyState read;
    if (!ReadStateText(kState, *state, &read)) return Denied("state", "state_unreadable");
    const MaestroObservation seen = ObservationOf(observation, rooms_per_node_);
    MaestroOptions options = options_;
    const int64_t beyond = RoomsThatFillNoNode(seen);
    options.max += beyond;
    const MaestroDecision made = ebb::Decide(options, types_, seen, now_s, &read.state);
    PolicyDecision decision = DecisionOf(seen, made, observation.nodes.size());
    if (beyond > 0) {
      decision.figures.push_back({"rooms above max that fill no node", std::to_string(beyond)});
    }
    read.acting_since_s.reset();
    if (decision.delta != 0) read.acting_since_s = now_s;
    *state = StateText(std::string(kState), read);
    return decision;
  }

  void Ended(bool succeeded, int64_t /*now_s*/, std::string* state) const override {
    MaestroPolicyState read;
    if (!ReadStateText(kState, *state, &read) || !read.acting_since_s) return;
    if (succeeded) read.state.last_scale_op_at = *read.acting_since_s;
    read.acting_since_s.reset();
    *state = StateText(std::string(kState), read);
  }

 private:
  // The number of rooms above max that do not fill a node, so that no node can be removed for
  // them.  If no other rooms are above max, the pool counts as within its bounds.
  [[nodiscard]] int64_t RoomsThatFillNoNode(const MaestroObservation& seen) const {
    const std::optional<int64_t> available = Available(seen.counts.rooms);
    if (options_.max <= 0 || !available || *available <= options_.max) return 0;
    return (*available - options_.max) % rooms_per_node_;
  }

  // Added nodes hold all missing rooms, except that their rooms must not exceed max.  Removed nodes
  // are only as many as the removed rooms fill.
  [[nodiscard]] int64_t NodesOf(const MaestroDecision& made, size_t nodes) const {
    const int64_t whole = made.delta / rooms_per_node_;
    if (made.delta <= 0) return std::max(whole, -static_cast<int64_t>(nodes));
    const int64_t enough = whole + (made.delta % rooms_per_node_ > 0 ? 1 : 0);
    if (options_.max <= 0) return enough;
    const int64_t most = (options_.max - made.available) / rooms_per_node_;
    return std::clamp<int64_t>(most, 0, enough);
  }

  [[nodiscard]] PolicyDecision DecisionOf(const MaestroObservation& seen,
                                          const MaestroDecision& made, size_t nodes) const {
    PolicyDecision decision;
    decision.direction = made.asked > 0   ? PolicyDirection::kUp
                         : made.asked < 0 ? PolicyDirection::kDown
                                          : PolicyDirection::kStay;
    decision.reason = Name(made.reason);
    decision.delta = NodesOf(made, nodes);
    AddFigures(seen, made, decision.figures);
    decision.figures.push_back({"rooms per node", std::to_string(rooms_per_node_)});
    using enum MaestroReason;
    if (made.refusal != MaestroRefusal::kNone) {
      decision.denied_by = Name(made.refusal);
    } else if (made.reason == kCooldown || made.reason == kNoNumber ||
               made.reason == kInvalidCounts || made.reason == kInvalidOptions ||
               made.reason == kState) {
      decision.denied_by = Name(made.reason);
    } else if (made.asked != 0 && made.delta == 0) {
      decision.denied_by = Name(made.bound);
    } else if (made.delta != 0 && decision.delta == 0) {
      decision.denied_by = made.delta > 0 ? Name(MaestroBound::kMax) : "rooms_per_node";
    }
    return decision;
  }

  MaestroOptions options_;
  MaestroTypes types_;
  int64_t rooms_per_node_;
};

std::unique_ptr<Policy> Make(const PolicySettings& settings, std::vector<PolicyProblem>* problems) {
  MaestroOptions options = ReadOptions(settings);
  int64_t rooms_per_node = 1;
  settings.Read("roomsPerNode", rooms_per_node);
  const std::vector<std::string> wrong = Problems(options, MaestroTypes());
  for (const std::string& what : wrong) problems->push_back({"", what});
  if (rooms_per_node < 1) problems->push_back({"roomsPerNode", "must be 1 or more"});
  if (!wrong.empty() || rooms_per_node < 1) return nullptr;
  return std::make_unique<MaestroPolicy>(std::move(options), rooms_per_node);
}

}  // namespace

PolicySchool MaestroSchool() {
  return {
      .name = "maestro",
      .summary = "Tries triggers in order, over points of utilization in time",
      .keys = Keys(),
      .make = Make,
      .period_s =
          [](const PolicySettings& settings) { return ReadOptions(settings).auto_scaling_period; },
      .period_key = "autoScalingPeriod",
      .follows = "Maestro, tag v9.16.2",
      .others = {"down.delta", "up.delta"}};
}

}  // namespace ebb
