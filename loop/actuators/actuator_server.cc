#include "loop/actuators/actuator_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/un.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "loop/actuators/plugin_status.h"
#include "wire/actuator.grpc.pb.h"

namespace ebb {
namespace {

namespace plugin_wire = actuator::v1alpha1;

constexpr size_t kKeysMax = 10'000;
constexpr int64_t kBatchMax = 1'000'000;
constexpr size_t kGroupBytesMax = 1000;

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

plugin_wire::DeletionPhase WireOf(DeletionPhase phase) {
  switch (phase) {
    case DeletionPhase::kTainted:
      return plugin_wire::TAINTED;
    case DeletionPhase::kDraining:
      return plugin_wire::DRAINING;
    case DeletionPhase::kDrained:
      return plugin_wire::DRAINED;
    case DeletionPhase::kDeleting:
      return plugin_wire::DELETING;
    case DeletionPhase::kFailed:
      return plugin_wire::FAILED;
  }
  return plugin_wire::DELETION_PHASE_UNSPECIFIED;
}

absl::Status CheckNode(const std::string& where, const std::string& node) {
  if (IsNodeName(node)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": \"", Printable(node), "\" names no node"));
}

bool IsOrderId(std::string_view id) {
  return !id.empty() && id.size() <= kOrderIdMax && std::ranges::all_of(id, [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  });
}

absl::Status CheckTaint(const plugin_wire::TaintRequest& request) {
  constexpr std::string_view kOwn[] = {"", "ToBeDeletedByClusterAutoscaler",
                                       "DeletionCandidateOfClusterAutoscaler"};
  constexpr std::string_view kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
  if (std::ranges::count(kOwn, request.taint_key()) > 0) {
    return absl::InvalidArgumentError(absl::StrCat("taint_key: \"", Printable(request.taint_key()),
                                                   "\" is not a policy's taint"));
  }
  if (request.put() && std::ranges::count(kEffects, request.effect()) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("effect: \"", Printable(request.effect()),
                     "\" is not NoSchedule, PreferNoSchedule or NoExecute"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeletionOrder>> OrdersOf(const plugin_wire::BeginRequest& request) {
  std::vector<DeletionOrder> orders;
  std::set<std::string> nodes;
  for (int i = 0; i < request.orders_size(); ++i) {
    const plugin_wire::DeletionOrder& told = request.orders(i);
    const std::string row = absl::StrCat("orders[", i, "]");
    if (absl::Status s = CheckNode(row + ".node", told.node()); !s.ok()) return s;
    if (!nodes.insert(told.node()).second) {
      return absl::InvalidArgumentError(absl::StrCat(row, ".node: ", told.node(), " occurs twice"));
    }
    if (told.batch_size() < 0 || told.batch_size() > kBatchMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(row, ".batch_size: ", told.batch_size(), " is not a number of nodes"));
    }
    DeletionOrder& order = orders.emplace_back(DeletionOrder{.node = told.node(),
                                                             .uid = told.uid(),
                                                             .group = told.group(),
                                                             .drain = told.drain(),
                                                             .batch_size = told.batch_size()});
    for (const plugin_wire::PlannedMove& move : told.moves()) {
      order.moves.push_back({.namespace_name = move.namespace_(),
                             .name = move.name(),
                             .uid = move.uid(),
                             .to = move.to()});
    }
  }
  return orders;
}

// Implements the calls of the protocol.
class ActuatorService final : public plugin_wire::Actuator::Service {
 public:
  ActuatorService(Actuator& actuator, const ActuatorServerOptions& options)
      : actuator_(actuator), options_(options) {}

  grpc::Status Hello(grpc::ServerContext*, const plugin_wire::HelloRequest*,
                     plugin_wire::HelloReply* reply) override {
    reply->set_name(options_.name);
    reply->set_version(options_.version);
    for (const std::string& call : options_.cannot) reply->add_cannot(call);
    return grpc::Status::OK;
  }

  grpc::Status SoftTaint(grpc::ServerContext*, const plugin_wire::SoftTaintRequest* request,
                         plugin_wire::SoftTaintReply*) override {
    return OfNode(*request, [&](int64_t now_s) {
      return actuator_.SoftTaint(request->node(), request->taint(), now_s);
    });
  }
  grpc::Status Begin(grpc::ServerContext*, const plugin_wire::BeginRequest* request,
                     plugin_wire::BeginReply*) override {
    const absl::StatusOr<std::vector<DeletionOrder>> orders = OrdersOf(*request);
    if (!orders.ok()) return ToGrpc(orders.status());
    return Once(request->key(), [&](int64_t now_s) { return actuator_.Begin(*orders, now_s); });
  }
  grpc::Status Drain(grpc::ServerContext*, const plugin_wire::DrainRequest* request,
                     plugin_wire::DrainReply*) override {
    return OfNode(*request, [&](int64_t now_s) { return actuator_.Drain(request->node(), now_s); });
  }
  grpc::Status Delete(grpc::ServerContext*, const plugin_wire::DeleteRequest* request,
                      plugin_wire::DeleteReply*) override {
    return OfNode(*request,
                  [&](int64_t now_s) { return actuator_.Delete(request->node(), now_s); });
  }
  grpc::Status RollBack(grpc::ServerContext*, const plugin_wire::RollBackRequest* request,
                        plugin_wire::RollBackReply*) override {
    return OfNode(*request, [&](int64_t now_s) {
      return actuator_.RollBack(request->node(), request->why(), now_s);
    });
  }

  grpc::Status Grow(grpc::ServerContext*, const plugin_wire::GrowRequest* request,
                    plugin_wire::GrowReply*) override {
    if (request->group().empty() || request->group().size() > kGroupBytesMax) {
      return ToGrpc(absl::InvalidArgumentError(
          absl::StrCat("group: \"", Printable(request->group()), "\" names no group")));
    }
    if (request->size() < 0 || request->size() > kBatchMax) {
      return ToGrpc(absl::InvalidArgumentError(
          absl::StrCat("size: ", request->size(), " is not a number of machines")));
    }
    return Once(request->key(), [&](int64_t now_s) {
      return actuator_.Grow(request->group(), request->size(), now_s);
    });
  }

  // The ids of the orders are idempotency keys, and a repeated call reports the nodes' state.
  grpc::Status Buy(grpc::ServerContext*, const plugin_wire::BuyRequest* request,
                   plugin_wire::BuyReply* reply) override {
    std::vector<MachineOrder> orders;
    for (const plugin_wire::MachineOrder& told : request->orders()) {
      if (!IsOrderId(told.id())) {
        return ToGrpc(absl::InvalidArgumentError(absl::StrCat(
            "orders[", orders.size(), "].id: \"", Printable(told.id()), "\" is not an id")));
      }
      orders.push_back({.id = told.id(),
                        .group = told.group(),
                        .machine_type = told.machine_type(),
                        .zone = told.zone(),
                        .capacity_type = told.capacity_type(),
                        .like = told.like()});
    }
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<std::vector<BoughtMachine>> bought =
        actuator_.Buy(orders, options_.now_s());
    if (!bought.ok()) return ToGrpc(bought.status());
    for (const BoughtMachine& each : *bought) {
      plugin_wire::BoughtMachine& row = *reply->add_machines();
      row.set_id(each.id);
      row.set_node(each.node);
      row.set_ready(each.ready);
      row.set_waits_for(each.waits_for);
    }
    return grpc::Status::OK;
  }

  grpc::Status Taint(grpc::ServerContext*, const plugin_wire::TaintRequest* request,
                     plugin_wire::TaintReply*) override {
    if (absl::Status s = CheckNode("node", request->node()); !s.ok()) return ToGrpc(s);
    if (absl::Status s = CheckTaint(*request); !s.ok()) return ToGrpc(s);
    return Once(request->key(), [&](int64_t now_s) {
      return actuator_.Taint(
          request->node(),
          {.key = request->taint_key(), .value = request->value(), .effect = request->effect()},
          request->put(), now_s);
    });
  }

  grpc::Status Status(grpc::ServerContext*, const plugin_wire::StatusRequest*,
                      plugin_wire::StatusReply* reply) override {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<ActuatorStatus> status = actuator_.Status(options_.now_s());
    if (!status.ok()) return ToGrpc(status.status());
    for (const RunningDeletion& deletion : status->running) {
      plugin_wire::RunningDeletion& row = *reply->add_running();
      row.set_node(deletion.node);
      row.set_group(deletion.group);
      row.set_drain(deletion.drain);
      row.set_batch_size(deletion.batch_size);
      row.set_phase(WireOf(deletion.phase));
      row.set_since(deletion.since_s);
      row.set_why(deletion.why);
    }
    reported_ = acknowledged_ + status->results.size();
    for (size_t i = 0; i < status->results.size(); ++i) {
      const uint64_t id = acknowledged_ + i;
      if (taken_.contains(id)) continue;
      const DeletionResult& result = status->results[i];
      plugin_wire::DeletionResult& row = *reply->add_results();
      row.set_id(absl::StrCat(id));
      row.set_node(result.node);
      row.set_group(result.group);
      row.set_ok(result.ok);
      row.set_at(result.at_s);
      row.set_why(result.why);
    }
    for (const EvictedPod& pod : status->recent_evictions) {
      plugin_wire::EvictedPod& row = *reply->add_recent_evictions();
      row.set_namespace_(pod.namespace_name);
      row.set_name(pod.name);
      row.set_uid(pod.uid);
      row.set_at(pod.evicted_at_s);
      row.set_object(pod.object);
    }
    return grpc::Status::OK;
  }

  // An Actuator acknowledges results from the first one on.  An id that comes earlier than the ids
  // before it waits for them.
  grpc::Status Acknowledge(grpc::ServerContext*, const plugin_wire::AcknowledgeRequest* request,
                           plugin_wire::AcknowledgeReply*) override {
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t> ids;
    for (const std::string& text : request->ids()) {
      if (!absl::SimpleAtoi(text, &ids.emplace_back()) || ids.back() >= reported_) {
        return {grpc::StatusCode::INVALID_ARGUMENT,
                absl::StrCat("ids: \"", Printable(text),
                             "\" is not the id of a result that was reported")};
      }
    }
    for (const uint64_t id : ids) {
      if (id >= acknowledged_) taken_.insert(id);
    }
    size_t first = 0;
    while (taken_.erase(acknowledged_ + first) > 0) ++first;
    actuator_.Acknowledge(first);
    acknowledged_ += first;
    return grpc::Status::OK;
  }

 private:
  template <typename Request, typename Call>
  grpc::Status OfNode(const Request& request, const Call& call) {
    if (absl::Status s = CheckNode("node", request.node()); !s.ok()) return ToGrpc(s);
    return Once(request.key(), call);
  }

  // Carries a call out, unless a call with this key was carried out already.
  template <typename Call>
  grpc::Status Once(const std::string& key, const Call& call) {
    if (key.empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "key: is empty"};
    const std::lock_guard lock(mutex_);
    if (keys_.contains(key)) return grpc::Status::OK;
    const absl::Status done = call(options_.now_s());
    if (!done.ok()) return ToGrpc(done);
    keys_.insert(key);
    keys_in_order_.push_back(key);
    if (keys_in_order_.size() > kKeysMax) {
      keys_.erase(keys_in_order_.front());
      keys_in_order_.pop_front();
    }
    return grpc::Status::OK;
  }

  Actuator& actuator_;
  const ActuatorServerOptions& options_;
  std::mutex mutex_;
  // mutex_ guards all members below.
  std::unordered_set<std::string> keys_;   // Keys of calls that were carried out.
  std::deque<std::string> keys_in_order_;  // The same keys, the latest last.
  uint64_t acknowledged_ = 0;              // How many results the actuator may drop.
  uint64_t reported_ = 0;                  // How many results were reported, with those.
  std::set<uint64_t> taken_;               // Acknowledged, while an earlier result was not.
};

}  // namespace

class ActuatorServer::Impl {
 public:
  Impl(Actuator& actuator, ActuatorServerOptions of)
      : options(std::move(of)), service(actuator, options) {}

  absl::Status Start() {
    if (options.path.empty() || options.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(options.path), ": is not a path of a socket"));
    }
    static std::once_flag once;
    std::call_once(once, [] { grpc::EnableDefaultHealthCheckService(true); });
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + options.path, grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    if (server != nullptr) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat(Printable(options.path), ": the socket cannot be made"));
  }

  const ActuatorServerOptions options;
  ActuatorService service;
  std::unique_ptr<grpc::Server> server;
};

ActuatorServer::ActuatorServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ActuatorServer::~ActuatorServer() {
  if (impl_->server != nullptr) impl_->server->Shutdown();
}

absl::StatusOr<std::unique_ptr<ActuatorServer>> ActuatorServer::Start(
    Actuator& actuator, ActuatorServerOptions options) {
  auto impl = std::make_unique<Impl>(actuator, std::move(options));
  if (absl::Status s = impl->Start(); !s.ok()) return s;
  return std::unique_ptr<ActuatorServer>(new ActuatorServer(std::move(impl)));
}

void ActuatorServer::SetServing(bool serving) {
  impl_->server->GetHealthCheckService()->SetServingStatus(serving);
}

}  // namespace ebb
