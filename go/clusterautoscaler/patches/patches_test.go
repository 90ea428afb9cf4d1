package patches_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The README shows the patch of the newest commit as it is. EBB_WRITE_DOCS=1 renews it.
func TestReadmeShowsThePatch(t *testing.T) {
	const readme, begin, end = "../README.md", "<!-- patches/core-33c3f97bf.patch -->\n```diff\n", "```\n<!-- end -->"
	text, patch := read(t, readme), read(t, "core-33c3f97bf.patch")
	before, rest, found := strings.Cut(text, begin)
	shown, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the patch: %s...%s", readme, begin, end)
	}
	switch {
	case shown == patch:
	case os.Getenv("EBB_WRITE_DOCS") != "":
		if err := os.WriteFile(readme, []byte(before+begin+patch+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows\n%s\nand the patch is\n%s", readme, shown, patch)
	}
}

// A patch holds no more of the autoscaler than it needs: one line around each change, and no name of
// the surrounding function.
func TestPatchesHaveOneLineOfContext(t *testing.T) {
	head := regexp.MustCompile(`^@@ -[0-9]+,([0-9]+) \+[0-9]+,[0-9]+ @@$`)
	patches, err := filepath.Glob("*.patch")
	if err != nil || len(patches) == 0 {
		t.Fatal(patches, err)
	}
	for _, patch := range patches {
		removed, context := 0, 0
		for i, line := range strings.Split(strings.TrimSuffix(read(t, patch), "\n"), "\n") {
			switch {
			case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			case strings.HasPrefix(line, "@@"):
				if !head.MatchString(line) {
					t.Errorf("%s:%d: %q", patch, i+1, line)
				}
				context = 0
			case strings.HasPrefix(line, "-"):
				removed++
			case strings.HasPrefix(line, " "):
				if context++; context > 2 {
					t.Errorf("%s:%d: more than one line around a change", patch, i+1)
				}
			}
		}
		if removed != 1 {
			t.Errorf("%s removes %d lines", patch, removed)
		}
	}
}

// A tree that has little more than the lines which the patches look for.
func newTree(t *testing.T, module, under, imports string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"hack/boilerplate/boilerplate.go.txt":               "/*\nCopyright YEAR The Authors.\n*/\n\n",
		"hack/boilerplate/boilerplate.py":                   "#!/bin/sh\nfor file; do case $file in */ebbplanner/*) grep -q 'Copyright 2[0-9]* The Authors' \"$file\" || echo \"$file\";; esac; done\n",
		under + "go.mod":                                    "module " + module + "\n\ngo 1.26.0\n",
		under + "empty/empty.go":                            "// Package empty compiles.\npackage empty\n",
		under + "simulator/scheduling/hinting_simulator.go": "package scheduling\n\nfunc (s *HintingSimulator) TrySchedulePods(snapshot any) {}\n",
	} {
		write(t, filepath.Join(root, name), text)
	}
	pkg := under
	if under == "" {
		pkg = "pkg/"
	}
	write(t, filepath.Join(root, pkg+"config/autoscaling_options.go"), "package config\n\nimport (\n\t\"time\"\n\n"+imports+`)

type AutoscalingOptions struct {
	// NodeGroupDefaults are default values for per NodeGroup options.
	NodeGroupDefaults time.Duration
}
`)
	flags := `package flags

// AddFlags adds flags.
func (p *AutoscalingFlags) AddFlags(fs *pflag.FlagSet) {
	// Set of flags directly bound to internal AutoscalingOptions struct
	fs.StringVar(&p.o.ClusterName, "cluster-name", "", "Autoscaled cluster name, if available")
}
`
	if under != "" {
		flags = `package flags

import (
	"flag"

	"k8s.io/client-go/rest"
)

var (
	clusterName             = flag.String("cluster-name", "", "Autoscaled cluster name, if available")
	aNameOfTwentyThreeBytes = 0
)

func createAutoscalingOptions() config.AutoscalingOptions {
	return config.AutoscalingOptions{
		NodeGroupDefaults: config.NodeGroupAutoscalingOptions{
			Threshold: 1,
		},
	}
}
`
	}
	write(t, filepath.Join(root, pkg+"config/flags/flags.go"), flags)
	planners := `	"k8s.io/autoscaler/cluster-autoscaler/core/scaledown/deletiontracker"
	"k8s.io/autoscaler/cluster-autoscaler/core/scaledown/latencytracker"
`
	if under == "" {
		planners = "\t\"strings\"\n\n\tv1 \"k8s.io/api/apps/v1\"\n"
	}
	write(t, filepath.Join(root, pkg+"core/static_autoscaler.go"), "package core\n\nimport (\n"+planners+`)

func NewStaticAutoscaler() {
	prepare()

	scaleDownPlanner := planner.New(autoscalingCtx, processors, deleteOptions, drainabilityRules, minQuotasTrackerFactory)
	processorCallbacks.scaleDownPlanner = scaleDownPlanner
}
`)
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	mode := os.FileMode(0o644)
	if strings.HasSuffix(path, ".py") {
		mode = 0o755
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, tree string) (string, error) {
	t.Helper()
	for _, tool := range []string{"bash", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	command := exec.Command("./apply", tree, "./empty")
	command.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	output, err := command.CombinedOutput()
	return string(output), err
}

func TestApplyToTheCoreRepository(t *testing.T) {
	tree := newTree(t, "sigs.k8s.io/cluster-autoscaler", "", "\tkubelet_config \"k8s.io/kubernetes/pkg/kubelet/apis/config\"\n")
	for _, want := range []string{"applying core-33c3f97bf.patch", "core-33c3f97bf.patch is applied already"} {
		output, err := apply(t, tree)
		if err != nil || !strings.Contains(output, want) || !strings.Contains(output, "== compiled") {
			t.Fatalf("%v: %s", err, output)
		}
		main := read(t, filepath.Join(tree, "pkg/core/static_autoscaler.go"))
		if strings.Count(main, "ebbplanner.Select(opts.ScaleDownPlanner, func() scaledown.Planner {") != 1 {
			t.Errorf("static_autoscaler.go is\n%s", main)
		}
		modules := read(t, filepath.Join(tree, "go.mod"))
		for _, module := range []string{"ebb", "clusterautoscaler", "clusterautoscaler/planner"} {
			if !strings.Contains(modules, fmt.Sprintf("ebb/go/%s v0.0.0", module)) {
				t.Errorf("go.mod lacks %s:\n%s", module, modules)
			}
		}
	}
}

// The planner is copied, with the tree's import paths, its header, and the files of its release.
func TestApplyToTheReleasedLine(t *testing.T) {
	tree := newTree(t, "k8s.io/autoscaler/cluster-autoscaler", "cluster-autoscaler/", "\tgce_localssdsize \"k8s.io/autoscaler/cluster-autoscaler/cloudprovider/gce/localssdsize\"\n")
	output, err := apply(t, tree)
	if err != nil || !strings.Contains(output, "applying released-") {
		t.Fatalf("%v: %s", err, output)
	}
	// Symptom: the import had no name, and the package's own name is that of the built-in planner's package.
	main := read(t, filepath.Join(tree, "cluster-autoscaler/core/static_autoscaler.go"))
	if !strings.Contains(main, "\tebbplanner \"k8s.io/autoscaler/cluster-autoscaler/core/scaledown/ebbplanner\"\n") {
		t.Errorf("static_autoscaler.go is\n%s", main)
	}
	copied := filepath.Join(tree, "cluster-autoscaler/core/scaledown/ebbplanner")
	if _, err := os.Stat(filepath.Join(copied, "release_new.go")); !os.IsNotExist(err) {
		t.Errorf("release_new.go: %v", err)
	}
	release := read(t, filepath.Join(copied, "release_136.go"))
	if !strings.HasPrefix(release, "/*\nCopyright 2") || strings.Contains(release, "go:build") ||
		strings.Contains(release, "sigs.k8s.io/cluster-autoscaler") || !strings.Contains(release, `"k8s.io/autoscaler/cluster-autoscaler/simulator"`) {
		t.Errorf("release_136.go is\n%s", release)
	}
}

func TestATreeThatNoPatchFitsIsLeftAsItIs(t *testing.T) {
	tree := newTree(t, "sigs.k8s.io/cluster-autoscaler", "", "")
	output, err := apply(t, tree)
	if err == nil || !strings.Contains(output, "no patch of") {
		t.Errorf("%v: %s", err, output)
	}
	if text := read(t, filepath.Join(tree, "pkg/core/static_autoscaler.go")) + read(t, filepath.Join(tree, "go.mod")); strings.Contains(text, "ebb") {
		t.Errorf("the tree has changed:\n%s", text)
	}
	if output, err := apply(t, t.TempDir()); err == nil || !strings.Contains(output, "has no go.mod") {
		t.Errorf("%v: %s", err, output)
	}
}
