// Command oracle compares ebb's filters and scores with kube-scheduler's own, over random clusters.
//
// It generates a cluster, and asks the real scheduler framework and `ebb filter --stdin` about its
// pods on every node. It compares the verdict, the rejecting plugin and the reasons, and the scores
// of nodes that fit. A disagreement is shrunk to the smallest cluster that shows it and becomes a
// regression case. README.md defines the protocol.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

type options struct {
	seed             uint64
	first            int
	minutes          float64
	verdicts         int64
	workers          int
	ebb              string
	self             bool
	stats            bool
	scores           bool
	save             string
	record           string
	disagreementsMax int
	limits           Limits
}

func parseOptions() (*options, error) {
	o := &options{}
	areas := flag.String("areas", "all", "rule families to exercise, comma-separated; \"-X\" is all but X")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the clusters (0: a fresh one, which is printed)")
	flag.IntVar(&o.first, "first", 0, "number of the first cluster of the seed")
	flag.Float64Var(&o.minutes, "minutes", 2, "stop after this long (0: no limit)")
	flag.Int64Var(&o.verdicts, "verdicts", 0, "stop after this many verdicts (0: no limit)")
	flag.IntVar(&o.limits.NodesMax, "max-nodes", 8, "nodes of the largest cluster")
	flag.IntVar(&o.limits.PodsAsked, "max-pods", 40, "pods of a cluster that are asked about")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "clusters in work at once, each with its own ebb")
	flag.StringVar(&o.ebb, "ebb", "", "program to ask (default $EBB, else ../../build/release/ebb)")
	flag.BoolVar(&o.self, "self", false, "ask the scheduler only, and print how often each rule refuses")
	flag.BoolVar(&o.scores, "scores", true, "compare the scores of the nodes that fit, too")
	flag.BoolVar(&o.stats, "stats", false, "print how often each rule refuses")
	flag.StringVar(&o.save, "save", regressionFolder, "folder for the cases of disagreements (\"\": none)")
	flag.StringVar(&o.record, "record", "", "add a case: the {\"symptom\", \"request\"} of a file with the scheduler's answer, and end")
	flag.IntVar(&o.disagreementsMax, "max-disagreements", 10, "stop after this many different ones")
	flag.Parse()
	var err error
	if o.limits.Areas, err = ParseAreas(*areas); err != nil {
		return nil, err
	}
	o.limits.Scores = o.scores
	if flag.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.limits.NodesMax < 1 || o.workers < 1 {
		return nil, fmt.Errorf("-max-nodes and -workers must be at least 1")
	}
	if o.seed == 0 {
		o.seed = rand.Uint64() >> 32
	}
	if !o.self && o.record == "" {
		o.ebb, err = findEbb(o.ebb)
	}
	return o, err
}

func main() {
	quiet()
	o, err := parseOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
	if o.record != "" {
		if err := record(o.record, o.save); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(2)
		}
		return
	}
	agreed, err := newHunt(o).run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
	if !agreed {
		os.Exit(1)
	}
}

// record asks the scheduler about the request in a file, and writes the case into folder under the
// file's name.
func record(path, folder string) error {
	regression, err := LoadRegression(path)
	if err != nil {
		return err
	}
	if !regression.isOfThisScheduler() {
		return fmt.Errorf("%s: is not of %s, which this program is built against", path, kubernetesVersion)
	}
	ctx := klog.NewContext(context.Background(), logr.Discard())
	scheduler, err := NewScheduler(ctx)
	if err != nil {
		return err
	}
	if regression.Response, err = scheduler.Answer(ctx, regression.Request); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return regression.write(filepath.Join(folder, filepath.Base(path)))
}

// quiet discards the scheduler's log, in which plugins report odd objects: these clusters are full
// of them.
func quiet() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

// hunt is a run over the clusters of a seed.
type hunt struct {
	options  *options
	next     atomic.Int64 // Number of the next cluster.
	verdicts atomic.Int64
	stop     atomic.Bool
	deadline time.Time
	started  time.Time

	mutex sync.Mutex
	found map[string]int // Disagreements by signature.
	stats *Stats
}

func newHunt(o *options) *hunt {
	h := &hunt{options: o, found: map[string]int{}, stats: newStats(), started: time.Now()}
	h.next.Store(int64(o.first))
	if o.minutes > 0 {
		h.deadline = h.started.Add(time.Duration(o.minutes * float64(time.Minute)))
	}
	return h
}

// run compares clusters until the limit of time or verdicts is reached, and reports whether all
// answers agreed.
func (h *hunt) run() (bool, error) {
	fmt.Printf("seed %d\n", h.options.seed)
	var wait sync.WaitGroup
	failures := make([]error, h.options.workers)
	var plugins []string
	for i := range h.options.workers {
		worker, err := newWorker(h)
		if err != nil {
			h.stop.Store(true)
			wait.Wait()
			return false, err
		}
		plugins = worker.scheduler.plugins
		wait.Go(func() { failures[i] = worker.run() })
	}
	wait.Wait()
	for _, err := range failures {
		if err != nil {
			return false, err
		}
	}
	h.report(plugins)
	return len(h.found) == 0, nil
}

func (h *hunt) report(plugins []string) {
	if h.options.stats || h.options.self {
		h.stats.write(os.Stdout, plugins)
		fmt.Println()
	}
	for _, signature := range sortedCounts(h.found) {
		fmt.Printf("%8d  %s\n", h.found[signature], signature)
	}
	seconds := time.Since(h.started).Seconds()
	fmt.Printf("seed %d: %d verdicts on %d clusters in %.0f s (%.0f/s), %.1f%% fit, %d disagreements\n",
		h.options.seed, h.stats.Verdicts, h.stats.Clusters, seconds,
		float64(h.stats.Verdicts)/seconds, percent(h.stats.Fitting, h.stats.Verdicts), len(h.found))
	if h.options.scores {
		h.stats.Scores.write(os.Stdout)
	}
}

func sortedCounts(counts map[string]int) []string {
	var keys []string
	for key := range counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return counts[b] - counts[a] })
	return keys
}

func (h *hunt) over() bool {
	return h.stop.Load() || (!h.deadline.IsZero() && time.Now().After(h.deadline)) ||
		(h.options.verdicts > 0 && h.verdicts.Load() >= h.options.verdicts)
}

// worker processes one cluster after another.
type worker struct {
	hunt      *hunt
	context   context.Context
	scheduler *Scheduler
	ebb       *Ebb // Nil if only the scheduler is asked.
	stats     *Stats
}

func newWorker(h *hunt) (*worker, error) {
	w := &worker{hunt: h, stats: newStats(),
		context: klog.NewContext(context.Background(), logr.Discard())}
	var err error
	if w.scheduler, err = NewScheduler(w.context); err != nil {
		return nil, err
	}
	if !h.options.self {
		w.ebb, err = StartEbb(h.options.ebb)
	}
	return w, err
}

func (w *worker) run() error {
	if w.ebb != nil {
		defer w.ebb.Stop()
	}
	for !w.hunt.over() {
		number := int(w.hunt.next.Add(1)) - 1
		request := Generate(w.hunt.options.seed, number, w.hunt.options.limits)
		if err := w.try(request); err != nil {
			return fmt.Errorf("cluster %d: %w", number, err)
		}
	}
	w.hunt.mutex.Lock()
	defer w.hunt.mutex.Unlock()
	w.hunt.stats.merge(w.stats)
	return nil
}

// try asks both sides about one cluster; ebb works at the same time as the scheduler.
func (w *worker) try(request *Request) error {
	var sent error
	if w.ebb != nil {
		line, err := json.Marshal(request)
		if err != nil {
			return err
		}
		sent = w.ebb.Send(line)
	}
	want, err := w.askScheduler(request)
	if err != nil {
		return err
	}
	w.hunt.verdicts.Add(int64(len(want.Results) * len(w.scheduler.snapshot.nodes)))
	if w.ebb == nil {
		return nil
	}
	var got *Response
	if sent == nil {
		got, sent = w.ebb.Receive()
	}
	for _, d := range judge(want, got, sent) {
		w.report(request, d)
	}
	return nil
}

// askScheduler answers a request and counts the verdicts of each rule.
func (w *worker) askScheduler(request *Request) (*Response, error) {
	response, skipped, err := w.scheduler.answer(w.context, request)
	if err != nil {
		return nil, err
	}
	w.stats.Clusters++
	for i := range response.Results {
		w.stats.add(w.scheduler.plugins, response.Results[i].Nodes, skipped[i])
		if request.Scores {
			w.stats.Scores.add(&response.Results[i])
		}
	}
	return response, nil
}

// judge compares the answers; a failure to answer is the disagreement itself.
func judge(want, got *Response, failure error) []Disagreement {
	if failure != nil {
		return []Disagreement{{Kind: "crash", Text: failure.Error()}}
	}
	return Compare(want, got)
}

// report counts a disagreement; the first one with its signature is shrunk, printed and saved.
func (w *worker) report(request *Request, d Disagreement) {
	signature := d.Signature()
	w.hunt.mutex.Lock()
	w.hunt.found[signature]++
	isNew := w.hunt.found[signature] == 1
	if len(w.hunt.found) >= w.hunt.options.disagreementsMax {
		w.hunt.stop.Store(true)
	}
	w.hunt.mutex.Unlock()
	if !isNew {
		return
	}
	smallest := Shrink(request, func(smaller *Request) bool {
		found := w.disagreements(smaller)
		return slices.ContainsFunc(found,
			func(d Disagreement) bool { return d.Signature() == signature })
	})
	w.publish(request.ID, smallest, signature)
}

func (w *worker) disagreements(request *Request) []Disagreement {
	want, err := w.scheduler.Answer(w.context, request)
	if err != nil {
		return nil
	}
	got, failure := w.ebb.Ask(request)
	return judge(want, got, failure)
}

func (w *worker) publish(number int, smallest *Request, signature string) {
	smallest.ID = 1
	text := signature
	for _, d := range w.disagreements(smallest) {
		if d.Signature() == signature {
			text = d.String()
			break
		}
	}
	w.hunt.mutex.Lock()
	defer w.hunt.mutex.Unlock()
	fmt.Printf("\nDISAGREEMENT (-seed %d, cluster %d) %s\n", w.hunt.options.seed, number, text)
	want, err := w.scheduler.Answer(w.context, smallest)
	if err != nil {
		fmt.Println("  the scheduler:", err)
		return
	}
	if w.hunt.options.save == "" {
		line, _ := json.Marshal(smallest)
		fmt.Printf("  %s\n", line)
		return
	}
	path, err := (&Regression{Symptom: text, Request: smallest, Response: want}).Save(
		w.hunt.options.save, signature)
	if err != nil {
		fmt.Println("  not saved:", err)
		return
	}
	fmt.Printf("  %s\n", path)
}
