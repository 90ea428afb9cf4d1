// The kind of objects without a kind of their own, from the path of their file.
//
// Archives of support tools contain what a Go client marshals: objects and arrays without
// apiVersion and kind.  The layouts:
//   Troubleshoot  cluster-resources/pods/NAMESPACE.json, .../nodes.json,
//                 .../pod-disruption-budgets/NAMESPACE.json; an array, in newer versions a list
//                 with its kind
//   Insights      config/pod/NAMESPACE/NAME.json, config/node/NAME.json; one object each
//   sonobuoy      resources/ns/NAMESPACE/core_v1_pods.json, resources/cluster/core_v1_nodes.json,
//                 in older versions Pods.json and Nodes.json; an array or a list
// Sources: pkg/collect/cluster_resources.go of Troubleshoot, docs/insights-archive-sample of
// the Insights operator, pkg/discovery/query.go of sonobuoy.
//
// A name alone may mislead (a namespace "pods", a pod "node").  So a part of the path that equals
// the object's own name or namespace does not count, and the object must have the fields that all
// objects of the kind have.
//
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_FORMATS_KIND_BY_PATH_H_
#define EBB_SNAPSHOT_FORMATS_KIND_BY_PATH_H_

#include <string_view>

namespace ebb {

struct KindOfFile {
  std::string_view api_version;  // "policy/v1"
  std::string_view kind;         // "PodDisruptionBudget"; empty: the path names no kind.
  bool namespaced = false;
  bool read = false;  // Whether ebb reads the kind; other known kinds are skipped.
};

// The kind that the last part of the path names, with or without endings (.json, .gz, ...).
KindOfFile KindByName(std::string_view path);

// The kind of `object`, which is the text of a JSON object without a kind; of an array or a list,
// pass its first object.  Empty where the path names no kind, or one that `object` cannot have.
// Cost: one pass over the object.
KindOfFile KindByPath(std::string_view path, std::string_view object, bool in_list);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_KIND_BY_PATH_H_
