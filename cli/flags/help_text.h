// What --help, man pages and completion say of a command, from the definitions of its flags.

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

// Options of this group are parsed and not shown.  (CLI11's own way, an empty group, takes
// their names out of errors too.)
inline constexpr const char* kHiddenGroup = "Hidden";

struct Example {
  std::string command;  // As it is typed: "ebb plan cluster.json".
  std::string what;
};

// Ends the command's help with these; `exit_codes` may be empty.
void SetExamples(CLI::App& app, const std::vector<Example>& examples,
                 const std::vector<std::pair<int, std::string>>& exit_codes = {});

// The parts of the end of a command's help: a heading without its colon, and lines.
struct HelpSection {
  std::string heading;
  std::vector<std::string> lines;
};
std::vector<HelpSection> SectionsOf(const CLI::App& app);

// "FORMAT"; "" for a switch.
std::string ValueName(const CLI::Option& option);
// What the option does, with its range and its default.
std::string DescribeOption(const CLI::Option& option);

// Options that people are told of, in their order: those that are not hidden.
std::vector<const CLI::Option*> ShownOptions(const CLI::App& app);
// In their order; --help and --version are no commands.
std::vector<const CLI::App*> Commands(const CLI::App& app);
// "ebb import openb" with a blank or another character between.
std::string CommandPath(const CLI::App& app, const std::string& between = " ");

std::shared_ptr<CLI::FormatterBase> HelpFormatter();

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_HELP_TEXT_H_
