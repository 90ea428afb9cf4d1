#include "engine/plan/check_input.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "base/time_range.h"

namespace ebb {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::string Place(std::string_view field, size_t index) {
  return absl::StrCat(Absl(field), "[", index, "]");
}

// Each id of the list exists and is listed once.
template <typename Id, typename NameOf>
absl::Status CheckIds(std::string_view field, std::string_view kind, std::span<const Id> ids,
                      size_t known, NameOf&& name_of) {
  if (ids.empty()) return absl::OkStatus();
  std::vector<bool> seen(known);
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t id = Index(ids[i]);
    if (id >= known) {
      return Invalid(Place(field, i), ": there is no ", Absl(kind), " ", id, "; the catalog has ",
                     known);
    }
    if (seen[id]) {
      const auto first = std::find(ids.begin(), ids.end(), ids[i]) - ids.begin();
      return Invalid(Place(field, i), ": ", Absl(kind), " ", Absl(name_of(ids[i])),
                     " comes twice, first as ", Place(field, static_cast<size_t>(first)));
    }
    seen[id] = true;
  }
  return absl::OkStatus();
}

// Each pod exists, is listed once and has not left the catalog.
absl::Status CheckPods(std::string_view field, std::span<const PodId> pods,
                       const Catalog& catalog) {
  const auto name_of = [&](PodId pod) { return catalog.PodName(pod); };
  if (absl::Status s = CheckIds(field, "pod", pods, catalog.pods(), name_of); !s.ok()) return s;
  const auto gone = std::ranges::find_if_not(pods, [&](PodId p) { return catalog.IsThere(p); });
  if (gone == pods.end()) return absl::OkStatus();
  return Invalid(Place(field, static_cast<size_t>(gone - pods.begin())), ": pod ", Index(*gone),
                 " has left the cluster");
}

absl::Status CheckColumn(std::string_view field, size_t size, size_t nodes) {
  if (size == nodes) return absl::OkStatus();
  return Invalid("groups.", Absl(field), ": has ", size, " entries for ", nodes, " nodes");
}

absl::Status CheckThreshold(std::string_view field, double threshold) {
  if (!std::isnan(threshold)) return absl::OkStatus();
  return Invalid(Absl(field), ": is not a number");
}

absl::Status CheckSize(std::string_view field, size_t group, const std::string& name,
                       int64_t size) {
  if (size >= 0) return absl::OkStatus();
  return Invalid(Place("groups.groups", group), ".", Absl(field), ": group ", name, " has ", size,
                 ", which is less than 0");
}

// Checks the options that a group overrides.
absl::Status CheckOverrides(size_t group, const NodeGroup& overrides) {
  const std::string place = Place("groups.groups", group);
  absl::Status status;
  const auto threshold = [&](std::string_view field, const std::optional<double>& value) {
    if (value) status.Update(CheckThreshold(absl::StrCat(place, ".", Absl(field)), *value));
  };
  const auto duration = [&](std::string_view field, const std::optional<int64_t>& value) {
    if (value) status.Update(CheckDuration(absl::StrCat(place, ".", Absl(field)), *value));
  };
  threshold("scale_down_utilization_threshold", overrides.scale_down_utilization_threshold);
  threshold("scale_down_gpu_utilization_threshold", overrides.scale_down_gpu_utilization_threshold);
  duration("scale_down_unneeded_time_s", overrides.scale_down_unneeded_time_s);
  duration("scale_down_unready_time_s", overrides.scale_down_unready_time_s);
  return status;
}

}  // namespace

absl::Status CheckTime(std::string_view field, int64_t time_s) {
  if (IsTime(time_s)) return absl::OkStatus();
  return Invalid(Absl(field), ": ", time_s, " is not a Unix time between the years 1 and 9999");
}

absl::Status CheckDuration(std::string_view field, int64_t duration_s) {
  if (-kLongestDurationS <= duration_s && duration_s <= kLongestDurationS) return absl::OkStatus();
  return Invalid(Absl(field), ": ", duration_s, " s is longer than a century");
}

absl::Status CheckShare(std::string_view field, double share) {
  if (share > 0 && share <= 1) return absl::OkStatus();
  return Invalid(Absl(field), ": ", share, " is not above 0 and at most 1");
}

absl::Status CheckOptions(const PlannerOptions& options) {
  absl::Status status =
      CheckThreshold("scale_down_utilization_threshold", options.scale_down_utilization_threshold);
  status.Update(CheckThreshold("scale_down_gpu_utilization_threshold",
                               options.scale_down_gpu_utilization_threshold));
  status.Update(CheckDuration("unremovable_node_recheck_timeout_s",
                              options.unremovable_node_recheck_timeout_s));
  status.Update(CheckDuration("drain.blocking_system_pod_disruption_timeout_s",
                              options.drain.blocking_system_pod_disruption_timeout_s));
  for (const double share : {options.headroom.cpu, options.headroom.memory}) {
    if (share >= 0 && share < 1) continue;
    status.Update(Invalid("headroom: ", share, " is not from 0 to less than 1"));
  }
  return status;
}

absl::Status CheckSnapshot(const ClusterSnapshot& snapshot, const Symbols* remembered) {
  if (remembered != nullptr && remembered != &snapshot.catalog().symbols()) {
    return Invalid(
        "snapshot: its Symbols are not those of the snapshots before it, by whose ids nodes and "
        "pods are remembered");
  }
  if (snapshot.ghost() != kNoNode) {
    return Invalid("snapshot: node ", Absl(snapshot.catalog().NodeName(snapshot.ghost())),
                   " is a ghost");
  }
  return absl::OkStatus();
}

absl::Status CheckNoFork(const ClusterSnapshot& snapshot) {
  if (snapshot.depth() == 0) return absl::OkStatus();
  return Invalid("snapshot: ", snapshot.depth(),
                 snapshot.depth() == 1 ? " fork is open" : " forks are open");
}

absl::Status CheckGroups(const Catalog& catalog, const NodeGroups& groups) {
  const size_t nodes = catalog.nodes();
  if (absl::Status s = CheckColumn("group_of", groups.group_of.size(), nodes); !s.ok()) return s;
  if (!groups.no_group_reason.empty()) {
    if (absl::Status s = CheckColumn("no_group_reason", groups.no_group_reason.size(), nodes);
        !s.ok()) {
      return s;
    }
  }
  if (!groups.gpu_label.empty()) {
    if (absl::Status s = CheckColumn("gpu_label", groups.gpu_label.size(), nodes); !s.ok()) {
      return s;
    }
  }
  if (!groups.not_ready.empty()) {
    if (absl::Status s = CheckColumn("not_ready", groups.not_ready.size(), nodes); !s.ok()) {
      return s;
    }
  }
  const size_t count = groups.groups.size();
  const auto exists = [count](GroupId group) { return Index(group) < count || group == kNoGroup; };
  const auto wrong = std::ranges::find_if_not(groups.group_of, exists);
  if (wrong != groups.group_of.end()) {
    const auto n = static_cast<uint32_t>(wrong - groups.group_of.begin());
    return Invalid(Place("groups.group_of", n), ": node ", Absl(catalog.NodeName(NodeId{n})),
                   " is in group ", Index(*wrong), ", and there are ", count, " groups");
  }
  absl::flat_hash_map<std::string_view, size_t> by_name;
  for (size_t g = 0; g < count; ++g) {
    const NodeGroup& group = groups.groups[g];
    const auto [same, first] = by_name.try_emplace(group.name, g);
    if (!first) {
      return Invalid(Place("groups.groups", g), ".name: group ", group.name,
                     " comes twice, first as ", Place("groups.groups", same->second));
    }
    if (absl::Status s = CheckSize("min_size", g, group.name, group.min_size); !s.ok()) return s;
    if (absl::Status s = CheckSize("max_size", g, group.name, group.max_size); !s.ok()) return s;
    if (absl::Status s = CheckSize("target_size", g, group.name, group.target_size); !s.ok()) {
      return s;
    }
    if (absl::Status s = CheckOverrides(g, group); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CheckPassInput(const ClusterSnapshot& snapshot, const PassInput& input) {
  const Catalog& catalog = snapshot.catalog();
  const auto node_name = [&](NodeId node) { return catalog.NodeName(node); };
  if (absl::Status s = CheckTime("now_s", input.now_s); !s.ok()) return s;
  if (absl::Status s = CheckIds("candidates", "node", input.candidates, catalog.nodes(), node_name);
      !s.ok()) {
    return s;
  }
  if (input.destinations != nullptr && input.destinations->range() != catalog.nodes()) {
    return Invalid("destinations: ranges over ", input.destinations->range(),
                   " nodes, and the catalog has ", catalog.nodes());
  }
  if (absl::Status s =
          CheckIds("in_deletion", "node", input.in_deletion, catalog.nodes(), node_name);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckPods("pending", input.pending, catalog); !s.ok()) return s;
  for (size_t i = 0; i < input.pending.size(); ++i) {
    const NodeId node = snapshot.NodeOf(input.pending[i]);
    if (node == kNoNode) continue;
    return Invalid(Place("pending", i), ": pod ", catalog.PodName(input.pending[i]),
                   " runs on node ", Absl(node_name(node)));
  }
  if (input.must_fit > input.pending.size()) {
    return Invalid("must_fit: ", input.must_fit, " is more than the ", input.pending.size(),
                   " pods of pending");
  }
  if (input.standing > input.candidates.size()) {
    return Invalid("standing: ", input.standing, " is more than the ", input.candidates.size(),
                   " candidates");
  }
  for (const NodeId node : input.candidates.first(input.standing)) {
    if (input.destinations != nullptr && !input.destinations->Contains(node)) continue;
    return Invalid("standing: node ", Absl(node_name(node)), " is a destination");
  }
  if (absl::Status s = CheckShare("max_workload_share", input.max_workload_share); !s.ok())
    return s;
  return CheckPods("evicting", input.evicting, catalog);
}

absl::Status CheckSuggestions(const Catalog& catalog, std::span<const Move> suggestions) {
  std::vector<PodId> pods;
  for (size_t i = 0; i < suggestions.size(); ++i) {
    pods.push_back(suggestions[i].pod);
    if (Index(suggestions[i].to) < catalog.nodes()) continue;
    return Invalid(Place("suggestions", i), ": there is no node ", Index(suggestions[i].to),
                   ", the catalog has ", catalog.nodes());
  }
  return CheckPods("suggestions", pods, catalog);
}

absl::Status CheckPlan(const Catalog& catalog, const Plan& plan) {
  const auto is_known = [&](const Move& move) {
    return Index(move.pod) < catalog.pods() && Index(move.to) < catalog.nodes();
  };
  for (size_t i = 0; i < plan.remove.size(); ++i) {
    const RemovableNode& removal = plan.remove[i];
    if (Index(removal.node) < catalog.nodes() && std::ranges::all_of(removal.moves, is_known)) {
      continue;
    }
    return Invalid(Place("plan.remove", i), ": has a node or a pod that the catalog does not have");
  }
  return absl::OkStatus();
}

}  // namespace ebb
