#include "snapshot/pod_shapes.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::pod_shapes_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

// A pod that uses much of what a shape holds.
Pod Rich(std::string_view name) {
  return Pod(name)
      .On("a")
      .Uid(std::string("uid-") + std::string(name))
      .Cpu(100)
      .Label("app", "web")
      .Priority(5)
      .NodeSelector("zone", "x")
      .ToleratesKey("dedicated")
      .HostPort(80)
      .Spread("zone", 2, test::Select("app", "web"))
      .Near("zone", test::Select("app", "db"))
      .Away("host", test::Select("app", "web"))
      .Volume("emptyDir");
}

bool ShareAShape(const Pod& a, const Pod& b) {
  const ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(a).Add(b).Build();
  return snapshot.catalog().shape_id(PodId{0}) == snapshot.catalog().shape_id(PodId{1});
}

TEST(PodShapesTest, PodsOfOneControllerShareAShape) {
  EXPECT_TRUE(ShareAShape(Rich("web-0"), Rich("web-1")));
}

TEST(PodShapesTest, WhatNoFilterAndNoRuleReadsDoesNotMakeAShape) {
  const auto add_volume = [](objects::Pod& p, const char* name, const char* source) {
    auto& volume = p.volumes.emplace_back();
    volume.name = name;
    volume.source = source;
  };
  const std::vector<std::function<void(objects::Pod&)>> changes = {
      [](auto& p) { p.node_name = "b"; },
      [](auto& p) { p.meta.uid = "another"; },
      [](auto& p) { p.meta.creation_time = 7; },
      [](auto& p) { p.meta.annotations.push_back({"note", "x"}); },
      [](auto& p) { p.containers[0].name = "renamed"; },
      // As the API server gives each pod one, with a name of its own.
      [&](auto& p) { add_volume(p, "kube-api-access-x2x4q", "projected"); },
      [&](auto& p) { add_volume(p, "config", "configMap"); },
      [&](auto& p) { add_volume(p, "key", "secret"); },
      [&](auto& p) { add_volume(p, "names", "downwardAPI"); },
  };
  for (size_t c = 0; c < changes.size(); ++c) {
    EXPECT_TRUE(ShareAShape(Rich("a"), Rich("b").With(changes[c]))) << "change " << c;
  }
}

TEST(PodShapesTest, EveryFieldThatMattersMakesAnotherShape) {
  using P = objects::Pod;
  const std::vector<std::pair<std::string, std::function<void(P&)>>> changes = {
      {"namespace", [](P& p) { p.meta.namespace_name = "other"; }},
      {"label", [](P& p) { p.meta.labels.push_back({"tier", "x"}); }},
      {"label value", [](P& p) { p.meta.labels[0].value = "x"; }},
      {"owner kind", [](P& p) { p.meta.owners[0].kind = "Job"; }},
      {"owner name", [](P& p) { p.meta.owners[0].name = "rs2"; }},
      {"owner uid", [](P& p) { p.meta.owners[0].uid = "x"; }},
      {"owner is controller", [](P& p) { p.meta.owners[0].controller = false; }},
      {"second owner", [](P& p) { p.meta.owners.push_back({"v1", "X", "x", "x", false}); }},
      {"priority", [](P& p) { p.priority = 6; }},
      {"no priority", [](P& p) { p.priority.reset(); }},
      {"grace period", [](P& p) { p.termination_grace_period_s = 5; }},
      {"restart policy", [](P& p) { p.restart_policy = "Never"; }},
      {"phase", [](P& p) { p.phase = "Pending"; }},
      {"terminating", [](P& p) { p.meta.deletion_time = 5; }},
      {"safe to evict",
       [](P& p) {
         p.meta.annotations = {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "true"}};
       }},
      {"safe volumes",
       [](P& p) {
         p.meta.annotations = {
             {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "volume"}};
       }},
      {"daemonset annotation",
       [](P& p) {
         p.meta.annotations = {{"cluster-autoscaler.kubernetes.io/daemonset-pod", "true"}};
       }},
      {"mirror", [](P& p) { p.meta.annotations = {{"kubernetes.io/config.mirror", ""}}; }},
      {"config source",
       [](P& p) { p.meta.annotations = {{"kubernetes.io/config.source", "file"}}; }},
      {"cpu", [](P& p) { p.containers[0].requests[0].amount = 101; }},
      {"extended resource", [](P& p) { p.containers[0].requests.push_back({"x.io/g", 1}); }},
      {"overhead", [](P& p) { p.overhead = {{"memory", 1}}; }},
      {"status holds more",
       [](P& p) {
         p.container_statuses.resize(1);
         p.container_statuses[0].name = "main";
         p.container_statuses[0].has_resources = true;
         p.container_statuses[0].requests = {{"cpu", 500}};
       }},
      {"host port", [](P& p) { p.containers[0].ports[0].host_port = 81; }},
      {"host ip", [](P& p) { p.containers[0].ports[0].host_ip = "1.2.3.4"; }},
      {"protocol", [](P& p) { p.containers[0].ports[0].protocol = "UDP"; }},
      {"node selector", [](P& p) { p.node_selector[0].value = "y"; }},
      {"node affinity", [](P& p) { p.required_node_affinity.nil = false; }},
      {"toleration effect", [](P& p) { p.tolerations[0].effect = "NoExecute"; }},
      {"spread skew", [](P& p) { p.spread[0].max_skew = 3; }},
      {"spread key", [](P& p) { p.spread[0].topology_key = "rack"; }},
      {"spread selector", [](P& p) { p.spread[0].label_selector.match_labels[0].value = "x"; }},
      {"spread min domains", [](P& p) { p.spread[0].min_domains = 2; }},
      {"spread affinity policy", [](P& p) { p.spread[0].node_affinity_policy = "Ignore"; }},
      {"spread taints policy", [](P& p) { p.spread[0].node_taints_policy = "Honor"; }},
      {"spread label keys", [](P& p) { p.spread[0].match_label_keys = {"app"}; }},
      {"spread is soft", [](P& p) { p.spread[0].when_unsatisfiable = "ScheduleAnyway"; }},
      {"affinity key", [](P& p) { p.affinity[0].topology_key = "rack"; }},
      {"affinity namespaces", [](P& p) { p.affinity[0].namespaces = {"x"}; }},
      {"affinity namespace selector", [](P& p) { p.affinity[0].namespace_selector.nil = false; }},
      {"anti-affinity selector", [](P& p) { p.anti_affinity[0].label_selector.nil = true; }},
      {"anti-affinity is affinity", [](P& p) { std::swap(p.affinity, p.anti_affinity); }},
      {"preferred nodes", [](P& p) { p.preferred_nodes = {{1, {{{"zone", "In", {"a"}}}, {}}}}; }},
      {"preferred affinity", [](P& p) { p.preferred_affinity.resize(1); }},
      {"preferred anti-affinity", [](P& p) { p.preferred_anti_affinity.resize(1); }},
      {"image", [](P& p) { p.containers[0].image = "web:2"; }},
      {"volume source", [](P& p) { p.volumes[0].source = "hostPath"; }},
      {"volume medium", [](P& p) { p.volumes[0].medium = "Memory"; }},
      {"claim",
       [](P& p) {
         p.volumes[0].source = "persistentVolumeClaim";
         p.volumes[0].claim_name = "c";
       }},
      {"resource claim", [](P& p) { p.resource_claims = {{"gpu", "g", ""}}; }},
      {"host network users",
       [](P& p) {
         p.host_network = true;
         p.host_users = false;
       }},
      {"restarts all", [](P& p) { p.containers[0].restarts_all_containers = true; }},
      {"not understood", [](P& p) { p.not_understood = "spec.affinity.cosmic"; }},
  };
  for (const auto& [field, change] : changes) {
    EXPECT_FALSE(ShareAShape(Rich("a"), Rich("b").With(change))) << field;
  }
}

TEST(PodShapesTest, ListsThatReadTheSameWhenJoinedAreToldApart) {
  EXPECT_FALSE(ShareAShape(Pod("a").Label("x", "yz"), Pod("b").Label("xy", "z")));
  EXPECT_FALSE(ShareAShape(Pod("a").Label("x", "1").Label("y", "2"),
                           Pod("b").Label("x", "1").NodeSelector("y", "2")));
}

const PodShape& ShapeOf(const ClusterSnapshot& snapshot) {
  return snapshot.catalog().shape_of(PodId{0});
}

TEST(PodShapesTest, PodsOfOneFitClassNeedTheSameAndMayRunOnTheSameNodes) {
  const auto same = [](const Pod& a, const Pod& b) {
    const ClusterSnapshot snapshot = Cluster().Add(a).Add(b).Build();
    return snapshot.catalog().shape_of(PodId{0}).fit_class ==
           snapshot.catalog().shape_of(PodId{1}).fit_class;
  };
  EXPECT_TRUE(same(Pod("a").Cpu(5).Label("app", "x"), Pod("b").Cpu(5).Label("app", "y")));
  EXPECT_FALSE(same(Pod("a").Cpu(5), Pod("b").Cpu(6)));
  EXPECT_FALSE(same(Pod("a").Cpu(5), Pod("b").Cpu(5).NodeSelector("zone", "x")));
  EXPECT_FALSE(same(Pod("a").Cpu(5), Pod("b").Cpu(5).ToleratesKey("t")));
}

TEST(PodShapesTest, LocalStorageBlocksUnlessItsVolumeIsDeclaredSafe) {
  constexpr std::string_view kSafe = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
  const auto blocks = [](const Pod& pod) {
    const ClusterSnapshot snapshot = Cluster().Add(pod).Build();
    return ShapeOf(snapshot).blocks_with_local_storage;
  };
  EXPECT_TRUE(blocks(Pod("p").Volume("emptyDir", "v")));
  EXPECT_TRUE(blocks(Pod("p").Volume("hostPath", "v")));
  EXPECT_FALSE(blocks(Pod("p").Volume("configMap", "v")));
  EXPECT_FALSE(blocks(
      Pod("p").Volume("emptyDir", "v").With([](auto& p) { p.volumes[0].medium = "Memory"; })));
  EXPECT_FALSE(blocks(Pod("p").Volume("emptyDir", "v").Annotation(kSafe, "u,v")));
  EXPECT_TRUE(blocks(Pod("p").Volume("emptyDir", "v").Annotation(kSafe, "u, v")));  // Not trimmed.
  EXPECT_TRUE(
      blocks(Pod("p").Volume("emptyDir", "v").Volume("emptyDir", "w").Annotation(kSafe, "v")));
}

TEST(PodShapesTest, WhatCannotBeReadIsNotUnderstood) {
  const auto why = [](const Pod& pod) {
    const ClusterSnapshot snapshot = Cluster().Add(pod).Build();
    return ShapeOf(snapshot).not_understood;
  };
  EXPECT_EQ(why(Pod("p")), "");
  EXPECT_NE(why(Pod("p").With([](auto& p) { p.resource_claims = {{"gpu", "g", ""}}; })), "");
  objects::LabelSelector bad = test::Select("a", "b");
  bad.match_expressions = {{"k", "Near", {"x"}}};
  EXPECT_NE(why(Pod("p").Near("zone", bad)), "");
  EXPECT_NE(why(Pod("p").Away("zone", bad)), "");
  EXPECT_NE(why(Pod("p").Spread("zone", 1, bad)), "");
}

}  // namespace
}  // namespace ebb::pod_shapes_test
