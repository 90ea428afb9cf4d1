#include "loop/run/session_rounds.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "loop/actuators/plugin_status.h"
#include "session/wire_sizing.h"
#include "session/wire_unremovable.h"
#include "wire/wire_limits.h"

namespace ebb {
namespace {

constexpr size_t kShownMax = 80;

absl::Status WrongRound(const std::string& where, const std::string& what) {
  return absl::InternalError(absl::StrCat("the daemon's round: ", where, ": ", what));
}

std::string Shown(std::string_view text) { return Printable(text.substr(0, kShownMax)); }

absl::Status CheckNodeName(const std::string& where, const std::string& name) {
  if (IsNodeName(name)) return absl::OkStatus();
  return WrongRound(where, absl::StrCat("\"", Shown(name), "\" names no node"));
}

absl::StatusOr<DeletionOrder> ReadDeletion(const std::string& row,
                                           const wire::OrderedDeletion& told) {
  if (absl::Status s = CheckNodeName(row + ".node", told.node()); !s.ok()) return s;
  if (told.batch_size() < 0) {
    return WrongRound(row + ".batch_size", absl::StrCat(told.batch_size(), " is negative"));
  }
  if (told.uid().size() > kWireNameMax || told.group().size() > kWireNameMax) {
    return WrongRound(row, "uid or group is too long");
  }
  if (!told.drain() && told.moves_size() > 0) {
    return WrongRound(row + ".moves", "must be empty: the node is deleted without a drain");
  }
  DeletionOrder order{.node = told.node(),
                      .uid = told.uid(),
                      .group = told.group(),
                      .drain = told.drain(),
                      .batch_size = told.batch_size()};
  for (int i = 0; i < told.moves_size(); ++i) {
    const wire::Move& move = told.moves(i);
    if (absl::Status s = CheckNodeName(absl::StrCat(row, ".moves[", i, "].to"), move.to());
        !s.ok()) {
      return s;
    }
    order.moves.push_back({.namespace_name = move.pod().namespace_(),
                           .name = move.pod().name(),
                           .uid = move.pod().uid(),
                           .to = move.to()});
  }
  return order;
}

// Checks that each node occurs once, is not in deletion, and is listed in delete_empty or
// delete_drain.
absl::Status CheckDeletions(const wire::RoundReply& reply, const ActuatorStatus& running) {
  absl::flat_hash_set<std::string_view> seen;
  for (const RunningDeletion& deletion : running.running) seen.insert(deletion.node);
  const int empty = reply.delete_empty_size();
  if (reply.deletions_size() != empty + reply.delete_drain_size()) {
    return WrongRound(
        "deletions", absl::StrCat(reply.deletions_size(), " of ", empty + reply.delete_drain_size(),
                                  " nodes; is the daemon as new as this program?"));
  }
  for (int i = 0; i < reply.deletions_size(); ++i) {
    const wire::OrderedDeletion& told = reply.deletions(i);
    const std::string row = absl::StrCat("deletions[", i, "]");
    if (!seen.insert(told.node()).second) {
      return WrongRound(row + ".node", absl::StrCat(Shown(told.node()), " occurs twice"));
    }
    const std::string& listed = i < empty ? reply.delete_empty(i) : reply.delete_drain(i - empty);
    if (told.node() != listed || told.drain() != (i >= empty)) {
      return WrongRound(row, "is not as delete_empty and delete_drain say");
    }
  }
  if (reply.deletions_size() > 0 && reply.status() != "ScaleDownNodeDeleteStarted") {
    return WrongRound("status", absl::StrCat(Shown(reply.status()), " starts no deletion"));
  }
  return absl::OkStatus();
}

absl::Status ReadNames(const char* field,
                       const google::protobuf::RepeatedPtrField<std::string>& told,
                       std::vector<std::string>& names) {
  for (int i = 0; i < told.size(); ++i) {
    if (absl::Status s = CheckNodeName(absl::StrCat(field, "[", i, "]"), told[i]); !s.ok()) {
      return s;
    }
    names.push_back(told[i]);
  }
  return absl::OkStatus();
}

std::vector<InputWarning> WarningsOf(const wire::RoundReply& reply) {
  const auto text = [](const std::string& told) { return Printable(told.substr(0, kWireNameMax)); };
  std::vector<InputWarning> warnings;
  for (const wire::Warning& told : reply.warnings()) {
    warnings.push_back({.code = text(told.code()),
                        .message = text(told.message()),
                        .command = text(told.command()),
                        .advice = text(told.advice())});
  }
  return warnings;
}

// The autoscaler's NodeDeleteResultType, derived from the phase in which the deletion failed.
const char* ResultOf(const DeletionResult& result,
                     const std::map<std::string, DeletionPhase>& phases) {
  if (result.ok) return "Ok";
  const auto phase = phases.find(result.node);
  if (phase == phases.end()) return "FailedToMarkToBeDeleted";
  switch (phase->second) {
    case DeletionPhase::kTainted:
      return "Internal";
    case DeletionPhase::kDraining:
    case DeletionPhase::kFailed:
      return "FailedToEvictPods";
    case DeletionPhase::kDrained:
    case DeletionPhase::kDeleting:
      return "FailedToDelete";
  }
  return "Internal";
}

}  // namespace

absl::StatusOr<RoundOrders> ReadRoundReply(const wire::RoundReply& reply,
                                           const ActuatorStatus& running) {
  if (reply.deletions_size() > kWireRowsMax || reply.soft_taint_size() > kWireRowsMax ||
      reply.soft_untaint_size() > kWireRowsMax || reply.warnings_size() > kWireRowsMax) {
    return WrongRound("deletions", absl::StrCat("more than ", kWireRowsMax, " rows"));
  }
  if (absl::Status s = CheckDeletions(reply, running); !s.ok()) return s;
  RoundOrders round{.number = reply.round(),
                    .status = Shown(reply.status()),
                    .message = PrintableLine(reply.message().substr(0, kWireNameMax)),
                    .nodes = reply.nodes(),
                    .pending = reply.pending_pods(),
                    .unneeded = reply.unneeded(),
                    .unremovable = ReadUnremovable(reply.unremovable())};
  for (int i = 0; i < reply.deletions_size(); ++i) {
    auto order = ReadDeletion(absl::StrCat("deletions[", i, "]"), reply.deletions(i));
    if (!order.ok()) return order.status();
    round.start.push_back(*std::move(order));
  }
  absl::Status names = ReadNames("soft_taint", reply.soft_taint(), round.taint);
  if (names.ok()) names = ReadNames("soft_untaint", reply.soft_untaint(), round.untaint);
  if (!names.ok()) return names;
  for (const std::string& line : reply.log()) round.log.push_back(PrintableLine(line));
  return round;
}

void SessionRounds::PutResults(const ActuatorStatus& status, wire::ActuationReport& report) const {
  for (const DeletionResult& result : status.results) {
    if (reported_results_.contains({result.node, result.at_s, result.ok})) continue;
    wire::EndedDeletion& ended = *report.add_ended();
    ended.set_node(result.node);
    ended.set_result(ResultOf(result, phases_));
    ended.set_group(result.group);
    ended.set_at(result.at_s);
  }
  for (const EvictedPod& pod : status.recent_evictions) {
    if (reported_evictions_.contains({pod.namespace_name, pod.name, pod.uid, pod.evicted_at_s})) {
      continue;
    }
    wire::EvictedPod& evicted = *report.add_evicted();
    evicted.set_namespace_(pod.namespace_name);
    evicted.set_name(pod.name);
    evicted.set_uid(pod.uid);
    evicted.set_at(pod.evicted_at_s);
    // Only JSON is read; an object in another format is left out.
    if (pod.object.starts_with('{')) evicted.set_json(pod.object);
  }
}

absl::Status SessionRounds::Report(const ActuatorStatus& status) {
  for (const RunningDeletion& deletion : status.running) {
    phases_[deletion.node] = deletion.phase;
  }
  wire::ActuationReport report;
  report.set_session(options_.session);
  auto& running = *report.mutable_in_progress();
  for (const RunningDeletion& deletion : status.running) {
    wire::BegunDeletion& told = *running.add_deletions();
    told.set_node(deletion.node);
    told.set_group(deletion.group);
    told.set_drained(deletion.drain);
  }
  PutResults(status, report);
  const absl::StatusOr<wire::ActuationReply> reply = calls_.ReportActuation(report);
  if (!reply.ok()) return reply.status();
  evictions_ += static_cast<uint64_t>(report.evicted_size());
  reported_results_.clear();
  reported_evictions_.clear();
  for (const DeletionResult& result : status.results) {
    reported_results_.emplace(result.node, result.at_s, result.ok);
  }
  const auto runs = [&](const auto& phase) {
    return std::ranges::any_of(status.running,
                               [&](const auto& each) { return each.node == phase.first; });
  };
  std::erase_if(phases_, [&](const auto& phase) { return !runs(phase); });
  for (const EvictedPod& pod : status.recent_evictions) {
    reported_evictions_.emplace(pod.namespace_name, pod.name, pod.uid, pod.evicted_at_s);
  }
  return absl::OkStatus();
}

absl::StatusOr<Observation*> SessionRounds::Observe(int64_t now_s) {
  if (options_.cluster == nullptr) {
    return absl::FailedPreconditionError("no cluster to size pools of");
  }
  absl::StatusOr<Observation> now = options_.cluster->Observe(now_s);
  if (!now.ok()) return now.status();
  return &observed_.emplace(*std::move(now));
}

absl::StatusOr<RoundOrders> SessionRounds::Make(const ActuatorStatus& report, int64_t now_s,
                                                std::span<const std::string> left_alone) {
  if (absl::Status s = Report(report); !s.ok()) return s;
  wire::RoundCall call;
  wire::PlanInput& input = *call.mutable_input();
  input.set_session(options_.session);
  input.set_now(now_s);
  input.set_allow_incomplete(options_.allow_incomplete);
  if (options_.settings) *input.mutable_settings() = *options_.settings;
  if (options_.time_limit_seconds) input.set_time_limit_seconds(*options_.time_limit_seconds);
  call.set_form(wire::AS_DATA);
  call.set_needs_feed(options_.needs_feed);
  for (const std::string& node : left_alone) call.add_left_alone(node);
  if (options_.sizing != nullptr) PutSizing(options_.sizing(), *call.mutable_sizing());
  const absl::StatusOr<wire::RoundReply> reply = calls_.Round(call);
  if (!reply.ok()) return reply.status();
  if (reply->round() <= last_round_) {
    return WrongRound("round", absl::StrCat(reply->round(), " does not come after ", last_round_));
  }
  absl::StatusOr<RoundOrders> round = ReadRoundReply(*reply, report);
  if (!round.ok()) return round;
  last_round_ = round->number;
  for (const InputWarning& warning : warnings_.Among(WarningsOf(*reply))) {
    round->log.push_back(WarningText(warning));
  }
  return round;
}

}  // namespace ebb
