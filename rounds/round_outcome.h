// MakeRound makes a round over a loaded cluster, and describes it as data.
//
// Threads: none.

#ifndef EBB_ROUNDS_ROUND_OUTCOME_H_
#define EBB_ROUNDS_ROUND_OUTCOME_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "engine/make_plan.h"
#include "engine/scale_down/round.h"
#include "report/plan_report.h"
#include "rounds/round_settings.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

// What a round decided, and the data that a report of it needs.
struct RoundOutcome {
  RoundOutcome();
  ~RoundOutcome();
  RoundOutcome(const RoundOutcome&) = delete;
  RoundOutcome& operator=(const RoundOutcome&) = delete;

  int64_t number = 0;
  // The time for which the round was requested; result.now_s is the time that it used.
  int64_t now_s = 0;
  NodeGroups groups;
  PlanRequest request;
  PlanResult made;
  RoundResult result;
  std::optional<PlanReport> report;  // Borrows from the fields above and from the cluster.
  // The plan (plan_json.h) and what a round adds to it (round_report.h).
  std::unique_ptr<nlohmann::ordered_json> json;
  double seconds = 0;  // How long the round took.
  int64_t deletions_in_progress = 0;
  std::vector<std::string> failed_deletions;  // The result of each.
  // How many times the deadline had been asked when it first answered that it had expired; 0: it
  // never expired; absent: there was no deadline.
  std::optional<int64_t> deadline_question;
  int64_t unregistered_nodes = 0;  // As the events report it.
  // What a record stores of the round's arguments (round_record.h).
  std::string arguments;
  std::vector<std::string> log;  // Oddities, one line each.
};

// Makes round `number` (from 1) with `scale_down`.  `deadline`: for its pass; null: no time limit.
// Errors: those of ScaleDown::Round; then `scale_down` is unchanged.
absl::StatusOr<std::unique_ptr<RoundOutcome>> MakeRound(ScaleDown& scale_down,
                                                        LoadedCluster& cluster,
                                                        const RoundSettings& settings,
                                                        int64_t number, int64_t now_s,
                                                        const Deadline* deadline = nullptr);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_OUTCOME_H_
