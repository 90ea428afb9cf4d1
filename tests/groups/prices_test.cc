#include "groups/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::prices_test {
namespace {

using test::Cluster;
using test::Node;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Machine(std::string_view name, std::string_view type, std::string_view zone,
             std::string_view capacity) {
  return Node(name)
      .Label("node.kubernetes.io/instance-type", type)
      .Label("topology.kubernetes.io/zone", zone)
      .Label("karpenter.sh/capacity-type", capacity);
}

ClusterSnapshot Machines() {
  return Cluster()
      .Add(Machine("a", "m4", "z1", "on-demand"))
      .Add(Machine("b", "m4", "z1", "spot"))
      .Add(Machine("c", "m4", "z2", "spot"))
      .Add(Machine("d", "m8", "z1", "on-demand"))
      .Add(Node("e"))
      .Build();
}

std::string ErrorOf(const std::string& text, const std::string& name = "p.yaml") {
  const absl::StatusOr<PriceList> list = ParsePrices(name, text);
  return list.ok() ? "" : std::string(list.status().message());
}

TEST(PricesTest, ThePriceThatNamesMostCounts) {
  const absl::StatusOr<PriceList> list = ParsePrices("p.yaml", R"(
currency: EUR
prices:
- {instanceType: m4, hourly: 0.4}
- {instanceType: m4, capacityType: spot, hourly: 0.2}
- {instanceType: m4, capacityType: spot, zone: z2, hourly: 0.1}
- {instanceType: m8, hourly: 0.8}
default: 0.05
)");
  ASSERT_TRUE(list.ok()) << list.status();
  const absl::StatusOr<NodePrices> prices = PriceNodes(Machines().catalog(), *list);
  ASSERT_TRUE(prices.ok()) << prices.status();
  EXPECT_EQ(prices->currency, "EUR");
  EXPECT_THAT(prices->hourly, ElementsAre(0.4, 0.2, 0.1, 0.8, 0.05));
}

TEST(PricesTest, CsvGivesTheSamePrices) {
  const absl::StatusOr<PriceList> list = ParsePrices("p.csv",
                                                     "hourly,instance_type, zone ,capacity_type\r\n"
                                                     "0.4,m4,,\n\n"
                                                     "0.2,m4,,spot\n"
                                                     "0.1,m4,z2,spot\n"
                                                     "0.8,m8,,\n"
                                                     "0.05,,,\n");
  ASSERT_TRUE(list.ok()) << list.status();
  const absl::StatusOr<NodePrices> prices = PriceNodes(Machines().catalog(), *list);
  ASSERT_TRUE(prices.ok()) << prices.status();
  EXPECT_THAT(prices->hourly, ElementsAre(0.4, 0.2, 0.1, 0.8, 0.05));
}

// As spreadsheets write it: a byte order mark, quotes, quotes in quotes.
TEST(PricesTest, CellsOfCsvMayBeQuoted) {
  const absl::StatusOr<PriceList> list =
      ParsePrices("p.csv",
                  "\xef\xbb\xbf\"instance_type\",hourly, \"zone\"\r\n"
                  "\"m4\" , \"0.5\",\"a, \"\"b\"\"\"\r\n"
                  "\"\",0.25,\"\"\n");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->prices.size(), 1);
  EXPECT_EQ(list->prices[0].instance_type, "m4");
  EXPECT_EQ(list->prices[0].zone, "a, \"b\"");
  EXPECT_EQ(list->prices[0].hourly, 0.5);
  EXPECT_EQ(list->fallback, 0.25);
}

TEST(PricesTest, TheFirstOfEquallySpecificPricesCounts) {
  const absl::StatusOr<PriceList> list = ParsePrices(
      "p.yaml", "{prices: [{zone: z1, hourly: 2}, {instanceType: m4, hourly: 3}], default: 1}");
  ASSERT_TRUE(list.ok()) << list.status();
  const absl::StatusOr<NodePrices> prices = PriceNodes(Machines().catalog(), *list);
  ASSERT_TRUE(prices.ok()) << prices.status();
  EXPECT_THAT(prices->hourly, ElementsAre(2, 2, 3, 2, 1));
}

TEST(PricesTest, NodesWithoutAPriceAreNamedByTheirKind) {
  const absl::StatusOr<PriceList> list =
      ParsePrices("p.yaml", "prices: [{instanceType: m4, capacityType: spot, hourly: 1}]");
  ASSERT_TRUE(list.ok()) << list.status();
  const absl::StatusOr<NodePrices> prices = PriceNodes(Machines().catalog(), *list);
  EXPECT_EQ(prices.status().message(),
            "p.yaml: has no price for these kinds of nodes: m4 in z1, on-demand (1 node); m8 in "
            "z1, on-demand (1 node); no instance type (1 node); see default");
}

TEST(PricesTest, ErrorsNameTheField) {
  EXPECT_EQ(ErrorOf("prices: [{instanceType: m4, hourly: -1}]"),
            "p.yaml: prices[0].hourly: -1 is below 0");
  EXPECT_EQ(ErrorOf("prices: [{instanceType: m4, hourly: 2000000}]"),
            "p.yaml: prices[0].hourly: 2000000 is above 1000000");
  EXPECT_EQ(ErrorOf("prices: [{instanceType: m4, hourly: .nan}]"),
            "p.yaml: prices[0].hourly: \".nan\" is not a number");
  EXPECT_EQ(ErrorOf("prices: [{instanceType: m4}]"), "p.yaml: prices[0].hourly: is required");
  EXPECT_THAT(ErrorOf("prices: [{hourly: 1}]"), HasSubstr("prices[0]: has no instanceType"));
  EXPECT_EQ(ErrorOf("prices: [{instancetype: m4, hourly: 1}]"),
            "p.yaml: prices[0].instancetype: no such field; did you mean instanceType? The fields "
            "here are "
            "capacityType, hourly, instanceType, zone");
  EXPECT_EQ(ErrorOf("prices: [{zone: z, hourly: 1}, {zone: z, hourly: 2}]"),
            "p.yaml: two prices of no instance type in z");
  EXPECT_EQ(ErrorOf("currency: USD"), "p.yaml: prices: is required");
  EXPECT_EQ(ErrorOf("prices: {}"), "p.yaml: prices: is not a list");
  EXPECT_EQ(ErrorOf("default: free"), "p.yaml: default: \"free\" is not a number");
}

TEST(PricesTest, ErrorsOfCsvNameTheLine) {
  const auto error = [](const std::string& text) { return ErrorOf(text, "p.csv"); };
  EXPECT_EQ(error(""), "p.csv: is empty");
  EXPECT_EQ(error("instance_type,price\n"),
            "p.csv: line 1: price: no such field; the fields here are instance_type, zone, "
            "capacity_type, "
            "hourly");
  EXPECT_EQ(error("zone,zone,hourly\n"), "p.csv: line 1: names a column twice");
  EXPECT_EQ(error("zone\nz\n"), "p.csv: line 1: has no column hourly");
  EXPECT_EQ(error("zone,hourly\nz\n"),
            "p.csv: line 2: has 1 cell, and the first line names 2 columns");
  EXPECT_EQ(error("zone,hourly\nz,-0.5\n"), "p.csv: line 2: hourly: -0.5 is below 0");
  EXPECT_EQ(error("zone,hourly\nz,inf\n"), "p.csv: line 2: hourly: \"inf\" is not a number");
  EXPECT_EQ(error("zone,hourly\nz,0x10\n"), "p.csv: line 2: hourly: \"0x10\" is not a number");
  for (const char* const open : {"\"z,1", "\"z\"x,1", "z,\"1"}) {
    EXPECT_EQ(error(absl::StrCat("zone,hourly\n", open, "\n")),
              "p.csv: line 2: has a quote that is not closed by its cell")
        << open;
  }
  EXPECT_EQ(ErrorOf("zone,hourly\nz,1\n", "p.txt"),
            "p.txt: looks like CSV, which is read from files that end in .csv");
  EXPECT_EQ(error("zone,hourly\n,1\n,2\n"), "p.csv: line 3: is a second price of all other nodes");
}

TEST(PricesTest, MoneyIsRoundedToCents) {
  EXPECT_EQ(MoneyText(1234.567, "USD"), "1,234.57 USD");
  EXPECT_EQ(MoneyText(-0.5, ""), "-0.50");
  EXPECT_EQ(MoneyText(-0.001, "EUR"), "0.00 EUR");
}

}  // namespace
}  // namespace ebb::prices_test
