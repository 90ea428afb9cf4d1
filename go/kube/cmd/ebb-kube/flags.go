package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"ebb/go/kube/actuate"
	"ebb/go/kube/app"
	"ebb/go/kube/drain"
	"ebb/go/kube/provider"
	"ebb/go/kube/provider/clusterapi"
	"ebb/go/kube/provider/externalgrpc"
	"ebb/go/kube/provider/karpenter"
)

// flags are the values of the command line.
type flags struct {
	kubeconfig, context string
	version, check      bool
	folders             words

	app         app.Options
	feedOnly    bool
	leaderElect bool
	writeStatus bool

	provider    string
	exec        words
	execGrow    words
	execTimeout time.Duration

	karpenterDrains bool
	karpenterBuys   bool

	external externalgrpc.Options

	drain         drain.Options
	maxGraceSec   int
	priorities    string
	actuate       actuate.Options
	minReplicas   int
	expendableMax int
}

// providers are the values of --provider, for messages.
const providers = "node-object, exec, externalgrpc, karpenter or cluster-api"

// words is a flag that may be repeated.
type words []string

func (w *words) String() string         { return strings.Join(*w, " ") }
func (w *words) Set(value string) error { *w = append(*w, value); return nil }

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{drain: drain.DefaultOptions()}
	set := flag.NewFlagSet("ebb-kube", flag.ContinueOnError)
	set.SetOutput(help)
	f.defineGeneral(set)
	f.defineProvider(set)
	f.defineDrain(set)
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", set.Arg(0))
	}
	return f, nil
}

func (f *flags) defineGeneral(set *flag.FlagSet) {
	set.BoolVar(&f.version, "version", false, "print the version and end")
	set.BoolVar(&f.check, "check", false, "check the API server's version and the rights, and end")
	set.Var(&f.folders, "make-folder", "make a folder for this user alone, and end; may be repeated: `PATH`")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE`; default: as kubectl finds it, or the pod's service account")
	set.StringVar(&f.context, "context", "", "`NAME` of a context of the kubeconfig")
	set.StringVar(&f.app.Server, "server", "", "the daemon to feed, as `unix:PATH`")
	set.StringVar(&f.app.Session, "session", "default", "`NAME` of the daemon's session")
	set.StringVar(&f.app.NodeGroups, "node-groups", "", "a `FILE` of node groups (docs/plan.md), or \"provider\"; default: by the labels of the nodes")
	set.StringVar(&f.app.Listen, "listen", "/run/ebb/actuator.sock", "`PATH` of the actuator's socket")
	set.BoolVar(&f.feedOnly, "feed-only", false, "feed the daemon, and change nothing in the cluster")
	set.StringVar(&f.app.Namespace, "namespace", "kube-system", "`NAME` of the namespace of lease and status")
	set.BoolVar(&f.leaderElect, "leader-elect", true, "one replica at a time is the active one")
	set.StringVar(&f.app.Lease, "leader-elect-resource-name", "ebb", "`NAME` of the lease")
	set.StringVar(&f.app.Identity, "identity", "", "`NAME` of this replica; default: the host's, and a number")
	set.DurationVar(&f.app.LeaseTimes.Duration, "leader-elect-lease-duration", 15*time.Second, "how long the lease holds after its last renewal")
	set.DurationVar(&f.app.LeaseTimes.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the active one tries to renew before it stops")
	set.DurationVar(&f.app.LeaseTimes.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between attempts to acquire or renew the lease")
	set.BoolVar(&f.writeStatus, "write-status-configmap", true, "write the autoscaler's status ConfigMap")
	set.StringVar(&f.app.StatusConfigMap, "status-config-map-name", "cluster-autoscaler-status", "its `NAME`; another one where the autoscaler runs beside")
	set.StringVar(&f.app.MetricsAddress, "metrics-address", "", "serve metrics over HTTP at `HOST:PORT`, for everybody who can reach it: use 127.0.0.1:8087 or the like")
	set.DurationVar(&f.actuate.AbandonedAfter, "abandoned-after", 10*time.Minute, "roll back deletions that wait for an order when no client has called for so long")
}

func (f *flags) defineProvider(set *flag.FlagSet) {
	set.StringVar(&f.provider, "provider", "", "who deletes and makes machines: `"+providers+"`")
	set.Var(&f.exec, "exec", "the command of --provider exec, and, repeated, its arguments: `WORD`")
	set.Var(&f.execGrow, "exec-grow", "the command of --provider exec that makes a group grow, and, repeated, its arguments; default: no group grows: `WORD`")
	set.DurationVar(&f.execTimeout, "exec-timeout", 2*time.Minute, "how long a command may take")
	set.BoolVar(&f.karpenterDrains, "karpenter-drains", false, "with --provider karpenter: do not drain nodes; Karpenter does when their NodeClaims are deleted")
	set.BoolVar(&f.karpenterBuys, "karpenter-buys", false, "with --provider karpenter: create NodeClaims for machines that ebb run --replace orders")
	set.StringVar(&f.external.Address, "externalgrpc-address", "", "the provider of --provider externalgrpc, as `HOST:PORT` or unix:PATH")
	set.StringVar(&f.external.Key, "externalgrpc-key", "", "`FILE` with the client's key")
	set.StringVar(&f.external.Certificate, "externalgrpc-cert", "", "`FILE` with the client's certificate")
	set.StringVar(&f.external.CA, "externalgrpc-cacert", "", "`FILE` with the authority of the provider's certificate")
	set.DurationVar(&f.external.CallTimeout, "externalgrpc-timeout", time.Minute, "how long a call may take")
	set.DurationVar(&f.actuate.BatchInterval, "node-deletion-batcher-interval", 0, "delete nodes of a group together that come within it")
	set.DurationVar(&f.actuate.GoneWithin, "node-gone-within", 15*time.Minute, "how long a Node may stay after its provider took its deletion")
}

func (f *flags) defineDrain(set *flag.FlagSet) {
	rules := &f.drain.Rules
	set.IntVar(&f.maxGraceSec, "max-graceful-termination-sec", 600, "the most grace that a pod gets, in `SECONDS`")
	set.DurationVar(&f.drain.MaxEvictionTime, "max-pod-eviction-time", 2*time.Minute, "how long an eviction that is refused is tried")
	set.StringVar(&f.priorities, "drain-priority-config", "", "evict by priority: `PRIORITY:SECONDS,...`")
	set.BoolVar(&f.app.Cordon, "cordon-node-before-terminating", true, "cordon nodes with the taint")
	set.BoolVar(&f.drain.EvictDaemonSetsOfEmpty, "daemonset-eviction-for-empty-nodes", false, "evict DaemonSets' pods of empty nodes")
	set.BoolVar(&f.drain.EvictDaemonSetsOfOccupied, "daemonset-eviction-for-occupied-nodes", true, "evict DaemonSets' pods of other nodes")
	set.DurationVar(&f.drain.DelayDeletion, "node-deletion-delay-timeout", 2*time.Minute, "how long annotations may put a deletion off")
	set.DurationVar(&f.actuate.SoftTaintTime, "max-bulk-soft-taint-time", 3*time.Second, "how long soft taints may take, of ten seconds")
	set.BoolVar(&rules.SkipNodesWithSystemPods, "skip-nodes-with-system-pods", true, "as the autoscaler's")
	set.BoolVar(&rules.SkipNodesWithLocalStorage, "skip-nodes-with-local-storage", true, "as the autoscaler's")
	set.BoolVar(&rules.SkipNodesWithCustomControllerPods, "skip-nodes-with-custom-controller-pods", true, "as the autoscaler's")
	set.IntVar(&f.minReplicas, "min-replica-count", 0, "as the autoscaler's")
	set.DurationVar(&rules.BlockingSystemPodTimeout, "blocking-system-pod-distruption-timeout", time.Hour, "as the autoscaler's")
	set.IntVar(&f.expendableMax, "expendable-pods-priority-cutoff", -10, "as the autoscaler's")
}

// options converts the flags to options, or returns an error about flags that do not fit together.
func (f *flags) options() (*app.Options, error) {
	o := &f.app
	o.Drain, o.Actuate = f.drain, f.actuate
	o.Drain.MaxGrace = time.Duration(f.maxGraceSec) * time.Second
	o.Drain.Rules.MinReplicaCount = int32(f.minReplicas)
	o.Drain.Rules.ExpendablePodsPriorityCutoff = int32(f.expendableMax)
	var err error
	if o.Drain.Groups, err = drain.ParseGroups(f.priorities); err != nil {
		return nil, fmt.Errorf("--drain-priority-config: %w", err)
	}
	if len(o.Drain.Groups) > 0 && f.maxGraceSec != 600 {
		return nil, errors.New("--drain-priority-config and --max-graceful-termination-sec exclude each other")
	}
	if !f.leaderElect {
		o.Lease = ""
	}
	if !f.writeStatus {
		o.StatusConfigMap = ""
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, err
		}
		o.Identity = fmt.Sprintf("%s_%d", host, os.Getpid())
	}
	if f.feedOnly {
		o.Listen = ""
		if o.Server == "" {
			return nil, errors.New("--feed-only needs --server")
		}
	}
	return o, f.chooseProvider()
}

func (f *flags) chooseProvider() error {
	switch {
	case len(f.execGrow) > 0 && f.provider != "exec":
		return errors.New("--exec-grow needs --provider exec")
	case f.karpenterDrains && f.provider != "karpenter":
		return errors.New("--karpenter-drains needs --provider karpenter")
	case f.karpenterBuys && f.provider != "karpenter":
		return errors.New("--karpenter-buys needs --provider karpenter")
	case f.provider == "karpenter":
		f.app.Provider = &karpenter.Provider{Drains: f.karpenterDrains, Buys: f.karpenterBuys} // Its clients are set once there is a connection.
	case f.provider == "cluster-api":
		f.app.Provider = &clusterapi.Provider{}
	case f.provider == "node-object":
		f.app.Provider = &provider.NodeObject{} // The client is set once there is a connection.
	case f.provider == "exec" && len(f.exec) > 0:
		f.app.Provider = &provider.Exec{Command: f.exec, GrowCommand: f.execGrow, Timeout: f.execTimeout}
	case f.provider == "exec":
		return errors.New("--provider exec needs --exec")
	case f.provider == "externalgrpc":
		external, err := externalgrpc.Dial(f.external)
		if err != nil {
			return err
		}
		f.app.Provider = external
	case f.provider == "" && f.feedOnly:
	case f.provider == "":
		return errors.New("--provider is missing; expected " + providers + ", or --feed-only")
	default:
		return fmt.Errorf("--provider: %q is not %s", f.provider, providers)
	}
	return nil
}
