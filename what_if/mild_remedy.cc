#include "what_if/mild_remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/text.h"
#include "engine/plan/karpenter.h"
#include "predicates/drainability.h"
#include "snapshot/objects/well_known_names.h"
#include "what_if/remedy.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Adds the names of the pod's local volumes.
void AddLocalVolumes(const Json& pod, std::set<std::string>& names) {
  for (const Json& volume : pod.value("/spec/volumes"_json_pointer, Json::array())) {
    const auto empty_dir = volume.find("emptyDir");
    const bool is_local = volume.contains("hostPath") ||
                          (empty_dir != volume.end() &&
                           !(empty_dir->is_object() && empty_dir->value("medium", "") == "Memory"));
    if (is_local) names.insert(volume.value("name", ""));
  }
}

Json AnnotationsJson(const AnnotationChanges& changes) {
  Json json = Json::object();
  for (const auto& [key, value] : changes) json[key] = value ? Json(*value) : Json(nullptr);
  return json;
}

bool IsPlain(std::string_view text) {
  constexpr std::string_view kOthers = "-._/:=,@%+";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

// Whether the text may be a name or a namespace of an object.
bool IsName(std::string_view text) { return IsPlain(text) && text.front() != '-'; }

std::string Quoted(std::string_view text) {
  return IsPlain(text) ? std::string(text) : ShellQuoted(text);
}

// " KEY=VALUE KEY-"
std::string AnnotateWords(const AnnotationChanges& changes) {
  std::string words;
  for (const auto& [key, value] : changes) {
    words += " " + Quoted(value ? fmt::format("{}={}", key, *value) : key + "-");
  }
  return words;
}

std::string PatchLine(std::string_view kind, std::string_view namespace_name, std::string_view name,
                      const Json& merge, std::string_view type = "merge") {
  if (!IsName(namespace_name) || !IsName(name)) return "";
  return fmt::format("kubectl patch {} -n {} {} --type {} -p {}", kind, namespace_name, name, type,
                     Quoted(merge.dump()));
}

// The name by which kubectl knows a kind whose template may be changed; empty: another kind.
std::string_view KindWithTemplate(std::string_view kind) {
  if (kind == "Deployment") return "deployment";
  return kind == "StatefulSet" ? "statefulset" : "";
}

Json InTemplate(const Json& pod) { return {{"spec", {{"template", pod}}}}; }

// The names of the pods, or a selector of a Job's pods.  Empty: no one line names them.
std::string PodsInLine(const Catalog& catalog, const PlanReport::Keeper& workload,
                       std::span<const PodId> pods) {
  const LabelSet& labels = catalog.shape_of(pods.front()).labels;
  for (const char* const key : {"batch.kubernetes.io/job-name", "job-name"}) {
    const std::optional<TextId> id = catalog.symbols().Find(key);
    const std::optional<TextId> value = id ? FindLabel(labels, *id) : std::nullopt;
    if (workload.kind == "Job" && value && catalog.Text(*value) == workload.name) {
      return fmt::format("-l {}={}", key, workload.name);
    }
  }
  if (pods.size() > kNamesInLineMax) return "";
  std::string names;
  for (const PodId pod : pods) {
    const std::string_view name = catalog.Text(catalog.pod(pod).name);
    if (!IsName(name)) return "";
    names += fmt::format("{}{}", names.empty() ? "" : " ", name);
  }
  return names;
}

std::string PoolLine(std::string_view pool, const Json& merge) {
  if (!IsName(pool)) return "";
  return fmt::format("kubectl patch nodepools.karpenter.sh {} --type merge -p {}", pool,
                     Quoted(merge.dump()));
}

}  // namespace

AnnotationChanges MildestChanges(const PlanReport& report, std::span<const PodId> pods,
                                 const PatchedCluster& patched) {
  const Catalog& catalog = report.context.catalog();
  const PlanRequest& request = *report.context.request;
  AnnotationChanges changes;
  std::set<std::string> volumes;
  absl::flat_hash_set<const PodShape*> seen;
  for (const PodId pod : pods) {
    const PodShape& shape = catalog.shape_of(pod);
    if (!seen.insert(&shape).second) continue;
    const std::string* const text = patched.Object(NameOfPod(catalog, pod));
    const Json object = text == nullptr ? Json::object() : Json::parse(*text);
    const Json annotations = object.value("/metadata/annotations"_json_pointer, Json::object());
    for (const std::string_view key : {kDoNotDisruptAnnotation, kDoNotEvictAnnotation}) {
      if (annotations.contains(key)) changes[std::string(key)] = std::nullopt;
    }
    const BlockingPodReason reason =
        ApplyDrainRulesAlone(catalog, pod, request.planner.drain, request.pass.now_s).reason;
    const bool is_lone = reason == BlockingPodReason::kNotReplicated ||
                         reason == BlockingPodReason::kUnmovableKubeSystemPod;
    if (is_lone) {
      changes[std::string(kSafeToEvictAnnotation)] = "true";
    } else if (shape.safe_to_evict == SafeToEvict::kFalse) {
      changes.try_emplace(std::string(kSafeToEvictAnnotation), std::nullopt);
    }
    const bool is_safe = is_lone || shape.safe_to_evict == SafeToEvict::kTrue;
    if (!is_safe && shape.blocks_with_local_storage) AddLocalVolumes(object, volumes);
  }
  if (!volumes.empty()) {
    changes[std::string(kSafeToEvictLocalVolumesAnnotation)] =
        fmt::format("{}", fmt::join(volumes, ","));
  }
  return changes;
}

std::string WordsOf(const AnnotationChanges& changes) {
  std::string with;
  std::string without;
  for (const auto& [key, value] : changes) {
    std::string& words = value ? with : without;
    words += words.empty() ? (value ? "annotated " : "without ") : " and ";
    words += value ? fmt::format("{}: \"{}\"", key, *value) : key;
  }
  return with + (with.empty() || without.empty() ? "" : " and ") + without;
}

ObjectPatch Annotated(const ObjectName& object, const AnnotationChanges& changes) {
  return {.of = object,
          .merge = Json({{"metadata", {{"annotations", AnnotationsJson(changes)}}}}).dump()};
}

std::optional<NodePoolRemedy> RemedyOfNodePool(const PlanReport& report,
                                               const UnremovableNode& kept) {
  using enum UnremovableReason;
  const NodeGroups& groups = *report.context.groups;
  const KarpenterObjects::Pool* const pool = groups.FollowsKarpenter(kept.node)
                                                 ? FindNodePool(report.context.catalog(), kept.node)
                                                 : nullptr;
  if (pool == nullptr) return std::nullopt;
  NodePoolRemedy remedy{.pool = pool->name, .change = {}, .patch = {}, .command = {}};
  Json disruption;
  if (kept.reason == kConsolidationDisabled) {
    remedy.change = "consolidateAfter: 0s";
    disruption["consolidateAfter"] = "0s";
  } else if (kept.reason == kNodeNotEmpty) {
    remedy.change = "consolidationPolicy: WhenEmptyOrUnderutilized";
    disruption["consolidationPolicy"] = "WhenEmptyOrUnderutilized";
  } else if (kept.reason == kConsolidationPolicyNotEvaluated && pool->not_understood.empty()) {
    const std::string_view policy =
        groups.ebb_consolidates ? "WhenEmpty" : "WhenEmptyOrUnderutilized";
    remedy.change = fmt::format("consolidationPolicy: {}", policy);
    disruption["consolidationPolicy"] = policy;
  } else if (kept.reason == kEmptyBudgetReached || kept.reason == kUnderutilizedBudgetReached) {
    // No command: it would drop the NodePool's other budgets, and these recover by themselves.
    remedy.change = "budgets allow every node";
    disruption["budgets"] = Json::array({{{"nodes", "100%"}}});
  } else {
    return std::nullopt;
  }
  const Json merge = {{"spec", {{"disruption", disruption}}}};
  remedy.patch = {.of = {.kind = "NodePool", .namespace_name = "", .name = pool->name},
                  .merge = merge.dump()};
  if (!disruption.contains("budgets")) remedy.command = PoolLine(pool->name, merge);
  return remedy;
}

std::string LineToAnnotate(const Catalog& catalog, const PlanReport::Keeper& workload,
                           std::span<const PodId> pods, const AnnotationChanges& changes) {
  if (pods.empty() || changes.empty()) return "";
  const Json merge = InTemplate({{"metadata", {{"annotations", AnnotationsJson(changes)}}}});
  const auto of_template = [&](std::string_view kind) {
    return PatchLine(kind, workload.namespace_name, workload.name, merge);
  };
  if (const std::string_view kind = KindWithTemplate(workload.kind); !kind.empty()) {
    return of_template(kind);
  }
  const std::string names = PodsInLine(catalog, workload, pods);
  if (names.empty() || !IsName(workload.namespace_name)) return "";
  std::string line = fmt::format("kubectl annotate pods -n {} {}{} --overwrite",
                                 workload.namespace_name, names, AnnotateWords(changes));
  const bool makes_pods = workload.kind == "ReplicaSet" || workload.kind == "ReplicationController";
  if (!makes_pods) return line;
  const std::string first =
      of_template(workload.kind == "ReplicaSet" ? "replicaset" : "replicationcontroller");
  return first.empty() ? "" : first + " && " + line;
}

std::string LineToRemove(const PlanReport::Keeper& workload, std::string_view field) {
  Json pod;
  pod[Json::json_pointer(std::string(field))] = nullptr;
  return LineToPatchPods(workload, pod);
}

std::string LineToPatchPods(const PlanReport::Keeper& workload, const Json& pod) {
  const std::string_view kind = KindWithTemplate(workload.kind);
  if (kind.empty()) return "";
  return PatchLine(kind, workload.namespace_name, workload.name, InTemplate(pod), "strategic");
}

std::string LineToAllowOne(std::string_view namespace_name, std::string_view budget) {
  return PatchLine("pdb", namespace_name, budget,
                   {{"spec", {{"minAvailable", nullptr}, {"maxUnavailable", 1}}}});
}

std::string LineToAnnotateNodes(std::span<const std::string> nodes,
                                const AnnotationChanges& changes) {
  if (nodes.empty() || nodes.size() > kNamesInLineMax) return "";
  if (!std::ranges::all_of(nodes, IsName)) return "";
  return fmt::format("kubectl annotate nodes {}{}", fmt::join(nodes, " "), AnnotateWords(changes));
}

}  // namespace ebb
