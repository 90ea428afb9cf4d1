// Package engine implements clusterautoscaler.Engine with ebb inside the program. That needs cgo and
// the build tag ebb; without them New returns an error that says so.
package engine
