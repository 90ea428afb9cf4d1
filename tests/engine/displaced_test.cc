#include "engine/displaced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snapshot/object_ref.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::displaced_test {
namespace {

using test::Cluster;
using test::Controller;
using test::Node;
using test::Pod;
using ::testing::SizeIs;

// Three evicted pods of one owner, which are on no node.
ClusterSnapshot ThreeEvicted(const Controller& owner) {
  const std::string kind(objects::KindOf(owner.raw.kind));
  Cluster cluster;
  cluster.Add(Node("a")).Add(owner);
  for (const char* name : {"p0", "p1", "p2"}) {
    Pod pod(name);
    pod.OwnedBy(kind, "owner").Uid(name);
    pod.controller_exists = false;  // It was added above.
    cluster.Add(pod);
  }
  return cluster.Build();
}

std::vector<EvictedPod> Evictions() {
  std::vector<EvictedPod> evictions;
  for (const char* name : {"p0", "p1", "p2"}) {
    EvictedPod& eviction = evictions.emplace_back();
    eviction.namespace_name = "default";
    eviction.name = name;
    eviction.uid = name;
  }
  return evictions;
}

TEST(PodsToPutBackTest, AsManyAsTheOwnerLacks) {
  using enum objects::ControllerKind;
  for (const auto kind : {kStatefulSet, kJob, kReplicaSet, kReplicationController}) {
    Controller owner = Controller(kind, "owner").Replicas(5);
    owner.raw.status_replicas = 3;
    EXPECT_THAT(PodsToPutBack(ThreeEvicted(owner), Evictions()), SizeIs(2))
        << objects::KindOf(kind);
  }
}

TEST(PodsToPutBackTest, AJobLacksNoMoreThanIsLeftToComplete) {
  Controller owner = Controller(objects::ControllerKind::kJob, "owner").Replicas(5);
  owner.raw.completions = 4;
  owner.raw.succeeded = 3;
  owner.raw.status_replicas = 0;
  EXPECT_THAT(PodsToPutBack(ThreeEvicted(owner), Evictions()), SizeIs(1));
}

TEST(PodsToPutBackTest, APodComesOnceAndNotWhenItHasEnded) {
  Cluster cluster;
  cluster.Add(Node("a")).Add(Pod("p0").Uid("p0").OwnedByNobody());
  cluster.Add(Pod("p1").Uid("p1").OwnedByNobody().Phase("Succeeded"));
  cluster.Add(Pod("p2").Uid("p2").OwnedByNobody().Phase("Failed"));
  const ClusterSnapshot snapshot = cluster.Build();
  std::vector<EvictedPod> evictions = Evictions();
  evictions.push_back(evictions[0]);
  const std::vector<PodId> pods = PodsToPutBack(snapshot, evictions);
  EXPECT_THAT(pods, ::testing::ElementsAre(test::PodNamed(snapshot, "p0")));
}

}  // namespace
}  // namespace ebb::displaced_test
