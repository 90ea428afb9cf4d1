package feed

import (
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Optional kinds are followed by dynamic informers, where the API server serves them.  The feeder looks for
// them before the first resync and then every LookEvery: a kind of a definition that was installed since is
// followed from then on, and one that is served no more is forgotten with a resync.
//
// A kind that cannot be listed, as where the caller may not, holds nothing up.  It is named to the daemon
// as never listed, until a list succeeds; client-go tries again every half minute.

// followed is an optional kind that is served.
type followed struct {
	kind *Kind // With its version.
	stop context.CancelFunc
}

// lookInterval is how often a wait for informers looks at them.
const lookInterval = 10 * time.Millisecond

// look follows the optional kinds that the API server serves now, and forgets those that it does not.
// It waits until each new one was listed or failed.
func (f *Feeder) look(ctx context.Context) {
	f.readVersion()
	var rows []*Kind
	for _, row := range f.o.Kinds {
		if row.Optional {
			rows = append(rows, row)
		}
	}
	served, err := Look(f.o.Discovery, rows)
	if err != nil {
		f.o.Log("which kinds there are: %v", err)
		f.setUnknown(f.notFollowed(rows))
		return
	}
	found := map[string]*Kind{}
	for _, kind := range served.Kinds {
		found[kind.String()] = kind
	}
	unknown := map[*Kind]bool{}
	var started []*Kind
	for _, row := range rows {
		switch kind, err := found[row.String()], served.Unknown[row]; {
		case err != nil:
			f.o.Log("%v: %v", row, err)
			unknown[row] = true // As before, where it is followed.
		case kind == nil:
			f.drop(row)
		case f.isFollowedAs(row, kind):
		default:
			if err := f.begin(ctx, row, kind); err != nil {
				f.o.Log("%v: %v", row, err)
				unknown[row] = true
				continue
			}
			started = append(started, kind)
		}
	}
	for row := range unknown {
		if f.isFollowedAs(row, nil) {
			delete(unknown, row)
		}
	}
	f.setUnknown(unknown)
	f.waitFor(ctx, started)
}

// readVersion asks for the API server's version; one that cannot be read stays as it was.
func (f *Feeder) readVersion() {
	version, err := f.o.Discovery.ServerVersion()
	if err != nil {
		f.o.Log("version of the API server: %v", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version != version.GitVersion {
		f.version = version.GitVersion
		f.signal()
	}
}

func (f *Feeder) notFollowed(rows []*Kind) map[*Kind]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	not := map[*Kind]bool{}
	for _, row := range rows {
		if f.followed[row] == nil {
			not[row] = true
		}
	}
	return not
}

func (f *Feeder) setUnknown(unknown map[*Kind]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !maps.Equal(unknown, f.unknown) {
		f.unknown = unknown
		f.tellBroken = true
		f.signal()
	}
}

// isFollowedAs: in the version of `kind`; nil: in any.
func (f *Feeder) isFollowedAs(row, kind *Kind) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.followed[row]
	return now != nil && (kind == nil || now.kind.GroupVersion == kind.GroupVersion)
}

// begin follows a kind.  One that was followed in another version is replaced when the new one was
// listed, so that no resync lacks its objects.
func (f *Feeder) begin(ctx context.Context, row, kind *Kind) error {
	resource, err := kind.resource()
	if err != nil {
		return err
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(
		f.o.Dynamic, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := informer.SetTransform(forget); err != nil {
		return err
	}
	f.mu.Lock()
	f.informers[kind] = informer
	f.mu.Unlock()
	if err := f.follow(kind, informer); err != nil {
		return err // Of an informer that runs already, which this one does not.
	}
	ctx, stop := context.WithCancel(ctx)
	now := &followed{kind: kind, stop: stop}
	replaces := f.isFollowedAs(row, nil)
	if !replaces {
		// Before its first event: a resync in between would take that for sent.
		f.put(row, now)
	}
	f.running.Go(func() { informer.RunWithContext(ctx) })
	if replaces {
		f.waitFor(ctx, []*Kind{kind})
		f.put(row, now)
	}
	if f.hasSaid() {
		f.o.Log("%v of %s is followed", kind, kind.GroupVersion)
	}
	return nil
}

// put makes a kind the one that is followed; what was followed in its place is forgotten.
func (f *Feeder) put(row *Kind, now *followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetKind(row)
	f.followed[row] = now
	f.arrange()
}

// drop forgets an optional kind, where it is followed.
func (f *Feeder) drop(row *Kind) {
	f.mu.Lock()
	was := f.forgetKind(row)
	f.mu.Unlock()
	if was != nil {
		f.o.Log("%v of %s is no longer followed", was, was.GroupVersion)
	}
}

// forgetKind returns which kind was followed; nil: none.  REQUIRES: mu.
func (f *Feeder) forgetKind(row *Kind) *Kind {
	was := f.followed[row]
	if was == nil {
		return nil
	}
	was.stop()
	delete(f.followed, row)
	delete(f.informers, was.kind)
	if f.broken[was.kind] != nil {
		delete(f.broken, was.kind)
		f.tellBroken = true
	}
	f.order = slices.DeleteFunc(f.order, func(k key) bool { return k.kind == was.kind })
	maps.DeleteFunc(f.pending, func(k key, _ *change) bool { return k.kind == was.kind })
	f.arrange()
	f.resync = true
	f.signal()
	return was.kind
}

// arrange puts the kinds that are followed in order.  REQUIRES: mu.
func (f *Feeder) arrange() {
	f.kinds = nil
	for _, row := range f.o.Kinds {
		if !row.Optional {
			f.kinds = append(f.kinds, row)
		} else if now := f.followed[row]; now != nil {
			f.kinds = append(f.kinds, now.kind)
		}
	}
}

// waitFor returns when each of the kinds was listed, or could not be.
func (f *Feeder) waitFor(ctx context.Context, kinds []*Kind) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	waits := func(kind *Kind) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		informer := f.informers[kind]
		return informer != nil && !informer.HasSynced() && f.broken[kind] == nil
	}
	for slices.ContainsFunc(kinds, waits) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// keepLooking looks every LookEvery, until ctx ends.
func (f *Feeder) keepLooking(ctx context.Context) {
	ticker := time.NewTicker(f.o.LookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look(ctx)
		}
	}
}
