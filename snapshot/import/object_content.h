// The content of an object as one number, to tell whether two texts say the same of it.
//
// Two objects have the same content if no decision can tell them apart: every field of
// objects.h and storage_objects.h counts, metadata included.  What readers leave out does not
// (managedFields, a heartbeat's time), nor does the form: an object that was read from YAML has
// the content of the same one read from JSON, in whichever order the members of its maps come.
//
// The number holds within one process.  Two contents share one by chance alone (2^-64).
// Cost:    one pass over the fields; nothing is allocated.
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
