#include "groups/cloud_prices.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "base/printable.h"
#include "base/text.h"
#include "platform/settings_file.h"

namespace ebb {
namespace {

using simdjson::dom::element;
// An element, or an error if there is no such field.
using Value = simdjson::simdjson_result<element>;

Value ValueOf(element each) { return Value(element(each)); }

std::string_view TextOf(const Value& value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

double NumberOf(const Value& value) {
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) return number;
  return absl::SimpleAtod(Absl(TextOf(value)), &number) ? number : 0;
}

// Elements of an array or members of an object; none for any other value.
void ForEach(const Value& list, absl::FunctionRef<void(const Value& each)> visit) {
  simdjson::dom::array array;
  if (list.get_array().get(array) != simdjson::SUCCESS) return;
  for (const element each : array) visit(ValueOf(each));
}
void ForEachMember(const Value& map,
                   absl::FunctionRef<void(std::string_view key, const Value& value)> visit) {
  simdjson::dom::object object;
  if (map.get_object().get(object) != simdjson::SUCCESS) return;
  for (const auto each : object) visit(each.key, ValueOf(each.value));
}

// The machine types of a family of GCP: how many GiB a core has in each class; 0: there is no such
// class.
struct GcpFamily {
  std::string_view name;
  double standard;
  double highmem;
  double highcpu;
};
constexpr GcpFamily kGcpFamilies[] = {{"n1", 3.75, 6.5, 0.9}, {"n2", 4, 8, 1},  {"n2d", 4, 8, 1},
                                      {"n4", 4, 8, 2},        {"e2", 4, 8, 1},  {"c2", 4, 0, 0},
                                      {"c2d", 4, 8, 2},       {"c3", 4, 8, 2},  {"c3d", 4, 8, 2},
                                      {"c4a", 4, 8, 2},       {"t2d", 4, 0, 0}, {"t2a", 4, 0, 0}};

class Collector {
 public:
  explicit Collector(const std::set<std::string>& regions) : regions_(regions) {}

  absl::Status Read(const std::string& file) {
    file_ = file;
    absl::StatusOr<std::string> text = ReadWholeFile(file, kDataLimits.bytes);
    if (!text.ok()) return text.status();
    return text->starts_with('"') || text->starts_with("FormatVersion") ? ReadAwsCsv(*text)
                                                                        : ReadJson(*text);
  }

  absl::StatusOr<CloudPrices> Done() {
    PutGcp();
    for (const auto& [key, hourly] : prices_) {
      const auto& [type, region, capacity] = key;
      Price& price = found_.list.prices.emplace_back();
      price.instance_type = type;
      price.region = region;
      price.capacity_type = capacity;
      std::tie(price.hourly, price.hourly_per_gib) = hourly;
    }
    if (found_.list.prices.empty()) {
      return BadSetting(file_, "", "has no price of a Linux machine in these regions");
    }
    return std::move(found_);
  }

 private:
  absl::Status ReadJson(const std::string& text) {
    simdjson::dom::parser parser;
    const Value root = parser.parse(text);
    if (root.error() != simdjson::SUCCESS) {
      return BadSetting(file_, "",
                        fmt::format("is not JSON: {}", simdjson::error_message(root.error())));
    }
    if (root["products"].error() == simdjson::SUCCESS) return ReadAws(root);
    if (root["skus"].error() == simdjson::SUCCESS) return ReadGcp(root);
    if (root["Items"].error() == simdjson::SUCCESS) return ReadAzure(root);
    return BadSetting(file_, "",
                      "is no price file; expected AWS's products, GCP's skus or Azure's Items");
  }

  absl::Status ReadAws(const Value& root) {
    SeeDate(TextOf(root["publicationDate"]));
    std::map<std::string_view, std::pair<std::string_view, std::string_view>> types;  // By SKU.
    ForEachMember(root["products"], [&](std::string_view sku, const Value& product) {
      const Value about = product["attributes"];
      if (!IsAwsLinux(TextOf(about["operatingSystem"]), TextOf(about["tenancy"]),
                      TextOf(about["preInstalledSw"]), TextOf(about["capacitystatus"]))) {
        return;
      }
      types[sku] = {TextOf(about["instanceType"]), TextOf(about["regionCode"])};
    });
    absl::Status status;
    ForEachMember(root["terms"]["OnDemand"], [&](std::string_view sku, const Value& offers) {
      const auto type = types.find(sku);
      if (type == types.end()) return;
      ForEachMember(offers, [&](std::string_view, const Value& offer) {
        ForEachMember(offer["priceDimensions"], [&](std::string_view, const Value& dimension) {
          if (TextOf(dimension["unit"]) != "Hrs") return;
          ForEachMember(
              dimension["pricePerUnit"], [&](std::string_view currency, const Value& hourly) {
                status.Update(
                    Put(type->second.first, type->second.second, "", NumberOf(hourly), currency));
              });
        });
      });
    });
    return status;
  }

  static bool IsAwsLinux(std::string_view system, std::string_view tenancy,
                         std::string_view software, std::string_view capacity) {
    return system == "Linux" && tenancy == "Shared" && software == "NA" && capacity == "Used";
  }

  // A few lines about the file come before the line with the names of the columns.
  absl::Status ReadAwsCsv(std::string_view text) {
    std::map<std::string, size_t, std::less<>> columns;
    size_t line_number = 0;
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_number;
      if (line.empty()) continue;
      const std::optional<std::vector<std::string>> cells = CellsOfCsv(line);
      if (!cells) {
        return BadSetting(file_, fmt::format("line {}", line_number),
                          "has a quote that is not closed by its cell");
      }
      if (columns.empty()) {
        if (cells->front() == "Publication Date" && cells->size() > 1) SeeDate((*cells)[1]);
        if (cells->front() != "SKU") continue;
        for (size_t i = 0; i < cells->size(); ++i) columns[(*cells)[i]] = i;
        continue;
      }
      const auto cell = [&](std::string_view name) -> std::string_view {
        const auto column = columns.find(name);
        return column == columns.end() || column->second >= cells->size()
                   ? std::string_view()
                   : (*cells)[column->second];
      };
      if (cell("TermType") != "OnDemand" || cell("Unit") != "Hrs" ||
          !IsAwsLinux(cell("Operating System"), cell("Tenancy"), cell("Pre Installed S/W"),
                      cell("CapacityStatus"))) {
        continue;
      }
      double hourly = 0;
      if (!absl::SimpleAtod(Absl(cell("PricePerUnit")), &hourly)) continue;
      absl::Status s =
          Put(cell("Instance Type"), cell("Region Code"), "", hourly, cell("Currency"));
      if (!s.ok()) return s;
    }
    if (columns.empty()) {
      return BadSetting(file_, "", "is no price file of AWS: no line begins with the column SKU");
    }
    return absl::OkStatus();
  }

  absl::Status ReadAzure(const Value& root) {
    absl::Status status;
    ForEach(root["Items"], [&](const Value& item) {
      if (TextOf(item["serviceName"]) != "Virtual Machines" ||
          TextOf(item["type"]) != "Consumption" || TextOf(item["unitOfMeasure"]) != "1 Hour" ||
          Has(TextOf(item["productName"]), "Windows") ||
          Has(TextOf(item["skuName"]), "Low Priority") ||
          Has(TextOf(item["productName"]), "CloudServices")) {
        return;
      }
      SeeDate(TextOf(item["effectiveStartDate"]));
      const bool spot = Has(TextOf(item["skuName"]), "Spot");
      status.Update(Put(TextOf(item["armSkuName"]), TextOf(item["armRegionName"]),
                        spot ? "spot" : "", NumberOf(item["retailPrice"]),
                        TextOf(item["currencyCode"])));
    });
    return status;
  }

  absl::Status ReadGcp(const Value& root) {
    absl::Status status;
    ForEach(root["skus"], [&](const Value& sku) {
      const std::string_view use = TextOf(sku["category"]["usageType"]);
      if (TextOf(sku["category"]["resourceFamily"]) != "Compute" ||
          (use != "OnDemand" && use != "Preemptible")) {
        return;
      }
      std::string_view about = TextOf(sku["description"]);
      const size_t place = about.find(" running in ");
      if (place == std::string_view::npos) return;
      about = about.substr(0, place);
      for (const std::string_view word : {"Spot Preemptible ", "Preemptible ", "Spot "}) {
        if (about.starts_with(word)) about.remove_prefix(word.size());
      }
      const bool is_memory = about.ends_with(" Ram");
      if (!is_memory && !about.ends_with(" Core")) return;
      if (Has(about, "Sole Tenancy") || Has(about, "Premium")) return;
      const std::string_view word = about.substr(0, about.find(' '));
      std::string family = word == "Compute" ? "c2" : std::string(word);
      std::ranges::transform(family, family.begin(),
                             [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
      const bool known = std::ranges::any_of(
          kGcpFamilies, [&](const GcpFamily& each) { return each.name == family; });
      if (!known || Has(about, "Extended")) {
        ++found_.skipped;
        found_.skipped_kinds.insert(std::string(about));
        return;
      }
      const Value pricing = LastOf(sku["pricingInfo"]);
      const Value price = LastOf(pricing["pricingExpression"]["tieredRates"])["unitPrice"];
      const double hourly = NumberOf(price["units"]) + NumberOf(price["nanos"]) / 1e9;
      SeeDate(TextOf(pricing["effectiveTime"]));
      status.Update(SeeCurrency(TextOf(price["currencyCode"])));
      ForEach(sku["serviceRegions"], [&](const Value& region) {
        GcpRates& rates = gcp_[Key(family + (Has(about, "Custom") ? "-custom" : ""), TextOf(region),
                                   use == "Preemptible" ? "spot" : "")];
        (is_memory ? rates.gib : rates.core) = hourly;
      });
    });
    return status;
  }

  static Value LastOf(const Value& list) {
    Value last = simdjson::NO_SUCH_FIELD;
    ForEach(list, [&](const Value& each) { last = each; });
    return last;
  }
  // Turns prices of cores and memory into prices of machine types.
  void PutGcp() {
    for (const auto& [key, rates] : gcp_) {
      const auto& [family, region, capacity] = key;
      if (rates.core <= 0 || rates.gib <= 0 || !IsWanted(region)) continue;
      const auto put = [&](const std::string& type, double cores, double gib) {
        prices_[Key(type, region, capacity)] = {cores * rates.core + gib * rates.gib, 0};
      };
      if (family.ends_with("-custom")) {
        prices_[Key(family + "-*-*", region, capacity)] = {rates.core, rates.gib};
        continue;
      }
      for (const GcpFamily& each : kGcpFamilies) {
        if (each.name != family) continue;
        if (each.standard > 0) put(family + "-standard-*", 1, each.standard);
        if (each.highmem > 0) put(family + "-highmem-*", 1, each.highmem);
        if (each.highcpu > 0) put(family + "-highcpu-*", 1, each.highcpu);
      }
      if (family != "e2") continue;
      put("e2-micro", 0.25, 1);
      put("e2-small", 0.5, 2);
      put("e2-medium", 1, 4);
    }
  }

  static bool Has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  }

  [[nodiscard]] bool IsWanted(const std::string& region) const {
    return regions_.empty() || regions_.contains(region);
  }

  void SeeDate(std::string_view time) {
    constexpr size_t kDay = 10;
    if (time.size() >= kDay && time.substr(0, kDay) > found_.list.as_of) {
      found_.list.as_of = time.substr(0, kDay);
    }
  }

  absl::Status SeeCurrency(std::string_view currency) {
    if (found_.list.currency.empty()) found_.list.currency = currency;
    if (found_.list.currency == currency) return absl::OkStatus();
    return BadSetting(file_, "",
                      fmt::format("has prices in {}, after prices in {}; expected one currency",
                                  Printable(currency), Printable(found_.list.currency)));
  }

  absl::Status Put(std::string_view type, std::string_view region, std::string_view capacity,
                   double hourly, std::string_view currency) {
    // AWS lists what is free in this account, such as reserved capacity, with a price of 0.
    if (type.empty() || !(hourly > 0) || hourly > kHourlyMax || !IsWanted(std::string(region))) {
      return absl::OkStatus();
    }
    if (absl::Status s = SeeCurrency(currency); !s.ok()) return s;
    const auto [it, is_new] = prices_.try_emplace(Key(type, region, capacity), hourly, 0);
    // Azure lists some machines twice, with a lower price for some customers.
    if (!is_new) it->second.first = std::max(it->second.first, hourly);
    return absl::OkStatus();
  }

  struct GcpRates {
    double core = 0;
    double gib = 0;
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // Type, region, capacity type.

  const std::set<std::string>& regions_;
  std::string file_;
  std::map<Key, std::pair<double, double>> prices_;
  std::map<Key, GcpRates> gcp_;
  CloudPrices found_;
};

}  // namespace

absl::StatusOr<CloudPrices> ReadCloudPrices(std::span<const std::string> files,
                                            const std::set<std::string>& regions) {
  Collector collector(regions);
  for (const std::string& file : files) {
    if (absl::Status s = collector.Read(file); !s.ok()) return s;
  }
  return collector.Done();
}

}  // namespace ebb
