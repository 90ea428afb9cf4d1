#include "snapshot/formats/read_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "snapshot/formats/json_bytes.h"
#include "tests/support/dump_sink.h"
#include "tests/support/sanitized.h"

namespace ebb::read_json_test {
namespace {

using ::ebb::testing::DumpSink;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Read {
  std::string error;  // Empty if there was no error.
  std::vector<std::string> lines;
  ImportStats stats;
};

Read ReadText(std::string_view json) {
  Read read;
  DumpSink sink;
  const absl::Status status = ReadJson("dump.json", json, false, sink, read.stats);
  read.error = std::string(status.message());
  read.lines = sink.lines();
  return read;
}

// The line for a pod with this spec.
std::string PodLine(std::string_view spec, std::string_view status = "{}") {
  const Read read =
      ReadText(std::string(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",)") +
               R"("namespace":"ns"},"spec":)" + std::string(spec) + R"(,"status":)" +
               std::string(status) + "}");
  if (!read.error.empty()) return read.error;
  return read.lines.empty() ? "nothing" : read.lines[0];
}

std::string Meta(std::string_view kind, std::string_view name) {
  return R"({"apiVersion":"v1","kind":")" + std::string(kind) + R"(","metadata":{"name":")" +
         std::string(name) + "\"}";
}
std::string NodeJson(std::string_view name) { return Meta("Node", name) + "}"; }

// --- Documents

TEST(ReadJsonTest, AListGivesItsItemsInOrder) {
  const Read read = ReadText(R"({"apiVersion":"v1","kind":"List","items":[)" + NodeJson("b") + "," +
                             NodeJson("a") + R"(],"metadata":{"resourceVersion":""}})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines, ElementsAre("Node name=[b]", "Node name=[a]"));
  EXPECT_EQ(read.stats.objects, 2u);
}

TEST(ReadJsonTest, AnEmptyListIsNotAnError) {
  const Read read = ReadText(R"({"apiVersion":"v1","items":[],"kind":"List"})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines, ElementsAre());
}

TEST(ReadJsonTest, ItemsMayComeBeforeTheKindThatTheyTakeFromTheirList) {
  const std::string items = R"("items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}])";
  for (const std::string& text : {R"({"kind":"NodeList","apiVersion":"v1",)" + items + "}",
                                  "{" + items + R"(,"kind":"NodeList","apiVersion":"v1"})"}) {
    const Read read = ReadText(text);
    EXPECT_EQ(read.error, "") << text;
    EXPECT_THAT(read.lines, ElementsAre("Node name=[a]", "Node name=[b]")) << text;
  }
}

// Reads an object of exactly `bytes` bytes, most of them in an unread member, alone or in a list.
std::string ReadLarge(size_t bytes, bool in_list) {
  const std::string head = Meta("Node", "n") + R"(,"data":")";
  std::string text = in_list ? R"({"apiVersion":"v1","kind":"List","items":[)" + head : head;
  text.append(bytes - head.size() - 2, 'x').append(in_list ? "\"}]}" : "\"}");
  text.reserve(text.size() + kJsonPadding);
  DumpSink sink;
  ImportStats stats;
  return std::string(ReadJson("dump.json", text, true, sink, stats).message());
}

TEST(ReadJsonTest, AnObjectMayHave256MebibytesAndNoByteMore) {
  if (test::kSanitized) GTEST_SKIP() << "takes long";
  constexpr size_t kMax = size_t{256} << 20;
  for (const bool in_list : {false, true}) {
    EXPECT_EQ(ReadLarge(kMax, in_list), "");
    EXPECT_THAT(ReadLarge(kMax + 1, in_list),
                HasSubstr("an object of 268435457 bytes is too large; at most 268435456 are read"));
  }
}

TEST(ReadJsonTest, KindVersionMetadataSpecAndStatusMayNotOccurTwice) {
  const std::string pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{})";
  for (const char* twice :
       {R"("kind":"Node")", R"("apiVersion":"v2")", R"("metadata":{"name":"q"})",
        R"("spec":{"nodeName":"n"})", R"("status":{},"status":{})"}) {
    const std::string object = pod + "," + twice + "}";
    EXPECT_THAT(ReadText(object).error, HasSubstr("occurs twice in one object")) << object;
    EXPECT_THAT(ReadText(R"({"apiVersion":"v1","kind":"List","items":[)" + object + "]}").error,
                HasSubstr("occurs twice in one object"))
        << object;
  }
  // By its first kind this object would have been ignored.
  EXPECT_THAT(ReadText(R"([{"apiVersion":"v1","kind":"ConfigMap","kind":"Node"}])").error,
              HasSubstr("kind: occurs twice in one object"));
  EXPECT_THAT(ReadText(R"({"kind":"List","items":[],"items":[)" + NodeJson("a") + "]}").error,
              HasSubstr("items occurs twice in one object"));
}

// Symptom: a budget whose kind was misspelled was ignored.
TEST(ReadJsonTest, AKnownKindInAnotherSpellingOrGroupIsRejected) {
  const auto error = [](const std::string& version, const std::string& kind) {
    return ReadText(R"([{"apiVersion":")" + version + R"(","kind":")" + kind +
                    R"(","metadata":{"name":"b"}}])")
        .error;
  };
  EXPECT_THAT(error("v1", "PodDisruptionBudget"),
              HasSubstr("kind: \"PodDisruptionBudget\" of apiVersion \"v1\" is not one of "
                        "Kubernetes; PodDisruptionBudget of policy is"));
  EXPECT_THAT(error("policy/v1", "podDisruptionBudget"), HasSubstr("is not one of Kubernetes"));
  EXPECT_THAT(error("policy", "PodDisruptionBudget"), HasSubstr("is not one of Kubernetes"));
  EXPECT_THAT(error("core/v1", "Pod"), HasSubstr("Pod of v1 is"));
  EXPECT_THAT(error("storage.k8s.io/v1", "CsiNode"), HasSubstr("CSINode of storage.k8s.io is"));
  // Custom resources of other groups may have the same kinds.
  EXPECT_EQ(error("batch.volcano.sh/v1alpha1", "Job"), "");
  EXPECT_EQ(error("longhorn.io/v1beta2", "Node"), "");
  EXPECT_EQ(error("apps/v1", "Deployment"), "");
  EXPECT_EQ(error("policy/v1beta1", "PodDisruptionBudget"), "");
}

TEST(ReadJsonTest, APluralOfAKnownKindAndAKindThatIsNotAWordAreRejected) {
  const auto error = [](const std::string& version, const std::string& kind) {
    return ReadText(R"({"apiVersion":")" + version + R"(","kind":")" + kind +
                    R"(","metadata":{"name":"b"}})")
        .error;
  };
  EXPECT_THAT(error("policy/v1", "PodDisruptionBudgets"), HasSubstr("Budget of policy is"));
  EXPECT_THAT(error("v1", "pods"), HasSubstr("Pod of v1 is"));
  for (const char* tail : {" ", R"(\n)", R"(\u200b)", R"(\u0000)"}) {
    EXPECT_THAT(error("policy/v1", std::string("PodDisruptionBudget") + tail),
                HasSubstr("is not one of Kubernetes"))
        << tail;
  }
  EXPECT_EQ(error("evil.io/v1", "Pods "), "");
  EXPECT_EQ(error("v1", "Endpoints"), "");
}

// Otherwise the items would be ignored, and NoPodDisruptionBudgets would not be reported.
TEST(ReadJsonTest, AListOfAKnownKindInAnotherSpellingOrGroupIsRejected) {
  const auto list = [](const std::string& version, const std::string& kind,
                       const std::string& items) {
    const std::string head = R"("apiVersion":")" + version + R"(","kind":")" + kind + "\"";
    const std::string error = ReadText("{" + head + R"(,"items":)" + items + "}").error;
    EXPECT_EQ(ReadText(R"({"items":)" + items + "," + head + "}").error, error);
    return error;
  };
  for (const char* items : {R"([{"metadata":{"name":"b"}}])", "[]", "null"}) {
    EXPECT_EQ(list("v1", "PodDisruptionBudgetList", items),
              "dump.json: the list of kind PodDisruptionBudgetList: kind: \"PodDisruptionBudget\" "
              "of apiVersion \"v1\" is not one of Kubernetes; PodDisruptionBudget of policy is");
    EXPECT_THAT(list("apps/v1", "PodDisruptionBudgetList", items), HasSubstr("of policy is"));
    EXPECT_THAT(list("policy/v1", "PodDisruptionbudgetList", items), HasSubstr("of policy is"));
    EXPECT_THAT(list("v1", "podList", items), HasSubstr("Pod of v1 is"));
    EXPECT_THAT(list("core/v1", "PodList", items), HasSubstr("Pod of v1 is"));
    EXPECT_THAT(list("apps/v1", "PodList", items), HasSubstr("Pod of v1 is"));
    EXPECT_EQ(list("policy/v1", "PodDisruptionBudgetList", items), "");
    EXPECT_EQ(list("apps/v1", "DeploymentList", items), "");
    EXPECT_EQ(list("longhorn.io/v1beta2", "NodeList", items), "");
  }
}

// Items without a kind have the list's kind and group.
TEST(ReadJsonTest, ItemsOfANodeListOfAnotherGroupAreNotNodes) {
  const std::string items = R"("items":[{"metadata":{"name":"b"}}])";
  const auto nodes = [&](const std::string& version) {
    return ReadText(R"({"apiVersion":")" + version + R"(","kind":"NodeList",)" + items + "}")
        .lines.size();
  };
  EXPECT_EQ(nodes("v1"), 1);
  EXPECT_EQ(nodes("longhorn.io/v1beta2"), 0);
  EXPECT_EQ(nodes("metrics.k8s.io/v1beta1"), 0);
}

TEST(ReadJsonTest, ACustomResourceWithItemsIsNotAList) {
  const std::string head = R"("apiVersion":"evil.io/v1","kind":"AllowList")";
  for (const std::string& items : {"[" + NodeJson("zz") + "]", std::string(R"(["10.0.0.1"])"),
                                   std::string("{}"), std::string("null")}) {
    for (const std::string& object :
         {"{" + head + R"(,"items":)" + items + "}", R"({"items":)" + items + "," + head + "}"}) {
      for (const std::string& text :
           {object, R"({"apiVersion":"v1","kind":"List","items":[)" + object + "]}"}) {
        const Read read = ReadText(text);
        EXPECT_EQ(read.error, "") << text;
        EXPECT_THAT(read.lines, ElementsAre()) << text;
        EXPECT_EQ(read.stats.ignored.count("AllowList"), 1u) << text;
      }
    }
  }
}

TEST(ReadJsonTest, TheLastOfTwoEqualKeysOfAMapCounts) {
  EXPECT_THAT(ReadText(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n",
                "labels":{"a":"1","b":"2","a":"3"},"annotations":{"x":"true","x":"false"}}})")
                  .lines,
              ElementsAre("Node name=[n] label=[b]:[2] label=[a]:[3] annotation=[x]:[false]"));
  EXPECT_EQ(PodLine(R"({"nodeSelector":{"k":"1","k":"2"},
                "overhead":{"cpu":"1","memory":"1","cpu":"2"}})"),
            PodLine(R"({"nodeSelector":{"k":"2"},"overhead":{"memory":"1","cpu":"2"}})"));
  const auto budget = [](const std::string& labels) {
    return ReadText(R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget",
        "metadata":{"name":"b"},"spec":{"selector":{"matchLabels":)" +
                    labels + "}}}")
        .lines;
  };
  EXPECT_EQ(budget(R"({"app":"none","app":"a"})"), budget(R"({"app":"a"})"));
  // So many that entries are no longer compared one by one.
  std::string twice = "{";
  std::string once = "{";
  for (const char* value : {"old", "new"}) {
    for (int i = 100; i < 200; ++i) {
      const std::string entry = "\"k" + std::to_string(i) + "\":\"" + value + "\",";
      twice += entry;
      if (value[0] == 'n') once += entry;
    }
  }
  EXPECT_EQ(
      budget(twice + R"("k100":"newest"})"),
      budget("{" + once.substr(std::string(R"({"k100":"new",)").size()) + R"("k100":"newest"})"));
}

TEST(ReadJsonTest, AnItemsOwnKindWinsOverItsLists) {
  const Read read =
      ReadText(R"({"kind":"PodList","apiVersion":"v1","items":[)" + NodeJson("a") + "]}");
  EXPECT_THAT(read.lines, ElementsAre("Node name=[a]"));
}

TEST(ReadJsonTest, ABareObjectManyInARowAndAnArrayAreRead) {
  EXPECT_THAT(ReadText(NodeJson("a")).lines, ElementsAre("Node name=[a]"));
  EXPECT_THAT(ReadText(NodeJson("a") + NodeJson("b") + "\n\n" + NodeJson("c") + "\n").lines,
              ElementsAre("Node name=[a]", "Node name=[b]", "Node name=[c]"));
  EXPECT_THAT(ReadText("[" + NodeJson("a") + " , " + NodeJson("b") + "]").lines,
              ElementsAre("Node name=[a]", "Node name=[b]"));
  EXPECT_THAT(ReadText("\xef\xbb\xbf" + NodeJson("a")).lines, ElementsAre("Node name=[a]"))
      << "a byte order mark";
}

TEST(ReadJsonTest, ADebuggingSnapshotPutsPodsOnTheNodeTheyAreListedUnder) {
  const Read read = ReadText(R"({
    "NodeList": [
      {"Node": {"metadata": {"name": "n1", "creationTimestamp": null}},
       "Pods": [{"metadata": {"name": "p", "namespace": "a"}, "spec": {"nodeName": "elsewhere"}},
                {"metadata": {"name": "q", "namespace": "a"}}]},
      {"Pods": null, "Node": {"metadata": {"name": "n2"}}}],
    "UnscheduledPodsCanBeScheduled": [{"metadata": {"name": "u", "namespace": "a"}}],
    "TemplateNodes": {"ng": {"Node": {"metadata": {"name": "template"}}, "Pods": []}},
    "StartTimestamp": "2026-01-01T00:00:00Z"})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines, ElementsAre("Node name=[n1]", "Pod name=[p] namespace=[a] node=[n1]",
                                      "Pod name=[q] namespace=[a] node=[n1]", "Node name=[n2]",
                                      "Pod name=[u] namespace=[a]"));
}

TEST(ReadJsonTest, PodsOfADebuggingSnapshotThatAreNotAListAreRejected) {
  for (const char* pods : {R"("[]")", "{}", "7", "true"}) {
    EXPECT_EQ(ReadText(R"({"NodeList": [{"Node": {"metadata": {"name": "n"}}, "Pods": )" +
                       std::string(pods) + "}]}")
                  .error,
              "dump.json: NodeList[0].Pods: is not an array");
  }
}

TEST(ReadJsonTest, OnlyRequestsOfAPodsOwnResourcesAreRead) {
  const std::string nothing = PodLine(R"({"resources":{}})");
  EXPECT_EQ(PodLine(R"({"resources":{"claims":[],"limits":{"cpu":"1"},"usage":{"cpu":"1"}}})"),
            nothing);
  EXPECT_NE(PodLine(R"({"resources":{"requests":{"cpu":"1"}}})"), nothing);
}

TEST(ReadJsonTest, KindsThatDoNotMatterAreCountedByName) {
  const Read read = ReadText(Meta("ConfigMap", "a") + "}" + Meta("ConfigMap", "b") + "}" +
                             Meta("Secret", "c") + "}");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.stats.objects, 0u);
  EXPECT_EQ(read.stats.ignored.at("ConfigMap"), 2u);
  EXPECT_EQ(read.stats.ignored.at("Secret"), 1u);
}

TEST(ReadJsonTest, AnotherGroupsJobIsNotABatchJob) {
  const Read read =
      ReadText(R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j"},)"
               R"("spec":{"parallelism":"all"}})");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.stats.ignored.at("Job"), 1u);
}

// --- Fields

TEST(ReadJsonTest, EveryFieldOfANodeIsRead) {
  const Read read = ReadText(R"({"status":{"allocatable":{"cpu":"3920m","memory":"1Ki","pods":110},
    "capacity":{"cpu":4,"example.com/dongle":"2"},"declaredFeatures":["F"],
    "images":[{"names":["a@sha256:1","a:2"],"sizeBytes":7},{"names":null}],
    "conditions":[{"type":"Ready","status":"Unknown","reason":"x"}]},
    "spec":{"unschedulable":true,"providerID":"aws:///i-1","podCIDR":"10.0.0.0/24",
      "taints":[{"key":"k","value":"v","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}]},
    "metadata":{"annotations":{"a":"1","kubectl.kubernetes.io/last-applied-configuration":"{}"},
      "creationTimestamp":"1970-01-02T00:00:00Z","labels":{"l":"w"},"uid":"u","name":"n"},
    "kind":"Node","apiVersion":"v1"})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines,
              ElementsAre("Node name=[n] uid=[u] label=[l]:[w] annotation=[a]:[1] created=86400 "
                          "unschedulable=true provider=[aws:///i-1] taint=[k] value=[v] "
                          "effect=[NoExecute] allocatable=[cpu]:3920 allocatable=[memory]:1024 "
                          "allocatable=[pods]:110 capacity=[cpu]:4000 "
                          "capacity=[example.com/dongle]:2 condition=[Ready] is=[Unknown] "
                          "feature=[F] image=[a@sha256:1] image=[a:2] bytes=7"));
}

TEST(ReadJsonTest, NodeInfoOfANodeIsRead) {
  const Read read = ReadText(R"({"kind":"Node","metadata":{"name":"n"},"status":{"nodeInfo":{
    "machineID":"m","kubeletVersion":"v1.37.0","operatingSystem":"windows",
    "architecture":"arm64"}}})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines, ElementsAre("Node name=[n] os=[windows] arch=[arm64] kubelet=[v1.37.0]"));
}

// Kubernetes 1.36 wrote `resources`.  In newer versions the name may come after the amount.
TEST(ReadJsonTest, NodeAllocatableResourcesOfDevicesAreRead) {
  const Read read = ReadText(R"({"kind":"Pod","metadata":{"name":"p"},"status":{
    "nodeAllocatableResourceClaimStatuses":[
      {"resourceClaimName":"x","containers":["a","b"],
       "mapping":[{"quantity":"1500m","name":"cpu"},{"name":"memory","quantity":"1Ki"}],
       "overhead":[{"name":"cpu","perPod":"100m","perContainer":"10m"},
                   {"perContainer":"1","name":"memory"}]},
      {"resources":{"cpu":"3"}}, {}]}})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(
      read.lines,
      ElementsAre("Pod name=[p] namespace=[default] claimed=[cpu]:1500 claimed=[memory]:1024 "
                  "claimed=[cpu]:100 claimed=[cpu]:20 claimed=[memory]:2 "
                  "claimed=[cpu]:3000"));
  const Read wrong = ReadText(R"({"kind":"Pod","metadata":{"name":"p"},"status":{
    "nodeAllocatableResourceClaimStatuses":[{"mapping":[{"name":"cpu","quantity":"4x"}]}]}})");
  EXPECT_THAT(wrong.error, HasSubstr("mapping[0].quantity: \"4x\" is not a quantity"));
}

TEST(ReadJsonTest, BindMountOptionsOfAnyContainerAreAPods) {
  for (const char* const spec :
       {R"("containers":[{"name":"c","volumeMounts":[{"name":"v"},{"bindMountOptions":["ro"]}]}])",
        R"("initContainers":[{"volumeMounts":[{"bindMountOptions":["noexec"]}]}])",
        R"("ephemeralContainers":[{"volumeMounts":[{"bindMountOptions":["noexec"]}]}])"}) {
    const Read read =
        ReadText(std::string(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{)") + spec + "}}");
    EXPECT_EQ(read.error, "");
    ASSERT_EQ(read.lines.size(), 1u);
    EXPECT_THAT(read.lines[0], HasSubstr("mounts=true")) << spec;
  }
  const Read none = ReadText(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"os":{"name":"linux"},
    "containers":[{"volumeMounts":[{"name":"v","bindMountOptions":[]}]}]}})");
  EXPECT_THAT(none.lines[0],
              ::testing::AllOf(HasSubstr("os=[linux]"), ::testing::Not(HasSubstr("mounts"))));
}

TEST(ReadJsonTest, EveryFieldOfAPodsMetadataIsRead) {
  const Read read = ReadText(R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"u",
    "deletionTimestamp":"1970-01-01T00:01:00+00:30",
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"ru",
      "controller":true,"blockOwnerDeletion":true},{"kind":"X","name":"y","controller":false}]}})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines, ElementsAre("Pod name=[p] namespace=[ns] uid=[u] owner=( api=[apps/v1] "
                                      "kind=[ReplicaSet] name=[r] uid=[ru] controller=true) "
                                      "owner=( kind=[X] name=[y]) deleted=-1740"));
}

TEST(ReadJsonTest, RequestsOfAPodAreRead) {
  EXPECT_EQ(PodLine(R"({"nodeName":"n","priority":-5,"restartPolicy":"Always","hostNetwork":true,
      "terminationGracePeriodSeconds":0,"hostUsers":false,"overhead":{"cpu":"250m"},
      "resources":{"requests":{"memory":"1Mi"},"limits":{"memory":"2Mi"}},
      "resourceClaims":[{"name":"gpu","resourceClaimName":"g"}],
      "containers":[{"name":"c","image":"web:1","resources":{"limits":{"cpu":"9"},"requests":{"cpu":"1"}},
        "ports":[{"containerPort":80},{"hostPort":80,"containerPort":80,"hostIP":"1.2.3.4","protocol":"UDP"}],
        "restartPolicyRules":[{"action":"RestartAllContainers"}]}],
      "initContainers":[{"name":"i","restartPolicy":"Always"}]})"),
            "Pod name=[p] namespace=[ns] node=[n] priority=-5 restart=[Always] grace=0 "
            "host_network=true host_users=0 container=( name=[c] image=[web:1] requests=[cpu]:1000 "
            "all=true "
            "ip=[1.2.3.4] port=80 protocol=[UDP]) init=( name=[i] restart=[Always]) "
            "overhead=[cpu]:250 has_resources=true requests=[memory]:1048576 claims=[gpu] "
            "claim=[g]");
}

TEST(ReadJsonTest, PreferencesAreReadAndRestrictNoPod) {
  EXPECT_EQ(PodLine(R"({"affinity":{
        "nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":5,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}],
            "matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}],"new":1},"more":2}]},
        "podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":6,"podAffinityTerm":{"topologyKey":"t","labelSelector":{"matchLabels":{"a":"b"}}}}]},
        "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":7,"podAffinityTerm":{"topologyKey":"u","namespaces":["m"]}}]}},
      "volumes":[{"name":"v","image":{"reference":"data:1","pullPolicy":"Always"}}]})"),
            "Pod name=[p] namespace=[ns] weight=5 likes=( expressions=( key=[a] op=[Exists]) "
            "fields=( key=[metadata.name] op=[In] values=[n])) "
            "weight=6 near=( selector=( labels=[a]:[b]) key=[t]) "
            "weight=7 far=( namespaces=[m] key=[u]) "
            "volume=[v] source=[image] id=[data:1]");
}

TEST(ReadJsonTest, ConstraintsOfAPodAreRead) {
  EXPECT_EQ(
      PodLine(R"({"nodeSelector":{},"tolerations":[{"operator":"Exists","tolerationSeconds":5},
        {"key":"k","operator":"Equal","value":"v","effect":"NoSchedule"}],
      "affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],
          "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
            {"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]}],
             "matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}, {}]}},
        "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
            {"topologyKey":"t","labelSelector":{"matchLabels":{"a":"b"}},"matchLabelKeys":["x"]}]},
        "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
            {"topologyKey":"t","labelSelector":{},"namespaces":["m"],
             "namespaceSelector":{"matchExpressions":[{"key":"z","operator":"Exists"}]}}]}},
      "topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",
        "labelSelector":{"matchLabels":{"a":"b"}},"minDomains":3,"matchLabelKeys":["h"],
        "nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor"}]})"),
      "Pod name=[p] namespace=[ns] has_selector=true node_affinity=terms term=( expressions=( "
      "key=[a] op=[In] values=[1] values=[2]) fields=( key=[metadata.name] op=[In] values=[n])) "
      "term=() affinity=( selector=( labels=[a]:[b]) key=[t]) "
      "anti=( selector=() namespaces=[m] in=( expressions=( key=[z] op=[Exists])) key=[t]) "
      "weight=1 likes=() "
      "tolerates=[yes] op=[Exists] "
      "tolerates=[yes] key=[k] op=[Equal] value=[v] effect=[NoSchedule] "
      "spread.key=[zone] skew=2 when=[DoNotSchedule] selector=( labels=[a]:[b]) keys=[h] domains=3 "
      "affinity=[Ignore] taints=[Honor]");
}

// "" stands for the value that follows from the phase alone.
TEST(ReadJsonTest, TheConditionPodScheduledDecidesWhetherAPodIsPending) {
  const auto scheduling = [](const std::string& spec, const std::string& status) {
    DumpSink sink;
    ImportStats stats;
    const std::string json = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":)" +
                             spec + R"(,"status":)" + status + "}";
    EXPECT_TRUE(ReadJson("x", json, false, sink, stats).ok()) << json;
    const std::string line(sink.lines().at(0));
    const size_t at = line.find("scheduling=");
    return at == std::string::npos ? std::string()
                                   : line.substr(at + 12, line.find(']', at) - at - 12);
  };
  const auto condition = [](const std::string& rest) {
    return R"({"phase":"Pending","conditions":[{"type":"Ready","status":"False"},)"
           R"({"type":"PodScheduled",)" +
           rest + "}]}";
  };
  EXPECT_EQ(scheduling("{}", "{}"), "");
  EXPECT_EQ(scheduling("{}", R"({"phase":"Pending"})"), "");
  EXPECT_EQ(scheduling("{}", condition(R"("status":"False")")), "");
  EXPECT_EQ(scheduling("{}", condition(R"("status":"False","reason":"Unschedulable")")),
            "Unschedulable");
  EXPECT_EQ(scheduling("{}", condition(R"("status":"True","reason":"Unschedulable")")), "Other");
  EXPECT_EQ(scheduling("{}", condition(R"("status":"False","reason":"SchedulingGated")")), "Gated");
  EXPECT_EQ(scheduling("{}", condition(R"("status":"False","reason":"SchedulerError")")), "Other");
  EXPECT_EQ(scheduling("{}", condition(R"("status":"True")")), "Other");
  const std::string gates = R"({"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}]})";
  EXPECT_EQ(scheduling(gates, "{}"), "Gated");
  EXPECT_EQ(scheduling(gates, R"({"phase":"Pending"})"), "Gated");
  EXPECT_EQ(scheduling(gates, condition(R"("status":"False","reason":"Unschedulable")")),
            "Unschedulable");
  EXPECT_EQ(scheduling(R"({"schedulingGates":[]})", R"({"phase":"Pending"})"), "");
  EXPECT_EQ(scheduling("{}", R"({"conditions":[{"type":"PodScheduled","status":"False",
      "reason":"Unschedulable"},{"type":"PodScheduled","status":"True"}]})"),
            "Unschedulable")
      << "the first counts";
}

TEST(ReadJsonTest, VolumesKeepTheirSourceAndItsIdentity) {
  EXPECT_EQ(PodLine(R"({"volumes":[{"name":"a","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}},
      {"hostPath":{"path":"/"},"name":"b"},{"name":"c","persistentVolumeClaim":{"claimName":"cl","readOnly":true}},
      {"name":"d","gcePersistentDisk":{"pdName":"disk"}},{"name":"e","rbd":{"image":"im","monitors":["m1","m2"]}},
      {"name":"f","csi":{"driver":"dr"}},{"name":"g"},{"name":"h","fancyNewVolume":{"deep":{"er":[1]}}}]})"),
            "Pod name=[p] namespace=[ns] volume=[a] source=[emptyDir] medium=[Memory] volume=[b] "
            "source=[hostPath] volume=[c] source=[persistentVolumeClaim] claim=[cl] ro=true "
            "volume=[d] source=[gcePersistentDisk] id=[disk] volume=[e] source=[rbd] id=[im] "
            "pool=[rbd] monitors=[m1] monitors=[m2] volume=[f] source=[csi] driver=[dr] volume=[g] "
            "source=[emptyDir] volume=[h] source=[fancyNewVolume] "
            "not_understood=[spec.volumes[].fancyNewVolume]");
}

TEST(ReadJsonTest, APodsStatusIsReadWhereItCounts) {
  EXPECT_EQ(PodLine("{}", R"({"phase":"Running","nominatedNodeName":"n",
      "conditions":[{"type":"Ready"},{"type":"PodResizePending","reason":"Infeasible","status":"True"}],
      "containerStatuses":[{"name":"quiet","ready":true},
        {"name":"c","resources":{"requests":{"cpu":"2"}},"allocatedResources":{"cpu":"1"}}],
      "initContainerStatuses":[{"name":"i","resources":{}}],
      "resources":{"requests":{"cpu":"3"}},"allocatedResources":{"cpu":"4"}})"),
            "Pod name=[p] namespace=[ns] phase=[Running] nominated=[n] unready=true "
            "infeasible=true status=[c] "
            "has=true requests=[cpu]:2000 allocated=[cpu]:1000 status=[i] has=true has_status=true "
            "status_requests=[cpu]:3000 allocated=[cpu]:4000");
}

TEST(ReadJsonTest, BudgetsControllersAndNamespacesAreRead) {
  const Read read = ReadText(R"(
    {"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"ns"},
     "spec":{"minAvailable":"50%","selector":{"matchLabels":{"a":"b"}}},"status":{"disruptionsAllowed":3}}
    {"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"nil","namespace":"ns"},"spec":{}}
    {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","namespace":"ns"},"spec":{"replicas":0},"status":{"replicas":2}}
    {"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s","namespace":"ns"},"status":{"currentReplicas":4,"replicas":9}}
    {"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"ns"},"spec":{"parallelism":2,"completions":5},"status":{"active":1,"succeeded":3}}
    {"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"c","namespace":"ns"},"spec":{"replicas":1}}
    {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d","namespace":"ns"},"status":{"currentNumberScheduled":1}}
    {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns","labels":{"a":"b"}}})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(
      read.lines,
      ElementsAre(
          "PodDisruptionBudget name=[b] namespace=[ns] selector=( labels=[a]:[b]) allowed=3",
          "PodDisruptionBudget name=[nil] namespace=[ns]",
          "Controller kind=1 name=[r] namespace=[ns] wanted=0 present=2",
          "Controller kind=2 name=[s] namespace=[ns] present=4",
          "Controller kind=4 name=[j] namespace=[ns] wanted=2 completions=5 present=1 "
          "succeeded=3",
          "Controller name=[c] namespace=[ns] wanted=1",
          "Controller kind=3 name=[d] namespace=[ns]", "Namespace name=[ns] label=[a]:[b]"));
}

TEST(ReadJsonTest, FieldsOfOneObjectDoNotCarryOverToTheNext) {
  const std::string rich = R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns",
    "labels":{"a":"b"},"annotations":{"c":"d"},"deletionTimestamp":"2026-01-01T00:00:00Z",
    "ownerReferences":[{"name":"o"}]},"spec":{"nodeName":"n","priority":1,"hostNetwork":true,
    "nodeSelector":{"a":"b"},"containers":[{"name":"c","resources":{"requests":{"cpu":1}},
    "ports":[{"hostPort":1}]}],"initContainers":[{"name":"c","resources":{"requests":{"cpu":1}}}],
    "volumes":[{"name":"v"}],"tolerations":[{}],"overhead":{"cpu":1},"resources":{"requests":{"cpu":1}},
    "resourceClaims":[{"name":"r"}],"affinity":{"new":1},
    "topologySpreadConstraints":[{"topologyKey":"t"}]},"status":{"phase":"Running",
    "containerStatuses":[{"resources":{}}],"resources":{"requests":{"cpu":1}},"allocatedResources":{"cpu":1}}})";
  const std::string bare = R"({"kind":"Pod","metadata":{"name":"q","namespace":"ns"},)"
                           R"("spec":{"containers":[{"name":"c"},{"name":"d"}]}})";
  const Read read = ReadText(rich + bare + rich);
  ASSERT_EQ(read.lines.size(), 3u) << read.error;
  EXPECT_EQ(read.lines[1],
            "Pod name=[q] namespace=[ns] container=( name=[c]) container=( name=[d])");
  EXPECT_EQ(read.lines[2], read.lines[0]);
}

TEST(ReadJsonTest, ClaimsOfOnePodDoNotCarryOverToTheNext) {
  const Read read = ReadText(
      R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns"},
          "status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu"}]},
          "spec":{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}]}}
         {"kind":"Pod","metadata":{"name":"q","namespace":"ns"},
          "spec":{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}]}})");
  ASSERT_EQ(read.lines.size(), 2u) << read.error;
  EXPECT_EQ(read.lines[0], "Pod name=[p] namespace=[ns] claims=[gpu] claim=[p-gpu] template=[t]");
  EXPECT_EQ(read.lines[1], "Pod name=[q] namespace=[ns] claims=[gpu] template=[t]");
}

TEST(ReadJsonTest, NullIsAbsent) {
  const std::string line = PodLine(
      R"({"nodeName":null,"priority":null,"nodeSelector":null,"affinity":{"podAffinity":null,
        "cosmicAffinity":null},"containers":[null,{"name":"c","resources":{"requests":null}}],
        "topologySpreadConstraints":null,"tolerations":[{"key":null}]})",
      R"({"phase":null})");
  EXPECT_EQ(line, "Pod name=[p] namespace=[ns] tolerates=[yes] container=( name=[c])");
}

TEST(ReadJsonTest, EscapesAreResolvedInKeysAndValues) {
  const Read read = ReadText(
      R"({"kind":"Namespace","metadata":{"na\u006de":"a\"b\\c\u00e9\ud83d\ude00","labels":{"k\"1":"\/d\n\u0031"}}})");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines,
              ElementsAre("Namespace name=[a\"b\\c\xc3\xa9\xf0\x9f\x98\x80] label=[k\"1]:[/d\n1]"));
}

TEST(ReadJsonTest, BracesAndQuotesWithinTextsDoNotEndAnObject) {
  const std::string tricky =
      R"({"kind":"Namespace","metadata":{"annotations":{"a":"}]\\\"}{[","b":"\\"},"name":")";
  for (int length = 0; length < 130; ++length) {  // Every position in the scanner's blocks.
    const std::string name(static_cast<size_t>(length) + 1, 'x');
    const Read read = ReadText("[" + tricky + name + "\"}}," + NodeJson("n") + "]");
    ASSERT_EQ(read.error, "") << length;
    ASSERT_THAT(read.lines, ElementsAre("Namespace name=[" + name +
                                            "] annotation=[a]:[}]\\\"}{[] "
                                            "annotation=[b]:[\\]",
                                        "Node name=[n]"));
  }
}

TEST(ReadJsonTest, APodWithoutANamespaceIsInDefault) {
  EXPECT_THAT(ReadText(Meta("Pod", "p") + "}").lines,
              ElementsAre("Pod name=[p] namespace=[default]"));
}

TEST(ReadJsonTest, TheNamespaceOfANodeIsIgnored) {
  EXPECT_THAT(
      ReadText(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","namespace":"a"}})")
          .lines,
      ElementsAre("Node name=[n]"));
}

// --- Not understood

// Symptom: the whole dump was rejected because of a pod that requested 8Ei.
TEST(ReadJsonTest, AnAmountBeyondInt64IsTheLargest) {
  EXPECT_EQ(PodLine(R"({"containers":[{"name":"c","resources":{"requests":
      {"cpu":"10P","memory":"8Ei","x.io/g":"99999999999999999999"}}}]})"),
            "Pod name=[p] namespace=[ns] container=( name=[c] requests=[cpu]:9223372036854775807 "
            "requests=[memory]:9223372036854775807 requests=[x.io/g]:9223372036854775807)");
  EXPECT_EQ(PodLine(R"({"containers":[{"resources":{"requests":{"memory":"1e400"}}}]})"),
            "Pod name=[p] namespace=[ns] container=( requests=[memory]:9223372036854775807)");
  EXPECT_THAT(
      ReadText(Meta("PersistentVolume", "pv") + R"(,"spec":{"capacity":{"storage":"10E"}}})").lines,
      ElementsAre("PersistentVolume name=[pv] capacity=9223372036854775807"));
  EXPECT_THAT(ReadText(Meta("Node", "n") + R"(,"status":{"allocatable":{"memory":"16Ei"}}})").lines,
              ElementsAre("Node name=[n] allocatable=[memory]:9223372036854775807"));
  EXPECT_THAT(PodLine(R"({"overhead":{"cpu":")" + std::string(3'000'000, '1') + R"("}})"),
              HasSubstr("spec.overhead.cpu: \"1111111111111111111111111111111111111111...\" has "
                        "3000000 bytes; a quantity has 2097152 at most"));
}

TEST(ReadJsonTest, AFieldThatTheAutoscalersSimulationIgnoresRestrictsNothing) {
  EXPECT_EQ(PodLine(R"({"nodeName":"n","schedulingGroup":{"podGroupName":"x"}})"),
            "Pod name=[p] namespace=[ns] node=[n] scheduling_group=[x]");
  EXPECT_EQ(PodLine(R"({"workloadRef":{"name":"w","podGroup":"x"},"nodeName":"n"})"),
            "Pod name=[p] namespace=[ns] node=[n] scheduling_group=[w]");
  EXPECT_EQ(PodLine(R"({"evictionResponders":[{"name":"a.org/b","priority":1}],"nodeName":"n"})"),
            "Pod name=[p] namespace=[ns] node=[n]");
  EXPECT_THAT(PodLine(R"({"schedulingGroups":[]})"), HasSubstr("spec.schedulingGroups"));
}

TEST(ReadJsonTest, AFieldThatMayRestrictPlacementIsNotSkipped) {
  const auto path = [](std::string_view spec) {
    const std::string line = PodLine(spec);
    const size_t at = line.find(" not_understood=");
    return at == std::string::npos ? "understood: " + line : line.substr(at + 16);
  };
  EXPECT_EQ(path(R"({"affinity":{"cosmicAffinity":{}}})"), "[spec.affinity.cosmicAffinity]");
  EXPECT_EQ(
      path(
          R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingRequiredDuringExecution":{}}}})"),
      "[spec.affinity.nodeAffinity.requiredDuringSchedulingRequiredDuringExecution]");
  EXPECT_EQ(
      path(R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
                     [{"topologyKey":"t","radius":3}]}}})"),
      "[spec.affinity.podAntiAffinity.radius]");
  EXPECT_EQ(path(R"({"topologySpreadConstraints":[{"topologyKey":"t","gravity":9}]})"),
            "[spec.topologySpreadConstraints[].gravity]");
  EXPECT_EQ(path(R"({"topologySpreadConstraints":[{"labelSelector":{"matchSome":1}}]})"),
            "[spec.topologySpreadConstraints[].matchSome]");
  EXPECT_EQ(path(R"({"tolerations":[{"unless":"x"}]})"), "[spec.tolerations[].unless]");
  EXPECT_EQ(path(R"({"placementPolicy":"far-away"})"), "[spec.placementPolicy]");
  EXPECT_THAT(path(R"({"dnsPolicy":"ClusterFirst","schedulerName":"s","os":{"name":"linux"},
                       "containers":[{"name":"c","newFeature":1}]})"),
              HasSubstr("understood: "));
}

// --- Invalid input

TEST(ReadJsonTest, AWrongFieldIsNamedWithFileObjectAndPath) {
  EXPECT_EQ(PodLine(R"({"containers":[{},{},{"resources":{"requests":{"cpu":"4x"}}}]})"),
            "dump.json: Pod ns/p: spec.containers[2].resources.requests.cpu: \"4x\" is not a "
            "quantity");
  EXPECT_EQ(
      PodLine(R"({"containers":[{"resources":{"requests":{"memory":"-1"}}}]})"),
      "dump.json: Pod ns/p: spec.containers[0].resources.requests.memory: \"-1\" is negative");
  EXPECT_EQ(PodLine(R"({"containers":[{"resources":{"requests":{"memory":true}}}]})"),
            "dump.json: Pod ns/p: spec.containers[0].resources.requests.memory: true is not a "
            "quantity");
  EXPECT_EQ(PodLine(R"({"nodeName":5})"), "dump.json: Pod ns/p: spec.nodeName: 5 is not a string");
  EXPECT_EQ(PodLine(R"({"priority":"high"})"),
            "dump.json: Pod ns/p: spec.priority: \"high\" is not a whole number");
  EXPECT_EQ(PodLine(R"({"priority":1.5})"),
            "dump.json: Pod ns/p: spec.priority: 1.5 is not a whole number");
  EXPECT_EQ(PodLine(R"({"priority":99999999999})"),
            "dump.json: Pod ns/p: spec.priority: 99999999999 is out of range");
  EXPECT_EQ(PodLine(R"({"priority":99999999999999999999})"),
            "dump.json: Pod ns/p: spec.priority: 99999999999999999999 is out of range");
  EXPECT_EQ(PodLine(R"({"hostNetwork":"yes"})"),
            "dump.json: Pod ns/p: spec.hostNetwork: \"yes\" is not true or false");
  EXPECT_EQ(PodLine(R"({"containers":{}})"),
            "dump.json: Pod ns/p: spec.containers: an object is not an array");
  EXPECT_EQ(PodLine(R"({"containers":[7]})"),
            "dump.json: Pod ns/p: spec.containers[0]: 7 is not an object");
  EXPECT_EQ(PodLine("[]"), "dump.json: Pod ns/p: spec: an array is not an object");
  EXPECT_EQ(PodLine(R"({"topologySpreadConstraints":[{"maxSkew":-1}]})"),
            "dump.json: Pod ns/p: spec.topologySpreadConstraints[0].maxSkew: -1 is negative");
  EXPECT_EQ(PodLine(R"({"containers":[{"ports":[{"hostPort":70000}]}]})"),
            "dump.json: Pod ns/p: spec.containers[0].ports[0].hostPort: 70000 is out of range");
}

TEST(ReadJsonTest, AWrongFieldOfOtherKindsIsNamedToo) {
  EXPECT_EQ(
      ReadText(R"({"kind":"Node","status":{"allocatable":{"cpu":"-4"}},"metadata":{"name":"n"}})")
          .error,
      "dump.json: Node n: status.allocatable.cpu: \"-4\" is negative")
      << "the name stands behind the wrong field";
  EXPECT_EQ(ReadText(R"({"kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"ns"},)"
                     R"("status":{"disruptionsAllowed":-2}})")
                .error,
            "dump.json: PodDisruptionBudget ns/b: status.disruptionsAllowed: -2 is negative");
  EXPECT_EQ(
      ReadText(R"({"kind":"Node","metadata":{"name":"n","creationTimestamp":"yesterday"}})").error,
      "dump.json: Node n: metadata.creationTimestamp: \"yesterday\" is not an RFC 3339 time");
  EXPECT_EQ(ReadText(R"({"kind":"List","items":[{"kind":"Node","metadata":{}}]})").error,
            "dump.json: Node items[0]: metadata.name: is missing");
}

TEST(ReadJsonTest, AnObjectThatIsNotOfKubernetesIsRejected) {
  EXPECT_EQ(ReadText("{}").error,
            "dump.json: byte 0, line 1, column 1: is not a Kubernetes object: kind is missing");
  EXPECT_EQ(ReadText("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}\n {\"a\": 1}").error,
            "dump.json: byte 41, line 2, column 2: is not a Kubernetes object: kind is missing");
  EXPECT_THAT(ReadText(R"({"items":[{"metadata":{"name":"n"}}]})").error,
              HasSubstr("dump.json: items[0]: is not a Kubernetes object: kind is missing"));
  EXPECT_EQ(ReadText(R"({"items":[5]})").error,
            "dump.json: items[0]: is not an object (byte 10, line 1, column 11)");
  EXPECT_EQ(ReadText(R"({"NodeList":[{"Pods":[]}]})").error,
            "dump.json: NodeList[0].Node: is missing");
}

TEST(ReadJsonTest, ATextThatIsNotJsonIsRejectedInOneLineWithAByte) {
  EXPECT_EQ(ReadText("").error, "dump.json: is empty");
  EXPECT_EQ(ReadText(" \n ").error, "dump.json: is empty");
  EXPECT_EQ(ReadText("hello").error,
            "dump.json: byte 0, line 1, column 1: is not JSON: an object or array was expected");
  EXPECT_EQ(ReadText(NodeJson("a") + "x").error,
            "dump.json: byte 57, line 1, column 58: is not JSON: an object or array was expected");
  EXPECT_EQ(ReadText(R"({"kind" "Node"})").error,
            "dump.json: byte 8, line 1, column 9: is not JSON: a colon was expected");
  EXPECT_EQ(ReadText(R"({"items":[{"kind":"Node"} {"kind":"Node"}]})").error,
            "dump.json: Node items[0]: metadata.name: is missing");
  EXPECT_EQ(ReadText("[" + NodeJson("a") + " " + NodeJson("b") + "]").error,
            "dump.json: byte 59, line 1, column 60: is not JSON: a comma or the end of the list "
            "was expected");
  EXPECT_EQ(ReadText("[" + NodeJson("a") + ",]").error,
            "dump.json: byte 59, line 1, column 60: is not JSON: a value was expected");
  EXPECT_THAT(ReadText(R"({"kind":"Node","metadata":{"name" 5}})").error,
              HasSubstr("dump.json: byte "));
}

TEST(ReadJsonTest, TextThatIsNotUtf8IsRefusedAtItsByte) {
  EXPECT_EQ(ReadText("{\"kind\":\"Node\",\"metadata\":{\"name\":\"\xff\"}}").error,
            "dump.json: byte 35, line 1, column 36: is not UTF-8");
  EXPECT_EQ(ReadText("[" + NodeJson("a") + ",{\"kind\":\"No\xc3\"}]").error,
            "dump.json: byte 70, line 1, column 71: is not UTF-8");
}

TEST(ReadJsonTest, ATextCutOffAnywhereIsAnErrorOrWhatWasWhole) {
  const std::string list = R"({"apiVersion":"v1","items":[)" + NodeJson("a") + "," + NodeJson("b") +
                           R"(],"kind":"List"})";
  for (size_t size = 0; size < list.size(); ++size) {
    const Read read = ReadText(std::string_view(list).substr(0, size));
    ASSERT_NE(read.error, "") << size;
    ASSERT_THAT(read.error, HasSubstr(size == 0 ? "is empty" : "is truncated")) << size;
    ASSERT_THAT(read.error, Not(HasSubstr("\n"))) << size;
  }
  EXPECT_EQ(ReadText(std::string_view(list).substr(0, 60)).error,
            "dump.json: byte 60, line 1, column 61: is truncated: the text ends within what began "
            "at byte 28, line 1, column 29");
}

TEST(ReadJsonTest, DeepNestingDoesNotCrash) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(ReadText(R"({"kind":"Namespace","metadata":{"name":"n"},"x":)" + deep + "}").error, "");
  EXPECT_NE(ReadText(std::string(200'000, '[')).error, "");
}

// A sink that rejects pods.
class Refusing : public DumpSink {
 public:
  absl::Status OnPod(const objects::Pod&) override {
    return absl::AlreadyExistsError("is there already");
  }
};

TEST(ReadJsonTest, AnErrorOfTheSinkIsReturnedWithFileAndObject) {
  Refusing sink;
  ImportStats stats;
  const absl::Status status =
      ReadJson("dump.json", R"({"kind":"Pod","metadata":{"namespace":"ns","name":"p"}})", false,
               sink, stats);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(status.message(), "dump.json: Pod ns/p: is there already");
}

// --- Every name in the tables

TEST(ReadJsonTest, EachSourceThatAPodsVolumeMayHaveIsUnderstood) {
  for (const char* source : {"awsElasticBlockStore",
                             "azureDisk",
                             "azureFile",
                             "cephfs",
                             "cinder",
                             "configMap",
                             "csi",
                             "downwardAPI",
                             "emptyDir",
                             "ephemeral",
                             "fc",
                             "flexVolume",
                             "flocker",
                             "gcePersistentDisk",
                             "gitRepo",
                             "glusterfs",
                             "hostPath",
                             "image",
                             "iscsi",
                             "nfs",
                             "persistentVolumeClaim",
                             "photonPersistentDisk",
                             "portworxVolume",
                             "projected",
                             "quobyte",
                             "rbd",
                             "scaleIO",
                             "secret",
                             "storageos",
                             "vsphereVolume"}) {
    const std::string line =
        PodLine(R"({"volumes":[{"name":"v",")" + std::string(source) + R"(":{"else":"x"}}]})");
    EXPECT_THAT(line, HasSubstr(" source=[" + std::string(source) + "]"));
    EXPECT_THAT(line, Not(HasSubstr("not_understood")));
  }
}

TEST(ReadJsonTest, EachSourceThatAPersistentVolumeMayHaveIsUnderstood) {
  const auto line = [](const std::string& source) {
    const Read read =
        ReadText(Meta("PersistentVolume", "pv") + R"(,"spec":{")" + source + R"(":{"else":"x"}}})");
    return read.lines.empty() ? read.error : read.lines[0];
  };
  for (const char* source : {"awsElasticBlockStore",
                             "azureDisk",
                             "azureFile",
                             "cephfs",
                             "cinder",
                             "csi",
                             "fc",
                             "flexVolume",
                             "flocker",
                             "gcePersistentDisk",
                             "glusterfs",
                             "hostPath",
                             "iscsi",
                             "local",
                             "nfs",
                             "photonPersistentDisk",
                             "portworxVolume",
                             "quobyte",
                             "rbd",
                             "scaleIO",
                             "storageos",
                             "vsphereVolume"}) {
    EXPECT_EQ(line(source), "PersistentVolume name=[pv] source=[" + std::string(source) + "]");
  }
  // Sources that only pods may have are unknown here: the volume fits nowhere.
  for (const char* source : {"configMap", "emptyDir", "image"}) {
    EXPECT_EQ(line(source), "PersistentVolume name=[pv] affinity=terms");
  }
}

TEST(ReadJsonTest, TheFieldThatNamesTheDiskDependsOnTheVolumeSource) {
  struct Case {
    std::string source;
    std::string field;
  };
  for (const auto& [source, field] : std::vector<Case>{{"gcePersistentDisk", "pdName"},
                                                       {"awsElasticBlockStore", "volumeID"},
                                                       {"iscsi", "iqn"},
                                                       {"rbd", "image"},
                                                       {"azureDisk", "diskURI"},
                                                       {"azureFile", "shareName"},
                                                       {"cinder", "volumeID"},
                                                       {"image", "reference"},
                                                       {"portworxVolume", "volumeID"},
                                                       {"vsphereVolume", "volumePath"}}) {
    std::string volume = "\"" + source + R"(":{"else":"x",")";
    volume.append(field).append(R"(":"disk-1"})");
    EXPECT_EQ(PodLine(R"({"volumes":[{"name":"v",)" + volume + "}]}"),
              "Pod name=[p] namespace=[ns] volume=[v] source=[" + source + "] id=[disk-1]" +
                  (source == "rbd" ? " pool=[rbd]" : ""));
    if (source == "image") continue;  // Only pods may have it.
    EXPECT_THAT(ReadText(Meta("PersistentVolume", "pv") + R"(,"spec":{)" + volume + "}}").lines,
                ElementsAre("PersistentVolume name=[pv] source=[" + source + "] id=[disk-1]"));
  }
}

TEST(ReadJsonTest, FieldsOfOneVolumeSourceAreNotReadForAnother) {
  const auto volume = [](const std::string& source) {
    const std::string line = PodLine(R"({"volumes":[{"name":"v",)" + source + "}]}");
    const std::string start = "Pod name=[p] namespace=[ns] volume=[v] source=";
    return line.starts_with(start) ? line.substr(start.size()) : line;
  };
  EXPECT_EQ(volume(R"("azureDisk":{"diskURI":"u","kind":"Managed"})"), "[azureDisk] id=[u]");
  EXPECT_EQ(volume(R"("azureDisk":{"diskURI":"u","kind":"Dedicated"})"),
            "[azureDisk] id=[u] not_understood=[spec.volumes[].azureDisk.kind]");
  EXPECT_EQ(volume(R"("azureDisk":{"kind":7})"),
            "dump.json: Pod ns/p: spec.volumes[0].azureDisk.kind: 7 is not a string");
  EXPECT_EQ(volume(R"("gcePersistentDisk":{"pdName":"d","kind":"Dedicated"})"),
            "[gcePersistentDisk] id=[d]");
  EXPECT_EQ(volume(R"("csi":{"driver":"d","readOnly":true,"volumeHandle":"h"})"),
            "[csi] driver=[d] ro=true");
  EXPECT_EQ(volume(R"("flexVolume":{"driver":"d"})"), "[flexVolume]");
  EXPECT_EQ(volume(R"("emptyDir":{"claimName":"c"})"), "[emptyDir]");
  EXPECT_EQ(volume(R"("persistentVolumeClaim":{"medium":"m","claimName":"c"})"),
            "[persistentVolumeClaim] claim=[c]");
  EXPECT_EQ(volume(R"("iscsi":{"iqn":"i","pool":"x","monitors":["m"]})"), "[iscsi] id=[i]");
  EXPECT_EQ(volume(R"("rbd":{"image":"i","pool":"x","monitors":["m"]})"),
            "[rbd] id=[i] pool=[x] monitors=[m]");
  EXPECT_THAT(ReadText(Meta("PersistentVolume", "pv") +
                       R"(,"spec":{"rbd":{"image":"i","driver":"d","kind":"k"}}})")
                  .lines,
              ElementsAre("PersistentVolume name=[pv] source=[rbd] id=[i]"));
}

// --- Single fields

TEST(ReadJsonTest, OneRuleThatRestartsAllContainersIsEnough) {
  EXPECT_EQ(PodLine(R"({"containers":[{"name":"c","restartPolicyRules":[
                         {"action":"RestartAllContainers","exitCodes":{}},{"action":"Restart"}]},
                       {"name":"d","restartPolicyRules":[{"action":"Restart"}]}]})"),
            "Pod name=[p] namespace=[ns] container=( name=[c] all=true) container=( name=[d])");
}

TEST(ReadJsonTest, OnlyAPendingResizeCanBeInfeasible) {
  EXPECT_EQ(PodLine("{}", R"({"conditions":[{"type":"PodResizePending","reason":"Deferred"},
                             {"type":"PodResizeInProgress","reason":"Infeasible"}]})"),
            "Pod name=[p] namespace=[ns]");
}

TEST(ReadJsonTest, AClaimThatAPodNamesItselfIsNotTheOneThatItsStatusNames) {
  EXPECT_EQ(PodLine(R"({"resourceClaims":[{"name":"a","resourceClaimName":"held"}]})",
                    R"({"resourceClaimStatuses":[{"name":"a","resourceClaimName":"other"},
                        {"name":"b","resourceClaimName":"of-nobody"}]})"),
            "Pod name=[p] namespace=[ns] claims=[a] claim=[held]");
}

TEST(ReadJsonTest, APreferenceWithAnUnparsableSelectorIsNotSkipped) {
  EXPECT_THAT(
      PodLine(R"({"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":1,"podAffinityTerm":{"topologyKey":"t","labelSelector":{
            "matchExpressions":[{"key":"a","operator":"Perhaps"}]}}}]}}})"),
      HasSubstr(" not_understood=[spec.affinity.podAffinity: \"Perhaps\" is not a valid label "
                "selector operator (key \"a\")]"));
  EXPECT_THAT(
      PodLine(R"({"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":1,"podAffinityTerm":{"topologyKey":"t","labelSelector":{},"namespaceSelector":{
            "matchExpressions":[{"key":"b","operator":"In"}]}}}]}}})"),
      HasSubstr(" not_understood=[spec.affinity.podAntiAffinity: operator In on key \"b\" has 0 "
                "values]"));
}

TEST(ReadJsonTest, NumbersMayComeUpToTheEndsOfTheirTypes) {
  EXPECT_EQ(PodLine(R"({"priority":2147483647})"),
            "Pod name=[p] namespace=[ns] priority=2147483647");
  EXPECT_EQ(PodLine(R"({"priority":-2147483648})"),
            "Pod name=[p] namespace=[ns] priority=-2147483648");
  for (const char* beyond : {"2147483648", "-2147483649"}) {
    EXPECT_EQ(PodLine(R"({"priority":)" + std::string(beyond) + "}"),
              "dump.json: Pod ns/p: spec.priority: " + std::string(beyond) + " is out of range");
  }
  EXPECT_EQ(PodLine(R"({"containers":[{"name":"c","ports":[{"hostPort":65535},{"hostPort":0}]}]})"),
            "Pod name=[p] namespace=[ns] container=( name=[c] port=65535)");
  EXPECT_EQ(PodLine(R"({"containers":[{"ports":[{"hostPort":65536}]}]})"),
            "dump.json: Pod ns/p: spec.containers[0].ports[0].hostPort: 65536 is out of range");
  EXPECT_EQ(PodLine(R"({"containers":[{"ports":[{},{"hostPort":-1}]}]})"),
            "dump.json: Pod ns/p: spec.containers[0].ports[1].hostPort: -1 is negative");
  EXPECT_EQ(PodLine(R"({"overhead":{"cpu":9,"memory":0}})"),
            "Pod name=[p] namespace=[ns] overhead=[cpu]:9000 overhead=[memory]:0");
  EXPECT_EQ(PodLine(R"({"overhead":{"cpu":{}}})"),
            "dump.json: Pod ns/p: spec.overhead.cpu: an object is not a quantity");
}

TEST(ReadJsonTest, CountsMayBeZeroAndNotNegative) {
  struct Case {
    std::string version_and_kind;
    std::string before;  // The text in front of the number.
    std::string behind;
    std::string path;
  };
  for (const auto& [what, before, behind, path] : std::vector<Case>{
           {R"("apps/v1","kind":"ReplicaSet")", R"("spec":{"replicas":)", "}", "spec.replicas"},
           {R"("apps/v1","kind":"ReplicaSet")", R"("status":{"replicas":)", "}", "status.replicas"},
           {R"("apps/v1","kind":"ReplicaSet")", R"("status":{"readyReplicas":)", "}",
            "status.readyReplicas"},
           {R"("apps/v1","kind":"StatefulSet")", R"("status":{"currentReplicas":)", "}",
            "status.currentReplicas"},
           {R"("apps/v1","kind":"DaemonSet")", R"("status":{"numberReady":)", "}",
            "status.numberReady"},
           {R"("batch/v1","kind":"Job")", R"("spec":{"parallelism":)", "}", "spec.parallelism"},
           {R"("batch/v1","kind":"Job")", R"("spec":{"completions":)", "}", "spec.completions"},
           {R"("batch/v1","kind":"Job")", R"("status":{"active":)", "}", "status.active"},
           {R"("batch/v1","kind":"Job")", R"("status":{"succeeded":)", "}", "status.succeeded"},
           {R"("policy/v1","kind":"PodDisruptionBudget")", R"("status":{"disruptionsAllowed":)",
            "}", "status.disruptionsAllowed"},
           {R"("storage.k8s.io/v1","kind":"CSINode")",
            R"("spec":{"drivers":[{"name":"d","allocatable":{"count":)", "}}]}",
            "spec.drivers[0].allocatable.count"},
           {R"("v1","kind":"Pod")", R"("spec":{"topologySpreadConstraints":[{"minDomains":)", "}]}",
            "spec.topologySpreadConstraints[0].minDomains"},
           {R"("v1","kind":"Pod")", R"("spec":{"topologySpreadConstraints":[{"maxSkew":)", "}]}",
            "spec.topologySpreadConstraints[0].maxSkew"}}) {
    const auto error = [&](const char* number) {
      return ReadText(R"({"apiVersion":)" + what + R"(,"metadata":{"name":"x"},)" + before +
                      number + behind + "}")
          .error;
    };
    EXPECT_EQ(error("0"), "") << path;
    EXPECT_EQ(error("2147483647"), "") << path;
    EXPECT_THAT(error("-1"), ::testing::EndsWith(" x: " + path + ": -1 is negative"));
    EXPECT_THAT(error("2147483648"), HasSubstr(path + ": 2147483648 is out of range"));
  }
}

TEST(ReadJsonTest, CountsOfJobsAreNotReadOfOtherControllers) {
  EXPECT_THAT(ReadText(R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},
                           "spec":{"completions":"x","parallelism":"x"},
                           "status":{"succeeded":"x","active":"x","numberReady":"x"}})")
                  .lines,
              ElementsAre("Controller kind=1 name=[r] namespace=[default]"));
}

TEST(ReadJsonTest, ALongValueIsShownUpTo60BytesOfWholeCharacters) {
  const std::string digits(60, '7');
  const std::string start = "dump.json: Pod ns/p: spec.nodeName: ";
  EXPECT_EQ(PodLine(R"({"nodeName":)" + digits + "}"), start + digits + " is not a string");
  EXPECT_EQ(PodLine(R"({"nodeName":)" + digits + "7}"), start + digits + "... is not a string");
  // The quote, 58 letters, then a character of two bytes, at bytes 59 and 60.
  const std::string letters(58, 'a');
  EXPECT_EQ(PodLine("{\"priority\":\"" + letters + "\xc3\xa9zz\"}"),
            "dump.json: Pod ns/p: spec.priority: \"" + letters + "... is not a whole number");
}

// --- Names and objects

TEST(ReadJsonTest, InvalidNamesAreRejectedWithTheirField) {
  const auto error = [](const std::string& meta, const std::string& spec) {
    return ReadText(R"({"kind":"Pod","metadata":{)" + meta + R"(},"spec":{)" + spec + "}}").error;
  };
  const std::string is_none = " is not a name: it has blanks or characters that do not show";
  EXPECT_EQ(error(R"("name":"a b","namespace":"ns")", ""),
            "dump.json: Pod ns/a b: metadata.name: \"a b\"" + is_none);
  EXPECT_EQ(error(R"("name":"p","namespace":"a/b")", ""),
            "dump.json: Pod a/b/p: metadata.namespace: \"a/b\" is not a name: it has a \"/\"");
  EXPECT_EQ(error(R"("name":"p","namespace":"ns")", R"("nodeName":"x y")"),
            "dump.json: Pod ns/p: spec.nodeName: \"x y\"" + is_none);
  EXPECT_EQ(ReadText(Meta("Node", "a b") + "}").error,
            "dump.json: Node a b: metadata.name: \"a b\"" + is_none);
}

TEST(ReadJsonTest, AnErrorBeforeTheMetadataStillNamesTheNamespace) {
  EXPECT_EQ(
      ReadText(R"({"kind":"Pod","spec":{"nodeName":5},"metadata":{"namespace":"ns","name":"p"}})")
          .error,
      "dump.json: Pod ns/p: spec.nodeName: 5 is not a string");
}

TEST(ReadJsonTest, AResourceSliceWithoutADriverIsRefused) {
  EXPECT_EQ(ReadText(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice",
                         "metadata":{"name":"s"},"spec":{"pool":{"name":"n"}}})")
                .error,
            "dump.json: ResourceSlice s: spec.driver: is missing");
}

TEST(ReadJsonTest, AStatusOfAnotherGroupIsIgnored) {
  const Read read =
      ReadText(R"({"apiVersion":"example.com/v1","kind":"Status","status":"Failure"})");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.stats.ignored.at("Status"), 1u);
}

// The reader remembers the start of the object before.
TEST(ReadJsonTest, AnObjectThatBeginsLikeTheOneBeforeIsOfItsOwnKind) {
  const auto object = [](const std::string& start, const std::string& name) {
    return "{" + start + R"(,"metadata":{"name":")" + name + "\"}}";
  };
  for (const char* first :
       {R"("apiVersion":"batch/v1","kind":"Job")", R"("kind":"Job","apiVersion":"batch/v1")"}) {
    for (const char* other : {R"("apiVersion":"batch/v1","kind":"JobTemplate")",
                              R"("apiVersion":"batch.volcano.sh/v1","kind":"Job")",
                              R"("kind":"Job","apiVersion":"batch.volcano.sh/v1")",
                              R"("kind":"Job","apiVersion":"batch/v1.x/y")"}) {
      const std::string odd = object(other, "c");
      const Read alone = ReadText(odd);
      const Read read =
          ReadText(object(first, "a") + object(first, "b") + odd + object(first, "d"));
      EXPECT_EQ(read.error, alone.error) << other;
      EXPECT_EQ(read.lines.size(), alone.lines.size() + 3) << other;
      EXPECT_EQ(read.stats.ignored, alone.stats.ignored) << other;
    }
  }
}

TEST(ReadJsonTest, AnItemsOwnKindIsFoundInEitherOfTheFirstPlaces) {
  for (const char* start : {R"({"kind":"Node",)", "{ \n\r\t\"kind\":\"Node\",",
                            R"({"apiVersion":"v1","kind":"Node",)"}) {
    const Read read = ReadText(R"({"kind":"PodList","apiVersion":"v1","items":[)" +
                               std::string(start) + R"("metadata":{"name":"a"}}]})");
    EXPECT_THAT(read.lines, ElementsAre("Node name=[a]")) << start;
  }
}

TEST(ReadJsonTest, NoFieldOfAFullObjectCarriesOverToTheNextOfItsKind) {
  const std::string meta = R"("uid":"u","labels":{"a":"b"},"annotations":{"c":"d"},
      "creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T00:00:00Z",
      "ownerReferences":[{"name":"o"}])";
  const std::string node = R"({"kind":"Node","metadata":{"name":"n",)" + meta + R"(},
      "spec":{"unschedulable":true,"providerID":"p","taints":[{"key":"k"}]},
      "status":{"allocatable":{"cpu":"1"},"capacity":{"cpu":"1"},"declaredFeatures":["F"],
       "conditions":[{"type":"Ready","status":"True"}],"images":[{"names":["i"],"sizeBytes":1}]}})";
  const std::string terms =
      R"({"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"t"}],
      "preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":1,"podAffinityTerm":{"topologyKey":"t"}}]})";
  const std::string pod = R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns",)" + meta + R"(},
      "spec":{"nodeName":"n","priority":1,"restartPolicy":"Never","hostNetwork":true,
       "hostUsers":true,"terminationGracePeriodSeconds":1,"nodeSelector":{"a":"b"},
       "tolerations":[{}],"overhead":{"cpu":1},"resources":{"requests":{"cpu":1}},
       "containers":[{"name":"c"}],"initContainers":[{"name":"i"}],"volumes":[{"name":"v"}],
       "resourceClaims":[{"name":"r","resourceClaimTemplateName":"t"}],"new":1,
       "topologySpreadConstraints":[{"topologyKey":"t"}],
       "affinity":{"nodeAffinity":{
         "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]},
         "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]},
        "podAffinity":)" + terms +
                          R"(,"podAntiAffinity":)" + terms + R"(}},
      "status":{"phase":"Running","nominatedNodeName":"n","resources":{"requests":{"cpu":1}},
       "allocatedResources":{"cpu":1},"conditions":[
         {"type":"PodResizePending","reason":"Infeasible"}],
       "containerStatuses":[{"name":"c","resources":{"requests":{"cpu":1}}}],
       "initContainerStatuses":[{"name":"i","resources":{}}],
       "resourceClaimStatuses":[{"name":"r","resourceClaimName":"made"}],
       "extendedResourceClaimStatus":{"resourceClaimName":"more"}}})";
  const Read read =
      ReadText(node + R"({"kind":"Node","metadata":{"name":"m"}})" + pod +
               R"({"kind":"Pod","metadata":{"name":"q","namespace":"ns"}})" + node + pod);
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.lines.size(), 6u);
  EXPECT_EQ(read.lines[1], "Node name=[m]");
  EXPECT_EQ(read.lines[3], "Pod name=[q] namespace=[ns]");
  EXPECT_EQ(read.lines[4], read.lines[0]);
  EXPECT_EQ(read.lines[5], read.lines[2]);
}

// Records what OnAside receives for each object, as "VERSION READY PLACE;".
class Asides : public DumpSink {
 public:
  void OnAside(const Aside& aside) override {
    asides.append(aside.resource_version).append(" ").append(std::to_string(aside.pods_ready));
    asides += aside.place == Aside::Place::kInList  ? " list;"
              : aside.place == Aside::Place::kAlone ? " alone;"
                                                    : " unknown;";
  }
  std::string asides;
};

TEST(ReadJsonTest, TheAsideOfOneObjectDoesNotCarryOverToTheNext) {
  Asides sink;
  ImportStats stats;
  const absl::Status status = ReadJson("dump.json", R"({"kind":"List","apiVersion":"v1","items":[
      {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"a","resourceVersion":"7"},
       "status":{"readyReplicas":3}},
      {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"b"}},
      {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d"},
       "status":{"numberReady":4,"readyReplicas":9}},
      {"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"status":{"ready":5}}]}
      {"kind":"Namespace","metadata":{"name":"c","resourceVersion":"8"}})",
                                       false, sink, stats);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(sink.asides, "7 3 list; 0 list; 4 list; 0 list;8 0 alone;");
}

// --- Lists and other text around objects

// Records what OnList receives for each list, as "KIND ITEMS;".
class Lists : public DumpSink {
 public:
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    reported.append(kind).append(" ").append(std::to_string(items)).append(";");
    return absl::OkStatus();
  }
  std::string reported;
};

TEST(ReadJsonTest, EachListIsReportedWithItsKindAndItsOwnItems) {
  const auto lists_of = [](const std::string& text, uint64_t lists) {
    Lists sink;
    ImportStats stats;
    const absl::Status status = ReadJson("dump.json", text, false, sink, stats);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(stats.lists, lists) << text;
    return sink.reported;
  };
  const std::string nodes = R"({"kind":"NodeList","apiVersion":"v1","items":[)" + NodeJson("a") +
                            "," + NodeJson("b") + "]}";
  const std::string budgets =
      R"({"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1","items":[]})";
  const std::string no_pods = R"({"kind":"PodList","apiVersion":"v1","items":null})";
  EXPECT_EQ(lists_of(nodes + budgets + no_pods, 3), "Node 2;PodDisruptionBudget 0;Pod 0;");
  EXPECT_EQ(lists_of(R"({"kind":"List","apiVersion":"v1","items":[)" + nodes + "," + no_pods + "," +
                         NodeJson("c") + "]}",
                     3),
            "Node 2;Pod 0; 3;");
  EXPECT_EQ(lists_of("[" + NodeJson("a") + "]", 0), "");
}

TEST(ReadJsonTest, OnePageOfAListIsRefused) {
  const auto error = [](const std::string& kind, const std::string& metadata) {
    return ReadText(R"({"apiVersion":"v1","kind":")" + kind + R"(","items":[],"metadata":)" +
                    metadata + "}")
        .error;
  };
  const std::string more =
      " says that the server has more; list without a limit, as `kubectl get` does";
  EXPECT_EQ(error("PodList", R"({"continue":"abc"})"),
            "dump.json: the list of kind PodList is not whole: its metadata.continue" + more);
  EXPECT_EQ(error("List", R"({"continue":"","remainingItemCount":1})"),
            "dump.json: the list is not whole: its metadata.remainingItemCount" + more);
  for (const char* whole : {R"({"continue":"","remainingItemCount":0})",
                            R"({"continue":null,"remainingItemCount":null})", "{}"}) {
    EXPECT_EQ(error("PodList", whole), "") << whole;
  }
  EXPECT_EQ(error("PodList", R"({"continue" 5})"),
            "dump.json: is not JSON: a list's metadata cannot be read");
}

TEST(ReadJsonTest, ItemsThatAreNotAnArrayAreRejected) {
  for (const char* items : {"{}", "5", R"("[]")", "true"}) {
    EXPECT_EQ(ReadText(R"({"kind":"PodList","apiVersion":"v1","items":)" + std::string(items) + "}")
                  .error,
              "dump.json: PodList: items: is not an array");
  }
}

TEST(ReadJsonTest, ListsMayBeNested16DeepAndNotDeeper) {
  const auto nested = [](int depth) {
    std::string text = NodeJson("a");
    for (int i = 0; i < depth; ++i) {
      text.insert(0, R"({"kind":"List","apiVersion":"v1","items":[)").append("]}");
    }
    return ReadText(text);
  };
  EXPECT_THAT(nested(17).lines, ElementsAre("Node name=[a]")) << "16 within the outermost";
  EXPECT_THAT(nested(18).error, HasSubstr(": lists are nested too deep; at most 16 are read"));
}

TEST(ReadJsonTest, EachMemberThatIdentifiesADocumentMayOccurOnce) {
  for (const auto& [text, key] : std::vector<std::pair<std::string, std::string>>{
           {R"({"apiVersion":"v1","apiVersion":"v1","kind":"List","items":[]})", "apiVersion"},
           {R"({"kind":"List","kind":"List","items":[]})", "kind"},
           {R"({"kind":"List","metadata":{},"metadata":{},"items":[]})", "metadata"},
           {R"({"kind":"List","items":null,"items":[]})", "items"},
           {R"({"NodeList":[],"NodeList":[]})", "NodeList"},
           {R"({"UnscheduledPodsCanBeScheduled":[],"UnscheduledPodsCanBeScheduled":[]})",
            "UnscheduledPodsCanBeScheduled"}}) {
    EXPECT_THAT(ReadText(text).error,
                ::testing::EndsWith(": " + key + " occurs twice in one object"))
        << text;
  }
  EXPECT_EQ(ReadText(R"({"kind":"List","x":1,"x":2,"items":[]})").error, "");
}

TEST(ReadJsonTest, ErrorsInADebuggingSnapshotNameTheirPlace) {
  const std::string node = R"({"Node":{"metadata":{"name":"n"}})";
  EXPECT_EQ(ReadText(R"({"NodeList":[{"Node":{"metadata":{}}}]})").error,
            "dump.json: Node NodeList[0]: metadata.name: is missing");
  EXPECT_EQ(ReadText(R"({"NodeList":[)" + node + R"(},{"Node":5}]})").error,
            "dump.json: NodeList[1].Node: is missing");
  EXPECT_EQ(ReadText(R"({"NodeList":[)" + node +
                     R"(,"Pods":[{"metadata":{"name":"p"}},{"metadata":{}}]}]})")
                .error,
            "dump.json: Pod NodeList[0].Pods[1]: metadata.name: is missing");
  EXPECT_THAT(ReadText(R"({"NodeList":[)" + node + R"(,"Pods":[5]}]})").error,
              HasSubstr("dump.json: NodeList[0].Pods[0]: is not an object (byte "));
  EXPECT_EQ(ReadText(R"({"UnscheduledPodsCanBeScheduled":[{"metadata":{}}]})").error,
            "dump.json: Pod UnscheduledPodsCanBeScheduled[0]: metadata.name: is missing");
  // The pod waits, whatever its spec.nodeName is.
  EXPECT_THAT(ReadText(R"({"UnscheduledPodsCanBeScheduled":[{"metadata":{"name":"u"},
                           "spec":{"nodeName":"x"}}]})")
                  .lines,
              ElementsAre("Pod name=[u] namespace=[default]"));
}

// The number of documents that are not objects, where these are counted; or the error.
std::string Strange(std::string_view text) {
  DumpSink sink;
  ImportStats stats;
  const absl::Status status =
      ReadJson("dump.json", text, false, sink, stats, Parallelism::One(), Strangers::kCounted);
  return status.ok() ? std::to_string(stats.strangers) : std::string(status.message());
}

TEST(ReadJsonTest, DocumentsThatAreNotObjectsAreCountedIfAllowed) {
  for (const char* one : {R"({"a":1})", R"({"metadata":{}})", R"({"spec":{},"status":{}})", "[1,2]",
                          R"(["x"])", R"([{"a":1},{"b":2}])", "[[]]"}) {
    EXPECT_EQ(Strange(one), "1") << one;
  }
  EXPECT_EQ(Strange("[]"), "0");
  EXPECT_EQ(Strange(R"({"a":1}{"b":2})"), "2");
  EXPECT_EQ(Strange(R"({"items":[{"a":1},{"b":2}]})"), "2");
  EXPECT_EQ(Strange(R"({"a":1})" + NodeJson("n")), "1");
  // An object that may have lost its kind is not skipped.
  for (const char* lost :
       {R"({"metadata":{},"spec":{}})", R"({"metadata":{},"status":{}})", R"({"apiVersion":"v1"})",
        R"([{"metadata":{},"spec":{}}])", R"({"items":[{"a":1},{"apiVersion":"v1"}]})"}) {
    EXPECT_THAT(Strange(lost), HasSubstr("is not a Kubernetes object: kind is missing")) << lost;
  }
  EXPECT_THAT(Strange(R"({"kind":5})"), HasSubstr("5 is not a string"));
}

// ^ marks the byte that the error names.
TEST(ReadJsonTest, TheErrorNamesTheByteAndWhatWasExpected) {
  for (const auto& [marked, expected] : std::vector<std::pair<std::string, std::string>>{
           {"\n\n  ^x", "an object or array was expected"},
           {"{^5:1}", "a member's name was expected"},
           {R"({"a":1,^})", "a value was expected"},
           {"{\"a\":1\n^\"b\":2}", "a comma or the end of the list was expected"},
           {R"({"a":^})", "a value was expected"},
           {R"({"a":^,"b":1})", "a value was expected"},
           {R"({"NodeList":[^5]})", "an object with Node and Pods was expected"},
           // Inside objects.
           {R"({"kind":"Namespace","metadata":{"name":"n" ^"x":1}})",
            "a comma or the end of the object was expected"},
           {R"({"kind":"Namespace","metadata":{"name":"n",^5:1}})", "a member's name was expected"},
           {R"({"kind":"Namespace","metadata":{"name":"n",^},"x":1})",
            "a member's name was expected"},
           {R"({"kind":"Namespace","metadata":{"name" ^5}})", "a colon was expected"},
           {R"({"kind":"Namespace","metadata":{"name":^,"x":1}})", "a value was expected"},
           {R"({"kind":"Node","metadata":{"name":"n"},"spec":{"taints":[{} ^{}]}})",
            "a comma or the end of the list was expected"},
           {R"({"kind":"Node","metadata":{"name":"n"},"spec":{"taints":[^,{}]}})",
            "a value was expected"},
           {R"({"kind":"Node","metadata":{"name":"n"},"spec":{"taints":[{},^]}})",
            "a value was expected"}}) {
    std::string text = marked;
    const size_t at = text.find('^');
    text.erase(at, 1);
    EXPECT_EQ(ReadText(text).error,
              "dump.json: " + BytePosition(text, at) + ": is not JSON: " + expected)
        << marked;
  }
  EXPECT_EQ(BytePosition("\n\n  x", 4), "byte 4, line 3, column 3");
  EXPECT_EQ(BytePosition("ab\nc", 2), "byte 2, line 1, column 3");
  EXPECT_EQ(BytePosition("ab\nc", 3), "byte 3, line 2, column 1");
  EXPECT_EQ(BytePosition("ab\nc", 4), "byte 4, line 2, column 2") << "the end";
  EXPECT_EQ(BytePosition("ab\nc", 5), "byte 5") << "beyond the text";
  EXPECT_EQ(BytePosition("", 0), "byte 0");
}

TEST(ReadJsonTest, TheErrorForAnItemThatIsNotJsonNamesItsPlaceInTheList) {
  EXPECT_EQ(ReadText(R"({"items":[{"kind":"Node","metadata":{"name" 5}}]})").error,
            "dump.json: byte 44, line 1, column 45 (items[0]): is not JSON: a colon was expected");
  // simdjson does not report the position.
  EXPECT_THAT(ReadText("{\"kind\":\"Node\",\"metadata\":{\"name\":\"\x01\"}}").error,
              ::testing::StartsWith("dump.json: after byte 0, line 1, column 1: is not JSON: "));
}

}  // namespace
}  // namespace ebb::read_json_test
