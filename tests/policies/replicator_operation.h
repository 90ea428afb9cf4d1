// One scaling operation of Replicator, call by call.  Each step is polled until it is done, and a
// new node that does not join is replaced.
//
//   StartScaleOut(/*desired=*/8, now_ms, &state);
//   while (state.operation->outcome == ReplicatorOperation::Outcome::kRunning) {
//     const ReplicatorCall call = state.operation->call;
//     const ReplicatorAnswer answer = Make(call);  // Not before call.at_ms; the state is stored.
//     Answer(options, answer, now_ms, &state);
//   }
//
// Scale-out: sets the desired count; waits until the group has that many instances; waits until its
// newest instance, launched at most 90 s before the search began, joins the pool.  If that instance
// does not join, the failure is counted and the instance is terminated.  The group then starts
// another one, and the search goes on.  At the failure that equals the retry threshold the instance
// is detached instead and left running for inspection, and the search goes on once more.
// Scale-in: drains the node; waits until nothing runs there; detaches the instance; terminates it.
// Success sets the failure count to 0 and starts the cooldown.
//
// Polling: the group's instances and the node's allocations every 0.5 s for 3 min, the newest
// instance and the member every 10 s for 5 min, a detachment every 10 s for 10 min, a termination
// every 10 s for 3 min.  The first poll comes one period after the step before.
//
// Units:   milliseconds.
// Errors:  a failed operation is data: ReplicatorOperation::outcome and the call that failed.
// Threads: none.
// Source:  Nomad Replicator, cloud/aws and client/nomad.go (DrainNode).  On purpose otherwise: if a
//          step of a scale-in fails, or its drain does not end, nothing is terminated after that.
//          Each failed operation counts toward failsafe (there, only nodes that do not join).
//          Failsafe set by an operator ends the operation before its next call.

#ifndef EBB_TESTS_POLICIES_REPLICATOR_OPERATION_H_
#define EBB_TESTS_POLICIES_REPLICATOR_OPERATION_H_

#include <cstdint>
#include <string>

#include "sizing/policy/replicator/replicator_options.h"
#include "sizing/policy/replicator/replicator_state.h"

namespace ebb {

// The result of a call.
struct ReplicatorAnswer {
  enum Status : uint8_t {
    kDone,    // Done; for a poll: yes.
    kNotYet,  // Begun (kDetach); for a poll: not yet.
    kError,   // The action or the poll failed.
  };
  Status status = kDone;
  // Only for kFindNewest.
  std::string instance = {};
  int64_t launched_ms = 0;
};

// Each begins an operation: `state->operation` becomes kRunning.
void StartScaleOut(int64_t desired, int64_t now_ms, ReplicatorState* state);
void StartScaleIn(std::string node, std::string instance, int64_t now_ms, ReplicatorState* state);

// Takes the answer to `state->operation->call`, received at `now_ms`, and sets the next call or the
// outcome.  Does nothing if no operation is running.
void Answer(const ReplicatorOptions& options, const ReplicatorAnswer& answer, int64_t now_ms,
            ReplicatorState* state);

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_REPLICATOR_OPERATION_H_
