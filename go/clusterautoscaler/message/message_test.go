package message

import (
	"math/rand"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"ebb/go/ebb/plannerpb"
)

func table1() *plannerpb.PassTable {
	return &plannerpb.PassTable{
		Termination: "complete", Nodes: []string{"a", "b", "c"}, Namespaces: []string{"d"}, Reasons: []string{"BlockedByPod", "NotReplicated"},
		PodNamespaces: []uint32{0, 0, 0, 0}, PodNameSizes: []uint32{1, 2, 1, 1}, PodNames: []byte("pqqrs"),
		RemovedNodes: []uint32{0}, Moves: []uint32{1}, Daemonset: []uint32{1}, OnCompletion: []uint32{1}, Risky: []bool{true},
		To: []uint32{1}, KeptNodes: []uint32{2}, KeptReasons: []uint32{0}, BlockingReasons: []uint32{2}, HasPod: []bool{true},
		Skipped: []uint32{1}, UsedNodes: []uint32{2}, Cpu: []float64{1}, Memory: []float64{2}, Gpu: []float64{3},
		Resources: []string{"cpu"}, UsedResources: []uint32{0}, Utilization: []float64{4},
	}
}

func TestATableIsRead(t *testing.T) {
	result, err := ResultOf(table1())
	if err != nil {
		t.Fatal(err)
	}
	removal, kept := result.Removals[0], result.Kept[0]
	if removal.Node != "a" || removal.Moves[0].Pod.Name != "p" || removal.Moves[0].To != "b" || removal.DaemonSet[0].Name != "qq" ||
		removal.OnCompletion[0].Name != "r" || !removal.Risky || removal.Moves[0].Pod.Namespace != "d" {
		t.Errorf("removal: %+v", removal)
	}
	if kept.Node != "c" || kept.Reason != "BlockedByPod" || kept.BlockingReason != "NotReplicated" || kept.Pod.Name != "s" {
		t.Errorf("kept: %+v", kept)
	}
	if use := result.Utilization[0]; use.Node != "c" || use.CPU != 1 || use.Memory != 2 || use.GPU != 3 || use.Resource != "cpu" || use.Utilization != 4 {
		t.Errorf("use: %+v", use)
	}
	if result.Skipped[0] != "b" || result.Termination != "complete" {
		t.Errorf("%+v", result)
	}
}

func TestADamagedTableIsAnError(t *testing.T) {
	for want, damage := range map[string]func(*plannerpb.PassTable){
		"pod_name_sizes has 3 elements and not 4": func(p *plannerpb.PassTable) { p.PodNameSizes = p.PodNameSizes[:3] },
		"moves has 0":             func(p *plannerpb.PassTable) { p.Moves = nil },
		"to has 1":                func(p *plannerpb.PassTable) { p.Moves[0] = 1 << 31 },
		"risky has 0":             func(p *plannerpb.PassTable) { p.Risky = nil },
		"has_pod has 0":           func(p *plannerpb.PassTable) { p.HasPod = nil },
		"gpu has 0":               func(p *plannerpb.PassTable) { p.Gpu = nil },
		"too few pods":            func(p *plannerpb.PassTable) { p.Daemonset[0] = 9 },
		"number is of nothing":    func(p *plannerpb.PassTable) { p.KeptReasons[0] = 7 },
		"pods that nothing names": func(p *plannerpb.PassTable) { p.HasPod[0] = false },
	} {
		answer := table1()
		damage(answer)
		if _, err := ResultOf(answer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Any bytes must give a result or an error.
func TestRandomTablesAreReadOrRefused(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	good, err := proto.Marshal(table1())
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for range 100_000 {
		data := append([]byte{}, good...)
		for range 1 + random.Intn(3) {
			data[random.Intn(len(data))] = byte(random.Intn(256))
		}
		answer := &plannerpb.PassTable{}
		if proto.Unmarshal(data, answer) != nil {
			continue
		}
		if _, err := ResultOf(answer); err == nil {
			read++
		}
	}
	if read == 0 {
		t.Error("none was read")
	}
}
