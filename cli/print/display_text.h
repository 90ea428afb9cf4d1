// Text as a terminal shows it: how many columns it takes, and how to make it take fewer.
//
// Widths count the columns of a terminal: two for East Asian wide characters, none for
// combining ones.  Nothing is cut inside a character.
//
// REQUIRES of all texts: UTF-8, as Printable leaves it.
// Threads: pure.

#ifndef EBB_CLI_PRINT_DISPLAY_TEXT_H_
#define EBB_CLI_PRINT_DISPLAY_TEXT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

// Columns that the text takes.
size_t DisplayWidth(std::string_view text);

// The front of a text that is wider than `width`, with an ellipsis behind; else the text.
std::string ShortenedAtEnd(std::string_view text, size_t width);

// Each text, in at most `width` columns.  All that are too wide are cut at the same place,
// with an ellipsis for what is left out: at the place nearest to the middle that leaves as
// many of them apart as any does.  REQUIRES: width >= 3.
// Cost: O(width x texts), mostly O(texts).
std::vector<std::string> ShortenedApart(std::span<const std::string> texts, size_t width);

// The domain that all names end in: ".eu-central-1.compute.internal".  Empty: they have none
// in common, or there are fewer than two.  Numbers are not a domain: addresses stay whole.
std::string_view CommonDomain(std::span<const std::string> names);

// The text in lines of at most `columns`, broken at blanks; lines after the first begin
// with `indent` blanks.  A word that is wider stands in a line of its own.  0 columns: one line.
std::string Wrapped(std::string_view text, size_t columns, size_t indent = 0);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_DISPLAY_TEXT_H_
