#include "tools/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "tools/printable.h"

namespace ebb {
namespace {

constexpr std::string_view kEllipsis = "\u2026";
constexpr size_t kShortestColumn = 10;
constexpr size_t kGap = 2;

struct Range {
  char32_t first;
  char32_t last;
};

// Two columns.  Source: the width that C++20's std::format estimates, [format.string.std].
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x2329, 0x232a},   {0x2e80, 0x303e},   {0x3040, 0xa4cf},  {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x2fffd}, {0x30000, 0x3fffd}};
// None: the blocks of combining marks, and variation selectors.
constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

template <size_t kSize>
bool IsIn(const Range (&ranges)[kSize], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return range.first <= code && code <= range.last;
  });
}

size_t WidthOf(char32_t code) {
  if (code < kCombining[0].first) return 1;
  return IsIn(kCombining, code) ? 0 : IsIn(kWide, code) ? 2 : 1;
}

// A character and the marks on it.
struct Cluster {
  std::string_view text;
  size_t width;
};

// REQUIRES: UTF-8, as Printable leaves it.
std::vector<Cluster> Clusters(std::string_view text) {
  std::vector<Cluster> clusters;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = std::min<size_t>(lead < 0x80   ? 1
                                           : lead < 0xe0 ? 2
                                           : lead < 0xf0 ? 3
                                                         : 4,
                                           text.size() - i);
    char32_t code = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    }
    const size_t width = WidthOf(code);
    if (width == 0 && !clusters.empty()) {
      Cluster& base = clusters.back();
      base.text = {base.text.data(), base.text.size() + length};
    } else {
      clusters.push_back({text.substr(i, length), width});
    }
    i += length;
  }
  return clusters;
}

// Takes from `it` on what fits into `width`.
template <typename Iterator>
std::vector<std::string_view> Take(Iterator it, Iterator end, size_t width) {
  std::vector<std::string_view> taken;
  for (; it != end && it->width <= width; ++it) {
    taken.push_back(it->text);
    width -= it->width;
  }
  return taken;
}

std::string Shortened(std::string_view text, size_t width, bool in_the_middle) {
  const std::vector<Cluster> clusters = Clusters(text);
  const size_t tail = in_the_middle ? (width - 1) / 2 : 0;
  std::string out;
  for (const auto part : Take(clusters.begin(), clusters.end(), width - 1 - tail)) out += part;
  out += kEllipsis;
  auto end = Take(clusters.rbegin(), clusters.rend(), tail);
  std::reverse(end.begin(), end.end());
  for (const auto part : end) out += part;
  return out;
}

// "1,234.5".
std::string OneDecimal(double amount) {
  std::string text = fmt::format("{:.1f}", amount);
  for (size_t at = text.find('.'); at > 3 && at <= text.size(); at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return text.size();
  size_t width = 0;
  for (const Cluster& cluster : Clusters(text)) width += cluster.width;
  return width;
}

Table::Table(std::vector<std::string> headings) {
  for (std::string& heading : headings) columns_.push_back({.heading = std::move(heading)});
}

Table& Table::AlignRight(size_t column) {
  columns_[column].right = true;
  return *this;
}

Table& Table::Indent(size_t blanks) {
  indent_ = blanks;
  return *this;
}

Table& Table::FitTo(size_t columns) {
  width_max_ = columns;
  return *this;
}

Table& Table::ShortenMiddle(size_t column) {
  columns_[column].shorten = Shorten::kMiddle;
  return *this;
}

Table& Table::ShortenEnd(size_t column) {
  columns_[column].shorten = Shorten::kEnd;
  return *this;
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

// Takes from the widest column until the line fits, or nothing is left to take.
void Table::Fit(std::vector<size_t>& widths) const {
  size_t total = indent_;
  for (const size_t width : widths) total += width + kGap;
  total -= kGap;
  while (total > width_max_) {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      const size_t least = std::max(kShortestColumn, DisplayWidth(columns_[c].heading));
      if (columns_[c].shorten == Shorten::kNever || widths[c] <= least) continue;
      if (widest == columns_.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns_.size()) return;
    --widths[widest];
    --total;
  }
}

std::string Table::Line(const std::vector<std::string>& cells,
                        const std::vector<size_t>& widths) const {
  std::string line(indent_, ' ');
  for (size_t c = 0; c < cells.size(); ++c) {
    size_t width = DisplayWidth(cells[c]);
    std::string cell = cells[c];
    if (width > widths[c]) {
      cell = Shortened(cell, widths[c], columns_[c].shorten == Shorten::kMiddle);
      width = DisplayWidth(cell);
    }
    const std::string blanks(widths[c] - width, ' ');
    line += columns_[c].right ? blanks + cell : cell + blanks;
    line.append(kGap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void Table::Print(std::ostream& out) const {
  std::vector<size_t> widths;
  std::vector<std::string> headings;
  bool headed = false;
  for (const Column& column : columns_) {
    widths.push_back(DisplayWidth(column.heading));
    headings.push_back(column.heading);
    headed |= !column.heading.empty();
  }
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], DisplayWidth(row[c]));
  }
  if (width_max_ > 0) Fit(widths);
  if (headed) out << Line(headings, widths) << "\n";
  for (const auto& row : rows_) out << Line(row, widths) << "\n";
}

std::string WithCommas(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string Count(uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", WithCommas(number), number == 1 ? one : many);
}

std::string Percent(double fraction) {
  if (std::isnan(fraction)) return "-";
  if (std::isinf(fraction)) return "inf";
  return fmt::format("{:.1f}%", fraction * 100);
}

std::string Cores(int64_t cpu_milli) { return OneDecimal(static_cast<double>(cpu_milli) / 1000); }

std::string Gibibytes(int64_t bytes) {
  return OneDecimal(static_cast<double>(bytes) / (int64_t{1} << 30)) + " GiB";
}

std::string Bytes(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

}  // namespace ebb
