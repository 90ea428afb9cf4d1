package fallback_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"ebb/go/clusterautoscaler/fallback"
)

func TestSaysEachCauseOnceAndCountsAll(t *testing.T) {
	var said []string
	counted := map[string]int{}
	log := fallback.Log{
		Say:   func(cause string, detail error) { said = append(said, cause+": "+detail.Error()) },
		Count: func(cause string, times int) { counted[cause] += times },
	}
	log.Note(fallback.Deadline, 1, errors.New("first"))
	log.Note(fallback.DynamicResources, 3, errors.New("claims"))
	log.Note(fallback.Deadline, 1, errors.New("second"))
	log.Note(fallback.GPU, 0, errors.New("none"))
	if want := []string{"deadline: first", "dynamic-resources: claims"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	want := map[string]int{fallback.Deadline: 2, fallback.DynamicResources: 3}
	if !maps.Equal(counted, want) || !maps.Equal(log.Counts(), want) {
		t.Errorf("counted %v and %v, want %v", counted, log.Counts(), want)
	}
}

func TestCallbacksMayBeNil(t *testing.T) {
	var log fallback.Log
	log.Note(fallback.Deadline, 1, nil)
	if log.Counts()[fallback.Deadline] != 1 {
		t.Error("not counted")
	}
}
