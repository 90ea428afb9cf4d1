// Package app connects the other packages: the program ebb-kube runs it, and tests run it without a
// process of their own.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/access"
	"ebb/go/kube/actuate"
	"ebb/go/kube/daemon"
	"ebb/go/kube/drain"
	"ebb/go/kube/feed"
	"ebb/go/kube/groups"
	"ebb/go/kube/lease"
	"ebb/go/kube/metrics"
	"ebb/go/kube/provider"
	"ebb/go/kube/serve"
	"ebb/go/kube/status"
	"ebb/go/kube/taint"
)

// Options of a replica.
type Options struct {
	Client kubernetes.Interface
	// Dynamic follows the optional kinds of the same cluster. Nil: optional kinds are not fed.
	Dynamic dynamic.Interface
	// Host of the API server, for messages.
	Host string

	// Server is the daemon to feed, as unix:PATH. "": no daemon is fed.
	Server  string
	Session string
	// NodeGroups is the path of a file of node groups, "provider" for the provider's groups, or ""
	// for groups by labels.
	NodeGroups string
	// SettingsEvery is how often the node groups are read again. Default 1 minute.
	SettingsEvery time.Duration
	// LookEvery is how often the API server is asked which optional kinds it serves. Default 1
	// minute.
	LookEvery time.Duration

	// Listen is the path of the actuator's socket. "": nothing in the cluster is changed.
	Listen   string
	Provider provider.Provider
	Drain    drain.Options
	Cordon   bool
	// TaintRetry: the zero value means the autoscaler's defaults.
	TaintRetry taint.Retry
	// Actuate: only its options about time are used.
	Actuate actuate.Options

	// Namespace of the lease and of the status ConfigMap.
	Namespace string
	// Lease is the lease's name. "": this is the only replica.
	Lease    string
	Identity string
	// LeaseTimes: only Duration, RenewDeadline and RetryPeriod are used.
	LeaseTimes lease.Options
	// StatusConfigMap is the name of the status ConfigMap. "": it is not written.
	StatusConfigMap string
	StatusEvery     time.Duration
	// MetricsAddress is where metrics are served over HTTP, as HOST:PORT. "": nowhere.
	MetricsAddress string

	Version string
	Now     func() time.Time
	Log     func(format string, args ...any)
	// OnFeeder, if not nil, receives the feeder before it runs.
	OnFeeder func(*feed.Feeder)
}

// Needs returns what rights these options need.
func (o *Options) Needs() access.Needs {
	_, deletes := o.Provider.(*provider.NodeObject)
	needs := access.Needs{
		Kinds: feed.Kinds, FeedOnly: o.Listen == "", DeleteNodes: deletes, Namespace: o.Namespace,
	}
	if special, ok := o.Provider.(interface{ Rights() []access.Right }); ok {
		needs.Provider, needs.ProviderName = special.Rights(), o.Provider.Name()
	}
	return needs
}

// Check makes the checks of --check and returns lines to print. The error names what is missing, or
// the groups of nodes that the provider refuses to touch.
func Check(ctx context.Context, o *Options) ([]string, error) {
	notes, err := access.Check(ctx, o.Client, o.Host, o.Needs())
	if err != nil {
		return notes, err
	}
	refused, more, err := review(ctx, o)
	notes = append(notes, more...)
	switch {
	case err != nil:
		return notes, err
	case len(refused) > 0:
		return notes, fmt.Errorf("the provider %s keeps all nodes of:\n  %s", o.Provider.Name(), strings.Join(refused, "\n  "))
	}
	return notes, nil
}

// review asks the provider which objects keep nodes.
func review(ctx context.Context, o *Options) (refused, notes []string, err error) {
	reviewer, ok := o.Provider.(provider.Reviewer)
	if !ok || o.Listen == "" {
		return nil, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewWithin)
	defer cancel()
	return reviewer.Review(ctx)
}

// reviewWithin is how long the API server may take for a review.
const reviewWithin = 30 * time.Second

// greeting names the API server, and what ebb-kube does with its cluster.
func (o *Options) greeting() string {
	version := "version unknown"
	if info, err := o.Client.Discovery().ServerVersion(); err == nil {
		version = "version " + info.GitVersion
	}
	text := fmt.Sprintf("API server %s, %s", o.Host, version)
	if o.Server != "" {
		text += fmt.Sprintf("; feeds session %s of %s", cmp.Or(o.Session, "default"), o.Server)
	}
	if o.Listen == "" {
		return text + "; changes nothing in the cluster"
	}
	return text + "; serves the actuator at " + o.Listen
}

// replica is a running replica.
type replica struct {
	*Options
	factory informers.SharedInformerFactory
	nodes   cache.SharedIndexInformer
	server  *serve.Server
	events  record.EventRecorder
	daemon  *daemon.Client // Nil: no daemon is fed.
	// The actuator of the active replica, or of the last time that this one was active.
	actuator atomic.Pointer[actuate.Actuator]
	active   atomic.Bool
	// Returns the settings that the session should have. Nil: the session keeps its settings.
	settingsNow func(context.Context) (*plannerpb.Settings, error)
}

// Run makes all checks and then runs a replica until ctx ends. An error before that names what does
// not fit.
func Run(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Server == "" && o.Listen == "" {
		return errors.New("neither a daemon to feed nor a socket to serve is named")
	}
	notes, err := access.Check(ctx, o.Client, o.Host, o.Needs())
	if err != nil {
		return err
	}
	for _, note := range notes {
		o.Log("%s", note)
	}
	o.Log("%s", o.greeting())
	refused, notes, err := review(ctx, &o)
	if err != nil {
		return err
	}
	for _, why := range refused {
		o.Log("its nodes stay: %s", why)
	}
	for _, note := range notes {
		o.Log("it stays: %s", note)
	}
	r := &replica{Options: &o, factory: feed.NewFactory(o.Client)}
	r.nodes = r.factory.Core().V1().Nodes().Informer()
	r.factory.Core().V1().Pods().Informer()
	return r.run(ctx)
}

// run starts the parts. When the first part ends, all others end too.
func (r *replica) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts []func(context.Context) error
	var sources metrics.Sources
	if r.Server != "" {
		feeder, client, err := r.newFeeder()
		if err != nil {
			return err
		}
		defer client.Close()
		r.daemon = client
		sources.Feed = feeder.Progress
		parts = append(parts, feeder.Run)
		if r.settingsNow != nil {
			parts = append(parts, func(ctx context.Context) error { return r.refreshSettings(ctx, client) })
		}
	}
	if r.Listen != "" {
		server, err := serve.Listen(r.Listen)
		if err != nil {
			return err
		}
		r.server = server
		parts = append(parts, func(ctx context.Context) error {
			defer context.AfterFunc(ctx, server.Stop)()
			return server.Serve()
		}, r.act)
		sources.Deletions = r.deletions
		stop := r.startEvents()
		defer stop()
	}
	if r.MetricsAddress != "" {
		parts = append(parts, func(ctx context.Context) error { return metrics.Serve(ctx, r.MetricsAddress, sources) })
	}
	r.factory.Start(ctx.Done())
	defer r.factory.Shutdown()
	// Shutdown waits for the informers, which end with ctx.
	defer cancel(nil)
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() {
			err := part(ctx)
			cancel(err)
			ended <- err
		}()
	}
	for range parts {
		<-ended
	}
	return context.Cause(ctx)
}

func (r *replica) newFeeder() (*feed.Feeder, *daemon.Client, error) {
	client, err := daemon.Dial(r.Server)
	if err != nil {
		return nil, nil, err
	}
	if r.settingsNow, err = r.settings(); err != nil {
		return nil, nil, err
	}
	feeder, err := feed.New(feed.Options{
		Factory: r.factory, Kinds: feed.Kinds, Dynamic: r.Dynamic, Discovery: r.Client.Discovery(), LookEvery: r.LookEvery,
		Daemon: client, Session: r.Session, Settings: r.settingsNow, Log: r.Log,
	})
	if err == nil && r.OnFeeder != nil {
		r.OnFeeder(feeder)
	}
	return feeder, client, err
}

// settings returns the function that reads the session's node groups. Nil: groups are by labels.
func (r *replica) settings() (func(context.Context) (*plannerpb.Settings, error), error) {
	switch r.NodeGroups {
	case "":
		return nil, nil
	case "provider":
		grouper, ok := r.Provider.(provider.Grouper)
		if !ok {
			return nil, errors.New("this provider knows no node groups")
		}
		return func(ctx context.Context) (*plannerpb.Settings, error) {
			nodes, err := r.factory.Core().V1().Nodes().Lister().List(labels.Everything())
			if err != nil {
				return nil, err
			}
			return groups.FromProvider(ctx, grouper, nodes)
		}, nil
	}
	if _, err := groups.FromFile(r.NodeGroups); err != nil {
		return nil, fmt.Errorf("node groups: %w", err)
	}
	return func(context.Context) (*plannerpb.Settings, error) { return groups.FromFile(r.NodeGroups) }, nil
}

// refreshSettings sends new settings to the daemon when the file, or the provider's groups, have
// changed. If they cannot be read, the session keeps its settings.
func (r *replica) refreshSettings(ctx context.Context, client *daemon.Client) error {
	every := r.SettingsEvery
	if every == 0 {
		every = time.Minute
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	sent := ""
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		settings, err := r.settingsNow(ctx)
		if err == nil && settings.GetNodeGroups() != sent {
			_, err = client.Open(ctx, &plannerpb.OpenRequest{Session: r.Session, Settings: settings})
		}
		if err != nil {
			r.Log("node groups: %v", err)
			continue
		}
		sent = settings.GetNodeGroups()
	}
}

func (r *replica) startEvents() func() {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: r.Client.CoreV1().Events("")})
	r.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "ebb-kube"})
	return broadcaster.Shutdown
}

// deletions returns the figures of the actuator, and whether this replica is the active one.
func (r *replica) deletions() (actuate.Totals, bool) {
	if actuator := r.actuator.Load(); actuator != nil {
		return actuator.Totals(), r.active.Load()
	}
	return actuate.Totals{}, false
}

// act serves the actuator while this replica is the active one.
func (r *replica) act(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), r.nodes.HasSynced, r.factory.Core().V1().Pods().Informer().HasSynced) {
		return context.Cause(ctx)
	}
	if r.Lease == "" {
		return r.lead(ctx)
	}
	election := r.LeaseTimes
	election.Client, election.Namespace, election.Name = r.Client, r.Namespace, r.Lease
	election.Identity, election.Log = r.Identity, r.Log
	return lease.Run(ctx, election, r.lead)
}

// lead runs the active replica until ctx ends.
func (r *replica) lead(ctx context.Context) error {
	actuator := r.newActuator()
	for {
		err := actuator.Start(ctx)
		if err == nil {
			break
		}
		r.Log("%v", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	defer actuator.Wait()
	if r.StatusConfigMap != "" {
		writer := &status.Writer{
			Client: r.Client, Nodes: r.factory.Core().V1().Nodes().Lister(), Namespace: r.Namespace, Name: r.StatusConfigMap,
			Every: r.StatusEvery, Now: r.Now, GroupOf: groups.OfLabels, Log: r.Log,
		}
		if r.daemon != nil {
			writer.Rounds = r.rounds
		}
		written := make(chan struct{})
		go func() { defer close(written); writer.Run(ctx) }()
		defer func() { <-written }()
	}
	r.server.Activate(actuator)
	defer r.server.Deactivate()
	r.actuator.Store(actuator)
	r.active.Store(true)
	defer r.active.Store(false)
	<-ctx.Done()
	return context.Cause(ctx)
}

// askRoundsFor is how long the daemon may take to report its last round.
const askRoundsFor = 2 * time.Second

// rounds asks the daemon for its last round.
func (r *replica) rounds(ctx context.Context) status.Rounds {
	ctx, cancel := context.WithTimeout(ctx, askRoundsFor)
	defer cancel()
	session := cmp.Or(r.Session, "default")
	reply, err := r.daemon.Status(ctx, &plannerpb.StatusRequest{Session: &session})
	if err != nil {
		return status.Rounds{Session: session, Problem: "the daemon: " + err.Error()}
	}
	for _, each := range reply.GetSessions() {
		return status.RoundsOf(each)
	}
	return status.Rounds{Session: session, Problem: "the daemon has no such session"}
}

func (r *replica) newActuator() *actuate.Actuator {
	o := r.Actuate
	o.Client, o.Nodes, o.Provider, o.Recorder = r.Client, r.nodes, r.Provider, r.events
	o.Now, o.Log, o.Name, o.Version = r.Now, r.Log, "ebb-kube", r.Version
	o.Marker = &taint.Marker{Nodes: r.Client.CoreV1().Nodes(), Retry: r.TaintRetry, Cordon: r.Cordon, Now: r.Now}
	o.Drainer = &drain.Drainer{
		Client: r.Client, Pods: r.factory.Core().V1().Pods().Lister(), Nodes: r.factory.Core().V1().Nodes().Lister(),
		Recorder: r.events, Options: r.Drain, Now: r.Now,
	}
	return actuate.New(o)
}
