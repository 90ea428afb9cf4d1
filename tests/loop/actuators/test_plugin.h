// A plugin over a few nodes in memory, which can be made to violate its contract.
//
// It implements actuator.proto directly, without ActuatorServer.  So each side of the protocol is
// tested against an independent implementation of the other.

#ifndef EBB_TESTS_LOOP_ACTUATORS_TEST_PLUGIN_H_
#define EBB_TESTS_LOOP_ACTUATORS_TEST_PLUGIN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wire/actuator.grpc.pb.h"

namespace grpc {
class Server;
}

namespace ebb::test {

namespace wire = ebb::actuator::v1alpha1;

// How the plugin violates the contract.
enum class Wrong {
  kNothing,
  kNoName,
  kNotServing,
  kUnknownPhase,
  kBeginsMissingNodes,
  kTakesEmptyNames,
  kGrowsMissingGroups,
  kTakesOwnTaints,         // Taint accepts any key.
  kForgetsSoftTaintAgain,  // Removing it a second time is an error.
  kForgetsTaintAgain,      // Removing it a second time is an error.
  kIgnoresUid,
  kBeginsSome,
  kDrainsWhatWasNotBegun,
  kBeginsNothing,
  kTaintsAgain,
  kDeletesTheTainted,
  kRollBackLeavesIt,
  kRollBackIsOk,
  kForgetsKeys,
  kRepeatsAcknowledged,
  kNeverDrains,
  kDrainsOnlyOnce,
  kDeletionHasNoResult,
  kKeepsDeletedNodes,
};

class TestPlugin final : public wire::Actuator::Service {
 public:
  explicit TestPlugin(const std::string& path);
  ~TestPlugin() override;

  // May be changed while no call is running.
  Wrong wrong = Wrong::kNothing;
  std::map<std::string, std::string> nodes = {{"a", "uid-a"}, {"b", "uid-b"}};
  std::optional<wire::StatusReply> status_answer;  // Replaces the true status.
  // The answer to every call but Hello, unless it is OK.
  grpc::Status answer;
  std::vector<std::string> cannot;                      // As HelloReply.cannot.
  std::set<std::string> taints;                         // "NODE KEY", for taints of policies.
  std::map<std::string, int64_t> sizes = {{"web", 0}};  // Sizes of groups, as requested by Grow.
  // How many of the next calls are carried out but lose their answers.
  int answers_lost = 0;
  std::vector<std::string> calls;  // "Begin KEY", ...
  std::atomic<int64_t> now_s = 1'000'000;
  std::atomic<bool> hangs = false;       // Calls are not answered until the caller gives up.
  std::atomic<bool> is_hanging = false;  // A call hangs, or hung before.

  void SetServing(bool serving);
  // Advances the time: nodes finish draining, and deletions finish.
  void Sleep(int64_t ms);

  grpc::Status Hello(grpc::ServerContext* context, const wire::HelloRequest* request,
                     wire::HelloReply* reply) override;
  grpc::Status SoftTaint(grpc::ServerContext* context, const wire::SoftTaintRequest* request,
                         wire::SoftTaintReply* reply) override;
  grpc::Status Taint(grpc::ServerContext* context, const wire::TaintRequest* request,
                     wire::TaintReply* reply) override;
  grpc::Status Begin(grpc::ServerContext* context, const wire::BeginRequest* request,
                     wire::BeginReply* reply) override;
  grpc::Status Drain(grpc::ServerContext* context, const wire::DrainRequest* request,
                     wire::DrainReply* reply) override;
  grpc::Status Delete(grpc::ServerContext* context, const wire::DeleteRequest* request,
                      wire::DeleteReply* reply) override;
  grpc::Status RollBack(grpc::ServerContext* context, const wire::RollBackRequest* request,
                        wire::RollBackReply* reply) override;
  grpc::Status Grow(grpc::ServerContext* context, const wire::GrowRequest* request,
                    wire::GrowReply* reply) override;
  grpc::Status Status(grpc::ServerContext* context, const wire::StatusRequest* request,
                      wire::StatusReply* reply) override;
  grpc::Status Acknowledge(grpc::ServerContext* context, const wire::AcknowledgeRequest* request,
                           wire::AcknowledgeReply* reply) override;

 private:
  grpc::Status Carry(grpc::ServerContext& context, const std::string& name, const std::string& key,
                     const std::function<grpc::Status()>& call);
  grpc::Status BeginOnce(const wire::BeginRequest& request);
  void End(const std::string& node, bool ok, const std::string& why);

  std::mutex mutex_;
  std::set<std::string> keys_;
  std::set<std::string> soft_;
  std::map<std::string, wire::RunningDeletion> running_;
  std::vector<wire::DeletionResult> results_;
  uint64_t results_made_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace ebb::test

#endif  // EBB_TESTS_LOOP_ACTUATORS_TEST_PLUGIN_H_
