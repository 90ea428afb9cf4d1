// ebb-kube feeds `ebb serve` with a Kubernetes cluster, and is the actuator plugin that deletes its
// nodes. If it is called kubectl-ebb, it is a plugin of kubectl.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"ebb/go/kube/access"
	"ebb/go/kube/app"
	"ebb/go/kube/kubectl"
	"ebb/go/kube/provider"
	"ebb/go/kube/provider/clusterapi"
	"ebb/go/kube/provider/karpenter"
)

// version is set by the linker.
var version = "0.1.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, "kubectl-ebb") || strings.HasPrefix(name, "kubectl_ebb") {
		err = kubectl.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	} else {
		err = run(ctx, os.Args[1:])
	}
	var exit *kubectl.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.Code)
	case err != nil && !errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "ebb-kube:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	if flags.version {
		fmt.Println(version)
		return nil
	}
	if len(flags.folders) > 0 {
		return makeFolders(flags.folders)
	}
	options, err := flags.options()
	if err != nil {
		return err
	}
	config, err := access.Connect(flags.kubeconfig, flags.context)
	if err != nil {
		return err
	}
	// High enough that the client's own limit does not slow down ten drains of a hundred pods each.
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	options.Client, options.Host, options.Version = client, config.Host, version
	if options.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	switch own := options.Provider.(type) {
	case *provider.NodeObject:
		own.Client = client
	case *clusterapi.Provider:
		own.Client, own.Dynamic = client, options.Dynamic
	case *karpenter.Provider:
		own.Client, own.Dynamic = client, options.Dynamic
	}
	options.Log = func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
	}
	if flags.check {
		notes, err := app.Check(ctx, options)
		for _, note := range notes {
			fmt.Println(note)
		}
		if err != nil {
			return err
		}
		fmt.Println("everything that is needed is allowed")
		return nil
	}
	return app.Run(ctx, *options)
}

// makeFolders creates folders that only this user may read, inside a pod's volume, which everyone
// may write.
func makeFolders(paths []string) error {
	for _, path := range paths {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o700); err != nil {
			return err
		}
	}
	return nil
}
