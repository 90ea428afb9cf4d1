#include "cli/print/state_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/figures.h"
#include "base/rfc3339.h"
#include "cli/print/table.h"
#include "rounds/round_events.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

std::string MaybeTime(const std::optional<int64_t>& at_s) {
  return at_s ? FormatRfc3339(*at_s) : "-";
}
Json MaybeTimeJson(const std::optional<int64_t>& at_s) {
  return at_s ? Json(FormatRfc3339(*at_s)) : Json();
}

void PrintRows(const Table& table, std::ostream& out) {
  if (table.empty()) return;
  out << "\n";
  table.Print(out);
}

// A deletion that the last round knew of: either ebb requested it, or only reports or taints show
// it.
struct KnownDeletion {
  std::string node;
  bool asked_for = true;
  StartedDeletions::Phase phase = StartedDeletions::Phase::kRequested;  // If asked_for.
  int64_t seen_s = 0;
};

std::vector<KnownDeletion> DeletionsOf(const ScaleDownState& state) {
  std::vector<KnownDeletion> deletions;
  for (const auto& each : state.started) {
    deletions.push_back({.node = each.node, .phase = each.phase, .seen_s = each.at_s});
  }
  for (const auto* list : {&state.actuation.empty, &state.actuation.drained}) {
    for (const NodeInDeletion& each : *list) {
      // `started` is sorted.
      const bool asked_for = std::ranges::binary_search(state.started, each.name, {},
                                                        &StartedDeletions::Deletion::node);
      if (asked_for) continue;
      deletions.push_back({.node = each.name, .asked_for = false, .seen_s = state.latest_s});
    }
  }
  std::ranges::sort(deletions, {}, &KnownDeletion::node);
  return deletions;
}

// In words, and as data.
struct PhaseName {
  const char* words;
  const char* key;
};
PhaseName PhaseOf(const KnownDeletion& deletion) {
  if (!deletion.asked_for) return {"in progress, not asked for by ebb", "notAskedFor"};
  switch (deletion.phase) {
    case StartedDeletions::Phase::kRequested:
      return {"asked for", "askedFor"};
    case StartedDeletions::Phase::kRunning:
      return {"running", "running"};
    case StartedDeletions::Phase::kSucceeded:
      break;
  }
  return {"succeeded", "succeeded"};
}

const std::string& ReasonOf(const PlannerMemory::Unremovable& node) {
  return node.blocking_reason.empty() ? node.reason : node.blocking_reason;
}

void PrintRounds(const ScaleDownState& state, std::ostream& out) {
  out << fmt::format("{}, the last at {}\n",
                     Count(static_cast<uint64_t>(state.rounds), "round", "rounds"),
                     FormatRfc3339(state.latest_s));
  if (state.jump_s) {
    out << fmt::format("The clock jumped to {}; a second round at about that time goes on\n",
                       FormatRfc3339(*state.jump_s));
  }
  Table timers({"NODE", "UNNEEDED SINCE", "JUDGED BY THE LAST ROUND"});
  for (const auto& timer : state.timers) {
    timers.AddRow({timer.node, FormatRfc3339(timer.since_s), timer.judged ? "yes" : "no"});
  }
  PrintRows(timers, out);
  Table deletions({"NODE", "DELETION", "LAST SEEN SO"});
  for (const KnownDeletion& each : DeletionsOf(state)) {
    deletions.AddRow({each.node, PhaseOf(each).words, FormatRfc3339(each.seen_s)});
  }
  PrintRows(deletions, out);
  Table unremovable({"NODE", "UNREMOVABLE", "LOOKED AT AGAIN"});
  for (const auto& node : state.planner.unremovable) {
    const std::string& why = ReasonOf(node);
    unremovable.AddRow({node.node, why.empty() ? "-" : why, FormatRfc3339(node.until_s)});
  }
  PrintRows(unremovable, out);
  Table cooldowns({"GROUP", "LAST SCALE-UP", "LAST DELETION", "LAST FAILED DELETION"});
  for (const auto& last : state.cooldowns) {
    cooldowns.AddRow({last.group.empty() ? "(any)" : last.group, MaybeTime(last.scale_up_s),
                      MaybeTime(last.deletion_s), MaybeTime(last.failed_deletion_s)});
  }
  PrintRows(cooldowns, out);
  Table evictions({"EVICTED POD", "AT"});
  for (const auto& pod : state.actuation.recent_evictions) {
    evictions.AddRow({pod.namespace_name + "/" + pod.name, FormatRfc3339(pod.evicted_at_s)});
  }
  PrintRows(evictions, out);
}

void PrintReported(const DeletionReport& reported, std::ostream& out) {
  Table table({"REPORTED, FOR THE NEXT ROUND", "WHAT", "AT"});
  for (const auto& each : reported.in_progress) {
    const char* const how = !each.drained ? "" : *each.drained ? ", pods move" : ", empty";
    table.AddRow({"node " + each.node, fmt::format("deletion in progress{}", how), "-"});
  }
  for (const auto& each : reported.results) {
    table.AddRow({"node " + each.node, "deletion ended: " + each.result, MaybeTime(each.at_s)});
  }
  for (const auto& each : reported.evictions) {
    table.AddRow(
        {"pod " + each.pod.namespace_name + "/" + each.pod.name, "evicted", MaybeTime(each.at_s)});
  }
  for (const auto& each : reported.scale_ups) {
    table.AddRow({"group " + each.group, "grew", MaybeTime(each.at_s)});
  }
  for (const std::string& node : reported.unready) {
    table.AddRow({"node " + node, "not ready", "-"});
  }
  for (const auto& each : reported.unregistered) {
    const std::string machines =
        Count(static_cast<uint64_t>(each.count), "machine that is not a node yet",
              "machines that are not nodes yet");
    table.AddRow({"group " + each.group, machines, "-"});
  }
  PrintRows(table, out);
}

void PutRounds(const ScaleDownState& state, Json& json) {
  json["lastRound"] = FormatRfc3339(state.latest_s);
  if (state.jump_s) json["clockJumpedTo"] = FormatRfc3339(*state.jump_s);
  Json& timers = json["timers"] = Json::array();
  for (const auto& each : state.timers) {
    timers.push_back({{"node", each.node},
                      {"since", FormatRfc3339(each.since_s)},
                      {"judgedByLastRound", each.judged}});
  }
  Json& deletions = json["deletions"] = Json::array();
  for (const KnownDeletion& each : DeletionsOf(state)) {
    deletions.push_back({{"node", each.node},
                         {"phase", PhaseOf(each).key},
                         {"lastSeenSo", FormatRfc3339(each.seen_s)}});
  }
  Json& unremovable = json["unremovable"] = Json::array();
  for (const auto& each : state.planner.unremovable) {
    unremovable.push_back({{"node", each.node},
                           {"reason", ReasonOf(each)},
                           {"lookedAtAgain", FormatRfc3339(each.until_s)}});
  }
  Json& cooldowns = json["cooldowns"] = Json::array();
  for (const auto& each : state.cooldowns) {
    cooldowns.push_back({{"group", each.group},  // "": any.
                         {"lastScaleUp", MaybeTimeJson(each.scale_up_s)},
                         {"lastDeletion", MaybeTimeJson(each.deletion_s)},
                         {"lastFailedDeletion", MaybeTimeJson(each.failed_deletion_s)}});
  }
  Json& evictions = json["evictions"] = Json::array();
  for (const auto& each : state.actuation.recent_evictions) {
    evictions.push_back({{"namespace", each.namespace_name},
                         {"name", each.name},
                         {"at", FormatRfc3339(each.evicted_at_s)}});
  }
}

}  // namespace

void PrintState(const ShownState& shown, std::ostream& out) {
  if (shown.state) {
    PrintRounds(*shown.state, out);
  } else {
    out << "no round yet\n";
  }
  PrintReported(shown.reported, out);
}

nlohmann::ordered_json StateJson(const ShownState& shown) {
  Json json = {{"version", "ebb.state/v1"}, {"rounds", shown.state ? shown.state->rounds : 0}};
  if (shown.state) PutRounds(*shown.state, json);
  const std::string reported = EventsText(shown.reported);
  json["reported"] = reported.empty() ? Json::object() : Json::parse(reported, nullptr, false);
  return json;
}

}  // namespace ebb
