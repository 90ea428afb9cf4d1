// PolicySchool: a policy's name, its keys, and the function that makes the policy from settings.
//
// Threads: `make` may be called concurrently.

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
  std::string path;  // Of a key; empty: the problem concerns no single key.
  std::string what;

  bool operator==(const PolicyProblem&) const = default;
};

struct PolicySchool {
  std::string name;
  std::string summary{};          // One sentence, without its full stop.
  std::vector<PolicyKey> keys{};  // In the order in which a sample file lists them.
  // Returns null and adds at least one problem if the settings make no valid policy.  The settings
  // contain only keys of `keys`, with the right types and ranges, and every required key.
  std::function<std::unique_ptr<Policy>(const PolicySettings& settings,
                                        std::vector<PolicyProblem>* problems)>
      make;
  // Seconds between the rounds of the original program, by its own settings.  Null: unknown.
  std::function<int64_t(const PolicySettings& settings)> period_s = nullptr;
  // The key that sets this period.  Empty: a flag of the program sets it, and period_s is its
  // default.
  std::string period_key{};
  // The version of the program whose rules these are: "Clusterman, commit 55d0831 of October 2023".
  // Empty: the policy follows no program.
  std::string follows{};
  // Keys of the program's own file that decide nothing here; "aws" stands for every key below it.
  // A reader warns of any other key that is not in `keys`.
  std::vector<std::string> others{};
};

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_SCHOOL_H_
