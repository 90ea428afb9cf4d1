package feed

import (
	"fmt"
	"math/rand"
	"testing"

	"ebb/go/clusterautoscaler/wire"
)

// Compares the table with a map.
func TestPodTableIsAMap(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	table, twin := newPodTable(0), map[wire.PodName]*sentPod{}
	// The first record, which must still be found after all others.
	twin[wire.PodName{Name: "p"}] = table.record(wire.PodName{Name: "p"})
	for step := range 200_000 {
		// Phases with many insertions and phases with many deletions alternate, and names return.
		name := wire.PodName{Namespace: fmt.Sprint("n", random.Intn(3)), Name: fmt.Sprint(random.Intn(1000))}
		switch random.Intn(20) {
		case 0:
			name = wire.PodName{}
		case 1:
			name = wire.PodName{Name: "p"}
		}
		grows := step/20_000%2 == 0
		switch sent := twin[name]; {
		case table.find(name) != sent:
			t.Fatalf("step %d: %v is %p, not %p", step, name, table.find(name), sent)
		case sent == nil && (grows || random.Intn(4) == 0):
			twin[name] = table.record(name)
			if twin[name].name != name || twin[name].pod != nil {
				t.Fatalf("step %d: %v is new as %v", step, name, twin[name])
			}
		case sent != nil && table.record(name) != sent:
			t.Fatalf("step %d: %v has a second record", step, name)
		case sent != nil && (!grows || random.Intn(4) == 0):
			table.drop(sent)
			delete(twin, name)
		}
		if table.count != len(twin) || table.used*4 > len(table.slots)*3 {
			t.Fatalf("step %d: %d records and not %d, %d of %d slots", step, table.count, len(twin), table.used, len(table.slots))
		}
	}
}
