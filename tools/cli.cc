#include "tools/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <numeric>

#include "tools/filter_command.h"
#include "tools/plan_command.h"
#include "tools/round_command.h"
#include "tools/snapshot_commands.h"
#include "tools/state_command.h"

namespace ebb {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What the user typed that nothing takes, told in one line.
std::string Unknown(const CLI::App& root, int argc, const char* const* argv) {
  const CLI::App* app = &root;
  for (const CLI::App* sub : root.get_subcommands()) app = sub;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string flag(word.substr(0, word.find('=')));
    const std::vector<std::string> names = FlagNames(*app);
    const bool known = app->get_option_no_throw(flag) != nullptr;
    if (known) continue;
    const std::string nearest = Nearest(flag, names);
    return "unknown flag " + flag + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
  }
  std::vector<std::string> commands;
  for (const CLI::App* sub : root.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(sub->get_name());
  }
  if (argc > 1 && app == &root) {
    const std::string nearest = Nearest(argv[1], commands);
    return std::string("unknown command ") + argv[1] +
           (nearest.empty() ? "" : "; did you mean " + nearest + "?");
  }
  return "";
}

int Usage(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv,
          std::ostream& err) {
  std::string what;
  const bool no_command = app.get_subcommands().empty() && argc > 1;
  if (no_command || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    what = Unknown(app, argc, argv);
  }
  if (what.empty()) what = error.what();
  std::string name = "ebb";
  for (const CLI::App* sub : app.get_subcommands()) name += " " + sub->get_name();
  err << name << ": " << what << "\nSee `" << name << " --help`.\n";
  return 2;
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

int RunCli(int argc, const char* const* argv, std::istream& in, std::ostream& out,
           std::ostream& err) {
  CLI::App app(
      "ebb: which nodes of a Kubernetes cluster can go, all together, and where each of "
      "their pods lands.",
      "ebb");
  app.require_subcommand(1);
  PlanCommand plan;
  CLI::App* plan_app =
      app.add_subcommand("plan", "Tell which nodes can go and where their pods land");
  plan.AddTo(*plan_app);
  FilterCommand filter;
  CLI::App* filter_app =
      app.add_subcommand("filter", "Tell which nodes take a pod, and why the others do not");
  filter.AddTo(*filter_app);
  GenCommand gen;
  CLI::App* gen_app = app.add_subcommand("gen", "Make a cluster to try things out");
  gen.AddTo(*gen_app);
  ImportCommand import;
  CLI::App* import_app = app.add_subcommand("import", "Turn dumps into one snapshot file");
  import.AddTo(*import_app);
  ReplayCommand replay;
  CLI::App* replay_app =
      app.add_subcommand("replay", "Run recorded rounds again and compare every decision");
  replay.AddTo(*replay_app);
  StateCommand state;
  CLI::App* state_app =
      app.add_subcommand("state", "Look into a state file of rounds, or set its clock right");
  state.AddTo(*state_app);
  CLI::App* version = app.add_subcommand("version", "Print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, out, err);
    return Usage(app, error, argc, argv, err);
  }
  if (plan_app->parsed()) return plan.Run(out, err);
  if (filter_app->parsed()) return filter.Run(in, out, err);
  if (gen_app->parsed()) return gen.Run(out, err);
  if (import_app->parsed()) return import.Run(out, err);
  if (replay_app->parsed()) return replay.Run(out, err);
  if (state_app->parsed()) return state.Run(out, err);
  if (version->parsed()) {
    out << "ebb " << kVersion << "\n";
    return 0;
  }
  return 2;
}

}  // namespace ebb
