// Text from a cluster as it may be printed for people: what would move a terminal's
// cursor, break a line or hide is written as an escape.

#ifndef EBB_TOOLS_PRINTABLE_H_
#define EBB_TOOLS_PRINTABLE_H_

#include <string>
#include <string_view>

namespace ebb {

// The text with control characters, bytes that are not UTF-8 and Unicode's invisible,
// line-breaking and direction-changing characters written as \n, \t, \x1b or \u202e, and
// a backslash as two.  Text without any of them comes back as it is.
// Cost: O(length).
std::string Printable(std::string_view text);

}  // namespace ebb

#endif  // EBB_TOOLS_PRINTABLE_H_
