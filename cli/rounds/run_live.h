// RunLive: the loop over a live cluster, on the wall clock.
//
//   int code = RunLive(flags, out, err);
//
// A session of a daemon knows the cluster and makes the rounds: one of `ebb serve` (--server), or
// of a daemon in this process (--socket), which is asked in the same way.  A plugin does what they
// decide (--actuator).  With --dry-run the rounds are made here, over what the session exports, and
// neither the session nor a plugin is told of anything.
//
// With --pools the loop sizes pools too (run_pools.h): over what the session exports, with what
// policies remember kept by the session, or, in a dry run, by nobody.
//
// It ends at SIGTERM or SIGINT: what is only tainted is untainted, what was begun is carried on for
// --grace; what is still under way then the plugin tells the next process.
// Prints: on `err` the lines of --log; with --dry-run a line a deed on `out`.
// Errors: exit code 1: it could not begin.  Once it runs, a daemon or a plugin that is away or
//         answers nonsense costs a round and no more.
// Threads: one; the daemon has its own.

#ifndef EBB_CLI_ROUNDS_RUN_LIVE_H_
#define EBB_CLI_ROUNDS_RUN_LIVE_H_

#include <iosfwd>

namespace ebb {

struct RunFlags;

int RunLive(const RunFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_RUN_LIVE_H_
