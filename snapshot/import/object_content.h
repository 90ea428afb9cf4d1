// A hash of an object's content, to compare two texts that describe the same object.
//
// Two objects have the same content if no decision can distinguish them.  Every field of
// objects.h and storage_objects.h counts, metadata included.  Fields that readers leave out do not
// count (managedFields, a heartbeat's time).  The form does not count either: an object has the
// same content in YAML and in JSON, and in any order of the members of its maps.
//
// The hash is only valid within one process.  Different contents have equal hashes with
// probability 2^-64.
// Cost:    one pass over the fields; no allocation.
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_IMPORT_OBJECT_CONTENT_H_
#define EBB_SNAPSHOT_IMPORT_OBJECT_CONTENT_H_

#include <cstdint>

#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb {

uint64_t ContentOf(const objects::Node& node);
uint64_t ContentOf(const objects::Pod& pod);
uint64_t ContentOf(const objects::PodDisruptionBudget& budget);
uint64_t ContentOf(const objects::Controller& controller);
uint64_t ContentOf(const objects::Namespace& namespace_object);
uint64_t ContentOf(const objects::StorageObject& object);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_OBJECT_CONTENT_H_
