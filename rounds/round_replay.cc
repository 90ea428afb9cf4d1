#include "rounds/round_replay.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "report/plan_report.h"
#include "rounds/round_outcome.h"
#include "rounds/round_record.h"
#include "rounds/round_report.h"
#include "rounds/round_source.h"
#include "rounds/sqlite_state.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Expires at the same query as the recorded deadline; 0: never.
class RecordedDeadline final : public Deadline {
 public:
  explicit RecordedDeadline(int64_t question) : question_(question) {}
  [[nodiscard]] bool Expired() const override { return ++questions_ >= question_ && question_ > 0; }

 private:
  int64_t question_;
  mutable int64_t questions_ = 0;
};

// Where the new decision differs from the recorded one; "" if the bytes are the same.
std::string Departure(const std::string& recorded, const Json& now) {
  if (CompactJson(now) == recorded) return "";
  const Json before = Json::parse(recorded, nullptr, /*allow_exceptions=*/false);
  if (before.is_discarded()) return "the recorded decision is not JSON";
  const std::string difference = FirstDifference(before, now);
  return difference.empty() ? "the same values in other bytes" : difference;
}

// Runs one recorded round and updates `state`.
absl::StatusOr<ReplayedRound> ReplayRound(const std::string& name, const RoundRecord& entry,
                                          std::optional<ScaleDownState>& state) {
  if (RoundDigest(entry.arguments, entry.input) != entry.input_digest) {
    return absl::InvalidArgumentError(name + ": is damaged: its input is not what was recorded");
  }
  absl::StatusOr<RoundArguments> arguments = ParseArguments(name, entry.arguments);
  if (!arguments.ok()) return arguments.status();
  const RoundSettings& settings = arguments->settings;
  ImportStats stats;
  absl::StatusOr<RoundSource> source = LoadSource(settings, state, [&](ObjectSink& sink) {
    return ReadBinarySnapshot(name, entry.input, sink, stats);
  });
  if (!source.ok()) return source.status();
  source->cluster.warnings = std::move(arguments->warnings);
  const std::shared_ptr<Symbols> symbols = source->cluster.snapshot.catalog().shared_symbols();
  ScaleDown scale_down(settings.options.scale_down);
  if (state) scale_down.Restore(*state, symbols);
  const RecordedDeadline deadline(arguments->deadline_question.value_or(0));
  const absl::StatusOr<std::unique_ptr<RoundOutcome>> round =
      MakeRound(scale_down, source->cluster, settings, entry.round, entry.now_s,
                arguments->deadline_question ? &deadline : nullptr);
  if (!round.ok()) return round.status();
  state = scale_down.Save();
  const RoundResult& result = (*round)->result;
  const auto nodes_of = [](const std::vector<DeletionBucket>& buckets) {
    size_t nodes = 0;
    for (const DeletionBucket& bucket : buckets) nodes += bucket.nodes.size();
    return nodes;
  };
  return ReplayedRound{.round = entry.round,
                       .now_s = entry.now_s,
                       .departure = Departure(entry.decision, *(*round)->json),
                       .status = std::string(ToString(result.status)),
                       .nodes = source->cluster.snapshot.nodes(),
                       .unneeded = result.unneeded.size(),
                       .started = nodes_of(result.start.empty) + nodes_of(result.start.drain),
                       .in_deletion = static_cast<size_t>((*round)->deletions_in_progress)};
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
    const absl::StatusOr<ReplayedRound> replayed =
        ReplayRound(fmt::format("{}: round {}", path, entry.round), entry, state);
    if (!replayed.ok()) return replayed.status();
    on_round(*replayed);
  }
  return absl::OkStatus();
}

}  // namespace ebb
