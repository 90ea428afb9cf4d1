#include "service/daemon/client.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "service/daemon/listener.h"
#include "service/wire/planner.grpc.pb.h"

namespace ebb {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr size_t kPartBytes = size_t{1} << 20;

absl::Status ToAbsl(const std::string& server, const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  if (code != absl::StatusCode::kUnavailable) return {code, status.error_message()};
  return {code, absl::StrCat(Printable(server), ": ", status.error_message())};
}

// Whether somebody listens there: gRPC would try for long, and tell it in its own words.
absl::Status Probe(const std::string& server, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server: ", Printable(server), ": is no path of a socket"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("--server: ", Printable(server), ": ",
                                             std::strerror(errno),
                                             "; `ebb serve --socket` listens on one"));
}

}  // namespace

class PlannerClient::Impl {
 public:
  explicit Impl(std::string server_name) : server(std::move(server_name)) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    stub = v1alpha1::Planner::NewStub(
        grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments));
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(grpc::Status (v1alpha1::Planner::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Reply*),
                             const Request& request) {
    grpc::ClientContext context;
    Reply reply;
    absl::Status status = ToAbsl(server, (stub.get()->*method)(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }

  const std::string server;
  std::unique_ptr<v1alpha1::Planner::Stub> stub;
};

PlannerClient::PlannerClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PlannerClient::~PlannerClient() = default;

absl::StatusOr<std::unique_ptr<PlannerClient>> PlannerClient::Connect(const std::string& server) {
  if (!server.starts_with(kScheme)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server: ", Printable(server), ": is not of the form unix:PATH"));
  }
  if (absl::Status s = Probe(server, server.substr(kScheme.size())); !s.ok()) return s;
  return std::unique_ptr<PlannerClient>(new PlannerClient(std::make_unique<Impl>(server)));
}

absl::StatusOr<wire::VersionReply> PlannerClient::Version() {
  return impl_->Call(&v1alpha1::Planner::Stub::Version, wire::VersionRequest());
}
absl::StatusOr<wire::StatusReply> PlannerClient::Status() {
  return impl_->Call(&v1alpha1::Planner::Stub::Status, wire::StatusRequest());
}
absl::StatusOr<wire::PlanReply> PlannerClient::Plan(const wire::PlanCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Plan, call);
}
absl::StatusOr<wire::ViewReply> PlannerClient::Explain(const wire::ExplainCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Explain, call);
}
absl::StatusOr<wire::ViewReply> PlannerClient::Filter(const wire::FilterCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Filter, call);
}

absl::StatusOr<wire::ApplyReply> PlannerClient::Apply(const wire::ApplyRequest& request) {
  return impl_->Call(&v1alpha1::Planner::Stub::Apply, request);
}

absl::StatusOr<uint64_t> PlannerClient::Sync(const std::function<bool(wire::SyncRequest&)>& next) {
  grpc::ClientContext context;
  const auto stream = impl_->stub->Sync(&context);
  uint64_t version = 0;
  // Acknowledgements are read while batches are sent.
  std::thread reader([&] {
    wire::SyncReply reply;
    while (stream->Read(&reply)) version = reply.version();
  });
  wire::SyncRequest request;
  while (next(request) && stream->Write(request)) request.Clear();
  stream->WritesDone();
  reader.join();
  absl::Status status = ToAbsl(impl_->server, stream->Finish());
  if (!status.ok()) return status;
  return version;
}

absl::StatusOr<wire::LoadReply> PlannerClient::Load(
    const std::string& session, const wire::Settings& settings,
    const std::function<absl::Status(const Write&)>& fill) {
  grpc::ClientContext context;
  wire::LoadReply reply;
  const auto writer = impl_->stub->Load(&context, &reply);
  wire::LoadRequest part;
  part.set_session(session);
  *part.mutable_settings() = settings;
  const auto send = [&] {
    const bool sent = writer->Write(part);
    part.Clear();
    return sent;
  };
  bool stopped = !send();
  absl::Status filled = fill([&](std::string_view bytes) {
    part.mutable_dump()->append(bytes);
    stopped = stopped || (part.dump().size() >= kPartBytes && !send());
    // The daemon says why.
    return stopped ? absl::CancelledError("the daemon takes no more") : absl::OkStatus();
  });
  if (!filled.ok() && !stopped) {
    context.TryCancel();
    [[maybe_unused]] const grpc::Status unused = writer->Finish();
    return filled;
  }
  if (!stopped && !part.dump().empty()) send();
  writer->WritesDone();
  absl::Status status = ToAbsl(impl_->server, writer->Finish());
  if (!status.ok()) return status;
  return reply;
}

}  // namespace ebb
