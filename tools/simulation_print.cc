#include "tools/simulation_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>

#include "base/figures.h"
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

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// --- Curves --------------------------------------------------------------------------

constexpr double kWidth = 860;
constexpr double kHeight = 240;
constexpr double kLeft = 56;
constexpr double kRight = 96;  // Room for the names of curves.
constexpr double kTop = 12;
constexpr double kBottom = 28;

struct Curve {
  std::string_view name;
  std::string_view style;
  const std::vector<SimulationSample>* samples;
  std::function<double(const SimulationSample&)> value;
};

// 1, 2 or 5 times a power of ten, so that there are about four of them up to `most`.
double StepFor(double most) {
  const double rough = most / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (rough <= times * power) return times * power;
  }
  return 10 * power;
}

class Chart {
 public:
  Chart(std::string_view title, bool percent, const std::vector<Curve>& curves)
      : title_(title), percent_(percent), curves_(curves) {
    for (const Curve& curve : curves) {
      for (const SimulationSample& sample : *curve.samples) {
        most_ = std::max(most_, curve.value(sample));
        end_s_ = std::max(end_s_, sample.time_s);
        begin_s_ = begin_s_ == 0 ? sample.time_s : std::min(begin_s_, sample.time_s);
      }
    }
    if (most_ <= 0) most_ = 1;
    step_ = StepFor(most_);
    most_ = std::ceil(most_ / step_) * step_;
  }

  std::string Draw() {
    fmt::format_to(std::back_inserter(svg_),
                   "<figure><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
                   "aria-label=\"{}\">\n",
                   Escaped(title_), kWidth, kHeight, Escaped(title_));
    DrawAxes();
    std::vector<double> named_at;
    for (const Curve& curve : curves_) DrawCurve(curve, named_at);
    svg_ += "</svg></figure>\n";
    return std::move(svg_);
  }

 private:
  [[nodiscard]] double X(int64_t time_s) const {
    const auto span = static_cast<double>(std::max<int64_t>(1, end_s_ - begin_s_));
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(time_s - begin_s_) / span;
  }
  [[nodiscard]] double Y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * value / most_;
  }
  [[nodiscard]] std::string Label(double value) const {
    if (percent_) return fmt::format("{:.0f}%", value * 100);
    return value == std::floor(value) ? Number(value) : fmt::format("{:.1f}", value);
  }

  void DrawAxes() {
    const auto steps = std::lround(most_ / step_);
    for (int64_t i = 0; i <= steps; ++i) {
      const double value = static_cast<double>(i) * step_;
      fmt::format_to(std::back_inserter(svg_),
                     "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text class=\"y\" "
                     "x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                     kLeft, Y(value), kWidth - kRight, kLeft - 8, Y(value) + 4, Label(value));
    }
    const int64_t hours = std::max<int64_t>(1, (end_s_ - begin_s_ + 3599) / 3600);
    const int64_t every = hours <= 12 ? 1 : hours <= 48 ? 3 : (hours + 11) / 12;
    for (int64_t hour = 0; hour <= hours; hour += every) {
      const int64_t time_s = begin_s_ + hour * 3600;
      if (time_s > end_s_) break;
      fmt::format_to(std::back_inserter(svg_),
                     "<text class=\"x\" x=\"{:.1f}\" y=\"{:.1f}\">{} h</text>\n", X(time_s),
                     kHeight - 8, hour);
    }
  }

  void DrawCurve(const Curve& curve, std::vector<double>& named_at) {
    if (curve.samples->empty()) return;
    std::string path;
    for (const SimulationSample& sample : *curve.samples) {
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L",
                     X(sample.time_s), Y(curve.value(sample)));
    }
    const SimulationSample& last = curve.samples->back();
    double name_y = Y(curve.value(last)) + 4;
    // Names of curves that end together stand below each other.
    for (const double other : named_at) {
      if (std::abs(other - name_y) < 15) name_y = other + 15;
    }
    named_at.push_back(name_y);
    fmt::format_to(std::back_inserter(svg_),
                   "<path class=\"curve {}\" d=\"{}\"/><text class=\"name {}\" x=\"{:.1f}\" "
                   "y=\"{:.1f}\">{}</text>\n",
                   curve.style, path, curve.style, X(last.time_s) + 6, name_y, Escaped(curve.name));
  }

  std::string_view title_;
  bool percent_;
  const std::vector<Curve>& curves_;
  double most_ = 0;
  double step_ = 1;
  int64_t begin_s_ = 0;
  int64_t end_s_ = 0;
  std::string svg_;
};

std::string Draw(std::string_view title, bool percent, const std::vector<Curve>& curves) {
  return Chart(title, percent, curves).Draw();
}

constexpr std::string_view kStyle = R"(
:root { --ground: #fbfbf9; --ink: #1d2023; --quiet: #6a7178; --line: #dcdfe2; --with: #1b4f7a;
  --without: #c2410c; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15181b; --ink: #e6e8ea; --quiet: #949ba2; --line: #30363c; --with: #7cc0f5;
    --without: #fb923c; }
}
body { margin: 0 auto; max-width: 900px; padding: 24px; background: var(--ground);
  color: var(--ink); font: 14px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { font-size: 20px; margin: 0 0 4px; }
p { margin: 0 0 20px; }
table { border-collapse: collapse; width: 100%; margin-bottom: 28px; }
th { text-align: left; font-weight: 600; }
th, td { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
figure { margin: 0 0 24px; }
figcaption { font-weight: 600; margin-bottom: 4px; }
svg { width: 100%; height: auto; }
svg text { font-size: 12px; fill: var(--quiet); }
svg .y { text-anchor: end; }
svg .x { text-anchor: middle; }
.grid { stroke: var(--line); fill: none; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
.curve.with { stroke: var(--with); }
.curve.without { stroke: var(--without); stroke-dasharray: 5 4; }
svg .name.with { fill: var(--with); }
svg .name.without { fill: var(--without); }
)";

}  // namespace

void PrintSimulation(const SimulationStory& story, std::ostream& out) {
  out << story.title << "\n" << Headline(story) << "\n\n";
  Table table({"", "WITH EBB", "WITHOUT"});
  for (const Line& line : LinesOf(story)) table.AddRow({line.what, line.with, line.without});
  table.Print(out);
}

std::string SimulationPage(const SimulationStory& story) {
  const auto both = [&](const std::function<double(const SimulationSample&)>& value) {
    return std::vector<Curve>{{"with ebb", "with", &story.with.samples, value},
                              {"without", "without", &story.without.samples, value}};
  };
  const auto only_with = [&](const std::function<double(const SimulationSample&)>& value) {
    return std::vector<Curve>{{"with ebb", "with", &story.with.samples, value}};
  };
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>ebb run --simulate: {0}</title>\n<style>{1}"
      "</style></head>\n<body><h1>{0}</h1>\n<p>{2}</p>\n",
      Escaped(story.title), kStyle, Escaped(Headline(story)));
  page += Draw("Nodes", false, both([](const auto& s) { return static_cast<double>(s.nodes); }));
  page += Draw("CPU requested, of all that nodes offer", true,
               both([](const auto& s) { return s.cpu_requested; }));
  page += Draw("Pods without a node", false,
               both([](const auto& s) { return static_cast<double>(s.pending); }));
  page += Draw("Unneeded nodes", false,
               only_with([](const auto& s) { return static_cast<double>(s.unneeded); }));
  page += Draw("Nodes in deletion", false,
               only_with([](const auto& s) { return static_cast<double>(s.in_deletion); }));
  page += Draw("Evictions so far", false,
               only_with([](const auto& s) { return static_cast<double>(s.evictions); }));
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
