// PluginClient: the calls to an actuator plugin, each with its deadline.
//
//   auto client = PluginClient::Connect("unix:p.sock", {});
//   absl::StatusOr<plugin_wire::HelloReply> hello = (*client)->Hello();
//
// It makes each call once and does not check answers; grpc_actuator.h retries and checks.
//
// Errors:  those of actuator.proto; Unavailable: no plugin listens; DeadlineExceeded;
//          ResourceExhausted: an answer above the limit.  Each error names plugin and call.
// Threads: one at a time; EndCalls may come from another thread.

#ifndef EBB_LOOP_ACTUATORS_PLUGIN_CLIENT_H_
#define EBB_LOOP_ACTUATORS_PLUGIN_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "wire/actuator.pb.h"

namespace ebb {

namespace plugin_wire = actuator::v1alpha1;

struct PluginLimits {
  int64_t call_ms = 10'000;
  int64_t begin_ms = 60'000;  // Begin taints many nodes.
  int answer_bytes_max = 64 << 20;
};

class PluginClient {
 public:
  // `plugin`: "unix:PATH".  Makes no call yet.  Errors: InvalidArgument: another form.
  static absl::StatusOr<std::unique_ptr<PluginClient>> Connect(const std::string& plugin,
                                                               const PluginLimits& limits);
  ~PluginClient();
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;

  // Cancels the call that another thread is making, and all later ones.  May be called by any
  // thread.
  void EndCalls();

  [[nodiscard]] const std::string& plugin() const;

  absl::StatusOr<plugin_wire::HelloReply> Hello();
  // Unavailable: the plugin is not serving.
  absl::Status CheckHealth();
  absl::Status SoftTaint(const plugin_wire::SoftTaintRequest& request);
  absl::Status Begin(const plugin_wire::BeginRequest& request);
  absl::Status Drain(const plugin_wire::DrainRequest& request);
  absl::Status Delete(const plugin_wire::DeleteRequest& request);
  absl::Status RollBack(const plugin_wire::RollBackRequest& request);
  absl::Status Grow(const plugin_wire::GrowRequest& request);
  absl::StatusOr<plugin_wire::BuyReply> Buy(const plugin_wire::BuyRequest& request);
  absl::Status Taint(const plugin_wire::TaintRequest& request);
  absl::StatusOr<plugin_wire::StatusReply> Status();
  absl::Status Acknowledge(const plugin_wire::AcknowledgeRequest& request);

 private:
  class Impl;
  explicit PluginClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_PLUGIN_CLIENT_H_
