package feed_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/kube/feed"
	"ebb/go/kube/internal/fakecluster"
)

// lines are the lines that a feeder logged, with their times replaced.
type lines struct {
	mu  sync.Mutex
	all []string
}

var aTime = regexp.MustCompile(`\b\d+\.\d s\b`)

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, aTime.ReplaceAllString(fmt.Sprintf(format, args...), "N s"))
}

func (l *lines) now() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func (l *lines) has(line string) bool { return slices.Contains(l.now(), line) }

func (l *lines) options(o *feed.Options) { o.Log = l.add }

// Symptom: `ebb-kube --feed-only` logged nothing at all.
func TestAFeederLogsItsKindsAndWhenItIsInSync(t *testing.T) {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid-of-the-cluster"}}
	c := fakecluster.New(fakecluster.Node("a"), fakecluster.Node("b"), system, fakecluster.Pod("web-1", "a"))
	c.Serves(served())
	client := objects(t)
	client.PrependReactor("list", "nodeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(nodeClaims.GroupResource(), "", nil)
	})
	d := startDaemon(t)
	var log lines
	f := feedFrom(t, c, d, optional(c, client), log.options)
	idle(t, f)
	fakecluster.Eventually(t, "it says so", func() bool { return log.has("in sync: 2 nodes, 1 pod in N s") })
	said := log.now()
	at := func(begins string) int {
		return slices.IndexFunc(said, func(line string) bool { return strings.HasPrefix(line, begins) })
	}
	of := func(begins string) string {
		if i := at(begins); i >= 0 {
			return said[i]
		}
		t.Errorf("no line begins with %q:\n%s", begins, strings.Join(said, "\n"))
		return ""
	}
	of("cluster uid-of-the-cluster ")
	fed := of("feeds 20 kinds: Namespace, Node, ReplicaSet, ")
	for _, kind := range []string{"Machine.cluster.x-k8s.io", "VerticalPodAutoscaler.autoscaling.k8s.io", "PodDisruptionBudget", "Pod"} {
		if !slices.Contains(strings.Split(fed[strings.Index(fed, ": ")+2:], ", "), kind) {
			t.Errorf("%s is not in %q", kind, fed)
		}
	}
	of("cannot list 1 kind, which the daemon names in its answers: NodeClaim.karpenter.sh")
	if absent := of("the API server does not serve "); !strings.Contains(absent, "NodePool.karpenter.sh") || strings.Contains(absent, "NodeClaim") {
		t.Errorf("%q", absent)
	}
	if at("in sync: ") < at("the API server does not serve ") || at("feeds ") < at("cluster ") {
		t.Errorf("in another order:\n%s", strings.Join(said, "\n"))
	}
}

func TestAFeederLogsThatItLostTheDaemonAndFoundItAgain(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"), fakecluster.Pod("web-1", "a"), fakecluster.Pod("web-2", "a"))
	d := startDaemon(t)
	var log lines
	f := feedFrom(t, c, d, log.options)
	idle(t, f)
	d.restart()
	fakecluster.Eventually(t, "it says so", func() bool {
		return log.has("in sync again: 1 node, 2 pods; the daemon missed changes for N s")
	})
	said := log.now()
	lost := slices.IndexFunc(said, func(line string) bool { return strings.HasPrefix(line, "the daemon: ") })
	first := slices.Index(said, "in sync: 1 node, 2 pods in N s")
	if first < 0 || lost < first || !log.has("cluster of unknown UID: it has no namespace kube-system, so the daemon cannot distinguish it from others") {
		t.Errorf("%s", strings.Join(said, "\n"))
	}
}

func TestAFeederLogsABrokenWatchAndContinues(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	var mu sync.Mutex
	broken := true
	c.Client.PrependWatchReactor("replicasets", func(clienttesting.Action) (bool, watch.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return true, nil, fmt.Errorf("no watch today")
		}
		return false, nil, nil
	})
	d := startDaemon(t)
	var log lines
	feedFrom(t, c, d, log.options)
	fakecluster.Eventually(t, "it says so", func() bool { return log.has("the watch of ReplicaSet broke: no watch today") })
	mu.Lock()
	broken = false
	mu.Unlock()
	// The watch lists again; the new version shows that it has recovered.
	replicas := fakecluster.ReplicaSet()
	replicas.ResourceVersion = "2000"
	if _, err := c.Client.AppsV1().ReplicaSets("default").Create(t.Context(), replicas, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(2 * time.Minute)
	for !log.has("the watch of ReplicaSet goes on") {
		if time.Now().After(end) {
			t.Fatalf("%s", strings.Join(log.now(), "\n"))
		}
		time.Sleep(10 * time.Millisecond)
	}
	fakecluster.Eventually(t, "and that all is there", func() bool { return log.has("in sync again: 1 node, 0 pods") })
}
