// Package clusterautoscaler makes ebb the scale-down planner of Cluster Autoscaler.
//
// The adapter has two halves.  Here is what can be built and tested without the autoscaler: the
// questions and answers (this package), what has changed since the last loop (feed), how objects
// travel (wire), when the autoscaler's own simulation is asked instead (fallback), and how two
// planners are compared (shadow).  The module planner, below this one, knows the autoscaler's
// types and nothing else; README.md says how a fork takes it in.
package clusterautoscaler
