#include "report/place_tally.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/random_cluster.h"

namespace ebb::place_tally_test {
namespace {

void ExpectEqual(const PlaceTally& a, const PlaceTally& b) {
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.fits, b.fits);
  EXPECT_EQ(a.first_fit, b.first_fit);
  EXPECT_EQ(a.Text(), b.Text());
}

// Nodes of the cluster that run pods.
std::vector<NodeId> Busy(const ClusterSnapshot& snapshot) {
  std::vector<NodeId> busy;
  snapshot.alive().ForEach([&](NodeId node) {
    if (!snapshot.PodsOn(node).empty()) busy.push_back(node);
  });
  return busy;
}

// Random clusters in which every filter rejects something; between questions pods move and nodes
// go.
TEST(PlaceTalliesTest, TheTallyEqualsTheVerdictsOfEveryFilterOnEveryNode) {
  std::mt19937 random(3);
  size_t questions = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<uint8_t> bytes(2000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    test::Choices choices(bytes);
    absl::StatusOr<ClusterSnapshot> built = test::BuildSnapshot(test::RandomCluster(choices));
    if (!built.ok()) continue;
    ClusterSnapshot& snapshot = *built;
    PlaceTallies tallies;
    std::vector<NodeId> changed;
    for (int step = 0; step < 30; ++step) {
      const std::vector<NodeId> busy = Busy(snapshot);
      if (busy.empty()) break;
      const NodeId node = busy[random() % busy.size()];
      const std::vector<PodId> pods(snapshot.PodsOn(node).begin(), snapshot.PodsOn(node).end());
      snapshot.Fork();
      snapshot.SetGhost(node);
      for (const PodId pod : pods) {
        ExpectEqual(*tallies.Of(snapshot, changed, pod), TallyPlaces(snapshot, pod));
        ++questions;
      }
      snapshot.Revert();
      ASSERT_FALSE(HasFailure()) << "round " << round << ", step " << step;
      if (random() % 3 == 0) {
        const NodeId to = snapshot.NodeAt(random() % snapshot.nodes());
        if (to == node) continue;
        snapshot.MovePod(pods[random() % pods.size()], to);
        changed.push_back(node);
        changed.push_back(to);
      } else if (random() % 8 == 0) {
        snapshot.RemoveNode(node);
        changed.push_back(node);
      }
    }
  }
  EXPECT_GT(questions, 5000u);
}

}  // namespace
}  // namespace ebb::place_tally_test
