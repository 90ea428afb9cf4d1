#include "cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/version.h"
#include "cli/command_line.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/help_text.h"
#include "tests/support/source_dir.h"

namespace ebb::cli_test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

struct Result {
  int exit_code;
  std::string out;
  std::string err;
};

Result Ebb(std::vector<std::string> args, const std::string& in = "") {
  args.insert(args.begin(), "ebb");
  std::vector<const char*> argv;
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  std::istringstream input(in);
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunCli(static_cast<int>(argv.size()), argv.data(), input, out, err);
  return {code, out.str(), err.str()};
}

// One node with 4 CPU and 8 GiB; one pod of a ReplicaSet.
std::string Node(const std::string& name, const std::string& labels) {
  return R"({"kind":"Node","apiVersion":"v1","metadata":{"name":")" + name + R"(","labels":{)" +
         labels + R"(}},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"},)" +
         R"("conditions":[{"type":"Ready","status":"True"}]}})";
}
std::string Pod(const std::string& name, const std::string& node, const std::string& cpu,
                const std::string& more = "", const std::string& phase = "Running") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"default","name":")" + name +
         R"(","labels":{"app":")" + name.substr(0, name.find('-')) + R"("},"ownerReferences":)" +
         R"([{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"1","controller":true}]},)" +
         R"("spec":{"nodeName":")" + node + R"(",)" + more +
         R"("containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
         R"(","memory":"1Gi"}}}]},"status":{"phase":")" + phase + R"("}})";
}

std::string List(const std::vector<std::string>& objects) {
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (size_t i = 0; i < objects.size(); ++i) text += (i > 0 ? ",\n" : "") + objects[i];
  return text + "]}";
}

const char kReplicaSet[] =
    R"({"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"rs","namespace":"default","uid":"1"},"spec":{"replicas":9},"status":{"replicas":5}})";

// A cluster in which every kind of line of a plan occurs.
std::string SmallCluster() {
  return List({Node("cp", R"("node-role.kubernetes.io/control-plane":"")"),
               Node("guarded", R"("nodegroup":"web")"), Node("idle", R"("nodegroup":"web")"),
               Node("light", R"("nodegroup":"web")"), Node("busy", R"("nodegroup":"web")"),
               Node("ssd", R"("nodegroup":"disk","disk":"ssd")"), kReplicaSet,
               R"({"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":)"
               R"({"name":"db","namespace":"default"},"spec":{"selector":{"matchLabels":)"
               R"({"app":"db"}}},"status":{"disruptionsAllowed":0}})",
               Pod("db-0", "guarded", "1"), Pod("web-0", "light", "1"),
               Pod("web-1", "busy", "2500m"),
               Pod("disk-0", "ssd", "500m", R"("nodeSelector":{"disk":"ssd"},)"),
               Pod("old-0", "busy", "1", "", "Succeeded"), Pod("lost-0", "nowhere", "1")});
}

class CliTest : public ::testing::Test {
 protected:
  CliTest() {
    dir_ = std::filesystem::temp_directory_path() /
           ("ebb-cli-" + std::to_string(getpid()) + "-" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(dir_);
  }
  ~CliTest() override { std::filesystem::remove_all(dir_); }

  std::string File(const std::string& name, const std::string& text) {
    const std::filesystem::path path = dir_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  Result Plan(std::vector<std::string> flags, const std::string& cluster = SmallCluster()) {
    std::vector<std::string> args = {"plan", File("cluster.json", cluster), "--now",
                                     "2026-02-01T00:00:00Z"};
    args.insert(args.end(), flags.begin(), flags.end());
    return Ebb(args);
  }

  std::filesystem::path dir_;
};

std::string WithoutTimes(const std::string& text) {
  return std::regex_replace(text, std::regex("in (under )?[0-9.]+ m?s"), "in N ms");
}

TEST_F(CliTest, PlanPrintsASummaryTheNodesThatGoAndWhyOthersStay) {
  const Result result = Plan({});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(WithoutTimes(result.out),
            R"(Plan: 2 of 6 nodes can go (33.3%), 1 of 4 pods move
Planned in N ms, verified in N ms

#  NODE   GROUP  UTILIZATION  PODS  DESTINATIONS
1  idle   web    0.0% memory     0
2  light  web    25.0% cpu       1  guarded

Freed: 8 cores and 16.0 GiB of memory
Whole cluster: 6 nodes; requested: cpu 20.8%, memory 8.3%
After the plan: 4 nodes; requested: cpu 31.2%, memory 12.5%
Check first:
  1 group that shrinks has no known minimum, and 0 is assumed: web

GROUP  GO  OF  CPU    MEMORY
web     2   4  8.0  16.0 GiB

Kept: 4 nodes
  BlockedByPod       1
    NotEnoughPdb     1
  NoPlaceToMovePods  1  some pod fits on no other node
  NotAutoscaled      1  control plane
  NotUnderutilized   1  more is requested than the threshold, 50.0%

In the way of most nodes:
  PodDisruptionBudget  default/db  1  NotEnoughPdb
  ReplicaSet           default/rs  1  NoPlaceToMovePods
)");
  EXPECT_EQ(
      result.err,
      "ebb: left out 1 pod that has ended\n"
      "ebb: warning: left out 1 pod on nodes that are not in the input: default/lost-0 on "
      "nowhere; try `kubectl get nodes -o json`\n"
      "ebb: warning: all pods are of namespace default and none of kube-system; the dump seems "
      "to be made without -A; try `kubectl get "
      "nodes,pods,pdb,rs,sts,ds,jobs,rc,ns,pv,pvc,sc,csinodes,csidrivers,volumeattachments,"
      "csistoragecapacities,svc -A -o json`\n");
}

TEST_F(CliTest, WideAddsColumnsAndEveryKeptNode) {
  EXPECT_EQ(WithoutTimes(Plan({"-o", "wide"}).out),
            R"(Plan: 2 of 6 nodes can go (33.3%), 1 of 4 pods move
Planned in N ms, verified in N ms

#  NODE   GROUP  TYPE  ZONE  CAPACITY  UTILIZATION  CPU   CPU%   MEMORY  MEMORY%  PODS  RISKY  DESTINATIONS
1  idle   web    -     -     -         0.0% memory  4.0   0.0%  8.0 GiB     0.0%     0  no
2  light  web    -     -     -         25.0% cpu    4.0  25.0%  8.0 GiB    12.5%     1  no     guarded

Freed: 8 cores and 16.0 GiB of memory
Whole cluster: 6 nodes; requested: cpu 20.8%, memory 8.3%
After the plan: 4 nodes; requested: cpu 31.2%, memory 12.5%
Check first:
  1 group that shrinks has no known minimum, and 0 is assumed: web

GROUP  GO  OF  CPU    MEMORY
web     2   4  8.0  16.0 GiB

NODE     GROUP  TYPE  ZONE  CAPACITY  UTILIZATION   REASON             DETAIL
cp       -      -     -     -         -             NotAutoscaled      control plane
guarded  web    -     -     -         25.0% cpu     BlockedByPod       default/db-0: NotEnoughPdb db
busy     web    -     -     -         62.5% cpu     NotUnderutilized
ssd      disk   -     -     -         12.5% memory  NoPlaceToMovePods  default/disk-0 fits nowhere else

Kept: 4 nodes
  BlockedByPod       1
    NotEnoughPdb     1
  NoPlaceToMovePods  1  some pod fits on no other node
  NotAutoscaled      1  control plane
  NotUnderutilized   1  more is requested than the threshold, 50.0%

In the way of most nodes:
  PodDisruptionBudget  default/db  1  NotEnoughPdb
  ReplicaSet           default/rs  1  NoPlaceToMovePods
)");
}

TEST_F(CliTest, NamePrintsWhatKubectlTakes) {
  EXPECT_EQ(Plan({"-o", "name"}).out, "node/idle\nnode/light\n");
}

TEST_F(CliTest, JsonHasDestinationsAndReasons) {
  const Json plan = Json::parse(Plan({"-o", "json"}).out);
  EXPECT_EQ(plan["apiVersion"], "ebb/v1alpha1");
  EXPECT_EQ(plan["kind"], "Plan");
  EXPECT_EQ(plan["now"], "2026-02-01T00:00:00Z");
  EXPECT_EQ(plan["summary"]["removed"], 2);
  EXPECT_EQ(plan["summary"]["leftOut"]["endedPods"], 1);
  EXPECT_EQ(plan["summary"]["leftOut"]["podsOnUnknownNodes"], 1);
  EXPECT_EQ(plan["remove"][1]["node"], "light");
  EXPECT_EQ(plan["remove"][1]["pods"].size(), 1u);
  EXPECT_EQ(plan["remove"][1]["pods"][0]["name"], "web-0");
  const Json keep = {{"cp", "NotAutoscaled"},
                     {"guarded", "BlockedByPod"},
                     {"busy", "NotUnderutilized"},
                     {"ssd", "NoPlaceToMovePods"}};
  for (const Json& kept : plan["keep"]) {
    EXPECT_EQ(kept["reason"], keep[kept["node"].get<std::string>()]) << kept;
  }
  EXPECT_EQ(plan["keep"][1]["blockingPod"], (Json{{"namespace", "default"},
                                                  {"name", "db-0"},
                                                  {"reason", "NotEnoughPdb"},
                                                  {"podDisruptionBudget", "db"}}));
  EXPECT_EQ(plan["keep"][3]["unplacedPod"]["name"], "disk-0");
}

TEST_F(CliTest, YamlEqualsJson) {
  const std::string yaml = Plan({"-o", "yaml"}).out;
  EXPECT_THAT(yaml, HasSubstr("kind: Plan\nnow: \"2026-02-01T00:00:00Z\"\n"));
  EXPECT_THAT(yaml,
              HasSubstr("\n  risky: false\n  pods:\n  - namespace: default\n    name: web-0\n"));
  EXPECT_THAT(yaml,
              HasSubstr("\n  blockingPod:\n    namespace: default\n    name: db-0\n    reason: "
                        "NotEnoughPdb\n    podDisruptionBudget: db\n"));
}

TEST_F(CliTest, ExplainNamesThePodThatBlocksAndWhyOthersFitNowhere) {
  EXPECT_EQ(Plan({"--explain", "guarded"}).out,
            "Node guarded is kept: BlockedByPod\n"
            "Its utilization is 25.0%, the larger of cpu (25.0%) and memory (12.5%).\n"
            "  POD           DRAIN\n"
            "  default/db-0  blocks: NotEnoughPdb (PodDisruptionBudget db)\n");
  const std::string ssd = Plan({"--explain", "ssd"}).out;
  EXPECT_THAT(ssd,
              HasSubstr("default/disk-0: 0/3 nodes are available: 3 node(s) didn't match Pod's "
                        "node affinity/selector (NodeAffinity)."));
  const std::string light = Plan({"--explain", "light"}).out;
  EXPECT_THAT(light, HasSubstr("Node light goes, as number 2 of 2; 1 pod moves from it."));
}

TEST_F(CliTest, StatsEndStderrWithOneLineOfJson) {
  const std::string err = Plan({"--stats"}).err;
  const std::string last = err.substr(err.rfind('\n', err.size() - 2) + 1);
  const Json stats = Json::parse(last);
  for (const char* key :
       {"bytes", "import_s", "pass_s", "verify_s", "nodes", "pods", "removed", "peak_rss_bytes"}) {
    EXPECT_TRUE(stats.contains(key)) << key;
  }
  EXPECT_EQ(stats["nodes"], 6);
  EXPECT_EQ(stats["removed"], 2);
}

TEST_F(CliTest, AGroupNeverGoesBelowItsMinimum) {
  const std::string groups = File("groups.yaml", "nodeGroups:\n- {name: web, minSize: 3}\n");
  const Json plan = Json::parse(Plan({"--node-groups", groups, "-o", "json"}).out);
  EXPECT_EQ(plan["summary"]["removed"], 1);
  EXPECT_EQ(plan["remove"][0]["node"], "idle");
  EXPECT_EQ(plan["summary"]["keptByReason"]["NodeGroupMinSizeReached"], 1);
  // A node that is kept for another reason keeps that reason.
  EXPECT_EQ(plan["summary"]["keptByReason"]["BlockedByPod"], 1);
}

TEST_F(CliTest, AnAtomicGroupGoesAsAWholeOrNotAtAll) {
  const std::string groups = File("groups.yaml", "nodeGroups:\n- {name: web, atomic: true}\n");
  const Json kept = Json::parse(Plan({"--node-groups", groups, "-o", "json"}).out);
  EXPECT_EQ(kept["summary"]["removed"], 0);
  EXPECT_EQ(kept["summary"]["keptByReason"]["AtomicScaleDownFailed"], 2);

  const std::string whole =
      List({Node("a", R"("nodegroup":"web")"), Node("b", R"("nodegroup":"web")"),
            Node("c", R"("nodegroup":"x")"), kReplicaSet, Pod("p-0", "a", "100m"),
            Pod("p-1", "c", "3")});
  const Json gone = Json::parse(Plan({"--node-groups", groups, "-o", "json"}, whole).out);
  EXPECT_EQ(gone["summary"]["removed"], 2);
}

TEST_F(CliTest, JsonNamesTheNodesThatAPodPassesOnItsWay) {
  // Pod p goes from a to b, then on to c, because b goes as well.
  const std::string cluster = List({Node("a", ""), Node("b", ""), Node("c", ""), kReplicaSet,
                                    Pod("p-0", "a", "1"), Pod("q-0", "c", "2500m")});
  const Json plan = Json::parse(Plan({"--candidate-order", "input", "-o", "json"}, cluster).out);
  EXPECT_EQ(plan["summary"]["removed"], 2);
  EXPECT_EQ(plan["summary"]["movedPods"], 1);
  EXPECT_EQ(plan["remove"][0]["pods"][0]["to"], "c");
  EXPECT_EQ(plan["remove"][0]["pods"][0]["via"], Json::array({"b"}));
  EXPECT_EQ(plan["remove"][1]["pods"], Json::array());
}

TEST_F(CliTest, ParallelismBoundsTheNumberOfNodesOnlyIfItIsGiven) {
  std::vector<std::string> objects;
  for (int n = 0; n < 9; ++n) objects.push_back(Node("n" + std::to_string(n), ""));
  const std::string nodes = List(objects);
  EXPECT_THAT(Plan({"--assume-complete"}, nodes).out, HasSubstr("9 of 9 nodes can go"));
  const Json plan = Json::parse(
      Plan({"--assume-complete", "--max-scale-down-parallelism", "2", "-o", "json"}, nodes).out);
  EXPECT_EQ(plan["summary"]["removed"], 4);
  EXPECT_EQ(plan["summary"]["termination"], "limit");
  EXPECT_EQ(plan["summary"]["keptByReason"]["NotJudged"], 5);
}

TEST_F(CliTest, UsageErrorsExitWithTwoAndSuggestACorrection) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "A subcommand is required"},
      {{"plna", "x"}, "unknown command plna; did you mean plan?"},
      {{"plan"}, "INPUT is required"},
      {{"plan", "x", "--scale-down-utilisation-threshold", "0.4"},
       "unknown flag --scale-down-utilisation-threshold; did you mean "
       "--scale-down-utilization-threshold?"},
      {{"plan", "x", "-o", "xml"},
       "--output: \"xml\" is not one of csv, json, markdown, name, patch, sh, table"},
      {{"plan", "x", "--now", "yesterday"}, "\"yesterday\" is not a time"},
      {{"plan", "x", "--scale-down-simulation-timeout", "30"}, "\"30\" is not a duration"},
      {{"gen", "huge"},
       "KIND: \"huge\" is not one of uniform, mixed, company, topology, repelling, "
       "diverse, terms, excluding, budgets, "
       "claims"},
      {{"filter"}, "--pod"},
      {{"filter", "--stdin", "x.json"}, "INPUT excludes --stdin: each request"},
  };
  for (const auto& [args, message] : cases) {
    const Result result = Ebb(args);
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(CliTest, BadInputEndsWithOneLineThatNamesFileObjectAndField) {
  const std::pair<std::string, const char*> cases[] = {
      {List({Node("n", ""), Pod("p-0", "n", "4x")}),
       "cluster.json: Pod default/p-0: spec.containers[0].resources.requests.cpu: \"4x\" is not a "
       "quantity"},
      {List({Node("n", ""), Node("n", "")}), "Node n: occurs twice"},
      {List({Node("n", ""), Pod("p-0", "n", "1"), Pod("p-0", "n", "1")}),
       "Pod default/p-0: occurs twice"},
      {List({kReplicaSet}), "cluster.json: no nodes in the input"},
      {"{\"items\": [", "cluster.json"},
      {"hello", "cluster.json"},
      {"", "cluster.json"},
  };
  for (const auto& [text, message] : cases) {
    const Result result = Plan({}, text);
    EXPECT_EQ(result.exit_code, 1) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(Ebb({"plan", (dir_ / "missing.json").string()}).exit_code, 1);
  std::filesystem::remove(dir_ / "cluster.json");
  EXPECT_EQ(Ebb({"plan", dir_.string()}).exit_code, 1) << "a folder without dumps";
  EXPECT_EQ(Plan({"--explain", "nope"}).exit_code, 1);
}

TEST_F(CliTest, GenAndImportWriteWhatPlanReads) {
  const std::string json = (dir_ / "m.json").string();
  const std::string pb = (dir_ / "m.pb").string();
  EXPECT_EQ(Ebb({"gen", "company", "--nodes", "30", "--seed", "4", "-o", json}).exit_code, 0);
  EXPECT_EQ(Ebb({"import", json, "-o", pb}).exit_code, 0);
  const std::vector<std::string> flags = {"--now", "2026-02-01T00:00:00Z", "-o", "json"};
  const std::string from_json = Ebb({"plan", json, "--now", flags[1], "-o", "json"}).out;
  const std::string from_pb = Ebb({"plan", pb, "--now", flags[1], "-o", "json"}).out;
  EXPECT_EQ(from_json, from_pb);
  EXPECT_GT(Json::parse(from_json)["summary"]["removed"], 0);
}

TEST_F(CliTest, FilterAnswersLineByLineAndContinuesAfterAnError) {
  const std::string cluster = SmallCluster();
  std::string objects = cluster.substr(cluster.find('['));
  objects.erase(std::remove(objects.begin(), objects.end(), '\n'), objects.end());
  objects.pop_back();
  const Result result =
      Ebb({"filter", "--stdin"}, "{\"id\":3,\"objects\":" + objects +
                                     ",\"pods\":[\"default/disk-0\"]}\nnonsense\n"
                                     "{\"id\":4,\"objects\":[],\"pods\":[\"a/b\"]}\n");
  EXPECT_EQ(result.exit_code, 0);
  std::istringstream lines(result.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const Json answer = Json::parse(line);
  EXPECT_EQ(answer["id"], 3);
  EXPECT_EQ(answer["results"][0]["pod"], "default/disk-0");
  EXPECT_EQ(answer["results"][0]["nodes"].size(), 6u);
  EXPECT_EQ(answer["results"][0]["nodes"][5], (Json{{"node", "ssd"}, {"fits", true}}));
  EXPECT_EQ(answer["results"][0]["nodes"][1]["plugin"], "NodeAffinity");
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(Json::parse(line).contains("error"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(Json::parse(line)["error"], "no pod \"a/b\"");
}

TEST_F(CliTest, FilterOfOneNodePrintsTheVerdictOfEveryFilter) {
  const std::string cluster = File(
      "cluster.json", List({Node("small", ""), Node("ssd", R"("disk":"ssd")"), kReplicaSet,
                            Pod("web-0", "small", "3800m"),
                            Pod("disk-0", "ssd", "500m", R"("nodeSelector":{"disk":"ssd"},)")}));
  const std::vector<std::string> ask = {"filter", cluster, "--pod", "default/disk-0", "--node"};
  std::vector<std::string> args = ask;
  args.push_back("small");
  EXPECT_THAT(Ebb(args).out, HasSubstr("Pod default/disk-0 does not fit on node small\n"));
  EXPECT_THAT(Ebb(args).out, HasSubstr("Insufficient cpu"));
  args.insert(args.end(), {"-o", "json"});
  const Json answer = Json::parse(Ebb(args).out);
  const Json& node = answer["results"][0]["nodes"][0];
  // As in the scheduler, which stops at the first filter that rejects.
  EXPECT_EQ(node["plugin"], "NodeAffinity");
  std::vector<std::string> refusals;
  for (const Json& filter : node["filters"]) {
    if (!filter["fits"]) refusals.push_back(filter["plugin"]);
  }
  EXPECT_THAT(refusals, ::testing::ElementsAre("NodeAffinity", "NodeResourcesFit"));

  args = ask;
  args.push_back("ssd");
  EXPECT_THAT(Ebb(args).out, HasSubstr("Pod default/disk-0 fits on node ssd\n"));
  args.back() = "nowhere";
  EXPECT_EQ(Ebb(args).err, "ebb: no node \"nowhere\"\n");
  EXPECT_EQ(Ebb({"filter", cluster, "--pod", "disk-0"}).err,
            "ebb: pod \"disk-0\" is not NAMESPACE/NAME\n");
}

// Constraints that a pod should not have: if the scheduler has a verdict, ebb has the same; else
// the pod's node stays.
TEST_F(CliTest, BadConstraintsGetTheSchedulersVerdictOrKeepTheNode) {
  struct BadPod {
    const char* spec;
    const char* plugin;  // "": the pod fits, and its node goes.
    const char* reason;
  };
  constexpr const char* kNoAffinity = "node(s) didn't match Pod's node affinity/selector";
  const BadPod pods[] = {
      {R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{
          "nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Near","values":["1"]}]}]}}},)",
       "NodeAffinity", kNoAffinity},
      {R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{
          "nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":[]}]}]}}},)",
       "NodeAffinity", kNoAffinity},
      {R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
          {"topologyKey":"a","labelSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}]}},)",
       "InterPodAffinity", "\"Near\" is not a valid label selector operator"},
      {R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
          {"topologyKey":"a","labelSelector":{"matchExpressions":[
            {"key":"a","operator":"In","values":[]}]}}]}},)",
       "InterPodAffinity", "operator In on key \"a\" has 0 values"},
      {R"("topologySpreadConstraints":[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule",
          "labelSelector":{}}],)",
       "PodTopologySpread", "(missing required label)"},
      {R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","labelSelector":{},
          "whenUnsatisfiable":"Sometimes"}],)",
       "NotUnderstood", "whenUnsatisfiable: \"Sometimes\" is not known"},
      {R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","colour":"red",
          "whenUnsatisfiable":"DoNotSchedule","labelSelector":{}}],)",
       "NotUnderstood", "spec.topologySpreadConstraints[].colour"},
      {R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"none"}}],)",
       "VolumeRestrictions", "persistentvolumeclaim \"none\" not found"},
      {R"("volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{}}}],)", "VolumeBinding",
       "waiting for ephemeral volume controller"},
      {R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"to-nothing"}}],)",
       "VolumeZone", "persistentvolume \"gone\" not found"},
      {R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"odd"}}],)", "", ""},
      {R"("volumes":[{"name":"v","csi":{"driver":"nobody.knows"}}],)", "", ""},
      {R"("volumes":[{"name":"v","quantumDisk":{}}],)", "NotUnderstood",
       "spec.volumes[].quantumDisk"},
      {R"("tolerations":[{"key":"a","operator":"Perhaps"}],)", "", ""},
      {R"("orbit":"low",)", "NotUnderstood", "spec.orbit"},
      {R"("resourceClaims":[{"name":"gpu","resourceClaimName":"held"},
          {"name":"nic","resourceClaimName":"none"},
          {"name":"later","resourceClaimTemplateName":"t"}],)",
       "NotUnderstood",
       "spec.resourceClaims[nic]: ResourceClaim default/none is not in the input; "
       "spec.resourceClaims[later]: no ResourceClaim was made yet from ResourceClaimTemplate "
       "default/t, which is not in the input"},
  };
  for (const auto& [spec, plugin, reason] : pods) {
    const std::string cluster = File(
        "bad.json",
        List({Node("holder", ""), Node("free", ""), kReplicaSet, Pod("p-0", "holder", "1", spec),
              R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"to-nothing",
                  "namespace":"default","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
                  "spec":{"volumeName":"gone"}})",
              R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"odd",
                  "namespace":"default","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
                  "spec":{"volumeName":"odd"}})",
              R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"odd"},
                  "spec":{"csi":{"driver":"nobody.knows","volumeHandle":"h"}}})",
              R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
                  "metadata":{"name":"held","namespace":"default"},"status":{"allocation":{
                    "devices":{"results":[{"driver":"d","pool":"pool","device":"gpu-0"}]}}}})"}));
    const Json answer = Json::parse(
        Ebb({"filter", cluster, "--pod", "default/p-0", "--node", "free", "-o", "json"}).out);
    const Json& node = answer["results"][0]["nodes"][0];
    const bool fits = *plugin == '\0';
    EXPECT_EQ(node["fits"], fits) << spec;
    if (!fits) {
      EXPECT_EQ(node["plugin"], plugin) << spec;
      EXPECT_THAT(std::string(node["reasons"][0]), HasSubstr(reason)) << spec;
    }
    const Result plan = Ebb({"plan", cluster, "--candidate-order", "input", "-o", "json"});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    const Json made = Json::parse(plan.out);
    bool goes = false;
    for (const Json& removal : made["remove"]) {
      goes = goes || removal["node"] == "holder";
    }
    EXPECT_EQ(goes, fits) << spec;
  }
}

// --- The schema ------------------------------------------------------------------

// Checks the keywords of JSON Schema that docs/plan.schema.json uses.  Any other keyword is a
// failure, so that none goes unchecked.
class SchemaCheck {
 public:
  explicit SchemaCheck(Json root) : root_(std::move(root)) {}

  void Check(const Json& value) { Check(value, root_, "$"); }

 private:
  static bool IsType(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == "null" && value.is_null();
  }

  void Check(const Json& value, const Json& schema, const std::string& path) {
    for (const auto& [keyword, rule] : schema.items()) {
      if (keyword == "$ref") {
        Check(value, root_["$defs"][rule.get<std::string>().substr(8)], path);
      } else if (keyword == "type") {
        bool any = false;
        for (const Json& type : rule.is_array() ? rule : Json::array({rule})) {
          any |= IsType(value, type);
        }
        EXPECT_TRUE(any) << path << " is not a " << rule;
      } else if (keyword == "const") {
        EXPECT_EQ(value, rule) << path;
      } else if (keyword == "enum") {
        EXPECT_NE(std::find(rule.begin(), rule.end(), value), rule.end()) << path << value;
      } else if (keyword == "required") {
        for (const Json& name : rule) EXPECT_TRUE(value.contains(name)) << path << "." << name;
      } else if (keyword == "properties") {
        for (const auto& [name, inner] : rule.items()) {
          if (value.contains(name)) Check(value[name], inner, path + "." + name);
        }
      } else if (keyword == "additionalProperties") {
        for (const auto& [name, member] : value.items()) {
          if (schema.contains("properties") && schema["properties"].contains(name)) continue;
          EXPECT_TRUE(rule.is_object()) << path << "." << name << " is not in the schema";
          if (rule.is_object()) Check(member, rule, path + "." + name);
        }
      } else if (keyword == "items") {
        for (const Json& item : value) Check(item, rule, path + "[]");
      } else if (keyword == "minItems") {
        EXPECT_GE(value.size(), rule.get<size_t>()) << path;
      } else if (keyword == "minLength") {
        EXPECT_GE(value.get<std::string>().size(), rule.get<size_t>()) << path;
      } else if (keyword == "minimum") {
        EXPECT_TRUE(value.is_null() || value.get<double>() >= rule.get<double>()) << path;
      } else {
        const std::vector<std::string> notes = {"$schema", "title", "description", "$defs"};
        EXPECT_THAT(notes, ::testing::Contains(keyword)) << "unchecked keyword";
      }
    }
  }

  Json root_;
};

TEST_F(CliTest, PlansAreWhatTheSchemaSays) {
  std::ifstream file(SourceDir() + "/docs/plan.schema.json");
  SchemaCheck schema(Json::parse(file));
  schema.Check(Json::parse(Plan({"-o", "json"}).out));
  schema.Check(Json::parse(Plan({"--max-scale-down-parallelism", "1", "-o", "json"}).out));
  schema.Check(Json::parse(Plan({"--assume-complete", "-o", "json"}, List({Node("one", "")})).out));
  const std::string company = (dir_ / "m.json").string();
  ASSERT_EQ(Ebb({"gen", "company", "--nodes", "60", "-o", company}).exit_code, 0);
  schema.Check(Json::parse(Ebb({"plan", company, "-o", "json"}).out));
}

TEST_F(CliTest, OptimizeFindsMoreNodesAndReportsIt) {
  const std::string mixed = (dir_ / "mixed.json").string();
  ASSERT_EQ(Ebb({"gen", "mixed", "--nodes", "100", "-o", mixed}).exit_code, 0);
  const Json greedy = Json::parse(Ebb({"plan", mixed, "-o", "json"}).out)["summary"];
  EXPECT_FALSE(greedy.contains("search"));
  const std::vector<std::string> search = {
      "plan", mixed, "--now", "2026-06-01T12:00:00Z", "--optimize", "--iterations", "3"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = search;
    words.insert(words.end(), more.begin(), more.end());
    return Ebb(words);
  };
  const std::string json = with({"-o", "json", "--threads", "1"}).out;
  const Json found = Json::parse(json)["summary"];
  EXPECT_GT(found["removed"], greedy["removed"]);
  EXPECT_EQ(found["search"]["firstPlanRemoved"], greedy["removed"]);
  EXPECT_LE(found["search"]["iterations"], 3);
  EXPECT_EQ(found["search"]["ended"],
            found["search"]["iterations"] == 3 ? "iterationsUsed" : "boundReached");
  EXPECT_EQ(with({"-o", "json", "--threads", "3"}).out, json);
  EXPECT_THAT(with({}).out, HasSubstr("of the first plan, "));
  std::ifstream file(SourceDir() + "/docs/plan.schema.json");
  SchemaCheck(Json::parse(file)).Check(Json::parse(json));
  // --explain works on a node that stays in the plan of the search.
  EXPECT_EQ(with({"--explain", Json::parse(json)["keep"][0]["node"]}).exit_code, 0);
}

TEST_F(CliTest, MaxEvictionsLimitsWhatTheSearchedPlanMoves) {
  const std::string mixed = (dir_ / "mixed.json").string();
  ASSERT_EQ(Ebb({"gen", "mixed", "--nodes", "100", "-o", mixed}).exit_code, 0);
  const auto with = [&](const std::string& evictions, std::vector<std::string> more) {
    std::vector<std::string> words = {"plan",       mixed,          "--now", "2026-06-01T12:00:00Z",
                                      "--optimize", "--iterations", "3",     "--max-evictions",
                                      evictions};
    words.insert(words.end(), more.begin(), more.end());
    return Ebb(words);
  };
  std::ifstream file(SourceDir() + "/docs/plan.schema.json");
  SchemaCheck schema(Json::parse(file));
  size_t before = 0;
  for (const size_t evictions : {0, 1, 10, 40}) {
    const Result plan = with(std::to_string(evictions), {"-o", "json"});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    const Json json = Json::parse(plan.out);
    schema.Check(json);
    const Json& summary = json["summary"];
    EXPECT_LE(summary["movedPods"], evictions);
    EXPECT_EQ(summary["search"]["maxEvictions"], evictions);
    EXPECT_GE(summary["removed"], summary["search"]["firstPlanRemoved"]);
    EXPECT_GE(summary["removed"], before);
    EXPECT_EQ(summary["termination"], "evictionLimit");
    before = summary["removed"];
  }
  EXPECT_GT(before, 10u);
  const std::string text = with("40", {}).out;
  EXPECT_THAT(text, HasSubstr("--max-evictions ended the plan"));
  EXPECT_THAT(text, HasSubstr("with at most 40 pods"));
  // A limit above the number of nodes leaves nothing out.
  const Json all = Json::parse(with("1000000", {"-o", "json"}).out)["summary"];
  EXPECT_EQ(all["termination"], "complete");
  EXPECT_EQ(with("-1", {}).exit_code, 2);
  EXPECT_EQ(Ebb({"plan", mixed, "--max-evictions", "5"}).exit_code, 2);
}

TEST_F(CliTest, TrialsReportHowManyPodsStayPending) {
  const std::string mixed = (dir_ / "mixed.json").string();
  ASSERT_EQ(Ebb({"gen", "mixed", "--nodes", "60", "-o", mixed}).exit_code, 0);
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"plan", mixed, "--now", "2026-06-01T12:00:00Z"};
    words.insert(words.end(), more.begin(), more.end());
    return Ebb(words);
  };
  const Result printed = with({"--trials", "3"});
  EXPECT_THAT(printed.out, HasSubstr("evicted in random order, 3 times"));
  EXPECT_THAT(printed.out, HasSubstr("evicted in the plan's order"));
  const Json summary = Json::parse(with({"--trials", "3", "-o", "json"}).out)["summary"];
  EXPECT_EQ(summary["trials"]["trials"], 3);
  EXPECT_EQ(summary["trials"]["movedPods"], summary["movedPods"]);
  const std::string robust =
      with({"--optimize", "--iterations", "2", "--robust", "0", "-o", "json"}).out;
  const Json shortened = Json::parse(robust)["summary"];
  EXPECT_EQ(shortened["trials"]["trials"], 20);
  EXPECT_EQ(shortened["trials"]["randomOrder"]["pendingMax"], 0);
  EXPECT_EQ(shortened["trials"]["planOrder"]["pendingMax"], 0);
  std::ifstream file(SourceDir() + "/docs/plan.schema.json");
  SchemaCheck(Json::parse(file)).Check(Json::parse(robust));
}

TEST_F(CliTest, TheBoundLimitsThePlanAndGivesItsGap) {
  const std::string mixed = (dir_ / "mixed.json").string();
  ASSERT_EQ(Ebb({"gen", "mixed", "--nodes", "100", "-o", mixed}).exit_code, 0);
  const auto summary = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"plan", mixed, "--now", "2026-06-01T12:00:00Z", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(Ebb(words).out)["summary"];
  };
  EXPECT_FALSE(summary({}).contains("bound"));
  const Json greedy = summary({"--bound"});
  const auto nodes = greedy["bound"]["removed"].get<double>();
  EXPECT_GE(nodes, greedy["removed"].get<double>());
  EXPECT_NEAR(greedy["bound"]["gap"].get<double>(), 1 - greedy["removed"].get<double>() / nodes,
              1e-6);
  // The search reports the same bound, and its plan comes closer to it.
  const Json found = summary({"--optimize", "--iterations", "5"});
  EXPECT_EQ(found["bound"]["removed"], greedy["bound"]["removed"]);
  EXPECT_LT(found["bound"]["gap"], greedy["bound"]["gap"]);
  EXPECT_THAT(Ebb({"plan", mixed, "--bound"}).out, HasSubstr("No plan removes more"));
}

TEST_F(CliTest, FlagsOfTheSearchGoTogether) {
  EXPECT_EQ(Plan({"--budget", "1s"}).exit_code, 2);
  EXPECT_EQ(Plan({"--optimize", "--budget", "1s", "--iterations", "2"}).exit_code, 2);
  EXPECT_EQ(Plan({"--optimize", "--budget", "soon"}).exit_code, 2);
  EXPECT_EQ(Plan({"--optimize", "--state", (dir_ / "s.db").string()}).exit_code, 2);
  // Without any time, the result is the first plan.
  const Result none = Plan({"--optimize", "--budget", "0s"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_THAT(none.out,
              HasSubstr("The search ended before its first iteration; this is the first plan."));
  const Json json = Json::parse(Plan({"--optimize", "--budget", "0s", "-o", "json"}).out);
  EXPECT_EQ(json["summary"]["search"]["ended"], "budgetUsed");
}

TEST(NearestTest, SuggestsOnlyNearNames) {
  EXPECT_EQ(Nearest("plna", {"plan", "gen"}), "plan");
  EXPECT_EQ(Nearest("--outptu", {"--output", "--stats"}), "--output");
  EXPECT_EQ(Nearest("kubectl", {"plan", "gen"}), "");
  EXPECT_EQ(Nearest("ip-10-0-0-1", {"ip-10-0-0-12.ec2.internal", "ip-10-0-0-1.ec2.internal"}),
            "ip-10-0-0-1.ec2.internal");
}

TEST_F(CliTest, TheVersionIsAFlagAndACommand) {
  const Result flag = Ebb({"--version"});
  EXPECT_EQ(flag.exit_code, 0);
  EXPECT_EQ(flag.out, "ebb " + std::string(kVersion) + "\n");
  const Result command = Ebb({"version"});
  EXPECT_EQ(command.exit_code, 0);
  EXPECT_EQ(command.out.substr(0, flag.out.size()), flag.out) << "the first line";
}

TEST_F(CliTest, TheVersionNamesTheBuildAndItsFeatures) {
  const auto print = [](const BuildInfo& build, const char* format) {
    const char* const words[] = {"ebb", "version", "-o", format};
    std::istringstream in;
    std::ostringstream out;
    EXPECT_EQ(RunCli(4, words, in, out, out, build), 0);
    return out.str();
  };
  const BuildInfo release{
      .commit = "0123abcd", .commit_time = "2026-01-02T03:04:05Z", .portable = true};
  EXPECT_THAT(print(release, "text"), HasSubstr("\ncommit    0123abcd of 2026-01-02T03:04:05Z\n"));
  EXPECT_THAT(print(release, "text"), HasSubstr("linked statically"));
  EXPECT_THAT(print(release, "text"), HasSubstr("\nlacks     plugins for host names: "));
  EXPECT_THAT(print({.commit = "0123abcd", .commit_time = "", .changed = true}, "text"),
              HasSubstr("with changes that are not in it"));
  EXPECT_THAT(print({}, "text"), HasSubstr("\ncommit    unknown"));
  EXPECT_THAT(print({}, "text"), HasSubstr("\nhas       plugins for host names: "));

  const Json json = Json::parse(print(release, "json"));
  EXPECT_EQ(json["version"], kVersion);
  EXPECT_EQ(json["commit"], "0123abcd");
  EXPECT_EQ(json["link"], "static");
  EXPECT_EQ(json["features"][0]["name"], "grpc");
  EXPECT_EQ(json["features"][0]["works"], true);
  EXPECT_TRUE(Json::parse(print({}, "json"))["commit"].is_null());
}

TEST_F(CliTest, HelpOfACommandIsWhatItsHelpFlagPrints) {
  EXPECT_EQ(Ebb({"help"}).out, Ebb({"--help"}).out);
  const std::vector<std::string> commands[] = {
      {"plan"}, {"filter"}, {"gen"}, {"import"}, {"import", "openb"}, {"replay"}, {"completion"}};
  for (std::vector<std::string> command : commands) {
    std::vector<std::string> help = command;
    help.insert(help.begin(), "help");
    command.emplace_back("--help");
    const Result printed = Ebb(help);
    EXPECT_EQ(printed.exit_code, 0);
    EXPECT_EQ(printed.out, Ebb(command).out);
    EXPECT_THAT(printed.out, HasSubstr("\nExamples:\n  "));
  }
  const Result unknown = Ebb({"help", "plna"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean plan?"));
  EXPECT_EQ(Ebb({"help", "openb"}).err, "ebb: unknown command openb\n") << "it is import's";
}

TEST_F(CliTest, HelpPrintsRangesChoicesAndDefaults) {
  const std::string help = Ebb({"plan", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("--scale-down-utilization-threshold FRACTION"));
  EXPECT_THAT(help, HasSubstr("[0 to 1; default 0.5]"));
  EXPECT_THAT(help, HasSubstr("[0s to 876000h; default 10m]"));
  EXPECT_THAT(help, HasSubstr("10  with --exit-code"));
  EXPECT_THAT(help, Not(HasSubstr("--cloud-provider"))) << "ignored flags are not shown";
}

void ForEachCommand(const CLI::App& app, const std::function<void(const CLI::App&)>& visit) {
  visit(app);
  for (const CLI::App* sub : Commands(app)) ForEachCommand(*sub, visit);
}

TEST_F(CliTest, EveryExampleInHelpIsGoodUsage) {
  const CommandLine all;
  size_t examples = 0;
  ForEachCommand(*all.app, [&](const CLI::App& command) {
    const std::vector<HelpSection> sections = SectionsOf(command);
    ASSERT_FALSE(sections.empty()) << command.get_name();
    EXPECT_EQ(sections[0].heading, "Examples");
    for (const std::string& line : sections[0].lines) {
      std::istringstream words(line);
      std::vector<std::string> reversed;
      for (std::string word; words >> word;) {
        const bool quoted = word.size() > 2 && word.front() == '\'' && word.back() == '\'';
        if (!quoted && word.find_first_of("|>&)") != std::string::npos) break;
        reversed.insert(reversed.begin(), quoted ? word.substr(1, word.size() - 2) : word);
      }
      if (reversed.empty() || reversed.back() != "ebb") continue;
      reversed.pop_back();
      ++examples;
      CommandLine fresh;
      if (!reversed.empty()) fresh.AddAutoscalerFlags(reversed.back());
      try {
        fresh.app->parse(reversed);
      } catch (const CLI::CallForVersion&) {
      } catch (const CLI::ParseError& error) {
        ADD_FAILURE() << line << ": " << error.what();
      }
    }
  });
  EXPECT_GT(examples, 20u);
}

TEST_F(CliTest, EveryFlagThatPeopleSeeIsInTheManPageAndInEveryCompletion) {
  const CommandLine all;
  const std::string bash = Ebb({"completion", "bash"}).out;
  const std::string zsh = Ebb({"completion", "zsh"}).out;
  const std::string fish = Ebb({"completion", "fish"}).out;
  ForEachCommand(*all.app, [&](const CLI::App& command) {
    std::vector<std::string> man = {"man"};
    std::istringstream path(CommandPath(command));
    for (std::string word; path >> word;) {
      if (word != "ebb") man.push_back(word);
    }
    const std::string page = Ebb(man).out;
    EXPECT_THAT(page, ::testing::StartsWith(".TH EBB"));
    for (const char* heading :
         {".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH OPTIONS\n", ".SH EXAMPLES\n"}) {
      EXPECT_THAT(page, HasSubstr(heading)) << command.get_name();
    }
    for (const CLI::Option* option : ShownOptions(command)) {
      for (const std::string& name : option->get_lnames()) {
        SCOPED_TRACE(command.get_name() + " " + name);
        EXPECT_THAT(page,
                    HasSubstr("\\fB\\-\\-" + std::regex_replace(name, std::regex("-"), "\\-")));
        EXPECT_THAT(bash, HasSubstr("--" + name));
        EXPECT_THAT(zsh, HasSubstr("--" + name));
        EXPECT_THAT(fish, HasSubstr(" -l " + name));
      }
    }
  });
  EXPECT_THAT(bash, HasSubstr("'ebb plan -o' | 'ebb plan --output')"));
  EXPECT_THAT(zsh, HasSubstr("--explain=["));
  EXPECT_THAT(fish, HasSubstr("-l explain -x -a '(__ebb_nodes)'"));
}

TEST_F(CliTest, CompletionKnowsTheNamesOfNodes) {
  EXPECT_EQ(Ebb({"completion", "nodes", File("c.json", SmallCluster())}).out,
            "cp\nguarded\nidle\nlight\nbusy\nssd\n");
  EXPECT_EQ(Ebb({"completion", "nodes"}).exit_code, 2);
  EXPECT_EQ(Ebb({"completion", "bash", "x.json"}).exit_code, 2);
}

TEST_F(CliTest, TheExitCodeDependsOnThePlanOnlyWithTheFlagExitCode) {
  EXPECT_EQ(Plan({}).exit_code, 0);
  EXPECT_EQ(Plan({"--exit-code"}).exit_code, 10);
  EXPECT_EQ(Plan({"--exit-code", "--max-scale-down-parallelism", "1"}).exit_code, 10);
  const std::string full = List({Node("a", ""), kReplicaSet, Pod("p-0", "a", "3500m")});
  EXPECT_EQ(Plan({"--exit-code"}, full).exit_code, 0);
  EXPECT_EQ(Plan({"--exit-code"}, "{").exit_code, 1);
  EXPECT_EQ(Plan({"--exit-code=maybe"}).exit_code, 2);
}

TEST_F(CliTest, TheCommandLineOfADeploymentCanBePasted) {
  const Result plain = Plan({"-o", "name"});
  const Result pasted = Plan(
      {"-o", "name", "./cluster-autoscaler", "-v=4", "--logtostderr", "--stderrthreshold=info",
       "--cloud-provider=aws", "--cloud_config=", "--scan-interval=10s", "-kube-client-qps", "5.5",
       "--leader-elect=false", "-skip-nodes-with-local-storage=true", "--expander=least-waste",
       "--balance-similar-node-groups", "--scale_down_utilization_threshold=0.5"});
  EXPECT_EQ(pasted.exit_code, 0) << pasted.err;
  EXPECT_EQ(pasted.out, plain.out);
  EXPECT_THAT(pasted.err,
              HasSubstr("ebb: ignored, as a plan does not depend on them: "
                        "--balance-similar-node-groups, --cloud-config, --cloud-provider, "
                        "--expander, --kube-client-qps, --leader-elect, --logtostderr, "
                        "--scan-interval, --stderrthreshold, --v\n"));
  EXPECT_THAT(pasted.err, Not(HasSubstr("not honoured")));
  EXPECT_EQ(Plan({"-o", "name", "--scale_down_utilization_threshold=0.1"}).out, "node/idle\n")
      << "underscores do not make a flag an ignored one";
}

TEST_F(CliTest, FlagsThatWouldChangeThePlanAndAreNotHonouredAreNamed) {
  const std::string err = Plan({"--feature-gates=A=true", "--node-group-auto-discovery=asg:tag=a",
                                "--scale-down-enabled=false", "--gpu-total=t4:1:8", "--v=1"})
                              .err;
  EXPECT_THAT(err, HasSubstr("ebb: ignored, as a plan does not depend on it: --v\n"));
  for (const char* flag :
       {"--feature-gates (", "--node-group-auto-discovery (groups come",
        "--scale-down-enabled (the autoscaler removes nothing", "--gpu-total (GPUs"}) {
    EXPECT_THAT(err, HasSubstr(flag));
  }
  EXPECT_THAT(err, HasSubstr("warning: not honoured"));
  const std::string harmless =
      Plan({"--scale-down-enabled", "--gpu-total=t4:0:8", "--scheduler-config-file="}).err;
  EXPECT_THAT(harmless, Not(HasSubstr("not honoured")));
}

TEST_F(CliTest, ASchedulersConfigurationThatCannotBeReadIsAnError) {
  const auto missing = Plan({"--scheduler-config-file=no-such-file.yaml"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("no-such-file.yaml"));
}

TEST_F(CliTest, FlagsThatAreNotHonouredAreWarningsInThePlanToo) {
  const Json plan = Json::parse(Plan({"-o", "json", "--feature-gates=A=true"}).out);
  const Json& warnings = plan["summary"]["warnings"];
  const auto found = std::ranges::find_if(
      warnings, [](const Json& warning) { return warning["code"] == "FlagsNotHonoured"; });
  ASSERT_NE(found, warnings.end()) << warnings;
  EXPECT_THAT((*found)["message"].get<std::string>(), HasSubstr("--feature-gates ("));
  EXPECT_EQ(Plan({"--strict", "--feature-gates=A=true"}).exit_code, 1);
}

TEST_F(CliTest, BadValuesAndTyposOfTheAutoscalersFlagsAreErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"--scan-interval=ten", "--scan-interval: \"ten\" is not a duration"},
      {"--v=high", "--v: \"high\" is not a whole number"},
      {"--kube-client-qps=nan", "--kube-client-qps: \"nan\" is not a number"},
      {"--leader-elect=maybe", "--leader-elect: \"maybe\" is not true or false"},
      {"--leader-elect=", "is not true or false"},
      {"--gpu-total=t4", "--gpu-total: \"t4\" is not a kind of GPU"},
      {"--nodes=5:1:web", "--nodes: \"5:1:web\" is not a group with its size"},
      {"--scan-intervall=10s", "unknown flag --scan-intervall; did you mean --scan-interval?"},
      {"-scan-intervall=10s", "unknown flag -scan-intervall; did you mean --scan-interval?"},
  };
  for (const auto& [flag, message] : cases) {
    const Result result = Plan({flag});
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

TEST_F(CliTest, NodesGivesAGroupItsSizesOverTheFile) {
  EXPECT_EQ(Plan({"-o", "name", "--nodes=3:9:web"}).out, "node/idle\n");
  EXPECT_EQ(Plan({"-o", "name", "--nodes", "4:9:web", "--nodes=0:9:disk"}).out, "");
  EXPECT_EQ(Plan({"-o", "name", "--nodes=4:9:https://x.test/instanceGroups/web"}).out, "");
  const std::string groups = File("groups.yaml", "nodeGroups:\n- {name: web, minSize: 4}\n");
  EXPECT_EQ(Plan({"-o", "name", "--node-groups", groups}).out, "");
  EXPECT_EQ(Plan({"-o", "name", "--node-groups", groups, "--nodes=3:9:web"}).out, "node/idle\n");
}

TEST_F(CliTest, ANameInNodesThatNoGroupHasIsAnError) {
  EXPECT_THAT(Plan({"--nodes=3:9:wbe"}).err,
              HasSubstr("--nodes: nodeGroups[0] (wbe): no node is in a group of that name; did "
                        "you mean web?"));
}

TEST_F(CliTest, FlagsThatOnlyRoundsUseAreNotedInOneLine) {
  EXPECT_THAT(
      Plan({"--scale-down-unneeded-time=1m", "--cores-total=4:100"}).err,
      HasSubstr(
          "ebb: note: these flags have no effect without --state: --scale-down-unneeded-time, "
          "--cores-total\n"));
}

TEST_F(CliTest, TheTableOfFlagsIsSortedAndMatchesTheOptions) {
  CommandLine all;
  all.AddAutoscalerFlags("plan");
  const CLI::App& plan = *all.app->get_subcommand("plan");
  std::string_view last;
  for (const AutoscalerFlag& flag : AutoscalerFlags()) {
    SCOPED_TRACE(flag.name);
    EXPECT_LT(last, flag.name);
    last = flag.name;
    const CLI::Option* const option = plan.get_option_no_throw("--" + std::string(flag.name));
    ASSERT_NE(option, nullptr);
    EXPECT_EQ(IsOtherAutoscalerFlag(*option), flag.treatment != FlagTreatment::kHonoured);
  }
}

// The rows of a section's table of docs/plan.md.
std::vector<std::string> RowsOfDocs(const std::string& heading) {
  std::ifstream file(SourceDir() + "/docs/plan.md");
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (inside && line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

// "policy simulate".
const CLI::App& CommandOf(const CommandLine& line, std::string_view path) {
  const CLI::App* app = line.app.get();
  std::istringstream names{std::string(path)};
  for (std::string name; names >> name;) app = app->get_subcommand(name);
  return *app;
}

std::string Quoted(const std::vector<std::string_view>& names, std::string_view between) {
  std::string text;
  for (const std::string_view name : names) {
    text.append(text.empty() ? "" : between).append("`").append(name).append("`");
  }
  return text;
}

TEST(Exclusions, AreThoseOfTheDocs) {
  std::vector<std::string> expected;
  for (const Exclusion& row : Exclusions()) {
    std::string line = "| `";
    line.append(row.command).append("` | `").append(row.flag).append("` | `");
    line.append(row.other).append("` | ").append(row.reason).append(" |");
    expected.push_back(line);
  }
  EXPECT_EQ(RowsOfDocs("Flags that exclude each other"), expected);
}

TEST(Needs, AreThoseOfTheDocs) {
  std::vector<std::string> expected;
  for (const Need& row : Needs()) {
    std::string line = "| " + Quoted(row.commands, ", ") + " | `";
    line.append(row.flag).append("`");
    if (!row.when.empty()) line.append(" with `").append(row.when).append("`");
    line.append(" | ").append(Quoted(row.others, " or ")).append(" | ");
    line.append(row.reason).append(" |");
    expected.push_back(line);
  }
  EXPECT_EQ(RowsOfDocs("Flags that need another one"), expected);
}

// A row with a flag that the command does not have would check nothing.
TEST(Exclusions, HaveTheCommandRefuseTheFlagsTogether) {
  const CommandLine line;
  for (const Exclusion& row : Exclusions()) {
    const CLI::App& app = CommandOf(line, row.command);
    const CLI::Option* const flag = app.get_option_no_throw(std::string(row.flag));
    const CLI::Option* const other = app.get_option_no_throw(std::string(row.other));
    ASSERT_TRUE(flag != nullptr && other != nullptr) << row.flag << " " << row.other;
    EXPECT_TRUE(flag->get_excludes().contains(const_cast<CLI::Option*>(other))) << row.flag;
  }
}

TEST(Needs, AreOfFlagsThatTheCommandsHave) {
  const CommandLine line;
  for (const Need& row : Needs()) {
    for (const std::string_view command : row.commands) {
      const CLI::App& app = CommandOf(line, command);
      std::vector<std::string_view> flags = row.others;
      flags.push_back(row.flag);
      if (!row.when.empty()) flags.push_back(row.when);
      for (const std::string_view flag : flags) {
        EXPECT_NE(app.get_option_no_throw(std::string(flag)), nullptr) << command << " " << flag;
      }
    }
  }
}

// The message about an exclusion or need that is not in the tables would give no reason.
TEST(Exclusions, AreAllInTheTables) {
  const CommandLine line;
  const std::function<void(const CLI::App&, const std::string&)> check =
      [&](const CLI::App& app, const std::string& path) {
        for (const CLI::Option* option : app.get_options()) {
          for (const CLI::Option* other : option->get_excludes()) {
            const std::string message = option->get_name() + " excludes " + other->get_name();
            EXPECT_NE(WithReason(path, message), message) << path;
          }
          for (const CLI::Option* other : option->get_needs()) {
            const std::string message = option->get_name() + " requires " + other->get_name();
            EXPECT_NE(WithReason(path, message), message) << path;
          }
        }
        for (const CLI::App* sub : app.get_subcommands({})) {
          check(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name());
        }
      };
  check(*line.app, "");
}

TEST(Exclusions, SayWhy) {
  const Result refused = Ebb({"plan", "x.json", "--state", "s.db", "--optimize"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("a round follows the autoscaler's rules"));
  EXPECT_EQ(WithReason("plan", "--a excludes --b"), "--a excludes --b");
}

// Symptom: such flags were taken, and did nothing.
TEST(Needs, AreRefusedWithTheFlagThatIsNeeded) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"plan", "x", "--nominated-share", "0.5"},
       "--nominated-share needs --trials or --robust: it is a setting of trials"},
      {{"plan", "x", "--seed", "3"}, "--seed needs --optimize or --trials or --robust: "},
      {{"plan", "x", "--explain", "a", "--trials", "3"},
       "--trials with --explain needs --robust: "},
      {{"plan", "x", "--budget", "1s"}, "--budget needs --optimize: "},
      {{"plan", "x", "--stable"},
       "--stable needs --watch-file or --server: it keeps the last plan"},
      {{"plan", "--watch-file", "x", "--stable-margin", "0"}, "--stable-margin needs --stable: "},
      {{"plan", "x", "--record", "r.db"}, "--record needs --state: "},
      {{"plan", "x", "--watch-quiet-time", "1s"}, "--watch-quiet-time needs --watch-file: "},
      {{"filter", "x", "--pod", "a/b", "--max-object-bytes", "1MiB"},
       "--max-object-bytes needs --watch-file: "},
      {{"blockers", "x", "--wait", "1s"}, "--wait needs --server: "},
      {{"frontier", "--server", "unix:x", "--max-input-bytes", "1"},
       "--max-input-bytes needs INPUT: "},
      {{"run", "--input", "x", "--dry-run", "--hours", "3"}, "--hours needs --simulate: "},
      {{"run", "--input", "x", "--dry-run", "--faults"}, "--faults needs --simulate: "},
      {{"run", "--input", "x", "--dry-run", "--seed", "3"},
       "--seed needs --simulate or --optimize: "},
      {{"run", "--input", "x", "--dry-run", "--nodes", "3"},
       "--nodes: a number of nodes needs --simulate; pass MIN:MAX:NAME"},
      {{"run", "--simulate", "--session", "s"}, "--session needs --server or --socket: "},
      {{"serve", "--rounds-kept", "3"}, "--rounds-kept needs --state-folder: "},
      {{"serve", "--make-folder"}, "--make-folder needs --socket: "},
      {{"conformance", "--actuator", "unix:x", "--drain-and-delete"},
       "--drain-and-delete needs --node: "},
  };
  for (const auto& [args, message] : cases) {
    const Result refused = Ebb(args);
    EXPECT_EQ(refused.exit_code, 2) << message;
    EXPECT_THAT(refused.err, HasSubstr(message));
  }
}

// Symptom: the last of two state files counted, and the first was not made.
TEST_F(CliTest, AFlagThatNamesAFileIsGivenOnce) {
  const Result refused = Plan({"--state", "a.db", "--state", "b.db"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--state is given more than once; pass it once"));
}

// Symptom: it was not read, without a message.
TEST(CommandsOfCommands, DoNotTakeFlagsOfTheCommandAboveThem) {
  const Result refused = Ebb({"serve", "--log", "none", "status", "--server", "unix:x"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err,
              HasSubstr("--log is of `ebb serve`, and `ebb serve status` does not take it"));
}

TEST(UnknownFlags, NameTheCommandThatHasThem) {
  for (const char* const command : {"blockers", "frontier"}) {
    EXPECT_THAT(Ebb({command, "x", "--state", "s.db"}).err,
                HasSubstr("unknown flag --state; rounds belong to `ebb plan --state`"));
    EXPECT_THAT(Ebb({command, "x", "--optimize"}).err,
                HasSubstr("unknown flag --optimize; `ebb plan` has it"));
  }
}

TEST(UnknownCommands, RoundsAreMadeByOthers) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"round", "x"}, {"help", "round"}, {"man", "rounds"}}) {
    const Result refused = Ebb(words);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("`ebb plan --state` makes one round, `ebb run` makes them"));
  }
}

// Symptom: with --what-if no note named the flags that do not count.
TEST_F(CliTest, FlagsThatOnlyRoundsUseAreNotedWithAWhatIf) {
  const std::string file = (dir_ / "w.yaml").string();
  std::ofstream(file) << "options: {max-evictions: 1}\n";
  EXPECT_THAT(
      Plan({"--scale-down-unneeded-time=1m", "--what-if", file}).err,
      HasSubstr("note: these flags have no effect without --state: --scale-down-unneeded-time"));
}

}  // namespace
}  // namespace ebb::cli_test
