#include "session/session_round_maker.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/printable.h"
#include "loop/deletion_orders.h"
#include "planning/plan_query.h"
#include "report/plan_time.h"
#include "rounds/round_report.h"
#include "session/wire_query.h"
#include "session/wire_report.h"
#include "session/wire_sizing.h"
#include "session/wire_tables.h"
#include "session/wire_unremovable.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// An error in a file of the daemon is not the caller's: InvalidArgument becomes `code`.
absl::Status As(absl::StatusCode code, const absl::Status& status) {
  const bool file = status.code() == absl::StatusCode::kInvalidArgument;
  return file ? absl::Status(code, status.message()) : status;
}

// The state of sizing policies to be saved with the round; absent: no pool is sized.
absl::StatusOr<std::optional<SizingState>> SizingOf(const wire::RoundCall& call) {
  if (!call.has_sizing()) return std::nullopt;
  return ReadSizing(call.sizing());
}

void PutDeletions(const std::vector<DeletionOrder>& orders, wire::RoundReply& reply) {
  for (const DeletionOrder& order : orders) {
    wire::OrderedDeletion& told = *reply.add_deletions();
    told.set_node(order.node);
    told.set_uid(order.uid);
    told.set_group(order.group);
    told.set_drain(order.drain);
    told.set_batch_size(order.batch_size);
    for (const PlannedMove& move : order.moves) {
      wire::Move& to = *told.add_moves();
      to.mutable_pod()->set_namespace_(move.namespace_name);
      to.mutable_pod()->set_name(move.name);
      to.mutable_pod()->set_uid(move.uid);
      to.set_to(move.to);
    }
  }
}

// Writes the round as data.
void PutRoundData(const RoundOutcome& round, const LoadedCluster& cluster,
                  wire::RoundReply& reply) {
  const RoundResult& result = round.result;
  const Catalog& catalog = cluster.snapshot.catalog();
  const Json& delete_now = round.json->at("deleteNow");
  for (const Json& node : delete_now.at("empty")) reply.add_delete_empty(node);
  for (const Json& node : delete_now.at("drain")) reply.add_delete_drain(node);
  PutDeletions(OrdersOf(catalog, round.groups, result), reply);
  for (const NodeId node : result.soft_taints.taint) {
    reply.add_soft_taint(std::string(catalog.NodeName(node)));
  }
  for (const NodeId node : result.soft_taints.untaint) {
    reply.add_soft_untaint(std::string(catalog.NodeName(node)));
  }
  reply.set_round(round.number);
  reply.set_now(result.now_s);
  reply.set_status(std::string(ToString(result.status)));
  reply.set_message(Printable(RoundMessage(result)));
  reply.set_nodes(cluster.snapshot.nodes());
  reply.set_pending_pods(cluster.pending.size());
  reply.set_unneeded(result.unneeded.size());
  reply.set_in_deletion(static_cast<uint64_t>(round.deletions_in_progress));
  PutUnremovable(result.unremovable, *reply.mutable_unremovable());
}

// Excludes nodes: their groups may not shrink in this round, because their minimum is set to their
// size.  The settings contain that, so a replay does the same.
absl::Status LeaveAlone(const google::protobuf::RepeatedPtrField<std::string>& nodes,
                        const Catalog& catalog, RoundSettings& settings) {
  if (nodes.empty()) return absl::OkStatus();
  const NodeGroups groups = AssignGroups(catalog, settings.groups);
  std::set<GroupId> left;
  for (const std::string& name : nodes) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    if (node.ok() && groups.Of(*node) != kNoGroup) left.insert(groups.Of(*node));
  }
  RoundTexts texts = settings.texts;
  for (const GroupId id : left) {
    const NodeGroup& group = groups.groups[Index(id)];
    texts.group_sizes.push_back(
        {.name = group.name, .min_size = group.target_size, .max_size = group.target_size});
  }
  absl::StatusOr<RoundSettings> made = MakeSettings(settings.options, std::move(texts));
  if (!made.ok()) return made.status();
  made->report = std::move(settings.report);
  settings = *std::move(made);
  return absl::OkStatus();
}

}  // namespace

void SessionRoundMaker::PutStatus(wire::SessionStatus& status) {
  if (driver_ == nullptr) {
    status.set_rounds(RoundsBefore());
  } else if (driver_->before()) {
    status.set_rounds(driver_->before()->rounds);
  }
  if (last_round_) {
    *status.mutable_unremovable() = last_round_->unremovable;
    status.set_last_round_at(last_round_->at_s);
  }
}

int64_t SessionRoundMaker::RoundsBefore() {
  if (rounds_before_) return *rounds_before_;
  rounds_before_ = 0;
  const std::string file = StateFile();
  std::error_code none;
  if (file.empty() || !std::filesystem::exists(file, none)) return 0;
  // An error of the state file is returned by the next round, and ignored here.
  const auto driver =
      RoundDriver::Open({.state = file, .rounds_kept = cluster_.options().rounds_kept});
  if (driver.ok() && (*driver)->before()) rounds_before_ = (*driver)->before()->rounds;
  return *rounds_before_;
}

std::string SessionRoundMaker::StateFile() const {
  const SessionOptions& options = cluster_.options();
  if (!options.state_file.empty()) return options.state_file;
  return options.state_folder.empty()
             ? ""
             : absl::StrCat(options.state_folder, "/", cluster_.name(), ".db");
}

absl::Status SessionRoundMaker::OpenDriver() {
  if (driver_ != nullptr) return absl::OkStatus();
  const std::string file = StateFile();
  if (file.empty()) {
    return absl::FailedPreconditionError(
        "rounds want a folder for their state: `ebb serve --state-folder`, or state_folder in C "
        "and Go");
  }
  // A file that was removed is to start again, and one that holds less is a mistake.
  std::error_code none;
  if (!std::filesystem::exists(file, none)) rounds_kept_ = 0;
  auto driver = RoundDriver::Open({.state = file,
                                   .rounds_kept = cluster_.options().rounds_kept,
                                   .record = cluster_.options().record_file});
  if (!driver.ok()) return As(absl::StatusCode::kFailedPrecondition, driver.status());
  const int64_t rounds = (*driver)->before() ? (*driver)->before()->rounds : 0;
  if (rounds < rounds_kept_) {
    const std::string now =
        rounds == 0 ? "holds no round" : absl::StrCat("ends with round ", rounds);
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(file), ": ", now, ", and session ", cluster_.name(),
                     " has made round ", rounds_kept_,
                     " from it: put the newer file back, remove this one to start again, or close "
                     "the session, or restart its process, to go on from this one"));
  }
  driver_ = *std::move(driver);
  return absl::OkStatus();
}

absl::Status SessionRoundMaker::CheckMayMakeRound(const wire::RoundCall& call) const {
  // Loops that act on rounds expect this code.
  absl::Status answers = cluster_.CheckAnswersTo(call.input());
  if (absl::IsUnavailable(answers)) return absl::FailedPreconditionError(answers.message());
  if (!answers.ok()) return answers;
  if (call.needs_feed() && !cluster_.IsFed()) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", cluster_.name(),
                     ": no client feeds it: no open Sync stream has ended a resync"));
  }
  return absl::OkStatus();
}

int64_t SessionRoundMaker::Now(const wire::PlanInput& input, LoadedCluster& cluster) const {
  const PlanTime time = input.has_now() ? PlanTime{.now_s = input.now()} : cluster_.TimeToPlan();
  if (time.warning) cluster.warnings.push_back(*time.warning);
  if (auto warning = WarningOfAge(time.now_s, cluster)) cluster.warnings.push_back(*warning);
  return time.now_s;
}

absl::StatusOr<RoundSource> SessionRoundMaker::SourceOf(const wire::RoundCall& call,
                                                        RoundSettings& told) {
  const absl::StatusOr<LoadedCluster> checked =
      cluster_.Checked(call.input().allow_incomplete(), SessionCluster::Use::kCarriedOut);
  if (!checked.ok()) return checked.status();
  const RoundObjects objects =
      cluster_.options().record_file.empty() ? RoundObjects::kNone : RoundObjects::kForRecord;
  absl::StatusOr<RoundSource> source = cluster_.Source(told, driver_->before(), objects);
  if (!source.ok()) return source.status();
  source->cluster.warnings = checked->warnings;
  if (absl::Status s = driver_->CheckCluster(*source); !s.ok()) {
    return As(absl::StatusCode::kFailedPrecondition, s);
  }
  const Catalog& catalog = source->cluster.snapshot.catalog();
  // Only before the first round: later, a group may have lost all of its nodes.
  if (!driver_->before()) {
    if (absl::Status s = CheckMinimums(catalog, told.groups); !s.ok()) return s;
  }
  AddGroupWarnings(catalog, told.groups, source->cluster.warnings);
  cluster_.AddFeedWarnings(source->cluster);
  if (absl::Status s = LeaveAlone(call.left_alone(), catalog, told); !s.ok()) {
    return s;
  }
  return source;
}

absl::StatusOr<SessionRoundMaker::Prepared> SessionRoundMaker::Prepare(
    const wire::RoundCall& call) {
  EBB_DCHECK(driver_ != nullptr);
  std::optional<SessionSettings> parsed;
  const absl::StatusOr<const SessionSettings*> settings = cluster_.SettingsOf(call.input(), parsed);
  if (!settings.ok()) return settings.status();
  RoundOptions options = (*settings)->options;
  // A record is replayed without the session, so the options must contain the version.
  if (!options.load.kubernetes_version) {
    options.load.kubernetes_version = cluster_.server_version();
  }
  absl::StatusOr<RoundSettings> told = MakeSettings(options, (*settings)->texts);
  if (!told.ok()) return told.status();
  told->report = driver_->reports().With({});
  absl::StatusOr<RoundSource> source = SourceOf(call, *told);
  if (!source.ok()) return source.status();
  const int64_t now_s = Now(call.input(), source->cluster);
  if (now_s < 0) return absl::InvalidArgumentError("now: a round is not before 1970");
  if (absl::Status s = CheckNow(call.input()); !s.ok()) return s;
  return Prepared{.settings = *std::move(told), .source = *std::move(source), .now_s = now_s};
}

absl::StatusOr<wire::RoundReply> SessionRoundMaker::Round(const wire::RoundCall& call,
                                                          std::optional<Clock::time_point> end) {
  if (absl::Status s = CheckTaken(call.input(), QuestionOf::kRound); !s.ok()) return s;
  if (absl::Status s = CheckForm(call.form(), {wire::AS_JSON, wire::AS_DATA}, "Round"); !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckMayMakeRound(call); !s.ok()) return s;
  absl::StatusOr<std::optional<SizingState>> sizing = SizingOf(call);
  if (!sizing.ok()) return sizing.status();
  if (absl::Status s = OpenDriver(); !s.ok()) return s;
  absl::StatusOr<Prepared> prepared = Prepare(call);
  if (!prepared.ok()) return prepared.status();
  RoundSource& source = prepared->source;
  const auto ends = EndOf(call.input(), end);
  if (!ends.ok()) return ends.status();
  std::optional<Deadlines> deadlines;
  if (*ends) deadlines.emplace(**ends, kTimeOfCall);
  const auto made = driver_->Make(prepared->settings, prepared->now_s, source,
                                  *ends ? &deadlines->passes_end : nullptr);
  if (!made.ok()) return made.status();
  const RoundOutcome& round = **made;
  if (round.result.status == ScaleDownStatus::kError) {
    return absl::InternalError(round.result.message);
  }
  wire::RoundReply reply;
  if (call.form() == wire::AS_JSON) reply.set_json(IndentedJson(*round.json));
  // State is fsynced before the reply is sent.
  if (absl::Status s = driver_->Save(round, source, *std::move(sizing)); !s.ok()) {
    // The next call opens the file again: it may have been repaired, deleted or restored.
    driver_.reset();
    return As(absl::StatusCode::kInternal, s);
  }
  rounds_kept_ = round.number;
  reply.set_version(cluster_.version());
  cluster_.PutFreshness(reply);
  PutRoundData(round, source.cluster, reply);
  last_round_ = {.at_s = round.result.now_s, .unremovable = reply.unremovable()};
  PutWarnings(source.cluster.warnings, reply);
  for (const std::string& line : source.log) reply.add_log(PrintableLine(line));
  for (const std::string& line : round.log) reply.add_log(PrintableLine(line));
  return reply;
}

absl::StatusOr<wire::ActuationReply> SessionRoundMaker::ReportActuation(
    const wire::ActuationReport& report) {
  if (absl::Status s = OpenDriver(); !s.ok()) return s;
  const absl::StatusOr<ReportUpdate> update = ReadReport(report);
  if (!update.ok()) return update.status();
  if (absl::Status s = driver_->Report(*update); !s.ok()) {
    if (absl::IsInternal(s)) driver_.reset();  // As in Round().
    return s;
  }
  wire::ActuationReply reply;
  reply.set_in_progress(driver_->reports().in_progress().size());
  return reply;
}

absl::StatusOr<wire::SizingReply> SessionRoundMaker::Sizing() {
  if (absl::Status s = OpenDriver(); !s.ok()) return s;
  wire::SizingReply reply;
  PutSizing(driver_->sizing(), *reply.mutable_sizing());
  return reply;
}

MetricsSnapshot SessionRoundMaker::RoundMetrics() const {
  return driver_ == nullptr ? nullptr : driver_->CollectMetrics();
}

std::vector<SessionRoundMaker::Timer> SessionRoundMaker::Timers() const {
  std::vector<Timer> timers;
  if (driver_ == nullptr || !driver_->before()) return timers;
  for (const auto& timer : driver_->before()->timers) timers.push_back({timer.node, timer.since_s});
  return timers;
}

}  // namespace ebb
