// The scan, within pass forks, compared with a slow and simple twin.  The twin walks over the list
// of nodes and evaluates every filter, on a snapshot in which every pod is placed and which is
// copied for each attempt.

#include "engine/pass/pod_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/pass/pass_fork.h"
#include "predicates/filters.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::pod_scan_test {
namespace {

using test::Cluster;
using test::Dice;
using test::Node;
using test::Pod;

std::string Name(const char* what, int n) { return what + std::to_string(n); }

Node MakeNode(int n, Dice& dice) {
  Node node(Name("n", n));
  node.Label("kubernetes.io/hostname", Name("n", n)).Label("zone", Name("z", n % 3));
  node.Label("pool", dice.Percent(60) ? "a" : "b");
  node.Cpu(100 * (1 + dice.Below(20))).Memory(100 * (1 + dice.Below(20)));
  node.Pods(dice.Percent(20) ? dice.Below(6) : 110);
  if (dice.Percent(50)) node.Resource("example.com/device", dice.Below(4));
  if (dice.Percent(10)) node.Taint("dedicated");
  if (dice.Percent(5)) node.Unschedulable();
  if (dice.Percent(50)) {
    node.raw.declared_features = {"RestartAllContainersOnContainerExits"};
  }
  return node;
}

// A pod of one of twelve kinds, so that every filter has pods to judge.
Pod MakePod(int p, int kind, int nodes, Dice& dice) {
  const std::string app = Name("app", kind);
  Pod pod(Name("p", p));
  pod.Label("app", app).OwnedBy("ReplicaSet", app);
  pod.Cpu(40 * (1 + kind % 5)).Memory(20 * (1 + kind % 3));
  if (kind == 0) pod.HostPort(80);
  if (kind == 1) pod.Spread("zone", 1, test::Select("app", app));
  if (kind == 2) pod.Away("kubernetes.io/hostname", test::Select("app", app));
  if (kind == 3) pod.Near("zone", test::Select("app", app));
  if (kind == 4) pod.NodeSelector("pool", "a");
  if (kind == 5) pod.NodeSelector("kubernetes.io/hostname", Name("n", nodes / 2));
  if (kind == 6) pod.Request("example.com/device", 1);
  if (kind == 7) pod.ToleratesKey("dedicated");
  if (kind == 8) {
    pod.With([](objects::Pod& raw) { raw.containers[0].restarts_all_containers = true; });
  }
  if (kind == 9) {
    pod.With([](objects::Pod& raw) {
      objects::Volume& volume = raw.volumes.emplace_back();
      volume.name = "disk";
      volume.source = "gcePersistentDisk";
      volume.id = "disk";
    });
  }
  const int at = dice.Below(nodes);
  if (dice.Percent(90)) pod.On(Name("n", at));
  return pod;
}

class Twin {
 public:
  explicit Twin(const ClusterSnapshot& snapshot)
      : snapshot_(snapshot), destinations_(snapshot.alive()) {}

  // Starts another pass; the pointer is kept.
  void Reset(const ClusterSnapshot& snapshot) {
    snapshot_ = snapshot;
    attempt_.reset();
    destinations_ = snapshot.alive();
  }
  void SetDestinations(const NodeSet& destinations) { destinations_ = destinations; }

  [[nodiscard]] ClusterSnapshot& now() { return attempt_ ? *attempt_ : snapshot_; }
  [[nodiscard]] uint64_t pointer() const { return pointer_; }

  [[nodiscard]] bool Fits(PodId pod, NodeId node) {
    return now().Contains(node) && !now().IsGhost(node) && destinations_.Contains(node) &&
           Explain(now(), now().catalog().shape_of(pod), node).fits;
  }

  NodeId Find(PodId pod) {
    std::vector<NodeId> nodes;
    now().alive().ForEach([&](NodeId node) { nodes.push_back(node); });
    for (size_t step = 1; step <= nodes.size(); ++step) {
      const size_t index = (pointer_ + step) % nodes.size();
      if (now().catalog().node(nodes[index]).unschedulable || !Fits(pod, nodes[index])) continue;
      pointer_ = index;
      return nodes[index];
    }
    return kNoNode;
  }

  void Begin(NodeId node) {
    attempt_ = snapshot_;
    while (!attempt_->PodsOn(node).empty()) attempt_->RemovePod(attempt_->PodsOn(node).front());
    attempt_->SetGhost(node);
  }
  void Commit() {
    const NodeId node = attempt_->ghost();
    attempt_->ClearGhost();
    attempt_->RemoveNode(node);
    snapshot_ = *attempt_;
    attempt_.reset();
  }
  void Revert() { attempt_.reset(); }

 private:
  ClusterSnapshot snapshot_;
  std::optional<ClusterSnapshot> attempt_;
  NodeSet destinations_;
  uint64_t pointer_ = 0;
};

struct Seen {
  int placed = 0, nowhere = 0, committed = 0, reverted = 0, hinted = 0, in_a_row = 0;
};

class Comparison {
 public:
  explicit Comparison(uint64_t seed)
      : dice_(seed),
        snapshot_(MakeCluster()),
        twin_(snapshot_),
        nodes_(static_cast<int>(snapshot_.nodes())) {}

  void Pass(Seen& seen) {
    const std::string before = snapshot_.Fingerprint();
    twin_.Reset(snapshot_);
    {
      PassFork fork(snapshot_, memory_);
      Pack(fork, seen);
      NodeSet destinations = snapshot_.alive();
      for (uint32_t n = 0; n < snapshot_.catalog().nodes(); ++n) {
        if (dice_.Percent(10)) destinations.Erase(NodeId{n});
      }
      fork.SetDestinations(destinations);
      twin_.SetDestinations(destinations);
      for (int attempt = 0; attempt < 25 && snapshot_.nodes() > 1; ++attempt) {
        TryNode(fork, seen);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    EXPECT_EQ(snapshot_.Fingerprint(), before);
    EXPECT_TRUE(snapshot_.CheckInvariants().ok());
    EXPECT_EQ(memory_.pointer(), twin_.pointer());
  }

 private:
  ClusterSnapshot MakeCluster() {
    const int nodes = dice_.Percent(60) ? 2 + dice_.Below(10) : 60 + dice_.Below(140);
    Cluster cluster;
    for (int n = 0; n < nodes; ++n) cluster.Add(MakeNode(n, dice_));
    for (int p = 0; p < 5 * nodes; ++p) cluster.Add(MakePod(p, dice_.Below(12), nodes, dice_));
    return cluster.Build();
  }

  // Packs the pods that are on no node.
  void Pack(PassFork& fork, Seen& seen) {
    for (uint32_t p = 0; p < snapshot_.catalog().pods(); ++p) {
      if (snapshot_.NodeOf(PodId{p}) == kNoNode) Place(fork, PodId{p}, seen);
    }
  }

  void TryNode(PassFork& fork, Seen& seen) {
    const NodeId node =
        snapshot_.NodeAt(static_cast<size_t>(dice_.Below(static_cast<int>(snapshot_.nodes()))));
    const std::span<const PodId> there = fork.PodsOn(node);
    const std::vector<PodId> pods(there.begin(), there.end());
    const std::span<const PodId> expected = twin_.now().PodsOn(node);
    ASSERT_EQ(pods, std::vector<PodId>(expected.begin(), expected.end()));
    {
      RemovalAttempt attempt(fork, node);
      twin_.Begin(node);
      for (size_t p = 0; p < pods.size();) {
        Place(fork, pods[p], seen);
        if (testing::Test::HasFatalFailure()) return;
        ++p;
        if (dice_.Percent(50)) p += PlaceNext(fork, std::span(pods).subspan(p), pods[p - 1], seen);
        if (testing::Test::HasFatalFailure()) return;
      }
      if (dice_.Percent(40)) {
        attempt.Commit();
        twin_.Commit();
        ++seen.committed;
      } else {
        twin_.Revert();
        ++seen.reverted;
      }
    }
    ASSERT_NO_FATAL_FAILURE(CompareRoom());
  }

  void Place(PassFork& fork, PodId pod, Seen& seen) {
    PodScan& scan = fork.scan();
    fork.BeginRun(snapshot_.catalog().shape_id(pod));
    NodeId node{static_cast<uint32_t>(dice_.Below(nodes_))};
    if (dice_.Percent(30)) {
      const bool fits = scan.IsOpen(node) && scan.Fits(node);
      ASSERT_EQ(fits, twin_.Fits(pod, node));
      if (!fits) return;
      ++seen.hinted;
    } else {
      node = scan.FindNode();
      ASSERT_EQ(node, twin_.Find(pod));
      if (node == kNoNode) {
        ++seen.nowhere;
        return;
      }
    }
    if (dice_.Percent(5)) return;  // A caller need not place the pod.
    fork.Put(pod, node);
    twin_.now().AddPod(pod, node);
    ++seen.placed;
  }

  // Places pods that are alike `before`, for which Place was just called, as far as PutNext goes.
  // Returns how many.
  size_t PlaceNext(PassFork& fork, std::span<const PodId> pods, PodId before, Seen& seen) {
    const Catalog& catalog = snapshot_.catalog();
    size_t alike = 0;
    while (alike < pods.size() && catalog.shape_id(pods[alike]) == catalog.shape_id(before)) {
      ++alike;
    }
    const size_t put = fork.PutNext(pods.first(alike));
    for (const auto& [pod, node] : std::span(fork.moves()).last(put)) {
      EXPECT_EQ(node, twin_.Find(pod));
      twin_.now().AddPod(pod, node);
    }
    seen.in_a_row += static_cast<int>(put);
    return put;
  }

  // Free amounts must be those of a cluster in which every pod is placed.
  void CompareRoom() {
    twin_.now().alive().ForEach([&](NodeId node) {
      for (uint32_t r = 0; r < snapshot_.catalog().resources(); ++r) {
        ASSERT_EQ(snapshot_.Free(ResourceId{r}, node), twin_.now().Free(ResourceId{r}, node));
      }
    });
  }

  Dice dice_;
  ClusterSnapshot snapshot_;
  PassForkMemory memory_;
  Twin twin_;
  const int nodes_;
};

TEST(PodScanTest, FindsWhatAWalkOverAllNodesFinds) {
  const uint64_t first = test::RandomSeed();
  Seen seen;
  for (uint64_t seed = first * 1'000'000; seed < first * 1'000'000 + 60; ++seed) {
    SCOPED_TRACE("cluster " + std::to_string(seed));
    Comparison comparison(seed);
    for (int pass = 0; pass < 3; ++pass) {
      ASSERT_NO_FATAL_FAILURE(comparison.Pass(seen)) << "pass " << pass;
    }
  }
  EXPECT_GT(seen.placed, 1000);
  EXPECT_GT(seen.nowhere, 1000);
  EXPECT_GT(seen.hinted, 500);
  EXPECT_GT(seen.committed, 500);
  EXPECT_GT(seen.reverted, 500);
  EXPECT_GT(seen.in_a_row, 20);
}

}  // namespace
}  // namespace ebb::pod_scan_test
