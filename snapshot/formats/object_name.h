// Which names the readers take.
//
// Names end up in messages, in lists that scripts read a line at a time, and in commands
// that people paste.  So a name with a line break, an invisible character or a "/" is
// refused when it is read.  The API server is stricter; upper case, for example, is
// accepted here because recorded clusters have it.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_NAME_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_NAME_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace ebb {

// The API server's own limit for a name, in bytes.
inline constexpr size_t kNameBytesMax = 253;

// Whether `name` can be told and printed as it is.  Refused: an empty name, one of more
// than kNameBytesMax bytes, and one with blanks, control characters, characters that do
// not show (printable.h), "/" or bytes that are not UTF-8.
// Cost: one table look-up a byte for ASCII.
bool IsName(std::string_view name);

// What is wrong with a name that IsName() refuses, escaped and cut to one line.
std::string NameProblem(std::string_view name);

// The namespace of an object that names `given`, as kubectl and the API server make it: "default"
// where it names none, and none where its kind has none.
inline std::string_view NamespaceAsRead(std::string_view given, bool is_namespaced) {
  if (!is_namespaced) return {};
  return given.empty() ? "default" : given;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_NAME_H_
