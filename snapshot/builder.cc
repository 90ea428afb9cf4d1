#include "snapshot/builder.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "base/time_range.h"
#include "snapshot/devices.h"
#include "snapshot/gangs.h"
#include "snapshot/not_evaluated.h"
#include "snapshot/objects/key_values.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/pod_requests.h"
#include "snapshot/objects/quantity.h"
#include "snapshot/objects/well_known_names.h"
#include "snapshot/pod_shapes.h"
#include "snapshot/shape_matches.h"
#include "snapshot/topology_tables.h"

// How a catalog is built.
//
// The Add functions only collect.  They give nodes, pods and budgets dense ids in the order of the
// calls, intern texts, and reduce each pod to a shape (PodShapes).  Whatever depends on several
// objects waits for Build(), because objects may be added in any order.
//
// Build() then takes these steps:
//  1. VersionNow and HoldBy137: the Kubernetes version decides which amounts a running pod holds.
//  2. AssignOsFromNodes: a pod that names no operating system was made for that of its node.
//     Then ApplyProfiles: what the scheduler's configuration changes for pods.
//  3. RefuseUnknownNamespaces, if KeepWhereNamespacesAreUnknown was called.  It gives the unknown
//     namespaces the label of their own name, which the selectors of step 4 read.
//  4. TopologyTables::Connect: which counter tables each shape reads, and which count it.
//  5. BoundCharges: no sum of charges overflows.  This may make shapes count otherwise, so
//     ListPodsCountedOtherwise comes next.
//  6. ConnectBudgets: which PodDisruptionBudgets match each shape.
//  7. Storage::Connect and Devices::Connect resolve names; then shapes get the device claims of
//     their pods, or say what ebb does not evaluate (ConnectDevices).
//  8. DropUnused drops resources that decide nothing, if there are very many.  It renumbers the
//     others in nodes and shapes, so it is the last step that changes the catalog.
//  9. The snapshot: all nodes, then each pod on the node that it names.
//
// Build() never fails because of a limit.  Beyond a limit the broadest budgets or tables are left
// out, or resources are dropped, and every shape that this may concern is not understood, so its
// pods keep their nodes.
//
// A LiveSnapshot continues with a builder after Build(): ConnectLastShape, AddBudget and their kin
// repeat steps 4, 6 and 7 for one shape or budget.  The members guessed_namespaces_,
// left_out_budgets_, bounded_charges_ and renumbered_resources_ record what Build() had to do for
// all objects at once.  A change that would need that again makes the LiveSnapshot build another
// catalog.

namespace ebb {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kScaleDownDisabled =
    "cluster-autoscaler.kubernetes.io/scale-down-disabled";
constexpr std::string_view kUpcoming = "cluster-autoscaler.k8s.io/upcoming-node";
constexpr std::string_view kDoNotConsolidate = "karpenter.sh/do-not-consolidate";
constexpr std::string_view kNamespaceName = "kubernetes.io/metadata.name";

PodMatcher MatcherOf(const Pdb& pdb) {
  return {.namespaces = {pdb.namespace_name}, .all_namespaces = false, .selector = pdb.selector};
}

constexpr std::string_view kTooManyBudgets =
    "PodDisruptionBudgets select more kinds of pods, one by one, than are followed, and one of the "
    "broadest may select this one";

// strconv.ParseBool.
bool IsTrue(std::string_view text) {
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE" ||
         text == "True";
}

bool IsUnreadyTaint(std::string_view key) {
  return key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/disk-pressure" ||
         key == "node.kubernetes.io/network-unavailable";
}

// The value of a taint that holds a time, within the range of valid times.
std::optional<int64_t> ParseTime(std::string_view text) {
  const std::optional<int64_t> time_s = ParseInt64(text);
  return time_s ? std::optional(NearestTime(*time_s)) : std::nullopt;
}

// Source: cluster-autoscaler utils/kubernetes/ready.go.
bool IsReady(const objects::Node& node) {
  bool ready = false;
  for (const auto& [type, status] : node.conditions) {
    if (type == "Ready") ready = status == "True";
    if ((type == "DiskPressure" || type == "NetworkUnavailable") && status == "True") return false;
  }
  return ready && std::none_of(node.taints.begin(), node.taints.end(),
                               [](const objects::Taint& t) { return IsUnreadyTaint(t.key); });
}

// Source: karpenter pkg/apis/v1/taints.go.
NodeLeaving LeavingOf(const objects::Node& node) {
  const auto has_taint = [&](std::string_view key) {
    return std::ranges::any_of(node.taints, [&](const objects::Taint& t) { return t.key == key; });
  };
  if (node.meta.deletion_time) return NodeLeaving::kDeletionTimestamp;
  if (has_taint(kDisruptedTaint)) return NodeLeaving::kDisrupted;
  return has_taint(kDisruptionTaint) ? NodeLeaving::kDisruption : NodeLeaving::kNo;
}

// Source: karpenter pkg/controllers/nodeclaim/lifecycle registration.go, initialization.go.
NodeSetup SetupOf(const objects::Node& node) {
  for (const objects::Taint& taint : node.taints) {
    if (taint.key == kUnregisteredTaint) return NodeSetup::kUnregistered;
  }
  const objects::KeyValues& labels = node.meta.labels;
  if (!FindValue(labels, kNodePoolLabel)) return NodeSetup::kNotKarpenters;
  if (FindValue(labels, kInitializedLabel) == "true") return NodeSetup::kInitialized;
  return FindValue(labels, kRegisteredLabel) ? NodeSetup::kNotInitialized : NodeSetup::kUnlabelled;
}

// "Pod default/web-0".
std::string ObjectName(std::string_view kind, const objects::ObjectMeta& meta) {
  return absl::StrCat(Absl(kind), " ", Absl(meta.namespace_name), "/", Absl(meta.name));
}

// The limit on a node's amounts: the amount minus all charges then stays within int64.
constexpr int64_t kNodeAmountMax = int64_t{1} << 62;

bool IsAmount(const objects::ResourceAmount& each) {
  return each.amount >= 0 && each.excess >= 0 && each.excess < kNanosPerUnit;
}

absl::Status CheckAmounts(std::string_view object, std::string_view field,
                          const objects::ResourceList& list) {
  const auto wrong = std::ranges::find_if_not(list, IsAmount);
  if (wrong == list.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(object), ": ", Absl(field), ".", Absl(wrong->name), ": ", wrong->amount,
                   wrong->amount < 0 ? " is negative" : " has an excess that is not an amount"));
}

// Checks every amount that SumPodRequests may add.  If no amount is negative, no sum is.
absl::Status CheckPodAmounts(const objects::Pod& pod) {
  absl::Status status;
  // `field` is the field's name in pieces.  The pieces are joined only for an error, because every
  // pod is checked.
  const auto check = [&](const objects::ResourceList& list, const auto&... field) {
    if (std::ranges::all_of(list, IsAmount)) return;
    status.Update(CheckAmounts(ObjectName("Pod", pod.meta), absl::StrCat(field...), list));
  };
  for (const auto& [kind, containers] : {std::pair("containers", &pod.containers),
                                         std::pair("initContainers", &pod.init_containers)}) {
    for (size_t i = 0; i < containers->size(); ++i) {
      check((*containers)[i].requests, "spec.", kind, "[", i, "].resources.requests");
    }
  }
  for (size_t i = 0; i < pod.container_statuses.size(); ++i) {
    const objects::ContainerStatus& of = pod.container_statuses[i];
    check(of.requests, "status.containerStatuses[", i, "].resources.requests");
    check(of.allocated, "status.containerStatuses[", i, "].allocatedResources");
  }
  check(pod.overhead, "spec.overhead");
  check(pod.pod_requests, "spec.resources.requests");
  check(pod.pod_status_requests, "status.resources.requests");
  check(pod.pod_allocated, "status.allocatedResources");
  return status;
}

CpuAndMemory CpuAndMemoryOf(const objects::ResourceList& sum) {
  CpuAndMemory amounts;
  for (const objects::ResourceAmount& each : sum) {
    if (each.name == "cpu") amounts.cpu_milli = std::min(each.amount, kChargedMax);
    if (each.name == "memory") amounts.memory_bytes = std::min(each.amount, kChargedMax);
  }
  return amounts;
}

CpuAndMemory CpuAndMemoryOf(const Requests& requests) {
  CpuAndMemory amounts;
  for (const ResourceQuantity& each : requests) {
    if (each.resource == kCpu) amounts.cpu_milli = std::min(each.amount, kChargedMax);
    if (each.resource == kMemory) amounts.memory_bytes = std::min(each.amount, kChargedMax);
  }
  return amounts;
}

// One resource of which all pods together are charged too much.
struct Charge {
  struct Asked {
    int64_t amount;
    uint32_t pods;
  };
  std::vector<int64_t> offers = {0};  // The amounts that nodes offer.
  std::vector<Asked> asked;
  int64_t most = 0;

  // Finds the largest offer for which the charges add up, if each is capped at one unit above it.
  void SetMost() {
    std::ranges::sort(offers);
    const auto adds_up = [&](int64_t offer) {
      unsigned __int128 sum = 0;
      for (const auto& [amount, pods] : asked) {
        sum += static_cast<unsigned __int128>(pods) * std::min(amount, offer + 1);
      }
      return sum <= kChargedMax;
    };
    // The first offer, 0, always adds up: one unit for each pod is not too much.
    most = *(std::ranges::partition_point(offers, adds_up) - 1);
  }
};

// Whether it is a TPU.  The autoscaler drops TPU requests from the pods that it places, so no
// verdict depends on them.
bool IsTpu(std::string_view resource) { return resource.starts_with("cloud-tpus.google.com/"); }

bool IsColumn(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         resource == "pods" || (IsScalarResource(resource) && !IsTpu(resource));
}

void AppendText(std::string& key, TextId id) {
  const auto value = static_cast<uint32_t>(id);
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A snapshot has a column for each resource, which costs memory for every node and a step of
// every removal that is tried.  Up to this number of resources none is dropped.  Limits against odd
// input, far above what clusters have; not tuned.
constexpr size_t kResourcesKept = 256;
// The most resources that are kept because nodes offer them and pods request them.
constexpr size_t kResourcesMax = 4096;

// Which resources to keep, by ResourceId: resources that some node offers and some pod requests,
// and GPUs, by which nodes are judged.  A resource that no pod requests decides nothing.
std::vector<bool> ResourcesToKeep(const std::vector<NodeInfo>& nodes,
                                  const std::vector<PodShape>& shapes,
                                  const std::vector<TextId>& names, const Symbols& symbols) {
  std::vector<bool> offered(names.size());
  for (const NodeInfo& node : nodes) {
    for (const ResourceQuantity& q : node.allocatable) offered[Index(q.resource)] = true;
  }
  std::vector<bool> asked(names.size());
  for (const PodShape& shape : shapes) {
    for (const ResourceQuantity& q : shape.fit_requests) asked[Index(q.resource)] = true;
    for (const ResourceQuantity& q : shape.charge_requests) asked[Index(q.resource)] = true;
    for (const ResourceQuantity& q : shape.home_requests) asked[Index(q.resource)] = true;
  }
  std::vector<bool> keep(names.size());
  size_t both = 0;
  for (size_t r = 0; r < names.size(); ++r) {
    keep[r] = r < kFixedResources ||
              std::ranges::find(kGpuResources, symbols.Text(names[r])) != std::end(kGpuResources) ||
              symbols.Text(names[r]).starts_with(kMigResourcePrefix) ||
              (offered[r] && asked[r] && ++both <= kResourcesMax);
  }
  return keep;
}

// Drops resources: `id_of` has the new id of each resource, or kDropped.  A pod that requests
// a dropped resource fits nowhere: no node offers it, or there were too many resources.
constexpr ResourceId kDropped{~uint32_t{0}};

void DropResources(const std::vector<ResourceId>& id_of, const std::vector<TextId>& names,
                   const Symbols& symbols, std::vector<NodeInfo>& nodes,
                   std::vector<PodShape>& shapes) {
  const auto renew = [&](std::vector<ResourceQuantity>& quantities) {
    for (ResourceQuantity& q : quantities) q.resource = id_of[Index(q.resource)];
    std::erase_if(quantities, [](const ResourceQuantity& q) { return q.resource == kDropped; });
  };
  for (NodeInfo& node : nodes) {
    renew(node.allocatable);
    renew(node.capacity);
  }
  for (PodShape& shape : shapes) {
    for (const ResourceQuantity& q : shape.fit_requests) {
      if (id_of[Index(q.resource)] != kDropped || !shape.not_understood.empty()) continue;
      shape.not_understood = absl::StrCat(
          "spec.containers[].resources.requests.", Absl(symbols.Text(names[Index(q.resource)])),
          ": no node offers it, or there are too many resources to follow it");
    }
    renew(shape.fit_requests);
    renew(shape.charge_requests);
    renew(shape.home_requests);
    renew(shape.counted_requests);
  }
}

// References to the resource tables of a catalog.
struct Resources {
  std::vector<TextId>& names;
  absl::flat_hash_map<TextId, ResourceId>& by_name;
};

void DropUnused(const Symbols& symbols, Resources resources, std::vector<NodeInfo>& nodes,
                std::vector<PodShape>& shapes) {
  std::vector<TextId>& names = resources.names;
  if (names.size() <= kResourcesKept) return;
  const std::vector<bool> keep = ResourcesToKeep(nodes, shapes, names, symbols);
  std::vector<ResourceId> id_of(names.size(), kDropped);
  std::vector<TextId> kept;
  for (size_t r = 0; r < names.size(); ++r) {
    if (!keep[r]) continue;
    id_of[r] = ResourceId{static_cast<uint32_t>(kept.size())};
    kept.push_back(names[r]);
  }
  DropResources(id_of, names, symbols, nodes, shapes);
  names = std::move(kept);
  resources.by_name.clear();
  for (uint32_t r = 0; r < names.size(); ++r) {
    resources.by_name.try_emplace(names[r], ResourceId{r});
  }
}

objects::Text WantedNode(const objects::Pod& pod) {
  return pod.node_name.empty() ? pod.nominated_node_name : pod.node_name;
}

// By the rules of 1.37 the totals of a status count even without pod-level resources in the spec.
bool MayCountOtherwise(const objects::Pod& pod) { return pod.has_pod_status_resources; }

// The value of the first label that exists, else `status`, from the node's status.
TextId FirstOf(const LabelSet& labels, std::initializer_list<std::string_view> keys,
               std::string_view status, Symbols& symbols) {
  for (const std::string_view key : keys) {
    if (const std::optional<TextId> value = FindLabel(labels, symbols.Intern(key))) return *value;
  }
  return symbols.Intern(status);
}

// Everything that a static filter reads of a node except its name (and so its hostname).
std::string NodeShapeKey(const NodeInfo& info, TextId hostname) {
  std::string key;
  key.push_back(info.unschedulable ? 'u' : 's');
  for (const Label& label : info.labels) {
    if (label.key == hostname) continue;
    AppendText(key, label.key);
    AppendText(key, label.value);
  }
  key.push_back('t');
  for (const Taint& taint : info.taints) {
    AppendText(key, taint.key);
    AppendText(key, taint.value);
    AppendText(key, taint.effect_text);
  }
  key.push_back('f');
  for (const TextId feature : info.declared_features) AppendText(key, feature);
  key.push_back('o');
  AppendText(key, info.os);
  return key;
}

// The shapes of pods in namespaces that were not added, and the affinity terms that may select
// such pods.
class UnknownNamespaces {
 public:
  UnknownNamespaces(const Catalog& catalog, std::vector<PodShape*> unknown, TextId name_key)
      : catalog_(catalog), unknown_(std::move(unknown)), name_key_(name_key) {
    // Sorted by namespace, so that error texts do not depend on which shape came first.
    std::ranges::stable_sort(
        unknown_, {}, [&](const PodShape* shape) { return catalog_.Text(shape->namespace_name); });
    for (uint32_t u = 0; u < unknown_.size(); ++u) {
      labels_.Add(unknown_[u]->labels);
      rest_.push_back(u);
    }
    labels_.Finish();
  }

  // Marks a shape as not understood if one of its terms may select a pod in such a namespace.
  void RejectTermOwners(PodShape& shape, const std::vector<PendingAffinityTerm>& terms,
                        std::string_view field) const {
    for (const PendingAffinityTerm& term : terms) {
      if (!shape.not_understood.empty()) return;
      Ask(term, [&](const LabelIndex::Candidates& others, auto&& matches) {
        const std::optional<uint32_t> first = others.First(matches);
        if (first) Refuse(shape, field, unknown_[*first]->namespace_name);
      });
    }
  }

  // Marks the shapes in such namespaces that an anti-affinity term may repel.
  void RejectRepelled(const std::vector<PendingAffinityTerm>& anti_affinity) {
    for (const PendingAffinityTerm& term : anti_affinity) {
      Ask(term, [&](const LabelIndex::Candidates& others, auto&& matches) {
        const auto refuse_other = [&](uint32_t u) {
          if (!matches(u)) return false;
          Refuse(*unknown_[u], "podAntiAffinity", unknown_[u]->namespace_name);
          return true;
        };
        if (others.size() < rest_.size()) {
          others.ForEach(refuse_other);
        } else {
          std::erase_if(rest_, refuse_other);
        }
      });
    }
  }

  const std::vector<PodShape*>& shapes() const { return unknown_; }

 private:
  void Refuse(PodShape& shape, std::string_view field, TextId namespace_name) const {
    if (!shape.not_understood.empty()) return;
    shape.not_understood = absl::StrCat(
        "spec.affinity.", Absl(field), ": a namespaceSelector asks for the labels of ",
        "namespace ", Absl(catalog_.Text(namespace_name)), ", which is not in the input");
  }

  // Calls `found(others, matches)`, where `matches` tests which of `unknown_` the term may select.
  template <typename Found>
  void Ask(const PendingAffinityTerm& term, Found&& found) const {
    if (!term.has_namespace_selector) return;
    // The namespace's name is certain, and may decide without the other labels.
    Selector by_name = term.namespace_selector;
    std::erase_if(by_name.requirements, [&](const auto& r) { return r.key != name_key_; });
    if (by_name.requirements.size() == term.namespace_selector.requirements.size()) return;
    LabelIndex::Candidates others(labels_);
    others.Narrow(term.selector);
    found(others, [&](uint32_t u) {
      return term.selector.Matches(unknown_[u]->labels) &&
             by_name.Matches(LabelSet{{name_key_, unknown_[u]->namespace_name}});
    });
  }

  const Catalog& catalog_;
  std::vector<PodShape*> unknown_;
  std::vector<uint32_t> rest_;  // Shapes of `unknown_` that are still understood.
  LabelIndex labels_;           // One set for each entry of `unknown_`.
  TextId name_key_;
};

}  // namespace

SnapshotBuilder::SnapshotBuilder(std::shared_ptr<Symbols> symbols)
    : catalog_(std::make_shared<Catalog>(std::move(symbols))),
      shapes_(std::make_unique<PodShapes>()) {}

SnapshotBuilder::~SnapshotBuilder() = default;

ResourceId SnapshotBuilder::InternResource(std::string_view name) {
  // Nearly every request is for one of these.
  if (name == "cpu") return kCpu;
  if (name == "memory") return kMemory;
  Catalog& catalog = *catalog_;
  const TextId text = catalog.symbols_->Intern(name);
  const auto [it, added] = catalog.resources_by_name_.try_emplace(
      text, ResourceId{static_cast<uint32_t>(catalog.resource_names_.size())});
  if (added) catalog.resource_names_.push_back(text);
  return it->second;
}

void SnapshotBuilder::InternResources(const objects::ResourceList& list,
                                      std::vector<ResourceQuantity>& quantities) {
  quantities.clear();
  for (const auto& [name, amount, _] : list) {
    if (amount != 0 && IsColumn(name)) quantities.push_back({InternResource(name), amount});
  }
  std::sort(quantities.begin(), quantities.end(),
            [](const auto& a, const auto& b) { return a.resource < b.resource; });
}

void SnapshotBuilder::InternRequests(const objects::ResourceList& sum, Requests& requests) {
  InternResources(sum, requests);
  // The scheduler ignores a request named "pods"; it counts pod slots instead.
  std::erase_if(requests, [](const ResourceQuantity& q) { return q.resource == kPods; });
}

absl::Status SnapshotBuilder::Check(const objects::Node& node) {
  if (absl::Status s = CheckNamed(&node); !s.ok()) return s;
  const std::string object = absl::StrCat("Node ", Absl(node.meta.name));
  for (const auto& [field, list] : {std::pair("status.allocatable", &node.allocatable),
                                    std::pair("status.capacity", &node.capacity)}) {
    if (absl::Status s = CheckAmounts(object, field, *list); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// A built catalog and its snapshot have fixed id ranges; a new id would be read out of bounds.
absl::Status SnapshotBuilder::CheckNotBuilt() const {
  if (tables_ == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("the builder has built its snapshot, and takes no more");
}

absl::Status SnapshotBuilder::AddNode(const objects::Node& node) {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  if (absl::Status s = Check(node); !s.ok()) return s;
  Catalog& catalog = *catalog_;
  const NodeId id{static_cast<uint32_t>(catalog.nodes_.size())};
  if (!catalog.nodes_by_name_.try_emplace(catalog.symbols_->Intern(node.meta.name), id).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("Node ", Absl(node.meta.name), ": occurs twice"));
  }
  catalog.nodes_.push_back(CompileNode(node));
  return absl::OkStatus();
}

NodeInfo SnapshotBuilder::CompileNode(const objects::Node& node) {
  Symbols& symbols = *catalog_->symbols_;
  NodeInfo info;
  info.name = symbols.Intern(node.meta.name);
  info.uid = symbols.Intern(node.meta.uid);
  info.labels = InternLabels(node.meta.labels, symbols);
  for (const objects::Taint& taint : node.taints) {
    info.taints.push_back(CompileTaint(taint, symbols));
    if (taint.key == kHardTaint) info.to_be_deleted = ParseTime(taint.value);
    if (taint.key == kSoftTaint) info.deletion_candidate = ParseTime(taint.value);
  }
  for (const objects::Text feature : node.declared_features) {
    info.declared_features.push_back(symbols.Intern(feature));
  }
  std::sort(info.declared_features.begin(), info.declared_features.end());
  for (const auto& [from, to] : {std::pair(&node.allocatable, &info.allocatable),
                                 std::pair(&node.capacity, &info.capacity)}) {
    InternResources(*from, *to);
    std::erase_if(*to, [](const ResourceQuantity& q) { return q.amount > kNodeAmountMax; });
  }
  for (const objects::NodeImage& image : node.images) {
    for (const objects::Text name : image.names) {
      info.images.push_back({symbols.Intern(name), image.size_bytes});
    }
  }
  // If an image name occurs twice, the first entry counts.
  std::ranges::stable_sort(info.images, {}, &NodeImage::name);
  const auto again = std::ranges::unique(info.images, {}, &NodeImage::name);
  info.images.erase(again.begin(), again.end());
  info.provider_id = symbols.Intern(node.provider_id);
  info.os = FirstOf(info.labels, {kOsLabel, kBetaOsLabel}, node.operating_system, symbols);
  info.architecture = FirstOf(info.labels, {kArchitectureLabel, kBetaArchitectureLabel},
                              node.architecture, symbols);
  info.version = KubernetesVersionOf(node.kubelet_version);
  if (first_os_ == kNoText) first_os_ = info.os;
  has_nodes_of_two_os_ |= info.os != kNoText && info.os != first_os_;
  info.creation_time = NearestTime(node.meta.creation_time);
  info.unschedulable = node.unschedulable;
  info.ready = IsReady(node);
  info.kubelet_ready = std::ranges::any_of(node.conditions, [](const auto& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
  info.leaving = LeavingOf(node);
  info.setup = SetupOf(node);
  info.scale_down_disabled = FindValue(node.meta.annotations, kScaleDownDisabled) == "true";
  info.do_not_consolidate = FindValue(node.meta.annotations, kDoNotConsolidate) == "true";
  info.do_not_disrupt = FindValue(node.meta.annotations, kDoNotDisruptAnnotation) == "true" ||
                        info.do_not_consolidate;
  info.upcoming = IsTrue(FindValue(node.meta.annotations, kUpcoming).value_or(""));
  const auto shape =
      node_shapes_.try_emplace(NodeShapeKey(info, symbols.Intern(kHostname)),
                               NodeShapeId{static_cast<uint32_t>(node_shapes_.size())});
  info.shape = shape.first->second;
  catalog_->node_shape_count_ = node_shapes_.size();
  return info;
}

absl::Status SnapshotBuilder::Check(const objects::Pod& pod) {
  if (absl::Status s = CheckNamed(&pod); !s.ok()) return s;
  return CheckPodAmounts(pod);
}

// Fills requests_.  REQUIRES: CheckPodAmounts returned OK.
void SnapshotBuilder::SumRequests(const objects::Pod& pod) {
  SumPodRequests(pod, RequestsOf::kIncoming, sum_);
  InternRequests(sum_, requests_.fit);
  requests_.scored_incoming = CpuAndMemoryOf(requests_.fit);
  if (IsScoredOtherwise(pod)) {
    SumPodRequests(pod, RequestsOf::kScoredIncoming, sum_);
    requests_.scored_incoming = CpuAndMemoryOf(sum_);
  }
  SumHeld(pod, KubernetesVersion::k136, requests_.held);
  requests_.held_137.reset();
  if (StatusEqualsSpec(pod)) return;
  SumHeld(pod, KubernetesVersion::k137, requests_.held_137.emplace());
  if (requests_.held_137 == requests_.held) requests_.held_137.reset();
}

// Computes what a pod on a node holds.  Its status may report other amounts than its spec;
// utilization takes pod-level resources from the spec only.
void SnapshotBuilder::SumHeld(const objects::Pod& pod, KubernetesVersion version,
                              HeldRequests& held) {
  const auto sum = [&](RequestsOf which, Requests& requests) {
    SumPodRequests(pod, which, sum_, version);
    InternRequests(sum_, requests);
  };
  const bool holds_the_same = StatusEqualsSpec(pod) && pod.claimed.empty();
  if (holds_the_same) {
    held.charge = requests_.fit;
  } else {
    sum(RequestsOf::kRunning, held.charge);
  }
  held.counts_otherwise = false;
  held.counted.clear();
  if (MayCountOtherwise(pod)) {
    sum(RequestsOf::kCounted, held.counted);
    held.counts_otherwise = held.counted != held.charge;
    if (!held.counts_otherwise) held.counted.clear();
  }
  SumScored(pod, version, held);
}

// Computes what scores count of the pod in addition to its charge.
void SnapshotBuilder::SumScored(const objects::Pod& pod, KubernetesVersion version,
                                HeldRequests& held) {
  held.scored_default = {};
  if (!IsScoredOtherwise(pod)) return;
  SumPodRequests(pod, RequestsOf::kScoredRunning, sum_, version);
  const CpuAndMemory running = CpuAndMemoryOf(sum_);
  const CpuAndMemory charged = CpuAndMemoryOf(held.charge);
  held.scored_default = {running.cpu_milli - charged.cpu_milli,
                         running.memory_bytes - charged.memory_bytes};
}

absl::Status SnapshotBuilder::AddPod(const objects::Pod& pod) {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  if (absl::Status s = Check(pod); !s.ok()) return s;
  Symbols& symbols = *catalog_->symbols_;
  for (const objects::Text text : {pod.meta.name, pod.meta.uid, WantedNode(pod)}) {
    symbols.Prefetch(text);
  }
  SumRequests(pod);
  const NamedPod named = NameOf(pod, symbols, Texts::kKept);
  if (!RegisterName(named)) {
    return absl::InvalidArgumentError(absl::StrCat(ObjectName("Pod", pod.meta), ": occurs twice"));
  }
  Register(named, shapes_->Intern(*catalog_, pod, requests_));
  return absl::OkStatus();
}

absl::StatusOr<AdoptedTexts> SnapshotBuilder::AddTexts(const TextTable& texts) {
  return catalog_->symbols_->Adopt(texts);
}

absl::StatusOr<SnapshotBuilder::PodPattern> SnapshotBuilder::AddPodPattern(
    const objects::Pod& first) {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  if (absl::Status s = Check(first); !s.ok()) return s;
  Symbols& symbols = *catalog_->symbols_;
  SumRequests(first);
  PodPattern pattern{.shape = shapes_->Intern(*catalog_, first, requests_),
                     .namespace_name = symbols.Intern(first.meta.namespace_name),
                     .deletion_time = std::nullopt,
                     .unready = first.unready,
                     .nominated_node = kNoText};
  if (first.meta.deletion_time) pattern.deletion_time = NearestTime(*first.meta.deletion_time);
  if (first.node_name.empty()) pattern.nominated_node = symbols.Intern(first.nominated_node_name);
  return pattern;
}

absl::Status SnapshotBuilder::AddPod(const PodPattern& pattern, const PodRow& row) {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  NamedPod named{.namespace_name = pattern.namespace_name,
                 .name = row.name,
                 .key = row.uid,
                 .creation_time = NearestTime(row.creation_time),
                 .deletion_time = pattern.deletion_time,
                 .unready = pattern.unready,
                 .wanted_node = row.node_name,
                 .is_nominated = pattern.nominated_node != kNoText};
  if (named.is_nominated) named.wanted_node = pattern.nominated_node;
  const auto name = [&] {
    Symbols& symbols = *catalog_->symbols_;
    return absl::StrCat(Absl(symbols.Text(named.namespace_name)), "/",
                        Absl(symbols.Text(named.name)));
  };
  if (named.key == kNoText) named.key = catalog_->symbols_->Intern(name());
  if (!RegisterName(named)) {
    return absl::InvalidArgumentError(absl::StrCat("Pod ", name(), ": occurs twice"));
  }
  Register(named, pattern.shape);
  return absl::OkStatus();
}

void SnapshotBuilder::Prefetch(const PodPattern& pattern, const PodRow& row) const {
  catalog_->pods_by_name_.prefetch(
      Catalog::NamespacedName{.namespace_name = pattern.namespace_name, .name = row.name});
}

void SnapshotBuilder::ReservePods(size_t pods) {
  Catalog& catalog = *catalog_;
  // Reserving for few at a time would copy the lists each time.
  if (pods < catalog.pods_.size()) return;
  catalog.pods_.reserve(catalog.pods_.size() + pods);
  catalog.shape_ids_.reserve(catalog.shape_ids_.size() + pods);
  catalog.pods_by_name_.reserve(catalog.pods_by_name_.size() + pods);
  wanted_nodes_.reserve(wanted_nodes_.size() + pods);
}

SnapshotBuilder::NamedPod SnapshotBuilder::NameOf(const objects::Pod& pod, Symbols& symbols,
                                                  Texts texts) {
  const auto own = [&](std::string_view text) {
    return texts == Texts::kHeld ? symbols.Hold(text) : symbols.Intern(text);
  };
  const objects::ObjectMeta& meta = pod.meta;
  NamedPod named{.namespace_name = symbols.Intern(meta.namespace_name),
                 .name = own(meta.name),
                 .key = {},
                 .creation_time = NearestTime(meta.creation_time),
                 .deletion_time = std::nullopt,
                 .unready = pod.unready,
                 .wanted_node = {}};
  named.key = meta.uid.empty() ? own(absl::StrCat(Absl(meta.namespace_name), "/", Absl(meta.name)))
                               : own(meta.uid);
  if (meta.deletion_time) named.deletion_time = NearestTime(*meta.deletion_time);
  named.wanted_node = symbols.Intern(WantedNode(pod));
  named.is_nominated = pod.node_name.empty() && !pod.nominated_node_name.empty();
  return named;
}

bool SnapshotBuilder::RegisterName(const NamedPod& pod) {
  const PodId id{static_cast<uint32_t>(catalog_->pods_.size())};
  return catalog_->pods_by_name_.try_emplace({pod.namespace_name, pod.name}, id).second;
}

void SnapshotBuilder::Register(const NamedPod& pod, PodShapeId shape) {
  Catalog& catalog = *catalog_;
  const PodId id{static_cast<uint32_t>(catalog.pods_.size())};
  catalog.pods_.push_back({.name = pod.name, .key = pod.key, .creation_time = pod.creation_time});
  catalog.shape_ids_.push_back(shape);
  if (pod.deletion_time) catalog.deletion_times_.emplace(id, *pod.deletion_time);
  if (pod.unready) catalog.unready_pods_.insert(id);
  wanted_nodes_.push_back(pod.wanted_node);
  if (pod.is_nominated) nominated_.insert(id);
}

absl::Status SnapshotBuilder::Check(const objects::PodDisruptionBudget& pdb) {
  if (absl::Status s = CheckNamed(&pdb); !s.ok()) return s;
  const std::string object = ObjectName("PodDisruptionBudget", pdb.meta);
  if (absl::Status s = CheckSelector(pdb.selector); !s.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(object, ": spec.selector: ", s.message()));
  }
  const int64_t allowed = pdb.disruptions_allowed;
  if (allowed < 0 || allowed > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(object, ": status.disruptionsAllowed: ", allowed, " is out of range"));
  }
  return absl::OkStatus();
}

absl::Status SnapshotBuilder::AddPodDisruptionBudget(const objects::PodDisruptionBudget& pdb) {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  if (absl::Status s = Check(pdb); !s.ok()) return s;
  absl::StatusOr<Pdb> budget = CompileBudget(pdb, *catalog_->symbols_);
  if (!budget.ok()) return budget.status();
  if (!pdb_names_.insert({budget->namespace_name, budget->name}).second) {
    return absl::InvalidArgumentError(
        absl::StrCat(ObjectName("PodDisruptionBudget", pdb.meta), ": occurs twice"));
  }
  catalog_->pdbs_.push_back(*std::move(budget));
  return absl::OkStatus();
}

absl::StatusOr<Pdb> SnapshotBuilder::CompileBudget(const objects::PodDisruptionBudget& pdb,
                                                   Symbols& symbols) {
  absl::StatusOr<Selector> selector = CompileSelector(pdb.selector, symbols);
  if (!selector.ok()) return selector.status();
  return Pdb{.namespace_name = symbols.Intern(pdb.meta.namespace_name),
             .name = symbols.Intern(pdb.meta.name),
             .selector = *std::move(selector),
             .disruptions_allowed = static_cast<int32_t>(pdb.disruptions_allowed),
             .always_allows_unready = pdb.always_allows_unready,
             .sync_failed = pdb.sync_failed,
             .sync_message = std::string(pdb.sync_message),
             .desired_healthy = pdb.desired_healthy,
             .expected_pods = pdb.expected_pods,
             .current_healthy = pdb.current_healthy};
}

Selector SnapshotBuilder::SelectorOf(const objects::Controller& controller, Symbols& symbols) {
  absl::StatusOr<Selector> selector = CompileSelector(controller.selector, symbols);
  if (!selector.ok()) return {.nothing = true, .requirements = {}};
  return *std::move(selector);
}

absl::Status SnapshotBuilder::AddController(const objects::Controller& controller) {
  Symbols& symbols = *catalog_->symbols_;
  const auto found =
      std::ranges::find(controller.meta.owners, true, &objects::OwnerReference::controller);
  const objects::OwnerReference* const owner =
      found == controller.meta.owners.end() ? nullptr : &*found;
  catalog_->controllers_.insert_or_assign(
      {controller.kind, symbols.Intern(controller.meta.namespace_name),
       symbols.Intern(controller.meta.name)},
      ControllerStatus{.uid = symbols.Intern(controller.meta.uid),
                       .spec_replicas = controller.spec_replicas,
                       .completions = controller.completions,
                       .status_replicas = controller.status_replicas,
                       .succeeded = controller.succeeded,
                       .selector = SelectorOf(controller, symbols),
                       .owner_kind = owner == nullptr ? kNoText : symbols.Intern(owner->kind),
                       .owner_name = owner == nullptr ? kNoText : symbols.Intern(owner->name)});
  return absl::OkStatus();
}

absl::Status SnapshotBuilder::Check(const objects::Namespace& namespace_object) {
  return CheckNamed(&namespace_object);
}

absl::Status SnapshotBuilder::AddNamespace(const objects::Namespace& namespace_object) {
  if (absl::Status s = Check(namespace_object); !s.ok()) return s;
  Symbols& symbols = *catalog_->symbols_;
  catalog_->namespace_labels_.insert_or_assign(symbols.Intern(namespace_object.meta.name),
                                               InternLabels(namespace_object.meta.labels, symbols));
  return absl::OkStatus();
}

absl::Status SnapshotBuilder::Check(const objects::StorageObject& object) {
  return CheckNamed(&object);
}

absl::Status SnapshotBuilder::AddStorageObject(const objects::StorageObject& object) {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  absl::Status added = catalog_->storage_->Add(object, *catalog_->symbols_);
  if (!added.ok()) return added;
  Devices& devices = *catalog_->devices_;
  Symbols& symbols = *catalog_->symbols_;
  if (const auto* const device_class = std::get_if<objects::DeviceClass>(&object)) {
    devices.Put(*device_class, symbols);
  } else if (const auto* const claim = std::get_if<objects::ResourceClaim>(&object)) {
    devices.Put(*claim, symbols);
  } else if (const auto* const slice = std::get_if<objects::ResourceSlice>(&object)) {
    devices.Put(*slice, symbols);
  } else if (const auto* const rule = std::get_if<objects::DeviceTaintRule>(&object)) {
    devices.Put(*rule, symbols);
  }
  return added;
}

absl::Status SnapshotBuilder::OrderNodes(const std::vector<std::string_view>& names) {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  Catalog& catalog = *catalog_;
  std::vector<bool> taken(catalog.nodes());
  std::vector<NodeId> order;
  for (const std::string_view name : names) {
    const absl::StatusOr<NodeId> id = catalog.FindNode(name);
    if (!id.ok()) return absl::InvalidArgumentError(id.status().message());
    if (taken[Index(*id)]) {
      return absl::InvalidArgumentError(absl::StrCat("node \"", Absl(name), "\" is named twice"));
    }
    taken[Index(*id)] = true;
    order.push_back(*id);
  }
  if (order.size() != catalog.nodes()) {
    return absl::InvalidArgumentError(
        absl::StrCat(order.size(), " names for ", catalog.nodes(), " nodes"));
  }
  std::vector<NodeInfo> nodes;
  for (const NodeId id : order) nodes.push_back(std::move(catalog.nodes_[Index(id)]));
  catalog.nodes_ = std::move(nodes);
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    catalog.nodes_by_name_[catalog.nodes_[n].name] = NodeId{n};
  }
  return absl::OkStatus();
}

// Adds the pods that stand for CapacityBuffers, as the autoscaler makes them.
void SnapshotBuilder::AddBufferPods() {
  // For all buffers together.  A larger number is a mistake, or an attack on memory.
  constexpr int64_t kMost = 100'000;
  int64_t left = kMost;
  Catalog& catalog = *catalog_;
  Symbols& symbols = *catalog.symbols_;
  for (const RoomObjects::Buffer& buffer : catalog.storage_->room().buffers()) {
    const int64_t replicas = std::max<int64_t>(0, buffer.replicas.value_or(0));
    if (buffer.ready && buffer.replicas == 0) continue;
    KeptBuffer& kept = catalog.buffers_.emplace_back(
        KeptBuffer{.namespace_name = buffer.namespace_name,
                   .name = buffer.name,
                   .strategy = buffer.strategy,
                   .template_name = buffer.template_name,
                   .replicas = replicas,
                   .ready = buffer.ready,
                   .first = PodId{static_cast<uint32_t>(catalog.pods_.size())},
                   .pods = 0,
                   .problem = {}});
    if (!buffer.ready) {
      kept.problem = "it is not ready for provisioning";
      continue;
    }
    if (replicas == 0) {
      kept.problem = buffer.replicas ? absl::StrCat("status.replicas: ", *buffer.replicas,
                                                    " is not a number of pods")
                                     : "status.replicas: is missing";
      continue;
    }
    const objects::Pod* const from =
        catalog.storage_->room().FindTemplate(buffer.namespace_name, buffer.template_name);
    if (from == nullptr) {
      kept.problem = absl::StrCat("status.podTemplateRef: PodTemplate \"",
                                  Absl(symbols.Text(buffer.template_name)), "\" is missing");
      continue;
    }
    objects::Pod pod = *from;
    pod.node_name = {};
    pod.scheduling = objects::Scheduling::kUnschedulable;
    pod.meta.namespace_name = symbols.Text(buffer.namespace_name);
    // No rule keeps it on a node that goes: it runs nowhere.
    std::erase_if(pod.meta.annotations,
                  [](const objects::KeyValue& each) { return each.key == kSafeToEvictAnnotation; });
    pod.meta.annotations.push_back({.key = kSafeToEvictAnnotation, .value = "true"});
    pod.meta.owners = {{.api_version = "autoscaling.x-k8s.io/v1beta1",
                        .kind = "CapacityBuffer",
                        .name = symbols.Text(buffer.name),
                        .uid = buffer.uid,
                        .controller = true}};
    const std::string name = absl::StrCat("capacity-buffer-", Absl(symbols.Text(buffer.name)));
    pod.meta.name = name;
    if (absl::Status s = Check(pod); !s.ok()) {
      kept.problem = absl::StrCat("its PodTemplate: ", s.message());
      continue;
    }
    SumRequests(pod);
    const PodShapeId shape = shapes_->Intern(catalog, pod, requests_);
    const bool has_names = !catalog.pods_by_name_.empty();  // A LiveSnapshot keeps its own.
    for (int64_t i = 1; i <= std::min(replicas, left); ++i) {
      const std::string own = absl::StrCat(name, "-", i);
      const NamedPod named{
          .namespace_name = buffer.namespace_name,
          .name = symbols.Intern(own),
          .key = symbols.Intern(absl::StrCat(buffer.uid.empty() ? name : buffer.uid, "-", i)),
          .creation_time = 0,
          .deletion_time = std::nullopt,
          .unready = false,
          .wanted_node = kNoText};
      if (has_names && !RegisterName(named)) continue;
      Register(named, shape);
      ++kept.pods;
    }
    if (replicas > left) {
      kept.problem = absl::StrCat("status.replicas: ", replicas, " pods, and room is kept for ",
                                  left, ", because all buffers together have more than ", kMost);
    } else if (kept.pods < replicas) {
      kept.problem = absl::StrCat("status.replicas: room is kept for ", kept.pods, " pods");
    }
    left -= kept.pods;
  }
}

// What pods of the shape may be charged on a node.
std::array<const Requests*, 2> SnapshotBuilder::ChargesOf(const PodShape& shape) {
  return {&shape.charge_requests, &shape.home_requests};
}

// Lowers charges until they add up to at most kChargedMax.  The charges of nearly all clusters do
// so unchanged.  A pod that requested more than any node offers still does: no other pod fits
// beside it, and it fits on no other node.
void SnapshotBuilder::BoundCharges() {
  Catalog& catalog = *catalog_;
  std::vector<uint32_t> pods_of(catalog.shapes_.size());
  for (const PodShapeId shape : catalog.shape_ids_) ++pods_of[Index(shape)];
  std::vector<unsigned __int128> charged(catalog.resources());
  for (size_t s = 0; s < pods_of.size(); ++s) {
    for (const Requests* const list : ChargesOf(catalog.shapes_[s])) {
      for (const auto& [resource, amount] : *list) {
        charged[Index(resource)] += static_cast<unsigned __int128>(pods_of[s]) * amount;
      }
    }
  }
  absl::flat_hash_map<ResourceId, Charge> too_much;
  for (uint32_t r = 0; r < charged.size(); ++r) {
    if (charged[r] > kChargedMax) too_much.try_emplace(ResourceId{r});
  }
  if (too_much.empty()) return;
  bounded_charges_ = true;
  for (const NodeInfo& node : catalog.nodes_) {
    for (const auto& [resource, amount] : node.allocatable) {
      if (const auto it = too_much.find(resource); it != too_much.end()) {
        it->second.offers.push_back(amount);
      }
    }
  }
  for (size_t s = 0; s < pods_of.size(); ++s) {
    for (const Requests* const list : ChargesOf(catalog.shapes_[s])) {
      for (const auto& [resource, amount] : *list) {
        if (const auto it = too_much.find(resource); it != too_much.end()) {
          it->second.asked.push_back({amount, pods_of[s]});
        }
      }
    }
  }
  for (auto& [resource, charge] : too_much) charge.SetMost();

  // Some nodes may offer so much that even pods which fit there have too large a sum.  Such nodes
  // count as offering none, because their sums cannot be trusted.  Other nodes are unaffected.
  const auto is_above = [&](const ResourceQuantity& q) {
    const auto it = too_much.find(q.resource);
    return it != too_much.end() && q.amount > it->second.most;
  };
  for (NodeInfo& node : catalog.nodes_) std::erase_if(node.allocatable, is_above);
  for (PodShape& shape : catalog.shapes_) {
    if (std::ranges::none_of(shape.charge_requests, is_above) &&
        std::ranges::none_of(shape.home_requests, is_above)) {
      continue;
    }
    if (!shape.counts_otherwise) shape.counted_requests = shape.Counted();
    shape.counts_otherwise = true;
    for (Requests* const list : {&shape.charge_requests, &shape.home_requests}) {
      for (ResourceQuantity& q : *list) {
        if (is_above(q)) q.amount = too_much.at(q.resource).most + 1;
      }
    }
  }
}

void SnapshotBuilder::ListPodsCountedOtherwise() {
  Catalog& catalog = *catalog_;
  if (std::ranges::none_of(catalog.shapes_, &PodShape::counts_otherwise)) return;
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    if (catalog.shape_of(PodId{p}).counts_otherwise) {
      catalog.pods_counted_otherwise_.push_back(PodId{p});
    }
  }
}

void SnapshotBuilder::ConnectBudgets() {
  Catalog& catalog = *catalog_;
  ShapeMatches matches = tables_->TakeMatches();
  if (catalog.pdbs_.size() * catalog.shapes_.size() > kMatchesMax) {
    std::vector<uint64_t> most;
    for (const Pdb& pdb : catalog.pdbs_) {
      const PodMatcher matcher = MatcherOf(pdb);
      most.push_back(matches.Most({&matcher, 1}));
    }
    // A pod that matches this many budgets could not be evicted: the API allows at most one.
    std::vector<PodMatcher> out;
    const std::vector<bool> too_broad = TooBroad(most, kMatchesMax);
    left_out_budgets_ = !too_broad.empty();
    for (size_t p = 0; p < too_broad.size(); ++p) {
      if (too_broad[p]) out.push_back(MatcherOf(catalog.pdbs_[p]));
      catalog.pdbs_[p].selector.nothing |= too_broad[p];
    }
    std::vector<std::span<const PodMatcher>> questions;
    for (const PodMatcher& matcher : out) questions.emplace_back(&matcher, 1);
    matches.ForEachThatMayMatch(questions, [&](PodShapeId id) {
      PodShape& shape = catalog.shapes_[Index(id)];
      if (!shape.not_understood.empty()) return;
      shape.not_understood = absl::StrCat("metadata.labels: ", Absl(kTooManyBudgets));
    });
  }
  for (uint32_t p = 0; p < catalog.pdbs_.size(); ++p) {
    const PodMatcher matcher = MatcherOf(catalog.pdbs_[p]);
    matches.ForEach({&matcher, 1}, [&](PodShapeId shape) {
      catalog.shapes_[Index(shape)].budgets.push_back(PdbId{p});
    });
  }
}

// An extended resource that is allocated from devices is not evaluated: a pod that requests one of
// a DeviceClass, which may be allocated from devices, keeps its node.
void SnapshotBuilder::RefuseDeviceClasses(PodShapeId id) {
  const Catalog& catalog = *catalog_;
  const PodShape& shape = catalog.shape(id);
  for (const auto& [resource, amount] : shape.fit_requests) {
    const TextId name = catalog.resource_name(resource);
    const TextId device_class = catalog.storage_->DeviceClassOf(name);
    if (device_class == kNoText || !shape.not_understood.empty()) continue;
    RefuseDevices(
        id, absl::StrCat("spec.containers[].resources.requests.", Absl(catalog.Text(name)),
                         ": is allocated through DeviceClass ", Absl(catalog.Text(device_class)),
                         "; ", Absl(kDynamicAllocationNotEvaluated)));
  }
}

// Why a pod of the shape keeps its node because of its claims; empty if ebb understands them.
std::string SnapshotBuilder::WhyClaimsNotUnderstood(const PodShape& shape) const {
  const Catalog& catalog = *catalog_;
  std::string why;
  const auto refuse = [&](const PodResourceClaimInfo& claim, std::string_view reason) {
    absl::StrAppend(&why, why.empty() ? "" : "; ");
    if (claim.name == kNoText) {
      why += "status.extendedResourceClaimStatus";
    } else {
      absl::StrAppend(&why, "spec.resourceClaims[", Absl(catalog.Text(claim.name)), "]");
    }
    absl::StrAppend(&why, ": ", Absl(reason));
  };
  for (const PodResourceClaimInfo& claim : shape.resource_claims) {
    const std::string state =
        catalog.storage_->Describe(shape.namespace_name, claim, catalog.symbols());
    const std::optional<DeviceClaimId> id =
        catalog.devices().FindClaim(shape.namespace_name, claim.claim_name);
    if (claim.name != kNoText && (!id || catalog.devices().claim(*id).deleting)) {
      refuse(claim, state);
      continue;
    }
    if (claim.name == kNoText) {
      refuse(claim, absl::StrCat(state, "; ", Absl(kDynamicAllocationNotEvaluated)));
      continue;
    }
    const std::string reason = catalog.devices().WhyNotUnderstood(*id, catalog.symbols());
    if (!reason.empty()) refuse(claim, absl::StrCat(state, "; ", reason));
  }
  return why;
}

void SnapshotBuilder::RefuseDevices(PodShapeId id, std::string why) {
  PodShape& shape = catalog_->shapes_[Index(id)];
  if (why.empty() || !shape.not_understood.empty()) return;
  shape.not_understood = std::move(why);
  if (!shape.resource_claims.empty()) refused_devices_.insert(id);
}

void SnapshotBuilder::DisconnectDeviceClaims(PodShapeId id) {
  PodShape& shape = catalog_->shapes_[Index(id)];
  shape.device_claims.clear();
  if (refused_devices_.erase(id) > 0) shape.not_understood.clear();
}

// Gives a shape its claims, or the reason why ebb does not understand them.
void SnapshotBuilder::ConnectDeviceClaims(PodShapeId id) {
  PodShape& shape = catalog_->shapes_[Index(id)];
  if (shape.resource_claims.empty() || !shape.not_understood.empty()) return;
  RefuseDevices(id, WhyClaimsNotUnderstood(shape));
  if (!shape.not_understood.empty()) return;
  for (const PodResourceClaimInfo& claim : shape.resource_claims) {
    const std::optional<DeviceClaimId> found =
        catalog_->devices().FindClaim(shape.namespace_name, claim.claim_name);
    if (std::ranges::find(shape.device_claims, *found) == shape.device_claims.end()) {
      shape.device_claims.push_back(*found);
    }
  }
}

void SnapshotBuilder::ConnectDeviceClaims(std::span<const PodShapeId> shapes,
                                          std::span<const DeviceUser> users) {
  for (const PodShapeId id : shapes) {
    ConnectDeviceClaims(id);
    RefuseDeviceClasses(id);
  }
  CheckUsersOfDevices(users);
}

void SnapshotBuilder::ConnectDevices() {
  Catalog& catalog = *catalog_;
  const auto node_at = [&](NodeId id) {
    return DeviceNode{catalog.node(id).name, catalog.node(id).labels};
  };
  const auto find_node = [&](TextId name) { return catalog.FindNode(name); };
  catalog.devices_->Connect({catalog.nodes(), node_at, find_node}, catalog.symbols(),
                            catalog.version_);
  std::vector<PodShapeId> shapes;
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) shapes.push_back(PodShapeId{s});
  std::vector<DeviceUser> users;
  absl::flat_hash_set<NodeId> unknown;
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    if (catalog.shape_of(PodId{p}).resource_claims.empty()) continue;
    users.push_back({.pod = PodId{p},
                     .node = catalog.FindNode(wanted_nodes_[p]),
                     .is_nominated = nominated_.contains(PodId{p})});
    if (UsesUnknownDevices(users.back())) unknown.insert(users.back().node);
  }
  ConnectDeviceClaims(shapes, users);
  if (!unknown.empty()) CloseUnknownPools(unknown);
}

// A cluster allocates claims before it binds the pod, so an input in which the claims of a pod that
// runs are missing or not allocated is incomplete.
bool SnapshotBuilder::UsesUnknownDevices(const DeviceUser& user) const {
  if (user.node == kNoNode || user.is_nominated) return false;
  const PodShape& shape = catalog_->shape_of(user.pod);
  return !std::ranges::all_of(shape.resource_claims, [&](const PodResourceClaimInfo& claim) {
    return catalog_->devices().IsAllocated(shape.namespace_name, claim.claim_name);
  });
}

// `nodes`: of pods that use unknown devices.
void SnapshotBuilder::CloseUnknownPools(const absl::flat_hash_set<NodeId>& nodes) {
  std::vector<DeviceNode> unknown;
  for (const NodeId id : nodes) {
    unknown.push_back({catalog_->node(id).name, catalog_->node(id).labels});
  }
  catalog_->devices_->CloseUnknownPools(unknown, catalog_->symbols());
}

// Compares the claims with the pods that use them.  A pod whose claims say something else than the
// pod itself keeps its node, as do all pods of its shape.
void SnapshotBuilder::CheckUsersOfDevices(std::span<const DeviceUser> all) {
  Catalog& catalog = *catalog_;
  Devices& devices = *catalog.devices_;
  absl::flat_hash_map<DeviceClaimId, uint32_t> users;
  const auto for_each_use = [&](auto&& visit) {
    for (const DeviceUser& user : all) {
      // A copy: `visit` may clear the shape's list.
      const std::vector<DeviceClaimId> claims = catalog.shape_of(user.pod).device_claims;
      for (const DeviceClaimId claim : claims) visit(user, claim);
    }
  };
  const auto refuse = [&](const DeviceUser& user, DeviceClaimId id, std::string_view why) {
    const PodShapeId shape = catalog.shape_ids_[Index(user.pod)];
    catalog.shapes_[Index(shape)].device_claims.clear();
    RefuseDevices(shape, absl::StrCat("spec.resourceClaims: ResourceClaim ",
                                      Absl(catalog.Text(devices.claim(id).namespace_name)), "/",
                                      Absl(catalog.Text(devices.claim(id).name)), " ", Absl(why)));
  };
  for_each_use([&](const DeviceUser& user, DeviceClaimId id) {
    ++users[id];
    if (devices.claim(id).owner_uid == catalog.pod(user.pod).key) devices.SetOwned(id);
  });
  for_each_use([&](const DeviceUser& user, DeviceClaimId id) {
    const DeviceClaimInfo& claim = devices.claim(id);
    const TextId key = catalog.pod(user.pod).key;
    const bool is_made =
        std::ranges::any_of(catalog.shape_of(user.pod).resource_claims, [&](const auto& each) {
          return each.claim_name == claim.name && each.template_name != kNoText;
        });
    if (is_made && claim.owner_uid != key) {
      refuse(user, id, "was not created for the pod (the pod is not its owner)");
    } else if (claim.owned && users[id] > 1) {
      refuse(user, id, "belongs to one pod and is used by several");
    }
    if (user.node == kNoNode || user.is_nominated) return;
    if (!claim.allocated || !claim.IsReservedFor(key)) {
      refuse(user, id,
             claim.allocated ? "is not reserved for the pod, which uses it"
                             : "is not allocated, and the pod uses it");
    }
  });
  for_each_use([&](const DeviceUser& user, DeviceClaimId id) {
    if (user.node == kNoNode) return;
    if (devices.claim(id).IsReservedFor(catalog.pod(user.pod).key)) devices.PlacesUser(id);
  });
}

void SnapshotBuilder::RefuseUnknownNamespaces() {
  Catalog& catalog = *catalog_;
  std::vector<PodShape*> in_unknown;
  for (PodShape& shape : catalog.shapes_) {
    if (catalog.FindNamespaceLabels(shape.namespace_name) == nullptr) in_unknown.push_back(&shape);
  }
  if (in_unknown.empty()) return;
  const TextId name_key = catalog.symbols_->Intern(kNamespaceName);
  UnknownNamespaces unknown(catalog, std::move(in_unknown), name_key);
  const std::vector<PendingTopology>& pending = shapes_->pending();
  for (size_t s = 0; s < pending.size(); ++s) {
    unknown.RejectTermOwners(catalog.shapes_[s], pending[s].affinity, "podAffinity");
    unknown.RejectTermOwners(catalog.shapes_[s], pending[s].anti_affinity, "podAntiAffinity");
  }
  for (const PendingTopology& topology : pending) {
    unknown.RejectRepelled(topology.anti_affinity);
  }
  // From here on these namespaces have the label that the API server gives every namespace.
  guessed_namespaces_ = true;
  for (const PodShape* const shape : unknown.shapes()) {
    catalog.namespace_labels_.try_emplace(shape->namespace_name,
                                          LabelSet{{name_key, shape->namespace_name}});
  }
}

KubernetesVersion SnapshotBuilder::VersionNow() const {
  if (given_version_) return *given_version_;
  const auto is_newest = [](const NodeInfo& node) {
    return node.version == KubernetesVersion::k137;
  };
  return std::ranges::any_of(catalog_->nodes_, is_newest) ? KubernetesVersion::k137
                                                          : KubernetesVersion::k136;
}

TextId SnapshotBuilder::OsOfNode(TextId wanted_node, bool is_nominated) const {
  if (!has_nodes_of_two_os_ || is_nominated || wanted_node == kNoText) return kNoText;
  const NodeId node = catalog_->FindNode(wanted_node);
  return node == kNoNode ? kNoText : catalog_->node(node).os;
}

// Nodes may be added after their pods, whose shapes were then made without their node's system.
void SnapshotBuilder::AssignOsFromNodes() {
  if (!has_nodes_of_two_os_) return;
  Catalog& catalog = *catalog_;
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    const TextId os = OsOfNode(wanted_nodes_[p], nominated_.contains(PodId{p}));
    PodShapeId& shape = catalog.shape_ids_[p];
    if (os != kNoText) shape = shapes_->OnNodeWith(os, shape, catalog);
  }
}

void SnapshotBuilder::PlacePods(ClusterSnapshot& snapshot) const {
  // Dumps often list the pods of a node one after the other.
  TextId last = kNoText;
  NodeId node = kNoNode;
  for (uint32_t p = 0; p < wanted_nodes_.size(); ++p) {
    if (wanted_nodes_[p] == kNoText) continue;
    if (wanted_nodes_[p] != last) {
      last = wanted_nodes_[p];
      node = catalog_->FindNode(last);
    }
    if (node == kNoNode) continue;
    catalog_->SetHome(PodId{p}, node);
    snapshot.AddPod(PodId{p}, node);
  }
}

bool SnapshotBuilder::MayTakeNodes() const {
  return !bounded_charges_ && !renumbered_resources_ && catalog_->resources() <= kResourcesKept;
}

void SnapshotBuilder::IndexShapes(size_t shapes) {
  if (shape_index_ != nullptr) return;
  shape_index_ = std::make_unique<ShapeIndex>();
  for (size_t s = 0; s < shapes; ++s) shape_index_->Add(catalog_->shapes_[s]);
  budget_index_.emplace(*shape_index_);
  for (const Pdb& pdb : catalog_->pdbs_) {
    const PodMatcher matcher = MatcherOf(pdb);
    budget_index_->Add({&matcher, 1});
  }
  tables_->IndexShapes(*shape_index_);
}

bool SnapshotBuilder::AddBudget(Pdb budget) {
  if (left_out_budgets_) return false;
  IndexShapes(catalog_->shapes_.size());
  const PdbId id{static_cast<uint32_t>(catalog_->pdbs_.size())};
  const PodMatcher matcher = MatcherOf(budget);
  budget_index_->Add({&matcher, 1});
  catalog_->pdbs_.push_back(std::move(budget));
  return ConnectBudget(id);
}

bool SnapshotBuilder::ReplaceBudget(PdbId id, Pdb budget) {
  Pdb& pdb = catalog_->pdbs_[Index(id)];
  if (pdb.selector == budget.selector) {
    // Most changes only change the allowed disruptions, which shapes do not depend on.
    pdb = std::move(budget);
    return true;
  }
  if (left_out_budgets_) return false;
  IndexShapes(catalog_->shapes_.size());
  const auto number = static_cast<uint32_t>(Index(id));
  budget_index_->ForEachShape(
      number, [&](PodShapeId shape) { std::erase(catalog_->shapes_[Index(shape)].budgets, id); });
  pdb = std::move(budget);
  const PodMatcher matcher = MatcherOf(pdb);
  budget_index_->Replace(number, {&matcher, 1});
  return ConnectBudget(id);
}

bool SnapshotBuilder::ConnectBudget(PdbId id) {
  if (budget_index_->most() > kMatchesMax) return false;
  const PodMatcher matcher = MatcherOf(catalog_->pdbs_[Index(id)]);
  budget_index_->ForEachShape(static_cast<uint32_t>(Index(id)), [&](PodShapeId each) {
    PodShape& shape = catalog_->shapes_[Index(each)];
    if (!matcher.Matches(shape)) return;
    shape.budgets.insert(std::ranges::lower_bound(shape.budgets, id), id);
  });
  return true;
}

bool SnapshotBuilder::RemoveBudget(PdbId id) {
  if (left_out_budgets_) return false;
  IndexShapes(catalog_->shapes_.size());
  budget_index_->Remove(static_cast<uint32_t>(Index(id)));
  catalog_->pdbs_.erase(catalog_->pdbs_.begin() + static_cast<ptrdiff_t>(Index(id)));
  for (PodShape& shape : catalog_->shapes_) {
    std::erase(shape.budgets, id);
    for (PdbId& other : shape.budgets) {
      if (other > id) other = PdbId{static_cast<uint32_t>(Index(other) - 1)};
    }
  }
  return true;
}

void SnapshotBuilder::NoteWhetherVersionMatters(std::span<const PodShape> shapes) {
  bool& matters = catalog_->version_matters_;
  matters = matters || shapes_->any_held_137() || tables_->asks_of_no_labels() ||
            std::ranges::any_of(shapes, &PodShape::needs_bind_mount_options);
}

bool SnapshotBuilder::ConnectLastShape() {
  Catalog& catalog = *catalog_;
  shapes_->ApplyProfiles(catalog, catalog.shapes_.size() - 1,
                         /*all_known=*/!keep_where_namespaces_are_unknown_);
  PodShape& shape = catalog.shapes_.back();
  const PendingTopology& pending = shapes_->pending().back();
  if (renumbered_resources_ || catalog.resources() > kResourcesKept || left_out_budgets_) {
    return false;
  }
  IndexShapes(catalog.shapes_.size() - 1);
  shape_index_->Add(shape);
  budget_index_->CountShape(shape);
  if (budget_index_->most() > kMatchesMax) return false;
  if (!tables_->ConnectLast(pending)) return false;
  if (keep_where_namespaces_are_unknown_) {
    // If a term selects namespaces by labels, pods in unknown namespaces must keep their nodes.
    const bool is_known = catalog.FindNamespaceLabels(shape.namespace_name) != nullptr;
    if (tables_->asks_for_namespaces() && (guessed_namespaces_ || !is_known)) return false;
    if (!is_known) {
      guessed_namespaces_ = true;
      const TextId name_key = catalog.symbols_->Intern(kNamespaceName);
      catalog.namespace_labels_.try_emplace(shape.namespace_name,
                                            LabelSet{{name_key, shape.namespace_name}});
    }
  }
  budget_index_->ForEachSelector(shape, [&](uint32_t p) {
    if (MatcherOf(catalog.pdbs_[p]).Matches(shape)) shape.budgets.push_back(PdbId{p});
  });
  if (vpa_ == VpaRule::kFollow) shapes_->FollowVpas(catalog, catalog.shapes_.size() - 1);
  if (!shape.gangs.empty()) PodShapes::FindGroups(catalog);
  NoteWhetherVersionMatters({&shape, 1});
  if (shape.volumes != 0) catalog.storage_->ConnectLastVolumes();
  RefuseDeviceClasses(PodShapeId{static_cast<uint32_t>(catalog.shapes_.size() - 1)});
  return true;
}

absl::StatusOr<ClusterSnapshot> SnapshotBuilder::Build() && {
  if (absl::Status s = CheckNotBuilt(); !s.ok()) return s;
  catalog_->version_ = VersionNow();
  AddBufferPods();
  if (catalog_->version_ >= KubernetesVersion::k137) shapes_->HoldBy137(*catalog_);
  AssignOsFromNodes();
  shapes_->ApplyProfiles(*catalog_, 0, /*all_known=*/!keep_where_namespaces_are_unknown_);
  if (keep_where_namespaces_are_unknown_) RefuseUnknownNamespaces();
  tables_ = std::make_unique<TopologyTables>(*catalog_);
  std::vector<PodMatcher> of_budgets;
  for (const Pdb& pdb : catalog_->pdbs_) of_budgets.push_back(MatcherOf(pdb));
  tables_->Connect(shapes_->pending(), of_budgets);
  NoteWhetherVersionMatters(catalog_->shapes_);
  if (vpa_ == VpaRule::kFollow) shapes_->FollowVpas(*catalog_, 0);
  PodShapes::FindGroups(*catalog_);
  BoundCharges();
  ListPodsCountedOtherwise();
  ConnectBudgets();
  catalog_->storage_->Connect(*catalog_->symbols_);
  ConnectDevices();
  renumbered_resources_ = catalog_->resources() > kResourcesKept;
  DropUnused(catalog_->symbols(), {catalog_->resource_names_, catalog_->resources_by_name_},
             catalog_->nodes_, catalog_->shapes_);
  catalog_->pods_.shrink_to_fit();
  catalog_->shape_ids_.shrink_to_fit();
  catalog_->shapes_.shrink_to_fit();
  ClusterSnapshot snapshot(catalog_);
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) snapshot.AddNode(NodeId{n});
  PlacePods(snapshot);
  catalog_->gang_states_ = CountGangs(snapshot);
  return snapshot;
}

}  // namespace ebb
