#include "snapshot/workload_names.h"

#include <optional>

#include "base/check.h"
#include "snapshot/matching.h"

namespace ebb {

std::string_view DeploymentOf(const Catalog& catalog, const PodShape& shape) {
  if (shape.controller_kind != OwnerKind::kReplicaSet) return "";
  const std::string_view replica_set = catalog.Text(shape.controller.name);
  const std::optional<TextId> key = catalog.symbols().Find("pod-template-hash");
  const std::optional<TextId> hash = key ? FindLabel(shape.labels, *key) : std::nullopt;
  if (!hash) return "";
  const std::string_view text = catalog.Text(*hash);
  if (text.empty() || replica_set.size() < text.size() + 2) return "";
  const std::string_view name = replica_set.substr(0, replica_set.size() - text.size() - 1);
  return replica_set.ends_with(text) && replica_set[name.size()] == '-' ? name : "";
}

WorkloadName WorkloadNameOf(const Catalog& catalog, const PodShape& shape) {
  EBB_CHECK(shape.has_controller);
  if (const std::string_view name = DeploymentOf(catalog, shape); !name.empty()) {
    return {.kind = "Deployment", .name = name};
  }
  return {.kind = catalog.Text(shape.controller.kind), .name = catalog.Text(shape.controller.name)};
}

std::string_view CronJobOf(const Catalog& catalog, const PodShape& shape) {
  if (shape.controller_kind != OwnerKind::kJob) return "";
  const std::string_view job = catalog.Text(shape.controller.name);
  const size_t dash = job.rfind('-');
  return dash == std::string_view::npos ? "" : job.substr(0, dash);
}

}  // namespace ebb
