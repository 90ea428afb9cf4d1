// Drawings for reports: curves as SVG, and the page around them.  A page is one file of HTML that
// contains its style and drawings.  It has no script and fetches nothing.
//
// Threads: pure functions.

#ifndef EBB_CLI_PRINT_CURVES_H_
#define EBB_CLI_PRINT_CURVES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

struct CurvePoint {
  double x = 0;
  double y = 0;
};

struct Curve {
  std::string name;
  std::string style;  // "with", "without" (dashed), "one" to "six": colours.
  std::vector<CurvePoint> points;
};

struct ChartAxes {
  bool percent = false;  // The values are fractions, shown as percentages.
  double x_step = 1;     // Between labels.
  std::function<std::string(double x)> x_label;
};

// Draws values from 0 up; all curves share one range of x.
std::string DrawCurves(std::string_view title, const ChartAxes& axes,
                       const std::vector<Curve>& curves);

// 1, 2 or 5 times a power of ten, so that about four steps reach `most`.
double StepFor(double most);

// Escapes text for use between tags and in attributes.
std::string Escaped(std::string_view text);

// The page from the doctype to the headline.  The caller ends the page with "</body></html>".
std::string PageHead(std::string_view window_title, std::string_view title,
                     std::string_view headline);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_CURVES_H_
