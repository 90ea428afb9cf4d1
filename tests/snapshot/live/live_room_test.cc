// Gangs, CapacityBuffers and VerticalPodAutoscalers in a cluster that changes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "snapshot/builder_sink.h"
#include "snapshot/live/live_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::live_room_test {
namespace {

using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename Object>
Object Named(std::string_view name) {
  Object object;
  object.meta.name = name;
  object.meta.namespace_name = "default";
  return object;
}

class LiveRoomTest : public ::testing::Test {
 protected:
  void Put(const objects::ObjectRef& object) {
    const Change change{.object = object};
    ASSERT_TRUE(live_.Take({&change, 1}).ok());
  }
  void Put(const objects::StorageObject& object) { Put(objects::ObjectRef(&object)); }
  void Delete(const objects::ObjectRef& object) {
    const Change change{.type = Change::Type::kDelete, .object = object};
    ASSERT_TRUE(live_.Take({&change, 1}).ok());
  }
  std::vector<std::string> Pending() {
    std::vector<std::string> names;
    for (const PodId pod : live_.Pending()) {
      names.push_back(live_.Snapshot().catalog().PodName(pod));
    }
    return names;
  }
  bool IsHeld(std::string_view name) {
    ClusterSnapshot& snapshot = live_.Snapshot();
    return snapshot.catalog().HoldingGang(live_.FindPod("default", name)).has_value();
  }
  // What is free on the node, as an import of the same objects gives it too.
  int64_t FreeCpu(std::string_view node) {
    ClusterSnapshot& snapshot = live_.Snapshot();
    EXPECT_TRUE(snapshot.CheckInvariants().ok()) << snapshot.CheckInvariants();
    SnapshotBuilder builder;
    BuilderSink sink(builder);
    EXPECT_TRUE(live_.Export(sink).ok());
    const ClusterSnapshot imported = std::move(builder).Build().value();
    const int64_t free = snapshot.Free(kCpu, *snapshot.catalog().FindNode(node));
    EXPECT_EQ(imported.Free(kCpu, *imported.catalog().FindNode(node)), free);
    EXPECT_EQ(imported.catalog().BufferPods().size(), snapshot.catalog().BufferPods().size());
    return free;
  }

  LiveSnapshot live_;
  const Node a_ = Node("a").Cpu(4000);
  const Node b_ = Node("b").Cpu(4000);
};

Pod Member(std::string_view name, std::string_view node) {
  Pod pod(name);
  pod.On(node).Cpu(100);
  pod.raw.scheduling_group = "train";
  return pod;
}

TEST_F(LiveRoomTest, AGangFollowsItsPodsAndItsGroup) {
  Put(&a_.raw);
  Put(&b_.raw);
  const Pod one = Member("one", "a");
  const Pod two = Member("two", "b");
  const Pod three = Member("three", "b");
  Put(&one.raw);
  EXPECT_TRUE(IsHeld("one"));  // Its group is not known.
  Put(&two.raw);
  EXPECT_TRUE(IsHeld("one"));
  EXPECT_TRUE(IsHeld("two"));
  auto group = Named<objects::PodGroup>("train");
  group.group = "scheduling.k8s.io";
  group.min_count = 2;
  Put(objects::StorageObject(group));
  EXPECT_TRUE(IsHeld("one"));
  Put(&three.raw);
  EXPECT_FALSE(IsHeld("one"));  // One more than the minimum runs.
  EXPECT_TRUE(IsHeld("two"));
  Delete(&three.raw);
  EXPECT_TRUE(IsHeld("one"));
  Delete(&two.raw);
  group.min_count = 1;
  Put(objects::StorageObject(group));
  EXPECT_FALSE(IsHeld("one"));
}

TEST_F(LiveRoomTest, AnEvictionRequestComesAndGoes) {
  Put(&a_.raw);
  const Pod pod = Pod("web").On("a").Cpu(500);
  Put(&pod.raw);
  const auto requested = [&] {
    const Catalog& catalog = live_.Snapshot().catalog();
    return std::string(catalog.Text(catalog.FindEvictionRequest(live_.FindPod("default", "web"))));
  };
  EXPECT_EQ(requested(), "");
  auto request = Named<objects::EvictionRequest>("r");
  request.pod = "web";
  request.active = true;
  Put(objects::StorageObject(request));
  EXPECT_EQ(requested(), "r");
  request.active = false;
  Put(objects::StorageObject(request));
  EXPECT_EQ(requested(), "");
}

// A branch keeps what it saw.
// Ended pods are not in the snapshot, and count for their gang.
TEST_F(LiveRoomTest, AGangCountsItsPodsThatHaveEnded) {
  const auto member = [](std::string_view name, std::string_view phase) {
    return Pod(name)
        .On("a")
        .Cpu(100)
        .Phase(phase)
        .Label("kueue.x-k8s.io/pod-group-name", "train")
        .Annotation("kueue.x-k8s.io/pod-group-total-count", "2");
  };
  const auto state = [&]() -> GangStates::State {
    return live_.Snapshot().catalog().gang_states().gangs.at(0);
  };
  Put(&a_.raw);
  const Pod one = member("one", "Running");
  Put(&one.raw);
  EXPECT_TRUE(IsHeld("one"));
  EXPECT_EQ(state().missing, 1);
  const Pod running = member("two", "Running");
  Put(&running.raw);
  EXPECT_EQ(state().missing, 0);
  EXPECT_TRUE(IsHeld("one"));
  const Pod ended = member("two", "Succeeded");
  Put(&ended.raw);
  EXPECT_EQ(state().absent.succeeded, 1);
  EXPECT_FALSE(IsHeld("one"));
  // Also after the catalog was built again.
  live_.SetVersion(KubernetesVersion::k137);
  EXPECT_EQ(state().absent.succeeded, 1);
  Delete(&ended.raw);
  EXPECT_EQ(state().absent.succeeded, 0);
  EXPECT_EQ(state().missing, 1);
  EXPECT_TRUE(IsHeld("one"));
}

TEST_F(LiveRoomTest, AReaderDoesNotSeeAGangGrow) {
  Put(&a_.raw);
  Put(&b_.raw);
  auto group = Named<objects::PodGroup>("train");
  group.group = "scheduling.k8s.io";
  group.min_count = 1;
  group.whole = true;
  Put(objects::StorageObject(group));
  const Pod one = Member("one", "a");
  const Pod two = Member("two", "b");
  Put(&one.raw);
  LiveBranch branch = live_.Branch();
  const PodId id = live_.FindPod("default", "one");
  Put(&two.raw);
  EXPECT_TRUE(IsHeld("one"));
  EXPECT_FALSE(branch.Snapshot().catalog().HoldingGang(id));
}

TEST_F(LiveRoomTest, PodsOfABufferComeChangeAndGoWithIt) {
  Put(&a_.raw);
  const Pod pod = Pod("web").On("a").Cpu(500);
  Put(&pod.raw);
  auto from = Named<objects::PodTemplate>("t");
  from.pod.containers.emplace_back().requests = {{.name = "cpu", .amount = 1000}};
  auto buffer = Named<objects::CapacityBuffer>("buf");
  buffer.template_name = "t";
  buffer.replicas = 2;
  buffer.ready = true;
  Put(objects::StorageObject(buffer));
  EXPECT_THAT(Pending(), IsEmpty());
  Put(objects::StorageObject(from));
  EXPECT_THAT(Pending(),
              ElementsAre("default/capacity-buffer-buf-1", "default/capacity-buffer-buf-2"));
  EXPECT_EQ(FreeCpu("a"), 3500);
  // Pods that come and go beside them.
  const Pod waiting = Pod("waiting").Cpu(1);
  Put(&waiting.raw);
  const Pod other = Pod("other").On("a").Cpu(7);
  Put(&other.raw);
  Delete(&pod.raw);
  EXPECT_EQ(FreeCpu("a"), 3993);
  EXPECT_EQ(live_.Pods(), 2u);
  EXPECT_EQ(Pending().back(), "default/capacity-buffer-buf-2");
  buffer.replicas = 1;
  Put(objects::StorageObject(buffer));
  EXPECT_EQ(Pending().back(), "default/capacity-buffer-buf-1");
  const objects::StorageObject gone = buffer;
  Delete(&gone);
  EXPECT_EQ(FreeCpu("a"), 3993);
  for (const std::string& name : Pending()) EXPECT_EQ(name, "default/waiting");
}

TEST_F(LiveRoomTest, ARecommendationChangesWhatPodsAskForAndNotWhatTheyTake) {
  Put(&a_.raw);
  Put(&b_.raw);
  const Pod web = Pod("web")
                      .On("a")
                      .Cpu(500)
                      .OwnedBy("ReplicaSet", "web-4b5e")
                      .Label("pod-template-hash", "4b5e");
  Put(&web.raw);
  auto vpa = Named<objects::VerticalPodAutoscaler>("vpa");
  vpa.target_kind = "Deployment";
  vpa.target_name = "web";
  vpa.has_recommendation = true;
  vpa.recommendations.push_back(
      {.container = web.raw.containers[0].name, .target = {{.name = "cpu", .amount = 2000}}});
  Put(objects::StorageObject(vpa));
  const auto asks = [&] {
    const ClusterSnapshot& snapshot = live_.Snapshot();
    return AmountOf(snapshot.catalog().shape_of(live_.FindPod("default", "web")).fit_requests,
                    kCpu);
  };
  EXPECT_EQ(asks(), 2000);
  EXPECT_EQ(FreeCpu("a"), 3500);
  // A pod of the same kind that comes later, and the first that comes again, on another node.
  const Pod more = Pod("more")
                       .On("b")
                       .Cpu(500)
                       .OwnedBy("ReplicaSet", "web-4b5e")
                       .Label("pod-template-hash", "4b5e");
  Put(&more.raw);
  EXPECT_EQ(FreeCpu("b"), 3500);
  const Pod moved = Pod("web")
                        .On("b")
                        .Cpu(500)
                        .OwnedBy("ReplicaSet", "web-4b5e")
                        .Label("pod-template-hash", "4b5e");
  Put(&moved.raw);
  EXPECT_EQ(FreeCpu("a"), 4000);
  EXPECT_EQ(FreeCpu("b"), 3000);
  Delete(&b_.raw);
  Put(&b_.raw);
  EXPECT_EQ(FreeCpu("b"), 3000);
  vpa.recommendations[0].target[0].amount = 700;
  Put(objects::StorageObject(vpa));
  EXPECT_EQ(asks(), 700);
  const objects::StorageObject gone = vpa;
  Delete(&gone);
  EXPECT_EQ(asks(), 500);
  EXPECT_EQ(FreeCpu("b"), 3000);
}

// A node that begins to go takes its pod from those that the gang may lose.
TEST_F(LiveRoomTest, AGangFollowsTheDeletionOfANode) {
  Put(&a_.raw);
  Put(&b_.raw);
  const Node c = Node("c").Cpu(4000);
  Put(&c.raw);
  const Pod pods[] = {Member("one", "a"), Member("two", "b"), Member("three", "c")};
  for (const Pod& pod : pods) Put(&pod.raw);
  auto group = Named<objects::PodGroup>("train");
  group.group = "scheduling.k8s.io";
  group.min_count = 2;
  Put(objects::StorageObject(group));
  EXPECT_FALSE(IsHeld("one"));
  Node going = c;
  going.raw.meta.deletion_time = 1;
  Put(&going.raw);
  EXPECT_TRUE(IsHeld("one"));
  EXPECT_TRUE(IsHeld("two"));
  Put(&c.raw);
  EXPECT_FALSE(IsHeld("one"));
}

// The controller behind a ReplicaSet may arrive after the pods and the VerticalPodAutoscaler.
TEST_F(LiveRoomTest, AVpaFindsItsPodsWhenTheChainOfControllersIsThere) {
  Put(&a_.raw);
  const Pod web = Pod("web").On("a").Cpu(500).OwnedBy("ReplicaSet", "web-4b5e");
  Put(&web.raw);
  auto vpa = Named<objects::VerticalPodAutoscaler>("vpa");
  vpa.target_kind = "Rollout";
  vpa.target_name = "shop";
  vpa.has_recommendation = true;
  vpa.recommendations.push_back(
      {.container = web.raw.containers[0].name, .target = {{.name = "cpu", .amount = 2000}}});
  Put(objects::StorageObject(vpa));
  const auto asks = [&] {
    const ClusterSnapshot& snapshot = live_.Snapshot();
    return AmountOf(snapshot.catalog().shape_of(live_.FindPod("default", "web")).fit_requests,
                    kCpu);
  };
  EXPECT_EQ(asks(), 500);
  objects::Controller replica_set;
  replica_set.kind = objects::ControllerKind::kReplicaSet;
  replica_set.meta.name = "web-4b5e";
  replica_set.meta.namespace_name = "default";
  replica_set.meta.owners = {{.api_version = "argoproj.io/v1alpha1",
                              .kind = "Rollout",
                              .name = "shop",
                              .uid = "1",
                              .controller = true}};
  Put(&replica_set);
  EXPECT_EQ(asks(), 2000);
}

}  // namespace
}  // namespace ebb::live_room_test
