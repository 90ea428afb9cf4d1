#include "groups/groups.h"

#include <gtest/gtest.h>

#include <utility>

#include "snapshot/builder.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::groups_test {
namespace {

using test::Cluster;
using test::Node;

ClusterSnapshot Nodes(const std::vector<std::pair<std::string, objects::KeyValues>>& nodes) {
  SnapshotBuilder builder;
  for (const auto& [name, labels] : nodes) {
    objects::Node node;
    node.meta.name = name;
    node.meta.labels = labels;
    EXPECT_TRUE(builder.AddNode(node).ok());
  }
  return *std::move(builder).Build();
}

std::string GroupOf(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    std::string_view node) {
  const NodeGroup* group = groups.Find(*snapshot.catalog().FindNode(node));
  return group == nullptr ? "none" : group->name;
}

GroupRules Rules(const std::string& yaml) {
  absl::StatusOr<GroupRules> rules = ParseGroups("g.yaml", yaml);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *std::move(rules);
}

// "a=general b=none: a Fargate node", for all nodes.
std::string Groups(const Cluster& cluster, const std::string& yaml = "{}") {
  const ClusterSnapshot snapshot = cluster.Build();
  const NodeGroups groups = AssignGroups(snapshot.catalog(), Rules(yaml));
  std::string text;
  for (uint32_t n = 0; n < snapshot.catalog().nodes(); ++n) {
    const std::string name(snapshot.catalog().NodeName(NodeId{n}));
    text += (n == 0 ? "" : "; ") + name + "=" + GroupOf(snapshot, groups, name);
    const std::string_view why = ToText(groups.WhyNoGroup(NodeId{n}));
    if (!why.empty()) text += ": " + std::string(why);
  }
  return text;
}

// "CODE message" for each warning.
std::vector<std::string> Warnings(const Cluster& cluster, const std::string& yaml) {
  const ClusterSnapshot snapshot = cluster.Build();
  std::vector<std::string> texts;
  for (const InputWarning& warning : GroupWarnings(snapshot.catalog(), Rules(yaml))) {
    texts.push_back(warning.code + " " + warning.message);
  }
  return texts;
}
using Texts = std::vector<std::string>;

constexpr std::string_view kEks = "eks.amazonaws.com/nodegroup";
constexpr std::string_view kKarpenter = "karpenter.sh/nodepool";
constexpr std::string_view kGke = "cloud.google.com/gke-nodepool";

TEST(GroupsTest, ComeFromTheLabelsOfManagedClustersThenNodegroup) {
  const ClusterSnapshot snapshot =
      Nodes({{"eks", {{"nodegroup", "x"}, {"eks.amazonaws.com/nodegroup", "a"}}},
             {"gke", {{"cloud.google.com/gke-nodepool", "b"}}},
             {"aks", {{"agentpool", "c"}}},
             {"own", {{"nodegroup", "d"}}},
             {"nap", {{"karpenter.sh/nodepool", "e"}, {"kubernetes.azure.com/agentpool", "z"}}}});
  const NodeGroups groups = AssignGroups(snapshot.catalog(), {});
  EXPECT_EQ(GroupOf(snapshot, groups, "eks"), "a");
  EXPECT_EQ(GroupOf(snapshot, groups, "gke"), "b");
  EXPECT_EQ(GroupOf(snapshot, groups, "aks"), "c");
  EXPECT_EQ(GroupOf(snapshot, groups, "own"), "d");
  EXPECT_EQ(GroupOf(snapshot, groups, "nap"), "e");
  for (const NodeGroup& group : groups.groups) {
    EXPECT_EQ(group.target_size, 1);
    EXPECT_EQ(group.min_size, 0);
  }
}

TEST(GroupsTest, ALineEndThatYamlReadersDisagreeAboutIsRefused) {
  EXPECT_EQ(
      ParseGroups("g.yaml", "groups:\n- name: a\n  # keep\r  minSize: 2\n").status().message(),
      "g.yaml: line 3: a carriage return that ends no line");
}

TEST(GroupsTest, WithoutGroupLabelsAllNodesAreInOneGroup) {
  const Cluster kind = Cluster()
                           .Add(Node("cp").Label("node-role.kubernetes.io/control-plane", ""))
                           .Add(Node("w1"))
                           .Add(Node("w2").Label("nodegroup", ""));
  EXPECT_EQ(Groups(kind), "cp=none: control plane; w1=default; w2=default");
  EXPECT_EQ(Groups(kind, "nodeGroups: [{name: default, autoscaled: false}]"),
            "cp=none: control plane; w1=none: excluded by the groups file; "
            "w2=none: excluded by the groups file");
  // A rule that excludes nodes does not decide the group of other nodes.
  EXPECT_EQ(Groups(Cluster().Add(Node("w1")).Add(Node("w2").Label("keep", "me")),
                   "nodeGroups: [{name: kept, nodeSelector: {keep: me}, autoscaled: false}]"),
            "w1=default; w2=none: excluded by the groups file");
}

TEST(GroupsTest, ANodeWithoutALabelThatOthersHaveIsInNoGroup) {
  EXPECT_EQ(Groups(Cluster().Add(Node("a").Label(kEks, "ng")).Add(Node("self"))),
            "a=ng; self=none: in no node group: others have a group label or rule, and this one "
            "has none");
  EXPECT_EQ(Groups(Cluster().Add(Node("a").Label("pool", "x")).Add(Node("b")),
                   "nodeGroups: [{name: x, nodeSelector: {pool: x}}]"),
            "a=x; b=none: in no node group: others have a group label or rule, and this one has "
            "none");
  // Labels on control-plane nodes do not affect workers.
  EXPECT_EQ(Groups(Cluster()
                       .Add(Node("m")
                                .Label("kops.k8s.io/instancegroup", "m")
                                .Label("node-role.kubernetes.io/control-plane", ""))
                       .Add(Node("w"))),
            "m=none: control plane; w=default");
}

TEST(GroupsTest, FargateNodesAndVirtualKubeletsBelongToNone) {
  EXPECT_EQ(Groups(Cluster()
                       .Add(Node("fargate-ip-10-0-1-2.ec2.internal")
                                .Label("eks.amazonaws.com/compute-type", "fargate"))
                       .Add(Node("by-taint").Taint("eks.amazonaws.com/compute-type", "fargate"))
                       .Add(Node("virtual-node-aci-linux")
                                .Label("type", "virtual-kubelet")
                                .Label("kubernetes.azure.com/managed", "false"))
                       .Add(Node("aci-v2").Taint("virtual-kubelet.io/provider", "azure"))
                       .Add(Node("auto").Label("eks.amazonaws.com/compute-type", "auto"))),
            "fargate-ip-10-0-1-2.ec2.internal=none: a Fargate node; by-taint=none: a Fargate node; "
            "virtual-node-aci-linux=none: a virtual kubelet; aci-v2=none: a virtual kubelet; "
            "auto=default");
}

// Symptom: a NodePool `default` included every node without a group label.
TEST(GroupsTest, GroupsOfOneNameFromTwoLabelsAreTwo) {
  const Cluster cluster = Cluster()
                              .Add(Node("a").Label(kEks, "default"))
                              .Add(Node("b").Label(kKarpenter, "default"))
                              .Add(Node("c").Label(kKarpenter, "spot"));
  EXPECT_EQ(Groups(cluster),
            "a=eks.amazonaws.com/nodegroup=default; b=karpenter.sh/nodepool=default; c=spot");
  const ClusterSnapshot snapshot = cluster.Build();
  const NodeGroups groups = AssignGroups(snapshot.catalog(), {});
  EXPECT_EQ(groups.ManagerOf(NodeId{0}), PoolManager::kClusterAutoscaler);
  EXPECT_EQ(groups.ManagerOf(NodeId{1}), PoolManager::kKarpenterRules);
  EXPECT_EQ(groups.Find(NodeId{1})->target_size, 1);
  // Without the other group, its name is not qualified.
  EXPECT_EQ(Groups(Cluster().Add(Node("b").Label(kKarpenter, "default"))), "b=default");
}

TEST(GroupsTest, OldAndNewLabelsOfOneGroupAreOne) {
  EXPECT_EQ(Groups(Cluster()
                       .Add(Node("a").Label("agentpool", "np"))
                       .Add(Node("b").Label("kubernetes.azure.com/agentpool", "np"))
                       .Add(Node("c")
                                .Label("agentpool", "np")
                                .Label("kubernetes.azure.com/agentpool", "np"))),
            "a=np; b=np; c=np");
}

TEST(GroupsTest, ARuleThatSelectsNodesMakesAGroupOfItsOwn) {
  EXPECT_EQ(Groups(Cluster()
                       .Add(Node("a").Label("nodegroup", "web").Label("tier", "x"))
                       .Add(Node("b").Label("nodegroup", "web")),
                   "nodeGroups: [{name: web, nodeSelector: {tier: x}, minSize: 1}]"),
            "a=web; b=nodegroup=web");
}

TEST(GroupsTest, ARuleMayNameTheLabelOfItsGroup) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(kEks, "default"))
                                       .Add(Node("b").Label(kKarpenter, "default"))
                                       .Build();
  const auto min_sizes = [&](const std::string& yaml) {
    const NodeGroups groups = AssignGroups(snapshot.catalog(), Rules(yaml));
    return std::pair(groups.Find(NodeId{0})->min_size, groups.Find(NodeId{1})->min_size);
  };
  // Karpenter knows no minimum.
  EXPECT_EQ(min_sizes("nodeGroups: [{name: default, minSize: 1}]"), std::pair(1L, 0L));
  EXPECT_EQ(min_sizes("nodeGroups: [{name: karpenter.sh/nodepool=default, minSize: 1}]"),
            std::pair(0L, 0L));
  const GroupRules rules = Rules("nodeGroups: [{name: default}, {name: x, nodeSelector: {a: b}}]");
  EXPECT_EQ(FindRule(rules, "karpenter.sh/nodepool=default"), &rules.rules[0]);
  EXPECT_EQ(FindRule(rules, "default"), &rules.rules[0]);
  EXPECT_EQ(FindRule(rules, "nodegroup=x"), nullptr);
}

// If a file puts Karpenter's nodes into other groups, Karpenter's rules still apply to them.
TEST(GroupsTest, NodesOfKarpentersKeepTheirManagerInOtherGroups) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("a").Label(kKarpenter, "spot").Label("team", "x")).Build();
  for (const char* yaml :
       {"{}", "groupLabel: team", "nodeGroups: [{name: x, nodeSelector: {team: x}}]"}) {
    GroupRules rules = Rules(yaml);
    EXPECT_EQ(AssignGroups(snapshot.catalog(), rules).ManagerOf(NodeId{0}),
              PoolManager::kKarpenterRules)
        << yaml;
    rules.rule_set = RuleSet::kAutoscaler;
    EXPECT_EQ(AssignGroups(snapshot.catalog(), rules).ManagerOf(NodeId{0}), PoolManager::kKarpenter)
        << yaml;
  }
}

TEST(GroupsTest, AMinimumOfKarpentersGroupHoldsOnlyIfItsSizeIsFixed) {
  const ClusterSnapshot snapshot = Cluster().Add(Node("a").Label(kKarpenter, "spot")).Build();
  const auto min_of = [&](int64_t min, int64_t max) {
    GroupRules rules;
    const GroupSize size{.name = "spot", .min_size = min, .max_size = max};
    SetGroupSizes({&size, 1}, rules);
    return AssignGroups(snapshot.catalog(), rules).groups[0].min_size;
  };
  EXPECT_EQ(min_of(1, 3), 0);
  EXPECT_EQ(min_of(1, 1), 1);
}

TEST(GroupsTest, RulesAreThoseOfTheNodesLabelUnlessAllAreAskedFor) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(kKarpenter, "spot"))
                                       .Add(Node("b").Label("karpenter.sh/provisioner-name", "old"))
                                       .Add(Node("c").Label(kEks, "web"))
                                       .Build();
  const auto managers = [&](RuleSet rule_set) {
    GroupRules rules;
    rules.rule_set = rule_set;
    const NodeGroups groups = AssignGroups(snapshot.catalog(), rules);
    std::vector<PoolManager> of_nodes;
    for (const uint32_t n : {0, 1, 2}) of_nodes.push_back(groups.ManagerOf(NodeId{n}));
    return of_nodes;
  };
  using enum PoolManager;
  EXPECT_THAT(managers(RuleSet::kAuto),
              ::testing::ElementsAre(kKarpenterRules, kKarpenter, kClusterAutoscaler));
  EXPECT_THAT(managers(RuleSet::kAutoscaler),
              ::testing::ElementsAre(kKarpenter, kKarpenter, kClusterAutoscaler));
  EXPECT_THAT(managers(RuleSet::kKarpenter), ::testing::Each(kKarpenterRules));
  EXPECT_EQ(managers(RuleSet::kDelegated), managers(RuleSet::kAuto));
}

// Why the first node counts as not ready.
NotReadyReason NotReady(const Cluster& cluster, const ReadinessRules& readiness = {}) {
  const ClusterSnapshot snapshot = cluster.Build();
  GroupRules rules;
  rules.readiness = readiness;
  return AssignGroups(snapshot.catalog(), rules).WhyNotReady(NodeId{0});
}

ReadinessRules TaintRules(std::vector<std::string> taints, std::vector<std::string> prefixes) {
  ReadinessRules rules;
  rules.startup_taints = std::move(taints);
  rules.startup_taint_prefixes = std::move(prefixes);
  return rules;
}

TEST(GroupsTest, ANodeWithAStartupTaintIsNotReady) {
  using enum NotReadyReason;
  const auto tainted = [](std::string_view key) {
    return Cluster().Add(Node("n").Taint(key, "", "NoSchedule"));
  };
  EXPECT_EQ(NotReady(tainted("startup-taint.cluster-autoscaler.kubernetes.io/cni")), kStartupTaint);
  EXPECT_EQ(NotReady(tainted("ignore-taint.cluster-autoscaler.kubernetes.io/cni")), kStartupTaint);
  // A status taint does not make an existing node count as not ready.
  EXPECT_EQ(NotReady(tainted("status-taint.cluster-autoscaler.kubernetes.io/cni")), kNone);
  const Cluster own = tainted("example.com/agent");
  EXPECT_EQ(NotReady(own), kNone);
  EXPECT_EQ(NotReady(own, TaintRules({"other", "example.com/agent"}, {})), kStartupTaint);
  EXPECT_EQ(NotReady(own, TaintRules({"example.com/"}, {})), kNone);
  EXPECT_EQ(NotReady(own, TaintRules({}, {"example.com/"})), kStartupTaint);
  // The autoscaler checks only nodes that are ready and schedulable.
  const char* const startup = "startup-taint.cluster-autoscaler.kubernetes.io/cni";
  EXPECT_EQ(NotReady(Cluster().Add(Node("n").Taint(startup).Unschedulable())), kNone);
  EXPECT_EQ(NotReady(Cluster().Add(Node("n").Taint(startup).NotReady())), kNone);
}

TEST(GroupsTest, ANodeWithoutTheGpusOfItsLabelIsNotReady) {
  using enum NotReadyReason;
  for (const auto& [group, label] :
       {std::pair("eks.amazonaws.com/nodegroup", "k8s.amazonaws.com/accelerator"),
        std::pair("cloud.google.com/gke-nodepool", "cloud.google.com/gke-accelerator"),
        std::pair("kubernetes.azure.com/agentpool", "kubernetes.azure.com/accelerator")}) {
    const Node node = Node("n").Label(group, "gpus").Label(label, "x");
    EXPECT_EQ(NotReady(Cluster().Add(node)), kNoGpus) << label;
    for (const char* const gpu :
         {"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe",
          "microsoft.com/directx", "nvidia.com/mig-3g.20gb"}) {
      EXPECT_EQ(NotReady(Cluster().Add(Node(node).Resource(gpu, 1))), kNone) << gpu;
      EXPECT_EQ(NotReady(Cluster().Add(Node(node).Resource(gpu, 0))), kNoGpus) << gpu;
    }
  }
  // Another provider's label does not count.
  EXPECT_EQ(NotReady(Cluster().Add(Node("n")
                                       .Label("eks.amazonaws.com/nodegroup", "gpus")
                                       .Label("cloud.google.com/gke-accelerator", "x"))),
            kNone);
}

TEST(GroupsTest, ANodeWhoseGpusAreResourceSlicesWaitsForNoDevicePlugin) {
  using enum NotReadyReason;
  const auto cluster = [](std::string_view driver) {
    objects::ResourceSlice made;
    made.meta.name = "s";
    made.node_name = "n";
    made.pool = "n";
    made.driver = driver;
    return Cluster()
        .Add(Node("n")
                 .Label("cloud.google.com/gke-nodepool", "gpus")
                 .Label("cloud.google.com/gke-accelerator", "x"))
        .Add(objects::StorageObject(made));
  };
  EXPECT_EQ(NotReady(cluster("gpu.nvidia.com")), kNone);
  EXPECT_EQ(NotReady(cluster("dra.net")), kNoGpus);
}

TEST(GroupsTest, ANodeWithFewerPoolsOfDevicesThanItsGroupIsNotReady) {
  using enum NotReadyReason;
  const auto slice = [](std::string_view name, std::string_view node, std::string_view driver) {
    objects::ResourceSlice made;
    made.meta.name = test::Keep(name);
    made.node_name = test::Keep(node);
    made.pool = test::Keep(name);
    made.driver = driver;
    return objects::StorageObject(made);
  };
  const auto cluster = [] { return Cluster().Add(Node("n")).Add(Node("o")); };
  EXPECT_EQ(NotReady(cluster()), kNone);
  EXPECT_EQ(NotReady(cluster().Add(slice("1", "o", "gpu.example.com"))), kNoDevicePools);
  EXPECT_EQ(NotReady(cluster().Add(slice("1", "n", "gpu.example.com"))), kNone);
  EXPECT_EQ(NotReady(cluster()
                         .Add(slice("1", "n", "gpu.example.com"))
                         .Add(slice("2", "o", "gpu.example.com"))),
            kNone);
  EXPECT_EQ(NotReady(cluster()
                         .Add(slice("1", "n", "nic.example.com"))
                         .Add(slice("2", "o", "gpu.example.com"))),
            kNoDevicePools);
  EXPECT_EQ(NotReady(cluster()
                         .Add(Node("p"))
                         .Add(slice("1", "n", "gpu.example.com"))
                         .Add(slice("2", "o", "gpu.example.com"))
                         .Add(slice("3", "o", "gpu.example.com"))),
            kNoDevicePools);
}

TEST(GroupsTest, ANodeThatLacksACsiDriverIsNotReadyIfTheOptionIsSet) {
  using enum NotReadyReason;
  const auto csi = [](std::string_view node, const std::vector<std::string_view>& drivers) {
    objects::CsiNode made;
    made.meta.name = node;
    for (const std::string_view driver : drivers) made.drivers.emplace_back().name = driver;
    return objects::StorageObject(made);
  };
  const auto cluster = [&](const std::vector<std::string_view>& drivers) {
    return Cluster()
        .Add(Node("n"))
        .Add(Node("o"))
        .Add(Node("p"))
        .Add(csi("n", drivers))
        .Add(csi("o", {"ebs", "efs"}));
  };
  ReadinessRules aware;
  aware.csi_node_aware = true;
  EXPECT_EQ(NotReady(cluster({"efs"}), aware), kNoCsiDriver);
  EXPECT_EQ(NotReady(cluster({"efs"})), kNone);
  EXPECT_EQ(NotReady(cluster({"efs", "ebs"}), aware), kNone);
  // The other nodes do not all have it.
  EXPECT_EQ(NotReady(cluster({"efs"}).Add(csi("p", {"efs"})), aware), kNone);
}

TEST(GroupsTest, TheProvidersGpuLabelIsThatOfTheNode) {
  const auto has = [](Node node, const std::string& yaml = "{}") {
    const ClusterSnapshot snapshot = Cluster().Add(node).Build();
    return AssignGroups(snapshot.catalog(), Rules(yaml)).HasGpuLabel(NodeId{0});
  };
  const auto at = [](std::string_view provider_id) {
    Node node("n");
    node.raw.provider_id = test::Keep(provider_id);
    return node;
  };
  constexpr std::string_view kGke = "cloud.google.com/gke-accelerator";
  constexpr std::string_view kAws = "k8s.amazonaws.com/accelerator";
  const auto gke = [] { return Node("n").Label("cloud.google.com/gke-nodepool", "p"); };
  EXPECT_TRUE(has(gke().Label(kGke, "nvidia-tesla-t4")));
  EXPECT_FALSE(has(gke().Label(kAws, "nvidia-tesla-t4")));
  EXPECT_TRUE(has(Node("n").Label(kEks, "p").Label(kAws, "nvidia-tesla-t4")));
  EXPECT_FALSE(has(Node("n").Label(kEks, "p").Label(kGke, "nvidia-tesla-t4")));
  EXPECT_TRUE(
      has(Node("n").Label("agentpool", "p").Label("kubernetes.azure.com/accelerator", "nvidia")));
  EXPECT_FALSE(has(Node("n").Label("agentpool", "p").Label("accelerator", "nvidia")));
  EXPECT_FALSE(has(Node("n").Label(kKarpenter, "p").Label(kAws, "nvidia-tesla-t4")));
  // Without a cloud's group label, the provider is taken from spec.providerID.
  EXPECT_TRUE(has(at("aws:///eu-west-1a/i-0123").Label(kAws, "v100")));
  EXPECT_TRUE(has(at("gce://p/z/n").Label("kops.k8s.io/instancegroup", "g").Label(kGke, "t4")));
  EXPECT_FALSE(has(at("kind://docker/kind/n").Label(kAws, "v100")));
  EXPECT_FALSE(has(Node("n").Label(kAws, "v100")));
  // The GPU is allocated by a driver of resource claims.
  EXPECT_FALSE(has(gke().Label(kGke, "t4").Label("cloud.google.com/gke-gpu-dra-driver", "true")));
  // A file overrides the label.
  EXPECT_TRUE(has(Node("n").Label("my/gpu", ""), "gpuLabel: my/gpu"));
  EXPECT_FALSE(has(gke().Label(kGke, "t4"), "gpuLabel: my/gpu"));
}

Node At(std::string_view name, std::string_view provider_id) {
  Node node(name);
  node.raw.provider_id = test::Keep(provider_id);
  return node;
}

// "name min nodes" for each group that `sizes` produce, in order of names; otherwise the error.
std::string Sized(const Cluster& cluster, const std::vector<GroupSize>& sizes) {
  const ClusterSnapshot snapshot = cluster.Build();
  GroupRules rules;
  SetGroupSizes(sizes, rules);
  const absl::Status status = CheckMinimums(snapshot.catalog(), rules);
  if (!status.ok()) return std::string(status.message());
  const NodeGroups groups = AssignGroups(snapshot.catalog(), rules);
  std::string text;
  for (const NodeGroup& group : groups.groups) {
    text += group.name + " " + std::to_string(group.min_size) + " " +
            std::to_string(group.target_size) + "; ";
  }
  return text;
}

TEST(GroupSizesTest, HetznersFormFindsTheGroupByItsLabel) {
  const Cluster cluster = Cluster()
                              .Add(Node("a").Label("hcloud/node-group", "pool1"))
                              .Add(Node("b").Label("hcloud/node-group", "pool1"))
                              .Add(Node("c").Label("hcloud/node-group", "pool2"));
  EXPECT_EQ(Sized(cluster, {{"cpx31:fsn1:pool1", 2, 10}}), "pool1 2 2; pool2 0 1; ");
}

TEST(GroupSizesTest, ServersOfHetznerWithoutTheLabelAreFoundByTheirNames) {
  const Cluster cluster = Cluster()
                              .Add(At("pool1-4a2f0c1b9d8e7f60", "hcloud://1"))
                              .Add(At("pool1-5b3f0c1b9d8e7f61", "hcloud://2"))
                              .Add(At("other", "hcloud://3"));
  EXPECT_EQ(Sized(cluster, {{"cpx31:fsn1:pool1", 2, 10}}), "pool1 2 2; ");
}

TEST(GroupSizesTest, InstanceGroupsOfOneNodePoolAreGroupsOfTheirOwn) {
  const std::string url = "https://www.googleapis.com/compute/v1/projects/p/zones/";
  const Cluster cluster =
      Cluster()
          .Add(At("n1", "gce://p/z-a/gke-c-web-0a0a0a0a-aaaa").Label(kGke, "web"))
          .Add(At("n2", "gce://p/z-a/gke-c-web-0a0a0a0a-bbbb").Label(kGke, "web"))
          .Add(At("n3", "gce://p/z-b/gke-c-web-0b0b0b0b-aaaa").Label(kGke, "web"));
  EXPECT_EQ(Sized(cluster, {{url + "z-a/instanceGroups/gke-c-web-0a0a0a0a-grp", 2, 10},
                            {url + "z-b/instanceGroups/gke-c-web-0b0b0b0b-grp", 1, 10}}),
            "gke-c-web-0a0a0a0a-grp 2 2; gke-c-web-0b0b0b0b-grp 1 1; ");
  // An older form: the pool itself is at the end of a path.
  EXPECT_EQ(Sized(cluster, {{"https://x.test/instanceGroups/web", 3, 10}}), "web 3 3; ");
}

TEST(GroupSizesTest, ScaleSetsAndAutoScalingGroupsAreFound) {
  const std::string set =
      "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/"
      "virtualMachineScaleSets/aks-web-12345678-vmss/virtualMachines/";
  const Cluster azure = Cluster()
                            .Add(At("n1", set + "0").Label("agentpool", "web"))
                            .Add(At("n2", set + "1").Label("agentpool", "web"));
  EXPECT_EQ(Sized(azure, {{"aks-web-12345678-vmss", 2, 3}}), "aks-web-12345678-vmss 2 2; ");
  EXPECT_EQ(Sized(azure, {{"web", 2, 3}}), "web 2 2; ");
  const Cluster eks = Cluster().Add(Node("n").Label(kEks, "core"));
  EXPECT_EQ(Sized(eks, {{"eks-core-f8c187b8-a46f-464b-831e-bbedf7312905", 1, 3}}), "core 1 1; ");
  const Cluster eksctl = Cluster().Add(Node("n")
                                           .Label("alpha.eksctl.io/cluster-name", "c")
                                           .Label("alpha.eksctl.io/nodegroup-name", "ng-1"));
  EXPECT_EQ(Sized(eksctl, {{"eksctl-c-nodegroup-ng-1-NodeGroup-1LRT8H4ZKAVO9", 1, 3}}),
            "ng-1 1 1; ");
  const Cluster kops = Cluster().Add(Node("n").Label("kops.k8s.io/instancegroup", "nodes"));
  EXPECT_EQ(Sized(kops, {{"nodes.k8s.example.com", 1, 3}}), "nodes 1 1; ");
}

TEST(GroupSizesTest, APoolMayBeNamedByItsId) {
  const Cluster cluster = Cluster().Add(Node("n")
                                            .Label("doks.digitalocean.com/node-pool", "basic")
                                            .Label("doks.digitalocean.com/node-pool-id", "45a1"));
  EXPECT_EQ(Sized(cluster, {{"45a1", 1, 3}}), "basic 1 1; ");
  EXPECT_EQ(Sized(cluster, {{"basic", 1, 3}}), "basic 1 1; ");
}

TEST(GroupSizesTest, AMinimumThatWouldProtectNoNodeIsAnError) {
  const std::string wrong =
      "--nodes: nodeGroups[0] (web): no node is in a group of that name, so "
      "its minimum of 3 would protect no node; the groups of this cluster "
      "are: ";
  const std::string help =
      "; a file for --node-groups can tell the group's nodes by labels, or "
      "give 0 as its minimum";
  // On premises, nodes have no group labels.
  EXPECT_EQ(Sized(Cluster().Add(Node("a")), {{"web", 3, 9}}), wrong + "default" + help);
  EXPECT_EQ(Sized(Cluster().Add(Node("a").Label("nodegroup", "x")), {{"cx22:fsn1:web", 3, 9}}),
            wrong + "x" + help);
  // There is no error for a minimum of 0, nor if all groups of the cluster have sizes.
  EXPECT_EQ(Sized(Cluster().Add(Node("a")), {{"web", 0, 9}}), "default 0 1; ");
  EXPECT_EQ(Sized(Cluster().Add(Node("a").Label("nodegroup", "x")), {{"web", 3, 9}, {"x", 1, 2}}),
            "x 1 1; ");
}

TEST(GroupsTest, ProvidersNodePoolsAreGroups) {
  for (const char* const label : {"hcloud/node-group",
                                  "lke.linode.com/pool-id",
                                  "kubernetes.civo.com/civo-node-pool",
                                  "kubernetes.civo.com/node-pool",
                                  "doks.digitalocean.com/node-pool-id",
                                  "k8s.scaleway.com/pool-name",
                                  "k8s.scaleway.com/pool",
                                  "ibm-cloud.kubernetes.io/worker-pool-name",
                                  "ibm-cloud.kubernetes.io/worker-pool-id",
                                  "yandex.cloud/node-group-id",
                                  "vke.vultr.com/node-pool",
                                  "node.exoscale.net/nodepool-id",
                                  "alibabacloud.com/nodepool-id",
                                  "node.alibabacloud.com/nodepool-id",
                                  "compute.coreweave.com/node-pool",
                                  "magnum.openstack.org/nodegroup",
                                  "worker.gardener.cloud/pool",
                                  "nodepool",
                                  "oke.oraclecloud.com/pool.name",
                                  "cce.cloud.com/cce-nodepool",
                                  "tke.cloud.tencent.com/nodepool-id",
                                  "nebius.com/node-group-id"}) {
    EXPECT_EQ(Groups(Cluster().Add(Node("a").Label(label, "x")).Add(Node("b").Label(label, "y"))),
              "a=x; b=y")
        << label;
  }
  // A common word counts only on nodes of the provider that sets it.
  EXPECT_EQ(Groups(Cluster().Add(Node("a").Label("pool", "x"))), "a=default");
  EXPECT_EQ(Groups(Cluster().Add(At("a", "equinixmetal://1").Label("pool", "x"))), "a=x");
}

TEST(GroupWarningsTest, ARuleThatMatchesNothingNamesTheNearestGroup) {
  const Cluster cluster = Cluster()
                              .Add(Node("a").Label("nodegroup", "general").Label("pool", "batch"))
                              .Add(Node("f").Label("eks.amazonaws.com/compute-type", "fargate"));
  const std::string nothing = "NodeGroupRuleMatchesNothing g.yaml: nodeGroups[0] ";
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: general, minSize: 1}]"), Texts{});
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: genral, minSize: 3}]"),
            Texts{nothing + "(genral): no node is in a group of that name; did you mean general?"});
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: \"\\e[2Jxyz\"}]"),
            Texts{nothing + "(\\x1b[2Jxyz): no node is in a group of that name"});
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: b, nodeSelector: {pool: btach}}]"),
            Texts{nothing + "(b).nodeSelector: no node has the label pool=btach; did you mean "
                            "batch?"});
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: b, nodeSelector: {pol: batch}}]"),
            Texts{nothing + "(b).nodeSelector: no node has the label pol; did you mean pool?"});
  EXPECT_EQ(Warnings(cluster,
                     "nodeGroups: [{name: f, nodeSelector: {eks.amazonaws.com/compute-type: "
                     "fargate}}]"),
            Texts{nothing + "(f): all nodes that it matches are control plane, virtual kubelets or "
                            "Fargate nodes, which are in no group"});
  EXPECT_EQ(Warnings(Cluster().Add(Node("a").Label("x", "1")).Add(Node("b").Label("y", "1")),
                     "nodeGroups: [{name: b, nodeSelector: {x: \"1\", y: \"1\"}}]"),
            Texts{nothing + "(b).nodeSelector: no node has all of its labels"});
  EXPECT_EQ(Warnings(cluster, "groupLabel: nodegrop"),
            Texts{"NodeGroupLabelUnknown g.yaml: groupLabel: no node has the label nodegrop; did "
                  "you mean nodegroup?"});
}

TEST(GroupWarningsTest, RulesThatMatchTheSameNodesGiveAWarning) {
  const Cluster cluster = Cluster()
                              .Add(Node("a").Label("nodegroup", "web").Label("tier", "x"))
                              .Add(Node("b").Label("nodegroup", "web"));
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: web}, {name: x, nodeSelector: {tier: x}}]"),
            Texts{"NodeGroupRuleShadowed g.yaml: nodeGroups[1] (x): applies to no node; earlier "
                  "rules take its 1 node: nodeGroups[0] (web)"});
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: x, nodeSelector: {tier: x}}, {name: web}]"),
            Texts{"NodeGroupRulesOverlap g.yaml: nodeGroups[1] (web): rules before it take 1 node "
                  "of 2, a: nodeGroups[0] (x)"});
}

TEST(GroupWarningsTest, ANameOfTwoGroupsGivesAWarning) {
  EXPECT_EQ(
      Warnings(Cluster()
                   .Add(Node("a").Label(kEks, "default"))
                   .Add(Node("b").Label(kKarpenter, "default")),
               "nodeGroups: [{name: default, minSize: 1}]"),
      Texts{"NodeGroupNameAmbiguous g.yaml: nodeGroups[0] (default): counts for each of 2 groups "
            "of that name; say eks.amazonaws.com/nodegroup=default or "
            "karpenter.sh/nodepool=default for one of them"});
}

TEST(GroupWarningsTest, AMinimumAboveTheSizeOfTheGroupGivesAWarning) {
  const Cluster cluster =
      Cluster().Add(Node("a").Label("nodegroup", "web")).Add(Node("b").Label("nodegroup", "web"));
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: web, minSize: 2}]"), Texts{});
  EXPECT_EQ(
      Warnings(cluster, "nodeGroups: [{name: web, minSize: 20}]"),
      Texts{"NodeGroupBelowMinSize g.yaml: group web: minSize, 20, is above its size, 2 nodes, "
            "so that none of its nodes can go"});
  EXPECT_EQ(Warnings(cluster, "nodeGroups: [{name: web, minSize: 20, targetSize: 21}]"), Texts{});
}

TEST(GroupsTest, ControlPlaneNodesBelongToNone) {
  const ClusterSnapshot snapshot =
      Nodes({{"m1", {{"node-role.kubernetes.io/control-plane", ""}, {"nodegroup", "d"}}},
             {"m2", {{"node-role.kubernetes.io/master", ""}}},
             {"m3", {{"node-role.kubernetes.io/controlplane", "true"}}},
             {"m4", {{"node-role.kubernetes.io/etcd", "true"}}},
             {"m5", {{"node.kubernetes.io/microk8s-controlplane", "microk8s-controlplane"}}}});
  const NodeGroups groups = AssignGroups(snapshot.catalog(), {});
  for (const char* const node : {"m1", "m2", "m3", "m4", "m5"}) {
    EXPECT_EQ(GroupOf(snapshot, groups, node), "none") << node;
  }
}

TEST(GroupsTest, AFileSetsLimitsByNameAndBySelector) {
  const ClusterSnapshot snapshot = Nodes({{"a", {{"nodegroup", "web"}}},
                                          {"b", {{"nodegroup", "web"}}},
                                          {"c", {{"pool", "batch"}}},
                                          {"d", {{"nodegroup", "old"}}}});
  const absl::StatusOr<GroupRules> rules = ParseGroups("groups.yaml", R"(
nodeGroups:
- {name: web, minSize: 1, maxSize: 5, scaleDownUnneededTime: 1h30m}
- {name: batch, nodeSelector: {pool: batch}, atomic: true, scaleDownUtilizationThreshold: 0.7, targetSize: 4}
- {name: old, autoscaled: false}
)");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const NodeGroups groups = AssignGroups(snapshot.catalog(), *rules);
  const NodeGroup& web = *groups.Find(*snapshot.catalog().FindNode("a"));
  EXPECT_EQ(web.min_size, 1);
  EXPECT_EQ(web.max_size, 5);
  EXPECT_EQ(web.target_size, 2);
  EXPECT_EQ(web.scale_down_unneeded_time_s, 5400);
  EXPECT_EQ(GroupOf(snapshot, groups, "b"), "web");
  const NodeGroup& batch = *groups.Find(*snapshot.catalog().FindNode("c"));
  EXPECT_TRUE(batch.atomic);
  EXPECT_EQ(batch.target_size, 4);
  EXPECT_EQ(batch.scale_down_utilization_threshold, 0.7);
  EXPECT_EQ(GroupOf(snapshot, groups, "d"), "none");
}

TEST(GroupsTest, ErrorsNameFileGroupAndField) {
  const std::pair<const char*, const char*> cases[] = {
      {"nodeGroups:\n- {name: a, minSize: -1}",
       "g.yaml: nodeGroups[0] (a).minSize: \"-1\" is not a number of nodes"},
      {"nodeGroups:\n- {name: a, minSize: 4x}",
       "g.yaml: nodeGroups[0] (a).minSize: \"4x\" is not a number of nodes"},
      {"nodeGroups:\n- {name: a, minsize: 1}",
       "g.yaml: nodeGroups[0] (a).minsize: no such field; did you mean minSize? The fields here "
       "are "
       "atomic, autoscaled, ignoreDaemonSetsUtilization, maxSize, minSize, name, nodeSelector, "
       "scaleDownGpuUtilizationThreshold, scaleDownUnneededTime, scaleDownUnreadyTime, "
       "scaleDownUtilizationThreshold, targetSize"},
      {"nodeGroups:\n- {name: a}\n- {name: a}", "g.yaml: nodeGroups[1] (a): occurs twice"},
      {"nodeGroups:\n- {minSize: 1}", "g.yaml: nodeGroups[0]: has no name"},
      {"nodeGroups:\n- {name: a, minSize: 3, maxSize: 2}",
       "g.yaml: nodeGroups[0] (a).minSize: 3 is more than maxSize, 2"},
      {"nodeGroups:\n- {name: a, scaleDownUtilizationThreshold: 50}",
       "g.yaml: nodeGroups[0] (a).scaleDownUtilizationThreshold: \"50\" is not a fraction between "
       "0 "
       "and 1"},
      {"nodeGroups: 7", "g.yaml: nodeGroups: is not a list"},
      {"gpuLabel: [a]", "g.yaml: gpuLabel: is not a label's key"},
      {"groupLabel: ''", "g.yaml: groupLabel: is not a label's key"},
      {"[1, 2]", "g.yaml: is not a map with nodeGroups"},
      {"groups: []",
       "g.yaml: groups: no such field; the fields here are groupLabel, gpuLabel, nodeGroups"},
      {"gpulabel: a",
       "g.yaml: gpulabel: no such field; did you mean gpuLabel? The fields here are groupLabel, "
       "gpuLabel, nodeGroups"},
  };
  for (const auto& [yaml, message] : cases) {
    EXPECT_EQ(ParseGroups("g.yaml", yaml).status().message(), message);
  }
  EXPECT_FALSE(ParseGroups("g.yaml", "a: [").ok());
  EXPECT_FALSE(ReadGroupFile("/nonexistent/g.yaml").ok());
}

}  // namespace
}  // namespace ebb::groups_test
