#include "loop/actuators/plugin_client.h"

#include <grpcpp/grpcpp.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "loop/actuators/wire/health.grpc.pb.h"
#include "platform/reconnect.h"
#include "wire/actuator.grpc.pb.h"

namespace ebb {
namespace {

using Stub = plugin_wire::Actuator::Stub;
using Health = grpc::health::v1::Health;
using HealthReply = grpc::health::v1::HealthCheckResponse;

constexpr std::string_view kScheme = "unix:";
constexpr size_t kMessageBytesMax = 1000;

absl::Status ToAbsl(const std::string& plugin, std::string_view call, const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const int number = static_cast<int>(status.error_code());
  const bool known = number > 0 && number <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  const auto code = known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown;
  std::string why = status.error_message().substr(0, kMessageBytesMax);
  if (why.empty()) why = absl::StatusCodeToString(code);
  return {code,
          absl::StrCat("plugin ", Printable(plugin), ": ", Absl(call), ": ", PrintableLine(why))};
}

}  // namespace

class PluginClient::Impl {
 public:
  Impl(std::string plugin_name, const PluginLimits& within)
      : plugin(std::move(plugin_name)), limits(within) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(limits.answer_bytes_max);
    SetReconnect(arguments);
    // GrpcActuator retries calls itself, with the same key.
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    const auto channel =
        grpc::CreateCustomChannel(plugin, grpc::InsecureChannelCredentials(), arguments);
    stub = plugin_wire::Actuator::NewStub(channel);
    health = Health::NewStub(channel);
  }

  template <typename Request, typename Reply>
  absl::Status Call(std::string_view name,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                    const Request& request, Reply& reply, int64_t timeout_ms) {
    grpc::ClientContext context;
    SetDeadline(context, timeout_ms);
    const ActiveCall at_work(*this, context);
    return ToAbsl(plugin, name, (stub.get()->*method)(&context, request, &reply));
  }

  // Registers a call, so that EndCalls can cancel it.
  class ActiveCall {
   public:
    ActiveCall(Impl& impl, grpc::ClientContext& context) : impl_(impl) {
      const std::lock_guard lock(impl_.mutex);
      impl_.at_work = &context;
      if (impl_.ended) context.TryCancel();
    }
    ~ActiveCall() {
      const std::lock_guard lock(impl_.mutex);
      impl_.at_work = nullptr;
    }
    ActiveCall(const ActiveCall&) = delete;
    ActiveCall& operator=(const ActiveCall&) = delete;

   private:
    Impl& impl_;
  };

  static void SetDeadline(grpc::ClientContext& context, int64_t timeout_ms) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
  }

  const std::string plugin;
  const PluginLimits limits;
  std::unique_ptr<Stub> stub;
  std::unique_ptr<Health::Stub> health;
  std::mutex mutex;
  grpc::ClientContext* at_work = nullptr;
  bool ended = false;
};

PluginClient::PluginClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PluginClient::~PluginClient() = default;

absl::StatusOr<std::unique_ptr<PluginClient>> PluginClient::Connect(const std::string& plugin,
                                                                    const PluginLimits& limits) {
  const size_t path = plugin.size() - std::min(plugin.size(), kScheme.size());
  if (!plugin.starts_with(kScheme) || path == 0 || path >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", Printable(plugin), ": is not unix:PATH with the path of a socket"));
  }
  return std::unique_ptr<PluginClient>(new PluginClient(std::make_unique<Impl>(plugin, limits)));
}

void PluginClient::EndCalls() {
  const std::lock_guard lock(impl_->mutex);
  impl_->ended = true;
  if (impl_->at_work != nullptr) impl_->at_work->TryCancel();
}

const std::string& PluginClient::plugin() const { return impl_->plugin; }

absl::StatusOr<plugin_wire::HelloReply> PluginClient::Hello() {
  plugin_wire::HelloRequest request;
  request.set_client(absl::StrCat("ebb ", Absl(kVersion)));
  plugin_wire::HelloReply reply;
  absl::Status s = impl_->Call("Hello", &Stub::Hello, request, reply, impl_->limits.call_ms);
  if (!s.ok()) return s;
  return reply;
}

absl::Status PluginClient::CheckHealth() {
  grpc::ClientContext context;
  Impl::SetDeadline(context, impl_->limits.call_ms);
  const Impl::ActiveCall at_work(*impl_, context);
  HealthReply reply;
  absl::Status s = ToAbsl(impl_->plugin, "health", impl_->health->Check(&context, {}, &reply));
  if (!s.ok() || reply.status() == HealthReply::SERVING) return s;
  const std::string& name = HealthReply::ServingStatus_Name(reply.status());
  return absl::UnavailableError(absl::StrCat("plugin ", Printable(impl_->plugin),
                                             ": health: it is ", name.empty() ? "unknown" : name,
                                             ", not SERVING"));
}

absl::Status PluginClient::SoftTaint(const plugin_wire::SoftTaintRequest& request) {
  plugin_wire::SoftTaintReply reply;
  return impl_->Call("SoftTaint", &Stub::SoftTaint, request, reply, impl_->limits.call_ms);
}
absl::Status PluginClient::Begin(const plugin_wire::BeginRequest& request) {
  plugin_wire::BeginReply reply;
  return impl_->Call("Begin", &Stub::Begin, request, reply, impl_->limits.begin_ms);
}
absl::Status PluginClient::Drain(const plugin_wire::DrainRequest& request) {
  plugin_wire::DrainReply reply;
  return impl_->Call("Drain", &Stub::Drain, request, reply, impl_->limits.call_ms);
}
absl::Status PluginClient::Delete(const plugin_wire::DeleteRequest& request) {
  plugin_wire::DeleteReply reply;
  return impl_->Call("Delete", &Stub::Delete, request, reply, impl_->limits.call_ms);
}
absl::Status PluginClient::RollBack(const plugin_wire::RollBackRequest& request) {
  plugin_wire::RollBackReply reply;
  return impl_->Call("RollBack", &Stub::RollBack, request, reply, impl_->limits.call_ms);
}
absl::Status PluginClient::Acknowledge(const plugin_wire::AcknowledgeRequest& request) {
  plugin_wire::AcknowledgeReply reply;
  return impl_->Call("Acknowledge", &Stub::Acknowledge, request, reply, impl_->limits.call_ms);
}

absl::Status PluginClient::Grow(const plugin_wire::GrowRequest& request) {
  plugin_wire::GrowReply reply;
  return impl_->Call("Grow", &Stub::Grow, request, reply, impl_->limits.call_ms);
}

absl::StatusOr<plugin_wire::BuyReply> PluginClient::Buy(const plugin_wire::BuyRequest& request) {
  plugin_wire::BuyReply reply;
  absl::Status done = impl_->Call("Buy", &Stub::Buy, request, reply, impl_->limits.begin_ms);
  if (!done.ok()) return done;
  return reply;
}

absl::Status PluginClient::Taint(const plugin_wire::TaintRequest& request) {
  plugin_wire::TaintReply reply;
  return impl_->Call("Taint", &Stub::Taint, request, reply, impl_->limits.call_ms);
}

absl::StatusOr<plugin_wire::StatusReply> PluginClient::Status() {
  plugin_wire::StatusReply reply;
  absl::Status s = impl_->Call("Status", &Stub::Status, plugin_wire::StatusRequest(), reply,
                               impl_->limits.call_ms);
  if (!s.ok()) return s;
  return reply;
}

}  // namespace ebb
