// Reads Kubernetes objects from JSON.
//
// A text may hold any number of documents in a row.  A document is one of:
//   a v1 List or a typed list (PodList, NodeList, ...) with `items` anywhere in it; lists may
//   contain lists.  An object of a foreign API group is a custom resource, never a list;
//   a bare object;
//   an array of objects;
//   the autoscaler's debugging snapshot: `NodeList: [{Node, Pods}]`, whose pods are on that node
//   regardless of their spec.nodeName, and UnscheduledPodsCanBeScheduled, whose pods are on no
//   node.
// An object, an array or a list without a kind has the kind that the file's name gives
// (kind_by_path.h).
// Fields may come in any order; null means absent.  A field that no decision reads is skipped,
// unless it may restrict where a pod can run: then its path is stored in Pod.not_understood and
// the pod's node is kept.
//
// A member that identifies an object (apiVersion, kind, metadata, spec, status, a list's items)
// is rejected if it occurs twice.  Of other members the last one counts, as in Kubernetes' own
// readers.
//
// A list whose metadata says that the server has more of it (`continue`, `remainingItemCount`) is
// one page of several.  ObjectSink::OnPartOfList() decides; by default it rejects the list.
//
// Errors:  see read_input.h.  For text that is not JSON they name byte, line and column.
// Cost:    one pass to find where each object ends, one over the object with simdjson; no
//          allocation per field once the structs have grown.
// Threads: the caller's thread finds the items of a long list and hands the objects over, in the
//          order of the text; meanwhile other threads read items, some 128 KiB at a time.  The
//          sink's calls and the error are the same at any number of threads.
// Limits:  an object may have at most 256 MiB, so that a text that never closes its first brace
//          is rejected before memory runs out.  Lists may be nested 16 deep.  Other nesting has
//          no limit, because no function recurses into it.

#ifndef EBB_SNAPSHOT_FORMATS_READ_JSON_H_
#define EBB_SNAPSHOT_FORMATS_READ_JSON_H_

#include <string_view>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Reads the objects of `json`.  `padded`: whether kJsonPadding readable bytes follow it; if not,
// objects that end within its last kJsonPadding bytes are copied.
absl::Status ReadJson(std::string_view name, std::string_view json, bool padded, ObjectSink& sink,
                      ImportStats& stats, const Parallelism& parallelism = Parallelism::One(),
                      Strangers strangers = Strangers::kRefused);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_READ_JSON_H_
