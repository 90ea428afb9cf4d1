// Finds where JSON values end, without looking into them.
//
// read_json.cc cuts a dump of any size into its objects with these and hands each
// object to simdjson, so that memory follows the largest object, not the file.
// They tell strings from structure and count depth; whether the text between the
// braces is JSON is for the parser to say.
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

}  // namespace ebb::json_scan

#endif  // EBB_SNAPSHOT_FORMATS_JSON_SCAN_H_
