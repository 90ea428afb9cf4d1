#include "cli/rounds/simulation_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/print/table.h"
#include "loop/run/loop_log.h"
#include "report/html_page.h"
#include "report/story.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

constexpr std::string_view kRunVersion = "ebb.run.simulate/v1";

struct Figure {
  std::string what;
  std::string with;
  std::string without;
};

int64_t Quantile(std::vector<int64_t> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(share * last))];
}

std::string Number(double value) {
  return WithCommas(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

double MeanNodes(const SimulationResult& result, double hours) { return result.node_hours / hours; }

// How long pods waited that found no node at first.
std::string Waits(const SimulationCounts& counts) {
  if (counts.pods_waited == 0) return "none";
  const auto mean_s = counts.pod_wait_s / static_cast<int64_t>(counts.pods_waited);
  return fmt::format("{}, on average {}, {} at most", WithCommas(counts.pods_waited),
                     DurationText(mean_s), DurationText(counts.pod_wait_max_s));
}

std::string Drains(const SimulationCounts& counts) {
  if (counts.drains_s.empty()) return "none";
  return fmt::format(
      "half within {}, 9 of 10 within {}, {} at most", DurationText(Quantile(counts.drains_s, 0.5)),
      DurationText(Quantile(counts.drains_s, 0.9)), DurationText(Quantile(counts.drains_s, 1)));
}

// The first sample with the fewest nodes; null: there are no samples.
const SimulationSample* FewestNodes(const SimulationResult& result) {
  const auto fewest = std::ranges::min_element(result.samples, {}, &SimulationSample::nodes);
  return fewest == result.samples.end() ? nullptr : &*fewest;
}

std::string FewestText(const SimulationResult& result) {
  const SimulationSample* const fewest = FewestNodes(result);
  if (fewest == nullptr) return "";
  return fmt::format("{} after {}", WithCommas(fewest->nodes),
                     DurationText(fewest->time_s - result.samples.front().time_s));
}

// "12 NotEnoughPdb, 3 NoPlaceToMovePods".
std::string KeptText(const UnremovableNodes& kept) {
  std::string text;
  for (const UnremovableNodes::OfReason& each : kept.reasons) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", WithCommas(each.nodes), each.reason);
  }
  return text;
}

std::vector<Figure> FiguresOf(const SimulationStory& story) {
  const SimulationResult& with = story.with;
  const SimulationResult& without = story.without;
  const auto count = [](uint64_t number) { return WithCommas(number); };
  const double hours = std::max(1.0, story.hours);
  const auto planned = static_cast<double>(std::max<uint64_t>(1, with.counts.planned));
  std::vector<Figure> lines = {
      {"nodes at first", count(with.nodes_at_first), count(without.nodes_at_first)},
      {"nodes at the end", count(with.nodes_at_last), count(without.nodes_at_last)},
      {"fewest nodes", FewestText(with), FewestText(without)},
      {"nodes on average", Number(MeanNodes(with, hours)), Number(MeanNodes(without, hours))},
      {"node-hours", Number(with.node_hours), Number(without.node_hours)},
      {"nodes deleted", count(with.counts.nodes_deleted), count(without.counts.nodes_deleted)},
      {"deletions that failed", count(with.counts.deletions_failed), ""},
      {"unneeded nodes that lost their timer", count(with.timers_lost), ""},
      {"nodes added for pods", count(with.counts.nodes_added), count(without.counts.nodes_added)},
      {"pods evicted", count(with.counts.evictions), ""},
      {"evictions refused by a budget", count(with.counts.pdb_refusals), ""},
      {"time to drain", Drains(with.counts), ""},
      {"pods that waited for a node", Waits(with.counts), Waits(without.counts)},
      {"pods that landed where planned",
       Percent(static_cast<double>(with.counts.landed_as_planned) / planned), ""},
  };
  if (with.counts.nodes_bought > 0) {
    lines.push_back({"nodes bought (--replace)", count(with.counts.nodes_bought), ""});
  }
  return lines;
}

std::string Headline(const SimulationStory& story) {
  const double saved = story.without.node_hours - story.with.node_hours;
  const auto gone = static_cast<int64_t>(story.without.nodes_at_last) -
                    static_cast<int64_t>(story.with.nodes_at_last);
  const double share = story.without.node_hours > 0 ? saved / story.without.node_hours : 0;
  if (saved < 0) {
    return fmt::format("nothing saved: {} node-hours more than without scale-down", Number(-saved));
  }
  return fmt::format("saved: {} node-hours of {} ({}), {} {} at the end", Number(saved),
                     Number(story.without.node_hours), Percent(share),
                     Count(static_cast<uint64_t>(std::abs(gone)), "node", "nodes"),
                     gone < 0 ? "more" : "fewer");
}

using SampleValue = std::function<double(const SimulationSample&)>;

StoryLine LineOf(const char* name, const std::vector<SimulationSample>& samples,
                 const SampleValue& value) {
  StoryLine line{.name = name};
  for (const SimulationSample& sample : samples) {
    line.points.emplace_back(sample.time_s - samples.front().time_s, value(sample));
  }
  return line;
}

// --- Pools ------------------------------------------------------------------------------

constexpr size_t kDecisionsShown = 500;  // On a page, for all pools together.

struct PoolLine {
  const char* what;
  std::function<std::string(const PoolStories::Story&)> text;
};

const std::vector<PoolLine>& PoolLines() {
  using Story = PoolStories::Story;
  static const auto number = [](int64_t value) {
    return WithCommas(static_cast<uint64_t>(std::max<int64_t>(0, value)));
  };
  static const std::vector<PoolLine> lines = {
      {"policy", [](const Story& s) { return s.policy; }},
      {"nodes at first", [](const Story& s) { return number(s.nodes_at_first); }},
      {"nodes at the end", [](const Story& s) { return number(s.nodes_at_last); }},
      {"rounds", [](const Story& s) { return number(s.decided); }},
      {"grew, times", [](const Story& s) { return number(s.grew); }},
      {"machines asked for", [](const Story& s) { return number(s.machines); }},
      {"shrank, times", [](const Story& s) { return number(s.shrank); }},
      {"nodes that were to go", [](const Story& s) { return number(s.left); }},
      {"failsafe at the end", [](const Story& s) { return s.failsafe ? "yes" : "no"; }},
  };
  return lines;
}

// "cloud.max: 12 rounds", one text for each check.
std::vector<std::string> Denials(const PoolStories::Story& story) {
  std::vector<std::string> texts;
  for (const auto& [check, rounds] : story.denied) {
    texts.push_back(
        fmt::format("{}: {}", check, Count(static_cast<uint64_t>(rounds), "round", "rounds")));
  }
  return texts;
}

void PrintPools(const PoolStories& pools, std::ostream& out) {
  std::vector<std::string> head = {"POOL"};
  for (const auto& [name, story] : pools.stories()) head.push_back(Printable(name));
  Table table(head);
  for (const PoolLine& line : PoolLines()) {
    std::vector<std::string> row = {line.what};
    for (const auto& [name, story] : pools.stories()) row.push_back(line.text(story));
    table.AddRow(row);
  }
  out << "\n";
  table.Print(out);
  for (const auto& [name, story] : pools.stories()) {
    if (story.denied.empty()) continue;
    out << fmt::format("pool {} was denied by {}\n", Printable(name),
                       PrintableLine(fmt::format("{}", fmt::join(Denials(story), ", "))));
  }
}

void AddPools(const PoolStories& pools, Story& page) {
  if (pools.stories().empty()) return;
  page.Part("pools", "Pools");
  std::vector<std::string> head = {"pool"};
  for (const auto& [name, story] : pools.stories()) head.push_back(name);
  std::vector<std::vector<std::string>> rows;
  for (const PoolLine& line : PoolLines()) {
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{line.what});
    for (const auto& [name, story] : pools.stories()) row.push_back(line.text(story));
  }
  page.Table("Pools at the end", head, rows);
  rows.clear();
  size_t decisions = 0;
  for (const auto& [name, story] : pools.stories()) {
    for (const PoolStories::Decision& decision : story.decisions) {
      if (++decisions > kDecisionsShown) break;
      rows.push_back({FormatRfc3339(decision.at_s), PoolAsText(decision.turn)});
    }
  }
  page.Table("Decisions that were not as the one before", {"time", "decision"}, rows);
  if (decisions > kDecisionsShown) {
    page.Note(fmt::format("Only the first {} decisions are shown.", kDecisionsShown));
  }
}

using Json = nlohmann::ordered_json;

Json FiguresJson(const SimulationResult& result) {
  const SimulationCounts& counts = result.counts;
  const SimulationSample* const fewest = FewestNodes(result);
  return {{"nodesAtFirst", result.nodes_at_first},
          {"nodesAtLast", result.nodes_at_last},
          {"nodesFewest", fewest == nullptr ? result.nodes_at_first : fewest->nodes},
          {"nodeHours", RoundedAmount(result.node_hours)},
          {"nodesDeleted", counts.nodes_deleted},
          {"deletionsFailed", counts.deletions_failed},
          {"timersLost", result.timers_lost},
          {"nodesAdded", counts.nodes_added},
          {"nodesBought", counts.nodes_bought},
          {"podsEvicted", counts.evictions},
          {"evictionsRefusedByBudget", counts.pdb_refusals},
          {"podsThatWaited", counts.pods_waited},
          {"podWaitSecondsMost", counts.pod_wait_max_s}};
}

Json ReasonsJson(const UnremovableNodes& kept) {
  Json json = Json::object();
  for (const UnremovableNodes::OfReason& each : kept.reasons) json[each.reason] = each.nodes;
  return json;
}

Json GapsJson(const std::vector<SimulatedGap>& gaps) {
  Json json = Json::array();
  for (const SimulatedGap& gap : gaps) {
    json.push_back({{"objects", gap.objects}, {"what", gap.what}, {"first", gap.first}});
  }
  return json;
}

Json PoolJson(const PoolStories::Story& story) {
  Json decisions = Json::array();
  for (const PoolStories::Decision& decision : story.decisions) {
    Json json = {{"at", FormatRfc3339(decision.at_s)}};
    AddPoolTurn(decision.turn, json);
    decisions.push_back(std::move(json));
  }
  return {{"pool", story.pool},
          {"policy", story.policy},
          {"nodesAtFirst", story.nodes_at_first},
          {"nodesAtLast", story.nodes_at_last},
          {"rounds", story.decided},
          {"grew", story.grew},
          {"machinesAskedFor", story.machines},
          {"shrank", story.shrank},
          {"nodesToGo", story.left},
          {"failsafe", story.failsafe},
          {"denied", story.denied},
          {"decisions", std::move(decisions)}};
}

}  // namespace

std::string SimulationJson(const SimulationStory& story) {
  Json options = Json::object();
  for (const auto& [name, value] : story.options) options[name] = value;
  Json json = {{"version", kRunVersion},
               {"title", story.title},
               {"hours", story.hours},
               {"options", std::move(options)},
               {"with", FiguresJson(story.with)},
               {"without", FiguresJson(story.without)},
               {"keptInLastRound", ReasonsJson(story.with.kept_at_last)},
               {"simplified", GapsJson(story.gaps)}};
  if (!story.model.empty()) json["model"] = story.model;
  json["pools"] = Json::array();
  for (const auto& [name, pool] : story.pools.stories()) json["pools"].push_back(PoolJson(pool));
  return IndentedJson(json);
}

void PrintSimulation(const SimulationStory& story, std::ostream& out) {
  out << story.title << "\n" << Headline(story) << "\n\n";
  Table table({"", "WITH EBB", "WITHOUT"});
  for (const Figure& line : FiguresOf(story)) table.AddRow({line.what, line.with, line.without});
  table.Print(out);
  if (!story.pools.stories().empty()) PrintPools(story.pools, out);
  if (!story.with.kept_at_last.reasons.empty()) {
    out << "\nThe last round kept nodes for these reasons: " << KeptText(story.with.kept_at_last)
        << ".\n";
  }
  if (!story.model.empty()) out << "\n" << story.model << "\n";
  if (story.gaps.empty()) return;
  Table gaps({"", "", ""});
  gaps.Indent(2).AlignRight(0);
  for (const SimulatedGap& gap : story.gaps) {
    gaps.AddRow({WithCommas(gap.objects), gap.what,
                 gap.first + (gap.objects > 1 && !gap.first.empty() ? ", ..." : "")});
  }
  out << "\nLeft out or simplified:\n";
  gaps.Print(out);
}

std::string SimulationPage(const SimulationStory& story) {
  Story page("ebb run --simulate", story.title, Headline(story));
  const auto both = [&](std::string_view title, bool percent, const SampleValue& value) {
    page.Chart(title, {.percent = percent,
                       .lines = {LineOf("with ebb", story.with.samples, value),
                                 LineOf("without", story.without.samples, value)}});
  };
  const auto only_with = [&](std::string_view title, const SampleValue& value) {
    page.Chart(title, {.lines = {LineOf("with ebb", story.with.samples, value)}});
  };
  page.Part("time", "Over time");
  both("Nodes", false, [](const auto& s) { return static_cast<double>(s.nodes); });
  both("CPU requested, of all that nodes offer", true,
       [](const auto& s) { return s.cpu_requested; });
  both("Pods without a node", false, [](const auto& s) { return static_cast<double>(s.pending); });
  only_with("Unneeded nodes", [](const auto& s) { return static_cast<double>(s.unneeded); });
  only_with("Nodes in deletion", [](const auto& s) { return static_cast<double>(s.in_deletion); });
  only_with("Evictions so far", [](const auto& s) { return static_cast<double>(s.evictions); });
  std::vector<std::vector<std::string>> rows;
  for (const Figure& line : FiguresOf(story)) rows.push_back({line.what, line.with, line.without});
  page.Part("figures", "Figures").Table("", {"", "with ebb", "without"}, rows);
  rows.clear();
  for (const UnremovableNodes::OfReason& each : story.with.kept_at_last.reasons) {
    rows.push_back({std::string(each.reason), WithCommas(each.nodes)});
  }
  page.Table("Why nodes stayed in the last round", {"reason", "nodes"}, rows);
  AddPools(story.pools, page);
  page.Part("model", "What was simulated");
  if (!story.model.empty()) page.Note(story.model);
  rows.clear();
  for (const SimulatedGap& gap : story.gaps) {
    rows.push_back({WithCommas(gap.objects), gap.what, gap.first});
  }
  page.Table("Left out or simplified", {"objects", "what", "first"}, rows);
  rows.clear();
  for (const auto& [name, value] : story.options) rows.push_back({name, value});
  page.Table("Options", {"option", "value"}, rows);
  return HtmlReport(std::move(page).Data());
}

}  // namespace ebb
