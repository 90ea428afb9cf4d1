// PrintPlan: the forms for people; those for programs are plan_json.cc's.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "tools/json_text.h"
#include "tools/plan_json.h"
#include "tools/plan_report.h"
#include "tools/printable.h"
#include "tools/table.h"

namespace ebb {
namespace {

constexpr size_t kDestinationsShown = 2;
constexpr size_t kRowsShown = 40;  // Of nodes, on a terminal.
constexpr size_t kSharesShown = 10;
constexpr size_t kKeepersShown = 10;

// How much is shown.
struct Style {
  bool wide = false;
  bool all = false;      // Lists of the foremost show everybody.
  size_t columns = 0;    // Of the terminal; 0: as wide as it comes.
  size_t nodes_max = 0;  // Rows of nodes that go.
};

std::string OrDash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

// How many rows are left out, and how to see them.
void PrintRest(size_t rows, std::ostream& out) {
  if (rows > 0) out << fmt::format("... {} more; all with --all or -o wide\n", WithCommas(rows));
}

std::string Milliseconds(double seconds) {
  return seconds < 0.0095 ? fmt::format("{:.1f} ms", seconds * 1e3)
                          : fmt::format("{:.0f} ms", seconds * 1e3);
}

std::string Summary(const PlanReport& report) {
  const PlanContext& context = report.context;
  const size_t nodes = context.cluster->snapshot.nodes();
  const MadePlan& made = *context.made;
  const std::string took =
      made.verify_s == 0  // A round verifies its plan itself.
          ? fmt::format("planned and verified in {}", Milliseconds(made.pass_s))
          : fmt::format("planned in {}, verified in {}", Milliseconds(made.pass_s),
                        Milliseconds(made.verify_s));
  return fmt::format(
      "Plan: {} of {} can go ({}), {} of {} move, {}", WithCommas(report.remove.size()),
      Count(nodes, "node", "nodes"),
      Percent(static_cast<double>(report.remove.size()) / static_cast<double>(nodes)),
      WithCommas(report.moved), Count(report.pods, "pod", "pods"), took);
}

void PrintNotes(const PlanReport& report, std::ostream& out) {
  const PlanContext& context = report.context;
  switch (context.made->plan.termination) {
    case Termination::kComplete:
      break;
    case Termination::kLimit:
      out << "The limit of --max-scale-down-parallelism ended the pass; more nodes may follow.\n";
      break;
    case Termination::kDeadline:
      out << "The time of --scale-down-simulation-timeout ended the pass; more nodes may follow.\n";
      break;
    case Termination::kNoRoomForPending:
      out << "Pending pods find no room, so nothing was judged.\n";
      break;
  }
  if (const size_t pending = context.cluster->pending.size(); pending > 0) {
    out << fmt::format("{} pending: {} found room first, {} not.\n",
                       Count(pending, "pod is", "pods are"), context.made->plan.packed.size(),
                       pending - context.made->plan.packed.size());
  }
}

std::string GroupName(const PlanContext& context, NodeId node) {
  const NodeGroup* group = context.groups->Find(node);
  return group == nullptr ? "-" : group->name;
}

std::string UtilizationText(const PlanContext& context, NodeId node) {
  const auto& utilization = context.made->plan.utilization[Index(node)];
  if (!utilization) return "-";
  return fmt::format("{} {}", Percent(utilization->utilization),
                     context.catalog().Text(utilization->resource));
}

// "node-a (3), node-b, 2 more": where most of the pods go first.
std::string Destinations(const PlanContext& context, const PlanReport::Removal& removal,
                         size_t shown) {
  std::map<NodeId, size_t> pods;
  for (const PlanReport::PodMove& move : removal.pods) ++pods[move.to];
  std::vector<std::pair<NodeId, size_t>> sorted(pods.begin(), pods.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(shown, sorted.size()); ++i) {
    if (i > 0) text += ", ";
    text += context.catalog().NodeName(sorted[i].first);
    if (sorted[i].second > 1) text += fmt::format(" ({})", sorted[i].second);
  }
  if (sorted.size() > shown) text += fmt::format(", {} more", sorted.size() - shown);
  return text;
}

// One row too many costs more than the line that tells of it.
size_t RowsShown(size_t rows, size_t rows_max) { return rows <= rows_max + 1 ? rows : rows_max; }

void PrintRemovals(const PlanReport& report, const Style& style, std::ostream& out) {
  const PlanContext& context = report.context;
  Table table({"#", "NODE", "GROUP", "UTILIZATION", "PODS", "DESTINATIONS"});
  table.FitTo(style.columns).AlignRight(0).AlignRight(4);
  table.ShortenMiddle(1).ShortenMiddle(2).ShortenEnd(5);
  const size_t shown = RowsShown(report.remove.size(), style.nodes_max);
  for (size_t i = 0; i < shown; ++i) {
    const PlanReport::Removal& removal = report.remove[i];
    table.AddRow({std::to_string(i + 1), std::string(context.catalog().NodeName(removal.node)),
                  GroupName(context, removal.node), UtilizationText(context, removal.node),
                  std::to_string(removal.pods.size()),
                  Destinations(context, removal, kDestinationsShown)});
  }
  table.Print(out);
  PrintRest(report.remove.size() - shown, out);
}

void PrintRemovalsWide(const PlanReport& report, std::ostream& out) {
  const PlanContext& context = report.context;
  Table table({"#", "NODE", "GROUP", "TYPE", "ZONE", "CAPACITY", "UTILIZATION", "CPU", "CPU%",
               "MEMORY", "MEMORY%", "PODS", "RISKY", "DESTINATIONS"});
  table.AlignRight(0);
  for (size_t column = 7; column <= 11; ++column) table.AlignRight(column);
  size_t order = 0;
  for (const PlanReport::Removal& removal : report.remove) {
    const NodeFacts& facts = report.facts[Index(removal.node)];
    const auto& utilization = context.made->plan.utilization[Index(removal.node)];
    const bool both = utilization && CountsCpuAndMemory(context.catalog(), *utilization);
    table.AddRow({std::to_string(++order), std::string(context.catalog().NodeName(removal.node)),
                  GroupName(context, removal.node), OrDash(facts.instance_type), OrDash(facts.zone),
                  OrDash(facts.capacity_type), UtilizationText(context, removal.node),
                  Cores(facts.allocatable.cpu_milli), both ? Percent(utilization->cpu) : "-",
                  Gibibytes(facts.allocatable.memory_bytes),
                  both ? Percent(utilization->memory) : "-", std::to_string(removal.pods.size()),
                  removal.risky ? "yes" : "no",
                  Destinations(context, removal, removal.pods.size())});
  }
  table.Print(out);
}

void PrintKeptNodes(const PlanReport& report, std::ostream& out) {
  const PlanContext& context = report.context;
  Table table({"NODE", "GROUP", "TYPE", "ZONE", "CAPACITY", "UTILIZATION", "REASON", "DETAIL"});
  for (const PlanReport::Kept& kept : report.keep) {
    const NodeId node = kept.why.node;
    const NodeFacts& facts = report.facts[Index(node)];
    table.AddRow({std::string(context.catalog().NodeName(node)), GroupName(context, node),
                  OrDash(facts.instance_type), OrDash(facts.zone), OrDash(facts.capacity_type),
                  UtilizationText(context, node), ReasonText(kept), KeptBy(context, kept.why)});
  }
  table.Print(out);
}

std::string AmountsText(const NodeAmounts& amounts) {
  std::string cores = Cores(amounts.cpu_milli);
  if (cores.ends_with(".0")) cores.resize(cores.size() - 2);
  std::string text = fmt::format("{} {} and {} of memory", cores, cores == "1" ? "core" : "cores",
                                 Bytes(amounts.memory_bytes));
  if (amounts.gpus > 0) {
    text += ", with " + Count(static_cast<uint64_t>(amounts.gpus), "GPU", "GPUs");
  }
  return text;
}

// What goes of each group, or of each instance type.
void PrintShares(const char* heading, const std::vector<PlanReport::Share>& shares,
                 const Style& style, std::ostream& out) {
  const auto removed = static_cast<size_t>(
      std::ranges::count_if(shares, [](const auto& share) { return share.removed > 0; }));
  if (shares.size() < 2 || removed == 0) return;  // The whole tells as much.
  const bool gpus =
      std::ranges::any_of(shares, [](const auto& share) { return share.freed.gpus > 0; });
  std::vector<std::string> headings = {heading, "GO", "OF", "CPU", "MEMORY"};
  if (gpus) headings.emplace_back("GPUS");
  Table table(headings);
  table.FitTo(style.columns).ShortenMiddle(0);
  for (size_t column = 1; column < headings.size(); ++column) table.AlignRight(column);
  const size_t shown = style.all ? removed : RowsShown(removed, kSharesShown);
  for (const PlanReport::Share& share : std::span(shares).first(shown)) {
    std::vector<std::string> row = {std::string(share.name), WithCommas(share.removed),
                                    WithCommas(share.nodes), Cores(share.freed.cpu_milli),
                                    Gibibytes(share.freed.memory_bytes)};
    if (gpus) row.push_back(std::to_string(share.freed.gpus));
    table.AddRow(std::move(row));
  }
  out << "\n";
  table.Print(out);
  PrintRest(removed - shown, out);
}

void PrintKeepers(const PlanReport& report, const Style& style, std::ostream& out) {
  if (report.keepers.empty()) return;
  Table table({"", "", "", ""});
  table.Indent(2).AlignRight(2).FitTo(style.columns).ShortenMiddle(1);
  const size_t shown =
      style.all ? report.keepers.size() : RowsShown(report.keepers.size(), kKeepersShown);
  for (const PlanReport::Keeper& keeper : std::span(report.keepers).first(shown)) {
    table.AddRow({keeper.kind, fmt::format("{}/{}", keeper.namespace_name, keeper.name),
                  WithCommas(keeper.nodes), std::string(keeper.reason)});
  }
  out << "\nIn the way of most nodes:\n";
  table.Print(out);
  PrintRest(report.keepers.size() - shown, out);
}

// What a reason means, for those who do not know the autoscaler's words.
std::string Meaning(const PlanReport& report, std::string_view reason) {
  const PlannerOptions& options = report.context.request->planner;
  if (reason == "NotUnderutilized") {
    return fmt::format("more is requested than the threshold, {}",
                       Percent(options.scale_down_utilization_threshold));
  }
  static const std::map<std::string_view, std::string> kMeanings = {
      {"NoPlaceToMovePods", "some pod fits on no other node"},
      {"NotAutoscaled", "in no node group"},
      {"NodeGroupMinSizeReached", "its group may not get smaller"},
      {"AtomicScaleDownFailed", "its group goes as a whole or not at all"},
      {"ScaleDownDisabledAnnotation", "annotated scale-down-disabled"},
      {"ScaleDownUnreadyDisabled", "not ready, and unready nodes are to stay"},
      {"CurrentlyBeingDeleted", "on its way out already"},
      {"BlockedByOnCompletionPod", "waits for a pod to end"},
      {"UnexpectedError", "its utilization cannot be told"},
      {"NotJudged", "the pass ended before its turn"},
  };
  const auto it = kMeanings.find(reason);
  return it == kMeanings.end() ? "" : it->second;
}

// The finer reasons under a reason: of pods that block, or of an earlier pass.
std::map<std::string_view, size_t> FinerReasons(const PlanReport& report, std::string_view reason) {
  std::map<std::string_view, size_t> counts;
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.reason != reason) continue;
    if (kept.why.reason == UnremovableReason::kBlockedByPod) {
      ++counts[ToString(kept.why.blocking_reason)];
    } else if (kept.why.before && kept.why.before->reason != UnremovableReason::kNoReason) {
      ++counts[ToString(kept.why.before->reason)];
    }
  }
  return counts;
}

// One row where all are in no group for one reason, else one more for each reason.
void AddNotAutoscaled(const PlanReport& report, size_t nodes, Table& table) {
  const std::string reason(ToString(UnremovableReason::kNotAutoscaled));
  std::map<std::string_view, size_t> details;
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.reason == reason) ++details[DetailOf(report.context, kept.why)];
  }
  const bool one = details.size() == 1 && !details.begin()->first.empty();
  table.AddRow({reason, WithCommas(nodes),
                one ? std::string(details.begin()->first) : Meaning(report, reason)});
  if (one) return;
  for (const auto& [detail, count] : details) {
    if (!detail.empty()) table.AddRow({"", WithCommas(count), std::string(detail)});
  }
}

void PrintKeptReasons(const PlanReport& report, const Style& style, std::ostream& out) {
  Table table({"", "", ""});
  table.Indent(2).AlignRight(1).FitTo(style.columns).ShortenEnd(2);
  for (const auto& [reason, nodes] : report.kept_by_reason) {
    if (reason == ToString(UnremovableReason::kNotAutoscaled)) {
      AddNotAutoscaled(report, nodes, table);
      continue;
    }
    table.AddRow({std::string(reason), WithCommas(nodes), Meaning(report, reason)});
    for (const auto& [why, count] : FinerReasons(report, reason)) {
      table.AddRow({"  " + std::string(why), WithCommas(count), ""});
    }
  }
  out << "Kept: " << Count(report.keep.size(), "node", "nodes") << "\n";
  table.Print(out);
}

void PrintTables(const PlanReport& report, const Style& style, bool colour, std::ostream& out) {
  out << (colour ? "\x1b[1m" : "") << Summary(report) << (colour ? "\x1b[0m" : "") << "\n";
  PrintNotes(report, out);
  if (!report.remove.empty()) {
    out << "\n";
    if (style.wide) {
      PrintRemovalsWide(report, out);
    } else {
      PrintRemovals(report, style, out);
    }
    out << "\nFreed: " << AmountsText(report.freed) << "\n";
    PrintShares("GROUP", report.by_group, style, out);
    PrintShares("INSTANCE TYPE", report.by_instance_type, style, out);
  }
  if (report.keep.empty()) return;
  out << "\n";
  if (style.wide) {
    PrintKeptNodes(report, out);
    out << "\n";
  }
  PrintKeptReasons(report, style, out);
  PrintKeepers(report, style, out);
}

}  // namespace

void PrintPlan(const PlanReport& report, PlanFormat format, const PrintOptions& options,
               std::ostream& out) {
  switch (format) {
    case PlanFormat::kTable:
    case PlanFormat::kWide: {
      const bool wide = format == PlanFormat::kWide;
      const bool cut = options.terminal.is_terminal && !wide && !options.all_rows;
      const Style style{.wide = wide,
                        .all = wide || options.all_rows,
                        .columns = wide ? 0 : options.terminal.columns,
                        .nodes_max = cut ? kRowsShown : report.remove.size()};
      PrintTables(report, style, options.terminal.colour, out);
      break;
    }
    case PlanFormat::kJson:
      out << IndentedJson(PlanJson(report));
      break;
    case PlanFormat::kYaml:
      out << Yaml(PlanJson(report));
      break;
    case PlanFormat::kCsv:
      PrintCsv(report, out);
      break;
    case PlanFormat::kName:
      for (const PlanReport::Removal& removal : report.remove) {
        out << "node/" << Printable(report.context.catalog().NodeName(removal.node)) << "\n";
      }
      break;
  }
}

}  // namespace ebb
