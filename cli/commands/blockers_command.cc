#include "cli/commands/blockers_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands/search_interrupt.h"
#include "cli/commands/watch_command.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/print/display_text.h"
#include "cli/print/fail.h"
#include "cli/print/markdown.h"
#include "cli/print/page_file.h"
#include "cli/print/progress.h"
#include "cli/print/table.h"
#include "cli/print/terminal.h"
#include "groups/prices.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "platform/clock.h"
#include "platform/settings_file.h"
#include "report/block_words.h"
#include "report/page_data.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/incomplete.h"
#include "what_if/blockers.h"

namespace ebb {
namespace {

std::string NameOf(const Blocker& blocker) {
  return fmt::format("{} {}{}{}", blocker.kind, blocker.namespace_name,
                     blocker.namespace_name.empty() ? "" : "/", blocker.name);
}

// Prints what blocking budgets will do without a change to them (Blocker::detail).
void PrintOutlooks(const Blockers& blockers, const Terminal& terminal, std::ostream& out) {
  constexpr size_t kShown = 10;
  size_t outlooks = 0;
  for (const Blocker& each : blockers.blockers) {
    const bool recovers = each.outlook == ToString(BudgetOutlook::kRecovers);  // Its row says so.
    if (each.detail.empty() || recovers || ++outlooks > kShown) continue;
    const std::string line = fmt::format("{}: {}.", Printable(NameOf(each)), each.detail);
    out << (outlooks == 1 ? "\n" : "") << Wrapped(line, terminal.columns, 2) << "\n";
  }
  if (outlooks > kShown) {
    out << Count(outlooks - kShown, "more budget", "more budgets") << "; -o json has them all.\n";
  }
}

// `of_incomplete`: as for PrintBlockers.
void PrintMarkdown(const Blockers& blockers, std::string_view of_incomplete,
                   std::string_view currency, std::ostream& out) {
  out << fmt::format("### {}{} can go, {} stay\n\n", Count(blockers.removed, "node", "nodes"),
                     of_incomplete, WithCommas(blockers.kept));
  const bool has_prices = std::ranges::any_of(
      blockers.blockers, [](const Blocker& each) { return each.saved_per_hour.has_value(); });
  std::vector<std::string> headings = {"what keeps nodes", "reason", "if", "more nodes go"};
  if (has_prices) headings.emplace_back("saves an hour");
  std::vector<std::vector<std::string>> rows;
  size_t not_tried = 0;
  size_t more = 0;
  for (const Blocker& each : blockers.blockers) {
    if (!each.gained) {
      ++not_tried;
    } else if (rows.size() == kMarkdownRows) {
      ++more;
    } else {
      std::vector<std::string> row = {MarkdownCode(NameOf(each)), MarkdownCode(each.reason),
                                      MarkdownCode(each.change), Signed(*each.gained)};
      if (has_prices) {
        row.push_back(MarkdownCode(MoneyText(each.saved_per_hour.value_or(0), currency)));
      }
      rows.push_back(std::move(row));
    }
  }
  std::vector<bool> right = {false, false, false, true};
  if (has_prices) right.push_back(true);
  PrintMarkdownTable(headings, right, rows, more, out);
  if (not_tried > 0) {
    out << fmt::format("\n{}, and no change was tried; `-o json` says why.\n",
                       Count(not_tried, "more keeps nodes", "more keep nodes"));
  }
}

// "NotEnoughPdb, spent for now"
std::string ReasonOf(const Blocker& blocker) {
  struct Words {
    BudgetOutlook outlook;
    std::string_view text;
  };
  constexpr Words kWords[] = {{BudgetOutlook::kRecovers, ", spent for now"},
                              {BudgetOutlook::kWaits, ", pods unhealthy"},
                              {BudgetOutlook::kNeverAllows, ", never allows any"}};
  for (const Words& words : kWords) {
    if (ToString(words.outlook) == blocker.outlook) {
      return absl::StrCat(blocker.reason, Absl(words.text));
    }
  }
  return blocker.reason;
}

// Prints the sets of changes that help together.
void PrintSets(const Blockers& blockers, std::string_view currency, const Terminal& terminal,
               std::ostream& out) {
  if (blockers.sets_tried == 0) return;
  const std::string tried =
      Count(blockers.sets_tried, "set of changes was", "sets of changes were");
  if (blockers.sets.empty()) {
    out << Wrapped(fmt::format("\n{} tried; none frees more than the best change alone.", tried),
                   terminal.columns)
        << "\n";
    return;
  }
  out << fmt::format("\nTogether ({} tried):\n", tried);
  std::vector<size_t> before;
  for (const BlockerSet& set : blockers.sets) {
    const std::string saved =
        set.saved_per_hour
            ? fmt::format(", {} an hour, {} a month", MoneyText(*set.saved_per_hour, currency),
                          MoneyText(*set.saved_per_hour * kHoursPerMonth, currency))
            : "";
    // Most sets are the one before with one change more.
    const bool is_more = !before.empty() && std::ranges::includes(set.blockers, before);
    std::string names = is_more ? "also " : "";
    size_t named = 0;
    for (const size_t member : set.blockers) {
      if (is_more && std::ranges::binary_search(before, member)) continue;
      names += (named++ == 0 ? "" : ", ") + Printable(NameOf(blockers.blockers[member]));
    }
    before = set.blockers;
    out << "  "
        << Wrapped(
               fmt::format("these {} together: {} {}{}: {}", set.blockers.size(),
                           Signed(set.gained), set.gained == 1 ? "node" : "nodes", saved, names),
               terminal.columns, 4)
        << "\n";
  }
}

// Prints the lines that make the changes that help most.
void PrintCommands(const Blockers& blockers, std::ostream& out) {
  constexpr size_t kShown = 5;
  size_t commands = 0;
  for (const Blocker& each : blockers.blockers) {
    if (each.command.empty() || each.gained.value_or(0) <= 0 || ++commands > kShown) continue;
    if (commands == 1)
      out << "\nCommands for these changes (a workload with a new template replaces its pods):\n";
    out << "  " << Printable(each.command) << "\n";
  }
  if (commands > kShown) {
    out << fmt::format("{} more; -o json has them all.\n", WithCommas(commands - kShown));
  }
}

// `of_incomplete`: the result of OfIncomplete for the cluster.
void PrintBlockers(const Blockers& blockers, std::string_view of_incomplete,
                   std::string_view currency, const Terminal& terminal, std::ostream& out) {
  out << fmt::format("{}{} can go, {} stay.\n", Count(blockers.removed, "node", "nodes"),
                     of_incomplete, WithCommas(blockers.kept));
  if (blockers.blockers.empty()) return;
  const bool has_prices = std::ranges::any_of(
      blockers.blockers, [](const Blocker& each) { return each.saved_per_hour.has_value(); });
  std::vector<std::string> headings = {"WHAT KEEPS NODES", "REASON", "FIRST OBSTACLE OF", "IF",
                                       "MORE NODES GO"};
  if (has_prices) headings.emplace_back("SAVES AN HOUR");
  Table table(headings);
  table.AlignRight(2).AlignRight(4).FitTo(terminal.columns).ShortenNames(0).ShortenEnd(3);
  if (has_prices) table.AlignRight(5);
  std::map<std::string, size_t> not_tried;
  for (const Blocker& each : blockers.blockers) {
    if (!each.gained) {
      ++not_tried[each.not_tried];
      continue;
    }
    std::vector<std::string> row = {NameOf(each), ReasonOf(each), WithCommas(each.keeps),
                                    each.change, Signed(*each.gained)};
    if (has_prices) row.push_back(MoneyText(*each.saved_per_hour, currency));
    table.AddRow(std::move(row));
  }
  out << "\n";
  if (!table.empty()) {
    table.Print(out);
    out << "\nEach row was tried by itself: the change was made, and the plan made again, with the "
           "nodes of\nthis one tried first.  A budget was tried as if it allowed every disruption, "
           "which "
           "takes rounds.\n";
  }
  PrintSets(blockers, currency, terminal, out);
  PrintCommands(blockers, out);
  PrintOutlooks(blockers, terminal, out);
  for (const auto& [why, number] : not_tried) {
    const std::string line =
        fmt::format("{}, and no change was tried: {}.",
                    Count(number, "more keeps nodes", "more keep nodes"), PrintableLine(why));
    out << Wrapped(line, terminal.columns, 2) << "\n";
  }
}

}  // namespace

void BlockersCommand::AddTo(CLI::App& app) {
  plan.AddPlanFlags(app);
  plan.watch.AddTo(app);
  plan.at_server.AddTo(app);
  const std::string group = "Output";
  app.add_option("-o,--output", output, "table, json, yaml or markdown")
      ->check(values::Choice({"table", "json", "yaml", "markdown"}))
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--limit", limit, "Try this many; those that keep most nodes come first")
      ->check(values::WholeNumber(1, 100'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  plan.report.AddTo(app);
  app.add_option("--sets", sets,
                 "Try this many sets of changes, to find those that help together; 0: none")
      ->check(values::WholeNumber(0, 1'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--usage", usage,
                 "What containers use, as the metrics API or Prometheus answers "
                 "(docs/what-if.md): says how many more nodes go if workloads request what they "
                 "use; may be given often")
      ->check(values::File())
      ->type_name("[cpu=|memory=]FILE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--usage-percentile", lower.cpu_percentile,
                 "Of the samples of cpu; memory is the largest sample and 15%")
      ->check(values::Number(0, 100))
      ->type_name("P")
      ->capture_default_str()
      ->group(group);
  RefuseMisfits("blockers", app);
}

namespace {

// "cpu" of "cpu=FILE", with FILE; "" of "FILE".
std::pair<std::string_view, std::string_view> UsageParts(std::string_view text) {
  for (const std::string_view resource : {"cpu", "memory"}) {
    if (text.starts_with(resource) && text.substr(resource.size()).starts_with('=')) {
      return {resource, text.substr(resource.size() + 1)};
    }
  }
  return {"", text};
}

std::string FreedText(const CpuAndMemory& freed) {
  return fmt::format("{} cores and {}", Cores(freed.cpu_milli), Bytes(freed.memory_bytes));
}

void PrintLowerRequests(const LowerRequests& found, const LowerRequestsOptions& options,
                        std::string_view currency, const Terminal& terminal, std::ostream& out) {
  const auto wrap = [&](const std::string& text, size_t indent) {
    out << Wrapped(text, terminal.columns, indent) << "\n";
  };
  out << "\n";
  wrap(fmt::format(
           "If {} requested what they use (cpu: percentile {:g} of the samples, memory: the "
           "largest and {}; usage of {}): {} {} go{}; they free {} of requests.",
           Count(found.workloads.size(), "workload", "workloads"), options.cpu_percentile,
           Percent(options.memory_margin), Count(found.pods_with_usage, "pod", "pods"),
           Signed(found.gained), found.gained == 1 ? "node" : "nodes",
           found.saved_per_hour ? ", " + MoneyText(*found.saved_per_hour, currency) + " an hour"
                                : "",
           FreedText(found.freed)),
       2);
  Table table({"WORKLOAD", "PODS", "REQUESTS OF A POD'S CONTAINERS", "FREES", "MORE NODES GO"});
  table.AlignRight(1).AlignRight(4).FitTo(terminal.columns).ShortenNames(0).ShortenEnd(2);
  for (const LowerRequests::Workload& each : found.workloads) {
    if (!each.gained) break;  // The first ones were tried.
    std::string requests;
    for (const LowerRequests::Container& container : each.containers) {
      requests += (requests.empty() ? "" : "; ") + container.name;
      if (container.cpu_milli) requests += fmt::format(" cpu {}m", *container.cpu_milli);
      if (container.memory_bytes) requests += " memory " + Bytes(*container.memory_bytes);
    }
    table.AddRow({fmt::format("{} {}/{}", each.kind, each.namespace_name, each.name),
                  WithCommas(each.pods), requests, FreedText(each.freed), Signed(*each.gained)});
  }
  if (!table.empty()) table.Print(out);
  for (const LowerRequests::Skipped& each : found.skipped) {
    const std::string names = NamesText(each.named);
    wrap(fmt::format("Left out: {} {}{}", WithCommas(each.named.count), each.what,
                     each.named.first.empty() ? "" : ": " + names),
         2);
  }
}

}  // namespace

std::vector<UsedFile> BlockersCommand::Files() const {
  std::vector<UsedFile> files = plan.Files();
  for (const std::string& each : usage) {
    files.push_back({"--usage", std::string(UsageParts(each).second), FileUse::kRead});
  }
  return files;
}

absl::StatusOr<PodUsage> BlockersCommand::ReadUsage() const {
  constexpr size_t kBytesMax = size_t{2} << 30;
  PodUsage read;
  for (const std::string& each : usage) {
    const auto [resource, file] = UsageParts(each);
    const absl::StatusOr<std::string> text = ReadWholeFile(std::string(file), kBytesMax);
    if (!text.ok()) return text.status();
    if (absl::Status s = read.Read(std::string(file), *text, resource); !s.ok()) return s;
  }
  return read;
}

void BlockersCommand::Print(const Blockers& found, const LowerRequests* requests,
                            std::span<const InputWarning> warnings,
                            const std::optional<std::string>& currency, std::ostream& out) const {
  nlohmann::ordered_json json = BlockersJson(found);
  if (requests != nullptr) json["lowerRequests"] = LowerRequestsJson(*requests, lower);
  PutComplete(warnings, json);
  if (output == "json") {
    out << IndentedJson(json);
  } else if (output == "yaml") {
    out << Yaml(json);
  } else if (output == "markdown") {
    PrintMarkdown(found, OfIncomplete(warnings), currency.value_or(""), out);
  } else {
    PrintBlockers(found, OfIncomplete(warnings), currency.value_or(""), OutputTerminal(), out);
    if (requests != nullptr) {
      PrintLowerRequests(*requests, lower, currency.value_or(""), OutputTerminal(), out);
    }
  }
}

int BlockersCommand::Over(LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
                          const PlanCommand::Loaded& loaded, Progress& progress, std::ostream& out,
                          std::ostream& err) const {
  const auto fail = [&](const absl::Status& status) { return progress.Done(), Fail(status, err); };
  const absl::StatusOr<int64_t> now_s = plan.Accept(rules, cluster);
  if (!now_s.ok()) {
    progress.Done();
    PrintLoadWarnings(cluster, err);
    return Fail(now_s.status(), err);
  }

  const absl::StatusOr<PodUsage> used = ReadUsage();
  if (!used.ok()) return fail(used.status());
  progress.Say("planning");
  const absl::StatusOr<PlanQuery> query = plan.QueryAt(*now_s, rules);
  if (!query.ok()) return fail(query.status());
  const auto answer = AnswerPlan(*query, cluster);
  if (!answer.ok()) return fail(answer.status());
  const std::optional<NodePrices>& prices = (*answer)->prices;
  BlockersOptions options;
  options.limit = limit;
  options.sets = sets;
  if (prices)
    options.price = [&hourly = prices->hourly](NodeId node) { return hourly[Index(node)]; };
  options.on_progress = [&](size_t tried, size_t of) {
    progress.Say(fmt::format("tried {} of {}", tried, of));
  };
  const SearchInterrupt interrupt;
  std::optional<ClockDeadline> limit;
  if (const auto end = plan.SimulationEnd(loaded.since)) limit.emplace(*end);
  const FirstDeadline ends(limit ? &*limit : nullptr, interrupt.ends());
  options.deadline = &ends;
  const PlanReport report = (*answer)->Report();
  // Made before changes are tried, which change the catalog.
  nlohmann::ordered_json page;
  if (plan.report.active()) page = PageData(report, PlanJson(report), plan.report.team_label);
  const absl::StatusOr<Blockers> found = FindBlockers(report, *query, live, options);
  if (!found.ok()) return fail(found.status());
  std::optional<LowerRequests> requests;
  if (!usage.empty()) {
    absl::StatusOr<LowerRequests> lowered =
        FindLowerRequests(report, *query, live, *used, lower, options);
    if (!lowered.ok()) return fail(lowered.status());
    requests = *std::move(lowered);
  }
  if (plan.report.active()) {
    page["blockers"] = BlockersJson(*found);
    if (absl::Status s = WritePageFile(plan.report.file, std::move(page)); !s.ok()) return fail(s);
  }
  progress.Done();

  PrintLoadWarnings(cluster, err);
  Print(*found, requests ? &*requests : nullptr, cluster.warnings,
        prices ? std::optional(prices->currency) : std::nullopt, out);
  return 0;
}

int BlockersCommand::Run(std::ostream& out, std::ostream& err) const {
  plan.PrintFlagRemarks(err);
  if (plan.watch.active()) {
    const auto ask = [&](LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
                         const PlanCommand::Loaded& loaded) {
      absl::StatusOr<ScratchCluster> scratch = ScratchCluster::Of(live, cluster);
      if (!scratch.ok()) return Fail(scratch.status(), err);
      Progress progress;
      return Over(scratch->version.cluster, *scratch->live, rules, loaded, progress, out, err);
    };
    return RunWatch(plan, {.output = output, .ask = ask}, out, err);
  }
  if (absl::Status s = CheckFiles(Files()); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(plan.report.file); !s.ok()) return Fail(s, err);
  Progress progress;
  const auto fail = [&](const absl::Status& status) { return progress.Done(), Fail(status, err); };
  progress.Say("reading");
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<GroupRules> rules = plan.ReadGroupRules();
  if (!rules.ok()) return fail(rules.status());
  const absl::StatusOr<std::unique_ptr<LiveCluster>> live =
      LiveCluster::FromInputs(plan.inputs, plan.options.load, Parallelism(plan.threads));
  if (!live.ok()) return fail(live.status());
  absl::StatusOr<LiveCluster::Version> version = (*live)->CheckedRecently();
  if (!version.ok()) return fail(version.status());
  return Over(version->cluster, **live, *rules, {.since = start}, progress, out, err);
}

}  // namespace ebb
