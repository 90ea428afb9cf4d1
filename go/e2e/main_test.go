package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"ebb/go/e2e/controlplane"
	"ebb/go/e2e/nodes"
)

// All tests share one control plane, because a process can have only one, and its kubelets.
var (
	plane    *controlplane.ControlPlane
	client   *kubernetes.Clientset
	kubelets *nodes.Kubelets
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runWithControlPlane(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// startsWithin is long: the machine may be busy, and no result depends on it.
const startsWithin = 5 * time.Minute

func runWithControlPlane(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "ebb-e2e-")
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startsWithin)
	defer cancel()
	begin := time.Now()
	if plane, err = controlplane.Start(ctx, controlplane.Options{Dir: dir}); err != nil {
		return 0, fmt.Errorf("%w (logs are in %s)", err, dir)
	}
	// Print this now: if a component fails, it ends the process before anything else can print it.
	fmt.Printf("control plane ready after %v: %v; logs are in %s\n", time.Since(begin).Round(time.Millisecond), plane.Phases, dir)
	if client, err = kubernetes.NewForConfig(plane.Config); err != nil {
		return 0, err
	}
	if kubelets, err = nodes.StartKubelets(ctx, client); err != nil {
		return 0, err
	}
	code := m.Run()
	kubelets.Stop()
	ended := plane.Err()
	begin = time.Now()
	plane.Stop()
	fmt.Printf("control plane stopped after %v\n", time.Since(begin).Round(time.Millisecond))
	if ended != nil || code != 0 {
		fmt.Printf("logs are in %s\n", dir)
		return code, ended
	}
	return code, os.RemoveAll(dir)
}
