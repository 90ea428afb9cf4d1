#include "loop/actuators/grpc_actuator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "loop/actuators/plugin_client.h"
#include "loop/actuators/plugin_status.h"

namespace ebb {
namespace {

constexpr size_t kNameBytesMax = 200;

plugin_wire::DeletionOrder WireOf(const DeletionOrder& order) {
  plugin_wire::DeletionOrder wire;
  wire.set_node(order.node);
  wire.set_uid(order.uid);
  wire.set_group(order.group);
  wire.set_drain(order.drain);
  wire.set_batch_size(order.batch_size);
  for (const PlannedMove& move : order.moves) {
    plugin_wire::PlannedMove& to = *wire.add_moves();
    to.set_namespace_(move.namespace_name);
    to.set_name(move.name);
    to.set_uid(move.uid);
    to.set_to(move.to);
  }
  return wire;
}

// The plugin did not answer, or too late, so the call may or may not have been carried out.
bool IsRetryable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

template <typename Request>
Request RequestFor(std::string_view node, std::string key) {
  Request request;
  request.set_key(std::move(key));
  request.set_node(std::string(node));
  return request;
}

}  // namespace

GrpcActuator::GrpcActuator(GrpcActuatorOptions options) : options_(std::move(options)) {}
GrpcActuator::~GrpcActuator() = default;

absl::StatusOr<std::unique_ptr<GrpcActuator>> GrpcActuator::Make(GrpcActuatorOptions options) {
  absl::StatusOr<std::unique_ptr<PluginClient>> client =
      PluginClient::Connect(options.plugin, {.call_ms = options.call_timeout_ms,
                                             .begin_ms = options.begin_timeout_ms,
                                             .answer_bytes_max = options.answer_bytes_max});
  if (!client.ok()) return client.status();
  std::unique_ptr<GrpcActuator> actuator(new GrpcActuator(std::move(options)));
  actuator->client_ = *std::move(client);
  return actuator;
}

absl::StatusOr<std::unique_ptr<GrpcActuator>> GrpcActuator::Connect(GrpcActuatorOptions options) {
  absl::StatusOr<std::unique_ptr<GrpcActuator>> actuator = Make(std::move(options));
  if (!actuator.ok()) return actuator;
  absl::Status greeted = (*actuator)->Try([] { return absl::OkStatus(); });
  if (!greeted.ok()) return greeted;
  return actuator;
}

void GrpcActuator::EndCalls() { client_->EndCalls(); }

absl::Status GrpcActuator::Greet() {
  if (greeted_) return absl::OkStatus();
  const absl::StatusOr<plugin_wire::HelloReply> hello = client_->Hello();
  if (!hello.ok()) return hello.status();
  if (hello->name().empty() || hello->name().size() > kNameBytesMax ||
      hello->version().size() > kNameBytesMax) {
    return absl::InternalError(absl::StrCat("plugin ", Printable(client_->plugin()),
                                            ": Hello: name or version: is empty or too long"));
  }
  name_ = absl::StrCat(hello->name(), hello->version().empty() ? "" : " ", hello->version());
  can_grow_ = std::ranges::find(hello->cannot(), "grow") == hello->cannot().end();
  can_buy_ = std::ranges::find(hello->cannot(), "buy") == hello->cannot().end();
  greeted_ = true;
  return absl::OkStatus();
}

// Repeats the call until it is answered, or until the attempts are used up.
absl::Status GrpcActuator::Try(const std::function<absl::Status()>& call) {
  int64_t backoff_ms = options_.backoff_ms;
  for (int attempt = 1;; ++attempt) {
    absl::Status done = Greet();
    if (done.ok()) done = call();
    if (!IsRetryable(done)) return done;
    greeted_ = false;
    if (attempt >= options_.attempts_max) return done;
    options_.sleep_ms(backoff_ms);
    backoff_ms = std::min(2 * backoff_ms, options_.backoff_max_ms);
  }
}

std::string GrpcActuator::NewKey() { return absl::StrCat(options_.session, "-", ++keys_made_); }

absl::Status GrpcActuator::SoftTaint(std::string_view node, bool taint, int64_t /*now_s*/) {
  auto request = RequestFor<plugin_wire::SoftTaintRequest>(node, NewKey());
  request.set_taint(taint);
  return Try([&] { return client_->SoftTaint(request); });
}

absl::Status GrpcActuator::Begin(std::span<const DeletionOrder> orders, int64_t /*now_s*/) {
  plugin_wire::BeginRequest request;
  request.set_key(NewKey());
  for (const DeletionOrder& order : orders) {
    *request.add_orders() = WireOf(order);
    // Also if the call fails: the plugin may have begun, with its answer lost.
    known_.insert(order.node);
  }
  return Try([&] {
    const absl::Status serves = client_->CheckHealth();
    return serves.ok() ? client_->Begin(request) : serves;
  });
}

absl::Status GrpcActuator::Drain(std::string_view node, int64_t /*now_s*/) {
  const auto request = RequestFor<plugin_wire::DrainRequest>(node, NewKey());
  return Try([&] { return client_->Drain(request); });
}

absl::Status GrpcActuator::Delete(std::string_view node, int64_t /*now_s*/) {
  const auto request = RequestFor<plugin_wire::DeleteRequest>(node, NewKey());
  return Try([&] { return client_->Delete(request); });
}

absl::Status GrpcActuator::RollBack(std::string_view node, std::string_view why,
                                    int64_t /*now_s*/) {
  auto request = RequestFor<plugin_wire::RollBackRequest>(node, NewKey());
  request.set_why(std::string(why));
  return Try([&] { return client_->RollBack(request); });
}

absl::Status GrpcActuator::Grow(std::string_view group, int64_t size, int64_t /*now_s*/) {
  plugin_wire::GrowRequest request;
  request.set_key(NewKey());
  request.set_group(std::string(group));
  request.set_size(size);
  return Try([&] {
    if (can_grow_) return client_->Grow(request);
    return absl::UnimplementedError(
        absl::StrCat("plugin ", Printable(client_->plugin()), ": Grow: it says that it cannot"));
  });
}

absl::StatusOr<std::vector<BoughtMachine>> GrpcActuator::Buy(std::span<const MachineOrder> orders,
                                                             int64_t /*now_s*/) {
  const std::string plugin = absl::StrCat("plugin ", Printable(client_->plugin()));
  plugin_wire::BuyRequest request;
  request.set_key(NewKey());
  for (const MachineOrder& order : orders) {
    plugin_wire::MachineOrder& to = *request.add_orders();
    to.set_id(order.id);
    to.set_group(order.group);
    to.set_machine_type(order.machine_type);
    to.set_zone(order.zone);
    to.set_capacity_type(order.capacity_type);
    to.set_like(order.like);
  }
  absl::StatusOr<plugin_wire::BuyReply> reply;
  absl::Status asked = Try([&]() -> absl::Status {
    if (!can_buy_) return absl::UnimplementedError("it says that it cannot");
    if (absl::Status serves = client_->CheckHealth(); !serves.ok()) return serves;
    reply = client_->Buy(request);
    return reply.status();
  });
  if (absl::IsUnimplemented(asked)) {
    return absl::UnimplementedError(absl::StrCat(
        plugin,
        " buys no machines: use one that does (ebb-kube --provider karpenter --karpenter-buys), "
        "or leave --replace out"));
  }
  if (!asked.ok()) return asked;
  std::vector<BoughtMachine> machines;
  for (const plugin_wire::BoughtMachine& each : reply->machines()) {
    const size_t at = machines.size();
    if (at >= orders.size() || each.id() != orders[at].id ||
        (each.ready() && !IsNodeName(each.node()))) {
      return absl::InternalError(
          absl::StrCat(plugin, ": Buy: machines[", at, "] is not of the order, or names no node"));
    }
    machines.push_back({.id = each.id(),
                        .node = Printable(each.node()),
                        .ready = each.ready(),
                        .waits_for = PrintableLine(each.waits_for())});
  }
  if (machines.size() == orders.size()) return machines;
  return absl::InternalError(
      absl::StrCat(plugin, ": Buy: ", machines.size(), " machines for ", orders.size(), " orders"));
}

absl::Status GrpcActuator::Taint(std::string_view node, const NodeTaint& taint, bool put,
                                 int64_t /*now_s*/) {
  plugin_wire::TaintRequest request;
  request.set_key(NewKey());
  request.set_node(std::string(node));
  request.set_taint_key(taint.key);
  request.set_value(taint.value);
  request.set_effect(taint.effect);
  request.set_put(put);
  return Try([&] { return client_->Taint(request); });
}

absl::StatusOr<ActuatorStatus> GrpcActuator::Status(int64_t now_s) {
  absl::StatusOr<plugin_wire::StatusReply> reply;
  absl::Status asked = Try([&] {
    reply = client_->Status();
    return reply.status();
  });
  if (!asked.ok()) return asked;
  // Results that the plugin repeats because an acknowledgement did not reach it.
  auto& results = *reply->mutable_results();
  const auto is_taken = [&](const plugin_wire::DeletionResult& result) {
    return taken_.contains({result.id(), result.node(), result.at()});
  };
  const bool unheard = std::ranges::any_of(results, is_taken);
  results.erase(std::remove_if(results.begin(), results.end(), is_taken), results.end());
  absl::StatusOr<PluginStatus> read = ReadPluginStatus(*reply, now_s);
  absl::Status good = read.status();
  if (good.ok()) good = CheckKnown(read->status);
  if (!good.ok()) {
    return absl::Status(good.code(), absl::StrCat("plugin ", Printable(client_->plugin()),
                                                  ": Status: ", good.message()));
  }
  last_results_.clear();
  for (size_t i = 0; i < read->result_ids.size(); ++i) {
    const DeletionResult& result = read->status.results[i];
    last_results_.push_back({read->result_ids[i], result.node, result.at_s});
  }
  if (unheard) SendAcknowledgement();
  return std::move(read->status);
}

// Only this process and its predecessor begin deletions.
absl::Status GrpcActuator::CheckKnown(const ActuatorStatus& status) {
  const auto check = [&](const std::string& node, const char* where, size_t i) {
    if (!has_status_) known_.insert(node);
    if (known_.contains(node)) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(where, "[", i, "].node: no deletion was begun of ", node));
  };
  for (size_t i = 0; i < status.running.size(); ++i) {
    if (absl::Status s = check(status.running[i].node, "running", i); !s.ok()) return s;
  }
  for (size_t i = 0; i < status.results.size(); ++i) {
    if (absl::Status s = check(status.results[i].node, "results", i); !s.ok()) return s;
  }
  has_status_ = true;
  return absl::OkStatus();
}

void GrpcActuator::Acknowledge(size_t results) {
  results = std::min(results, last_results_.size());
  if (results == 0) return;
  for (size_t i = 0; i < results; ++i) {
    known_.erase(last_results_[i].node);
    taken_.insert(last_results_[i]);
  }
  last_results_.erase(last_results_.begin(),
                      last_results_.begin() + static_cast<std::ptrdiff_t>(results));
  SendAcknowledgement();
}

void GrpcActuator::SendAcknowledgement() {
  plugin_wire::AcknowledgeRequest request;
  for (const Taken& taken : taken_) request.add_ids(taken.id);
  // If it does not arrive, the plugin repeats the results, and Status sends it again.
  if (Try([&] { return client_->Acknowledge(request); }).ok()) taken_.clear();
}

}  // namespace ebb
