// Package controlplane runs a Kubernetes control plane inside the test process: the real etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, from their Go modules. There are no
// kubelets; package nodes simulates them.
//
//	plane, err := controlplane.Start(ctx, controlplane.Options{Dir: dir})
//	if err != nil { ... }
//	defer plane.Stop()
//	client := kubernetes.NewForConfigOrDie(plane.Config)
//
// Cost: about 3 s to start and 0.5 GB of memory on an idle machine; README.md has more figures.
// Threads: a process can have only one control plane at a time, because its components register
// process-wide names. Call Start and Stop from one goroutine; all other calls may run concurrently.
// Files: everything, including the logs etcd.log and components.log, is written below Options.Dir.
package controlplane

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// Options of a control plane. For each field except Dir, the zero value means the default.
type Options struct {
	// Dir is an empty directory. Stop does not clean it up. Required.
	Dir string
	// Controllers to run, in the form of --controllers; default all.
	Controllers []string
	// SlowPodGC leaves the pods of a deleted node to the controller manager's own collector, which
	// needs 45 s. Default: a collector that needs a second or two.
	SlowPodGC bool
	// FeatureGates are set for the whole process, and stay set when the control plane stops.
	FeatureGates map[string]bool
	// Further flags, added after the flags that Start sets itself.
	APIServerArgs, ManagerArgs, SchedulerArgs []string
}

// ownPodGC is the controller that runPodGC replaces.
const ownPodGC = "pod-garbage-collector-controller"

func (o *Options) controllers() []string {
	controllers := o.Controllers
	if len(controllers) == 0 {
		controllers = []string{"*"}
	}
	if !o.SlowPodGC {
		controllers = append(controllers[:len(controllers):len(controllers)], "-"+ownPodGC)
	}
	return controllers
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Config connects as an administrator, with protobuf.  Copy it before changing it.
	Config *rest.Config
	// Kubeconfig is a file with the same configuration, for other programs.
	Kubeconfig string
	// Phases are the durations of the parts of Start, in order.
	Phases []Phase

	gate  *gate
	etcd  *embed.Etcd
	parts []*part // in the order in which they started
}

const apiServer = "kube-apiserver"

// Phase is a part of Start.
type Phase struct {
	Name string
	Took time.Duration
}

// part is a goroutine that runs until it is cancelled.
type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid when done is closed
}

// Start starts a control plane and waits until it is usable: the API server is ready, and the
// controllers have created the default service account.
//
// Errors name the component; components that had been started are stopped. ctx limits only the
// start.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	plane := &ControlPlane{}
	if err := plane.start(ctx, &o); err != nil {
		plane.Stop()
		return nil, err
	}
	return plane, nil
}

func (p *ControlPlane) start(ctx context.Context, o *Options) error {
	if o.Dir == "" {
		return errors.New("control plane: Options.Dir is empty")
	}
	if err := logTo(filepath.Join(o.Dir, "components.log")); err != nil {
		return err
	}
	if err := setFeatureGates(o.FeatureGates); err != nil {
		return err
	}
	var etcdURL string
	if err := p.phase("etcd", func() (err error) {
		p.etcd, etcdURL, err = startEtcd(ctx, o.Dir)
		return err
	}); err != nil {
		return err
	}
	id, err := newIdentity(o.Dir)
	if err != nil {
		return err
	}
	if err := p.phase(apiServer, func() error { return p.startAPIServer(ctx, o, id, etcdURL) }); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return err
	}
	return p.phase("controllers", func() error { return p.startControllers(ctx, o, id, client) })
}

func (p *ControlPlane) startAPIServer(ctx context.Context, o *Options, id *identity, etcdURL string) error {
	gate, err := newGate()
	if err != nil {
		return err
	}
	p.gate = gate
	// Goroutines that completeAPIServer starts must outlive the start.
	completed, err := completeAPIServer(context.WithoutCancel(ctx), o.Dir, etcdURL, id, gate, o.APIServerArgs)
	if err != nil {
		return err
	}
	p.Config = clientConfig(id, gate.Addr())
	p.Kubeconfig = filepath.Join(o.Dir, "kubeconfig")
	if err := writeKubeconfig(p.Kubeconfig, p.Config); err != nil {
		return err
	}
	p.run(apiServer, func(ctx context.Context) error { return app.Run(ctx, completed) })
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return err
	}
	return p.waitFor(ctx, apiServer+": /readyz", func(ctx context.Context) (bool, error) {
		err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		return err == nil, nil
	})
}

func (p *ControlPlane) startControllers(ctx context.Context, o *Options, id *identity, client kubernetes.Interface) error {
	p.run("kube-controller-manager", func(ctx context.Context) error { return runManager(ctx, o, id, p.Kubeconfig) })
	p.run("kube-scheduler", func(ctx context.Context) error { return runScheduler(ctx, o, p.Kubeconfig) })
	if !o.SlowPodGC {
		p.run("pod garbage collector", func(ctx context.Context) error { return runPodGC(ctx, client) })
	}
	return p.waitFor(ctx, "kube-controller-manager: the default service account", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// Stop ends all components and waits for them. Call it once.
func (p *ControlPlane) Stop() {
	// Only etcd stops after the API server, so that the other components can still finish their
	// requests.
	for i := len(p.parts) - 1; i >= 0; i-- {
		p.parts[i].cancel()
		if p.parts[i].name == apiServer {
			p.dropUntil(p.parts[i].done)
		}
		<-p.parts[i].done
	}
	if p.gate != nil {
		_ = p.gate.Close()
	}
	if p.etcd != nil {
		p.etcd.Close()
	}
	klog.Flush()
}

// dropUntil closes the API server's connections until the server has ended. Otherwise the server
// would wait a minute for watches, including those of its own clients, which reconnect as long as
// they can.
func (p *ControlPlane) dropUntil(done <-chan struct{}) {
	for {
		p.gate.Drop()
		select {
		case <-done:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Err returns which component ended by itself, and why; nil while all are running.
func (p *ControlPlane) Err() error {
	for _, part := range p.parts {
		select {
		case <-part.done:
			return fmt.Errorf("%s ended: %w", part.name, part.err)
		default:
		}
	}
	return nil
}

// TakeAPIServerAway closes the API server's port and all connections to it, including those of the
// controllers and the scheduler, until BringAPIServerBack.
func (p *ControlPlane) TakeAPIServerAway() { p.gate.Shut() }

// BringAPIServerBack opens the port again. It returns an error if another process uses the port
// now.
func (p *ControlPlane) BringAPIServerBack() error { return p.gate.Open() }

// DropConnections closes every connection to the API server, and thus all watches, and returns
// their number. The server accepts new connections at once.
func (p *ControlPlane) DropConnections() int { return p.gate.Drop() }

func (p *ControlPlane) phase(name string, body func() error) error {
	begin := time.Now()
	err := body()
	p.Phases = append(p.Phases, Phase{Name: name, Took: time.Since(begin)})
	return err
}

// errEnded is the error of a component that ends without being asked to and without an error.
var errEnded = errors.New("without an error")

func (p *ControlPlane) run(name string, body func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	part := &part{name: name, cancel: cancel, done: make(chan struct{})}
	p.parts = append(p.parts, part)
	go func() {
		defer close(part.done)
		if part.err = body(ctx); part.err == nil {
			part.err = errEnded
		}
	}()
}

// waitFor polls until the condition is true, a component ends or ctx ends.
func (p *ControlPlane) waitFor(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := p.Err(); err != nil {
			return false, err
		}
		return condition(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func setFeatureGates(gates map[string]bool) error {
	// This gate checks the controller's own caches and logs hundreds of false errors.
	all := map[string]bool{"StaleControllerConsistencyReplicaSet": false}
	for name, value := range gates {
		all[name] = value
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(all); err != nil {
		return fmt.Errorf("Options.FeatureGates: %w", err)
	}
	return nil
}

var klogFlags = sync.OnceValue(func() *flag.FlagSet {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	return flags
})

// logTo writes the components' log, which is shared by the whole process, to a file.
func logTo(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	for flag, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := klogFlags().Set(flag, value); err != nil {
			return err
		}
	}
	klog.SetOutput(file)
	return nil
}
