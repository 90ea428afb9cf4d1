#include "tools/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

namespace ebb {
namespace {

size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

Table::Table(std::vector<std::string> headings)
    : headings_(std::move(headings)), right_(headings_.size()) {}

Table& Table::AlignRight(size_t column) {
  right_[column] = true;
  return *this;
}

Table& Table::Indent(size_t blanks) {
  indent_ = blanks;
  return *this;
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::Line(const std::vector<std::string>& cells,
                        const std::vector<size_t>& widths) const {
  std::string line(indent_, ' ');
  for (size_t c = 0; c < cells.size(); ++c) {
    const std::string blanks(widths[c] - Width(cells[c]), ' ');
    line += right_[c] ? blanks + cells[c] : cells[c] + blanks;
    line += "  ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void Table::Print(std::ostream& out) const {
  std::vector<size_t> widths;
  bool headed = false;
  for (const std::string& heading : headings_) {
    widths.push_back(Width(heading));
    headed |= !heading.empty();
  }
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  if (headed) out << Line(headings_, widths) << "\n";
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

}  // namespace ebb
