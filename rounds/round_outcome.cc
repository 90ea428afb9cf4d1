#include "rounds/round_outcome.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/plan/check_input.h"
#include "groups/groups.h"
#include "platform/clock.h"
#include "report/plan_json.h"
#include "report/plan_warnings.h"
#include "rounds/round_events.h"
#include "rounds/round_record.h"
#include "rounds/round_report.h"

namespace ebb {
namespace {

// Records at which query a deadline had expired, so that a replay can cut the pass at the same
// point.
class NotedDeadline final : public Deadline {
 public:
  explicit NotedDeadline(const Deadline& deadline) : deadline_(deadline) {}

  [[nodiscard]] bool Expired() const override {
    ++questions_;
    const bool expired = deadline_.Expired();
    if (expired && expired_at_ == 0) expired_at_ = questions_;
    return expired;
  }
  [[nodiscard]] int64_t expired_at() const { return expired_at_; }

 private:
  const Deadline& deadline_;
  mutable int64_t questions_ = 0;
  mutable int64_t expired_at_ = 0;
};

// The plan as it is reported: `packed` contains only pending pods.
PlanResult PlanOfRound(const LoadedCluster& cluster, const RoundResult& result,
                       NodesOutsideThePlan outside) {
  PlanResult made;
  made.plan = result.plan;
  made.plan.skipped.insert(made.plan.skipped.end(), outside.not_judged.begin(),
                           outside.not_judged.end());
  const absl::flat_hash_set<PodId> pending(cluster.pending.begin(), cluster.pending.end());
  std::erase_if(made.plan.packed, [&](const Move& move) { return !pending.contains(move.pod); });
  made.excluded = std::move(outside.excluded);
  made.passes = 1;
  return made;
}

// Fills in the report of the round from its result.
void FillReport(LoadedCluster& cluster, const ActuationStatus& actuation, RoundOutcome& round) {
  const Catalog& catalog = cluster.snapshot.catalog();
  round.made = PlanOfRound(cluster, round.result,
                           OutsideThePlan(cluster.snapshot, round.groups, actuation, round.result));
  round.request.pass.now_s = round.result.now_s;
  // These warnings are not among the arguments of a record, since a replay finds them again.
  WarnOfPlan(cluster.snapshot, round.groups, round.request, round.made, cluster.warnings);
  round.report = MakeReport({.cluster = &cluster,
                             .groups = &round.groups,
                             .request = &round.request,
                             .made = &round.made,
                             .pass_s = round.seconds});
  round.json = std::make_unique<nlohmann::ordered_json>(PlanJson(*round.report));
  PutRound(catalog, round.groups, actuation, round.number, round.result, *round.json);
}

}  // namespace

RoundOutcome::RoundOutcome() = default;
RoundOutcome::~RoundOutcome() = default;

absl::StatusOr<std::unique_ptr<RoundOutcome>> MakeRound(ScaleDown& scale_down,
                                                        LoadedCluster& cluster,
                                                        const RoundSettings& settings,
                                                        int64_t number, int64_t now_s,
                                                        const Deadline* deadline) {
  if (absl::Status s = CheckTime("now_s", now_s); !s.ok()) return s;
  auto round = std::make_unique<RoundOutcome>();
  round->number = number;
  round->now_s = now_s;
  round->groups = AssignGroups(cluster.snapshot.catalog(), settings.groups);
  CountUnregistered(settings.report, settings.groups, round->groups, round->log);
  ResolvedEvents events = Resolve(settings.report, cluster.snapshot, round->groups, now_s);
  round->log.insert(round->log.end(), events.log.begin(), events.log.end());
  round->failed_deletions = std::move(events.failed_deletions);
  round->deletions_in_progress =
      static_cast<int64_t>(events.actuation.empty.size() + events.actuation.drained.size());
  for (const auto& group : settings.report.unregistered) round->unregistered_nodes += group.count;
  round->request.planner = scale_down.options().planner;
  round->request.order = settings.options.candidate_order;
  round->request.pass.now_s = now_s;

  RoundInput input;
  input.now_s = now_s;
  input.actuation = &events.actuation;
  input.events = events.scale_events;
  input.ended = events.ended;
  input.order = settings.options.candidate_order;
  input.pending = cluster.pending;
  std::optional<NotedDeadline> noted;
  if (deadline != nullptr) input.deadline = &noted.emplace(*deadline);
  const Clock::time_point start = Clock::now();
  absl::StatusOr<RoundResult> result = scale_down.Round(cluster.snapshot, round->groups, input);
  if (!result.ok()) return result.status();
  round->result = *std::move(result);
  round->seconds = SecondsSince(start);
  if (noted) round->deadline_question = noted->expired_at();
  round->arguments = ArgumentsText(settings.options, settings.texts, settings.report,
                                   cluster.warnings, round->deadline_question);
  round->log.insert(round->log.end(), round->result.log.begin(), round->result.log.end());
  FillReport(cluster, events.actuation, *round);
  return round;
}

}  // namespace ebb
