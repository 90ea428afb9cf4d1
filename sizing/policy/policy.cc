#include "sizing/policy/policy.h"

namespace ebb {

std::string_view Name(PolicyDirection direction) {
  switch (direction) {
    case PolicyDirection::kStay:
      return "stay";
    case PolicyDirection::kUp:
      return "up";
    case PolicyDirection::kDown:
      break;
  }
  return "down";
}

PolicyDecision Denied(std::string_view check, std::string_view reason) {
  PolicyDecision decision;
  decision.denied_by = check;
  decision.reason = reason;
  return decision;
}

bool Policy::SetFailsafe(bool /*on*/, std::string* /*state*/) const { return false; }

bool Policy::InFailsafe(std::string_view /*state*/) const { return false; }

}  // namespace ebb
