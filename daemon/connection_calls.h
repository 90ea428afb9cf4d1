// ConnectionCalls: closes a connection that begins calls faster than gRPC lets go of them.
//
//   const auto calls = std::make_shared<ConnectionCalls>(CallLimits{}, CloseConnection);
//   creators.push_back(CountCalls(calls));  // For ServerBuilder's interceptors.
//
// HTTP/2 limits the streams that are open at once, but a client may open a stream and reset it at
// once, again and again ("rapid reset").  gRPC 1.51 keeps some 20 KB of each such call until it has
// read all that the client sent, so that 250,000 of them took 5 GB.  The calls of every method
// count, those of methods that do not exist too.
//
// Peers:   as grpc::ServerContext::peer() names them.  Those that are not "fd:NUMBER", as that of a
//          connection over TCP, are not counted.
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
  // The streams that a connection may have open; a client that reads its answers has few calls
  // more.
  size_t streams = 1024;
  size_t of_connection = 4 * streams;
  // Of all connections.  Beyond it, a connection with more than `streams` calls is closed.
  size_t of_all = 16 * streams;
};

class ConnectionCalls {
 public:
  // `close` ends the connection with that file descriptor, which is open while it is called.
  ConnectionCalls(const CallLimits& limits, std::function<void(int fd)> close)
      : limits_(limits), close_(std::move(close)) {}

  // The file descriptor of a peer; absent: it has none.
  static std::optional<int> FdOf(std::string_view peer);

  // A call of the connection begins.  Closes the connection where that is one too many.
  void Begin(int fd);
  // gRPC has let go of the call.
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
  std::map<int, Connection> connections_;  // That have calls, by file descriptor.
  size_t calls_ = 0;                       // Of all.
  std::atomic<uint64_t> closed_ = 0;
};

// Ends both directions of a connection; gRPC closes the descriptor.
void CloseConnection(int fd);

// Counts all calls of a server in `calls`.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    std::shared_ptr<ConnectionCalls> calls);

}  // namespace ebb

#endif  // EBB_DAEMON_CONNECTION_CALLS_H_
