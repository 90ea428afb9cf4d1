// Text from a cluster as it may be printed for people: what would move a terminal's
// cursor, break a line or hide is written as an escape.

#ifndef EBB_BASE_PRINTABLE_H_
#define EBB_BASE_PRINTABLE_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace ebb {

// The text with control characters, bytes that are not UTF-8 and Unicode's invisible,
// line-breaking and direction-changing characters written as \n, \t, \x1b or \u202e, and
// a backslash as two.  Text without any of them comes back as it is.
// Cost: O(length).
std::string Printable(std::string_view text);

// The same for text that was made printable before, or in part: a backslash stays one.
// What comes back is one line.
std::string PrintableLine(std::string_view text);

// Tells people something: one line "WHO: TEXT", whatever the text quotes.  All messages of
// commands go through here, so that nothing in a file's name, a flag or a cluster can end
// the line and write another one in ebb's name.
void PrintMessage(std::string_view text, std::ostream& err, std::string_view who = "ebb");

// Text of JSON in which characters that Printable() would escape are written as \u202e: the
// same value, as nothing but strings can hold them.  YAML's quoted strings know no pairs of
// surrogates; its characters above U+FFFF are written as \U000e0041.
enum class EscapeForm : uint8_t { kJson, kYaml };
std::string WithVisibleEscapes(std::string json, EscapeForm form);

}  // namespace ebb

#endif  // EBB_BASE_PRINTABLE_H_
