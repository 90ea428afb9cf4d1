// SessionCluster: the cluster that a session holds.  It takes changes and dumps, keeps track of
// which clients fill it and how old it is, and has the settings for questions without settings of
// their own.
//
//   SessionCluster cluster("prod", options);                     // `options` outlive it.
//   absl::Status taken = cluster.Take(batch);                    // A ChangeBatch.
//   absl::Status filled = cluster.CheckAnswers();                // Unavailable until filled.
//   absl::StatusOr<LoadedCluster> judged =
//       cluster.Checked(/*allow_incomplete=*/false, SessionCluster::Use::kShown);
//
// Questions (session_questions.h) and rounds (session_round_maker.h) use it; it knows neither.
// While revision() is the same, answers for the same time are the same.
//
// Errors:  those of planner.proto.  A call that fails changes nothing.
// Cost:    for a change, see docs/live.md; EndResync(), Load(), ScratchCopy() and Export() are
//          O(cluster).
// Threads: one at a time.

#ifndef EBB_SESSION_SESSION_CLUSTER_H_
#define EBB_SESSION_SESSION_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planning/live_cluster.h"
#include "planning/rebuild_log.h"
#include "report/plan_report.h"
#include "report/plan_time.h"
#include "rounds/round_settings.h"
#include "rounds/round_source.h"
#include "session/session_feed.h"
#include "session/session_options.h"
#include "session/session_settings.h"
#include "snapshot/live/change_batch.h"
#include "snapshot/objects/kubernetes_version.h"
#include "wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

class SessionCluster {
 public:
  // `options` must outlive this object.
  SessionCluster(std::string name, const SessionOptions& options);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const SessionOptions& options() const { return options_; }
  // Counts the changes of the cluster, from 0.  Replies carry this number as `version`.
  [[nodiscard]] uint64_t version() const { return version_; }
  // Counts everything that plans depend on, such as batches and settings, starting from 1.
  [[nodiscard]] uint64_t revision() const { return revision_; }
  // Count what breaks the history of the cluster: dumps that replaced it, and times after which
  // changes may have been missed, because no client or a broken watch had seen them.
  [[nodiscard]] uint64_t replaced() const { return replaced_; }
  [[nodiscard]] uint64_t gaps() const { return gaps_; }
  // No other session of this or another process has or had it.
  [[nodiscard]] const std::string& id() const { return id_; }
  // Counts the batches of changes that were applied.
  [[nodiscard]] uint64_t batches() const { return batches_; }
  // Sets the fields of a SessionStatus that concern the cluster.
  void PutStatus(wire::SessionStatus& status) const;
  // Since the session began; Load() and SetSettings() do not reset them.
  [[nodiscard]] const RebuildTotals& rebuilds() const { return rebuild_log_.totals(); }

  // --- Settings --------------------------------------------------------------

  // Errors: FailedPrecondition: the settings load objects differently, and objects are held.
  absl::Status SetSettings(const wire::Settings& settings);
  // The settings for a question: the session's, or the question's own, which are stored in
  // `parsed`.
  // Errors: InvalidArgument: the question's settings load objects differently from the session's.
  [[nodiscard]] absl::StatusOr<const SessionSettings*> SettingsOf(
      const wire::PlanInput& input, std::optional<SessionSettings>& parsed) const;

  // --- Changes ---------------------------------------------------------------

  // Applies the whole batch, or nothing.  `resync`: the batch belongs to this resync and is the
  // current state, so its objects replace held objects of a higher version.  REQUIRES: that resync
  // is open.
  // Errors: also FailedPrecondition: the batch has the namespace kube-system of another cluster.
  absl::Status Take(const ChangeBatch& batch, std::optional<uint64_t> resync = std::nullopt);
  // Records which objects are put from now on, until the resync ends or is dropped.  Returns its
  // number.  Several resyncs may be open at once; they are independent.
  uint64_t BeginResync();
  // Deletes every object that was not put since BeginResync().  Returns the number of deleted
  // objects.  `feeder`: the stream's own feed; absent: it does not feed the session yet.
  // Errors: Aborted: the resync is over.
  absl::StatusOr<uint64_t> EndResync(uint64_t resync,
                                     std::optional<uint64_t> feeder = std::nullopt);
  // Ends the resync without deleting what it did not put.  If the cluster was complete when the
  // resync began, deletes the nodes that only this resync has put, because their pods are missing.
  // Everything else stays.
  void DropResync(uint64_t resync);
  // Whether the resync is still open.  Load() ends all resyncs.
  [[nodiscard]] bool InResync(uint64_t resync) const { return resyncs_.contains(resync); }
  // A client declares that the session has the complete cluster.  `resync`: the resync that the
  // client's own stream has open.
  // Errors: FailedPrecondition: the first resync of another stream is open, so the cluster is
  // incomplete until that resync ends.
  absl::Status SayWhole(std::optional<uint64_t> resync = std::nullopt);

  // A stream that has ended a resync keeps the cluster up to date from BeginFeed() to EndFeed().
  // Returns its number.
  uint64_t BeginFeed();
  void EndFeed(uint64_t feeder);
  // Sets the watches of the feeder that are broken now.
  void SetBrokenWatches(uint64_t feeder, const wire::BrokenWatches& watches);
  // Sets the version of the cluster's API server, in the form of SyncRequest.kubernetes_version.  A
  // text without a version changes nothing.
  void SetServerVersion(std::string_view git_version);
  // Absent: no feeder has set it.
  [[nodiscard]] const std::optional<KubernetesVersion>& server_version() const {
    return server_version_;
  }

  // Checks that a feeder's messages are about this session's cluster; "" matches every cluster.
  // Errors: FailedPrecondition: the session, or `batch`, is of another cluster.
  absl::Status CheckCluster(std::string_view cluster_uid, const ChangeBatch& batch);
  // Checks that a stream may begin a resync.  If another client feeds a session whose cluster is
  // known, the stream must name that cluster, by `cluster_uid` or by the namespace kube-system in
  // its first message.  `feeder`: the stream's own feed.
  // Errors: FailedPrecondition: the stream does not name the cluster.
  absl::Status CheckNamesCluster(std::string_view cluster_uid, const ChangeBatch& batch,
                                 std::optional<uint64_t> feeder = std::nullopt) const;
  // Binds the session to this cluster.  A session that another client than `feeder` feeds, and
  // whose cluster is unknown, is not bound.
  void KeepToCluster(std::string_view cluster_uid, std::optional<uint64_t> feeder = std::nullopt);

  // Replaces the cluster by that of a dump.  `cluster_uid`: as in LoadRequest.  A rejected dump
  // changes nothing.
  // Errors: FailedPrecondition: a stream feeds or resyncs the session, and neither the dump nor
  // `cluster_uid` says that the dump is of the session's cluster.
  absl::StatusOr<wire::LoadReply> Load(std::string_view dump, const wire::Settings* settings,
                                       std::string_view cluster_uid = "");
  // Identifies this session at this revision, and nothing else.
  [[nodiscard]] std::string Token() const;
  // Checks that the cluster and the settings have not changed since `token` was returned.  An empty
  // token always passes.
  // Errors: Aborted: they have changed.
  [[nodiscard]] absl::Status CheckToken(std::string_view token) const;

  // --- How old it is -----------------------------------------------------------

  // As in SessionFeed: changes that were received and are not applied yet.
  void SetTakenUntil(std::optional<int64_t> at_s) { feed_.SetTakenUntil(at_s); }
  void NoteUnread(int64_t since_s) { feed_.NoteUnread(since_s, ClockS()); }
  // The time as of which the cluster is current.
  [[nodiscard]] wire::Freshness Freshness() const;
  // Sets Freshness() in a reply.  If the host fills the cluster, a reply has none.
  template <typename Reply>
  void PutFreshness(Reply& reply) const {
    if (!options_.host_fills) *reply.mutable_freshness() = Freshness();
  }
  // The age of the cluster as a plan reports it; absent: a plan does not report it.
  [[nodiscard]] std::optional<PlanSession> AgeForPlans() const;
  // The warnings of an answer that concern the feeding of the session, not what the cluster lacks.
  [[nodiscard]] std::vector<InputWarning> FeedWarnings() const;
  void AddFeedWarnings(LoadedCluster& cluster) const;
  // Whether a client feeds the session.
  [[nodiscard]] bool IsFed() const { return feed_.feeders() > 0; }

  // By the clock of the options, Unix seconds; 0: they have no clock.
  [[nodiscard]] int64_t ClockS() const;
  // The time to plan for if a question has no time.
  [[nodiscard]] PlanTime TimeToPlan() const;

  // --- For answers -------------------------------------------------------------

  // Checks that questions may be answered about a cluster of at most that age.
  // Errors: Unavailable: the cluster is being filled (session_feed.h).  FailedPrecondition: it is
  // older.
  absl::Status CheckAnswers(std::optional<double> max_age_seconds = std::nullopt) const;
  // Calls CheckToken and CheckAnswers with the cluster_token and the max_age_seconds of `call`.
  template <typename Call>
  absl::Status CheckAnswersTo(const Call& call) const {
    if (absl::Status s = CheckToken(call.cluster_token()); !s.ok()) return s;
    return CheckAnswers(call.has_max_age_seconds() ? std::optional(call.max_age_seconds())
                                                   : std::nullopt);
  }

  // How an answer is used.
  enum class Use : uint8_t { kShown, kCarriedOut };
  // The current cluster, with warnings about what it seems to lack.  Valid until the next change.
  // Errors: FailedPrecondition: there is no cluster, or it is too incomplete for an answer
  // (incomplete.h).
  absl::StatusOr<LoadedCluster> Checked(bool allow_incomplete, Use use);
  // The current cluster, without checking whether it is complete.
  [[nodiscard]] ClusterSnapshot& Snapshot() { return live_->Snapshot(); }
  [[nodiscard]] const std::shared_ptr<Symbols>& symbols() const { return live_->symbols(); }
  // A copy, on which changes are tried.  `checked`: the result of Checked().  Cost: O(cluster).
  absl::StatusOr<ScratchCluster> ScratchCopy(const LoadedCluster& checked);
  // The input of a round; as LiveCluster::Source.
  absl::StatusOr<RoundSource> Source(const RoundSettings& settings,
                                     const std::optional<ScaleDownState>& before,
                                     RoundObjects objects);
  // Writes the binary snapshot in parts.  Errors: those of CheckAnswers and of `write`.
  absl::Status Export(const std::function<absl::Status(std::string_view part)>& write);

 private:
  // How the session's cluster holds its objects.
  [[nodiscard]] LiveSnapshot::Options LiveOptionsOf(const LoadOptions& load);
  [[nodiscard]] std::unique_ptr<LiveCluster> NewCluster(const LoadOptions& load);
  // Checks that there is room for the changes.  Errors: ResourceExhausted.
  absl::Status CheckRoom(std::span<const Change> changes) const;
  // Reads the cluster of a dump, within the limits of a session.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<LiveCluster>> ReadDump(std::string_view dump,
                                                                      LoadOptions load);
  // Checks that a dump may replace the cluster.  `cluster_uid`: as the sender says; `of_dump`: as
  // the dump itself says.
  [[nodiscard]] absl::Status CheckDumpIsOf(std::string_view cluster_uid,
                                           std::string_view of_dump) const;
  // Errors: FailedPrecondition: no client has declared the cluster complete.
  [[nodiscard]] absl::Status CheckSaidToBeWhole() const;
  // Applies the changes of objects that are not evaluated.
  void TakeUnevaluated(const ChangeBatch& batch);
  // Nodes of the batch that the session does not hold.
  [[nodiscard]] absl::flat_hash_set<std::string> NewNodes(const ChangeBatch& batch) const;
  void NoteInResyncs(const ChangeBatch& batch, std::optional<uint64_t> of);
  void NoteNodesBrought();
  // Counts a gap if the cluster was complete and no client but `feeder` has fed the session.
  void NoteGap(std::optional<uint64_t> feeder);
  // Drops the assumption of a Load() that its dump is complete: it does not hold for objects of a
  // resync.
  void ForgetLoadsAssumption();
  void Changed();

  const std::string name_;
  const std::string id_;
  const SessionOptions& options_;
  std::optional<KubernetesVersion> server_version_;  // As a feeder set it; absent: no feeder has.
  RebuildLog rebuild_log_;                           // Of live_, and of the clusters before it.
  std::unique_ptr<LiveCluster> live_;
  SessionSettings settings_;
  bool assume_complete_;  // From the session's own settings, not from a Load().
  uint64_t version_ = 0;
  uint64_t revision_ = 1;
  uint64_t batches_ = 0;
  uint64_t replaced_ = 0;
  uint64_t gaps_ = 0;
  std::map<std::string, uint64_t> ignored_;
  struct Resync {
    int64_t since_s = 0;
    // Keys of the objects that were put since the resync began.
    absl::flat_hash_set<std::string> named;
    // Names of nodes that only this resync has put into a complete cluster.
    absl::flat_hash_set<std::string> new_nodes;
  };
  std::map<uint64_t, Resync> resyncs_;  // By number.
  uint64_t last_resync_ = 0;
  SessionFeed feed_;
};

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_CLUSTER_H_
