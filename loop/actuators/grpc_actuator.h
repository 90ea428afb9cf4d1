// GrpcActuator: an actuator in another process, behind a Unix socket (actuator.proto).
//
//   GrpcActuatorOptions of{.plugin = "unix:p.sock", .session = "some name", .sleep_ms = Sleep};
//   auto actuator = GrpcActuator::Connect(of);
//   Loop loop(rounds, **actuator, options);
//
// Again:  a call that does not reach the plugin, or gets no answer in time, is sent again with the
//         same key, a few times, and each time later.  Then Hello is called first, because the
//         plugin may be another process by now.
// Health: before Begin the plugin must report that it is serving.
// Doubt:  an impossible status (plugin_status.h) is an error.  So is a deletion that this process
//         did not begin: of a node that neither the first status nor a later Begin named, or whose
//         result was acknowledged already.  The loop makes no round without a status, so nothing is
//         deleted on doubtful information.
//
// An acknowledged result is never returned again, even if the acknowledgement did not reach the
// plugin.
//
// Cost:    a call is one message in each direction.  The longest takes attempts_max timeouts, and
//          the waits between them.
// Errors:  those of Actuator; Internal: an impossible answer.  Each error names plugin and call.
// Threads: one at a time; EndCalls may come from another thread.

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
  // The keys of calls begin with it.  Two processes that may call one plugin need different
  // sessions.
  std::string session = {};
  int64_t call_timeout_ms = 10'000;
  int64_t begin_timeout_ms = 60'000;
  int answer_bytes_max = 64 << 20;
  int attempts_max = 4;
  int64_t backoff_ms = 200;  // Doubled after each attempt, up to backoff_max_ms.
  int64_t backoff_max_ms = 5'000;
  std::function<void(int64_t ms)> sleep_ms = nullptr;
};

class GrpcActuator : public Actuator {
 public:
  // Calls Hello.  Errors: InvalidArgument: not unix:PATH; those of Hello.
  static absl::StatusOr<std::unique_ptr<GrpcActuator>> Connect(GrpcActuatorOptions options);
  // Makes no call yet: the first call sends Hello, so the plugin may start later.
  static absl::StatusOr<std::unique_ptr<GrpcActuator>> Make(GrpcActuatorOptions options);
  ~GrpcActuator() override;

  // Cancels the call that another thread is making, and all later ones.  May be called by any
  // thread.
  void EndCalls();

  // "NAME VERSION", as the plugin reports them, for people; "" before the first Hello.
  [[nodiscard]] const std::string& name() const { return name_; }

  absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) override;
  absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) override;
  absl::Status Drain(std::string_view node, int64_t now_s) override;
  absl::Status Delete(std::string_view node, int64_t now_s) override;
  absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) override;
  absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) override;
  absl::StatusOr<std::vector<BoughtMachine>> Buy(std::span<const MachineOrder> orders,
                                                 int64_t now_s) override;
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
  bool can_grow_ = true;  // This and the next: as the plugin last reported.
  bool can_buy_ = true;
  uint64_t keys_made_ = 0;
  bool has_status_ = false;
  std::set<std::string, std::less<>> known_;  // Nodes that may be in deletion.
  std::vector<Taken> last_results_;           // Results of the last status, in its order.
  std::set<Taken> taken_;                     // Acknowledged; the plugin may not have received it.
};

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_GRPC_ACTUATOR_H_
