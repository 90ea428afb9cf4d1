// Reads a cluster from files, folders or standard input into an ObjectSink.
//
// An input is the path of a file, the path of a folder (every *.json, *.yaml, *.yml, *.pb, *.gz,
// *.tar and *.tgz in it and its subfolders, ordered by path), or "-" for standard input.
// The form of a file is recognized by its content; its name hardly matters.  Forms are gzip (whose
// content is read in turn), ebb's binary snapshot (binary_snapshot.h), JSON (read_json.h), YAML
// (read_yaml.h) and a tar archive (tar_archive.h), which is read like a folder.
//
// Folders: folders often contain other files too (`kubectl cluster-info dump`, must-gather).
//          A file without Kubernetes objects is counted and skipped.  A file that is broken or
//          has a form that ebb does not read (form_error.h) is counted as well, separately if it
//          seems to hold objects that ebb needs.  Such a file is an error if objects of it were
//          read before the problem, or if it is broken and named after a kind that ebb reads.
//          A file that several paths lead to is read once, so that links may form cycles.  Names
//          that begin with "." are ignored.  Pipes, sockets and devices are counted and skipped.
//          Archives are read only if no other file of the folder holds an object.
//
// Errors: one line naming the file, the object and the field:
//           pods.json: Pod default/web-0: spec.containers[2].resources.requests.cpu:
//           "4x" is not a quantity
//         A missing file is NotFound.  An input beyond InputLimits or larger than the memory is
//         ResourceExhausted.  The sink's errors keep their code.  All other errors are
//         InvalidArgument, including that of a file that was modified while it was read.  The sink
//         has already received the objects before the error.
// Memory: the content of a file is held in memory as a whole while it is read.  Only a plain file
//         larger than three quarters of the memory is mapped instead; it must not be truncated
//         meanwhile (SIGBUS).  InputLimits bounds both.
// Threads: long JSON lists are read by as many threads as `parallelism` has.  The sink is called
//         on the caller's thread, in order, and receives the same calls at any number of
//         threads.  Calls with different sinks may run at once.

#ifndef EBB_SNAPSHOT_FORMATS_READ_INPUT_H_
#define EBB_SNAPSHOT_FORMATS_READ_INPUT_H_

#include <string_view>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Whether a file of this name is read if it is in a folder.
bool IsDumpName(std::string_view name);

// Reads one input ("-": standard input).
absl::Status ReadInput(std::string_view path, ObjectSink& sink, ImportStats& stats,
                       const Parallelism& parallelism = Parallelism::One(),
                       const InputLimits& limits = {});

// Reads bytes that are already in memory; `name` is the file's name in errors.
absl::Status ReadBytes(std::string_view name, std::string_view bytes, ObjectSink& sink,
                       ImportStats& stats, const Parallelism& parallelism = Parallelism::One(),
                       const InputLimits& limits = {});

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_READ_INPUT_H_
