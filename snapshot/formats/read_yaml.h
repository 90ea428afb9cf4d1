// Reads Kubernetes objects from YAML, of one document or many.
//
// Each document is rewritten as JSON and given to ReadJson, so that the two forms
// cannot mean different things.  Plain scalars are typed by the YAML 1.2 core
// schema, which is what kubectl's output is quoted for; quoted ones are strings.
// Anchors and aliases work; merge keys ("<<") and keys that are not scalars are
// refused, as are a value under a tag of its own or under one that it does not fit
// (`!!null 1`), a key that a map has twice, and a number that starts with 0 (`010`), which
// kubectl takes for octal and YAML 1.2 for decimal.  Documents that stand behind one another
// without `---` are told apart by apiVersion and kind, which each repeats in its outermost map.
// What Troubleshoot redacted (`***HIDDEN***`, an alias to YAML) is a string.
//
// Errors: see read_input.h; for text that is not YAML they name line and column.  What ebb wrote
//         itself (write_objects.h) is refused where its last line is missing.
// Limits: what aliases repeat may come to 16 MiB plus ten times the text (a few
//         bytes of nested aliases can ask for terabytes).
// Cost:   some 10 MB/s, a fiftieth of JSON's speed; memory of the largest document.
// Threads: pure function but for the sink.

#ifndef EBB_SNAPSHOT_FORMATS_READ_YAML_H_
#define EBB_SNAPSHOT_FORMATS_READ_YAML_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Whether a plain scalar is a whole number that starts with a zero: octal in YAML 1.1, which
// kubectl reads, decimal in 1.2.
bool IsOctalToSome(std::string_view plain);

// What no YAML text may hold, or what readers do not agree about: control characters but
// tab and line ends, and, where they stand for line ends, a carriage return alone and the line
// ends of Unicode behind a comment's #.  yaml-cpp goes on with the comment there, others end
// it, and what follows would be lost without a word.
struct OddCharacter {
  size_t line;  // From 1, as yaml-cpp counts.
  std::string_view what;
};
std::optional<OddCharacter> FindOddCharacter(std::string_view yaml);

absl::Status ReadYaml(std::string_view name, std::string_view yaml, ObjectSink& sink,
                      ImportStats& stats, Strangers strangers = Strangers::kRefused);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_READ_YAML_H_
