#include "daemon/connection_calls.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>
#include <sys/socket.h>

#include <limits>
#include <utility>

#include "base/text.h"

namespace ebb {
namespace {

constexpr std::string_view kFdPrefix = "fd:";

// Counts a call as long as gRPC holds it.
class CountedCall final : public grpc::experimental::Interceptor {
 public:
  // A call keeps its connection's descriptor open, so `fd` is not reused meanwhile.
  CountedCall(std::shared_ptr<ConnectionCalls> calls, int fd) : calls_(std::move(calls)), fd_(fd) {
    calls_->Begin(fd_);
  }
  ~CountedCall() override { calls_->End(fd_); }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    methods->Proceed();
  }

 private:
  const std::shared_ptr<ConnectionCalls> calls_;
  const int fd_;
};

class CallCounter final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallCounter(std::shared_ptr<ConnectionCalls> calls) : calls_(std::move(calls)) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    const std::optional<int> fd = ConnectionCalls::FdOf(info->server_context()->peer());
    return fd ? new CountedCall(calls_, *fd) : nullptr;
  }

 private:
  const std::shared_ptr<ConnectionCalls> calls_;
};

}  // namespace

std::optional<int> ConnectionCalls::FdOf(std::string_view peer) {
  if (!peer.starts_with(kFdPrefix)) return std::nullopt;
  const std::optional<int64_t> number = ParseInt64(peer.substr(kFdPrefix.size()));
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*number);
}

void ConnectionCalls::Begin(int fd) {
  {
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_[fd];
    ++connection.calls;
    ++calls_;
    const size_t calls_max = calls_ > limits_.of_all ? limits_.streams : limits_.of_connection;
    if (connection.calls <= calls_max) return;
    if (!connection.closed) ++closed_;
    connection.closed = true;
  }
  close_(fd);
}

void ConnectionCalls::End(int fd) {
  const std::lock_guard lock(mutex_);
  --calls_;
  const auto connection = connections_.find(fd);
  if (--connection->second.calls == 0) connections_.erase(connection);
}

void CloseConnection(int fd) { shutdown(fd, SHUT_RDWR); }

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    std::shared_ptr<ConnectionCalls> calls) {
  return std::make_unique<CallCounter>(std::move(calls));
}

}  // namespace ebb
