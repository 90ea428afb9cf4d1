#include "what_if/what_if_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planning/live_cluster.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::what_if_file_test {
namespace {

using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Json = nlohmann::ordered_json;

std::string ErrorOf(const std::string& yaml) {
  const absl::StatusOr<WhatIf> read = ParseWhatIf("w.yaml", yaml);
  return read.ok() ? "" : std::string(read.status().message());
}

TEST(WhatIfFileTest, ObjectsArePatches) {
  const absl::StatusOr<WhatIf> read = ParseWhatIf("w.yaml", R"(
objects:
- kind: Pod
  metadata: {name: p, namespace: n, annotations: {a: "true", b: null}}
  spec: {priority: 7, nodeName: "8"}
- {kind: Node, metadata: {name: x}, $patch: delete}
options: {scale-down-utilization-threshold: 0.6}
)");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->objects.size(), 2u);
  EXPECT_EQ(read->objects[0].of.Text(), "Pod n/p");
  const Json merge = Json::parse(read->objects[0].merge);
  EXPECT_EQ(merge["metadata"]["annotations"]["a"], "true");
  EXPECT_TRUE(merge["metadata"]["annotations"]["b"].is_null());
  EXPECT_EQ(merge["spec"]["priority"], 7);
  EXPECT_EQ(merge["spec"]["nodeName"], "8");
  EXPECT_TRUE(read->objects[1].gone);
  EXPECT_THAT(read->options, ElementsAre(Pair("scale-down-utilization-threshold", "0.6")));
}

TEST(WhatIfFileTest, ADeletionMayNameWhichObject) {
  const absl::StatusOr<WhatIf> read = ParseWhatIf("w.yaml", R"(
objects:
- {apiVersion: v1, kind: Node, metadata: {name: x, uid: u, labels: {a: b}}, $patch: delete}
)");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->objects[0].gone);
  EXPECT_EQ(read->objects[0].merge, R"({"apiVersion":"v1","metadata":{"uid":"u"}})");
}

TEST(WhatIfFileTest, ErrorsNameTheField) {
  EXPECT_EQ(ErrorOf("objects: [{kind: Pod}]"), "w.yaml: objects[0]: metadata.name: is required");
  EXPECT_EQ(ErrorOf("objects: [{metadata: {name: x}}]"), "w.yaml: objects[0]: kind: is required");
  EXPECT_THAT(ErrorOf("objects: [{kind: Pod, metadata: {name: x}}]"), HasSubstr("changes nothing"));
  EXPECT_THAT(ErrorOf("objects: [{kind: Pod, metadata: {name: x}, $patch: merge}]"),
              HasSubstr("is not \"delete\""));
  EXPECT_THAT(ErrorOf("objects: [3]"), HasSubstr("objects[0]: is not an object"));
  EXPECT_THAT(ErrorOf("objects: {}"), HasSubstr("objects: is not a list"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("changes nothing"));
  EXPECT_EQ(ErrorOf("object: []"),
            "w.yaml: object: no such field; did you mean objects? The fields here are objects, "
            "options, workloads");
  EXPECT_THAT(ErrorOf("workloads: [{kind: Deployment, name: x, patch: {}}]"),
              HasSubstr("workloads[0].namespace: is required"));
  EXPECT_THAT(ErrorOf("workloads: [{kind: Deployment, namespace: n, name: x}]"),
              HasSubstr("has neither requests nor patch"));
  EXPECT_THAT(ErrorOf("workloads: [{kind: Job, namespace: n, name: x, requests: {}}]"),
              HasSubstr("requests: is neither a map of quantities"));
  EXPECT_THAT(ErrorOf("workloads: [{kind: Job, namespace: n, name: x, requests: {web: {cpu: 1}, "
                      "memory: 1Gi}}]"),
              HasSubstr("requests: is neither a map of quantities nor one of such maps"));
  EXPECT_THAT(ErrorOf("options: [x]"), HasSubstr("options: is not a map"));
}

class WorkloadPatchTest : public ::testing::Test {
 protected:
  WorkloadPatchTest() : live_(LoadOptions{.assume_complete = true}) {
    const test::Controller controller(objects::ControllerKind::kReplicaSet, "rs");
    Put(&controller.raw);
    const Node node("a");
    Put(&node.raw);
    for (const char* name : {"p0", "p1"}) {
      Pod pod = Pod(name).On("a").Cpu(500);
      pod.raw.containers[0].name = "web";
      Put(&pod.raw);
    }
  }
  void Put(const objects::ObjectRef& object) {
    const Change change{.object = object};
    ASSERT_TRUE(live_.Take({&change, 1}).ok());
  }
  absl::StatusOr<std::vector<ObjectPatch>> Patches(const std::string& yaml) {
    const absl::StatusOr<WhatIf> what_if = ParseWhatIf("w.yaml", yaml);
    EXPECT_TRUE(what_if.ok()) << what_if.status();
    PatchedCluster patched(live_);
    return PatchesOf(*what_if, live_.Snapshot(), patched);
  }

  LiveCluster live_;
};

TEST_F(WorkloadPatchTest, EveryPodOfItIsPatched) {
  const auto patches = Patches(
      "workloads: [{kind: ReplicaSet, namespace: default, name: rs, requests: {cpu: 100m}, "
      "patch: {spec: {priority: 3}}}]");
  ASSERT_TRUE(patches.ok()) << patches.status();
  ASSERT_EQ(patches->size(), 2u);
  EXPECT_EQ((*patches)[1].of.Text(), "Pod default/p1");
  const Json merge = Json::parse((*patches)[1].merge);
  EXPECT_EQ(merge["spec"]["containers"][0]["resources"]["requests"]["cpu"], "100m");
  EXPECT_EQ(merge["spec"]["priority"], 3);
  PatchedCluster patched(live_);
  ASSERT_TRUE(patched.Apply(*patches).ok());
  EXPECT_EQ(live_.Snapshot().Free(kCpu, NodeId{0}), 4000 - 200);
}

TEST_F(WorkloadPatchTest, AWorkloadWithoutPodsIsAnError) {
  EXPECT_EQ(Patches("workloads: [{kind: Job, namespace: default, name: rs, patch: {}}]")
                .status()
                .message(),
            "no pods of it run in the cluster: Job default/rs");
}

TEST_F(WorkloadPatchTest, RequestsOfSeveralContainersAreNotGuessed) {
  Pod two = Pod("p2").On("a");
  two.raw.containers.push_back(two.raw.containers[0]);
  Put(&two.raw);
  EXPECT_THAT(
      std::string(
          Patches(
              "workloads: [{kind: ReplicaSet, namespace: default, name: rs, requests: {cpu: 1}}]")
              .status()
              .message()),
      HasSubstr("Pod default/p2: has 2 containers; requests name them"));
}

TEST_F(WorkloadPatchTest, RequestsAreOfContainersByTheirNames) {
  for (const char* name : {"p0", "p1"}) {
    Pod pod = Pod(name).On("a").Cpu(500);
    pod.raw.containers[0].name = "web";
    pod.raw.containers.push_back(pod.raw.containers[0]);
    pod.raw.containers[1].name = "proxy";
    Put(&pod.raw);
  }
  const std::string of = "workloads: [{kind: ReplicaSet, namespace: default, name: rs, requests: ";
  const auto patches = Patches(of + "{web: {cpu: 100m}}}]");
  ASSERT_TRUE(patches.ok()) << patches.status();
  PatchedCluster patched(live_);
  ASSERT_TRUE(patched.Apply(*patches).ok());
  EXPECT_EQ(live_.Snapshot().Free(kCpu, NodeId{0}), 4000 - 2 * (100 + 500)) << "the other's stay";
  patched.Undo();
  EXPECT_THAT(std::string(Patches(of + "{wbe: {cpu: 1}}}]").status().message()),
              HasSubstr("requests: it has no container wbe; it has web, proxy"));
}

// Symptom: `objects: [a,a,...` of 4 MB took 5 s and 900 MB before it was refused.
TEST(WhatIfFileTest, ATextOfTooManyValuesIsRefusedAtTheFirst) {
  std::string yaml = "objects: [";
  for (int i = 0; i < 2'000'000; ++i) yaml += "a,";
  EXPECT_EQ(ErrorOf(yaml + "]"),
            "w.yaml: line 1: value 300,001, with what aliases repeat; ebb reads at most 300,000 "
            "values");
}

// Symptom: a few bytes of nested aliases were written out as a patch of terabytes.
TEST(WhatIfFileTest, RepeatedAliasesCountTowardsTheLimit) {
  std::string yaml = "objects:\n- kind: Node\n  metadata: {name: n}\n  l0: &l0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    absl::StrAppend(&yaml, "  l", i, ": &l", i, " [*l", i - 1, ", *l", i - 1, "]\n");
  }
  EXPECT_THAT(ErrorOf(yaml), HasSubstr(", with what aliases repeat; ebb reads at most 300,000 "
                                       "values"));
  std::string texts = "objects:\n- kind: Node\n  metadata: {name: n}\n  a: &a ";
  texts += std::string(1'000'000, 'x') + "\n  b: [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n";
  EXPECT_THAT(ErrorOf(texts), HasSubstr(" bytes of values, with what aliases repeat; ebb reads at "
                                        "most 8,388,608"));
}

// Symptom: the tree of such a text has a cycle, and reading it ended the process.
TEST(WhatIfFileTest, NoValueContainsItself) {
  EXPECT_EQ(ErrorOf("objects: [{kind: Node, metadata: &m {name: n, labels: *m}}]"),
            "w.yaml: line 1: an alias stands within its own anchor");
}

// Symptom: such a key was read as an empty one.
TEST(WhatIfFileTest, AKeyIsAScalar) {
  EXPECT_EQ(ErrorOf("objects: [{kind: Node, metadata: {name: n}, ? [a] : b}]"),
            "w.yaml: line 1: a key is not a scalar");
}

TEST(WhatIfFileTest, FiveThousandObjectsAreRead) {
  std::string yaml = "objects:\n";
  for (int i = 0; i < 5'000; ++i) {
    absl::StrAppend(&yaml, "- kind: PodDisruptionBudget\n  metadata: {namespace: shop, name: db", i,
                    "}\n  status: {disruptionsAllowed: 3, expectedPods: 5}\n");
  }
  const absl::StatusOr<WhatIf> read = ParseWhatIf("w.yaml", yaml);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->objects.size(), 5'000U);
}

}  // namespace
}  // namespace ebb::what_if_file_test
