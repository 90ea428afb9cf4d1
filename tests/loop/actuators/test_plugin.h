// A plugin over a few nodes in memory, which can be told to do wrong.
//
// It is written against actuator.proto alone, and not over ActuatorServer: so both sides of the
// protocol are tried against somebody else's reading of it.

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

// What the plugin does wrong.
enum class Wrong {
  kNothing,
  kNoName,
  kNotServing,
  kUnknownPhase,
  kBeginsMissingNodes,
  kTakesEmptyNames,
  kGrowsMissingGroups,
  kTakesOwnTaints,         // Taint sets any key.
  kForgetsSoftTaintAgain,  // Taking it off twice is an error.
  kForgetsTaintAgain,      // The same.
  kIgnoresUid,
  kBeginsSome,
  kDrainsWhatWasNotBegun,
  kBeginsNothing,
  kTaintsAnew,
  kDeletesTheTainted,
  kRollBackLeavesIt,
  kRollBackIsOk,
  kForgetsKeys,
  kTellsAcknowledged,
  kNeverDrains,
  kDrainsOnlyOnce,
  kDeletionHasNoResult,
  kKeepsDeletedNodes,
};

class TestPlugin final : public wire::Actuator::Service {
 public:
  explicit TestPlugin(const std::string& path);
  ~TestPlugin() override;

  // May be changed while no call is under way.
  Wrong wrong = Wrong::kNothing;
  std::map<std::string, std::string> nodes = {{"a", "uid-a"}, {"b", "uid-b"}};
  std::optional<wire::StatusReply> status_answer;       // Instead of the true one.
  grpc::Status answer;                                  // To every call but Hello, if not OK.
  std::vector<std::string> cannot;                      // As HelloReply.cannot.
  std::set<std::string> taints;                         // "NODE KEY", of policies.
  std::map<std::string, int64_t> sizes = {{"web", 0}};  // Of groups, as Grow asked.
  int answers_lost = 0;                                 // Of the next calls, which are carried out.
  std::vector<std::string> calls;                       // "Begin KEY", ...
  std::atomic<int64_t> now_s = 1'000'000;
  std::atomic<bool> hangs = false;       // Calls are not answered until their caller gives up.
  std::atomic<bool> is_hanging = false;  // A call does so, or did.

  void SetServing(bool serving);
  // Time passes: what drains has drained, what is being deleted is gone.
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
