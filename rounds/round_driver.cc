#include "rounds/round_driver.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/printable.h"
#include "rounds/round_record.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

// How many of the nodes that the state remembers are in the cluster.
struct Overlap {
  size_t remembered = 0;
  size_t same = 0;      // Nodes with a timer and the same UID, or a timer without UID.
  size_t returned = 0;  // Nodes with a timer and another UID, as a repaired node may have.
  size_t named = 0;     // Nodes that other parts of the state remember, by name only.
};

Overlap OverlapOf(const ScaleDownState& state, const Catalog& catalog) {
  Overlap overlap;
  std::set<std::string_view> gone;
  for (const auto& deletion : state.started) gone.insert(deletion.node);
  for (const auto& timer : state.timers) {
    if (gone.contains(timer.node)) continue;
    ++overlap.remembered;
    const auto node = catalog.FindNode(timer.node);
    if (!node.ok()) continue;
    const bool is_same = timer.uid.empty() || catalog.Text(catalog.node(*node).uid) == timer.uid;
    ++(is_same ? overlap.same : overlap.returned);
  }
  const auto count = [&](std::string_view node) {
    ++overlap.remembered;
    overlap.named += catalog.FindNode(node).ok() ? 1 : 0;
  };
  for (const auto& node : state.planner.unremovable) count(node.node);
  for (const auto& hint : state.planner.hints) count(hint.node);
  return overlap;
}

// Whether a file holds what a caller takes it for, as far as it can be read.
bool IsFor(SqliteUse use, const std::string& path) {
  return SqliteState::Open(path, {.read_only = true, .use = use}).ok();
}

// Whether each of two names is that of the other file.
bool AreSwapped(const RoundFiles& files) {
  const auto is_only = [](const std::string& path, SqliteUse use, SqliteUse other) {
    return IsFor(use, path) && !IsFor(other, path);
  };
  return !files.record.empty() && is_only(files.state, SqliteUse::kRecord, SqliteUse::kState) &&
         is_only(files.record, SqliteUse::kState, SqliteUse::kRecord);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RoundDriver>> RoundDriver::Open(const RoundFiles& files) {
  std::unique_ptr<RoundDriver> driver(new RoundDriver(files));
  auto state =
      SqliteState::Open(files.state, {.rounds_max = files.rounds_kept, .use = SqliteUse::kState});
  if (!state.ok() && AreSwapped(files)) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.state, ": is a record, not a state file, and ", files.record,
                     " is a state file, not a record; exchange the two names"));
  }
  if (!state.ok()) return state.status();
  driver->state_ = *std::move(state);
  if (absl::Status s = driver->Reload(); !s.ok()) return s;
  if (files.record.empty()) return driver;
  auto record = SqliteState::Open(files.record, {.rounds_max = 0, .use = SqliteUse::kRecord});
  if (!record.ok()) return record.status();
  driver->record_ = *std::move(record);
  if (const auto begun = driver->record_->Load(); !begun.ok()) return begun.status();
  return driver;
}

absl::Status RoundDriver::Reload() {
  auto before = state_->Load();
  if (!before.ok()) return before.status();
  auto counters = state_->LoadCounters();
  if (!counters.ok()) return counters.status();
  before_ = *std::move(before);
  metrics_ = std::make_unique<Metrics>();
  metrics_->Restore(*counters);
  scale_down_.reset();
  unsaved_ = false;
  must_reload_ = false;
  return absl::OkStatus();
}

absl::Status RoundDriver::Report(const ReportUpdate& update) {
  const absl::StatusOr<HeldReports::Changes> changes = reports().ChangesOf(update);
  if (!changes.ok()) return changes.status();
  absl::Status saved = state_->SaveReport(*changes);
  if (saved.ok()) {
    if (unsaved_) scale_down_.reset();
    unsaved_ = false;
    return saved;
  }
  if (!absl::IsAborted(saved)) {
    return absl::InternalError(absl::StrCat(saved.message(), "; nothing of the report is kept"));
  }
  if (absl::Status s = Reload(); !s.ok()) return s;
  return absl::AbortedError(absl::StrCat(
      files_.state,
      ": another program has written it since; nothing of the report is kept; send it again"));
}

absl::Status RoundDriver::CheckCluster(RoundSource& source) {
  if (!source.cluster_uid.empty()) {
    const ClusterId id = ClusterOf(source.cluster_uid);
    const std::optional<ClusterId> before = state_->cluster();
    if (before && *before != id) {
      return absl::InvalidArgumentError(
          absl::StrCat(files_.state,
                       ": is the state of another cluster: its namespace kube-system had another "
                       "UID; name a state file of this cluster, or a new one"));
    }
    state_->SetCluster(id);
    if (record_ != nullptr) record_->SetCluster(id);
    cluster_ = id;
    if (before) return absl::OkStatus();
  }
  if (!before_) return absl::OkStatus();
  const Overlap overlap = OverlapOf(*before_, source.cluster.snapshot.catalog());
  const bool all_returned = overlap.same == 0 && overlap.returned > 1;
  const bool none_there =
      overlap.remembered > 0 && overlap.same + overlap.returned + overlap.named == 0;
  if (all_returned || none_there) {
    source.cluster.warnings.push_back(
        {"StateOfAnotherCluster",
         absl::StrCat("no node that ", Printable(files_.state), " remembers is in the input",
                      all_returned ? " with the UID that it had" : "",
                      ": the state seems to be of another cluster"),
         ""});
  }
  return absl::OkStatus();
}

void RoundDriver::Prepare(const ScaleDownOptions& options,
                          const std::shared_ptr<Symbols>& symbols) {
  if (scale_down_ != nullptr && !unsaved_ && symbols_ == symbols &&
      scale_down_->options() == options) {
    return;
  }
  scale_down_ = std::make_unique<ScaleDown>(options);
  if (before_) scale_down_->Restore(*before_, symbols);
  symbols_ = symbols;
}

absl::StatusOr<std::unique_ptr<RoundOutcome>> RoundDriver::Make(const RoundSettings& settings,
                                                                int64_t now_s, RoundSource& source,
                                                                const Deadline* deadline) {
  if (must_reload_) {
    return absl::FailedPreconditionError(
        absl::StrCat(files_.state, ": the last round was not saved; load the state again"));
  }
  const int64_t number = before_ ? before_->rounds + 1 : 1;
  Prepare(settings.options.scale_down, source.cluster.snapshot.catalog().shared_symbols());
  if (record_ != nullptr) {
    if (const auto begins = MayBegin(number); !begins.ok()) return begins.status();
    recorded_before_ = scale_down_->Save();
  }
  unsaved_ = true;
  absl::StatusOr<std::unique_ptr<RoundOutcome>> made =
      MakeRound(*scale_down_, source.cluster, settings, number, now_s, deadline);
  if (!made.ok()) return made;
  RoundOutcome* const round = made->get();
  if (round->result.status == ScaleDownStatus::kError) {
    // Nothing else of this round is kept.
    if (absl::Status s = state_->Count({Metrics::kErrors, "internalError", -1, 1}); !s.ok()) {
      round->log.emplace_back(s.message());
    }
  }
  return made;
}

absl::Status RoundDriver::Save(const RoundOutcome& round, RoundSource& source,
                               std::optional<SizingState> sizing) {
  if (!unsaved_ || round.result.status == ScaleDownStatus::kError) {
    return absl::FailedPreconditionError(
        absl::StrCat(files_.state, ": there is no round that can be saved"));
  }
  metrics_->Observe({.catalog = &source.cluster.snapshot.catalog(),
                     .result = &round.result,
                     .snapshot = &source.cluster.snapshot,
                     .groups = &round.groups,
                     .max_node_startup_time_s = scale_down_->options().max_node_startup_time_s,
                     .unregistered_nodes = round.unregistered_nodes,
                     .pending_pods = static_cast<int64_t>(source.cluster.pending.size()),
                     .deletions_in_progress = round.deletions_in_progress,
                     .failed_deletions = round.failed_deletions,
                     .seconds = round.seconds});
  RoundRecord entry;
  entry.round = round.number;
  entry.now_s = round.now_s;
  entry.status = std::string(ToString(round.result.status));
  entry.decision = CompactJson(*round.json);
  entry.input_digest = RoundDigest(round.arguments, source.objects);
  // The record is written before the state is committed, so that it contains every round that
  // counts.  It is written only when no other process can save any more, so that it contains no
  // rejected round.
  std::function<absl::Status()> add_to_record;
  if (record_ != nullptr) {
    add_to_record = [&] {
      RoundRecord whole = entry;
      whole.arguments = round.arguments;
      whole.input = std::move(source.objects);
      return AddToRecord(whole);
    };
  }
  ScaleDownState after = scale_down_->Save();
  if (sizing) state_->SetSizing(*std::move(sizing));
  if (absl::Status s = state_->SaveAfter(after, entry, metrics_->Save(), add_to_record); !s.ok()) {
    must_reload_ = true;
    return s;
  }
  before_ = std::move(after);
  unsaved_ = false;
  return absl::OkStatus();
}

absl::Status RoundDriver::CheckRecordIsOfThisState(int64_t number) {
  EBB_DCHECK(record_ != nullptr && record_->is_loaded());
  bool same = !cluster_ || !record_->cluster() || *cluster_ == *record_->cluster();
  if (same && number > 1) {
    const auto here = state_->MarkOf(number - 1);
    if (!here.ok()) return here.status();
    const auto there = record_->MarkOf(number - 1);
    if (!there.ok()) return there.status();
    same = !*here || !*there || *here == *there;
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(files_.record,
                                                 ": holds rounds of another state than ",
                                                 files_.state, "; begin a new record"));
}

absl::StatusOr<bool> RoundDriver::MayBegin(int64_t number) {
  const absl::StatusOr<std::optional<ScaleDownState>> begun = record_->Load();
  if (!begun.ok()) return begun.status();
  if (!begun->has_value()) return true;
  absl::StatusOr<int64_t> last = record_->LastRound();
  if (!last.ok()) return last.status();
  if (*last == 0) *last = (*begun)->rounds;
  // The record already has round `number` if its process was killed before it saved the state.
  if (*last != number - 1 && *last != number) {
    return absl::InvalidArgumentError(absl::StrCat(files_.record, ": ends with round ", *last,
                                                   ", and this is round ", number,
                                                   "; begin a new record"));
  }
  if (absl::Status s = CheckRecordIsOfThisState(number); !s.ok()) return s;
  return (*begun)->rounds == number - 1;
}

absl::Status RoundDriver::AddToRecord(const RoundRecord& round) {
  const absl::StatusOr<bool> begins = MayBegin(round.round);
  if (!begins.ok()) return begins.status();
  return *begins ? record_->Save(recorded_before_, round, {}) : record_->Append(round);
}

}  // namespace ebb
