// PlannerClient: the calls of a daemon, for the command line.
//
//   absl::StatusOr<std::unique_ptr<PlannerClient>> client = PlannerClient::Connect("unix:e.sock");
//   absl::StatusOr<wire::PlanReply> made = (*client)->Plan(call);
//
// Errors:  those of planner.proto, with the server's name in front where it cannot be reached.
// Threads: one at a time.

#ifndef EBB_SERVICE_DAEMON_CLIENT_H_
#define EBB_SERVICE_DAEMON_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

class PlannerClient {
 public:
  // `server`: "unix:PATH".  Errors: another form; nobody listens.
  static absl::StatusOr<std::unique_ptr<PlannerClient>> Connect(const std::string& server);
  ~PlannerClient();
  PlannerClient(const PlannerClient&) = delete;
  PlannerClient& operator=(const PlannerClient&) = delete;

  absl::StatusOr<wire::VersionReply> Version();
  absl::StatusOr<wire::StatusReply> Status();
  absl::StatusOr<wire::PlanReply> Plan(const wire::PlanCall& call);
  absl::StatusOr<wire::ViewReply> Explain(const wire::ExplainCall& call);
  absl::StatusOr<wire::ViewReply> Filter(const wire::FilterCall& call);

  absl::StatusOr<wire::ApplyReply> Apply(const wire::ApplyRequest& request);
  // Sends every batch that `next` gives, until it gives none.  Returns the last version.
  absl::StatusOr<uint64_t> Sync(const std::function<bool(wire::SyncRequest&)>& next);

  // Sends what `fill` writes as the session's new cluster.
  using Write = std::function<absl::Status(std::string_view part)>;
  absl::StatusOr<wire::LoadReply> Load(const std::string& session, const wire::Settings& settings,
                                       const std::function<absl::Status(const Write&)>& fill);

 private:
  class Impl;
  explicit PlannerClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SERVICE_DAEMON_CLIENT_H_
