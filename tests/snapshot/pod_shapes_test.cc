#include "snapshot/pod_shapes.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::pod_shapes_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using test::Cluster;
using test::Node;
using test::Pod;

// A pod that sets many of the fields of a shape.
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

// A VerticalPodAutoscaler recommends by the name of the container.
TEST(PodShapesTest, NamesOfContainersChangeTheShape) {
  EXPECT_FALSE(ShareAShape(
      Rich("a"), Rich("b").With([](objects::Pod& p) { p.containers[0].name = "renamed"; })));
}

TEST(PodShapesTest, FieldsThatNoFilterOrRuleReadsDoNotChangeTheShape) {
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
      // The API server gives each pod such a volume, with a unique name.
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
      {"owner api version", [](P& p) { p.meta.owners[0].api_version = "x/v1"; }},
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
      {"do not evict", [](P& p) { p.meta.annotations = {{"karpenter.sh/do-not-evict", "true"}}; }},
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
      {"toleration key", [](P& p) { p.tolerations[0].key = "other"; }},
      {"toleration operator", [](P& p) { p.tolerations[0].op = "Equal"; }},
      {"toleration value", [](P& p) { p.tolerations[0].value = "x"; }},
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
      {"volume name", [](P& p) { p.volumes[0].name = "other"; }},
      {"volume id", [](P& p) { p.volumes[0].id = "x"; }},
      {"volume pool", [](P& p) { p.volumes[0].pool = "x"; }},
      {"volume monitors", [](P& p) { p.volumes[0].monitors = {"x"}; }},
      {"volume is read only", [](P& p) { p.volumes[0].read_only = true; }},
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

TEST(PodShapesTest, ListsThatReadTheSameWhenJoinedGiveDifferentShapes) {
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

TEST(PodShapesTest, AnEmptyDirOfAnyKindIsKnown) {
  const auto has = [](const Pod& pod) {
    const ClusterSnapshot snapshot = Cluster().Add(pod).Build();
    return ShapeOf(snapshot).has_empty_dir;
  };
  EXPECT_TRUE(has(Pod("p").Volume("emptyDir", "v")));
  EXPECT_TRUE(
      has(Pod("p").Volume("emptyDir", "v").With([](auto& p) { p.volumes[0].medium = "Memory"; })));
  EXPECT_FALSE(has(Pod("p").Volume("hostPath", "v")));
  EXPECT_FALSE(has(Pod("p")));
}

TEST(PodShapesTest, UnreadableFieldsAreNotUnderstood) {
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

TEST(PodShapesTest, PreferencesThatDifferInOneValueMakeAnotherShape) {
  using P = objects::Pod;
  const auto nodes = [](int64_t weight, std::string_view zone) {
    return [=](P& p) { p.preferred_nodes = {{weight, {{{"zone", "In", {zone}}}, {}}}}; };
  };
  const auto near = [](int64_t weight) {
    return [=](P& p) { p.preferred_affinity = {{weight, Pod::Term("zone", {})}}; };
  };
  const auto away = [](int64_t weight) {
    return [=](P& p) { p.preferred_anti_affinity = {{weight, Pod::Term("zone", {})}}; };
  };
  EXPECT_TRUE(ShareAShape(Pod("a").With(nodes(1, "x")), Pod("b").With(nodes(1, "x"))));
  EXPECT_FALSE(ShareAShape(Pod("a").With(nodes(1, "x")), Pod("b").With(nodes(2, "x"))));
  EXPECT_FALSE(ShareAShape(Pod("a").With(nodes(1, "x")), Pod("b").With(nodes(1, "y"))));
  EXPECT_TRUE(ShareAShape(Pod("a").With(near(1)), Pod("b").With(near(1))));
  EXPECT_FALSE(ShareAShape(Pod("a").With(near(1)), Pod("b").With(near(2))));
  EXPECT_FALSE(ShareAShape(Pod("a").With(away(1)), Pod("b").With(away(2))));
  EXPECT_FALSE(ShareAShape(Pod("a").With(near(1)), Pod("b").With(away(1))));
}

TEST(PodShapesTest, TheFirstOwnerThatControlsIsTheController) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Pod("p").With([](auto& p) {
            p.meta.owners = {{"v1", "Other", "guest", "1", false},
                             {"batch/v1", "Job", "first", "2", true},
                             {"apps/v1", "ReplicaSet", "second", "3", true}};
          }))
          .Build();
  const PodShape& shape = ShapeOf(snapshot);
  EXPECT_TRUE(shape.has_controller);
  EXPECT_EQ(shape.controller_kind, OwnerKind::kJob);
  EXPECT_EQ(snapshot.catalog().Text(shape.controller.name), "first");
  ASSERT_EQ(shape.owners.size(), 3u);
  EXPECT_EQ(snapshot.catalog().Text(shape.owners[2].name), "second");
}

TEST(PodShapesTest, APodOfAnotherSourceThanTheApiIsStatic) {
  const auto is_static = [](const Pod& pod) {
    const ClusterSnapshot snapshot = Cluster().Add(pod).Build();
    return ShapeOf(snapshot).static_pod;
  };
  EXPECT_FALSE(is_static(Pod("p")));
  EXPECT_FALSE(is_static(Pod("p").Annotation("kubernetes.io/config.source", "api")));
  EXPECT_TRUE(is_static(Pod("p").Annotation("kubernetes.io/config.source", "file")));
}

TEST(PodShapesTest, SkewAndDomainsOfASpreadStayInRange) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const auto spread = [](int64_t max_skew, std::optional<int64_t> min_domains) {
    const ClusterSnapshot snapshot =
        Cluster()
            .Add(Pod("p")
                     .Spread("zone", max_skew, test::Select("a", "b"))
                     .With([&](objects::Pod& p) { p.spread[0].min_domains = min_domains; }))
            .Build();
    const SpreadConstraint& constraint = ShapeOf(snapshot).spread.at(0);
    return std::pair(constraint.max_skew, constraint.min_domains);
  };
  EXPECT_EQ(spread(3, std::nullopt), std::pair(3, 1));
  EXPECT_EQ(spread(3, 2), std::pair(3, 2));
  EXPECT_EQ(spread(-1, 0), std::pair(0, 1));
  EXPECT_EQ(spread(int64_t{1} << 40, int64_t{1} << 40), std::pair(kMost, kMost));
}

std::vector<std::string> TextsOf(const ClusterSnapshot& snapshot, const std::vector<TextId>& ids) {
  std::vector<std::string> texts;
  for (const TextId id : ids) texts.emplace_back(snapshot.catalog().Text(id));
  return texts;
}

TEST(PodShapesTest, AnImageWithoutATagIsTheLatest) {
  const auto image = [](std::string_view name) {
    const ClusterSnapshot snapshot =
        Cluster().Add(Pod("p").With([=](auto& p) { p.containers[0].image = name; })).Build();
    return TextsOf(snapshot, ShapeOf(snapshot).preferences->images).at(0);
  };
  EXPECT_EQ(image("web"), "web:latest");
  EXPECT_EQ(image("web:1"), "web:1");
  EXPECT_EQ(image("example.com/web"), "example.com/web:latest");
  EXPECT_EQ(image("example.com/web:1"), "example.com/web:1");
  EXPECT_EQ(image("example.com:5000/web"), "example.com:5000/web:latest");
  EXPECT_EQ(image("example.com:5000/web:1"), "example.com:5000/web:1");
}

TEST(PodShapesTest, ImagesAreThoseOfAllContainersAndOfVolumes) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Pod("p").With([](auto& p) {
                                         p.containers.resize(2);
                                         p.containers[0].image = "web:1";
                                         p.init_containers.resize(1);
                                         p.init_containers[0].image = "first:1";
                                         p.volumes.resize(2);
                                         p.volumes[0].source = "configMap";
                                         p.volumes[0].id = "not-an-image";
                                         p.volumes[1].source = "image";
                                         p.volumes[1].id = "data";
                                       }))
                                       .Add(Pod("plain"))
                                       .Build();
  const Preferences& preferences = *ShapeOf(snapshot).preferences;
  EXPECT_THAT(TextsOf(snapshot, preferences.images),
              ElementsAre("first:1", "web:1", "data:latest"));
  EXPECT_EQ(preferences.containers, 3);
  EXPECT_EQ(snapshot.catalog().shape_of(PodId{1}).preferences, nullptr);
}

TEST(PodShapesTest, AScheduleAnywayConstraintIsAPreference) {
  objects::LabelSelector bad = test::Select("a", "b");
  bad.match_expressions = {{"k", "Near", {"x"}}};
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Pod("p")
                                                .Label("version", "1")
                                                .Spread("zone", 2, test::Select("app", "web"))
                                                .Spread("bad", 2, bad)
                                                .Spread("rack", 3, test::Select("app", "web"))
                                                .Spread("host", 4, test::Select("app", "web"))
                                                .With([](objects::Pod& p) {
                                                  for (size_t i = 1; i < 4; ++i) {
                                                    p.spread[i].when_unsatisfiable =
                                                        "ScheduleAnyway";
                                                  }
                                                  p.spread[3].match_label_keys = {"version"};
                                                  p.spread[3].node_affinity_policy = "Ignore";
                                                  p.spread[3].node_taints_policy = "Honor";
                                                }))
                                       .Build();
  const PodShape& shape = ShapeOf(snapshot);
  EXPECT_EQ(shape.not_understood, "") << "a soft constraint that does not parse is passed over";
  EXPECT_EQ(shape.spread.size(), 1u);
  const std::vector<SoftSpread>& soft = shape.preferences->spread;
  ASSERT_EQ(soft.size(), 2u);
  EXPECT_EQ(snapshot.catalog().Text(soft[0].topology_key), "rack");
  EXPECT_EQ(soft[0].max_skew, 3);
  EXPECT_TRUE(soft[0].honor_affinity);
  EXPECT_FALSE(soft[0].honor_taints);
  EXPECT_EQ(soft[0].selector.requirements.size(), 1u);
  EXPECT_EQ(snapshot.catalog().Text(soft[1].topology_key), "host");
  EXPECT_EQ(soft[1].max_skew, 4);
  EXPECT_FALSE(soft[1].honor_affinity);
  EXPECT_TRUE(soft[1].honor_taints);
  EXPECT_EQ(soft[1].selector.requirements.size(), 2u);
}

TEST(PodShapesTest, APreferredTermMeansItsOwnNamespaceUnlessItSaysOtherwise) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Pod("p").Near("host", test::Select("app", "db")).With([](objects::Pod& p) {
            p.preferred_affinity.resize(3);
            for (size_t i = 0; i < 3; ++i) {
              p.preferred_affinity[i] = {static_cast<int64_t>(i) + 7,
                                         Pod::Term("zone", test::Select("app", "web"))};
            }
            p.preferred_affinity[1].term.namespaces = {"other"};
            p.preferred_affinity[2].term.namespace_selector = test::Select("team", "a");
            p.preferred_anti_affinity = {{5, Pod::Term("rack", test::Select("app", "web"))}};
          }))
          .Build();
  const Preferences& preferences = *ShapeOf(snapshot).preferences;
  ASSERT_EQ(preferences.pods.size(), 4u);
  EXPECT_EQ(preferences.pods[0].weight, 7);
  EXPECT_THAT(TextsOf(snapshot, preferences.pods[0].namespaces), ElementsAre("default"));
  EXPECT_TRUE(preferences.pods[0].namespace_selector.nothing);
  EXPECT_EQ(preferences.pods[1].weight, 8);
  EXPECT_THAT(TextsOf(snapshot, preferences.pods[1].namespaces), ElementsAre("other"));
  EXPECT_THAT(preferences.pods[2].namespaces, IsEmpty());
  EXPECT_FALSE(preferences.pods[2].namespace_selector.nothing);
  EXPECT_EQ(preferences.pods[3].weight, -5) << "those of anti-affinity are below 0";
  EXPECT_EQ(snapshot.catalog().Text(preferences.pods[3].topology_key), "rack");
  ASSERT_EQ(preferences.required.size(), 1u);
  EXPECT_EQ(preferences.required[0].weight, 1);
  EXPECT_EQ(snapshot.catalog().Text(preferences.required[0].topology_key), "host");
  EXPECT_THAT(TextsOf(snapshot, preferences.required[0].namespaces), ElementsAre("default"));
}

TEST(PodShapesTest, APreferredTermThatDoesNotParseTakesThoseOfItsListWithIt) {
  objects::LabelSelector bad = test::Select("a", "b");
  bad.match_expressions = {{"k", "Near", {"x"}}};
  const objects::PodAffinityTerm good_term = Pod::Term("zone", test::Select("app", "web"));
  const objects::PodAffinityTerm bad_term = Pod::Term("zone", bad);
  const auto weights = [&](bool near_is_bad, bool away_is_bad) {
    const ClusterSnapshot snapshot =
        Cluster()
            .Add(Pod("p").With([&](objects::Pod& p) {
              p.containers[0].image = "web:1";
              p.preferred_affinity = {{7, good_term}, {8, near_is_bad ? bad_term : good_term}};
              p.preferred_anti_affinity = {{5, good_term}, {6, away_is_bad ? bad_term : good_term}};
            }))
            .Build();
    std::vector<int64_t> found;
    for (const WeightedPodTerm& term : ShapeOf(snapshot).preferences->pods) {
      found.push_back(term.weight);
    }
    return found;
  };
  EXPECT_THAT(weights(false, false), ElementsAre(7, 8, -5, -6));
  EXPECT_THAT(weights(true, false), ElementsAre(-5, -6));
  EXPECT_THAT(weights(false, true), ElementsAre(7, 8));
  EXPECT_THAT(weights(true, true), IsEmpty());
}

TEST(PodShapesTest, EveryPartOfASelectorATermAndAClaimMakesAnotherShape) {
  using P = objects::Pod;
  const auto full = [](P& p) {
    p.meta.annotations = {{"karpenter.sh/do-not-disrupt", "5m"}};
    objects::LabelSelector selector = test::Select("app", "web");
    selector.match_expressions = {{"tier", "In", {"a", "b"}}};
    p.anti_affinity[0].label_selector = selector;
    p.anti_affinity[0].namespace_selector = selector;
    p.spread[0].match_label_keys = {"app"};
    p.required_node_affinity.nil = false;
    p.required_node_affinity.terms = {
        {{{"zone", "In", {"x", "y"}}}, {{"metadata.name", "NotIn", {"n"}}}}};
    p.init_containers.resize(1);
    p.init_containers[0].image = "init:1";
    p.init_containers[0].ports = {{"", 70, ""}};
    p.preferred_affinity = {{3, Pod::Term("zone", test::Select("app", "web"))}};
    p.resource_claims = {{"gpu", "claim", "template"}};
    objects::Volume& volume = p.volumes.emplace_back();
    volume.name = "data";
    volume.source = "csi";
    volume.driver = "d";
    volume.claim_name = "c";
    volume.monitors = {"m"};
  };
  const std::vector<std::pair<std::string, std::function<void(P&)>>> changes = {
      {"do not disrupt", [](P& p) { p.meta.annotations[0].value = "6m"; }},
      {"annotation", [](P& p) { p.meta.annotations[0].key = "karpenter.sh/do-not-evict"; }},
      {"label key", [](P& p) { p.meta.labels[0].key = "x"; }},
      {"expression key",
       [](P& p) { p.anti_affinity[0].label_selector.match_expressions[0].key = "x"; }},
      {"expression operator",
       [](P& p) { p.anti_affinity[0].label_selector.match_expressions[0].op = "NotIn"; }},
      {"expression value",
       [](P& p) { p.anti_affinity[0].label_selector.match_expressions[0].values[1] = "x"; }},
      {"label selector's key",
       [](P& p) { p.anti_affinity[0].label_selector.match_labels[0].key = "x"; }},
      {"label selector's value",
       [](P& p) { p.anti_affinity[0].label_selector.match_labels[0].value = "x"; }},
      {"namespace selector",
       [](P& p) { p.anti_affinity[0].namespace_selector.match_labels[0].value = "x"; }},
      {"namespaces", [](P& p) { p.anti_affinity[0].namespaces = {"x"}; }},
      {"term's key", [](P& p) { p.anti_affinity[0].topology_key = "x"; }},
      {"second term", [](P& p) { p.anti_affinity.push_back(p.anti_affinity[0]); }},
      {"spread's label keys", [](P& p) { p.spread[0].match_label_keys[0] = "x"; }},
      {"node expression",
       [](P& p) { p.required_node_affinity.terms[0].match_expressions[0].values[0] = "z"; }},
      {"node field",
       [](P& p) { p.required_node_affinity.terms[0].match_fields[0].values[0] = "m"; }},
      {"node term", [](P& p) { p.required_node_affinity.terms.emplace_back(); }},
      {"node affinity", [](P& p) { p.required_node_affinity.nil = true; }},
      {"node selector's key", [](P& p) { p.node_selector[0].key = "x"; }},
      {"init image", [](P& p) { p.init_containers[0].image = "init:2"; }},
      {"init port", [](P& p) { p.init_containers[0].ports[0].host_port = 71; }},
      {"sidecar", [](P& p) { p.init_containers[0].restart_policy = "Always"; }},
      {"init restarts all", [](P& p) { p.init_containers[0].restarts_all_containers = true; }},
      {"host network", [](P& p) { p.host_network = true; }},
      {"host users", [](P& p) { p.host_users = false; }},
      {"preferred weight", [](P& p) { p.preferred_affinity[0].weight = 4; }},
      {"preferred term",
       [](P& p) { p.preferred_affinity[0].term.label_selector.match_labels[0].value = "x"; }},
      {"claim", [](P& p) { p.resource_claims[0].name = "x"; }},
      {"claim's name", [](P& p) { p.resource_claims[0].claim_name = "x"; }},
      {"claim's template", [](P& p) { p.resource_claims[0].template_name = "x"; }},
      {"volume's driver", [](P& p) { p.volumes[1].driver = "x"; }},
      {"volume's claim", [](P& p) { p.volumes[1].claim_name = "x"; }},
      {"volume's monitor", [](P& p) { p.volumes[1].monitors[0] = "x"; }},
      {"volume", [](P& p) { p.volumes.pop_back(); }},
      {"grace period", [](P& p) { p.termination_grace_period_s = 31; }},
  };
  EXPECT_TRUE(ShareAShape(Rich("a").With(full), Rich("b").With(full)));
  for (const auto& [part, change] : changes) {
    EXPECT_FALSE(ShareAShape(Rich("a").With(full), Rich("b").With(full).With(change))) << part;
  }
}

TEST(PodShapesTest, NumbersAndTextsOfAnySizeDistinguishShapes) {
  constexpr int64_t kNumbers[] = {0, 1, 254, 255, 256, 65'535, int64_t{1} << 40};
  for (const int64_t a : kNumbers) {
    for (const int64_t b : kNumbers) {
      const auto grace = [](std::string_view name, int64_t seconds) {
        return Pod(name).With([=](objects::Pod& p) { p.termination_grace_period_s = seconds; });
      };
      EXPECT_EQ(ShareAShape(grace("a", a), grace("b", b)), a == b) << a << " " << b;
    }
  }
  for (const size_t size : {size_t{100}, size_t{255}, size_t{256}, size_t{5'000}}) {
    const std::string text(size, 'x');
    const std::string other = std::string(size - 1, 'x') + "y";
    EXPECT_TRUE(ShareAShape(Pod("a").Label("k", text), Pod("b").Label("k", text))) << size;
    EXPECT_FALSE(ShareAShape(Pod("a").Label("k", text), Pod("b").Label("k", other))) << size;
    EXPECT_FALSE(ShareAShape(Pod("a").Label("k", text), Pod("b").Label("k", text + "x"))) << size;
  }
  // A missing field counts as the API server's default.
  EXPECT_TRUE(ShareAShape(
      Pod("a"), Pod("b").With([](objects::Pod& p) { p.termination_grace_period_s = 30; })));
}

TEST(PodShapesTest, APodWithAnEphemeralVolumeIsAloneInItsShape) {
  const auto with = [](std::string_view name, std::string_view source) {
    return Pod(name).Uid("u").Volume(source, "scratch");
  };
  EXPECT_FALSE(ShareAShape(with("a", "ephemeral"), with("b", "ephemeral")));
  EXPECT_TRUE(ShareAShape(with("a", "emptyDir"), with("b", "emptyDir")));
  EXPECT_FALSE(ShareAShape(with("a", "ephemeral").Volume("emptyDir"),
                           with("b", "ephemeral").Volume("emptyDir")))
      << "whichever volume it is";
}

TEST(PodShapesTest, AShapeHasTheFieldsOfItsPods) {
  const auto shape = [](const Pod& pod) {
    const ClusterSnapshot snapshot = Cluster().Add(pod).Build();
    return ShapeOf(snapshot);
  };
  const PodShape plain = shape(Pod("p"));
  EXPECT_FALSE(plain.has_priority || plain.terminating || plain.mirror || plain.static_pod ||
               plain.daemonset_annotation || plain.do_not_disrupt);
  EXPECT_EQ(plain.priority, 0);
  EXPECT_EQ(plain.grace_period_s, 30);
  EXPECT_EQ(plain.safe_to_evict, SafeToEvict::kUnset);
  EXPECT_EQ(plain.controller_kind, OwnerKind::kReplicaSet);
  EXPECT_THAT(plain.owners, testing::SizeIs(1));
  const PodShape full =
      shape(Pod("p")
                .Priority(-7)
                .DeletedAt(5)
                .Mirror()
                .Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod", "true")
                .WithoutOwner()
                .With([](objects::Pod& p) { p.termination_grace_period_s = 0; }));
  EXPECT_TRUE(full.has_priority && full.terminating && full.mirror && full.daemonset_annotation);
  EXPECT_EQ(full.priority, -7);
  EXPECT_EQ(full.grace_period_s, 0);
  EXPECT_FALSE(full.has_controller);
  EXPECT_EQ(full.controller_kind, OwnerKind::kNone);
  EXPECT_THAT(full.owners, IsEmpty());

  for (const auto& [text, phase] :
       {std::pair("Running", PodPhase::kRunning), std::pair("Pending", PodPhase::kPending),
        std::pair("Succeeded", PodPhase::kSucceeded), std::pair("Failed", PodPhase::kFailed),
        std::pair("Unknown", PodPhase::kOther)}) {
    EXPECT_EQ(shape(Pod("p").Phase(text)).phase, phase) << text;
  }
  for (const auto& [text, policy] :
       {std::pair("OnFailure", RestartPolicy::kOnFailure),
        std::pair("Never", RestartPolicy::kNever), std::pair("Always", RestartPolicy::kAlways),
        std::pair("", RestartPolicy::kAlways)}) {
    Pod pod("p");
    pod.raw.restart_policy = text;
    EXPECT_EQ(shape(pod).restart_policy, policy) << text;
  }
  for (const auto& [text, value] :
       {std::pair("true", SafeToEvict::kTrue), std::pair("false", SafeToEvict::kFalse),
        std::pair("on-completion", SafeToEvict::kOnCompletion),
        std::pair("maybe", SafeToEvict::kOther)}) {
    EXPECT_EQ(shape(Pod("p").SafeToEvict(text)).safe_to_evict, value) << text;
  }
  for (const auto& [kind, owner] :
       {std::pair("DaemonSet", OwnerKind::kDaemonSet), std::pair("Job", OwnerKind::kJob),
        std::pair("ReplicationController", OwnerKind::kReplicationController),
        std::pair("StatefulSet", OwnerKind::kStatefulSet),
        std::pair("Widget", OwnerKind::kOther)}) {
    EXPECT_EQ(shape(Pod("p").OwnedBy(kind, "x")).controller_kind, owner) << kind;
  }
}

// Source: karpenter pkg/utils/pod/scheduling.go.
TEST(PodShapesTest, APodIsNotDisruptedIfKarpenterDoesNotDisruptIt) {
  const auto kept = [](std::string_view key, std::string_view value) {
    const std::string full_key = "karpenter.sh/" + std::string(key);
    const ClusterSnapshot snapshot = Cluster().Add(Pod("p").Annotation(full_key, value)).Build();
    return ShapeOf(snapshot).do_not_disrupt;
  };
  for (const char* value : {"true", "5m", "1h30m", "0.9s", "10h"}) {
    EXPECT_TRUE(kept("do-not-disrupt", value)) << value;
  }
  for (const char* value : {"", "false", "0s", "0h00m", "-5m", "-1h", "never", "5", "5 m"}) {
    EXPECT_FALSE(kept("do-not-disrupt", value)) << value;
  }
  EXPECT_TRUE(kept("do-not-evict", "true"));
  EXPECT_FALSE(kept("do-not-evict", "false"));
  EXPECT_FALSE(kept("do-not-evict", "5m"));
  EXPECT_FALSE(kept("do-not-anything", "true"));
}

TEST(PodShapesTest, PortsOfContainersAndSidecarsAreTakenOnTheHost) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Pod("p").With([](objects::Pod& p) {
            p.containers.resize(2);
            p.containers[0].ports = {{"", 0, "UDP"}, {"", 80, ""}, {"1.2.3.4", 81, "UDP"}};
            p.containers[1].ports = {{"", -1, ""}, {"", 82, "SCTP"}};
            p.init_containers.resize(3);
            p.init_containers[0].ports = {{"", 90, ""}};
            p.init_containers[1].ports = {{"", 91, ""}};
            p.init_containers[1].restart_policy = "Always";
            p.init_containers[2].ports = {{"", 92, ""}};
            p.init_containers[2].restart_policy = "OnFailure";
          }))
          .Build();
  std::vector<std::string> ports;
  for (const HostPort& port : ShapeOf(snapshot).host_ports) {
    ports.push_back(std::string(snapshot.catalog().Text(port.ip)) + " " +
                    std::to_string(port.port) + " " +
                    std::string(snapshot.catalog().Text(port.protocol)));
  }
  EXPECT_THAT(ports,
              ElementsAre("0.0.0.0 80 TCP", "1.2.3.4 81 UDP", "0.0.0.0 82 SCTP", "0.0.0.0 91 TCP"));
}

TEST(PodShapesTest, FeaturesThatANodeMustDeclareFollowFromThePod) {
  using P = objects::Pod;
  const auto needs = [](const std::function<void(P&)>& change) {
    const ClusterSnapshot snapshot = Cluster().Add(Pod("p").With(change)).Build();
    const PodShape& shape = ShapeOf(snapshot);
    return std::pair(shape.needs_restart_all_containers, shape.needs_host_network_user_namespaces);
  };
  EXPECT_EQ(needs([](P&) {}), std::pair(false, false));
  EXPECT_EQ(needs([](P& p) { p.containers[0].restarts_all_containers = true; }),
            std::pair(true, false));
  EXPECT_EQ(needs([](P& p) {
              p.init_containers.resize(2);
              p.init_containers[0].restarts_all_containers = true;
            }),
            std::pair(true, false));
  EXPECT_EQ(needs([](P& p) {
              p.containers.resize(2);
              p.containers[0].restarts_all_containers = true;
            }),
            std::pair(true, false));
  EXPECT_EQ(needs([](P& p) { p.host_network = true; }), std::pair(false, false));
  EXPECT_EQ(needs([](P& p) { p.host_users = false; }), std::pair(false, false));
  EXPECT_EQ(needs([](P& p) {
              p.host_network = true;
              p.host_users = true;
            }),
            std::pair(false, false));
  EXPECT_EQ(needs([](P& p) {
              p.host_network = true;
              p.host_users = false;
            }),
            std::pair(false, true));
}

TEST(PodShapesTest, AClaimThatAPodMountsTwiceIsUsedOnce) {
  const auto mounts = [](std::string_view name, std::vector<objects::Text> claims) {
    return Pod(name).On("a").With([&](objects::Pod& p) {
      for (const objects::Text claim : claims) {
        objects::Volume& volume = p.volumes.emplace_back();
        volume.source = "persistentVolumeClaim";
        volume.claim_name = claim;
      }
      objects::Volume& other = p.volumes.emplace_back();
      other.source = "emptyDir";
      other.claim_name = "none";
    });
  };
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(mounts("p", {"x", "y", "x"}))
                                       .Add(mounts("q", {"y"}))
                                       .Add(mounts("r", {"x"}).In("shop"))
                                       .Build();
  const Catalog& catalog = snapshot.catalog();
  const auto id = [&](std::string_view namespace_name, std::string_view name) {
    return catalog.FindClaim(catalog.symbols().Find(namespace_name).value(),
                             catalog.symbols().Find(name).value());
  };
  EXPECT_EQ(catalog.claims(), 3u);
  EXPECT_EQ(id("default", "x"), ClaimId{0});
  EXPECT_EQ(id("default", "y"), ClaimId{1});
  EXPECT_EQ(id("shop", "x"), ClaimId{2});
  EXPECT_EQ(id("shop", "y"), std::nullopt);
  EXPECT_THAT(ShapeOf(snapshot).claims, ElementsAre(ClaimId{0}, ClaimId{1}));
  EXPECT_EQ(snapshot.ClaimUses(ClaimId{0}), 1u);
  EXPECT_EQ(snapshot.ClaimUses(ClaimId{1}), 2u);
  EXPECT_EQ(snapshot.ClaimUses(ClaimId{2}), 1u);
}

TEST(PodShapesTest, AnUnreadableTermIsReportedAndDropsTheTermsOfItsList) {
  objects::LabelSelector bad = test::Select("a", "b");
  bad.match_expressions = {{"k", "Near", {"x"}}};
  const objects::LabelSelector good = test::Select("app", "web");
  const std::string why = ": \"Near\" is not a valid label selector operator (key \"k\")";
  const auto shape = [](const Pod& pod) {
    const ClusterSnapshot snapshot = Cluster().Add(Node("a").Label("zone", "x")).Add(pod).Build();
    return ShapeOf(snapshot);
  };
  const PodShape near = shape(Pod("p").Near("zone", good).Near("zone", bad));
  EXPECT_EQ(near.not_understood, "spec.affinity.podAffinity" + why);
  EXPECT_THAT(near.affinity, IsEmpty());
  const PodShape away = shape(Pod("p").Away("zone", good).Away("zone", bad).Near("zone", good));
  EXPECT_EQ(away.not_understood, "spec.affinity.podAntiAffinity" + why);
  EXPECT_THAT(away.anti_affinity, IsEmpty());
  EXPECT_THAT(away.affinity, testing::SizeIs(1));
  const PodShape of_namespaces = shape(Pod("p").Near("zone", good).With([&](objects::Pod& p) {
    p.affinity[0].namespace_selector = bad;
  }));
  EXPECT_EQ(of_namespaces.not_understood, "spec.affinity.podAffinity" + why);
  const PodShape spread = shape(Pod("p").Spread("zone", 1, bad).Spread("zone", 1, good));
  EXPECT_EQ(spread.not_understood, "spec.topologySpreadConstraints" + why);
  EXPECT_THAT(spread.spread, testing::SizeIs(1)) << "constraints stand by themselves";
  const PodShape odd =
      shape(Pod("p").Spread("zone", 1, good).Spread("zone", 1, good).With([](objects::Pod& p) {
        p.spread[0].when_unsatisfiable = "Sometimes";
      }));
  EXPECT_EQ(odd.not_understood,
            "spec.topologySpreadConstraints.whenUnsatisfiable: \"Sometimes\" is not known");
  EXPECT_THAT(odd.spread, testing::SizeIs(1));
}

}  // namespace
}  // namespace ebb::pod_shapes_test
