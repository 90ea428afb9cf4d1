// The verifier's filters compared with a twin of the scheduler's (tests/support/filter_twin.h),
// while pods are added and removed as in a plan.  EBB_TEST_SEED=<n> sets the seed.

#include "engine/verify/slow_cluster.h"

#include <deque>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "gtest/gtest.h"
#include "predicates/filters.h"
#include "tests/support/filter_twin.h"
#include "tests/support/random_cluster.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::slow_cluster_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;
using test::RawCluster;
using test::Select;

constexpr int64_t kNow = 1767225600;
const std::string kNowText = absl::StrCat(kNow);

struct Stats {
  size_t verdicts = 0;
  size_t fits = 0;
  std::map<std::string, size_t> refusals;  // By filter, as the cluster names it.
};

// One random cluster, kept by SlowCluster and, as plain objects, by the twin.
class Walk {
 public:
  Walk(RawCluster raw, const ClusterSnapshot& snapshot, Dice& dice, Stats& stats)
      : raw_(std::move(raw)),
        catalog_(snapshot.catalog()),
        cluster_(snapshot, kNow),
        dice_(dice),
        stats_(stats) {}

  // Returns "" if both agree until one node is left.
  std::string Run() {
    std::string wrong = PlaceUnplaced();
    while (wrong.empty() && raw_.nodes.size() > 1) {
      const size_t n = dice_.Below(static_cast<int>(raw_.nodes.size()));
      BeginRemoval(n);
      wrong = PlaceUnplaced();
      cluster_.EndRemoval();
      raw_.nodes.erase(raw_.nodes.begin() + static_cast<ptrdiff_t>(n));
      going_ = nullptr;
    }
    return wrong;
  }

 private:
  [[nodiscard]] PodId Id(const objects::Pod& pod) const {
    return catalog_.FindPod(pod.meta.namespace_name, pod.meta.name).value();
  }
  [[nodiscard]] NodeId Id(const objects::Node& node) const {
    return catalog_.FindNode(node.meta.name).value();
  }

  void BeginRemoval(size_t n) {
    objects::Node& node = raw_.nodes[n];
    for (objects::Pod& pod : raw_.pods) {
      if (cluster_.NodeOf(Id(pod)) == Id(node)) pod.node_name = pod.nominated_node_name = {};
    }
    node.taints.push_back({"ToBeDeletedByClusterAutoscaler", kNowText, "NoSchedule"});
    cluster_.BeginRemoval(Id(node));
    going_ = &node;
  }

  // Compares both for every pod without a node and every node, and places most pods where they fit.
  std::string PlaceUnplaced() {
    for (size_t p = 0; p < raw_.pods.size(); ++p) {
      if (cluster_.NodeOf(Id(raw_.pods[p])) != kNoNode) continue;
      std::vector<const objects::Node*> fitting;
      for (size_t n = 0; n < raw_.nodes.size(); ++n) {
        if (&raw_.nodes[n] == going_) continue;
        const bool want = test::TwinExplain(raw_, p, n).verdict.fits;
        const std::string why_not = cluster_.WhyNot(Id(raw_.pods[p]), Id(raw_.nodes[n]));
        Note(why_not);
        if (want != why_not.empty()) {
          return absl::StrCat("pod ", Absl(raw_.pods[p].meta.name), " on node ",
                              Absl(raw_.nodes[n].meta.name), ": the twin says ",
                              want ? "yes" : "no", ", the verifier \"", why_not, "\"");
        }
        if (want) fitting.push_back(&raw_.nodes[n]);
      }
      if (fitting.empty() || dice_.Percent(10)) continue;
      const objects::Node& to = *dice_.Of(fitting);
      cluster_.Add(Id(raw_.pods[p]), Id(to));
      raw_.pods[p].node_name = to.meta.name;
    }
    return "";
  }

  void Note(const std::string& why_not) {
    ++stats_.verdicts;
    if (why_not.empty()) {
      ++stats_.fits;
    } else {
      ++stats_.refusals[why_not.substr(0, why_not.find(':'))];
    }
  }

  RawCluster raw_;
  const Catalog& catalog_;
  SlowCluster cluster_;
  Dice& dice_;
  Stats& stats_;
  const objects::Node* going_ = nullptr;
};

TEST(SlowClusterTest, EveryVerdictIsTheTwinsWhilePodsComeAndGo) {
  constexpr uint64_t kClusters = 1500;
  const uint64_t first = test::RandomSeed();
  Stats stats;
  for (uint64_t seed = first; seed < first + kClusters; ++seed) {
    Dice dice(seed);
    std::vector<uint8_t> bytes(3000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(dice.Below(256));
    test::Choices choices(bytes);
    const RawCluster raw = test::RandomCluster(choices);
    const absl::StatusOr<ClusterSnapshot> snapshot = test::BuildSnapshot(raw);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    ASSERT_EQ(Walk(raw, *snapshot, dice, stats).Run(), "") << "EBB_TEST_SEED=" << seed;
  }
  EXPECT_GT(stats.verdicts, 30'000u);
  EXPECT_GT(stats.fits, stats.verdicts / 20);
  for (size_t f = 0; f < kFilterCount; ++f) {
    const auto filter = static_cast<Filter>(f);
    // These reject no pod here, or only few.
    if (filter == Filter::kNodeName || filter == Filter::kDynamicResources ||
        filter == Filter::kNotUnderstood ||
        (filter >= Filter::kVolumeRestrictions && filter <= Filter::kVolumeZone)) {
      continue;
    }
    const std::string name(FilterName(filter));
    EXPECT_GT(stats.refusals[name], filter == Filter::kOperatingSystem ? 0u : 100u) << name;
  }
}

// --- Work -----------------------------------------------------------------------------

// A selector with two requirements: one that every pod's labels match, and one for `key`.
objects::LabelSelector Web(std::string_view key, std::string_view op,
                           std::vector<objects::Text> values) {
  objects::LabelSelector selector = Select("app", "web");
  selector.match_expressions.push_back({key, op, std::move(values)});
  return selector;
}

struct Form {
  const char* what;
  // The selector of one pod.  The pod has a label "id" and a label with the key `own`.
  std::function<objects::LabelSelector(const std::string& own)> selector;
};
std::ostream& operator<<(std::ostream& out, const Form& form) { return out << form.what; }

class SlowClusterWorkTest : public ::testing::TestWithParam<Form> {};

// Comparing every selector with every pod would be 4,000,000 comparisons.
TEST_P(SlowClusterWorkTest, ComparesASelectorOnlyWithPodsThatMayMatch) {
  constexpr int kPods = 2000;
  std::deque<std::string> names;
  Cluster cluster;
  cluster.Add(Node("a").Cpu(1'000'000).Pods(10'000).Label("host", "a"));
  for (int p = 0; p < kPods; ++p) {
    const std::string& own = names.emplace_back(absl::StrCat("own-", p));
    const objects::LabelSelector selector = GetParam().selector(own);
    cluster.Add(Pod(own)
                    .Label("app", "web")
                    .Label("id", own)
                    .Label(own, "")
                    .Away("host", selector)
                    .Spread("host", 9, selector));
  }
  const ClusterSnapshot snapshot = cluster.Build();
  SlowCluster replayed(snapshot, kNow);
  for (uint32_t p = 0; p < kPods; ++p) {
    EXPECT_EQ(replayed.WhyNot(PodId{p}, NodeId{0}), "");
    replayed.Add(PodId{p}, NodeId{0});
  }
  EXPECT_LE(replayed.matches().comparisons(), 4 * kPods);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SlowClusterWorkTest,
    ::testing::Values(Form{"In", [](auto& own) { return Web("id", "In", {own}); }},
                      Form{"In of two", [](auto& own) { return Web("id", "In", {own, "x"}); }},
                      Form{"Exists", [](auto& own) { return Web(own, "Exists", {}); }}));

TEST(SlowClusterTest, PodsThatDifferInNoLabelAreComparedOnce) {
  constexpr int kPods = 2000;
  std::deque<std::string> names;
  Cluster cluster;
  cluster.Add(Node("a").Cpu(1'000'000).Pods(10'000).Label("host", "a"));
  for (int p = 0; p < kPods; ++p) {
    const std::string& own = names.emplace_back(absl::StrCat("own-", p));
    cluster.Add(Pod(own).Label("app", "web").Away("host", Web("id", "In", {own})).Priority(p));
  }
  const ClusterSnapshot snapshot = cluster.Build();
  SlowCluster replayed(snapshot, kNow);
  for (uint32_t p = 0; p < kPods; ++p) EXPECT_EQ(replayed.WhyNot(PodId{p}, NodeId{0}), "");
  EXPECT_LE(replayed.matches().comparisons(), 4 * kPods);
}

TEST(SlowClusterTest, ANodeInRemovalAcceptsNoPodAndHasNone) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Node("b")).Add(Pod("p").On("a")).Build();
  const NodeId a = test::NodeNamed(snapshot, "a");
  const NodeId b = test::NodeNamed(snapshot, "b");
  const PodId p = test::PodNamed(snapshot, "p");
  SlowCluster replayed(snapshot, kNow);
  replayed.BeginRemoval(a);
  EXPECT_EQ(replayed.WhyNot(p, a), "that node is the one that goes");
  EXPECT_EQ(replayed.WhyNot(p, b), "");
  EXPECT_EQ(replayed.NodeOf(p), kNoNode);
  EXPECT_TRUE(replayed.PodsOn(a).empty());
  EXPECT_TRUE(replayed.Contains(a));
  replayed.Add(p, b);
  replayed.EndRemoval();
  EXPECT_FALSE(replayed.Contains(a));
  EXPECT_TRUE(replayed.Contains(b));
  EXPECT_EQ(replayed.PodsOn(b), std::vector<PodId>{p});
}

TEST(SlowClusterTest, EveryRefusalNamesItsFilterAndSaysWhy) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("cordoned").Unschedulable())
          .Add(Node("tainted").Taint("gpu"))
          .Add(Node("open").Cpu(1000).Resource("example.com/fpga", 1).Label("zone", "x"))
          .Add(Pod("there").On("open").Cpu(600).HostPort(80).Request("example.com/fpga", 1))
          .Add(Pod("plain"))
          .Add(Pod("selects").NodeSelector("zone", "y"))
          .Add(Pod("restarts").With([](objects::Pod& pod) {
            pod.containers[0].restarts_all_containers = true;
          }))
          .Add(Pod("large").Cpu(401))
          .Add(Pod("device").Request("example.com/fpga", 1))
          .Add(Pod("port").HostPort(80))
          .Build();
  SlowCluster replayed(snapshot, kNow);
  const auto why_not = [&](std::string_view pod, std::string_view node) {
    return replayed.WhyNot(test::PodNamed(snapshot, pod), test::NodeNamed(snapshot, node));
  };
  EXPECT_EQ(why_not("plain", "cordoned"), "NodeUnschedulable: node(s) were unschedulable");
  EXPECT_EQ(why_not("plain", "tainted"), "TaintToleration: node(s) had untolerated taint(s)");
  EXPECT_EQ(why_not("plain", "open"), "");
  EXPECT_EQ(why_not("selects", "open"),
            "NodeAffinity: node(s) didn't match Pod's node affinity/selector");
  EXPECT_EQ(why_not("restarts", "open"),
            "NodeDeclaredFeatures: node(s) didn't match Pod's required features");
  EXPECT_EQ(why_not("large", "open"), "NodeResourcesFit: Insufficient cpu");
  EXPECT_EQ(why_not("device", "open"), "NodeResourcesFit: Insufficient example.com/fpga");
  EXPECT_EQ(why_not("port", "open"),
            "NodePorts: node(s) didn't have free ports for the requested pod ports");
}

}  // namespace
}  // namespace ebb::slow_cluster_test
