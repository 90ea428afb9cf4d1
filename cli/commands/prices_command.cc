#include "cli/commands/prices_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <ostream>
#include <set>

#include "absl/status/statusor.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/query_flags.h"
#include "cli/print/fail.h"
#include "cli/print/table.h"
#include "groups/cloud_prices.h"
#include "groups/node_facts.h"
#include "groups/prices.h"
#include "platform/file_identity.h"
#include "platform/output_file.h"

namespace ebb {
namespace {

std::string OrAny(const std::string& text) { return text.empty() ? "any" : text; }

// The price of one machine type; returns whether there is one.
bool AddType(const PricesCommand& command, const PriceList& list, const std::string& type,
             Table& table) {
  NodeFacts facts;
  facts.instance_type = type;
  facts.region = command.region;
  facts.capacity_type = command.capacity_type;
  const std::optional<PriceOfNode> price = PriceFor(facts, list);
  table.AddRow({Printable(type), OrAny(command.region), OrAny(command.capacity_type),
                price ? fmt::format("{}", RoundedAmount(price->hourly)) : "unknown",
                !price              ? ""
                : price->is_builtin ? fmt::format("built in, {}", BuiltinPrices().as_of)
                                    : Printable(list.file)});
  return price.has_value();
}

void PrintList(const PriceList& list, std::ostream& out) {
  Table table({"TYPE", "REGION", "ZONE", "CAPACITY", "HOURLY"});
  table.AlignRight(4);
  for (const Price& price : list.prices) {
    std::string hourly = fmt::format("{}", RoundedAmount(price.hourly));
    if (price.hourly_per_gib > 0) {
      hourly += fmt::format(" + {} a GiB", RoundedAmount(price.hourly_per_gib));
    }
    table.AddRow({Printable(OrAny(price.instance_type)), Printable(OrAny(price.region)),
                  Printable(OrAny(price.zone)), Printable(OrAny(price.capacity_type)), hourly});
  }
  out << fmt::format("{}{}{}\n", Printable(list.file),
                     list.as_of.empty() ? "" : ", prices of " + Printable(list.as_of),
                     list.currency.empty() ? "" : ", in " + Printable(list.currency));
  table.Print(out);
  if (list.fallback) out << fmt::format("All others: {}\n", RoundedAmount(*list.fallback));
  if (list.rules.spot) out << fmt::format("Spot: {} of a price on demand\n", *list.rules.spot);
  if (list.rules.discount) out << fmt::format("Discount: {}\n", Percent(*list.rules.discount));
  if (list.regions.empty()) return;
  Table regions({"REGION", "FACTOR"});
  regions.AlignRight(1);
  for (const auto& [name, factor] : list.regions) {
    regions.AddRow({Printable(name), fmt::format("{}", factor)});
  }
  out << "\n";
  regions.Print(out);
}

// The catalogue, with the rules that are given.
PriceList BuiltinWith(const PriceRules& rules) {
  PriceList list = BuiltinPrices();
  if (rules.spot) list.rules.spot = rules.spot;
  if (rules.discount) list.rules.discount = rules.discount;
  return list;
}

}  // namespace

void PricesCommand::AddTo(CLI::App& app) {
  app.require_subcommand(1);
  CLI::App& list = *app.add_subcommand("list", "Print prices, or what machine types cost");
  list.add_option("TYPE", types, "Machine types (default: every price)")->check(values::Text());
  AddPriceFlags(prices, rules, "Options", list);
  list.add_option("--region", region, "The region of the machines")
      ->check(values::Text())
      ->type_name("REGION");
  list.add_option("--capacity-type", capacity_type, "How they are paid for: spot, on-demand, ...")
      ->check(values::Text())
      ->type_name("TEXT");
  list.add_option("-o,--output", form, "table, or yaml, which --prices reads")
      ->check(values::Choice({"table", "yaml"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  CLI::App& update =
      *app.add_subcommand("update", "Make a file of prices from the clouds' own price files");
  update
      .add_option("--from", from,
                  "AWS's offer file of AmazonEC2 (JSON or CSV), SKUs of GCP's Compute Engine, or "
                  "pages of Azure's retail prices (JSON); several in one currency")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  update.add_option("--region", regions, "Only these regions, several with commas (default: all)")
      ->check(values::Text())
      ->type_name("REGION")
      ->delimiter(',')
      ->allow_extra_args(false);
  update.add_option("-o,--output", output, "The file to write, as YAML; -: standard output")
      ->check(values::File())
      ->type_name("FILE")
      ->capture_default_str();
}

int PricesCommand::RunList(std::ostream& out, std::ostream& err) const {
  const std::vector<std::string> names =
      prices.empty() ? std::vector<std::string>{std::string(kBuiltinPrices)} : prices;
  absl::StatusOr<PriceList> list = ReadPrices(names, ParsePriceRules(rules));
  if (!list.ok()) return Fail(list.status(), err);
  if (!types.empty()) {
    Table table({"TYPE", "REGION", "CAPACITY", "HOURLY", "FROM"});
    table.AlignRight(3);
    const auto unknown = std::ranges::count_if(
        types, [&](const std::string& type) { return !AddType(*this, *list, type, table); });
    table.Print(out);
    return unknown > 0 ? 1 : 0;
  }
  if (form == "yaml") {
    const bool alone = list->on_builtin && names.size() == 1;
    out << PricesText(alone ? BuiltinWith(list->rules) : *list);
    return 0;
  }
  if (list->file != kBuiltinPrices) PrintList(*list, out);
  if (!list->on_builtin) return 0;
  if (list->file != kBuiltinPrices) out << "\n";
  PrintList(BuiltinWith(list->rules), out);
  return 0;
}

int PricesCommand::RunUpdate(std::ostream& out, std::ostream& err) const {
  std::vector<UsedFile> files;
  for (const std::string& file : from) files.push_back({"--from", file, FileUse::kRead});
  if (output != "-") files.push_back({"--output", output, FileUse::kWrite});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  const absl::StatusOr<CloudPrices> read =
      ReadCloudPrices(from, std::set<std::string>(regions.begin(), regions.end()));
  if (!read.ok()) return Fail(read.status(), err);
  const std::string text = PricesText(read->list);
  if (output == "-") {
    out << text;
  } else if (absl::Status s = WriteFile(output, text); !s.ok()) {
    return Fail(s, err);
  }
  PrintMessage(
      fmt::format("wrote {} in {} as of {}", Count(read->list.prices.size(), "price", "prices"),
                  Printable(read->list.currency),
                  read->list.as_of.empty() ? "an unknown day" : Printable(read->list.as_of)),
      err);
  if (read->skipped == 0) return 0;
  constexpr size_t kShown = 5;
  std::string kinds;
  size_t shown = 0;
  for (const std::string& kind : read->skipped_kinds) {
    if (shown++ == kShown) break;
    kinds += (kinds.empty() ? "" : ", ") + Printable(kind);
  }
  PrintMessage(fmt::format("skipped {} of machine types that ebb cannot tell: {}{}",
                           Count(read->skipped, "price", "prices"), kinds,
                           read->skipped_kinds.size() > kShown ? ", ..." : ""),
               err);
  return 0;
}

}  // namespace ebb
