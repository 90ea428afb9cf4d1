// Table prints rows under aligned headings, two blanks between columns, as kubectl
// does.  Numbers stand right: a column is numeric if its heading is added with
// AlignRight.
//
// Cost: keeps the rows until they are printed.
// Width counts UTF-8 characters, not columns of wide scripts.

#ifndef EBB_TOOLS_TABLE_H_
#define EBB_TOOLS_TABLE_H_

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

class Table {
 public:
  explicit Table(std::vector<std::string> headings);

  Table& AlignRight(size_t column);
  // Blanks in front of every line.
  Table& Indent(size_t blanks);
  // REQUIRES: one cell for each heading.
  void AddRow(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Headings that are all empty are not printed.
  void Print(std::ostream& out) const;

 private:
  [[nodiscard]] std::string Line(const std::vector<std::string>& cells,
                                 const std::vector<size_t>& widths) const;

  std::vector<std::string> headings_;
  std::vector<bool> right_;
  size_t indent_ = 0;
  std::vector<std::vector<std::string>> rows_;
};

// "1,234,567".
std::string WithCommas(uint64_t number);
// "1 node", "2,000 nodes".
std::string Count(uint64_t number, std::string_view one, std::string_view many);
// 0.3412 -> "34.1%".
std::string Percent(double fraction);

}  // namespace ebb

#endif  // EBB_TOOLS_TABLE_H_
