#include "service/round_replay.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/json_text.h"
#include "service/made_round.h"
#include "service/plan_report.h"
#include "service/round_record.h"
#include "service/round_report.h"
#include "service/round_source.h"
#include "service/sqlite_state.h"
#include "snapshot/formats/binary_snapshot.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Expires at the question at which the recorded deadline did; 0: never.
class RecordedDeadline final : public Deadline {
 public:
  explicit RecordedDeadline(int64_t question) : question_(question) {}
  [[nodiscard]] bool Expired() const override { return ++questions_ >= question_ && question_ > 0; }

 private:
  int64_t question_;
  mutable int64_t questions_ = 0;
};

// The text of a member; "" where there is none.
std::string TextOf(const Json& json, const char* member) {
  const auto found = json.is_object() ? json.find(member) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// A decision that was recorded by earlier rules, in the words of today's: a round that judged
// nothing said "complete" and NotUnneededOtherReason, and one that was held back by the budget
// for drains alone said ScaleDownNoNodeDeleted.
void TellInTodaysWords(int64_t rules, Json& decision) {
  if (rules >= kRulesWithNotStarted) return;
  const std::string status = TextOf(decision, "status");
  const bool not_started =
      status == "ScaleDownClockJumped" || status == "ScaleDownClusterUnhealthy";
  if (status == "ScaleDownNoNodeDeleted" &&
      TextOf(decision, "message").find("the budgets admit none") != std::string::npos) {
    decision["status"] = "ScaleDownThrottled";
  }
  if (!not_started && status != "ScaleDownNoRoomForPods") return;
  const std::string was(ToString(UnremovableReason::kNotUnneededOtherReason));
  const std::string is(kNotJudged);
  if (Json& summary = decision["summary"]; summary.is_object()) {
    if (not_started) summary["termination"] = ToString(Termination::kNotStarted);
    Json& counts = summary["keptByReason"];
    if (counts.is_object() && counts.contains(was)) {
      counts[is] = counts[was];
      counts.erase(was);
    }
  }
  for (Json& node : decision["keep"]) {
    if (TextOf(node, "reason") == was) node["reason"] = is;
  }
}

// Takes away the texts for people, whose words have changed since: no decision depends on them.
void EraseTexts(Json& json) {
  if (json.is_object()) {
    for (const char* const text : {"message", "detail"}) json.erase(text);
  }
  if (!json.is_structured()) return;
  for (Json& value : json) EraseTexts(value);
}

// Where the decision made now departs from the recorded one; "" if it is the same bytes.
std::string Departure(const std::string& recorded, int64_t rules, Json now) {
  if (CompactJson(now) == recorded) return "";
  Json before = Json::parse(recorded, nullptr, /*allow_exceptions=*/false);
  if (before.is_discarded()) return "the recorded decision is not JSON";
  TellInTodaysWords(rules, before);
  const bool same_words = rules >= kRulesWithDurations;
  if (!same_words) {
    EraseTexts(before);
    EraseTexts(now);
  }
  // Since then decisions have had the same fields.
  const bool same_fields = rules >= kRulesWithComplete;
  const std::string difference =
      FirstDifference(before, now, same_fields ? AddedMembers::kDiffer : AddedMembers::kIgnore);
  return difference.empty() && same_words ? "the same values in other bytes" : difference;
}

// Runs one recorded round; `state` goes on from it.
absl::StatusOr<std::string> ReplayRound(const std::string& name, const RoundRecord& entry,
                                        std::optional<ScaleDownState>& state) {
  if (RoundDigest(entry.arguments, entry.input) != entry.input_digest) {
    return absl::InvalidArgumentError(name + ": is damaged: its input is not what was recorded");
  }
  absl::StatusOr<RoundArguments> arguments = ParseArguments(name, entry.arguments);
  if (!arguments.ok()) return arguments.status();
  const RoundSettings& settings = arguments->settings;
  ImportStats stats;
  absl::StatusOr<RoundSource> source = LoadSource(settings, state, [&](ObjectSink& sink) {
    // The digest vouches for records of an older ebb.
    return ReadBinarySnapshot(name, entry.input, sink, stats, SnapshotVersions::kUncheckedToo);
  });
  if (!source.ok()) return source.status();
  source->cluster.warnings = std::move(arguments->warnings);
  const std::shared_ptr<Symbols> symbols = source->cluster.snapshot.catalog().shared_symbols();
  ScaleDown scale_down(settings.options.scale_down);
  if (state) scale_down.Restore(*state, symbols);
  const RecordedDeadline deadline(arguments->deadline_question.value_or(0));
  const absl::StatusOr<std::unique_ptr<MadeRound>> round =
      MakeRound(scale_down, source->cluster, settings, entry.round, entry.now_s,
                arguments->deadline_question ? &deadline : nullptr);
  if (!round.ok()) return round.status();
  state = scale_down.Save();
  return Departure(entry.decision, arguments->rules, *(*round)->json);
}

}  // namespace

absl::Status ReplayRecord(const std::string& path,
                          absl::FunctionRef<void(const ReplayedRound&)> on_round) {
  const auto error = [&path](std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, what));
  };
  auto opened = SqliteState::Open(path, {.rounds_max = 0, .read_only = true});
  if (!opened.ok()) return opened.status();
  const auto rounds = (*opened)->Rounds();
  if (!rounds.ok()) return rounds.status();
  auto loaded = (*opened)->Load();
  if (!loaded.ok()) return loaded.status();
  std::optional<ScaleDownState> state = *std::move(loaded);
  if (rounds->empty()) return error("holds no round");
  if (rounds->front().arguments.empty()) {
    return error("is a state file, not a record that `ebb plan --record` wrote");
  }
  int64_t number = state ? state->rounds : 0;
  for (const RoundRecord& entry : *rounds) {
    if (++number != entry.round) {
      return error(
          fmt::format("round {} is missing: the file is damaged or was changed by "
                      "another program",
                      number));
    }
    absl::StatusOr<std::string> departure =
        ReplayRound(fmt::format("{}: round {}", path, entry.round), entry, state);
    if (!departure.ok()) return departure.status();
    on_round({.round = entry.round, .now_s = entry.now_s, .departure = *std::move(departure)});
  }
  return absl::OkStatus();
}

}  // namespace ebb
