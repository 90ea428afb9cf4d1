// Package fallback counts what the engine did not decide, and logs each cause once.
package fallback

import (
	"errors"
	"sync"
)

// Causes for which the autoscaler's own simulation is used, for a whole loop or for a node.
const (
	// For a loop:
	EngineMissing     = "engine-missing"     // The engine could not be made.
	ApplyFailed       = "apply-failed"       // The engine rejected an object of the cluster.
	PassFailed        = "pass-failed"        // The engine returned no answer.
	AnswerUnknown     = "answer-unknown"     // The engine named an unknown pod or reason.
	Deadline          = "deadline"           // The engine had no time.
	KubernetesVersion = "kubernetes-version" // The scheduler is of a version whose rules the engine does not follow.
	FeatureGates      = "feature-gates"      // A feature gate that changes a filter is not at its default.
	SchedulerConfig   = "scheduler-config"   // A filter of the scheduler has other arguments than the default ones.
	SchedulerPlugins  = "scheduler-plugins"  // The framework does not run the default plugins.
	DrainabilityRules = "drainability-rules" // The fork has drainability rules of its own.
	DeleteOptions     = "delete-options"     // A timeout is not a whole number of seconds.
	CSINodeAware      = "csi-node-aware"     // CSI node aware scheduling is on.
	OwnSimulator      = "own-simulator"      // The fork has a simulator of its own.
	Snapshot          = "snapshot"           // The snapshot could not be listed.
	Flags             = "flags"              // A flag has an unknown value.
	CheckFailed       = "check-failed"       // The autoscaler's own simulation refused a removal of the engine.
	Distrusted        = "distrusted"         // It refused too many removals; until the next start.

	// For a loop, if the engine is another process:
	DaemonUnavailable = "daemon-unavailable" // It cannot be reached, or the connection broke.
	DaemonVersion     = "daemon-version"     // It speaks another version of the protocol.
	DaemonLimit       = "daemon-limit"       // An object, a message or the cluster exceeds a limit of it.
	SessionLost       = "session-lost"       // It was started again, or another client closed the session.
	SessionChanged    = "session-changed"    // Another client changed the session.

	// For a node:
	DynamicResources = "dynamic-resources" // Its pods need devices that ebb does not allocate.
	NodeGroup        = "node-group"        // Its group or the group's options cannot be read.
	GPU              = "gpu"               // The provider reports its GPUs differently.
)

// Error is an error with its cause.
type Error struct {
	Cause string
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without the cause.
func (e *Error) Unwrap() error { return e.Err }

// CauseOf returns the cause of an error; `otherwise` if it has none.
func CauseOf(err error, otherwise string) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Cause
	}
	return otherwise
}

// Log counts causes. Several goroutines may use it.
type Log struct {
	// Say is called the first time that a cause occurs, to log it. It may be nil.
	Say func(cause string, detail error)
	// Count is called every time, for a metric. It may be nil.
	Count func(cause string, times int)

	mutex  sync.Mutex
	counts map[string]int
}

// Note adds times to the count of a cause. `detail` may be nil.
func (l *Log) Note(cause string, times int, detail error) {
	if times == 0 {
		return
	}
	l.mutex.Lock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	first := l.counts[cause] == 0
	l.counts[cause] += times
	l.mutex.Unlock()
	if first && l.Say != nil {
		l.Say(cause, detail)
	}
	if l.Count != nil {
		l.Count(cause, times)
	}
}

// Counts returns how often each cause occurred.
func (l *Log) Counts() map[string]int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts := make(map[string]int, len(l.counts))
	for cause, count := range l.counts {
		counts[cause] = count
	}
	return counts
}
