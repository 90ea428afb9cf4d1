// Makes text from a cluster safe to print: characters that move a terminal's cursor, break a
// line or are invisible become escapes.

#ifndef EBB_BASE_PRINTABLE_H_
#define EBB_BASE_PRINTABLE_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace ebb {

// Escapes control characters, bytes that are not UTF-8, and Unicode's invisible, line-breaking
// and direction-changing characters: \n, \t, \x1b, \u202e.  A backslash becomes two.  Text
// without any of these is returned unchanged.
// Cost: O(length).
std::string Printable(std::string_view text);

// Like Printable, for text that has been escaped before, fully or in part: a backslash stays
// one.  The result is a single line.
std::string PrintableLine(std::string_view text);

// Writes one line "WHO: TEXT" for people, whatever `text` contains.  All messages of commands
// go through this function, so that no file name, flag or cluster object can end the line and
// forge another one in ebb's name.
void PrintMessage(std::string_view text, std::ostream& err, std::string_view who = "ebb");

// Rewrites JSON text so that characters which Printable() would escape are written as \u202e.
// The value stays the same, since only strings can contain them.  For YAML, characters above
// U+FFFF are written as \U000e0041, because YAML's quoted strings have no surrogate pairs.
enum class EscapeForm : uint8_t { kJson, kYaml };
std::string WithVisibleEscapes(std::string json, EscapeForm form);

}  // namespace ebb

#endif  // EBB_BASE_PRINTABLE_H_
