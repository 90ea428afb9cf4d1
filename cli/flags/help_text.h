// The texts of --help, man pages and completion, from the definitions of a command's flags.

#ifndef EBB_CLI_FLAGS_HELP_TEXT_H_
#define EBB_CLI_FLAGS_HELP_TEXT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class Option;
}  // namespace CLI

namespace ebb {

// Options of this group are parsed but not shown.  (CLI11's own way, an empty group, would also
// remove their names from error messages.)
inline constexpr const char* kHiddenGroup = "Hidden";

struct Example {
  std::string command;  // As a user types it: "ebb plan cluster.json".
  std::string what;
};

// Appends these to the command's help; `exit_codes` may be empty.
void SetExamples(CLI::App& app, const std::vector<Example>& examples,
                 const std::vector<std::pair<int, std::string>>& exit_codes = {});

// A part of the end of a command's help: a heading without its colon, and lines.
struct HelpSection {
  std::string heading;
  std::vector<std::string> lines;
};
std::vector<HelpSection> SectionsOf(const CLI::App& app);

// "FORMAT"; "" for a switch.
std::string ValueName(const CLI::Option& option);
// Describes the option, with its range and its default.
std::string DescribeOption(const CLI::Option& option);

// The options that help shows, in their order: all that are not hidden.
std::vector<const CLI::Option*> ShownOptions(const CLI::App& app);
// The subcommands, in their order, without --help and --version.
std::vector<const CLI::App*> Commands(const CLI::App& app);
// "ebb import openb", with a blank or `between` between the words.
std::string CommandPath(const CLI::App& app, const std::string& between = " ");

std::shared_ptr<CLI::FormatterBase> HelpFormatter();

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_HELP_TEXT_H_
