#include "rounds/round_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "base/printable.h"
#include "base/rfc3339.h"
#include "engine/plan/candidate_order.h"
#include "engine/plan/node_standing.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/node_set.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

Json NamesOf(const Catalog& catalog, const std::vector<DeletionBucket>& buckets) {
  Json names = Json::array();
  for (const DeletionBucket& bucket : buckets) {
    for (const NodeId node : bucket.nodes) names.push_back(catalog.NodeName(node));
  }
  return names;
}

Json NamesOf(const Catalog& catalog, const std::vector<NodeId>& nodes) {
  Json names = Json::array();
  for (const NodeId node : nodes) names.push_back(catalog.NodeName(node));
  return names;
}

Json NamesOf(const std::vector<NodeInDeletion>& nodes) {
  Json names = Json::array();
  for (const NodeInDeletion& node : nodes) names.push_back(node.name);
  return names;
}

Json GroupsJson(const NodeGroups& groups, const std::vector<GroupCounts>& counts) {
  Json json = Json::array();
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const GroupCounts& c = counts[g];
    json.push_back({{"group", groups.groups[g].name},
                    {"nodes", c.nodes},
                    {"unneeded", c.unneeded},
                    {"needed", c.needed},
                    {"unremovable", c.unremovable},
                    {"inDeletion", c.in_deletion}});
  }
  return json;
}

std::string Shown(const Json& value) {
  constexpr size_t kShown = 60;
  std::string text = CompactJson(value);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

// How the unneeded nodes differ from those of the last round, for rounds that keep them.
void PutChanges(const Catalog& catalog, const RoundResult& result, Json& json) {
  if (result.changes.empty() && !result.greedy_removes) return;
  Json changes = Json::array();
  for (const PlanChange& change : result.changes) {
    Json entry = {{"node", change.name}, {"unneeded", change.removes}};
    const char* const reason = change.removes ? "wasKeptBy" : "reason";
    if (change.reason != UnremovableReason::kNoReason) entry[reason] = ToString(change.reason);
    if (change.blocking_reason != BlockingPodReason::kNoReason) {
      entry["blockingReason"] = ToString(change.blocking_reason);
    }
    if (change.pod != kNoPod) entry["pod"] = catalog.PodName(change.pod);
    changes.push_back(std::move(entry));
  }
  json["changes"] = std::move(changes);
  if (result.greedy_removes) {
    json["greedy"] = {{"removes", *result.greedy_removes}, {"taken", result.took_greedy}};
  }
}

std::string Differs(const std::string& path, const std::string& recorded, const std::string& now) {
  return fmt::format("{}: recorded {}, now {}", path.empty() ? "the whole" : path, recorded, now);
}

std::string DifferenceAt(const std::string& path, const Json& recorded, const Json& now) {
  if (recorded.is_object() && now.is_object()) {
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& [name, value] : recorded.items()) {
      if (!now.contains(name)) return Differs(prefix + name, Shown(value), "nothing");
      if (std::string text = DifferenceAt(prefix + name, value, now.at(name)); !text.empty()) {
        return text;
      }
    }
    for (const auto& [name, value] : now.items()) {
      if (!recorded.contains(name)) return Differs(prefix + name, "nothing", Shown(value));
    }
    return "";
  }
  if (recorded.is_array() && now.is_array()) {
    for (size_t i = 0; i < std::max(recorded.size(), now.size()); ++i) {
      const std::string item = fmt::format("{}[{}]", path, i);
      if (i >= now.size()) return Differs(item, Shown(recorded[i]), "nothing");
      if (i >= recorded.size()) return Differs(item, "nothing", Shown(now[i]));
      if (std::string text = DifferenceAt(item, recorded[i], now[i]); !text.empty()) {
        return text;
      }
    }
    return "";
  }
  return recorded == now ? "" : Differs(path, Shown(recorded), Shown(now));
}

}  // namespace

NodesOutsideThePlan OutsideThePlan(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                   const ActuationStatus& actuation, const RoundResult& result) {
  const Catalog& catalog = snapshot.catalog();
  NodeSet judged(catalog.nodes());
  for (const RemovableNode& node : result.plan.remove) judged.Insert(node.node);
  for (const UnremovableNode& node : result.plan.keep) judged.Insert(node.node);
  for (const NodeId node : result.plan.skipped) judged.Insert(node);
  NodeSet in_deletion(catalog.nodes());
  for (const auto* list : {&actuation.empty, &actuation.drained}) {
    for (const NodeInDeletion& node : *list) {
      if (const auto id = catalog.FindNode(node.name); id.ok()) in_deletion.Insert(*id);
    }
  }
  const bool nothing_judged = result.plan.termination == Termination::kNotStarted ||
                              result.plan.termination == Termination::kNoRoomForPending;
  NodesOutsideThePlan outside;
  snapshot.alive().ForEach([&](NodeId node) {
    if (judged.Contains(node)) return;
    UnremovableNode why;
    why.node = node;
    const NodeGroup* const group = groups.Find(node);
    if (in_deletion.Contains(node) || IsLeaving(catalog, node)) {
      why.reason = UnremovableReason::kCurrentlyBeingDeleted;
    } else if (group == nullptr) {
      why.reason = UnremovableReason::kNotAutoscaled;
    } else if (!MayShrink(*group)) {
      why.reason = UnremovableReason::kNodeGroupMinSizeReached;
    } else if (nothing_judged) {
      outside.not_judged.push_back(node);
      return;
    } else {  // The cooldown of its group: --scale-down-delay-type-local.
      why.reason = UnremovableReason::kNotUnneededOtherReason;
    }
    outside.excluded.push_back(why);
  });
  return outside;
}

std::string RoundMessage(const RoundResult& result) {
  return RoundMessage(result.message, result.cooldown);
}

std::string RoundMessage(const std::string& message,
                         const std::optional<Cooldowns::Hold>& cooldown) {
  if (!message.empty() || !cooldown) return message;
  const auto& [kind, at_s, until_s] = *cooldown;
  const auto [what, flag] = [&]() -> std::pair<const char*, const char*> {
    switch (kind) {
      case ScaleEventKind::kScaleUp:
        return {"the scale-up", "--scale-down-delay-after-add"};
      case ScaleEventKind::kDeletion:
        return {"the deletion", "--scale-down-delay-after-delete"};
      case ScaleEventKind::kFailedDeletion:
        break;
    }
    return {"the failed deletion", "--scale-down-delay-after-failure"};
  }();
  return fmt::format("no node is deleted until {}: {} was at {} ({})", FormatRfc3339(until_s), what,
                     FormatRfc3339(at_s), flag);
}

void PutRound(const Catalog& catalog, const NodeGroups& groups, const ActuationStatus& actuation,
              int64_t number, const RoundResult& result, Json& json) {
  json["round"] = number;
  json["status"] = ToString(result.status);
  if (const std::string message = RoundMessage(result); !message.empty()) json["message"] = message;
  Json unneeded = Json::array();
  for (const UnneededNode& node : result.unneeded) {
    unneeded.push_back(
        {{"node", catalog.NodeName(node.node)}, {"since", FormatRfc3339(node.since_s)}});
  }
  json["unneeded"] = std::move(unneeded);
  PutChanges(catalog, result, json);
  json["deleteNow"] = {{"empty", NamesOf(catalog, result.start.empty)},
                       {"drain", NamesOf(catalog, result.start.drain)}};
  Json not_yet = Json::array();
  for (const NotYet& node : result.may_go.not_yet) {
    not_yet.push_back({{"node", catalog.NodeName(node.node)}, {"reason", ToString(node.reason)}});
  }
  json["notYet"] = std::move(not_yet);
  json["inDeletion"] = {{"empty", NamesOf(actuation.empty)}, {"drain", NamesOf(actuation.drained)}};
  json["displacedPods"] = {{"total", result.displaced}, {"placed", result.displaced_placed}};
  json["softTaints"] = {{"taint", NamesOf(catalog, result.soft_taints.taint)},
                        {"untaint", NamesOf(catalog, result.soft_taints.untaint)},
                        {"waiting", result.soft_taints.waiting}};
  json["longestSkippedSeconds"] = result.longest_skipped_s;
  if (result.longest_skipped != kNoNode) {
    json["longestSkippedNode"] = catalog.NodeName(result.longest_skipped);
  }
  json["groups"] = GroupsJson(groups, result.groups);
}

std::string FirstDifference(const Json& recorded, const Json& now) {
  return DifferenceAt("", recorded, now);
}

}  // namespace ebb
