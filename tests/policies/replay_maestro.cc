// Rounds and panics of Maestro.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/maestro/maestro.h"
#include "tests/policies/maestro_panic.h"
#include "tests/policies/replay.h"

namespace ebb {
namespace {

using nlohmann::json;

// The program loses the ready rooms that it picked.  Each round of a case sets its rooms
// explicitly, so the compared fields do not show this.
constexpr char kFailedScaleDown[] = "a failed scale-down loses no room";

// ---------------------------------------------------------------- reading the recorded input

MaestroTrigger ReadTrigger(const json& from) {
  return {.type = from.value("type", ""),
          .usage = from.value("usage", int64_t{0}),
          .threshold = from.value("threshold", int64_t{0}),
          .time = from.value("time", int64_t{0}),
          .limit = from.value("limit", int64_t{0}),
          .delta = from.value("delta", int64_t{0})};
}

MaestroScaling ReadScaling(const json& autoscaling, const char* section) {
  if (!autoscaling.contains(section)) return DefaultMaestroScaling();
  const json& from = autoscaling.at(section);
  MaestroScaling scaling{.cooldown = from.value("cooldown", int64_t{0}),
                         .delta = from.value("delta", int64_t{0})};
  if (from.contains("trigger")) scaling.trigger = ReadTrigger(from.at("trigger"));
  if (from.contains("metricsTrigger")) {
    for (const json& trigger : from.at("metricsTrigger")) {
      scaling.metrics_trigger.push_back(ReadTrigger(trigger));
    }
  }
  return scaling;
}

MaestroOptions ReadAutoscaling(const json& from) {
  return {.min = from.value("min", int64_t{0}),
          .max = from.value("max", int64_t{0}),
          .enable_panic_scale = from.value("enablePanicScale", false),
          .up = ReadScaling(from, "up"),
          .down = ReadScaling(from, "down")};
}

MaestroRooms ReadRooms(const json& from) {
  return {.creating = from.at("creating"),
          .ready = from.at("ready"),
          .occupied = from.at("occupied"),
          .terminating = from.at("terminating")};
}

MaestroObservation ReadObservation(const json& round) {
  MaestroObservation observation{.counts = {.rooms = ReadRooms(round.at("rooms"))}};
  for (const json& from : round.at("containers")) {
    observation.counts.containers.push_back({.cpu_usage_milli = from.at("cpu_usage_m"),
                                             .cpu_request_milli = from.at("cpu_request_m"),
                                             .mem_usage_bytes = from.at("mem_usage_b"),
                                             .mem_request_bytes = from.at("mem_request_b")});
  }
  return observation;
}

MaestroState ReadState(const json& config) {
  using enum MaestroStatus;
  MaestroState state{.last_scale_op_at = config.at("initial_last_scale_op_at")};
  const std::string wanted = config.at("initial_state");
  for (const MaestroStatus status :
       {kInSync, kSubdimensioned, kOverdimensioned, kCreating, kTerminating}) {
    if (Name(status) == wanted) state.status = status;
  }
  return state;
}

// ---------------------------------------------------------------- ebb's answer, in recorded form

json Number(float utilization) {
  return std::isnan(utilization) ? json() : json(static_cast<double>(utilization));
}

json CheckAsRecorded(const MaestroCheck& check) {
  json out = {{"dir", Name(check.direction)},
              {"index", check.index},
              {"type", check.type},
              {"limit_hit", check.limit_hit},
              {"cooldown", check.cooldown}};
  if (!check.limit_hit) {
    out["window"] = check.window;
    out["points"] = check.points;
    out["beyond"] = check.beyond;
    out["matched"] = check.matched;
  }
  if (check.delta) out["delta"] = *check.delta;
  return out;
}

json AsRecorded(const MaestroDecision& made, const MaestroState& after) {
  json out = {{"reason", Name(made.reason)},
              {"delta", made.asked},
              {"amount", made.bounded},
              {"applied", made.asked != 0 && made.refusal == MaestroRefusal::kNone},
              {"state_after", Name(after.status)},
              {"last_scale_op_at_after", after.last_scale_op_at},
              {"point_sent", json::object()},
              {"points_kept", json::object()},
              {"checks", json::array()}};
  for (const MaestroSample& sample : made.samples) {
    out["point_sent"][sample.type] = Number(sample.utilization);
    out["points_kept"][sample.type] = sample.kept;
  }
  for (const MaestroCheck& check : made.checks) out["checks"].push_back(CheckAsRecorded(check));
  if (made.decided_by) {
    const MaestroCheck& by = made.checks.at(*made.decided_by);
    out["trigger_dir"] = Name(by.direction);
    out["trigger_index"] = by.index;
  }
  return out;
}

// A recorded point has the shortest digits of its 32-bit value.
json WithPointsIn32Bits(json expect) {
  for (auto& point : expect.at("point_sent")) {
    if (point.is_number()) point = Number(static_cast<float>(point.get<double>()));
  }
  return expect;
}

// ---------------------------------------------------------------- comparing

// Whether both are equal field by field; prints the differences.
bool Same(const std::string& where, const json& expect, const json& got) {
  bool same = true;
  const auto differ = [&](const std::string& key, const std::string& wanted,
                          const std::string& made) {
    same = false;
    std::fprintf(stderr, "%s: %s: expected %s, got %s\n", where.c_str(), key.c_str(),
                 wanted.c_str(), made.c_str());
  };
  for (const auto& [key, value] : expect.items()) {
    const bool there = got.contains(key);
    if (!there || got.at(key) != value) {
      differ(key, value.dump(), there ? got.at(key).dump() : "nothing");
    }
  }
  for (const auto& [key, value] : got.items()) {
    if (!expect.contains(key)) differ(key, "nothing", value.dump());
  }
  return same;
}

void ReplayCase(const std::string& name, const json& one, ReplayTally* tally) {
  const json& config = one.at("config");
  MaestroOptions options = ReadAutoscaling(config.at("autoscaling"));
  options.auto_scaling_period = config.at("period_s");
  options.max_scale_up_amount = config.at("max_scale_up_amount");
  const MaestroTypes types;
  MaestroState state = ReadState(config);
  size_t index = 0;
  for (const json& round : one.at("rounds")) {
    const int64_t now_s = round.at("now_s");
    const MaestroDecision made = Decide(options, types, ReadObservation(round), now_s, &state);
    Succeeded(made, &state);  // Recorded operations fail only by a refusal.
    const json expect = WithPointsIn32Bits(round.at("expect"));
    const std::string where = name + ", round " + std::to_string(index);
    if (!Same(where, expect, AsRecorded(made, state))) ++tally->differing;
    if (expect.at("delta") < 0 && !expect.at("applied")) ++tally->deviations[kFailedScaleDown];
    ++tally->rounds;
    ++index;
  }
}

// One ready room reports that it is occupied.
void ReplayPanic(const std::string& name, const json& one, ReplayTally* tally) {
  constexpr int64_t kNow = 1'000'000'000;
  const MaestroOptions options = ReadAutoscaling(one.at("autoscaling"));
  MaestroObservation observation{.counts = {.rooms = ReadRooms(one.at("rooms_before"))}};
  --observation.counts.rooms.ready;
  ++observation.counts.rooms.occupied;
  MaestroState state;
  if (one.at("panic_lock_held")) state.panic_locked_until = kNow + 1;
  const MaestroPanic panic = Panic(options, observation, kNow, &state);
  const json got = {{"panic_scale", panic.reason == MaestroPanicReason::kPanic},
                    {"amount", panic.delta}};
  if (!Same(name, one.at("expect"), got)) ++tally->differing;
  ++tally->rounds;
}

template <typename Replay>
ReplayTally ReplayAll(const json& file, const char* kind, Replay replay) {
  ReplayTally tally;
  for (const json& one : file) {
    replay("maestro " + std::string(kind) + " " + std::to_string(tally.cases), one, &tally);
    ++tally.cases;
  }
  return tally;
}

}  // namespace

ReplayTally ReplayMaestroRounds(const json& file) { return ReplayAll(file, "case", ReplayCase); }

ReplayTally ReplayMaestroPanics(const json& file) { return ReplayAll(file, "panic", ReplayPanic); }

}  // namespace ebb
