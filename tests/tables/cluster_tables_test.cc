#include "tables/cluster_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "groups/groups.h"
#include "snapshot/samples/generate.h"

namespace ebb::cluster_tables_test {
namespace {

using ::testing::HasSubstr;

LoadedCluster Company() {
  const samples::Kind* company = nullptr;
  for (const samples::Kind& kind : samples::Kinds()) {
    if (kind.name == "company") company = &kind;
  }
  ClusterLoader loader;
  EXPECT_TRUE(samples::GenerateDump(*company, {.nodes = 20, .seed = 1}, loader).ok());
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *std::move(cluster);
}

int64_t Sum(const ColumnTable& table, std::string_view name) {
  int64_t sum = 0;
  for (const TableColumn& column : table.columns()) {
    if (column.spec().name != name) continue;
    const auto* const values = static_cast<const int64_t*>(column.Buffers()[1]);
    for (size_t row = 0; row < column.rows(); ++row) sum += values[row];
  }
  return sum;
}

TEST(ClusterTablesTest, TheTablesAgreeAboutTheCluster) {
  const LoadedCluster cluster = Company();
  const NodeGroups groups = AssignGroups(cluster.snapshot.catalog(), {});
  const auto clusters = ClusterTableOf("clusters", cluster, groups);
  const auto nodes = ClusterTableOf("nodes", cluster, groups);
  const auto pods = ClusterTableOf("pods", cluster, groups);
  ASSERT_TRUE(clusters.ok() && nodes.ok() && pods.ok());
  EXPECT_EQ(clusters->rows(), 1u);
  EXPECT_EQ(nodes->rows(), cluster.snapshot.nodes());
  EXPECT_EQ(Sum(*clusters, "nodes"), static_cast<int64_t>(nodes->rows()));
  EXPECT_EQ(Sum(*clusters, "pods"), Sum(*nodes, "pods"));
  EXPECT_GT(Sum(*nodes, "cpu_requested_milli"), 0);
  for (const char* const amount :
       {"cpu_allocatable_milli", "memory_allocatable_bytes", "cpu_requested_milli"}) {
    EXPECT_EQ(Sum(*clusters, amount), Sum(*nodes, amount)) << amount;
  }
  // Pods without a node are rows too.
  EXPECT_GE(pods->rows(), static_cast<size_t>(Sum(*clusters, "pods")));
  EXPECT_GE(Sum(*pods, "cpu_requested_milli"), Sum(*nodes, "cpu_requested_milli"));
}

TEST(ClusterTablesTest, RejectsAnUnknownTable) {
  const LoadedCluster cluster = Company();
  const auto table = ClusterTableOf("moves", cluster, {});
  EXPECT_THAT(std::string(table.status().message()),
              HasSubstr("expected one of clusters, nodes, pods"));
}

}  // namespace
}  // namespace ebb::cluster_tables_test
