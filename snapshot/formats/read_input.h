// Reads a cluster from files, folders or standard input into an ObjectSink.
//
// An input is the path of a file, of a folder (every *.json, *.yaml, *.yml, *.pb
// and *.gz in it to the bottom, by path), or "-" for standard input.
// A file is, whatever its name, gzip (then what is inside counts), ebb's binary
// snapshot (binary_snapshot.h), JSON (read_json.h), YAML (read_yaml.h) or a tar archive, which is
// read as a folder is (tar_archive.h).
//
// Folders: what people unpack has more in it than objects (`kubectl cluster-info dump`,
//          must-gather).  A file that holds no Kubernetes object is counted and passed
//          over.  A file that is broken or of a form that ebb does not read (form_error.h) is
//          counted too, apart from others where it seems to hold objects that ebb needs; it is an
//          error where objects of it were read before, or where it is called as a kind is.
//          A file that two paths lead to is read once, so that links may go in circles.  What
//          begins with "." is not read, nor is a pipe, a socket or a device, which is counted.
//          Archives are read where no other file of the folder holds an object.
//
// Errors: one line naming the file, the object and the field:
//           pods.json: Pod default/web-0: spec.containers[2].resources.requests.cpu:
//           "4x" is not a quantity
//         A missing file is NotFound, all else InvalidArgument.  Objects before
//         the error have been handed over already.
//         A file that is written while it is read is InvalidArgument too.
// Memory: a text is held as a whole while it is read.  Only a plain file that is larger
//         than three quarters of the memory is mapped instead; it must not be truncated
//         meanwhile (SIGBUS).  InputLimits bounds them.
// Threads: long JSON lists are read by as many threads as `parallelism` has; the sink is
//         called by the caller's thread, in order, and sees the same at any number of
//         threads.  Calls with different sinks may run at once.

#ifndef EBB_SNAPSHOT_FORMATS_READ_INPUT_H_
#define EBB_SNAPSHOT_FORMATS_READ_INPUT_H_

#include <string_view>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Whether a file of this name is read as part of a folder.
bool IsDumpName(std::string_view name);

// Reads one input ("-": standard input).
absl::Status ReadInput(std::string_view path, ObjectSink& sink, ImportStats& stats,
                       const Parallelism& parallelism = Parallelism::One(),
                       const InputLimits& limits = {});

// Reads bytes that are in memory already; `name` stands for the file in errors.
absl::Status ReadBytes(std::string_view name, std::string_view bytes, ObjectSink& sink,
                       ImportStats& stats, const Parallelism& parallelism = Parallelism::One(),
                       const InputLimits& limits = {});

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_READ_INPUT_H_
