#include "engine/verify/verify.h"

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::verify_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Node;
using test::NodeNamed;
using test::NodesNamed;
using test::Pod;
using test::PodNamed;
using test::PodsNamed;
using test::Select;
using ::testing::HasSubstr;

// A plan that may be wrong, for a cluster, and its input.
struct Case {
  explicit Case(const Cluster& cluster)
      : snapshot(cluster.Build()), groups(test::OneGroup(snapshot)) {
    for (const Pdb& pdb : snapshot.catalog().pdbs()) {
      plan.pdb_remaining.push_back(pdb.disruptions_allowed);
    }
  }

  [[nodiscard]] NodeId N(std::string_view name) const { return NodeNamed(snapshot, name); }
  [[nodiscard]] PodId P(std::string_view name) const { return PodNamed(snapshot, name); }

  // Adds a candidate and its removal.
  RemovableNode& Remove(std::string_view node,
                        const std::vector<std::pair<std::string_view, std::string_view>>& moves) {
    candidates.push_back(N(node));
    RemovableNode& removal = plan.remove.emplace_back();
    removal.node = N(node);
    for (const auto& [pod, to] : moves) removal.moves.push_back({P(pod), N(to)});
    return removal;
  }

  [[nodiscard]] std::string Verdict() const {
    PassInput complete = input;
    complete.now_s = test::kPassTime;
    complete.candidates = candidates;
    complete.pending = pending;
    complete.evicting = evicting;
    const absl::Status status = Verify(snapshot, groups, options, complete, plan);
    return status.ok() ? "ok" : std::string(status.message());
  }

  ClusterSnapshot snapshot;
  NodeGroups groups;
  PlannerOptions options;
  PassInput input;
  std::vector<NodeId> candidates;
  std::vector<PodId> pending;
  std::vector<PodId> evicting;
  Plan plan;
};

// --- A correct plan, and how it could be tampered with -----------------------------

Case Honest() {
  Case c(Cluster()
             .Add(Node("a"))
             .Add(Node("b"))
             .Add(Node("full").Cpu(1000))
             .Add(Budget("web").Matching("app", "web").Allows(1))
             .Add(Pod("web-0").On("a").Cpu(500).Label("app", "web"))
             .Add(Pod("web-1").On("a").Cpu(500).Label("app", "web"))
             .Add(Pod("agent").On("a").DaemonSet())
             .Add(Pod("batch").On("a").SafeToEvict("on-completion"))
             .Add(Pod("static").On("a").Mirror())
             .Add(Pod("big").On("full").Cpu(800))
             .Add(Pod("waiting").Cpu(300)));
  c.pending = {c.P("waiting")};
  c.plan.packed = {{c.P("waiting"), c.N("b")}};
  RemovableNode& a = c.Remove("a", {{"web-0", "b"}, {"web-1", "b"}});
  a.daemonset = {c.P("agent")};
  a.on_completion = {c.P("batch")};
  a.risky = true;
  c.candidates.push_back(c.N("full"));
  c.plan.keep.push_back(
      {.node = c.N("full"), .reason = UnremovableReason::kNotUnderutilized, .pdb = {}});
  c.plan.pdb_remaining = {-1};
  return c;
}

TEST(VerifyTest, AcceptsAnHonestPlan) { EXPECT_EQ(Honest().Verdict(), "ok"); }

TEST(VerifyTest, LeavesTheSnapshotAlone) {
  const Case c = Honest();
  const std::string before = c.snapshot.Fingerprint();
  EXPECT_EQ(c.Verdict(), "ok");
  EXPECT_EQ(c.snapshot.Fingerprint(), before);
}

struct Tampering {
  const char* what;
  std::function<void(Case&)> tamper;
  const char* message;
};
std::ostream& operator<<(std::ostream& out, const Tampering& t) { return out << t.what; }

class VerifyTamperingTest : public ::testing::TestWithParam<Tampering> {};

TEST_P(VerifyTamperingTest, IsRefused) {
  Case c = Honest();
  GetParam().tamper(c);
  EXPECT_THAT(c.Verdict(), HasSubstr(GetParam().message));
}

RemovableNode& A(Case& c) { return c.plan.remove[0]; }

const Tampering kTamperings[] = {
    {"a move dropped", [](Case& c) { A(c).moves.pop_back(); },
     "pod \"default/web-1\" of node \"a\" must move and does not"},
    {"a move doubled", [](Case& c) { A(c).moves.push_back(A(c).moves[0]); },
     "pod \"default/web-0\" moves twice at once"},
    {"a move to a full node", [](Case& c) { A(c).moves[0].to = c.N("full"); },
     "pod \"default/web-0\" does not fit on node \"full\": NodeResourcesFit: Insufficient cpu"},
    {"a move to the node itself", [](Case& c) { A(c).moves[0].to = c.N("a"); },
     "pod \"default/web-0\" moves to the node that it leaves"},
    {"a DaemonSet pod moved", [](Case& c) { A(c).moves.push_back({c.P("agent"), c.N("b")}); },
     "pod \"default/agent\" of node \"a\" moves and must not"},
    {"a mirror pod moved", [](Case& c) { A(c).moves.push_back({c.P("static"), c.N("b")}); },
     "pod \"default/static\" of node \"a\" moves and must not"},
    {"a pod moved that waits for completion",
     [](Case& c) { A(c).moves.push_back({c.P("batch"), c.N("b")}); },
     "pod \"default/batch\" of node \"a\" moves and must not"},
    {"a pod of another node moved", [](Case& c) { A(c).moves.push_back({c.P("big"), c.N("b")}); },
     "pod \"default/big\" moves with node \"a\" and does not run there"},
    {"a move without a destination", [](Case& c) { A(c).moves[0].to = kNoNode; },
     "names a node or pod that does not exist"},
    {"an unknown pod", [](Case& c) { A(c).moves[0].pod = PodId{999}; },
     "names a node or pod that does not exist"},
    {"an unknown node", [](Case& c) { c.plan.skipped.push_back(NodeId{999}); },
     "names a node or pod that does not exist"},
    {"a node that is no candidate", [](Case& c) { A(c).node = c.N("b"); },
     "node \"b\" is not a candidate"},
    {"a node removed twice", [](Case& c) { c.plan.remove.push_back(A(c)); },
     "node \"a\" has more than one verdict"},
    {"a node removed and kept", [](Case& c) { c.plan.keep[0].node = c.N("a"); },
     "node \"a\" has more than one verdict"},
    {"a busy node removed",
     [](Case& c) {
       c.plan.keep.clear();
       c.plan.remove.push_back({.node = c.N("full"),
                                .moves = {{c.P("big"), c.N("b")}},
                                .daemonset = {},
                                .on_completion = {}});
     },
     "node \"full\" is used too much"},
    {"a DaemonSet pod unlisted", [](Case& c) { A(c).daemonset.clear(); },
     "node \"a\" runs other DaemonSet pods than listed"},
    {"a pod listed twice in place of another",
     [](Case& c) { A(c).on_completion = {c.P("batch"), c.P("batch")}; },
     "node \"a\" waits for other pods than listed"},
    {"a pod to wait for unlisted", [](Case& c) { A(c).on_completion.clear(); },
     "node \"a\" waits for other pods than listed"},
    {"a risk left out", [](Case& c) { A(c).risky = false; }, "node \"a\" is risky"},
    {"a budget spared", [](Case& c) { c.plan.pdb_remaining = {0}; },
     "budget \"default/web\" has -1 disruptions left, not 0"},
    {"a budget forgotten", [](Case& c) { c.plan.pdb_remaining.clear(); },
     "accounts for 0 budgets of 1"},
    {"a pod packed that is not pending", [](Case& c) { c.pending.clear(); },
     "pod \"default/waiting\" is not pending"},
    {"a pod packed twice", [](Case& c) { c.plan.packed.push_back(c.plan.packed[0]); },
     "pod \"default/waiting\" was packed twice"},
    {"a pod packed that runs",
     [](Case& c) {
       c.pending.push_back(c.P("big"));
       c.plan.packed.push_back({c.P("big"), c.N("b")});
     },
     "pod \"default/big\" was packed and runs already"},
    {"a pod packed on a full node", [](Case& c) { c.plan.packed[0].to = c.N("full"); },
     "pod \"default/waiting\" does not fit on node \"full\""},
    {"a pod that must fit left out",
     [](Case& c) {
       c.plan.packed.clear();
       c.input.must_fit = 1;
     },
     "nodes go although pod \"default/waiting\" found no room"},
    {"the second pod that must fit left out",
     [](Case& c) {
       c.pending.push_back(c.P("big"));
       c.input.must_fit = 2;
     },
     "nodes go although pod \"default/big\" found no room"},
    {"a budget spent by evictions under way", [](Case& c) { c.evicting = {c.P("web-0")}; },
     "node \"a\" goes although budget \"default/web\" has nothing left for pod"},
    {"more nodes than the limit", [](Case& c) { c.input.unneeded_limit = 0; },
     "removes 1 nodes where 0 may go"},
    {"a pod disrupted that Karpenter protects",
     [](Case& c) {
       c = Case(Cluster().Add(Node("a")).Add(Node("b")).Add(
           Pod("job").On("a").Annotation("karpenter.sh/do-not-disrupt", "true")));
       c.groups.groups[0].managed_by = PoolManager::kKarpenter;
       c.Remove("a", {{"job", "b"}});
     },
     "node \"a\" goes although Karpenter must not disrupt pod \"default/job\""},
    {"a node gone that Karpenter protects",
     [](Case& c) {
       c = Case(Cluster().Add(Node("a").Annotation("karpenter.sh/do-not-disrupt", "true")));
       c.groups.groups[0].managed_by = PoolManager::kKarpenter;
       c.Remove("a", {});
     },
     "node \"a\" is annotated to stay"},
    {"a node without a group", [](Case& c) { c.groups.group_of[0] = kNoGroup; },
     "node \"a\" belongs to no group"},
    {"a node that went meanwhile", [](Case& c) { c.snapshot.RemoveNode(c.N("a")); },
     "node \"a\" is not in the cluster"},
    {"a destination that went meanwhile",
     [](Case& c) {
       c.plan.packed.clear();
       c.snapshot.RemoveNode(c.N("b"));
     },
     "moves to node \"b\", which is gone"},
};

INSTANTIATE_TEST_SUITE_P(Plans, VerifyTamperingTest, ::testing::ValuesIn(kTamperings));

TEST(VerifyTest, RefusesADestinationThatIsNotAllowed) {
  Case c = Honest();
  NodeSet destinations(c.snapshot.catalog().nodes());
  destinations.Insert(c.N("full"));
  c.input.destinations = &destinations;
  EXPECT_THAT(c.Verdict(), HasSubstr("moves to node \"b\", which is not a destination"));
}

TEST(VerifyTest, RefusesAPlaceOnANodeThatIsBeingDeleted) {
  Case c = Honest();
  const std::vector<NodeId> going = {c.N("b")};
  c.input.in_deletion = going;
  EXPECT_THAT(c.Verdict(), HasSubstr("was packed on node \"b\", which is being deleted"));
  c.plan.packed.clear();
  EXPECT_THAT(c.Verdict(), HasSubstr("moves to node \"b\", which is being deleted"));
}

TEST(VerifyTest, AtomicGroupsAreNotCountedAgainstTheLimit) {
  Case c = Honest();
  c.input.unneeded_limit = 0;
  c.groups.groups[0].atomic = true;
  EXPECT_EQ(c.Verdict(), "ok");
}

// --- Several nodes -----------------------------------------------------------------

Case Chain() {
  return Case(Cluster()
                  .Add(Node("a"))
                  .Add(Node("b"))
                  .Add(Node("c"))
                  .Add(Pod("p").On("a").Cpu(100))
                  .Add(Pod("q").On("b").Cpu(100)));
}

TEST(VerifyTest, FollowsAPodThatMovesTwice) {
  Case c = Chain();
  c.Remove("a", {{"p", "b"}});
  c.Remove("b", {{"q", "c"}, {"p", "c"}});
  EXPECT_EQ(c.Verdict(), "ok");
}

TEST(VerifyTest, RefusesRemovalsInTheWrongOrder) {
  Case c = Chain();
  c.Remove("a", {{"p", "b"}});
  c.Remove("b", {{"q", "c"}, {"p", "c"}});
  std::swap(c.plan.remove[0], c.plan.remove[1]);
  EXPECT_THAT(c.Verdict(),
              HasSubstr("pod \"default/p\" moves with node \"b\" and does not run there"));
}

TEST(VerifyTest, RefusesToForgetAPodThatArrivedBefore) {
  Case c = Chain();
  c.Remove("a", {{"p", "b"}});
  c.Remove("b", {{"q", "c"}});
  EXPECT_THAT(c.Verdict(), HasSubstr("pod \"default/p\" of node \"b\" must move and does not"));
}

TEST(VerifyTest, RefusesAMoveToANodeThatWentBefore) {
  Case c = Chain();
  c.Remove("a", {{"p", "c"}});
  c.Remove("b", {{"q", "a"}});
  EXPECT_THAT(c.Verdict(), HasSubstr("moves to node \"a\", which is gone"));
}

TEST(VerifyTest, RefusesTheSecondNodeOnASpentBudget) {
  Case c(Cluster()
             .Add(Node("a"))
             .Add(Node("b"))
             .Add(Node("c"))
             .Add(Budget("one").MatchingEverything().Allows(1))
             .Add(Pod("p").On("a"))
             .Add(Pod("q").On("b")));
  c.Remove("a", {{"p", "c"}});
  c.plan.pdb_remaining = {0};
  EXPECT_EQ(c.Verdict(), "ok");
  c.Remove("b", {{"q", "c"}}).risky = true;
  c.plan.pdb_remaining = {-1};
  EXPECT_THAT(c.Verdict(), HasSubstr("node \"b\" goes although budget \"default/one\" has nothing "
                                     "left for pod \"default/q\""));
}

TEST(VerifyTest, PodThatIsSafeToEvictGoesOnASpentBudgetAndIsRisky) {
  Case c(Cluster()
             .Add(Node("a"))
             .Add(Node("b"))
             .Add(Budget("none").MatchingEverything())
             .Add(Pod("p").On("a").SafeToEvict("true")));
  c.Remove("a", {{"p", "b"}}).risky = true;
  c.plan.pdb_remaining = {-1};
  EXPECT_EQ(c.Verdict(), "ok");
}

TEST(VerifyTest, RoomTakenByOneRemovalIsGoneForTheNext) {
  Case c(Cluster()
             .Add(Node("a").Cpu(1000))
             .Add(Node("b").Cpu(1000))
             .Add(Node("c").Cpu(700))
             .Add(Pod("p").On("a").Cpu(400))
             .Add(Pod("q").On("b").Cpu(400)));
  c.Remove("a", {{"p", "c"}});
  EXPECT_EQ(c.Verdict(), "ok");
  c.Remove("b", {{"q", "c"}});
  EXPECT_THAT(c.Verdict(), HasSubstr("pod \"default/q\" does not fit on node \"c\""));
}

// --- Nodes that must stay ------------------------------------------------------------

TEST(VerifyTest, RefusesToRemoveANodeAnnotatedToStay) {
  Case c(Cluster().Add(
      Node("a").Annotation("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true")));
  c.Remove("a", {});
  EXPECT_THAT(c.Verdict(), HasSubstr("node \"a\" is annotated to stay"));
}

TEST(VerifyTest, RefusesToRemoveANodeThatIsBeingDeleted) {
  Case c(Cluster().Add(Node("a").Taint("ToBeDeletedByClusterAutoscaler", "999900")));
  c.Remove("a", {});
  EXPECT_THAT(c.Verdict(), HasSubstr("node \"a\" is being deleted already"));
}

TEST(VerifyTest, RefusesToRemoveAnUnreadyNodeIfDisabled) {
  Case c(Cluster().Add(Node("a").NotReady()));
  c.Remove("a", {});
  EXPECT_EQ(c.Verdict(), "ok");
  c.options.scale_down_unready_enabled = false;
  EXPECT_THAT(c.Verdict(), HasSubstr("node \"a\" is not ready"));
}

TEST(VerifyTest, UtilizationAtTheThresholdMayGoAndAboveItNot) {
  Case c(Cluster().Add(Node("a").Cpu(1000)).Add(Node("b")).Add(Pod("p").On("a").Cpu(500)));
  c.Remove("a", {{"p", "b"}});
  EXPECT_EQ(c.Verdict(), "ok");
  c.groups.groups[0].scale_down_utilization_threshold = 0.49;
  EXPECT_THAT(c.Verdict(), HasSubstr("node \"a\" is used too much"));
}

TEST(VerifyTest, MemoryThatIsUsedTooMuchKeepsANodeToo) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  Case c(Cluster()
             .Add(Node("a").Cpu(10'000).Memory(10 * kGiB))
             .Add(Node("b"))
             .Add(Pod("p").On("a").Cpu(10).Memory(3 * kGiB))
             .Add(Pod("q").On("a").Cpu(10).Memory(2 * kGiB)));
  c.groups.groups[0].scale_down_utilization_threshold = 0.49;
  c.Remove("a", {{"p", "b"}, {"q", "b"}});
  EXPECT_THAT(c.Verdict(), HasSubstr("node \"a\" is used too much"));
}

TEST(VerifyTest, RefusesToMoveAPodThatARuleKeeps) {
  Case c(Cluster().Add(Node("a")).Add(Node("b")).Add(Pod("p").On("a").WithoutOwner()));
  c.Remove("a", {{"p", "b"}});
  EXPECT_THAT(c.Verdict(),
              HasSubstr("node \"a\" goes although pod \"default/p\" keeps it: NotReplicated"));
}

// --- Filters -------------------------------------------------------------------------

// Pod p of node a goes to node b, where pod "there" runs.
struct FilterCase {
  const char* what;
  Node b;
  Pod p;
  Pod there;
  const char* message;  // "ok": it fits.
};
std::ostream& operator<<(std::ostream& out, const FilterCase& c) { return out << c.what; }

class VerifyFilterTest : public ::testing::TestWithParam<FilterCase> {};

TEST_P(VerifyFilterTest, Decides) {
  const FilterCase& f = GetParam();
  Case c(Cluster()
             .Add(Node("a").Label("zone", "x"))
             .Add(f.b)
             .Add(Node("other").Label("zone", "z"))
             .Add(Pod(f.p).On("a"))
             .Add(Pod(f.there).On("b")));
  c.Remove("a", {{"p", "b"}});
  EXPECT_THAT(c.Verdict(), HasSubstr(f.message));
}

Node B() { return Node("b").Label("zone", "y"); }
Pod Mover() { return Pod("p").Label("app", "web"); }
Pod There() { return Pod("there").Label("app", "web"); }
objects::LabelSelector Web() { return Select("app", "web"); }
Pod Affine(Pod pod, std::string_view key, std::string_view op, std::vector<objects::Text> values) {
  pod.raw.required_node_affinity.nil = false;
  objects::NodeSelectorTerm& term = pod.raw.required_node_affinity.terms.emplace_back();
  term.match_expressions.push_back({key, op, std::move(values)});
  return pod;
}

const FilterCase kFilters[] = {
    {"nothing forbids it", B(), Mover(), There(), "ok"},
    {"cordoned", B().Unschedulable(), Mover(), There(), "NodeUnschedulable"},
    {"cordoned but tolerated", B().Unschedulable(),
     Mover().ToleratesKey("node.kubernetes.io/unschedulable"), There(), "ok"},
    {"tainted", B().Taint("gpu"), Mover(), There(), "TaintToleration"},
    {"tainted NoExecute", B().Taint("gpu", "", "NoExecute"), Mover(), There(), "TaintToleration"},
    {"tainted PreferNoSchedule", B().Taint("gpu", "", "PreferNoSchedule"), Mover(), There(), "ok"},
    {"tainted but tolerated", B().Taint("gpu"), Mover().ToleratesKey("gpu"), There(), "ok"},
    {"another taint tolerated", B().Taint("gpu"), Mover().ToleratesKey("arm"), There(),
     "TaintToleration"},
    {"selected", B(), Mover().NodeSelector("zone", "y"), There(), "ok"},
    {"another zone selected", B(), Mover().NodeSelector("zone", "x"), There(), "NodeAffinity"},
    {"affine", B(), Affine(Mover(), "zone", "In", {"x", "y"}), There(), "ok"},
    {"not affine", B(), Affine(Mover(), "zone", "NotIn", {"x", "y"}), There(), "NodeAffinity"},
    {"key must not exist", B(), Affine(Mover(), "zone", "DoesNotExist", {}), There(),
     "NodeAffinity"},
    {"greater", B().Label("gen", "12"), Affine(Mover(), "gen", "Gt", {"9"}), There(), "ok"},
    {"not less", B().Label("gen", "12"), Affine(Mover(), "gen", "Lt", {"9"}), There(),
     "NodeAffinity"},
    {"no number", B().Label("gen", "new"), Affine(Mover(), "gen", "Gt", {"9"}), There(),
     "NodeAffinity"},
    {"port taken", B(), Mover().HostPort(80), There().HostPort(80), "NodePorts"},
    {"port of another protocol", B(), Mover().HostPort(80), There().HostPort(80, "", "UDP"), "ok"},
    {"port of another address", B(), Mover().HostPort(80, "10.0.0.1"),
     There().HostPort(80, "10.0.0.2"), "ok"},
    {"port of any address", B(), Mover().HostPort(80, "10.0.0.1"), There().HostPort(80),
     "NodePorts"},
    {"no slot", B().Pods(1), Mover(), There(), "Too many pods"},
    {"no memory", B().Memory(100), Mover().Memory(60), There().Memory(60), "Insufficient memory"},
    {"no device", B(), Mover().Request("example.com/fpga", 1), There(),
     "Insufficient example.com/fpga"},
    {"exactly enough", B().Cpu(1000), Mover().Cpu(400), There().Cpu(600), "ok"},
    {"one too many", B().Cpu(1000), Mover().Cpu(401), There().Cpu(600), "Insufficient cpu"},
    {"spread too far", B(), Mover().Spread("zone", 1, Web()), There(), "PodTopologySpread"},
    {"spread within skew", B(), Mover().Spread("zone", 2, Web()), There(), "ok"},
    {"spread over a missing key", Node("b"), Mover().Spread("zone", 9, Web()), There(),
     "missing required label"},
    {"terminating pods are not spread", B(), Mover().Spread("zone", 1, Web()),
     There().DeletedAt(test::kPassTime), "ok"},
    {"neighbour wanted and there", B(), Mover().Near("zone", Web()), There(), "ok"},
    {"neighbour wanted elsewhere", B(), Mover().Near("zone", Select("app", "db")), There(),
     "didn't match pod affinity rules"},
    {"first of its kind", B(), Mover().Near("zone", Web()), Pod("there"), "ok"},
    {"neighbour wanted by a key that is missing", Node("b"), Mover().Near("zone", Web()),
     Pod("there"), "didn't match pod affinity rules"},
    {"neighbour shunned", B(), Mover().Away("zone", Web()), There(),
     "didn't match pod anti-affinity rules"},
    {"neighbour of another kind shunned", B(), Mover().Away("zone", Select("app", "db")), There(),
     "ok"},
    {"shunned by a neighbour", B(), Mover(), There().Away("zone", Web()),
     "didn't satisfy existing pods anti-affinity rules"},
    {"shunned by a neighbour of another namespace", B(), Mover(),
     There().In("other").Away("zone", Web()), "ok"},
    {"a feature undeclared", B(),
     Mover().With([](objects::Pod& p) { p.containers[0].restarts_all_containers = true; }), There(),
     "NodeDeclaredFeatures"},
    {"a feature declared", B().With([](objects::Node& n) {
       n.declared_features = {"RestartAllContainersOnContainerExits"};
     }),
     Mover().With([](objects::Pod& p) { p.containers[0].restarts_all_containers = true; }), There(),
     "ok"},
    {"not understood", B(),
     Mover().With([](objects::Pod& p) { p.not_understood = "spec.affinity.cosmic"; }), There(),
     "a constraint that is not understood: spec.affinity.cosmic"},
};

INSTANTIATE_TEST_SUITE_P(Filters, VerifyFilterTest, ::testing::ValuesIn(kFilters));

// --- Order of placement ----------------------------------------------------------------

Case Spreading(const std::vector<std::pair<std::string_view, std::string_view>>& moves) {
  Cluster cluster;
  cluster.Add(Node("a").Label("zone", "x"));
  cluster.Add(Node("b").Label("zone", "x")).Add(Node("c").Label("zone", "y"));
  for (const std::string_view name : {"p1", "p2", "p3"}) {
    cluster.Add(Pod(name).On("a").Label("app", "web").Spread("zone", 1, Web()));
  }
  Case c(cluster);
  c.Remove("a", moves);
  return c;
}

TEST(VerifyTest, PlacesPodsInTheOrderOfThePlan) {
  EXPECT_EQ(Spreading({{"p1", "b"}, {"p3", "c"}, {"p2", "b"}}).Verdict(), "ok");
  EXPECT_THAT(Spreading({{"p1", "b"}, {"p2", "b"}, {"p3", "c"}}).Verdict(),
              HasSubstr("pod \"default/p2\" does not fit on node \"b\": PodTopologySpread"));
}

Case LeaderAndFollower(int32_t priority_of_leader,
                       const std::vector<std::pair<std::string_view, std::string_view>>& moves) {
  Case c(Cluster()
             .Add(Node("a").Label("zone", "x"))
             .Add(Node("b").Label("zone", "y"))
             .Add(Pod("follower").On("a").Near("zone", Select("app", "leader")).Priority(10))
             .Add(Pod("leader").On("a").Label("app", "leader").Priority(priority_of_leader)));
  c.Remove("a", moves);
  return c;
}

TEST(VerifyTest, RefusesToRemoveANodeThatAPendingPodMayNeed) {
  const auto verdict = [](int64_t cpu) {
    Case c(Cluster().Add(Node("a")).Add(Node("b")).Add(
        Pod("waits").Cpu(cpu).With([](objects::Pod& pod) {
          pod.resource_claims.push_back({.name = "gpu", .claim_name = "mine", .template_name = {}});
        })));
    c.pending = {c.P("waits")};
    c.Remove("a", {});
    return c.Verdict();
  };
  EXPECT_THAT(verdict(100),
              HasSubstr("node \"a\" goes although pod \"default/waits\" may need it"));
  EXPECT_EQ(verdict(100'000), "ok") << "it fits nowhere";
}

TEST(VerifyTest, RefusesAFollowerBeforeItsLeader) {
  EXPECT_EQ(LeaderAndFollower(10, {{"leader", "b"}, {"follower", "b"}}).Verdict(), "ok");
  EXPECT_THAT(LeaderAndFollower(10, {{"follower", "b"}, {"leader", "b"}}).Verdict(),
              HasSubstr("pod \"default/follower\" does not fit on node \"b\""));
}

TEST(VerifyTest, RefusesALowerPriorityBeforeAHigherOne) {
  EXPECT_THAT(LeaderAndFollower(9, {{"leader", "b"}, {"follower", "b"}}).Verdict(),
              HasSubstr("pod \"default/leader\" is placed before pod \"default/follower\", which "
                        "has a higher priority"));
}

TEST(VerifyTest, AsListedALowerPriorityMayComeBeforeAHigherOne) {
  Case c = LeaderAndFollower(9, {{"leader", "b"}, {"follower", "b"}});
  c.input.pod_order = PodOrder::kAsListed;
  EXPECT_EQ(c.Verdict(), "ok");
}

TEST(VerifyTest, GhostOfTheNodeStaysADomain) {
  // Zone x has only the node that is being removed; it still counts as an empty domain.
  Case c(Cluster()
             .Add(Node("a").Label("zone", "x"))
             .Add(Node("b").Label("zone", "y"))
             .Add(Pod("p").On("a").Label("app", "web").Spread("zone", 1, Web()))
             .Add(Pod("there").On("b").Label("app", "web")));
  c.Remove("a", {{"p", "b"}});
  EXPECT_THAT(c.Verdict(), HasSubstr("PodTopologySpread"));
}

TEST(VerifyTest, AGhostIsNotADomainIfTaintsAreHonoured) {
  Case c(Cluster()
             .Add(Node("a").Label("zone", "x"))
             .Add(Node("b").Label("zone", "y"))
             .Add(Pod("p")
                      .On("a")
                      .Label("app", "web")
                      .Spread("zone", 1, Web())
                      .With([](objects::Pod& p) { p.spread[0].node_taints_policy = "Honor"; }))
             .Add(Pod("there").On("b").Label("app", "web")));
  c.Remove("a", {{"p", "b"}});
  EXPECT_EQ(c.Verdict(), "ok");
}

constexpr const char* kUsedTooMuch = "the plan is refused: node \"a\" is used too much";

TEST(VerifyTest, OnlyGpusCountOnANodeWithGpusOrAGpuLabel) {
  constexpr const char* kGpu = "nvidia.com/gpu";
  Case gpu(Cluster()
               .Add(Node("a").Resource(kGpu, 4))
               .Add(Node("b").Resource(kGpu, 4))
               .Add(Pod("p").On("a").Cpu(3900).Request(kGpu, 3)));
  gpu.Remove("a", {{"p", "b"}});
  EXPECT_EQ(gpu.Verdict(), kUsedTooMuch);
  gpu.options.scale_down_utilization_threshold = 1;
  EXPECT_EQ(gpu.Verdict(), kUsedTooMuch);
  gpu.options.scale_down_gpu_utilization_threshold = 0.75;
  gpu.options.scale_down_utilization_threshold = 0;
  EXPECT_EQ(gpu.Verdict(), "ok");
  gpu.groups.groups[0].scale_down_gpu_utilization_threshold = 0.7;
  EXPECT_EQ(gpu.Verdict(), kUsedTooMuch);

  Case labelled(Cluster().Add(Node("a")).Add(Node("b")).Add(Pod("p").On("a").Cpu(3900)));
  labelled.Remove("a", {{"p", "b"}});
  EXPECT_EQ(labelled.Verdict(), kUsedTooMuch);
  labelled.groups.gpu_label = {true, false};
  EXPECT_EQ(labelled.Verdict(), "ok");
  labelled.options.scale_down_gpu_utilization_threshold = -1;
  EXPECT_EQ(labelled.Verdict(), kUsedTooMuch);
}

TEST(VerifyTest, PodsThatAreIgnoredCountOnNeitherSide) {
  Case agents(Cluster()
                  .Add(Node("a"))
                  .Add(Node("b"))
                  .Add(Pod("agent").On("a").DaemonSet().Cpu(3000))
                  .Add(Pod("p").On("a").Cpu(500)));
  agents.Remove("a", {{"p", "b"}}).daemonset = {agents.P("agent")};
  EXPECT_EQ(agents.Verdict(), kUsedTooMuch);
  agents.options.ignore_daemonsets_utilization = true;
  EXPECT_EQ(agents.Verdict(), "ok") << "500 of 1000";
  agents.groups.groups[0].ignore_daemonsets_utilization = false;
  EXPECT_EQ(agents.Verdict(), kUsedTooMuch);
  agents.groups.groups[0].ignore_daemonsets_utilization = true;
  agents.options.scale_down_utilization_threshold = 0.49;
  EXPECT_EQ(agents.Verdict(), kUsedTooMuch);

  Case mirror(Cluster().Add(Node("a")).Add(Node("b")).Add(
      Pod("static").On("a").Mirror().Memory(6 * test::kGiB)));
  mirror.Remove("a", {});
  EXPECT_EQ(mirror.Verdict(), kUsedTooMuch);
  mirror.options.ignore_mirror_pods_utilization = true;
  EXPECT_EQ(mirror.Verdict(), "ok");

  for (const auto& [age_s, verdict] : {std::pair(60, kUsedTooMuch), std::pair(61, "ok")}) {
    Case going(Cluster().Add(Node("a")).Add(Node("b")).Add(
        Pod("t").On("a").Cpu(3000).DeletedAt(test::kPassTime - age_s)));
    going.Remove("a", {});
    EXPECT_EQ(going.Verdict(), verdict) << age_s;
  }
}

// --- Word for word -----------------------------------------------------------------------

std::string Tampered(const std::function<void(Case&)>& tamper) {
  Case c = Honest();
  tamper(c);
  return c.Verdict();
}

TEST(VerifyTest, EveryIdThatAPlanNamesMustExist) {
  constexpr const char* kUnknown =
      "the plan is refused: it names a node or pod that does not exist";
  const auto node = [](const Case& c) {  // The first id that does not exist.
    return NodeId{static_cast<uint32_t>(c.snapshot.catalog().nodes())};
  };
  const auto pod = [](const Case& c) {
    return PodId{static_cast<uint32_t>(c.snapshot.catalog().pods())};
  };
  EXPECT_EQ(Tampered([&](Case& c) { c.plan.packed[0].pod = pod(c); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { c.plan.packed[0].to = node(c); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { A(c).node = node(c); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { A(c).moves[1].pod = pod(c); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { A(c).moves[1].to = node(c); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { A(c).daemonset.push_back(pod(c)); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { A(c).on_completion.push_back(pod(c)); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { c.plan.keep[0].node = node(c); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { c.plan.skipped.push_back(node(c)); }), kUnknown);
  EXPECT_EQ(Tampered([&](Case& c) { c.candidates.push_back(node(c)); }), "ok")
      << "that is not the plan's fault";
}

TEST(VerifyTest, EachCandidateHasOneVerdictInOneOfTheLists) {
  EXPECT_EQ(Tampered([](Case& c) { c.plan.skipped = {c.N("b")}; }),
            "the plan is refused: node \"b\" is not a candidate");
  EXPECT_EQ(Tampered([](Case& c) { c.plan.keep[0].node = c.N("b"); }),
            "the plan is refused: node \"b\" is not a candidate");
  EXPECT_EQ(Tampered([](Case& c) { c.plan.skipped = {c.N("a")}; }),
            "the plan is refused: node \"a\" has more than one verdict");
  EXPECT_EQ(Tampered([](Case& c) { c.plan.skipped = {c.N("full")}; }),
            "the plan is refused: node \"full\" has more than one verdict");
}

TEST(VerifyTest, PackedPodsNeedAnExistingNode) {
  EXPECT_EQ(Tampered([](Case& c) { c.snapshot.RemoveNode(c.N("b")); }),
            "the plan is refused: pod \"default/waiting\" was packed on node \"b\", which is gone");
}

TEST(VerifyTest, NoMorePodsMustFitThanWait) {
  EXPECT_EQ(Tampered([](Case& c) { c.input.must_fit = 5; }), "ok");
}

TEST(VerifyTest, ANodeThatIsReadyMayGoWhereUnreadyOnesMayNot) {
  EXPECT_EQ(Tampered([](Case& c) { c.options.scale_down_unready_enabled = false; }), "ok");
}

TEST(VerifyTest, EveryBudgetIsAccountedFor) {
  Case c(Cluster()
             .Add(Node("a"))
             .Add(Node("b"))
             .Add(Budget("one").MatchingEverything().Allows(3))
             .Add(Budget("two").MatchingEverything().Allows(5))
             .Add(Pod("p").On("a")));
  c.Remove("a", {{"p", "b"}});
  c.plan.pdb_remaining = {2, 4};
  EXPECT_EQ(c.Verdict(), "ok");
  c.plan.pdb_remaining = {2, 5};
  EXPECT_EQ(c.Verdict(),
            "the plan is refused: budget \"default/two\" has 4 disruptions left, not 5");
  c.plan.pdb_remaining = {2, 4, 0};
  EXPECT_EQ(c.Verdict(), "the plan is refused: it accounts for 3 budgets of 2");
}

TEST(VerifyTest, TheSpentOneOfSeveralBudgetsIsNamed) {
  Case c(Cluster()
             .Add(Node("a"))
             .Add(Node("b"))
             .Add(Node("c"))
             .Add(Budget("many").MatchingEverything().Allows(5))
             .Add(Budget("one").MatchingEverything().Allows(1))
             .Add(Pod("p").On("a"))
             .Add(Pod("q").On("b")));
  c.Remove("a", {{"p", "c"}});
  c.Remove("b", {{"q", "c"}}).risky = true;
  c.plan.pdb_remaining = {3, -1};
  EXPECT_EQ(c.Verdict(),
            "the plan is refused: node \"b\" goes although budget \"default/one\" has nothing left "
            "for pod \"default/q\"");
}

TEST(VerifyTest, RefusesANodeThatIsWronglyMarkedRisky) {
  Case c = Chain();
  c.Remove("a", {{"p", "b"}}).risky = true;
  EXPECT_EQ(c.Verdict(), "the plan is refused: node \"a\" is not risky");
}

TEST(VerifyTest, ADeletionThatWasGivenUpKeepsNoNode) {
  for (const auto& [age_s, verdict] :
       {std::pair(299, "the plan is refused: node \"a\" is being deleted already"),
        std::pair(300, "ok")}) {
    Case c(Cluster().Add(Node("a").Taint("ToBeDeletedByClusterAutoscaler",
                                         std::to_string(test::kPassTime - age_s))));
    c.Remove("a", {});
    EXPECT_EQ(c.Verdict(), verdict) << age_s;
  }
}

// Two pods of one shape, on which the rules give different verdicts.
TEST(VerifyTest, PodsThatDifferOnlyInTheirTimesAreCheckedOneByOne) {
  Case going(Cluster()
                 .Add(Node("a"))
                 .Add(Node("b"))
                 .Add(Pod("hangs").On("a").DeletedAt(test::kPassTime - 1000))
                 .Add(Pod("going").On("a").DeletedAt(test::kPassTime - 10)));
  going.Remove("a", {{"going", "b"}});
  EXPECT_EQ(going.Verdict(), "ok");

  Case system(Cluster()
                  .Add(Node("a"))
                  .Add(Node("b"))
                  .Add(Pod("old").In("kube-system").On("a").CreatedAt(test::kPassTime - 3601))
                  .Add(Pod("young").In("kube-system").On("a").CreatedAt(test::kPassTime - 10)));
  system.Remove("a", {}).moves = {
      {PodNamed(system.snapshot, "old", "kube-system"), system.N("b")},
      {PodNamed(system.snapshot, "young", "kube-system"), system.N("b")}};
  EXPECT_EQ(system.Verdict(),
            "the plan is refused: node \"a\" goes although pod \"kube-system/young\" keeps it: "
            "UnmovableKubeSystemPod");
}

TEST(VerifyTest, PodsThatEndedOrAreGoingKeepNoNodeOfKarpenters) {
  const auto verdict = [](const Pod& job) {
    Case c(Cluster().Add(Node("a")).Add(Node("b")).Add(
        Pod(job).On("a").Annotation("karpenter.sh/do-not-disrupt", "true")));
    c.groups.groups[0].managed_by = PoolManager::kKarpenter;
    c.Remove("a", {{"job", "b"}});
    return c.Verdict();
  };
  EXPECT_EQ(verdict(Pod("job")),
            "the plan is refused: node \"a\" goes although Karpenter must not disrupt pod "
            "\"default/job\"");
  EXPECT_EQ(verdict(Pod("job").Phase("Succeeded")), "ok");
  EXPECT_EQ(verdict(Pod("job").Phase("Failed")), "ok");
  EXPECT_EQ(verdict(Pod("job").DeletedAt(test::kPassTime)), "ok");
}

TEST(VerifyTest, APodThatMovesTwiceIsEvictedOnceAndSharesAreRoundedUp) {
  const auto verdict = [](double share) {
    Case c(Cluster()
               .Add(Node("a"))
               .Add(Node("b"))
               .Add(Node("c"))
               .Add(Pod("p").On("a"))
               .Add(Pod("q").On("b"))
               .Add(Pod("r").On("c"))
               .Add(Pod("s").On("c")));
    c.Remove("a", {{"p", "b"}});
    c.Remove("b", {{"q", "c"}, {"p", "c"}});
    c.input.max_workload_share = share;
    return c.Verdict();
  };
  EXPECT_EQ(verdict(0.5), "ok");
  EXPECT_EQ(verdict(0.3), "ok") << "1.2 are 2";
  EXPECT_EQ(verdict(0.25),
            "the plan is refused: pod \"default/q\" is evicted beyond the share of the 4 pods of "
            "default/ReplicaSet/rs/ReplicaSet/rs");
}

TEST(VerifyTest, PodsWithoutAControllerAreKeptByNoShare) {
  Case c(Cluster()
             .Add(Node("a"))
             .Add(Node("b"))
             .Add(Pod("p").On("a").WithoutOwner().SafeToEvict("true"))
             .Add(Pod("q").On("a").WithoutOwner().SafeToEvict("true")));
  c.Remove("a", {{"p", "b"}, {"q", "b"}});
  c.input.max_workload_share = 0.01;
  EXPECT_EQ(c.Verdict(), "ok");
}

// As strconv.ParseInt and the planner's filter read it.
TEST(VerifyTest, ANumberMayHaveManyZerosInFront) {
  Case c(Cluster()
             .Add(Node("a"))
             .Add(Node("b").Label("gen", std::string(18, '0') + "12"))
             .Add(Affine(Pod("p").On("a"), "gen", "Gt", {"9"})));
  c.Remove("a", {{"p", "b"}});
  EXPECT_EQ(c.Verdict(), "ok");
}

}  // namespace
}  // namespace ebb::verify_test
