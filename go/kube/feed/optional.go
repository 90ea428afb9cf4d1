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

// Optional kinds are followed by dynamic informers if the API server serves them. The feeder looks
// for them before the first resync and then every LookEvery. If the definition of a kind was
// installed meanwhile, the feeder follows the kind from then on. If a kind is no longer served, the
// feeder drops it and makes a resync.
//
// A kind that cannot be listed, for example because of missing rights, delays nothing. The feeder
// reports it to the daemon as never listed until a list succeeds; client-go retries every half
// minute.

// followed is an optional kind that is followed.
type followed struct {
	kind *Kind // With its version.
	stop context.CancelFunc
}

// lookInterval is how often a waiting goroutine checks its informers.
const lookInterval = 10 * time.Millisecond

// look follows the optional kinds that the API server serves now, and drops kinds that it no longer
// serves. It waits until each new kind was listed or failed.
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
		f.o.Log("listing the kinds of the API server: %v", err)
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
			unknown[row] = true // Its state does not change.
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

// readVersion reads the API server's version; if that fails, the old version stays.
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
		f.sendBroken = true
		f.signal()
	}
}

// isFollowedAs reports whether a kind is followed in the version of kind, or, if kind is nil, in
// any version.
func (f *Feeder) isFollowedAs(row, kind *Kind) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.followed[row]
	return now != nil && (kind == nil || now.kind.GroupVersion == kind.GroupVersion)
}

// begin follows a kind. If another version was followed, it is replaced only when the new one was
// listed, so that no resync misses its objects.
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
		return err // follow fails only for an informer that runs already; this one does not.
	}
	ctx, stop := context.WithCancel(ctx)
	now := &followed{kind: kind, stop: stop}
	replaces := f.isFollowedAs(row, nil)
	if !replaces {
		// Before the informer's first event: a resync in between would count the event as sent.
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

// put makes a kind the one that is followed for its row, and drops the kind followed before.
func (f *Feeder) put(row *Kind, now *followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetKind(row)
	f.followed[row] = now
	f.arrange()
}

// drop stops following an optional kind.
func (f *Feeder) drop(row *Kind) {
	f.mu.Lock()
	was := f.forgetKind(row)
	f.mu.Unlock()
	if was != nil {
		f.o.Log("%v of %s is no longer followed", was, was.GroupVersion)
	}
}

// forgetKind drops a row's kind and returns it; nil if none was followed. REQUIRES: mu.
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
		f.sendBroken = true
	}
	f.order = slices.DeleteFunc(f.order, func(k key) bool { return k.kind == was.kind })
	maps.DeleteFunc(f.pending, func(k key, _ *change) bool { return k.kind == was.kind })
	f.arrange()
	f.resync = true
	f.signal()
	return was.kind
}

// arrange rebuilds the ordered list of followed kinds. REQUIRES: mu.
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

// waitFor waits until each of the kinds was listed or failed.
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

// keepLooking calls look every LookEvery until ctx ends.
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
