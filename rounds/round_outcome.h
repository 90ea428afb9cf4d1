// MakeRound makes a round over a cluster that is there, and tells it as data.
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

// What a round decided, and what telling it needs.
struct RoundOutcome {
  RoundOutcome();
  ~RoundOutcome();
  RoundOutcome(const RoundOutcome&) = delete;
  RoundOutcome& operator=(const RoundOutcome&) = delete;

  int64_t number = 0;
  int64_t now_s = 0;  // That it was made for; result.now_s is the one that counted.
  NodeGroups groups;
  PlanRequest request;
  PlanResult made;
  RoundResult result;
  std::optional<PlanReport> report;  // Borrows from the above and from the cluster.
  // The plan (plan_json.h) and what a round adds to it (round_report.h).
  std::unique_ptr<nlohmann::ordered_json> json;
  double seconds = 0;  // That the round took.
  int64_t deletions_in_progress = 0;
  std::vector<std::string> failed_deletions;  // The result of each.
  // The number of the first question to the deadline, from 1, that it answered with yes;
  // 0: it never did; absent: there was no deadline.
  std::optional<int64_t> deadline_question;
  int64_t unregistered_nodes = 0;  // As the events tell it.
  // What a record says of all that it was given (round_record.h).
  std::string arguments;
  std::vector<std::string> log;  // What was odd, a line each.
};

// `scale_down` goes on by a round, the `number`-th, from 1.  `deadline`: of its pass; null: there
// is time for all. Errors: those of ScaleDown::Round; it has not gone on then.
absl::StatusOr<std::unique_ptr<RoundOutcome>> MakeRound(ScaleDown& scale_down,
                                                        LoadedCluster& cluster,
                                                        const RoundSettings& settings,
                                                        int64_t number, int64_t now_s,
                                                        const Deadline* deadline = nullptr);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_OUTCOME_H_
