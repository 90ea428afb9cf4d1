// Text as a terminal shows it: how many columns it takes, and how to shorten it.
//
// Widths are in columns of a terminal: two for an East Asian wide character, none for a combining
// one.  No text is cut inside a character.
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

// How many columns the text takes.
size_t DisplayWidth(std::string_view text);

// If the text is wider than `width`, its front and an ellipsis; else the text.
std::string ShortenedAtEnd(std::string_view text, size_t width);

// Shortens each text to at most `width` columns.  All texts that are too wide are cut at the same
// place, with an ellipsis for the part that is left out.  The place keeps as many of the texts
// distinct as possible; among such places it is the nearest to the middle.
// REQUIRES: width >= 3.
// Cost: O(width × texts), mostly O(texts).
std::vector<std::string> ShortenedApart(std::span<const std::string> texts, size_t width);

// The domain that all names end in: ".eu-central-1.compute.internal".  Empty: the names have no
// common domain, or there are fewer than two names.  Numbers are not a domain, so IP addresses stay
// whole.
std::string_view CommonDomain(std::span<const std::string> names);

// The text in lines of at most `columns` columns, broken at blanks.  Lines after the first begin
// with `indent` blanks.  A word wider than that gets a line of its own.  0 columns: one line.
std::string Wrapped(std::string_view text, size_t columns, size_t indent = 0);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_DISPLAY_TEXT_H_
