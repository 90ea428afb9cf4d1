#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/version.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/help_text.h"

namespace ebb {
namespace {

// The names of all commands and their subcommands.
std::vector<std::string> AllCommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : Commands(app)) {
    names.push_back(sub->get_name());
    for (std::string& deeper : AllCommandNames(*sub)) names.push_back(std::move(deeper));
  }
  return names;
}

void SetAllExamples(CLI::App& app) {
  const auto command = [&](const char* name) -> CLI::App& { return *app.get_subcommand(name); };
  SetExamples(
      app,
      {{"ebb gen company --nodes 100 -o cluster.json", "a cluster to try things out"},
       {"ebb plan cluster.json", "which of its nodes can go"},
       {"ebb help plan", "what `ebb plan` takes; also `ebb plan --help`"},
       {"ebb man plan | man -l -", "the same as a man page"},
       {"source <(ebb completion bash)", "complete commands, flags and node names"}},
      {{0, "done"}, {1, "bad input, or output that cannot be written"}, {2, "wrong usage"}});
  SetExamples(
      command("plan"),
      {{"ebb dump -o all.json", "the dump"},
       {"ebb plan all.json", "which nodes can go, and where their pods land"},
       {"ebb plan all.json -o name", "their names, in the order of removal, for kubectl"},
       {"ebb plan all.json -o sh > plan.sh", "a script that carries the plan out"},
       {"ebb plan all.json --prices builtin", "what it saves, by approximate list prices"},
       {"ebb plan all.json --explain node-1", "why this node stays or goes, pod by pod"},
       {"ebb plan all.json --explain node-1 --counterfactual", "and what would let it go"},
       {"ebb plan all.json --what-if changes.yaml", "beside the plan with changes"},
       {"ebb plan all.json --node-groups groups.yaml -o json", "with sizes of groups; as data"},
       {"ebb plan all.json --exit-code && echo nothing can go", "for scripts"},
       {"ebb plan all.json --fail-if 'removed>10%' -o markdown", "as a gate (docs/gates.md)"},
       {"ebb plan all.json ./cluster-autoscaler --v=4 --nodes=2:10:general --scan-interval=10s",
        "with the command line of the autoscaler, pasted (docs/flags.md)"},
       {"ebb plan all.json --state ebb.db", "a round of the planner over time (docs/rounds.md)"}},
      {{0, "done"},
       {1, "bad input, or output that cannot be written"},
       {2, "wrong usage"},
       {3, "with --state: the round waits, as the clock jumped (docs/rounds.md)"},
       {11, "with --fail-if: a condition holds"},
       {10,
        "with --exit-code: some node can go, with --state is to be deleted now, with --what-if can "
        "go after the changes"}});
  SetExamples(command("blockers"),
              {{"ebb blockers all.json", "what keeps most nodes, each tried"},
               {"ebb blockers all.json --limit 200 -o json", "more of them, as data"}});
  SetExamples(command("report"),
              {{"ebb report all.json", "writes ebb-report.html; open it in a browser"},
               {"ebb report all.json --prices prices.yaml --team-label app.example.com/team -o "
                "shrink.html",
                "with money, by team too"}});
  SetExamples(command("frontier"),
              {{"ebb frontier all.json", "what more evictions would bring"},
               {"ebb frontier all.json --prices prices.yaml --report frontier.html",
                "in money, as a page with the curve"}});
  SetExamples(command("compare"),
              {{"ebb compare monday.json tuesday.json", "what goes now, and what no more"},
               {"ebb compare main.json branch.json --fail-if 'removed<0' -o markdown",
                "as a gate (docs/gates.md)"},
               {"ebb compare greedy.json searched.json -o json", "as data"}},
              {{0, "done"},
               {1, "bad input, or output that cannot be written"},
               {2, "wrong usage"},
               {11, "with --fail-if: a condition holds"}});
  SetExamples(command("top"),
              {{"ebb top all.json", "a dump, on a terminal until q"},
               {"ebb top all.json --show-nodes --once", "one frame with each node"},
               {"ebb top --server unix:/run/ebb/ebb.sock", "the cluster of a daemon"},
               {"ebb top --context prod --interval 1m", "the cluster of a kubeconfig"}});
  SetExamples(
      command("prices"),
      {{"ebb prices list m5.xlarge", "what ebb takes a machine type to cost"},
       {"ebb prices update --from offers.json -o prices.yaml", "from a cloud's price file"}});
  SetExamples(*command("prices").get_subcommand("list"),
              {{"ebb prices list", "the built-in prices"},
               {"ebb prices list m5.xlarge n2-standard-8 --region eu-west-1", "of two types"},
               {"ebb prices list --prices builtin --prices prices.yaml c6i.large",
                "with a file of prices over them"}},
              {{0, "done"}, {1, "bad input, or a type has no price"}, {2, "wrong usage"}});
  SetExamples(*command("prices").get_subcommand("update"),
              {{"ebb prices update --from index.json --region us-east-1 -o prices.yaml",
                "AWS's offer file, one region of it"},
               {"ebb prices update --from page1.json --from page2.json -o prices.yaml",
                "pages of Azure's or GCP's prices"}});
  SetExamples(command("filter"),
              {{"ebb filter all.json --pod shop/web-1", "which nodes take this pod"},
               {"ebb filter all.json --pod shop/web-1 --node node-1", "what each filter says"},
               {"ebb filter all.json --pod shop/web-1 -o json", "all of that as data"}});
  SetExamples(command("gen"),
              {{"ebb gen company --nodes 1000 --seed 1 -o cluster.json", "what a company has"},
               {"ebb gen uniform --nodes 100 -o cluster.pb", "equal nodes with equal pods"},
               {"ebb gen mixed --nodes 50 | ebb plan -", "without a file"}});
  SetExamples(command("import"),
              {{"ebb import nodes.yaml pods.json.gz -o all.pb", "several dumps as one, small"},
               {"ebb import dump/ -o all.json", "a folder of dumps as one JSON list"},
               {"ebb import openb --nodes nodes.csv --pods pods.csv -o openb.pb", "a trace"}});
  SetExamples(command("scrub"),
              {{"ebb scrub all.json -o shown.json", "the same plans, without names"},
               {"ebb scrub all.json --key secret -o shown.pb", "the same pseudonyms each time"}});
  SetExamples(*command("import").get_subcommand("openb"),
              {{"ebb import openb --nodes nodes.csv --pods pods.csv -o openb.pb",
                "the cluster of the trace, half of its pods ended"}});
  SetExamples(command("dump"),
              {{"ebb dump -o cluster.json", "all that a plan needs, of the current context"},
               {"ebb dump --context prod --redact -o prod.json", "without environments"},
               {"ebb dump -o cluster.json -- --as=auditor", "flags for kubectl"}},
              {{0, "the file has all that the server has"},
               {1, "there is no dump"},
               {2, "wrong usage"},
               {3, "some kinds could not be read; standard error names them"}});
  SetExamples(command("replay"),
              {{"ebb plan all.json --state ebb.db --record rounds.db", "records a round"},
               {"ebb replay rounds.db", "decides again, and compares"}},
              {{0, "every decision is the same bytes"},
               {1, "a decision differs, or the record cannot be read"},
               {2, "wrong usage"}});
  SetExamples(command("state"),
              {{"ebb state show ebb.db", "timers, cooldowns, counters, the last rounds"},
               {"ebb state set-clock ebb.db", "after rounds at a wrong time (docs/rounds.md)"}});
  SetExamples(*command("state").get_subcommand("show"),
              {{"ebb state show ebb.db", "timers, cooldowns, counters, the last rounds"}});
  SetExamples(*command("state").get_subcommand("set-clock"),
              {{"ebb state set-clock ebb.db", "back to the clock's time"},
               {"ebb state set-clock ebb.db --now 2026-06-01T12:00:00Z", "back to this time"}});
  SetExamples(command("policy"),
              {{"ebb policy init --school escalator > pools.yaml", "a sample to begin with"},
               {"ebb policy check pools.yaml", "is it right?"},
               {"ebb policy eval pools.yaml all.json", "what it asks for now, and why"},
               {"ebb policy simulate pools.yaml --report r.html", "what it would do over a day"},
               {"ebb policy schema > pools.schema.json", "for editors"}});
  const auto policy_command = [&](const char* name) -> CLI::App& {
    return *command("policy").get_subcommand(name);
  };
  SetExamples(policy_command("schema"), {{"ebb policy schema > pools.schema.json", "for editors"}});
  SetExamples(policy_command("init"),
              {{"ebb policy init --school maestro > pools.yaml", "a sample to begin with"}});
  SetExamples(policy_command("check"), {{"ebb policy check pools.yaml", "is it right?"}});
  SetExamples(
      policy_command("eval"),
      {{"ebb policy eval pools.yaml all.json", "by what pods request"},
       {"ebb policy eval pools.yaml all.json --state ebb.db", "going on from the round before"},
       {"ebb policy eval pools.yaml all.json --series signals.csv -o json",
        "with signals, as data"}});
  SetExamples(policy_command("failsafe"),
              {{"ebb policy failsafe list --state ebb.db", "which pools do nothing"},
               {"ebb policy failsafe clear web --state ebb.db", "the pool web goes on"}});
  SetExamples(policy_command("simulate"),
              {{"ebb policy simulate", "the four schools on one day"},
               {"ebb policy simulate pools.yaml --load spike --report r.html", "pools of a file"},
               {"ebb policy simulate pools.yaml --series load.csv", "a recorded load"}});
  SetExamples(
      command("serve"),
      {{"ebb serve --socket /run/ebb/ebb.sock", "until SIGTERM or SIGINT (docs/service.md)"},
       {"ebb serve --socket ebb.sock --state-folder states", "with rounds"},
       {"ebb plan all.json --server unix:/run/ebb/ebb.sock", "loads a cluster, and plans"},
       {"ebb plan --server unix:/run/ebb/ebb.sock", "plans for what is there now"}},
      {{0, "it was ended by a signal"}, {1, "it could not begin"}, {2, "wrong usage"}});
  SetExamples(*command("serve").get_subcommand("status"),
              {{"ebb serve status --server unix:/run/ebb/ebb.sock", "what a daemon serves"}});
  SetExamples(command("run"),
              {{"ebb run --simulate", "a day of 1,000 nodes: what scale-down would save"},
               {"ebb run --simulate --nodes 100 --hours 48 --report two-days.html", "with curves"},
               {"ebb run --simulate --max-drain-parallelism 5 --faults",
                "other options, and things that go wrong"},
               {"ebb run --input all.json --dry-run", "what would be done, until SIGTERM"},
               {"ebb run --socket ebb.sock --dry-run", "the same with a cluster that is fed"},
               {"ebb run --socket ebb.sock --actuator unix:plugin.sock --state-folder states",
                "done (docs/run.md)"},
               {"ebb run --server unix:ebb.sock --actuator unix:plugin.sock",
                "with the cluster of `ebb serve`"}},
              {{0, "it was ended by a signal, or the simulation is over"},
               {1, "it could not begin, or bad input"},
               {2, "wrong usage"}});
  SetExamples(
      command("conformance"),
      {{"ebb conformance --actuator unix:/run/plugin.sock", "touches no node"},
       {"ebb conformance --actuator unix:/run/plugin.sock --node worker-7",
        "taints it and rolls back"},
       {"ebb conformance --actuator unix:/run/plugin.sock --node worker-7 "
        "--drain-and-delete",
        "and then deletes it"}},
      {{0, "no check failed"}, {1, "a check failed, or no check could run"}, {2, "wrong usage"}});
  SetExamples(command("version"), {{"ebb version", "`ebb --version` prints its first line"},
                                   {"ebb version -o json", "as data"}});
  SetExamples(command("help"), {{"ebb help plan", "the same as `ebb plan --help`"},
                                {"ebb help import openb", "of a command's command"}});
  SetExamples(command("man"),
              {{"ebb man plan | man -l -", "reads the page"},
               {"ebb man --folder /usr/local/share/man/man1", "installs all of them"}});
  SetExamples(command("completion"),
              {{"source <(ebb completion bash)", "for this shell; in ~/.bashrc for every one"},
               {"ebb completion zsh > \"${fpath[1]}/_ebb\"", "for zsh"},
               {"ebb completion fish > ~/.config/fish/completions/ebb.fish", "for fish"},
               {"ebb completion nodes all.json", "what the scripts call: names of nodes"}});
}

}  // namespace

CommandLine::CommandLine()
    : app(std::make_unique<CLI::App>(
          "ebb: which nodes of a Kubernetes cluster can go, all together, and where each of their "
          "pods lands.",
          "ebb")) {
  app->formatter(HelpFormatter());
  app->set_version_flag("--version", fmt::format("ebb {}", kVersion), "Print the version and exit");
  app->require_subcommand(1);
  plan.AddTo(*app->add_subcommand("plan", "Tell which nodes can go and where their pods land"));
  blockers.AddTo(*app->add_subcommand(
      "blockers", "Rank what keeps nodes by how many more would go without it"));
  frontier.AddTo(
      *app->add_subcommand("frontier", "Tell the best plan for each number of pods evicted"));
  report.AddTo(*app->add_subcommand(
      "report", "Write one page for a browser with all answers about a cluster"));
  compare.AddTo(*app->add_subcommand("compare", "Tell in what two plans differ"));
  top.AddTo(*app->add_subcommand("top", "Show what goes, by group of nodes, as it changes"));
  prices.AddTo(*app->add_subcommand("prices", "Tell what machines cost, or make a file of prices"));
  filter.AddTo(
      *app->add_subcommand("filter", "Tell which nodes take a pod, and why the others do not"));
  gen.AddTo(*app->add_subcommand("gen", "Make a cluster to try things out"));
  import.AddTo(*app->add_subcommand("import", "Turn dumps into one snapshot file"));
  scrub.AddTo(*app->add_subcommand(
      "scrub", "Replace the names of a dump by pseudonyms, so that it may be shown"));
  dump.AddTo(*app->add_subcommand("dump", "Fetch with kubectl all that a plan needs, as one file"));
  replay.AddTo(
      *app->add_subcommand("replay", "Run recorded rounds again and compare every decision"));
  state.AddTo(
      *app->add_subcommand("state", "Look into a state file of rounds, or set its clock right"));
  policy.AddTo(
      *app->add_subcommand("policy", "Tell how many nodes pools should have, by sizing policies"));
  serve.AddTo(*app->add_subcommand("serve", "Answer over a Unix socket"));
  run.AddTo(
      *app->add_subcommand("run", "Run the loop: on a live cluster, a simulated one, or a dump"));
  conformance.AddTo(*app->add_subcommand("conformance", "Test an actuator plugin"));
  version.AddTo(*app->add_subcommand("version", "Print the version, the build and its features"));
  CLI::App* const help = app->add_subcommand("help", "Tell what a command does and takes");
  CLI::App* const man = app->add_subcommand("man", "Print a man page, as roff");
  CLI::App* const completion =
      app->add_subcommand("completion", "Print a script that lets a shell complete ebb");
  completion
      ->add_option("SHELL", completion_of, "bash, zsh or fish; nodes: names for such a script")
      ->check(values::Choice({"bash", "zsh", "fish", "nodes"}))
      ->required();
  completion->add_option("INPUT", completion_inputs, "With nodes: dumps of the cluster")
      ->check(values::File());
  const std::vector<std::string> commands = AllCommandNames(*app);
  help->add_option("COMMAND", help_of, "Name of a command (default: ebb itself)")
      ->check(values::Choice(commands));
  man->add_option("COMMAND", man_of, "Name of a command (default: ebb itself)")
      ->check(values::Choice(commands));
  man->add_option("--folder", man_folder,
                  "Write the pages of all commands into this folder: ebb.1, ebb-plan.1, ...")
      ->type_name("DIR")
      ->check(values::File());
  RefuseMisfits("man", *man);
  SetAllExamples(*app);
}

CommandLine::~CommandLine() = default;

void CommandLine::AddAutoscalerFlags(std::string_view command) {
  if (command != "plan" && command != "run") return;
  CLI::App& taking = *app->get_subcommand(std::string(command));
  AddOtherAutoscalerFlags(taking);
  TakeLastOfEach(taking);
}

}  // namespace ebb
