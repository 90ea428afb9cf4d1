#include "sizing/pool_reader.h"

#include <gtest/gtest.h>

#include "snapshot/formats/read_input.h"

namespace ebb::pool_reader_test {
namespace {

constexpr std::string_view kDump = R"(
apiVersion: v1
kind: Node
metadata:
  name: web-1
  labels: {pool: web}
  creationTimestamp: "2026-01-01T00:00:00Z"
spec:
  taints: [{key: atlassian.com/escalator, value: "77", effect: NoSchedule}]
status:
  allocatable: {cpu: "2", memory: 4Gi}
  capacity: {cpu: "3", memory: 5Gi}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Node
metadata: {name: batch-1, labels: {pool: batch}}
status: {allocatable: {cpu: "2", memory: 4Gi}}
---
apiVersion: v1
kind: Pod
metadata:
  name: on-web
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: logs, uid: u, controller: true}]
spec:
  nodeName: web-1
  containers:
  - {name: a, resources: {requests: {cpu: 250m, memory: 1Gi}}}
  - {name: b}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: ended, namespace: shop}
spec: {nodeName: web-1, containers: [{name: a}]}
status: {phase: Succeeded}
---
apiVersion: v1
kind: Pod
metadata: {name: waits-for-web, namespace: shop}
spec: {nodeSelector: {pool: web}, containers: [{name: a}]}
status: {phase: Pending}
---
apiVersion: v1
kind: Pod
metadata: {name: waits-by-affinity, namespace: shop}
spec:
  containers: [{name: a}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: pool, operator: In, values: [web, other]}]
status: {phase: Pending}
---
apiVersion: v1
kind: Pod
metadata: {name: waits-for-any, namespace: shop}
spec: {containers: [{name: a}]}
status: {phase: Pending}
)";

class PoolReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    ImportStats stats;
    const absl::Status read = ReadBytes("dump.yaml", kDump, reader_, stats);
    ASSERT_TRUE(read.ok()) << read;
  }
  PoolReader reader_;
};

TEST_F(PoolReaderTest, APoolHasTheNodesWithItsLabels) {
  const PolicyObservation seen = reader_.Observe({.name = "web", .nodes = {{"pool", "web"}}});
  ASSERT_EQ(seen.nodes.size(), 1u);
  const PolicyNode& node = seen.nodes[0];
  EXPECT_EQ(node.name, "web-1");
  EXPECT_EQ(node.capacity.cpu_milli, 3000);
  EXPECT_EQ(node.allocatable, (PolicyResources{2000, int64_t{4} << 30, 0, 0}));
  EXPECT_EQ(node.ready, true);
  EXPECT_EQ(node.taints.at("atlassian.com/escalator"), "77");
  EXPECT_EQ(reader_.newest_s(), 1767225600);
  EXPECT_EQ(seen.cloud->desired, 1);
}

TEST_F(PoolReaderTest, RunningPodsHaveTheRequestsOfTheirContainers) {
  const PolicyObservation seen = reader_.Observe({.name = "web", .nodes = {{"pool", "web"}}});
  ASSERT_EQ(seen.nodes[0].pods.size(), 1u) << "pods that ended are left out";
  const PolicyPod& pod = seen.nodes[0].pods[0];
  EXPECT_EQ(pod.name, "shop/on-web");
  EXPECT_EQ(pod.owner, "shop/DaemonSet/logs");
  EXPECT_TRUE(pod.is_daemonset);
  EXPECT_EQ(pod.requests.cpu_milli, 250);
  ASSERT_EQ(pod.containers.size(), 2u);
  EXPECT_EQ(pod.containers[0].memory_bytes, int64_t{1} << 30);
  EXPECT_EQ(pod.containers[1].cpu_milli, std::nullopt);
}

TEST_F(PoolReaderTest, PendingPodsBelongToThePoolThatTheySelect) {
  const auto waiting = [&](const SizedPool& pool) {
    std::vector<std::string> names;
    for (const PolicyPod& each : reader_.Observe(pool).pending) names.push_back(each.name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(waiting({.name = "web", .nodes = {{"pool", "web"}}}),
            (Names{"shop/waits-for-web", "shop/waits-by-affinity"}));
  EXPECT_EQ(waiting({.name = "batch", .nodes = {{"pool", "batch"}}, .is_default = true}),
            (Names{"shop/waits-for-any"}));
  EXPECT_EQ(waiting({.name = "batch", .nodes = {{"pool", "batch"}}}), Names{});
}

TEST(PoolReaderPodsTest, GatedAndUnprocessedPodsAreNotUnschedulable) {
  using enum objects::Scheduling;
  PoolReader reader;
  for (const auto& [name, scheduling] :
       {std::pair("unschedulable", kUnschedulable), std::pair("unknown", kNotRecorded),
        std::pair("gated", kGated), std::pair("new", kUnprocessed)}) {
    objects::Pod pod;
    pod.meta.namespace_name = "shop";
    pod.meta.name = name;
    pod.phase = "Pending";
    pod.scheduling = scheduling;
    ASSERT_TRUE(reader.OnPod(pod).ok());
  }
  std::vector<std::string> unschedulable;
  for (const PolicyPod& pod : reader.Observe({.name = "any", .is_default = true}).pending) {
    if (pod.is_unschedulable) unschedulable.push_back(pod.name);
  }
  EXPECT_EQ(unschedulable, (std::vector<std::string>{"shop/unschedulable", "shop/unknown"}));
}

}  // namespace
}  // namespace ebb::pool_reader_test
