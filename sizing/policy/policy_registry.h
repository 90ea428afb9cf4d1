// PolicyRegistry: finds policies by name.  A user's policy is one file: a class, its keys and a
// PolicySchool, which Add registers under its name.
//
//   PolicyRegistry registry;
//   const bool added = registry.Add({.name = "fixed", .keys = FixedKeys(), .make = MakeFixed});
//
// Threads: const methods may run concurrently.
// Errors:  Make reports problems of the settings, each with the path of its key.

#ifndef EBB_SIZING_POLICY_POLICY_REGISTRY_H_
#define EBB_SIZING_POLICY_POLICY_REGISTRY_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/policy.h"
#include "sizing/policy/policy_school.h"
#include "sizing/policy/policy_settings.h"

namespace ebb {

class PolicyRegistry {
 public:
  PolicyRegistry();  // clusterman, escalator, maestro, replicator.

  // Returns false, and changes nothing, if the name is empty or taken or `make` is missing.
  [[nodiscard]] bool Add(PolicySchool school);

  // Borrowed from this registry; null if no school has this name.
  [[nodiscard]] const PolicySchool* Find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> Names() const;  // Sorted.

  // Returns null and adds to *problems if there is no such policy or the settings are wrong.
  std::unique_ptr<Policy> Make(std::string_view name, const PolicySettings& settings,
                               std::vector<PolicyProblem>* problems) const;

 private:
  std::map<std::string, PolicySchool, std::less<>> schools_;
};

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_REGISTRY_H_
