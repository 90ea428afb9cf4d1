#include "report/plan_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/figures.h"
#include "base/rfc3339.h"
#include "engine/stable_planner.h"
#include "report/pass_replay.h"
#include "report/plan_purchases.h"
#include "report/plan_totals.h"
#include "report/plan_warnings.h"
#include "report/plan_waves.h"
#include "report/room_notes.h"
#include "report/stable_text.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/incomplete.h"
#include "snapshot/import/input_warning.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity: a utilization of a resource that the node lacks is left out.
Json Fraction(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json SharesJson(const char* key, const std::vector<PlanReport::Share>& shares, bool has_prices) {
  Json json = Json::array();
  for (const PlanReport::Share& share : shares) {
    json.push_back({{key, share.name},
                    {"nodes", share.nodes},
                    {"removed", share.removed},
                    {"freed", AmountsJson(share.freed)}});
    if (has_prices) json.back()["savedPerHour"] = RoundedAmount(share.saved_per_hour);
  }
  return json;
}

Json KeepersJson(const std::vector<PlanReport::Keeper>& keepers) {
  Json json = Json::array();
  for (const PlanReport::Keeper& keeper : keepers) {
    json.push_back({{"kind", keeper.kind},
                    {"namespace", keeper.namespace_name},
                    {"name", keeper.name},
                    {"reason", keeper.reason},
                    {"nodes", keeper.nodes}});
  }
  return json;
}

// Facts about a node as of its turn.
struct AtTurn {
  std::optional<Utilization> utilization;  // Set if the plan had brought pods to the node by then.
  std::optional<PlaceTally> tally;         // For the pod that found no place.
};

// Replays the plan once, visiting the nodes that are wanted in the order of their turns.
std::unordered_map<uint32_t, AtTurn> ReplayTurns(const PlanReport& report,
                                                 const std::function<bool(NodeId)>& is_wanted) {
  std::unordered_map<uint32_t, AtTurn> turns;
  if (report.context.made->order.empty()) return turns;  // A round's plan: see PassReplay.
  PassReplay replay(report.context);
  std::vector<UnremovableNode> nodes;
  for (const PlanReport::Removal& removal : report.remove) {
    if (is_wanted(removal.node)) nodes.emplace_back().node = removal.node;
  }
  for (const PlanReport::Kept& kept : report.keep) {
    if (is_wanted(kept.why.node) && replay.HadTurn(kept.why)) nodes.push_back(kept.why);
  }
  std::ranges::sort(nodes, {}, [&](const auto& why) { return replay.TurnOf(why.node); });
  PlaceTallies tallies;
  ClusterSnapshot& snapshot = replay.snapshot();
  for (const UnremovableNode& why : nodes) {
    replay.GoTo(why.node);
    AtTurn& at = turns[static_cast<uint32_t>(why.node)];
    if (replay.HasGuests(why.node)) at.utilization = replay.UtilizationOf(why.node);
    if (why.reason != UnremovableReason::kNoPlaceToMovePods) continue;
    snapshot.Fork();
    snapshot.SetGhost(why.node);
    at.tally = tallies.Of(snapshot, replay.changed(), why.pod);
    snapshot.Revert();
  }
  return turns;
}

// When an ordered_json object grows, all of its members are copied with everything in them.
void ReserveMembers(Json& object, size_t members) {
  object.get_ref<Json::object_t&>().reserve(members);
}
// An initializer list also costs an array for each member; members that are set one by one do not.
Json ObjectOf(size_t members) {
  Json object = Json::object();
  ReserveMembers(object, members);
  return object;
}
constexpr size_t kMembersOfNode = 16;
constexpr size_t kMembersOfPod = 4;
constexpr size_t kMembersOfUtilization = 4;
constexpr size_t kMembersOfPlan = 32;  // Including those that a round adds (PutRound).

Json RemovalJson(const PlanReport& report, const PlanReport::Removal& removal) {
  const PlanContext& context = report.context;
  Json json = NodeHeadJson(report, removal.node);
  PutUtilization(context, removal.node, json);
  if (const std::string words = UnreadyWords(context, removal.node); !words.empty()) {
    json["detail"] = words;
  }
  json["risky"] = removal.risky;
  Json pods = Json::array();
  for (const PlanReport::PodMove& move : removal.pods) {
    Json pod = PodNameJson(context.catalog(), move.pod);
    pod["to"] = context.catalog().NodeName(move.to);
    for (const NodeId stop : move.via) pod["via"].push_back(context.catalog().NodeName(stop));
    if (ChangesArchitecture(context.catalog(), move.pod, removal.node, move.to)) {
      pod["otherArchitecture"] =
          context.catalog().Text(context.catalog().node(move.to).architecture);
    }
    pods.push_back(std::move(pod));
  }
  json["pods"] = std::move(pods);
  const std::vector<PassedOverPod> passed_over =
      PassedOverOn(context.cluster->snapshot, *context.groups, *context.request, removal.node);
  for (const PassedOverPod& each : passed_over) {
    Json pod = PodNameJson(context.catalog(), each.pod);
    pod["detail"] = each.words;
    json["passedOver"].push_back(std::move(pod));
  }
  return json;
}

void PutReason(BlockingPodReason reason, std::string_view pdb, Json& pod) {
  if (reason != BlockingPodReason::kNoReason) pod["reason"] = ToString(reason);
  if (!pdb.empty()) pod["podDisruptionBudget"] = pdb;
}

void PutPastVerdict(const Catalog& catalog, const PastVerdict& before, Json& json) {
  if (before.reason == UnremovableReason::kNoReason) return;
  json["recentReason"] = ToString(before.reason);
  if (before.pod_name == kNoText) return;
  Json pod = {{"namespace", catalog.Text(before.pod_namespace)},
              {"name", catalog.Text(before.pod_name)}};
  PutReason(before.blocking_reason, catalog.Text(before.pdb), pod);
  const bool unplaced = before.reason == UnremovableReason::kNoPlaceToMovePods;
  json[unplaced ? "unplacedPod" : "blockingPod"] = std::move(pod);
}

Json TrialsJson(const PlanTrials& trials) {
  const auto figures_json = [&](const PlanTrials::Figures& figures) -> Json {
    return {{"pendingMedian", figures.pending_median},
            {"pendingMax", figures.pending_max},
            {"landedAsPlanned", RoundedAmount(figures.as_planned)}};
  };
  return {{"trials", trials.trials},
          {"movedPods", trials.evicted},
          {"randomOrder", figures_json(trials.random_order)},
          {"planOrder", figures_json(trials.plan_order)}};
}

Json StableChangeJson(const Catalog& catalog, const PlanChange& change) {
  Json json = {{"node", change.name}, {"removes", change.removes}};
  if (change.reason != UnremovableReason::kNoReason) json["reason"] = ToString(change.reason);
  if (change.blocking_reason != BlockingPodReason::kNoReason) {
    json["blockingReason"] = ToString(change.blocking_reason);
  }
  if (change.pod != kNoPod) json["pod"] = PodNameJson(catalog, change.pod);
  json["detail"] = StableChangeText(catalog, change);
  return json;
}

Json CertificatesJson(const StablePlan& stable) {
  if (stable.not_covered) return {{"notCovered", ToString(*stable.not_covered)}};
  return {{"held", stable.held}, {"checked", stable.checked}};
}

Json StableJson(const Catalog& catalog, const StablePlan& stable) {
  Json json = {{"origin", ToString(stable.origin)},
               {"kept", stable.kept},
               {"unchanged", stable.unchanged},
               {"verified", stable.verified},
               {"certificates", CertificatesJson(stable)},
               {"changes", Json::array()}};
  if (stable.greedy_removes) json["greedyRemoves"] = *stable.greedy_removes;
  for (const PlanChange& change : stable.changes) {
    json["changes"].push_back(StableChangeJson(catalog, change));
  }
  return json;
}

// How the prices were found; empty: a file has them all, without rules.
Json PricesJson(const NodePrices& prices) {
  Json json = Json::object();
  if (!prices.as_of.empty()) json["builtinAsOf"] = prices.as_of;
  if (prices.rules.spot) json["spotFactor"] = *prices.rules.spot;
  if (prices.rules.discount) json["discount"] = *prices.rules.discount;
  const auto put = [&](const char* key, const char* what, const NodePrices::Tally& tally) {
    for (const auto& [name, nodes] : tally) json[key].push_back({{what, name}, {"nodes", nodes}});
  };
  put("withoutPrice", "kind", prices.without);
  put("regionsWithoutFactor", "region", prices.regions_without_factor);
  return json;
}

Json SummaryJson(const PlanReport& report) {
  const PlanContext& context = report.context;
  const LoadCounts& counts = context.cluster->counts;
  Json by_reason = Json::object();
  for (const auto& [reason, nodes] : report.kept_by_reason) by_reason[std::string(reason)] = nodes;
  const size_t later = NodesThatMayGoLater(report);
  const PodsWithRoom room = CountRoom(context);
  const bool has_prices = context.prices != nullptr;
  Json json = {{"nodes", context.Nodes()},
               {"pods", report.pods},
               {"removed", report.remove.size()},
               {"movedPods", report.moved},
               {"kept", report.keep.size()},
               {"keptByReason", std::move(by_reason)},
               {"pendingPods", {{"total", room.pending}, {"placed", room.pending_placed}}},
               {"leftOut",
                {{"endedPods", counts.ended},
                 {"expendablePods", counts.expendable},
                 {"podsOnUnknownNodes", counts.on_unknown_node}}},
               {"termination", ToString(context.made->plan.termination)},
               {"freed", AmountsJson(report.freed)},
               {"byGroup", SharesJson("group", report.by_group, has_prices)},
               {"byInstanceType", SharesJson("instanceType", report.by_instance_type, has_prices)},
               {"byCapacityType", SharesJson("capacityType", report.by_capacity_type, has_prices)},
               {"keptMostBy", KeepersJson(report.keepers)}};
  PutTotals(TotalsOf(report), json);
  PutRoomNotes(RoomNotesOf(report), json);
  if (later > 0) json["mayGoLater"] = later;
  for (const auto& [why, tally] : PodsWithoutRoom(counts)) {
    json["pendingPods"]["withoutRoom"][std::string(why)] = {{"pods", tally.pods},
                                                            {"first", tally.first}};
  }
  if (context.catalog().version_matters()) {
    json["kubernetesVersion"] = ToString(context.catalog().kubernetes_version());
  }
  if (context.prices != nullptr && report.saved_per_hour) {
    json["savedPerHour"] = RoundedAmount(*report.saved_per_hour);
    if (!context.prices->currency.empty()) json["currency"] = context.prices->currency;
    if (Json prices = PricesJson(*context.prices); !prices.empty()) {
      json["prices"] = std::move(prices);
    }
  }
  if (context.search) {
    json["search"] = {{"firstPlanRemoved", context.search->greedy_nodes},
                      {"iterations", context.search->iterations},
                      {"seed", context.search->seed},
                      {"ended", ToString(context.search->ended)}};
    if (context.search->max_evictions) {
      json["search"]["maxEvictions"] = *context.search->max_evictions;
    }
    if (const auto& savings = context.search->savings) {
      json["search"]["moveCost"] = RoundedAmount(savings->move_cost);
      json["search"]["firstPlanNetSavedPerHour"] = RoundedAmount(savings->greedy);
      json["search"]["netSavedPerHour"] = RoundedAmount(savings->found);
    }
  }
  if (context.bound) {
    json["bound"] = {{"removed", context.bound->nodes},
                     {"gap", Fraction(RoundedAmount(context.bound->Gap(report.remove.size())))}};
    if (context.bound->savings && context.search && context.search->savings) {
      json["bound"]["netSavedPerHour"] = RoundedAmount(*context.bound->savings);
      json["bound"]["netSavedPerHourGap"] =
          RoundedAmount(context.bound->GapOfSavings(context.search->savings->found));
    }
  }
  if (context.trials) json["trials"] = TrialsJson(*context.trials);
  if (context.stable != nullptr) json["stable"] = StableJson(context.catalog(), *context.stable);
  if (context.session) json["session"] = SessionJson(*context.session);
  const std::vector<InputWarning>& warnings = context.cluster->warnings;
  if (!warnings.empty()) json["warnings"] = InputWarningsJson(warnings);
  return json;
}

// How the node's GPUs are shared or partitioned; empty: they are whole.
Json GpuSharingJson(const PlanReport& report, NodeId node) {
  const GpuSharing& sharing = report.facts[Index(node)].gpu_sharing;
  Json json = Json::object();
  if (sharing.replicas > 1) {
    json["strategy"] = sharing.strategy;
    json["replicas"] = sharing.replicas;
  }
  if (!sharing.mig_strategy.empty()) json["migStrategy"] = sharing.mig_strategy;
  if (!sharing.mig_profile.empty()) json["migProfile"] = sharing.mig_profile;
  if (sharing.devices_are_counted) json["gpusAreMigDevices"] = true;
  for (const GpuSlices& each : GpuSlicesOf(report.context.cluster->snapshot, node)) {
    json["migDevices"].push_back({{"profile", each.profile},
                                  {"resource", each.resource},
                                  {"requested", each.requested},
                                  {"allocatable", each.allocatable}});
  }
  return json;
}

}  // namespace

Json SessionJson(const PlanSession& session) {
  Json json = {{"name", session.name}, {"asOf", FormatRfc3339(session.as_of_s)}};
  if (session.not_fed_since_s) json["notFedSince"] = FormatRfc3339(*session.not_fed_since_s);
  if (!session.cluster_uid.empty()) json["clusterUid"] = session.cluster_uid;
  for (const auto& [kind, since_s] : session.broken_watches) {
    json["brokenWatches"].push_back({{"kind", kind}, {"since", FormatRfc3339(since_s)}});
  }
  return json;
}

void PutComplete(std::span<const InputWarning> warnings, Json& json) {
  const std::vector<InputWarning> missing = MissingOf(warnings);
  json["complete"] = missing.empty();
  if (!missing.empty()) json["missing"] = InputWarningsJson(missing);
}

Json FrontierJson(std::span<const FrontierPoint> points, std::span<const InputWarning> warnings,
                  const std::optional<std::string>& currency) {
  Json list = Json::array();
  for (const FrontierPoint& point : points) {
    Json json = {{"removed", point.nodes}, {"movedPods", point.evicted}};
    if (currency) json["savedPerHour"] = RoundedAmount(point.worth);
    list.push_back(std::move(json));
  }
  Json json = {{"apiVersion", kPlanApiVersion}, {"kind", "Frontier"}};
  PutComplete(warnings, json);
  if (currency && !currency->empty()) json["currency"] = *currency;
  json["points"] = std::move(list);
  return json;
}

Json PodNameJson(const Catalog& catalog, PodId pod) {
  Json json = ObjectOf(kMembersOfPod);
  json["namespace"] = catalog.Text(catalog.shape_of(pod).namespace_name);
  json["name"] = catalog.Text(catalog.pod(pod).name);
  return json;
}

Json UtilizationJson(const Catalog& catalog, const Utilization& utilization) {
  Json json = ObjectOf(kMembersOfUtilization);
  json["resource"] = catalog.Text(utilization.resource);
  json["value"] = Fraction(utilization.utilization);
  if (CountsCpuAndMemory(catalog, utilization)) {
    json["cpu"] = Fraction(utilization.cpu);
    json["memory"] = Fraction(utilization.memory);
  } else {
    json["gpu"] = Fraction(utilization.gpu);
  }
  return json;
}

void PutUtilization(const PlanContext& context, NodeId node, Json& json) {
  const auto& utilization = context.made->plan.utilization[Index(node)];
  if (utilization) json["utilization"] = UtilizationJson(context.catalog(), *utilization);
}

Json NodeHeadJson(const PlanReport& report, NodeId node) {
  const NodeFacts& facts = report.facts[Index(node)];
  Json json = ObjectOf(kMembersOfNode);
  json["node"] = report.context.catalog().NodeName(node);
  if (const NodeGroup* group = report.context.groups->Find(node)) json["group"] = group->name;
  if (!facts.instance_type.empty()) json["instanceType"] = facts.instance_type;
  if (!facts.zone.empty()) json["zone"] = facts.zone;
  if (!facts.capacity_type.empty()) json["capacityType"] = facts.capacity_type;
  json["allocatable"] = AmountsJson(facts.allocatable);
  if (Json sharing = GpuSharingJson(report, node); !sharing.empty()) {
    json["gpuSharing"] = std::move(sharing);
  }
  if (const NodePrices* const prices = report.context.prices; prices && prices->Knows(node)) {
    json["pricePerHour"] = RoundedAmount(prices->hourly[Index(node)]);
  }
  return json;
}

void PutTally(const Catalog& catalog, const PlaceTally& tally, Json& json) {
  json["nodes"] = tally.nodes;
  json["fits"] = tally.fits;
  Json noes = Json::array();
  for (const PlaceTally::No& no : tally.noes) {
    noes.push_back({{"filter", FilterName(no.filter)}, {"reason", no.reason}, {"nodes", no.nodes}});
  }
  json["reasons"] = std::move(noes);
  for (const PlaceTally::Detail& each : tally.details) {
    json["details"].push_back({{"node", catalog.NodeName(each.node)},
                               {"filter", FilterName(each.filter)},
                               {"detail", each.text}});
  }
  if (tally.details_left_out > 0) json["detailsLeftOut"] = tally.details_left_out;
}

Json KeptJson(const PlanReport& report, const PlanReport::Kept& kept, const PlaceTally* tally) {
  const Catalog& catalog = report.context.catalog();
  const UnremovableNode& why = kept.why;
  Json json = NodeHeadJson(report, why.node);
  json["reason"] = kept.reason;
  if (const auto detail = DetailOf(report.context, why); !detail.empty()) json["detail"] = detail;
  PutUtilization(report.context, why.node, json);
  if (why.before) PutPastVerdict(catalog, *why.before, json);
  if (why.pod == kNoPod) return json;
  Json pod = PodNameJson(catalog, why.pod);
  if (why.reason == UnremovableReason::kNoPlaceToMovePods) {
    if (tally != nullptr) PutTally(catalog, *tally, pod);
    if (const auto detail = PodDetail(report, why); !detail.empty()) pod["detail"] = detail;
    json["unplacedPod"] = std::move(pod);
    return json;
  }
  PutReason(why.blocking_reason, why.pdb ? catalog.Text(catalog.pdbs()[Index(*why.pdb)].name) : "",
            pod);
  if (const auto detail = PodDetail(report, why); !detail.empty()) pod["detail"] = detail;
  json["blockingPod"] = std::move(pod);
  return json;
}

void PutEntries(const PlanReport& report, const std::function<bool(NodeId)>& is_wanted,
                Json& json) {
  const std::unordered_map<uint32_t, AtTurn> turns = ReplayTurns(report, is_wanted);
  const auto at_turn = [&](NodeId node) -> const AtTurn& {
    static const AtTurn none;
    const auto it = turns.find(static_cast<uint32_t>(node));
    return it == turns.end() ? none : it->second;
  };
  const auto put_utilization = [&](const AtTurn& at, Json& node) {
    if (!at.utilization) return;
    node["utilizationAtTurn"] = UtilizationJson(report.context.catalog(), *at.utilization);
  };
  Json remove = Json::array();
  for (const PlanReport::Removal& removal : report.remove) {
    if (!is_wanted(removal.node)) continue;
    Json node = RemovalJson(report, removal);
    put_utilization(at_turn(removal.node), node);
    remove.push_back(std::move(node));
  }
  json["remove"] = std::move(remove);
  Json keep = Json::array();
  for (const PlanReport::Kept& kept : report.keep) {
    if (!is_wanted(kept.why.node)) continue;
    const AtTurn& at = at_turn(kept.why.node);
    Json node = KeptJson(report, kept, at.tally ? &*at.tally : nullptr);
    put_utilization(at, node);
    keep.push_back(std::move(node));
  }
  json["keep"] = std::move(keep);
}

Json PlanJson(const PlanReport& report) {
  Json json = {{"apiVersion", kPlanApiVersion},
               {"kind", "Plan"},
               {"now", FormatRfc3339(report.context.request->pass.now_s)}};
  ReserveMembers(json, kMembersOfPlan);
  PutComplete(report.context.cluster->warnings, json);
  json["summary"] = SummaryJson(report);
  if (report.context.waves != nullptr) PutWaves(report.context, *report.context.waves, json);
  if (report.context.purchases != nullptr) PutPurchases(report, json);
  PutEntries(report, [](NodeId) { return true; }, json);
  if (const PodsWithRoom room = CountRoom(report.context); room.displaced > 0) {
    json["displacedPods"] = {{"total", room.displaced}, {"placed", room.displaced_placed}};
  }
  return json;
}

}  // namespace ebb
