// Reads the changes of a message (wire/planner.proto) into a batch.
//
// Threads: one at a time.

#ifndef EBB_SESSION_WIRE_CHANGES_H_
#define EBB_SESSION_WIRE_CHANGES_H_

#include "absl/status/status.h"
#include "snapshot/live/change_batch.h"
#include "wire/planner.pb.h"

namespace ebb {

// Errors: those of ChangeBatch, preceded by the position: "changes[3]: Pod default/web-0: ...".
// After an error the batch has the changes before it.
absl::Status PutChanges(const google::protobuf::RepeatedPtrField<v1alpha1::Change>& changes,
                        ChangeBatch& batch);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_CHANGES_H_
