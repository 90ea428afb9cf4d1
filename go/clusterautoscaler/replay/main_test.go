package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A record of one removal: the pod of node a goes to b.
const text = `{"node":"a","refusal":"node a: refused","kubernetesVersion":"v1.36.0",
"settings":{"options":{"scaleDown":{"planner":{"unremovableNodeRecheckTimeoutSeconds":0}}}},
"request":{"now":"1780000000","timeLimitSeconds":10,"candidates":{"nodes":["a"]},"destinations":{"nodes":["a","b"]},
"groups":{"groups":[{"name":"g","nodes":["a"],"scaleDownUtilizationThreshold":0.5}]},"unneededLimit":"10"},
"cluster":{"items":[NODE_A,NODE_B,
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"p","annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"true"}},
"spec":{"nodeName":"a","containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}]},"status":{"phase":"Running"}}]}}`

func node(name string) string {
	return strings.ReplaceAll(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"NAME","uid":"NAME"},
"status":{"allocatable":{"cpu":"1","memory":"1Gi","pods":"10"},"capacity":{"cpu":"1","memory":"1Gi","pods":"10"},
"conditions":[{"type":"Ready","status":"True"}]}}`, "NAME", name)
}

func TestReplay(t *testing.T) {
	if os.Getenv("EBB") == "" {
		t.Skip("EBB does not name the program ebb")
	}
	folder := t.TempDir()
	socket, path := filepath.Join(folder, "ebb.sock"), filepath.Join(folder, "record.json")
	all := strings.NewReplacer("NODE_A", node("a"), "NODE_B", node("b")).Replace(text)
	if err := os.WriteFile(path, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(os.Getenv("EBB"), "serve", "--socket", socket, "--log", "none")
	output, err := daemon.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	for lines := bufio.NewScanner(output); lines.Scan() && !strings.Contains(lines.Text(), "serves on"); {
		t.Log(lines.Text())
	}
	for range 2 { // The session of the first run is closed.
		var out strings.Builder
		if err := run(context.Background(), "unix:"+socket, path, &out); err != nil {
			t.Fatal(err)
		}
		if want := "The autoscaler refused: node a: refused\nebb removes node a\n  default/p goes to b\n"; out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
	if err := run(context.Background(), socket, path, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "is not unix:PATH") {
		t.Error(err)
	}
}
