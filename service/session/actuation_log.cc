#include "service/session/actuation_log.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/text.h"
#include "base/time_range.h"
#include "service/output_file.h"
#include "service/round_events.h"
#include "service/settings_file.h"
#include "service/wire_limits.h"
#include "snapshot/formats/rfc3339.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// The file: {"apiVersion": kApiVersion, "kind": "ActuationLog", "events": {FIELD: [ITEM...]}}, the
// fields and items being those of round_events.h.  Items of the fields that are for one round
// have beside them the number of the rounds before it.
constexpr std::string_view kApiVersion = "ebb/v1alpha1";
constexpr std::string_view kKind = "ActuationLog";
constexpr const char* kRounds = "rounds";  // {"rounds": 7, "item": {...}}
constexpr const char* kForOneRound[] = {"scaleUps", "deletionResults", "recentEvictions"};
constexpr const char* kUntilToldOtherwise[] = {"deletionsInProgress", "unreadyNodes",
                                               "unregisteredNodes"};

Json Empty() {
  Json log = {{"apiVersion", kApiVersion}, {"kind", kKind}, {"events", Json::object()}};
  for (const char* field : kForOneRound) log["events"][field] = Json::array();
  for (const char* field : kUntilToldOtherwise) log["events"][field] = Json::array();
  return log;
}

// Whether every field is there, and nothing else.
bool IsLog(const Json& log) {
  if (!log.is_object() || log.value("apiVersion", "") != kApiVersion ||
      log.value("kind", "") != kKind || !log.contains("events") || !log["events"].is_object()) {
    return false;
  }
  const Json& events = log["events"];
  for (const char* field : kForOneRound) {
    if (!events.contains(field) || !events[field].is_array()) return false;
    for (const Json& each : events[field]) {
      if (!each.is_object() || !each.contains("item") || !each.contains(kRounds) ||
          !each[kRounds].is_number_integer()) {
        return false;
      }
    }
  }
  for (const char* field : kUntilToldOtherwise) {
    if (!events.contains(field) || !events[field].is_array()) return false;
  }
  return events.size() == std::size(kForOneRound) + std::size(kUntilToldOtherwise);
}

// The events of a log as round_events.h has them; those of earlier rounds are left out.
Json EventsOf(const Json& log, int64_t rounds) {
  Json events = Json::object();
  for (const char* field : kForOneRound) {
    for (const Json& each : log["events"][field]) {
      if (each[kRounds].get<int64_t>() >= rounds) events[field].push_back(each["item"]);
    }
  }
  for (const char* field : kUntilToldOtherwise) {
    if (!log["events"][field].empty()) events[field] = log["events"][field];
  }
  return events;
}

void PutTime(bool has_time, int64_t at, Json& item) {
  if (has_time) item["at"] = FormatRfc3339(at);
}
void PutText(const char* field, const std::string& text, Json& item) {
  if (!text.empty()) item[field] = text;
}

// Deletions that begin come last, a node's once; those that end go.
void TellInProgress(const v1alpha1::ActuationReport& report, Json& in_progress) {
  std::vector<const v1alpha1::BegunDeletion*> told;
  if (report.has_in_progress()) {
    in_progress = Json::array();
    for (const auto& each : report.in_progress().deletions()) told.push_back(&each);
  }
  for (const auto& each : report.begun()) told.push_back(&each);
  absl::flat_hash_set<std::string_view> gone;
  for (const auto& ended : report.ended()) gone.insert(ended.node());
  std::vector<const v1alpha1::BegunDeletion*> begun;
  for (const auto* each : told | std::views::reverse) {
    if (gone.insert(each->node()).second) begun.push_back(each);
  }
  Json all = Json::array();
  for (Json& each : in_progress) {
    if (!gone.contains(each["node"].get_ref<const std::string&>())) {
      all.push_back(std::move(each));
    }
  }
  for (const auto* each : begun | std::views::reverse) {
    Json item = {{"node", each->node()}};
    PutText("group", each->group(), item);
    item["drained"] = each->drained();
    all.push_back(std::move(item));
  }
  in_progress = std::move(all);
}

absl::Status AddEvictions(const v1alpha1::ActuationReport& report,
                          const std::function<void(const char*, Json)>& add) {
  for (int i = 0; i < report.evicted_size(); ++i) {
    const v1alpha1::EvictedPod& pod = report.evicted(i);
    Json item = Json::object();
    if (!pod.json().empty()) {
      absl::StatusOr<Json> object = ParseJson(pod.json());
      if (!object.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("evicted[", i, "].json: ", object.status().message()));
      }
      item["pod"] = *std::move(object);
    }
    PutText("namespace", pod.namespace_(), item);
    PutText("name", pod.name(), item);
    PutText("uid", pod.uid(), item);
    PutTime(pod.has_at(), pod.at(), item);
    add("recentEvictions", std::move(item));
  }
  return absl::OkStatus();
}

// Every time of the list can be written down.
template <typename Items>
absl::Status CheckTimes(std::string_view field, const Items& items) {
  for (int i = 0; i < items.size(); ++i) {
    if (!items[i].has_at() || IsTime(items[i].at())) continue;
    return absl::InvalidArgumentError(absl::StrCat(Absl(field), "[", i, "].at: ", items[i].at(),
                                                   " is not a time of the years 1 to 9999"));
  }
  return absl::OkStatus();
}

absl::Status CheckTimes(const v1alpha1::ActuationReport& report) {
  if (absl::Status s = CheckTimes("ended", report.ended()); !s.ok()) return s;
  if (absl::Status s = CheckTimes("evicted", report.evicted()); !s.ok()) return s;
  return CheckTimes("scale_ups", report.scale_ups());
}

// REQUIRES: CheckTimes(report).
absl::Status Add(const v1alpha1::ActuationReport& report, int64_t rounds, Json& events) {
  const auto add = [&](const char* field, Json item) {
    events[field].push_back({{kRounds, rounds}, {"item", std::move(item)}});
  };
  TellInProgress(report, events["deletionsInProgress"]);
  for (const auto& ended : report.ended()) {
    Json item = {{"node", ended.node()}, {"result", ended.result()}};
    PutText("group", ended.group(), item);
    PutTime(ended.has_at(), ended.at(), item);
    add("deletionResults", std::move(item));
  }
  if (absl::Status s = AddEvictions(report, add); !s.ok()) return s;
  for (const auto& scale_up : report.scale_ups()) {
    Json item = {{"group", scale_up.group()}};
    PutTime(scale_up.has_at(), scale_up.at(), item);
    add("scaleUps", std::move(item));
  }
  if (report.has_unready_nodes()) {
    events["unreadyNodes"] = std::vector<std::string>(report.unready_nodes().nodes().begin(),
                                                      report.unready_nodes().nodes().end());
  }
  if (report.has_unregistered_nodes()) {
    events["unregisteredNodes"] = Json::array();
    for (const auto& each : report.unregistered_nodes().groups()) {
      events["unregisteredNodes"].push_back({{"group", each.group()}, {"count", each.count()}});
    }
  }
  return absl::OkStatus();
}

// A report is written as a whole, and so is the log with all reports since the last round.
absl::Status CheckRows(const v1alpha1::ActuationReport& report) {
  const std::pair<const char*, int> lists[] = {
      {"in_progress.deletions", report.in_progress().deletions_size()},
      {"begun", report.begun_size()},
      {"ended", report.ended_size()},
      {"evicted", report.evicted_size()},
      {"scale_ups", report.scale_ups_size()},
      {"unready_nodes.nodes", report.unready_nodes().nodes_size()},
      {"unregistered_nodes.groups", report.unregistered_nodes().groups_size()},
  };
  for (const auto& [name, rows] : lists) {
    if (rows <= kWireRowsMax) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": has ", rows, " entries, and a report ", "may have ", kWireRowsMax, " of a kind"));
  }
  return absl::OkStatus();
}

// The node of an item; "": a file that was damaged has none there, which a round refuses.
std::string NodeOf(const Json& item) {
  const auto node = item.is_object() ? item.find("node") : item.end();
  return node != item.end() && node->is_string() ? node->get<std::string>() : "";
}

// A node's deletion either goes on or has ended, in all reports together.  As round_events.h checks
// it of a file.
absl::Status CheckDeletionsOnce(const Json& events) {
  absl::flat_hash_set<std::string> ended;
  for (const Json& each : events["deletionResults"]) ended.insert(NodeOf(each["item"]));
  ended.erase("");
  const Json& in_progress = events["deletionsInProgress"];
  for (size_t i = 0; i < in_progress.size(); ++i) {
    const std::string node = NodeOf(in_progress[i]);
    if (!ended.contains(node)) continue;
    return absl::InvalidArgumentError(absl::StrCat("report: deletionsInProgress[", i, "]: node ",
                                                   node, " is in deletionResults too"));
  }
  return absl::OkStatus();
}

// Differs after each writing of the file; nullopt: there is no file.
std::optional<std::array<int64_t, 7>> MarkOf(const std::string& path) {
  struct stat file{};
  if (stat(path.c_str(), &file) != 0) return std::nullopt;
  return std::array<int64_t, 7>{static_cast<int64_t>(file.st_dev),
                                static_cast<int64_t>(file.st_ino),
                                file.st_size,
                                file.st_mtim.tv_sec,
                                file.st_mtim.tv_nsec,
                                file.st_ctim.tv_sec,
                                file.st_ctim.tv_nsec};
}

// What a round would refuse of the report by itself, in the report's words: the log's are those of
// a file of events, and its lists begin with what was told before.
absl::Status CheckAlone(const v1alpha1::ActuationReport& report) {
  const auto named = [](std::string_view list, const auto& deletions) -> absl::Status {
    for (int i = 0; i < deletions.size(); ++i) {
      if (!deletions[i].node().empty()) continue;
      return absl::InvalidArgumentError(absl::StrCat(Absl(list), "[", i, "].node: is empty"));
    }
    return absl::OkStatus();
  };
  absl::Status s = named("in_progress.deletions", report.in_progress().deletions());
  if (s.ok()) s = named("begun", report.begun());
  Json log = Empty();
  if (s.ok()) s = Add(report, /*rounds=*/0, log["events"]);
  if (!s.ok()) return s;
  const auto checked = ParseEvents("report", CompactJson(EventsOf(log, 0)));
  if (checked.ok()) return absl::OkStatus();
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"report: deletionResults", "ended"},
      {"report: recentEvictions", "evicted"},
      {"report: scaleUps", "scale_ups"},
      {"report: unreadyNodes", "unready_nodes.nodes"},
      {"report: unregisteredNodes", "unregistered_nodes.groups"},
  };
  const std::string message = absl::StrCat(checked.status().message());
  for (const auto& [in_log, in_report] : kNames) {
    if (!message.starts_with(in_log)) continue;
    return absl::InvalidArgumentError(absl::StrCat(Absl(in_report), message.substr(in_log.size())));
  }
  return checked.status();
}

}  // namespace

ActuationLog::ActuationLog(std::string path, Json log)
    : path_(std::move(path)), log_(std::make_unique<Json>(std::move(log))) {}
ActuationLog::~ActuationLog() = default;

absl::StatusOr<std::unique_ptr<ActuationLog>> ActuationLog::Open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
    return std::unique_ptr<ActuationLog>(new ActuationLog(path, Empty()));
  }
  const absl::StatusOr<std::string> text = ReadWholeFile(path, kDataBytesMax);
  if (!text.ok()) return text.status();
  Json log = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!IsLog(log)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": is not a log of actuations, or is damaged; remove it to begin a new one"));
  }
  return std::unique_ptr<ActuationLog>(new ActuationLog(path, std::move(log)));
}

absl::Status ActuationLog::Report(const v1alpha1::ActuationReport& report, int64_t rounds) {
  if (absl::Status s = CheckRows(report); !s.ok()) return s;
  if (absl::Status s = CheckTimes(report); !s.ok()) return s;
  if (absl::Status s = CheckAlone(report); !s.ok()) return s;
  Json log = *log_;
  Json& events = log["events"];
  for (const char* field : kForOneRound) {
    Json later = Json::array();
    for (Json& each : events[field]) {
      if (each[kRounds].get<int64_t>() >= rounds) later.push_back(std::move(each));
    }
    events[field] = std::move(later);
  }
  if (absl::Status s = Add(report, rounds, events); !s.ok()) return s;
  // Each report was checked by itself when it came: only what two of them say together is left.
  if (absl::Status s = CheckDeletionsOnce(events); !s.ok()) return s;
  if (absl::Status s = CheckNotWritten(); !s.ok()) return s;
  const absl::Status written = WriteFile(path_, IndentedJson(log));
  if (!written.ok()) {
    return absl::InternalError(absl::StrCat(written.message(), "; nothing of the report is kept"));
  }
  *log_ = std::move(log);
  written_ = MarkOf(path_);
  return absl::OkStatus();
}

absl::Status ActuationLog::CheckNotWritten() {
  // The file of our last write is not read again: it may be large.
  if (written_ && MarkOf(path_) == written_) return absl::OkStatus();
  const auto there = Open(path_);
  if (!there.ok()) return there.status();
  if (*(*there)->log_ == *log_) return absl::OkStatus();
  log_ = std::move((*there)->log_);
  written_ = (*there)->written_;
  return absl::AbortedError(absl::StrCat(
      path_,
      ": another program has written it since; nothing of the report is kept; send it again"));
}

std::string ActuationLog::EventsAfter(int64_t rounds) const {
  const Json events = EventsOf(*log_, rounds);
  return events.empty() ? "" : CompactJson(events);
}

uint64_t ActuationLog::InProgress() const {
  return (*log_)["events"]["deletionsInProgress"].size();
}

}  // namespace ebb
