#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <numeric>

#include "base/nearest.h"
#include "base/printable.h"
#include "base/version.h"
#include "cli/command_line.h"
#include "cli/commands/watch_command.h"
#include "cli/commands/what_if.h"
#include "cli/flags/completion.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/help_text.h"
#include "cli/flags/man_page.h"
#include "cli/flags/round_flags.h"
#include "cli/print/fail.h"
#include "cli/remote.h"
#include "platform/output_file.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {
namespace {

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : Commands(app)) names.push_back(sub->get_name());
  return names;
}

// Null: there is no such command.
const CLI::App* Subcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub : Commands(app)) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  // Words as short as kubectl's -A and -n resemble every short flag.
  if (word.size() <= 2) return "";
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

// The option that a word names before its "=": "--scan-interval".  The word may be spelled as Go's
// flags allow, with one dash or with underscores.  Null: there is no such option.
const CLI::Option* NamedOption(const CLI::App& app, const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  if (name.size() < 2 || name[0] != '-' || name == "--") return nullptr;
  if (const CLI::Option* exact = app.get_option_no_throw(name)) return exact;
  std::ranges::replace(name, '_', '-');
  if (!name.starts_with("--")) name.insert(0, "-");
  return app.get_option_no_throw(name);
}

// `./cluster-autoscaler`, the first word of a deployment's command line.  A file of that name is
// input.
bool IsAutoscalersProgram(const std::string& word) {
  std::error_code none;
  return std::filesystem::path(word).filename() == "cluster-autoscaler" &&
         !std::filesystem::exists(word, none);
}

// Converts the command line for CLI11: flags may be spelled as Go's, and the name of the
// autoscaler's program is dropped, so that the command line of a deployment can be pasted.
std::vector<std::string> Words(const CLI::App& root, int argc, const char* const* argv) {
  std::vector<std::string> words;
  const CLI::App* app = &root;
  bool only_arguments = false;  // After "--".
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (only_arguments || word == "--") {
      only_arguments = true;
      words.push_back(word);
      continue;
    }
    if (!word.starts_with('-')) {
      const CLI::App* const sub = Subcommand(*app, word);
      if (sub != nullptr && (app == &root || words.size() == 1)) app = sub;
      if (app->get_name() != "plan" || !IsAutoscalersProgram(word)) words.push_back(word);
      continue;
    }
    const CLI::Option* const option = NamedOption(*app, word);
    if (option == nullptr) {
      words.push_back(word);
      continue;
    }
    const bool has_value = option->get_items_expected_max() > 0;
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string known = option->get_lnames().empty() || app->get_option_no_throw(name)
                                  ? name
                                  : "--" + option->get_lnames()[0];
    if (equals == std::string::npos) {
      words.push_back(known);
      if (has_value && i + 1 < argc) words.emplace_back(argv[++i]);
    } else if (equals + 1 == word.size() || !known.starts_with("--")) {
      // CLI11 reads "--flag=" as a flag without a value, and "-v=4" as the value "=4".
      words.push_back(has_value ? known : known + "= ");
      if (has_value) words.push_back(word.substr(equals + 1));
    } else {
      words.push_back(known + word.substr(equals));
    }
  }
  return words;
}

// The end of a message about a flag that the command lacks and `ebb plan` has; "" if `ebb plan`
// lacks it too.
std::string OfPlan(const CLI::App& root, const std::string& flag) {
  const CLI::Option* const option = Subcommand(root, "plan")->get_option_no_throw(flag);
  if (option == nullptr || option->get_group() == kHiddenGroup) return "";
  return option->get_group() == kRoundGroup ? "; rounds belong to `ebb plan --state`"
                                            : "; `ebb plan` has it";
}

// A one-line error about the first word that no command accepts.
std::string Unknown(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  const bool no_command = app == &root && !words.empty();
  if (no_command && (words[0].empty() || words[0][0] != '-' || words[0] == "-")) {
    const std::string first = Printable(words[0]);
    std::error_code none;
    if (first == "-" || IsDumpName(words[0]) || std::filesystem::exists(words[0], none)) {
      return first + " is not a command; to plan with it: `ebb plan " + first + "`";
    }
    return "unknown command " + first + DidYouMean(words[0], CommandNames(root));
  }
  for (const std::string& word : words) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string flag = word.substr(0, word.find('='));
    if (app->get_option_no_throw(flag) != nullptr) continue;
    const std::string elsewhere = OfPlan(root, flag);
    return "unknown flag " + Printable(flag) +
           (elsewhere.empty() ? DidYouMean(flag, FlagNames(*app)) : elsewhere);
  }
  return "";
}

// The command that the words name: {"import", "openb"} of `ebb import openb`.
const CLI::App& Chosen(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

// The name of a command in the tables of exclusions.h: "import openb".
std::string CommandName(const CLI::App& command) {
  const std::string path = CommandPath(command);
  const size_t space = path.find(' ');
  return space == std::string::npos ? "" : path.substr(space + 1);
}

// An error if a flag or argument of a command was given with one of its subcommands, which does not
// read it: `ebb serve --socket ebb.sock status`.  "" if none was given.
std::string Stray(const CLI::App& chosen) {
  for (const CLI::App* app = chosen.get_parent(); app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->count() == 0 || chosen.get_option_no_throw(option->get_name()) != nullptr) {
        continue;
      }
      return option->get_name() + " is of `" + CommandPath(*app) + "`, and `" +
             CommandPath(chosen) + "` does not take it";
    }
  }
  return "";
}

int Misused(const CLI::App& command, const std::string& what, std::ostream& err) {
  const std::string name = CommandPath(command);
  PrintMessage(what, err, name);
  err << "See `" << name << " --help`.\n";
  return 2;
}

// Rewrites CLI11's message about a flag that takes one value and was given several times.
std::string GivenOften(const std::string& what) {
  const size_t at = what.find(": At Most 1 required but received");
  return at == std::string::npos ? what
                                 : what.substr(0, at) + " is given more than once; pass it once";
}

// A hint for users who look for a command that makes rounds: `ebb round`, `ebb help rounds`.
std::string WhoMakesRounds(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string command = CommandName(Chosen(app));
  const bool names_command = command.empty() || command == "help" || command == "man";
  if (!names_command || words.empty()) return "";
  const std::string& name = command.empty() ? words.front() : words.back();
  if (name != "round" && name != "rounds") return "";
  return "; `ebb plan --state` makes one round, `ebb run` makes them in a loop";
}

int Usage(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words,
          std::ostream& err) {
  std::string what;
  const bool no_command = app.get_subcommands().empty() && !words.empty();
  if (no_command || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    what = Unknown(app, words);
  }
  if (what.empty()) what = error.what();
  what += WhoMakesRounds(app, words);
  const CLI::App& command = Chosen(app);
  return Misused(command, GivenOften(WithReason(CommandName(command), what)), err);
}

// Finds a command by its words, {"import", "openb"}, or prints an error about the unknown word.
const CLI::App* FindCommand(const CLI::App& root, const std::vector<std::string>& names,
                            std::ostream& err) {
  const CLI::App* app = &root;
  for (const std::string& name : names) {
    const CLI::App* const sub = Subcommand(*app, name);
    if (sub == nullptr) {
      PrintMessage("unknown command " + Printable(name) + DidYouMean(name, CommandNames(*app)), err,
                   CommandPath(*app));
      return nullptr;
    }
    app = sub;
  }
  return app;
}

int Help(CommandLine& line, std::ostream& out, std::ostream& err) {
  if (!line.help_of.empty()) line.AddAutoscalerFlags(line.help_of[0]);  // As --help does.
  const CLI::App* const app = FindCommand(*line.app, line.help_of, err);
  if (app == nullptr) return 2;
  const auto formatter = HelpFormatter();
  out << formatter->make_help(app, CommandPath(*app), CLI::AppFormatMode::Normal);
  return 0;
}

absl::Status WritePages(const CLI::App& command, const std::string& folder) {
  const std::string file = folder + "/" + CommandPath(command, "-") + ".1";
  if (absl::Status status = WriteFile(file, ManPage(command)); !status.ok()) return status;
  for (const CLI::App* sub : Commands(command)) {
    if (absl::Status status = WritePages(*sub, folder); !status.ok()) return status;
  }
  return absl::OkStatus();
}

int Man(const CommandLine& line, std::ostream& out, std::ostream& err) {
  if (!line.man_folder.empty()) {
    const absl::Status status = WritePages(*line.app, line.man_folder);
    return status.ok() ? 0 : Fail(status, err);
  }
  const CLI::App* const app = FindCommand(*line.app, line.man_of, err);
  if (app == nullptr) return 2;
  out << ManPage(*app);
  return 0;
}

int PrintNodes(const std::vector<std::string>& inputs, std::ostream& out, std::ostream& err) {
  absl::StatusOr<LoadedCluster> cluster = LoadCluster(inputs, {.assume_complete = true});
  if (!cluster.ok()) return Fail(cluster.status(), err);
  const Catalog& catalog = cluster->snapshot.catalog();
  for (uint32_t n = 0; n < catalog.nodes(); ++n) out << catalog.NodeName(NodeId{n}) << "\n";
  return 0;
}

int Completion(const CommandLine& line, std::ostream& out, std::ostream& err) {
  const std::string& what = line.completion_of;
  if ((what == "nodes") == line.completion_inputs.empty()) {
    PrintMessage("pass bash, zsh, fish, or nodes INPUT...", err, "ebb completion");
    return 2;
  }
  if (what == "nodes") return PrintNodes(line.completion_inputs, out, err);
  out << (what == "bash"  ? BashCompletion(*line.app)
          : what == "zsh" ? ZshCompletion(*line.app)
                          : FishCompletion(*line.app));
  return 0;
}

}  // namespace

int RunCli(int argc, const char* const* argv, std::istream& in, std::ostream& out,
           std::ostream& err, const BuildInfo& build) {
  CommandLine line;
  if (argc > 1) line.AddAutoscalerFlags(argv[1]);
  CLI::App& app = *line.app;
  const std::vector<std::string> words = Words(app, argc, argv);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, out, err);
    return Usage(app, error, words, err);
  }
  const CLI::App& chosen = Chosen(app);
  std::string misuse = UnmetNeed(CommandName(chosen), chosen);
  if (misuse.empty()) misuse = Stray(chosen);
  if (!misuse.empty()) return Misused(chosen, misuse, err);
  const std::string command = app.get_subcommands().front()->get_name();
  if (command == "plan") {
    if (line.plan.at_server.active()) {
      return line.plan.what_if.empty() ? PlanAtServer(line.plan, out, err)
                                       : WhatIfAtServer(line.plan, out, err);
    }
    if (line.plan.watch.active()) return RunPlanWatch(line.plan, out, err);
    if (!line.plan.what_if.empty()) return RunWhatIf(line.plan, out, err);
    return line.plan.over_time.active() ? RunRound(line.plan, out, err) : line.plan.Run(out, err);
  }
  if (command == "frontier") {
    return line.frontier.plan.at_server.active() ? FrontierAtServer(line.frontier, out, err)
                                                 : line.frontier.Run(out, err);
  }
  if (command == "report") return line.report.Run(out, err);
  if (command == "compare") return line.compare.Run(out, err);
  if (command == "blockers") {
    return line.blockers.plan.at_server.active() ? BlockersAtServer(line.blockers, out, err)
                                                 : line.blockers.Run(out, err);
  }
  if (command == "filter") {
    return line.filter.at_server.active() ? FilterAtServer(line.filter, out, err)
                                          : line.filter.Run(in, out, err);
  }
  if (command == "gen") return line.gen.Run(out, err);
  if (command == "import") return line.import.Run(out, err);
  if (command == "top") return line.top.Run(PlanAtServer, out, err);
  if (command == "scrub") return line.scrub.Run(out, err);
  if (command == "dump") return line.dump.Run(out, err);
  if (command == "replay") return line.replay.Run(out, err);
  if (command == "state") return line.state.Run(out, err);
  if (command == "policy") return line.policy.Run(out, err);
  if (command == "prices") {
    return chosen.get_name() == "list" ? line.prices.RunList(out, err)
                                       : line.prices.RunUpdate(out, err);
  }
  if (command == "serve") return line.serve.Run(out, err);
  if (command == "run") return line.run.Run(out, err);
  if (command == "conformance") return line.conformance.Run(out, err);
  if (command == "help") return Help(line, out, err);
  if (command == "man") return Man(line, out, err);
  if (command == "completion") return Completion(line, out, err);
  return line.version.Run(build, out);  // Declared last.
}

}  // namespace ebb
