// PrintPlan: the formats for people; plan_json.cc has the formats for programs.

#include "cli/print/plan_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <span>

#include "base/check.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/purchases_print.h"
#include "cli/print/table.h"
#include "cli/print/waves_print.h"
#include "engine/plan/plan.h"
#include "engine/stable_planner.h"
#include "groups/prices.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "report/plan_script.h"
#include "session/wire_tables.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/incomplete.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

constexpr size_t kDestinationsShown = 2;
constexpr size_t kRowsShown = 40;  // Rows of nodes, on a terminal.
constexpr size_t kSharesShown = 10;
constexpr size_t kKeepersShown = 10;
constexpr size_t kChangesShown = 10;  // Of a stable plan.

// How much to print.
struct Style {
  bool wide = false;
  bool all = false;      // Lists print all rows instead of the first few.
  size_t columns = 0;    // Of the terminal; 0: unlimited.
  size_t nodes_max = 0;  // How many rows of nodes that go.
};

std::string OrDash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

// If only one row were left out, the line that reports it would take as much room as the row.
size_t RowsShown(size_t rows, size_t rows_max) { return rows <= rows_max + 1 ? rows : rows_max; }

// Prints how many rows are left out, and how to see them.
void PrintRest(size_t rows, std::ostream& out) {
  if (rows > 0) out << fmt::format("... {} more; all with --all or -o wide\n", WithCommas(rows));
}

std::string Took(double seconds) { return DurationText(std::chrono::duration<double>(seconds)); }

bool EndedBy(const wire::PlanTables& tables, Termination termination) {
  return tables.termination() == ToString(termination);
}

std::string Summary(const wire::PlanReply& reply) {
  const std::string_view of = OfIncomplete(ReadWarnings(reply));
  if (EndedBy(reply.tables(), Termination::kNotStarted)) {
    return fmt::format("No plan{} was made, so none of the {} goes", of,
                       Count(reply.nodes(), "node", "nodes"));
  }
  return fmt::format(
      "Plan{}: {} of {} can go ({}), {} of {} move", of, WithCommas(reply.removes()),
      Count(reply.nodes(), "node", "nodes"),
      Percent(static_cast<double>(reply.removes()) / static_cast<double>(reply.nodes())),
      WithCommas(reply.tables().moved_pods()), Count(reply.pods(), "pod", "pods"));
}

std::string TookText(const wire::PlanReply& reply) {
  if (reply.has_stable() && !reply.stable().verified()) {
    return fmt::format("Planned in {}, not verified as a whole (--stable-verify-every)",
                       Took(reply.pass_seconds()));
  }
  return reply.verify_seconds() == 0  // A round verifies its plan itself.
             ? fmt::format("Planned and verified in {}", Took(reply.pass_seconds()))
             : fmt::format("Planned in {}, verified in {}", Took(reply.pass_seconds()),
                           Took(reply.verify_seconds()));
}

// Where a stable plan comes from.
std::string StableText(const wire::StableFigures& stable) {
  struct Words {
    StableOrigin origin;
    std::string_view text;
  };
  constexpr Words kWords[] = {
      {StableOrigin::kFirst, "This is the first stable plan; the next one keeps what still holds."},
      {StableOrigin::kOptions,
       "The plan was made from nothing: its options are others than those of the last plan."},
      {StableOrigin::kTime,
       "The plan was made from nothing: its time is before that of the last plan."},
      {StableOrigin::kMissed,
       "The plan was made from nothing: changes since the last plan may have been missed."},
      {StableOrigin::kOtherCluster,
       "The plan was made from nothing: the cluster is another one than that of the last plan."}};
  for (const Words& words : kWords) {
    if (ToString(words.origin) == stable.origin()) return std::string(words.text);
  }
  const auto came =
      static_cast<uint64_t>(std::ranges::count_if(stable.changes(), &wire::StableChange::removes));
  const uint64_t left = static_cast<uint64_t>(stable.changes_size()) - came;
  const std::string kept =
      fmt::format("{} of its {}, {} with the same places; {} came and {} left",
                  WithCommas(stable.kept()), Count(stable.kept() + left, "node", "nodes"),
                  WithCommas(stable.unchanged()), WithCommas(came), WithCommas(left));
  if (stable.origin() == ToString(StableOrigin::kGreedy)) {
    return fmt::format(
        "The plan in the autoscaler's order removes more nodes than the last plan, by more than "
        "--stable-margin, and replaces it. Of the last plan it has {}.",
        kept);
  }
  return fmt::format("Kept the last plan: {}.{}", kept,
                     stable.has_greedy_removes()
                         ? fmt::format(" The plan in the autoscaler's order removes {}.",
                                       Count(stable.greedy_removes(), "node", "nodes"))
                         : "");
}

void PrintStable(const wire::StableFigures& stable, const Style& style, std::ostream& out) {
  out << Wrapped(StableText(stable), style.columns) << "\n";
  const auto changes = static_cast<size_t>(stable.changes_size());
  const size_t shown = style.all ? changes : RowsShown(changes, kChangesShown);
  for (size_t i = 0; i < shown; ++i) {
    const wire::StableChange& change = stable.changes(static_cast<int>(i));
    out << fmt::format("  {} {} ({})\n", change.removes() ? "came" : "left",
                       Printable(change.node()), Printable(change.words()));
  }
  PrintRest(changes - shown, out);
}

// Why the pass did not evaluate every node; empty: it did.
std::string_view TerminationText(std::string_view termination) {
  struct Words {
    Termination termination;
    std::string_view text;
  };
  constexpr Words kWords[] = {
      {Termination::kLimit,
       "--max-scale-down-parallelism ended the pass; more nodes may be able to go."},
      {Termination::kDeadline,
       "--scale-down-simulation-timeout ended the pass; more nodes may be able to go."},
      {Termination::kNoRoomForPending,
       "Pods of nodes in deletion, or recently evicted pods, do not all find room, so no node "
       "was judged."},
      {Termination::kRobust,
       "--robust shortened the plan: with the nodes that it leaves, pods might stay pending."},
      {Termination::kEvictionLimit,
       "--max-evictions ended the plan; more nodes can go with more evictions."},
      {Termination::kNotStarted,
       "The round ended before it looked at the nodes; its status below says why."}};
  for (const Words& words : kWords) {
    if (ToString(words.termination) == termination) return words.text;
  }
  return "";
}

// "2 nodes that go are not ready: a is not ready, 3 hours after it was made; ..."; empty: all are
// ready.
std::string UnreadyText(const wire::PlanTables& tables) {
  if (tables.unready() == 0) return "";
  std::string names;
  for (const wire::NodeWords& node : tables.first_unready()) {
    names +=
        fmt::format("{}{} {}", names.empty() ? "" : "; ", Printable(node.node()), node.words());
  }
  const auto more = tables.unready() - static_cast<uint64_t>(tables.first_unready_size());
  if (more > 0) names += fmt::format("; and {} more", WithCommas(more));
  return fmt::format("{} not ready: {}.",
                     Count(tables.unready(), "node that goes is", "nodes that go are"), names);
}

std::string PendingText(const wire::PlanTables& tables) {
  const uint64_t pending = tables.pending();
  const uint64_t displaced = tables.displaced();
  std::string are_pending = Count(pending, "pod is", "pods are") + " pending";
  if (displaced > 0) {
    are_pending = displaced == pending
                      ? Count(pending, "pod", "pods") + " on nodes in deletion must move"
                      : fmt::format("{}, {} of them on nodes in deletion", are_pending,
                                    WithCommas(displaced));
  }
  const uint64_t placed = tables.placed();
  // If there was no time to check for room, the text says so instead of a count.
  if (placed == 0 && EndedBy(tables, Termination::kDeadline)) {
    return are_pending + ", and there was no time to check whether there is room.";
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

// Why the search ended, as a sentence after the one about the search.
std::string_view SearchEndText(const wire::SearchFigures& search) {
  if (search.has_max_evictions() && search.ended() == ToString(SearchStop::kBoundReached)) {
    return " It ended because none of its searches can find more.";
  }
  struct Words {
    SearchStop stop;
    std::string_view text;
  };
  static constexpr Words kWords[] = {
      {SearchStop::kNothingToSearch, " There was nothing to search."},
      {SearchStop::kBoundReached, " It ended because no plan can be better."},
      {SearchStop::kBudgetUsed, " It ended because its time was used up (--budget)."},
      {SearchStop::kIterationsUsed, " It ended because its iterations were used up."},
      {SearchStop::kTimeLimit, " It ended because the time for the answer was used up."},
      {SearchStop::kInterrupted, " It was interrupted."},
  };
  for (const Words& words : kWords) {
    if (ToString(words.stop) == search.ended()) return words.text;
  }
  return "";
}

// What the search gained over the first plan, with which it began.
std::string SearchText(const wire::SearchFigures& search, uint64_t removed,
                       std::string_view currency) {
  const std::string limit =
      search.has_max_evictions()
          ? fmt::format(", with at most {}",
                        Count(search.max_evictions(), "pod evicted", "pods evicted"))
          : "";
  const uint64_t first = search.first_plan_removed();
  const bool iterated = search.iterations() > 0;
  const std::string after = Count(search.iterations(), "iteration", "iterations") + limit;
  if (search.has_first_plan_net_saved_per_hour()) {
    return fmt::format(
        "After the costs of the moves, this plan saves {} an hour. The first plan, without a "
        "search, "
        "removes {} and saves {}. The search {}.",
        MoneyText(search.net_saved_per_hour(), currency), Count(first, "node", "nodes"),
        MoneyText(search.first_plan_net_saved_per_hour(), currency),
        iterated ? "made " + after : "ended before its first iteration" + limit);
  }
  if (removed <= first) {
    return iterated ? fmt::format("The search found no better plan in {}.", after)
                    : fmt::format(
                          "The search ended before its first iteration{}; this is the first plan.",
                          limit);
  }
  return fmt::format("The search found {} more than the {} of the first plan, {}.",
                     Count(removed - first, "node", "nodes"), WithCommas(first),
                     iterated ? "in " + after : "before its first iteration" + limit);
}

// Upper bounds on the nodes that any plan removes, or on the savings of any plan if the search was
// for cost.
std::string BoundText(const wire::PlanTables& tables, uint64_t removed, std::string_view currency) {
  PlanBound bound{.nodes = tables.bound().removed(), .savings = {}};
  if (tables.bound().has_net_saved_per_hour()) {
    bound.savings = tables.bound().net_saved_per_hour();
  }
  if (bound.savings && tables.search().has_first_plan_net_saved_per_hour()) {
    const double gap = bound.GapOfSavings(tables.search().net_saved_per_hour());
    if (gap < 1e-9) return "No plan saves more than this one.";
    return fmt::format("No plan saves more than {} an hour: the gap is {}.",
                       MoneyText(*bound.savings, currency), Percent(gap));
  }
  if (bound.nodes <= removed) return "No plan removes more nodes than this one.";
  return fmt::format("No plan removes more than {}: the gap is {}.",
                     Count(bound.nodes, "node", "nodes"), Percent(bound.Gap(removed)));
}

void PrintTrials(const wire::TrialFigures& trials, const Style& style, std::ostream& out) {
  const auto print = [&](const char* order, const wire::TrialFigures::Order& figures) {
    const std::string outcome =
        figures.pending_max() == 0
            ? "every pod found a place"
            : fmt::format("{} found no place in half of the trials, and never more than {}",
                          figures.pending_median() == 0
                              ? "no pod"
                              : Count(figures.pending_median(), "pod", "pods") + " or fewer",
                          WithCommas(figures.pending_max()));
    out << Wrapped(fmt::format("Trials: {} evicted in {} order, {}: {}; {} landed where planned.",
                               Count(trials.moved_pods(), "pod", "pods"), order,
                               Count(trials.trials(), "time", "times"), outcome,
                               Percent(figures.landed_as_planned())),
                   style.columns)
        << "\n";
  };
  print("random", trials.random_order());
  print("the plan's", trials.plan_order());
}

void PrintNotes(const wire::PlanReply& reply, const Style& style, std::ostream& out) {
  const wire::PlanTables& tables = reply.tables();
  const auto say = [&](std::string_view text) {
    if (!text.empty()) out << Wrapped(text, style.columns) << "\n";
  };
  const std::string currency = Printable(tables.currency());
  if (reply.has_stable()) PrintStable(reply.stable(), style, out);
  if (tables.has_saved_per_hour()) {
    say(fmt::format("The nodes that go cost {} an hour, {} a month.",
                    MoneyText(tables.saved_per_hour(), currency),
                    MoneyText(tables.saved_per_hour() * kHoursPerMonth, currency)));
    say(tables.prices());
  }
  if (tables.has_search()) {
    say(SearchText(tables.search(), reply.removes(), currency) +
        std::string(SearchEndText(tables.search())));
  }
  if (tables.has_bound()) say(BoundText(tables, reply.removes(), currency));
  if (tables.has_trials()) PrintTrials(tables.trials(), style, out);
  say(TerminationText(tables.termination()));
  if (tables.pending() > 0 && !EndedBy(tables, Termination::kNotStarted)) {
    say(PendingText(tables));
  }
  for (const std::string& line : tables.room()) say(Printable(line));
  say(UnreadyText(tables));
  say(tables.no_room());
}

std::string GroupName(const wire::TableNode& node) { return OrDash(node.group()); }

std::string UtilizationText(const wire::TableNode& node) {
  if (!node.has_use()) return "-";
  std::string text = fmt::format("{} {}", Percent(node.use().utilization()), node.use().resource());
  if (!node.gpu_sharing().empty()) text += ", " + node.gpu_sharing();
  for (const wire::GpuDevices& each : node.gpu_devices()) {
    text += fmt::format(", {} of {} {}", each.requested(), each.allocatable(), each.resource());
  }
  return text;
}

// Maps names to the forms that a table shows.
class ShownNames {
 public:
  explicit ShownNames(std::vector<std::string> names) : names_(std::move(names)) {
    std::ranges::sort(names_);
    names_.erase(std::ranges::unique(names_).begin(), names_.end());
    bodies_ = names_;
    CutTo(Longest());
  }

  // Removes the domain that all names end in, ".eu-central-1.compute.internal".  Returns it.
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
  // The smallest width, at least `least`, at which the shortened names stay distinct.
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
  std::vector<std::string> bodies_;  // The names without the domain.
  std::map<std::string, std::string, std::less<>> shown_;
};

// "node-a (3), node-b, 2 more".
template <typename NameOf>
std::string DestinationsText(const wire::TableNode& node, size_t shown, NameOf name_of) {
  std::string text;
  const size_t named = std::min(shown, static_cast<size_t>(node.to_size()));
  for (size_t i = 0; i < named; ++i) {
    const wire::Destination& to = node.to(static_cast<int>(i));
    if (i > 0) text += ", ";
    text += name_of(to.node());
    if (to.pods() > 1) text += fmt::format(" ({})", to.pods());
  }
  if (node.destinations() > named) text += fmt::format(", {} more", node.destinations() - named);
  return text;
}

// The table of the nodes that go, fitted to the terminal.  To fit, it first shows fewer
// destinations, then cuts the names of nodes and groups.  It cuts the longer of the two first, and
// keeps names distinct as long as possible.
class RemovalsTable {
 public:
  RemovalsTable(const wire::PlanReply& reply, const Style& style)
      : reply_(reply),
        columns_(style.columns),
        rows_(RowsShown(reply.removes(), style.nodes_max)),
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
    PrintRest(reply_.removes() - rows_, out);
    if (!domain_.empty()) {
      out << Wrapped(fmt::format("All these nodes' names end in {}, which is left out.",
                                 Printable(domain_)),
                     columns_)
          << "\n";
    }
  }

 private:
  static constexpr size_t kShortestName = 10;

  // The nodes that are shown.
  std::span<const wire::TableNode* const> Rows() const {
    return {reply_.tables().remove().data(),
            std::min(rows_, static_cast<size_t>(reply_.tables().remove_size()))};
  }

  std::vector<std::string> NodesShown() const {
    std::vector<std::string> names;
    for (const wire::TableNode* const node : Rows()) {
      names.push_back(node->node());
      for (const wire::Destination& to : node->to()) names.push_back(to.node());
    }
    return names;
  }

  std::vector<std::string> GroupsShown() const {
    std::vector<std::string> names;
    for (const wire::TableNode* const node : Rows()) names.push_back(GroupName(*node));
    return names;
  }

  Table Make(size_t destinations) const {
    Table table({"#", "NODE", "GROUP", "UTILIZATION", "PODS", "DESTINATIONS"});
    table.AlignRight(0).AlignRight(4);
    size_t order = 0;
    for (const wire::TableNode* const node : Rows()) {
      table.AddRow({std::to_string(++order), nodes_.Of(node->node()), groups_.Of(GroupName(*node)),
                    UtilizationText(*node), std::to_string(node->pods()),
                    DestinationsText(*node, destinations,
                                     [&](const std::string& name) { return nodes_.Of(name); })});
    }
    return table;
  }

  // Cuts names as far as necessary, but never so far that two names become equal.
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

  const wire::PlanReply& reply_;
  const size_t columns_;
  const size_t rows_;
  ShownNames nodes_;
  ShownNames groups_;
  size_t destinations_ = kDestinationsShown;
  std::string domain_;
};

void PrintRemovals(const wire::PlanReply& reply, const Style& style, std::ostream& out) {
  RemovalsTable(reply, style).Print(out);
}

// The heading of a column of prices; "PRICE/H (USD)".
std::string PriceHeading(std::string_view what, const wire::PlanTables& tables) {
  const std::string currency = Printable(tables.currency());
  return fmt::format("{}/H{}", what, currency.empty() ? "" : " (" + currency + ")");
}
std::string PriceText(const wire::TableNode& node) {
  return node.has_price_per_hour() ? fmt::format("{:.4f}", node.price_per_hour()) : "-";
}

void PrintRemovalsWide(const wire::PlanTables& tables, std::ostream& out) {
  std::vector<std::string> headings = {"#",        "NODE",        "GROUP", "TYPE", "ZONE",
                                       "CAPACITY", "UTILIZATION", "CPU",   "CPU%", "MEMORY",
                                       "MEMORY%",  "PODS",        "RISKY"};
  const bool has_prices = tables.has_saved_per_hour();
  if (has_prices) headings.push_back(PriceHeading("PRICE", tables));
  headings.emplace_back("DESTINATIONS");
  Table table(headings);
  table.AlignRight(0);
  for (size_t column = 7; column <= 11; ++column) table.AlignRight(column);
  if (has_prices) table.AlignRight(13);
  size_t order = 0;
  for (const wire::TableNode& node : tables.remove()) {
    const bool both = node.has_use() && CountsCpuAndMemory(node.use().resource());
    std::vector<std::string> row = {std::to_string(++order),
                                    node.node(),
                                    GroupName(node),
                                    OrDash(node.instance_type()),
                                    OrDash(node.zone()),
                                    OrDash(node.capacity_type()),
                                    UtilizationText(node),
                                    Cores(node.allocatable().cpu_milli()),
                                    both ? Percent(node.use().cpu()) : "-",
                                    Gibibytes(node.allocatable().memory_bytes()),
                                    both ? Percent(node.use().memory()) : "-",
                                    std::to_string(node.pods()),
                                    node.risky() ? "yes" : "no"};
    if (has_prices) row.push_back(PriceText(node));
    row.push_back(
        DestinationsText(node, node.destinations(), [](const std::string& name) { return name; }));
    table.AddRow(std::move(row));
  }
  table.Print(out);
}

void PrintKeptNodes(const wire::PlanTables& tables, std::ostream& out) {
  std::vector<std::string> headings = {"NODE",     "GROUP",       "TYPE",  "ZONE",
                                       "CAPACITY", "UTILIZATION", "REASON"};
  const bool has_prices = tables.has_saved_per_hour();
  if (has_prices) headings.push_back(PriceHeading("PRICE", tables));
  headings.emplace_back("DETAIL");
  Table table(headings);
  if (has_prices) table.AlignRight(7);
  for (const wire::TableNode& node : tables.keep()) {
    std::vector<std::string> row = {node.node(),
                                    GroupName(node),
                                    OrDash(node.instance_type()),
                                    OrDash(node.zone()),
                                    OrDash(node.capacity_type()),
                                    UtilizationText(node),
                                    node.reason()};
    if (has_prices) row.push_back(PriceText(node));
    row.push_back(node.kept_by());
    table.AddRow(std::move(row));
  }
  table.Print(out);
}

std::string AmountsText(const wire::NodeAmounts& amounts) {
  std::string cores = Cores(amounts.cpu_milli());
  if (cores.ends_with(".0")) cores.resize(cores.size() - 2);
  std::string text = fmt::format("{} {} and {} of memory", cores, cores == "1" ? "core" : "cores",
                                 Bytes(amounts.memory_bytes()));
  if (amounts.gpus() > 0) {
    text += ", with " + Count(static_cast<uint64_t>(amounts.gpus()), "GPU", "GPUs");
  }
  return text;
}

// Prints what to check before the plan is carried out.
void PrintChecks(const wire::PlanTables& tables, const Style& style, std::ostream& out) {
  if (tables.checks().empty()) return;
  out << "Check first:\n";
  for (const std::string& line : tables.checks()) {
    out << "  " << Wrapped(Printable(line), style.columns, 4) << "\n";
  }
}

// Prints how much of each group goes, or of the nodes of each instance or capacity type.
template <typename Shares>
void PrintShares(const char* heading, const Shares& shares, const wire::PlanReply& reply,
                 const Style& style, std::ostream& out) {
  if (shares.empty()) return;
  const bool is_whole = shares.size() == 1 && shares[0].nodes() == reply.nodes();
  if (is_whole) return;  // It was already printed.
  const bool gpus =
      std::ranges::any_of(shares, [](const auto& share) { return share.freed().gpus() > 0; });
  std::vector<std::string> headings = {heading, "GO", "OF", "CPU", "MEMORY"};
  if (gpus) headings.emplace_back("GPUS");
  const bool has_prices = reply.tables().has_saved_per_hour();
  if (has_prices) headings.push_back(PriceHeading("SAVES", reply.tables()));
  Table table(headings);
  table.FitTo(style.columns).ShortenNames(0);
  for (size_t column = 1; column < headings.size(); ++column) table.AlignRight(column);
  const auto removed = static_cast<size_t>(shares.size());
  const size_t shown = style.all ? removed : RowsShown(removed, kSharesShown);
  for (size_t i = 0; i < shown; ++i) {
    const wire::FreedShare& share = shares[static_cast<int>(i)];
    std::vector<std::string> row = {share.name(), WithCommas(share.removed()),
                                    WithCommas(share.nodes()), Cores(share.freed().cpu_milli()),
                                    Gibibytes(share.freed().memory_bytes())};
    if (gpus) row.push_back(std::to_string(share.freed().gpus()));
    if (has_prices) row.push_back(MoneyText(share.saved_per_hour(), ""));
    table.AddRow(std::move(row));
  }
  out << "\n";
  table.Print(out);
  PrintRest(removed - shown, out);
}

void PrintKeepers(const wire::PlanTables& tables, const Style& style, std::ostream& out) {
  const auto& keepers = tables.kept_most_by();
  if (keepers.empty()) return;
  Table table({"", "", "", ""});
  table.Indent(2).AlignRight(2).FitTo(style.columns).ShortenNames(1);
  const size_t all = tables.keepers();
  const size_t shown = std::min(style.all ? all : RowsShown(all, kKeepersShown),
                                static_cast<size_t>(keepers.size()));
  for (size_t i = 0; i < shown; ++i) {
    const wire::Keeper& keeper = keepers[static_cast<int>(i)];
    table.AddRow({keeper.kind(), fmt::format("{}/{}", keeper.namespace_(), keeper.name()),
                  WithCommas(keeper.nodes()), keeper.reason()});
  }
  out << "\nIn the way of most nodes:\n";
  table.Print(out);
  PrintRest(all - shown, out);
}

// "annotated scale-down-disabled or karpenter.sh/do-not-disrupt": the annotations of the kept
// nodes.
std::string MeaningOfAnnotation(const wire::PlanTables& tables) {
  std::set<std::string_view> names;
  for (std::string_view name : tables.annotations()) {
    constexpr std::string_view kAutoscalers = "cluster-autoscaler.kubernetes.io/";
    if (name.starts_with(kAutoscalers)) name.remove_prefix(kAutoscalers.size());
    names.insert(name);
  }
  return fmt::format("annotated {}", fmt::join(names, " or "));
}

// Explains a reason for readers who do not know the autoscaler's words.
std::string Meaning(const wire::PlanTables& tables, std::string_view reason) {
  if (reason == "NotUnderutilized") {
    return fmt::format("more is requested than the threshold, {}",
                       Percent(tables.utilization_threshold()));
  }
  if (reason == "ScaleDownDisabledAnnotation") return MeaningOfAnnotation(tables);
  if (reason == kNotJudged && (EndedBy(tables, Termination::kNotStarted) ||
                               EndedBy(tables, Termination::kNoRoomForPending))) {
    return "the round ended before any node was evaluated";
  }
  static const std::map<std::string_view, std::string> kMeanings = {
      {"NoPlaceToMovePods", "some pod fits on no other node"},
      {"NotAutoscaled", "in no node group"},
      {"NodeGroupMinSizeReached", "its group may not get smaller"},
      {"AtomicScaleDownFailed", "its group goes as a whole or not at all"},
      {"ScaleDownUnreadyDisabled", "not ready, and unready nodes are to stay"},
      {"CurrentlyBeingDeleted", "on its way out already"},
      {"NotStarted", "still being set up"},
      {"HeadroomReached", "less than --headroom would be free"},
      {"NodeClaimNotFound", "Karpenter does not manage it"},
      {"NodeNotInitialized", "Karpenter has not set it up"},
      {"NodePoolNotFound", "its NodePool is not in the input"},
      {"StaticNodePool", "its NodePool has a fixed number of nodes"},
      {"ConsolidationDisabled", "its NodePool has consolidation disabled"},
      {"NodeNotEmpty", "consolidationPolicy WhenEmpty, and it is not empty"},
      {"ConsolidationPolicyNotEvaluated", "a consolidationPolicy that ebb does not evaluate"},
      {"NotConsolidatable", "consolidateAfter is not over"},
      {"EmptyBudgetReached", "its NodePool's budget for empty nodes is used up"},
      {"UnderutilizedBudgetReached", "its NodePool's budget is used up"},
      {"BlockedByOnCompletionPod", "waits for a pod to end"},
      {"UnexpectedError", "its utilization cannot be computed"},
      {"NotUnneededOtherReason", "its group is in cooldown"},
      {"NotJudged", "the pass ended before its turn"},
  };
  const auto it = kMeanings.find(reason);
  return it == kMeanings.end() ? "" : it->second;
}

// Adds one row if all nodes are in no group for the same reason, else also a row for each reason.
void AddNotAutoscaled(const wire::PlanTables& tables, const wire::KeptReason& kept, Table& table) {
  const bool one = kept.finer_size() == 1 && !kept.finer(0).reason().empty();
  table.AddRow({kept.reason(), WithCommas(kept.nodes()),
                one ? kept.finer(0).reason() : Meaning(tables, kept.reason())});
  if (one) return;
  for (const wire::KeptReason::Finer& finer : kept.finer()) {
    if (!finer.reason().empty()) table.AddRow({"", WithCommas(finer.nodes()), finer.reason()});
  }
}

void PrintKeptReasons(const wire::PlanTables& tables, const Style& style, std::ostream& out) {
  Table table({"", "", ""});
  table.Indent(2).AlignRight(1).FitTo(style.columns).ShortenEnd(2);
  for (const wire::KeptReason& kept : tables.kept_by_reason()) {
    if (kept.reason() == ToString(UnremovableReason::kNotAutoscaled)) {
      AddNotAutoscaled(tables, kept, table);
      continue;
    }
    table.AddRow({kept.reason(), WithCommas(kept.nodes()), Meaning(tables, kept.reason())});
    for (const wire::KeptReason::Finer& finer : kept.finer()) {
      table.AddRow({"  " + finer.reason(), WithCommas(finer.nodes()), ""});
    }
  }
  out << "Kept: " << Count(tables.kept(), "node", "nodes") << "\n";
  table.Print(out);
  if (const uint64_t later = tables.may_go_later(); later > 0) {
    out << Wrapped(
               fmt::format("{} may go in later rounds: this plan spends what {} budgets allow at "
                           "a time, and they recover when the evicted pods are ready elsewhere.",
                           later == 1 ? "1 of them" : WithCommas(later) + " of them",
                           later == 1 ? "its" : "their"),
               style.columns)
        << "\n";
  }
}

void PrintTables(const wire::PlanReply& reply, const Style& style, bool colour, std::ostream& out) {
  const wire::PlanTables& tables = reply.tables();
  out << (colour ? "\x1b[1m" : "") << Summary(reply) << (colour ? "\x1b[0m" : "") << "\n";
  if (!EndedBy(tables, Termination::kNotStarted)) out << TookText(reply) << "\n";
  PrintNotes(reply, style, out);
  if (reply.removes() > 0) {
    out << "\n";
    if (style.wide) {
      PrintRemovalsWide(tables, out);
    } else {
      PrintRemovals(reply, style, out);
    }
    out << "\nFreed: " << AmountsText(tables.freed()) << "\n";
    for (const std::string& line : tables.totals()) {
      out << Wrapped(Printable(line), style.columns, 4) << "\n";
    }
    PrintChecks(tables, style, out);
    PrintShares("GROUP", tables.by_group(), reply, style, out);
    PrintShares("INSTANCE TYPE", tables.by_instance_type(), reply, style, out);
    PrintShares("CAPACITY TYPE", tables.by_capacity_type(), reply, style, out);
  }
  if (tables.kept() == 0) return;
  out << "\n";
  if (style.wide) {
    PrintKeptNodes(tables, out);
    out << "\n";
  }
  PrintKeptReasons(tables, style, out);
  PrintKeepers(tables, style, out);
}

// How many rows of nodes that go are shown; 0: all.
size_t NodesMax(PlanFormat format, const PrintOptions& options) {
  const bool cut =
      format == PlanFormat::kTable && options.terminal.is_terminal && !options.all_rows;
  return cut ? kRowsShown : 0;
}

const std::map<std::string, PlanFormat>& Formats() {
  static const auto* const formats = new std::map<std::string, PlanFormat>{
      {"table", PlanFormat::kTable},       {"wide", PlanFormat::kWide},
      {"json", PlanFormat::kJson},         {"yaml", PlanFormat::kYaml},
      {"csv", PlanFormat::kCsv},           {"name", PlanFormat::kName},
      {"markdown", PlanFormat::kMarkdown}, {"sh", PlanFormat::kScript},
      {"patch", PlanFormat::kPatch}};
  return *formats;
}

}  // namespace

std::vector<std::string> PlanFormatNames() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : Formats()) names.push_back(name);
  return names;
}

PlanFormat PlanFormatOf(const std::string& name) {
  EBB_DCHECK(Formats().contains(name));
  return Formats().at(name);
}

bool IsCarriedOut(const std::string& format) {
  return format == "name" || format == "sh" || format == "patch";
}

PlanDetail DetailFor(PlanFormat format, const PrintOptions& options) {
  const size_t nodes_max = NodesMax(format, options);
  // Requests one row more: if only one row were left out, it is shown (RowsShown).
  return {.rows = nodes_max == 0 ? 0 : static_cast<uint32_t>(nodes_max + 1),
          .every_node = format == PlanFormat::kWide || format == PlanFormat::kCsv};
}

wire::Form FormOf(PlanFormat format) {
  switch (format) {
    case PlanFormat::kJson:
    case PlanFormat::kYaml:
      return wire::AS_JSON;
    case PlanFormat::kName:
      return wire::AS_NAMES;
    case PlanFormat::kScript:
      return wire::AS_SCRIPT;
    case PlanFormat::kPatch:
      return wire::AS_PATCH;
    case PlanFormat::kTable:
    case PlanFormat::kWide:
    case PlanFormat::kCsv:
    case PlanFormat::kMarkdown:
      break;
  }
  return wire::AS_TABLES;
}

void PrintPlan(const wire::PlanReply& reply, PlanFormat format, const PrintOptions& options,
               std::ostream& out) {
  switch (format) {
    case PlanFormat::kTable:
    case PlanFormat::kWide: {
      const bool wide = format == PlanFormat::kWide;
      const size_t nodes_max = NodesMax(format, options);
      const Style style{.wide = wide,
                        .all = wide || options.all_rows,
                        .columns = wide ? 0 : options.terminal.columns,
                        .nodes_max = nodes_max == 0 ? reply.removes() : nodes_max};
      if (reply.has_purchases()) PrintPurchases(reply, style.columns, out);
      PrintTables(reply, style, options.terminal.colour, out);
      if (reply.has_purchases()) PrintSavings(reply, style.columns, out);
      if (reply.tables().has_waves()) {
        PrintWaves(reply.tables(), style.columns, nodes_max, out);
      }
      break;
    }
    case PlanFormat::kJson:
      out << reply.plan();
      break;
    case PlanFormat::kYaml:
      out << Yaml(nlohmann::ordered_json::parse(reply.plan()));
      break;
    case PlanFormat::kCsv:
      PrintCsv(reply.tables(), out);
      break;
    case PlanFormat::kMarkdown:
      PrintMarkdown(reply, out);
      break;
    case PlanFormat::kName:
      for (const std::string& name : reply.names()) out << "node/" << Printable(name) << "\n";
      break;
    case PlanFormat::kScript:
    case PlanFormat::kPatch:
      out << reply.script();
      break;
  }
}

void PrintPlan(const PlanReport& report, PlanFormat format, const PrintOptions& options,
               std::ostream& out) {
  switch (FormOf(format)) {
    case wire::AS_JSON: {
      const nlohmann::ordered_json json = PlanJson(report);
      out << (format == PlanFormat::kYaml ? Yaml(json) : IndentedJson(json));
      return;
    }
    case wire::AS_NAMES:
      out << RemovedNames(report.context);
      return;
    case wire::AS_SCRIPT:
      out << PlanScript(report);
      return;
    case wire::AS_PATCH:
      out << PlanPatch(report);
      return;
    default:
      break;
  }
  const PlanDetail detail = DetailFor(format, options);
  wire::PlanReply reply;
  PutFigures(report.context, reply);
  PutTables(report, detail.rows, detail.every_node, *reply.mutable_tables());
  PrintPlan(reply, format, options, out);
}

}  // namespace ebb
