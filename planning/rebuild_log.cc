#include "planning/rebuild_log.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/text.h"

namespace ebb {
namespace {

size_t PlaceOf(const Rebuilt& rebuilt) {
  return rebuilt.cause ? static_cast<size_t>(*rebuilt.cause) : kRebuildCauses;
}

}  // namespace

std::string RebuildText(const TimedRebuild& rebuild) {
  return absl::StrCat(Absl(ToString(rebuild.rebuilt)), ", ",
                      DurationText(std::chrono::duration<double>(rebuild.seconds)),
                      rebuild.rebuilt.renewed_texts ? ", texts renewed" : "");
}

RebuildTotals::RebuildTotals() {
  for (size_t c = 0; c < kRebuildCauses; ++c) {
    by_cause[c].cause = ToString(static_cast<RebuildCause>(c));
  }
  by_cause.back().cause = ToString(Rebuilt());
}

void RebuildLog::OnEnd(const Rebuilt& rebuilt) {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  RebuildTotals::Total& total = totals_.by_cause[PlaceOf(rebuilt)];
  ++total.rebuilds;
  total.seconds += seconds;
  totals_.text_renewals += rebuilt.renewed_texts ? 1 : 0;
  if (on_rebuild_ != nullptr) on_rebuild_({.rebuilt = rebuilt, .seconds = seconds});
}

}  // namespace ebb
