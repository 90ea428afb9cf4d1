#include "rounds/round_settings.h"

#include <utility>

namespace ebb {

absl::StatusOr<RoundSettings> MakeSettings(const RoundOptions& options, RoundTexts texts) {
  RoundSettings settings;
  if (texts.groups) {
    absl::StatusOr<GroupRules> groups = ParseGroups(texts.groups->name, texts.groups->text);
    if (!groups.ok()) return groups.status();
    settings.groups = *std::move(groups);
  }
  SetGroupSizes(texts.group_sizes, settings.groups);
  settings.groups.readiness = options.readiness;
  settings.groups.rule_set = options.rules;
  settings.groups.max_node_startup_time_s = options.scale_down.max_node_startup_time_s;
  if (texts.events) {
    absl::StatusOr<DeletionReport> report = ParseEvents(texts.events->name, texts.events->text);
    if (!report.ok()) return report.status();
    settings.report = *std::move(report);
  }
  settings.options = options;
  settings.texts = std::move(texts);
  return settings;
}

}  // namespace ebb
