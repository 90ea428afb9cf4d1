#include "report/room_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/text.h"
#include "engine/plan/headroom.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

std::string FullName(const Catalog& catalog, TextId namespace_name, TextId name) {
  return absl::StrCat(Absl(catalog.Text(namespace_name)), "/", Absl(catalog.Text(name)));
}

std::vector<RoomNotes::GangNote> GangsOf(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::vector<RoomNotes::GangNote> notes;
  if (report.context.request->planner.drain.gangs == Gangs::kIgnore) return notes;
  std::map<uint32_t, int64_t> kept;  // By gang.
  const auto count = [&](const UnremovableNode& node) {
    if (node.blocking_reason != BlockingPodReason::kPodOfGang) return;
    if (const auto gang = catalog.HoldingGang(node.pod)) ++kept[*gang];
  };
  std::ranges::for_each(report.context.made->plan.keep, count);
  std::ranges::for_each(report.context.made->excluded, count);
  std::map<uint32_t, int64_t> moved;  // Pods, by gang.
  for (const RemovableNode& removal : report.context.made->plan.remove) {
    for (const Move& move : removal.moves) {
      if (report.context.cluster->snapshot.NodeOf(move.pod) != removal.node) continue;
      for (const uint32_t gang : catalog.shape_of(move.pod).gangs) ++moved[gang];
    }
  }
  for (uint32_t g = 0; g < catalog.gangs().size(); ++g) {
    const GangStates::State& state = catalog.gang_states().gangs[g];
    if (!state.held) continue;
    const Gang& gang = catalog.gangs()[g];
    notes.push_back({.kind = std::string(ToString(gang.kind)),
                     .name = FullName(catalog, gang.namespace_name, gang.name),
                     .pods = state.running,
                     .nodes = state.nodes,
                     .kept_nodes = kept[g],
                     .moves = state.running > 0 && moved[g] >= state.running,
                     .min_count = gang.min_count,
                     .declared = state.declared,
                     .missing = state.missing,
                     .not_understood = gang.not_understood});
  }
  std::ranges::sort(notes, {}, [](const auto& note) { return std::tie(note.name, note.kind); });
  return notes;
}

std::vector<RoomNotes::BufferNote> BuffersOf(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::vector<RoomNotes::BufferNote> notes;
  if (catalog.buffers().empty()) return notes;
  absl::flat_hash_set<PodId> placed;
  for (const Move& move : report.context.made->plan.packed) placed.insert(move.pod);
  for (const KeptBuffer& buffer : catalog.buffers()) {
    RoomNotes::BufferNote& note = notes.emplace_back(
        RoomNotes::BufferNote{.name = FullName(catalog, buffer.namespace_name, buffer.name),
                              .strategy = buffer.strategy,
                              .replicas = buffer.replicas,
                              .pods = buffer.pods,
                              .placed = 0,
                              .problem = buffer.problem});
    for (int64_t i = 0; i < buffer.pods; ++i) {
      note.placed += placed.contains(PodId{static_cast<uint32_t>(Index(buffer.first) + i)}) ? 1 : 0;
    }
  }
  return notes;
}

std::string_view Words(HeadroomPer per) {
  switch (per) {
    case HeadroomPer::kGroup:
      return "group";
    case HeadroomPer::kZone:
      return "zone";
    case HeadroomPer::kCluster:
      break;
  }
  return "cluster";
}

std::optional<RoomNotes::HeadroomNote> HeadroomOf(const PlanReport& report) {
  const PlanContext& context = report.context;
  const Headroom& asked = context.request->planner.headroom;
  if (asked.empty()) return std::nullopt;
  const Catalog& catalog = context.catalog();
  const ClusterSnapshot& snapshot = context.cluster->snapshot;
  absl::flat_hash_set<NodeId> gone(context.request->pass.in_deletion.begin(),
                                   context.request->pass.in_deletion.end());
  for (const RemovableNode& removal : context.made->plan.remove) gone.insert(removal.node);
  const auto counts = [&](NodeId node) {
    return !gone.contains(node) && CountsForHeadroom(catalog, node);
  };
  struct Scope {
    double offered[2] = {};
    double free[2] = {};
  };
  std::map<uint64_t, Scope> scopes;
  const auto scope_of = [&](NodeId node) -> Scope& {
    return scopes[HeadroomScope(catalog, *context.groups, node, asked.per)];
  };
  const ResourceId resources[2] = {kCpu, kMemory};
  snapshot.alive().ForEach([&](NodeId node) {
    if (!counts(node)) return;
    Scope& scope = scope_of(node);
    for (size_t r = 0; r < 2; ++r) {
      scope.offered[r] += static_cast<double>(snapshot.Allocatable(resources[r], node));
      scope.free[r] += static_cast<double>(snapshot.Free(resources[r], node));
    }
  });
  // A pod that moves several times ends at its last place.
  std::map<PodId, NodeId> last;
  for (const Move& move : context.made->plan.packed) last[move.pod] = move.to;
  for (const RemovableNode& removal : context.made->plan.remove) {
    for (const Move& move : removal.moves) last[move.pod] = move.to;
  }
  for (const auto& [pod, node] : last) {
    if (!counts(node)) continue;
    Scope& scope = scope_of(node);
    for (size_t r = 0; r < 2; ++r) {
      scope.free[r] -= static_cast<double>(AmountOf(catalog.ChargeOn(pod, node), resources[r]));
    }
  }
  RoomNotes::HeadroomNote note{
      .cpu = asked.cpu, .memory = asked.memory, .per = std::string(Words(asked.per))};
  std::optional<double>* const least[2] = {&note.free_cpu, &note.free_memory};
  for (const auto& [name, scope] : scopes) {
    for (size_t r = 0; r < 2; ++r) {
      if (scope.offered[r] <= 0) continue;
      const double share = scope.free[r] / scope.offered[r];
      *least[r] = std::min(least[r]->value_or(share), share);
    }
  }
  return note;
}

std::vector<RoomNotes::VpaNote> VpasOf(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::map<std::string, RoomNotes::VpaNote> by_name;
  absl::flat_hash_set<PodId> seen;
  for (const RemovableNode& removal : report.context.made->plan.remove) {
    for (const Move& move : removal.moves) {
      const PodShape& shape = catalog.shape_of(move.pod);
      if (shape.vpa == kNoText || !seen.insert(move.pod).second) continue;
      RoomNotes::VpaNote& note = by_name[FullName(catalog, shape.namespace_name, shape.vpa)];
      ++note.pods;
      note.before.cpu_milli += AmountOf(shape.home_requests, kCpu);
      note.before.memory_bytes += AmountOf(shape.home_requests, kMemory);
      note.after.cpu_milli += AmountOf(shape.charge_requests, kCpu);
      note.after.memory_bytes += AmountOf(shape.charge_requests, kMemory);
    }
  }
  std::vector<RoomNotes::VpaNote> notes;
  for (auto& [name, note] : by_name) {
    note.name = name;
    notes.push_back(std::move(note));
  }
  return notes;
}

// The first few of a list of texts, joined.
std::string FirstFew(const std::vector<std::string>& texts) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(texts.size(), kShown); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", texts[i]);
  }
  if (texts.size() > kShown) {
    absl::StrAppend(&text, " and ", WithCommas(texts.size() - kShown), " more");
  }
  return text;
}

std::string PodsText(int64_t pods) { return Count(static_cast<uint64_t>(pods), "pod", "pods"); }

Json AmountsJson(const CpuAndMemory& amounts) {
  return {{"cpuMilli", amounts.cpu_milli}, {"memoryBytes", amounts.memory_bytes}};
}

}  // namespace

RoomNotes RoomNotesOf(const PlanReport& report) {
  return {.gangs = GangsOf(report),
          .buffers = BuffersOf(report),
          .headroom = HeadroomOf(report),
          .vpas = VpasOf(report)};
}

void PutRoomNotes(const RoomNotes& notes, Json& summary) {
  for (const RoomNotes::GangNote& gang : notes.gangs) {
    Json json = {{"kind", gang.kind},
                 {"name", gang.name},
                 {"pods", gang.pods},
                 {"nodes", gang.nodes},
                 {"keptNodes", gang.kept_nodes}};
    if (gang.moves) json["moves"] = true;
    if (gang.min_count) json["minCount"] = *gang.min_count;
    if (gang.declared > 0) json["declaredSize"] = gang.declared;
    if (gang.missing > 0) json["notInInput"] = gang.missing;
    if (!gang.not_understood.empty()) json["notUnderstood"] = gang.not_understood;
    summary["gangs"].push_back(std::move(json));
  }
  for (const RoomNotes::BufferNote& buffer : notes.buffers) {
    Json json = {{"name", buffer.name},
                 {"strategy", buffer.strategy},
                 {"replicas", buffer.replicas},
                 {"pods", buffer.pods},
                 {"placed", buffer.placed}};
    if (!buffer.problem.empty()) json["problem"] = buffer.problem;
    summary["capacityBuffers"].push_back(std::move(json));
  }
  if (notes.headroom) {
    Json& json = summary["headroom"] = {{"cpu", notes.headroom->cpu},
                                        {"memory", notes.headroom->memory},
                                        {"per", notes.headroom->per}};
    const auto rounded = [](double share) { return std::round(share * 1e6) / 1e6; };
    if (notes.headroom->free_cpu) json["freeCpu"] = rounded(*notes.headroom->free_cpu);
    if (notes.headroom->free_memory) json["freeMemory"] = rounded(*notes.headroom->free_memory);
  }
  for (const RoomNotes::VpaNote& vpa : notes.vpas) {
    summary["changedByVpa"].push_back({{"name", vpa.name},
                                       {"movedPods", vpa.pods},
                                       {"before", AmountsJson(vpa.before)},
                                       {"after", AmountsJson(vpa.after)}});
  }
}

std::vector<std::string> RoomNotesText(const RoomNotes& notes) {
  std::vector<std::string> lines;
  std::vector<std::string> gangs;
  std::vector<std::string> moving;
  int64_t kept = 0;
  for (const RoomNotes::GangNote& gang : notes.gangs) {
    kept += gang.kept_nodes;
    (gang.moves ? moving : gangs)
        .push_back(
            fmt::format("{} {}, {} on {}{}{}", gang.kind, gang.name, PodsText(gang.pods),
                        Count(static_cast<uint64_t>(gang.nodes), "node", "nodes"),
                        gang.missing == 0 ? "" : fmt::format(", {} not in the input", gang.missing),
                        gang.not_understood.empty()
                            ? ""
                            : fmt::format(", which is not understood ({})", gang.not_understood)));
  }
  if (!moving.empty()) {
    lines.push_back(fmt::format("{} whole: {}.", Count(moving.size(), "gang moves", "gangs move"),
                                FirstFew(moving)));
  }
  if (!gangs.empty()) {
    lines.push_back(
        fmt::format("{} together and {} {}: {}.", Count(gangs.size(), "gang stays", "gangs stay"),
                    gangs.size() == 1 ? "keeps" : "keep",
                    Count(static_cast<uint64_t>(kept), "node", "nodes"), FirstFew(gangs)));
  }
  for (const RoomNotes::BufferNote& buffer : notes.buffers) {
    std::string text = fmt::format(
        "{} kept for {} of CapacityBuffer {}", buffer.pods == 0 ? "No room is" : "Room is",
        buffer.pods == 0 ? "pods" : PodsText(buffer.placed), buffer.name);
    if (buffer.placed < buffer.pods) {
      text += fmt::format("; {} of it found no room", PodsText(buffer.pods - buffer.placed));
    }
    if (!buffer.problem.empty()) text += (buffer.pods == 0 ? ": " : "; ") + buffer.problem;
    lines.push_back(text + ".");
  }
  if (notes.headroom) {
    const bool is_whole = notes.headroom->per == "cluster";
    std::vector<std::string> parts;
    bool is_less = false;
    const auto add = [&](const char* name, double asked, const std::optional<double>& free) {
      if (asked <= 0) return;
      is_less |= free && *free < asked;
      parts.push_back(fmt::format(
          "{:g}% of the {}{}", asked * 100, name,
          free ? fmt::format(
                     " ({:.1f}% is free after the plan{})", *free * 100,
                     is_whole ? "" : fmt::format(" in the {} with the least", notes.headroom->per))
               : ""));
    };
    add("cpu", notes.headroom->cpu, notes.headroom->free_cpu);
    add("memory", notes.headroom->memory, notes.headroom->free_memory);
    lines.push_back(fmt::format(
        "Headroom: {} of {} {} {}.", fmt::join(parts, " and "), is_whole ? "the" : "each",
        notes.headroom->per,
        is_less ? "is to stay free; where less is free already, no node goes" : "stays free"));
  }
  std::vector<std::string> vpas;
  int64_t pods = 0;
  for (const RoomNotes::VpaNote& vpa : notes.vpas) {
    pods += vpa.pods;
    vpas.push_back(fmt::format("{}, {} with {:.1f} cores instead of {:.1f}", vpa.name,
                               PodsText(vpa.pods), static_cast<double>(vpa.after.cpu_milli) / 1000,
                               static_cast<double>(vpa.before.cpu_milli) / 1000));
  }
  if (!vpas.empty()) {
    lines.push_back(
        fmt::format("{} that move{} will ask for what a VerticalPodAutoscaler "
                    "recommends: {}.",
                    PodsText(pods), pods == 1 ? "s" : "", FirstFew(vpas)));
  }
  return lines;
}

}  // namespace ebb
