#include "snapshot/import/completeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/samples/generate.h"

namespace ebb::completeness_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* kLongAgo = "2026-01-01T00:00:00Z";

Json Node(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}, {"creationTimestamp", kLongAgo}}},
          {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

Json Pod(const std::string& namespace_name, const std::string& name, const std::string& node) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", name},
            {"namespace", namespace_name},
            {"creationTimestamp", "2026-01-02T00:00:00Z"}}},
          {"spec", {{"nodeName", node}, {"containers", {{{"name", "main"}}}}}},
          {"status", {{"phase", "Running"}}}};
}

Json Owned(Json pod, const char* api_version, const char* kind, const char* name) {
  pod["metadata"]["ownerReferences"] = {
      {{"apiVersion", api_version}, {"kind", kind}, {"name", name}, {"controller", true}}};
  return pod;
}

Json Object(const char* api_version, const char* kind, const std::string& name,
            const std::string& namespace_name = "") {
  Json json = {{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}};
  if (!namespace_name.empty()) json["metadata"]["namespace"] = namespace_name;
  return json;
}

Json NoBudgets() {
  return {{"apiVersion", "policy/v1"},
          {"kind", "PodDisruptionBudgetList"},
          {"metadata", {{"resourceVersion", ""}}},
          {"items", Json::array()}};
}

// A complete cluster of two nodes.
std::vector<Json> Whole() {
  Json proxy = Object("apps/v1", "DaemonSet", "proxy", "kube-system");
  proxy["status"]["numberReady"] = 2;
  return {Node("a"),
          Node("b"),
          Owned(Pod("kube-system", "proxy-a", "a"), "apps/v1", "DaemonSet", "proxy"),
          Owned(Pod("kube-system", "proxy-b", "b"), "apps/v1", "DaemonSet", "proxy"),
          Pod("shop", "web", "a"),
          proxy,
          Object("v1", "Namespace", "kube-system"),
          Object("v1", "Namespace", "shop"),
          NoBudgets()};
}

// Appends `count` copies of `pod`, named name-0, name-1, ...
void AddPods(std::vector<Json>& items, const Json& pod, int count) {
  for (int i = 0; i < count; ++i) {
    items.push_back(pod);
    Json& name = items.back()["metadata"]["name"];
    name = name.get<std::string>() + "-" + std::to_string(i);
  }
}

class CompletenessTest : public ::testing::Test {
 protected:
  CompletenessTest() {
    std::string name = (fs::temp_directory_path() / "ebb-completeness-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CompletenessTest() override { fs::remove_all(folder_); }

  std::string Put(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  // Returns the codes of the warnings, or the error.
  std::vector<std::string> Load(const std::string& path,
                                LoadOptions options = {.allow_incomplete = true}) {
    cluster_ = LoadCluster(std::vector<std::string>{path}, options);
    if (!cluster_.ok()) return {std::string(cluster_.status().message())};
    std::vector<std::string> codes;
    for (const InputWarning& warning : cluster_->warnings) codes.push_back(warning.code);
    return codes;
  }
  std::vector<std::string> LoadItems(const std::vector<Json>& items,
                                     LoadOptions options = {.allow_incomplete = true}) {
    const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
    return Load(Put("dump.json", list.dump()), options);
  }
  // The warning with this code.  REQUIRES: it exists.
  InputWarning Of(const std::string& code) const {
    for (const InputWarning& each : cluster_->warnings) {
      if (each.code == code) return each;
    }
    ADD_FAILURE() << "no " << code;
    return {};
  }
  std::string Message() const { return cluster_->warnings.at(0).message; }
  std::string Command() const { return cluster_->warnings.at(0).command; }

  fs::path folder_;
  absl::StatusOr<LoadedCluster> cluster_;
};

TEST_F(CompletenessTest, AWholeClusterGivesNoWarning) {
  EXPECT_THAT(LoadItems(Whole()), IsEmpty());
}

TEST_F(CompletenessTest, NodesWithoutAnyPodAreRejectedUnlessTheInputIsAssumedComplete) {
  const std::vector<Json> nodes = {Node("a"), Node("b"), NoBudgets()};
  EXPECT_THAT(LoadItems(nodes, {}), ElementsAre(HasSubstr("2 nodes and not a single pod")));
  EXPECT_THAT(LoadItems(nodes), ElementsAre("NoPods"));
  EXPECT_THAT(LoadItems(nodes, {.assume_complete = true}), IsEmpty());
  EXPECT_EQ(cluster_->snapshot.nodes(), 2u);
}

TEST_F(CompletenessTest, ADumpOfOneNamespaceIsNamedAsSuch) {
  EXPECT_THAT(LoadItems({Node("a"), Pod("shop", "web", "a"), NoBudgets()}),
              ElementsAre("NoKubeSystemPods"));
  EXPECT_THAT(Message(), HasSubstr("all pods are of namespace shop"));
  EXPECT_THAT(Command(), HasSubstr(" -A "));
  EXPECT_THAT(
      LoadItems({Node("a"), Pod("shop", "web", "a"), NoBudgets()}, {.assume_complete = true}),
      IsEmpty());
  // OpenShift has its system in other namespaces, and may list its namespaces without kube-system.
  EXPECT_THAT(LoadItems({Node("a"), Pod("openshift-dns", "dns", "a"), Pod("shop", "web", "a"),
                         NoBudgets()}),
              IsEmpty());
  EXPECT_THAT(LoadItems({Node("a"), Pod("shop", "web", "a"), Object("v1", "Namespace", "shop"),
                         NoBudgets()}),
              IsEmpty());
}

// By default a must-gather only contains the platform's namespaces.
TEST_F(CompletenessTest, OpenShiftWithoutUserNamespacesGivesAWarning) {
  std::vector<Json> items = {Node("a"),
                             Pod("openshift-dns", "dns", "a"),
                             Pod("kube-system", "x", "a"),
                             Object("v1", "Namespace", "default"),
                             Object("v1", "Namespace", "openshift-dns"),
                             NoBudgets()};
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesNotListed"));
  EXPECT_THAT(Message(), HasSubstr("OpenShift's own"));
  items.push_back(Object("v1", "Namespace", "shop"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesWithoutObjects"));
  items.push_back(Pod("shop", "web", "a"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, PodsThatAreAllOnNodesOfAnotherClusterAreRefused) {
  const std::vector<Json> items = {Node("a"), Pod("shop", "web", "x"),
                                   Pod("kube-system", "proxy", "y"), NoBudgets()};
  for (const bool assume_complete : {false, true}) {
    EXPECT_THAT(LoadItems(items, {.assume_complete = assume_complete}),
                ElementsAre(HasSubstr("no pod is on a node of the input: 2 pods are on other "
                                      "nodes (shop/web on x)")));
  }
}

TEST_F(CompletenessTest, NoBudgetIsAWarningUnlessAnEmptyListOfThemSaysSo) {
  std::vector<Json> items = Whole();
  items.pop_back();
  EXPECT_THAT(LoadItems(items), ElementsAre("NoPodDisruptionBudgets"));
  EXPECT_EQ(Command(), "kubectl get --raw /apis/policy/v1/poddisruptionbudgets");
  EXPECT_THAT(LoadItems(items, {.use = InputUse::kFilter, .allow_incomplete = true}), IsEmpty());
  items.push_back(Object("policy/v1", "PodDisruptionBudget", "web", "shop"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = NoBudgets();
  items.back()["items"] = nullptr;  // Go writes an empty list as null.
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, OwnersThatAreAllMissingAreNamedByKind) {
  std::vector<Json> items = Whole();
  items.push_back(Owned(Pod("shop", "db-0", "a"), "apps/v1", "StatefulSet", "db"));
  items.push_back(Owned(Pod("shop", "db-1", "b"), "apps/v1", "StatefulSet", "db"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NoControllers"));
  EXPECT_THAT(Message(), HasSubstr("2 pods have owners of a kind that the input lacks"));
  EXPECT_EQ(Command(), "kubectl get sts -A -o json");
  const Catalog& catalog = cluster_->snapshot.catalog();
  EXPECT_THAT(MissingControllerDetail(catalog, *catalog.FindPod("shop", "db-0")),
              HasSubstr("the input has no StatefulSet"));
  EXPECT_EQ(MissingControllerDetail(catalog, *catalog.FindPod("kube-system", "proxy-a")), "");
  // A single missing controller was deleted, since others are there; its kind is not missing.
  items.push_back(Object("apps/v1", "StatefulSet", "db", "shop"));
  items.push_back(Owned(Pod("shop", "gone-0", "b"), "apps/v1", "StatefulSet", "gone"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, DaemonSetsWhoseReadyPodsAreAllMissingGiveAWarning) {
  std::vector<Json> items = Whole();
  Json agent = Object("apps/v1", "DaemonSet", "agent", "monitoring");
  items.push_back(agent);  // It runs on no node.
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back()["status"]["numberReady"] = 2;
  EXPECT_THAT(LoadItems(items), ElementsAre("DaemonSetsWithoutPods"));
  EXPECT_THAT(Message(), HasSubstr("monitoring/agent"));
}

TEST_F(CompletenessTest, OldReadyNodesWithoutAnyPodGiveAWarning) {
  std::vector<Json> items = Whole();
  items.push_back(Node("c"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
  EXPECT_THAT(Message(), HasSubstr("1 node is Ready for long and without any pod"));
  items.back()["metadata"]["creationTimestamp"] = "2026-01-01T23:50:00Z";  // It just joined.
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = Node("c");
  items.back()["status"]["conditions"][0]["status"] = "False";
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = Node("c");
  items.back()["metadata"]["labels"]["type"] = "virtual-kubelet";
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = Node("c");
  items.back()["spec"]["taints"] = {
      {{"key", "virtual-kubelet.io/provider"}, {"value", "azure"}, {"effect", "NoSchedule"}}};
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = Node("c");
  items.push_back(Pod("shop", "job", "c"));
  items.back()["status"]["phase"] = "Succeeded";
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, APodThatSelectsUnknownNamespacesByLabelsKeepsItsNode) {
  std::vector<Json> items = Whole();
  Json alone = Pod("shop", "alone", "a");
  alone["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {{"topologyKey", "kubernetes.io/hostname"},
       {"labelSelector", {{"matchLabels", {{"app", "noisy"}}}}},
       {"namespaceSelector", {{"matchLabels", {{"team", "x"}}}}}}};
  Json noisy = Pod("other", "noisy", "b");
  noisy["metadata"]["labels"]["app"] = "noisy";
  items.push_back(alone);
  items.push_back(noisy);
  EXPECT_THAT(LoadItems(items), ElementsAre("NoNamespaces"));
  EXPECT_EQ(Command(), "kubectl get ns -o json");
  const auto not_understood = [this](const char* namespace_name, const char* name) {
    const Catalog& catalog = cluster_->snapshot.catalog();
    return catalog.shape_of(*catalog.FindPod(namespace_name, name)).not_understood;
  };
  EXPECT_THAT(not_understood("shop", "alone"), HasSubstr("namespace other"));
  EXPECT_THAT(not_understood("other", "noisy"), HasSubstr("namespace other"));
  EXPECT_EQ(not_understood("shop", "web"), "");
  // A namespace without pods that the term could match causes no doubt about the pod.
  items.back()["metadata"]["labels"]["app"] = "quiet";
  EXPECT_THAT(LoadItems(items), ElementsAre("NoNamespaces"));
  EXPECT_EQ(not_understood("shop", "alone"), "");
  items.push_back(Object("v1", "Namespace", "other"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
  // The selector of a pod that has ended does not matter.
  items.pop_back();
  items[items.size() - 2]["status"]["phase"] = "Succeeded";
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

Json Stamped(Json object, const char* uid, const char* version) {
  object["metadata"]["uid"] = uid;
  object["metadata"]["resourceVersion"] = version;
  return object;
}

TEST_F(CompletenessTest, AnObjectThatComesTwiceWithTheSameContentIsOneObject) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("shop", "twice", "b"), "u", "7"));
  items.push_back(items.back());
  EXPECT_THAT(LoadItems(items), IsEmpty());
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 4u);
  // A new version without a change that a decision reads.
  items.back() = Stamped(Pod("shop", "twice", "b"), "u", "8");
  items.back()["metadata"]["managedFields"] = {{{"manager", "kubelet"}}};
  EXPECT_THAT(LoadItems(items), ElementsAre("DumpsOfTwoMoments"));
  EXPECT_THAT(Message(), HasSubstr("1 object came in two versions with the same content (Pod "
                                   "shop/twice)"));
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 4u);
  std::swap(items[items.size() - 2], items.back());
  EXPECT_THAT(LoadItems(items), ElementsAre("DumpsOfTwoMoments")) << "whichever comes first";
  // Without versions the two cannot be recognised as one object.
  for (size_t i = items.size() - 2; i < items.size(); ++i) {
    items[i] = Pod("shop", "twice", "b");
  }
  EXPECT_THAT(LoadItems(items), ElementsAre(HasSubstr("Pod shop/twice: occurs twice")));
}

// Symptom: labels in another order were treated as a manual change.
TEST_F(CompletenessTest, MembersOfMapsMayComeInAnyOrder) {
  Json pod = Stamped(Pod("shop", "twice", "b"), "u", "7");
  pod["metadata"]["labels"] = {{"a", "1"}, {"b", "2"}};
  pod["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "1"}, {"memory", "1Gi"}};
  std::vector<Json> items = Whole();
  items.push_back(pod);
  const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  Put("both/one.json", list.dump());
  const auto with = [&](const char* labels, const char* requests) {
    const std::string text = pod.dump();
    const std::string other = absl::StrReplaceAll(
        text, {{R"("a":"1","b":"2")", labels}, {R"("cpu":"1","memory":"1Gi")", requests}});
    EXPECT_NE(other, text);
    Put("both/two.json", other);
    return Load((folder_ / "both").string());
  };
  EXPECT_THAT(with(R"("b":"2","a":"1")", R"("memory":"1Gi","cpu":"1")"), IsEmpty());
  EXPECT_THAT(with(R"("b":"1","a":"2")", R"("cpu":"1","memory":"1Gi")"),
              ElementsAre(HasSubstr("different content")));
}

// Symptom: two clusters with the same names were planned as one.
TEST_F(CompletenessTest, AnObjectOfAnyKindWithTwoUidsIsRejected) {
  for (const Json& object :
       {Node("c"), Pod("shop", "web-1", "a"), Object("v1", "Namespace", "extra"),
        Object("apps/v1", "ReplicaSet", "web", "shop"),
        Object("policy/v1", "PodDisruptionBudget", "web", "shop"),
        Object("v1", "PersistentVolume", "disk")}) {
    for (const char* version : {"7", "8", ""}) {
      for (const bool assume_complete : {false, true}) {
        std::vector<Json> items = Whole();
        items.push_back(Stamped(object, "uid-1", "7"));
        items.push_back(Stamped(object, "uid-2", version));
        const bool is_compared =
            *version != '\0' || object["kind"] == "Namespace" || object["kind"] == "ReplicaSet";
        if (!is_compared) {
          EXPECT_THAT(LoadItems(items, {.assume_complete = assume_complete}),
                      ElementsAre(HasSubstr("occurs twice")))
              << object;
          continue;
        }
        EXPECT_THAT(LoadItems(items, {.assume_complete = assume_complete}),
                    ElementsAre(::testing::AllOf(
                        HasSubstr("comes twice with different UIDs, uid-1 and uid-2: dumps of two "
                                  "clusters or of two moments are mixed"),
                        HasSubstr(object["metadata"]["name"]))))
            << object;
      }
    }
  }
}

TEST_F(CompletenessTest, OneVersionWithTwoContentsIsRefused) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("shop", "twice", "a"), "u", "7"));
  items.push_back(Stamped(Pod("shop", "twice", "b"), "u", "7"));
  for (const bool assume_complete : {false, true}) {
    EXPECT_THAT(LoadItems(items, {.assume_complete = assume_complete}),
                ElementsAre(HasSubstr("Pod shop/twice: comes twice with the same resourceVersion, "
                                      "7, and different content")));
  }
}

TEST_F(CompletenessTest, TwoVersionsOfTwoListsAreRefusedInAnyOrder) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("shop", "twice", "a"), "u", "7"));
  items.push_back(Stamped(Pod("shop", "twice", "b"), "u", "10"));
  const auto refused = ElementsAre(::testing::AllOf(
      HasSubstr("Pod shop/twice: comes twice with different content, of resourceVersion "),
      HasSubstr("dumps of two moments are mixed; pass one dump")));
  EXPECT_THAT(LoadItems(items, {.assume_complete = true}), refused);
  std::swap(items.back(), items[items.size() - 2]);
  EXPECT_THAT(LoadItems(items), refused);
  // In one of two inputs the object is alone.
  const auto list = [](const std::vector<Json>& of) {
    return Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", of}}.dump();
  };
  const Json alone = items.back();
  items.pop_back();
  cluster_ = LoadCluster(
      std::vector<std::string>{Put("all.json", list(items)), Put("alone.json", alone.dump())}, {});
  EXPECT_THAT(std::string(cluster_.status().message()), HasSubstr("two moments are mixed"));
}

// must-gather writes a pod into a list and, seconds later, into a file of its own.
TEST_F(CompletenessTest, TheNewerOfTwoVersionsInAFolderCountsInAnyOrder) {
  for (const char* file : {"0-before.yaml", "z-behind.yaml"}) {
    for (const bool alone_is_newer : {false, true}) {
      fs::remove_all(folder_ / "mg");
      std::vector<Json> items = Whole();
      items.push_back(Stamped(Pod("shop", "twice", alone_is_newer ? "a" : "b"), "u",
                              alone_is_newer ? "9" : "10"));
      Put("mg/all.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
      Put(std::string("mg/") + file, Stamped(Pod("shop", "twice", alone_is_newer ? "b" : "a"), "u",
                                             alone_is_newer ? "10" : "9")
                                         .dump());
      EXPECT_THAT(Load((folder_ / "mg").string()), ElementsAre("ObjectsInTwoVersions"));
      ASSERT_TRUE(cluster_.ok());
      EXPECT_THAT(Message(), HasSubstr("the newer one counts: Pod shop/twice"));
      const ClusterSnapshot& snapshot = cluster_->snapshot;
      EXPECT_EQ(snapshot.placed_pods(), 4u);
      const PodId pod = *snapshot.catalog().FindPod("shop", "twice");
      EXPECT_EQ(snapshot.catalog().NodeName(snapshot.NodeOf(pod)), "b") << file << alone_is_newer;
    }
  }
  // If the versions cannot be compared, neither is chosen.
  Put("mg/z-behind.yaml", Stamped(Pod("shop", "twice", "b"), "u", "abc").dump());
  EXPECT_THAT(Load((folder_ / "mg").string()), ElementsAre(HasSubstr("two moments are mixed")));
}

// As if kubectl's context was switched between two commands, or a chart was installed again.
TEST_F(CompletenessTest, ControllersOfOtherUidsGiveAWarning) {
  const auto load = [&](int of_others, const char* uid_there, LoadOptions options = {}) {
    std::vector<Json> items = Whole();
    items.push_back(Object("apps/v1", "ReplicaSet", "web", "shop"));
    if (uid_there != nullptr) items.back()["metadata"]["uid"] = uid_there;
    for (int i = 0; i < 10; ++i) {
      Json pod =
          Owned(Pod("shop", "web-" + std::to_string(i), "a"), "apps/v1", "ReplicaSet", "web");
      pod["metadata"]["ownerReferences"][0]["uid"] = i < of_others ? "of-prod" : "of-staging";
      items.push_back(pod);
    }
    std::vector<std::string> codes = LoadItems(items, options);
    std::erase(codes, "ObjectsWithoutUid");
    return codes;
  };
  EXPECT_THAT(load(10, "of-staging"), ElementsAre("ControllersOfOtherUids"));
  EXPECT_THAT(cluster_->warnings.front().message,
              HasSubstr("10 pods name controllers by other UIDs than those of the input "
                        "(shop/web-0): dumps of two clusters"));
  EXPECT_THAT(load(2, "of-staging"), ElementsAre("ControllersOfOtherUids"));
  EXPECT_THAT(load(1, "of-staging"), IsEmpty()) << "one may be of the controller before";
  EXPECT_THAT(load(10, nullptr), IsEmpty()) << "nothing is known";
  EXPECT_THAT(load(10, "of-staging", {.assume_complete = true}), IsEmpty());
}

TEST_F(CompletenessTest, PodsWithoutContainersGiveAWarning) {
  std::vector<Json> items = Whole();
  items[4]["spec"].erase("containers");
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsWithoutContainers"));
  EXPECT_THAT(Message(), HasSubstr("1 pod has no containers, which counts as asking for nothing: "
                                   "shop/web"));
  items[4]["status"]["phase"] = "Succeeded";
  EXPECT_THAT(LoadItems(items), IsEmpty()) << "it asks for nothing any more";
}

TEST_F(CompletenessTest, PodsThatTwoBudgetsSelectGiveAWarning) {
  std::vector<Json> items = Whole();
  for (Json& item : items) {
    if (item["kind"] == "Pod") item["metadata"]["labels"] = {{"app", "web"}};
  }
  const auto add = [&](const char* name, const char* ns) {
    items.push_back(Object("policy/v1", "PodDisruptionBudget", name, ns));
    items.back()["spec"]["selector"]["matchLabels"] = {{"app", "web"}};
  };
  add("one", "shop");
  add("one", "kube-system");
  add("two", "kube-system");
  EXPECT_THAT(LoadItems(items), IsEmpty()) << "A DaemonSet's pods are not evicted.";
  add("two", "shop");
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsWithSeveralBudgets"));
  EXPECT_THAT(Message(), ::testing::AllOf(HasSubstr("1 pod is selected by more than one"),
                                          HasSubstr("eviction API refuses"),
                                          ::testing::EndsWith(": shop/web")));
  EXPECT_THAT(LoadItems(items, {.assume_complete = true}), ElementsAre("PodsWithSeveralBudgets"));
  EXPECT_THAT(LoadItems(items, {.use = InputUse::kFilter, .allow_incomplete = true}), IsEmpty());
}

TEST_F(CompletenessTest, AFolderOfClusterInfoDumpIsReadToTheBottom) {
  const auto list = [](const char* kind, const std::vector<Json>& items) {
    // `kubectl cluster-info dump` writes typed lists whose items have no kind.
    Json json = {{"kind", kind}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "9"}}}};
    json["items"] = Json::array();
    for (Json item : items) {
      item.erase("kind");
      item.erase("apiVersion");
      json["items"].push_back(item);
    }
    return json.dump(4);
  };
  const std::vector<Json> all = Whole();
  Put("dump/nodes.json", list("NodeList", {all[0], all[1]}));
  Put("dump/kube-system/pods.json", list("PodList", {all[2], all[3]}));
  Put("dump/kube-system/proxy-a/logs.txt", "==== START logs\n");
  Put("dump/shop/pods.json", list("PodList", {all[4]}));
  Put("dump/shop/events.json", list("EventList", {}));
  Json sets = Json::parse(list("DaemonSetList", {all[5]}));
  sets["apiVersion"] = "apps/v1";
  Put("dump/kube-system/daemonsets.json", sets.dump());
  EXPECT_THAT(Load((folder_ / "dump").string()),
              ElementsAre("NamespacesNotListed", "NoPodDisruptionBudgets"));
  EXPECT_EQ(cluster_->snapshot.nodes(), 2u);
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 3u);
  EXPECT_EQ(cluster_->counts.input.files_without_objects, 0u);
}

TEST_F(CompletenessTest, AMustGatherTreeHoldsEachPodTwiceAndOtherFilesBeside) {
  const auto yaml = [](const Json& json) { return "---\n" + json.dump() + "\n"; };
  std::vector<Json> all = Whole();
  for (size_t i = 0; i < all.size(); ++i) {
    all[i]["metadata"]["resourceVersion"] = std::to_string(100 + i);
  }
  Put("mg/cluster-scoped-resources/core/nodes/a.yaml", yaml(all[0]));
  Put("mg/cluster-scoped-resources/core/nodes/b.yaml", yaml(all[1]));
  for (const size_t i : {2, 3, 4}) {
    const std::string ns = all[i]["metadata"]["namespace"];
    const std::string name = all[i]["metadata"]["name"];
    Put("mg/namespaces/" + ns + "/pods/" + name + "/" + name + ".yaml", yaml(all[i]));
  }
  Put("mg/namespaces/kube-system/core/pods.yaml",
      yaml({{"apiVersion", "v1"}, {"kind", "PodList"}, {"items", {all[2], all[3]}}}));
  Put("mg/namespaces/kube-system/apps/daemonsets.yaml",
      yaml({{"apiVersion", "apps/v1"}, {"kind", "DaemonSetList"}, {"items", {all[5]}}}));
  Put("mg/cluster-scoped-resources/core/namespaces/kube-system.yaml", yaml(all[6]));
  Put("mg/cluster-scoped-resources/core/namespaces/shop.yaml", yaml(all[7]));
  Put("mg/namespaces/shop/policy/poddisruptionbudgets.yaml", yaml(all[8]));
  Put("mg/version", "4.16");
  Put("mg/etcd_info/endpoint_health.json", R"([{"endpoint":"https://10.0.0.1","health":true}])");
  Put("mg/monitoring/status.json", R"({"status":"success","data":{"yaml":"x"}})");
  // Single Namespaces do not show whether there are others.
  EXPECT_THAT(Load((folder_ / "mg").string()), ElementsAre("NamespacesNotListed"));
  EXPECT_EQ(cluster_->warnings[0].lack, Lack::kKinds);
  EXPECT_EQ(Command(), "kubectl get ns -o json");
  EXPECT_EQ(Message(),
            "nodes or Namespaces come one by one, as `oc adm inspect` and must-gather write them, "
            "and no list of Namespaces says whether there are others");
  EXPECT_THAT(Load((folder_ / "mg").string(), {.assume_complete = true}), IsEmpty());
  Put("mg/namespaces.yaml",
      yaml({{"apiVersion", "v1"}, {"kind", "NamespaceList"}, {"items", {all[6], all[7]}}}));
  EXPECT_THAT(Load((folder_ / "mg").string()), IsEmpty());
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 3u);
  EXPECT_EQ(cluster_->counts.input.files_without_objects, 2u);
  EXPECT_THAT(cluster_->counts.input.first_without_objects, HasSubstr("endpoint_health.json"));
}

// Symptom: "PodsMissing" for a cluster that was upgraded from Kubernetes 1.15 or older.
TEST_F(CompletenessTest, PodsOfTheGroupExtensionsBelongToTodaysControllers) {
  std::vector<Json> items = Whole();
  for (Json& item : items) {
    const auto owners = item["metadata"].find("ownerReferences");
    if (owners != item["metadata"].end()) (*owners)[0]["apiVersion"] = "extensions/v1beta1";
  }
  items.push_back(Object("apps/v1", "ReplicaSet", "web", "shop"));
  items.back()["status"]["replicas"] = 12;
  AddPods(items, Owned(Pod("shop", "web", "a"), "extensions/v1beta1", "ReplicaSet", "web"), 12);
  EXPECT_THAT(LoadItems(items), IsEmpty());
  // If no controller of the kind is there, the kind still counts as missing.
  std::erase_if(items, [](const Json& item) { return item["kind"] == "ReplicaSet"; });
  EXPECT_THAT(LoadItems(items), ElementsAre("NoControllers"));
}

TEST_F(CompletenessTest, FilesThatAreNotReadAreWarningsAndThoseOfPodsMakeItIncomplete) {
  const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Whole()}};
  Put("d/1.json", list.dump());
  const std::string folder = (folder_ / "d").string();
  Put("d/2.json", "{ // a comment\n}");
  EXPECT_THAT(Load(folder, {}), ElementsAre("FilesNotRead"));
  EXPECT_THAT(Message(), HasSubstr("1 file is skipped, as broken or without objects"));
  EXPECT_THAT(Message(), HasSubstr("d/2.json: byte 2, line 1, column 3: is not JSON"));
  EXPECT_TRUE(IsComplete(cluster_->warnings));
  Put("d/3.json", R"({"Items":[{"name":"a","Spec":{"Containers":[]}}]})");
  EXPECT_THAT(Load(folder, {}), ElementsAre("ObjectsNotRead", "FilesNotRead"));
  EXPECT_THAT(Message(), HasSubstr("1 file seems to hold objects that ebb needs and cannot read"));
  EXPECT_EQ(Of("ObjectsNotRead").lack, Lack::kKinds);
  const LoadOptions strict = {.strict = true, .assume_complete = true};
  EXPECT_THAT(Load(folder, strict), ElementsAre("ObjectsNotRead", "FilesNotRead"));
  EXPECT_FALSE(CheckStrict(strict, cluster_->warnings).ok());
  EXPECT_FALSE(CheckAllFilesRead(cluster_->counts.input).ok());
}

TEST_F(CompletenessTest, KindsThatAreTakenFromFileNamesGiveAWarning) {
  std::vector<Json> items = Whole();
  const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  Put("d/1.json", list.dump());
  Json pod = Pod("shop", "db", "b");
  pod.erase("kind");
  pod.erase("apiVersion");
  Put("d/pods/shop.json", Json::array({pod}).dump());
  Put("d/of-last-week.tar.gz", "");
  EXPECT_THAT(Load((folder_ / "d").string(), {}),
              ElementsAre("ArchivesNotRead", "KindsOfFileNames"));
  EXPECT_THAT(Of("KindsOfFileNames").message, HasSubstr("d/pods/shop.json: Pod"));
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 4u);
}

TEST_F(CompletenessTest, AMustGatherOfOneMoreNamespaceDoesNotSayWhetherThereAreOthers) {
  const auto load = [this](bool with_version, bool with_list) {
    std::string text;
    for (Json each : {Node("a"), Pod("openshift-dns", "dns", "a"), Pod("shop", "web", "a"),
                      Object("v1", "Namespace", "shop"), NoBudgets()}) {
      if (with_version) each["metadata"]["resourceVersion"] = "7";
      text += "---\n" + each.dump() + "\n";
    }
    Json list = NoBudgets();
    list["apiVersion"] = "v1";
    list["kind"] = "NamespaceList";
    list["items"] = Json::array({Object("v1", "Namespace", "default")});
    if (with_list) text += "---\n" + list.dump() + "\n";
    return Load(Put("all.yaml", text));
  };
  EXPECT_THAT(load(true, false), ElementsAre("NamespacesNotListed"));
  EXPECT_THAT(load(true, true), IsEmpty());
  EXPECT_THAT(load(false, false), IsEmpty()) << "written by hand";
}

TEST_F(CompletenessTest, ListsOfListsAreReadToTheBottom) {
  const std::vector<Json> all = Whole();
  const Json list = {
      {"kind", "List"},
      {"items",
       {{{"kind", "NodeList"}, {"apiVersion", "v1"}, {"items", {all[0], all[1]}}},
        {{"kind", "List"},
         {"items",
          {{{"kind", "PodList"}, {"apiVersion", "v1"}, {"items", {all[2], all[3], all[4]}}}}}},
        all[5],
        {{"kind", "NamespaceList"}, {"apiVersion", "v1"}, {"items", {all[6], all[7]}}},
        NoBudgets()}}};
  EXPECT_THAT(Load(Put("lists.json", list.dump())), IsEmpty());
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 3u);
}

// If there are no budgets, `kubectl get pdb -A -o json` prints the first list, and
// `kubectl get --raw` the second.
TEST_F(CompletenessTest, TheAdviceAboutBudgetsWorksWithAndWithoutBudgets) {
  std::vector<Json> items = Whole();
  items.pop_back();
  const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  Put("dump/all.json", list.dump());
  const std::string dump = (folder_ / "dump").string();
  Put("dump/pdb.json", R"({
    "apiVersion": "v1",
    "items": [],
    "kind": "List",
    "metadata": {
        "resourceVersion": ""
    }
})");
  EXPECT_THAT(Load(dump), ElementsAre("NoPodDisruptionBudgets"));
  EXPECT_THAT(Message(), HasSubstr("an empty List does not say what it is a list of"));
  Put("dump/pdb.json", R"({"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1",)"
                       R"("metadata":{"resourceVersion":"1192"},"items":[]})");
  EXPECT_THAT(Load(dump), IsEmpty());
  Put("dump/pdb.json",
      R"({"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1",)"
      R"("metadata":{"resourceVersion":"1192"},"items":[{"metadata":{"name":"web",)"
      R"("namespace":"shop"},"spec":{"selector":{}},"status":{"disruptionsAllowed":0}}]})");
  EXPECT_THAT(Load(dump), IsEmpty());
  EXPECT_EQ(cluster_->snapshot.catalog().pdbs().size(), 1u);
}

TEST_F(CompletenessTest, PodsOfTheSystemAndOfOneNamespaceMayBeAllOnlyIfNamespacesSaySo) {
  std::vector<Json> items = Whole();
  std::erase_if(items, [](const Json& item) { return item["kind"] == "Namespace"; });
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesNotListed"));
  EXPECT_THAT(Message(), HasSubstr("all pods are of kube-system and shop, and no Namespace"));
  EXPECT_EQ(Command(), "kubectl get ns -o json");
  items.push_back(Pod("other", "web", "a"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, MostlyEmptyNamespacesGiveAWarning) {
  std::vector<Json> items = Whole();
  const auto namespace_named = [](const char* name, const char* created = kLongAgo) {
    Json json = Object("v1", "Namespace", name);
    json["metadata"]["creationTimestamp"] = created;
    return json;
  };
  // One empty namespace is normal, and so are empty namespaces of Kubernetes and of clouds.
  for (const char* name : {"idle", "kube-public", "kube-node-lease", "default", "gmp-public",
                           "openshift-infra", "openshift-node"}) {
    items.push_back(namespace_named(name));
  }
  EXPECT_THAT(LoadItems(items), IsEmpty());
  // A dump of kube-system has no content for users' namespaces.
  std::vector<Json> system = Whole();
  std::erase_if(system, [](const Json& item) { return item == Pod("shop", "web", "a"); });
  EXPECT_THAT(LoadItems(system), ElementsAre("NamespacesWithoutObjects"));
  EXPECT_THAT(Message(), HasSubstr("1 of 1 namespace holds no pod"));
  items.push_back(namespace_named("db"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesWithoutObjects"));
  EXPECT_THAT(Message(), HasSubstr("2 of 3 namespaces hold no pod"));
  EXPECT_THAT(Message(), HasSubstr("db, idle"));
  EXPECT_THAT(Command(), HasSubstr(" -A "));
  std::vector<Json> fresh = items;
  fresh.back() = namespace_named("db", "2026-01-01T23:00:00Z");
  EXPECT_THAT(LoadItems(fresh), IsEmpty());
  std::vector<Json> going = items;
  going.back()["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  EXPECT_THAT(LoadItems(going), IsEmpty());
  // Any object in a namespace shows that the dump includes the namespace.
  for (const Json& holds :
       {Object("apps/v1", "StatefulSet", "db", "db"),
        Object("policy/v1", "PodDisruptionBudget", "db", "db"),
        Object("v1", "PersistentVolumeClaim", "db", "db"), Pod("db", "db-0", "b")}) {
    items.push_back(holds);
    EXPECT_THAT(LoadItems(items), IsEmpty()) << holds;
    items.pop_back();
  }
}

// As if Monday's dump lay beside Tuesday's: both a replaced pod and its successor are there.
TEST_F(CompletenessTest, MorePodsThanControllersCountGiveAWarning) {
  std::vector<Json> items = Whole();
  Json web = Object("apps/v1", "ReplicaSet", "web", "shop");
  web["status"]["replicas"] = 3;
  items.push_back(web);
  const Json pod = Owned(Pod("shop", "web", "a"), "apps/v1", "ReplicaSet", "web");
  AddPods(items, pod, 4);  // One of them may be newer than the list of ReplicaSets.
  EXPECT_THAT(LoadItems(items), IsEmpty());
  AddPods(items, Owned(Pod("shop", "new", "b"), "apps/v1", "ReplicaSet", "web"), 2);
  EXPECT_THAT(LoadItems(items), ElementsAre("TooManyPods"));
  EXPECT_THAT(Message(), HasSubstr("3 pods are there beyond the 5 pods that controllers count: "
                                   "ReplicaSet shop/web has 6 of 3"));
  // Controllers do not count pods that are being deleted.
  for (size_t i = items.size() - 2; i < items.size(); ++i) {
    items[i]["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  }
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

// As with `kubectl get pods --field-selector status.phase=Running`.
TEST_F(CompletenessTest, PendingPodsThatTheInputLacksAreMissing) {
  std::vector<Json> items = Whole();
  Json web = Object("apps/v1", "ReplicaSet", "web", "shop");
  web["status"] = {{"replicas", 12}, {"readyReplicas", 2}};
  items.push_back(web);
  AddPods(items, Owned(Pod("shop", "web", "a"), "apps/v1", "ReplicaSet", "web"), 2);
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsMissing"));
  EXPECT_THAT(Message(), HasSubstr("ReplicaSet shop/web has 2 of 12"));
}

TEST_F(CompletenessTest, ClaimsThatWaitForAMissingClassGiveAWarning) {
  std::vector<Json> items = Whole();
  Json claim = Object("v1", "PersistentVolumeClaim", "data", "shop");
  claim["spec"]["storageClassName"] = "";
  claim["status"]["phase"] = "Pending";
  items.push_back(claim);
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back()["spec"]["storageClassName"] = "fast";
  EXPECT_THAT(LoadItems(items), ElementsAre("NoStorageClasses"));
  EXPECT_THAT(Message(), HasSubstr("1 claim waits for a volume of a StorageClass (shop/data)"));
  Json other = Object("storage.k8s.io/v1", "StorageClass", "fast");
  other["provisioner"] = "p";
  items.push_back(other);
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, NodesThatRunNoDaemonSetMayBeEmpty) {
  for (const auto& [key, value] : {std::pair{"kubernetes.io/os", "windows"},
                                   std::pair{"eks.amazonaws.com/compute-type", "auto"},
                                   std::pair{"eks.amazonaws.com/compute-type", "fargate"},
                                   std::pair{"type", "virtual-kubelet"}}) {
    std::vector<Json> items = Whole();
    items.push_back(Node("empty"));
    EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
    items.back()["metadata"]["labels"][key] = value;
    EXPECT_THAT(LoadItems(items), IsEmpty()) << key;
    // If all nodes are such nodes, kube-system needs no pods.
    Json only = Node("only");
    only["metadata"]["labels"][key] = value;
    EXPECT_THAT(LoadItems({only, Pod("shop", "web", "only"), NoBudgets()}), IsEmpty()) << key;
  }
}

TEST_F(CompletenessTest, ReadyPodsThatControllersCountAndTheInputLacksGiveAWarning) {
  struct Case {
    const char* api_version;
    const char* kind;
    const char* field;
  };
  for (const Case& each :
       {Case{"apps/v1", "ReplicaSet", "readyReplicas"},
        Case{"apps/v1", "StatefulSet", "readyReplicas"},
        Case{"v1", "ReplicationController", "readyReplicas"},
        Case{"apps/v1", "DaemonSet", "numberReady"}, Case{"batch/v1", "Job", "active"}}) {
    std::vector<Json> items = Whole();
    Json controller = Object(each.api_version, each.kind, "web", "shop");
    controller["status"][each.field] = 6;
    items.push_back(controller);
    const Json pod = Owned(Pod("shop", "w", "a"), each.api_version, each.kind, "web");
    AddPods(items, pod, 3);
    EXPECT_THAT(LoadItems(items), ElementsAre("PodsMissing")) << each.kind;
    EXPECT_THAT(Message(), HasSubstr(std::string("3 pods are missing of ")));
    EXPECT_THAT(Message(), HasSubstr(std::string(each.kind) + " shop/web has 3 of 6"));
    EXPECT_EQ(Command(), "kubectl get pods -A -o json");
    EXPECT_THAT(LoadItems(items, {.use = InputUse::kFilter, .allow_incomplete = true}),
                ElementsAre("PodsMissing"));
    AddPods(items, Owned(Pod("shop", "v", "b"), each.api_version, each.kind, "web"), 3);
    EXPECT_THAT(LoadItems(items), IsEmpty()) << each.kind;
    // Pods that have ended do not count.
    for (size_t i = items.size() - 3; i < items.size(); ++i) {
      items[i]["status"]["phase"] = "Failed";
    }
    EXPECT_THAT(LoadItems(items), ElementsAre("PodsMissing")) << each.kind;
  }
}

TEST_F(CompletenessTest, ChangesBetweenTwoListsAreNotAGap) {
  std::vector<Json> items = Whole();
  Json web = Object("apps/v1", "ReplicaSet", "web", "shop");
  web["status"]["readyReplicas"] = 101;
  items.push_back(web);
  AddPods(items, Owned(Pod("shop", "w", "a"), "apps/v1", "ReplicaSet", "web"), 98);
  EXPECT_THAT(LoadItems(items), IsEmpty());  // 3 of 103 pods are missing.
  items.pop_back();
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsMissing"));
  items = Whole();
  Json job = Object("batch/v1", "Job", "hourly", "shop");
  job["status"]["active"] = 50;
  job["metadata"]["creationTimestamp"] = "2026-01-02T00:00:01Z";
  items.push_back(job);  // It began after the pods were listed.
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back()["metadata"]["creationTimestamp"] = "2026-01-01T23:00:00Z";
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsMissing"));
}

TEST_F(CompletenessTest, PodsThatAPlanLeavesOutAsExpendableAreThere) {
  std::vector<Json> items = Whole();
  Json filler = Object("apps/v1", "ReplicaSet", "filler", "shop");
  filler["status"]["readyReplicas"] = 5;
  items.push_back(filler);
  Json pod = Owned(Pod("shop", "f", "a"), "apps/v1", "ReplicaSet", "filler");
  for (const int priority : {-100, -5}) {  // Below and above the cutoff, which is -10.
    pod["spec"]["priority"] = priority;
    std::vector<Json> all = items;
    AddPods(all, pod, 5);
    EXPECT_THAT(LoadItems(all), IsEmpty()) << priority;
    all.resize(all.size() - 4);
    EXPECT_THAT(LoadItems(all), ElementsAre("PodsMissing")) << priority;
  }
  // Symptom: if a controller had pods of both kinds, only one kind was counted.
  items.back()["status"]["readyReplicas"] = 10;
  pod["spec"]["priority"] = -100;
  AddPods(items, pod, 5);
  pod["metadata"]["name"] = "g";
  pod["spec"]["priority"] = -5;
  AddPods(items, pod, 5);
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, ASnapshotKeepsHowManyPodsControllersCount) {
  std::vector<Json> items = Whole();
  Json web = Object("apps/v1", "ReplicaSet", "web", "shop");
  web["status"]["readyReplicas"] = 6;
  items.push_back(web);
  const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  const auto convert = [&](auto make_writer) {
    std::string text;
    auto writer = make_writer([&text](std::string_view bytes) {
      text.append(bytes);
      return absl::OkStatus();
    });
    InputCensus census;
    ImportStats stats;
    const std::vector<std::string> inputs = {Put("list.json", list.dump())};
    EXPECT_TRUE(census.Read(inputs, writer, stats).ok());
    EXPECT_TRUE(writer.Finish().ok());
    return text;
  };
  const auto output = [](auto write) { return write; };
  const std::string binary =
      convert([&](auto write) { return BinarySnapshotWriter(output(write)); });
  const std::string json =
      convert([&](auto write) { return ObjectWriter(ObjectFormat::kJsonList, output(write)); });
  EXPECT_THAT(Load(Put("kept.pb", binary)), ElementsAre("PodsMissing"));
  EXPECT_THAT(Message(), HasSubstr("ReplicaSet shop/web has 0 of 6"));
  EXPECT_THAT(Load(Put("kept.json", json)), ElementsAre("PodsMissing"));
}

Json Volume(const std::string& name, const std::string& claim) {
  Json volume = Object("v1", "PersistentVolume", name);
  volume["spec"] = {{"claimRef", {{"namespace", "shop"}, {"name", claim}}},
                    {"csi", {{"driver", "disk.example.com"}, {"volumeHandle", name}}}};
  volume["status"]["phase"] = "Bound";
  return volume;
}
Json Claim(const std::string& name, const std::string& volume) {
  Json claim = Object("v1", "PersistentVolumeClaim", name, "shop");
  claim["spec"]["volumeName"] = volume;
  return claim;
}
Json Mounting(const std::string& claim) {
  Json pod = Pod("shop", "db-" + claim, "a");
  pod["spec"]["volumes"] = {{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", claim}}}}};
  return pod;
}

TEST_F(CompletenessTest, VolumesBoundToMissingClaimsGiveAWarning) {
  std::vector<Json> items = Whole();
  const Json drivers = Object("storage.k8s.io/v1", "CSINode", "a");
  items.insert(items.end(), {drivers, Mounting("x"), Claim("x", "1"), Volume("1", "x")});
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.push_back(Volume("2", "y"));
  EXPECT_THAT(LoadItems(items), ElementsAre("ClaimsOfVolumesMissing"));
  EXPECT_THAT(Message(), HasSubstr("1 volume is bound to claims that are not there (2 to shop/y)"));
  items.back()["status"]["phase"] = "Released";  // Its claim was deleted.
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items = Whole();
  items.push_back(Volume("1", "x"));  // The input has no claim.
  EXPECT_THAT(LoadItems(items), ElementsAre("ClaimsOfVolumesMissing"));
}

TEST_F(CompletenessTest, PlacedPodsWithoutAnAllocatedResourceClaimGiveAWarning) {
  std::vector<Json> items = Whole();
  Json pod = Pod("shop", "train", "a");
  pod["spec"]["resourceClaims"] = {{{"name", "gpu"}, {"resourceClaimName", "mine"}}};
  items.push_back(pod);
  EXPECT_THAT(LoadItems(items), ElementsAre("DeviceClaimsMissing"));
  EXPECT_THAT(Message(), HasSubstr("1 placed pod has ResourceClaims that are not there, or not "
                                   "allocated: shop/train"));
  EXPECT_EQ(Command(),
            "kubectl get deviceclasses,resourceclaims,resourceclaimtemplates,resourceslices -A -o "
            "json");
  Json claim = Object("resource.k8s.io/v1", "ResourceClaim", "mine", "shop");
  items.push_back(claim);
  EXPECT_THAT(LoadItems(items), ElementsAre("DeviceClaimsMissing"));
  claim["status"]["allocation"]["devices"]["results"] = Json::array();
  items.back() = claim;
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, MissingClaimsVolumesAndDriversGiveAWarning) {
  std::vector<Json> items = Whole();
  items.push_back(Mounting("x"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NoPersistentVolumeClaims"));
  EXPECT_THAT(Message(), HasSubstr("1 pod mounts claims (shop/db-x)"));
  EXPECT_EQ(Command(), "kubectl get pvc,pv,sc,csinodes -A -o json");
  items.push_back(Claim("x", "1"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NoPersistentVolumes"));
  items.push_back(Volume("1", "x"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NoCSINodes"));
  EXPECT_EQ(Command(), "kubectl get csinodes -A -o json");
  items.push_back(Object("storage.k8s.io/v1", "CSINode", "a"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
  // A claim that waits for its first pod has no volume yet.
  items = Whole();
  items.insert(items.end(), {Mounting("x"), Claim("x", "")});
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items = Whole();
  items.push_back(Mounting("x"));
  items.back()["status"]["phase"] = "Succeeded";
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, ManifestsBesideADumpGiveAWarning) {
  std::vector<Json> items = Whole();  // No object has a UID.
  EXPECT_THAT(LoadItems(items), IsEmpty());
  for (size_t i = 0; i + 1 < items.size(); ++i) {
    items[i]["metadata"]["uid"] = "uid-" + std::to_string(i);
  }
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.push_back(Object("policy/v1", "PodDisruptionBudget", "from-git", "shop"));
  items.push_back(Object("v1", "Namespace", "from-git"));
  EXPECT_THAT(LoadItems(items), ElementsAre("ObjectsWithoutUid"));
  EXPECT_THAT(Message(), HasSubstr("2 objects have no metadata.uid"));
  EXPECT_THAT(Message(), HasSubstr("PodDisruptionBudget shop/from-git, ..."));
}

// The API server gives each namespace the label kubernetes.io/metadata.name.
TEST_F(CompletenessTest, TheNameOfANamespaceIsAKnownLabelWithoutItsObject) {
  std::vector<Json> items = {Node("a"), Node("b"), Pod("kube-system", "dns", "b"), NoBudgets()};
  Json alone = Pod("shop", "alone", "a");
  Json& selector = alone["spec"]["affinity"]["podAntiAffinity"]
                        ["requiredDuringSchedulingIgnoredDuringExecution"];
  const auto asks = [&selector](const char* name) {
    selector = {
        {{"topologyKey", "kubernetes.io/hostname"},
         {"labelSelector", {{"matchLabels", {{"app", "noisy"}}}}},
         {"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", name}}}}}}};
  };
  Json noisy = Pod("other", "noisy", "b");
  noisy["metadata"]["labels"]["app"] = "noisy";
  const auto repelled_by = [&] {
    const Catalog& catalog = cluster_->snapshot.catalog();
    const PodShape& shape = catalog.shape_of(*catalog.FindPod("other", "noisy"));
    EXPECT_EQ(shape.not_understood, "");
    return shape.repelled_by.size();
  };
  for (const bool assume_complete : {false, true}) {
    for (const bool by_name : {true, false}) {
      asks(by_name ? "other" : "else");
      std::vector<Json> all = items;
      all.insert(all.end(), {alone, noisy});
      EXPECT_THAT(LoadItems(all, {.assume_complete = assume_complete}), IsEmpty());
      EXPECT_EQ(repelled_by(), by_name ? 1u : 0u) << assume_complete;
    }
  }
  // If the selector has another label too, the name alone may still exclude the namespace.
  for (const char* name : {"else", "other"}) {
    asks(name);
    selector[0]["namespaceSelector"]["matchLabels"]["team"] = "x";
    std::vector<Json> all = items;
    all.insert(all.end(), {alone, noisy});
    EXPECT_THAT(LoadItems(all), ElementsAre("NoNamespaces"));
    const Catalog& catalog = cluster_->snapshot.catalog();
    EXPECT_EQ(catalog.shape_of(*catalog.FindPod("shop", "alone")).not_understood.empty(),
              std::string_view(name) == "else");
  }
}

TEST_F(CompletenessTest, TheAgeLimitsOfWarningsAreExactToTheSecond) {
  const auto created = [](Json object, const char* time) {
    object["metadata"]["creationTimestamp"] = time;
    return object;
  };
  // The newest object is of 2026-01-02T00:00:00Z.  A node may be without pods for 15 minutes.
  std::vector<Json> items = Whole();
  items.push_back(created(Node("c"), "2026-01-01T23:45:01Z"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = created(Node("c"), "2026-01-01T23:45:00Z");
  EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
  // A namespace may be empty for a day.
  items = Whole();
  std::erase_if(items,
                [](const Json& item) { return item["metadata"].value("name", "") == "web"; });
  std::erase_if(items, [](const Json& item) { return item == Object("v1", "Namespace", "shop"); });
  items.push_back(created(Object("v1", "Namespace", "shop"), "2026-01-01T00:00:01Z"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = created(Object("v1", "Namespace", "shop"), "2026-01-01T00:00:00Z");
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesWithoutObjects"));
  // A Job's pods may be missing for a minute, those of other controllers not at all.
  items = Whole();
  Json job = Object("batch/v1", "Job", "hourly", "shop");
  job["status"]["active"] = 50;
  items.push_back(created(job, "2026-01-01T23:59:01Z"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = created(job, "2026-01-01T23:59:00Z");
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsMissing"));
  Json web = Object("apps/v1", "ReplicaSet", "web", "shop");
  web["status"]["replicas"] = 50;
  items.back() = created(web, "2026-01-01T23:59:59Z");
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsMissing"));
}

TEST_F(CompletenessTest, OfManyNamesThreeAreListedAndTheOthersCounted) {
  std::vector<Json> items = Whole();
  for (const char* name : {"c", "d", "e"}) items.push_back(Node(name));
  EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
  EXPECT_THAT(Message(), ::testing::EndsWith(": c, d, e"));
  for (const char* name : {"f", "g"}) items.push_back(Node(name));
  EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
  EXPECT_THAT(Message(), ::testing::AllOf(HasSubstr("5 nodes are Ready for long"),
                                          ::testing::EndsWith(": c, d, e and 2 more")));
}

TEST_F(CompletenessTest, ANodeWhosePodsAreAllExpendableIsNotWithoutPods) {
  std::vector<Json> items = Whole();
  items.push_back(Node("c"));
  Json pod = Pod("shop", "filler", "b");
  pod["spec"]["priority"] = -100;
  items.push_back(pod);
  EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
  items.back()["spec"]["nodeName"] = "c";
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, MissingKindsOfOwnersShareOneWarningWithoutThoseOfOtherGroups) {
  std::vector<Json> items = Whole();
  items.push_back(Owned(Pod("shop", "own", "a"), "example.com/v1", "ReplicaSet", "own"));
  items.push_back(Owned(Pod("shop", "old", "a"), "v1", "StatefulSet", "old"));
  // Both are in other API groups than the controllers that ebb knows.
  EXPECT_THAT(LoadItems(items), ElementsAre("CustomControllers"));
  items.push_back(Owned(Pod("shop", "run", "a"), "batch/v1", "Job", "run"));
  EXPECT_THAT(LoadItems(items), ElementsAre("CustomControllers", "NoControllers"));
  EXPECT_THAT(Of("NoControllers").message,
              HasSubstr("1 pod has an owner of a kind that the input lacks"));
  items.push_back(Owned(Pod("shop", "db-0", "a"), "apps/v1", "StatefulSet", "db"));
  items.push_back(Owned(Pod("shop", "db-1", "a"), "apps/v1", "StatefulSet", "db"));
  EXPECT_THAT(LoadItems(items), ElementsAre("CustomControllers", "NoControllers"));
  EXPECT_THAT(Of("NoControllers").message, HasSubstr("3 pods have owners of a kind"));
  EXPECT_THAT(Of("NoControllers").message, ::testing::EndsWith(": StatefulSet, Job"));
  EXPECT_EQ(Of("NoControllers").command, "kubectl get sts,jobs -A -o json");
}

// The status of other controllers need not count all their pods.
TEST_F(CompletenessTest, OnlyReplicaSetsAndReplicationControllersCanHaveTooManyPods) {
  const auto six_pods_of = [this](const char* api_version, const char* kind, const char* field) {
    std::vector<Json> items = Whole();
    Json controller = Object(api_version, kind, "web", "shop");
    controller["status"][field] = 1;
    items.push_back(controller);
    AddPods(items, Owned(Pod("shop", "w", "a"), api_version, kind, "web"), 6);
    return LoadItems(items);
  };
  EXPECT_THAT(six_pods_of("apps/v1", "StatefulSet", "currentReplicas"), IsEmpty());
  EXPECT_THAT(six_pods_of("apps/v1", "DaemonSet", "numberReady"), IsEmpty());
  EXPECT_THAT(six_pods_of("batch/v1", "Job", "active"), IsEmpty());
  EXPECT_THAT(six_pods_of("v1", "ReplicationController", "replicas"), ElementsAre("TooManyPods"));
  EXPECT_THAT(Message(), HasSubstr("ReplicationController shop/web has 6 of 1"));
  EXPECT_THAT(six_pods_of("apps/v1", "ReplicaSet", "replicas"), ElementsAre("TooManyPods"));
}

TEST_F(CompletenessTest, PodsOfAllControllersAreAddedUpAndTheFirstControllerIsNamed) {
  const auto web = [](const char* name, int replicas) {
    Json json = Object("apps/v1", "ReplicaSet", name, "shop");
    json["status"]["replicas"] = replicas;
    return json;
  };
  std::vector<Json> items = Whole();
  items.insert(items.end(), {web("x", 5), web("y", 6)});
  EXPECT_THAT(LoadItems(items, {.use = InputUse::kFilter, .allow_incomplete = true}),
              ElementsAre("PodsMissing"));
  EXPECT_THAT(Message(), HasSubstr("11 pods are missing of 13 pods that controllers count: "
                                   "ReplicaSet shop/x has 0 of 5"));
  items = Whole();
  items.insert(items.end(), {web("x", 1), web("y", 1)});
  AddPods(items, Owned(Pod("shop", "x", "a"), "apps/v1", "ReplicaSet", "x"), 3);
  AddPods(items, Owned(Pod("shop", "y", "b"), "apps/v1", "ReplicaSet", "y"), 4);
  EXPECT_THAT(LoadItems(items), ElementsAre("TooManyPods"));
  EXPECT_THAT(Message(), HasSubstr("5 pods are there beyond the 4 pods that controllers count: "
                                   "ReplicaSet shop/x has 3 of 1"));
  // DaemonSets without any pod are reported separately, by name.
  items = Whole();
  for (const char* name : {"log", "agent"}) {
    items.push_back(Object("apps/v1", "DaemonSet", name, "monitoring"));
    items.back()["status"]["numberReady"] = 2;
  }
  EXPECT_THAT(LoadItems(items), ElementsAre("DaemonSetsWithoutPods"));
  EXPECT_THAT(Message(),
              ::testing::AllOf(HasSubstr("2 DaemonSets say"),
                               ::testing::EndsWith(": monitoring/agent, monitoring/log")));
}

// The status of a pod for which the scheduler found no node.
Json Unschedulable() {
  return Json::parse(R"({"phase": "Pending", "conditions": [
      {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]})");
}

TEST_F(CompletenessTest, PodsOnMissingNodesGiveAWarningAndNominationsToThemDoNot) {
  std::vector<Json> items = Whole();
  items.push_back(Pod("shop", "lost", "x"));
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsOnUnknownNodes"));
  EXPECT_EQ(Message(), "left out 1 pod on nodes that are not in the input: shop/lost on x");
  EXPECT_EQ(Command(), "kubectl get nodes -o json");
  items.push_back(Pod("shop", "too", "y"));
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsOnUnknownNodes"));
  EXPECT_EQ(Message(), "left out 2 pods on nodes that are not in the input: shop/lost on x, ...");
  EXPECT_THAT(LoadItems(items, {.assume_complete = true}), IsEmpty());
  items = Whole();
  Json next = Pod("shop", "next", "");
  next["status"] = Unschedulable();
  next["status"]["nominatedNodeName"] = "x";
  items.push_back(next);
  EXPECT_THAT(LoadItems(items), IsEmpty());
  ASSERT_TRUE(cluster_.ok());
  EXPECT_EQ(cluster_->pending.size(), 1u);
  EXPECT_EQ(cluster_->counts.on_unknown_node, 0u);
}

// A dump of some namespaces lacks most claims; a change during the dump explains one or two.
TEST_F(CompletenessTest, OneMissingClaimOfFiftyVolumesIsNotAGap) {
  const auto load = [this](int volumes, int missing) {
    std::vector<Json> items = Whole();
    for (int i = 0; i < volumes; ++i) {
      const std::string number = std::to_string(i);
      items.push_back(Volume("v-" + number, "c-" + number));
      if (i >= missing) items.push_back(Claim("c-" + number, "v-" + number));
    }
    return LoadItems(items);
  };
  EXPECT_THAT(load(50, 1), IsEmpty());
  EXPECT_THAT(load(49, 1), ElementsAre("ClaimsOfVolumesMissing"));
  EXPECT_THAT(load(50, 2), ElementsAre("ClaimsOfVolumesMissing"));
  EXPECT_THAT(Message(), HasSubstr("2 volumes are bound to claims that are not there (v-0 to "
                                   "shop/c-0)"));
}

TEST_F(CompletenessTest, PodsWithClaimsOfTheirOwnCountOnceEachAndOtherVolumesDoNot) {
  std::vector<Json> items = Whole();
  Json settings = Pod("shop", "settings", "a");
  settings["spec"]["volumes"] = {{{"name", "s"}, {"configMap", {{"name", "s"}}}}};
  items.push_back(settings);
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.push_back(Mounting("x"));
  Json own = Pod("shop", "own", "a");
  own["spec"]["volumes"] = {{{"name", "s"}, {"configMap", {{"name", "s"}}}},
                            {{"name", "e"}, {"ephemeral", Json::object()}},
                            {{"name", "f"}, {"ephemeral", Json::object()}}};
  items.push_back(own);
  EXPECT_THAT(LoadItems(items), ElementsAre("NoPersistentVolumeClaims"));
  EXPECT_THAT(Message(), HasSubstr("2 pods mount claims (shop/db-x)"));
}

TEST_F(CompletenessTest, VolumesWithoutACsiDriverNeedNoCSINode) {
  std::vector<Json> items = Whole();
  items.insert(items.end(), {Mounting("x"), Claim("x", "1"), Volume("1", "x")});
  EXPECT_THAT(LoadItems(items), ElementsAre("NoCSINodes"));
  EXPECT_THAT(Message(), HasSubstr("1 volume is of CSI drivers"));
  items.back()["spec"].erase("csi");
  items.back()["spec"]["nfs"] = {{"server", "s"}, {"path", "/"}};
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, ObjectsWithoutAUidGiveAWarningUnlessTheyAreMost) {
  const auto with_uids = [this](size_t uids) {
    std::vector<Json> items = Whole();  // Eight objects, and a list.
    for (size_t i = 0; i < uids; ++i) items[i]["metadata"]["uid"] = "uid-" + std::to_string(i);
    return LoadItems(items);
  };
  EXPECT_THAT(with_uids(3), IsEmpty());
  EXPECT_THAT(with_uids(4), ElementsAre("ObjectsWithoutUid"));
  EXPECT_THAT(Message(), HasSubstr("4 objects have no metadata.uid"));
  EXPECT_THAT(with_uids(7), ElementsAre("ObjectsWithoutUid"));
  EXPECT_THAT(Message(), HasSubstr("1 object has no metadata.uid, which every object of a cluster "
                                   "has: Namespace shop; files"));
  EXPECT_THAT(with_uids(8), IsEmpty());
}

TEST_F(CompletenessTest, TheNewestOfThreeVersionsInAFolderCountsInAnyOrder) {
  const auto version = [](const char* number, int priority) {
    Json pod = Stamped(Pod("shop", "thrice", "a"), "u", number);
    pod["spec"]["priority"] = priority;
    return pod;
  };
  std::vector<Json> items = Whole();
  items.push_back(version("9", 1));
  Put("mg/all.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
  for (const bool newest_last : {false, true}) {
    Put("mg/y.yaml", (newest_last ? version("10", 2) : version("11", 3)).dump());
    Put("mg/z.yaml", (newest_last ? version("11", 3) : version("10", 2)).dump());
    EXPECT_THAT(Load((folder_ / "mg").string()), ElementsAre("ObjectsInTwoVersions"));
    ASSERT_TRUE(cluster_.ok()) << cluster_.status();
    const Catalog& catalog = cluster_->snapshot.catalog();
    EXPECT_EQ(catalog.shape_of(*catalog.FindPod("shop", "thrice")).priority, 3) << newest_last;
  }
  // Kubernetes never writes a leading zero, so this is not a version.
  fs::remove(folder_ / "mg/y.yaml");
  Put("mg/z.yaml", version("010", 2).dump());
  EXPECT_THAT(Load((folder_ / "mg").string()), ElementsAre(HasSubstr("two moments are mixed")));
}

TEST_F(CompletenessTest, TheWarningSaysWhichNamespacesSeemToBeMissing) {
  EXPECT_THAT(
      LoadItems({Node("a"), Pod("shop", "web", "a"), Pod("other", "web", "a"), NoBudgets()}),
      ElementsAre("NoKubeSystemPods"));
  EXPECT_EQ(Message(), "there is no pod of kube-system; the dump seems to lack namespaces");
  EXPECT_THAT(LoadItems({Node("a"), Pod("kube-system", "dns", "a"), NoBudgets()}),
              ElementsAre("NamespacesNotListed"));
  EXPECT_THAT(Message(), HasSubstr("all pods are of kube-system, and no Namespace says"));
  // Namespaces of platforms may be empty.
  for (const char* name : {"kube-x", "openshift", "gke-x", "gmp-x", "aks-x", "cattle-x", "fleet-x",
                           "cluster-fleet-x", "amazon-x", "azure-x", "default"}) {
    EXPECT_THAT(LoadItems({Node("a"), Pod("kube-system", "dns", "a"),
                           Object("v1", "Namespace", "kube-system"),
                           Object("v1", "Namespace", name), NoBudgets()}),
                IsEmpty())
        << name;
  }
}

TEST_F(CompletenessTest, PendingPodsThatTwoBudgetsSelectGiveNoWarning) {
  std::vector<Json> items = Whole();
  for (const auto& [name, node] :
       {std::pair{"zeta", "b"}, std::pair{"waits", ""}, std::pair{"alpha", "b"}}) {
    items.push_back(Pod("shop", name, node));
    items.back()["metadata"]["labels"] = {{"app", "web"}};
    if (*node == '\0') items.back()["status"] = Unschedulable();
  }
  for (const char* name : {"one", "two"}) {
    items.push_back(Object("policy/v1", "PodDisruptionBudget", name, "shop"));
    items.back()["spec"]["selector"]["matchLabels"] = {{"app", "web"}};
  }
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsWithSeveralBudgets"));
  EXPECT_THAT(Message(), ::testing::AllOf(HasSubstr("2 pods are selected by more than one"),
                                          ::testing::EndsWith(": shop/alpha, shop/zeta")));
}

TEST_F(CompletenessTest, GeneratedClustersAreWhole) {
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    for (const samples::Kind& kind : samples::Kinds()) {
      std::string text;
      ObjectWriter writer(format, [&](std::string_view bytes) {
        text.append(bytes);
        return absl::OkStatus();
      });
      ASSERT_TRUE(samples::GenerateDump(kind, {.nodes = 30, .seed = 1}, writer).ok());
      ASSERT_TRUE(writer.Finish().ok());
      const std::vector<std::string> codes = Load(Put("generated", text));
      if (kind.name == "budgets") {
        EXPECT_THAT(codes, ElementsAre("PodsWithSeveralBudgets"));
      } else {
        EXPECT_THAT(codes, IsEmpty()) << kind.name;
      }
      if (kind.name != "company" || format != ObjectFormat::kJsonList) continue;
      // Only half of its pods, as in a truncated list.
      Json list = Json::parse(text);
      size_t pods = 0;
      std::erase_if(list["items"].get_ref<Json::array_t&>(),
                    [&pods](const Json& item) { return item["kind"] == "Pod" && ++pods % 2 == 0; });
      EXPECT_THAT(Load(Put("cut.json", list.dump())), ElementsAre("PodsMissing"));
    }
  }
}

// The full text of each warning, with its advice.
TEST_F(CompletenessTest, EachWarningHasItsExactText) {
  const std::string whole =
      "; try `kubectl get nodes,pods,pdb,rs,sts,ds,jobs,rc,ns,pv,pvc,sc,csinodes,"
      "csidrivers,volumeattachments,csistoragecapacities,svc -A -o json`";
  const std::string pods = "; try `kubectl get pods -A -o json`";
  const auto text = [this](const std::vector<Json>& more, std::vector<Json> items = Whole()) {
    items.insert(items.end(), more.begin(), more.end());
    const std::vector<std::string> codes = LoadItems(items);
    return cluster_.ok() && codes.size() == 1 ? WarningText(cluster_->warnings[0])
                                              : ::testing::PrintToString(codes);
  };
  const auto without = [](const char* kind) {
    std::vector<Json> items = Whole();
    std::erase_if(items, [kind](const Json& item) { return item["kind"] == kind; });
    return items;
  };
  const auto counting = [](const char* version, const char* kind, const char* name,
                           int ready_pods) {
    Json json = Object(version, kind, name, "shop");
    json["status"][std::string_view(kind) == "DaemonSet" ? "numberReady" : "replicas"] = ready_pods;
    return json;
  };
  EXPECT_EQ(text({}, {Node("a"), Pod("shop", "web", "a"), NoBudgets()}),
            "warning: all pods are of namespace shop and none of kube-system; the dump seems to be "
            "made without -A" +
                whole);
  EXPECT_EQ(text({}, {Node("a"), Pod("openshift-dns", "dns", "a"), NoBudgets()}),
            "warning: all pods and namespaces are OpenShift's own, as in a must-gather; it seems "
            "to lack those of the cluster's users" +
                whole);
  EXPECT_EQ(text({}, without("Namespace")),
            "warning: all pods are of kube-system and shop, and no Namespace says whether there "
            "are others; try `kubectl get ns -o json`");
  std::vector<Json> system = Whole();
  system.erase(system.begin() + 4);  // Removes the only pod of shop.
  EXPECT_EQ(
      text({}, system),
      "warning: 1 of 1 namespace holds no pod, controller, claim or budget; the dump seems to "
      "be of some namespaces only: shop" +
          whole);
  EXPECT_EQ(text({}, without("PodDisruptionBudgetList")),
            "warning: the input has no PodDisruptionBudget, so the plan may move pods that one "
            "protects; try `kubectl get --raw /apis/policy/v1/poddisruptionbudgets`");
  EXPECT_EQ(text({}, without("DaemonSet")),
            "warning: 2 pods have owners of a kind that the input lacks, and will keep their "
            "nodes: DaemonSet; try `kubectl get ds -A -o json`");
  for (const auto& [version, kind, resource] :
       std::vector<std::tuple<const char*, const char*, std::string>>{
           {"apps/v1", "ReplicaSet", "rs"},
           {"v1", "ReplicationController", "rc"},
           {"batch/v1", "Job", "jobs"},
           {"apps/v1", "StatefulSet", "sts"}}) {
    EXPECT_EQ(text({Owned(Pod("shop", "own", "a"), version, kind, "own")}),
              "warning: 1 pod has an owner of a kind that the input lacks, and will keep its "
              "node: " +
                  std::string(kind) + "; try `kubectl get " + resource + " -A -o json`");
    const Catalog& catalog = cluster_->snapshot.catalog();
    EXPECT_EQ(MissingControllerDetail(catalog, *catalog.FindPod("shop", "own")),
              "the input has no " + std::string(kind) + " of any pod and may lack the kind");
    EXPECT_EQ(MissingControllerDetail(catalog, *catalog.FindPod("shop", "web")), "");
  }
  Json bare = Pod("shop", "bare", "a");
  bare["spec"].erase("containers");
  EXPECT_EQ(
      text({bare}),
      "warning: 1 pod has no containers, which counts as asking for nothing: shop/bare" + pods);
  EXPECT_EQ(
      text({counting("apps/v1", "DaemonSet", "agent", 2)}),
      "warning: 1 DaemonSet says that pods of it are ready, and none is there: shop/agent" + pods);
  std::vector<Json> many = {counting("apps/v1", "ReplicaSet", "w", 3)};
  AddPods(many, Owned(Pod("shop", "w", "a"), "apps/v1", "ReplicaSet", "w"), 6);
  EXPECT_EQ(text(many),
            "warning: 3 pods are there beyond the 5 pods that controllers count: ReplicaSet shop/w "
            "has 6 of 3; dumps of two moments seem to be mixed, with pods that were replaced" +
                whole);
  many[0]["status"]["replicas"] = 12;
  EXPECT_EQ(text(many),
            "warning: 6 pods are missing of 14 pods that controllers count: ReplicaSet shop/w has "
            "6 of 12" +
                pods);
  EXPECT_EQ(text({Node("c")}),
            "warning: 1 node is Ready for long and without any pod, even a DaemonSet's: c" + pods);
  EXPECT_EQ(text({Mounting("x")}),
            "warning: 1 pod mounts claims (shop/db-x), and no PersistentVolumeClaim is there, so "
            "that nothing is known of where they can go; try `kubectl get pvc,pv,sc,csinodes -A -o "
            "json`");
  EXPECT_EQ(text({Mounting("x"), Claim("x", "1")}),
            "warning: 1 claim is bound, and no PersistentVolume is there, so that nothing is known "
            "of where pods that mount them can go; try `kubectl get pv -A -o json`");
  EXPECT_EQ(text({Mounting("x"), Claim("x", "1"), Volume("1", "x")}),
            "warning: 1 volume is of CSI drivers, and no CSINode says how many of them a node can "
            "take; try `kubectl get csinodes -A -o json`");
  EXPECT_EQ(text({Volume("2", "y")}),
            "warning: 1 volume is bound to claims that are not there (2 to shop/y); the dump seems "
            "to lack namespaces, or claims" +
                whole);
  Json waiting = Claim("w", "");
  waiting["spec"]["storageClassName"] = "fast";
  EXPECT_EQ(text({waiting}),
            "warning: 1 claim waits for a volume of a StorageClass (shop/w), and no StorageClass "
            "is there, so that no room is found for pods that mount them; try `kubectl get sc -A "
            "-o json`");
  const Json twice = Stamped(Pod("shop", "twice", "b"), "u", "7");
  const Json later = Stamped(Pod("shop", "twice", "b"), "u", "8");
  EXPECT_EQ(text({twice, later}),
            "warning: 1 object came in two versions with the same content (Pod shop/twice), so "
            "dumps of two moments seem to be mixed, and what went away between them is still "
            "there" +
                whole);
  std::vector<Json> known = Whole();
  for (size_t i = 0; i + 1 < known.size(); ++i) {
    known[i]["metadata"]["uid"] = "uid-" + std::to_string(i);
  }
  EXPECT_EQ(text({Object("v1", "Namespace", "kube-public")}, known),
            "warning: 1 object has no metadata.uid, which every object of a cluster has: Namespace "
            "kube-public; files of manifests are taken for the cluster's state, leave them out");
  EXPECT_EQ(
      LoadItems({Node("a"), NoBudgets()}, {}),
      std::vector<std::string>{
          (folder_ / "dump.json").string() +
          ": the input has 1 node and not a single pod, so that it cannot be a whole "
          "cluster; there is no answer about a part of a cluster; fetch what is missing with `ebb "
          "dump` or " +
          whole.substr(6) +
          ", or pass --allow-incomplete to go on with what is there, or --assume-complete if "
          "it is all there is"});
}

// What is missing, according to a warning.
constexpr auto kNothing = Lack::kNothing;
constexpr auto kKinds = Lack::kKinds;
constexpr auto kPods = Lack::kPods;

// `nodes` nodes named n0, n1, ..., each with a pod of the DaemonSet and a pod of shop.
std::vector<Json> Cluster(int nodes) {
  Json proxy = Object("apps/v1", "DaemonSet", "proxy", "kube-system");
  proxy["status"]["numberReady"] = nodes;
  std::vector<Json> items = {proxy, Object("v1", "Namespace", "kube-system"),
                             Object("v1", "Namespace", "shop"), NoBudgets()};
  for (int n = 0; n < nodes; ++n) {
    const std::string name = "n" + std::to_string(n);
    items.push_back(Node(name));
    items.push_back(
        Owned(Pod("kube-system", "proxy-" + name, name), "apps/v1", "DaemonSet", "proxy"));
    items.push_back(Pod("shop", "web-" + name, name));
  }
  return items;
}

class LackTest : public CompletenessTest {
 protected:
  using Found = std::vector<std::pair<std::string, Lack>>;
  Found LacksOf(const std::vector<Json>& items) {
    LoadItems(items);
    Found found;
    for (const InputWarning& each : cluster_->warnings) found.emplace_back(each.code, each.lack);
    return found;
  }
  bool IsRefused(const std::vector<Json>& items) {
    LoadItems(items, {});
    return !cluster_.ok();
  }
};

TEST_F(LackTest, AFewNodesWithoutPodsGiveAWarningAndManyAnError) {
  std::vector<Json> items = Cluster(40);
  for (int n = 0; n < 15; ++n) items.push_back(Node("broken-" + std::to_string(n)));
  // The limit for 55 nodes is 15: 10 plus a tenth.
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NodesWithoutPods", kNothing)));
  EXPECT_FALSE(IsRefused(items));
  items.push_back(Node("broken-15"));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NodesWithoutPods", kPods)));
  EXPECT_TRUE(IsRefused(items));
}

// The nodes and pods come from an API server, so the limit is 5 plus a tenth.
TEST_F(LackTest, FewerNodesOfAnApiServersClusterMayLackPods) {
  std::vector<Json> items = Cluster(40);
  for (int n = 0; n < 10; ++n) items.push_back(Node("broken-" + std::to_string(n)));
  for (Json& item : items) {
    if (item["kind"] == "Node" || item["kind"] == "Pod") item["metadata"]["resourceVersion"] = "7";
  }
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NodesWithoutPods", kNothing)));
  items.push_back(Node("broken-10"));
  items.back()["metadata"]["resourceVersion"] = "7";
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NodesWithoutPods", kPods)));
}

// As in k3s, which runs no daemons of its own.
TEST_F(LackTest, NodesMayBeEmptyIfTheClusterRunsNoDaemonSets) {
  std::vector<Json> items = {Object("v1", "Namespace", "kube-system"), NoBudgets(), Node("first"),
                             Pod("kube-system", "coredns", "first")};
  for (int n = 0; n < 30; ++n) items.push_back(Node("n" + std::to_string(n)));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NodesWithoutPods", kNothing)));
  // Without pods of the system it is the dump of a namespace.
  items[3] = Pod("shop", "web", "first");
  EXPECT_THAT(LacksOf(items),
              ElementsAre(Pair("NoKubeSystemPods", kPods), Pair("NodesWithoutPods", kPods)));
}

TEST_F(LackTest, ManyNodesWithoutDaemonSetPodsAreAnError) {
  std::vector<Json> items = Cluster(60);
  const auto drop = [&](const std::string& name) {
    std::erase_if(items,
                  [&](const Json& item) { return item["metadata"].value("name", "") == name; });
  };
  drop("proxy");  // Otherwise the DaemonSet's count would show it too.
  for (int n = 0; n < 16; ++n) drop("proxy-n" + std::to_string(n));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoControllers", kKinds)));
  drop("proxy-n16");
  EXPECT_THAT(LacksOf(items),
              ElementsAre(Pair("NoControllers", kKinds), Pair("NodesWithoutDaemons", kPods)));
  EXPECT_TRUE(IsRefused(items));
}

TEST_F(LackTest, PodsThatControllersCountMustBeThereButForFewAndATenth) {
  const auto with = [](int counted) {
    std::vector<Json> items = Whole();
    Json set = Object("apps/v1", "ReplicaSet", "w", "shop");
    set["status"]["replicas"] = counted;
    items.push_back(set);
    AddPods(items, Owned(Pod("shop", "w", "a"), "apps/v1", "ReplicaSet", "w"), 38);
    return items;
  };
  EXPECT_THAT(LacksOf(with(46)), ElementsAre(Pair("PodsMissing", kNothing)));
  // 15 missing pods are the limit for 53: 10 plus a tenth.
  EXPECT_FALSE(IsRefused(with(53)));
  EXPECT_THAT(LacksOf(with(54)), ElementsAre(Pair("PodsMissing", kPods)));
  EXPECT_TRUE(IsRefused(with(54)));
}

TEST_F(LackTest, ADumpOfAnApiServerWithoutItsSystemIsOfSomeNamespaces) {
  std::vector<Json> items = {Node("a"), Pod("shop", "web", "a"), NoBudgets()};
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoKubeSystemPods", kNothing)));
  EXPECT_FALSE(IsRefused(items));
  items[0] = Stamped(items[0], "u-a", "1");
  EXPECT_FALSE(IsRefused(items));
  items[1] = Stamped(items[1], "u-web", "2");
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoKubeSystemPods", kPods)));
  EXPECT_TRUE(IsRefused(items));
  LoadItems(items, {.assume_complete = true});
  EXPECT_TRUE(cluster_.ok());
}

TEST_F(LackTest, EmptyNamespacesAreMissingIfKubeSystemIsOrIfThereAreMany) {
  std::vector<Json> items = {Node("a"),
                             Pod("shop", "web", "a"),
                             Pod("kube-system", "proxy", "a"),
                             Object("v1", "Namespace", "kube-system"),
                             Object("v1", "Namespace", "shop"),
                             NoBudgets()};
  for (int n = 0; n < 9; ++n) {
    items.push_back(Object("v1", "Namespace", "team-" + std::to_string(n)));
  }
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NamespacesWithoutObjects", kNothing)));
  std::vector<Json> more = items;
  more.push_back(Object("v1", "Namespace", "team-9"));
  EXPECT_THAT(LacksOf(more), ElementsAre(Pair("NamespacesWithoutObjects", kPods)));
  items.erase(items.begin() + 2);
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoKubeSystemPods", kPods),
                                          Pair("NamespacesWithoutObjects", kPods)));
}

// Adds resourceVersions, as an API server does.
std::vector<Json> Served(std::vector<Json> items) {
  for (Json& item : items) item["metadata"]["resourceVersion"] = "7";
  return items;
}

// All nodes and namespaces, but pods of kube-system only.
TEST_F(LackTest, ADumpOfKubeSystemOnlyIsAnErrorIfUsersHaveNamespaces) {
  std::vector<Json> items = Cluster(4);
  std::erase_if(items,
                [](const Json& item) { return item["metadata"].value("namespace", "") == "shop"; });
  for (const char* name : {"blog", "default", "gke-x"}) {
    items.push_back(Object("v1", "Namespace", name));
  }
  EXPECT_THAT(LacksOf(Served(items)), ElementsAre(Pair("NamespacesWithoutObjects", kNothing)));
  EXPECT_FALSE(IsRefused(Served(items)));
  items.push_back(Object("v1", "Namespace", "team"));
  EXPECT_THAT(LacksOf(Served(items)), ElementsAre(Pair("NamespacesWithoutObjects", kPods)));
  EXPECT_TRUE(IsRefused(Served(items)));
  EXPECT_FALSE(IsRefused(items)) << "written by hand";
  // Content in one of the namespaces shows that the dump is not of the system alone.
  items.push_back(Object("v1", "PersistentVolumeClaim", "data", "team"));
  EXPECT_FALSE(IsRefused(Served(items)));
  // A namespace that is younger than a day may still wait for its pods.
  items.pop_back();
  items.back()["metadata"]["creationTimestamp"] = "2026-01-01T12:00:00Z";
  EXPECT_FALSE(IsRefused(Served(items)));
}

TEST_F(LackTest, PodsOfDaemonSetsDoNotHideThatOthersAreMissing) {
  const auto with = [](int there, int daemons_missing) {
    std::vector<Json> items = Cluster(100);
    for (int n = 0; n < 3; ++n) {
      Json set = Object("apps/v1", "ReplicaSet", "w" + std::to_string(n), "shop");
      set["status"]["replicas"] = 6;
      items.push_back(set);
    }
    AddPods(items, Owned(Pod("shop", "w", "n0"), "apps/v1", "ReplicaSet", "w0"), there);
    Json log = Object("apps/v1", "DaemonSet", "log", "shop");
    log["status"]["numberReady"] = 100;
    items.push_back(log);
    AddPods(items, Owned(Pod("shop", "log", "n1"), "apps/v1", "DaemonSet", "log"),
            100 - daemons_missing);
    return Served(items);
  };
  EXPECT_THAT(LacksOf(with(0, 0)), ElementsAre(Pair("PodsMissing", kPods)));
  EXPECT_EQ(Message(),
            "18 pods are missing of 218 pods that controllers count (18 of 18 without DaemonSets): "
            "ReplicaSet shop/w0 has 0 of 6");
  EXPECT_TRUE(IsRefused(with(0, 0)));
  // Exactly at the limits, 5 plus a tenth: 6 of 18 pods and 25 of 200 are missing.
  std::vector<Json> items = with(6, 25);
  std::erase_if(items, [](const Json& item) { return item["metadata"].value("name", "") == "w2"; });
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("PodsMissing", kNothing)));
  EXPECT_FALSE(IsRefused(items));
  EXPECT_THAT(LacksOf(with(6, 26)), ElementsAre(Pair("PodsMissing", kPods)));
}

TEST_F(LackTest, ANamespaceWhosePodsAreAllMissingIsNamed) {
  const auto with = [](int controllers, int pods, const char* created = kLongAgo) {
    std::vector<Json> items = Cluster(3);
    items.push_back(Object("v1", "Namespace", "team"));
    Json big = Object("apps/v1", "ReplicaSet", "big", "shop");
    big["status"]["replicas"] = 100;
    items.push_back(big);
    AddPods(items, Owned(Pod("shop", "big", "n0"), "apps/v1", "ReplicaSet", "big"), 100);
    for (int n = 0; n < controllers; ++n) {
      Json set = Object("apps/v1", "ReplicaSet", "w" + std::to_string(n), "team");
      set["metadata"]["creationTimestamp"] = created;
      set["status"]["replicas"] = n == 0 ? pods - controllers + 1 : 1;
      items.push_back(set);
    }
    return items;
  };
  EXPECT_THAT(LacksOf(Served(with(2, 5))),
              ElementsAre(Pair("PodsMissing", kNothing), Pair("NamespacesWithoutPods", kPods)));
  EXPECT_EQ(cluster_->warnings[1].message,
            "controllers of 1 namespace count pods, and no pod is there: team");
  EXPECT_TRUE(IsRefused(Served(with(2, 5))));
  EXPECT_FALSE(IsRefused(Served(with(2, 4))));
  EXPECT_FALSE(IsRefused(Served(with(1, 5))));
  EXPECT_FALSE(IsRefused(with(2, 5))) << "written by hand";
  EXPECT_FALSE(IsRefused(Served(with(2, 5, "2026-01-01T23:59:30Z")))) << "made meanwhile";
  std::vector<Json> items = with(2, 5);
  items.push_back(Pod("team", "any", "n1"));
  EXPECT_FALSE(IsRefused(Served(items)));
}

// As in a dump by a user who may not list objects of some namespaces.
TEST_F(LackTest, NamespacesOfUsersThatHoldNothingAreNamed) {
  std::vector<Json> items = Cluster(3);
  for (const char* name : {"a", "b", "c"}) items.push_back(Object("v1", "Namespace", name));
  items.push_back(Pod("a", "web", "n0"));
  EXPECT_THAT(LacksOf(Served(items)), ElementsAre(Pair("NamespacesWithoutObjects", kNothing)));
  EXPECT_THAT(Message(), HasSubstr("2 of 4 namespaces hold no pod"));
  EXPECT_THAT(Message(), ::testing::EndsWith(": b, c"));
  EXPECT_FALSE(IsRefused(Served(items)));
  items.push_back(Pod("b", "web", "n0"));
  EXPECT_THAT(LacksOf(Served(items)), IsEmpty());
}

TEST_F(LackTest, MissingKindsMakeAnIncompleteCluster) {
  const auto without = [](const char* kind) {
    std::vector<Json> items = Whole();
    std::erase_if(items, [kind](const Json& item) { return item["kind"] == kind; });
    return items;
  };
  EXPECT_THAT(LacksOf(without("PodDisruptionBudgetList")),
              ElementsAre(Pair("NoPodDisruptionBudgets", kKinds)));
  EXPECT_THAT(LacksOf(without("DaemonSet")), ElementsAre(Pair("NoControllers", kKinds)));
  EXPECT_THAT(LacksOf(without("Namespace")), ElementsAre(Pair("NamespacesNotListed", kKinds)));
  EXPECT_FALSE(IsRefused(without("DaemonSet")));
  EXPECT_THAT(LacksOf(Whole()), IsEmpty());
}

// A list of a kind without items shows that the cluster has no object of the kind.
TEST_F(LackTest, AKindThatIsKnownToBeEmptyIsNotMissing) {
  const auto none = [](const char* version, const char* kind) {
    return Json{{"apiVersion", version}, {"kind", kind}, {"items", Json::array()}};
  };
  std::vector<Json> items = Whole();
  Json node = Object("storage.k8s.io/v1", "CSINode", "a");
  node["spec"]["drivers"] = {{{"name", "ebs"}, {"nodeID", "i"}, {"allocatable", {{"count", 2}}}}};
  Json volume = Volume("1", "x");
  volume["spec"]["csi"] = {{"driver", "ebs"}, {"volumeHandle", "v"}};
  for (const Json& each : {Mounting("x"), Claim("x", "1"), volume, node}) items.push_back(each);
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoVolumeAttachments", kKinds)));
  EXPECT_THAT(Message(), HasSubstr("1 volume is of a CSI driver with a limit (ebs)"));
  items.push_back(none("storage.k8s.io/v1", "VolumeAttachmentList"));
  EXPECT_THAT(LacksOf(items), IsEmpty());

  items = Whole();
  Json fast = Object("storage.k8s.io/v1", "StorageClass", "fast");
  fast["provisioner"] = "topolvm.io";
  fast["volumeBindingMode"] = "WaitForFirstConsumer";
  Json waiting = Claim("w", "");
  waiting["spec"]["storageClassName"] = "fast";
  items.push_back(fast);
  items.push_back(waiting);
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoCSIDrivers", kKinds)));
  Json driver = Object("storage.k8s.io/v1", "CSIDriver", "topolvm.io");
  driver["spec"]["storageCapacity"] = true;
  items.push_back(driver);
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoCSIStorageCapacities", kKinds)));
  items.push_back(none("storage.k8s.io/v1", "CSIStorageCapacityList"));
  EXPECT_THAT(LacksOf(items), IsEmpty());
  items = Whole();
  items.push_back(Owned(Pod("shop", "own", "a"), "apps/v1", "ReplicaSet", "own"));
  items.push_back(none("apps/v1", "ReplicaSetList"));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoControllers", kNothing)));
}

// Symptom: a dump without Karpenter's objects does not show which nodes Karpenter is deleting, and
// there was no warning.
TEST_F(LackTest, NodesOfKarpenterMissTheirNodeClaims) {
  std::vector<Json> items = Cluster(3);
  for (Json& item : items) {
    if (item["kind"] == "Node") item["metadata"]["labels"] = {{"karpenter.sh/nodepool", "spot"}};
  }
  EXPECT_THAT(LacksOf(items),
              ElementsAre(Pair("NoNodePools", kKinds), Pair("NoNodeClaims", kKinds)));
  const InputWarning warning = Of("NoNodeClaims");
  EXPECT_THAT(warning.message,
              HasSubstr("3 nodes are Karpenter's (n0 and 2 more), and no NodeClaim is there"));
  EXPECT_EQ(warning.command, "kubectl get nodepools,nodeclaims -o json");
  EXPECT_EQ(Of("NoNodePools").command, warning.command);
  EXPECT_FALSE(IsRefused(items)) << "a plan is shown, and not carried out";
  items.push_back(Object("karpenter.sh/v1", "NodePool", "spot"));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoNodeClaims", kKinds)));
  std::vector<Json> with_claim = items;
  with_claim.push_back(Object("karpenter.sh/v1", "NodeClaim", "spot-x7"));
  EXPECT_THAT(LacksOf(with_claim), IsEmpty());
  // `ebb dump` writes an empty list if there are none.
  items.push_back(
      {{"apiVersion", "karpenter.sh/v1"}, {"kind", "NodeClaimList"}, {"items", Json::array()}});
  EXPECT_THAT(LacksOf(items), IsEmpty());
  // Nodes of a Provisioner, which older versions of Karpenter use, have no NodeClaim.
  items = Cluster(3);
  items[4]["metadata"]["labels"] = {{"karpenter.sh/provisioner-name", "default"}};
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoNodePools", kKinds)));
}

TEST_F(LackTest, NodesOfOpenShiftsMachinesMissThem) {
  std::vector<Json> items = Cluster(3);
  EXPECT_THAT(LacksOf(items), IsEmpty());
  items[4]["metadata"]["annotations"] = {
      {"machine.openshift.io/machine", "openshift-machine-api/worker-1"}};
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("NoMachines", kKinds)));
  EXPECT_THAT(Message(), HasSubstr("1 node has a Machine (n0), and no Machine is there"));
  EXPECT_EQ(Command(), "kubectl get machines.machine.openshift.io -A -o json");
  items.push_back(
      Object("machine.openshift.io/v1beta1", "Machine", "worker-1", "openshift-machine-api"));
  EXPECT_THAT(LacksOf(items), IsEmpty());
}

Json CountingBudget(const std::string& name, const std::string& in, int pods) {
  Json budget = Object("policy/v1", "PodDisruptionBudget", name, in);
  budget["spec"] = {{"selector", {{"matchLabels", {{"app", name}}}}}};
  budget["status"] = {{"disruptionsAllowed", 1}, {"expectedPods", pods}};
  return budget;
}

// Symptom: budgets of another cluster were accepted without a warning.
TEST_F(LackTest, BudgetsThatCountPodsAndSelectNoneAreNamed) {
  std::vector<Json> items = Cluster(10);
  std::erase_if(items, [](const Json& item) { return item["kind"] == "PodDisruptionBudgetList"; });
  Json web = Pod("shop", "web", "n0");
  web["metadata"]["labels"] = {{"app", "web"}};
  AddPods(items, web, 3);
  items.push_back(CountingBudget("web", "shop", 3));
  items.push_back(CountingBudget("gone", "shop", 1));
  EXPECT_THAT(LacksOf(items), IsEmpty()) << "its pod may have gone meanwhile";
  items.push_back(CountingBudget("api", "shop", 4));
  items.push_back(CountingBudget("db", "shop", 3));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("BudgetsWithoutPods", kNothing)));
  EXPECT_THAT(Message(),
              HasSubstr("3 PodDisruptionBudgets count 8 pods (status.expectedPods), and no pod "
                        "that they select is there: shop/api, shop/db, shop/gone; pods are "
                        "missing, or the budgets are those of another cluster"));
  items.push_back(CountingBudget("cart", "shop", 9));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("BudgetsWithoutPods", kPods)));
  EXPECT_TRUE(IsRefused(items));
  // The pods that a budget counts may have ended, or its status may be out of date.
  std::vector<Json> with_ended = items;
  with_ended.push_back(Pod("shop", "ended", "n1"));
  with_ended.back()["status"]["phase"] = "Succeeded";
  EXPECT_THAT(LacksOf(with_ended), IsEmpty());
  for (Json& item : items) {
    if (item["kind"] != "PodDisruptionBudget") continue;
    item["status"]["conditions"] = {
        {{"type", "DisruptionAllowed"}, {"status", "False"}, {"reason", "SyncFailed"}}};
  }
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("BudgetsNotComputed", kNothing)));
}

TEST_F(LackTest, BudgetsOfMissingNamespacesAreOfAnotherCluster) {
  std::vector<Json> items = Cluster(3);
  std::erase_if(items, [](const Json& item) { return item["kind"] == "PodDisruptionBudgetList"; });
  items.push_back(CountingBudget("own", "shop", 0));
  items.push_back(CountingBudget("dns", "kube-system", 0));
  EXPECT_THAT(LacksOf(items), IsEmpty());
  items.push_back(CountingBudget("pay", "payments", 0));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("BudgetsOfUnknownNamespaces", kNothing)));
  EXPECT_THAT(Message(), HasSubstr("1 PodDisruptionBudget is of namespaces that are not in the "
                                   "input: payments/pay"));
  // Now most budgets are of unknown namespaces, so this cluster's own budgets are missing.
  items.push_back(CountingBudget("a", "others", 0));
  items.push_back(CountingBudget("b", "others", 0));
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("BudgetsOfUnknownNamespaces", kKinds)));
  EXPECT_FALSE(IsRefused(items));
  std::vector<Json> unlisted = items;
  std::erase_if(unlisted, [](const Json& item) { return item["kind"] == "Namespace"; });
  EXPECT_THAT(LacksOf(unlisted), ElementsAre(Pair("NamespacesNotListed", kKinds)));
  // Only some namespaces were listed, and pods show that the others exist.
  items.push_back(Pod("payments", "pay", "n0"));
  items.push_back(Pod("others", "any", "n0"));
  EXPECT_THAT(LacksOf(items), IsEmpty());
}

// Symptom: 95 missing pods of one controller are only 1% of a large cluster.
TEST_F(LackTest, AControllerThatLacksMostOfItsPodsIsNamedInALargeCluster) {
  const auto with = [](int ready, int replicas, int there, const char* created = kLongAgo) {
    std::vector<Json> items = Cluster(3);
    Json big = Object("apps/v1", "ReplicaSet", "big", "shop");
    big["status"] = {{"replicas", 1000}, {"readyReplicas", 1000}};
    items.push_back(big);
    AddPods(items, Owned(Pod("shop", "big", "n0"), "apps/v1", "ReplicaSet", "big"), 1000);
    Json web = Object("apps/v1", "ReplicaSet", "web", "shop");
    web["metadata"]["creationTimestamp"] = created;
    web["status"] = {{"replicas", replicas}, {"readyReplicas", ready}};
    items.push_back(web);
    AddPods(items, Owned(Pod("shop", "web", "n1"), "apps/v1", "ReplicaSet", "web"), there);
    Json waits = Pod("shop", "waits", "n1");
    waits["status"]["phase"] = "Pending";
    items.push_back(waits);
    return Served(items);
  };
  EXPECT_THAT(LacksOf(with(20, 20, 20)), IsEmpty());
  EXPECT_THAT(LacksOf(with(20, 20, 5)), ElementsAre(Pair("PodsMissing", kPods)));
  EXPECT_THAT(Message(), HasSubstr("15 pods are missing of 1,023 pods that controllers count: "
                                   "ReplicaSet shop/web has 5 of 20"));
  EXPECT_TRUE(IsRefused(with(20, 20, 5)));
  EXPECT_THAT(LacksOf(with(20, 20, 12)), IsEmpty()) << "not most of them";
  // Pods that are not ready may be newer than the list of pods, as in a rollout.
  EXPECT_THAT(LacksOf(with(5, 20, 5)), ElementsAre(Pair("PodsMissing", kNothing)));
  EXPECT_THAT(LacksOf(with(5, 14, 5)), IsEmpty());
  EXPECT_THAT(LacksOf(with(0, 20, 0, "2026-01-01T23:59:30Z")), IsEmpty());
}

// As with `kubectl get pods -A --field-selector=status.phase=Running`.
TEST_F(LackTest, PendingPodsCountAsMissingIfTheDumpHasNone) {
  const auto with = [](int pending, int controllers) {
    std::vector<Json> items = Cluster(3);
    Json big = Object("apps/v1", "ReplicaSet", "big", "shop");
    big["status"] = {{"replicas", 1000}, {"readyReplicas", 1000}};
    items.push_back(big);
    AddPods(items, Owned(Pod("shop", "big", "n0"), "apps/v1", "ReplicaSet", "big"), 1000);
    for (int c = 0; c < controllers; ++c) {
      const std::string name = "w" + std::to_string(c);
      Json web = Object("apps/v1", "ReplicaSet", name, "shop");
      web["status"] = {{"replicas", 8 + pending}, {"readyReplicas", 8}};
      items.push_back(web);
      AddPods(items, Owned(Pod("shop", name, "n1"), "apps/v1", "ReplicaSet", name.c_str()), 8);
    }
    return Served(items);
  };
  EXPECT_THAT(LacksOf(with(5, 1)), IsEmpty());
  EXPECT_THAT(LacksOf(with(3, 2)), ElementsAre(Pair("PodsMissing", kNothing)));
  EXPECT_THAT(Message(), HasSubstr("6 pods are missing of 1,025 pods that controllers count: "
                                   "ReplicaSet shop/w0 has 8 of 11; no pod is in phase Pending"));
  EXPECT_THAT(LacksOf(with(4, 3)), ElementsAre(Pair("PodsMissing", kPods)));
  // If some pods are pending, the missing ones may have been created between two lists.
  std::vector<Json> items = with(4, 3);
  Json waits = Pod("shop", "waits", "n1");
  waits["status"]["phase"] = "Pending";
  waits["metadata"]["resourceVersion"] = "7";
  items.push_back(waits);
  EXPECT_THAT(LacksOf(items), IsEmpty());
}

TEST_F(CompletenessTest, TheNewestHeartbeatOfANodeIsKept) {
  std::vector<Json> items = Whole();
  const auto beat = [&] {
    LoadItems(items);
    return cluster_->counts.newest_heartbeat;
  };
  EXPECT_EQ(beat(), 0);
  items[0]["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-02T00:00:05Z";
  items[1]["status"]["conditions"][0]["lastHeartbeatTime"] = nullptr;
  items[1]["status"]["conditions"].push_back(
      {{"type", "DiskPressure"}, {"status", "False"}, {"lastHeartbeatTime", "no time"}});
  EXPECT_EQ(beat(), 1767312005);
  const std::vector<std::string> dump = {
      Put("dump.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump())};
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    std::string text;
    ObjectWriter writer(format, [&](std::string_view bytes) {
      text += bytes;
      return absl::OkStatus();
    });
    ImportStats stats;
    ASSERT_TRUE(ReadInput(dump[0], writer, stats).ok());
    ASSERT_TRUE(writer.Finish().ok());
    Load(Put("copy", text));
    EXPECT_EQ(cluster_->counts.newest_heartbeat, 1767312005);
  }
  std::string bytes;
  BinarySnapshotWriter writer([&](std::string_view more) {
    bytes += more;
    return absl::OkStatus();
  });
  ImportStats stats;
  ASSERT_TRUE(ReadInput(dump[0], writer, stats).ok());
  ASSERT_TRUE(writer.Finish().ok());
  Load(Put("copy.pb", bytes));
  EXPECT_EQ(cluster_->counts.newest_heartbeat, 1767312005);
}

TEST_F(LackTest, APageOfAListIsAcceptedOnlyIfTheInputMayBeIncomplete) {
  Json list = {{"apiVersion", "v1"},
               {"kind", "List"},
               {"metadata", {{"continue", "more"}}},
               {"items", Whole()}};
  const std::string path = Put("page.json", list.dump());
  EXPECT_THAT(Load(path, {}), ElementsAre(HasSubstr("list without a limit")));
  EXPECT_THAT(Load(path), ElementsAre("PartOfAList"));
  EXPECT_EQ(cluster_->warnings[0].lack, kPods);
}

TEST_F(LackTest, PodsOnUnknownNodesAreMissingNodesFromFewAndATenthOn) {
  std::vector<Json> items = Cluster(20);
  // The limit for 50 pods is 10: 5 plus a tenth.
  AddPods(items, Pod("shop", "lost", "gone"), 10);
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("PodsOnUnknownNodes", kNothing)));
  EXPECT_FALSE(IsRefused(items));
  AddPods(items, Pod("shop", "lost-too", "gone"), 1);
  EXPECT_THAT(LacksOf(items), ElementsAre(Pair("PodsOnUnknownNodes", kPods)));
  EXPECT_TRUE(IsRefused(items));
}

TEST_F(CompletenessTest, TwoPercentAndOneMoreOfThePodsMayHaveControllersOfOtherUids) {
  const auto load = [&](int pods, int of_others) {
    std::vector<Json> items = Whole();
    items.push_back(Object("apps/v1", "ReplicaSet", "web", "shop"));
    items.back()["metadata"]["uid"] = "here";
    for (int i = 0; i < pods; ++i) {
      Json pod =
          Owned(Pod("shop", "web-" + std::to_string(i), "a"), "apps/v1", "ReplicaSet", "web");
      pod["metadata"]["ownerReferences"][0]["uid"] = i < of_others ? "there" : "here";
      items.push_back(pod);
    }
    std::vector<std::string> codes = LoadItems(items);
    std::erase(codes, "ObjectsWithoutUid");
    return codes;
  };
  EXPECT_THAT(load(100, 3), IsEmpty());
  EXPECT_THAT(load(100, 4), ElementsAre("ControllersOfOtherUids"));
  EXPECT_THAT(load(99, 3), ElementsAre("ControllersOfOtherUids"));
}

TEST_F(CompletenessTest, ObjectsThatComeTwiceAreCountedAndTheFirstIsNamed) {
  std::vector<Json> items = Whole();
  for (const char* name : {"one", "two"}) {
    items.push_back(Stamped(Pod("shop", name, "b"), "u", "7"));
    items.push_back(Stamped(Pod("shop", name, "b"), "u", "8"));
  }
  items.push_back(items.back());  // A third time, in a version that was read before.
  EXPECT_THAT(LoadItems(items), ElementsAre("DumpsOfTwoMoments"));
  EXPECT_THAT(Message(), HasSubstr("3 objects came in two versions with the same content (Pod "
                                   "shop/one), so"));
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 5u);
}

// Reads the list twice with one census: without a UID of kube-system, and with it.
TEST_F(CompletenessTest, InputWatchReturnsTheClusterUidAndTheRepeatedObjects) {
  std::vector<Json> items = Whole();
  const Json pod = Stamped(Pod("shop", "twice", "b"), "u", "7");
  items.insert(items.end(), {pod, pod, pod});
  const auto read = [](InputCensus& census, const std::vector<Json>& of) {
    ClusterLoader loader;
    ImportStats stats;
    const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", of}};
    return census.Read("list", list.dump(), loader, stats);
  };
  InputCensus census;
  EXPECT_TRUE(read(census, items).ok());
  EXPECT_EQ(census.repeated(), 2u);
  EXPECT_EQ(census.cluster_uid(), "");
  EXPECT_FALSE(census.MustReadAgain());
  items[6]["metadata"]["uid"] = "of-the-cluster";
  items[7]["metadata"]["uid"] = "of-another-namespace";
  EXPECT_TRUE(read(census, items).ok());
  EXPECT_EQ(census.cluster_uid(), "of-the-cluster");
  // Each reading starts from scratch.
  EXPECT_TRUE(read(census, Whole()).ok());
  EXPECT_EQ(census.repeated(), 0u);
  EXPECT_EQ(census.cluster_uid(), "");
}

TEST_F(CompletenessTest, ANewerVersionIsRejectedIfInputsCannotBeReadAgain) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("shop", "twice", "a"), "u", "9"));
  Put("mg/all.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
  Put("mg/z.yaml", Stamped(Pod("shop", "twice", "b"), "u", "10").dump());
  const std::vector<std::string> inputs = {(folder_ / "mg").string()};
  for (const bool again : {false, true}) {
    InputCensus census;
    ClusterLoader loader;
    ImportStats stats;
    const absl::Status read =
        census.Read(inputs, loader, stats, Parallelism::One(), {},
                    again ? InputCensus::ReadAgain::kIfNeeded : InputCensus::ReadAgain::kNo);
    EXPECT_EQ(census.MustReadAgain(), again);
    if (again) {
      EXPECT_TRUE(read.ok()) << read;
    } else {
      EXPECT_THAT(std::string(read.message()),
                  ::testing::EndsWith("Pod shop/twice: comes twice with different content, of "
                                      "resourceVersion 9 and 10: dumps of two moments are mixed; "
                                      "pass one dump"));
    }
  }
}

// With Look() more pods may be missing, and one pod may represent several.
TEST_F(CompletenessTest, LookAllowsMoreMissingPods) {
  const auto codes = [](int64_t counted, uint64_t there) {
    InputCensus census;
    ClusterLoader loader;
    objects::Controller web;
    web.kind = objects::ControllerKind::kReplicaSet;
    web.meta.name = "web";
    web.meta.namespace_name = "kube-system";
    web.status_replicas = counted;
    const absl::Status looked = census.Look(
        [&](ObjectSink& sink) {
          objects::Node node;
          node.meta.name = "a";
          if (absl::Status s = sink.OnNode(node); !s.ok()) return s;
          for (uint64_t i = 0; i < there; ++i) {
            const std::string name = "web-" + std::to_string(i);
            objects::Pod pod;
            pod.meta.name = name;
            pod.meta.namespace_name = "kube-system";
            pod.meta.owners = {{"apps/v1", "ReplicaSet", "web", "", true}};
            pod.node_name = "a";
            pod.containers.resize(1);
            if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
          }
          objects::Namespace ns;
          ns.meta.name = "kube-system";
          if (absl::Status s = sink.OnNamespace(ns); !s.ok()) return s;
          return sink.OnController(web);
        },
        loader);
    EXPECT_TRUE(looked.ok()) << looked;
    absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
    EXPECT_TRUE(cluster.ok());
    std::vector<InputWarning> warnings;
    census.FindLacks(InputUse::kFilter, cluster->snapshot, 0, warnings);
    std::vector<std::string> seen;
    for (const InputWarning& warning : warnings) seen.push_back(warning.code);
    return seen;
  };
  EXPECT_THAT(codes(20, 13), IsEmpty()) << "5 and a tenth of 20";
  EXPECT_THAT(codes(20, 12), ElementsAre("PodsMissing"));
  EXPECT_THAT(codes(20, 27), IsEmpty());
  EXPECT_THAT(codes(20, 28), ElementsAre("TooManyPods"));
  EXPECT_THAT(codes(29, 22), IsEmpty()) << "a tenth is rounded down";
  EXPECT_THAT(codes(29, 21), ElementsAre("PodsMissing"));
}

// --- One of several conditions decides, and later objects count too

TEST_F(CompletenessTest, OneOfSeveralTaintsMakesANodeVirtualAndOthersDoNot) {
  const auto taint = [](const char* key) { return Json{{"key", key}, {"effect", "NoSchedule"}}; };
  std::vector<Json> items = Whole();
  items.push_back(Node("c"));
  items.back()["metadata"]["labels"]["type"] = "other";
  items.back()["spec"]["taints"] = Json::array({taint("dedicated"), taint("zone")});
  EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
  items.back()["spec"]["taints"] =
      Json::array({taint("dedicated"), taint("virtual-kubelet.io/provider"), taint("zone")});
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, OneNodeThatRunsDaemonSetsIsEnoughToMissThePodsOfTheSystem) {
  Json fargate = Node("a");
  fargate["metadata"]["labels"]["eks.amazonaws.com/compute-type"] = "fargate";
  const Json pod = Pod("shop", "web", "b");
  EXPECT_THAT(LoadItems({fargate, Node("b"), pod, NoBudgets()}), ElementsAre("NoKubeSystemPods"));
  EXPECT_THAT(LoadItems({Node("b"), fargate, pod, NoBudgets()}), ElementsAre("NoKubeSystemPods"));
  Json other = fargate;
  other["metadata"]["name"] = "b";
  EXPECT_THAT(LoadItems({fargate, other, pod, NoBudgets()}), IsEmpty());
}

TEST_F(CompletenessTest, ANamespaceKubeSystemThatIsListedAndHasNoPodIsMissed) {
  EXPECT_THAT(
      LoadItems({Node("a"), Pod("shop", "web", "a"), Object("v1", "Namespace", "kube-system"),
                 Object("v1", "Namespace", "shop"), NoBudgets()}),
      ElementsAre("NoKubeSystemPods"));
  EXPECT_EQ(Message(),
            "all pods are of namespace shop and none of kube-system; the dump seems to be made "
            "without -A");
}

TEST_F(CompletenessTest, OpenShiftAndKubeSystemPodsGiveOneWarningOnly) {
  EXPECT_THAT(LoadItems({Node("a"), Pod("openshift-dns", "dns", "a"), Pod("kube-system", "x", "a"),
                         NoBudgets()}),
              ElementsAre("NamespacesNotListed"));
  EXPECT_EQ(Message(),
            "all pods and namespaces are OpenShift's own, as in a must-gather; it seems to lack "
            "those of the cluster's users");
}

TEST_F(CompletenessTest, FewerThanAThirdOfSeveralNamespacesMayBeEmpty) {
  std::vector<Json> items = Whole();
  for (const char* name : {"zoo", "idle", "next", "spare"}) {
    items.push_back(Object("v1", "Namespace", name));
  }
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesWithoutObjects"));
  EXPECT_EQ(Message(),
            "4 of 5 namespaces hold no pod, controller, claim or budget; the dump seems to be of "
            "some namespaces only: idle, next, spare and 1 more");
  // An object of a namespace that comes after kube-system's; kube-system had an object before.
  items.push_back(Object("v1", "PersistentVolumeClaim", "data", "zoo"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesWithoutObjects"));
  EXPECT_THAT(Message(), HasSubstr("3 of 5 namespaces hold no pod"));
  items.push_back(Pod("spare", "web", "b"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NamespacesWithoutObjects"));
  EXPECT_THAT(Message(), ::testing::EndsWith(": idle, next"));
  EXPECT_EQ(cluster_->warnings[0].lack, Lack::kNothing);
  // Two of seven are empty.
  for (const char* name : {"x", "y"}) {
    items.push_back(Object("v1", "Namespace", name));
    items.push_back(Pod(name, "web", "b"));
  }
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, AnEmptyListOfAnotherKindDoesNotProveThatBudgetsAreAbsent) {
  std::vector<Json> items = Whole();
  items.back() = {{"apiVersion", "apps/v1"}, {"kind", "ReplicaSetList"}, {"items", Json::array()}};
  EXPECT_THAT(LoadItems(items), ElementsAre("NoPodDisruptionBudgets"));
  EXPECT_EQ(Message(),
            "the input has no PodDisruptionBudget, so the plan may move pods that one protects");
}

TEST_F(CompletenessTest, PodsOfOtherUidsAreFoundAfterPodsOfTheRightUid) {
  std::vector<Json> items = Whole();
  items.push_back(Object("apps/v1", "ReplicaSet", "web", "shop"));
  items.back()["metadata"]["uid"] = "here";
  const auto add = [&items](const char* pod, const char* owner, const char* uid) {
    items.push_back(Owned(Pod("shop", pod, "a"), "apps/v1", "ReplicaSet", owner));
    items.back()["metadata"]["ownerReferences"][0]["uid"] = uid;
  };
  add("gone", "gone", "x");  // Its controller is not in the input.
  add("web-0", "web", "here");
  add("web-1", "web", "here");
  add("web-2", "web", "there");
  add("web-3", "web", "there");
  EXPECT_THAT(LoadItems(items), ElementsAre("ControllersOfOtherUids"));
  EXPECT_EQ(Message(),
            "2 pods name controllers by other UIDs than those of the input (shop/web-2): dumps of "
            "two clusters, or of two moments, seem to be mixed");
}

TEST_F(CompletenessTest, PodsThatLeaveOneControllerDoNotMakeUpForThoseBeyondAnother) {
  std::vector<Json> items = Whole();
  for (const auto& [name, replicas] : {std::pair{"x", 3}, std::pair{"y", 1}}) {
    items.push_back(Object("apps/v1", "ReplicaSet", name, "shop"));
    items.back()["status"]["replicas"] = replicas;
  }
  AddPods(items, Owned(Pod("shop", "x", "a"), "apps/v1", "ReplicaSet", "x"), 6);
  for (size_t i = items.size() - 5; i < items.size(); ++i) {
    items[i]["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  }
  AddPods(items, Owned(Pod("shop", "y", "b"), "apps/v1", "ReplicaSet", "y"), 4);
  EXPECT_THAT(LoadItems(items), ElementsAre("TooManyPods"));
  EXPECT_EQ(Message(),
            "3 pods are there beyond the 6 pods that controllers count: ReplicaSet shop/y has 4 of "
            "1; dumps of two moments seem to be mixed, with pods that were replaced");
}

TEST_F(CompletenessTest, AControllerIsCheckedAfterAYoungJobAndAnEmptyDaemonSet) {
  std::vector<Json> items = Whole();
  Json job = Object("batch/v1", "Job", "hourly", "shop");
  job["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z";
  job["status"]["active"] = 50;
  Json agent = Object("apps/v1", "DaemonSet", "agent", "monitoring");
  agent["status"]["numberReady"] = 2;
  Json web = Object("apps/v1", "ReplicaSet", "web", "shop");
  web["status"]["replicas"] = 6;
  items.insert(items.end(), {job, agent, web});
  EXPECT_THAT(LoadItems(items), ElementsAre("DaemonSetsWithoutPods", "PodsMissing"));
  EXPECT_EQ(Message(),
            "1 DaemonSet says that pods of it are ready, and none is there: monitoring/agent");
  EXPECT_EQ(cluster_->warnings.at(1).message,
            "6 pods are missing of 8 pods that controllers count: ReplicaSet shop/web has 0 of 6");
}

TEST_F(CompletenessTest, ANodeAfterAVirtualOneIsCheckedUnlessItsAgeIsUnknown) {
  std::vector<Json> items = Whole();
  items.push_back(Node("c"));
  items.back()["metadata"]["labels"]["type"] = "virtual-kubelet";
  items.push_back(Node("d"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NodesWithoutPods"));
  EXPECT_EQ(Message(), "1 node is Ready for long and without any pod, even a DaemonSet's: d");
  items.back()["metadata"].erase("creationTimestamp");
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, AnExpendablePodCountsForTheOneOfItsOwnersThatControlsIt) {
  std::vector<Json> items = Whole();
  items.push_back(Object("apps/v1", "ReplicaSet", "filler", "shop"));
  items.back()["status"]["replicas"] = 5;
  Json pod = Owned(Pod("shop", "f", "a"), "apps/v1", "ReplicaSet", "filler");
  pod["spec"]["priority"] = -100;
  const Json owner = pod["metadata"]["ownerReferences"][0];
  const Json other = {{"apiVersion", "example.com/v1"}, {"kind", "Group"}, {"name", "g"}};
  pod["metadata"]["ownerReferences"] = Json::array({other, owner});
  AddPods(items, pod, 5);
  // One with an unknown kind of controller, and one without a controller.
  items.push_back(Owned(Pod("shop", "own", "a"), "example.com/v1", "ReplicaSet", "filler"));
  items.back()["spec"]["priority"] = -100;
  items.push_back(Pod("shop", "alone", "a"));
  items.back()["spec"]["priority"] = -100;
  EXPECT_THAT(LoadItems(items), IsEmpty());
  EXPECT_EQ(cluster_->counts.expendable, 7u);
}

TEST_F(CompletenessTest, TheCutoffOfTheLoadDecidesWhichPodsAreExpendable) {
  std::vector<Json> items = Whole();
  items.push_back(Object("apps/v1", "ReplicaSet", "filler", "shop"));
  items.back()["status"]["replicas"] = 5;
  Json pod = Owned(Pod("shop", "f", "a"), "apps/v1", "ReplicaSet", "filler");
  pod["spec"]["priority"] = 5;
  AddPods(items, pod, 5);
  EXPECT_THAT(LoadItems(items, {.expendable_pods_priority_cutoff = 6, .allow_incomplete = true}),
              IsEmpty());
  EXPECT_EQ(cluster_->counts.expendable, 5u);
}

TEST_F(CompletenessTest, AnExpendablePodMayLackContainersAndNotItsClaims) {
  std::vector<Json> items = Whole();
  items.push_back(Pod("shop", "filler", "a"));
  items.back()["spec"].erase("containers");
  items.back()["spec"]["priority"] = -100;
  EXPECT_THAT(LoadItems(items), IsEmpty());
  items.back() = Mounting("x");
  items.back()["spec"]["priority"] = -100;
  EXPECT_THAT(LoadItems(items), ElementsAre("NoPersistentVolumeClaims"));
}

TEST_F(CompletenessTest, TheFirstPodWithoutContainersIsNamed) {
  std::vector<Json> items = Whole();
  items[4]["spec"].erase("containers");
  items.push_back(Pod("shop", "second", "b"));
  items.back()["spec"].erase("containers");
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsWithoutContainers"));
  EXPECT_EQ(Message(), "2 pods have no containers, which counts as asking for nothing: shop/web");
}

TEST_F(CompletenessTest, APodWithANamespaceSelectorInAnyTermCountsOnce) {
  const auto term = [](const Json& namespaces) {
    Json json = {{"topologyKey", "kubernetes.io/hostname"},
                 {"labelSelector", {{"matchLabels", {{"app", "noisy"}}}}}};
    if (!namespaces.is_null()) json["namespaceSelector"] = namespaces;
    return json;
  };
  const auto pod = [](const char* name, const char* affinity, const Json& terms) {
    Json json = Pod("shop", name, "a");
    json["spec"]["affinity"][affinity]["requiredDuringSchedulingIgnoredDuringExecution"] = terms;
    return json;
  };
  const Json team = {{"matchLabels", {{"team", "x"}}}};
  const Json app = {{"matchLabels", {{"app", "x"}}}};
  const Json has_app = {
      {"matchExpressions", Json::array({Json{{"key", "app"}, {"operator", "Exists"}}})}};
  std::vector<Json> items = Whole();
  items.push_back(
      pod("first", "podAffinity", Json::array({term(nullptr), term(team), term(team)})));
  items.push_back(pod("second", "podAntiAffinity", Json::array({term(app)})));
  items.push_back(pod("third", "podAffinity", Json::array({term(has_app)})));
  items.push_back(Pod("zeta", "z", "b"));
  items.push_back(Pod("other", "o", "b"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NoNamespaces"));
  EXPECT_EQ(Message(),
            "3 pods select namespaces by labels (shop/first), and 2 namespaces of pods are not "
            "there, whose pods keep their nodes where it matters: other, zeta");
}

// --- Objects that are read twice

TEST_F(CompletenessTest, AVersionThatIsNotANumberIsNotCompared) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("shop", "twice", "a"), "u", "abc"));
  Put("mg/all.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
  Put("mg/z.yaml", Stamped(Pod("shop", "twice", "b"), "u", "10").dump());
  EXPECT_THAT(Load((folder_ / "mg").string()),
              ElementsAre(HasSubstr("comes twice with different content, of resourceVersion abc "
                                    "and 10: dumps of two moments are mixed; pass one dump")));
}

TEST_F(CompletenessTest, TwoVersionsInFilesOfTheirOwnAreRefused) {
  Put("mg/all.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", Whole()}}.dump());
  Put("mg/y.yaml", Stamped(Pod("shop", "twice", "a"), "u", "9").dump());
  Put("mg/z.yaml", Stamped(Pod("shop", "twice", "b"), "u", "10").dump());
  EXPECT_THAT(Load((folder_ / "mg").string()),
              ElementsAre(HasSubstr("comes twice with different content, of resourceVersion 9 and "
                                    "10: dumps of two moments are mixed")));
}

TEST_F(CompletenessTest, AnotherVersionWithTheSameContentInAListAndAloneIsOfOneDump) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("shop", "twice", "b"), "u", "7"));
  Put("mg/all.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
  Put("mg/z.yaml", Stamped(Pod("shop", "twice", "b"), "u", "8").dump());
  EXPECT_THAT(Load((folder_ / "mg").string()), IsEmpty());
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 4u);
}

TEST_F(CompletenessTest, TheNewerOfTwoVersionsInAFileCounts) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("shop", "twice", "a"), "u", "9"));
  const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
  const Json alone = Stamped(Pod("shop", "twice", "b"), "u", "10");
  EXPECT_THAT(Load(Put("one.json", list.dump() + "\n" + alone.dump())),
              ElementsAre("ObjectsInTwoVersions"));
  ASSERT_TRUE(cluster_.ok());
  const ClusterSnapshot& snapshot = cluster_->snapshot;
  const PodId pod = *snapshot.catalog().FindPod("shop", "twice");
  EXPECT_EQ(snapshot.catalog().NodeName(snapshot.NodeOf(pod)), "b");
}

TEST_F(CompletenessTest, ARereadObjectCountsOnceAndTheFirstOfTwoVersionsIsNamed) {
  std::vector<Json> items = Whole();  // Eight objects.
  for (const char* name : {"one", "two"}) {
    items.push_back(Stamped(Pod("shop", name, "a"), "u", "9"));
    Put(std::string("mg/z-") + name + ".yaml", Stamped(Pod("shop", name, "b"), "u", "10").dump());
  }
  Put("mg/all.json", Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
  EXPECT_THAT(Load((folder_ / "mg").string()), ElementsAre("ObjectsInTwoVersions"));
  ASSERT_TRUE(cluster_.ok());
  EXPECT_EQ(Message(), "2 objects came in two versions; the newer one counts: Pod shop/one");
  EXPECT_EQ(cluster_->counts.input.objects, 12u);
  EXPECT_EQ(cluster_->counts.input.files, 3u);
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 5u);
}

TEST_F(CompletenessTest, ASecondReadingIsTheLastAndAThirdStartsAgain) {
  const auto text = [](const char* in_list, const char* alone) {
    const Json first = Stamped(Pod("shop", "twice", "a"), "u", in_list);
    const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json::array({first})}};
    if (alone == nullptr) return list.dump();
    return list.dump() + "\n" + Stamped(Pod("shop", "twice", "b"), "u", alone).dump();
  };
  InputCensus census;
  const auto read = [&census](const std::string& bytes) {
    ClusterLoader loader;
    ImportStats stats;
    return std::string(census.Read("dump", bytes, loader, stats).message());
  };
  EXPECT_EQ(read(text("9", "10")), "");
  EXPECT_TRUE(census.MustReadAgain());
  EXPECT_EQ(census.repeated(), 0u);
  EXPECT_EQ(read(text("9", "10")), "");
  EXPECT_FALSE(census.MustReadAgain());
  EXPECT_EQ(census.repeated(), 1u);
  // Newer versions in an earlier input are not remembered.
  EXPECT_EQ(read(text("9", nullptr)), "");
  EXPECT_EQ(census.repeated(), 0u);
  // The bytes differ at the second reading.
  EXPECT_EQ(read(text("9", "10")), "");
  EXPECT_TRUE(census.MustReadAgain());
  EXPECT_THAT(read(text("10", "11")),
              ::testing::EndsWith("Pod shop/twice: comes twice with different content, of "
                                  "resourceVersion 10 and 11: dumps of two moments are mixed; pass "
                                  "one dump"));
  EXPECT_FALSE(census.MustReadAgain());
}

TEST_F(CompletenessTest, AMissingUidIsNotAnotherUid) {
  const Json with = Stamped(Pod("shop", "twice", "b"), "u", "7");
  const Json without = Stamped(Pod("shop", "twice", "b"), "", "7");
  for (const bool first : {false, true}) {
    std::vector<Json> items = Whole();
    items.insert(items.end(), {first ? with : without, first ? without : with});
    EXPECT_THAT(LoadItems(items),
                ElementsAre(HasSubstr("Pod shop/twice: comes twice with the same resourceVersion, "
                                      "7, and different content, so that one of the two was "
                                      "changed by hand; pass the dump as it was made")));
  }
}

// Without the error the sink would use the last of the two.
TEST_F(CompletenessTest, ANamespaceOrAControllerThatComesTwiceWithoutAVersionIsRefused) {
  for (const auto& [object, name] :
       {std::pair{Object("v1", "Namespace", "extra"), "Namespace extra"},
        std::pair{Object("apps/v1", "ReplicaSet", "web", "shop"), "ReplicaSet shop/web"}}) {
    for (const auto& [first, second] :
         {std::pair{"", ""}, std::pair{"7", ""}, std::pair{"", "7"}, std::pair{"7", "7"}}) {
      std::vector<Json> items = Whole();
      items.push_back(Stamped(object, "u", first));
      items.push_back(Stamped(object, "u", second));
      if (std::string_view(first) == "7" && std::string_view(second) == "7") {
        EXPECT_THAT(LoadItems(items), IsEmpty()) << name;
      } else {
        EXPECT_THAT(LoadItems(items), ElementsAre(HasSubstr(std::string(name) + ": occurs twice")));
      }
    }
  }
}

TEST_F(CompletenessTest, ObjectsAreDistinguishedByWhereTheNamespaceEnds) {
  std::vector<Json> items = Whole();
  items.push_back(Stamped(Pod("a", "bc", "a"), "u1", "7"));
  items.push_back(Stamped(Pod("ab", "c", "a"), "u2", "7"));
  EXPECT_THAT(LoadItems(items), IsEmpty());
  EXPECT_EQ(cluster_->snapshot.placed_pods(), 5u);
  items = Whole();
  items.push_back(Volume("1", "x"));  // Bound to shop/x.
  items.push_back(Object("v1", "PersistentVolumeClaim", "px", "sho"));
  EXPECT_THAT(LoadItems(items), ElementsAre("ClaimsOfVolumesMissing"));
  EXPECT_EQ(Message(),
            "1 volume is bound to claims that are not there (1 to shop/x); the dump seems to lack "
            "namespaces, or claims");
}

// --- Storage

TEST_F(CompletenessTest, OnlyAVolumeThatIsBoundAndSaysToWhatMissesItsClaim) {
  std::vector<Json> items = Whole();
  items.push_back(Volume("1", "x"));
  items.back()["spec"].erase("claimRef");
  items.push_back(Volume("2", "y"));
  items.back()["status"]["phase"] = "Available";  // Reserved for the claim, but not bound.
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, VolumesOfASourceBeforeCsiInTheAlphabetNeedNoCSINode) {
  std::vector<Json> items = Whole();
  items.insert(items.end(), {Mounting("x"), Claim("x", "1"), Volume("1", "x")});
  items.back()["spec"].erase("csi");
  items.back()["spec"]["awsElasticBlockStore"]["volumeID"] = "v";
  EXPECT_THAT(LoadItems(items), IsEmpty());
}

TEST_F(CompletenessTest, ClaimsAndVolumesThatAreMissedAreCountedAndTheFirstIsNamed) {
  std::vector<Json> items = Whole();
  items.insert(items.end(), {Mounting("x"), Claim("x", "1"), Claim("y", "2")});
  EXPECT_THAT(LoadItems(items), ElementsAre("NoPersistentVolumes"));
  EXPECT_EQ(Message(),
            "2 claims are bound, and no PersistentVolume is there, so that nothing is known of "
            "where pods that mount them can go");
  items.insert(items.end(), {Volume("1", "x"), Volume("2", "y")});
  EXPECT_THAT(LoadItems(items), ElementsAre("NoCSINodes"));
  EXPECT_EQ(Message(),
            "2 volumes are of CSI drivers, and no CSINode says how many of them a node can take");
  items = Whole();
  for (const char* name : {"w", "v"}) {
    items.push_back(Claim(name, ""));
    items.back()["spec"]["storageClassName"] = "fast";
  }
  EXPECT_THAT(LoadItems(items), ElementsAre("NoStorageClasses"));
  EXPECT_EQ(Message(),
            "2 claims wait for a volume of a StorageClass (shop/w), and no StorageClass is there, "
            "so that no room is found for pods that mount them");
}

TEST_F(CompletenessTest, AnObjectOfAnyKindWithoutAUidGivesAWarning) {
  std::vector<Json> known = Whole();
  for (size_t i = 0; i + 1 < known.size(); ++i) {
    known[i]["metadata"]["uid"] = "uid-" + std::to_string(i);
  }
  Json node = Node("c");
  node["metadata"]["labels"]["type"] = "virtual-kubelet";  // Such a node needs no pods.
  for (const auto& [object, name] :
       {std::pair{node, "Node c"}, std::pair{Pod("shop", "p", "a"), "Pod shop/p"},
        std::pair{Object("v1", "PersistentVolume", "disk"), "PersistentVolume disk"},
        std::pair{Object("apps/v1", "ReplicaSet", "web", "shop"), "ReplicaSet shop/web"},
        std::pair{Object("policy/v1", "PodDisruptionBudget", "web", "shop"),
                  "PodDisruptionBudget shop/web"},
        std::pair{Object("v1", "Namespace", "kube-x"), "Namespace kube-x"}}) {
    std::vector<Json> items = known;
    items.push_back(object);
    EXPECT_THAT(LoadItems(items), ElementsAre("ObjectsWithoutUid")) << name;
    EXPECT_EQ(Message(), "1 object has no metadata.uid, which every object of a cluster has: " +
                             std::string(name) +
                             "; files of manifests are taken for the cluster's state, leave them "
                             "out");
  }
}

// --- Owners

TEST_F(CompletenessTest, DaemonSetPodsThatTwoBudgetsSelectGiveNoWarning) {
  std::vector<Json> items = Whole();
  items.push_back(Object("apps/v1", "ReplicaSet", "web", "shop"));
  items.push_back(Owned(Pod("shop", "web-0", "a"), "apps/v1", "ReplicaSet", "web"));
  items.back()["metadata"]["labels"]["app"] = "web";
  items.push_back(Owned(Pod("shop", "clone", "b"), "example.com/v1", "CloneSet", "c"));
  items.back()["metadata"]["labels"]["app"] = "web";
  for (const char* name : {"one", "two"}) {
    items.push_back(Object("policy/v1", "PodDisruptionBudget", name, "shop"));
    items.back()["spec"]["selector"]["matchLabels"]["app"] = "web";
  }
  EXPECT_THAT(LoadItems(items), ElementsAre("PodsWithSeveralBudgets", "CustomControllers"));
  EXPECT_EQ(Message(),
            "2 pods are selected by more than one PodDisruptionBudget, and the eviction API "
            "refuses to evict such a pod, which the autoscaler's rules do not know: shop/clone, "
            "shop/web-0");
  EXPECT_EQ(Command(), "kubectl get pdb -A");
}

TEST_F(CompletenessTest, AKindWithAnyControllerPresentIsNotMissing) {
  const auto detail = [this](const char* name) {
    const Catalog& catalog = cluster_->snapshot.catalog();
    return MissingControllerDetail(catalog, *catalog.FindPod("shop", name));
  };
  std::vector<Json> items = Whole();
  items.push_back(Owned(Pod("shop", "gone-0", "a"), "apps/v1", "StatefulSet", "gone"));
  items.push_back(Owned(Pod("shop", "db-0", "a"), "apps/v1", "StatefulSet", "db"));
  items.push_back(Object("apps/v1", "StatefulSet", "db", "shop"));
  items.push_back(Owned(Pod("shop", "own", "a"), "example.com/v1", "ReplicaSet", "own"));
  EXPECT_THAT(LoadItems(items), ElementsAre("CustomControllers"));
  EXPECT_EQ(detail("gone-0"), "") << "it was deleted";
  EXPECT_EQ(detail("own"), "") << "an unknown kind";
  // A Job with the same name as another pod's ReplicaSet is not that pod's controller.
  items = Whole();
  items.push_back(Object("apps/v1", "ReplicaSet", "web", "shop"));
  items.push_back(Object("batch/v1", "Job", "web", "shop"));
  items.push_back(Owned(Pod("shop", "web-0", "a"), "apps/v1", "ReplicaSet", "web"));
  items.push_back(Owned(Pod("shop", "run-0", "a"), "batch/v1", "Job", "run"));
  EXPECT_THAT(LoadItems(items), ElementsAre("NoControllers"));
  EXPECT_EQ(detail("run-0"), "the input has no Job of any pod and may lack the kind");
  EXPECT_EQ(detail("web-0"), "");
}

// --- Several inputs

TEST_F(CompletenessTest, AnErrorOfOneInputIsNotLostInTheNext) {
  const Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Whole()}};
  cluster_ = LoadCluster(
      std::vector<std::string>{Put("bad.json", "{"), Put("good.json", list.dump())}, {});
  ASSERT_FALSE(cluster_.ok());
  EXPECT_THAT(std::string(cluster_.status().message()),
              HasSubstr("bad.json: byte 1, line 1, column 2: is truncated"));
}

TEST_F(CompletenessTest, AnErrorOfSeveralInputsNamesNoneOfThem) {
  cluster_ = LoadCluster(
      std::vector<std::string>{Put("a.json", Node("a").dump()), Put("b.json", Node("b").dump())},
      {});
  ASSERT_FALSE(cluster_.ok());
  EXPECT_EQ(cluster_.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cluster_.status().message()),
              ::testing::StartsWith("the input has 2 nodes and not a single pod"));
}

// --- What is handed on, and Look()

// Records all calls, in order.
class Recorder : public AnyObjectSink {
 public:
  void OnAside(const Aside& aside) override {
    log.append("[").append(aside.resource_version).append(" ");
    log.append(std::to_string(aside.pods_ready)).append("]");
  }
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    log.append("list ").append(kind).append(" ").append(std::to_string(items)).append(";");
    return absl::OkStatus();
  }
  absl::Status OnIgnored(std::string_view kind) override {
    log.append("ignored ").append(kind).append(";");
    return absl::OkStatus();
  }
  std::string log;

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    log.append(objects::KindOf(object)).append(" ").append(objects::MetaOf(object).name);
    log.append(";");
    return absl::OkStatus();
  }
};

TEST_F(CompletenessTest, EverythingReadIsPassedOnWithItsAside) {
  InputCensus census;
  Recorder to;
  ImportStats stats;
  const absl::Status read = census.Read("dump", R"({"apiVersion":"v1","kind":"List","items":[
      {"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},
      {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","resourceVersion":"7"},
       "status":{"readyReplicas":3}},
      {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}},
      {"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}},
      {"apiVersion":"v1","kind":"PodList","items":[]}]})",
                                        to, stats);
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_EQ(to.log,
            "[ 0]Node a;[7 3]ReplicaSet web;[ 0]Namespace shop;ignored Secret;list Pod 0;list  5;");
}

// Codes and messages of the warnings for the objects that `give` passes to the census.
template <typename Give>
std::vector<std::pair<std::string, std::string>> Looked(InputCensus& census, Give give) {
  ClusterLoader loader;
  const absl::Status looked = census.Look(give, loader);
  EXPECT_TRUE(looked.ok()) << looked;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  std::vector<InputWarning> warnings;
  census.FindLacks(InputUse::kFilter, cluster->snapshot, 0, warnings);
  std::vector<std::pair<std::string, std::string>> found;
  for (const InputWarning& warning : warnings) found.emplace_back(warning.code, warning.message);
  return found;
}

objects::Pod BarePod(std::string_view namespace_name, std::string_view name) {
  objects::Pod pod;
  pod.meta.name = name;
  pod.meta.namespace_name = namespace_name;
  pod.node_name = "a";
  pod.containers.resize(1);
  return pod;
}

TEST_F(CompletenessTest, APodWithACountCountsAsManyAndTheNextOneOnce) {
  InputCensus census;
  const auto found = Looked(census, [&census](ObjectSink& sink) {
    objects::Node node;
    node.meta.name = "a";
    node.meta.uid = "u1";
    if (absl::Status s = sink.OnNode(node); !s.ok()) return s;
    objects::Namespace ns;
    ns.meta.name = "kube-system";
    ns.meta.uid = "u2";
    if (absl::Status s = sink.OnNamespace(ns); !s.ok()) return s;
    objects::Pod dns = BarePod("kube-system", "dns");
    dns.meta.uid = "u3";
    if (absl::Status s = sink.OnPod(dns); !s.ok()) return s;
    objects::Pod pod = BarePod("shop", "p-0");
    pod.meta.uid = "u4";
    pod.containers.clear();
    objects::Volume& volume = pod.volumes.emplace_back();
    volume.name = "data";
    volume.source = "persistentVolumeClaim";
    volume.claim_name = "c";
    objects::PodAffinityTerm& term = pod.affinity.emplace_back();
    term.topology_key = "kubernetes.io/hostname";
    term.namespace_selector.nil = false;
    term.namespace_selector.match_labels.push_back({"team", "x"});
    if (absl::Status s = census.OnPodsLike(pod, 3); !s.ok()) return s;
    pod.meta.name = "q";
    pod.meta.uid = "";
    return sink.OnPod(pod);
  });
  EXPECT_THAT(
      found,
      ElementsAre(Pair("PodsWithoutContainers",
                       "4 pods have no containers, which counts as asking for nothing: shop/p-0"),
                  Pair("NoNamespaces",
                       "4 pods select namespaces by labels (shop/p-0), and 1 namespace of pods is "
                       "not there, whose pods keep their nodes where it matters: shop"),
                  Pair("NoPersistentVolumeClaims",
                       "4 pods mount claims (shop/p-0), and no PersistentVolumeClaim is there, so "
                       "that nothing is known of where they can go"),
                  Pair("ObjectsWithoutUid",
                       "1 object has no metadata.uid, which every object of a cluster has: Pod "
                       "shop/q; files of manifests are taken for the cluster's state, leave them "
                       "out")));
}

TEST_F(CompletenessTest, EachLookStartsAgain) {
  InputCensus census;
  objects::Node node;
  node.meta.name = "a";
  objects::Namespace ns;
  ns.meta.name = "kube-system";
  const auto whole = [&](ObjectSink& sink) {
    if (absl::Status s = sink.OnNode(node); !s.ok()) return s;
    if (absl::Status s = sink.OnNamespace(ns); !s.ok()) return s;
    return sink.OnPod(BarePod("kube-system", "dns"));
  };
  EXPECT_THAT(Looked(census, whole), IsEmpty());
  EXPECT_THAT(Looked(census, whole), IsEmpty());
  const auto nodes = Looked(census, [&](ObjectSink& sink) { return sink.OnNode(node); });
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_THAT(nodes[0].second,
              ::testing::StartsWith("the input has 1 node and not a single pod, so that it cannot "
                                    "be a whole cluster"));
  EXPECT_THAT(Looked(census, [](ObjectSink&) { return absl::OkStatus(); }),
              ElementsAre(Pair("NoKubeSystemPods",
                               "there is no pod of kube-system; the dump seems to lack "
                               "namespaces")))
      << "nothing at all is no contradiction";
}

TEST_F(CompletenessTest, AnObjectWithoutATimeCountsAsOld) {
  InputCensus census;
  const auto found = Looked(census, [](ObjectSink& sink) {
    objects::Node node;
    node.meta.name = "a";
    if (absl::Status s = sink.OnNode(node); !s.ok()) return s;
    if (absl::Status s = sink.OnPod(BarePod("kube-system", "dns")); !s.ok()) return s;
    for (const char* name : {"kube-system", "shop"}) {
      objects::Namespace ns;
      ns.meta.name = name;
      if (absl::Status s = sink.OnNamespace(ns); !s.ok()) return s;
    }
    objects::Controller job;
    job.kind = objects::ControllerKind::kJob;
    job.meta.name = "hourly";
    job.meta.namespace_name = "kube-system";
    job.status_replicas = 50;
    return sink.OnController(job);
  });
  EXPECT_THAT(
      found,
      ElementsAre(Pair("NamespacesWithoutObjects",
                       "1 of 1 namespace holds no pod, controller, claim or budget; the dump "
                       "seems to be of some namespaces only: shop"),
                  Pair("PodsMissing",
                       "50 pods are missing of 50 pods that controllers count: Job "
                       "kube-system/hourly has 0 of 50")));
}

// --- Namespaces with --assume-complete

TEST_F(CompletenessTest, IfTheInputIsCompleteMissingNamespacesHaveTheirNameLabelOnly) {
  Json alone = Pod("shop", "alone", "a");
  const auto repels = [&alone](const Json& namespaces) {
    alone["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({Json{{"topologyKey", "kubernetes.io/hostname"},
                          {"labelSelector", {{"matchLabels", {{"app", "noisy"}}}}},
                          {"namespaceSelector", namespaces}}});
  };
  std::vector<Json> items = {Node("a"), Node("b")};
  const auto add = [&items](const std::string& namespace_name) {
    items.push_back(Pod(namespace_name, "noisy", "b"));
    items.back()["metadata"]["labels"]["app"] = "noisy";
  };
  const std::vector<std::string> unknown = {"n0", "n1", "n2", "n3"};
  const std::vector<std::string> listed = {"k0", "k1", "k2", "k3"};
  for (const std::string& name : unknown) add(name);
  for (const std::string& name : listed) {
    add(name);
    items.push_back(Object("v1", "Namespace", name));
    items.back()["metadata"]["labels"]["team"] = "x";
  }
  const auto repelled = [&](const Json& namespaces) {
    repels(namespaces);
    std::vector<Json> all = items;
    all.push_back(alone);
    EXPECT_THAT(LoadItems(all, {.assume_complete = true}), IsEmpty());
    std::vector<std::string> names;
    const Catalog& catalog = cluster_->snapshot.catalog();
    for (const auto* list : {&unknown, &listed}) {
      for (const std::string& name : *list) {
        const PodShape& shape = catalog.shape_of(*catalog.FindPod(name, "noisy"));
        if (!shape.repelled_by.empty()) names.push_back(name);
      }
    }
    return names;
  };
  EXPECT_EQ(repelled(Json{{"matchLabels", {{"team", "x"}}}}), listed);
  EXPECT_EQ(
      repelled(Json{{"matchExpressions", Json::array({Json{{"key", "kubernetes.io/metadata.name"},
                                                           {"operator", "In"},
                                                           {"values", unknown}}})}}),
      unknown);
}

}  // namespace
}  // namespace ebb::completeness_test
