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
// A [Cluster] receives objects: first a dump ([Cluster.Load]), then changes ([Cluster.Apply]). Its
// answers are the same as for a dump of its current objects, in the order in which [Cluster.Export]
// writes them. The order of pods can decide which nodes go: when a pod is deleted, the last pod of
// its node takes its place in the list, as in the scheduler's own lists. A batch is applied
// completely or not at all. A call that fails changes nothing, with one exception: after a call
// that ran out of memory the cluster must be closed.
//
// # Messages
//
// Requests and replies are messages of plannerpb, which documents each field. A nil request is a
// request of defaults. The request fields session and min_version are for the daemon and are
// ignored here. Times are Unix seconds and durations are seconds, unless a type says otherwise.
//
// # Errors
//
// Errors of ebb are of type [*Error]; [errors.Is] finds their [Code]. If a context ends before its
// call has begun, the call returns the context's error.
//
// # Contexts
//
// A context's deadline bounds the planner: [Cluster.Plan], [Cluster.Pass], [Cluster.PassTable],
// [Cluster.Explain] and [Cluster.Round] then return a shorter plan that names the deadline as its
// end, and no error. Nothing interrupts a call that runs.
//
// # Threads
//
// Clusters and batches accept calls from any goroutine. Calls on one cluster run one after the
// other. They are calls of C: each occupies an operating system thread for as long as it runs.
//
// # Building
//
// The package links lib/libebb.a, which "./dev archive" builds, and the system's libstdc++, libm
// and libc.
package ebb
