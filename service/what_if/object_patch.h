// ObjectPatch: a change of one Kubernetes object.

#ifndef EBB_SERVICE_WHAT_IF_OBJECT_PATCH_H_
#define EBB_SERVICE_WHAT_IF_OBJECT_PATCH_H_

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
  // A JSON merge patch of the object (RFC 7386): what it names is set, null takes a field away.
  std::string merge = "{}";
  bool gone = false;  // The object is taken away; `merge` is nothing then.
};

}  // namespace ebb

#endif  // EBB_SERVICE_WHAT_IF_OBJECT_PATCH_H_
