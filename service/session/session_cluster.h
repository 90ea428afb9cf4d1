// SessionCluster: the cluster that a session holds.  It takes changes and dumps, keeps track of who
// fills it and how old it is, and has the settings of questions that bring none of their own.
//
//   SessionCluster cluster("prod", options);                     // Which outlive it.
//   absl::Status taken = cluster.Take(batch);                    // A ChangeBatch.
//   absl::Status filled = cluster.CheckAnswers();                // Unavailable until it is.
//   absl::StatusOr<LoadedCluster> judged =
//       cluster.Judged(/*allow_incomplete=*/false, SessionCluster::Use::kShown);
//
// Questions (session_questions.h) and rounds (session_round_maker.h) ask it; it knows neither.
// While revision() is the same, so are the answers about the same time.
//
// Errors:  those of planner.proto.  A call that fails has changed nothing.
// Cost:    a change docs/live.md; EndResync(), Load(), CopyForTrials() and Export() O(cluster).
// Threads: one at a time.

#ifndef EBB_SERVICE_SESSION_SESSION_CLUSTER_H_
#define EBB_SERVICE_SESSION_SESSION_CLUSTER_H_

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
#include "service/live_cluster.h"
#include "service/plan_report.h"
#include "service/plan_time.h"
#include "service/round_settings.h"
#include "service/round_source.h"
#include "service/session/session_feed.h"
#include "service/session/session_options.h"
#include "service/session/session_settings.h"
#include "service/wire/planner.pb.h"
#include "snapshot/kubernetes_version.h"
#include "snapshot/live/change_batch.h"

namespace ebb {

namespace wire = v1alpha1;

class SessionCluster {
 public:
  // `options` outlive it.
  SessionCluster(std::string name, const SessionOptions& options);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const SessionOptions& options() const { return options_; }
  [[nodiscard]] uint64_t version() const { return version_; }
  // Counts what plans depend on: batches that were taken, and settings.  From 1 on.
  [[nodiscard]] uint64_t revision() const { return revision_; }
  // Counts batches of changes that were taken.
  [[nodiscard]] uint64_t batches() const { return batches_; }
  // The fields of a SessionStatus on the cluster.
  void PutStatus(wire::SessionStatus& status) const;

  // --- Settings --------------------------------------------------------------

  // Errors: FailedPrecondition: they load in another way, and objects are held.
  absl::Status SetSettings(const wire::Settings& settings);
  // The settings that hold for a question: the session's, or its own, which `parsed` then holds.
  // Errors: InvalidArgument: they load in another way than the session.
  [[nodiscard]] absl::StatusOr<const SessionSettings*> SettingsOf(
      const wire::PlanInput& input, std::optional<SessionSettings>& parsed) const;

  // --- Changes ---------------------------------------------------------------

  // All of the batch, or nothing.  `resync`: it is of that one, and says how things are: objects
  // are taken even where a higher version is held.  REQUIRES: that one is open. Errors: also
  // FailedPrecondition: it has the namespace kube-system of another cluster.
  absl::Status Take(const ChangeBatch& batch, std::optional<uint64_t> resync = std::nullopt);
  // From here on what is put is noted, until the resync ends or is dropped.  Returns its number.
  // There may be several at once: none knows of the others.
  uint64_t BeginResync();
  // Deletes every object that was not put since BeginResync().  Returns how many objects that were.
  // Errors: Aborted, it is over.
  absl::StatusOr<uint64_t> EndResync(uint64_t resync);
  // Deletes the nodes that this resync alone has brought to a whole cluster: their pods are still
  // to come.  All else stays.
  void DropResync(uint64_t resync);
  // Whether the resync is still open.  Load() ends all resyncs.
  [[nodiscard]] bool InResync(uint64_t resync) const { return resyncs_.contains(resync); }
  // A client says that the session has all of the cluster now.  `resync`: the one that its own
  // stream has open.
  // Errors: FailedPrecondition: another stream's first resync is open, which knows better.
  absl::Status SayWhole(std::optional<uint64_t> resync = std::nullopt);

  // A stream that has ended a resync keeps the cluster up to date, until it ends.  Returns its
  // number.
  uint64_t BeginFeed();
  void EndFeed(uint64_t feeder);
  // The feeder's watches that are broken now.
  void SetBrokenWatches(uint64_t feeder, const wire::BrokenWatches& watches);
  // The version of the cluster's API server, as SyncRequest.kubernetes_version; a text without a
  // version changes nothing.
  void SetServerVersion(std::string_view git_version);
  // Absent: no feeder has named it.
  [[nodiscard]] const std::optional<KubernetesVersion>& server_version() const {
    return server_version_;
  }

  // Which cluster a feeder is of; "": it does not say.
  // Errors: FailedPrecondition: the session, or `batch`, is of another one.
  absl::Status CheckCluster(std::string_view cluster_uid, const ChangeBatch& batch);
  // That a stream may begin a resync: where another client feeds a session whose cluster is known,
  // it names that cluster, by `cluster_uid` or by the namespace kube-system of its first message.
  // `feeder`: its own feed.
  // Errors: FailedPrecondition: it does not.
  absl::Status CheckNamesCluster(std::string_view cluster_uid, const ChangeBatch& batch,
                                 std::optional<uint64_t> feeder = std::nullopt) const;
  // From now on it is that one.  A session that another client than `feeder` feeds without a name
  // stays without one.
  void KeepToCluster(std::string_view cluster_uid, std::optional<uint64_t> feeder = std::nullopt);

  // `cluster_uid`: as LoadRequest's.  A dump that is refused leaves all as it was.
  // Errors: FailedPrecondition: a stream feeds or resyncs the session, and neither the dump nor
  // `cluster_uid` says that it is of the session's cluster.
  absl::StatusOr<wire::LoadReply> Load(std::string_view dump, const wire::Settings* settings,
                                       std::string_view cluster_uid = "");
  // That the cluster and the settings are those of the Load that answered with `token`; "" is of
  // every one.
  // Errors: Aborted.
  [[nodiscard]] absl::Status CheckToken(std::string_view token) const;

  // --- How old it is -----------------------------------------------------------

  // As SessionFeed's: what was received and is not taken yet.
  void SetTakenUntil(std::optional<int64_t> at_s) { feed_.SetTakenUntil(at_s); }
  void NoteUnread(int64_t since_s) { feed_.NoteUnread(since_s, ClockS()); }
  // As of when the cluster is.
  [[nodiscard]] wire::Freshness Freshness() const;
  // The same in a reply.  Where the host fills the cluster, a reply has none.
  template <typename Reply>
  void PutFreshness(Reply& reply) const {
    if (!options_.host_fills) *reply.mutable_freshness() = Freshness();
  }
  // What a plan says of it; absent: nothing.
  [[nodiscard]] std::optional<PlanSession> AgeForPlans() const;
  // What an answer warns of beside what the cluster lacks.
  [[nodiscard]] std::vector<InputWarning> FeedWarnings() const;
  void AddFeedWarnings(LoadedCluster& cluster) const;
  // Whether a client feeds it.
  [[nodiscard]] bool IsFed() const { return feed_.feeders() > 0; }

  // By the options' clock, Unix seconds; 0: they have none.
  [[nodiscard]] int64_t ClockS() const;
  // The time to plan for where a question names none.
  [[nodiscard]] PlanTime TimeToPlan() const;

  // --- For answers -------------------------------------------------------------

  // That questions may be answered, about a cluster of that age.
  // Errors: Unavailable: it is being filled (session_feed.h).  FailedPrecondition: it is older.
  absl::Status CheckAnswers(std::optional<double> max_age_seconds = std::nullopt) const;
  // The same of a call that has cluster_token and max_age_seconds.  Errors: also those of
  // CheckToken.
  template <typename Call>
  absl::Status CheckAnswersTo(const Call& call) const {
    if (absl::Status s = CheckToken(call.cluster_token()); !s.ok()) return s;
    return CheckAnswers(call.has_max_age_seconds() ? std::optional(call.max_age_seconds())
                                                   : std::nullopt);
  }

  // What is done with an answer.
  enum class Use : uint8_t { kShown, kCarriedOut };
  // The cluster as it is now, with what it seems to lack.  Valid until the next change.
  // Errors: FailedPrecondition: no cluster, or one that allows no answer (incomplete.h).
  absl::StatusOr<LoadedCluster> Judged(bool allow_incomplete, Use use);
  // The cluster as it is now, of which nothing is judged.
  [[nodiscard]] ClusterSnapshot& Snapshot() { return live_->Snapshot(); }
  [[nodiscard]] const std::shared_ptr<Symbols>& symbols() const { return live_->symbols(); }
  // A copy, on which changes are tried.  `judged`: by Judged().  Cost: O(cluster).
  absl::StatusOr<TrialCluster> CopyForTrials(const LoadedCluster& judged);
  // What a round is made of; as LiveCluster::Source.
  absl::StatusOr<RoundSource> Source(const RoundSettings& settings,
                                     const std::optional<ScaleDownState>& before,
                                     RoundObjects objects);
  // The binary snapshot, in parts.  Errors: those of CheckAnswers and of `write`.
  absl::Status Export(const std::function<absl::Status(std::string_view part)>& write);

 private:
  // How the session's cluster holds its objects.
  [[nodiscard]] LiveSnapshot::Options HoldingOf(const LoadOptions& load) const;
  [[nodiscard]] std::unique_ptr<LiveCluster> NewCluster(const LoadOptions& load) const;
  // That the changes find room.  Errors: ResourceExhausted.
  absl::Status CheckRoom(std::span<const Change> changes) const;
  // The cluster of a dump, which is no larger than a session may be.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<LiveCluster>> ReadDump(std::string_view dump,
                                                                      LoadOptions load) const;
  // That a dump may take the cluster's place.  `cluster_uid`: as its sender says; `of_dump`: as it
  // says itself.
  [[nodiscard]] absl::Status CheckDumpIsOf(std::string_view cluster_uid,
                                           std::string_view of_dump) const;
  // Errors: FailedPrecondition: no client has said that the cluster is whole.
  [[nodiscard]] absl::Status CheckSaidToBeWhole() const;
  // The objects of a batch that are not evaluated.
  void TakeUnevaluated(const ChangeBatch& batch);
  // Nodes of the batch that are not held.
  [[nodiscard]] absl::flat_hash_set<std::string> NewNodes(const ChangeBatch& batch) const;
  void NoteInResyncs(const ChangeBatch& batch, std::optional<uint64_t> of);
  void NoteNodesBrought();
  // Stands for this session as it is at this revision, and for no other.
  [[nodiscard]] std::string Token() const;
  // What a Load said of its dump alone says nothing of what a resync names.
  void ForgetLoadsAssumption();
  void Changed();

  const std::string name_;
  const std::string id_;  // No other session of this or another process has or had it.
  const SessionOptions& options_;
  std::optional<KubernetesVersion> server_version_;  // As a feeder said it; absent: none has.
  std::unique_ptr<LiveCluster> live_;
  SessionSettings settings_;
  bool assume_complete_;  // Of the session's own settings, and not of a Load's.
  uint64_t version_ = 0;
  uint64_t revision_ = 1;
  uint64_t batches_ = 0;
  std::map<std::string, uint64_t> ignored_;
  struct Resync {
    int64_t since_s = 0;
    absl::flat_hash_set<std::string> named;  // What was put since it began.
    // Names of nodes that it alone has brought to a whole cluster.
    absl::flat_hash_set<std::string> new_nodes;
  };
  std::map<uint64_t, Resync> resyncs_;  // By number.
  uint64_t last_resync_ = 0;
  SessionFeed feed_;
};

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_SESSION_CLUSTER_H_
