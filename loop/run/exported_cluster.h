// ExportedCluster: the cluster of a daemon's session, fetched as a whole.  It serves a loop that
// makes its rounds itself and leaves no trace in the session, as a dry run does
// (record_actuator.h), and the sizing of the session's pools (session_sizing.h).
//
//   ExportedCluster cluster(calls, of, scale_down);
//   DeductingSource source(cluster, actuator, scale_down);
//   OwnRounds rounds(scale_down, source);
//   Loop loop(rounds, actuator, {});
//
// The cluster is fetched again when the session's version has changed.  Each fetched cluster is
// built from scratch, and the rounds' memory is carried over to it, as after a restart of the
// process.
//
// Errors:  those of the calls; FailedPrecondition: there are no nodes, or no pods; with needs_feed
//          also if no client feeds the session.
// Cost:    a call; for a new version also that of reading the cluster.
// Threads: one at a time.

#ifndef EBB_LOOP_RUN_EXPORTED_CLUSTER_H_
#define EBB_LOOP_RUN_EXPORTED_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/session_calls.h"
#include "groups/groups.h"
#include "loop/rounds.h"
#include "planning/live_cluster.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

struct ExportedClusterOptions {
  std::string session = "default";
  LoadOptions load = {};
  GroupRules groups = {};
  bool needs_feed = true;
};

class ExportedCluster : public ClusterSource {
 public:
  // Borrows the calls, and `scale_down`, which makes the rounds.
  ExportedCluster(SessionCalls& calls, ExportedClusterOptions options, ScaleDown& scale_down)
      : calls_(calls), options_(std::move(options)), scale_down_(&scale_down) {}
  // For a caller that makes no rounds here.
  ExportedCluster(SessionCalls& calls, ExportedClusterOptions options)
      : calls_(calls), options_(std::move(options)) {}

  absl::StatusOr<Observation> Observe(int64_t now_s) override;

  // The warnings of the last observation.
  [[nodiscard]] std::span<const InputWarning> warnings() const {
    return cluster_ ? std::span<const InputWarning>(cluster_->cluster.warnings)
                    : std::span<const InputWarning>();
  }

 private:
  absl::StatusOr<uint64_t> SessionVersion();
  absl::Status Fetch();

  SessionCalls& calls_;
  const ExportedClusterOptions options_;
  ScaleDown* const scale_down_ = nullptr;
  uint64_t version_ = 0;
  bool fed_ = false;  // A client feeds the session.
  std::unique_ptr<LiveCluster> live_;
  std::optional<LiveCluster::Version> cluster_;  // Of live_.
};

}  // namespace ebb

#endif  // EBB_LOOP_RUN_EXPORTED_CLUSTER_H_
