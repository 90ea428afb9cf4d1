#include "snapshot/catalog.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "snapshot/devices.h"

namespace ebb {

OwnerKind OwnerKindOf(std::string_view kind) {
  if (kind == "DaemonSet") return OwnerKind::kDaemonSet;
  if (kind == "Job") return OwnerKind::kJob;
  if (kind == "ReplicaSet") return OwnerKind::kReplicaSet;
  if (kind == "ReplicationController") return OwnerKind::kReplicationController;
  if (kind == "StatefulSet") return OwnerKind::kStatefulSet;
  return OwnerKind::kOther;
}

bool PodMatcher::Matches(const PodShape& shape) const {
  if (!all_namespaces &&
      !std::binary_search(namespaces.begin(), namespaces.end(), shape.namespace_name)) {
    return false;
  }
  return selector.Matches(shape.labels);
}

Catalog::Catalog(std::shared_ptr<Symbols> symbols)
    : symbols_(std::move(symbols)), devices_(std::make_shared<Devices>()) {
  static std::atomic<uint64_t> last = 0;
  lineage_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
  for (const std::string_view name : {"cpu", "memory", "ephemeral-storage", "pods"}) {
    const TextId text = symbols_->Intern(name);
    resources_by_name_.emplace(text, ResourceId{static_cast<uint32_t>(resource_names_.size())});
    resource_names_.push_back(text);
  }
  symbols_->Intern(kDefaultGpuResource);
}

absl::StatusOr<NodeId> Catalog::FindNode(std::string_view name) const {
  if (const std::optional<TextId> text = symbols_->Find(name)) {
    if (auto it = nodes_by_name_.find(*text); it != nodes_by_name_.end()) return it->second;
  }
  return absl::NotFoundError(absl::StrCat("no node \"", Absl(name), "\""));
}

absl::StatusOr<PodId> Catalog::FindPod(std::string_view namespace_name,
                                       std::string_view name) const {
  const std::optional<TextId> namespace_id = symbols_->Find(namespace_name);
  const std::optional<TextId> text = symbols_->Find(name);
  if (namespace_id && text && *text != kNoText) {
    if (const PodId pod = FindPod(*namespace_id, *text); pod != kNoPod) return pod;
  }
  return absl::NotFoundError(
      absl::StrCat("no pod \"", Absl(namespace_name), "/", Absl(name), "\""));
}

PodId Catalog::FindPod(TextId namespace_name, TextId name) const {
  if (!pods_by_name_.empty()) {
    const auto it = pods_by_name_.find({namespace_name, name});
    return it == pods_by_name_.end() ? kNoPod : it->second;
  }
  for (uint32_t p = 0; p < pods_.size(); ++p) {
    const PodId pod{p};
    if (pods_[p].name == name && shape_of(pod).namespace_name == namespace_name) return pod;
  }
  return kNoPod;
}

bool Catalog::IsFreeOfBudgets(PodId id) const {
  const PodShape& shape = shape_of(id);
  if (shape.terminating || shape.phase == PodPhase::kPending || HasEnded(shape)) return true;
  return IsUnready(id) && shape.budgets.size() == 1 &&
         pdbs_[Index(shape.budgets.front())].FreesUnready();
}

std::string Catalog::PodName(PodId id) const {
  return absl::StrCat(Absl(Text(shape_of(id).namespace_name)), "/", Absl(Text(pod(id).name)));
}

std::vector<PodId> Catalog::BufferPods() const {
  std::vector<PodId> pods;
  for (size_t p = BufferPodsBegin(); p < BufferPodsEnd(); ++p) {
    pods.push_back(PodId{static_cast<uint32_t>(p)});
  }
  return pods;
}

bool Catalog::version_matters() const {
  return version_matters_ || storage_->SomePreventScheduling() || devices_->DependOnVersion();
}

std::optional<ResourceId> Catalog::FindResource(std::string_view name) const {
  if (const std::optional<TextId> text = symbols_->Find(name)) {
    if (auto it = resources_by_name_.find(*text); it != resources_by_name_.end()) return it->second;
  }
  return std::nullopt;
}

const ControllerStatus* Catalog::FindController(objects::ControllerKind kind, TextId namespace_name,
                                                TextId name) const {
  const auto it = controllers_.find({kind, namespace_name, name});
  return it == controllers_.end() ? nullptr : &it->second;
}

const LabelSet* Catalog::FindNamespaceLabels(TextId name) const {
  const auto it = namespace_labels_.find(name);
  return it == namespace_labels_.end() ? nullptr : &it->second;
}

std::optional<ClaimId> Catalog::FindClaim(TextId namespace_name, TextId name) const {
  const auto it = claims_.find({namespace_name, name});
  if (it == claims_.end()) return std::nullopt;
  return it->second;
}

}  // namespace ebb
