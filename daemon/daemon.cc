#include "daemon/daemon.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "daemon/connection_calls.h"
#include "daemon/daemon_metrics.h"
#include "daemon/memory.h"
#include "platform/folder_owner.h"
#include "platform/lock_file.h"

namespace ebb {
namespace {

constexpr CallLimits kCallLimits;

// When the daemon ends, how long a client without a running call may take to close its connection.
constexpr std::chrono::milliseconds kFarewell{500};

absl::Status WrongFolder(const std::string& folder, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Printable(folder), ": ", std::string(what)));
}

// Takes the lock file `name`.  While it is held, `what`, which the flag `flag` names, belongs to
// this process.
absl::StatusOr<LockFile> TakeLock(const std::string& name, const std::string& what,
                                  const std::string& flag) {
  absl::StatusOr<LockFile> lock = LockFile::Take(name);
  if (lock.ok()) return lock;
  if (absl::IsFailedPrecondition(lock.status())) {
    return WrongFolder(what, flag + ": another ebb uses it");
  }
  return WrongFolder(what, absl::StrCat(flag, ": cannot be written: ", lock.status().message()));
}

// Checks that no other user may replace `what`, which the flag `flag` names.
absl::Status CheckPlace(const std::string& what, const std::string& flag) {
  absl::Status place = CheckOnlyWeMayReplace(what);
  if (place.ok()) return place;
  return WrongFolder(what, absl::StrCat(flag, ": other users may replace it: ", place.message()));
}

// Checks that the folder of the state files is this user's only, and locks it for this daemon.
absl::StatusOr<LockFile> TakeFolder(const std::string& folder) {
  struct stat status{};
  if (stat(folder.c_str(), &status) != 0) {
    return WrongFolder(folder, absl::StrCat("--state-folder: ", std::strerror(errno)));
  }
  if (!S_ISDIR(status.st_mode)) return WrongFolder(folder, "--state-folder: is not a folder");
  if (status.st_uid != geteuid()) return WrongFolder(folder, "--state-folder: is another user's");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return WrongFolder(folder, "--state-folder: may be written by others; chmod go-w it");
  }
  if (absl::Status s = CheckPlace(folder, "--state-folder"); !s.ok()) return s;
  return TakeLock(folder + "/lock", folder, "--state-folder");
}

// Checks and locks a single state file.
absl::StatusOr<LockFile> TakeFile(const std::string& file) {
  if (absl::Status s = CheckPlace(file, "--state"); !s.ok()) return s;
  return TakeLock(file + ".lock", file, "--state");
}

}  // namespace

class Daemon::Impl {
 public:
  explicit Impl(DaemonOptions options)
      : options_(std::move(options)), sessions_(options_.session, options_.limits) {}
  ~Impl() { Stop(); }

  absl::Status Start() {
    if (!options_.session.state_folder.empty()) {
      absl::StatusOr<LockFile> lock = TakeFolder(options_.session.state_folder);
      if (!lock.ok()) return lock.status();
      state_lock_ = *std::move(lock);
    }
    if (const std::string& file = options_.session.state_file; !file.empty()) {
      absl::StatusOr<LockFile> lock = TakeFile(file);
      if (!lock.ok()) return lock.status();
      state_lock_ = *std::move(lock);
    }
    absl::StatusOr<std::unique_ptr<Listener>> listener = Listener::Open(options_.listener);
    if (!listener.ok()) return listener.status();
    listener_ = *std::move(listener);
    service_ = std::make_unique<PlannerService>(
        PlannerServiceOptions{.sessions = &sessions_,
                              .session_options = &options_.session,
                              .started_at = options_.session.clock_s(),
                              .on_call = [this](const EndedCall& call) {
                                metrics_.Count(call);
                                if (options_.on_call != nullptr) options_.on_call(call);
                              }});
    static std::once_flag once;
    std::call_once(once, [] {
      // Errors in a client's messages are returned to that client and not logged on standard error.
      google::protobuf::SetLogHandler(nullptr);
      grpc::EnableDefaultHealthCheckService(true);
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    });
    grpc::ServerBuilder builder;
    builder.RegisterService(service_->service());
    builder.SetMaxReceiveMessageSize(static_cast<int>(options_.message_bytes_max));
    builder.SetMaxSendMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               static_cast<int>(kCallLimits.streams));
    // Detects clients that disappeared without closing their connection.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> counters;
    counters.push_back(CountCalls(connection_calls_));
    builder.experimental().SetInterceptorCreators(std::move(counters));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC's server does not start");
    absl::StatusOr<std::unique_ptr<HttpPages>> pages =
        HttpPages::Start(options_.pages, sessions_, [this] { return MetricsText(); });
    if (!pages.ok()) return pages.status();
    pages_ = *std::move(pages);
    listener_->Start([this](UniqueFd connection) {
      grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
    });
    return absl::OkStatus();
  }

  void Stop() {
    if (server_ == nullptr) return;
    listener_->Stop();
    pages_.reset();
    service_->EndStreams();
    sessions_.EndWaiting();
    // Shutdown() notifies the connections.  It also waits for idle clients that do not react, so
    // their connections are cut.
    const Clock::time_point end = Clock::now() + options_.grace;
    std::future<void> ended = std::async(std::launch::async, [this] {
      server_->Shutdown(std::chrono::system_clock::now() + options_.grace);
    });
    service_->WaitForCalls(end);
    if (ended.wait_for(kFarewell) != std::future_status::ready) {
      grpc_server_cancel_all_calls(server_->c_server());
    }
    ended.wait();
    sessions_.CloseAll();
    server_->Wait();
    server_.reset();
    service_.reset();
    listener_.reset();
  }

  Sessions& sessions() { return sessions_; }
  [[nodiscard]] const Listener* listener() const { return listener_.get(); }

 private:
  [[nodiscard]] std::string MetricsText() const {
    const std::string own =
        metrics_.Text(sessions_, {.connections_accepted = listener_->accepted(),
                                  .connections_refused = listener_->refused(),
                                  .connections_closed = connection_calls_->closed(),
                                  .resident_bytes = ResidentBytes()});
    return options_.more_metrics == nullptr ? own : own + options_.more_metrics();
  }

  const DaemonOptions options_;
  MemoryReturn memory_;
  LockFile state_lock_;
  DaemonMetrics metrics_;
  Sessions sessions_;
  std::unique_ptr<Listener> listener_;
  const std::shared_ptr<ConnectionCalls> connection_calls_ =
      std::make_shared<ConnectionCalls>(kCallLimits, CloseConnection);
  std::unique_ptr<PlannerService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HttpPages> pages_;
};

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(DaemonOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (absl::Status s = impl->Start(); !s.ok()) return s;
  return std::unique_ptr<Daemon>(new Daemon(std::move(impl)));
}

void Daemon::Stop() { impl_->Stop(); }

Sessions& Daemon::sessions() { return impl_->sessions(); }

uint64_t Daemon::connections_accepted() const {
  return impl_->listener() == nullptr ? 0 : impl_->listener()->accepted();
}
uint64_t Daemon::connections_refused() const {
  return impl_->listener() == nullptr ? 0 : impl_->listener()->refused();
}

}  // namespace ebb
