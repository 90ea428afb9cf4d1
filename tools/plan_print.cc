// PrintPlan: the forms for people; those for programs are plan_json.cc's.

#include "tools/plan_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <span>

#include "base/duration.h"
#include "base/figures.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "service/groups.h"
#include "service/plan_json.h"
#include "service/plan_report.h"
#include "service/prices.h"
#include "snapshot/import/incomplete.h"
#include "tools/display_text.h"
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
  bool all = false;      // Lists of the first few show every row.
  size_t columns = 0;    // Of the terminal; 0: as wide as it comes.
  size_t nodes_max = 0;  // Rows of nodes that go.
};

std::string OrDash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

// How many rows are left out, and how to see them.
void PrintRest(size_t rows, std::ostream& out) {
  if (rows > 0) out << fmt::format("... {} more; all with --all or -o wide\n", WithCommas(rows));
}

std::string Took(double seconds) { return DurationText(std::chrono::duration<double>(seconds)); }

std::string Summary(const PlanReport& report) {
  const PlanContext& context = report.context;
  const size_t nodes = context.cluster->snapshot.nodes();
  if (context.made->plan.termination == Termination::kNotStarted) {
    return fmt::format("No plan{} was made, so none of the {} goes",
                       OfIncomplete(context.cluster->warnings), Count(nodes, "node", "nodes"));
  }
  return fmt::format(
      "Plan{}: {} of {} can go ({}), {} of {} move", OfIncomplete(context.cluster->warnings),
      WithCommas(report.remove.size()), Count(nodes, "node", "nodes"),
      Percent(static_cast<double>(report.remove.size()) / static_cast<double>(nodes)),
      WithCommas(report.moved), Count(report.pods, "pod", "pods"));
}

std::string Took(const PlanContext& context) {
  return context.verify_s == 0  // A round verifies its plan itself.
             ? fmt::format("Planned and verified in {}", Took(context.pass_s))
             : fmt::format("Planned in {}, verified in {}", Took(context.pass_s),
                           Took(context.verify_s));
}

std::string_view TerminationText(Termination termination) {
  switch (termination) {
    case Termination::kComplete:
      break;
    case Termination::kLimit:
      return "--max-scale-down-parallelism ended the pass; more nodes may be able to go.";
    case Termination::kDeadline:
      return "--scale-down-simulation-timeout ended the pass; more nodes may be able to go.";
    case Termination::kNoRoomForPending:
      return "Pods of nodes in deletion, or pods evicted lately, do not all find room, so no node "
             "was judged.";
    case Termination::kRobust:
      return "--robust shortened the plan: with the nodes that it leaves, pods might stay pending.";
    case Termination::kEvictionLimit:
      return "--max-evictions ended the plan; more nodes can go with more evictions.";
    case Termination::kNotStarted:
      return "The round ended before it looked at the nodes; its status below says why.";
  }
  return "";
}

// "2 nodes that go are not ready: a is not ready, 3 hours after it was made; ..."; empty: all are.
std::string UnreadyText(const PlanReport& report) {
  constexpr uint64_t kShown = 3;
  uint64_t nodes = 0;
  std::string names;
  for (const PlanReport::Removal& removal : report.remove) {
    const std::string words = UnreadyWords(report.context, removal.node);
    if (words.empty() || nodes++ >= kShown) continue;
    names += fmt::format("{}{} {}", names.empty() ? "" : "; ",
                         Printable(report.context.catalog().NodeName(removal.node)), words);
  }
  if (nodes == 0) return "";
  if (nodes > kShown) names += fmt::format("; and {} more", WithCommas(nodes - kShown));
  return fmt::format("{} not ready: {}.", Count(nodes, "node that goes is", "nodes that go are"),
                     names);
}

// `displaced`: of the pending ones, those whose node is in deletion.
std::string PendingText(size_t pending, size_t displaced, const Plan& plan) {
  std::string are_pending = Count(pending, "pod is", "pods are") + " pending";
  if (displaced > 0) {
    are_pending = displaced == pending
                      ? Count(pending, "pod", "pods") + " on nodes in deletion must move"
                      : fmt::format("{}, {} of them on nodes in deletion", are_pending,
                                    WithCommas(displaced));
  }
  const size_t placed = plan.packed.size();
  // What there was no time to verify is not told.
  if (placed == 0 && plan.termination == Termination::kDeadline) {
    return are_pending + ", and there was no time to make sure of room.";
  }
  if (pending == placed) {
    return are_pending +
           (pending == 1 ? ", and room is kept for it." : ", and room is kept for all of them.");
  }
  if (placed == 0) {
    return are_pending +
           (pending == 1 ? ", and there is no room for it." : ", and there is no room for them.");
  }
  return fmt::format("{}: room is kept for {}, and there is none for {}.", are_pending,
                     WithCommas(placed), WithCommas(pending - placed));
}

// What the search found beyond the first plan, which it began with.
std::string SearchText(const PlanSearch& search, size_t removed, std::string_view currency) {
  const std::string limit =
      search.max_evictions ? fmt::format(", with at most {}", Count(*search.max_evictions,
                                                                    "pod evicted", "pods evicted"))
                           : "";
  const bool iterated = search.iterations > 0;
  const std::string after = Count(search.iterations, "iteration", "iterations") + limit;
  if (const auto& savings = search.savings) {
    return fmt::format(
        "After the costs of the moves, this plan saves {} an hour. The first plan, without a "
        "search, "
        "removes {} and saves {}. The search {}.",
        MoneyText(savings->found, currency), Count(search.greedy_nodes, "node", "nodes"),
        MoneyText(savings->greedy, currency),
        iterated ? "made " + after : "ended before its first iteration" + limit);
  }
  if (removed <= search.greedy_nodes) {
    return iterated ? fmt::format("The search found no better plan in {}.", after)
                    : fmt::format(
                          "The search ended before its first iteration{}; this is the first plan.",
                          limit);
  }
  return fmt::format("The search found {} more than the {} of the first plan, {}.",
                     Count(removed - search.greedy_nodes, "node", "nodes"),
                     WithCommas(search.greedy_nodes),
                     iterated ? "in " + after : "before its first iteration" + limit);
}

std::string BoundText(const PlanBound& bound, size_t removed) {
  if (bound.nodes <= removed) return "No plan removes more nodes than this one.";
  return fmt::format("No plan removes more than {}: the gap is {}.",
                     Count(bound.nodes, "node", "nodes"), Percent(bound.Gap(removed)));
}

std::string SavingsBoundText(const PlanBound& bound, double found, std::string_view currency) {
  const double gap = bound.GapOfSavings(found);
  if (gap < 1e-9) return "No plan saves more than this one.";
  return fmt::format("No plan saves more than {} an hour: the gap is {}.",
                     MoneyText(*bound.savings, currency), Percent(gap));
}

void PrintTrials(const PlanTrials& trials, const Style& style, std::ostream& out) {
  const auto print = [&](const char* order, const PlanTrials::Figures& figures) {
    const std::string outcome =
        figures.pending_max == 0
            ? "every pod found a place"
            : fmt::format("{} found no place in half of the trials, and never more than {}",
                          figures.pending_median == 0
                              ? "no pod"
                              : Count(figures.pending_median, "pod", "pods") + " or fewer",
                          WithCommas(figures.pending_max));
    out << Wrapped(fmt::format("Trials: {} evicted in {} order, {}: {}; {} landed where planned.",
                               Count(trials.evicted, "pod", "pods"), order,
                               Count(trials.trials, "time", "times"), outcome,
                               Percent(figures.as_planned)),
                   style.columns)
        << "\n";
  };
  print("random", trials.random_order);
  print("the plan's", trials.plan_order);
}

void PrintNotes(const PlanReport& report, const Style& style, std::ostream& out) {
  const PlanContext& context = report.context;
  const Plan& plan = context.made->plan;
  const std::string currency = context.prices == nullptr ? "" : Printable(context.prices->currency);
  if (report.saved_per_hour) {
    out << Wrapped(fmt::format("The nodes that go cost {} an hour, {} in 30 days.",
                               MoneyText(*report.saved_per_hour, currency),
                               MoneyText(*report.saved_per_hour * 720, currency)),
                   style.columns)
        << "\n";
  }
  if (context.search) {
    out << Wrapped(SearchText(*context.search, report.remove.size(), currency), style.columns)
        << "\n";
  }
  if (context.bound && context.bound->savings && context.search && context.search->savings) {
    out << Wrapped(SavingsBoundText(*context.bound, context.search->savings->found, currency),
                   style.columns)
        << "\n";
  } else if (context.bound) {
    out << Wrapped(BoundText(*context.bound, report.remove.size()), style.columns) << "\n";
  }
  if (context.trials) PrintTrials(*context.trials, style, out);
  if (plan.termination != Termination::kComplete) {
    out << Wrapped(TerminationText(plan.termination), style.columns) << "\n";
  }
  const size_t pending = context.cluster->pending.size();
  if (pending > 0 && plan.termination != Termination::kNotStarted) {
    out << Wrapped(PendingText(pending, context.request->pass.must_fit, plan), style.columns)
        << "\n";
  }
  if (const std::string unready = UnreadyText(report); !unready.empty()) {
    out << Wrapped(unready, style.columns) << "\n";
  }
  if (const std::string no_room = NoRoomText(context.cluster->counts); !no_room.empty()) {
    out << Wrapped(no_room, style.columns) << "\n";
  }
}

std::string GroupName(const PlanContext& context, NodeId node) {
  const NodeGroup* group = context.groups->Find(node);
  return group == nullptr ? "-" : group->name;
}

std::string UtilizationText(const PlanReport& report, NodeId node) {
  const PlanContext& context = report.context;
  const auto& utilization = context.made->plan.utilization[Index(node)];
  if (!utilization) return "-";
  std::string text = fmt::format("{} {}", Percent(utilization->utilization),
                                 context.catalog().Text(utilization->resource));
  if (const std::string shared = ToText(report.facts[Index(node)].gpu_sharing); !shared.empty()) {
    text += ", " + shared;
  }
  for (const GpuSlices& each : GpuSlicesOf(context.cluster->snapshot, node)) {
    text += fmt::format(", {} of {} {}", each.requested, each.allocatable, each.resource);
  }
  return text;
}

// Names as a table shows them.
class ShownNames {
 public:
  explicit ShownNames(std::vector<std::string> names) : names_(std::move(names)) {
    std::ranges::sort(names_);
    names_.erase(std::ranges::unique(names_).begin(), names_.end());
    bodies_ = names_;
    CutTo(Longest());
  }

  // Of names that all end in one domain, ".eu-central-1.compute.internal", that is left
  // out; returns it.
  std::string LeaveOutDomain() {
    std::string domain(CommonDomain(bodies_));
    for (std::string& body : bodies_) body.resize(body.size() - domain.size());
    CutTo(Longest());
    return domain;
  }
  [[nodiscard]] size_t Longest() const {
    size_t longest = 0;
    for (const std::string& body : bodies_) longest = std::max(longest, DisplayWidth(body));
    return longest;
  }
  // The shortest width that leaves them apart, but not less than `least`.
  [[nodiscard]] size_t ShortestApart(size_t least) const {
    const size_t longest = Longest();
    for (size_t width = least; width < longest; ++width) {
      std::vector<std::string> cut = ShortenedApart(bodies_, width);
      std::ranges::sort(cut);
      if (std::ranges::adjacent_find(cut) == cut.end()) return width;
    }
    return longest;
  }
  void CutTo(size_t width) {
    const std::vector<std::string> cut = ShortenedApart(bodies_, std::max<size_t>(width, 3));
    shown_.clear();
    for (size_t i = 0; i < names_.size(); ++i) shown_.emplace(names_[i], cut[i]);
  }

  [[nodiscard]] const std::string& Of(std::string_view name) const {
    return shown_.find(name)->second;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> bodies_;  // The same, without the domain.
  std::map<std::string, std::string, std::less<>> shown_;
};

// The nodes that most of the pods go to, the first of them most.
std::vector<std::pair<NodeId, size_t>> Destinations(const PlanReport::Removal& removal) {
  std::map<NodeId, size_t> pods;
  for (const PlanReport::PodMove& move : removal.pods) ++pods[move.to];
  std::vector<std::pair<NodeId, size_t>> sorted(pods.begin(), pods.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

// "node-a (3), node-b, 2 more".
template <typename NameOf>
std::string DestinationsText(const PlanReport::Removal& removal, size_t shown, NameOf name_of) {
  const std::vector<std::pair<NodeId, size_t>> sorted = Destinations(removal);
  std::string text;
  for (size_t i = 0; i < std::min(shown, sorted.size()); ++i) {
    if (i > 0) text += ", ";
    text += name_of(sorted[i].first);
    if (sorted[i].second > 1) text += fmt::format(" ({})", sorted[i].second);
  }
  if (sorted.size() > shown) text += fmt::format(", {} more", sorted.size() - shown);
  return text;
}

// One row too many costs more than the line that tells of it.
size_t RowsShown(size_t rows, size_t rows_max) { return rows <= rows_max + 1 ? rows : rows_max; }

// The table of the nodes that go, as wide as the terminal: first there are fewer
// destinations; then names of nodes and groups are cut, the longer of the two first, and stay
// apart as long as they can.
class RemovalsTable {
 public:
  RemovalsTable(const PlanReport& report, const Style& style)
      : report_(report),
        columns_(style.columns),
        rows_(RowsShown(report.remove.size(), style.nodes_max)),
        nodes_(NodesShown()),
        groups_(GroupsShown()) {
    if (columns_ == 0 || Make(kDestinationsShown).Width() <= columns_) return;
    domain_ = nodes_.LeaveOutDomain();
    while (destinations_ > 1 && Make(destinations_).Width() > columns_) --destinations_;
    CutNames();
  }

  void Print(std::ostream& out) const {
    Table table = Make(destinations_);
    table.FitTo(columns_).ShortenNames(1).ShortenNames(2).ShortenEnd(5);
    table.Print(out);
    PrintRest(report_.remove.size() - rows_, out);
    if (!domain_.empty()) {
      out << Wrapped(fmt::format("All these nodes' names end in {}, which is left out.",
                                 Printable(domain_)),
                     columns_)
          << "\n";
    }
  }

 private:
  static constexpr size_t kShortestName = 10;

  std::string_view NameOf(NodeId node) const { return report_.context.catalog().NodeName(node); }

  std::vector<std::string> NodesShown() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < rows_; ++i) {
      names.emplace_back(NameOf(report_.remove[i].node));
      const auto destinations = Destinations(report_.remove[i]);
      for (size_t d = 0; d < std::min(destinations.size(), kDestinationsShown); ++d) {
        names.emplace_back(NameOf(destinations[d].first));
      }
    }
    return names;
  }

  std::vector<std::string> GroupsShown() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < rows_; ++i) {
      names.push_back(GroupName(report_.context, report_.remove[i].node));
    }
    return names;
  }

  Table Make(size_t destinations) const {
    Table table({"#", "NODE", "GROUP", "UTILIZATION", "PODS", "DESTINATIONS"});
    table.AlignRight(0).AlignRight(4);
    const PlanContext& context = report_.context;
    for (size_t i = 0; i < rows_; ++i) {
      const PlanReport::Removal& removal = report_.remove[i];
      table.AddRow({std::to_string(i + 1), nodes_.Of(NameOf(removal.node)),
                    groups_.Of(GroupName(context, removal.node)),
                    UtilizationText(report_, removal.node), std::to_string(removal.pods.size()),
                    DestinationsText(removal, destinations,
                                     [&](NodeId node) { return nodes_.Of(NameOf(node)); })});
    }
    return table;
  }

  // As short as necessary, but never so short that two names become one.
  void CutNames() {
    const size_t node_least = nodes_.ShortestApart(kShortestName);
    const size_t group_least = groups_.ShortestApart(kShortestName);
    std::vector<std::pair<size_t, size_t>> widths = {{nodes_.Longest(), groups_.Longest()}};
    while (true) {
      auto [node, group] = widths.back();
      if (group > group_least && (group >= node || node <= node_least)) {
        --group;
      } else if (node > node_least) {
        --node;
      } else {
        break;
      }
      widths.emplace_back(node, group);
    }
    const auto too_wide = [&](const std::pair<size_t, size_t>& width) {
      nodes_.CutTo(width.first);
      groups_.CutTo(width.second);
      return Make(destinations_).Width() > columns_;
    };
    const auto first = std::partition_point(widths.begin(), widths.end(), too_wide);
    too_wide(first == widths.end() ? widths.back()
                                   : *first);  // The last width that was tried stays.
  }

  const PlanReport& report_;
  const size_t columns_;
  const size_t rows_;
  ShownNames nodes_;
  ShownNames groups_;
  size_t destinations_ = kDestinationsShown;
  std::string domain_;
};

void PrintRemovals(const PlanReport& report, const Style& style, std::ostream& out) {
  RemovalsTable(report, style).Print(out);
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
                  OrDash(facts.capacity_type), UtilizationText(report, removal.node),
                  Cores(facts.allocatable.cpu_milli), both ? Percent(utilization->cpu) : "-",
                  Gibibytes(facts.allocatable.memory_bytes),
                  both ? Percent(utilization->memory) : "-", std::to_string(removal.pods.size()),
                  removal.risky ? "yes" : "no",
                  DestinationsText(removal, removal.pods.size(), [&](NodeId node) {
                    return std::string(context.catalog().NodeName(node));
                  })});
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
                  UtilizationText(report, node), ReasonText(kept), KeptBy(report, kept.why)});
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

// What goes of each group, or of the nodes of each instance or capacity type.
void PrintShares(const char* heading, const std::vector<PlanReport::Share>& shares,
                 const PlanReport& report, const Style& style, std::ostream& out) {
  const auto removed = static_cast<size_t>(
      std::ranges::count_if(shares, [](const auto& share) { return share.removed > 0; }));
  if (removed == 0) return;
  const bool is_whole =
      shares.size() == 1 && shares[0].nodes == report.context.cluster->snapshot.nodes();
  if (is_whole) return;  // It was printed already.
  const bool gpus =
      std::ranges::any_of(shares, [](const auto& share) { return share.freed.gpus > 0; });
  std::vector<std::string> headings = {heading, "GO", "OF", "CPU", "MEMORY"};
  if (gpus) headings.emplace_back("GPUS");
  Table table(headings);
  table.FitTo(style.columns).ShortenNames(0);
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
  table.Indent(2).AlignRight(2).FitTo(style.columns).ShortenNames(1);
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

// "annotated scale-down-disabled or karpenter.sh/do-not-disrupt": what the nodes have.
std::string MeaningOfAnnotation(const PlanReport& report) {
  std::set<std::string_view> names;
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.why.reason != UnremovableReason::kScaleDownDisabledAnnotation) continue;
    for (std::string_view name : AnnotationsThatKeep(report.context, kept.why.node)) {
      constexpr std::string_view kAutoscalers = "cluster-autoscaler.kubernetes.io/";
      if (name.starts_with(kAutoscalers)) name.remove_prefix(kAutoscalers.size());
      names.insert(name);
    }
  }
  return fmt::format("annotated {}", fmt::join(names, " or "));
}

// What a reason means, for those who do not know the autoscaler's words.
std::string Meaning(const PlanReport& report, std::string_view reason) {
  const PlannerOptions& options = report.context.request->planner;
  if (reason == "NotUnderutilized") {
    return fmt::format("more is requested than the threshold, {}",
                       Percent(options.scale_down_utilization_threshold));
  }
  if (reason == "ScaleDownDisabledAnnotation") return MeaningOfAnnotation(report);
  const Termination termination = report.context.made->plan.termination;
  if (reason == kNotJudged &&
      (termination == Termination::kNotStarted || termination == Termination::kNoRoomForPending)) {
    return "no node was looked at";
  }
  static const std::map<std::string_view, std::string> kMeanings = {
      {"NoPlaceToMovePods", "some pod fits on no other node"},
      {"NotAutoscaled", "in no node group"},
      {"NodeGroupMinSizeReached", "its group may not get smaller"},
      {"AtomicScaleDownFailed", "its group goes as a whole or not at all"},
      {"ScaleDownUnreadyDisabled", "not ready, and unready nodes are to stay"},
      {"CurrentlyBeingDeleted", "on its way out already"},
      {"NotStarted", "still being set up"},
      {"BlockedByOnCompletionPod", "waits for a pod to end"},
      {"UnexpectedError", "its utilization cannot be computed"},
      {"NotUnneededOtherReason", "its group is in cooldown"},
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
    if (kept.reason == reason) {
      ++details[ToText(report.context.groups->WhyNoGroup(kept.why.node))];
    }
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
  if (const size_t later = NodesThatMayGoLater(report); later > 0) {
    out << Wrapped(
               fmt::format("{} may go in later rounds: this plan spends what {} budgets allow at "
                           "a time, and they recover when the evicted pods are ready elsewhere.",
                           later == 1 ? "1 of them" : WithCommas(later) + " of them",
                           later == 1 ? "its" : "their"),
               style.columns)
        << "\n";
  }
}

void PrintTables(const PlanReport& report, const Style& style, bool colour, std::ostream& out) {
  out << (colour ? "\x1b[1m" : "") << Summary(report) << (colour ? "\x1b[0m" : "") << "\n";
  if (report.context.made->plan.termination != Termination::kNotStarted) {
    out << Took(report.context) << "\n";
  }
  PrintNotes(report, style, out);
  if (!report.remove.empty()) {
    out << "\n";
    if (style.wide) {
      PrintRemovalsWide(report, out);
    } else {
      PrintRemovals(report, style, out);
    }
    out << "\nFreed: " << AmountsText(report.freed) << "\n";
    PrintShares("GROUP", report.by_group, report, style, out);
    PrintShares("INSTANCE TYPE", report.by_instance_type, report, style, out);
    PrintShares("CAPACITY TYPE", report.by_capacity_type, report, style, out);
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

const std::map<std::string, PlanFormat>& Formats() {
  static const auto* const formats = new std::map<std::string, PlanFormat>{
      {"table", PlanFormat::kTable}, {"wide", PlanFormat::kWide}, {"json", PlanFormat::kJson},
      {"yaml", PlanFormat::kYaml},   {"csv", PlanFormat::kCsv},   {"name", PlanFormat::kName}};
  return *formats;
}

}  // namespace

std::vector<std::string> PlanFormatNames() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : Formats()) names.push_back(name);
  return names;
}

PlanFormat PlanFormatOf(const std::string& name) { return Formats().at(name); }

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
      out << RemovedNames(report.context);
      break;
  }
}

}  // namespace ebb
