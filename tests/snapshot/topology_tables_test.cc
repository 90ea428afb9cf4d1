#include "snapshot/topology_tables.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_seed.h"
#include "tests/support/random_snapshot.h"
#include "tests/support/shape_families.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::topology_tables_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using test::PodNamed;
using test::Select;

// Three nodes in zones x, x and y.
Cluster Zones() {
  return Cluster()
      .Add(Node("x1").Label("zone", "x").Label("host", "x1"))
      .Add(Node("x2").Label("zone", "x").Label("host", "x2"))
      .Add(Node("y1").Label("zone", "y").Label("host", "y1").Taint("dedicated", "db"));
}

Pod Web(std::string_view name, std::string_view node) {
  return Pod(name).On(node).Label("app", "web");
}

const PodShape& ShapeOf(const ClusterSnapshot& snapshot, std::string_view pod) {
  return snapshot.catalog().shape_of(PodNamed(snapshot, pod));
}

// The number of pods that `table` counts in the domain `value`.
uint32_t CountIn(const ClusterSnapshot& snapshot, TableId table, std::string_view value) {
  const Catalog& catalog = snapshot.catalog();
  const TopologyKey& key = catalog.topology_key(catalog.tables()[Index(table)].key);
  return snapshot.topology().Count(table, key.domains.at(*catalog.symbols().Find(value)));
}

TEST(TopologyTablesTest, ShapesThatAskTheSameShareATable) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Web("a", "x1").Spread("zone", 1, Select("app", "web")).Priority(1))
          .Add(Web("b", "y1").Spread("zone", 3, Select("app", "web")).Priority(2))
          .Build();
  EXPECT_EQ(ShapeOf(snapshot, "a").spread[0].table, ShapeOf(snapshot, "b").spread[0].table);
  EXPECT_EQ(snapshot.catalog().tables().size(), 1u);
  EXPECT_EQ(snapshot.catalog().registries().size(), 1u);
}

TEST(TopologyTablesTest, ConstraintsThatCountOtherNodesHaveARegistryOfTheirOwn) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Web("plain", "x1").Spread("zone", 1, Select("app", "web")))
          .Add(
              Web("only-x", "x1").Spread("zone", 1, Select("app", "web")).NodeSelector("zone", "x"))
          .Add(Web("taints", "x1").Spread("zone", 1, Select("app", "web")).With([](auto& p) {
            p.spread[0].node_taints_policy = "Honor";
          }))
          .Build();
  const auto domains = [&](std::string_view pod) {
    return snapshot.topology().Domains(snapshot.catalog(), ShapeOf(snapshot, pod).spread[0].table);
  };
  EXPECT_EQ(domains("plain"), 2u);
  EXPECT_EQ(domains("only-x"), 1u);
  EXPECT_EQ(domains("taints"), 1u);  // The pod does not tolerate y1's taint.
  EXPECT_EQ(snapshot.catalog().registries().size(), 3u);
}

TEST(TopologyTablesTest, IgnoringNodeAffinityCountsEveryNode) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Web("p", "x1")
                   .Spread("zone", 1, Select("app", "web"))
                   .NodeSelector("zone", "x")
                   .With([](auto& p) { p.spread[0].node_affinity_policy = "Ignore"; }))
          .Build();
  EXPECT_EQ(snapshot.topology().Domains(snapshot.catalog(), ShapeOf(snapshot, "p").spread[0].table),
            2u);
}

TEST(TopologyTablesTest, ANodeThatLacksOneKeyIsADomainOfNoConstraint) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("both").Label("zone", "x").Label("rack", "1"))
                                       .Add(Node("zone-only").Label("zone", "y"))
                                       .Add(Web("p", "both")
                                                .Spread("zone", 1, Select("app", "web"))
                                                .Spread("rack", 1, Select("app", "web")))
                                       .Add(Web("q", "zone-only"))
                                       .Build();
  const TableId zones = ShapeOf(snapshot, "p").spread[0].table;
  EXPECT_EQ(snapshot.topology().Domains(snapshot.catalog(), zones), 1u);
  EXPECT_EQ(CountIn(snapshot, zones, "y"), 0u);
}

TEST(TopologyTablesTest, AnEmptySpreadSelectorCountsNoPodAlthoughThePodMatchesIt) {
  const ClusterSnapshot snapshot =
      Zones().Add(Web("p", "x1").Spread("zone", 1, test::SelectEverything())).Build();
  const SpreadConstraint& spread = ShapeOf(snapshot, "p").spread[0];
  EXPECT_TRUE(spread.self_match);
  EXPECT_EQ(snapshot.topology().Total(spread.table), 0u);
}

TEST(TopologyTablesTest, ANilSpreadSelectorMatchesNoPod) {
  const ClusterSnapshot snapshot =
      Zones().Add(Web("p", "x1").Spread("zone", 1, test::SelectNothing())).Build();
  const SpreadConstraint& spread = ShapeOf(snapshot, "p").spread[0];
  EXPECT_FALSE(spread.self_match);
  EXPECT_EQ(snapshot.topology().Total(spread.table), 0u);
}

TEST(TopologyTablesTest, SpreadCountsPodsOfItsNamespaceThatAreNotTerminating) {
  const ClusterSnapshot snapshot = Zones()
                                       .Add(Web("p", "x1").Spread("zone", 1, Select("app", "web")))
                                       .Add(Web("twin", "x2"))
                                       .Add(Web("going", "x1").DeletedAt(5))
                                       .Add(Web("foreign", "x1").In("other"))
                                       .Add(Pod("db").On("x1").Label("app", "db"))
                                       .Build();
  const TableId table = ShapeOf(snapshot, "p").spread[0].table;
  EXPECT_EQ(CountIn(snapshot, table, "x"), 2u);
  EXPECT_EQ(snapshot.topology().MinCount(table), 0u);  // Zone y has no such pod.
}

TEST(TopologyTablesTest, MatchLabelKeysNarrowTheSelectorToThePodsOwnValue) {
  const auto versioned = [](std::string_view name, std::string_view version) {
    return Web(name, "x1")
        .Label("version", version)
        .Spread("zone", 1, Select("app", "web"))
        .With([](auto& p) { p.spread[0].match_label_keys = {"version", "absent"}; });
  };
  const ClusterSnapshot snapshot =
      Zones().Add(versioned("a", "1")).Add(versioned("b", "2")).Add(versioned("c", "2")).Build();
  EXPECT_EQ(CountIn(snapshot, ShapeOf(snapshot, "a").spread[0].table, "x"), 1u);
  EXPECT_EQ(CountIn(snapshot, ShapeOf(snapshot, "b").spread[0].table, "x"), 2u);
}

TEST(TopologyTablesTest, SoftConstraintsMakeNoTable) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Web("p", "x1").Spread("zone", 1, Select("app", "web")).With([](auto& p) {
            p.spread[0].when_unsatisfiable = "ScheduleAnyway";
          }))
          .Build();
  EXPECT_TRUE(snapshot.catalog().tables().empty());
}

TEST(TopologyTablesTest, AffinityCountsPodsThatMatchEveryTerm) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Pod("p").Near("zone", Select("app", "web")).Near("host", Select("tier", "1")))
          .Add(Web("both", "x1").Label("tier", "1"))
          .Add(Web("one", "x2"))
          .Build();
  const PodShape& shape = ShapeOf(snapshot, "p");
  EXPECT_EQ(CountIn(snapshot, shape.affinity[0].table, "x"), 1u);
  EXPECT_EQ(CountIn(snapshot, shape.affinity[1].table, "x1"), 1u);
  EXPECT_EQ(CountIn(snapshot, shape.affinity[1].table, "x2"), 0u);
  EXPECT_FALSE(shape.matches_own_affinity);
}

TEST(TopologyTablesTest, AntiAffinityWorksBothWays) {
  const ClusterSnapshot snapshot = Zones()
                                       .Add(Pod("shy").On("x1").Away("zone", Select("app", "web")))
                                       .Add(Web("web", "y1"))
                                       .Build();
  EXPECT_EQ(CountIn(snapshot, ShapeOf(snapshot, "shy").anti_affinity[0].table, "y"), 1u);
  ASSERT_EQ(ShapeOf(snapshot, "web").repelled_by.size(), 1u);
  EXPECT_EQ(CountIn(snapshot, ShapeOf(snapshot, "web").repelled_by[0].table, "x"), 1u);
  EXPECT_TRUE(ShapeOf(snapshot, "shy").repelled_by.empty());
}

TEST(TopologyTablesTest, TwoEqualAntiAffinityTermsCountTheirOwnerTwice) {
  const ClusterSnapshot snapshot = Zones()
                                       .Add(Pod("shy")
                                                .On("x1")
                                                .Away("zone", Select("app", "web"))
                                                .Away("zone", Select("app", "web")))
                                       .Add(Web("web", "y1"))
                                       .Build();
  EXPECT_EQ(CountIn(snapshot, ShapeOf(snapshot, "web").repelled_by[0].table, "x"), 2u);
}

TEST(TopologyTablesTest, OneTableCountsPodsThatKeepApartFromEachOther) {
  const auto apart = [](std::string_view name, std::string_view node) {
    return Web(name, node).Away("host", Select("app", "web"));
  };
  Cluster cluster = Zones().Add(apart("a", "x1")).Add(apart("b", "x1").Priority(2));
  cluster.Add(Pod("shy").On("y1").Away("host", Select("app", "web")));
  {
    // "shy" has the same term, but not the label that the term selects.
    const ClusterSnapshot snapshot = cluster.Build();
    const PodShape& shape = ShapeOf(snapshot, "a");
    EXPECT_EQ(shape.feeds.size(), 2u);
    EXPECT_EQ(shape.repelled_by_own, 0u);
    EXPECT_NE(shape.repelled_by[0].table, shape.anti_affinity[0].table);
    EXPECT_EQ(CountIn(snapshot, shape.anti_affinity[0].table, "y1"), 0u);
    EXPECT_EQ(CountIn(snapshot, shape.repelled_by[0].table, "y1"), 1u);
  }
  const ClusterSnapshot snapshot = Zones()
                                       .Add(apart("a", "x1"))
                                       .Add(apart("b", "x1").Priority(2))
                                       .Add(Pod("shy").On("y1").Away("host", Select("app", "db")))
                                       .Build();
  for (const std::string_view pod : {"a", "b"}) {
    const PodShape& shape = ShapeOf(snapshot, pod);
    EXPECT_EQ(shape.feeds.size(), 1u);
    ASSERT_EQ(shape.repelled_by.size(), 1u);
    EXPECT_EQ(shape.repelled_by_own, 1u);
    EXPECT_EQ(shape.repelled_by[0].table, shape.anti_affinity[0].table);
    EXPECT_EQ(CountIn(snapshot, shape.anti_affinity[0].table, "x1"), 2u);
  }
  EXPECT_EQ(ShapeOf(snapshot, "shy").feeds.size(), 1u);
}

TEST(TopologyTablesTest, APodWithTwoEqualTermsIsNotCountedByTheirTable) {
  const ClusterSnapshot snapshot = Zones()
                                       .Add(Web("web", "x1")
                                                .Away("host", Select("app", "web"))
                                                .Away("host", Select("app", "web")))
                                       .Add(Web("other", "x1"))
                                       .Build();
  const PodShape& shape = ShapeOf(snapshot, "web");
  EXPECT_EQ(CountIn(snapshot, shape.anti_affinity[0].table, "x1"), 2u);
  EXPECT_EQ(CountIn(snapshot, shape.repelled_by[0].table, "x1"), 2u);
  EXPECT_NE(shape.repelled_by[0].table, shape.anti_affinity[0].table);
}

TEST(TopologyTablesTest, ATermMeansItsOwnNamespaceUnlessItSaysOtherwise) {
  const auto counted = [](const std::function<void(objects::PodAffinityTerm&)>& change) {
    const ClusterSnapshot snapshot =
        Zones()
            .AddNamespace("default", {{"team", "a"}})
            .AddNamespace("other", {{"team", "b"}})
            .Add(Pod("p").Near("zone", Select("app", "web")).With([&](auto& p) {
              change(p.affinity[0]);
            }))
            .Add(Web("here", "x1"))
            .Add(Web("there", "x1").In("other"))
            .Add(Web("nowhere", "x1").In("unlisted"))
            .Build();
    return CountIn(snapshot, ShapeOf(snapshot, "p").affinity[0].table, "x");
  };
  EXPECT_EQ(counted([](auto&) {}), 1u);
  EXPECT_EQ(counted([](auto& term) { term.namespaces = {"other", "unlisted"}; }), 2u);
  EXPECT_EQ(counted([](auto& term) { term.namespace_selector = Select("team", "b"); }), 1u);
  EXPECT_EQ(counted([](auto& term) { term.namespace_selector = Select("team", "c"); }), 0u);
  EXPECT_EQ(counted([](auto& term) { term.namespace_selector = test::SelectEverything(); }), 3u);
  EXPECT_EQ(counted([](auto& term) {
              term.namespace_selector = Select("team", "b");
              term.namespaces = {"default"};
            }),
            2u);
}

objects::LabelSelector SelectOthers(std::string_view id) {
  return {
      .nil = false, .match_labels = {}, .match_expressions = {{"id", "NotIn", {test::Keep(id)}}}};
}

// The total length of the lists `feeds` and `repelled_by`.
uint64_t Entries(const Catalog& catalog) {
  uint64_t entries = 0;
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    const PodShape& shape = catalog.shape(PodShapeId{s});
    entries += shape.feeds.size() + shape.repelled_by.size();
  }
  return entries;
}

// Symptom: 22,000 pods, each with a constraint that selects all the others, took
// gigabytes and minutes.
TEST(TopologyTablesTest, ConstraintsThatSelectTooMuchTogetherKeepTheirNodes) {
  Cluster cluster = Zones();
  constexpr int kPods = 1100;
  for (int p = 0; p < kPods; ++p) {
    const std::string id = std::to_string(p);
    cluster.Add(Pod(id).On("x1").Label("id", id).Spread("zone", 1, SelectOthers(id)));
  }
  cluster.Add(Web("web", "x1").Spread("zone", 1, Select("app", "web")));
  const ClusterSnapshot snapshot = cluster.Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_LE(Entries(catalog), kMatchesMax);
  // Each constraint may select 1,101 shapes, the last one 1; 952 * 1,101 + 1 are within limits.
  EXPECT_EQ(ShapeOf(snapshot, "0").not_understood, "") << "some are followed";
  EXPECT_EQ(ShapeOf(snapshot, "951").not_understood, "");
  for (const std::string& pod : {std::string("952"), std::to_string(kPods - 1)}) {
    EXPECT_EQ(ShapeOf(snapshot, pod).not_understood,
              "spec.topologySpreadConstraints selects too much: the selectors of all pods together "
              "select more kinds of pods than are followed, and this is one of the broadest");
  }
  EXPECT_EQ(ShapeOf(snapshot, "web").not_understood, "");
  EXPECT_EQ(CountIn(snapshot, ShapeOf(snapshot, "web").spread[0].table, "x"), 1u);
}

TEST(TopologyTablesTest, APodThatTooBroadAntiAffinityMayRepelKeepsItsNode) {
  Cluster cluster = Zones();
  constexpr int kPods = 2100;
  for (int p = 0; p < kPods; ++p) {
    const std::string id = std::to_string(p);
    cluster.Add(Pod(id).On("x1").Label("id", id).Away("zone", SelectOthers(id)));
  }
  cluster.Add(Web("web", "x1").Away("zone", Select("app", "web")));
  cluster.Add(Web("elsewhere", "x1").In("other").Away("zone", Select("app", "web")));
  const ClusterSnapshot snapshot = cluster.Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_LE(Entries(catalog), 8 * kMatchesMax + 2 * kPods);
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    const PodShape& shape = catalog.shape(PodShapeId{s});
    const bool may_be_repelled = catalog.Text(shape.namespace_name) == "default";
    ASSERT_EQ(shape.not_understood.empty(), !may_be_repelled) << s;
  }
  // Each table but two may count 2,101 shapes; 1,996 * 2,101 + 3 matches are within limits.
  const std::string too_much =
      " selects too much: the selectors of all pods together select more kinds of pods than are "
      "followed, and this is one of the broadest";
  for (const char* pod : {"0", "1995", "web"}) {
    EXPECT_EQ(ShapeOf(snapshot, pod).not_understood,
              "spec.affinity.podAntiAffinity of another pod" + too_much);
  }
  for (const char* pod : {"1996", "2099"}) {
    EXPECT_EQ(ShapeOf(snapshot, pod).not_understood, "spec.affinity.podAntiAffinity" + too_much);
  }
}

// The number of entries that grows with topology keys and nodes.
uint64_t KeyEntries(const Catalog& catalog) {
  uint64_t entries = 0;
  for (const TopologyKey& key : catalog.topology_keys()) entries += key.domain_of.size();
  for (const DomainRegistry& registry : catalog.registries()) {
    entries += registry.required_keys.size();
  }
  return entries;
}

// Symptom: a pod with 15,000 constraints, each with another key, took gigabytes.
TEST(TopologyTablesTest, AllLabelsThatNoNodeHasShareOneKey) {
  Pod spread = Web("spread", "x1");
  Pod away = Web("away", "x1");
  Pod near = Web("near", "x1");
  for (int k = 0; k < 500; ++k) {
    spread.Spread("s" + std::to_string(k), 1, Select("app", "web"));
    away.Away("a" + std::to_string(k), Select("app", "web"));
    near.Near("n" + std::to_string(k), Select("app", "web"));
  }
  const ClusterSnapshot snapshot = Zones().Add(spread).Add(away).Add(near).Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_EQ(catalog.topology_keys().size(), 1u);
  EXPECT_EQ(catalog.tables().size(), 3u);
  EXPECT_LE(KeyEntries(catalog), 4u);
  EXPECT_EQ(ShapeOf(snapshot, "spread").spread.size(), 500u);
  EXPECT_EQ(ShapeOf(snapshot, "near").affinity.size(), 500u);
  EXPECT_EQ(catalog.DomainOf(ShapeOf(snapshot, "spread").spread[0].key, NodeId{0}), kNoDomain);
  EXPECT_EQ(snapshot.topology().Domains(catalog, ShapeOf(snapshot, "spread").spread[0].table), 0u);
}

TEST(TopologyTablesTest, AConstraintDoesNotListAllKeysOfItsPod) {
  constexpr int kKeys = 300;
  Node all("all");
  Pod pod = Web("p", "all");
  for (int k = 0; k < kKeys; ++k) {
    all.Label("k" + std::to_string(k), "v");
    pod.Spread("k" + std::to_string(k), 1, Select("app", "web"));
  }
  const ClusterSnapshot snapshot =
      Cluster().Add(all).Add(Node("one").Label("k0", "v").Label("k7", "w")).Add(pod).Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_EQ(catalog.registries().size(), uint64_t{kKeys});
  // Each key has two nodes, and one key excludes a node.
  EXPECT_LE(KeyEntries(catalog), 3u * kKeys);
  EXPECT_EQ(ShapeOf(snapshot, "p").not_understood, "");
  for (const SpreadConstraint& spread : ShapeOf(snapshot, "p").spread) {
    EXPECT_EQ(snapshot.topology().Domains(catalog, spread.table), 1u);
  }
}

TEST(TopologyTablesTest, PodsWithTooManyKeysAndPodsTheyMayRepelKeepTheirNodes) {
  constexpr uint64_t kNodes = 16384;
  constexpr uint64_t kKeys = 1100;
  Cluster cluster;
  Node all("all");
  Pod shy = Pod("shy").On("all");
  for (uint64_t k = 0; k < kKeys; ++k) {
    all.Label("k" + std::to_string(k), "v");
    shy.Away("k" + std::to_string(k), Select("app", "web"));
  }
  cluster.Add(all);
  for (uint64_t n = 1; n < kNodes; ++n) cluster.Add(Node("n" + std::to_string(n)));
  cluster.Add(Pod("early").On("all").Spread("k0", 1, Select("app", "early")));
  cluster.Add(shy);
  cluster.Add(Web("web", "all"));
  cluster.Add(Pod("free").On("all").Label("app", "db"));
  const ClusterSnapshot snapshot = cluster.Build();
  EXPECT_LE(KeyEntries(snapshot.catalog()), 16 * kMatchesMax + 2 * kNodes);
  EXPECT_EQ(ShapeOf(snapshot, "early").not_understood, "");
  const std::string too_many =
      " has one topologyKey too many: all pods together ask for more of them than are followed";
  EXPECT_EQ(ShapeOf(snapshot, "shy").not_understood, "spec.affinity.podAntiAffinity" + too_many);
  EXPECT_EQ(ShapeOf(snapshot, "web").not_understood,
            "spec.affinity.podAntiAffinity of another pod" + too_many);
  EXPECT_EQ(ShapeOf(snapshot, "free").not_understood, "");
}

TEST(TopologyTablesTest, AnAffinityOfTooManyTermsAndKeysKeepsItsNode) {
  Node all("all");
  Pod pod = Pod("p").On("all");
  Pod alike = Pod("alike").On("all");
  for (int k = 0; k < 600; ++k) {
    const std::string id = std::to_string(k);
    all.Label("k" + id, "v");
    pod.Near("k" + id, Select("app", id));
    alike.Near("k" + id, Select("app", "web"));
  }
  const ClusterSnapshot snapshot =
      Cluster().Add(all).Add(pod).Add(alike).Add(Web("web", "all")).Build();
  uint64_t matchers = 0;
  for (const CounterTable& table : snapshot.catalog().tables()) matchers += table.matchers.size();
  EXPECT_LE(matchers, kMatchesMax / 4);
  EXPECT_EQ(ShapeOf(snapshot, "p").not_understood,
            "spec.affinity.podAffinity has too many terms: those of all pods together are more "
            "than are followed");
  EXPECT_EQ(CountIn(snapshot, ShapeOf(snapshot, "web").feeds[0], "v"), 1u);
}

TEST(TopologyTablesTest, ShapesThatShareATableAreOfOneFamily) {
  test::Dice dice(test::RandomSeed());
  std::set<FamilyId> families;
  for (int round = 0; round < 100; ++round) {
    const auto objects = test::RandomObjects(dice, {.nodes = 4, .pods = 12});
    const ClusterSnapshot snapshot = test::BuildSnapshot(*objects);
    ASSERT_EQ(test::WrongFamily(snapshot.catalog()), "");
    for (uint32_t s = 0; s < snapshot.catalog().pod_shapes(); ++s) {
      families.insert(snapshot.catalog().shape(PodShapeId{s}).family);
    }
  }
  EXPECT_GT(families.size(), 3u);
}

TEST(TopologyTablesTest, ApplicationsThatKeepToThemselvesAreFamiliesOfTheirOwn) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Web("web-1", "x1").Spread("zone", 1, Select("app", "web")).Priority(1))
          .Add(Web("web-2", "y1").Away("host", Select("app", "web")).Priority(2))
          .Add(Pod("db").On("x1").Label("app", "db").Away("host", Select("app", "db")))
          .Add(Pod("other").On("x1"))
          .Build();
  EXPECT_NE(ShapeOf(snapshot, "web-1").family, ShapeOf(snapshot, "db").family);
  // web-2's table counts web-1, so they are one family.
  EXPECT_EQ(ShapeOf(snapshot, "web-1").family, ShapeOf(snapshot, "web-2").family);
  EXPECT_EQ(ShapeOf(snapshot, "other").family, kNoFamily);
}

// A placed pod's term repels pods of every namespace without the label, even of one that is not
// listed.  Until 1.36 an incoming pod's term is also compared with no labels, so it covers all
// namespaces.
TEST(TopologyTablesTest, AnAbsentLabelSelectsDifferentNamespacesFromEachSide) {
  const objects::LabelSelector no_team{
      .nil = false, .match_labels = {}, .match_expressions = {{"team", "DoesNotExist", {}}}};
  const ClusterSnapshot snapshot =
      Zones()
          .AddNamespace("default", {{"team", "a"}})
          .AddNamespace("other")
          .Add(Pod("shy").On("y1").Away("zone", Select("app", "web")).With([&](auto& p) {
            p.anti_affinity[0].namespace_selector = no_team;
          }))
          .Add(Web("here", "x1"))
          .Add(Web("there", "x1").In("other"))
          .Add(Web("nowhere", "x1").In("unlisted"))
          .Build();
  const AntiAffinityTerm& term = ShapeOf(snapshot, "shy").anti_affinity[0];
  EXPECT_EQ(CountIn(snapshot, term.table, "x"), 3u);
  const auto repelled = [&](std::string_view pod, std::string_view namespace_name) {
    const PodShape& shape = snapshot.catalog().shape_of(PodNamed(snapshot, pod, namespace_name));
    return shape.repelled_by.size();
  };
  EXPECT_EQ(repelled("here", "default"), 0u);
  EXPECT_EQ(repelled("there", "other"), 1u);
  EXPECT_EQ(repelled("nowhere", "unlisted"), 1u);
  EXPECT_EQ(CountIn(snapshot, term.repelling, "y"), 1u);
}

TEST(TopologyTablesTest, TermsThatDifferInOnePartHaveTablesOfTheirOwn) {
  const auto tables = [](const std::vector<objects::LabelSelector>& selectors,
                         std::vector<objects::Text> namespaces = {}) {
    Pod pod = Pod("p").On("x1");
    for (const objects::LabelSelector& selector : selectors) pod.Away("zone", selector);
    pod.raw.anti_affinity.back().namespaces = std::move(namespaces);
    const ClusterSnapshot snapshot = Zones().Add(pod).Build();
    return snapshot.catalog().tables().size();
  };
  const auto expression = [](std::string_view key, std::string_view op,
                             std::vector<objects::Text> values) {
    return objects::LabelSelector{
        .nil = false, .match_labels = {}, .match_expressions = {{key, op, std::move(values)}}};
  };
  const objects::LabelSelector web = Select("app", "web");
  EXPECT_EQ(tables({web, web}), 2u) << "whom it repels, and who has it";
  EXPECT_EQ(tables({web, expression("app", "In", {"web"})}), 2u);
  EXPECT_EQ(tables({web, expression("tier", "In", {"web"})}), 4u);
  EXPECT_EQ(tables({web, expression("app", "NotIn", {"web"})}), 4u);
  EXPECT_EQ(tables({web, expression("app", "In", {"web", "db"})}), 4u);
  EXPECT_EQ(tables({expression("app", "Exists", {}), expression("app", "DoesNotExist", {})}), 4u);
  EXPECT_EQ(tables({test::SelectEverything(), test::SelectNothing()}), 4u);
  EXPECT_EQ(tables({web, web}, {"other"}), 4u);
  EXPECT_EQ(tables({web, web}, {"default", "default"}), 2u);
}

}  // namespace
}  // namespace ebb::topology_tables_test
