// SessionQuestions answers questions about a session's cluster and does not change it.
//
//   SessionQuestions questions(cluster);                         // Borrows the SessionCluster.
//   absl::StatusOr<wire::PlanReply> made = questions.Plan(call, std::nullopt);
//
// The last kAnswersKept answers of Plan are kept until the cluster's revision changes.  Passes are
// made by one planner, which remembers the earlier ones.
//
// `end` is when the time of a call ends; absent: it has no limit.
//
// Errors:  those of planner.proto; Unavailable while the cluster is being filled (session_feed.h).
// Cost:    a plan that of MakePlan and of writing it; a call that tries changes also O(cluster),
//          for a copy.
// Threads: one at a time, and the cluster does not change meanwhile.

#ifndef EBB_SERVICE_SESSION_SESSION_QUESTIONS_H_
#define EBB_SERVICE_SESSION_SESSION_QUESTIONS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/parallel.h"
#include "engine/planner.h"
#include "service/clock.h"
#include "service/plan_report.h"
#include "service/planning/plan_query.h"
#include "service/session/session_cluster.h"
#include "service/wire/planner.pb.h"

namespace ebb {

namespace wire = v1alpha1;

struct Counterfactual;

class SessionQuestions {
 public:
  // How many answers about an unchanged cluster are kept.
  static constexpr size_t kAnswersKept = 8;
  // How many verdicts, of pods times nodes, a call of Filter may ask for.
  static constexpr uint64_t kVerdictsMax = 500'000;

  // `cluster` outlives it.
  explicit SessionQuestions(SessionCluster& cluster) : cluster_(cluster) {}

  // The fields of a SessionStatus on plans.
  void PutStatus(wire::SessionStatus& status) const;

  // `cancelled`: ends a search for a better plan, which then answers with the best so far; null:
  // nothing does.
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

  // Makes a plan of the cluster as it is now, and hands its report to `tell`, whose status it
  // returns.  The report is valid during that call alone.  `cancelled`: as Plan's.
  absl::Status WithReport(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                          const std::function<absl::Status(const PlanReport&)>& tell,
                          const Deadline* cancelled = nullptr);

  // The last plan that a watcher of plans has received: node -> what was said of it, as JSON.
  struct ToldPlan {
    std::map<std::string, std::string> removes;
    std::map<std::string, std::string> keeps;
    bool told = false;
    bool is_fed = false;
  };
  // How the plan differs from `told`, the one that was sent last; `told` becomes the new plan.
  // `cancelled`: as Plan's.
  absl::StatusOr<wire::PlanChange> PlanChanges(const wire::PlanInput& input, ToldPlan& told,
                                               const Deadline* cancelled = nullptr);

 private:
  using Use = SessionCluster::Use;
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
                                      const SessionSettings& settings,
                                      LoadedCluster& cluster) const;
  using TellRemedies = std::function<absl::Status(const PlanReport&, std::span<const NodeId>,
                                                  std::span<const Counterfactual>)>;
  // Explains a plan of a copy of the cluster, on which remedies are tried.
  absl::Status WithRemedies(const wire::ExplainCall& call, std::optional<Clock::time_point> end,
                            const Deadline* stops, const TellRemedies& tell);
  [[nodiscard]] Parallelism Threads() const { return Parallelism(cluster_.options().threads); }
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

  SessionCluster& cluster_;

  std::unique_ptr<Planner> passes_;  // Null: no pass yet.
  std::shared_ptr<Symbols> passes_symbols_;

  // The last questions and their answers, of this revision, the latest last.
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

#endif  // EBB_SERVICE_SESSION_SESSION_QUESTIONS_H_
