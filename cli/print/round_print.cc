#include "cli/print/round_print.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "base/duration.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/table.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

void PrintNames(std::string line, const Json& names, const Terminal& terminal, std::ostream& out) {
  if (names.empty()) return;
  for (const auto& name : names) line += " " + Printable(name.get<std::string>());
  out << Wrapped(line, terminal.columns, 2) << "\n";
}

}  // namespace

void PrintRound(const Json& json, const Terminal& terminal, std::ostream& out) {
  const bool has_message = json.contains("message");
  const std::string head = fmt::format(
      "Round {} at {}: {}{}{}", json.at("round").get<int64_t>(), json.at("now").get<std::string>(),
      json.at("status").get<std::string>(), has_message ? ": " : "",
      has_message ? Printable(json.at("message").get<std::string>()) : "");
  out << "\n" << Wrapped(head, terminal.columns, 2) << "\n";
  const auto names = [&](const char* heading, const char* list, const char* kind) {
    PrintNames(heading, json.at(list).at(kind), terminal, out);
  };
  names("Delete now:", "deleteNow", "empty");
  names("Drain and delete now:", "deleteNow", "drain");
  names("Being deleted:", "inDeletion", "empty");
  names("Being drained and deleted:", "inDeletion", "drain");
  if (json.contains("longestSkippedNode")) {
    const std::string line =
        fmt::format("Longest skipped: {} has waited {} for its turn",
                    Printable(json.at("longestSkippedNode").get<std::string>()),
                    DurationText(json.at("longestSkippedSeconds").get<int64_t>()));
    out << Wrapped(line, terminal.columns, 2) << "\n";
  }
  if (json.at("notYet").empty()) return;
  Table table({"NOT YET", "REASON", "UNNEEDED SINCE"});
  table.FitTo(terminal.columns).ShortenNames(0);
  std::map<std::string, std::string> since;
  for (const auto& node : json.at("unneeded")) since[node.at("node")] = node.at("since");
  for (const auto& node : json.at("notYet")) {
    table.AddRow({node.at("node"), node.at("reason"), since[node.at("node")]});
  }
  table.Print(out);
}

void PrintRoundOutcome(const RoundOutcome& round, PlanFormat format, const PrintOptions& options,
                       std::ostream& out) {
  switch (format) {
    case PlanFormat::kJson:
      out << IndentedJson(*round.json);
      break;
    case PlanFormat::kYaml:
      out << Yaml(*round.json);
      break;
    case PlanFormat::kName:
      for (const char* kind : {"empty", "drain"}) {
        for (const auto& name : round.json->at("deleteNow").at(kind)) {
          out << "node/" << Printable(name.get<std::string>()) << "\n";
        }
      }
      break;
    case PlanFormat::kScript:
    case PlanFormat::kPatch:
    case PlanFormat::kCsv:
    case PlanFormat::kMarkdown:
      PrintPlan(*round.report, format, options, out);
      break;
    case PlanFormat::kTable:
    case PlanFormat::kWide:
      PrintPlan(*round.report, format, options, out);
      PrintRound(*round.json, options.terminal, out);
      break;
  }
}

}  // namespace ebb
