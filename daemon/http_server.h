// HttpServer: answers GET and HEAD over HTTP/1.1, one request a connection.
//
//   HttpServer server([](const HttpRequest& request) { return RespondTo(request); }, {});
//   absl::Status listens = server.ListenAt("127.0.0.1", 8085);
//   if (listens.ok()) server.Start();
//
// It is as small as its use: of a request it reads the first line and the header Host; a body,
// ranges, encodings and a second request are not looked at.  What a client may cost:
//   - the head of a request: kHeadBytesMax bytes, within kHeadSeconds.  Heads are read by one
//     thread, without waiting for any of them; where kHeadsMax are incomplete, the oldest
//     connection is closed for a new one.  So slow clients hold no thread and keep no others out.
//   - an answer: a thread for at most kAnswerSeconds, however slowly the client reads; a stream of
//     events for as long as each of its pieces is taken within kPieceSeconds.
//   - at most kThreads answers at once, of which some are kept for one class of requests
//     (HttpServerOptions); beyond, the answer is 503.
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
  std::string host;  // The header; empty: none.
  std::map<std::string, std::string, std::less<>> parameters = {};
  bool at_address = false;  // It came over TCP, not over a Unix socket.

  // The parameter's value; empty: none.
  [[nodiscard]] std::string Parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  // Where it is set, the body goes on with what it returns, call by call, until nullopt or until
  // the client is gone.  It waits a short while for something to tell; "" is nothing yet.
  std::function<std::optional<std::string>()> next = nullptr;
};

// The request that the head of an HTTP message asks for; nullopt: it is not one.  `head` ends
// with its empty line.
struct HttpHead {
  HttpRequest request;
  std::string method;
};
std::optional<HttpHead> ParseHttpHead(std::string_view head);

struct HttpServerOptions {
  // Added to each answer: "Name: value\r\n" lines.
  std::string headers;
  // Requests that are answered by the reading thread itself: with few bytes, and at once.
  std::function<bool(const HttpRequest&)> is_quick;
  // Requests that have kReserved threads of their own.
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
  // Ends what is being answered; a `next` that is running is waited for.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Before Start().  Errors: InvalidArgument: it cannot be listened on, and why.
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
