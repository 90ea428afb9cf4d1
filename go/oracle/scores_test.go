package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

var scoredAreas = Limits{NodesMax: 8, PodsAsked: 40, Areas: Areas, Scores: true}

// loveTaints plants a mistake: a node with a soft taint that fits scores one more.
func loveTaints(request *Request, response *Response) {
	for _, object := range request.Objects {
		node, ok := object.(*v1.Node)
		if !ok || !slices.ContainsFunc(node.Spec.Taints,
			func(t v1.Taint) bool { return t.Effect == v1.TaintEffectPreferNoSchedule }) {
			continue
		}
		for i := range response.Results {
			for j := range response.Results[i].Nodes {
				if v := &response.Results[i].Nodes[j]; v.Node == node.Name && v.Scores != nil {
					v.Scores["TaintToleration"]++
				}
			}
		}
	}
}

func TestScoresOfTheSchedulerItselfAgree(t *testing.T) {
	o := huntOptions(t, "truthfully")
	o.limits = scoredAreas
	agreed, err := newHunt(o).run()
	if err != nil || !agreed {
		t.Errorf("agreed %v, error %v", agreed, err)
	}
}

func TestAWrongScoreIsFoundAndShrunkToOnePodAndOneNode(t *testing.T) {
	o := huntOptions(t, "loves taints")
	o.limits = scoredAreas
	agreed, err := newHunt(o).run()
	if err != nil || agreed {
		t.Fatalf("agreed %v, error %v; want the mistake found", agreed, err)
	}
	paths, _ := filepath.Glob(filepath.Join(o.save, "score-tainttoleration-*.json"))
	if len(paths) != 1 {
		t.Fatalf("saved %v, want one case of TaintToleration's score", paths)
	}
	regression, err := LoadRegression(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if !regression.Request.Scores || len(regression.Request.Objects) != 2 {
		t.Errorf("scores %v, %d objects; want scores of one pod and one node",
			regression.Request.Scores, len(regression.Request.Objects))
	}
	if !strings.Contains(regression.Symptom, "TaintToleration: the scheduler says ") {
		t.Errorf("symptom %q", regression.Symptom)
	}
}

func TestScoresThatDifferAreFoundUnlessLeftOut(t *testing.T) {
	verdicts := func(fit, spread, total int64) *PodVerdicts {
		return &PodVerdicts{Pod: "default/a", Nodes: []Verdict{{Node: "n1", Fits: true, Total: total,
			Scores: map[string]int64{"NodeResourcesFit": fit, "PodTopologySpread": spread}}}}
	}
	for _, c := range []struct {
		leftOut map[string]string
		got     *PodVerdicts
		want    []string
	}{
		{nil, verdicts(50, 200, 250), nil},
		{nil, verdicts(51, 200, 250), []string{"NodeResourcesFit"}},
		{nil, verdicts(50, 100, 150), []string{"PodTopologySpread"}},
		{nil, verdicts(50, 200, 249), []string{"total"}},
		{map[string]string{"PodTopologySpread": "why"}, verdicts(50, 100, 150), nil},
		{map[string]string{"PodTopologySpread": "why"}, verdicts(49, 100, 149),
			[]string{"NodeResourcesFit"}},
		// A missing score counts as 0.
		{nil, &PodVerdicts{Pod: "default/a", Nodes: []Verdict{{Node: "n1", Fits: true}}},
			[]string{"NodeResourcesFit", "PodTopologySpread"}},
	} {
		want := verdicts(50, 200, 250)
		want.LeftOut = c.leftOut
		var scorers []string
		for _, d := range comparePod(want, c.got) {
			if d.Kind != "score" {
				t.Errorf("kind %q, want score", d.Kind)
			}
			scorers = append(scorers, d.Scorer)
		}
		if !slices.Equal(scorers, c.want) {
			t.Errorf("left out %v, got %v: %v differ, want %v", c.leftOut, c.got.Nodes, scorers, c.want)
		}
	}
}

func TestScoresAreNotComparedWhereVerdictsDiffer(t *testing.T) {
	want := &PodVerdicts{Nodes: []Verdict{{Node: "n1", Fits: true, Total: 3,
		Scores: map[string]int64{"ImageLocality": 3}}, {Node: "n2", Fits: true}}}
	got := &PodVerdicts{Nodes: []Verdict{{Node: "n1", Fits: true}, {Node: "n2", Plugin: "NodePorts"}}}
	found := comparePod(want, got)
	if len(found) != 1 || found[0].Kind != "verdict" {
		t.Errorf("%v, want the verdict alone", found)
	}
}

func TestASeedHasTheSamePodsWithScores(t *testing.T) {
	for number := range 50 {
		without, with := Generate(9, number, allAreas), Generate(9, number, scoredAreas)
		if !slices.Equal(without.Pods, with.Pods) {
			t.Fatalf("cluster %d: pods %v, with scores %v", number, without.Pods, with.Pods)
		}
	}
}

func TestEveryPluginDistinguishesNodesAndSomePodsAreCompared(t *testing.T) {
	scheduler, ctx := newTestScheduler(t)
	w := &worker{hunt: newHunt(&options{}), context: ctx, scheduler: scheduler, stats: newStats()}
	for number := range 1500 {
		if _, err := w.askScheduler(Generate(6, number, scoredAreas)); err != nil {
			t.Fatal(err)
		}
	}
	scores := &w.stats.Scores
	for _, plugin := range append(slices.Clone(scorePlugins), totalScore) {
		want := 1.0
		if plugin == "DynamicResources" {
			want = 0.1 // Few pods have claims with alternatives that several nodes serve.
		}
		if share := percent(scores.Apart[plugin], scores.Pods[plugin]); share < want {
			t.Errorf("%s distinguished the nodes of %.1f%% of pods, want %.1f%%", plugin, share, want)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(scores.LeftOut)) {
		if scores.LeftOut[key] < 50 {
			t.Errorf("left out %d times: %s", scores.LeftOut[key], key)
		}
	}
}

func TestARequestForScoresIsReadBack(t *testing.T) {
	text, _ := json.Marshal(&Request{ID: 1, Scores: true})
	again := &Request{}
	if err := json.Unmarshal(text, again); err != nil || !again.Scores {
		t.Errorf("scores %v, error %v", again.Scores, err)
	}
}
