// Finds where JSON values end, without looking into them.
//
// read_json.cc cuts a dump of any size into its objects with these and hands each
// object to simdjson, so that memory follows the largest object, not the file.
// They tell strings from structure and count depth.  Whether the text between the
// braces is valid JSON is decided by the parser.
//
// Every function takes a position in [p, end) and returns one in (p, end], or
// nullptr where the text ends first.
//
// Cost: SkipContainer 64 bytes a step, many GB/s, with the widest vectors that the
// machine has (chosen once, at run time); the others byte by byte.
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_FORMATS_JSON_SCAN_H_
#define EBB_SNAPSHOT_FORMATS_JSON_SCAN_H_

#include <cstddef>
#include <string_view>

namespace ebb::json_scan {

// Past blanks; `end` if there is nothing else.
const char* SkipBlanks(const char* p, const char* end);

// Past the string whose opening quote is at p.
const char* SkipString(const char* p, const char* end);

// Past the object or array whose opening brace is at p.
const char* SkipContainer(const char* p, const char* end);

// The same in each of the ways that this machine knows, the widest vectors first, for
// tests.  REQUIRES: way < ContainerWays().
size_t ContainerWays();
const char* SkipContainer(const char* p, const char* end, size_t way);

// Past any value at p.  A number or literal ends at a comma, brace or blank.
const char* SkipValue(const char* p, const char* end);

// Calls `visit(key, value)` with the texts of each member of the object that is all of `text`;
// the key is as it stands there, without its quotes.  False: it is no JSON.
template <typename Visit>
bool ForEachMember(std::string_view text, Visit&& visit) {
  const char* const end = text.data() + text.size();
  if (text.empty() || text[0] != '{') return false;
  const char* p = text.data() + 1;
  while (true) {
    p = SkipBlanks(p, end);
    if (p == end) return false;
    if (*p == '}') return true;
    if (*p == ',') {
      ++p;
      continue;
    }
    if (*p != '"') return false;
    const char* const key_end = SkipString(p, end);
    if (key_end == nullptr) return false;
    const std::string_view key(p + 1, static_cast<size_t>(key_end - p) - 2);
    p = SkipBlanks(key_end, end);
    if (p == end || *p != ':') return false;
    const char* const value = SkipBlanks(p + 1, end);
    if (value == end) return false;
    p = SkipValue(value, end);
    if (p == nullptr || p == value) return false;
    visit(key, std::string_view(value, static_cast<size_t>(p - value)));
  }
}

}  // namespace ebb::json_scan

#endif  // EBB_SNAPSHOT_FORMATS_JSON_SCAN_H_
