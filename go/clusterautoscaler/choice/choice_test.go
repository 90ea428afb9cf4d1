package choice_test

import (
	"flag"
	"io"
	"strings"
	"testing"

	"ebb/go/clusterautoscaler/choice"
)

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		want      choice.Choice
		wrong     string
	}{
		{nil, choice.Choice{}, ""},
		{[]string{"--scale-down-planner=shadow", "--scale-down-planner-address=unix:/run/ebb.sock"},
			choice.Choice{Planner: choice.Shadow, Address: "unix:/run/ebb.sock"}, ""},
		{[]string{"--scale-down-planner-check-one-in=7", "--scale-down-planner-mismatches-max=2", "--scale-down-planner-record-folder=/tmp"},
			choice.Choice{CheckOneIn: 7, MismatchesMax: 2, RecordFolder: "/tmp"}, ""},
		{[]string{"--scale-down-planner-check-one-in=0"}, choice.Choice{CheckOneIn: -1}, ""},
		{[]string{"--scale-down-planner-send-ahead=true"}, choice.Choice{}, ""},
		{[]string{"--scale-down-planner-send-ahead=false"}, choice.Choice{SendInLoops: true}, ""},
		{[]string{"--scale-down-planner-send-ahead=maybe"}, choice.Choice{}, "invalid syntax"},
		{[]string{"--scale-down-planner-keep-pods=shadow"}, choice.Choice{KeepPods: choice.Shadow}, ""},
		{[]string{"--scale-down-planner-keep-pods=yes"}, choice.Choice{}, "yes: is not off, on or shadow"},
		{[]string{"--scale-down-planner=ebbb"}, choice.Choice{}, "ebbb: is not builtin, ebb or shadow"},
		{[]string{"--scale-down-planner-address=/run/ebb.sock"}, choice.Choice{}, "is not unix:PATH"},
		{[]string{"--scale-down-planner-check-one-in=-1"}, choice.Choice{}, `"-1" is not a number from 0 on`},
		{[]string{"--scale-down-planner-mismatches-max=0"}, choice.Choice{}, `"0" is not a number from 1 on`},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		chosen := choice.Flags(flags)
		err := flags.Parse(test.arguments)
		if test.wrong == "" && (err != nil || *chosen != test.want) {
			t.Errorf("%q: got %+v, %v, want %+v", test.arguments, *chosen, err, test.want)
		}
		if test.wrong != "" && (err == nil || !strings.HasSuffix(err.Error(), test.wrong)) {
			t.Errorf("%q: got %v, want %s", test.arguments, err, test.wrong)
		}
	}
}
