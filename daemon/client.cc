#include "daemon/client.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "daemon/listener.h"
#include "platform/reconnect.h"
#include "wire/planner.grpc.pb.h"

namespace ebb {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr size_t kPartBytes = size_t{1} << 20;
constexpr int kExportTimeouts = 10;
// A daemon that takes longer to send its first byte is left to the call's own deadline.
constexpr int kFirstWordMs = 1000;

absl::Status ToAbsl(const std::string& server, const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  if (code == absl::StatusCode::kDeadlineExceeded) {
    return {code, absl::StrCat(Printable(server),
                               ": no answer came in time; the daemon is busy, "
                               "or it is stopped")};
  }
  if (code != absl::StatusCode::kUnavailable) return {code, status.error_message()};
  return {code, absl::StrCat(Printable(server), ": ", status.error_message())};
}

absl::StatusOr<sockaddr_un> ServerAddress(const std::string& server) {
  if (!server.starts_with(kScheme)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server: ", Printable(server), ": is not of the form unix:PATH"));
  }
  const std::string path = server.substr(kScheme.size());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server: ", Printable(server), ": is not a path of a socket"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Checks whether a process listens there: gRPC would try for a long time, and report it in its own
// words.
absl::Status Probe(const std::string& server, const sockaddr_un& address) {
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    // The daemon closes the connection of a user who is not allowed without a byte; to others,
    // gRPC's server sends first.
    pollfd readable{probe.get(), POLLIN, 0};
    char first = 0;
    if (poll(&readable, 1, kFirstWordMs) == 1 && recv(probe.get(), &first, 1, MSG_DONTWAIT) <= 0) {
      return absl::UnavailableError(
          absl::StrCat("--server: ", Printable(server),
                       ": closes the connection at once, as `ebb serve` does to users that it may "
                       "not serve; this is uid ",
                       geteuid(), " (--allow-user)"));
    }
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
    SetReconnect(arguments);
    stub = v1alpha1::Planner::NewStub(
        grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments));
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(grpc::Status (v1alpha1::Planner::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Reply*),
                             const Request& request) {
    grpc::ClientContext context;
    SetDeadline(context, 1);
    Reply reply;
    absl::Status status = ToAbsl(server, (stub.get()->*method)(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }

  void SetDeadline(grpc::ClientContext& context, int timeouts) const {
    if (timeout) context.set_deadline(std::chrono::system_clock::now() + timeouts * *timeout);
  }

  const std::string server;
  std::optional<std::chrono::milliseconds> timeout;
  std::unique_ptr<v1alpha1::Planner::Stub> stub;
};

PlannerClient::PlannerClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PlannerClient::~PlannerClient() = default;

absl::StatusOr<std::unique_ptr<PlannerClient>> PlannerClient::Connect(const std::string& server) {
  const absl::StatusOr<sockaddr_un> address = ServerAddress(server);
  if (!address.ok()) return address.status();
  if (absl::Status s = Probe(server, *address); !s.ok()) return s;
  return std::unique_ptr<PlannerClient>(new PlannerClient(std::make_unique<Impl>(server)));
}

absl::StatusOr<std::unique_ptr<PlannerClient>> PlannerClient::Make(
    const std::string& server, std::chrono::milliseconds timeout) {
  if (const auto address = ServerAddress(server); !address.ok()) return address.status();
  auto impl = std::make_unique<Impl>(server);
  impl->timeout = timeout;
  return std::unique_ptr<PlannerClient>(new PlannerClient(std::move(impl)));
}

void PlannerClient::SetTimeout(std::chrono::milliseconds timeout) { impl_->timeout = timeout; }

absl::StatusOr<wire::VersionReply> PlannerClient::Version() {
  return impl_->Call(&v1alpha1::Planner::Stub::Version, wire::VersionRequest());
}
absl::StatusOr<wire::StatusReply> PlannerClient::Status() {
  return impl_->Call(&v1alpha1::Planner::Stub::Status, wire::StatusRequest());
}
absl::StatusOr<wire::SessionStatus> PlannerClient::Open(const wire::OpenRequest& request) {
  return impl_->Call(&v1alpha1::Planner::Stub::Open, request);
}
absl::StatusOr<wire::RoundReply> PlannerClient::Round(const wire::RoundCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Round, call);
}
absl::StatusOr<wire::ActuationReply> PlannerClient::ReportActuation(
    const wire::ActuationReport& report) {
  return impl_->Call(&v1alpha1::Planner::Stub::ReportActuation, report);
}
absl::StatusOr<wire::SizingReply> PlannerClient::Sizing(const wire::SizingCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Sizing, call);
}

absl::StatusOr<PlannerClient::Exported> PlannerClient::Export(const std::string& session) {
  grpc::ClientContext context;
  impl_->SetDeadline(context, kExportTimeouts);
  wire::ExportCall call;
  call.set_session(session);
  const auto reader = impl_->stub->Export(&context, call);
  Exported exported;
  wire::ExportReply part;
  while (reader->Read(&part)) {
    exported.version = std::max(exported.version, part.version());
    exported.snapshot += part.snapshot();
  }
  absl::Status status = ToAbsl(impl_->server, reader->Finish());
  if (!status.ok()) return status;
  return exported;
}

absl::StatusOr<wire::PlanReply> PlannerClient::Plan(const wire::PlanCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Plan, call);
}
absl::StatusOr<wire::ExplainReply> PlannerClient::Explain(const wire::ExplainCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Explain, call);
}
absl::StatusOr<wire::FilterReply> PlannerClient::Filter(const wire::FilterCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Filter, call);
}
absl::StatusOr<wire::BlockersReply> PlannerClient::Blockers(const wire::BlockersCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Blockers, call);
}
absl::StatusOr<wire::FrontierReply> PlannerClient::Frontier(const wire::FrontierCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::Frontier, call);
}
absl::StatusOr<wire::WhatIfReply> PlannerClient::WhatIf(const wire::WhatIfCall& call) {
  return impl_->Call(&v1alpha1::Planner::Stub::WhatIf, call);
}

absl::StatusOr<wire::ApplyReply> PlannerClient::Apply(const wire::ApplyRequest& request) {
  return impl_->Call(&v1alpha1::Planner::Stub::Apply, request);
}

absl::StatusOr<uint64_t> PlannerClient::Sync(const std::function<bool(wire::SyncRequest&)>& next) {
  grpc::ClientContext context;
  const auto stream = impl_->stub->Sync(&context);
  uint64_t version = 0;
  // Reads acknowledgements while batches are sent.
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
    // The daemon's status gives the reason.
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
