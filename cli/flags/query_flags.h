// Flags of a question (planning/plan_query.h).  Each flag is a row that fills a member, with a
// range from planning/query_fields.h.  Example: `ebb plan --optimize --trials 20`.

#ifndef EBB_CLI_FLAGS_QUERY_FLAGS_H_
#define EBB_CLI_FLAGS_QUERY_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "groups/prices.h"
#include "planning/plan_query.h"
#include "planning/query_fields.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace ebb {

struct QueryFlags {
  PlanQuery query;        // Without search, trials and stable; Query() adds them.
  bool optimize = false;  // Whether a search was requested.
  SearchQuery search;     // Without `budget` and `objective`.
  std::string budget = "1s";
  std::string objective = "nodes";
  [[nodiscard]] bool ForCost() const { return objective == "cost"; }

  // How many trials to run; 0: none, or with `robust` the default of TrialQuery.
  uint32_t trials = 0;
  TrialQuery trial;  // Its number comes from `trials`, its seed from the search.

  bool keeps = false;  // Whether a stable plan was requested.
  StableOptions stable;

  // The question that the flags ask.  REQUIRES: the flags were checked.
  [[nodiscard]] PlanQuery Query() const;

  // Adds the flags of search, trials and stable plans.
  void AddTo(CLI::App& app);
  // Adds the flags that are listed with those of a pass.
  void AddLimitsTo(CLI::App& app);

 private:
  [[nodiscard]] std::optional<SearchQuery> Search() const;
  [[nodiscard]] std::optional<TrialQuery> Trials() const;
};

// Adds --prices and --price-rule.
void AddPriceFlags(std::vector<std::string>& prices, std::vector<std::string>& rules,
                   const std::string& group, CLI::App& app);
// REQUIRES: the flags were checked.
PriceRules ParsePriceRules(const std::vector<std::string>& rules);

CLI::Validator WholeNumberIn(const FieldRange<uint64_t>& range);
// Adds --seed of a search.
void AddSeedFlag(uint64_t& seed, const char* help, CLI::App& app);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_QUERY_FLAGS_H_
