package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const folder = "../../tests/karpenter/cases"

// readCases returns all recorded cases, and fails if there are none.
func readCases(t *testing.T) []Case {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	for _, path := range paths {
		file, err := readFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if file.Karpenter != karpenterVersion {
			t.Errorf("%s was recorded with Karpenter %s, not %s", path, file.Karpenter, karpenterVersion)
		}
		cases = append(cases, file.Cases...)
	}
	if len(cases) < 300 {
		t.Fatalf("%d cases; at least 300 are expected", len(cases))
	}
	return cases
}

func TestEveryFileIsWrittenAsTheProgramWritesIt(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, path := range paths {
		file, err := readFile(path)
		if err != nil {
			t.Fatal(err)
		}
		written, err := marshalFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); !bytes.Equal(text, written) {
			t.Errorf("%s has other bytes than the program would write", path)
		}
	}
}

func TestEveryAnswerIsAboutAnObjectOfItsCase(t *testing.T) {
	for _, kase := range readCases(t) {
		names := map[string]bool{}
		for _, item := range kase.Input.Items {
			object := struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}{}
			if err := json.Unmarshal(item, &object); err != nil {
				t.Fatal(err)
			}
			names[object.Kind+"/"+object.Metadata.Namespace+"/"+object.Metadata.Name] = true
		}
		for name, node := range kase.Answers.Nodes {
			if claim, isClaim := bytes.CutPrefix([]byte(name), []byte("nodeclaim/")); isClaim {
				if !names["NodeClaim//"+string(claim)] {
					t.Errorf("case %s: there is no NodeClaim %s", kase.Name, claim)
				}
			} else if !names["Node//"+name] {
				t.Errorf("case %s: there is no node %s", kase.Name, name)
			}
			if (node.Blocked == "") != (node.Simulation != nil) {
				t.Errorf("case %s: node %s has to be either blocked or simulated", kase.Name, name)
			}
			for _, pod := range node.Reschedulable {
				if !names["Pod/"+pod] {
					t.Errorf("case %s: there is no pod %s", kase.Name, pod)
				}
			}
		}
		for pool := range kase.Answers.Budgets {
			if !names["NodePool//"+pool] {
				t.Errorf("case %s: there is no NodePool %s", kase.Name, pool)
			}
		}
	}
}

// A kind of answer that no case has is a kind that no test compares.
func TestCasesHaveAnswersOfEveryKind(t *testing.T) {
	seen := map[string]int{}
	for _, kase := range readCases(t) {
		seen["emptiness "+kase.Answers.Emptiness.Decision]++
		seen["multi "+kase.Answers.Multi.Decision]++
		for _, set := range kase.Answers.Together {
			seen[fmt.Sprintf("together fits: %t", set.Fits)]++
		}
		for _, node := range kase.Answers.Nodes {
			if node.Blocked != "" {
				seen["blocked"]++
				if node.EventualCandidate {
					seen["blocked, but not for drift"]++
				}
			} else if node.Simulation.Fits {
				seen["fits"]++
			} else {
				seen["does not fit"]++
			}
			if node.Single != nil {
				seen["single "+node.Single.Decision]++
			}
		}
	}
	for _, kind := range []string{"emptiness delete", "emptiness no-op", "multi delete", "multi replace", "multi no-op",
		"blocked", "blocked, but not for drift", "together fits: true", "together fits: false", "fits", "does not fit", "single delete", "single replace", "single no-op"} {
		if seen[kind] < 10 {
			t.Errorf("%d answers %q; at least 10 are expected", seen[kind], kind)
		}
	}
}
