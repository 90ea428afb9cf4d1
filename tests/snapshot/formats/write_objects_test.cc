#include "snapshot/formats/write_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/objects/object_ref.h"
#include "tests/support/dump_sink.h"
#include "tests/support/every_field.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::write_objects_test {
namespace {

using ::ebb::testing::DumpSink;
using test::Node;

TEST(WriteObjectsTest, ReadingBackANodeGivesAllThatItSpecifies) {
  Node node("a");
  node.Taint("dedicated", "db", "NoSchedule").Unschedulable();
  node.raw.provider_id = "aws:///z/i-1";
  DumpSink given;
  ASSERT_TRUE(given.OnNode(node.raw).ok());
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    std::string text;
    ObjectWriter writer(format, [&](std::string_view bytes) {
      text += bytes;
      return absl::OkStatus();
    });
    ASSERT_TRUE(writer.OnNode(node.raw).ok());
    ASSERT_TRUE(writer.Finish().ok());
    DumpSink read;
    ImportStats stats;
    const absl::Status status = format == ObjectFormat::kJsonList
                                    ? ReadJson("x", text, false, read, stats)
                                    : ReadYaml("x", text, read, stats);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(read.lines(), given.lines());
  }
}

TEST(WriteObjectsTest, ReadingBackAPodGivesItsPodScheduledCondition) {
  using enum objects::Scheduling;
  for (const auto scheduling : {kNotRecorded, kUnprocessed, kUnschedulable, kGated, kOther}) {
    for (const char* phase : {"", "Pending"}) {
      test::Pod pod("p");
      pod.raw.scheduling = scheduling;
      pod.raw.phase = phase;
      pod.raw.scheduler_name = "custom";
      pod.raw.spec_digest = 0xabc;
      DumpSink given;
      ASSERT_TRUE(given.OnPod(pod.raw).ok());
      std::string text;
      ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
        text += bytes;
        return absl::OkStatus();
      });
      ASSERT_TRUE(writer.OnPod(pod.raw).ok());
      ASSERT_TRUE(writer.Finish().ok());
      EXPECT_THAT(text, ::testing::HasSubstr("0000000000000abc"));
      DumpSink read;
      ImportStats stats;
      ASSERT_TRUE(ReadJson("x", text, false, read, stats).ok());
      EXPECT_EQ(read.lines(), given.lines());
    }
  }
}

TEST(WriteObjectsTest, ReadingBackAControllerOfEachKindGivesTheSame) {
  using enum objects::ControllerKind;
  for (const auto kind : {kReplicationController, kReplicaSet, kStatefulSet, kDaemonSet, kJob}) {
    test::Controller controller = test::Controller(kind, "c").Replicas(7);
    controller.raw.status_replicas = 5;
    DumpSink given;
    ASSERT_TRUE(given.OnController(controller.raw).ok());
    std::string text;
    ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
      text += bytes;
      return absl::OkStatus();
    });
    ASSERT_TRUE(writer.OnController(controller.raw).ok());
    ASSERT_TRUE(writer.Finish().ok());
    DumpSink read;
    ImportStats stats;
    const absl::Status status = ReadJson("x", text, false, read, stats);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(read.lines().size(), 1u) << text;
    if (kind == kDaemonSet || kind == kJob) continue;  // These have no replicas to write.
    EXPECT_EQ(read.lines(), given.lines()) << text;
  }
}

// Objects that together set every field that is written.
constexpr std::string_view kEveryField = R"(
  {"kind":"Node","metadata":{"name":"n","uid":"u","labels":{"a":"b","c":""},"annotations":{"d":"e"},
    "creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"unschedulable":true,"providerID":"p",
    "taints":[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"l"}]},
   "status":{"allocatable":{"cpu":"1","x/y":3},"capacity":{"cpu":"2500m","memory":"3Mi"},
    "conditions":[{"type":"Ready","status":"True"}],"declaredFeatures":["F","G"],
    "nodeInfo":{"operatingSystem":"linux","architecture":"arm64","kubeletVersion":"v1.37.1"},
    "images":[{"names":["a@sha256:1","a:2"],"sizeBytes":7}]}}
  {"kind":"Pod","metadata":{"name":"p","namespace":"ns","deletionTimestamp":"1960-01-01T00:00:00Z",
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"ru",
      "controller":true},{"name":"other"}]},
   "spec":{"nodeName":"n","priority":-3,"restartPolicy":"Never","terminationGracePeriodSeconds":0,
    "hostNetwork":true,"hostUsers":false,"os":{"name":"linux"},"nodeSelector":{"a":"b"},
    "overhead":{"cpu":"5m","memory":"1Ki"},"resources":{"requests":{"memory":"1Gi"}},
    "resourceClaims":[{"name":"x","resourceClaimName":"held"},
      {"name":"y","resourceClaimTemplateName":"made"}],
    "tolerations":[{"key":"k","operator":"Equal","value":"v","effect":"NoExecute"}],
    "affinity":{
     "nodeAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
       {"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]}],
        "matchFields":[{"key":"metadata.name","operator":"NotIn","values":["x"]}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution":[
       {"weight":5,"preference":{"matchExpressions":[{"key":"k","operator":"Exists"}]}}]},
     "podAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"t",
       "labelSelector":{"matchLabels":{"l":"m"},
        "matchExpressions":[{"key":"z","operator":"Exists"}]},
       "namespaces":["ns"],"namespaceSelector":{}}],
      "preferredDuringSchedulingIgnoredDuringExecution":[
       {"weight":7,"podAffinityTerm":{"topologyKey":"near","labelSelector":{}}}]},
     "podAntiAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"t"}],
      "preferredDuringSchedulingIgnoredDuringExecution":[
       {"weight":8,"podAffinityTerm":{"topologyKey":"far"}}]}},
    "topologySpreadConstraints":[{"maxSkew":4,"topologyKey":"t","whenUnsatisfiable":"DoNotSchedule",
      "labelSelector":{},"matchLabelKeys":["h"],"minDomains":2,"nodeAffinityPolicy":"Ignore",
      "nodeTaintsPolicy":"Honor"}],
    "containers":[{"name":"c","image":"a:2","restartPolicy":"Always",
      "resources":{"requests":{"cpu":"1"}},
      "ports":[{"hostPort":1,"hostIP":"1.1.1.1","protocol":"UDP"},{"hostPort":2}],
      "volumeMounts":[{"name":"a","bindMountOptions":["noexec"]}],
      "restartPolicyRules":[{"action":"RestartAllContainers"}]},{"name":"d"}],
    "initContainers":[{"name":"i"}],
    "volumes":[{"name":"a","emptyDir":{"medium":"Memory"}},
      {"name":"b","persistentVolumeClaim":{"claimName":"cl","readOnly":true}},
      {"name":"c","rbd":{"image":"im","pool":"po","monitors":["m"]}},
      {"name":"d","csi":{"driver":"dr"}},{"name":"e","gcePersistentDisk":{"pdName":"pd"}}]},
   "status":{"phase":"Running","nominatedNodeName":"nn","resources":{"requests":{"cpu":"5"}},
    "allocatedResources":{"cpu":"6"},
    "nodeAllocatableResourceClaimStatuses":[{"mapping":[{"name":"cpu","quantity":"2"},
      {"name":"memory","quantity":"3Mi"}]}],
    "containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"7"}},
      "allocatedResources":{"cpu":"8"}}],
    "resourceClaimStatuses":[{"name":"y","resourceClaimName":"made-1"}]}}
  {"kind":"Pod","metadata":{"name":"q","namespace":"ns"},"spec":{"nodeSelector":{},
    "resources":{"requests":{}}},"status":{"resources":{}}}
  {"kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"ns"},
    "spec":{"selector":{"matchLabels":{"a":"b"}}},"status":{"disruptionsAllowed":3}}
  {"kind":"PodDisruptionBudget","metadata":{"name":"nil","namespace":"ns"}}
  {"kind":"Job","metadata":{"name":"j","namespace":"ns"},"spec":{"parallelism":0,"completions":5},
    "status":{"active":1,"succeeded":3}}
  {"kind":"Namespace","metadata":{"name":"ns","labels":{"x":"y"}}})";

TEST(WriteObjectsTest, ReadingBackObjectsWithEveryFieldGivesTheSame) {
  DumpSink given;
  ImportStats stats;
  const absl::Status parsed = ReadBytes("x", kEveryField, given, stats);
  ASSERT_TRUE(parsed.ok()) << parsed;
  ASSERT_EQ(given.lines().size(), 7u);
  EXPECT_EQ(given.lines()[1].find("not_understood"), std::string::npos) << given.lines()[1];
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    std::string text;
    ObjectWriter writer(format, [&](std::string_view bytes) {
      text += bytes;
      return absl::OkStatus();
    });
    ASSERT_TRUE(ReadBytes("x", kEveryField, writer, stats).ok());
    ASSERT_TRUE(writer.Finish().ok());
    DumpSink read;
    const absl::Status status = ReadBytes("y", text, read, stats);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(read.lines(), given.lines()) << text;
  }
}

TEST(WriteObjectsTest, AmountsAreWrittenInTheLargestUnitThatIsWhole) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  Node node("a");
  node.raw.capacity = {{"cpu", 3000, 0},
                       {"memory", int64_t{3} << 30, 0},
                       {"a/gi", 5 << 20, 0},
                       {"a/ki", 1536, 0},
                       {"a/one", 1025, 0},
                       {"a/zero", 0, 0},
                       {"a/billion", 2, 999'999'900}};
  node.raw.allocatable = {{"cpu", 2999, 0}};
  ASSERT_TRUE(writer.OnNode(node.raw).ok());
  for (const char* part :
       {R"("capacity":{"cpu":"3","memory":"3Gi","a/gi":"5Mi","a/ki":"1536","a/one":"1025",)"
        R"("a/zero":"0","a/billion":"1.0000001"})",
        R"("allocatable":{"cpu":"2999m"})"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(part));
  }
}

TEST(WriteObjectsTest, AFieldThatIsNotKnownIsNotLeftOutInSilence) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  objects::Pod pod;
  pod.meta.name = "p";
  pod.not_understood = "spec.newRule";
  EXPECT_EQ(writer.OnPod(pod).message(),
            "spec.newRule: ebb does not know this field and cannot write it; write a .pb snapshot");
  EXPECT_EQ(text, "");
}

TEST(WriteObjectsTest, OnlyTheEmptyListOfBudgetsIsWritten) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(writer.OnList("Pod", 0).ok());
  ASSERT_TRUE(writer.OnList("ReplicaSet", 0).ok());
  ASSERT_TRUE(writer.OnList("", 0).ok());
  ASSERT_TRUE(writer.OnList("PodDisruptionBudget", 1).ok());
  EXPECT_EQ(text, "");
  ASSERT_TRUE(writer.OnList("PodDisruptionBudget", 0).ok());
  EXPECT_THAT(text, ::testing::HasSubstr("\"PodDisruptionBudgetList\""));
}

TEST(WriteObjectsTest, AnEmptyListIsComplete) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(text, "{\"apiVersion\":\"v1\",\"items\":[\n],\"kind\":\"List\"}\n");
}

TEST(WriteObjectsTest, AListIsOneOfKubectl) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(writer.OnNode(test::Node("a").raw).ok());
  ASSERT_TRUE(writer.OnNode(test::Node("b").raw).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_THAT(text, ::testing::StartsWith("{\"apiVersion\":\"v1\",\"items\":[\n{"));
  EXPECT_THAT(text, ::testing::HasSubstr("},\n{"));
  EXPECT_THAT(text, ::testing::EndsWith("}\n],\"kind\":\"List\"}\n"));
}

// What the writer writes for one object, without the list around it.
template <typename Put>
std::string Written(Put put) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  EXPECT_TRUE(put(writer).ok());
  const std::string start = "{\"apiVersion\":\"v1\",\"items\":[\n";
  EXPECT_THAT(text, ::testing::StartsWith(start));
  return text.substr(start.size());
}

TEST(WriteObjectsTest, AControllerOfEachKindIsWrittenWithItsOwnFields) {
  using enum objects::ControllerKind;
  const std::string meta = R"("metadata":{"name":"c","namespace":"ns"})";
  for (const auto& [kind, written] : std::vector<std::pair<objects::ControllerKind, std::string>>{
           {kReplicationController,
            R"({"apiVersion":"v1","kind":"ReplicationController",)" + meta +
                R"(,"spec":{"replicas":7},"status":{"replicas":5,"readyReplicas":3}})"},
           {kReplicaSet,
            R"({"apiVersion":"apps/v1","kind":"ReplicaSet",)" + meta +
                R"(,"spec":{"replicas":7},"status":{"replicas":5,"readyReplicas":3}})"},
           {kStatefulSet,
            R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + meta +
                R"(,"spec":{"replicas":7},"status":{"currentReplicas":5,"readyReplicas":3}})"},
           {kDaemonSet, R"({"apiVersion":"apps/v1","kind":"DaemonSet",)" + meta +
                            R"(,"status":{"numberReady":3}})"},
           {kJob, R"({"apiVersion":"batch/v1","kind":"Job",)" + meta +
                      R"(,"spec":{"parallelism":7},"status":{"active":5}})"}}) {
    objects::Controller controller;
    controller.kind = kind;
    controller.meta.name = "c";
    controller.meta.namespace_name = "ns";
    controller.spec_replicas = 7;
    controller.status_replicas = 5;
    EXPECT_EQ(Written([&](ObjectWriter& writer) {
                writer.OnAside({.pods_ready = 3});
                return writer.OnController(controller);
              }),
              written);
  }
  objects::Controller job;
  job.kind = kJob;
  job.meta.name = "j";
  job.completions = 8;
  job.succeeded = 2;
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnController(job); }),
            R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},)"
            R"("spec":{"completions":8},"status":{"active":0,"succeeded":2}})");
}

TEST(WriteObjectsTest, AnAsideCountsForTheNextControllerOnly) {
  objects::Controller controller;
  controller.kind = objects::ControllerKind::kReplicaSet;
  controller.meta.name = "c";
  EXPECT_EQ(Written([&](ObjectWriter& writer) {
              writer.OnAside({.pods_ready = 3});
              EXPECT_TRUE(writer.OnController(controller).ok());
              return writer.OnController(controller);
            }),
            R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"c"},"spec":{},)"
            R"("status":{"replicas":0,"readyReplicas":3}})"
            ",\n"
            R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"c"},"spec":{},)"
            R"("status":{"replicas":0}})");
}

TEST(WriteObjectsTest, AbsentFieldsAreNotWritten) {
  objects::Node node;
  node.meta.name = "n";
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnNode(node); }),
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{},"status":{}})");
  objects::Pod pod;
  pod.meta.name = "p";
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnPod(pod); }),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{},"status":{}})");
  objects::PodDisruptionBudget budget;
  budget.meta.name = "b";
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnPodDisruptionBudget(budget); }),
            R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},)"
            R"("spec":{},"status":{"disruptionsAllowed":0}})");
  objects::ResourceClaim claim;
  claim.meta.name = "c";
  EXPECT_EQ(
      Written([&](ObjectWriter& writer) { return writer.OnStorageObject(claim); }),
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"}})");
}

TEST(WriteObjectsTest, TimesAreWrittenAsKubernetesDoes) {
  objects::Namespace ns;
  ns.meta.name = "n";
  ns.meta.creation_time = 1;
  ns.meta.deletion_time = 0;
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnNamespace(ns); }),
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n",)"
            R"("creationTimestamp":"1970-01-01T00:00:01Z",)"
            R"("deletionTimestamp":"1970-01-01T00:00:00Z"}})");
}

TEST(WriteObjectsTest, AnEmptyListOfBudgetsIsWrittenAsAList) {
  EXPECT_EQ(Written([](ObjectWriter& writer) { return writer.OnList("PodDisruptionBudget", 0); }),
            R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","items":[]})");
}

TEST(WriteObjectsTest, AClaimThatWasMadeForAPodIsOfItsStatus) {
  objects::Pod pod;
  pod.meta.name = "p";
  pod.resource_claims = {{"held", "h", ""},
                         {"made", "m-1", "template"},
                         {"unmade", "", "template"},
                         {"", "extended", ""}};
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnPod(pod); }),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"resourceClaims":[)"
            R"({"name":"held","resourceClaimName":"h"},)"
            R"({"name":"made","resourceClaimTemplateName":"template"},)"
            R"({"name":"unmade","resourceClaimTemplateName":"template"}]},"status":{)"
            R"("resourceClaimStatuses":[{"name":"made","resourceClaimName":"m-1"}],)"
            R"("extendedResourceClaimStatus":{"resourceClaimName":"extended"}}})");
}

TEST(WriteObjectsTest, QuantitiesOfEachUnitAreWrittenInItAndPartsToTheBillionth) {
  objects::Node node;
  node.meta.name = "n";
  node.capacity = {{"cpu", 0, 0},
                   {"ki", 1024, 0},
                   {"mi", int64_t{1} << 20, 0},
                   {"gi", int64_t{1} << 30, 0},
                   {"byte", 1023, 0},
                   {"half", 1, 500'000'000},
                   {"most", 1, 999'999'999},
                   {"least", 2, 1}};
  node.allocatable = {{"cpu", 2, 250'000'000}};
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnNode(node); }),
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{},"status":{)"
            R"("capacity":{"cpu":"0","ki":"1Ki","mi":"1Mi","gi":"1Gi","byte":"1023","half":"0.5",)"
            R"("most":"0.000000001","least":"1.999999999"},"allocatable":{"cpu":"1.75m"}}})");
}

TEST(WriteObjectsTest, YamlBeginsAndEndsWithAMarkerLine) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kYamlDocuments, [&text](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  std::string expected = std::string(kYamlStart) + "\n";
  for (const char* name : {"a", "b", "c"}) {
    objects::Namespace ns;
    ns.meta.name = name;
    ASSERT_TRUE(writer.OnNamespace(ns).ok());
    if (name[0] != 'a') expected += "---\n";
    expected += Yaml(nlohmann::ordered_json{
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
  }
  EXPECT_EQ(text, expected);
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(text, expected + "...\n" + std::string(kYamlEnd) + "\n");
}

TEST(WriteObjectsTest, AbsentFieldsOfPartsOfAPodAreNotWritten) {
  objects::Pod pod;
  pod.meta.name = "p";
  objects::Container& container = pod.containers.emplace_back();
  container.name = "c";
  container.ports = {{"1.2.3.4", 0, ""}};
  pod.volumes.resize(2);
  pod.volumes[0].name = "v";
  pod.volumes[1].name = "w";
  pod.volumes[1].source = "hostPath";
  pod.volumes[1].id = "x";  // hostPath has no field for an id.
  pod.container_statuses.emplace_back().name = "c";
  EXPECT_EQ(Written([&](ObjectWriter& writer) { return writer.OnPod(pod); }),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[)"
            R"({"name":"c","ports":[{"hostIP":"1.2.3.4"}]}],"volumes":[{"name":"v"},)"
            R"({"name":"w","hostPath":{}}]},"status":{"containerStatuses":[{"name":"c"}]}})");
}

template <typename Kind>
std::string WrittenAlone(const Kind& object) {
  return Written([&](ObjectWriter& writer) {
    if constexpr (std::is_constructible_v<objects::StorageObject, Kind>) {
      return writer.OnStorageObject(object);
    } else {
      return Give(&object, writer);
    }
  });
}

// A field that is added to a struct and not to this form fails here.
TEST(WriteObjectsTest, EveryFieldIsWritten) {
  testing::ForEachKindFilled([]<typename Kind>(Kind full) {
    // A template has a part of a pod's fields, which are written as those of a pod.
    if (std::is_same_v<Kind, objects::PodTemplate>) return;
    // Texts that decide which fields the object has.
    if constexpr (std::is_same_v<Kind, objects::Pod>) {
      full.not_understood = {};
      full.volumes[0].source = "rbd";
    } else if constexpr (std::is_same_v<Kind, objects::PersistentVolume>) {
      full.source = "azureDisk";
    } else if constexpr (std::is_same_v<Kind, objects::Machine>) {
      full.group = "machine.openshift.io";
    } else if constexpr (std::is_same_v<Kind, objects::PodGroup>) {
      full.group = "scheduling.k8s.io";
    }
    testing::ForEachFieldEmptied(full, [&](const std::string& name, const Kind& without) {
      if (name == "not_understood") return;
      EXPECT_NE(WrittenAlone(without), WrittenAlone(full)) << name;
    });
  });
}

// Symptom: a snapshot file whose number of a device was a text ended the program.
TEST(WriteObjectsTest, ANumberOfADeviceThatIsNoneIsWrittenAsItsText) {
  objects::ResourceSlice slice;
  objects::DeviceAttribute& index = slice.devices.emplace_back().attributes.emplace_back();
  index.name = "index";
  index.type = "int";
  for (const char* const value : {"many", "", "99999999999999999999", "7"}) {
    index.value = value;
    std::string text;
    ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
      text += bytes;
      return absl::OkStatus();
    });
    ASSERT_TRUE(writer.OnStorageObject(slice).ok());
    ASSERT_TRUE(writer.Finish().ok());
    const std::string written =
        std::string_view(value) == "7" ? "7" : absl::StrCat("\"", value, "\"");
    EXPECT_THAT(text, ::testing::HasSubstr(absl::StrCat("{\"int\":", written, "}"))) << value;
  }
}

TEST(WriteObjectsTest, AbsentFieldsOfStorageObjectsAreNotWritten) {
  const auto written = [](objects::StorageObject object) {
    std::visit([](auto& each) { each.meta.name = "x"; }, object);
    return Written([&](ObjectWriter& writer) { return writer.OnStorageObject(object); });
  };
  const auto text = [](const std::string& version, const std::string& kind,
                       const std::string& more) {
    return R"({"apiVersion":")" + version + R"(","kind":")" + kind +
           R"(","metadata":{"name":"x"})" + more + "}";
  };
  const std::string storage = "storage.k8s.io/v1";
  const std::string resource = "resource.k8s.io/v1";
  EXPECT_EQ(
      written(objects::PersistentVolume()),
      text("v1", "PersistentVolume", R"(,"spec":{"capacity":{"storage":"0"}},"status":null)"));
  EXPECT_EQ(written(objects::PersistentVolumeClaim()),
            text("v1", "PersistentVolumeClaim", R"(,"spec":{},"status":null)"));
  EXPECT_EQ(written(objects::StorageClass()), text(storage, "StorageClass", ""));
  EXPECT_EQ(written(objects::CsiDriver()),
            text(storage, "CSIDriver", R"(,"spec":{"storageCapacity":false})"));
  EXPECT_EQ(written(objects::CsiNode()), text(storage, "CSINode", R"(,"spec":{"drivers":[]})"));
  EXPECT_EQ(written(objects::VolumeAttachment()),
            text(storage, "VolumeAttachment", R"(,"spec":{})"));
  EXPECT_EQ(written(objects::CsiStorageCapacity()), text(storage, "CSIStorageCapacity", ""));
  EXPECT_EQ(written(objects::DeviceClass()), text(resource, "DeviceClass", R"(,"spec":{})"));
  EXPECT_EQ(written(objects::ResourceClaimTemplate()), text(resource, "ResourceClaimTemplate", ""));
  EXPECT_EQ(written(objects::DeviceTaintRule()),
            text(resource, "DeviceTaintRule", R"(,"spec":{"taint":{"key":""}})"));
  objects::ResourceClaim claim;
  claim.allocated = true;
  EXPECT_EQ(written(claim), text(resource, "ResourceClaim",
                                 R"(,"status":{"allocation":{"devices":{"results":[]}}})"));
}

TEST(WriteObjectsTest, AnErrorOfTheOutputIsReturned) {
  ObjectWriter writer(ObjectFormat::kJsonList, [](std::string_view) {
    return absl::ResourceExhaustedError("the disk is full");
  });
  EXPECT_EQ(writer.OnNode(test::Node("a").raw).message(), "the disk is full");
  EXPECT_EQ(writer.OnNamespace({}).message(), "the disk is full");
  EXPECT_EQ(writer.OnList("PodDisruptionBudget", 0).message(), "the disk is full");
  EXPECT_EQ(writer.Finish().message(), "the disk is full");
}

}  // namespace
}  // namespace ebb::write_objects_test
