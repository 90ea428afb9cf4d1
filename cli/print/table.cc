#include "cli/print/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "base/check.h"
#include "base/printable.h"
#include "cli/print/display_text.h"

namespace ebb {
namespace {

constexpr size_t kShortestColumn = 10;
constexpr size_t kGap = 2;

}  // namespace

Table::Table(const std::vector<std::string>& headings) {
  for (const std::string& heading : headings) columns_.push_back({.heading = Printable(heading)});
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

Table& Table::ShortenNames(size_t column) {
  columns_[column].shorten = Shorten::kNames;
  return *this;
}

Table& Table::ShortenEnd(size_t column) {
  columns_[column].shorten = Shorten::kEnd;
  return *this;
}

Table& Table::WrapLast() {
  columns_.back().shorten = Shorten::kWrap;
  return *this;
}

void Table::AddRow(std::vector<std::string> cells) {
  EBB_DCHECK(cells.size() == columns_.size());
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = PrintableLine(cell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.heading));
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], DisplayWidth(row[c]));
  }
  return widths;
}

size_t Table::LineWidth(const std::vector<size_t>& widths) const {
  size_t total = indent_;
  for (const size_t width : widths) total += width + kGap;
  return total - kGap;
}

size_t Table::Width() const { return LineWidth(Widths()); }

// Shrinks the widest column until the line fits, or until no column may shrink.
void Table::Fit(std::vector<size_t>& widths) const {
  size_t total = LineWidth(widths);
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

std::vector<std::vector<std::string>> Table::Shortened(const std::vector<size_t>& widths) const {
  std::vector<std::vector<std::string>> rows = rows_;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].shorten == Shorten::kEnd) {
      for (auto& row : rows) row[c] = ShortenedAtEnd(row[c], widths[c]);
    } else if (columns_[c].shorten == Shorten::kNames) {
      std::vector<std::string> names;
      names.reserve(rows.size());
      for (auto& row : rows) names.push_back(std::move(row[c]));
      names = ShortenedApart(names, widths[c]);
      for (size_t r = 0; r < rows.size(); ++r) rows[r][c] = std::move(names[r]);
    }
  }
  return rows;
}

std::string Table::Line(const std::vector<std::string>& cells,
                        const std::vector<size_t>& widths) const {
  std::string line(indent_, ' ');
  for (size_t c = 0; c < cells.size(); ++c) {
    const size_t width = DisplayWidth(cells[c]);
    const std::string blanks(widths[c] > width ? widths[c] - width : 0, ' ');
    line += columns_[c].right ? blanks + cells[c] : cells[c] + blanks;
    line.append(kGap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  if (columns_.back().shorten != Shorten::kWrap) return line;
  return Wrapped(line, width_max_, LineWidth(widths) - widths.back() + kGap);
}

void Table::Print(std::ostream& out) const {
  std::vector<size_t> widths = Widths();
  if (width_max_ > 0) Fit(widths);
  std::vector<std::string> headings;
  bool headed = false;
  for (const Column& column : columns_) {
    headings.push_back(column.heading);
    headed |= !column.heading.empty();
  }
  if (headed) out << Line(headings, widths) << "\n";
  for (const auto& row : Shortened(widths)) out << Line(row, widths) << "\n";
}

}  // namespace ebb
