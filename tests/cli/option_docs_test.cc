// Compares the tables of docs/options.md and docs/flags.md with the table of options
// (options/option_table.cc) and that of the autoscaler's flags (cli/flags/autoscaler_flags.cc).
// `./dev docs` writes the tables: it runs this test with EBB_WRITE_DOCS in its environment.  People
// write the text around the tables.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/autoscaler_flags.h"
#include "options/option_field.h"
#include "options/round_options.h"
#include "tests/support/source_dir.h"

namespace ebb::option_docs_test {
namespace {

using Json = nlohmann::ordered_json;

std::string FlagCell(const OptionField& field) {
  std::vector<std::string> names;
  for (const OptionFlag* const flag : {&field.row.flag, &field.row.old}) {
    if (!flag->name.empty()) names.push_back(fmt::format("`--{}`", flag->name));
  }
  if (field.unit == int64_t{1} << 30) names.emplace_back("in GiB");
  return fmt::format("{}", fmt::join(names, ", "));
}

// A row of Markdown; an empty cell is one blank.
std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += cell.empty() ? " |" : " " + cell + " |";
  return row + "\n";
}

std::string OptionTable() {
  std::string table = Row({"option", "default", "flag", "what it decides"}) + "|---|---|---|---|\n";
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    if (field.path.empty()) continue;
    std::string pointer = "/" + field.path;
    std::ranges::replace(pointer, '.', '/');
    const std::string value = OptionsJson(options).at(Json::json_pointer(pointer)).dump();
    const bool of_rounds = field.row.about == OptionAbout::kRounds;
    table += Row({"`" + field.path + "`", "`" + value + "`", FlagCell(field),
                  std::string(field.row.decides) + (of_rounds ? " (rounds)" : "")});
  }
  return table;
}

std::string TreatmentText(FlagTreatment treatment) {
  switch (treatment) {
    case FlagTreatment::kHonoured:
      return "honoured";
    case FlagTreatment::kIgnored:
      return "ignored";
    case FlagTreatment::kNotHonoured:
      return "not honoured";
    case FlagTreatment::kNotHonouredIfTrue:
      return "not honoured if true";
    case FlagTreatment::kNotHonouredIfFalse:
      return "not honoured if false";
    case FlagTreatment::kNotHonouredIfMinimum:
      return "not honoured with a minimum above 0";
  }
  return "";
}

std::string AutoscalerFlagTable() {
  std::string table = Row({"flag", "treatment", "notes"}) + "|---|---|---|\n";
  for (const AutoscalerFlag& flag : AutoscalerFlags()) {
    table += Row(
        {fmt::format("`{}`", flag.name), TreatmentText(flag.treatment), std::string(flag.note)});
  }
  return table;
}

// `document`, with `table` instead of its table with the same first line.
std::string WithTable(const std::string& document, const std::string& table) {
  const size_t begin = document.find(table.substr(0, table.find('\n') + 1));
  if (begin == std::string::npos) return document + "\n" + table;
  size_t end = begin;
  while (document.compare(end, 1, "|") == 0) end = document.find('\n', end) + 1;
  return document.substr(0, begin) + table + document.substr(end);
}

void ExpectOrWrite(const std::string& name, const std::string& table) {
  const std::string path = SourceDir() + "/docs/" + name;
  std::ifstream file(path);
  const std::string document((std::istreambuf_iterator<char>(file)), {});
  const std::string with_table = WithTable(document, table);
  if (std::getenv("EBB_WRITE_DOCS") != nullptr) {
    std::ofstream(path) << with_table;
  } else {
    EXPECT_EQ(document, with_table) << "`./dev docs` writes the tables of docs/" << name;
  }
}

TEST(OptionDocsTest, OptionsByNameAreTheTable) { ExpectOrWrite("options.md", OptionTable()); }

TEST(OptionDocsTest, TheAutoscalersFlagsAreTheTable) {
  ExpectOrWrite("flags.md", AutoscalerFlagTable());
}

}  // namespace
}  // namespace ebb::option_docs_test
