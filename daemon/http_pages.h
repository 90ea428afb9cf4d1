// HttpPages: what people and Prometheus look at, over HTTP.
//
//   /metrics         Prometheus' text form: rounds under the autoscaler's names, by session, and
//                    the daemon's own (daemon_metrics.h)
//   /healthz         "ok"
//   /                a page: nodes as a heat map, what goes, what stays and why, timers; live
//   /page.json?session=S, /explain.json?session=S&node=N, /sessions.json, /events?session=S
//                    what the page asks; events are the session's versions, as server-sent events
//
// It only reads.  Whoever may connect sees names of nodes and pods: a Unix socket has mode 0600,
// and an address is for loopback.  At an address all but /metrics and /healthz is refused to
// requests whose Host is neither an address, nor localhost, nor the name that is listened on.
//
// Threads: those of HttpServer (http_server.h, which has the limits); each client that follows
//          events has one of them, at most kFollowersMax.  /healthz needs none, /metrics has its
//          own.  Sessions are asked as by any other call.

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
  std::string address;  // "127.0.0.1:8085"; empty: none.
  std::string socket;   // A path; empty: none.
};

class HttpPages {
 public:
  static constexpr size_t kFollowersMax = 8;

  // `metrics` gives the text of /metrics.
  // Errors: an address that is none or is taken; those of ClaimSocketPath (listener.h).
  static absl::StatusOr<std::unique_ptr<HttpPages>> Start(const HttpPagesOptions& options,
                                                          Sessions& sessions,
                                                          std::function<std::string()> metrics);
  // Ends what is being answered.
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
