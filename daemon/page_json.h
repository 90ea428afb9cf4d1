// PageJson: the data of the page for people (http_pages.h) about a session's current cluster.
//
// Threads: the session's.
// Errors:  those of SessionQuestions::Plan.
// Cost:    a plan and its report.  PageJsons caches the last text of each session until its
//          cluster, settings, feeders or rounds change.

#ifndef EBB_DAEMON_PAGE_JSON_H_
#define EBB_DAEMON_PAGE_JSON_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "session/session.h"

namespace ebb {

absl::StatusOr<std::string> PageJson(Session& session);

// Threads: any; Of() must run on the session's thread.
class PageJsons {
 public:
  // `owner`: an object that lives exactly as long as the session.  It is compared and never locked.
  absl::StatusOr<std::string> Of(const std::weak_ptr<const void>& owner, Session& session);

 private:
  struct Page {
    std::weak_ptr<const void> owner;
    uint64_t revision = 0;  // SessionCluster::revision().
    int64_t rounds = 0;     // The page shows their timers.
    std::string text;
  };
  [[nodiscard]] std::optional<std::string> Find(const std::weak_ptr<const void>& owner,
                                                uint64_t revision, int64_t rounds);

  std::mutex mutex_;
  std::vector<Page> pages_;  // One for each session that was asked about and still exists.
};

}  // namespace ebb

#endif  // EBB_DAEMON_PAGE_JSON_H_
