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

  // Pod -> node of the last import.
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

}  // namespace
}  // namespace ebb::openb_test
