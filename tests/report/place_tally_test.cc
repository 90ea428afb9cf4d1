#include "report/place_tally.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/random_cluster.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::place_tally_test {
namespace {

void ExpectEqual(const PlaceTally& a, const PlaceTally& b) {
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.fits, b.fits);
  EXPECT_EQ(a.first_fit, b.first_fit);
  EXPECT_EQ(a.Text(), b.Text());
  EXPECT_EQ(a.details_left_out, b.details_left_out);
  ASSERT_EQ(a.details.size(), b.details.size());
  for (size_t i = 0; i < a.details.size(); ++i) EXPECT_EQ(a.details[i].text, b.details[i].text);
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

// Symptom: no answer named the devices that did not serve a pod.
TEST(PlaceTalliesTest, TheFirstNodesSayWhyTheirDevicesDoNotServe) {
  objects::DeviceClass gpu;
  gpu.meta.name = "gpu";
  objects::ResourceClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = "c";
  claim.meta.owners = {
      {.api_version = "v1", .kind = "Pod", .name = "p", .uid = "u", .controller = true}};
  claim.requests.emplace_back().asks.emplace_back().class_name = "gpu";
  claim.requests[0].name = "r";
  test::Cluster cluster;
  cluster.Add(gpu).Add(claim);
  for (const char* const name : {"a", "b", "c", "d", "e"}) cluster.Add(test::Node(name));
  test::Pod pod("p");
  pod.raw.meta.uid = "u";
  pod.raw.resource_claims = {{"gpu", "c", "one"}};
  const ClusterSnapshot snapshot = cluster.Add(pod).Build();
  const PlaceTally tally = TallyPlaces(snapshot, test::PodNamed(snapshot, "p"));
  EXPECT_EQ(tally.fits, 0u);
  ASSERT_EQ(tally.details.size(), PlaceTally::kDetailsMax);
  EXPECT_EQ(tally.details[2].node, test::NodeNamed(snapshot, "c"));
  EXPECT_EQ(tally.details[0].text, "the node reaches no devices");
  EXPECT_EQ(tally.details_left_out, 2u);
}

}  // namespace
}  // namespace ebb::place_tally_test
