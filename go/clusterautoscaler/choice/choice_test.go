package choice_test

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"ebb/go/clusterautoscaler/choice"
)

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{nil, "{Planner: Address:}"},
		{[]string{"--scale-down-planner=shadow", "--scale-down-planner-address=unix:/run/ebb.sock"}, "{Planner:shadow Address:unix:/run/ebb.sock}"},
		{[]string{"--scale-down-planner=ebbb"}, "ebbb: is not builtin, ebb or shadow"},
		{[]string{"--scale-down-planner-address=/run/ebb.sock"}, "is not unix:PATH"},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		chosen := choice.Flags(flags)
		err := flags.Parse(test.arguments)
		got := fmt.Sprintf("%+v", *chosen)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.arguments, got, test.want)
		}
	}
}
