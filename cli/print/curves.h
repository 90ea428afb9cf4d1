// Drawings for reports: curves as SVG, and the page around them.  A page is one file of HTML with
// its style and its drawings in it, and no script: it fetches nothing.
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
  bool percent = false;  // The values are shares.
  double x_step = 1;     // Between labels.
  std::function<std::string(double x)> x_label;
};

// Values from 0 up, all curves over one range of x.
std::string DrawCurves(std::string_view title, const ChartAxes& axes,
                       const std::vector<Curve>& curves);

// 1, 2 or 5 times a power of ten, so that there are about four of them up to `most`.
double StepFor(double most);

// For text between tags and in attributes.
std::string Escaped(std::string_view text);

// From the doctype to the headline; "</body></html>" is to end it.
std::string PageHead(std::string_view window_title, std::string_view title,
                     std::string_view headline);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_CURVES_H_
