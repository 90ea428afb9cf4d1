#include "groups/cloud_prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "groups/node_facts.h"
#include "platform/output_file.h"

namespace ebb::cloud_prices_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

class CloudPricesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = ::testing::TempDir() + "/cloud_prices_" + name;
    EXPECT_TRUE(WriteFile(path, text).ok());
    return path;
  }
  static absl::StatusOr<CloudPrices> Read(const std::vector<std::string>& files,
                                          const std::set<std::string>& regions = {}) {
    return ReadCloudPrices(files, regions);
  }
  static std::string ErrorOf(const std::vector<std::string>& files) {
    const absl::StatusOr<CloudPrices> read = Read(files);
    return read.ok() ? "" : std::string(read.status().message());
  }
  static std::optional<double> PriceOf(const PriceList& list, std::string_view type,
                                       std::string_view region, const std::string& capacity = "") {
    NodeFacts facts;
    facts.instance_type = type;
    facts.region = region;
    facts.capacity_type = capacity;
    const std::optional<PriceOfNode> price = PriceFor(facts, list);
    return price ? std::optional(price->hourly) : std::nullopt;
  }
};

std::string AwsProduct(const std::string& sku, const std::string& type, const std::string& system,
                       const std::string& tenancy = "Shared") {
  return "\"" + sku +
         R"(": {"productFamily": "Compute Instance", "attributes": {"instanceType": ")" + type +
         R"(", "regionCode": "us-east-1", "operatingSystem": ")" + system + R"(", "tenancy": ")" +
         tenancy + R"(", "preInstalledSw": "NA", "capacitystatus": "Used"}})";
}
std::string AwsTerm(const std::string& sku, const std::string& hourly,
                    const std::string& currency = "USD") {
  return "\"" + sku + "\": {\"" + sku + R"(.T": {"priceDimensions": {"D": {"unit": "Hrs",
      "pricePerUnit": {")" +
         currency + "\": \"" + hourly + "\"}}}}}";
}
std::string AwsOffer(const std::string& products, const std::string& terms) {
  return R"({"offerCode": "AmazonEC2", "publicationDate": "2026-07-20T13:44:30Z", "products": {)" +
         products + R"(}, "terms": {"OnDemand": {)" + terms + R"(}, "Reserved": {}}})";
}

TEST_F(CloudPricesTest, AwsOffersAreReadAsJson) {
  const std::string file = Write(
      "aws.json",
      AwsOffer(
          AwsProduct("A", "m5.large", "Linux") + "," + AwsProduct("B", "m5.large", "Windows") +
              "," + AwsProduct("C", "m5.large", "Linux", "Dedicated"),
          AwsTerm("A", "0.0960000000") + "," + AwsTerm("B", "0.188") + "," + AwsTerm("C", "0.1")));
  const absl::StatusOr<CloudPrices> read = Read({file});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->list.currency, "USD");
  EXPECT_EQ(read->list.as_of, "2026-07-20");
  ASSERT_EQ(read->list.prices.size(), 1U);
  EXPECT_EQ(PriceOf(read->list, "m5.large", "us-east-1"), 0.096);
  EXPECT_EQ(PriceOf(read->list, "m5.large", "eu-west-1"), std::nullopt);
  // What is written is what was read.
  const absl::StatusOr<PriceList> again = ParsePrices("again.yaml", PricesText(read->list));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PricesText(*again), PricesText(read->list));
  EXPECT_EQ(PriceOf(*again, "m5.large", "us-east-1"), 0.096);
}

TEST_F(CloudPricesTest, AwsOffersAreReadAsCsv) {
  const std::string head =
      "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"for \"\"information\"\"\"\n"
      "\"Publication Date\",\"2026-07-20T13:44:30Z\"\n\"OfferCode\",\"AmazonEC2\"\n"
      "\"SKU\",\"TermType\",\"Unit\",\"PricePerUnit\",\"Currency\",\"Instance Type\",\"Operating "
      "System\",\"Tenancy\",\"Pre Installed S/W\",\"CapacityStatus\",\"Region Code\"\n";
  const std::string file = Write(
      "aws.csv",
      head +
          "\"A\",\"OnDemand\",\"Hrs\",\"0.096\",\"USD\",\"m5.large\",\"Linux\",\"Shared\",\"NA\","
          "\"Used\",\"us-east-1\"\n"
          "\"A\",\"Reserved\",\"Hrs\",\"0.05\",\"USD\",\"m5.large\",\"Linux\",\"Shared\",\"NA\","
          "\"Used\",\"us-east-1\"\n");
  const absl::StatusOr<CloudPrices> read = Read({file});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->list.prices.size(), 1U);
  EXPECT_EQ(read->list.as_of, "2026-07-20");
  EXPECT_EQ(PriceOf(read->list, "m5.large", "us-east-1"), 0.096);
  EXPECT_THAT(ErrorOf({Write("cut.csv", head + "\"A\n")}), HasSubstr("line 6: has a quote"));
}

std::string GcpSku(const std::string& description, const std::string& use, int nanos) {
  return R"({"description": ")" + description +
         R"(", "category": {"resourceFamily": "Compute", "usageType": ")" + use +
         R"("}, "serviceRegions": ["us-central1", "us-east1"], "pricingInfo": [{"effectiveTime":
      "2026-06-01T00:00:00Z", "pricingExpression": {"tieredRates": [{"unitPrice": {"currencyCode":
      "USD", "units": "0", "nanos": )" +
         std::to_string(nanos) + "}}]}}]}";
}

TEST_F(CloudPricesTest, GcpPricesCoresAndMemory) {
  const std::string file = Write(
      "gcp.json",
      R"({"skus": [)" + GcpSku("N2 Instance Core running in Americas", "OnDemand", 31611000) + "," +
          GcpSku("N2 Instance Ram running in Americas", "OnDemand", 4237000) + "," +
          GcpSku("Spot Preemptible N2 Instance Core running in Americas", "Preemptible", 7650000) +
          "," +
          GcpSku("Spot Preemptible N2 Instance Ram running in Americas", "Preemptible", 1020000) +
          "," + GcpSku("N2 Custom Instance Core running in Americas", "OnDemand", 33174000) + "," +
          GcpSku("N2 Custom Instance Ram running in Americas", "OnDemand", 4446000) + "," +
          GcpSku("N9 Instance Core running in Americas", "OnDemand", 1) + "," +
          GcpSku("N2 Instance Core running in Americas", "Commit1Yr", 2) + "]}");
  const absl::StatusOr<CloudPrices> read = Read({file}, {"us-central1"});
  ASSERT_TRUE(read.ok()) << read.status();
  const PriceList& list = read->list;
  EXPECT_THAT(PriceOf(list, "n2-standard-4", "us-central1"), Optional(DoubleNear(0.194236, 1e-9)));
  EXPECT_THAT(PriceOf(list, "n2-standard-4", "us-central1", "spot"),
              Optional(DoubleNear(0.04692, 1e-9)));
  EXPECT_THAT(PriceOf(list, "n2-custom-4-8192", "us-central1"),
              Optional(DoubleNear(0.168264, 1e-9)));
  EXPECT_EQ(PriceOf(list, "n2-standard-4", "us-east1"), std::nullopt);
  EXPECT_EQ(read->skipped, 1U);
  EXPECT_THAT(read->skipped_kinds, ElementsAre("N9 Instance Core"));
}

std::string AzureItem(const std::string& sku_name, const std::string& product, double hourly,
                      const std::string& currency = "USD") {
  return R"({"currencyCode": ")" + currency + R"(", "retailPrice": )" + std::to_string(hourly) +
         R"(, "armRegionName": "eastus", "armSkuName": "Standard_D2s_v5", "skuName": ")" +
         sku_name + R"(", "productName": ")" + product +
         R"(", "type": "Consumption", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour",
      "effectiveStartDate": "2025-01-01T00:00:00Z"})";
}

TEST_F(CloudPricesTest, AzurePricesLinuxAndSpot) {
  const std::string linux = "Virtual Machines Dsv5 Series";
  const std::string file =
      Write("azure.json", R"({"Items": [)" + AzureItem("D2s v5", linux, 0.096) + "," +
                              AzureItem("D2s v5 Spot", linux, 0.02) + "," +
                              AzureItem("D2s v5 Low Priority", linux, 0.01) + "," +
                              AzureItem("D2s v5", linux + " Windows", 0.188) + "]}");
  const absl::StatusOr<CloudPrices> read = Read({file});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->list.prices.size(), 2U);
  EXPECT_EQ(PriceOf(read->list, "Standard_D2s_v5", "eastus"), 0.096);
  EXPECT_EQ(PriceOf(read->list, "Standard_D2s_v5", "eastus", "spot"), 0.02);
}

TEST_F(CloudPricesTest, TwoCurrenciesAreNamed) {
  const std::string dollars =
      Write("usd.json", AwsOffer(AwsProduct("A", "m5.large", "Linux"), AwsTerm("A", "0.096")));
  const std::string euros =
      Write("eur.json", R"({"Items": [)" + AzureItem("D2s v5", "Series", 0.09, "EUR") + "]}");
  EXPECT_THAT(ErrorOf({dollars, euros}),
              HasSubstr("eur.json: has prices in EUR, after prices in USD; expected one currency"));
}

TEST_F(CloudPricesTest, OtherFilesAreNamed) {
  EXPECT_THAT(ErrorOf({Write("other.json", "{}")}), HasSubstr("other.json: is no price file"));
  EXPECT_THAT(ErrorOf({Write("cut.json", "{\"products\": {")}), HasSubstr("is not JSON"));
  EXPECT_THAT(ErrorOf({Write("none.json", R"({"Items": []})")}), HasSubstr("has no price"));
  EXPECT_THAT(ErrorOf({Write("none.csv", "\"FormatVersion\",\"v1.0\"\n")}),
              HasSubstr("is no price file of AWS"));
}

}  // namespace
}  // namespace ebb::cloud_prices_test
