// Command selectors compares ebb's evaluator of device selectors (cel/) with Kubernetes'.
//
// It generates random expressions and devices, asks k8s.io/dynamic-resource-allocation/cel and the
// program selector_answers, and compares: whether the expression compiles, the result for each
// device, and the cost of the evaluation. README.md describes the flags.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
)

// features are those that are on by default.
var features = cel.Features{EnableConsumableCapacity: true}

type result struct {
	Result string `json:"result"`
	Cost   uint64 `json:"cost"`
	Why    string `json:"why"`
}

type answer struct {
	Compiled string   `json:"compiled"`
	Why      string   `json:"why"`
	Results  []result `json:"results"`
}

type attribute struct {
	Name    string  `json:"name"`
	Bool    *bool   `json:"bool,omitempty"`
	Int     *int64  `json:"int,omitempty"`
	String  *string `json:"string,omitempty"`
	Version *string `json:"version,omitempty"`
}

type capacity struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type device struct {
	Driver     string      `json:"driver"`
	Shared     bool        `json:"shared"`
	Attributes []attribute `json:"attributes"`
	Capacity   []capacity  `json:"capacity"`
}

// kubernetes is the device as Kubernetes' evaluator takes it.
func (d *device) kubernetes() cel.Device {
	out := cel.Device{
		Driver:                   d.Driver,
		AllowMultipleAllocations: &d.Shared,
		Attributes:               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{},
		Capacity:                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{},
	}
	for _, a := range d.Attributes {
		out.Attributes[resourceapi.QualifiedName(a.Name)] = resourceapi.DeviceAttribute{
			BoolValue: a.Bool, IntValue: a.Int, StringValue: a.String, VersionValue: a.Version}
	}
	for _, c := range d.Capacity {
		out.Capacity[resourceapi.QualifiedName(c.Name)] =
			resourceapi.DeviceCapacity{Value: resource.MustParse(c.Value)}
	}
	return out
}

// compile asks Kubernetes whether the expression compiles. Kubernetes panics over some, and ebb must
// not understand these.
func compile(expression string) (out cel.CompilationResult, panics bool) {
	defer func() {
		if recover() != nil {
			panics = true
		}
	}()
	out = cel.GetCompiler(features).CompileCELExpression(expression, cel.Options{DisableCostEstimation: true})
	return out, false
}

// evaluate asks Kubernetes about one device.
func evaluate(compiled *cel.CompilationResult, d *device) (out result) {
	// The evaluator of Kubernetes fails in a few cases by a panic of Go.
	defer func() {
		if recovered := recover(); recovered != nil {
			out = result{Result: "error", Why: fmt.Sprint(recovered)}
		}
	}()
	matches, details, err := compiled.DeviceMatches(context.Background(), d.kubernetes())
	if details != nil && details.ActualCost() != nil {
		out.Cost = *details.ActualCost()
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "actual cost limit exceeded"):
		out.Result = "cost"
	case err != nil:
		out.Result, out.Why = "error", err.Error()
	case matches:
		out.Result = "true"
	default:
		out.Result = "false"
	}
	return out
}

// answers is a running selector_answers.
type answers struct {
	input  io.WriteCloser
	output *bufio.Reader
}

func start(path string) (*answers, error) {
	command := exec.Command(path)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &answers{input, bufio.NewReaderSize(output, 1<<20)}, command.Start()
}

func (a *answers) ask(devices []*device, expressions []string) ([]answer, error) {
	line, err := json.Marshal(map[string]any{"version": kubernetesVersion, "devices": devices, "expressions": expressions})
	if err != nil {
		return nil, err
	}
	if _, err := a.input.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	line, err = a.output.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var reply struct {
		Answers []answer `json:"answers"`
	}
	return reply.Answers, json.Unmarshal(line, &reply)
}

type hunt struct {
	pairs, expressions, compiled, refused int
	unknown                               map[string]int
	results                               map[string]int
	unordered                             int
	disagreements                         map[string]string
}

// compare compares the answers about one expression.
func (h *hunt) compare(expression string, devices []*device, ours answer) {
	h.expressions++
	theirs, panics := compile(expression)
	if panics {
		if ours.Compiled == "ok" {
			h.disagree("compile", expression, "Kubernetes panics")
		}
		return
	}
	if ours.Compiled == "unknown" {
		h.unknown["compile: "+ours.Why]++
		if theirs.Error == nil {
			h.pairs += len(devices)
		}
		return
	}
	if (theirs.Error == nil) != (ours.Compiled == "ok") {
		why := "accepted by Kubernetes; ebb: " + ours.Why
		if theirs.Error != nil {
			why = "refused by Kubernetes: " + theirs.Error.Detail
		}
		h.disagree("compile", expression, why)
		return
	}
	if theirs.Error != nil {
		h.refused++
		h.pairs++
		return
	}
	h.compiled++
	for i, d := range devices {
		h.pairs++
		mine := ours.Results[i]
		h.results[mine.Result]++
		if mine.Result == "unknown" {
			h.unknown["evaluate: "+mine.Why]++
			continue
		}
		theirs := evaluate(&theirs, d)
		if same(mine, theirs) {
			continue
		}
		// The order of maps is random in Kubernetes.
		isPossible := false
		for range 40 {
			again, _ := compile(expression)
			isPossible = isPossible || same(mine, evaluate(&again, d))
		}
		if isPossible {
			h.unordered++
			continue
		}
		text, _ := json.Marshal(d)
		h.disagree("evaluate", expression,
			fmt.Sprintf("Kubernetes: %+v\n  ebb:        %+v\n  device: %s", theirs, mine, text))
		return
	}
}

func same(mine, theirs result) bool {
	if strings.HasPrefix(theirs.Why, "internal error") { // A panic of Go, before the step was counted.
		return mine.Result == "error"
	}
	return mine.Result == theirs.Result &&
		(mine.Cost == theirs.Cost || mine.Result == "cost" || theirs.Cost == 0 && mine.Result == "error")
}

func (h *hunt) disagree(kind, expression, why string) {
	if len(h.disagreements) < 200 {
		h.disagreements[expression] = kind + ": " + why
	}
}

func (h *hunt) report(seed uint64, seconds float64) {
	shortest := []string{}
	for expression := range h.disagreements {
		shortest = append(shortest, expression)
	}
	slices.SortFunc(shortest, func(a, b string) int { return len(a) - len(b) })
	for i, expression := range shortest {
		if i == 25 {
			break
		}
		fmt.Printf("%s\n  %s\n", expression, h.disagreements[expression])
	}
	reasons := []string{}
	total := 0
	for reason, count := range h.unknown {
		reasons = append(reasons, reason)
		total += count
	}
	slices.SortFunc(reasons, func(a, b string) int { return h.unknown[b] - h.unknown[a] })
	for _, reason := range reasons {
		fmt.Printf("%8d  %s\n", h.unknown[reason], reason)
	}
	fmt.Printf("results %v; %d depend on the order of maps\n", h.results, h.unordered)
	fmt.Printf("seed %d: %d pairs of %d expressions (%d compile, %d refused, %d answers not understood) in %.0f s, %d disagreements\n",
		seed, h.pairs, h.expressions, h.compiled, h.refused, total, seconds, len(h.disagreements))
}

func main() {
	seed := flag.Uint64("seed", 0, "seed of the expressions (0: a fresh one)")
	pairs := flag.Int("pairs", 1_000_000, "stop after this many pairs of an expression and a device")
	program := flag.String("program", os.Getenv("SELECTOR_ANSWERS"), "the program selector_answers")
	one := flag.String("one", "", "compare this expression only")
	flag.Parse()
	if *program == "" {
		*program = "../../build/release/selector_answers"
	}
	if *seed == 0 {
		*seed = rand.Uint64() >> 32
	}
	ours, err := start(*program)
	if err != nil {
		fmt.Fprintln(os.Stderr, "selectors:", err)
		os.Exit(2)
	}
	h := &hunt{unknown: map[string]int{}, results: map[string]int{}, disagreements: map[string]string{}}
	g := &generator{rand.New(rand.NewPCG(*seed, 1)), nil, 0}
	began := time.Now()
	for h.pairs < *pairs {
		devices := []*device{}
		for range 8 {
			devices = append(devices, g.device())
		}
		expressions := []string{}
		for range 16 {
			expressions = append(expressions, g.expression())
		}
		if *one != "" {
			expressions = []string{*one}
		}
		replies, err := ours.ask(devices, expressions)
		if err != nil {
			fmt.Fprintln(os.Stderr, "selectors: the program ended:", err, strings.Join(expressions, "\n"))
			os.Exit(1)
		}
		for i, reply := range replies {
			h.compare(expressions[i], devices, reply)
		}
		if *one != "" || len(h.disagreements) >= 100 {
			break
		}
	}
	h.report(*seed, time.Since(began).Seconds())
	if len(h.disagreements) > 0 {
		os.Exit(1)
	}
}
