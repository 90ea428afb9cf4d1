// Finds where JSON values end, without looking into them.
//
// read_json.cc uses these functions to cut a dump of any size into its objects, and passes each
// object to simdjson, so that memory use follows the largest object instead of the file.
// They distinguish strings from structure and count nesting depth.  The parser decides whether
// the text between the braces is valid JSON.
//
// Every function takes a position in [p, end) and returns one in (p, end], or nullptr if the text
// ends first.  SkipBlanks may return `p` itself.
//
// Cost: SkipContainer reads 64 bytes a step, many GB/s, with the widest vectors that the machine
// has (chosen once, at run time); the others read byte by byte.
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_FORMATS_JSON_SCAN_H_
#define EBB_SNAPSHOT_FORMATS_JSON_SCAN_H_

#include <cstddef>
#include <string_view>

namespace ebb::json_scan {

// Skips blanks; returns `end` if nothing else follows.
const char* SkipBlanks(const char* p, const char* end);

// Skips the string whose opening quote is at p.
const char* SkipString(const char* p, const char* end);

// Skips the object or array whose opening brace or bracket is at p.
const char* SkipContainer(const char* p, const char* end);

// Skips a container with one given implementation, the one with the widest vectors first.  For
// tests.  REQUIRES: way < ContainerWays(), the number of implementations on this machine.
size_t ContainerWays();
const char* SkipContainer(const char* p, const char* end, size_t way);

// Skips any value at p.  A number or literal ends at a comma, brace, bracket or blank.
const char* SkipValue(const char* p, const char* end);

// Calls `visit(key, value)` with the texts of each member of the object that makes up `text`.
// The key is passed with its escapes and without its quotes.  Returns false if `text` is not JSON.
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
