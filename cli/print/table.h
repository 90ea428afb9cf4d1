// Table prints rows under aligned headings, two blanks between columns, as kubectl
// does.  Numbers stand right: a column is numeric if its heading is added with
// AlignRight.
//
// Headings and cells go through Printable, so that text of a cluster breaks no line and moves no
// cursor.  Widths are those of a terminal (display_text.h).
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
  // Blanks in front of every line.
  Table& Indent(size_t blanks);
  // Makes the table at most `columns` wide, as far as its shrinkable columns allow: the
  // widest of them first, none below its heading or 10.  0 (the default): as wide as it
  // comes.
  Table& FitTo(size_t columns);
  // The column may be made narrower: names are cut where they stay apart (ShortenedApart),
  // other texts at the end, and sentences in the last column are broken at blanks.
  Table& ShortenNames(size_t column);
  Table& ShortenEnd(size_t column);
  Table& WrapLast();
  // REQUIRES: one cell for each heading.
  void AddRow(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] size_t rows() const { return rows_.size(); }

  // Columns of the widest line, before anything is shortened.
  [[nodiscard]] size_t Width() const;
  // Headings that are all empty are not printed.
  void Print(std::ostream& out) const;

 private:
  enum class Shorten : uint8_t { kNever, kNames, kEnd, kWrap };
  struct Column {
    std::string heading;
    bool right = false;
    Shorten shorten = Shorten::kNever;
  };

  [[nodiscard]] std::vector<size_t> Widths() const;  // Of the columns.
  [[nodiscard]] size_t LineWidth(const std::vector<size_t>& widths) const;
  void Fit(std::vector<size_t>& widths) const;
  // The cells as they are shown in columns so wide.
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
