// Flags of a question (planning/plan_query.h): each is a row that fills a member, with the
// range of planning/query_fields.h.  `ebb plan --optimize --trials 20`.

#ifndef EBB_CLI_FLAGS_QUERY_FLAGS_H_
#define EBB_CLI_FLAGS_QUERY_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "planning/plan_query.h"
#include "planning/query_fields.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace ebb {

struct QueryFlags {
  PlanQuery query;        // Without search and trials, which are put together below.
  bool optimize = false;  // Whether there is a search.
  SearchQuery search;     // But for `budget` and `objective`.
  std::string budget = "1s";
  std::string objective = "nodes";
  [[nodiscard]] bool ForCost() const { return objective == "cost"; }

  // How often the plan is tried out; 0: not, or with `robust` as often as TrialQuery says.
  uint32_t trials = 0;
  TrialQuery trial;  // Its number is that of `trials`, its seed that of the search.

  // What the flags ask.  REQUIRES: flags that were checked.
  [[nodiscard]] PlanQuery Query() const;

  // Search and trials.
  void AddTo(CLI::App& app);
  // What stands among the flags of a pass.
  void AddLimitsTo(CLI::App& app);

 private:
  [[nodiscard]] std::optional<SearchQuery> Search() const;
  [[nodiscard]] std::optional<TrialQuery> Trials() const;
};

CLI::Validator WholeNumberIn(const FieldRange<uint64_t>& range);
// --seed of a search.
void AddSeedFlag(uint64_t& seed, const char* help, CLI::App& app);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_QUERY_FLAGS_H_
