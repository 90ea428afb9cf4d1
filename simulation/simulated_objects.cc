#include "simulation/simulated_objects.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "loop/actuator.h"
#include "snapshot/objects/disruption_protection.h"
#include "snapshot/objects/listed_pods.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

constexpr std::string_view kBareNamespace = "default";

template <typename Struct>
const Struct& As(const UnpackedObject& object) {
  return *std::get<const Struct*>(object.ref());
}

const objects::OwnerReference* ControllerOf(const objects::Pod& pod) {
  for (const objects::OwnerReference& owner : pod.meta.owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

// When an earlier loop marked the node as a candidate for deletion.
std::optional<int64_t> SoftTaintOf(const objects::Node& node) {
  for (const objects::Taint& taint : node.taints) {
    if (taint.key == kSoftTaint) return ParseInt64(taint.value).value_or(node.meta.creation_time);
  }
  return std::nullopt;
}

}  // namespace

void SimulatedObjects::Put(const objects::ObjectRef& object, Change::Type type) {
  const Change change{.type = type, .object = object};
  const absl::Status taken = live_.Take({&change, 1});
  EBB_CHECK(taken.ok());
}

void SimulatedObjects::Put(const objects::StorageObject& object, bool gone) {
  Put(objects::ObjectRef(&object), gone ? Change::Type::kDelete : Change::Type::kPut);
}

absl::Status SimulatedObjects::OnNode(const objects::Node& node) {
  const Change change{.object = &node};
  if (absl::Status s = live_.Take({&change, 1}); !s.ok()) return s;
  nodes_by_name_[std::string(node.meta.name)] = nodes_.size();
  nodes_.push_back({.name = std::string(node.meta.name),
                    .uid = std::string(node.meta.uid),
                    .object = std::make_shared<const UnpackedObject>(PackObject(&node)),
                    .created_s = node.meta.creation_time,
                    .soft_taint_s = SoftTaintOf(node),
                    .hard_taint_s = {},
                    .pods = {}});
  ++nodes_there_;
  return absl::OkStatus();
}

size_t SimulatedObjects::TemplateOf(const objects::Pod& pod) {
  objects::Pod own = pod;
  own.meta.name = own.meta.uid = "template";
  own.meta.creation_time = 0;
  own.meta.deletion_time.reset();
  own.start_time.reset();
  own.unready = false;
  own.node_name = own.nominated_node_name = own.phase = {};
  own.scheduling = objects::Scheduling::kNotRecorded;
  own.spec_digest = 0;  // The digest is defined for pods without a node.
  for (objects::PodResourceClaim& claim : own.resource_claims) {
    if (!claim.template_name.empty()) claim.claim_name = {};
  }
  std::string packed = PackObject(&own);
  const auto [it, is_new] = templates_by_bytes_.try_emplace(packed, templates_.size());
  if (is_new) {
    templates_.push_back({.object = UnpackedObject(packed),
                          .budgets = {},
                          .grace_s = pod.termination_grace_period_s.value_or(30)});
  }
  return it->second;
}

size_t SimulatedObjects::WorkloadOf(std::string_view namespace_name, std::string_view kind,
                                    std::string_view name) {
  const WorkloadKey key{namespace_name, kind, name};
  const auto [it, is_new] = workloads_by_name_.try_emplace(key, workloads_.size());
  if (is_new) {
    Workload& made = workloads_.emplace_back();
    made.namespace_name = namespace_name;
    made.kind = kind;
    made.name = name;
  }
  return it->second;
}

absl::Status SimulatedObjects::OnPod(const objects::Pod& pod) {
  if (ListingOf(pod, kExpendablePodsPriorityCutoff) != PodListing::kListed) {
    return absl::OkStatus();
  }
  const Change change{.object = &pod};
  if (absl::Status s = live_.Take({&change, 1}); !s.ok()) return s;
  using State = SimulatedPod::State;
  SimulatedPod made;
  made.namespace_name = pod.meta.namespace_name;
  made.name = pod.meta.name;
  made.uid = pod.meta.uid;
  made.pod_template = TemplateOf(pod);
  made.created_s = pod.meta.creation_time;
  made.evictions_refused_until_s = -1;
  made.state = pod.meta.deletion_time  ? State::kTerminating
               : pod.node_name.empty() ? State::kPending
                                       : State::kRunning;
  made.deletion_s = pod.meta.deletion_time.value_or(0);
  for (const objects::PodResourceClaim& claim : pod.resource_claims) {
    made.claims.emplace_back(claim.claim_name);
  }
  // Nodes may be read later; Settle() finds them.
  made.planned_node = pod.node_name;
  if (const objects::OwnerReference* const owner = ControllerOf(pod)) {
    made.workload = WorkloadOf(pod.meta.namespace_name, owner->kind, owner->name);
    Workload& workload = workloads_[made.workload];
    workload.pod_template = made.pod_template;
    if (made.state != State::kTerminating) workload.pods.insert(pods_.size());
  }
  pods_.push_back(std::move(made));
  return absl::OkStatus();
}

absl::Status SimulatedObjects::OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) {
  const Change change{.object = &budget};
  if (absl::Status s = live_.Take({&change, 1}); !s.ok()) return s;
  budget_objects_.emplace_back(PackObject(&budget));
  return budgets_.Add(budget, *live_.symbols());
}

absl::Status SimulatedObjects::OnController(const objects::Controller& controller) {
  const Change change{.object = &controller};
  if (absl::Status s = live_.Take({&change, 1}); !s.ok()) return s;
  const size_t number = WorkloadOf(controller.meta.namespace_name, objects::KindOf(controller.kind),
                                   controller.meta.name);
  workloads_[number].object = std::make_unique<UnpackedObject>(PackObject(&controller));
  return absl::OkStatus();
}

absl::Status SimulatedObjects::OnNamespace(const objects::Namespace& namespace_object) {
  const Change change{.object = &namespace_object};
  return live_.Take({&change, 1});
}

absl::Status SimulatedObjects::OnStorageObject(const objects::StorageObject& object) {
  const Change change{.object = &object};
  devices_.Read(object);
  return live_.Take({&change, 1});
}

SimulatedDevices::PodName SimulatedObjects::NameOf(const SimulatedPod& pod) {
  return {.namespace_name = pod.namespace_name, .name = pod.name, .uid = pod.uid};
}

const std::vector<objects::PodResourceClaim>& SimulatedObjects::ClaimsOf(
    const SimulatedPod& pod) const {
  return As<objects::Pod>(templates_[pod.pod_template].object).resource_claims;
}

// Makes the claims of the pod that it lacks, as far as a claim of their templates was read.
void SimulatedObjects::MakeClaims(size_t number, int64_t now_s) {
  SimulatedPod& pod = pods_[number];
  const auto& claims = ClaimsOf(pod);
  const PodTemplate& of = templates_[pod.pod_template];
  pod.claims.resize(claims.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].template_name.empty()) pod.claims[i] = claims[i].claim_name;
    if (!pod.claims[i].empty() || i >= of.claims.size() || of.claims[i] == nullptr) continue;
    pod.claims[i] = absl::StrCat(pod.name, "-", Absl(claims[i].name));
    while (devices_.Find(pod.namespace_name, pod.claims[i]) != nullptr) pod.claims[i] += "-m";
    devices_.MakeLike(*of.claims[i], NameOf(pod), pod.claims[i], now_s,
                      [this](const auto& object, bool gone) { this->Put(object, gone); });
  }
}

// The pod no longer uses its claims; its own ones go with it.
void SimulatedObjects::LeaveClaims(size_t number, bool removes_own) {
  const SimulatedPod& pod = pods_[number];
  const auto& claims = ClaimsOf(pod);
  const auto put = [this](const auto& object, bool gone) { this->Put(object, gone); };
  for (size_t i = 0; i < pod.claims.size() && i < claims.size(); ++i) {
    if (removes_own && !claims[i].template_name.empty()) {
      devices_.Remove(pod.namespace_name, pod.claims[i], put);
    } else {
      devices_.Leave(pod.claims[i], NameOf(pod), put);
    }
  }
}

int64_t SimulatedObjects::DevicesRequested(size_t number) const {
  const SimulatedPod& pod = pods_[number];
  int64_t devices = 0;
  for (const std::string& claim : pod.claims) {
    devices += devices_.Requested(pod.namespace_name, claim);
  }
  return devices;
}

std::string_view SimulatedObjects::LabelOf(const SimulatedNode& node, std::string_view key) const {
  const auto& labels = As<objects::Node>(*node.object).meta.labels;
  const auto found = std::ranges::find(labels, key, &objects::KeyValue::key);
  return found == labels.end() ? std::string_view() : std::string_view(found->value);
}

int64_t SimulatedObjects::DevicesOf(const SimulatedNode& pattern) const {
  return devices_.DevicesOf(As<objects::Node>(*pattern.object).meta.name);
}

void SimulatedObjects::Settle() {
  // A claim of each template that pods name.
  for (const SimulatedPod& pod : pods_) {
    PodTemplate& of = templates_[pod.pod_template];
    const auto& claims = ClaimsOf(pod);
    of.claims.resize(claims.size());
    for (size_t i = 0; i < claims.size(); ++i) {
      if (claims[i].template_name.empty() || of.claims[i] != nullptr) continue;
      of.claims[i] = devices_.Find(pod.namespace_name, pod.claims[i]);
    }
  }
  // Pods that wait, perhaps since their node has gone, hold no devices.
  for (size_t p = 0; p < pods_.size(); ++p) {
    if (pods_[p].state != SimulatedPod::State::kPending || ClaimsOf(pods_[p]).empty()) continue;
    LeaveClaims(p, /*removes_own=*/false);
    MakeClaims(p, pods_[p].created_s);
    Show(p);
  }
  Symbols& symbols = *live_.symbols();
  for (PodTemplate& each : templates_) {
    const objects::ObjectMeta& meta = As<objects::Pod>(each.object).meta;
    each.budgets =
        budgets_.Matching(symbols.Intern(meta.namespace_name), InternLabels(meta.labels, symbols));
  }
  for (size_t p = 0; p < pods_.size(); ++p) {
    SimulatedPod& pod = pods_[p];
    if (!pod.planned_node.empty()) pod.node = FindNode(pod.planned_node);
    pod.planned_node.clear();
    if (pod.node != kNone) nodes_[pod.node].pods.insert(p);
    if (pod.state == SimulatedPod::State::kTerminating) continue;
    const std::vector<size_t>& budgets = templates_[pod.pod_template].budgets;
    budgets_.Want(budgets, 1);
    if (IsHealthy(pod)) budgets_.Heal(budgets, 1);
  }
  budgets_.Settle();
  for (Workload& workload : workloads_) {
    workload.base = workload.wanted = static_cast<int64_t>(workload.pods.size());
  }
}

size_t SimulatedObjects::FindNode(std::string_view name) const {
  const auto it = nodes_by_name_.find(Absl(name));
  return it == nodes_by_name_.end() ? kNone : it->second;
}

size_t SimulatedObjects::NumberOf(NodeId node) {
  EBB_DCHECK(live_.Snapshot().Contains(node));
  return FindNode(live_.Snapshot().catalog().NodeName(node));
}

std::vector<int64_t> SimulatedObjects::RoomOfEmpty(const SimulatedNode& pattern,
                                                   const std::set<size_t>& daemon_sets) {
  std::vector<int64_t> room = {0, 0, 0};
  const auto& object = As<objects::Node>(*pattern.object);
  for (const objects::ResourceAmount& each : object.allocatable) {
    if (each.name == "cpu") room[0] = each.amount;
    if (each.name == "memory") room[1] = each.amount;
    if (each.name == "pods") room[2] = each.amount;
  }
  for (const size_t number : daemon_sets) {
    const Workload& workload = workloads_[number];
    if (workload.pods.empty()) continue;
    const PodId pod = IdOf(*workload.pods.begin());
    for (const ResourceQuantity& each : live_.Snapshot().catalog().shape_of(pod).charge_requests) {
      if (each.resource == kCpu) room[0] -= each.amount;
      if (each.resource == kMemory) room[1] -= each.amount;
    }
    --room[2];
  }
  room.push_back(DevicesOf(pattern));
  return room;
}

PodId SimulatedObjects::IdOf(size_t pod) {
  const PodId id = live_.FindPod(pods_[pod].namespace_name, pods_[pod].name);
  EBB_CHECK(id != kNoPod);
  return id;
}

ClusterSnapshot& SimulatedObjects::Snapshot() {
  for (const size_t changed : budgets_.TakeChanged()) {
    objects::PodDisruptionBudget budget =
        As<objects::PodDisruptionBudget>(budget_objects_[changed]);
    budget.disruptions_allowed = budgets_.Allowed(changed);
    Put(&budget);
  }
  return live_.Snapshot();
}

objects::Pod SimulatedObjects::PodAsIs(size_t number) const {
  const SimulatedPod& pod = pods_[number];
  objects::Pod object = As<objects::Pod>(templates_[pod.pod_template].object);
  object.meta.namespace_name = pod.namespace_name;
  object.meta.name = pod.name;
  object.meta.uid = pod.uid;
  object.meta.creation_time = pod.created_s;
  for (size_t i = 0; i < object.resource_claims.size() && i < pod.claims.size(); ++i) {
    object.resource_claims[i].claim_name = pod.claims[i];
  }
  if (pod.state == SimulatedPod::State::kTerminating) object.meta.deletion_time = pod.deletion_s;
  if (pod.node != kNone) object.node_name = nodes_[pod.node].name;
  object.phase = pod.node == kNone ? "Pending" : "Running";
  object.scheduling =
      pod.node == kNone ? objects::Scheduling::kUnschedulable : objects::Scheduling::kOther;
  if (pod.node != kNone && AsksForStart(object.meta.annotations)) object.start_time = pod.created_s;
  return object;
}

void SimulatedObjects::Show(size_t number) {
  const objects::Pod object = PodAsIs(number);
  Put(&object);
}

absl::Status SimulatedObjects::ShowAll(ObjectSink& sink) const {
  for (const SimulatedNode& node : nodes_) {
    if (!node.there) continue;
    const absl::Status taken =
        WithNode(node, [&](const objects::Node& o) { return sink.OnNode(o); });
    if (!taken.ok()) return taken;
  }
  for (size_t number = 0; number < pods_.size(); ++number) {
    if (pods_[number].state == SimulatedPod::State::kGone) continue;
    if (absl::Status s = sink.OnPod(PodAsIs(number)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

void SimulatedObjects::ShowNode(size_t number) {
  (void)WithNode(nodes_[number], [&](const objects::Node& object) {
    Put(&object);
    return absl::OkStatus();
  });
}

// Calls `use` with the node in its current state.
absl::Status SimulatedObjects::WithNode(const SimulatedNode& node,
                                        absl::FunctionRef<absl::Status(const objects::Node&)> use) {
  objects::Node object = As<objects::Node>(*node.object);
  const std::string_view pattern = object.meta.name;
  for (objects::KeyValue& label : object.meta.labels) {
    if (label.value == pattern) label.value = node.name;
  }
  object.meta.name = node.name;
  object.meta.uid = node.uid;
  object.meta.creation_time = node.created_s;
  std::erase_if(object.taints, [&](const objects::Taint& taint) {
    return taint.key == kHardTaint || taint.key == kSoftTaint ||
           node.taints.contains(std::string(taint.key));
  });
  for (const auto& [key, taint] : node.taints) {
    if (taint) object.taints.push_back({key, taint->first, taint->second});
  }
  const std::string soft = absl::StrCat(node.soft_taint_s.value_or(0));
  const std::string hard = absl::StrCat(node.hard_taint_s.value_or(0));
  if (node.soft_taint_s) object.taints.push_back({kSoftTaint, soft, "PreferNoSchedule"});
  if (node.hard_taint_s) object.taints.push_back({kHardTaint, hard, "NoSchedule"});
  return use(object);
}

void SimulatedObjects::ShowController(size_t number) {
  const Workload& workload = workloads_[number];
  if (workload.object == nullptr) return;
  objects::Controller object = As<objects::Controller>(*workload.object);
  object.status_replicas = workload.wanted;
  if (!workload.IsDaemonSet()) object.spec_replicas = workload.wanted;
  Put(&object);
}

size_t SimulatedObjects::AddNode(size_t pattern, const std::string& name, int64_t now_s) {
  const size_t number = nodes_.size();
  nodes_by_name_[name] = number;
  SimulatedNode node{.name = name,
                     .uid = absl::StrCat("uid-of-", name),
                     .object = nodes_[pattern].object,
                     .group = nodes_[pattern].group,
                     .created_s = now_s,
                     .soft_taint_s = {},
                     .hard_taint_s = {},
                     .pods = {}};
  nodes_.push_back(std::move(node));
  ++nodes_there_;
  ShowNode(number);
  devices_.CopySlices(As<objects::Node>(*nodes_[number].object).meta.name, name,
                      [this](const auto& object, bool gone) { this->Put(object, gone); });
  return number;
}

size_t SimulatedObjects::AddPod(size_t pod_template, size_t workload,
                                std::string_view namespace_name, std::string name, size_t node,
                                int64_t now_s) {
  const size_t number = pods_.size();
  SimulatedPod pod;
  pod.namespace_name = namespace_name;
  pod.uid = absl::StrCat("uid-of-", name, "-", number);
  pod.name = std::move(name);
  pod.pod_template = pod_template;
  pod.workload = workload;
  pod.created_s = now_s;
  pod.evictions_refused_until_s = -1;
  // A pod with claims waits until they are allocated.
  const bool binds = node != kNone && !ClaimsOf(pod).empty();
  pod.node = binds ? kNone : node;
  pod.state = pod.node == kNone ? SimulatedPod::State::kPending : SimulatedPod::State::kStarting;
  pods_.push_back(std::move(pod));
  if (pods_[number].node != kNone) nodes_[node].pods.insert(number);
  if (workload != kNone) workloads_[workload].pods.insert(number);
  MakeClaims(number, now_s);
  Show(number);
  if (binds) Bind(number, node);
  return number;
}

size_t SimulatedObjects::AddBarePod(std::string name, size_t node, int64_t now_s) {
  if (bare_template_ == kNone) {
    objects::Pod pod;
    pod.meta.namespace_name = kBareNamespace;
    pod.containers.resize(1);
    pod.containers[0].name = "main";
    pod.containers[0].requests = {{"cpu", 10}, {"memory", int64_t{1} << 20}};
    bare_template_ = TemplateOf(pod);
    Symbols& symbols = *live_.symbols();
    templates_[bare_template_].budgets =
        budgets_.Matching(symbols.Intern(kBareNamespace), std::vector<Label>{});
  }
  const size_t pod = AddPod(bare_template_, kNone, kBareNamespace, std::move(name), node, now_s);
  budgets_.Want(templates_[bare_template_].budgets, 1);
  StartRunning(pod);
  return pod;
}

bool SimulatedObjects::Bind(size_t number, size_t node) {
  SimulatedPod& pod = pods_[number];
  if (!ClaimsOf(pod).empty()) {
    const ClusterSnapshot& snapshot = Snapshot();
    const absl::StatusOr<NodeId> id = snapshot.catalog().FindNode(nodes_[node].name);
    EBB_CHECK(id.ok());
    const bool has_devices =
        devices_.Allocate(snapshot, IdOf(number), *id, NameOf(pod),
                          [this](const auto& object, bool gone) { this->Put(object, gone); });
    if (!has_devices) return false;
  }
  pod.node = node;
  pod.state = SimulatedPod::State::kStarting;
  nodes_[node].pods.insert(number);
  Show(number);
  return true;
}

void SimulatedObjects::StartRunning(size_t number) {
  SimulatedPod& pod = pods_[number];
  pod.state = SimulatedPod::State::kRunning;
  budgets_.Heal(templates_[pod.pod_template].budgets, 1);
}

void SimulatedObjects::Terminate(size_t number, int64_t now_s) {
  SimulatedPod& pod = pods_[number];
  const PodTemplate& of = templates_[pod.pod_template];
  if (IsHealthy(pod)) budgets_.Heal(of.budgets, -1);
  if (pod.workload != kNone) workloads_[pod.workload].pods.erase(number);
  if (pod.workload == kNone) budgets_.Want(of.budgets, -1);
  pod.state = SimulatedPod::State::kTerminating;
  pod.deletion_s = now_s + of.grace_s;
  Show(number);
}

void SimulatedObjects::RemovePod(size_t number) {
  SimulatedPod& pod = pods_[number];
  const PodTemplate& of = templates_[pod.pod_template];
  if (IsHealthy(pod)) budgets_.Heal(of.budgets, -1);
  if (pod.state != SimulatedPod::State::kTerminating) {
    if (pod.workload != kNone) workloads_[pod.workload].pods.erase(number);
    if (pod.workload == kNone) budgets_.Want(of.budgets, -1);
  }
  if (pod.node != kNone) nodes_[pod.node].pods.erase(number);
  pod.state = SimulatedPod::State::kGone;
  pod.node = kNone;
  objects::Pod gone;
  gone.meta.namespace_name = pod.namespace_name;
  gone.meta.name = pod.name;
  Put(&gone, Change::Type::kDelete);
  LeaveClaims(number, /*removes_own=*/true);
}

void SimulatedObjects::RemoveNode(size_t number) {
  SimulatedNode& node = nodes_[number];
  EBB_CHECK(node.pods.empty());
  node.there = false;
  --nodes_there_;
  nodes_by_name_.erase(node.name);
  objects::Node gone;
  gone.meta.name = node.name;
  Put(&gone, Change::Type::kDelete);
  devices_.RemoveSlices(node.name,
                        [this](const auto& object, bool gone_too) { this->Put(object, gone_too); });
}

void SimulatedObjects::SetTaints(size_t number, std::optional<int64_t> soft_s,
                                 std::optional<int64_t> hard_s) {
  nodes_[number].soft_taint_s = soft_s;
  nodes_[number].hard_taint_s = hard_s;
  ShowNode(number);
}

void SimulatedObjects::PutTaint(size_t number, const std::string& key, const std::string& value,
                                const std::string& effect) {
  SimulatedNode& node = nodes_[number];
  const auto set = node.taints.find(key);
  const bool has_it = set != node.taints.end()
                          ? set->second.has_value()
                          : std::ranges::count(As<objects::Node>(*node.object).taints, key,
                                               &objects::Taint::key) > 0;
  if (has_it) return;
  node.taints[key] = {value, effect};
  ShowNode(number);
}

void SimulatedObjects::TakeTaint(size_t number, const std::string& key) {
  nodes_[number].taints[key] = std::nullopt;
  ShowNode(number);
}

void SimulatedObjects::SetWanted(size_t number, int64_t wanted) {
  Workload& workload = workloads_[number];
  if (workload.pod_template != kNone) {
    budgets_.Want(templates_[workload.pod_template].budgets, wanted - workload.wanted);
  }
  workload.wanted = wanted;
  ShowController(number);
}

namespace {

using NewLabels = std::vector<std::pair<std::string_view, std::string_view>>;

void SetLabels(const NewLabels& labels, std::vector<objects::KeyValue>& all) {
  for (const auto& [key, value] : labels) {
    const auto label = std::ranges::find(all, key, &objects::KeyValue::key);
    if (label == all.end()) {
      all.push_back({key, value});
    } else {
      label->value = value;
    }
  }
}

}  // namespace

size_t SimulatedObjects::AddWorkloadLike(size_t like, const WorkloadNames& names) {
  const std::string uid = absl::StrCat("uid-of-", names.name);
  const std::string kind = workloads_[like].kind;
  const size_t number = WorkloadOf(names.namespace_name, kind, names.name);
  objects::Pod pod = As<objects::Pod>(templates_[workloads_[like].pod_template].object);
  pod.meta.namespace_name = names.namespace_name;
  SetLabels(names.labels, pod.meta.labels);
  for (objects::OwnerReference& owner : pod.meta.owners) {
    if (!owner.controller) continue;
    owner.name = names.name;
    owner.uid = uid;
  }
  const size_t pod_template = TemplateOf(pod);
  Symbols& symbols = *live_.symbols();
  templates_[pod_template].budgets = budgets_.Matching(symbols.Intern(names.namespace_name),
                                                       InternLabels(pod.meta.labels, symbols));
  templates_[pod_template].claims = templates_[workloads_[like].pod_template].claims;
  workloads_[number].pod_template = pod_template;
  if (workloads_[like].object == nullptr) return number;
  objects::Controller controller = As<objects::Controller>(*workloads_[like].object);
  controller.meta.namespace_name = names.namespace_name;
  controller.meta.name = names.name;
  controller.meta.uid = uid;
  SetLabels(names.labels, controller.meta.labels);
  workloads_[number].object = std::make_unique<UnpackedObject>(PackObject(&controller));
  ShowController(number);
  return number;
}

void SimulatedObjects::RemoveController(size_t number) {
  Workload& workload = workloads_[number];
  EBB_CHECK(workload.wanted == 0);
  if (workload.object == nullptr) return;
  const UnpackedObject object = std::move(*workload.object);
  workload.object.reset();
  Put(&As<objects::Controller>(object), Change::Type::kDelete);
}

void SimulatedObjects::AddNamespace(const std::string& name, int64_t now_s) {
  objects::Namespace made;
  made.meta.name = name;
  made.meta.creation_time = now_s;
  made.meta.labels = {{"kubernetes.io/metadata.name", name}};
  Put(&made);
}

void SimulatedObjects::RemoveNamespace(const std::string& name) {
  objects::Namespace gone;
  gone.meta.name = name;
  Put(&gone, Change::Type::kDelete);
}

int64_t SimulatedObjects::CountHealthy(size_t budget) const {
  return std::ranges::count_if(pods_, [&](const SimulatedPod& pod) {
    return IsHealthy(pod) && std::ranges::count(templates_[pod.pod_template].budgets, budget) > 0;
  });
}

std::vector<int64_t> SimulatedObjects::CountHealthy() const {
  std::vector<int64_t> healthy(budgets_.size());
  for (const SimulatedPod& pod : pods_) {
    if (!IsHealthy(pod)) continue;
    for (const size_t budget : templates_[pod.pod_template].budgets) ++healthy[budget];
  }
  return healthy;
}

absl::Status SimulatedObjects::CheckSound() {
  ClusterSnapshot& snapshot = Snapshot();
  if (absl::Status s = snapshot.CheckInvariants(); !s.ok()) return s;
  if (snapshot.nodes() != nodes_there_) {
    return absl::InternalError(
        absl::StrCat(nodes_there_, " nodes are there, and ", snapshot.nodes(), " are shown"));
  }
  for (size_t p = 0; p < pods_.size(); ++p) {
    const SimulatedPod& pod = pods_[p];
    const PodId id = live_.FindPod(pod.namespace_name, pod.name);
    if (pod.state == SimulatedPod::State::kGone) continue;
    if (id == kNoPod) return absl::InternalError(absl::StrCat("pod ", pod.name, " is not shown"));
    const NodeId node = snapshot.NodeOf(id);
    const size_t shown = node == kNoNode ? kNone : FindNode(snapshot.catalog().NodeName(node));
    if (shown != pod.node) {
      return absl::InternalError(absl::StrCat("pod ", pod.name, " is shown on another node"));
    }
  }
  const std::vector<int64_t> healthy = CountHealthy();
  for (size_t budget = 0; budget < budgets_.size(); ++budget) {
    const int64_t allowed = std::max<int64_t>(0, healthy[budget] - budgets_.Desired(budget));
    if (allowed == budgets_.Allowed(budget)) continue;
    return absl::InternalError(absl::StrCat("budget ", budget, " allows ", budgets_.Allowed(budget),
                                            " and has room for ", allowed));
  }
  return absl::OkStatus();
}

}  // namespace ebb
