// ObjectRef: a pointer to a Kubernetes object of any kind that ebb reads.
//
// Ownership: borrows the object.

#ifndef EBB_SNAPSHOT_OBJECTS_OBJECT_REF_H_
#define EBB_SNAPSHOT_OBJECTS_OBJECT_REF_H_

#include <cstdint>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb::objects {

// The pointer is never null.
using ObjectRef = std::variant<const Node*, const Pod*, const PodDisruptionBudget*,
                               const Controller*, const Namespace*, const StorageObject*>;

const ObjectMeta& MetaOf(const ObjectRef& object);

// The latest time in the object's metadata that cannot be in the future, in Unix seconds; 0 if
// none exists.  A pod's deletion time is not used: it lies ahead by the grace period.
int64_t NewestTimeOf(const ObjectRef& object);

// Whether objects of its kind belong to a namespace.
bool IsNamespaced(const ObjectRef& object);

// "Pod", "StatefulSet", "PersistentVolumeClaim".
std::string_view KindOf(const ObjectRef& object);
std::string_view KindOf(ControllerKind kind);
std::string_view KindOf(const StorageObject& object);

}  // namespace ebb::objects

namespace ebb {

// Errors: InvalidArgument if the object has no name, or has a namespace although its kind is
// cluster-scoped: two objects of such a kind with one name would be the same object.
absl::Status CheckNamed(const objects::ObjectRef& object);

// Passes the object to the sink's function for its kind.
absl::Status Give(const objects::ObjectRef& object, ObjectSink& sink);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_OBJECT_REF_H_
