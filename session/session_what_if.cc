// The questions of a session that try changes or make many plans: remedies, blockers, the frontier
// and what-if.
//
// Changes are tried on a copy of the cluster.  Undoing a change in the cluster itself would leave
// its pods and nodes in another order than that of their arrival, so later plans would differ.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "planning/plan_answer.h"
#include "report/explain.h"
#include "report/plan_comparison.h"
#include "report/plan_json.h"
#include "session/session_questions.h"
#include "session/wire_query.h"
#include "session/wire_tables.h"
#include "session/wire_what_if.h"
#include "what_if/apply_what_if.h"
#include "what_if/blockers.h"
#include "what_if/counterfactual.h"
#include "what_if/patched_cluster.h"
#include "what_if/what_if_file.h"

namespace ebb {
namespace {

// The maximum time for trying changes in a call, as for a search (wire_query.cc).
constexpr double kWhatIfSecondsMax = 600;

// The time when a call must stop trying changes: a tenth of its time is reserved for the answer.
class WhatIfDeadline {
 public:
  WhatIfDeadline(const PlanQuery& query, const Deadline* cancelled)
      : deadlines_(Clock::now() + DurationOf(std::min(query.seconds.value_or(kWhatIfSecondsMax),
                                                      kWhatIfSecondsMax)),
                   query.shares),
        ends_(&deadlines_.verification_ends, cancelled) {}
  WhatIfDeadline(const WhatIfDeadline&) = delete;
  WhatIfDeadline& operator=(const WhatIfDeadline&) = delete;

  [[nodiscard]] const Deadline& ends() const { return ends_; }

 private:
  const Deadlines deadlines_;
  const FirstDeadline ends_;
};

// Sets the fields of a reply that describe the cluster.
template <typename Reply>
void PutCluster(const LoadedCluster& cluster, Reply& reply) {
  PutWarnings(cluster.warnings, reply);
  reply.set_left_out(LeftOutText(cluster.counts));
}

}  // namespace

absl::Status SessionQuestions::WithRemedies(const wire::ExplainCall& call,
                                            std::optional<Clock::time_point> end,
                                            const Deadline* stops, const WriteRemedies& tell) {
  if (call.input().has_search() || call.input().trials().has_robust() ||
      call.input().has_stable()) {
    return absl::InvalidArgumentError(
        "remedies: each is tried with a plain plan; expected an input without search, "
        "trials.robust and stable");
  }
  absl::StatusOr<Prepared> asked = Prepare(call.input(), end, Use::kShown);
  if (!asked.ok()) return asked.status();
  absl::StatusOr<ScratchCluster> copied = cluster_.ScratchCopy(asked->cluster);
  if (!copied.ok()) return copied.status();
  const auto answer =
      AnswerPlan(asked->query, copied->version.cluster, {.cancelled = stops}, Threads());
  if (!answer.ok()) return answer.status();
  PlanContext context = (*answer)->Context();
  context.session = cluster_.AgeForPlans();
  const PlanReport report = MakeReport(context);
  const absl::StatusOr<std::vector<NodeId>> nodes = FindNodes(
      context.catalog(), std::vector<std::string>(call.nodes().begin(), call.nodes().end()));
  if (!nodes.ok()) return nodes.status();
  const WhatIfDeadline what_if_deadline(asked->query, stops);
  const absl::StatusOr<std::vector<Counterfactual>> found =
      FindAllRemedies(report, *nodes, asked->query, *copied->live, &what_if_deadline.ends());
  if (!found.ok()) return found.status();
  return tell(report, *nodes, *found);
}

absl::StatusOr<wire::BlockersReply> SessionQuestions::Blockers(const wire::BlockersCall& call,
                                                               std::optional<Clock::time_point> end,
                                                               const Deadline* cancelled) {
  if (absl::Status s = CheckTaken(call.input(), QuestionOf::kBlockers); !s.ok()) return s;
  absl::StatusOr<Prepared> asked = Prepare(call.input(), end, Use::kShown);
  if (!asked.ok()) return asked.status();
  absl::StatusOr<ScratchCluster> copied = cluster_.ScratchCopy(asked->cluster);
  if (!copied.ok()) return copied.status();
  const auto answer =
      AnswerPlan(asked->query, copied->version.cluster, {.cancelled = cancelled}, Threads());
  if (!answer.ok()) return answer.status();
  const std::optional<NodePrices>& prices = (*answer)->prices;
  BlockersOptions options;
  if (call.limit() > 0) options.limit = call.limit();
  if (call.has_sets()) options.sets = call.sets();
  if (prices) {
    options.price = [&hourly = prices->hourly](NodeId node) { return hourly[Index(node)]; };
  }
  const WhatIfDeadline what_if_deadline(asked->query, cancelled);
  options.deadline = &what_if_deadline.ends();
  const absl::StatusOr<ebb::Blockers> found =
      FindBlockers((*answer)->Report(), asked->query, *copied->live, options);
  if (!found.ok()) return found.status();
  wire::BlockersReply reply;
  reply.set_version(cluster_.version());
  reply.set_now(asked->query.now_s);
  PutBlockers(*found, reply);
  if (prices) reply.set_currency(prices->currency);
  PutCluster(copied->version.cluster, reply);
  cluster_.PutFreshness(reply);
  return reply;
}

absl::StatusOr<wire::FrontierReply> SessionQuestions::Frontier(const wire::FrontierCall& call,
                                                               std::optional<Clock::time_point> end,
                                                               const Deadline* cancelled) {
  if (absl::Status s = CheckTaken(call.input(), QuestionOf::kFrontier); !s.ok()) return s;
  absl::StatusOr<Prepared> asked = Prepare(call.input(), end, Use::kShown);
  if (!asked.ok()) return asked.status();
  const absl::StatusOr<FrontierAnswer> found =
      AnswerFrontier(asked->query, asked->cluster, {.cancelled = cancelled}, Threads());
  if (!found.ok()) return found.status();
  wire::FrontierReply reply;
  reply.set_version(cluster_.version());
  reply.set_now(asked->query.now_s);
  reply.set_nodes(asked->cluster.snapshot.nodes());
  PutFrontier(found->frontier.points, reply);
  if (found->prices) reply.set_currency(found->prices->currency);
  PutCluster(asked->cluster, reply);
  cluster_.PutFreshness(reply);
  return reply;
}

absl::StatusOr<wire::WhatIfReply> SessionQuestions::WhatIf(const wire::WhatIfCall& call,
                                                           std::optional<Clock::time_point> end,
                                                           const Deadline* cancelled) {
  if (absl::Status s = CheckTaken(call.input(), QuestionOf::kWhatIf); !s.ok()) return s;
  if (call.has_then()) {
    if (absl::Status s = CheckThen(call.then(), call.input()); !s.ok()) return s;
  }
  const std::string name =
      call.changes_name().empty() ? "changes" : std::string(call.changes_name());
  const absl::StatusOr<ebb::WhatIf> what_if = ParseWhatIf(name, call.changes());
  if (!what_if.ok()) return what_if.status();
  if (absl::Status s = CheckOptionsOfCall(*what_if, call.has_then()); !s.ok()) return s;
  absl::StatusOr<Prepared> before = Prepare(call.input(), end, Use::kShown);
  if (!before.ok()) return before.status();
  absl::StatusOr<ScratchCluster> copied = cluster_.ScratchCopy(before->cluster);
  if (!copied.ok()) return copied.status();
  LoadedCluster& cluster = copied->version.cluster;
  const auto plan_of = [&](const PlanQuery& query,
                           LoadedCluster& of) -> absl::StatusOr<nlohmann::ordered_json> {
    const auto answer = AnswerPlan(query, of, {.cancelled = cancelled}, Threads());
    if (!answer.ok()) return answer.status();
    return PlanJson((*answer)->Report());
  };
  const absl::StatusOr<nlohmann::ordered_json> plan_before = plan_of(before->query, cluster);
  if (!plan_before.ok()) return plan_before.status();

  PatchedCluster patched(*copied->live);
  const absl::StatusOr<std::vector<std::string>> notes =
      ApplyWhatIf(*what_if, cluster.snapshot, patched);
  if (!notes.ok()) return notes.status();
  LiveCluster::Version changed = copied->live->Unchecked();
  const wire::PlanInput& then = call.has_then() ? call.then() : call.input();
  std::optional<SessionSettings> parsed;
  const absl::StatusOr<const SessionSettings*> settings = cluster_.SettingsOf(then, parsed);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<PlanQuery> query =
      QueryOver(then, end, /*others=*/{}, **settings, changed.cluster);
  if (!query.ok()) return query.status();
  const absl::StatusOr<nlohmann::ordered_json> plan_after = plan_of(*query, changed.cluster);
  if (!plan_after.ok()) return plan_after.status();
  const absl::StatusOr<PlanComparison> comparison = ComparePlans(*plan_before, *plan_after);
  if (!comparison.ok()) return comparison.status();
  wire::WhatIfReply reply;
  reply.set_version(cluster_.version());
  reply.set_now(before->query.now_s);
  PutComparison(*comparison, *reply.mutable_differences());
  for (const std::string& note : *notes) reply.add_notes(note);
  PutCluster(cluster, reply);
  cluster_.PutFreshness(reply);
  return reply;
}

}  // namespace ebb
