#include "groups/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
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
  EXPECT_THAT(ErrorOf("prices: [{hourly: 1}]"),
              HasSubstr("prices[0]: has no instanceType, region, zone"));
  EXPECT_EQ(ErrorOf("prices: [{instancetype: m4, hourly: 1}]"),
            "p.yaml: prices[0].instancetype: no such field; did you mean instanceType? The fields "
            "here are "
            "capacityType, hourly, hourlyPerGib, instanceType, region, zone");
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
            "p.csv: line 1: price: no such field; the fields here are instance_type, region, zone, "
            "capacity_type, currency, hourly");
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

std::optional<double> PriceOf(const PriceList& list, std::string_view type,
                              std::string_view region = "", const std::string& capacity = "",
                              int64_t gpus = 0) {
  NodeFacts facts;
  facts.instance_type = type;
  facts.region = region;
  facts.capacity_type = capacity;
  facts.allocatable.gpus = gpus;
  const std::optional<PriceOfNode> price = PriceFor(facts, list);
  return price ? std::optional(RoundedAmount(price->hourly)) : std::nullopt;
}

PriceList Parsed(const std::string& text, const std::string& name = "p.yaml") {
  absl::StatusOr<PriceList> list = ParsePrices(name, text);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *std::move(list) : PriceList();
}

TEST(PricesTest, AStarStandsForASizeOrANumber) {
  const PriceList list = Parsed(R"(
types: {m5.*: 0.2, n2-standard-*: 0.05, Standard_D*s_v5: 0.048, m5.large: 0.09}
prices: [{instanceType: n2-custom-*-*, hourly: 1, hourlyPerGib: 0.5}]
)");
  EXPECT_EQ(PriceOf(list, "m5.xlarge"), 0.2);
  EXPECT_EQ(PriceOf(list, "m5.large"), 0.09);  // Before the family's.
  EXPECT_EQ(PriceOf(list, "m5.medium"), 0.05);
  EXPECT_EQ(PriceOf(list, "m5.24xlarge"), 4.8);
  EXPECT_EQ(PriceOf(list, "m5.metal-24xl"), 4.8);
  EXPECT_EQ(PriceOf(list, "n2-standard-8"), 0.4);
  EXPECT_EQ(PriceOf(list, "Standard_D16s_v5"), 0.768);
  EXPECT_EQ(PriceOf(list, "n2-custom-4-2048"), 5);
  for (const char* const other :
       {"m5.metal", "m5.huge", "m5.", "m5", "n2-standard-", "n2-standard-x", "n2-standard-8-lssd",
        "Standard_D16ds_v5", "Standard_Ds_v5", "n2-custom-4", "n2-custom-4-", "n2-custom-4-8x",
        "n2-standard-99999999999999999999"}) {
    EXPECT_EQ(PriceOf(list, other), std::nullopt) << other;
  }
}

TEST(PricesTest, RulesApplyToPricesThatNameNoCapacityType) {
  const PriceList list = Parsed(R"(
spot: 0.35
discount: 0.2
regions: {eu: 1.5}
prices:
- {instanceType: a, hourly: 1}
- {instanceType: a, region: us, hourly: 2}
- {instanceType: b, capacityType: spot, hourly: 0.5}
)");
  EXPECT_EQ(PriceOf(list, "a"), 0.8);
  EXPECT_EQ(PriceOf(list, "a", "", "spot"), 0.35);
  EXPECT_EQ(PriceOf(list, "a", "", "preemptible"), 0.35);
  EXPECT_EQ(PriceOf(list, "a", "eu", "spot"), 0.525);
  EXPECT_EQ(PriceOf(list, "a", "us"), 1.6);  // A price of a region takes no factor.
  EXPECT_EQ(PriceOf(list, "b", "eu", "spot"), 0.75);
  EXPECT_EQ(PriceOf(list, "b", "eu"), std::nullopt);
}

TEST(PricesTest, TheCatalogueKnowsCommonTypesOfThreeClouds) {
  const PriceList& list = BuiltinPrices();
  EXPECT_EQ(PriceOf(list, "m5.large", "us-east-1"), 0.096);
  EXPECT_EQ(PriceOf(list, "c5.9xlarge", "us-east-1"), 1.53);
  EXPECT_EQ(PriceOf(list, "n2-standard-8", "us-central1"), 0.388472);
  EXPECT_EQ(PriceOf(list, "Standard_D4s_v5", "eastus"), 0.192);
  EXPECT_EQ(PriceOf(list, "m5.large", "eu-central-1"), 0.1152);
  EXPECT_EQ(PriceOf(list, "m5.large", "us-east-1", "spot"), 0.0336);
  EXPECT_EQ(PriceOf(list, "x99.large"), std::nullopt);
  EXPECT_EQ(list.as_of.size(), 10U);
  EXPECT_EQ(list.currency, "USD");
}

TEST(PricesTest, AFilePrecedesTheCatalogue) {
  const PriceList list = Parsed("{base: builtin, discount: 0.5, types: {m5.large: 1}, default: 9}");
  EXPECT_EQ(PriceOf(list, "m5.large"), 0.5);
  EXPECT_EQ(PriceOf(list, "m5.xlarge"), 0.096);
  EXPECT_EQ(PriceOf(list, "x99.large"), 4.5);  // The default comes last.
  // The GPUs of GKE's n1 machines are not in the price of the type.
  EXPECT_EQ(PriceOf(list, "n1-standard-4"), 0.095);
  EXPECT_EQ(PriceOf(list, "n1-standard-4", "", "", 1), 4.5);
}

TEST(PricesTest, NodesThatTheCatalogueDoesNotKnowAreCounted) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Machine("a", "m5.large", "us-east-1a", "spot"))
                                       .Add(Machine("b", "m5.large", "mars-1a", "on-demand"))
                                       .Add(Machine("c", "x99", "us-east-1a", "spot"))
                                       .Build();
  PriceList list = Parsed("base: builtin");
  list.rules.discount = 0.5;
  const absl::StatusOr<NodePrices> prices = PriceNodes(snapshot.catalog(), list);
  ASSERT_TRUE(prices.ok()) << prices.status();
  EXPECT_THAT(prices->hourly, ElementsAre(DoubleEq(0.096 * 0.35), DoubleEq(0.048), DoubleEq(0)));
  EXPECT_TRUE(prices->Knows(NodeId{1}));
  EXPECT_FALSE(prices->Knows(NodeId{2}));
  EXPECT_EQ(TallyText(prices->without), "x99 in us-east-1a, spot (1 node)");
  EXPECT_EQ(TallyText(prices->regions_without_factor), "mars-1 (1 node)");
  EXPECT_EQ(prices->currency, "USD");
  EXPECT_EQ(PriceWords(*prices),
            "Prices are approximate list prices of " + BuiltinPrices().as_of +
                " from the built-in catalogue. The price of 1 node is unknown and counts as 0. "
                "Spot nodes count as 0.35 of the price on demand. A "
                "discount of 50.0% is taken off the others.");
}

TEST(PricesTest, TwoCurrenciesAreNamed) {
  EXPECT_EQ(ErrorOf("{base: builtin, currency: EUR}"),
            "p.yaml: currency: is EUR, and the built-in prices are in USD; expected one currency");
  EXPECT_EQ(ErrorOf("zone,hourly,currency\nz,1,USD\ny,1,\nx,1,EUR\n", "p.csv"),
            "p.csv: line 4: currency: EUR is a second currency, after USD; expected one");
}

TEST(PricesTest, ErrorsOfRulesNameTheField) {
  EXPECT_EQ(ErrorOf("{default: 1, spot: 1.5}"),
            "p.yaml: spot: \"1.5\" is not a number from 0 to 1");
  EXPECT_EQ(ErrorOf("{default: 1, discount: x}"),
            "p.yaml: discount: \"x\" is not a number from 0 to 1");
  EXPECT_EQ(ErrorOf("{default: 1, base: mine}"), "p.yaml: base: \"mine\" is not builtin");
  EXPECT_EQ(ErrorOf("{default: 1, regions: {eu: -1}}"), "p.yaml: regions.eu: -1 is below 0");
  EXPECT_EQ(ErrorOf("types: {a: x}"), "p.yaml: types.a: \"x\" is not a number");
  EXPECT_EQ(ErrorOf("prices: [{instanceType: a*b*c*, hourly: 1}]"),
            "p.yaml: prices[0].instanceType: has more than two stars");
  PriceRules rules;
  EXPECT_EQ(ReadPriceRule("spot=0.5", rules), "");
  EXPECT_EQ(rules.spot, 0.5);
  EXPECT_EQ(ReadPriceRule("half=0.5", rules),
            "\"half=0.5\" is not a rule; expected spot=FACTOR or discount=PART");
}

TEST(PricesTest, WhatIsWrittenIsReadAgain) {
  const std::string text = PricesText(Parsed(R"(
{base: builtin, asOf: 2026-01-01, currency: USD, spot: 0.5, discount: 0.25, default: 0.125,
 regions: {eu: 1.5, "a: b": 2},
 prices: [{instanceType: "a'\"b", region: r, zone: z, capacityType: spot, hourly: 0.0625},
          {instanceType: n-*-*, hourly: 1, hourlyPerGib: 0.5}]}
)"));
  EXPECT_EQ(PricesText(Parsed(text)), text);
  EXPECT_THAT(text, HasSubstr("zone"));
  EXPECT_EQ(PriceOf(Parsed(text), "a'\"b", "r"), 0.09375);  // Another zone: the default.
  EXPECT_EQ(PricesText(Parsed(PricesText(BuiltinPrices()))), PricesText(BuiltinPrices()));
}

TEST(PricesTest, MoneyIsRoundedToCents) {
  EXPECT_EQ(MoneyText(1234.567, "USD"), "1,234.57 USD");
  EXPECT_EQ(MoneyText(-0.5, ""), "-0.50");
  EXPECT_EQ(MoneyText(-0.001, "EUR"), "0.00 EUR");
}

}  // namespace
}  // namespace ebb::prices_test
