// HttpPages: pages for people and metrics for Prometheus, over HTTP.
//
//   /metrics         Prometheus' text form: rounds under the autoscaler's names, by session, and
//                    the daemon's own (daemon_metrics.h)
//   /healthz         "ok"
//   /                a page: nodes as a heat map, what goes, what stays and why, timers; live
//   /page.json?session=S, /explain.json?session=S&node=N, /sessions.json, /events?session=S
//                    data for the page about a session S; /events
//                    streams its versions as server-sent events
//
// It only reads.  Every client that can connect sees names of nodes and pods, so a Unix socket has
// mode 0600, and a TCP address should be a loopback address.  At a TCP address, every path but
// /metrics and /healthz requires a Host header that is an IP address, localhost, or the name that
// the server listens on.
//
// Threads: those of HttpServer (http_server.h describes the limits).  Each client that follows
// events occupies one thread; there are at most kFollowersMax such clients. /healthz needs no
// thread, /metrics has reserved ones.  Questions run on the threads of the sessions, as other calls
// do.

#ifndef EBB_DAEMON_HTTP_PAGES_H_
#define EBB_DAEMON_HTTP_PAGES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/sessions.h"

namespace ebb {

struct HttpPagesOptions {
  std::string address;  // "127.0.0.1:8085"; empty: do not listen on TCP.
  std::string socket;   // A path; empty: do not listen on a Unix socket.
};

class HttpPages {
 public:
  static constexpr size_t kFollowersMax = 8;

  // `metrics` returns the text of /metrics.
  // Errors: the address is invalid or in use; those of ClaimSocketPath (listener.h).
  static absl::StatusOr<std::unique_ptr<HttpPages>> Start(const HttpPagesOptions& options,
                                                          Sessions& sessions,
                                                          std::function<std::string()> metrics);
  // Aborts answers in progress.
  ~HttpPages();
  HttpPages(const HttpPages&) = delete;
  HttpPages& operator=(const HttpPages&) = delete;

 private:
  class Impl;
  explicit HttpPages(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_HTTP_PAGES_H_
