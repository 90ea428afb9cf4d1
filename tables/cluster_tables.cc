#include "tables/cluster_tables.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/plan/node_standing.h"
#include "groups/node_facts.h"
#include "report/plan_report.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/import/incomplete.h"

namespace ebb {
namespace {

using enum ColumnType;

int64_t Requested(const ClusterSnapshot& snapshot, ResourceId resource, NodeId node) {
  return snapshot.Allocatable(resource, node) - snapshot.Free(resource, node);
}

// 0: unknown.
std::optional<int64_t> TimeOrNull(int64_t time_s) {
  return time_s == 0 ? std::nullopt : std::optional(time_s);
}

ColumnTable ClustersTable(const LoadedCluster& cluster, const NodeGroups& groups) {
  ColumnTable table("clusters", {{"nodes", kInteger},
                                 {"ready_nodes", kInteger, "nodes"},
                                 {"groups", kInteger},
                                 {"pods", kInteger},
                                 {"pending_pods", kInteger, "pods"},
                                 {"left_out_ended_pods", kInteger, "pods"},
                                 {"left_out_expendable_pods", kInteger, "pods"},
                                 {"left_out_pods_on_unknown_nodes", kInteger, "pods"},
                                 {"cpu_allocatable_milli", kInteger, "milli-CPU"},
                                 {"memory_allocatable_bytes", kInteger, "bytes"},
                                 {"gpus_allocatable", kInteger, "GPUs"},
                                 {"cpu_requested_milli", kInteger, "milli-CPU"},
                                 {"memory_requested_bytes", kInteger, "bytes"},
                                 {"newest_time", kTime},
                                 {"complete", kSwitch},
                                 {"warnings", kInteger}});
  const ClusterSnapshot& snapshot = cluster.snapshot;
  const Catalog& catalog = snapshot.catalog();
  const std::vector<NodeFacts> facts = FactsOfNodes(catalog);
  NodeAmounts offered;
  int64_t ready = 0;
  int64_t cpu = 0;
  int64_t memory = 0;
  snapshot.alive().ForEach([&](NodeId node) {
    offered.Add(facts[Index(node)].allocatable);
    if (IsReady(catalog, groups, node)) ++ready;
    cpu += Requested(snapshot, kCpu, node);
    memory += Requested(snapshot, kMemory, node);
  });
  table.Row()
      .Integer(static_cast<int64_t>(snapshot.nodes()))
      .Integer(ready)
      .Integer(static_cast<int64_t>(groups.groups.size()))
      .Integer(static_cast<int64_t>(snapshot.placed_pods()))
      .Integer(static_cast<int64_t>(cluster.pending.size()))
      .Integer(static_cast<int64_t>(cluster.counts.ended))
      .Integer(static_cast<int64_t>(cluster.counts.expendable))
      .Integer(static_cast<int64_t>(cluster.counts.on_unknown_node))
      .Integer(offered.cpu_milli)
      .Integer(offered.memory_bytes)
      .Integer(offered.gpus)
      .Integer(cpu)
      .Integer(memory)
      .Integer(TimeOrNull(cluster.newest_time))
      .Switch(IsComplete(cluster.warnings))
      .Integer(static_cast<int64_t>(cluster.warnings.size()));
  return table;
}

ColumnTable NodesTable(const LoadedCluster& cluster, const NodeGroups& groups) {
  ColumnTable table("nodes", {{"node"},
                              {"uid"},
                              {"group"},
                              {"instance_type"},
                              {"zone"},
                              {"capacity_type"},
                              {"os"},
                              {"architecture"},
                              {"provider_id"},
                              {"created", kTime},
                              {"ready", kSwitch},
                              {"unschedulable", kSwitch},
                              {"cpu_allocatable_milli", kInteger, "milli-CPU"},
                              {"memory_allocatable_bytes", kInteger, "bytes"},
                              {"gpus_allocatable", kInteger, "GPUs"},
                              {"pods_allocatable", kInteger, "pods"},
                              {"cpu_requested_milli", kInteger, "milli-CPU"},
                              {"memory_requested_bytes", kInteger, "bytes"},
                              {"pods", kInteger}});
  const ClusterSnapshot& snapshot = cluster.snapshot;
  const Catalog& catalog = snapshot.catalog();
  const std::vector<NodeFacts> facts = FactsOfNodes(catalog);
  snapshot.alive().ForEach([&](NodeId id) {
    const NodeInfo& node = catalog.node(id);
    const NodeFacts& fact = facts[Index(id)];
    const NodeGroup* const group = groups.Find(id);
    table.Row()
        .Text(catalog.Text(node.name))
        .TextOrNull(catalog.Text(node.uid))
        .TextOrNull(group == nullptr ? "" : group->name)
        .TextOrNull(fact.instance_type)
        .TextOrNull(fact.zone)
        .TextOrNull(fact.capacity_type)
        .TextOrNull(catalog.Text(node.os))
        .TextOrNull(catalog.Text(node.architecture))
        .TextOrNull(catalog.Text(node.provider_id))
        .Integer(TimeOrNull(node.creation_time))
        .Switch(IsReady(catalog, groups, id))
        .Switch(node.unschedulable)
        .Integer(fact.allocatable.cpu_milli)
        .Integer(fact.allocatable.memory_bytes)
        .Integer(fact.allocatable.gpus)
        .Integer(snapshot.Allocatable(kPods, id))
        .Integer(Requested(snapshot, kCpu, id))
        .Integer(Requested(snapshot, kMemory, id))
        .Integer(static_cast<int64_t>(snapshot.PodsOn(id).size()));
  });
  return table;
}

std::string_view PhaseText(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
    case PodPhase::kOther:
      return "";
  }
  return "";
}

ColumnTable PodsTable(const LoadedCluster& cluster, const NodeGroups&) {
  ColumnTable table("pods", {{"namespace"},
                             {"pod"},
                             {"uid"},
                             {"node"},
                             {"workload_kind"},
                             {"workload"},
                             {"priority", kInteger},
                             {"phase"},
                             {"created", kTime},
                             {"terminating", kSwitch},
                             {"mirror", kSwitch},
                             {"cpu_requested_milli", kInteger, "milli-CPU"},
                             {"memory_requested_bytes", kInteger, "bytes"}});
  const ClusterSnapshot& snapshot = cluster.snapshot;
  const Catalog& catalog = snapshot.catalog();
  for (uint32_t index = 0; index < catalog.pods(); ++index) {
    const PodId id{index};
    if (!catalog.IsThere(id)) continue;
    const PodShape& shape = catalog.shape_of(id);
    const PodInfo& pod = catalog.pod(id);
    const NodeId node = snapshot.NodeOf(id);
    const PlanReport::Keeper workload = WorkloadOf(catalog, id);
    // A pod without a UID has its name as the key.
    const std::string_view key = catalog.Text(pod.key);
    const bool has_uid = key.find('/') == std::string_view::npos;
    const Requests& requests = catalog.ChargeOn(id, node);
    table.Row()
        .Text(catalog.Text(shape.namespace_name))
        .Text(catalog.Text(pod.name))
        .TextOrNull(has_uid ? key : "")
        .TextOrNull(node == kNoNode ? "" : catalog.NodeName(node))
        .Text(workload.kind)
        .Text(workload.name)
        .Integer(shape.priority)
        .TextOrNull(PhaseText(shape.phase))
        .Integer(TimeOrNull(pod.creation_time))
        .Switch(shape.terminating)
        .Switch(shape.mirror)
        .Integer(AmountOf(requests, kCpu))
        .Integer(AmountOf(requests, kMemory));
  }
  return table;
}

struct KindOfClusterTable {
  std::string_view name;
  ColumnTable (*make)(const LoadedCluster& cluster, const NodeGroups& groups);
};
constexpr KindOfClusterTable kClusterTables[] = {
    {"clusters", ClustersTable}, {"nodes", NodesTable}, {"pods", PodsTable}};

}  // namespace

absl::StatusOr<ColumnTable> ClusterTableOf(std::string_view name, const LoadedCluster& cluster,
                                           const NodeGroups& groups) {
  for (const KindOfClusterTable& each : kClusterTables) {
    if (each.name == name) return each.make(cluster, groups);
  }
  return absl::InvalidArgumentError(absl::StrCat("table: a cluster has no table \"", Absl(name),
                                                 "\"; expected one of clusters, nodes, pods"));
}

}  // namespace ebb
