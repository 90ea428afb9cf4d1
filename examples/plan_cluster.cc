// Plans a cluster that is made of objects: which of its nodes can go, and where their pods
// land.  Three nodes of one group, each with one pod of a Deployment.

#include <iostream>
#include <tuple>
#include <utility>

#include "engine/make_plan.h"
#include "snapshot/builder.h"

namespace {

absl::StatusOr<ebb::ClusterSnapshot> MakeCluster() {
  ebb::SnapshotBuilder builder;
  absl::Status status;
  for (const char* const name : {"node-a", "node-b", "node-c"}) {
    ebb::objects::Node node;
    node.meta.name = name;
    node.conditions = {{"Ready", "True"}};
    node.capacity = {{"cpu", 4000}, {"memory", int64_t{8} << 30}, {"pods", 110}};
    node.allocatable = node.capacity;
    status.Update(builder.AddNode(node));
  }
  ebb::objects::Controller web;  // Its pods are made anew where they are evicted.
  web.meta.namespace_name = "default";
  web.meta.name = "web";
  web.spec_replicas = 3;
  status.Update(builder.AddController(web));
  for (const auto& [name, node, cpu_milli] :
       {std::tuple("web-1", "node-a", 500), {"web-2", "node-b", 1000}, {"web-3", "node-c", 3000}}) {
    ebb::objects::Pod pod;
    pod.meta.namespace_name = "default";
    pod.meta.name = name;
    pod.meta.owners = {{"apps/v1", "ReplicaSet", "web", "", true}};
    pod.node_name = node;
    pod.containers.resize(1);
    pod.containers[0].requests = {{"cpu", cpu_milli}, {"memory", int64_t{1} << 30}};
    status.Update(builder.AddPod(pod));
  }
  if (!status.ok()) return status;
  return std::move(builder).Build();
}

absl::Status Run() {
  absl::StatusOr<ebb::ClusterSnapshot> cluster = MakeCluster();
  if (!cluster.ok()) return cluster.status();
  const ebb::Catalog& catalog = cluster->catalog();

  ebb::NodeGroups groups;
  groups.groups.resize(1);
  groups.groups[0].name = "pool";
  groups.groups[0].min_size = 1;
  groups.groups[0].target_size = 3;
  groups.group_of.assign(catalog.nodes(), ebb::GroupId{0});

  ebb::PlanRequest request;  // The defaults are the autoscaler's.
  request.now_s = 1'800'000'000;
  const absl::StatusOr<ebb::PlanResult> result =
      ebb::MakePlan(*cluster, groups, /*pending=*/{}, request);
  if (!result.ok()) return result.status();

  for (const ebb::RemovableNode& removal : result->plan.remove) {
    std::cout << "remove " << catalog.NodeName(removal.node) << "\n";
    for (const ebb::Move& move : removal.moves) {
      std::cout << "  move " << catalog.PodName(move.pod) << " to " << catalog.NodeName(move.to)
                << "\n";
    }
  }
  for (const ebb::UnremovableNode& kept : result->plan.keep) {
    std::cout << "keep " << catalog.NodeName(kept.node) << ": " << ToString(kept.reason) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
