// PrintPlan: the forms for people; those for programs are plan_json.cc's.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/json_text.h"
#include "tools/plan_json.h"
#include "tools/plan_report.h"
#include "tools/table.h"

namespace ebb {
namespace {

constexpr size_t kDestinationsShown = 2;

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
                     std::string_view(context.catalog().Text(utilization->resource)));
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

void PrintRemovals(const PlanReport& report, bool wide, std::ostream& out) {
  const PlanContext& context = report.context;
  std::vector<std::string> headings = {"#", "NODE", "GROUP", "UTILIZATION", "PODS", "DESTINATIONS"};
  if (wide) headings.insert(headings.begin() + 5, {"CPU", "MEMORY", "RISKY"});
  Table table(headings);
  table.AlignRight(0).AlignRight(4);
  if (wide) table.AlignRight(5).AlignRight(6);
  size_t order = 0;
  for (const PlanReport::Removal& removal : report.remove) {
    std::vector<std::string> row = {
        std::to_string(++order), std::string(context.catalog().NodeName(removal.node)),
        GroupName(context, removal.node), UtilizationText(context, removal.node),
        std::to_string(removal.pods.size())};
    if (wide) {
      const auto& utilization = context.made->plan.utilization[Index(removal.node)];
      row.push_back(utilization ? Percent(utilization->cpu) : "-");
      row.push_back(utilization ? Percent(utilization->memory) : "-");
      row.emplace_back(removal.risky ? "yes" : "no");
    }
    row.push_back(Destinations(context, removal, wide ? removal.pods.size() : kDestinationsShown));
    table.AddRow(std::move(row));
  }
  table.Print(out);
}

std::string KeptDetail(const PlanContext& context, const PlanReport::Kept& kept) {
  const Catalog& catalog = context.catalog();
  if (kept.why.pod == kNoPod) return "";
  std::string text = catalog.PodName(kept.why.pod);
  if (kept.why.reason == UnremovableReason::kBlockedByPod) {
    text += fmt::format(": {}", ToString(kept.why.blocking_reason));
    if (kept.why.pdb) {
      text += fmt::format(" {}", catalog.Text(catalog.pdbs()[Index(*kept.why.pdb)].name));
    }
  } else if (kept.why.reason == UnremovableReason::kNoPlaceToMovePods) {
    text += " fits nowhere else";
  }
  return text;
}

void PrintKeptNodes(const PlanReport& report, std::ostream& out) {
  const PlanContext& context = report.context;
  Table table({"NODE", "GROUP", "UTILIZATION", "REASON", "POD"});
  for (const PlanReport::Kept& kept : report.keep) {
    table.AddRow({std::string(context.catalog().NodeName(kept.why.node)),
                  GroupName(context, kept.why.node), UtilizationText(context, kept.why.node),
                  std::string(kept.reason), KeptDetail(context, kept)});
  }
  table.Print(out);
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
      {"NotAutoscaled", "in no node group: control plane, or excluded"},
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

void PrintKeptReasons(const PlanReport& report, std::ostream& out) {
  Table table({"", "", ""});
  table.Indent(2).AlignRight(1);
  for (const auto& [reason, nodes] : report.kept_by_reason) {
    table.AddRow({std::string(reason), WithCommas(nodes), Meaning(report, reason)});
    if (reason != ToString(UnremovableReason::kBlockedByPod)) continue;
    std::map<std::string_view, size_t> blocking;
    for (const PlanReport::Kept& kept : report.keep) {
      if (kept.reason == reason) ++blocking[ToString(kept.why.blocking_reason)];
    }
    for (const auto& [why, count] : blocking) {
      table.AddRow({"  " + std::string(why), WithCommas(count), ""});
    }
  }
  out << "Kept: " << Count(report.keep.size(), "node", "nodes") << "\n";
  table.Print(out);
}

void PrintTables(const PlanReport& report, bool wide, bool colour, std::ostream& out) {
  out << (colour ? "\x1b[1m" : "") << Summary(report) << (colour ? "\x1b[0m" : "") << "\n";
  PrintNotes(report, out);
  if (!report.remove.empty()) {
    out << "\n";
    PrintRemovals(report, wide, out);
  }
  if (report.keep.empty()) return;
  out << "\n";
  if (wide) {
    PrintKeptNodes(report, out);
    out << "\n";
  }
  PrintKeptReasons(report, out);
}

}  // namespace

void PrintPlan(const PlanReport& report, PlanFormat format, bool colour, std::ostream& out) {
  switch (format) {
    case PlanFormat::kTable:
    case PlanFormat::kWide:
      PrintTables(report, format == PlanFormat::kWide, colour, out);
      break;
    case PlanFormat::kJson:
      out << IndentedJson(PlanJson(report));
      break;
    case PlanFormat::kYaml:
      out << Yaml(PlanJson(report));
      break;
    case PlanFormat::kName:
      for (const PlanReport::Removal& removal : report.remove) {
        out << "node/" << report.context.catalog().NodeName(removal.node) << "\n";
      }
      break;
  }
}

}  // namespace ebb
