#include "cli/policies/pool_figures.h"

#include <utility>

#include "platform/settings_file.h"

namespace ebb {

absl::StatusOr<PoolFigures> ReadPoolFigures(const std::string& series,
                                            const std::vector<std::string>& usage) {
  PoolFigures figures;
  if (!series.empty()) {
    const absl::StatusOr<std::string> text = ReadWholeFile(series, kDataLimits.bytes);
    if (!text.ok()) return text.status();
    absl::StatusOr<std::vector<SignalPoint>> points = ReadSignals(series, *text);
    if (!points.ok()) return points.status();
    figures.points = *std::move(points);
  }
  for (const std::string& each : usage) {
    const absl::StatusOr<std::string> text = ReadWholeFile(each, kDataLimits.bytes);
    if (!text.ok()) return text.status();
    if (absl::Status s = figures.usage.Read(each, *text); !s.ok()) return s;
  }
  return figures;
}

}  // namespace ebb
