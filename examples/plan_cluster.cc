// Plans for a cluster that is built from objects: which of its nodes can go, and where their pods
// land.  It has three nodes of one group, each with one pod of a ReplicaSet.

#include <iostream>
#include <tuple>
#include <utility>

#include "engine/make_plan.h"
#include "snapshot/builder.h"

namespace {

absl::Status PlanCluster() {
  ebb::SnapshotBuilder builder;
  ebb::objects::Controller web;  // It recreates evicted pods.
  web.meta.namespace_name = "default";
  web.meta.name = "web";
  web.spec_replicas = 3;
  absl::Status status = builder.AddController(web);
  for (const auto& [node_name, pod_name, cpu_milli] :
       {std::tuple("node-a", "web-1", 500), {"node-b", "web-2", 1000}, {"node-c", "web-3", 3000}}) {
    ebb::objects::Node node;
    node.meta.name = node_name;
    node.conditions = {{"Ready", "True"}};
    node.allocatable = {{"cpu", 4000}, {"memory", int64_t{8} << 30}, {"pods", 110}};
    status.Update(builder.AddNode(node));
    ebb::objects::Pod pod;
    pod.meta.namespace_name = "default";
    pod.meta.name = pod_name;
    pod.meta.owners = {{"apps/v1", "ReplicaSet", "web", "", true}};
    pod.node_name = node_name;
    pod.containers.emplace_back().requests = {{"cpu", cpu_milli}, {"memory", int64_t{1} << 30}};
    status.Update(builder.AddPod(pod));
  }
  if (!status.ok()) return status;
  absl::StatusOr<ebb::ClusterSnapshot> cluster = std::move(builder).Build();
  if (!cluster.ok()) return cluster.status();

  const ebb::Catalog& catalog = cluster->catalog();
  ebb::NodeGroups groups;
  ebb::NodeGroup& pool = groups.groups.emplace_back();
  pool.name = "pool";
  pool.min_size = 1;
  pool.target_size = 3;
  groups.group_of.assign(catalog.nodes(), ebb::GroupId{0});
  ebb::PlanRequest request;  // The defaults are the autoscaler's.
  request.pass.now_s = 1'800'000'000;
  const absl::StatusOr<ebb::PlanResult> result = ebb::MakePlan(*cluster, groups, request);
  if (!result.ok()) return result.status();

  for (const ebb::RemovableNode& removal : result->plan.remove) {
    std::cout << "remove " << catalog.NodeName(removal.node) << "\n";
    for (const auto& [pod, to] : removal.moves) {
      std::cout << "  move " << catalog.PodName(pod) << " to " << catalog.NodeName(to) << "\n";
    }
  }
  for (const ebb::UnremovableNode& kept : result->plan.keep) {
    std::cout << "keep " << catalog.NodeName(kept.node) << ": " << ToString(kept.reason) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = PlanCluster();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
