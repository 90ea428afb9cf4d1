#include "groups/prices.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
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
      {"zone", [](const YAML::Node& value, Price& to) { return ReadName(value, to.zone); }},
      {"capacityType",
       [](const YAML::Node& value, Price& to) { return ReadName(value, to.capacity_type); }},
      {"hourly",
       [&](const YAML::Node& value, Price& to) {
         has_hourly = true;
         return ReadHourly(value, to.hourly);
       }},
  };
  if (absl::Status s = ReadFields(file, where, node, readers, price); !s.ok()) return s;
  if (!has_hourly) return BadSetting(file, where + ".hourly", "is required");
  if (price.Names() == 0) {
    return BadSetting(
        file, where, "has no instanceType, zone or capacityType; expected one, or the key default");
  }
  return absl::OkStatus();
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
  };
  if (absl::Status s = ReadFields(list.file, "", root, readers, list); !s.ok()) return s;
  if (!wrong.ok()) return wrong;
  if (!has_prices && !list.fallback) return BadSetting(list.file, "prices", "is required");
  return absl::OkStatus();
}

// The cells of a line, without surrounding blanks and without their quotes (RFC 4180). nullopt: a
// quote is not closed, or something follows it.
std::optional<std::vector<std::string>> CellsOf(std::string_view line) {
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
  const std::vector<std::string> known = {"instance_type", "zone", "capacity_type", "hourly"};
  std::vector<std::string> names;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(Absl(text), '\n')) {
    const std::string where = fmt::format("line {}", ++number);
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    std::optional<std::vector<std::string>> split = CellsOf({line.data(), line.size()});
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
      if (names[i] == "zone") price.zone = cells[i];
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

std::string Named(std::string_view instance_type, std::string_view zone,
                  std::string_view capacity_type) {
  std::string text(instance_type.empty() ? "no instance type" : instance_type);
  if (!zone.empty()) absl::StrAppend(&text, " in ", std::string(zone));
  if (!capacity_type.empty()) absl::StrAppend(&text, ", ", std::string(capacity_type));
  return text;
}

absl::Status CheckApart(const PriceList& list) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const Price& price : list.prices) {
    if (!seen.emplace(price.instance_type, price.zone, price.capacity_type).second) {
      return BadSetting(
          list.file, "",
          fmt::format("two prices of {}",
                      Printable(Named(price.instance_type, price.zone, price.capacity_type))));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool Price::Fits(const NodeFacts& facts) const {
  return (instance_type.empty() || instance_type == facts.instance_type) &&
         (zone.empty() || zone == facts.zone) &&
         (capacity_type.empty() || capacity_type == facts.capacity_type);
}

int Price::Names() const {
  return (instance_type.empty() ? 0 : 1) + (zone.empty() ? 0 : 1) + (capacity_type.empty() ? 0 : 1);
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
  return list;
}

absl::StatusOr<NodePrices> PriceNodes(const Catalog& catalog, const PriceList& list) {
  NodePrices prices{.currency = list.currency, .hourly = {}};
  std::map<std::string, size_t> without;
  const std::vector<NodeFacts> facts = FactsOfNodes(catalog);
  for (uint32_t n = 0; n < facts.size(); ++n) {
    const Price* best = nullptr;
    for (const Price& price : list.prices) {
      if (price.Fits(facts[n]) && (best == nullptr || price.Names() > best->Names())) best = &price;
    }
    if (best == nullptr && !list.fallback && catalog.IsThere(NodeId{n})) {
      ++without[Named(facts[n].instance_type, facts[n].zone, facts[n].capacity_type)];
    }
    prices.hourly.push_back(best != nullptr ? best->hourly : list.fallback.value_or(0));
  }
  if (without.empty()) return prices;
  constexpr size_t kShown = 5;
  std::string kinds;
  size_t shown = 0;
  for (const auto& [kind, nodes] : without) {
    if (shown++ == kShown) break;
    absl::StrAppend(&kinds, kinds.empty() ? "" : "; ", Printable(kind), " (",
                    Count(nodes, "node", "nodes"), ")");
  }
  if (without.size() > kShown) absl::StrAppend(&kinds, "; and ", without.size() - kShown, " more");
  return BadSetting(list.file, "",
                    "has no price for these kinds of nodes: " + kinds + "; see default");
}

std::string MoneyText(double amount, std::string_view currency) {
  const auto cents = static_cast<uint64_t>(std::llround(std::abs(amount) * 100));
  return fmt::format("{}{}.{:02}{}{}", amount < 0 && cents > 0 ? "-" : "", WithCommas(cents / 100),
                     cents % 100, currency.empty() ? "" : " ", currency);
}

}  // namespace ebb
