package feed

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The feeder's log for people: its cluster, the kinds that it feeds or cannot feed, and when the
// daemon has all objects.

// sayKinds logs once which kinds the first resync sends.
func (f *Feeder) sayKinds() {
	if uid := f.clusterUID(); uid != "" {
		f.o.Log("cluster %s (the UID of its namespace kube-system)", uid)
	} else {
		f.o.Log("cluster of unknown UID: it has no namespace kube-system, so the daemon cannot distinguish it from others")
	}
	fed, notListed, notServed := f.kindsNow()
	for _, each := range []struct {
		what  string
		kinds []string
	}{
		{"feeds %s: %s", fed},
		{"cannot list %s, which the daemon names in its answers: %s", notListed},
		{"the API server does not serve %s that would be fed: %s", notServed},
	} {
		if len(each.kinds) > 0 {
			f.o.Log(each.what, count(len(each.kinds), "kind"), strings.Join(each.kinds, ", "))
		}
	}
}

// kindsNow returns the names of the kinds that are fed, of kinds that are (or may be) served but
// cannot be listed, and of kinds that are not served.
func (f *Feeder) kindsNow() (fed, notListed, notServed []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = true
	for _, row := range f.o.Kinds {
		kind := row
		now := f.followed[row]
		if now != nil {
			kind = now.kind
		}
		watch := f.broken[kind]
		switch {
		case watch != nil && watch.neverListed || f.unknown[row]:
			notListed = append(notListed, row.String())
		case !row.Optional || now != nil:
			fed = append(fed, row.String())
		case f.o.Dynamic != nil && f.o.Discovery != nil:
			notServed = append(notServed, row.String())
		}
	}
	return fed, notListed, notServed
}

// hasSaid reports whether sayKinds was called; later changes are logged one by one.
func (f *Feeder) hasSaid() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said
}

// saySynced logs that a resync is acknowledged; objects has the number of objects by kind.
func (f *Feeder) saySynced(objects map[string]int) {
	f.mu.Lock()
	since, first := f.outOfSync, f.progress.Resyncs == 1
	f.outOfSync = time.Time{}
	f.mu.Unlock()
	text := fmt.Sprintf("%s, %s", count(objects["Node"], "node"), count(objects["Pod"], "pod"))
	switch {
	case first:
		f.o.Log("in sync: %s in %s", text, seconds(time.Since(since)))
	case since.IsZero():
		f.o.Log("in sync again: %s", text)
	default:
		f.o.Log("in sync again: %s; the daemon missed changes for %s", text, seconds(time.Since(since)))
	}
}

// sayHealed logs which watches have recovered.
func (f *Feeder) sayHealed(kinds []*Kind) {
	names := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		names = append(names, kind.String())
	}
	slices.Sort(names)
	for _, name := range names {
		f.o.Log("the watch of %s goes on", name)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
