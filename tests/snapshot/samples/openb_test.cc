#include "snapshot/samples/openb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/dump_sink.h"

namespace ebb::openb_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kNodesHeader = "sn,cpu_milli,memory_mib,gpu,model\n";
constexpr std::string_view kPodsHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase\n";

class OpenbTest : public ::testing::Test {
 protected:
  OpenbTest() {
    std::string name = (fs::temp_directory_path() / "ebb-openb-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~OpenbTest() override { fs::remove_all(folder_); }

  std::string Import(std::string_view nodes, std::string_view pods, double share = 0,
                     uint64_t seed = 1) {
    std::ofstream(folder_ / "nodes.csv") << nodes;
    std::ofstream(folder_ / "pods.csv") << pods;
    testing::DumpSink sink;
    stats_ = {};
    std::string error(ImportOpenb({(folder_ / "nodes.csv").string(),
                                   (folder_ / "pods.csv").string(), share, seed},
                                  sink, stats_)
                          .message());
    lines_ = sink.lines();
    const size_t at = error.find(folder_.string() + "/");
    if (at != std::string::npos) error.erase(at, folder_.string().size() + 1);
    return error;
  }

  // Pod -> node, from the last import.
  std::map<std::string, std::string> Placement() const {
    std::map<std::string, std::string> placement;
    for (const std::string& line : lines_) {
      if (!line.starts_with("Pod ")) continue;
      placement[Between(line, " name=[")] = Between(line, " node=[");
    }
    return placement;
  }
  static std::string Between(const std::string& line, const std::string& start) {
    const size_t at = line.find(start) + start.size();
    return line.substr(at, line.find(']', at) - at);
  }

  fs::path folder_;
  std::vector<std::string> lines_;
  OpenbStats stats_;
};

TEST_F(OpenbTest, NodesAndPodsBecomeTheirObjects) {
  EXPECT_EQ(Import(std::string(kNodesHeader) + "n1,4000,1024,2,V100\r\nn2,2000,512,0,\n",
                   std::string(kPodsHeader) + "p1,1000,256,1,1000,V100|T4,LS,Running\n"),
            "");
  EXPECT_THAT(
      lines_,
      ElementsAre(
          "Node name=[n1] uid=[n-n1] label=[kubernetes.io/hostname]:[n1] "
          "label=[kubernetes.io/os]:[linux] label=[nodegroup]:[ng-V100] label=[gpu-model]:[V100] "
          "created=1767225600 provider=[n1] allocatable=[cpu]:4000 allocatable=[memory]:1073741824 "
          "allocatable=[pods]:110 allocatable=[nvidia.com/gpu]:2 capacity=[cpu]:4000 "
          "capacity=[memory]:1073741824 capacity=[pods]:110 capacity=[nvidia.com/gpu]:2 "
          "condition=[Ready] is=[True]",
          "Node name=[n2] uid=[n-n2] label=[kubernetes.io/hostname]:[n2] "
          "label=[kubernetes.io/os]:[linux] label=[nodegroup]:[ng-cpu] label=[gpu-model]:[none] "
          "created=1767225600 provider=[n2] allocatable=[cpu]:2000 allocatable=[memory]:536870912 "
          "allocatable=[pods]:110 capacity=[cpu]:2000 capacity=[memory]:536870912 "
          "capacity=[pods]:110 condition=[Ready] is=[True]",
          "Pod name=[p1] namespace=[default] uid=[p-default-p1] label=[app]:[p1] owner=( "
          "api=[apps/v1] kind=[ReplicaSet] name=[rs-p1] uid=[o-default-rs-p1] controller=true) "
          "created=1767312000 node=[n1] node_affinity=terms term=( expressions=( key=[gpu-model] "
          "op=[In] values=[V100] values=[T4])) container=( name=[c] requests=[cpu]:1000 "
          "requests=[memory]:268435456 requests=[nvidia.com/gpu]:1) phase=[Running]",
          "Controller kind=1 name=[rs-p1] namespace=[default] uid=[o-default-rs-p1] wanted=1 "
          "present=1"));
}

TEST_F(OpenbTest, PodsGoWhereTheyFitAndAreAllowed) {
  ASSERT_EQ(Import(std::string(kNodesHeader) +
                       "cpu,10000,10000,0,\nv100,10000,10000,1,V100\nt4,10000,10000,1,T4\n",
                   std::string(kPodsHeader) + "wants-t4,1000,1000,1,1000,T4,LS,Running\n"
                                              "wants-any,1000,1000,1,1000,,LS,Running\n"
                                              "wants-a100,1000,1000,1,1000,A100,LS,Running\n"
                                              "too-large,11000,1,0,0,,LS,Running\n"
                                              "too-much-memory,1,11000,0,0,,LS,Running\n"
                                              "two-gpus,1,1,2,0,,LS,Running\n"
                                              "needs-cpu,9000,1000,0,0,,LS,Running\n"),
            "");
  const auto placement = Placement();
  EXPECT_EQ(placement.at("needs-cpu"), "cpu") << "it would take the last 30% of a GPU node";
  EXPECT_EQ(placement.count("wants-a100"), 0u);
  EXPECT_EQ(placement.count("too-large"), 0u);
  EXPECT_EQ(placement.count("too-much-memory"), 0u);
  EXPECT_EQ(placement.count("two-gpus"), 0u);
  if (placement.count("wants-t4") != 0) {
    EXPECT_EQ(placement.at("wants-t4"), "t4");
  }
  EXPECT_EQ(stats_.nodes, 3u);
  EXPECT_EQ(stats_.pods, 7u);
  EXPECT_EQ(stats_.placed, placement.size());
}

TEST_F(OpenbTest, TheLeastAllocatedNodeIsTaken) {
  std::string pods(kPodsHeader);
  for (int i = 0; i < 40; ++i) pods += "p" + std::to_string(i) + ",100,100,0,0,,LS,Running\n";
  ASSERT_EQ(
      Import(std::string(kNodesHeader) + "small,10000,10000,0,\nlarge,30000,30000,0,\n", pods), "");
  std::map<std::string, int> count;
  for (const auto& [pod, node] : Placement()) ++count[node];
  EXPECT_EQ(count["small"], 10);
  EXPECT_EQ(count["large"], 30);
}

TEST_F(OpenbTest, TheGivenShareHasEndedExactly) {
  std::string pods(kPodsHeader);
  for (int i = 0; i < 100; ++i) pods += "p" + std::to_string(i) + ",1,1,0,0,,LS,Running\n";
  const std::string nodes = std::string(kNodesHeader) + "n,1000,1000,0,\n";
  for (const int percent : {0, 1, 37, 50, 100}) {
    ASSERT_EQ(Import(nodes, pods, percent / 100.0), "");
    EXPECT_EQ(stats_.ended, static_cast<uint64_t>(percent));
    EXPECT_EQ(Placement().size(), static_cast<size_t>(100 - percent));
  }
}

TEST_F(OpenbTest, TheSeedDecidesAndNothingElse) {
  std::string pods(kPodsHeader);
  for (int i = 0; i < 60; ++i) pods += "p" + std::to_string(i) + ",100,1,0,0,,LS,Running\n";
  const std::string nodes = std::string(kNodesHeader) + "a,1000,1000,0,\nb,1700,1000,0,\n";
  ASSERT_EQ(Import(nodes, pods, 0.5, 7), "");
  const std::vector<std::string> first = lines_;
  ASSERT_EQ(Import(nodes, pods, 0.5, 7), "");
  EXPECT_EQ(lines_, first);
  ASSERT_EQ(Import(nodes, pods, 0.5, 8), "");
  EXPECT_NE(lines_, first);
}

TEST_F(OpenbTest, ErrorsNameFileLineAndColumn) {
  const std::string nodes = std::string(kNodesHeader) + "n,1000,1000,0,\n";
  const std::string pods = std::string(kPodsHeader) + "p,1,1,0,0,,LS,Running\n";
  EXPECT_EQ(Import(nodes + "m,x4,1000,0,\n", pods),
            "nodes.csv: line 3, column cpu_milli: \"x4\" is not a whole number");
  EXPECT_EQ(Import(nodes + "m,0,1000,0,\n", pods),
            "nodes.csv: line 3, column cpu_milli: \"0\" is not between 1 and 1000000000");
  EXPECT_EQ(Import(nodes, pods + "\nq,1,-5,0,0,,LS,Running\n"),
            "pods.csv: line 4, column memory_mib: \"-5\" is not between 0 and 4294967296");
  EXPECT_EQ(Import(nodes, pods + "q,1,99999999999999999999,0,0,,LS,Running\n"),
            "pods.csv: line 3, column memory_mib: \"99999999999999999999\" is not a whole number");
  EXPECT_EQ(Import(nodes + "m,1,2\n", pods),
            "nodes.csv: line 3: has 3 fields where line 1 names 5");
  EXPECT_EQ(Import(nodes + ",1,2,3,\n", pods), "nodes.csv: line 3, column sn: is empty");
  EXPECT_EQ(Import("sn,cpu_milli,memory_mib,gpu\n", pods), "nodes.csv: has no column model");
  EXPECT_EQ(Import("", pods), "nodes.csv: is empty");
  EXPECT_EQ(Import(nodes, pods, 1.5), "the share of ended pods must lie between 0 and 1");
  testing::DumpSink sink;
  EXPECT_THAT(
      std::string(
          ImportOpenb({(folder_ / "none.csv").string(), "x", 0, 1}, sink, stats_).message()),
      HasSubstr("none.csv: No such file or directory"));
}

TEST_F(OpenbTest, TheFirstOfEqualNodesIsTaken) {
  ASSERT_EQ(Import(std::string(kNodesHeader) + "b,1000,1000,0,\na,1000,1000,0,\n",
                   std::string(kPodsHeader) + "p,100,100,0,0,,LS,Running\n"),
            "");
  EXPECT_EQ(Placement().at("p"), "b");
}

TEST_F(OpenbTest, ANodeTakes105Pods) {
  std::string pods(kPodsHeader);
  for (int i = 0; i < 106; ++i) pods += "p" + std::to_string(i) + ",1,1,0,0,,LS,Running\n";
  ASSERT_EQ(Import(std::string(kNodesHeader) + "n,1000,1000,0,\n", pods), "");
  EXPECT_EQ(stats_.pods, 106u);
  EXPECT_EQ(stats_.placed, 105u);
  EXPECT_EQ(stats_.ended, 0u);
  EXPECT_EQ(Placement().size(), 105u);
}

TEST_F(OpenbTest, APodTakesANodeToItsLastUnit) {
  const auto placed = [&](std::string_view node, std::string_view pods) {
    EXPECT_EQ(Import(std::string(kNodesHeader) + std::string(node),
                     std::string(kPodsHeader) + std::string(pods)),
              "");
    return stats_.placed;
  };
  EXPECT_EQ(placed("n,1000,100,0,\n", "p,1000,100,0,0,,LS,Running\n"), 1u);
  EXPECT_EQ(placed("n,1000,100,0,\n", "p,1001,100,0,0,,LS,Running\n"), 0u);
  EXPECT_EQ(placed("n,1000,100,0,\n", "p,1000,101,0,0,,LS,Running\n"), 0u);
  // Pods without GPUs may not use the last 30% of a GPU node's cpu.
  EXPECT_EQ(placed("n,10000,100,2,T4\n", "p,7000,1,0,0,,LS,Running\n"), 1u);
  EXPECT_EQ(placed("n,10000,100,2,T4\n", "p,7001,1,0,0,,LS,Running\n"), 0u);
  EXPECT_EQ(placed("n,10000,100,2,T4\n", "p,10000,1,1,1000,,LS,Running\n"), 1u);
  // The requests of several pods add up.
  EXPECT_EQ(placed("n,10000,100,2,T4\n",
                   "p,1,1,1,0,,LS,Running\nq,1,1,1,0,,LS,Running\nr,1,1,1,0,,LS,Running\n"),
            2u);
  EXPECT_EQ(placed("n,1000,100,0,\n", "p,600,1,0,0,,LS,Running\nq,600,1,0,0,,LS,Running\n"), 1u);
  EXPECT_EQ(placed("n,1000,100,0,\n", "p,1,60,0,0,,LS,Running\nq,1,60,0,0,,LS,Running\n"), 1u);
}

TEST_F(OpenbTest, ColumnsAreFoundByNameAndEmptyFieldsAreZero) {
  ASSERT_EQ(Import("model,x,gpu,memory_mib,sn,cpu_milli\nT4,?,,512,n,2000\n",
                   "x,gpu_spec,num_gpu,memory_mib,cpu_milli,name\n?,|T4|,,,,p\n\n"),
            "");
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_THAT(lines_[0], HasSubstr(" allocatable=[cpu]:2000 allocatable=[memory]:536870912 "
                                   "allocatable=[pods]:110 capacity="));
  EXPECT_THAT(lines_[1], HasSubstr(" op=[In] values=[T4]))"));
  EXPECT_THAT(lines_[1], HasSubstr(" requests=[cpu]:0 requests=[memory]:0)"));
}

TEST_F(OpenbTest, TheShareThatHasEndedIsRoundedToThePod) {
  const std::string nodes = std::string(kNodesHeader) + "n,1000,1000,0,\n";
  std::string pods(kPodsHeader);
  for (const char* name : {"a", "b", "c"}) pods += std::string(name) + ",1,1,0,0,,LS,Running\n";
  for (const auto& [share, ended] : std::vector<std::pair<double, uint64_t>>{
           {0.16, 0}, {0.17, 1}, {0.49, 1}, {0.5, 2}, {1, 3}}) {
    ASSERT_EQ(Import(nodes, pods, share), "");
    EXPECT_EQ(stats_.placed, 3u);
    EXPECT_EQ(stats_.ended, ended) << share;
    EXPECT_EQ(Placement().size(), 3 - ended) << share;
  }
  EXPECT_EQ(Import(nodes, pods, -0.1), "the share of ended pods must lie between 0 and 1");
}

TEST_F(OpenbTest, TheFirstOfSeveralErrorsIsReturned) {
  const std::string nodes = std::string(kNodesHeader) + "n,1000,1000,0,\n";
  const std::string pods = std::string(kPodsHeader) + "p,1,1,0,0,,LS,Running\n";
  EXPECT_EQ(Import("x\n1\n", pods), "nodes.csv: has no column sn");
  EXPECT_EQ(Import(nodes, "name\np\n"), "pods.csv: has no column cpu_milli");
  EXPECT_EQ(Import(nodes + "m,x4,y5,0,\n,z,1,1,\n", pods),
            "nodes.csv: line 3, column cpu_milli: \"x4\" is not a whole number");
  EXPECT_EQ(Import(nodes + ",x4,1,0,\n", pods), "nodes.csv: line 3, column sn: is empty");
  EXPECT_EQ(Import(nodes, pods + "q,a,b,0,0,,LS,Running\n"),
            "pods.csv: line 3, column cpu_milli: \"a\" is not a whole number");
}

TEST_F(OpenbTest, AmountsHaveBounds) {
  const auto node = [&](const std::string& row) {
    return Import(std::string(kNodesHeader) + row,
                  std::string(kPodsHeader) + "p,1,1,0,0,,LS,Running\n");
  };
  EXPECT_EQ(node("n,1000000000,4294967296,100000,\n"), "");
  EXPECT_EQ(node("n,1,1,0,\n"), "");
  EXPECT_EQ(node("n,1000000001,1,0,\n"),
            "nodes.csv: line 2, column cpu_milli: \"1000000001\" is not between 1 and 1000000000");
  EXPECT_EQ(node("n,1,4294967297,0,\n"),
            "nodes.csv: line 2, column memory_mib: \"4294967297\" is not between 1 and 4294967296");
  EXPECT_EQ(node("n,1,0,0,\n"),
            "nodes.csv: line 2, column memory_mib: \"0\" is not between 1 and 4294967296");
  EXPECT_EQ(node("n,1,1,100001,\n"),
            "nodes.csv: line 2, column gpu: \"100001\" is not between 0 and 100000");
  EXPECT_EQ(node("n,1,1,-1,\n"),
            "nodes.csv: line 2, column gpu: \"-1\" is not between 0 and 100000");
  EXPECT_EQ(node("n,1.5,1,0,\n"),
            "nodes.csv: line 2, column cpu_milli: \"1.5\" is not a whole number");
}

TEST_F(OpenbTest, AnErrorOfTheSinkNamesTheLine) {
  class Full final : public testing::DumpSink {
   public:
    explicit Full(std::string_view kind) : kind_(kind) {}
    absl::Status OnNode(const objects::Node& node) override {
      return node.meta.name == "m" && kind_ == "Node" ? Refusal() : absl::OkStatus();
    }
    absl::Status OnPod(const objects::Pod&) override {
      return kind_ == "Pod" ? Refusal() : absl::OkStatus();
    }
    absl::Status OnController(const objects::Controller&) override {
      return kind_ == "Controller" ? Refusal() : absl::OkStatus();
    }

   private:
    static absl::Status Refusal() { return absl::ResourceExhaustedError("full"); }
    const std::string_view kind_;
  };
  std::ofstream(folder_ / "n.csv") << kNodesHeader << "\nn,1000,1000,0,\nm,1000,1000,0,\n";
  std::ofstream(folder_ / "p.csv") << kPodsHeader << "p,1,1,0,0,,LS,Running\n";
  const std::string folder = folder_.string() + "/";
  for (const auto& [kind, where] :
       std::map<std::string_view, std::string>{{"Node", "n.csv: line 4: full"},
                                               {"Pod", "p.csv: line 2: full"},
                                               {"Controller", "p.csv: line 2: full"}}) {
    Full sink(kind);
    const absl::Status status =
        ImportOpenb({folder + "n.csv", folder + "p.csv", 0, 1}, sink, stats_);
    EXPECT_EQ(status.message(), folder + where);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST_F(OpenbTest, PodsComeInAnOrderThatTheSeedDecides) {
  std::string pods(kPodsHeader);
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    pods += std::string(name) + ",1000,1,0,0,,LS,Running\n";
  }
  std::map<std::string, int> first;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    ASSERT_EQ(Import(std::string(kNodesHeader) + "n,1000,1000,0,\n", pods, 0, seed), "");
    ASSERT_EQ(stats_.placed, 1u);
    ++first[Placement().begin()->first];
  }
  EXPECT_EQ(first.size(), 5u) << "each came first sometimes";
}

TEST_F(OpenbTest, RunningPodsKeepTheirOrderAndAnyPodMayEnd) {
  const auto names = [this] {
    std::vector<std::string> all;
    for (const std::string& line : lines_) {
      if (line.starts_with("Pod ")) all.push_back(Between(line, " name=["));
    }
    return all;
  };
  const std::string nodes = std::string(kNodesHeader) + "n,1000,1000,0,\n";
  std::string pods(kPodsHeader);
  for (int i = 0; i < 6; ++i) pods += "p" + std::to_string(i) + ",1,1,0,0,,LS,Running\n";
  std::map<size_t, int> ended;  // Position in the order of arrival -> how often that pod ended.
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    ASSERT_EQ(Import(nodes, pods, 0, seed), "");
    const std::vector<std::string> came = names();
    ASSERT_EQ(Import(nodes, pods, 0.5, seed), "");
    const std::vector<std::string> running = names();
    ASSERT_EQ(running.size(), 3u);
    size_t next = 0;
    for (size_t i = 0; i < came.size(); ++i) {
      if (next < running.size() && running[next] == came[i]) {
        ++next;
      } else {
        ++ended[i];
      }
    }
    ASSERT_EQ(next, 3u) << "in the order in which they came";
  }
  EXPECT_EQ(ended.size(), 6u);
}

TEST_F(OpenbTest, AFileOfEmptyLinesIsEmpty) {
  const std::string pods = std::string(kPodsHeader) + "p,1,1,0,0,,LS,Running\n";
  EXPECT_EQ(Import("\n\r\n\n", pods), "nodes.csv: is empty");
  EXPECT_EQ(Import(std::string(kNodesHeader) + "n,1000,1000,0,\n", "\n"), "pods.csv: is empty");
}

}  // namespace
}  // namespace ebb::openb_test
