//go:build record

package main

import (
	"encoding/json"
	"testing"
)

// Map order differs from run to run, so two answers about one case differ if the order of a map reaches them.
func TestCasesAreGeneratedAgainWithTheSameBytes(t *testing.T) {
	cases := readCases(t)
	for number := 0; number < len(cases); number += 1 + len(cases)/30 {
		recorded, err := json.Marshal(&cases[number])
		if err != nil {
			t.Fatal(err)
		}
		again, err := generate(1, number)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(again); string(text) != string(recorded) {
			t.Errorf("case %s differs:\nrecorded:  %s\ngenerated: %s", again.Name, recorded, text)
		}
	}
}

func TestAnsweringChangesNoAnswer(t *testing.T) {
	for number := range 10 {
		kase, err := generate(2, number)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := json.Marshal(kase.Answers)
		again, err := answer(kase, instanceTypes)
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := json.Marshal(again); string(first) != string(second) {
			t.Errorf("case %s:\nfirst:  %s\nsecond: %s", kase.Name, first, second)
		}
	}
}
