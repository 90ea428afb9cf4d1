// GrpcActuator: an actuator that is another process, behind a Unix socket (actuator.proto).
//
//   GrpcActuatorOptions of{.plugin = "unix:p.sock", .session = "some name", .sleep_ms = Sleep};
//   auto actuator = GrpcActuator::Connect(of);
//   Loop loop(rounds, **actuator, options);
//
// Again:  a call that finds nobody, or no answer in time, is sent again under the same key, a few
//         times and each time later.  After it the plugin is greeted anew: it may be another
//         process by now.
// Health: before Begin the plugin must say that it serves.
// Doubt:  a status that cannot be (plugin_status.h) is an error, and so is a deletion that nobody
//         began: of a node that the first status did not have, and that no Begin named since; or
//         whose result was taken in before.  The loop makes no round without a status, so that
//         nothing is deleted on doubt.
//
// A result that was acknowledged is never told again here, also where the plugin did not hear it.
//
// Cost:    a call is one message there and back; the longest takes attempts_max timeouts and the
//          sleeps between.
// Errors:  those of Actuator; Internal where an answer cannot be.  Each names plugin and call.
// Threads: one at a time; EndCalls may come from another.

#ifndef EBB_LOOP_ACTUATORS_GRPC_ACTUATOR_H_
#define EBB_LOOP_ACTUATORS_GRPC_ACTUATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loop/actuator.h"

namespace ebb {

class PluginClient;

struct GrpcActuatorOptions {
  std::string plugin = {};  // "unix:PATH"
  // Keys of calls begin with it.  Two processes that may speak to one plugin need two of these.
  std::string session = {};
  int64_t call_timeout_ms = 10'000;
  int64_t begin_timeout_ms = 60'000;
  int answer_bytes_max = 64 << 20;
  int attempts_max = 4;
  int64_t backoff_ms = 200;  // Doubled each time, up to
  int64_t backoff_max_ms = 5'000;
  std::function<void(int64_t ms)> sleep_ms = nullptr;
};

class GrpcActuator : public Actuator {
 public:
  // Greets the plugin.  Errors: InvalidArgument: no unix:PATH; those of Hello.
  static absl::StatusOr<std::unique_ptr<GrpcActuator>> Connect(GrpcActuatorOptions options);
  // Calls nobody yet: the first call greets, so that the plugin may come later.
  static absl::StatusOr<std::unique_ptr<GrpcActuator>> Make(GrpcActuatorOptions options);
  ~GrpcActuator() override;

  // Ends the call that another thread is at, with Cancelled, and all later ones at once.  By any
  // thread.
  void EndCalls();

  // "NAME VERSION", as the plugin said; for people.  "" until it was greeted.
  [[nodiscard]] const std::string& name() const { return name_; }

  absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) override;
  absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) override;
  absl::Status Drain(std::string_view node, int64_t now_s) override;
  absl::Status Delete(std::string_view node, int64_t now_s) override;
  absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) override;
  absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) override;
  absl::Status Taint(std::string_view node, const NodeTaint& taint, bool put,
                     int64_t now_s) override;
  absl::StatusOr<ActuatorStatus> Status(int64_t now_s) override;
  void Acknowledge(size_t results) override;

 private:
  struct Taken {
    std::string id;
    std::string node;
    int64_t at_s;
    friend auto operator<=>(const Taken&, const Taken&) = default;
  };

  explicit GrpcActuator(GrpcActuatorOptions options);
  absl::Status Greet();
  absl::Status Try(const std::function<absl::Status()>& call);
  std::string NewKey();
  absl::Status CheckKnown(const ActuatorStatus& status);
  void SendAcknowledgement();

  const GrpcActuatorOptions options_;
  std::unique_ptr<PluginClient> client_;
  std::string name_;
  bool greeted_ = false;
  bool can_grow_ = true;  // As the plugin said last.
  uint64_t keys_made_ = 0;
  bool has_status_ = false;
  std::set<std::string, std::less<>> known_;  // Nodes that may be in deletion.
  std::vector<Taken> told_;                   // Results of the last status, in their order.
  std::set<Taken> taken_;                     // Acknowledged; the plugin may not have heard it.
};

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_GRPC_ACTUATOR_H_
