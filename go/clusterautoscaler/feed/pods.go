package feed

import (
	"hash/maphash"

	v1 "k8s.io/api/core/v1"

	"ebb/go/clusterautoscaler/wire"
)

type toldPod struct {
	pod  *v1.Pod
	name wire.PodName
	uid  string
	node string
	hash uint64
	// Whether it is where it was, as far as the nodes were looked at.
	there bool
	// If it is still somewhere, it is to be deleted and put again.
	again bool
}

// Pods by their names: a table of pointers, a third of the memory of a map, and asked once where a map
// is asked twice to find a pod or make room for it.
type podTable struct {
	seed  maphash.Seed
	slots []*toldPod // A power of two of them, at most three quarters in use.
	used  int        // Those that are not nil: with the graves of pods that were dropped.
	count int
	// Records that are not used yet.
	slab []toldPod
	// The namespace that was hashed last: the next pod is mostly of the same.
	namespace     string
	namespaceHash uint64
}

// In the place of a pod that was dropped, as others may lie behind it.
var grave = &toldPod{}

func newPodTable(pods int) *podTable {
	size := 64
	for size*3 < pods*4 {
		size *= 2
	}
	t := &podTable{seed: maphash.MakeSeed(), slots: make([]*toldPod, size)}
	t.namespaceHash = t.hashOf(t.namespace)
	return t
}

func (t *podTable) hashOf(namespace string) uint64 { return 31 * maphash.String(t.seed, namespace) }

func (t *podTable) hash(namespace, name string) uint64 {
	if namespace != t.namespace {
		t.namespace, t.namespaceHash = namespace, t.hashOf(namespace)
	}
	return maphash.String(t.seed, name) ^ t.namespaceHash
}

// The record of that name; nil: there is none.
func (t *podTable) find(name wire.PodName) *toldPod {
	hash := t.hash(name.Namespace, name.Name)
	for i := hash; ; i++ {
		switch told := t.slots[i&uint64(len(t.slots)-1)]; {
		case told == nil:
			return nil
		case told.hash == hash && told.name == name && told != grave:
			return told
		}
	}
}

// The record of that name; a new one has no pod yet.
func (t *podTable) record(name wire.PodName) *toldPod {
	if (t.used+1)*4 > len(t.slots)*3 {
		t.grow()
	}
	hash := t.hash(name.Namespace, name.Name)
	for i := hash; ; i++ {
		slot := &t.slots[i&uint64(len(t.slots)-1)]
		switch told := *slot; {
		case told == nil:
			*slot = t.fresh()
			(*slot).name, (*slot).hash = name, hash
			t.used++
			t.count++
			return *slot
		case told.hash == hash && told.name == name && told != grave:
			return told
		}
	}
}

func (t *podTable) fresh() *toldPod {
	if len(t.slab) == 0 {
		t.slab = make([]toldPod, 256)
	}
	told := &t.slab[0]
	t.slab = t.slab[1:]
	return told
}

func (t *podTable) drop(told *toldPod) {
	for i := told.hash; ; i++ {
		slot := &t.slots[i&uint64(len(t.slots)-1)]
		if *slot == nil {
			return
		}
		if *slot == told {
			*slot = grave
			t.count--
			return
		}
	}
}

// Room for as many again, without the graves.
func (t *podTable) grow() {
	old := t.slots
	bigger := newPodTable(max(2*t.count, 64))
	t.slots, t.used = bigger.slots, 0
	for _, told := range old {
		if told == nil || told == grave {
			continue
		}
		i := told.hash
		for t.slots[i&uint64(len(t.slots)-1)] != nil {
			i++
		}
		t.slots[i&uint64(len(t.slots)-1)] = told
		t.used++
	}
}
