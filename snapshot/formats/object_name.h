// Which names of objects the readers accept.
//
// Names are printed in messages, in lists that scripts read line by line, and in commands that
// people paste.  So readers reject a name with a line break, an invisible character or a "/".
// The API server is stricter.  Upper case, for example, is accepted here because recorded
// clusters contain it.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_NAME_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_NAME_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace ebb {

// The API server's own limit for a name, in bytes.
inline constexpr size_t kNameBytesMax = 253;

// Whether `name` can be printed as it is.  Rejects an empty name, a name of more than
// kNameBytesMax bytes, and a name with blanks, control characters, invisible characters
// (printable.h), "/" or bytes that are not UTF-8.
// Cost: one table look-up per byte for ASCII.
bool IsName(std::string_view name);

// What is wrong with a name that IsName() rejects; the name is quoted, escaped, on one line.
std::string NameProblem(std::string_view name);

// The namespace of an object whose metadata has the namespace `given`, as kubectl and the API
// server fill it in: "default" if `given` is empty, and no namespace if the kind has none.
inline std::string_view NamespaceAsRead(std::string_view given, bool is_namespaced) {
  if (!is_namespaced) return {};
  return given.empty() ? "default" : given;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_NAME_H_
