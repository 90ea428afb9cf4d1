// PolicySchool: a policy's name, its keys and how one is made of settings.
//
// Threads: `make` may be called by many at once.

#ifndef EBB_SIZING_POLICY_POLICY_SCHOOL_H_
#define EBB_SIZING_POLICY_POLICY_SCHOOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sizing/policy/policy.h"
#include "sizing/policy/policy_settings.h"

namespace ebb {

struct PolicyProblem {
  std::string path;  // Of a key; empty: of all together.
  std::string what;

  bool operator==(const PolicyProblem&) const = default;
};

struct PolicySchool {
  std::string name;
  std::string summary{};          // One sentence, without its full stop.
  std::vector<PolicyKey> keys{};  // In the order of a sample.
  // Null, with at least one problem, if the settings make no policy.  The settings have keys of
  // `keys` only, of their types and in their ranges, and all that are required.
  std::function<std::unique_ptr<Policy>(const PolicySettings& settings,
                                        std::vector<PolicyProblem>* problems)>
      make;
  // Seconds from round to round of the program, by its own settings.  Null: it says nothing.
  std::function<int64_t(const PolicySettings& settings)> period_s = nullptr;
  // The key that tells it; empty: it is a flag of the program, and this its default.
  std::string period_key{};
  // Which version of the program's rules these are: "Clusterman, commit 55d0831 of October 2023".
  // Empty: it follows no program.
  std::string follows{};
  // Keys of the program's own file that decide nothing here; "aws" stands for all below it.  Of
  // any other key that is not among `keys`, a reader warns.
  std::vector<std::string> others{};
};

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_SCHOOL_H_
