// RunLive: the loop over a live cluster, on the wall clock.
//
//   int code = RunLive(flags, out, err);
//
// A session holds the cluster and makes the rounds.  It belongs to an `ebb serve` (--server) or to
// a daemon in this process (--socket); both are used through the same calls.  A plugin carries out
// the decisions (--actuator).  With --dry-run this process makes the rounds, over the cluster that
// the session exports, and changes neither the session nor the plugin.
//
// With --pools the loop also sizes pools (run_pools.h), over the cluster that the session exports.
// The session keeps the memory of the policies; in a dry run it is not kept.
//
// The loop ends at SIGTERM or SIGINT.  It removes the taints of nodes that are only tainted, and
// continues deletions that have begun for at most --grace.  The plugin reports the rest to the next
// process.
// Prints: on `err` the lines of --log; with --dry-run one line for each action on `out`.
// Errors: exit code 1 if it cannot start.  Later, a daemon or a plugin that is unavailable or
//         returns invalid replies costs one round only.
// Threads: one; the daemon has its own.

#ifndef EBB_CLI_ROUNDS_RUN_LIVE_H_
#define EBB_CLI_ROUNDS_RUN_LIVE_H_

#include <iosfwd>

namespace ebb {

struct RunFlags;

int RunLive(const RunFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_RUN_LIVE_H_
