#include "what_if/remedy.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "groups/groups.h"
#include "planning/plan_answer.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kPlaceRules = {
    PlaceRule{.name = "required pod anti-affinity", .place = "/spec/affinity/podAntiAffinity"},
    PlaceRule{.name = "required pod affinity", .place = "/spec/affinity/podAffinity"},
    PlaceRule{.name = "topology spread constraints", .place = "/spec/topologySpreadConstraints"},
    PlaceRule{.name = "required node affinity", .place = "/spec/affinity/nodeAffinity"},
    PlaceRule{.name = "node selector", .place = "/spec/nodeSelector"},
};

std::string WithAnnotations(const Json& annotations) {
  return Json({{"metadata", {{"annotations", annotations}}}}).dump();
}

// For Outcome::still_kept_by.
std::string KeeperText(const Catalog& catalog, const PlanResult& made, std::string_view node) {
  for (const auto* list : {&made.excluded, &made.plan.keep}) {
    for (const UnremovableNode& kept : *list) {
      if (catalog.NodeName(kept.node) != node) continue;
      std::string text(ToString(kept.reason));
      if (kept.pod == kNoPod) return text;
      const ObjectName pod = NameOfPod(catalog, kept.pod);
      absl::StrAppend(&text, ", ", pod.namespace_name, "/", pod.name);
      if (kept.blocking_reason == BlockingPodReason::kNoReason) return text;
      absl::StrAppend(&text, ": ", Absl(ToString(kept.blocking_reason)));
      if (kept.pdb)
        absl::StrAppend(&text, " ", Absl(catalog.Text(catalog.pdbs()[Index(*kept.pdb)].name)));
      return text;
    }
  }
  return "";
}

}  // namespace

RemedyPlanner::RemedyPlanner(LiveCluster& cluster, const PlanQuery& query)
    : cluster_(cluster), patched_(cluster), query_(query) {}

absl::StatusOr<RemedyPlanner::Outcome> RemedyPlanner::Try(const Remedy& remedy,
                                                          std::string_view node) {
  const auto verified = [&](const PlanQuery& query, const NodeGroups& groups) {
    return TryPlan(query, groups, cluster_.Snapshot(), cluster_.Pending());
  };
  return TryWith(verified, remedy, node);
}

absl::StatusOr<RemedyPlanner::Outcome> RemedyPlanner::TryForMoreThan(size_t nodes,
                                                                     const Remedy& remedy) {
  const auto verified_if_more = [&](const PlanQuery& query, const NodeGroups& groups) {
    ClusterSnapshot& snapshot = cluster_.Snapshot();
    const std::vector<PodId> pending = cluster_.Pending();
    absl::StatusOr<PlanResult> made = TryPlanUnverified(query, groups, snapshot, pending);
    if (!made.ok() || made->plan.remove.size() <= nodes) return made;
    return TryPlan(query, groups, snapshot, pending);
  };
  return TryWith(verified_if_more, remedy, /*node=*/"");
}

absl::StatusOr<RemedyPlanner::Outcome> RemedyPlanner::TryWith(const Planning& planning,
                                                              const Remedy& remedy,
                                                              std::string_view node) {
  if (absl::Status s = patched_.Apply(remedy.objects); !s.ok()) return s;
  const Catalog& catalog = cluster_.Snapshot().catalog();
  NodeGroups groups = AssignGroups(catalog, query_.groups);
  PlanQuery query = query_;
  if (!order_.empty()) {
    query.candidates = order_;
    query.order = CandidateOrder::kInput;
  }
  if (remedy.adjust) remedy.adjust(query, groups);
  const absl::StatusOr<PlanResult> made = planning(query, groups);
  Outcome outcome;
  if (made.ok()) {
    for (const RemovableNode& each : made->plan.remove) {
      outcome.goes.emplace_back(catalog.NodeName(each.node));
    }
    outcome.still_kept_by = KeeperText(catalog, *made, node);
  }
  patched_.Undo();
  if (!made.ok()) return made.status();
  return outcome;
}

std::vector<std::string> NodesOfPlanFirst(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::vector<std::string> names;
  for (const PlanReport::Removal& each : report.remove) {
    names.emplace_back(catalog.NodeName(each.node));
  }
  for (const PlanReport::Kept& each : report.keep) {
    names.emplace_back(catalog.NodeName(each.why.node));
  }
  return names;
}

ObjectName NameOfPod(const Catalog& catalog, PodId pod) {
  return {.kind = "Pod",
          .namespace_name = std::string(catalog.Text(catalog.shape_of(pod).namespace_name)),
          .name = std::string(catalog.Text(catalog.pod(pod).name))};
}

ObjectPatch BudgetAllows(const Catalog& catalog, PdbId pdb, int64_t disruptions) {
  const Pdb& budget = catalog.pdbs()[Index(pdb)];
  const Json merge = {{"status", {{"disruptionsAllowed", disruptions}}}};
  return {.of = {.kind = "PodDisruptionBudget",
                 .namespace_name = std::string(catalog.Text(budget.namespace_name)),
                 .name = std::string(catalog.Text(budget.name))},
          .merge = merge.dump()};
}

// The pod is not deleted, so that it keeps its place among the pending pods.
ObjectPatch PodIsGated(const ObjectName& pod) {
  const Json condition = {
      {"type", "PodScheduled"}, {"status", "False"}, {"reason", "SchedulingGated"}};
  const Json merge = {{"status", {{"conditions", Json::array({condition})}}}};
  return {.of = pod, .merge = merge.dump()};
}

ObjectPatch BufferIsNotReady(std::string_view namespace_name, std::string_view name) {
  const Json condition = {{"type", "ReadyForProvisioning"}, {"status", "False"}};
  const Json merge = {{"status", {{"conditions", Json::array({condition})}}}};
  return {.of = {.kind = "CapacityBuffer",
                 .namespace_name = std::string(namespace_name),
                 .name = std::string(name)},
          .merge = merge.dump()};
}

ObjectPatch NodeMayGo(const std::string& node) {
  const Json annotations = {{"cluster-autoscaler.kubernetes.io/scale-down-disabled", nullptr},
                            {"karpenter.sh/do-not-disrupt", nullptr},
                            {"karpenter.sh/do-not-consolidate", nullptr}};
  return {.of = {.kind = "Node", .namespace_name = "", .name = node},
          .merge = WithAnnotations(annotations)};
}

ObjectPatch NodeOffers(const std::string& node, const std::string& resource,
                       const std::string& quantity) {
  const Json merge = {{"status", {{"allocatable", {{resource, quantity}}}}}};
  return {.of = {.kind = "Node", .namespace_name = "", .name = node}, .merge = merge.dump()};
}

std::optional<Remedy> FlagFor(BlockingPodReason reason) {
  if (reason == BlockingPodReason::kControllerNotFound) {
    return Remedy{.what = "--skip-nodes-with-custom-controller-pods=false",
                  .objects = {},
                  .adjust = [](PlanQuery& query, NodeGroups&) {
                    query.planner.drain.skip_nodes_with_custom_controller_pods = false;
                  }};
  }
  if (reason == BlockingPodReason::kMinReplicasReached) {
    return Remedy{
        .what = "--min-replica-count=0",
        .objects = {},
        .adjust = [](PlanQuery& query, NodeGroups&) { query.planner.drain.min_replica_count = 0; }};
  }
  if (reason == BlockingPodReason::kPodOfGang) {
    return Remedy{
        .what = "--gangs=ignore", .objects = {}, .adjust = [](PlanQuery& query, NodeGroups&) {
          query.planner.drain.gangs = Gangs::kIgnore;
        }};
  }
  return std::nullopt;
}

bool FollowsVpa(const Catalog& catalog, PodId pod) {
  const PodShape& shape = catalog.shape_of(pod);
  return shape.vpa != kNoText || shape.not_understood.starts_with("VerticalPodAutoscaler ");
}

Remedy IgnoreVpas(const Catalog& catalog) {
  Remedy remedy{.what = "--vpa=ignore", .objects = {}};
  const RoomObjects& room = catalog.storage().room();
  for (const RoomObjects::VpaTarget& target : room.vpa_targets()) {
    const RoomObjects::Vpa* const vpa =
        room.FindVpa(target.namespace_name, target.kind, target.name);
    if (vpa == nullptr) continue;
    remedy.objects.push_back(
        {.of = {.kind = "VerticalPodAutoscaler",
                .namespace_name = std::string(catalog.Text(target.namespace_name)),
                .name = std::string(catalog.Text(target.vpa))},
         .merge = absl::StrCat(R"({"spec":{"updatePolicy":{"updateMode":"Off"},")",
                               Absl(kNotUnderstoodSpec), R"(":null}})")});
  }
  return remedy;
}

std::span<const PlaceRule> PlaceRules() { return kPlaceRules; }

bool HasRule(std::string_view pod, const PlaceRule& rule) {
  return Json::parse(pod).contains(Json::json_pointer(std::string(rule.place)));
}

ObjectPatch WithoutRule(const ObjectName& pod, const PlaceRule& rule) {
  Json merge;
  merge[Json::json_pointer(std::string(rule.place))] = nullptr;
  return {.of = pod, .merge = merge.dump()};
}

}  // namespace ebb
