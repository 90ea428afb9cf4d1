#include "sizing/policy/replicator/replicator_state.h"

namespace ebb {

ReplicatorFailsafeAnswer SetFailsafe(bool on, std::optional<ReplicatorState>* state) {
  if (!*state) return ReplicatorFailsafeAnswer::kNoState;
  if ((*state)->failsafe == on) return ReplicatorFailsafeAnswer::kAlreadySo;
  (*state)->failsafe = on;
  if (!on) (*state)->failure_count = 0;
  return ReplicatorFailsafeAnswer::kDone;
}

std::string_view Name(ReplicatorCallKind kind) {
  switch (kind) {
    case ReplicatorCallKind::kSetDesired:
      return "SetDesired";
    case ReplicatorCallKind::kReadInstances:
      return "ReadInstances";
    case ReplicatorCallKind::kFindNewest:
      return "FindNewest";
    case ReplicatorCallKind::kFindMember:
      return "FindMember";
    case ReplicatorCallKind::kDrain:
      return "Drain";
    case ReplicatorCallKind::kReadAllocations:
      return "ReadAllocations";
    case ReplicatorCallKind::kDetach:
      return "Detach";
    case ReplicatorCallKind::kReadDetach:
      return "ReadDetach";
    case ReplicatorCallKind::kTerminate:
      return "Terminate";
    case ReplicatorCallKind::kReadTermination:
      return "ReadTermination";
  }
  return "";
}

}  // namespace ebb
