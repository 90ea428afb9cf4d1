// Table prints rows under aligned headings, two blanks between columns, as kubectl does.  Columns
// are aligned left, or right after AlignRight (for numbers).
//
// Headings and cells go through Printable, so that text from a cluster cannot break a line or move
// the cursor.  Widths are in columns of a terminal (display_text.h).
//
// Cost: keeps the rows until they are printed.

#ifndef EBB_CLI_PRINT_TABLE_H_
#define EBB_CLI_PRINT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

class Table {
 public:
  explicit Table(const std::vector<std::string>& headings);

  Table& AlignRight(size_t column);
  // Sets the number of blanks before every line.
  Table& Indent(size_t blanks);
  // Makes the table at most `columns` wide, as far as the columns that may shrink allow.  The
  // widest is shrunk first; no column gets narrower than its heading, or than 10.  0 (the default):
  // no limit.
  Table& FitTo(size_t columns);
  // Allows the column to be shortened: ShortenNames cuts names so that they stay distinct
  // (ShortenedApart), ShortenEnd cuts texts at the end, and WrapLast breaks sentences in the last
  // column at blanks.
  Table& ShortenNames(size_t column);
  Table& ShortenEnd(size_t column);
  Table& WrapLast();
  // REQUIRES: one cell for each heading.
  void AddRow(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] size_t rows() const { return rows_.size(); }

  // The width of the widest line in columns of a terminal, before anything is shortened.
  [[nodiscard]] size_t Width() const;
  // Prints the table; the line of headings only if some heading is not empty.
  void Print(std::ostream& out) const;

 private:
  enum class Shorten : uint8_t { kNever, kNames, kEnd, kWrap };
  struct Column {
    std::string heading;
    bool right = false;
    Shorten shorten = Shorten::kNever;
  };

  [[nodiscard]] std::vector<size_t> Widths() const;  // One for each column.
  [[nodiscard]] size_t LineWidth(const std::vector<size_t>& widths) const;
  void Fit(std::vector<size_t>& widths) const;
  // The cells, shortened to columns of these widths.
  [[nodiscard]] std::vector<std::vector<std::string>> Shortened(
      const std::vector<size_t>& widths) const;
  [[nodiscard]] std::string Line(const std::vector<std::string>& cells,
                                 const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  size_t indent_ = 0;
  size_t width_max_ = 0;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ebb

#endif  // EBB_CLI_PRINT_TABLE_H_
