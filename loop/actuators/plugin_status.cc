#include "loop/actuators/plugin_status.h"

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "wire/wire_limits.h"

namespace ebb {
namespace {

namespace plugin_wire = actuator::v1alpha1;

constexpr int64_t kAheadMaxS = 3600;
constexpr size_t kNodeNameMax = 253;
constexpr size_t kShownMax = 80;

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InternalError(absl::StrCat(where, ": ", what));
}

std::string Shown(std::string_view text) { return Printable(text.substr(0, kShownMax)); }

// Cuts a text between characters.
std::string ForPeople(const std::string& text) {
  size_t size = std::min(text.size(), kWireNameMax);
  while (size < text.size() && size > 0 &&
         (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) {
    --size;
  }
  return text.substr(0, size);
}

absl::Status CheckTime(const std::string& where, int64_t time_s, int64_t now_s) {
  if (time_s > 0 && time_s <= now_s + kAheadMaxS) return absl::OkStatus();
  return Wrong(where, absl::StrCat(time_s, " is not a time in the past, in Unix seconds"));
}

// Checks a name that is only shown and compared, not looked up.
absl::Status CheckName(const std::string& where, const std::string& name) {
  if (name.size() <= kWireNameMax) return absl::OkStatus();
  return Wrong(where, absl::StrCat("has ", name.size(), " bytes"));
}

absl::Status CheckNode(const std::string& where, const std::string& name,
                       absl::flat_hash_set<std::string>& seen) {
  if (!IsNodeName(name)) return Wrong(where, absl::StrCat("\"", Shown(name), "\" names no node"));
  if (seen.insert(name).second) return absl::OkStatus();
  return Wrong(where, absl::StrCat(name, " occurs twice"));
}

std::optional<DeletionPhase> PhaseOf(plugin_wire::DeletionPhase phase) {
  switch (phase) {
    case plugin_wire::TAINTED:
      return DeletionPhase::kTainted;
    case plugin_wire::DRAINING:
      return DeletionPhase::kDraining;
    case plugin_wire::DRAINED:
      return DeletionPhase::kDrained;
    case plugin_wire::DELETING:
      return DeletionPhase::kDeleting;
    case plugin_wire::FAILED:
      return DeletionPhase::kFailed;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<RunningDeletion> ReadRunning(const std::string& row,
                                            const plugin_wire::RunningDeletion& told, int64_t now_s,
                                            absl::flat_hash_set<std::string>& nodes) {
  const std::optional<DeletionPhase> phase = PhaseOf(told.phase());
  absl::Status s = CheckNode(row + ".node", told.node(), nodes);
  if (s.ok()) s = CheckName(row + ".group", told.group());
  if (s.ok() && !phase) {
    s = Wrong(row + ".phase", absl::StrCat(static_cast<int>(told.phase()), " is not a phase"));
  }
  if (s.ok() && told.batch_size() < 0) {
    s = Wrong(row + ".batch_size", absl::StrCat(told.batch_size(), " is negative"));
  }
  if (s.ok()) s = CheckTime(row + ".since", told.since(), now_s);
  if (!s.ok()) return s;
  return RunningDeletion{.node = told.node(),
                         .group = told.group(),
                         .drain = told.drain(),
                         .batch_size = told.batch_size(),
                         .phase = *phase,
                         .since_s = told.since(),
                         .why = ForPeople(told.why())};
}

absl::StatusOr<DeletionResult> ReadResult(const std::string& row,
                                          const plugin_wire::DeletionResult& told, int64_t now_s,
                                          absl::flat_hash_set<std::string>& ids,
                                          absl::flat_hash_set<std::string>& nodes) {
  absl::Status s = CheckNode(row + ".node", told.node(), nodes);
  if (s.ok()) s = CheckName(row + ".group", told.group());
  if (s.ok()) s = CheckName(row + ".id", told.id());
  if (s.ok() && told.id().empty()) s = Wrong(row + ".id", "is empty");
  if (s.ok() && !ids.insert(told.id()).second) {
    s = Wrong(row + ".id", absl::StrCat("\"", Shown(told.id()), "\" occurs twice"));
  }
  if (s.ok()) s = CheckTime(row + ".at", told.at(), now_s);
  if (!s.ok()) return s;
  return DeletionResult{.node = told.node(),
                        .group = told.group(),
                        .ok = told.ok(),
                        .at_s = told.at(),
                        .why = ForPeople(told.why())};
}

absl::StatusOr<EvictedPod> ReadEvicted(const std::string& row, const plugin_wire::EvictedPod& told,
                                       int64_t now_s) {
  absl::Status s = CheckName(row + ".namespace", told.namespace_());
  if (s.ok()) s = CheckName(row + ".name", told.name());
  if (s.ok()) s = CheckName(row + ".uid", told.uid());
  if (s.ok() && told.name().empty()) s = Wrong(row + ".name", "is empty");
  if (s.ok()) s = CheckTime(row + ".at", told.at(), now_s);
  if (!s.ok()) return s;
  return EvictedPod{.namespace_name = told.namespace_(),
                    .name = told.name(),
                    .uid = told.uid(),
                    .evicted_at_s = told.at(),
                    .object = told.object()};
}

absl::Status CheckRows(const std::string& where, int rows) {
  if (rows <= kWireRowsMax) return absl::OkStatus();
  return Wrong(where, absl::StrCat(rows, " rows, ", kWireRowsMax, " at most"));
}

}  // namespace

bool IsNodeName(std::string_view name) {
  if (name.empty() || name.size() > kNodeNameMax) return false;
  const auto is_inner = [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); };
  for (size_t i = 0; i < name.size(); ++i) {
    if (is_inner(name[i])) continue;
    const bool at_edge = i == 0 || i + 1 == name.size();
    const bool beside_dot = at_edge || name[i - 1] == '.' || name[i + 1] == '.';
    if ((name[i] != '-' && name[i] != '.') || beside_dot) return false;
  }
  return true;
}

absl::StatusOr<PluginStatus> ReadPluginStatus(const plugin_wire::StatusReply& reply,
                                              int64_t now_s) {
  absl::Status rows = CheckRows("running", reply.running_size());
  if (rows.ok()) rows = CheckRows("results", reply.results_size());
  if (rows.ok()) rows = CheckRows("recent_evictions", reply.recent_evictions_size());
  if (!rows.ok()) return rows;
  PluginStatus read;
  // A node is either in `running` or in `results`: a deletion that has ended is no longer running.
  absl::flat_hash_set<std::string> nodes;
  for (int i = 0; i < reply.running_size(); ++i) {
    auto row = ReadRunning(absl::StrCat("running[", i, "]"), reply.running(i), now_s, nodes);
    if (!row.ok()) return row.status();
    read.status.running.push_back(*std::move(row));
  }
  absl::flat_hash_set<std::string> ids;
  for (int i = 0; i < reply.results_size(); ++i) {
    auto row = ReadResult(absl::StrCat("results[", i, "]"), reply.results(i), now_s, ids, nodes);
    if (!row.ok()) return row.status();
    read.status.results.push_back(*std::move(row));
    read.result_ids.push_back(reply.results(i).id());
  }
  for (int i = 0; i < reply.recent_evictions_size(); ++i) {
    auto row =
        ReadEvicted(absl::StrCat("recent_evictions[", i, "]"), reply.recent_evictions(i), now_s);
    if (!row.ok()) return row.status();
    read.status.recent_evictions.push_back(*std::move(row));
  }
  return read;
}

}  // namespace ebb
