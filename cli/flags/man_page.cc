#include "cli/flags/man_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "cli/flags/help_text.h"
#include "cli/flags/man_text.h"

namespace ebb {
namespace {

// Escapes text for roff: no escape sequence, no dash that becomes a hyphen, no request.
std::string Roff(std::string_view text) {
  std::string roff;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) roff += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else if (c == '\'') {
      roff += "\\(aq";
    } else if (c == '`') {
      roff += "\\(ga";
    } else {
      roff += c;
    }
  }
  return roff;
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string Synopsis(const CLI::App& command) {
  std::string text = fmt::format(".B {}\n", Roff(CommandPath(command)));
  std::string rest;
  if (!ShownOptions(command).empty()) rest += "[\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : ShownOptions(command)) {
    if (!option->get_positional()) continue;
    const bool many = option->get_items_expected_max() > 1;
    const std::string name =
        fmt::format("\\fI{}\\fR{}", Roff(option->get_name()), many ? "..." : "");
    rest += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (!Commands(command).empty()) {
    rest += command.get_require_subcommand_min() > 0 ? " \\fICOMMAND\\fR ..."
                                                     : " [\\fICOMMAND\\fR ...]";
  }
  return text + rest + "\n";
}

void AddOption(const CLI::Option& option, std::string& page) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back("\\fB" + Roff("-" + name) + "\\fR");
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("\\fB" + Roff("--" + name) + "\\fR");
  }
  if (option.get_positional()) names.push_back("\\fI" + Roff(option.get_name()) + "\\fR");
  const std::string value = ValueName(option);
  page += fmt::format(".TP\n{}{}\n", fmt::join(names, ", "),
                      value.empty() ? "" : " \\fI" + Roff(value) + "\\fR");
  const std::string text = DescribeOption(option);
  const bool lines = text.find('\n') != std::string::npos;
  page += lines ? ".nf\n" + Roff(text) + "\n.fi\n" : Roff(text) + "\n";
}

void AddOptions(const CLI::App& command, std::string& page) {
  const std::vector<const CLI::Option*> options = ShownOptions(command);
  bool begun = false;
  std::vector<std::string> groups;
  for (const CLI::Option* option : options) {
    if (!option->get_positional()) continue;
    if (!begun) page += ".SH ARGUMENTS\n";
    begun = true;
    AddOption(*option, page);
  }
  for (const CLI::Option* option : options) {
    const std::string& group = option->get_group();
    if (option->get_positional() || std::ranges::count(groups, group) > 0) continue;
    if (groups.empty()) page += ".SH OPTIONS\n";
    groups.push_back(group);
    if (group != "Options") page += fmt::format(".SS {}\n", Roff(group));
    for (const CLI::Option* each : options) {
      if (!each->get_positional() && each->get_group() == group) AddOption(*each, page);
    }
  }
}

void AddDescription(std::string_view description, std::string& page) {
  page += ".SH DESCRIPTION\n";
  for (const char c : Roff(description)) {
    page += c;
    if (page.ends_with("\n\n")) page.replace(page.size() - 1, 1, ".PP\n");
  }
  page += '\n';
}

void AddFiles(std::span<const ManFile> files, std::string& page) {
  if (files.empty()) return;
  page += ".SH FILES\n";
  for (const ManFile& file : files) {
    page += fmt::format(".TP\n.I {}\n{}\n", Roff(file.name), Roff(file.what));
  }
}

void AddSeeAlso(const CLI::App& command, std::string& page) {
  std::vector<std::string> others;
  if (command.get_parent() != nullptr) others.push_back(CommandPath(*command.get_parent(), "-"));
  for (const CLI::App* sub : Commands(command)) others.push_back(CommandPath(*sub, "-"));
  if (others.empty()) return;
  page += ".SH SEE ALSO\n";
  for (size_t i = 0; i < others.size(); ++i) {
    page += fmt::format(".BR {} (1){}\n", Roff(others[i]), i + 1 < others.size() ? "," : "");
  }
}

}  // namespace

std::string ManPage(const CLI::App& command) {
  const std::string name = CommandPath(command, "-");
  std::string page =
      fmt::format(".TH {} 1 \"\" \"ebb {}\" \"ebb\"\n.ad l\n", Roff(Upper(name)), kVersion);
  std::string description = command.get_description();
  const std::string prefix = "ebb: ";
  if (description.starts_with(prefix)) description.erase(0, prefix.size());
  page += fmt::format(".SH NAME\n{} \\- {}\n", Roff(name), Roff(description));
  page += ".SH SYNOPSIS\n" + Synopsis(command);
  const ManText* const text = FindManText(CommandPath(command));
  if (text != nullptr) AddDescription(text->description, page);
  if (const auto commands = Commands(command); !commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CLI::App* sub : commands) {
      page += fmt::format(".TP\n.B {}\n{}\n", Roff(sub->get_name()), Roff(sub->get_description()));
    }
  }
  AddOptions(command, page);
  for (const HelpSection& section : SectionsOf(command)) {
    const std::string heading = section.heading == "Exit codes" ? "EXIT STATUS" : section.heading;
    page += fmt::format(".SH {}\n.nf\n", Roff(Upper(heading)));
    for (const std::string& line : section.lines) page += Roff(line) + "\n";
    page += ".fi\n";
  }
  if (text != nullptr) AddFiles(text->files, page);
  AddSeeAlso(command, page);
  return page;
}

}  // namespace ebb
