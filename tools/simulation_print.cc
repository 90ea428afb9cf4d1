#include "tools/simulation_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "base/figures.h"
#include "tools/curves.h"
#include "tools/table.h"

namespace ebb {
namespace {

struct Line {
  std::string what;
  std::string with;
  std::string without;
};

std::string Seconds(int64_t seconds) {
  return seconds < 120 ? fmt::format("{} s", seconds)
                       : fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

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

// Waits of pods that no node took at first.
std::string Waits(const SimulationCounts& counts) {
  if (counts.pods_waited == 0) return "none";
  const auto mean_s = counts.pod_wait_s / static_cast<int64_t>(counts.pods_waited);
  return fmt::format("{}, on average {}, {} at most", WithCommas(counts.pods_waited),
                     Seconds(mean_s), Seconds(counts.pod_wait_max_s));
}

std::string Drains(const SimulationCounts& counts) {
  if (counts.drains_s.empty()) return "none";
  return fmt::format(
      "half within {}, 9 of 10 within {}, {} at most", Seconds(Quantile(counts.drains_s, 0.5)),
      Seconds(Quantile(counts.drains_s, 0.9)), Seconds(Quantile(counts.drains_s, 1)));
}

std::vector<Line> LinesOf(const SimulationStory& story) {
  const SimulationResult& with = story.with;
  const SimulationResult& without = story.without;
  const auto count = [](uint64_t number) { return WithCommas(number); };
  const double hours = std::max(1.0, story.hours);
  const auto planned = static_cast<double>(std::max<uint64_t>(1, with.counts.planned));
  std::vector<Line> lines = {
      {"nodes at first", count(with.nodes_at_first), count(without.nodes_at_first)},
      {"nodes at the end", count(with.nodes_at_last), count(without.nodes_at_last)},
      {"nodes on average", Number(MeanNodes(with, hours)), Number(MeanNodes(without, hours))},
      {"node-hours", Number(with.node_hours), Number(without.node_hours)},
      {"nodes deleted", count(with.counts.nodes_deleted), count(without.counts.nodes_deleted)},
      {"deletions that failed", count(with.counts.deletions_failed), ""},
      {"nodes added for pods", count(with.counts.nodes_added), count(without.counts.nodes_added)},
      {"pods evicted", count(with.counts.evictions), ""},
      {"evictions refused by a budget", count(with.counts.pdb_refusals), ""},
      {"time to drain", Drains(with.counts), ""},
      {"pods that waited for a node", Waits(with.counts), Waits(without.counts)},
      {"pods that landed where planned",
       Percent(static_cast<double>(with.counts.landed_as_planned) / planned), ""},
  };
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

using ValueOf = std::function<double(const SimulationSample&)>;

Curve CurveOf(const char* name, const char* style, const std::vector<SimulationSample>& samples,
              const ValueOf& value) {
  Curve curve{.name = name, .style = style, .points = {}};
  for (const SimulationSample& sample : samples) {
    curve.points.push_back({.x = static_cast<double>(sample.time_s), .y = value(sample)});
  }
  return curve;
}

// Labels of hours from the first sample on.
ChartAxes HoursOf(const SimulationResult& result, bool percent) {
  ChartAxes axes{.percent = percent, .x_step = 3600, .x_label = [](double) { return ""; }};
  if (result.samples.empty()) return axes;
  const int64_t begin_s = result.samples.front().time_s;
  const int64_t hours =
      std::max<int64_t>(1, (result.samples.back().time_s - begin_s + 3599) / 3600);
  const int64_t every = hours <= 12 ? 1 : hours <= 48 ? 3 : (hours + 11) / 12;
  axes.x_step = static_cast<double>(every) * 3600;
  axes.x_label = [begin_s](double time_s) {
    return fmt::format("{} h", std::lround((time_s - static_cast<double>(begin_s)) / 3600));
  };
  return axes;
}

}  // namespace

void PrintSimulation(const SimulationStory& story, std::ostream& out) {
  out << story.title << "\n" << Headline(story) << "\n\n";
  Table table({"", "WITH EBB", "WITHOUT"});
  for (const Line& line : LinesOf(story)) table.AddRow({line.what, line.with, line.without});
  table.Print(out);
}

std::string SimulationPage(const SimulationStory& story) {
  std::string page =
      PageHead(fmt::format("ebb run --simulate: {}", story.title), story.title, Headline(story));
  const auto both = [&](std::string_view title, bool percent, const ValueOf& value) {
    page += DrawCurves(title, HoursOf(story.with, percent),
                       {CurveOf("with ebb", "with", story.with.samples, value),
                        CurveOf("without", "without", story.without.samples, value)});
  };
  const auto only_with = [&](std::string_view title, const ValueOf& value) {
    page += DrawCurves(title, HoursOf(story.with, false),
                       {CurveOf("with ebb", "with", story.with.samples, value)});
  };
  both("Nodes", false, [](const auto& s) { return static_cast<double>(s.nodes); });
  both("CPU requested, of all that nodes offer", true,
       [](const auto& s) { return s.cpu_requested; });
  both("Pods without a node", false, [](const auto& s) { return static_cast<double>(s.pending); });
  only_with("Unneeded nodes", [](const auto& s) { return static_cast<double>(s.unneeded); });
  only_with("Nodes in deletion", [](const auto& s) { return static_cast<double>(s.in_deletion); });
  only_with("Evictions so far", [](const auto& s) { return static_cast<double>(s.evictions); });
  page += "<table><tr><th></th><th>with ebb</th><th>without</th></tr>\n";
  for (const Line& line : LinesOf(story)) {
    page += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", Escaped(line.what),
                        Escaped(line.with), Escaped(line.without));
  }
  page += "</table>\n<table><tr><th>option</th><th>value</th></tr>\n";
  for (const auto& [name, value] : story.options) {
    page += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", Escaped(name), Escaped(value));
  }
  page += "</table></body></html>\n";
  return page;
}

}  // namespace ebb
