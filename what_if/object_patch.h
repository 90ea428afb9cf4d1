// ObjectPatch: a change of one Kubernetes object, as text.  PatchedCluster (patched_cluster.h)
// applies it.
//
// Threads: plain data.

#ifndef EBB_WHAT_IF_OBJECT_PATCH_H_
#define EBB_WHAT_IF_OBJECT_PATCH_H_

#include <compare>
#include <string>

namespace ebb {

struct ObjectName {
  std::string kind;            // "PodDisruptionBudget"
  std::string namespace_name;  // Empty: the kind has none.
  std::string name;

  // "PodDisruptionBudget shop/db"
  [[nodiscard]] std::string Text() const {
    return kind + " " + (namespace_name.empty() ? "" : namespace_name + "/") + name;
  }
  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
};

struct ObjectPatch {
  ObjectName of;
  // A strategic merge patch of the object (strategic_merge.h): its fields are set, null removes a
  // field, and items such as containers are found by their names.
  std::string merge = "{}";
  // The object is deleted.  `merge` then holds only apiVersion and metadata.uid, which must be the
  // object's.
  bool gone = false;
};

}  // namespace ebb

#endif  // EBB_WHAT_IF_OBJECT_PATCH_H_
