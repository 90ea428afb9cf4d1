// ObjectRef: a Kubernetes object of any kind that is read, where it stands.
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

// Never null.
using ObjectRef = std::variant<const Node*, const Pod*, const PodDisruptionBudget*,
                               const Controller*, const Namespace*, const StorageObject*>;

const ObjectMeta& MetaOf(const ObjectRef& object);

// The latest time that the object carries and that cannot lie ahead, Unix seconds; 0: it has none.
// A pod's deletion time may, by the grace period.
int64_t NewestTimeOf(const ObjectRef& object);

// Whether objects of its kind stand in a namespace.
bool IsNamespaced(const ObjectRef& object);

// "Pod", "StatefulSet", "PersistentVolumeClaim".
std::string_view KindOf(const ObjectRef& object);
std::string_view KindOf(ControllerKind kind);
std::string_view KindOf(const StorageObject& object);

}  // namespace ebb::objects

namespace ebb {

// Errors: InvalidArgument, where the object has no name, or has a namespace though its kind has
// none: two objects of such a kind and of one name are the same one.
absl::Status CheckNamed(const objects::ObjectRef& object);

// Hands the object to the sink's call for its kind.
absl::Status Give(const objects::ObjectRef& object, ObjectSink& sink);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_OBJECT_REF_H_
