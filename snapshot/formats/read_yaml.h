// Reads Kubernetes objects from YAML with one or more documents.
//
// Each document is rewritten as JSON (yaml_documents.h) and passed to ReadJson, so that the two
// forms cannot differ in meaning.  Plain scalars are typed by the YAML 1.2 core schema, for which
// kubectl's output is quoted; quoted scalars are strings.  Anchors and aliases work.  Rejected are:
//   - merge keys ("<<") and keys that are not scalars;
//   - a value under an application's own tag, or under a tag that it does not fit (`!!null 1`);
//   - a key that occurs twice in a map;
//   - a number that starts with 0 (`010`), which kubectl reads as octal and YAML 1.2 as decimal.
// Documents may follow one another without `---`: a document starts where apiVersion and kind are
// repeated in the outermost map.  Text that Troubleshoot redacted (`***HIDDEN***`, which YAML would
// read as an alias) is a string.
//
// Errors: see read_input.h.  For text that is not YAML they name line and column.  A file that ebb
//         wrote (write_objects.h) is rejected if its last line is missing.
// Limits: aliases may add 16 MiB plus ten times the size of the text (a few bytes of nested aliases
//         can expand to terabytes).
// Cost:   for block style, as kubectl and ebb print it, some 100 MB/s; for other YAML some 5 MB/s;
//         memory of the largest document, as JSON.
// Threads: as ReadJson; one thread reads the YAML itself.

#ifndef EBB_SNAPSHOT_FORMATS_READ_YAML_H_
#define EBB_SNAPSHOT_FORMATS_READ_YAML_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// A character that YAML does not allow, or about which readers disagree: a control character
// other than tab and line end; a carriage return that does not belong to a line end; a line end
// of Unicode in a comment.  yaml-cpp continues the comment there while other readers end it, so
// that what follows would be lost silently.
struct OddCharacter {
  size_t line;  // From 1, as yaml-cpp counts.
  std::string_view what;
};
std::optional<OddCharacter> FindOddCharacter(std::string_view yaml);

absl::Status ReadYaml(std::string_view name, std::string_view yaml, ObjectSink& sink,
                      ImportStats& stats, const Parallelism& parallelism = Parallelism::One(),
                      Strangers strangers = Strangers::kRefused);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_READ_YAML_H_
