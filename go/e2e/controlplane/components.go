package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/configz"
	managerapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	manageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/controller/podgc"

	"github.com/spf13/pflag"
)

// newRegistry returns a component's own registry of versions and feature gates, because three
// components cannot all set the process-wide one. But most code reads the process-wide gates, so
// Options.FeatureGates sets those.
func newRegistry() (basecompatibility.ComponentGlobalsRegistry, error) {
	registry := basecompatibility.NewComponentGlobalsRegistry()
	err := registry.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(),
		utilfeature.DefaultMutableFeatureGate.DeepCopy())
	return registry, err
}

// parse parses a component's command line.
func parse(component string, registry basecompatibility.ComponentGlobalsRegistry, sets cliflag.NamedFlagSets,
	args []string) error {
	flags := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", component, err)
	}
	if err := registry.Set(); err != nil {
		return fmt.Errorf("%s: %w", component, err)
	}
	return nil
}

// runManager runs the controller manager until ctx ends.
func runManager(ctx context.Context, o *Options, id *identity, kubeconfig string) error {
	registry, err := newRegistry()
	if err != nil {
		return err
	}
	manager, err := manageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	manager.ComponentGlobalsRegistry = registry
	args := append([]string{
		"--kubeconfig=" + kubeconfig,
		// A process that loses a leader election exits.
		"--leader-elect=false",
		"--secure-port=0",
		"--controllers=" + strings.Join(o.controllers(), ","),
		"--service-account-private-key-file=" + id.accountKey,
		"--root-ca-file=" + id.caFile,
		// No kubelet renews leases here.
		"--node-monitor-grace-period=12h",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
	}, o.ManagerArgs...)
	all, disabled, aliases := managerapp.KnownControllers(), managerapp.ControllersDisabledByDefault(), managerapp.ControllerAliases()
	if err := parse("kube-controller-manager", registry, manager.Flags(all, disabled, aliases), args); err != nil {
		return err
	}
	config, err := manager.Config(ctx, all, disabled, aliases)
	if err != nil {
		return err
	}
	// The name is registered for the whole process and must be free for the next control plane.
	defer configz.Delete(managerapp.ConfigzName)
	return managerapp.Run(ctx, config.Complete())
}

// runScheduler runs the scheduler until ctx ends.
func runScheduler(ctx context.Context, o *Options, kubeconfig string) error {
	registry, err := newRegistry()
	if err != nil {
		return err
	}
	scheduler := scheduleroptions.NewOptionsWithComponentGlobalsRegistry(registry)
	args := append([]string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		// How long a pod waits for an event before the scheduler retries it; the default is as long
		// as a test.
		"--pod-max-in-unschedulable-pods-duration=5s",
	}, o.SchedulerArgs...)
	if err := parse("kube-scheduler", registry, *scheduler.Flags, args); err != nil {
		return err
	}
	config, scheduling, err := schedulerapp.Setup(ctx, scheduler)
	if err != nil {
		return err
	}
	defer configz.Delete("componentconfig")
	return schedulerapp.Run(ctx, config, scheduling)
}

// runPodGC runs the controller manager's pod garbage collector with a period of one second until
// ctx ends. The manager's own periods are constants: 20 s, and 40 s more for pods of deleted nodes.
func runPodGC(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	collector := podgc.NewPodGCInternal(ctx, client, factory.Core().V1().Pods(), factory.Core().V1().Nodes(),
		0, time.Second, 100*time.Millisecond)
	factory.Start(ctx.Done())
	collector.Run(ctx)
	factory.Shutdown()
	return nil
}
