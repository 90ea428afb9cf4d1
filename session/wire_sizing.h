// Messages of the state of sizing policies (engine/scale_down/sizing_state.h).
//
// Errors:  InvalidArgument, naming row and field: a value that no state file could hold.
// Threads: pure functions.

#ifndef EBB_SESSION_WIRE_SIZING_H_
#define EBB_SESSION_WIRE_SIZING_H_

#include "absl/status/statusor.h"
#include "engine/scale_down/sizing_state.h"
#include "wire/planner.pb.h"

namespace ebb {

void PutSizing(const SizingState& sizing, v1alpha1::Sizing& wire);
absl::StatusOr<SizingState> ReadSizing(const v1alpha1::Sizing& wire);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_SIZING_H_
