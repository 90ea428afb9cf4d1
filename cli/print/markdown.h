// Answers as GitHub's Markdown, short enough for a pull request or a chat.
//
// Text of a cluster stands in code spans, so that no name can become markup, a link or a mention,
// and no name ends a row of a table.  Cells are cut at kMarkdownCell columns, lists at
// kMarkdownRows rows; a line says how many are left out.

#ifndef EBB_CLI_PRINT_MARKDOWN_H_
#define EBB_CLI_PRINT_MARKDOWN_H_

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "report/plan_comparison.h"

namespace ebb {

inline constexpr size_t kMarkdownRows = 20;
inline constexpr size_t kMarkdownCell = 80;

// "`shop/web-1`"; "-" for an empty text.
std::string MarkdownCode(std::string_view text);

// A table in which the columns of `right` are aligned right.  Cells are Markdown, without an
// unescaped "|".  Nothing if there are no rows.  `more`: rows that are left out.
void PrintMarkdownTable(const std::vector<std::string>& headings, const std::vector<bool>& right,
                        const std::vector<std::vector<std::string>>& rows, size_t more,
                        std::ostream& out);

void PrintMarkdown(const PlanComparison& comparison, std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_MARKDOWN_H_
