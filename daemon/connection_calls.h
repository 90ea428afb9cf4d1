// ConnectionCalls closes a connection that begins calls faster than gRPC releases them.
//
//   const auto calls = std::make_shared<ConnectionCalls>(CallLimits{}, CloseConnection);
//   creators.push_back(CountCalls(calls));  // For ServerBuilder's interceptors.
//
// HTTP/2 limits the number of open streams, but a client may repeatedly open a stream and reset it
// immediately ("rapid reset"). gRPC 1.51 keeps about 20 KB for each such call until it has read
// everything that the client sent: 250,000 of them took 5 GB.  Calls of every method count,
// including methods that do not exist.
//
// Peers:   as grpc::ServerContext::peer() names them.  A peer that is not "fd:NUMBER", such as a
//          connection over TCP, is not counted.
// Threads: any.

#ifndef EBB_DAEMON_CONNECTION_CALLS_H_
#define EBB_DAEMON_CONNECTION_CALLS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace grpc::experimental {
class ServerInterceptorFactoryInterface;
}

namespace ebb {

struct CallLimits {
  // The streams that a connection may have open.  A client that reads its answers has hardly more
  // calls than that.
  size_t streams = 1024;
  size_t of_connection = 4 * streams;
  // For all connections.  Beyond it, a connection with more than `streams` calls is closed.
  size_t of_all = 16 * streams;
};

class ConnectionCalls {
 public:
  // `close` shuts down the connection with that file descriptor, which stays open during the call.
  ConnectionCalls(const CallLimits& limits, std::function<void(int fd)> close)
      : limits_(limits), close_(std::move(close)) {}

  // The file descriptor of a peer; absent: it has none.
  static std::optional<int> FdOf(std::string_view peer);

  // Counts a new call of the connection.  Closes the connection if it exceeds a limit.
  void Begin(int fd);
  // gRPC has released the call.
  void End(int fd);

  // How many connections were closed.
  [[nodiscard]] uint64_t closed() const { return closed_; }

 private:
  const CallLimits limits_;
  const std::function<void(int fd)> close_;
  std::mutex mutex_;
  struct Connection {
    size_t calls = 0;
    bool closed = false;
  };
  std::map<int, Connection> connections_;  // Connections that have calls, by file descriptor.
  size_t calls_ = 0;                       // Of all connections.
  std::atomic<uint64_t> closed_ = 0;
};

// Shuts down both directions of a connection; gRPC closes the descriptor.
void CloseConnection(int fd);

// Counts all calls of a server in `calls`.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    std::shared_ptr<ConnectionCalls> calls);

}  // namespace ebb

#endif  // EBB_DAEMON_CONNECTION_CALLS_H_
