#include "cli/print/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "base/figures.h"

namespace ebb {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 240;
constexpr double kLeft = 56;
constexpr double kRight = 96;  // Room for the names of curves.
constexpr double kTop = 12;
constexpr double kBottom = 28;

class Chart {
 public:
  Chart(std::string_view title, const ChartAxes& axes, const std::vector<Curve>& curves)
      : title_(title), axes_(axes), curves_(curves) {
    for (const Curve& curve : curves) {
      for (const CurvePoint& point : curve.points) {
        most_ = std::max(most_, point.y);
        begin_ = std::min(begin_, point.x);
        end_ = std::max(end_, point.x);
      }
    }
    if (begin_ > end_) begin_ = end_ = 0;
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
  [[nodiscard]] double X(double x) const {
    const double span = end_ > begin_ ? end_ - begin_ : 1;
    return kLeft + (kWidth - kLeft - kRight) * (x - begin_) / span;
  }
  [[nodiscard]] double Y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * value / most_;
  }
  [[nodiscard]] std::string Label(double value) const {
    if (axes_.percent) return fmt::format("{:.0f}%", value * 100);
    return value == std::floor(value) ? WithCommas(static_cast<uint64_t>(value))
                                      : fmt::format("{:.1f}", value);
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
    for (int64_t i = 0; begin_ + static_cast<double>(i) * axes_.x_step <= end_; ++i) {
      const double x = begin_ + static_cast<double>(i) * axes_.x_step;
      fmt::format_to(std::back_inserter(svg_),
                     "<text class=\"x\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", X(x), kHeight - 8,
                     axes_.x_label(x));
    }
  }

  void DrawCurve(const Curve& curve, std::vector<double>& named_at) {
    if (curve.points.empty()) return;
    std::string path;
    for (const CurvePoint& point : curve.points) {
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L",
                     X(point.x), Y(point.y));
    }
    const CurvePoint& last = curve.points.back();
    double name_y = Y(last.y) + 4;
    // The names of curves that end close together are placed below each other.
    for (const double other : named_at) {
      if (std::abs(other - name_y) < 15) name_y = other + 15;
    }
    named_at.push_back(name_y);
    fmt::format_to(std::back_inserter(svg_),
                   "<path class=\"curve {}\" d=\"{}\"/><text class=\"name {}\" x=\"{:.1f}\" "
                   "y=\"{:.1f}\">{}</text>\n",
                   curve.style, path, curve.style, X(last.x) + 6, name_y, Escaped(curve.name));
  }

  std::string_view title_;
  const ChartAxes& axes_;
  const std::vector<Curve>& curves_;
  double most_ = 0;
  double step_ = 1;
  double begin_ = std::numeric_limits<double>::infinity();
  double end_ = -std::numeric_limits<double>::infinity();
  std::string svg_;
};

constexpr std::string_view kStyle = R"(
:root { --ground: #fbfbf9; --ink: #1d2023; --quiet: #6a7178; --line: #dcdfe2; --with: #1b4f7a;
  --without: #c2410c; --one: #1b4f7a; --two: #c2410c; --three: #15803d; --four: #7e22ce;
  --five: #a16207; --six: #be185d; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15181b; --ink: #e6e8ea; --quiet: #949ba2; --line: #30363c; --with: #7cc0f5;
    --without: #fb923c; --one: #7cc0f5; --two: #fb923c; --three: #4ade80; --four: #c084fc;
    --five: #facc15; --six: #f472b6; }
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
.curve.one { stroke: var(--one); } svg .name.one { fill: var(--one); }
.curve.two { stroke: var(--two); } svg .name.two { fill: var(--two); }
.curve.three { stroke: var(--three); } svg .name.three { fill: var(--three); }
.curve.four { stroke: var(--four); } svg .name.four { fill: var(--four); }
.curve.five { stroke: var(--five); } svg .name.five { fill: var(--five); }
.curve.six { stroke: var(--six); } svg .name.six { fill: var(--six); }
svg .name.with { fill: var(--with); }
svg .name.without { fill: var(--without); }
)";

}  // namespace

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

double StepFor(double most) {
  const double rough = most / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (rough <= times * power) return times * power;
  }
  return 10 * power;
}

std::string DrawCurves(std::string_view title, const ChartAxes& axes,
                       const std::vector<Curve>& curves) {
  return Chart(title, axes, curves).Draw();
}

std::string PageHead(std::string_view window_title, std::string_view title,
                     std::string_view headline) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{}</title>\n<style>{}"
      "</style></head>\n<body><h1>{}</h1>\n<p>{}</p>\n",
      Escaped(window_title), kStyle, Escaped(title), Escaped(headline));
}

}  // namespace ebb
