// PageJson: what the page for people (http_pages.h) shows of a session's cluster as it is now.
//
// Threads: that of the session.
// Errors:  those of SessionQuestions::Plan.
// Cost:    a plan and its report.  PageJsons keeps the last text of each session until its cluster,
//          its settings, its feeders or its rounds change.

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

// Threads: any; Of() runs on the session's own.
class PageJsons {
 public:
  // `owner`: what lives as long as the session does, and no longer.  It is compared and never
  // locked.
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
  std::vector<Page> pages_;  // One of each session that was asked about and is still there.
};

}  // namespace ebb

#endif  // EBB_DAEMON_PAGE_JSON_H_
