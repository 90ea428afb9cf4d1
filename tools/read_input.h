// Reads a cluster from what people have at hand into an ObjectSink.
//
// An input is the path of a file, of a folder (every *.json, *.yaml, *.yml, *.pb
// and *.gz in it, by name; not what lies deeper), or "-" for standard input.
// A file is, whatever its name, gzip (then what is inside counts), ebb's binary
// snapshot (binary_snapshot.h), JSON (read_json.h) or YAML (read_yaml.h).
//
// Errors: one line naming the file, the object and the field:
//           pods.json: Pod default/web-0: spec.containers[2].resources.requests.cpu:
//           "4x" is not a quantity
//         A missing file is NotFound, all else InvalidArgument.  Objects before
//         the error have been handed over already.
// Memory: plain files are mapped, not copied; gzip and standard input are held
//         as a whole while they are read.
// Threads: long JSON lists are read by as many threads as `parallelism` has; the sink is
//         called by the caller's, in order, and sees the same at any number.  Calls
//         with different sinks may run at once.

#ifndef EBB_TOOLS_READ_INPUT_H_
#define EBB_TOOLS_READ_INPUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/parallel.h"
#include "tools/object_sink.h"

namespace ebb {

// What an import met.  Counters only grow: pass one to several reads to add up.
struct ImportStats {
  uint64_t files = 0;
  uint64_t bytes = 0;    // As they were parsed, that is after decompression.
  uint64_t objects = 0;  // Handed to the sink, ignored ones not among them.
  std::map<std::string, uint64_t, std::less<>> ignored;  // Kind -> objects.
};

// Whether a file of this name is read as part of a folder.
bool IsDumpName(std::string_view name);

// Reads one input ("-": standard input).
absl::Status ReadInput(std::string_view path, ObjectSink& sink, ImportStats& stats,
                       const Parallelism& parallelism = Parallelism::One());

// Reads bytes that are in memory already; `name` stands for the file in errors.
absl::Status ReadBytes(std::string_view name, std::string_view bytes, ObjectSink& sink,
                       ImportStats& stats, const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_TOOLS_READ_INPUT_H_
