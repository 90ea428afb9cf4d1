#include "groups/prices.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "groups/builtin_prices.h"
#include "platform/settings_file.h"

namespace ebb {
namespace {

// What is wrong with a price, or "".
std::string CheckHourly(std::optional<double> hourly, std::string_view text, double& to) {
  if (!hourly || !std::isfinite(*hourly)) return fmt::format("\"{}\" is not a number", text);
  if (*hourly < 0) return fmt::format("{} is below 0", text);
  if (*hourly > kHourlyMax) return fmt::format("{} is above {}", text, kHourlyMax);
  to = *hourly;
  return "";
}

std::string ReadHourly(const YAML::Node& value, double& to) {
  if (!value.IsScalar()) return "is not a number";
  return CheckHourly(AsReal(value), value.Scalar(), to);
}

absl::Status ReadPrice(const std::string& file, const std::string& where, const YAML::Node& node,
                       Price& price) {
  bool has_hourly = false;
  const FieldReaders<Price> readers = {
      {"instanceType",
       [](const YAML::Node& value, Price& to) { return ReadName(value, to.instance_type); }},
      {"region", [](const YAML::Node& value, Price& to) { return ReadName(value, to.region); }},
      {"zone", [](const YAML::Node& value, Price& to) { return ReadName(value, to.zone); }},
      {"capacityType",
       [](const YAML::Node& value, Price& to) { return ReadName(value, to.capacity_type); }},
      {"hourly",
       [&](const YAML::Node& value, Price& to) {
         has_hourly = true;
         return ReadHourly(value, to.hourly);
       }},
      {"hourlyPerGib",
       [](const YAML::Node& value, Price& to) { return ReadHourly(value, to.hourly_per_gib); }},
  };
  if (absl::Status s = ReadFields(file, where, node, readers, price); !s.ok()) return s;
  if (!has_hourly) return BadSetting(file, where + ".hourly", "is required");
  if (price.Names() == 0) {
    return BadSetting(
        file, where,
        "has no instanceType, region, zone or capacityType; expected one, or the key default");
  }
  if (std::ranges::count(price.instance_type, '*') > 2) {
    return BadSetting(file, where + ".instanceType", "has more than two stars");
  }
  return absl::OkStatus();
}

// Reads a map of names to numbers with `add`.
absl::Status ReadNumbers(const std::string& file, const std::string& where, const YAML::Node& node,
                         absl::FunctionRef<void(const std::string& name, double number)> add) {
  return VisitFields(file, where, node, [&](const std::string& name, const YAML::Node& value) {
    double number = 0;
    std::string wrong = ReadHourly(value, number);
    if (wrong.empty()) add(name, number);
    return wrong;
  });
}

std::string ReadFactor(std::string_view what, std::optional<double> number, std::string_view text,
                       std::optional<double>& to) {
  if (!number || !(*number >= 0 && *number <= 1)) {
    return fmt::format("\"{}\" is not a {} from 0 to 1", text, what);
  }
  to = number;
  return "";
}

std::string ReadFactor(const YAML::Node& value, std::optional<double>& to) {
  if (!value.IsScalar()) return "is not a number";
  return ReadFactor("number", AsReal(value), value.Scalar(), to);
}

absl::Status ParseYaml(const YAML::Node& root, PriceList& list) {
  bool has_prices = false;
  // An error in one of the prices, which names its place itself.
  absl::Status wrong = absl::OkStatus();
  const FieldReaders<PriceList> readers = {
      {"currency",
       [](const YAML::Node& value, PriceList& to) { return ReadName(value, to.currency); }},
      {"default", [](const YAML::Node& value,
                     PriceList& to) { return ReadHourly(value, to.fallback.emplace()); }},
      {"prices",
       [&](const YAML::Node& value, PriceList& to) -> std::string {
         has_prices = true;
         if (!value.IsSequence()) return "is not a list";
         for (size_t i = 0; i < value.size() && wrong.ok(); ++i) {
           wrong =
               ReadPrice(to.file, fmt::format("prices[{}]", i), value[i], to.prices.emplace_back());
         }
         return "";
       }},
      {"types",
       [&](const YAML::Node& value, PriceList& to) -> std::string {
         has_prices = true;
         wrong.Update(
             ReadNumbers(to.file, "types", value, [&](const std::string& type, double hourly) {
               Price& price = to.prices.emplace_back();
               price.instance_type = type;
               price.hourly = hourly;
             }));
         return "";
       }},
      {"base",
       [](const YAML::Node& value, PriceList& to) -> std::string {
         to.on_builtin = value.IsScalar() && value.Scalar() == kBuiltinPrices;
         return to.on_builtin ? "" : fmt::format("{} is not builtin", Quoted(value));
       }},
      {"spot",
       [](const YAML::Node& value, PriceList& to) { return ReadFactor(value, to.rules.spot); }},
      {"discount",
       [](const YAML::Node& value, PriceList& to) { return ReadFactor(value, to.rules.discount); }},
      {"regions",
       [&](const YAML::Node& value, PriceList& to) -> std::string {
         wrong.Update(ReadNumbers(
             to.file, "regions", value,
             [&](const std::string& name, double factor) { to.regions[name] = factor; }));
         return "";
       }},
      {"asOf", [](const YAML::Node& value, PriceList& to) { return ReadName(value, to.as_of); }},
  };
  if (absl::Status s = ReadFields(list.file, "", root, readers, list); !s.ok()) return s;
  if (!wrong.ok()) return wrong;
  if (!has_prices && !list.fallback && !list.on_builtin) {
    return BadSetting(list.file, "prices", "is required");
  }
  return absl::OkStatus();
}

std::optional<double> DecimalOf(std::string_view text) {
  double number = 0;
  const bool is_decimal = text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
  return is_decimal && absl::SimpleAtod(Absl(text), &number) ? std::optional(number) : std::nullopt;
}

absl::Status ParseCsv(std::string_view text, PriceList& list) {
  if (absl::Status s = CheckSize(list.file, text); !s.ok()) return s;
  if (absl::Status s = CheckUtf8(list.file, text); !s.ok()) return s;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::vector<std::string> known = {"instance_type", "region",   "zone",
                                          "capacity_type", "currency", "hourly"};
  std::vector<std::string> names;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(Absl(text), '\n')) {
    const std::string where = fmt::format("line {}", ++number);
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    std::optional<std::vector<std::string>> split = CellsOfCsv({line.data(), line.size()});
    if (!split) return BadSetting(list.file, where, "has a quote that is not closed by its cell");
    std::vector<std::string>& cells = *split;
    if (names.empty()) {
      for (const std::string& name : cells) {
        if (std::ranges::find(known, name) == known.end()) {
          return BadSetting(list.file, fmt::format("{}: {}", where, name),
                            NoSuchField(name, known));
        }
      }
      if (std::set(cells.begin(), cells.end()).size() < cells.size()) {
        return BadSetting(list.file, where, "names a column twice");
      }
      if (std::ranges::find(cells, "hourly") == cells.end()) {
        return BadSetting(list.file, where, "has no column hourly");
      }
      names = std::move(cells);
      continue;
    }
    if (cells.size() != names.size()) {
      return BadSetting(
          list.file, where,
          fmt::format("has {}, and the first line names {}", Count(cells.size(), "cell", "cells"),
                      Count(names.size(), "column", "columns")));
    }
    Price price;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "instance_type") price.instance_type = cells[i];
      if (names[i] == "region") price.region = cells[i];
      if (names[i] == "zone") price.zone = cells[i];
      if (names[i] == "currency" && !cells[i].empty()) {
        if (!list.currency.empty() && list.currency != cells[i]) {
          return BadSetting(list.file, where + ": currency",
                            fmt::format("{} is a second currency, after {}; expected one",
                                        Printable(cells[i]), Printable(list.currency)));
        }
        list.currency = cells[i];
      }
      if (names[i] == "capacity_type") price.capacity_type = cells[i];
      if (names[i] != "hourly") continue;
      const std::string wrong = CheckHourly(DecimalOf(cells[i]), cells[i], price.hourly);
      if (!wrong.empty()) return BadSetting(list.file, where + ": hourly", wrong);
    }
    if (price.Names() > 0) {
      list.prices.push_back(std::move(price));
    } else if (list.fallback) {
      return BadSetting(list.file, where, "is a second price of all other nodes");
    } else {
      list.fallback = price.hourly;
    }
  }
  if (names.empty()) return BadSetting(list.file, "", "is empty");
  return absl::OkStatus();
}

// Whether the first line names the columns of a CSV file.
bool LooksLikeCsv(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return first.find("hourly") != std::string_view::npos &&
         first.find(':') == std::string_view::npos;
}

std::string Named(std::string_view instance_type, std::string_view region, std::string_view zone,
                  std::string_view capacity_type) {
  std::string text(instance_type.empty() ? "no instance type" : instance_type);
  const std::string_view place = zone.empty() ? region : zone;
  if (!place.empty()) absl::StrAppend(&text, " in ", std::string(place));
  if (!capacity_type.empty()) absl::StrAppend(&text, ", ", std::string(capacity_type));
  return text;
}

absl::Status CheckApart(const PriceList& list) {
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen;
  for (const Price& price : list.prices) {
    if (!seen.emplace(price.instance_type, price.region, price.zone, price.capacity_type).second) {
      return BadSetting(
          list.file, "",
          fmt::format("two prices of {}", Printable(Named(price.instance_type, price.region,
                                                          price.zone, price.capacity_type))));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOneCurrency(const PriceList& list) {
  if (!list.on_builtin || list.currency.empty() || list.currency == BuiltinPrices().currency) {
    return absl::OkStatus();
  }
  return BadSetting(list.file, "currency",
                    fmt::format("is {}, and the built-in prices are in {}; expected one currency",
                                Printable(list.currency), BuiltinPrices().currency));
}

// Removes the digits at the start of `text`; nullopt: it starts with none.
std::optional<double> TakeNumber(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<int64_t> number = ParseInt64(text.substr(0, end));
  text.remove_prefix(end);
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

// How many xlarge machines an AWS size is worth: 0.5 for "large", 24 for "24xlarge" and
// "metal-24xl".
std::optional<double> SizeOf(std::string_view size) {
  constexpr std::pair<std::string_view, double> kSizes[] = {{"xlarge", 1},     {"large", 0.5},
                                                            {"medium", 0.25},  {"small", 0.125},
                                                            {"micro", 0.0625}, {"nano", 0.03125}};
  for (const auto& [name, part] : kSizes) {
    if (size == name) return part;
  }
  constexpr std::string_view kMetal = "metal-";
  const bool metal = size.starts_with(kMetal);
  if (metal) size.remove_prefix(kMetal.size());
  const std::optional<double> number = TakeNumber(size);
  return size == (metal ? "xl" : "xlarge") ? number : std::nullopt;
}

// GPUs of GKE's n1 machines are attached to them, so the price of the type does not include them.
bool LacksGpus(const NodeFacts& facts) {
  return facts.allocatable.gpus > 0 &&
         (facts.instance_type.starts_with("n1-") || facts.instance_type.starts_with("custom-"));
}

// The rules for the list's nodes: those of the catalogue where the list has none.
PriceRules RulesOf(const PriceList& list) {
  PriceRules rules = list.rules;
  if (list.on_builtin && !rules.spot) rules.spot = BuiltinPrices().rules.spot;
  return rules;
}

// The price of `list` alone, without the catalogue.
std::optional<PriceOfNode> OwnPrice(const NodeFacts& facts, const PriceList& list,
                                    const PriceRules& rules) {
  const Price* best = nullptr;
  const auto rank = [](const Price& price) {
    return std::pair(price.Names(), price.instance_type.find('*') == std::string::npos);
  };
  for (const Price& price : list.prices) {
    if (price.Fits(facts) && (best == nullptr || rank(price) > rank(*best))) best = &price;
  }
  if (best == nullptr && !list.fallback) return std::nullopt;
  PriceOfNode found{.hourly =
                        best != nullptr ? *best->HourlyOf(facts.instance_type) : *list.fallback};
  if (best != nullptr && best->region.empty() && best->zone.empty() && !list.regions.empty()) {
    const auto factor = list.regions.find(facts.region);
    found.has_region = facts.region.empty() || factor != list.regions.end();
    if (factor != list.regions.end()) found.hourly *= factor->second;
  }
  if (best != nullptr && !best->capacity_type.empty()) return found;
  found.is_spot = IsSpot(facts.capacity_type) && rules.spot.has_value();
  found.is_discounted = !IsSpot(facts.capacity_type) && rules.discount.has_value();
  if (found.is_spot) found.hourly *= *rules.spot;
  if (found.is_discounted) found.hourly *= 1 - *rules.discount;
  return found;
}

}  // namespace

std::optional<double> Price::HourlyOf(std::string_view type) const {
  std::string_view pattern = instance_type;
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return pattern.empty() || pattern == type ? std::optional(hourly) : std::nullopt;
  }
  if (!type.starts_with(pattern.substr(0, star))) return std::nullopt;
  type.remove_prefix(star);
  if (pattern.ends_with(".*")) {
    const std::optional<double> size = SizeOf(type);
    return size ? std::optional(*size * hourly) : std::nullopt;
  }
  const std::optional<double> number = TakeNumber(type);
  pattern.remove_prefix(star + 1);
  const size_t second = pattern.find('*');
  const std::string_view middle = pattern.substr(0, second);
  if (!number || !type.starts_with(middle)) return std::nullopt;
  if (second == std::string_view::npos) {
    return type == middle ? std::optional(*number * hourly) : std::nullopt;
  }
  type.remove_prefix(middle.size());
  const std::optional<double> mib = TakeNumber(type);
  if (!mib || type != pattern.substr(second + 1)) return std::nullopt;
  return *number * hourly + *mib / 1024 * hourly_per_gib;
}

bool Price::Fits(const NodeFacts& facts) const {
  return (region.empty() || region == facts.region) && (zone.empty() || zone == facts.zone) &&
         (capacity_type.empty() || capacity_type == facts.capacity_type) &&
         HourlyOf(facts.instance_type).has_value();
}

int Price::Names() const {
  return (instance_type.empty() ? 0 : 1) + (region.empty() ? 0 : 1) + (zone.empty() ? 0 : 1) +
         (capacity_type.empty() ? 0 : 1);
}

const PriceList& BuiltinPrices() {
  static const PriceList* const list = [] {
    absl::StatusOr<PriceList> read =
        ParsePrices(std::string(kBuiltinPrices), std::string(kBuiltinPricesText));
    EBB_CHECK(read.ok());
    return new PriceList(*std::move(read));
  }();
  return *list;
}

absl::StatusOr<PriceList> ReadPriceFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  return ParsePrices(path, *text);
}

absl::StatusOr<PriceList> ParsePrices(const std::string& name, const std::string& text) {
  PriceList list;
  list.file = name;
  absl::Status status = name.ends_with(".csv")
                            ? ParseCsv(text, list)
                            : ParseSettings(name, text, [&](const YAML::Node& root) {
                                return ParseYaml(root, list);
                              });
  if (absl::IsInvalidArgument(status) && !name.ends_with(".csv") && LooksLikeCsv(text)) {
    return BadSetting(name, "", "looks like CSV, which is read from files that end in .csv");
  }
  if (!status.ok()) return status;
  if (status = CheckApart(list); !status.ok()) return status;
  if (status = CheckOneCurrency(list); !status.ok()) return status;
  return list;
}

absl::StatusOr<PriceList> ReadPrices(std::span<const std::string> names, const PriceRules& rules) {
  PriceList list{.file = std::string(kBuiltinPrices), .currency = "", .prices = {}, .fallback = {}};
  const std::string* file = nullptr;
  bool builtin = false;
  for (const std::string& name : names) {
    if (name == kBuiltinPrices) {
      builtin = true;
      continue;
    }
    if (file != nullptr) {
      return BadSetting(name, "", "is a second file of prices; expected one file and builtin");
    }
    file = &name;
    absl::StatusOr<PriceList> read = ReadPriceFile(name);
    if (!read.ok()) return read;
    list = *std::move(read);
  }
  if (builtin) list.on_builtin = true;
  if (rules.spot) list.rules.spot = rules.spot;
  if (rules.discount) list.rules.discount = rules.discount;
  if (absl::Status s = CheckOneCurrency(list); !s.ok()) return s;
  return list;
}

std::string PricesText(const PriceList& list) {
  const auto quoted = [](const std::string& text) {
    return absl::StrCat("'", absl::StrReplaceAll(PrintableLine(text), {{"'", "''"}}), "'");
  };
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{}: {}\n", key, value);
  };
  if (!list.as_of.empty()) line("asOf", quoted(list.as_of));
  if (!list.currency.empty()) line("currency", quoted(list.currency));
  if (list.on_builtin) line("base", std::string(kBuiltinPrices));
  if (list.rules.spot) line("spot", fmt::format("{}", *list.rules.spot));
  if (list.rules.discount) line("discount", fmt::format("{}", *list.rules.discount));
  if (list.fallback) line("default", fmt::format("{}", *list.fallback));
  if (!list.regions.empty()) text += "regions:\n";
  for (const auto& [name, factor] : list.regions)
    line("  " + quoted(name), fmt::format("{}", factor));
  text += list.prices.empty() ? "prices: []\n" : "prices:\n";
  for (const Price& price : list.prices) {
    std::string fields;
    const auto field = [&](std::string_view key, const std::string& value) {
      if (!value.empty()) fields += fmt::format("{}: {}, ", key, quoted(value));
    };
    field("instanceType", price.instance_type);
    field("region", price.region);
    field("zone", price.zone);
    field("capacityType", price.capacity_type);
    if (price.hourly_per_gib > 0) fields += fmt::format("hourlyPerGib: {}, ", price.hourly_per_gib);
    text += fmt::format("- {{{}hourly: {}}}\n", fields, price.hourly);
  }
  return text;
}

std::string ReadPriceRule(std::string_view text, PriceRules& rules) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  if (name == "spot") return ReadFactor("factor", DecimalOf(value), value, rules.spot);
  if (name == "discount") return ReadFactor("discount", DecimalOf(value), value, rules.discount);
  return fmt::format("\"{}\" is not a rule; expected spot=FACTOR or discount=PART", text);
}

std::optional<PriceOfNode> PriceFor(const NodeFacts& facts, const PriceList& list) {
  const PriceRules rules = RulesOf(list);
  PriceList own = {};
  // The default of a file comes after the catalogue.
  if (!list.on_builtin) return OwnPrice(facts, list, rules);
  own.prices = list.prices;
  own.regions = list.regions;
  if (auto found = OwnPrice(facts, own, rules)) return found;
  if (!LacksGpus(facts)) {
    if (auto found = OwnPrice(facts, BuiltinPrices(), rules)) {
      found->is_builtin = true;
      return found;
    }
  }
  own.prices.clear();
  own.fallback = list.fallback;
  return OwnPrice(facts, own, rules);
}

std::string TallyText(const NodePrices::Tally& tally) {
  constexpr size_t kShown = 5;
  std::string kinds;
  for (size_t i = 0; i < std::min(kShown, tally.size()); ++i) {
    absl::StrAppend(&kinds, kinds.empty() ? "" : "; ", Printable(tally[i].first), " (",
                    Count(tally[i].second, "node", "nodes"), ")");
  }
  if (tally.size() > kShown) absl::StrAppend(&kinds, "; and ", tally.size() - kShown, " more");
  return kinds;
}

absl::StatusOr<NodePrices> PriceNodes(const Catalog& catalog, const PriceList& list,
                                      const std::map<NodeId, double>& known_prices) {
  NodePrices prices{.currency = list.currency, .hourly = {}};
  if (list.on_builtin && prices.currency.empty()) prices.currency = BuiltinPrices().currency;
  std::map<std::string, size_t> without;
  std::map<std::string, size_t> regions;
  const PriceRules rules = RulesOf(list);
  // Most nodes share their facts with others.
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::string, bool>,
           std::optional<PriceOfNode>>
      known;
  const std::vector<NodeFacts> facts = FactsOfNodes(catalog);
  for (uint32_t n = 0; n < facts.size(); ++n) {
    if (const auto it = known_prices.find(NodeId{n}); it != known_prices.end()) {
      prices.hourly.push_back(it->second);
      continue;
    }
    const NodeFacts& node = facts[n];
    const auto [it, is_new] = known.try_emplace({node.instance_type, node.region, node.zone,
                                                 node.capacity_type, node.allocatable.gpus > 0});
    if (is_new) it->second = PriceFor(node, list);
    const std::optional<PriceOfNode>& price = it->second;
    prices.hourly.push_back(price ? price->hourly : 0);
    if (!catalog.IsThere(NodeId{n})) continue;
    if (!price) {
      ++without[Named(node.instance_type, node.region, node.zone, node.capacity_type)];
      prices.is_priced.resize(facts.size(), true);
      prices.is_priced[n] = false;
      continue;
    }
    if (price->is_builtin) prices.as_of = BuiltinPrices().as_of;
    if (price->is_spot) prices.rules.spot = rules.spot;
    if (price->is_discounted) prices.rules.discount = rules.discount;
    if (!price->has_region) ++regions[std::string(node.region)];
  }
  prices.without.assign(without.begin(), without.end());
  prices.regions_without_factor.assign(regions.begin(), regions.end());
  if (without.empty() || list.on_builtin) return prices;
  return BadSetting(
      list.file, "",
      "has no price for these kinds of nodes: " + TallyText(prices.without) + "; see default");
}

std::optional<std::vector<std::string>> CellsOfCsv(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    std::string& cell = cells.emplace_back();
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with('"')) {
      size_t at = 1;
      for (; at < line.size() && (line[at] != '"' || line.substr(at).starts_with("\"\"")); ++at) {
        at += line[at] == '"' ? 1 : 0;  // Two quotes stand for one.
        cell += line[at];
      }
      if (at == line.size()) return std::nullopt;
      line.remove_prefix(at + 1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      if (!line.empty() && line[0] != ',') return std::nullopt;
    } else {
      const size_t end = std::min(line.find(','), line.size());
      cell = line.substr(0, end);
      absl::StripTrailingAsciiWhitespace(&cell);
      line.remove_prefix(end);
    }
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

std::string PriceWords(const NodePrices& prices) {
  std::string words;
  if (!prices.as_of.empty()) {
    words = fmt::format("Prices are approximate list prices of {} from the built-in catalogue.",
                        prices.as_of);
  }
  const auto add = [&](const std::string& sentence) {
    words += (words.empty() ? "" : " ") + sentence;
  };
  size_t unknown = 0;
  for (const auto& [kind, nodes] : prices.without) unknown += nodes;
  if (unknown > 0) {
    add(fmt::format("The price of {} is unknown and counts as 0.",
                    Count(unknown, "node", "nodes")));
  }
  if (prices.rules.spot) {
    add(fmt::format("Spot nodes count as {:g} of the price on demand.", *prices.rules.spot));
  }
  if (prices.rules.discount) {
    add(fmt::format("A discount of {} is taken off the others.", Percent(*prices.rules.discount)));
  }
  return words;
}

std::string MoneyText(double amount, std::string_view currency) {
  const auto cents = static_cast<uint64_t>(std::llround(std::abs(amount) * 100));
  return fmt::format("{}{}.{:02}{}{}", amount < 0 && cents > 0 ? "-" : "", WithCommas(cents / 100),
                     cents % 100, currency.empty() ? "" : " ", currency);
}

}  // namespace ebb
