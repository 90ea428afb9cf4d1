// One scaling operation of Replicator, call by call: every step is looked after until it is done,
// and a new node that does not join is replaced.
//
//   StartScaleOut(/*desired=*/8, now_ms, &state);
//   while (state.operation->outcome == ReplicatorOperation::Outcome::kRunning) {
//     const ReplicatorCall call = state.operation->call;
//     const ReplicatorAnswer answer = Make(call);  // Not before call.at_ms; the state is stored.
//     Answer(options, answer, now_ms, &state);
//   }
//
// Scale-out: set the desired count; the group has that many; its newest instance, not older than
// 90 s at the start of the search, joins the pool.  If it does not: a failure, and it is terminated
// (the group starts another) and the search goes on; at the failure that equals the retry threshold
// it is detached instead and left running, for someone to look at, and the search goes on once
// more. Scale-in: drain; nothing runs there any more; detach; terminate. Success sets the failure
// count to 0 and starts the cooldown.
//
// Every look is repeated: the group's instances and the node's allocations each 0.5 s for 3 min,
// the newest instance and the member each 10 s for 5 min, a detachment each 10 s for 10 min, a
// termination each 10 s for 3 min.  The first comes one period after the step before.
//
// Units:   milliseconds.
// Errors:  a failed operation is data: ReplicatorOperation::outcome and the call that it failed at.
// Threads: none.
// Source:  Nomad Replicator, cloud/aws and client/nomad.go (DrainNode).  On purpose otherwise: a
//          scale-in of which any step fails, or whose drain does not end, terminates nothing from
//          there on; and each failed operation counts toward failsafe (there, only nodes that do
//          not join).  An operator's failsafe ends the operation before its next call.

#ifndef EBB_TESTS_POLICIES_REPLICATOR_OPERATION_H_
#define EBB_TESTS_POLICIES_REPLICATOR_OPERATION_H_

#include <cstdint>
#include <string>

#include "sizing/policy/replicator/replicator_options.h"
#include "sizing/policy/replicator/replicator_state.h"

namespace ebb {

// What came of a call.
struct ReplicatorAnswer {
  enum Status : uint8_t {
    kDone,    // Done; of a look: yes.
    kNotYet,  // Begun (kDetach); of a look: no.
    kError,   // It could not be done or looked at.
  };
  Status status = kDone;
  // Of kFindNewest.
  std::string instance = {};
  int64_t launched_ms = 0;
};

// Begin an operation: `state->operation` is kRunning.
void StartScaleOut(int64_t desired, int64_t now_ms, ReplicatorState* state);
void StartScaleIn(std::string node, std::string instance, int64_t now_ms, ReplicatorState* state);

// Takes the answer to `state->operation->call`, got at `now_ms`, and sets the next call or the
// outcome.  Does nothing if no operation is running.
void Answer(const ReplicatorOptions& options, const ReplicatorAnswer& answer, int64_t now_ms,
            ReplicatorState* state);

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_REPLICATOR_OPERATION_H_
