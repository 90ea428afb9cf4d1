// Package clusterautoscaler makes ebb the scale-down planner of Cluster Autoscaler.
//
// The adapter has two halves. This half can be built and tested without the autoscaler: the types
// of questions and answers (this package), the changes since the last loop (feed), the encoding of
// objects (wire), the causes for which the autoscaler's own simulation runs instead (fallback), and
// the comparison of two planners (shadow). The other half is the module planner below this one,
// which implements the autoscaler's interface with the autoscaler's types. README.md describes how
// to add it to a fork.
package clusterautoscaler
