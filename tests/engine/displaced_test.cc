#include "engine/displaced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snapshot/objects/object_ref.h"
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

TEST(PodsToPutBackTest, OnlyAsManyPodsAsTheOwnerLacks) {
  using enum objects::ControllerKind;
  for (const auto kind : {kStatefulSet, kJob, kReplicaSet, kReplicationController}) {
    Controller owner = Controller(kind, "owner").Replicas(5);
    owner.raw.status_replicas = 3;
    EXPECT_THAT(PodsToPutBack(ThreeEvicted(owner), Evictions()), SizeIs(2))
        << objects::KindOf(kind);
  }
}

TEST(PodsToPutBackTest, AJobLacksAtMostItsRemainingCompletions) {
  Controller owner = Controller(objects::ControllerKind::kJob, "owner").Replicas(5);
  owner.raw.completions = 4;
  owner.raw.succeeded = 3;
  owner.raw.status_replicas = 0;
  EXPECT_THAT(PodsToPutBack(ThreeEvicted(owner), Evictions()), SizeIs(1));
}

TEST(PodsToPutBackTest, APodComesOnceAndNotWhenItHasEnded) {
  Cluster cluster;
  cluster.Add(Node("a")).Add(Pod("p0").Uid("p0").WithoutOwner());
  cluster.Add(Pod("p1").Uid("p1").WithoutOwner().Phase("Succeeded"));
  cluster.Add(Pod("p2").Uid("p2").WithoutOwner().Phase("Failed"));
  const ClusterSnapshot snapshot = cluster.Build();
  std::vector<EvictedPod> evictions = Evictions();
  evictions.push_back(evictions[0]);
  const std::vector<PodId> pods = PodsToPutBack(snapshot, evictions);
  EXPECT_THAT(pods, ::testing::ElementsAre(test::PodNamed(snapshot, "p0")));
}

constexpr int64_t kNow = 1'000'000;

TEST(PodsToReplaceTest, OnlyPodsThatAControllerRecreatesElsewhere) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Pod("mirror").On("a").Mirror())
          .Add(Pod("static").On("a").Annotation("kubernetes.io/config.source", "file"))
          .Add(Pod("agent").On("a").DaemonSet())
          .Add(Pod("succeeded").On("a").Phase("Succeeded"))
          .Add(Pod("failed").On("a").Phase("Failed"))
          .Add(Pod("going").On("a").DeletedAt(kNow - 1))
          .Add(Pod("hangs").On("a").DeletedAt(kNow - 1000))
          .Add(Pod("elsewhere").On("b"))
          .Add(Pod("from-api").On("a").Annotation("kubernetes.io/config.source", "api"))
          .Add(Pod("pending").On("a").Phase("Pending"))
          .Add(Pod("bare").On("a").WithoutOwner())
          .Build();
  EXPECT_EQ(
      PodsToReplace(snapshot, test::NodeNamed(snapshot, "a"), kNow),
      (std::vector<PodId>{test::PodNamed(snapshot, "from-api"), test::PodNamed(snapshot, "pending"),
                          test::PodNamed(snapshot, "bare")}));
}

// Each pod is skipped individually: the last one is put back.
TEST(PodsToPutBackTest, APodThatIsNotReplacedHidesNoLaterPod) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Pod("runs").On("a").Uid("runs").WithoutOwner())
          .Add(Pod("newer").Uid("newer-1").WithoutOwner())
          .Add(Pod("mirror").Uid("mirror").Mirror())
          .Add(Pod("static").Uid("static").Annotation("kubernetes.io/config.source", "file"))
          .Add(Pod("agent").Uid("agent").DaemonSet())
          .Add(Pod("any").Uid("any-1").WithoutOwner())
          .Add(Pod("last").Uid("last").WithoutOwner())
          .Build();
  std::vector<EvictedPod> evictions;
  for (const char* name : {"gone", "runs", "newer", "mirror", "static", "agent", "any", "last"}) {
    EvictedPod& eviction = evictions.emplace_back();
    eviction.namespace_name = "default";
    eviction.name = name;
    eviction.uid = std::string(name) == "any" ? "" : name;
  }
  EXPECT_THAT(
      PodsToPutBack(snapshot, evictions),
      ::testing::ElementsAre(test::PodNamed(snapshot, "any"), test::PodNamed(snapshot, "last")));
}

TEST(PodsToPutBackTest, AllPodsIfTheOwnerIsMissing) {
  Cluster cluster;
  cluster.Add(Node("a"));
  for (const char* name : {"p0", "p1", "p2"}) {
    cluster.Add(Pod(name).Uid(name).OwnedByMissing("ReplicaSet", "owner"));
  }
  EXPECT_THAT(PodsToPutBack(cluster.Build(), Evictions()), SizeIs(3));
}

TEST(PodsToPutBackTest, AnOwnerWithoutReplicasWantsOne) {
  Controller owner(objects::ControllerKind::kReplicaSet, "owner");
  EXPECT_THAT(PodsToPutBack(ThreeEvicted(owner), Evictions()), SizeIs(1));
  owner.raw.status_replicas = 1;
  EXPECT_THAT(PodsToPutBack(ThreeEvicted(owner), Evictions()), SizeIs(0));
}

TEST(PodsToPutBackTest, TheFirstOwnerThatMakesPodsCounts) {
  Cluster cluster;
  cluster.Add(Node("a")).Add(Controller(objects::ControllerKind::kReplicaSet, "owner"));
  for (const char* name : {"p0", "p1", "p2"}) {
    Pod pod(name);
    pod.Uid(name);
    pod.controller_exists = false;
    pod.raw.meta.owners = {{"example.com/v1", "Game", "g", "g", true},
                           {"apps/v1", "ReplicaSet", "owner", "u", false},
                           {"batch/v1", "Job", "none", "j", false}};
    cluster.Add(pod);
  }
  EXPECT_THAT(PodsToPutBack(cluster.Build(), Evictions()), SizeIs(1));
}

}  // namespace
}  // namespace ebb::displaced_test
