#include "predicates/pod_topology_spread.h"

namespace ebb {
std::string_view ReasonOf(SpreadVerdict verdict) {
  switch (verdict) {
    case SpreadVerdict::kFits:
      return "";
    case SpreadVerdict::kMissingLabel:
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    case SpreadVerdict::kTooSkewed:
      return "node(s) didn't match pod topology spread constraints";
  }
  return "";
}

}  // namespace ebb
