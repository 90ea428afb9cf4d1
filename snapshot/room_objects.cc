#include "snapshot/room_objects.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "snapshot/objects/visit_fields.h"

namespace ebb {
namespace {

constexpr auto kGangKindNames = std::to_array<std::string_view>(
    {"PodGroup", "PodGroup.scheduling.x-k8s.io", "pod-group.scheduling.sigs.k8s.io",
     "PodGroup.scheduling.volcano.sh", "pod group of Kueue", "JobSet", "LeaderWorkerSet",
     "RayCluster"});

// Moves every text of an object into `texts`, so that the object outlives its input.
class TextOwner {
 public:
  explicit TextOwner(std::deque<std::string>& texts) : texts_(texts) {}

  void operator()(std::string_view /*name*/, auto& field) { Own(field); }

 private:
  void Own(objects::Text& text) {
    if (!text.empty()) text = texts_.emplace_back(text);
  }
  template <typename T>
  void Own(std::vector<T>& list) {
    for (T& each : list) Own(each);
  }
  template <typename T>
  void Own(std::optional<T>& value) {
    if (value) Own(*value);
  }
  template <objects::HasFields Struct>
  void Own(Struct& object) {
    objects::VisitFields(object, *this);
  }
  template <typename Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void Own(Number&) {}

  std::deque<std::string>& texts_;
};

std::optional<int64_t> AmountIn(const objects::ResourceList& list, std::string_view name) {
  const auto it = std::ranges::find(list, name, &objects::ResourceAmount::name);
  return it == list.end() ? std::nullopt : std::optional(it->amount);
}

using Vpas = objects::VerticalPodAutoscaler;

// The container's own policy, else the one for all containers; null if there is neither.
const Vpas::Policy* PolicyOf(const Vpas& vpa, std::string_view container) {
  const Vpas::Policy* of_all = nullptr;
  for (const Vpas::Policy& policy : vpa.policies) {
    if (policy.container == container) return &policy;
    if (policy.container == "*") of_all = &policy;
  }
  return of_all;
}

std::optional<int64_t> TargetOf(const Vpas::Recommendation& recommended, const Vpas::Policy* policy,
                                std::string_view resource) {
  std::optional<int64_t> target = AmountIn(recommended.target, resource);
  if (!target || policy == nullptr) return target;
  if (policy->has_controlled &&
      std::ranges::find(policy->controlled, resource) == policy->controlled.end()) {
    return std::nullopt;
  }
  if (const auto least = AmountIn(policy->min_allowed, resource))
    target = std::max(*target, *least);
  if (const auto most = AmountIn(policy->max_allowed, resource)) target = std::min(*target, *most);
  return target;
}

}  // namespace

struct RoomObjects::OwnedPod {
  objects::Pod pod;
  std::deque<std::string> texts;  // A deque: their addresses do not change.
};

std::string_view ToString(GangKind kind) { return kGangKindNames[static_cast<size_t>(kind)]; }

const RoomObjects::Vpa::Target* RoomObjects::Vpa::Find(TextId container) const {
  const auto it = std::ranges::find(targets, container, &Target::container);
  return it == targets.end() ? nullptr : &*it;
}

void RoomObjects::Put(const objects::PodGroup& group, Symbols& symbols) {
  GangKind kind = GangKind::kPodGroup;
  if (group.group == "scheduling.x-k8s.io") kind = GangKind::kCoscheduling;
  if (group.group == "scheduling.volcano.sh") kind = GangKind::kVolcano;
  groups_[{kind, symbols.Intern(group.meta.namespace_name), symbols.Intern(group.meta.name)}] = {
      .min_count = group.min_count,
      .whole = group.whole,
      .not_understood = std::string(group.not_understood)};
}

void RoomObjects::Put(const objects::PodTemplate& from, Symbols& symbols) {
  auto owned = std::make_shared<OwnedPod>();
  owned->pod = from.pod;
  TextOwner owner(owned->texts);
  objects::VisitFields(owned->pod, owner);
  templates_[{symbols.Intern(from.meta.namespace_name), symbols.Intern(from.meta.name)}] =
      std::move(owned);
}

void RoomObjects::Put(const objects::CapacityBuffer& buffer, Symbols& symbols) {
  buffers_.push_back({.namespace_name = symbols.Intern(buffer.meta.namespace_name),
                      .name = symbols.Intern(buffer.meta.name),
                      .uid = std::string(buffer.meta.uid),
                      .strategy = std::string(buffer.strategy),
                      .template_name = symbols.Intern(buffer.template_name),
                      .replicas = buffer.replicas,
                      .ready = buffer.ready});
}

void RoomObjects::Put(const objects::VerticalPodAutoscaler& vpa, Symbols& symbols) {
  if (vpa.update_mode == "Off") return;
  Vpa made{.name = symbols.Intern(vpa.meta.name),
           .creation_time = vpa.meta.creation_time,
           .has_recommendation = vpa.has_recommendation,
           .not_understood = std::string(vpa.not_understood),
           .targets = {}};
  for (const Vpas::Recommendation& each : vpa.recommendations) {
    const Vpas::Policy* const policy = PolicyOf(vpa, each.container);
    if (policy != nullptr && policy->mode == "Off") continue;
    made.targets.push_back({.container = symbols.Intern(each.container),
                            .cpu_milli = TargetOf(each, policy, "cpu"),
                            .memory_bytes = TargetOf(each, policy, "memory")});
  }
  const VpaTarget& target =
      vpa_targets_.emplace_back(VpaTarget{.namespace_name = symbols.Intern(vpa.meta.namespace_name),
                                          .vpa = made.name,
                                          .kind = symbols.Intern(vpa.target_kind),
                                          .name = symbols.Intern(vpa.target_name)});
  Vpa& held = vpas_[{target.namespace_name, target.kind, target.name}];
  const auto age = [&](const Vpa& each) {
    return std::pair(each.creation_time, symbols.Text(each.name));
  };
  if (held.name == kNoText || age(made) < age(held)) held = std::move(made);
}

void RoomObjects::Put(const objects::EvictionRequest& request, Symbols& symbols) {
  if (!request.active) return;
  const TextId namespace_name = symbols.Intern(request.meta.namespace_name);
  const TextId uid = request.uid.empty() ? kNoText : symbols.Intern(request.uid);
  eviction_requests_.try_emplace({namespace_name, symbols.Intern(request.pod), uid},
                                 symbols.Intern(request.meta.name));
  eviction_namespaces_.insert(namespace_name);
}

TextId RoomObjects::FindEvictionRequest(TextId namespace_name, TextId pod, TextId uid) const {
  for (const TextId asked : {uid, kNoText}) {
    const auto it = eviction_requests_.find({namespace_name, pod, asked});
    if (it != eviction_requests_.end()) return it->second;
  }
  return kNoText;
}

const RoomObjects::Group* RoomObjects::FindGroup(GangKind kind, TextId namespace_name,
                                                 TextId name) const {
  const auto it = groups_.find({kind, namespace_name, name});
  return it == groups_.end() ? nullptr : &it->second;
}

const RoomObjects::Vpa* RoomObjects::FindVpa(TextId namespace_name, TextId kind,
                                             TextId name) const {
  const auto it = vpas_.find({namespace_name, kind, name});
  return it == vpas_.end() ? nullptr : &it->second;
}

const objects::Pod* RoomObjects::FindTemplate(TextId namespace_name, TextId name) const {
  const auto it = templates_.find({namespace_name, name});
  return it == templates_.end() ? nullptr : &it->second->pod;
}

}  // namespace ebb
