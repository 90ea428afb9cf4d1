// Reads Kubernetes objects from JSON.
//
// Takes, any number one after the other in one text:
//   a v1 List or a typed list (PodList, NodeList, ...) with `items` anywhere in it; lists
//   may hold lists.  An object of a foreign API group is a custom resource, never a list;
//   a bare object;
//   an array of objects;
//   the autoscaler's debugging snapshot: `NodeList: [{Node, Pods}]`, whose pods are
//   on that node whatever their spec.nodeName says, and UnscheduledPodsCanBeScheduled,
//   which are on no node.
// An object, an array or a list without a kind has the kind that the file's name tells
// (kind_by_path.h).
// Fields come in any order; null is absent; a field that no decision reads is
// skipped, unless it may restrict where a pod can run: then its path goes to
// Pod.not_understood and the pod's node is kept.
//
// A member that tells what an object is (apiVersion, kind, metadata, spec, status, a list's
// items) is refused if it comes twice.  Of other members the last one counts, as for
// Kubernetes' own readers.
//
// A list whose metadata says that the server has more of it (`continue`,
// `remainingItemCount`) is refused: it is one page of many.
//
// Errors:  see read_input.h; for text that is not JSON they name byte, line and column.
// Cost:    one pass to find where each object ends, one over the object with
//          simdjson; nothing is allocated per field once the structs have grown.
// Threads: the caller's thread finds the items of a long list and hands them over, in
//          the order of the text; others read them meanwhile, some 128 KiB at a time.
//          What the sink sees, and the error, are the same at any number of threads.
// Limits:  one object may have 256 MiB, so that a text that never closes its first
//          brace is refused before memory runs out; lists may be nested 16 deep.  Other
//          nesting has no limit, because nothing here recurses into it.

#ifndef EBB_SNAPSHOT_FORMATS_READ_JSON_H_
#define EBB_SNAPSHOT_FORMATS_READ_JSON_H_

#include <string_view>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Reads the objects of `json`.  `padded` tells that kJsonPadding readable bytes
// follow it; if they do not, the last object is copied.
absl::Status ReadJson(std::string_view name, std::string_view json, bool padded, ObjectSink& sink,
                      ImportStats& stats, const Parallelism& parallelism = Parallelism::One(),
                      Strangers strangers = Strangers::kRefused);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_READ_JSON_H_
