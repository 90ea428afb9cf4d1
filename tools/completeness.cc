#include "tools/completeness.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <variant>

#include "absl/strings/str_cat.h"
#include "snapshot/catalog.h"
#include "snapshot/text.h"
#include "tools/object_batch.h"
#include "tools/object_content.h"
#include "tools/printable.h"
#include "tools/table.h"

namespace ebb {
namespace {

constexpr std::string_view kKubeSystem = "kube-system";
// A node that joined has its DaemonSets' pods within minutes.
constexpr int64_t kOldNodeSeconds = 15 * 60;

std::string WholeDump(std::string_view kinds) {
  return absl::StrCat("kubectl get ", Absl(kinds), " -A -o json");
}
std::string WholeDump() {
  return WholeDump("nodes,pods,pdb,rs,sts,ds,jobs,rc,ns,pv,pvc,sc,csinodes");
}

// "a, b, c and 4 more": the first few of many.
std::string Some(std::span<const std::string> names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Printable(names[i]));
  }
  if (names.size() > kShown) {
    absl::StrAppend(&text, " and ", WithCommas(names.size() - kShown), " more");
  }
  return text;
}

// Kinds of controllers, as owners name them and as kubectl does.
struct OwnerKind {
  objects::ControllerKind kind;
  std::string_view name;
  std::string_view group;
  std::string_view resource;
};
constexpr auto kOwnerKinds = std::to_array<OwnerKind>({
    {objects::ControllerKind::kReplicaSet, "ReplicaSet", "apps", "rs"},
    {objects::ControllerKind::kStatefulSet, "StatefulSet", "apps", "sts"},
    {objects::ControllerKind::kDaemonSet, "DaemonSet", "apps", "ds"},
    {objects::ControllerKind::kJob, "Job", "batch", "jobs"},
    {objects::ControllerKind::kReplicationController, "ReplicationController", "", "rc"},
});

std::string_view GroupOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : api_version.substr(0, slash);
}

const OwnerKind* KindOf(const Catalog& catalog, const Owner& owner) {
  for (const OwnerKind& kind : kOwnerKinds) {
    if (kind.name == catalog.Text(owner.kind) &&
        kind.group == GroupOf(catalog.Text(owner.api_version))) {
      return &kind;
    }
  }
  return nullptr;
}

// Whether a controller that pods name is there, of those with an owner like `owner`.
bool AnyFound(const Catalog& catalog, const OwnerKind& kind, const Owner& owner) {
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    const PodShape& shape = catalog.shape(PodShapeId{s});
    if (!shape.has_controller || shape.controller.kind != owner.kind) continue;
    if (catalog.FindController(kind.kind, shape.namespace_name, shape.controller.name)) return true;
  }
  return false;
}

bool HasEnded(const objects::Pod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

// Virtual nodes run what the provider runs for them, and no DaemonSets.
bool IsVirtual(const Catalog& catalog, const NodeInfo& node) {
  return std::any_of(node.labels.begin(), node.labels.end(), [&](const auto& label) {
    return catalog.Text(label.key) == "type" && catalog.Text(label.value) == "virtual-kubelet";
  });
}

// A selector whose answer hangs on the labels of namespaces.
bool AsksForLabels(const objects::LabelSelector& selector) {
  return !selector.nil && !(selector.match_labels.empty() && selector.match_expressions.empty());
}

// Whether an input stays what it is when it is read.
bool CanBeReadTwice(const std::string& input) {
  std::error_code error;
  const auto type = std::filesystem::status(input, error).type();
  return input != "-" && (type == std::filesystem::file_type::regular ||
                          type == std::filesystem::file_type::directory);
}

// Whether resourceVersion `a` is newer than `b`, of one object.  Absent: they cannot be
// compared, as they are not both the decimal numbers that Kubernetes says they are.
// Source: KEP-5504, "Comparable Resource Version".
std::optional<bool> IsNewer(std::string_view a, std::string_view b) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text[0] != '0' &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

std::string VersionText(std::string_view version) {
  return version.empty() ? "none" : Printable(version);
}

}  // namespace

// ---------------------------------------------------------------------------
// What comes by

absl::Status InputWatch::Read(std::span<const std::string> inputs, ObjectSink& to,
                              ImportStats& stats, const Parallelism& parallelism,
                              const InputLimits& limits, ReadAgain again) {
  const bool is_second = MustReadAgain();
  auto newest = std::move(newer_);
  *this = InputWatch();
  newest_ = std::move(newest);
  to_ = &to;
  may_read_again_ = again == ReadAgain::kIfNeeded && !is_second &&
                    std::all_of(inputs.begin(), inputs.end(), CanBeReadTwice);
  for (const std::string& input : inputs) {
    ++input_;
    absl::Status read = ReadInput(input, *this, stats, parallelism, limits);
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

InputWatch::Key InputWatch::KeyOf(std::string_view kind, const objects::ObjectMeta& meta) {
  key_.clear();
  for (const std::string_view part : {kind, meta.namespace_name, meta.name}) {
    key_ += part;
    key_ += '/';  // In no name.
  }
  const XXH128_hash_t hash = XXH3_128bits(key_.data(), key_.size());
  return {hash.high64, hash.low64};
}

template <typename Object>
absl::Status InputWatch::Meet(std::string_view kind, const objects::ObjectMeta& meta,
                              const Object& object, bool& is_new) {
  is_new = true;
  const Aside aside = std::exchange(aside_, {});
  const Key key = KeyOf(kind, meta);
  if (!newest_.empty()) {
    const auto newest = newest_.find(key);
    if (newest != newest_.end() && IsNewer(newest->second, aside.resource_version) == true) {
      is_new = false;
      PassOver(kind, meta);
      return absl::OkStatus();
    }
  }
  const uint64_t content = ContentOf(object);
  const auto [it, added] = seen_.try_emplace(
      key, Seen{.content = content,
                .texts_at = texts_.size(),
                .uid_bytes = static_cast<uint32_t>(meta.uid.size()),
                .version_bytes = static_cast<uint32_t>(aside.resource_version.size()),
                .input = input_,
                .place = aside.place});
  if (added) {
    texts_.append(meta.uid).append(aside.resource_version);
    return absl::OkStatus();
  }
  is_new = false;
  return MeetAgain(key, it->second, kind, meta, aside, content);
}

absl::Status InputWatch::MeetAgain(const Key& key, const Seen& first, std::string_view kind,
                                   const objects::ObjectMeta& meta, const Aside& aside,
                                   uint64_t content) {
  const std::string_view texts = texts_;
  const std::string_view uid = texts.substr(first.texts_at, first.uid_bytes);
  const std::string_view version =
      texts.substr(first.texts_at + first.uid_bytes, first.version_bytes);
  const std::string_view version_now = aside.resource_version;
  if (uid != meta.uid && !uid.empty() && !meta.uid.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "comes twice with different UIDs, ", Printable(uid), " and ", Printable(meta.uid),
        ": dumps of two clusters or of two moments are mixed; pass one dump"));
  }
  if (version.empty() && version_now.empty()) return absl::InvalidArgumentError("occurs twice");
  if (content == first.content) {
    ++repeated_;
    return absl::OkStatus();
  }
  if (version == version_now) {
    return absl::InvalidArgumentError(
        absl::StrCat("comes twice with the same resourceVersion, ", Printable(version),
                     ", and different content, so that one of the two was changed by hand; pass "
                     "the dump as it was made"));
  }
  const std::optional<bool> is_newer = IsNewer(version_now, version);
  const bool of_one_dump = first.input == input_ && first.place != aside.place;
  if (of_one_dump && is_newer == false) {
    PassOver(kind, meta);
    return absl::OkStatus();
  }
  if (of_one_dump && is_newer == true && may_read_again_) {
    std::string& newest = newer_[key];
    if (newest.empty() || IsNewer(version_now, newest) == true) newest = std::string(version_now);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "comes twice with different content, of resourceVersion ", VersionText(version), " and ",
      VersionText(version_now), ": dumps of two moments are mixed; pass one dump"));
}

// Of an object whose other version is newer.
void InputWatch::PassOver(std::string_view kind, const objects::ObjectMeta& meta) {
  ++repeated_;
  if (of_two_versions_++ > 0) return;
  first_of_two_versions_ = absl::StrCat(Absl(kind), " ", Printable(NameOf(meta)));
}

absl::Status InputWatch::OnNode(const objects::Node& node) {
  bool is_new = true;
  if (absl::Status s = Meet("Node", node.meta, node, is_new); !s.ok() || !is_new) return s;
  ++nodes_;
  return to_->OnNode(node);
}

absl::Status InputWatch::OnPod(const objects::Pod& pod) {
  // Of snapshots, which say nothing of versions, the builder refuses what comes twice.
  if (aside_.place != Aside::Place::kUnknown) {
    bool is_new = true;
    if (absl::Status s = Meet("Pod", pod.meta, pod, is_new); !s.ok() || !is_new) return s;
  }
  if (++pods_ == 1 || pod.meta.namespace_name != last_namespace_) {
    last_namespace_ = std::string(pod.meta.namespace_name);
    namespaces_of_pods_.insert(last_namespace_);
  }
  if (!pod.node_name.empty() && (HasEnded(pod) || pod.priority.value_or(0) < 0)) {
    nodes_of_idle_pods_.insert(std::string(pod.node_name));
  }
  if (!pod.affinity.empty() || !pod.anti_affinity.empty()) NoteSelectors(pod);
  return to_->OnPod(pod);
}

void InputWatch::NoteSelectors(const objects::Pod& pod) {
  for (const auto* terms : {&pod.affinity, &pod.anti_affinity}) {
    for (const objects::PodAffinityTerm& term : *terms) {
      if (!AsksForLabels(term.namespace_selector)) continue;
      if (pods_that_ask_namespaces_++ == 0) first_that_asks_namespaces_ = NameOf(pod.meta);
      return;
    }
  }
}

absl::Status InputWatch::OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) {
  bool is_new = true;
  absl::Status met = Meet("PodDisruptionBudget", budget.meta, budget, is_new);
  if (!met.ok() || !is_new) return met;
  budgets_known_ = true;
  return to_->OnPodDisruptionBudget(budget);
}

absl::Status InputWatch::OnController(const objects::Controller& controller) {
  static constexpr std::string_view kNames[] = {"ReplicationController", "ReplicaSet",
                                                "StatefulSet", "DaemonSet", "Job"};
  const int64_t pods_ready = aside_.pods_ready;
  bool is_new = true;
  absl::Status met =
      Meet(kNames[static_cast<size_t>(controller.kind)], controller.meta, controller, is_new);
  if (!met.ok() || !is_new) return met;
  if (controller.kind == objects::ControllerKind::kDaemonSet && pods_ready > 0) {
    daemon_sets_.push_back({std::string(controller.meta.namespace_name),
                            std::string(controller.meta.name), pods_ready});
  }
  return to_->OnController(controller);
}

absl::Status InputWatch::OnNamespace(const objects::Namespace& name_space) {
  bool is_new = true;
  absl::Status met = Meet("Namespace", name_space.meta, name_space, is_new);
  if (!met.ok() || !is_new) return met;
  namespaces_.insert(std::string(name_space.meta.name));
  if (name_space.meta.name == kKubeSystem) cluster_uid_ = std::string(name_space.meta.uid);
  return to_->OnNamespace(name_space);
}

absl::Status InputWatch::OnStorageObject(const objects::StorageObject& object) {
  // Which of them it is tells its place in the variant.
  const std::string kind = absl::StrCat("storage ", object.index());
  bool is_new = true;
  const auto meet = [&](const auto& o) { return Meet(kind, o.meta, object, is_new); };
  if (absl::Status s = std::visit(meet, object); !s.ok() || !is_new) return s;
  return to_->OnStorageObject(object);
}

absl::Status InputWatch::OnList(std::string_view kind, uint64_t items) {
  if (kind == "PodDisruptionBudget") budgets_known_ = true;
  return to_->OnList(kind, items);
}

// ---------------------------------------------------------------------------
// What to think of it

class InputWatch::Judgement {
 public:
  Judgement(const InputWatch& watch, const ClusterSnapshot& cluster, int64_t newest_time,
            std::vector<InputWarning>& warnings)
      : watch_(watch),
        cluster_(cluster),
        catalog_(cluster.catalog()),
        newest_time_(newest_time),
        warnings_(warnings) {}

  void KubeSystem() {
    const auto& with_pods = watch_.namespaces_of_pods_;
    if (with_pods.contains(Absl(kKubeSystem))) return;
    // The namespaces were listed, and it is not among them: no cluster of Kubernetes' own,
    // but all of it.
    if (!watch_.namespaces_.empty() && !watch_.namespaces_.contains(Absl(kKubeSystem))) return;
    // OpenShift keeps its system elsewhere.
    if (std::any_of(with_pods.begin(), with_pods.end(),
                    [](const std::string& name) { return name.starts_with("openshift-"); })) {
      return;
    }
    Warn("NoKubeSystemPods",
         with_pods.size() == 1
             ? absl::StrCat("all pods are of namespace ", Printable(*with_pods.begin()),
                            " and none of kube-system; the dump seems to be made without -A")
             : "there is no pod of kube-system; the dump seems to lack namespaces",
         WholeDump());
  }

  void Budgets() {
    if (watch_.budgets_known_) return;
    Warn("NoPodDisruptionBudgets",
         "there is no PodDisruptionBudget, so that pods may move which one protects",
         WholeDump("pdb"));
  }

  void Controllers() {
    std::array<uint64_t, kOwnerKinds.size()> missing{};
    std::array<bool, kOwnerKinds.size()> found{};
    for (uint32_t p = 0; p < catalog_.pods(); ++p) {
      const PodShape& shape = catalog_.shape_of(PodId{p});
      if (!shape.has_controller) continue;
      const OwnerKind* const kind = KindOf(catalog_, shape.controller);
      if (kind == nullptr) continue;
      const auto k = static_cast<size_t>(kind - kOwnerKinds.data());
      if (found[k]) continue;
      found[k] = catalog_.FindController(kind->kind, shape.namespace_name, shape.controller.name) !=
                 nullptr;
      ++missing[k];
    }
    std::string kinds;
    std::string resources;
    uint64_t pods = 0;
    for (size_t k = 0; k < kOwnerKinds.size(); ++k) {
      if (missing[k] == 0 || found[k]) continue;
      absl::StrAppend(&kinds, kinds.empty() ? "" : ", ", Absl(kOwnerKinds[k].name));
      absl::StrAppend(&resources, resources.empty() ? "" : ",", Absl(kOwnerKinds[k].resource));
      pods += missing[k];
    }
    if (pods == 0) return;
    Warn("NoControllers",
         absl::StrCat(Count(pods, "pod has an owner", "pods have owners"),
                      " of a kind of which none is there, and will keep their nodes: ", kinds),
         WholeDump(resources));
  }

  void DaemonSetPods() {
    if (watch_.daemon_sets_.empty()) return;
    std::set<std::pair<std::string_view, std::string_view>> with_pods;
    for (uint32_t s = 0; s < catalog_.pod_shapes(); ++s) {
      const PodShape& shape = catalog_.shape(PodShapeId{s});
      if (!shape.has_controller || catalog_.Text(shape.controller.kind) != "DaemonSet") continue;
      with_pods.emplace(catalog_.Text(shape.namespace_name), catalog_.Text(shape.controller.name));
    }
    std::vector<std::string> without;
    for (const DaemonSet& set : watch_.daemon_sets_) {
      if (with_pods.contains({set.namespace_name, set.name})) continue;
      without.push_back(absl::StrCat(set.namespace_name, "/", set.name));
    }
    if (without.empty()) return;
    std::sort(without.begin(), without.end());
    Warn("DaemonSetsWithoutPods",
         absl::StrCat(Count(without.size(), "DaemonSet says", "DaemonSets say"),
                      " that pods of it are ready, and none is there: ", Some(without)),
         WholeDump("pods"));
  }

  void NodesWithoutPods() {
    std::vector<std::string> empty;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      const NodeInfo& node = catalog_.node(NodeId{n});
      if (!cluster_.PodsOn(NodeId{n}).empty() || !node.ready || node.creation_time == 0) continue;
      if (newest_time_ - node.creation_time < kOldNodeSeconds || IsVirtual(catalog_, node))
        continue;
      const std::string_view name = catalog_.Text(node.name);
      if (!watch_.nodes_of_idle_pods_.contains(Absl(name))) empty.emplace_back(name);
    }
    if (empty.empty()) return;
    Warn("NodesWithoutPods",
         absl::StrCat(Count(empty.size(), "node is", "nodes are"),
                      " Ready for long and without any pod, even a DaemonSet's: ", Some(empty)),
         WholeDump("pods"));
  }

  void Namespaces() {
    if (watch_.pods_that_ask_namespaces_ == 0) return;
    std::vector<std::string> unknown;
    for (const std::string& name : watch_.namespaces_of_pods_) {
      if (!watch_.namespaces_.contains(name)) unknown.push_back(name);
    }
    if (unknown.empty()) return;
    std::sort(unknown.begin(), unknown.end());
    Warn("NoNamespaces",
         absl::StrCat(Count(watch_.pods_that_ask_namespaces_, "pod selects", "pods select"),
                      " namespaces by labels (", Printable(watch_.first_that_asks_namespaces_),
                      "), and ", Count(unknown.size(), "namespace", "namespaces"),
                      " of pods are not there, whose pods keep their nodes where it matters: ",
                      Some(unknown)),
         "kubectl get ns -o json");
  }

  void TwoVersions() {
    if (watch_.of_two_versions_ == 0) return;
    Warn("ObjectsInTwoVersions",
         absl::StrCat(Count(watch_.of_two_versions_, "object", "objects"),
                      " came in two versions, of which the newer was taken: ",
                      watch_.first_of_two_versions_),
         WholeDump());
  }

 private:
  void Warn(std::string_view code, std::string message, std::string command) {
    warnings_.push_back({std::string(code), std::move(message), std::move(command)});
  }

  const InputWatch& watch_;
  const ClusterSnapshot& cluster_;
  const Catalog& catalog_;
  const int64_t newest_time_;
  std::vector<InputWarning>& warnings_;
};

absl::Status InputWatch::Judge(InputUse use, const ClusterSnapshot& cluster, int64_t newest_time,
                               std::vector<InputWarning>& warnings) const {
  if (nodes_ > 0 && pods_ == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input has ", Count(nodes_, "node", "nodes"),
                     " and not a single pod, so that it cannot be a whole cluster; pass what `",
                     WholeDump(), "` prints, or --assume-complete if this is all there is"));
  }
  Judgement judgement(*this, cluster, newest_time, warnings);
  judgement.KubeSystem();
  if (use == InputUse::kPlan) judgement.Budgets();
  if (use == InputUse::kPlan) judgement.Controllers();
  judgement.DaemonSetPods();
  judgement.NodesWithoutPods();
  judgement.Namespaces();
  judgement.TwoVersions();
  return absl::OkStatus();
}

void WarnOfSeveralBudgets(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  std::vector<std::string> pods;
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    const PodShape& shape = catalog.shape_of(PodId{p});
    if (shape.budgets.size() < 2 || cluster.NodeOf(PodId{p}) == kNoNode) continue;
    if (shape.has_controller && catalog.Text(shape.controller.kind) == "DaemonSet") continue;
    pods.push_back(catalog.PodName(PodId{p}));
  }
  if (pods.empty()) return;
  std::sort(pods.begin(), pods.end());
  warnings.push_back(
      {"PodsWithSeveralBudgets",
       absl::StrCat(Count(pods.size(), "pod is", "pods are"),
                    " selected by more than one PodDisruptionBudget, and the eviction API refuses "
                    "to evict such a pod, which the autoscaler's rules do not know: ",
                    Some(pods)),
       "kubectl get pdb -A"});
}

std::string MissingControllerDetail(const Catalog& catalog, PodId pod) {
  const PodShape& shape = catalog.shape_of(pod);
  if (!shape.has_controller) return "";
  const OwnerKind* const kind = KindOf(catalog, shape.controller);
  if (kind == nullptr || AnyFound(catalog, *kind, shape.controller)) return "";
  return absl::StrCat("the input has no ", Absl(kind->name), " of any pod and may lack the kind");
}

}  // namespace ebb
