// A figure of a policy as text.  Fractions are rounded to a millionth, without the noise of binary
// fractions (15032.385536000003).
//
// Threads: pure.

#ifndef EBB_SIZING_POLICY_FIGURE_TEXT_H_
#define EBB_SIZING_POLICY_FIGURE_TEXT_H_

#include <fmt/format.h>

#include <string>
#include <type_traits>

#include "base/figures.h"

namespace ebb {

template <typename Value>
std::string FigureText(const Value& value) {
  if constexpr (std::is_floating_point_v<Value>) {
    return fmt::format("{}", RoundedAmount(value));
  } else {
    return fmt::format("{}", value);
  }
}

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_FIGURE_TEXT_H_
