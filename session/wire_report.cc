#include "session/wire_report.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "base/time_range.h"
#include "rounds/round_events.h"
#include "snapshot/formats/json_text.h"
#include "wire/wire_limits.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

absl::Status WrongField(const std::string& field, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", Absl(what)));
}

absl::Status CheckNamed(const std::string& field, const std::string& name) {
  return name.empty() ? WrongField(field, "is not a name") : absl::OkStatus();
}

absl::Status CheckRows(const v1alpha1::ActuationReport& wire) {
  const std::pair<const char*, int> lists[] = {
      {"in_progress.deletions", wire.in_progress().deletions_size()},
      {"begun", wire.begun_size()},
      {"ended", wire.ended_size()},
      {"evicted", wire.evicted_size()},
      {"scale_ups", wire.scale_ups_size()},
      {"unready_nodes.nodes", wire.unready_nodes().nodes_size()},
      {"unregistered_nodes.groups", wire.unregistered_nodes().groups_size()},
  };
  for (const auto& [name, rows] : lists) {
    if (rows <= kWireRowsMax) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": has ", rows, " entries, and a report may have ", kWireRowsMax, " of a kind"));
  }
  return absl::OkStatus();
}

// The time of an item; absent: it has none.
template <typename Item>
absl::StatusOr<std::optional<int64_t>> TimeOf(const std::string& row, const Item& item) {
  if (!item.has_at()) return std::nullopt;
  if (IsTime(item.at())) return item.at();
  return WrongField(row + ".at", absl::StrCat(item.at(), " is not a time of the years 1 to 9999"));
}

absl::Status ReadInProgress(const char* list,
                            const google::protobuf::RepeatedPtrField<v1alpha1::BegunDeletion>& wire,
                            DeletionReport& report) {
  for (int i = 0; i < wire.size(); ++i) {
    if (wire[i].node().empty()) return WrongField(absl::StrCat(list, "[", i, "].node"), "is empty");
    report.in_progress.push_back(
        {.node = wire[i].node(), .group = wire[i].group(), .drained = wire[i].drained()});
  }
  return absl::OkStatus();
}

absl::Status ReadEnded(const v1alpha1::ActuationReport& wire, DeletionReport& report) {
  for (int i = 0; i < wire.ended_size(); ++i) {
    const v1alpha1::EndedDeletion& ended = wire.ended(i);
    const std::string row = absl::StrCat("ended[", i, "]");
    const auto at_s = TimeOf(row, ended);
    if (!at_s.ok()) return at_s.status();
    if (absl::Status s = CheckNamed(row + ".node", ended.node()); !s.ok()) return s;
    if (!IsDeletionResult(ended.result())) {
      return WrongField(row + ".result",
                        absl::StrCat("\"", ended.result(), "\" ", NotADeletionResult()));
    }
    report.results.push_back(
        {.node = ended.node(), .group = ended.group(), .result = ended.result(), .at_s = *at_s});
  }
  return absl::OkStatus();
}

absl::StatusOr<EvictedPod> ReadPod(const std::string& row, const v1alpha1::EvictedPod& wire) {
  EvictedPod pod{.namespace_name = wire.namespace_(), .name = wire.name(), .uid = wire.uid()};
  if (wire.json().empty()) {
    if (pod.namespace_name.empty()) return WrongField(row, "has no namespace");
    if (pod.name.empty()) return WrongField(row, "has no name");
    return pod;
  }
  const absl::StatusOr<Json> object = ParseJson(wire.json());
  if (!object.ok()) return WrongField(row + ".json", absl::StrCat(object.status().message()));
  if (!object->is_object()) return WrongField(row + ".json", "is not a Pod");
  pod.object = CompactJson(*object);
  if (absl::Status s = NamePodOf(row + ".json", pod); !s.ok()) return s;
  return pod;
}

absl::Status ReadEvicted(const v1alpha1::ActuationReport& wire, DeletionReport& report) {
  for (int i = 0; i < wire.evicted_size(); ++i) {
    const std::string row = absl::StrCat("evicted[", i, "]");
    const auto at_s = TimeOf(row, wire.evicted(i));
    if (!at_s.ok()) return at_s.status();
    absl::StatusOr<EvictedPod> pod = ReadPod(row, wire.evicted(i));
    if (!pod.ok()) return pod.status();
    report.evictions.push_back({.pod = *std::move(pod), .at_s = *at_s});
  }
  return absl::OkStatus();
}

absl::Status ReadScaleUps(const v1alpha1::ActuationReport& wire, DeletionReport& report) {
  for (int i = 0; i < wire.scale_ups_size(); ++i) {
    const std::string row = absl::StrCat("scale_ups[", i, "]");
    const auto at_s = TimeOf(row, wire.scale_ups(i));
    if (!at_s.ok()) return at_s.status();
    if (absl::Status s = CheckNamed(row + ".group", wire.scale_ups(i).group()); !s.ok()) return s;
    report.scale_ups.push_back({.group = wire.scale_ups(i).group(), .at_s = *at_s});
  }
  return absl::OkStatus();
}

absl::Status ReadUnready(const v1alpha1::NodeNames& wire, DeletionReport& report) {
  for (int i = 0; i < wire.nodes_size(); ++i) {
    if (absl::Status s = CheckNamed(absl::StrCat("unready_nodes.nodes[", i, "]"), wire.nodes(i));
        !s.ok()) {
      return s;
    }
    report.unready.push_back(wire.nodes(i));
  }
  return absl::OkStatus();
}

absl::Status ReadUnregistered(const v1alpha1::UnregisteredNodes& wire, DeletionReport& report) {
  for (int i = 0; i < wire.groups_size(); ++i) {
    const auto& group = wire.groups(i);
    const std::string row = absl::StrCat("unregistered_nodes.groups[", i, "]");
    if (absl::Status s = CheckNamed(row + ".group", group.group()); !s.ok()) return s;
    if (group.count() < 0 || group.count() > kMachinesMax) {
      return WrongField(row + ".count",
                        absl::StrCat("\"", group.count(), "\" is not a number of machines"));
    }
    report.unregistered.push_back({.group = group.group(), .count = group.count()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReportUpdate> ReadReport(const v1alpha1::ActuationReport& wire) {
  if (absl::Status s = CheckRows(wire); !s.ok()) return s;
  ReportUpdate update{.report = {},
                      .all_in_progress = wire.has_in_progress(),
                      .all_unready = wire.has_unready_nodes(),
                      .all_unregistered = wire.has_unregistered_nodes()};
  DeletionReport& report = update.report;
  absl::Status read =
      ReadInProgress("in_progress.deletions", wire.in_progress().deletions(), report);
  if (read.ok()) read = ReadInProgress("begun", wire.begun(), report);
  if (read.ok()) read = ReadEnded(wire, report);
  if (read.ok()) read = ReadEvicted(wire, report);
  if (read.ok()) read = ReadScaleUps(wire, report);
  if (read.ok()) read = ReadUnready(wire.unready_nodes(), report);
  if (read.ok()) read = ReadUnregistered(wire.unregistered_nodes(), report);
  if (!read.ok()) return read;
  return update;
}

}  // namespace ebb
