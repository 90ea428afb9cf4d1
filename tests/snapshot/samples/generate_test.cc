#include "snapshot/samples/generate.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/load_cluster.h"
#include "tests/support/dump_sink.h"

namespace ebb {
namespace {

// FNV-1a: a figure that any platform can be held to.
uint64_t Digest(const std::vector<std::string>& lines) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string& line : lines) {
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = (hash ^ '\n') * 0x100000001b3u;
  }
  return hash;
}

std::vector<std::string> Mixed(uint32_t nodes, uint64_t seed) {
  testing::DumpSink sink;
  EXPECT_TRUE(GenerateMixed({.nodes = nodes, .seed = seed}, sink).ok());
  return sink.lines();
}

TEST(GenerateTest, TheSameSeedMakesTheSameClusterEverywhere) {
  EXPECT_EQ(Digest(Mixed(100, 1)), 16604945743319145521u);
  testing::DumpSink uniform;
  ASSERT_TRUE(GenerateUniform({.nodes = 10}, uniform).ok());
  EXPECT_EQ(Digest(uniform.lines()), 8697929836240381386u);
}

TEST(GenerateTest, AnotherSeedMakesAnotherCluster) { EXPECT_NE(Mixed(30, 1), Mixed(30, 2)); }

TEST(GenerateTest, AnyNumberOfNodesWorks) {
  for (const uint32_t nodes : {1, 2, 3, 7, 20}) {
    ClusterLoader loader;
    ASSERT_TRUE(GenerateMixed({.nodes = nodes, .seed = 5}, loader).ok());
    const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ(cluster->snapshot.nodes(), nodes + (nodes >= 20 ? 3 : 1));
  }
}

// Most clusters of more than 2,000 nodes named two pods of a DaemonSet alike.
TEST(GenerateTest, NoTwoObjectsShareAName) {
  for (const uint32_t nodes : {30, 300, 1000, 2000, 3500, 5000}) {
    for (uint64_t seed = 1; seed <= (nodes < 2000 ? 20u : 4u); ++seed) {
      ClusterLoader loader;  // Refuses an object that it has.
      const absl::Status made = GenerateMixed({.nodes = nodes, .seed = seed}, loader);
      ASSERT_TRUE(made.ok()) << nodes << " nodes, seed " << seed << ": " << made;
      const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
      ASSERT_TRUE(cluster.ok()) << nodes << " nodes, seed " << seed << ": " << cluster.status();
    }
  }
}

TEST(GenerateTest, ClustersThatWereSoundStayTheSame) {
  EXPECT_EQ(Digest(Mixed(1000, 1)), 4244555029172219278u);
}

TEST(GenerateTest, NoNodeIsOverbooked) {
  ClusterLoader loader;
  ASSERT_TRUE(GenerateMixed({.nodes = 200, .seed = 3}, loader).ok());
  const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const ClusterSnapshot& snapshot = cluster->snapshot;
  for (uint32_t r = 0; r < snapshot.catalog().resources(); ++r) {
    for (uint32_t n = 0; n < snapshot.catalog().nodes(); ++n) {
      EXPECT_GE(snapshot.Free(ResourceId{r}, NodeId{n}), 0)
          << snapshot.catalog().NodeName(NodeId{n}) << " "
          << snapshot.catalog().ResourceName(ResourceId{r});
    }
  }
}

TEST(GenerateTest, WritesTheSameObjectsInEveryForm) {
  const std::vector<std::string> direct = Mixed(40, 9);
  for (const char* form : {"json", "yaml", "pb"}) {
    std::string text;
    const auto append = [&text](std::string_view bytes) {
      text.append(bytes);
      return absl::OkStatus();
    };
    if (std::string_view(form) == "pb") {
      BinarySnapshotWriter writer(append);
      ASSERT_TRUE(GenerateMixed({.nodes = 40, .seed = 9}, writer).ok());
      ASSERT_TRUE(writer.Finish().ok());
    } else {
      ObjectWriter writer(
          std::string_view(form) == "json" ? ObjectFormat::kJsonList : ObjectFormat::kYamlDocuments,
          append);
      ASSERT_TRUE(GenerateMixed({.nodes = 40, .seed = 9}, writer).ok());
      ASSERT_TRUE(writer.Finish().ok());
    }
    testing::DumpSink read;
    ImportStats stats;
    const absl::Status status = ReadBytes(form, text, read, stats);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(read.lines(), direct) << form;
  }
}

}  // namespace
}  // namespace ebb
