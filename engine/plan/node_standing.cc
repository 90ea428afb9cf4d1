#include "engine/plan/node_standing.h"

#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/text.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

const std::string* DyingMachineOf(const Catalog& catalog, NodeId node) {
  const NodeInfo& info = catalog.node(node);
  return catalog.storage().dying_machines().Of(info.name, info.provider_id);
}

std::string Tainted(std::string_view key) { return absl::StrCat("tainted ", Absl(key)); }

}  // namespace

std::string WhyLeaving(const Catalog& catalog, NodeId node) {
  switch (catalog.node(node).leaving) {
    case NodeLeaving::kDeletionTimestamp:
      return "under deletion: it has a metadata.deletionTimestamp";
    case NodeLeaving::kDisrupted:
      return Tainted(kDisruptedTaint);
    case NodeLeaving::kDisruption:
      return Tainted(kDisruptionTaint);
    case NodeLeaving::kNo:
      break;
  }
  const std::string* const machine = DyingMachineOf(catalog, node);
  return machine == nullptr ? "" : absl::StrCat("on ", *machine, ", which is being deleted");
}

bool IsReady(const Catalog& catalog, const NodeGroups& groups, NodeId node) {
  return catalog.node(node).ready && groups.WhyNotReady(node) == NotReadyReason::kNone;
}

std::string WhyNotReady(const NodeGroups& groups, NodeId node) {
  switch (groups.WhyNotReady(node)) {
    case NotReadyReason::kNoGpus:
      return "GPU label, and no GPU is allocatable";
    case NotReadyReason::kStartupTaint:
      return "startup taint";
    case NotReadyReason::kNoDevicePools:
      return "it lacks ResourceSlices that other nodes of its group have";
    case NotReadyReason::kNoCsiDriver:
      return "it lacks a CSI driver that other nodes of its group have";
    case NotReadyReason::kNone:
      break;
  }
  return "";
}

std::optional<int64_t> YoungUntil(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                                  int64_t now_s) {
  const int64_t old_s = catalog.node(node).creation_time + groups.max_node_startup_time_s;
  return groups.max_node_startup_time_s > 0 && now_s < old_s ? std::optional(old_s) : std::nullopt;
}

std::string WhyStarting(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                        int64_t now_s) {
  if (groups.max_node_startup_time_s <= 0) return "";
  const NodeInfo& info = catalog.node(node);
  if (info.setup == NodeSetup::kUnregistered) return Tainted(kUnregisteredTaint);
  const bool young = YoungUntil(catalog, groups, node, now_s).has_value();
  if (info.setup == NodeSetup::kNotInitialized || (info.setup == NodeSetup::kUnlabelled && young)) {
    return absl::StrCat("without the label ", Absl(kInitializedLabel), "=true");
  }
  if (!young) return "";
  const auto as_young = [&](std::string_view why) {
    return absl::StrCat("created ", DurationText(now_s - info.creation_time), " ago, and ",
                        Absl(why));
  };
  if (!info.ready) return as_young("not Ready yet");
  if (IsReady(catalog, groups, node)) return "";
  const NodeGroup* const group = groups.Find(node);
  // The driver of a GPU starts after each start of the node, whichever autoscaler made the node.
  const bool waits_for_gpus =
      !groups.has_unready_timers && groups.WhyNotReady(node) == NotReadyReason::kNoGpus;
  const bool expected = waits_for_gpus || (group != nullptr && group->scaling_up);
  return expected ? as_young(absl::StrCat("counts as not ready: ", WhyNotReady(groups, node))) : "";
}

bool IsStarting(const Catalog& catalog, const NodeGroups& groups, NodeId node, int64_t now_s) {
  if (groups.max_node_startup_time_s <= 0) return false;
  const NodeInfo& info = catalog.node(node);
  // Most nodes are decided here, without building a text.
  if (info.setup == NodeSetup::kInitialized || info.setup == NodeSetup::kNotKarpenters) {
    if (!YoungUntil(catalog, groups, node, now_s) || IsReady(catalog, groups, node)) return false;
  }
  return !WhyStarting(catalog, groups, node, now_s).empty();
}

bool EraseAbsent(const Catalog& catalog, const NodeGroups& groups, int64_t now_s, NodeSet& nodes) {
  std::vector<NodeId> absent;
  nodes.ForEach([&](NodeId node) {
    if (IsLeaving(catalog, node) || IsStarting(catalog, groups, node, now_s)) {
      absent.push_back(node);
    }
  });
  for (const NodeId node : absent) nodes.Erase(node);
  return !absent.empty();
}

}  // namespace ebb
