// HttpServer: answers GET and HEAD over HTTP/1.1, one request per connection.
//
//   HttpServer server([](const HttpRequest& request) { return RespondTo(request); }, {});
//   absl::Status listens = server.ListenAt("127.0.0.1", 8085);
//   if (listens.ok()) server.Start();
//
// It reads only the first line and the Host header of a request.  It ignores a body, ranges,
// encodings and a second request.  These limits apply to a client:
//   - The head of a request: kHeadBytesMax bytes, within kHeadSeconds.  One thread reads all heads
//     without blocking.  If kHeadsMax heads are incomplete, a new connection closes the oldest one.
//     So slow clients hold no thread and keep no other client out.
//   - An answer: one thread for at most kAnswerSeconds, however slowly the client reads.  A stream
//     of events lasts as long as the client accepts each piece within kPieceSeconds.
//   - All clients together: kThreads answers at once, some of which are reserved for one class of
//     requests (HttpServerOptions).  Further requests are answered with 503.
//
// Threads: one that reads, and up to kThreads that answer, which call the handler concurrently.

#ifndef EBB_DAEMON_HTTP_SERVER_H_
#define EBB_DAEMON_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ebb {

struct HttpRequest {
  std::string path;  // Without the query.
  std::string host;  // The Host header; empty: absent.
  std::map<std::string, std::string, std::less<>> parameters = {};
  bool at_address = false;  // The request came over TCP, not over a Unix socket.

  // The value of the parameter; empty: absent.
  [[nodiscard]] std::string Parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  // If set, its results follow `body`, one call after the other, until it returns nullopt or the
  // client is gone.  It blocks for a short time until there is data; "" means no data yet.
  std::function<std::optional<std::string>()> next = nullptr;
};

// The request in the head of an HTTP message; nullopt: `head` is not one.  `head` ends with its
// empty line.
struct HttpHead {
  HttpRequest request;
  std::string method;
};
std::optional<HttpHead> ParseHttpHead(std::string_view head);

struct HttpServerOptions {
  // Added to each answer, as lines "Name: value\r\n".
  std::string headers;
  // Requests that the reading thread answers itself: the handler must be fast and the answer short.
  std::function<bool(const HttpRequest&)> is_quick;
  // Requests for which kReserved threads are reserved.
  std::function<bool(const HttpRequest&)> is_reserved;
};

class HttpServer {
 public:
  static constexpr size_t kThreads = 64;
  static constexpr size_t kReserved = 16;  // Of kThreads.
  static constexpr size_t kHeadsMax = 256;
  static constexpr size_t kHeadBytesMax = 8192;
  static constexpr int kHeadSeconds = 5;
  static constexpr int kAnswerSeconds = 30;
  static constexpr int kPieceSeconds = 5;

  HttpServer(std::function<HttpResponse(const HttpRequest&)> handler, HttpServerOptions options);
  // Aborts answers in progress, but waits for a call of `next` to return.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Before Start().  Errors: InvalidArgument, with the reason: it cannot listen there.
  absl::Status ListenAt(const std::string& host, int port);
  // The path must be free (ClaimSocketPath); the socket has mode 0600.
  absl::Status ListenOn(const std::string& path);
  void Start();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_HTTP_SERVER_H_
