// Package fallback keeps count of what the engine did not decide, and says each cause once.
package fallback

import (
	"sync"
)

// Causes for which the autoscaler's own simulation is asked, of a whole loop or of a node.
const (
	// Of a loop.
	EngineMissing     = "engine-missing"     // It could not be made.
	ApplyFailed       = "apply-failed"       // It refused what the cluster looks like.
	PassFailed        = "pass-failed"        // It gave no answer.
	AnswerUnknown     = "answer-unknown"     // It named a pod or a reason that nobody knows.
	Deadline          = "deadline"           // It had no time.
	SchedulerConfig   = "scheduler-config"   // The scheduler is configured.
	SchedulerPlugins  = "scheduler-plugins"  // The framework runs other plugins than the default.
	DrainabilityRules = "drainability-rules" // There are rules of somebody's own.
	DeleteOptions     = "delete-options"     // A time that is not of whole seconds.
	CSINodeAware      = "csi-node-aware"     // CSI node aware scheduling is on.
	OwnSimulator      = "own-simulator"      // Somebody put a simulator of their own in place.
	Snapshot          = "snapshot"           // It could not be listed.

	// Of a node.
	DynamicResources = "dynamic-resources" // Its pods have claims, or it has ResourceSlices.
	NodeGroup        = "node-group"        // Its group or the group's options are not to be had.
	GPU              = "gpu"               // Its provider sees its GPUs otherwise.
)

// Log counts causes.  It may be used by several goroutines.
type Log struct {
	// Say tells people of a cause that comes for the first time.  It may be nil.
	Say func(cause string, detail error)
	// Count is told of every time, for a metric.  It may be nil.
	Count func(cause string, times int)

	mutex  sync.Mutex
	counts map[string]int
}

// Note counts a cause so many times.  `detail` may be nil.
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

// Counts returns how often each cause came.
func (l *Log) Counts() map[string]int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts := make(map[string]int, len(l.counts))
	for cause, count := range l.counts {
		counts[cause] = count
	}
	return counts
}
