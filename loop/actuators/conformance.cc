#include "loop/actuators/conformance.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/printable.h"
#include "base/text.h"
#include "loop/actuators/plugin_client.h"
#include "loop/actuators/plugin_status.h"

namespace ebb {
namespace {

using absl::StatusCode;

constexpr std::string_view kMissingNode = "ebb-conformance-no-such-node";
constexpr std::string_view kMissingGroup = "ebb-conformance-no-such-group";
constexpr std::string_view kWrongUid = "ebb-conformance-no-such-uid";
constexpr int64_t kPollMs = 1000;

// How a check affects a cluster, and so what it needs.
enum class Needs : uint8_t { kNothing, kNode, kDelete };

absl::Status Failed(const std::string& why) { return absl::FailedPreconditionError(why); }

absl::Status ExpectCode(const char* call, const absl::Status& got,
                        std::span<const StatusCode> allowed) {
  if (std::ranges::find(allowed, got.code()) != allowed.end()) return absl::OkStatus();
  std::string names;
  for (const StatusCode code : allowed) {
    absl::StrAppend(&names, names.empty() ? "" : " or ", absl::StatusCodeToString(code));
  }
  return Failed(absl::StrCat(call, ": expected ", names, ", got ", got.ToString()));
}

absl::Status ExpectCode(const char* call, const absl::Status& got, StatusCode allowed) {
  return ExpectCode(call, got, std::span(&allowed, 1));
}

const RunningDeletion* Find(const PluginStatus& status, std::string_view node) {
  const auto& running = status.status.running;
  const auto it = std::ranges::find(running, node, &RunningDeletion::node);
  return it == running.end() ? nullptr : &*it;
}

// The index of the result; absent: the node has no result.
std::optional<size_t> FindResult(const PluginStatus& status, std::string_view node) {
  const auto& results = status.status.results;
  const auto it = std::ranges::find(results, node, &DeletionResult::node);
  if (it == results.end()) return std::nullopt;
  return static_cast<size_t>(it - results.begin());
}

class Conformance {
 public:
  Conformance(const ConformanceOptions& options, std::unique_ptr<PluginClient> client)
      : options_(options), client_(std::move(client)) {}

  std::vector<ConformanceCheck> Run();

 private:
  struct Check {
    std::string_view name;
    std::string_view what;
    Needs needs;
    absl::Status (Conformance::*run)();
  };
  static const Check kChecks[];

  absl::Status Hello();
  absl::Status Health();
  absl::Status Status();
  absl::Status MissingNode();
  absl::Status EmptyName();
  absl::Status GrowRefused();
  absl::Status SoftTaint();
  absl::Status TaintRefused();
  absl::Status PolicyTaint();
  absl::Status WrongUid();
  absl::Status AllOrNone();
  absl::Status NotBegun();
  absl::Status Begin();
  absl::Status BeginAgain();
  absl::Status DeleteTooEarly();
  absl::Status RollBack();
  absl::Status LateCopies();
  absl::Status Acknowledge();
  absl::Status Drain();
  absl::Status Delete();
  absl::Status Gone();

  std::string NewKey() { return absl::StrCat(options_.session, "-", ++keys_made_); }
  template <typename Request>
  Request For(std::string_view node) {
    Request request;
    request.set_key(NewKey());
    request.set_node(std::string(node));
    return request;
  }
  plugin_wire::BeginRequest BeginOf(const std::vector<std::string>& nodes, bool drain = false);
  [[nodiscard]] const std::string& node() const { return options_.nodes[0]; }

  absl::StatusOr<PluginStatus> Ask();
  absl::Status ExpectNotRunning();
  absl::Status ExpectPhase(DeletionPhase phase);
  // Polls until `is` returns true.  Errors: that of `is`; or it never returned true.
  absl::Status WaitUntil(const char* what,
                         const std::function<absl::StatusOr<bool>(const PluginStatus&)>& is);
  void CleanUp();

  const ConformanceOptions& options_;
  const std::unique_ptr<PluginClient> client_;
  uint64_t keys_made_ = 0;
  plugin_wire::BeginRequest begun_;
  plugin_wire::RollBackRequest rolled_back_;
  int64_t tainted_since_s_ = 0;
};

const Conformance::Check Conformance::kChecks[] = {
    {"hello", "Hello names the plugin", Needs::kNothing, &Conformance::Hello},
    {"health", "it reports that it serves", Needs::kNothing, &Conformance::Health},
    {"status", "Status lists possible deletions only, and no node named here is in deletion",
     Needs::kNothing, &Conformance::Status},
    {"doubt-missing-node", "a node that is not there is NOT_FOUND, and nothing is begun",
     Needs::kNothing, &Conformance::MissingNode},
    {"empty-name", "a call without a node is refused", Needs::kNothing, &Conformance::EmptyName},
    {"grow-refused", "Grow of no group, below nothing or of a missing group is refused",
     Needs::kNothing, &Conformance::GrowRefused},
    {"taint-refused", "Taint without a key, or with the soft or the hard taint's, is refused",
     Needs::kNothing, &Conformance::TaintRefused},
    {"soft-taint", "it is put and taken off, and again", Needs::kNode, &Conformance::SoftTaint},
    {"taint", "a policy's taint is put and taken off, and again; or the plugin says that it cannot",
     Needs::kNode, &Conformance::PolicyTaint},
    {"doubt-wrong-uid",
     "Begin for another uid than the node has is NOT_FOUND, and the node stays as it is",
     Needs::kNode, &Conformance::WrongUid},
    {"all-or-none", "Begin with one node that is missing begins none", Needs::kNode,
     &Conformance::AllOrNone},
    {"not-begun", "a node that was not begun is neither drained nor deleted", Needs::kNode,
     &Conformance::NotBegun},
    {"begin", "Begin leads to TAINTED", Needs::kNode, &Conformance::Begin},
    {"begin-again", "Begin again, by its key and by another, changes nothing", Needs::kNode,
     &Conformance::BeginAgain},
    {"delete-too-early", "Delete of a node that is not drained is FAILED_PRECONDITION",
     Needs::kNode, &Conformance::DeleteTooEarly},
    {"roll-back", "RollBack ends the deletion, not ok", Needs::kNode, &Conformance::RollBack},
    {"late-copies", "a call that comes again by its key, late, is not carried out again",
     Needs::kNode, &Conformance::LateCopies},
    {"acknowledge", "a result that was acknowledged is not reported again", Needs::kNode,
     &Conformance::Acknowledge},
    {"drain", "Drain leads to DRAINED, and again changes nothing", Needs::kDelete,
     &Conformance::Drain},
    {"delete", "Delete leads to one result, which is ok", Needs::kDelete, &Conformance::Delete},
    {"gone", "the deleted node is NOT_FOUND", Needs::kDelete, &Conformance::Gone},
};

std::vector<ConformanceCheck> Conformance::Run() {
  std::vector<ConformanceCheck> made;
  std::string stop;  // Why no further check runs.
  for (const Check& check : kChecks) {
    ConformanceCheck& row = made.emplace_back(ConformanceCheck{check.name, check.what});
    if (!stop.empty()) {
      row.why = stop;
    } else if (check.needs != Needs::kNothing && options_.nodes.empty()) {
      row.why = "no node was named";
    } else if (check.needs == Needs::kDelete && !options_.drain_and_delete) {
      row.why = "nodes are not to be drained and deleted";
    } else {
      const absl::Status done = (this->*check.run)();
      row.outcome = done.ok() ? CheckOutcome::kPassed : CheckOutcome::kFailed;
      row.why = std::string(done.message());
      if (done.ok()) continue;
      if (check.run == &Conformance::Hello || check.run == &Conformance::Status) {
        stop = absl::StrCat("after the failed check ", Absl(check.name));
      } else if (check.needs != Needs::kNothing) {
        CleanUp();
      }
    }
  }
  return made;
}

// --- Checks that touch no node ----------------------------------------------------------

absl::Status Conformance::Hello() {
  const absl::StatusOr<plugin_wire::HelloReply> hello = client_->Hello();
  if (!hello.ok()) return hello.status();
  return hello->name().empty() ? Failed("Hello: name: is empty") : absl::OkStatus();
}

absl::Status Conformance::Health() { return client_->CheckHealth(); }

absl::Status Conformance::Status() {
  const absl::StatusOr<PluginStatus> status = Ask();
  if (!status.ok()) return status.status();
  for (const std::string& name : options_.nodes) {
    if (Find(*status, name) == nullptr && !FindResult(*status, name)) continue;
    return Failed(absl::StrCat("node ", name, " is in deletion already; name another"));
  }
  return absl::OkStatus();
}

absl::Status Conformance::MissingNode() {
  auto soft = For<plugin_wire::SoftTaintRequest>(kMissingNode);
  soft.set_taint(true);
  absl::Status s = ExpectCode("SoftTaint", client_->SoftTaint(soft), StatusCode::kNotFound);
  if (s.ok()) {
    s = ExpectCode("Begin", client_->Begin(BeginOf({std::string(kMissingNode)})),
                   StatusCode::kNotFound);
  }
  if (!s.ok()) return s;
  const absl::StatusOr<PluginStatus> status = Ask();
  if (!status.ok()) return status.status();
  return Find(*status, kMissingNode) == nullptr ? absl::OkStatus()
                                                : Failed("Status: has a node that is not there");
}

absl::Status Conformance::EmptyName() {
  constexpr StatusCode kRefused[] = {StatusCode::kInvalidArgument, StatusCode::kNotFound};
  absl::Status s = ExpectCode("Begin", client_->Begin(BeginOf({""})), kRefused);
  if (!s.ok()) return s;
  return ExpectCode("Drain", client_->Drain(For<plugin_wire::DrainRequest>("")), kRefused);
}

absl::Status Conformance::GrowRefused() {
  const auto grow = [&](std::string_view group, int64_t size) {
    plugin_wire::GrowRequest request;
    request.set_key(NewKey());
    request.set_group(std::string(group));
    request.set_size(size);
    return client_->Grow(request);
  };
  // A plugin that cannot grow groups may return Unimplemented for any group.
  constexpr StatusCode kWrong[] = {StatusCode::kInvalidArgument, StatusCode::kUnimplemented};
  absl::Status s = ExpectCode("Grow without a group", grow("", 1), kWrong);
  if (s.ok()) s = ExpectCode("Grow to -1 machines", grow(kMissingGroup, -1), kWrong);
  // A plugin that runs a user's command to make machines may not know which error it is.
  if (s.ok() && grow(kMissingGroup, 1).ok()) {
    s = Failed("Grow of a group that is not there: expected NOT_FOUND, got OK");
  }
  return s;
}

// --- Checks of a node that stays ----------------------------------------------------------

absl::Status Conformance::SoftTaint() {
  for (const bool taint : {true, true, false, false}) {
    auto request = For<plugin_wire::SoftTaintRequest>(node());
    request.set_taint(taint);
    if (absl::Status s = client_->SoftTaint(request); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Conformance::TaintRefused() {
  constexpr StatusCode kWrong[] = {StatusCode::kInvalidArgument, StatusCode::kNotFound,
                                   StatusCode::kUnimplemented};
  for (const char* const key :
       {"", "ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"}) {
    auto request = For<plugin_wire::TaintRequest>(kMissingNode);
    request.set_taint_key(key);
    const absl::Status s = ExpectCode("Taint of no policy's key", client_->Taint(request), kWrong);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Conformance::PolicyTaint() {
  for (const bool put : {true, true, false, false}) {
    auto request = For<plugin_wire::TaintRequest>(node());
    request.set_taint_key("ebb.conformance/taint");
    request.set_value("1");
    request.set_effect("PreferNoSchedule");
    request.set_put(put);
    absl::Status s = client_->Taint(request);
    if (absl::IsUnimplemented(s)) return absl::OkStatus();
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Conformance::WrongUid() {
  plugin_wire::BeginRequest request = BeginOf({node()});
  request.mutable_orders(0)->set_uid(std::string(kWrongUid));
  absl::Status s = ExpectCode("Begin", client_->Begin(request), StatusCode::kNotFound);
  return s.ok() ? ExpectNotRunning() : s;
}

absl::Status Conformance::AllOrNone() {
  std::vector<std::string> nodes = options_.nodes;
  nodes.emplace_back(kMissingNode);
  absl::Status s = ExpectCode("Begin", client_->Begin(BeginOf(nodes)), StatusCode::kNotFound);
  return s.ok() ? ExpectNotRunning() : s;
}

absl::Status Conformance::NotBegun() {
  constexpr StatusCode kRefused[] = {StatusCode::kNotFound, StatusCode::kFailedPrecondition};
  absl::Status s =
      ExpectCode("Drain", client_->Drain(For<plugin_wire::DrainRequest>(node())), kRefused);
  if (s.ok()) {
    s = ExpectCode("Delete", client_->Delete(For<plugin_wire::DeleteRequest>(node())), kRefused);
  }
  return s.ok() ? ExpectNotRunning() : s;
}

absl::Status Conformance::Begin() {
  begun_ = BeginOf({node()});
  if (absl::Status s = client_->Begin(begun_); !s.ok()) return s;
  if (absl::Status s = ExpectPhase(DeletionPhase::kTainted); !s.ok()) return s;
  const absl::StatusOr<PluginStatus> status = Ask();
  if (!status.ok()) return status.status();
  const RunningDeletion* const deletion = Find(*status, node());
  if (deletion == nullptr) return Failed("Status: the node is no longer running");
  tainted_since_s_ = deletion->since_s;
  return absl::OkStatus();
}

absl::Status Conformance::BeginAgain() {
  // Times are in whole seconds, so the wait shows whether the node was tainted again.
  options_.sleep_ms(2 * kPollMs);
  if (absl::Status s = client_->Begin(begun_); !s.ok()) return s;
  if (absl::Status s = client_->Begin(BeginOf({node()})); !s.ok()) return s;
  if (absl::Status s = ExpectPhase(DeletionPhase::kTainted); !s.ok()) return s;
  const absl::StatusOr<PluginStatus> status = Ask();
  if (!status.ok()) return status.status();
  const RunningDeletion* const deletion = Find(*status, node());
  if (deletion != nullptr && deletion->since_s == tainted_since_s_) return absl::OkStatus();
  return Failed("Status: since: is another after the second Begin");
}

absl::Status Conformance::DeleteTooEarly() {
  absl::Status s = ExpectCode("Delete", client_->Delete(For<plugin_wire::DeleteRequest>(node())),
                              StatusCode::kFailedPrecondition);
  return s.ok() ? ExpectPhase(DeletionPhase::kTainted) : s;
}

absl::Status Conformance::RollBack() {
  rolled_back_ = For<plugin_wire::RollBackRequest>(node());
  rolled_back_.set_why("ebb conformance");
  if (absl::Status s = client_->RollBack(rolled_back_); !s.ok()) return s;
  if (absl::Status s = ExpectNotRunning(); !s.ok()) return s;
  const absl::StatusOr<PluginStatus> status = Ask();
  if (!status.ok()) return status.status();
  const std::optional<size_t> result = FindResult(*status, node());
  if (!result) return Failed("Status: results: the deletion that was rolled back is missing");
  return status->status.results[*result].ok
             ? Failed("Status: results: it is ok, and was rolled back")
             : absl::OkStatus();
}

absl::Status Conformance::LateCopies() {
  if (absl::Status s = client_->Begin(begun_); !s.ok()) return s;
  if (absl::Status s = client_->RollBack(rolled_back_); !s.ok()) return s;
  if (absl::Status s = client_->Begin(begun_); !s.ok()) return s;
  return ExpectNotRunning();
}

absl::Status Conformance::Acknowledge() {
  const absl::StatusOr<PluginStatus> before = Ask();
  if (!before.ok()) return before.status();
  const std::optional<size_t> result = FindResult(*before, node());
  if (!result) return Failed("Status: results: there is none to acknowledge");
  plugin_wire::AcknowledgeRequest request;
  request.add_ids(before->result_ids[*result]);
  for (int time = 0; time < 2; ++time) {
    if (absl::Status s = client_->Acknowledge(request); !s.ok()) return s;
  }
  const absl::StatusOr<PluginStatus> after = Ask();
  if (!after.ok()) return after.status();
  return FindResult(*after, node()) ? Failed("Status: results: it is reported again")
                                    : absl::OkStatus();
}

// --- Checks that delete the node ----------------------------------------------------------

absl::Status Conformance::Drain() {
  if (absl::Status s = client_->Begin(BeginOf({node()}, /*drain=*/true)); !s.ok()) return s;
  for (int time = 0; time < 2; ++time) {
    absl::Status s = client_->Drain(For<plugin_wire::DrainRequest>(node()));
    if (!s.ok()) return s;
  }
  return WaitUntil("DRAINED", [&](const PluginStatus& status) -> absl::StatusOr<bool> {
    const RunningDeletion* const deletion = Find(status, node());
    if (deletion == nullptr) return Failed("Status: the node is no longer running");
    if (deletion->phase == DeletionPhase::kFailed) {
      return Failed(absl::StrCat("the drain failed, try another node: ", deletion->why));
    }
    if (deletion->phase == DeletionPhase::kDrained) return true;
    if (deletion->phase == DeletionPhase::kDraining) return false;
    return Failed("Status: after Drain the node is neither DRAINING, DRAINED nor FAILED");
  });
}

absl::Status Conformance::Delete() {
  for (int time = 0; time < 2; ++time) {
    const absl::Status s = client_->Delete(For<plugin_wire::DeleteRequest>(node()));
    // The second call may find that the node is gone.
    if (!s.ok() && !(time == 1 && absl::IsNotFound(s))) return s;
  }
  std::string id;
  absl::Status s = WaitUntil("a result", [&](const PluginStatus& status) -> absl::StatusOr<bool> {
    const std::optional<size_t> result = FindResult(status, node());
    if (!result) {
      return Find(status, node()) != nullptr
                 ? absl::StatusOr<bool>(false)
                 : Failed("Status: the node neither runs nor has a result");
    }
    id = status.result_ids[*result];
    const DeletionResult& told = status.status.results[*result];
    if (told.ok) return true;
    return Failed(absl::StrCat("the deletion failed: ", told.why));
  });
  if (!s.ok()) return s;
  plugin_wire::AcknowledgeRequest request;
  request.add_ids(id);
  return client_->Acknowledge(request);
}

absl::Status Conformance::Gone() {
  absl::Status s = ExpectCode("Begin", client_->Begin(BeginOf({node()})), StatusCode::kNotFound);
  return s.ok() ? ExpectNotRunning() : s;
}

// --- Helpers ------------------------------------------------------------------------------

plugin_wire::BeginRequest Conformance::BeginOf(const std::vector<std::string>& nodes, bool drain) {
  plugin_wire::BeginRequest request;
  request.set_key(NewKey());
  for (const std::string& name : nodes) {
    plugin_wire::DeletionOrder& order = *request.add_orders();
    order.set_node(name);
    order.set_drain(drain);
  }
  return request;
}

absl::StatusOr<PluginStatus> Conformance::Ask() {
  const absl::StatusOr<plugin_wire::StatusReply> reply = client_->Status();
  if (!reply.ok()) return reply.status();
  absl::StatusOr<PluginStatus> read = ReadPluginStatus(*reply, options_.now_s());
  if (read.ok()) return read;
  return Failed(absl::StrCat("Status: ", read.status().message()));
}

// Expects that none of the named nodes is in deletion.
absl::Status Conformance::ExpectNotRunning() {
  const absl::StatusOr<PluginStatus> status = Ask();
  if (!status.ok()) return status.status();
  for (const std::string& name : options_.nodes) {
    if (Find(*status, name) == nullptr) continue;
    return Failed(absl::StrCat("Status: running: node ", name, " is there, and must not be"));
  }
  return absl::OkStatus();
}

absl::Status Conformance::ExpectPhase(DeletionPhase phase) {
  const absl::StatusOr<PluginStatus> status = Ask();
  if (!status.ok()) return status.status();
  const RunningDeletion* const deletion = Find(*status, node());
  if (deletion == nullptr)
    return Failed(absl::StrCat("Status: running: node ", node(), " is missing"));
  return deletion->phase == phase
             ? absl::OkStatus()
             : Failed("Status: phase: it is in another phase than it was left");
}

absl::Status Conformance::WaitUntil(
    const char* what, const std::function<absl::StatusOr<bool>(const PluginStatus&)>& is) {
  for (int64_t waited_ms = 0; waited_ms <= options_.wait_s * 1000; waited_ms += kPollMs) {
    const absl::StatusOr<PluginStatus> status = Ask();
    if (!status.ok()) return status.status();
    const absl::StatusOr<bool> done = is(*status);
    if (!done.ok() || *done) return done.status();
    options_.sleep_ms(kPollMs);
  }
  return Failed(absl::StrCat("no ", what, " within ", DurationText(options_.wait_s)));
}

// After a failed check, removes the taints that it left, as far as the plugin does so.
void Conformance::CleanUp() {
  const absl::StatusOr<PluginStatus> status = Ask();
  for (const std::string& name : options_.nodes) {
    auto soft = For<plugin_wire::SoftTaintRequest>(name);
    soft.set_taint(false);
    (void)client_->SoftTaint(soft);
    // Also if Status cannot be read.
    if (status.ok() && Find(*status, name) == nullptr) continue;
    auto request = For<plugin_wire::RollBackRequest>(name);
    request.set_why("ebb conformance: a check failed");
    (void)client_->RollBack(request);
  }
  plugin_wire::AcknowledgeRequest request;
  const absl::StatusOr<PluginStatus> left = Ask();
  for (const std::string& name : options_.nodes) {
    const std::optional<size_t> result = left.ok() ? FindResult(*left, name) : std::nullopt;
    if (result) request.add_ids(left->result_ids[*result]);
  }
  (void)client_->Acknowledge(request);
}

}  // namespace

absl::StatusOr<std::vector<ConformanceCheck>> RunConformance(const ConformanceOptions& options) {
  for (const std::string& node : options.nodes) {
    if (IsNodeName(node)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--node: \"", Printable(node), "\" names no node"));
  }
  absl::StatusOr<std::unique_ptr<PluginClient>> client = PluginClient::Connect(
      options.plugin, {.call_ms = options.call_timeout_ms, .begin_ms = options.call_timeout_ms});
  if (!client.ok()) return client.status();
  return Conformance(options, *std::move(client)).Run();
}

}  // namespace ebb
