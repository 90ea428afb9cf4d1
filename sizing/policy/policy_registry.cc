#include "sizing/policy/policy_registry.h"

#include <fmt/format.h>

#include <utility>

#include "base/nearest.h"
#include "sizing/policy/policy_schools.h"

namespace ebb {

PolicyRegistry::PolicyRegistry() {
  for (PolicySchool school :
       {ClustermanSchool(), EscalatorSchool(), MaestroSchool(), ReplicatorSchool()}) {
    schools_.emplace(school.name, school);
  }
}

bool PolicyRegistry::Add(PolicySchool school) {
  if (school.name.empty() || !school.make) return false;
  std::string name = school.name;
  return schools_.emplace(std::move(name), std::move(school)).second;
}

const PolicySchool* PolicyRegistry::Find(std::string_view name) const {
  const auto found = schools_.find(name);
  return found == schools_.end() ? nullptr : &found->second;
}

std::vector<std::string> PolicyRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, school] : schools_) names.push_back(name);
  return names;
}

std::unique_ptr<Policy> PolicyRegistry::Make(std::string_view name, const PolicySettings& settings,
                                             std::vector<PolicyProblem>* problems) const {
  const PolicySchool* school = Find(name);
  if (school != nullptr) return school->make(settings, problems);
  const std::string nearest = Nearest(name, Names());
  problems->push_back(
      {.path = "policy",
       .what = fmt::format("no policy has the name \"{}\"{}", name,
                           nearest.empty() ? "" : "; did you mean " + nearest + "?")});
  return nullptr;
}

}  // namespace ebb
