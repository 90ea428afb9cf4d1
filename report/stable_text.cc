#include "report/stable_text.h"

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb {
namespace {

std::string ReasonOf(const Catalog& catalog, const PlanChange& change) {
  std::string text = absl::StrCat(Absl(ToString(change.reason)));
  if (change.pod != kNoPod) absl::StrAppend(&text, " ", catalog.PodName(change.pod));
  if (change.blocking_reason != BlockingPodReason::kNoReason) {
    absl::StrAppend(&text, change.pod != kNoPod ? ": " : " ",
                    Absl(ToString(change.blocking_reason)));
  }
  return text;
}

}  // namespace

std::string StableChangeText(const Catalog& catalog, const PlanChange& change) {
  const bool has_reason = change.reason != UnremovableReason::kNoReason;
  if (change.removes) {
    return has_reason ? absl::StrCat("was ", ReasonOf(catalog, change))
                      : "the last plan did not judge it";
  }
  if (has_reason) return ReasonOf(catalog, change);
  return change.node == kNoNode ? "is no longer in the cluster" : "this plan did not reach it";
}

}  // namespace ebb
