// Rewrites the documents of a YAML text as JSON.
//
// Which YAML is read, and what is rejected: read_yaml.h.  Documents in the form that programs
// print are read by BlockYaml; from the first one on that it does not know, yaml-cpp reads the
// rest.  Both make the same JSON.
//
// Errors: for text that is not YAML, or is rejected: name, line and column.
// Limits: see read_yaml.h.
// Cost:   some 160 MB/s for what BlockYaml knows, some 5 MB/s for the rest; memory of the largest
//         two documents.
// Threads: pure function but for the visitor.

#ifndef EBB_SNAPSHOT_FORMATS_YAML_DOCUMENTS_H_
#define EBB_SNAPSHOT_FORMATS_YAML_DOCUMENTS_H_

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace ebb {

struct YamlDocument {
  uint64_t index;         // From 1, within its part of the text.
  std::string_view json;  // Valid during the visit; "null" or empty for an empty document.
  // Whether the document lists items but has no kind.  kubectl sorts members by name, so that a
  // truncated list lacks its kind.  This is the only sign of it, because truncated YAML is mostly
  // still valid YAML.
  bool lists_without_kind;
};

// kLibrary: yaml-cpp reads everything, which takes thirty times as long.  For tests.
enum class YamlReaders : uint8_t { kBoth, kLibrary };

// Calls `visit` with each document in turn, until a call fails.
// REQUIRES: `yaml` is UTF-8 and FindOddCharacter() (read_yaml.h) finds nothing in it.
absl::Status VisitYamlDocuments(std::string_view name, std::string_view yaml, YamlReaders readers,
                                absl::FunctionRef<absl::Status(YamlDocument)> visit);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_YAML_DOCUMENTS_H_
