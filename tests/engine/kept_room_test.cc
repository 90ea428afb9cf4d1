// What is kept free, and what pods ask for when they return: CapacityBuffers, headroom,
// VerticalPodAutoscalers.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/make_plan.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "snapshot/room_objects.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::kept_room_test {
namespace {

using test::Cluster;
using test::kGiB;
using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The name of the container of a test::Pod.
const std::string_view kContainer = Pod("p").raw.containers[0].name;

template <typename Object>
Object Named(std::string_view name) {
  Object object;
  object.meta.name = name;
  object.meta.namespace_name = "default";
  return object;
}

objects::VerticalPodAutoscaler Vpa(std::string_view kind, std::string_view name,
                                   int64_t cpu_milli) {
  auto vpa = Named<objects::VerticalPodAutoscaler>("vpa");
  vpa.target_kind = kind;
  vpa.target_name = name;
  vpa.update_mode = "Initial";
  vpa.has_recommendation = true;
  vpa.recommendations.push_back(
      {.container = kContainer, .target = {{.name = "cpu", .amount = cpu_milli}}});
  return vpa;
}

class KeptRoomTest : public ::testing::Test {
 protected:
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
    pending_ = snapshot_->catalog().BufferPods();
    request_.pass.pending = pending_;
  }
  std::vector<std::string> Removed() {
    made_ = MakePlan(*snapshot_, groups_, request_).value();
    EXPECT_TRUE(snapshot_->CheckInvariants().ok()) << snapshot_->CheckInvariants();
    std::vector<std::string> names;
    for (const RemovableNode& removal : made_.plan.remove) {
      names.emplace_back(snapshot_->catalog().NodeName(removal.node));
    }
    return names;
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  PlanResult made_;
  std::vector<PodId> pending_;
};

// Two pods of web with 500m each on c; b has 2 cores left.
Cluster Web() {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(4500)).Add(Node("c").Cpu(4000));
  cluster.Add(Pod("filler").On("b").Cpu(2500));
  for (const char* const name : {"web-1", "web-2"}) {
    cluster.Add(Pod(name)
                    .On("c")
                    .Cpu(500)
                    .OwnedBy("ReplicaSet", "web-4b5e")
                    .Label("pod-template-hash", "4b5e"));
  }
  return cluster;
}

TEST_F(KeptRoomTest, APodThatMovesAsksForItsRecommendation) {
  Make(Web());
  EXPECT_THAT(Removed(), ElementsAre("c"));
  Make(Web().Add(Vpa("Deployment", "web", 1500)));
  EXPECT_THAT(Removed(), IsEmpty());
  Make(Web().Add(Vpa("Deployment", "web", 1000)));
  EXPECT_THAT(Removed(), ElementsAre("c"));
  Make(Web().Add(Vpa("ReplicaSet", "web-4b5e", 1500)));
  EXPECT_THAT(Removed(), IsEmpty());
  Make(Web().Add(Vpa("Deployment", "other", 1500)));
  EXPECT_THAT(Removed(), ElementsAre("c"));
}

TEST_F(KeptRoomTest, WherePodsRunTheyTakeWhatTheyAskForNow) {
  Make(Web().Add(Vpa("Deployment", "web", 1500)));
  EXPECT_EQ(snapshot_->Free(kCpu, test::NodeNamed(*snapshot_, "c")), 3000);
  const PodId pod = test::PodNamed(*snapshot_, "web-1");
  snapshot_->Fork();
  snapshot_->MovePod(pod, test::NodeNamed(*snapshot_, "b"));
  EXPECT_EQ(snapshot_->Free(kCpu, test::NodeNamed(*snapshot_, "c")), 3500);
  EXPECT_EQ(snapshot_->Free(kCpu, test::NodeNamed(*snapshot_, "b")), 500);
  EXPECT_TRUE(snapshot_->CheckInvariants().ok());
  snapshot_->Revert();
  EXPECT_EQ(snapshot_->Free(kCpu, test::NodeNamed(*snapshot_, "c")), 3000);
  EXPECT_EQ(snapshot_->Free(kCpu, test::NodeNamed(*snapshot_, "b")), 2000);
}

TEST_F(KeptRoomTest, ARecommendationIsBoundedByThePolicyAndModeOffChangesNothing) {
  auto vpa = Vpa("Deployment", "web", 1500);
  auto& policy = vpa.policies.emplace_back();
  policy.container = "*";
  policy.max_allowed = {{.name = "cpu", .amount = 900}};
  Make(Web().Add(vpa));
  EXPECT_THAT(Removed(), ElementsAre("c"));
  vpa.policies[0].max_allowed.clear();
  vpa.policies[0].mode = "Off";
  Make(Web().Add(vpa));
  EXPECT_THAT(Removed(), ElementsAre("c"));
  vpa.policies[0].mode = "";
  vpa.policies[0].has_controlled = true;
  vpa.policies[0].controlled = {"memory"};
  Make(Web().Add(vpa));
  EXPECT_THAT(Removed(), ElementsAre("c"));
  vpa.policies.clear();
  vpa.update_mode = "Off";
  Make(Web().Add(vpa));
  EXPECT_THAT(Removed(), ElementsAre("c"));
  vpa.update_mode = "";  // Auto.
  Make(Web().Add(vpa));
  EXPECT_THAT(Removed(), IsEmpty());
}

TEST_F(KeptRoomTest, ARecommendationThatIsMissingKeepsTheNode) {
  auto vpa = Vpa("Deployment", "web", 100);
  vpa.has_recommendation = false;
  vpa.recommendations.clear();
  Make(Web().Add(vpa));
  EXPECT_THAT(Removed(), IsEmpty());
  const PodId pod = test::PodNamed(*snapshot_, "web-1");
  EXPECT_THAT(snapshot_->catalog().shape_of(pod).not_understood,
              HasSubstr("VerticalPodAutoscaler default/vpa: status.recommendation: is missing"));
}

// An init container that asks for more than all others hides a part of the change.
TEST_F(KeptRoomTest, InitContainersStillNeedTheirRoom) {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(4000)).Add(Node("c").Cpu(4000));
  cluster.Add(Pod("filler").On("b").Cpu(2000));
  Pod pod("web-1");
  pod.On("c").Cpu(500).OwnedBy("ReplicaSet", "web-4b5e").Label("pod-template-hash", "4b5e");
  objects::Container init;
  init.name = "init";
  init.requests = {{.name = "cpu", .amount = 800}};
  pod.raw.init_containers.push_back(init);
  cluster.Add(pod).Add(Vpa("Deployment", "web", 700));
  Make(cluster);
  const PodShape* shape = &snapshot_->catalog().shape_of(test::PodNamed(*snapshot_, "web-1"));
  EXPECT_EQ(AmountOf(shape->fit_requests, kCpu), 800);
}

objects::StorageObject Template(int64_t cpu_milli) {
  auto from = Named<objects::PodTemplate>("t");
  objects::Container container;
  container.name = "main";
  container.requests = {{.name = "cpu", .amount = cpu_milli}};
  from.pod.containers.push_back(container);
  return from;
}

objects::CapacityBuffer Buffer(int64_t replicas) {
  auto buffer = Named<objects::CapacityBuffer>("buf");
  buffer.template_name = "t";
  buffer.replicas = replicas;
  buffer.ready = true;
  return buffer;
}

// Pods of 400m on c1 and c2; b has 1900m left.
Cluster WithRoom() {
  Cluster cluster;
  cluster.Add(Node("b").Cpu(4000)).Add(Node("c1").Cpu(4000)).Add(Node("c2").Cpu(4000));
  cluster.Add(Pod("filler").On("b").Cpu(2100));
  cluster.Add(Pod("web-1").On("c1").Cpu(400)).Add(Pod("web-2").On("c2").Cpu(400));
  return cluster;
}

TEST_F(KeptRoomTest, ABufferTakesRoomBeforeAnyNodeGoes) {
  Make(WithRoom());
  EXPECT_THAT(Removed(), ElementsAre("c1", "c2"));
  Make(WithRoom().Add(Template(1000)).Add(Buffer(2)));
  ASSERT_EQ(snapshot_->catalog().buffers().size(), 1u);
  EXPECT_EQ(snapshot_->catalog().buffers()[0].pods, 2);
  EXPECT_THAT(snapshot_->catalog().PodName(pending_[1]), "default/capacity-buffer-buf-2");
  EXPECT_EQ(Removed().size(), 1u);
  EXPECT_EQ(made_.plan.packed.size(), 2u);
}

TEST_F(KeptRoomTest, ABufferThatIsNotReadyOrEmptyTakesNoRoom) {
  auto buffer = Buffer(2);
  buffer.ready = false;
  Make(WithRoom().Add(Template(1000)).Add(buffer));
  EXPECT_THAT(Removed(), ElementsAre("c1", "c2"));
  Make(WithRoom().Add(Template(1000)).Add(Buffer(0)));
  EXPECT_THAT(Removed(), ElementsAre("c1", "c2"));
}

TEST_F(KeptRoomTest, ABufferWithoutItsTemplateIsNamed) {
  Make(WithRoom().Add(Buffer(2)));
  ASSERT_EQ(snapshot_->catalog().buffers().size(), 1u);
  EXPECT_EQ(snapshot_->catalog().buffers()[0].pods, 0);
  EXPECT_EQ(snapshot_->catalog().buffers()[0].problem,
            "status.podTemplateRef: PodTemplate \"t\" is missing");
}

TEST_F(KeptRoomTest, ABufferOfWhichNoPodIsMadeSaysWhy) {
  auto buffer = Buffer(2);
  buffer.ready = false;
  Make(WithRoom().Add(Template(1000)).Add(buffer));
  ASSERT_EQ(snapshot_->catalog().buffers().size(), 1u);
  EXPECT_EQ(snapshot_->catalog().buffers()[0].problem, "it is not ready for provisioning");
  EXPECT_FALSE(snapshot_->catalog().buffers()[0].is_short());
  Make(WithRoom().Add(Template(1000)).Add(Buffer(-3)));
  ASSERT_EQ(snapshot_->catalog().buffers().size(), 1u);
  EXPECT_EQ(snapshot_->catalog().buffers()[0].problem,
            "status.replicas: -3 is not a number of pods");
  EXPECT_TRUE(snapshot_->catalog().buffers()[0].is_short());
}

// Symptom: 120 buffers of 100,000 pods each took all memory.
TEST_F(KeptRoomTest, AllBuffersTogetherHaveALimit) {
  Cluster cluster = WithRoom().Add(Template(1));
  for (int b = 0; b < 3; ++b) {
    auto buffer = Buffer(60'000);
    buffer.meta.name = test::Keep("buf" + std::to_string(b));
    cluster.Add(buffer);
  }
  Make(cluster);
  const auto& buffers = snapshot_->catalog().buffers();
  ASSERT_EQ(buffers.size(), 3u);
  EXPECT_EQ(buffers[0].pods, 60'000);
  EXPECT_EQ(buffers[1].pods, 40'000);
  EXPECT_EQ(buffers[2].pods, 0);
  EXPECT_FALSE(buffers[0].is_short());
  EXPECT_TRUE(buffers[1].is_short());
  EXPECT_TRUE(buffers[2].is_short());
  EXPECT_EQ(snapshot_->catalog().BufferPods().size(), 100'000u);
}

TEST_F(KeptRoomTest, AnAbsurdNumberOfReplicasIsCut) {
  Make(WithRoom().Add(Template(1)).Add(Buffer(int64_t{1} << 40)));
  EXPECT_EQ(snapshot_->catalog().buffers()[0].pods, 100'000);
  EXPECT_THAT(snapshot_->catalog().buffers()[0].problem, HasSubstr("status.replicas"));
}

// 12 cores, 2.9 used.  With c1 gone 8 cores are left, 5.1 of them free; with both 4, 1.1 free.
TEST_F(KeptRoomTest, HeadroomStaysFree) {
  Make(WithRoom());
  request_.planner.headroom.cpu = 0.27;
  EXPECT_EQ(Removed().size(), 2u);
  request_.planner.headroom.cpu = 0.28;
  EXPECT_EQ(Removed().size(), 1u);
  ASSERT_FALSE(made_.plan.keep.empty());
  EXPECT_TRUE(std::ranges::any_of(made_.plan.keep, [](const UnremovableNode& kept) {
    return kept.reason == UnremovableReason::kHeadroomReached;
  }));
  request_.planner.headroom.cpu = 0.7;
  EXPECT_THAT(Removed(), IsEmpty());
}

TEST_F(KeptRoomTest, HeadroomOfZonesCountsEachZone) {
  Cluster cluster;
  const auto node = [](std::string_view name, std::string_view zone) {
    return Node(name).Cpu(4000).Label("topology.kubernetes.io/zone", zone);
  };
  cluster.Add(node("a1", "a")).Add(node("a2", "a")).Add(node("b1", "b"));
  cluster.Add(Pod("p").On("a1").Cpu(1000)).Add(Pod("q").On("b1").Cpu(2500));
  Make(cluster);
  request_.planner.headroom = {.cpu = 0.3, .memory = 0, .per = HeadroomPer::kCluster};
  EXPECT_EQ(Removed().size(), 1u);
  // Zone a has 7 of 8 cores free; with one of its nodes gone 3 of 4.
  request_.planner.headroom = {.cpu = 0.8, .memory = 0, .per = HeadroomPer::kZone};
  EXPECT_THAT(Removed(), IsEmpty());
}

TEST_F(KeptRoomTest, TheVerifierRefusesAPlanThatTakesTheHeadroom) {
  Make(WithRoom());
  EXPECT_EQ(Removed().size(), 2u);
  request_.planner.headroom.cpu = 0.5;
  const absl::Status refused =
      Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made_), made_.plan);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("less cpu is left free than the headroom"));
}

TEST_F(KeptRoomTest, ANegativeHeadroomIsRefused) {
  Make(WithRoom());
  request_.planner.headroom.memory = -0.1;
  EXPECT_THAT(std::string(MakePlan(*snapshot_, groups_, request_).status().message()),
              HasSubstr("headroom: -0.1 is not from 0 to less than 1"));
}

}  // namespace
}  // namespace ebb::kept_room_test
