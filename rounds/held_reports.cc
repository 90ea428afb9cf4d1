#include "rounds/held_reports.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace ebb {
namespace {

template <typename Item>
void Append(std::vector<Item> more, std::vector<Item>& list) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

}  // namespace

HeldReports::HeldReports(DeletionReport report) {
  for (DeletionReport::Deletion& each : std::exchange(report.in_progress, {})) {
    in_progress_.insert_or_assign(each.node, std::move(each));
  }
  for (const auto& each : report.results) ended_.insert(each.node);
  rest_ = std::move(report);
}

absl::StatusOr<HeldReports::Changes> HeldReports::ChangesOf(const ReportUpdate& update) const {
  const DeletionReport& report = update.report;
  Changes changes;
  absl::flat_hash_set<std::string_view> ended;
  for (const auto& each : report.results) ended.insert(each.node);
  absl::flat_hash_map<std::string_view, size_t> last;  // Index of the last entry for a node.
  for (size_t i = 0; i < report.in_progress.size(); ++i) {
    const std::string& node = report.in_progress[i].node;
    if (ended.contains(node)) continue;
    if (ended_.contains(node)) {
      return absl::InvalidArgumentError(absl::StrCat("report: deletionsInProgress[", i, "]: node ",
                                                     node, " is in deletionResults too"));
    }
    last[node] = i;
  }
  if (update.all_in_progress) {
    for (const auto& [node, deletion] : in_progress_) {
      if (!last.contains(node)) changes.ended.push_back(deletion);
    }
  } else {
    for (const std::string_view node : ended) {
      const auto held = in_progress_.find(std::string(node));
      if (held != in_progress_.end()) changes.ended.push_back(held->second);
    }
  }
  for (size_t i = 0; i < report.in_progress.size(); ++i) {
    const DeletionReport::Deletion& deletion = report.in_progress[i];
    const auto place = last.find(deletion.node);
    if (place == last.end() || place->second != i) continue;
    const auto held = in_progress_.find(deletion.node);
    if (held == in_progress_.end() || held->second != deletion) changes.begun.push_back(deletion);
  }
  changes.results = report.results;
  changes.evictions = report.evictions;
  changes.scale_ups = report.scale_ups;
  if (update.all_unready) changes.unready = report.unready;
  if (update.all_unregistered) changes.unregistered = report.unregistered;
  return changes;
}

void HeldReports::Apply(Changes changes) {
  for (const auto& each : changes.ended) {
    EBB_DCHECK(in_progress_.contains(each.node));
    in_progress_.erase(each.node);
  }
  for (auto& each : changes.begun) in_progress_.insert_or_assign(each.node, std::move(each));
  for (const auto& each : changes.results) ended_.insert(each.node);
  Append(std::move(changes.results), rest_.results);
  Append(std::move(changes.evictions), rest_.evictions);
  Append(std::move(changes.scale_ups), rest_.scale_ups);
  if (changes.unready) rest_.unready = *std::move(changes.unready);
  if (changes.unregistered) rest_.unregistered = *std::move(changes.unregistered);
}

void HeldReports::ForgetRound() {
  rest_.results.clear();
  rest_.evictions.clear();
  rest_.scale_ups.clear();
  ended_.clear();
}

DeletionReport HeldReports::With(const DeletionReport& more) const {
  DeletionReport all = rest_;
  for (const auto& [node, deletion] : in_progress_) all.in_progress.push_back(deletion);
  Append(more.in_progress, all.in_progress);
  Append(more.results, all.results);
  Append(more.evictions, all.evictions);
  Append(more.scale_ups, all.scale_ups);
  Append(more.unready, all.unready);
  Append(more.unregistered, all.unregistered);
  return all;
}

}  // namespace ebb
