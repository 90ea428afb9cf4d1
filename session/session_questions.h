// SessionQuestions answers questions about a session's cluster and does not change it.
//
//   SessionQuestions questions(cluster);                         // Borrows the SessionCluster.
//   absl::StatusOr<wire::PlanReply> made = questions.Plan(call, std::nullopt);
//
// The last kAnswersKept answers of Plan are cached until the cluster's revision changes.  One
// planner makes all passes and remembers the earlier ones.  Another one makes all stable plans, and
// forgets the last one if the cluster was replaced or changes may have been missed.
//
// `end` is the deadline of a call; absent: no limit.
//
// Errors:  those of planner.proto; Unavailable while the cluster is being filled (session_feed.h).
// Cost:    for a plan, that of MakePlan and of writing it; a call that tries changes also copies
//          the cluster, which is O(cluster).
// Threads: one at a time; the cluster must not change meanwhile.

#ifndef EBB_SESSION_SESSION_QUESTIONS_H_
#define EBB_SESSION_SESSION_QUESTIONS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/parallel.h"
#include "engine/pass/planner.h"
#include "engine/stable_planner.h"
#include "planning/plan_query.h"
#include "platform/clock.h"
#include "report/plan_report.h"
#include "session/plan_digest.h"
#include "session/session_cluster.h"
#include "wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

struct Counterfactual;

class SessionQuestions {
 public:
  // How many answers about an unchanged cluster are cached.
  static constexpr size_t kAnswersKept = 8;
  // Limit of pods times nodes in a call of Filter.
  static constexpr uint64_t kVerdictsMax = 500'000;

  // `cluster` must outlive this object.
  explicit SessionQuestions(SessionCluster& cluster) : cluster_(cluster), versions_(cluster.id()) {}

  // Sets the fields of a SessionStatus that concern plans.
  void PutStatus(wire::SessionStatus& status) const;

  // `cancelled`: when it expires, a search for a better plan ends with the best so far; null:
  // never.
  absl::StatusOr<wire::PlanReply> Plan(const wire::PlanCall& call,
                                       std::optional<Clock::time_point> end,
                                       const Deadline* cancelled = nullptr);
  // The cluster is not checked for completeness: the caller knows that it is complete.
  absl::StatusOr<wire::PassReply> Pass(const wire::PlanInput& question,
                                       std::optional<Clock::time_point> end);
  // As Pass(), with the plan in columns.
  absl::StatusOr<wire::PassTable> PassTable(const wire::PlanInput& question,
                                            std::optional<Clock::time_point> end);
  // Explain and Filter return DeadlineExceeded soon after `stops` has expired; null: never.
  absl::StatusOr<wire::ExplainReply> Explain(const wire::ExplainCall& call,
                                             std::optional<Clock::time_point> end,
                                             const Deadline* stops = nullptr);
  absl::StatusOr<wire::FilterReply> Filter(const wire::FilterCall& call,
                                           const Deadline* stops = nullptr);
  // These calls try changes, or make many plans, until `cancelled` expires or the time is over, and
  // return what they found by then (session_what_if.cc).  Calls that try changes first copy the
  // cluster.
  absl::StatusOr<wire::BlockersReply> Blockers(const wire::BlockersCall& call,
                                               std::optional<Clock::time_point> end,
                                               const Deadline* cancelled = nullptr);
  absl::StatusOr<wire::FrontierReply> Frontier(const wire::FrontierCall& call,
                                               std::optional<Clock::time_point> end,
                                               const Deadline* cancelled = nullptr);
  absl::StatusOr<wire::WhatIfReply> WhatIf(const wire::WhatIfCall& call,
                                           std::optional<Clock::time_point> end,
                                           const Deadline* cancelled = nullptr);

  // Makes a plan of the current cluster, passes its report to `tell`, and returns the status of
  // `tell`.  The report is valid only during that call.  `cancelled`: as in Plan().
  absl::Status WithReport(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                          const std::function<absl::Status(const PlanReport&)>& tell,
                          const Deadline* cancelled = nullptr);

  // The last plan that a subscriber has received.
  struct SentPlan {
    std::shared_ptr<const PlanDigest> plan;  // Null: it has received none.
    std::string version;                     // Of `plan`.
    bool is_fed = false;
  };
  // The plan that a subscriber has, by WatchPlansCall.since_version.
  [[nodiscard]] SentPlan PlanSince(const std::string& since_version) const;
  // How the current plan differs from `told`, which then becomes the current plan.  `cancelled`: as
  // in Plan().
  // Cost: with input.stable, that of the plan and of the entries that have changed; otherwise that
  // of all entries as JSON.
  absl::StatusOr<wire::PlanChange> PlanChanges(const wire::PlanInput& input, SentPlan& told,
                                               const Deadline* cancelled = nullptr);

 private:
  using Use = SessionCluster::Use;
  // A question about plans: the checked cluster, and the query.
  struct Prepared {
    LoadedCluster cluster;
    PlanQuery query;
  };
  absl::StatusOr<Prepared> Prepare(const wire::PlanInput& input,
                                   std::optional<Clock::time_point> end, Use use);
  // The query of `input` over `cluster`; adds the warnings of a plan to the cluster's warnings.
  absl::StatusOr<PlanQuery> QueryOver(const wire::PlanInput& input,
                                      std::optional<Clock::time_point> end,
                                      std::span<const InputWarning> others,
                                      const SessionSettings& settings,
                                      LoadedCluster& cluster) const;
  using WriteRemedies = std::function<absl::Status(const PlanReport&, std::span<const NodeId>,
                                                   std::span<const Counterfactual>)>;
  // Explains a plan of a copy of the cluster, on which remedies are tried.
  absl::Status WithRemedies(const wire::ExplainCall& call, std::optional<Clock::time_point> end,
                            const Deadline* stops, const WriteRemedies& tell);
  [[nodiscard]] Parallelism Threads() const { return Parallelism(cluster_.options().threads); }
  // Makes a plan, and passes it to `tell`.
  absl::Status WithPlan(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                        const Deadline* cancelled, Use use,
                        const std::function<absl::Status(const PlanContext&)>& tell);
  // `write`(catalog, plan) writes the verified plan to the reply.
  template <typename Reply, typename Write>
  absl::StatusOr<Reply> MakePass(const wire::PlanInput& question,
                                 std::optional<Clock::time_point> end, Write write);
  // The planner that remembers the last stable plan.
  StablePlanner& StableMemory();
  // Writes the plan of `context` as PlanCall.since_version asks.
  void PutDifference(const PlanContext& context, const std::string& since_version,
                     wire::PlanReply& reply);
  // The planner that remembers earlier passes.  Different options do not reset it.
  Planner& PassPlanner(const PlannerOptions& options, const std::shared_ptr<Symbols>& symbols);

  SessionCluster& cluster_;

  std::unique_ptr<Planner> passes_;  // Null: no pass yet.
  std::shared_ptr<Symbols> passes_symbols_;

  StablePlanner stable_;
  uint64_t stable_replaced_ = 0;  // SessionCluster::replaced() and gaps() at the last plan.
  uint64_t stable_gaps_ = 0;

  PodHashes pod_hashes_;
  PlanVersions versions_;

  // The last questions about this revision and their answers, the latest last.
  std::deque<std::pair<std::string, wire::PlanReply>> answers_;
  uint64_t answers_revision_ = 0;  // 0: none.

  uint64_t plans_ = 0;
  struct LastPlan {
    uint64_t version = 0;
    uint64_t removes = 0;
    double seconds = 0;
  };
  std::optional<LastPlan> last_plan_;
};

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_QUESTIONS_H_
