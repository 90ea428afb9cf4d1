#include "cli/flags/help_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/flags/flag_values.h"

namespace ebb {
namespace {

class Formatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = ValueName(*option);
    return (value.empty() ? "" : " " + value) +
           (option->get_required() && option->get_positional() ? " (required)" : "");
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kHiddenGroup) return "";
    return CLI::Formatter::make_group(group, is_positional, options);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return DescribeOption(*option);
  }
};

}  // namespace

void SetExamples(CLI::App& app, const std::vector<Example>& examples,
                 const std::vector<std::pair<int, std::string>>& exit_codes) {
  std::string text = "Examples:\n";
  for (const Example& example : examples) {
    text += fmt::format("  {}\n      {}\n", example.command, example.what);
  }
  if (!exit_codes.empty()) text += "\nExit codes:\n";
  for (const auto& [code, what] : exit_codes) text += fmt::format("  {:>2}  {}\n", code, what);
  text.pop_back();
  app.footer(text);
}

std::vector<HelpSection> SectionsOf(const CLI::App& app) {
  std::vector<HelpSection> sections;
  std::istringstream footer(app.get_footer());
  for (std::string line; std::getline(footer, line);) {
    if (line.empty()) continue;
    if (line[0] != ' ') {
      sections.push_back({line.substr(0, line.size() - 1), {}});
    } else if (!sections.empty()) {
      sections.back().lines.push_back(line);
    }
  }
  return sections;
}

std::string ValueName(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0 || option.get_positional()) return "";
  const std::string type = TypeOf(option);
  return type.empty() ? "TEXT" : type;
}

std::string DescribeOption(const CLI::Option& option) {
  std::string text = option.get_description();
  std::vector<std::string> notes;
  const auto kind = KindOf(option);
  if (kind && *kind != ValueKind::kSwitch && *kind != ValueKind::kChoice) {
    if (const std::string range = RangeOf(option); !range.empty()) notes.push_back(range);
  }
  if (kind == ValueKind::kChoice) {
    // A description that explains each choice already names the choices.
    bool named = true;
    for (const std::string& choice : ChoicesOf(option)) {
      named = named && text.find(choice) != std::string::npos;
    }
    if (!named) notes.push_back(fmt::format("{}", fmt::join(ChoicesOf(option), ", ")));
  }
  if (const std::string& value = option.get_default_str(); !value.empty() && value != "[]") {
    notes.push_back("default " + value);
  }
  // Sorted, because CLI11 keeps options in the order of their addresses.
  const auto names = [](const auto& options) {
    std::vector<std::string> all;
    for (const CLI::Option* each : options) all.push_back(each->get_name());
    std::sort(all.begin(), all.end());
    return fmt::format("{}", fmt::join(all, ", "));
  };
  if (!option.get_needs().empty()) notes.push_back("with " + names(option.get_needs()));
  if (!option.get_excludes().empty()) notes.push_back("not with " + names(option.get_excludes()));
  if (option.get_required() && !option.get_positional()) notes.emplace_back("required");
  if (!notes.empty()) text += fmt::format(" [{}]", fmt::join(notes, "; "));
  return text;
}

std::vector<const CLI::Option*> ShownOptions(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return option->get_group() != kHiddenGroup; });
}

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::string CommandPath(const CLI::App& app, const std::string& between) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.get_name()
                           : CommandPath(*parent, between) + between + app.get_name();
}

std::shared_ptr<CLI::FormatterBase> HelpFormatter() { return std::make_shared<Formatter>(); }

}  // namespace ebb
