// A policy that decides what a test sets, and records its calls.

#ifndef EBB_TESTS_SIZING_FIXED_POLICY_FILE_H_
#define EBB_TESTS_SIZING_FIXED_POLICY_FILE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sizing/policy/policy.h"

namespace ebb::test {

class FixedPolicyFile : public Policy {
 public:
  // For the next round; 0 afterwards.
  mutable int64_t delta = 0;
  std::optional<std::vector<std::string>> order{};
  // For the next round; empty afterwards.
  mutable std::vector<PolicyTaint> taints{};
  mutable std::vector<std::string> remove{};
  bool one_at_a_time = false;
  mutable std::vector<bool> ended{};
  mutable PolicyObservation seen{};
  mutable size_t rounds = 0;

  PolicyDecision Decide(const PolicyObservation& observation, int64_t /*now_s*/,
                        std::string* state) const override {
    seen = observation;
    *state = std::to_string(++rounds);
    PolicyDecision decision;
    decision.delta = delta;
    decision.reason = "fixed";
    decision.candidates = order;
    decision.taints = std::exchange(taints, {});
    decision.remove = std::exchange(remove, {});
    delta = 0;
    return decision;
  }
  void Ended(bool succeeded, int64_t /*now_s*/, std::string* /*state*/) const override {
    ended.push_back(succeeded);
  }
  [[nodiscard]] bool OneActionAtATime() const override { return one_at_a_time; }
};

}  // namespace ebb::test

#endif  // EBB_TESTS_SIZING_FIXED_POLICY_FILE_H_
