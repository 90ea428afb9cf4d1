package feed

import (
	"hash/maphash"

	v1 "k8s.io/api/core/v1"

	"ebb/go/clusterautoscaler/wire"
)

type sentPod struct {
	pod  *v1.Pod
	name wire.PodName
	uid  string
	node string
	hash uint64
	// The pod was found again in the nodes compared so far.
	there bool
	// If the pod still exists, it must be deleted and put again.
	again bool
}

// podTable finds pods by name. It is a hash table of pointers, which takes a third of the memory of
// a map, and needs one lookup where a map needs two to find or insert a pod.
type podTable struct {
	seed  maphash.Seed
	slots []*sentPod // A power of two of them, at most three quarters in use.
	used  int        // Slots that are not nil, including graves.
	count int
	// Records not used yet.
	slab []sentPod
	// The namespace hashed last; the next pod is mostly in the same one.
	namespace     string
	namespaceHash uint64
}

// grave marks the slot of a dropped pod, because other pods may be stored behind it.
var grave = &sentPod{}

func newPodTable(pods int) *podTable {
	size := 64
	for size*3 < pods*4 {
		size *= 2
	}
	t := &podTable{seed: maphash.MakeSeed(), slots: make([]*sentPod, size)}
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

// find returns the record with a name; nil if there is none.
func (t *podTable) find(name wire.PodName) *sentPod {
	hash := t.hash(name.Namespace, name.Name)
	for i := hash; ; i++ {
		switch sent := t.slots[i&uint64(len(t.slots)-1)]; {
		case sent == nil:
			return nil
		case sent.hash == hash && sent.name == name && sent != grave:
			return sent
		}
	}
}

// record returns the record with a name; a new one has no pod yet.
func (t *podTable) record(name wire.PodName) *sentPod {
	if (t.used+1)*4 > len(t.slots)*3 {
		t.grow()
	}
	hash := t.hash(name.Namespace, name.Name)
	for i := hash; ; i++ {
		slot := &t.slots[i&uint64(len(t.slots)-1)]
		switch sent := *slot; {
		case sent == nil:
			*slot = t.fresh()
			(*slot).name, (*slot).hash = name, hash
			t.used++
			t.count++
			return *slot
		case sent.hash == hash && sent.name == name && sent != grave:
			return sent
		}
	}
}

func (t *podTable) fresh() *sentPod {
	if len(t.slab) == 0 {
		t.slab = make([]sentPod, 256)
	}
	sent := &t.slab[0]
	t.slab = t.slab[1:]
	return sent
}

func (t *podTable) drop(sent *sentPod) {
	for i := sent.hash; ; i++ {
		slot := &t.slots[i&uint64(len(t.slots)-1)]
		if *slot == nil {
			return
		}
		if *slot == sent {
			*slot = grave
			t.count--
			return
		}
	}
}

// grow doubles the table and removes the graves.
func (t *podTable) grow() {
	old := t.slots
	bigger := newPodTable(max(2*t.count, 64))
	t.slots, t.used = bigger.slots, 0
	for _, sent := range old {
		if sent == nil || sent == grave {
			continue
		}
		i := sent.hash
		for t.slots[i&uint64(len(t.slots)-1)] != nil {
			i++
		}
		t.slots[i&uint64(len(t.slots)-1)] = sent
		t.used++
	}
}
