#include "predicates/inter_pod_affinity.h"

namespace ebb {
std::string_view ReasonOf(InterPodVerdict verdict) {
  switch (verdict) {
    case InterPodVerdict::kFits:
      return "";
    case InterPodVerdict::kAffinity:
      return "node(s) didn't match pod affinity rules";
    case InterPodVerdict::kAntiAffinity:
      return "node(s) didn't match pod anti-affinity rules";
    case InterPodVerdict::kExistingAntiAffinity:
      return "node(s) didn't satisfy existing pods anti-affinity rules";
  }
  return "";
}

}  // namespace ebb
