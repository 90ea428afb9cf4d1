// Package ebb answers which nodes of a Kubernetes cluster can go, all together, and where each of
// their pods lands. It is the C++ engine of the same name, linked into the program.
//
//	cluster, err := ebb.New(ebb.Options{})
//	if err != nil {
//		return err
//	}
//	defer cluster.Close()
//	if err := cluster.Load(ctx, dump); err != nil {
//		return err
//	}
//	plan, err := cluster.Plan(ctx, nil)
//
// A [Cluster] is told of objects: a dump by [Cluster.Load], and from then on what changed, by
// [Cluster.Apply]. At any moment it answers as a dump of the objects that are there would be
// answered, in the order in which [Cluster.Export] writes them: on a node the last pod takes the
// place of one that goes, as in the scheduler's own lists, and the order of pods may decide which
// nodes go. A batch is taken whole or not at all, and a call that fails has changed nothing, but for
// one that runs out of memory: the cluster must then be closed.
//
// # Messages
//
// Requests and replies are those of plannerpb, which says what each field means. A nil request has
// nothing but defaults. Their fields session and min_version are the daemon's and say nothing here. Times are Unix seconds, durations seconds, unless a type says otherwise.
//
// # Errors
//
// Errors of ebb are of type [*Error]; its [Code] is found by [errors.Is]. A context that ended
// before a call had its turn is answered with the context's error.
//
// # Contexts
//
// A context's deadline bounds the planner: [Cluster.Plan], [Cluster.Pass], [Cluster.Explain] and
// [Cluster.Round] then answer with the shorter plan, and say so, rather than with an error.
// Nothing interrupts a call that runs.
//
// # Threads
//
// Clusters and batches take calls from any goroutine; those of one cluster run one after the other.
// Calls are of C: one keeps a thread of the system for as long as it runs.
//
// # Building
//
// The package links lib/libebb.a, which "./dev archive" makes, and of the system libstdc++, libm and
// libc.
package ebb
