#include "snapshot/objects/pod_requests.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "snapshot/objects/quantity.h"
#include "tests/support/random_seed.h"

namespace ebb::pod_requests_test {
namespace {

using objects::Container;
using objects::ContainerStatus;
using objects::Pod;
using objects::ResourceList;

Container Needs(std::string_view name, ResourceList requests) {
  Container container;
  container.name = name;
  container.requests = std::move(requests);
  return container;
}

Container Sidecar(std::string_view name, ResourceList requests) {
  Container container = Needs(name, std::move(requests));
  container.restart_policy = "Always";
  return container;
}

std::map<std::string, int64_t> Sum(const Pod& pod, RequestsOf which = RequestsOf::kIncoming) {
  ResourceList sum = {{"left-over", 1}};  // SumPodRequests must clear it.
  SumPodRequests(pod, which, sum);
  std::map<std::string, int64_t> result;
  for (const auto& [name, amount, _] : sum) {
    EXPECT_TRUE(result.emplace(name, amount).second) << name << " occurs twice";
  }
  return result;
}
int64_t Cpu(const Pod& pod, RequestsOf which = RequestsOf::kIncoming) {
  return Sum(pod, which)["cpu"];
}

using Amounts = std::map<std::string, int64_t>;

TEST(PodRequestsTest, ContainersAddUpPerResource) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}, {"memory", 5}}),
                    Needs("b", {{"cpu", 30}, {"x.io/g", 1}})};
  EXPECT_EQ(Sum(pod), (Amounts{{"cpu", 130}, {"memory", 5}, {"x.io/g", 1}}));
  EXPECT_EQ(Sum(Pod()), Amounts());
}

TEST(PodRequestsTest, ScoresCountDefaultsForEachContainerThatDoesNotSay) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 300}}), Needs("b", {{"memory", 5}}),
                    Needs("zero", {{"cpu", 0}, {"memory", 0}})};
  pod.init_containers = {Sidecar("s", {{"memory", 7}}), Needs("i", {{"cpu", 10}})};
  const Amounts sum = {{"cpu", 300 + kDefaultCpuRequestMilli + kDefaultCpuRequestMilli},
                       {"memory", kDefaultMemoryRequestBytes + 5 + 7}};
  EXPECT_EQ(Sum(pod, RequestsOf::kScoredRunning), sum);
  EXPECT_EQ(Sum(pod, RequestsOf::kScoredIncoming), sum);
  EXPECT_TRUE(IsScoredOtherwise(pod));
}

TEST(PodRequestsTest, ScoresCountTheLargestInitContainerWithDefaults) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 20}, {"memory", 5}})};
  EXPECT_FALSE(IsScoredOtherwise(pod));
  pod.init_containers = {Needs("i", {})};
  EXPECT_EQ(Sum(pod, RequestsOf::kScoredRunning),
            (Amounts{{"cpu", kDefaultCpuRequestMilli}, {"memory", kDefaultMemoryRequestBytes}}));
}

// For LeastAllocated the scheduler sums only the containers of an incoming pod.
TEST(PodRequestsTest, ScoresPassOverStatusAndPodLevelResourcesOfAPodToBePlaced) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 300}})};
  pod.has_pod_resources = true;
  pod.pod_requests = {{"cpu", 900}};
  pod.container_statuses = {
      {.name = "a", .has_resources = true, .requests = {{"cpu", 500}}, .allocated = {}}};
  EXPECT_EQ(Sum(pod, RequestsOf::kScoredIncoming),
            (Amounts{{"cpu", 300}, {"memory", kDefaultMemoryRequestBytes}}));
  EXPECT_EQ(Sum(pod, RequestsOf::kScoredRunning),
            (Amounts{{"cpu", 900}, {"memory", kDefaultMemoryRequestBytes}}));
}

TEST(PodRequestsTest, PodLevelRequestsNeedDefaultsOnlyForAbsentResources) {
  Pod pod;
  pod.containers = {Needs("a", {{"memory", 3}}), Needs("b", {})};
  pod.has_pod_resources = true;
  pod.pod_requests = {{"hugepages-2Mi", 1}};
  EXPECT_EQ(Sum(pod, RequestsOf::kScoredRunning),
            (Amounts{{"cpu", 2 * kDefaultCpuRequestMilli}, {"memory", 3}, {"hugepages-2Mi", 1}}));
}

// The sum by its definition, one amount at a time.
Amounts SlowSum(const Pod& pod) {
  const auto amount_of = [](const Container& container, const std::string& name) {
    int64_t amount = 0;
    for (const objects::ResourceAmount& each : container.requests) {
      if (each.name == name) amount = each.amount;
    }
    return amount;
  };
  std::map<std::string, int64_t> sums;
  for (const auto* list : {&pod.containers, &pod.init_containers}) {
    for (const Container& container : *list) {
      for (const objects::ResourceAmount& each : container.requests) sums[std::string(each.name)];
    }
  }
  for (auto& [name, sum] : sums) {
    for (const Container& container : pod.containers) sum += amount_of(container, name);
    int64_t sidecars = 0;
    int64_t most = 0;
    for (const Container& container : pod.init_containers) {
      const int64_t with_it = sidecars + amount_of(container, name);
      most = std::max(most, with_it);
      if (container.restart_policy == "Always") sidecars = with_it;
    }
    sum = std::max(sum + sidecars, most);
  }
  return sums;
}

// Symptom: the sum for a pod with 75,000 resource names took minutes; so did the sum for a pod
// with as many sidecars.
TEST(PodRequestsTest, ManyResourcesAddUpAsFewDo) {
  test::Dice dice(test::RandomSeed());
  std::vector<std::string> names;
  for (int n = 0; n < 60; ++n) names.push_back("example.com/" + std::to_string(n));
  const auto some = [&]() {
    ResourceList list;
    const int one_in = 1 + dice.Below(10);
    for (const std::string& name : names) {
      if (dice.Below(one_in) == 0) list.push_back({name, 1 + dice.Below(5)});
    }
    return list;
  };
  for (int round = 0; round < 300; ++round) {
    Pod pod;
    for (int c = dice.Below(4); c > 0; --c) pod.containers.push_back(Needs("c", some()));
    for (int c = dice.Below(6); c > 0; --c) {
      pod.init_containers.push_back(dice.Percent(50) ? Sidecar("s", some()) : Needs("i", some()));
    }
    ASSERT_EQ(Sum(pod), SlowSum(pod)) << "round " << round;
  }
}

TEST(PodRequestsTest, TheLargestInitContainerCountsAndNotTheirSum) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}, {"memory", 50}})};
  pod.init_containers = {Needs("i", {{"cpu", 300}, {"memory", 10}}), Needs("j", {{"cpu", 200}})};
  EXPECT_EQ(Sum(pod), (Amounts{{"cpu", 300}, {"memory", 50}}));
}

TEST(PodRequestsTest, SidecarsAddToContainers) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}})};
  pod.init_containers = {Sidecar("s", {{"cpu", 40}}), Sidecar("t", {{"cpu", 2}})};
  EXPECT_EQ(Cpu(pod), 142);
}

TEST(PodRequestsTest, AnInitContainerRunsBesideTheSidecarsBeforeItOnly) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 10}})};
  pod.init_containers = {Sidecar("s", {{"cpu", 40}}), Needs("i", {{"cpu", 100}}),
                         Sidecar("t", {{"cpu", 60}})};
  EXPECT_EQ(Cpu(pod), 140);  // 40 + 100 is more than 10 + 40 + 60.
  std::swap(pod.init_containers[0], pod.init_containers[1]);
  EXPECT_EQ(Cpu(pod), 110);  // Now 100 alone is less than 10 + 40 + 60.
}

TEST(PodRequestsTest, PodLevelRequestsReplaceCpuMemoryAndHugepagesOnly) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}, {"memory", 10}, {"ephemeral-storage", 7}})};
  pod.has_pod_resources = true;
  pod.pod_requests = {{"cpu", 60}, {"hugepages-2Mi", 4}, {"ephemeral-storage", 99}, {"x.io/g", 9}};
  EXPECT_EQ(Sum(pod),
            (Amounts{{"cpu", 60}, {"memory", 10}, {"ephemeral-storage", 7}, {"hugepages-2Mi", 4}}));
}

TEST(PodRequestsTest, OverheadComesOnTopOfPodLevelRequests) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}})};
  pod.has_pod_resources = true;
  pod.pod_requests = {{"cpu", 60}};
  pod.overhead = {{"cpu", 5}, {"memory", 3}};
  EXPECT_EQ(Sum(pod), (Amounts{{"cpu", 65}, {"memory", 3}}));
}

ContainerStatus Status(std::string_view name, ResourceList requests, ResourceList allocated) {
  ContainerStatus status;
  status.name = name;
  status.has_resources = true;
  status.requests = std::move(requests);
  status.allocated = std::move(allocated);
  return status;
}

TEST(PodRequestsTest, ARunningPodHoldsTheLargestOfSpecStatusAndAllocated) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}, {"memory", 7}})};
  pod.container_statuses = {Status("a", {{"cpu", 200}}, {{"cpu", 150}, {"memory", 9}})};
  EXPECT_EQ(Sum(pod, RequestsOf::kRunning), (Amounts{{"cpu", 200}, {"memory", 9}}));
  EXPECT_EQ(Sum(pod), (Amounts{{"cpu", 100}, {"memory", 7}}));  // Incoming: only the spec counts.
  pod.container_statuses = {Status("a", {{"cpu", 20}}, {{"cpu", 30}})};
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 100);
}

TEST(PodRequestsTest, AnInfeasibleResizeLeavesWhatStatusSays) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 900}})};
  pod.container_statuses = {Status("a", {{"cpu", 200}}, {{"cpu", 250}})};
  pod.resize_infeasible = true;
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 250);
  EXPECT_EQ(Cpu(pod), 900);
}

TEST(PodRequestsTest, AStatusWithoutResourcesIsIgnored) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}})};
  pod.container_statuses = {Status("a", {{"cpu", 900}}, {{"cpu", 900}})};
  pod.container_statuses[0].has_resources = false;
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 100);
  pod.container_statuses[0].has_resources = true;
  pod.container_statuses[0].name = "another";
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 100);
}

TEST(PodRequestsTest, TheFirstStatusOfAContainerThatSaysSomethingCountsAmongFewAndAmongMany) {
  for (const size_t others : {0, 100}) {
    std::vector<std::string> names;
    for (size_t i = 0; i < others; ++i) names.push_back("other-" + std::to_string(i));
    Pod pod;
    pod.containers = {Needs("a", {{"cpu", 100}}), Needs("b", {{"cpu", 1000}})};
    ContainerStatus silent = Status("a", {}, {});
    silent.has_resources = false;
    for (const std::string& name : names) {
      pod.containers.push_back(Needs(name, {{"cpu", 1}}));
      pod.container_statuses.push_back(Status(name, {{"cpu", 2}}, {}));
    }
    for (const ContainerStatus& status :
         {silent, Status("a", {{"cpu", 300}}, {}), Status("a", {{"cpu", 500}}, {})}) {
      pod.container_statuses.push_back(status);
    }
    EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 1300 + 2 * static_cast<int64_t>(others));
  }
}

TEST(PodRequestsTest, StatusCountsForSidecarsButNotForInitContainers) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 10}})};
  pod.init_containers = {Sidecar("s", {{"cpu", 20}}), Needs("i", {{"cpu", 1}})};
  pod.container_statuses = {Status("s", {{"cpu", 50}}, {}), Status("i", {{"cpu", 5000}}, {})};
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 60);
}

TEST(PodRequestsTest, UtilizationTakesContainersFromStatusAndPodLevelFromSpec) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 10}, {"x.io/g", 1}})};
  pod.container_statuses = {Status("a", {{"cpu", 20}, {"x.io/g", 3}}, {})};
  EXPECT_EQ(Sum(pod, RequestsOf::kCounted), (Amounts{{"cpu", 20}, {"x.io/g", 3}}));
  pod.has_pod_resources = true;
  pod.pod_requests = {{"cpu", 50}};
  pod.has_pod_status_resources = true;
  pod.pod_status_requests = {{"cpu", 90}};
  EXPECT_EQ(Sum(pod, RequestsOf::kCounted), (Amounts{{"cpu", 50}, {"x.io/g", 3}}));
  EXPECT_EQ(Sum(pod, RequestsOf::kRunning), (Amounts{{"cpu", 90}, {"x.io/g", 3}}));
}

TEST(PodRequestsTest, SumsSaturateAtTheUncountable) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", kUncountable - 2}}), Needs("b", {{"cpu", 1}}),
                    Needs("c", {{"cpu", 1}}), Needs("d", {{"cpu", kUncountable}})};
  EXPECT_EQ(Cpu(pod), kUncountable);
  pod.containers[0].requests[0].excess = 999'999'999;
  pod.containers[3].requests[0].excess = 1;
  EXPECT_EQ(Cpu(pod), kUncountable);
}

TEST(PodRequestsTest, PodLevelStatusIsHonouredForARunningPod) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 10}})};
  pod.has_pod_resources = true;
  pod.pod_requests = {{"cpu", 100}};
  pod.has_pod_status_resources = true;
  pod.pod_status_requests = {{"cpu", 300}};
  pod.pod_allocated = {{"cpu", 200}};
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 300);
  EXPECT_EQ(Cpu(pod), 100);
  pod.pod_requests = {{"cpu", 800}};
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 800);
  pod.resize_infeasible = true;
  EXPECT_EQ(Cpu(pod, RequestsOf::kRunning), 300);
}

// Symptom, found by the oracle: 2500u in a sidecar and 2500u beside it were 6m instead of 5m.
TEST(PodRequestsTest, PartsOfAUnitAddUpBeforeTheyAreRounded) {
  const ResourceList half = {{"cpu", 3, 500'000'000}};
  Pod pod;
  pod.containers = {Needs("a", half)};
  EXPECT_EQ(Cpu(pod), 3);
  pod.init_containers = {Sidecar("s", half)};
  EXPECT_EQ(Cpu(pod), 5);
  pod.overhead = half;
  EXPECT_EQ(Cpu(pod), 8);  // 7.5
  pod.overhead = {{"cpu", 1, 999'999'000}};
  EXPECT_EQ(Cpu(pod), 6);  // 5.000001
  // The larger of two amounts that round to the same number counts.
  pod.overhead = half;
  pod.init_containers = {Needs("i", {{"cpu", 3, 100'000'000}})};
  EXPECT_EQ(Cpu(pod), 6);  // 2.9 + 2.5, not 2.5 + 2.5
}

TEST(PodRequestsTest, SumsStopAtTheLargestNumber) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", kMax}}), Needs("b", {{"cpu", kMax}})};
  pod.overhead = {{"cpu", 1}};
  EXPECT_EQ(Cpu(pod), kMax);
}

TEST(PodRequestsTest, KnowsScalarAndExtendedResources) {
  EXPECT_TRUE(IsExtendedResource("nvidia.com/gpu"));
  EXPECT_FALSE(IsExtendedResource("cpu"));
  EXPECT_FALSE(IsExtendedResource("kubernetes.io/batteries"));
  EXPECT_FALSE(IsExtendedResource("requests.nvidia.com/gpu"));
  for (const char* name :
       {"nvidia.com/gpu", "hugepages-1Gi", "x.kubernetes.io/y", "attachable-volumes-aws-ebs"}) {
    EXPECT_TRUE(IsScalarResource(name)) << name;
  }
  for (const char* name : {"cpu", "memory", "storage", "requests.nvidia.com/gpu"}) {
    EXPECT_FALSE(IsScalarResource(name)) << name;
  }
}

TEST(PodRequestsTest, EachCauseAloneMakesScoresDiffer) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 1}, {"memory", 2}}),
                    Needs("b", {{"memory", 0}, {"cpu", 0}})};
  pod.init_containers = {Needs("i", {{"cpu", 1}, {"memory", 2}})};
  EXPECT_FALSE(IsScoredOtherwise(pod));
  const auto otherwise = [&](auto&& change) {
    Pod other = pod;
    change(other);
    return IsScoredOtherwise(other);
  };
  EXPECT_TRUE(otherwise([](Pod& p) { p.has_pod_resources = true; }));
  EXPECT_TRUE(otherwise([](Pod& p) { p.container_statuses.resize(1); }));
  EXPECT_TRUE(otherwise([](Pod& p) { p.containers[1].requests = {{"cpu", 1}}; }));
  EXPECT_TRUE(otherwise([](Pod& p) { p.containers[1].requests = {{"memory", 1}}; }));
  EXPECT_TRUE(otherwise([](Pod& p) { p.init_containers[0].requests = {{"cpu", 1}}; }));
  EXPECT_TRUE(otherwise([](Pod& p) { p.init_containers[0].requests = {{"memory", 1}}; }));
  EXPECT_FALSE(otherwise([](Pod& p) { p.init_containers.clear(); }));
}

TEST(PodRequestsTest, OnlyPodLevelResourcesTakeTheDefaultsFromAPodThatRuns) {
  Pod pod;
  pod.containers = {Needs("a", {})};
  pod.has_pod_resources = true;
  const auto running = [&](ResourceList requests) {
    pod.pod_requests = std::move(requests);
    return Sum(pod, RequestsOf::kScoredRunning);
  };
  const Amounts defaults = {{"cpu", kDefaultCpuRequestMilli},
                            {"memory", kDefaultMemoryRequestBytes}};
  EXPECT_EQ(running({}), defaults);
  EXPECT_EQ(running({{"x.io/g", 1}, {"ephemeral-storage", 7}}), defaults);
  EXPECT_EQ(running({{"memory", 5}}), (Amounts{{"cpu", kDefaultCpuRequestMilli}, {"memory", 5}}));
  EXPECT_EQ(running({{"cpu", 7}, {"memory", 5}}), (Amounts{{"cpu", 7}, {"memory", 5}}));
  // The pod-level amounts of the status count for a running pod, but not for one to be placed.
  pod.has_pod_status_resources = true;
  pod.pod_status_requests = {{"cpu", 9}};
  EXPECT_EQ(running({{"cpu", 7}, {"memory", 5}}), (Amounts{{"cpu", 9}, {"memory", 5}}));
  EXPECT_EQ(Sum(pod, RequestsOf::kScoredIncoming), defaults);
  EXPECT_EQ(Sum(pod, RequestsOf::kIncoming), (Amounts{{"cpu", 7}, {"memory", 5}}));
  EXPECT_EQ(Sum(pod, RequestsOf::kCounted), (Amounts{{"cpu", 7}, {"memory", 5}}));
}

TEST(PodRequestsTest, AllocatedResourcesOfAPodCountWhileItRuns) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 10}})};
  pod.has_pod_resources = true;
  pod.pod_requests = {{"cpu", 100}, {"memory", 3}};
  pod.has_pod_status_resources = true;
  pod.pod_status_requests = {{"cpu", 300}};
  pod.pod_allocated = {{"cpu", 400}, {"memory", 8}, {"hugepages-2Mi", 2}};
  EXPECT_EQ(Sum(pod, RequestsOf::kRunning), (Amounts{{"cpu", 400}, {"memory", 8}}));
  pod.pod_requests = {{"cpu", 500}, {"memory", 9}};
  EXPECT_EQ(Sum(pod, RequestsOf::kRunning), (Amounts{{"cpu", 500}, {"memory", 9}}));
  pod.resize_infeasible = true;
  EXPECT_EQ(Sum(pod, RequestsOf::kRunning), (Amounts{{"cpu", 400}, {"memory", 8}}));
  pod.has_pod_status_resources = false;
  EXPECT_EQ(Sum(pod, RequestsOf::kRunning), (Amounts{{"cpu", 500}, {"memory", 9}}));
}

TEST(PodRequestsTest, AStatusRaisesWhatASidecarHoldsBesideTheContainersAfterIt) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 10}, {"memory", 1}})};
  pod.init_containers = {Sidecar("s", {{"cpu", 20}}), Needs("i", {{"cpu", 100}, {"memory", 7}}),
                         Sidecar("t", {{"cpu", 5}, {"memory", 2}})};
  EXPECT_EQ(Sum(pod), (Amounts{{"cpu", 120}, {"memory", 7}}));
  pod.container_statuses = {Status("s", {{"cpu", 50}}, {{"memory", 4}})};
  EXPECT_EQ(Sum(pod, RequestsOf::kRunning), (Amounts{{"cpu", 150}, {"memory", 11}}));
  EXPECT_EQ(Sum(pod), (Amounts{{"cpu", 120}, {"memory", 7}}));
}

// --- Kubernetes 1.37

ContainerStatus Holds(std::string_view name, ResourceList in_force, ResourceList allocated) {
  ContainerStatus status;
  status.name = name;
  status.has_resources = !in_force.empty();
  status.requests = std::move(in_force);
  status.allocated = std::move(allocated);
  return status;
}

Amounts SumBy(KubernetesVersion version, const Pod& pod, RequestsOf which = RequestsOf::kRunning) {
  ResourceList sum;
  SumPodRequests(pod, which, sum, version);
  Amounts result;
  for (const auto& [name, amount, _] : sum) result[std::string(name)] += amount;
  return result;
}
int64_t CpuBy136(const Pod& pod) { return SumBy(KubernetesVersion::k136, pod)["cpu"]; }
int64_t CpuBy137(const Pod& pod) { return SumBy(KubernetesVersion::k137, pod)["cpu"]; }

// Source: third/upstream-1.37/u1, u2 and u4.
TEST(PodRequestsTest, From137OnTotalsOfThePodAreCompared) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 500}}), Needs("b", {{"cpu", 1500}})};
  pod.container_statuses = {Holds("a", {{"cpu", 1500}}, {{"cpu", 1500}}),
                            Holds("b", {{"cpu", 500}}, {{"cpu", 500}})};
  EXPECT_EQ(CpuBy136(pod), 3000);
  EXPECT_EQ(CpuBy137(pod), 2000);
  EXPECT_FALSE(StatusEqualsSpec(pod));
}

TEST(PodRequestsTest, From137OnAmountsThatAreOnlyAllocatedCount) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 100}}), Needs("b", {{"cpu", 100}})};
  pod.container_statuses = {Holds("a", {}, {{"cpu", 1500}}), Holds("b", {}, {{"cpu", 1000}})};
  EXPECT_EQ(CpuBy136(pod), 200);
  EXPECT_EQ(CpuBy137(pod), 2500);
  EXPECT_EQ(SumBy(KubernetesVersion::k137, pod, RequestsOf::kIncoming)["cpu"], 200);
}

TEST(PodRequestsTest, From137OnTheStatusOfInitContainersCounts) {
  Pod pod;
  pod.containers = {Needs("c", {{"cpu", 500}})};
  pod.init_containers = {Needs("i", {{"cpu", 100}})};
  pod.container_statuses = {Holds("i", {{"cpu", 2500}}, {{"cpu", 2500}})};
  EXPECT_EQ(CpuBy136(pod), 500);
  EXPECT_EQ(CpuBy137(pod), 2500);
}

TEST(PodRequestsTest, From137OnAResizeThatCannotBeLeavesOutTheSpec) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 5000}}), Needs("b", {{"cpu", 300}})};
  pod.container_statuses = {Holds("a", {{"cpu", 200}}, {{"cpu", 400}})};
  EXPECT_EQ(CpuBy137(pod), 5300);
  pod.resize_infeasible = true;
  // A container without a status then holds nothing.
  EXPECT_EQ(CpuBy137(pod), 400);
}

TEST(PodRequestsTest, From137OnTotalsInTheStatusReplaceThoseOfContainers) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 500}})};
  pod.container_statuses = {Holds("a", {{"cpu", 9000}}, {{"cpu", 9000}})};
  pod.has_pod_status_resources = true;
  pod.pod_status_requests = {{"cpu", 700}};
  pod.pod_allocated = {{"cpu", 600}};
  EXPECT_EQ(CpuBy137(pod), 700);
  EXPECT_EQ(SumBy(KubernetesVersion::k137, pod, RequestsOf::kCounted)["cpu"], 9000);
  // One of the two totals alone is not enough.
  pod.pod_allocated.clear();
  EXPECT_EQ(CpuBy137(pod), 9000);
}

TEST(PodRequestsTest, From137OnTheStatusMayNameMorePodLevelResourcesThanTheSpec) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 500}, {"memory", 10}})};
  pod.has_pod_resources = true;
  pod.pod_requests = {{"cpu", 600}};
  pod.has_pod_status_resources = true;
  pod.pod_status_requests = {{"cpu", 550}, {"memory", 90}};
  EXPECT_EQ(SumBy(KubernetesVersion::k136, pod), (Amounts{{"cpu", 600}, {"memory", 10}}));
  EXPECT_EQ(SumBy(KubernetesVersion::k137, pod), (Amounts{{"cpu", 600}, {"memory", 90}}));
}

TEST(PodRequestsTest, ResourcesOfDevicesAreAddedInEveryVersion) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 500}})};
  pod.claimed = {{"cpu", 3000}, {"cpu", 1}, {"memory", 7}};
  EXPECT_EQ(SumBy(KubernetesVersion::k136, pod), (Amounts{{"cpu", 3501}, {"memory", 7}}));
  EXPECT_EQ(SumBy(KubernetesVersion::k137, pod), (Amounts{{"cpu", 3501}, {"memory", 7}}));
  EXPECT_EQ(CpuBy137(pod), CpuBy136(pod));
  EXPECT_EQ(Cpu(pod), 500);  // On another node the devices may differ.
}

TEST(PodRequestsTest, AStatusEqualToTheSpecHoldsTheRequests) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 500}, {"memory", 10}})};
  EXPECT_TRUE(StatusEqualsSpec(pod));
  pod.container_statuses = {
      Holds("a", {{"cpu", 500}, {"memory", 10}}, {{"cpu", 500}, {"memory", 10}})};
  EXPECT_TRUE(StatusEqualsSpec(pod));
  EXPECT_EQ(CpuBy136(pod), 500);
  EXPECT_EQ(CpuBy137(pod), 500);
  pod.resize_infeasible = true;
  EXPECT_FALSE(StatusEqualsSpec(pod));
}

// Symptom: such a pod took room that kube-scheduler 1.37 gives to other pods.
TEST(PodRequestsTest, AnInfeasibleResizeWithoutAStatusHoldsNothingBy137) {
  Pod pod;
  pod.containers = {Needs("a", {{"cpu", 1000}})};
  pod.overhead = {{"cpu", 250}};
  pod.resize_infeasible = true;
  EXPECT_FALSE(StatusEqualsSpec(pod));
  EXPECT_EQ(CpuBy136(pod), 1250);
  EXPECT_EQ(CpuBy137(pod), 250);
}

}  // namespace
}  // namespace ebb::pod_requests_test
