// Session: one cluster of the daemon, and what its calls answer (service/wire/planner.proto).
//
//   Session session("prod", options);                            // Which outlive it.
//   absl::Status status = session.Take(batch);                   // A ChangeBatch.
//   absl::StatusOr<wire::PlanReply> made = session.Plan(call, std::nullopt);
//
// It knows no socket and no thread: whoever has it calls it from one thread at a time.
//
// Errors:  those of planner.proto.  A call that fails has changed nothing.
// Cost:    a change docs/live.md; a plan that of MakePlan and of writing it.  The answers to
//          the last kAnswersKept questions are kept until the cluster changes.
// Threads: one at a time.

#ifndef EBB_SERVICE_SESSION_SESSION_H_
#define EBB_SERVICE_SESSION_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/parallel.h"
#include "engine/planner.h"
#include "service/clock.h"
#include "service/live_cluster.h"
#include "service/metrics.h"
#include "service/plan_report.h"
#include "service/planning/plan_query.h"
#include "service/round_driver.h"
#include "service/round_settings.h"
#include "service/session/session_feed.h"
#include "service/wire/planner.pb.h"
#include "snapshot/kubernetes_version.h"
#include "snapshot/live/change_batch.h"

namespace ebb {

namespace wire = v1alpha1;

struct Counterfactual;

struct SessionOptions {
  std::string state_folder;  // Of state files; empty: no rounds, but with state_file.
  // In place of one in the folder.  For a process with one session.
  std::string state_file = {};
  std::string record_file = {};  // Empty: none is kept.  The same.
  int64_t rounds_kept = 100;
  // Pods that have ended or are expendable count too, and a namespace that is not there has no
  // labels: what changes tell is meant as it is.  Dumps are read as ever, and nothing is taken to
  // be missing.
  bool as_given = false;
  // The program that has the session fills it itself and knows how far it is: nothing is refused or
  // warned of for that, and any cluster's changes are taken.
  bool host_fills = false;
  bool allow_incomplete = false;  // As if every question had PlanInput.allow_incomplete.
  uint64_t objects_max = 5'000'000;
  size_t object_bytes_max = ChangeBatch::kObjectBytesMax;
  uint64_t dump_bytes_max = uint64_t{4} << 30;  // As it is sent, and unpacked.
  // The daemon's memory: a session takes nothing while `resident_bytes` says more.
  uint64_t memory_bytes_max = 0;  // 0: no limit.
  std::function<uint64_t()> resident_bytes;
  std::function<int64_t()> clock_s;  // Unix time.
  size_t threads = 1;                // That read a dump.
};

// Errors: ResourceExhausted: the process has more memory than memory_bytes_max.
absl::Status CheckMemory(const SessionOptions& options);

// Settings.options as they travel, from those of round_options.h.
absl::Status PutOptions(const nlohmann::ordered_json& options, wire::Settings& settings);

// Whether a session may have that name.
absl::Status CheckSessionName(std::string_view name, std::string_view field = "session");

class Session {
 public:
  // How many answers about an unchanged cluster are kept.
  static constexpr size_t kAnswersKept = 8;
  // How many verdicts, of pods times nodes, a call of Filter may ask for.
  static constexpr uint64_t kVerdictsMax = 500'000;

  Session(std::string name, const SessionOptions& options);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t version() const { return version_; }
  // Counts what plans depend on: batches that were taken, and settings.  From 1 on.
  [[nodiscard]] uint64_t revision() const { return revision_; }
  // Counts batches of changes that were taken.
  [[nodiscard]] uint64_t batches() const { return batches_; }
  [[nodiscard]] wire::SessionStatus Status();

  absl::Status SetSettings(const wire::Settings& settings);

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

  // --- Answers ---------------------------------------------------------------
  // Each is Unavailable while the session is being filled (session_feed.h), a round
  // FailedPrecondition.

  // As of when the cluster is.
  [[nodiscard]] wire::Freshness Freshness() const;
  // `end`: of the time that the call has.  `cancelled`: ends a search for a better plan, which then
  // answers with the best so far; null: nothing does.
  absl::StatusOr<wire::PlanReply> Plan(const wire::PlanCall& call,
                                       std::optional<Clock::time_point> end,
                                       const Deadline* cancelled = nullptr);
  // Nothing of the cluster is judged: whoever asks has all of it.
  absl::StatusOr<wire::PassReply> Pass(const wire::PlanInput& question,
                                       std::optional<Clock::time_point> end);
  // The same in columns.
  absl::StatusOr<wire::PassTable> PassTable(const wire::PlanInput& question,
                                            std::optional<Clock::time_point> end);
  // Explain and Filter end with DeadlineExceeded soon after `stops` has expired; null: never.
  absl::StatusOr<wire::ExplainReply> Explain(const wire::ExplainCall& call,
                                             std::optional<Clock::time_point> end,
                                             const Deadline* stops = nullptr);
  absl::StatusOr<wire::FilterReply> Filter(const wire::FilterCall& call,
                                           const Deadline* stops = nullptr);
  // These try changes, or make many plans, until `cancelled` has expired or the time is over, and
  // answer with what was found until then (session_what_if.cc).  Those that try changes first copy
  // the cluster.
  absl::StatusOr<wire::BlockersReply> Blockers(const wire::BlockersCall& call,
                                               std::optional<Clock::time_point> end,
                                               const Deadline* cancelled = nullptr);
  absl::StatusOr<wire::FrontierReply> Frontier(const wire::FrontierCall& call,
                                               std::optional<Clock::time_point> end,
                                               const Deadline* cancelled = nullptr);
  absl::StatusOr<wire::WhatIfReply> WhatIf(const wire::WhatIfCall& call,
                                           std::optional<Clock::time_point> end,
                                           const Deadline* cancelled = nullptr);
  absl::StatusOr<wire::RoundReply> Round(const wire::RoundCall& call,
                                         std::optional<Clock::time_point> end);
  absl::StatusOr<wire::ActuationReply> ReportActuation(const wire::ActuationReport& report);
  absl::StatusOr<wire::SizingReply> Sizing();
  // The binary snapshot, in parts.
  absl::Status Export(const std::function<absl::Status(std::string_view part)>& write);

  // The last plan that was told to a watcher: node -> what was said of it, as JSON.
  struct ToldPlan {
    std::map<std::string, std::string> removes;
    std::map<std::string, std::string> keeps;
    bool told = false;
    bool is_fed = false;
  };
  // What a plan says otherwise than `told`, which becomes that plan.
  absl::StatusOr<wire::PlanChange> PlanChanges(const wire::PlanInput& input, ToldPlan& told);

  // Null while there was no round.
  [[nodiscard]] MetricsSnapshot RoundMetrics() const;

  // Makes a plan of the cluster as it is now, and hands its report to `tell`, whose status it
  // returns.  The report is valid during that call alone.
  absl::Status WithReport(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                          const std::function<absl::Status(const PlanReport&)>& tell);
  // Since when nodes are unneeded, by the last round; empty: there was no round.
  struct Timer {
    std::string node;
    int64_t since_s = 0;
  };
  [[nodiscard]] std::vector<Timer> Timers() const;

 private:
  // How the session's cluster holds its objects.
  [[nodiscard]] LiveSnapshot::Options HoldingOf(const LoadOptions& load) const;
  [[nodiscard]] std::unique_ptr<LiveCluster> NewCluster(const LoadOptions& load) const;
  struct Effective {
    wire::Settings given;
    RoundOptions options;
    RoundTexts texts;
    GroupRules groups;
  };
  [[nodiscard]] absl::StatusOr<Effective> Parse(const wire::Settings& settings) const;
  [[nodiscard]] absl::StatusOr<const Effective*> SettingsOf(const wire::PlanInput& input,
                                                            std::optional<Effective>& parsed) const;
  [[nodiscard]] int64_t Now(const wire::PlanInput& input, LoadedCluster& cluster) const;
  // The cluster as it is now, with what it seems to lack.
  // Errors: FailedPrecondition: no cluster, or one that allows no answer (incomplete.h).
  enum class Use : uint8_t { kShown, kCarriedOut };
  absl::StatusOr<LoadedCluster> Judged(bool allow_incomplete, Use use);
  // Errors: FailedPrecondition: no client has said that the cluster is whole.
  [[nodiscard]] absl::Status CheckSaidToBeWhole() const;
  // What a round is made of; `told` learns which nodes the caller wants left alone.
  absl::StatusOr<RoundSource> SourceOf(const wire::RoundCall& call, RoundSettings& told);
  // A question about plans: the cluster that it is about, judged, and the query.
  struct Asked {
    LoadedCluster cluster;
    PlanQuery query;
  };
  absl::StatusOr<Asked> Prepare(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                                Use use);
  // The query of the input, to be answered over `cluster`, whose warnings become those of a plan.
  absl::StatusOr<PlanQuery> QueryOver(const wire::PlanInput& input,
                                      std::optional<Clock::time_point> end,
                                      std::span<const InputWarning> others,
                                      const Effective& settings, LoadedCluster& cluster) const;
  using TellRemedies = std::function<absl::Status(const PlanReport&, std::span<const NodeId>,
                                                  std::span<const Counterfactual>)>;
  // Explains a plan of a copy of the cluster, on which remedies are tried.
  absl::Status WithRemedies(const wire::ExplainCall& call, std::optional<Clock::time_point> end,
                            const Deadline* stops, const TellRemedies& tell);
  [[nodiscard]] Parallelism Threads() const { return Parallelism(options_.threads); }
  // Asks for a plan, and hands it to `tell`.
  absl::Status WithPlan(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                        const Deadline* cancelled, Use use,
                        const std::function<absl::Status(const PlanContext&)>& tell);
  // `write`(catalog, plan) puts the verified plan into the reply.
  template <typename Reply, typename Write>
  absl::StatusOr<Reply> MakePass(const wire::PlanInput& question,
                                 std::optional<Clock::time_point> end, Write write);
  // The planner that remembers earlier passes.  Other options do not reset it.
  Planner& PassPlanner(const PlannerOptions& options, const std::shared_ptr<Symbols>& symbols);
  absl::Status CheckRoom(std::span<const Change> changes);
  // The objects of a batch that are not evaluated.
  void TakeUnevaluated(const ChangeBatch& batch);
  [[nodiscard]] std::string StateFile() const;
  absl::Status OpenDriver();
  absl::Status CheckMayMakeRound(const wire::RoundCall& call) const;
  // That questions may be answered, about a cluster of that age.
  absl::Status CheckAnswers(std::optional<double> max_age_seconds = std::nullopt) const;
  absl::Status CheckAnswers(const wire::PlanInput& input) const;
  // What an answer says of the session; absent: nothing.
  [[nodiscard]] std::optional<PlanSession> AgeForPlans() const;
  // What an answer warns of beside what the cluster lacks.
  [[nodiscard]] std::vector<InputWarning> FeedWarnings() const;
  void AddFeedWarnings(LoadedCluster& cluster) const;
  // That a dump may take the cluster's place.  `cluster_uid`: as its sender says; `of_dump`: as it
  // says itself.
  [[nodiscard]] absl::Status CheckDumpIsOf(std::string_view cluster_uid,
                                           std::string_view of_dump) const;
  // Nodes of the batch that are not held.
  [[nodiscard]] absl::flat_hash_set<std::string> NewNodes(const ChangeBatch& batch) const;
  void NoteInResyncs(const ChangeBatch& batch, std::optional<uint64_t> of);
  void NoteNodesBrought();
  // What a Load said of its dump alone says nothing of what a resync names.
  void ForgetLoadsAssumption();
  [[nodiscard]] int64_t ClockS() const;
  // That an earlier process made.
  int64_t RoundsBefore();
  void Changed();

  const std::string name_;
  const SessionOptions& options_;
  std::optional<KubernetesVersion> server_version_;  // As a feeder said it; absent: none has.
  std::unique_ptr<LiveCluster> cluster_;
  Effective settings_;
  bool assume_complete_;  // Of the session's own settings, and not of a Load's.
  uint64_t version_ = 0;
  uint64_t revision_ = 1;
  uint64_t batches_ = 0;
  uint64_t plans_ = 0;
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

  std::unique_ptr<Planner> passes_;  // Null: no pass yet.
  std::shared_ptr<Symbols> passes_symbols_;

  // The last questions and their answers, of this version, the latest last.
  std::deque<std::pair<std::string, wire::PlanReply>> answers_;
  std::optional<uint64_t> last_plan_version_;
  uint64_t last_plan_removes_ = 0;
  double last_plan_seconds_ = 0;
  struct LastRound {
    int64_t at_s = 0;
    wire::UnremovableNodes unremovable;
  };
  std::optional<LastRound> last_round_;  // That this process made and kept.

  std::optional<int64_t> rounds_before_;  // Absent: nobody has looked.
  std::unique_ptr<RoundDriver> driver_;   // Null: no round yet.
};

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_SESSION_H_
