#include "tests/loop/actuators/test_plugin.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <thread>

namespace ebb::test {
namespace {

using grpc::StatusCode;

grpc::Status Missing(const std::string& node) {
  return {StatusCode::NOT_FOUND, "node " + node + " is not there"};
}

}  // namespace

TestPlugin::TestPlugin(const std::string& path) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

TestPlugin::~TestPlugin() { server_->Shutdown(); }

void TestPlugin::SetServing(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(serving);
}

void TestPlugin::Sleep(int64_t ms) {
  const std::lock_guard lock(mutex_);
  now_s += (ms + 999) / 1000;
  std::vector<std::string> gone;
  for (auto& [node, deletion] : running_) {
    if (deletion.phase() == wire::DELETING) gone.push_back(node);
    if (deletion.phase() != wire::DRAINING || wrong == Wrong::kNeverDrains) continue;
    deletion.set_phase(wire::DRAINED);
    deletion.set_since(now_s);
  }
  for (const std::string& node : gone) {
    if (wrong != Wrong::kKeepsDeletedNodes) nodes.erase(node);
    End(node, true, "");
  }
}

void TestPlugin::End(const std::string& node, bool ok, const std::string& why) {
  running_.erase(node);
  if (ok && wrong == Wrong::kDeletionHasNoResult) return;
  wire::DeletionResult& result = results_.emplace_back();
  result.set_id("result-" + std::to_string(++results_made_));
  result.set_node(node);
  result.set_ok(ok);
  result.set_at(now_s);
  result.set_why(why);
}

// The common part of every call but Hello.
grpc::Status TestPlugin::Carry(grpc::ServerContext& context, const std::string& name,
                               const std::string& key, const std::function<grpc::Status()>& call) {
  is_hanging = is_hanging || hangs;
  while (hangs && !context.IsCancelled()) std::this_thread::yield();
  const std::lock_guard lock(mutex_);
  calls.push_back(key.empty() ? name : name + " " + key);
  if (!answer.ok()) return answer;
  grpc::Status done;
  const bool again = !key.empty() && keys_.contains(key) && wrong != Wrong::kForgetsKeys;
  if (!again) done = call();
  if (done.ok()) keys_.insert(key);
  if (answers_lost == 0) return done;
  --answers_lost;
  return {StatusCode::UNAVAILABLE, "the answer is lost"};
}

grpc::Status TestPlugin::Hello(grpc::ServerContext* context, const wire::HelloRequest* /*request*/,
                               wire::HelloReply* reply) {
  is_hanging = is_hanging || hangs;
  while (hangs && !context->IsCancelled()) std::this_thread::yield();
  const std::lock_guard lock(mutex_);
  calls.emplace_back("Hello");
  if (wrong != Wrong::kNoName) reply->set_name("test");
  reply->set_version("1");
  for (const std::string& call : cannot) reply->add_cannot(call);
  return grpc::Status::OK;
}

grpc::Status TestPlugin::Grow(grpc::ServerContext* context, const wire::GrowRequest* request,
                              wire::GrowReply*) {
  return Carry(*context, "Grow", request->key(), [&]() -> grpc::Status {
    if (request->group().empty() || request->size() < 0) {
      return {StatusCode::INVALID_ARGUMENT, "group or size is wrong"};
    }
    if (!sizes.contains(request->group()) && wrong != Wrong::kGrowsMissingGroups) {
      return {StatusCode::NOT_FOUND, "there is no such group"};
    }
    sizes[request->group()] = std::max(sizes[request->group()], request->size());
    return grpc::Status::OK;
  });
}

grpc::Status TestPlugin::SoftTaint(grpc::ServerContext* context,
                                   const wire::SoftTaintRequest* request, wire::SoftTaintReply*) {
  return Carry(*context, "SoftTaint", request->key(), [&]() -> grpc::Status {
    if (!nodes.contains(request->node())) return Missing(request->node());
    if (request->taint()) {
      soft_.insert(request->node());
    } else if (soft_.erase(request->node()) == 0 && wrong == Wrong::kForgetsSoftTaintAgain) {
      return Missing(request->node());
    }
    return grpc::Status::OK;
  });
}

grpc::Status TestPlugin::Taint(grpc::ServerContext* context, const wire::TaintRequest* request,
                               wire::TaintReply*) {
  return Carry(*context, "Taint", request->key(), [&]() -> grpc::Status {
    if (wrong == Wrong::kTakesOwnTaints) return grpc::Status::OK;
    if (request->taint_key().empty() || request->taint_key().ends_with("ByClusterAutoscaler") ||
        request->taint_key().ends_with("OfClusterAutoscaler")) {
      return {StatusCode::INVALID_ARGUMENT, "taint_key: is not a policy's"};
    }
    if (!nodes.contains(request->node())) return Missing(request->node());
    const std::string taint = request->node() + " " + request->taint_key();
    if (request->put()) {
      taints.insert(taint);
    } else if (taints.erase(taint) == 0 && wrong == Wrong::kForgetsTaintAgain) {
      return Missing(request->node());
    }
    return grpc::Status::OK;
  });
}

grpc::Status TestPlugin::BeginOnce(const wire::BeginRequest& request) {
  grpc::Status refused;
  for (const wire::DeletionOrder& order : request.orders()) {
    if (order.node().empty() && wrong != Wrong::kTakesEmptyNames) {
      refused = {StatusCode::INVALID_ARGUMENT, "orders.node: is empty"};
    } else if (!nodes.contains(order.node()) && wrong != Wrong::kBeginsMissingNodes &&
               wrong != Wrong::kTakesEmptyNames) {
      refused = Missing(order.node());
    } else if (!order.uid().empty() && order.uid() != nodes[order.node()] &&
               wrong != Wrong::kIgnoresUid) {
      refused = Missing(order.node());
    }
  }
  if (!refused.ok() && wrong != Wrong::kBeginsSome) return refused;
  for (const wire::DeletionOrder& order : request.orders()) {
    if (!nodes.contains(order.node()) && wrong != Wrong::kBeginsMissingNodes) continue;
    if (!order.uid().empty() && order.uid() != nodes[order.node()] && wrong != Wrong::kIgnoresUid) {
      continue;
    }
    if (wrong == Wrong::kBeginsNothing) continue;
    const auto [it, is_new] = running_.try_emplace(order.node());
    if (!is_new && wrong != Wrong::kTaintsAgain) continue;
    it->second.set_node(order.node());
    it->second.set_drain(order.drain());
    it->second.set_phase(wire::TAINTED);
    it->second.set_since(now_s);
  }
  return refused;
}

grpc::Status TestPlugin::Begin(grpc::ServerContext* context, const wire::BeginRequest* request,
                               wire::BeginReply*) {
  return Carry(*context, "Begin", request->key(), [&] { return BeginOnce(*request); });
}

grpc::Status TestPlugin::Drain(grpc::ServerContext* context, const wire::DrainRequest* request,
                               wire::DrainReply*) {
  return Carry(*context, "Drain", request->key(), [&]() -> grpc::Status {
    const auto it = running_.find(request->node());
    if (it == running_.end()) {
      return wrong == Wrong::kDrainsWhatWasNotBegun ? grpc::Status::OK : Missing(request->node());
    }
    if (it->second.phase() != wire::TAINTED) {
      return wrong == Wrong::kDrainsOnlyOnce
                 ? grpc::Status(StatusCode::FAILED_PRECONDITION, "it drains already")
                 : grpc::Status::OK;
    }
    it->second.set_phase(wire::DRAINING);
    it->second.set_since(now_s);
    return grpc::Status::OK;
  });
}

grpc::Status TestPlugin::Delete(grpc::ServerContext* context, const wire::DeleteRequest* request,
                                wire::DeleteReply*) {
  return Carry(*context, "Delete", request->key(), [&]() -> grpc::Status {
    const auto it = running_.find(request->node());
    if (it == running_.end()) return Missing(request->node());
    if (it->second.phase() == wire::DELETING) return grpc::Status::OK;
    if (it->second.phase() != wire::DRAINED && wrong != Wrong::kDeletesTheTainted) {
      return {StatusCode::FAILED_PRECONDITION, "it is not drained"};
    }
    it->second.set_phase(wire::DELETING);
    it->second.set_since(now_s);
    return grpc::Status::OK;
  });
}

grpc::Status TestPlugin::RollBack(grpc::ServerContext* context,
                                  const wire::RollBackRequest* request, wire::RollBackReply*) {
  return Carry(*context, "RollBack", request->key(), [&]() -> grpc::Status {
    if (!running_.contains(request->node())) return Missing(request->node());
    if (wrong == Wrong::kRollBackLeavesIt) return grpc::Status::OK;
    End(request->node(), wrong == Wrong::kRollBackIsOk, request->why());
    return grpc::Status::OK;
  });
}

grpc::Status TestPlugin::Status(grpc::ServerContext* context, const wire::StatusRequest*,
                                wire::StatusReply* reply) {
  return Carry(*context, "Status", "", [&] {
    if (status_answer) {
      *reply = *status_answer;
      return grpc::Status::OK;
    }
    for (const auto& [node, deletion] : running_) *reply->add_running() = deletion;
    for (const wire::DeletionResult& result : results_) *reply->add_results() = result;
    if (wrong == Wrong::kUnknownPhase) {
      wire::RunningDeletion& row = *reply->add_running();
      row.set_node("b");
      row.set_since(now_s);
    }
    return grpc::Status::OK;
  });
}

grpc::Status TestPlugin::Acknowledge(grpc::ServerContext* context,
                                     const wire::AcknowledgeRequest* request,
                                     wire::AcknowledgeReply*) {
  return Carry(*context, "Acknowledge", "", [&] {
    for (const std::string& id : request->ids()) {
      if (wrong == Wrong::kRepeatsAcknowledged) continue;
      std::erase_if(results_, [&](const auto& result) { return result.id() == id; });
    }
    return grpc::Status::OK;
  });
}

}  // namespace ebb::test
