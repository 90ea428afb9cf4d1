// Package kubectl is `kubectl ebb`: it reads the cluster that the user's kubeconfig names, and runs
// the program ebb over the result.
//
//	kubectl ebb plan [FLAG OF ebb plan...]
//	kubectl ebb explain NODE... [FLAG OF ebb plan...]
//	kubectl ebb dump [-o FILE]
//	kubectl ebb status [-n NAMESPACE] [-o json]
//
// Nothing is written to the cluster, and only `dump` writes a file: plan and explain pass their
// dump to ebb's standard input.
package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"ebb/go/kube/access"
)

// ExitError is the exit code of a program that has printed its error itself.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

const usage = `kubectl ebb reads the cluster of your kubeconfig and asks ebb about it.

  kubectl ebb plan [FLAG...]             which nodes can go, and where their pods land
  kubectl ebb explain NODE... [FLAG...]  why nodes stay or go, pod by pod
  kubectl ebb dump [-o FILE]             all that a plan needs, as one file for ebb plan
  kubectl ebb status [-n NAMESPACE] [-o json]
                                         what ebb-kube, in that namespace (kube-system), is doing in the cluster

  --kubeconfig FILE, --context NAME      as kubectl's
  --ebb PATH                             the program ebb; default: $EBB, or ebb on the path
Other flags are those of ` + "`ebb plan`" + `.
`

// arguments are the parsed arguments of a call.
type arguments struct {
	command             string
	kubeconfig, context string
	ebb                 string
	rest                []string
}

// Main runs a call. It returns an *ExitError, or an error to print.
func Main(ctx context.Context, args []string, out, problems io.Writer) error {
	a, err := read(args)
	if err != nil {
		return err
	}
	switch a.command {
	case "", "help", "-h", "--help":
		_, err := io.WriteString(out, usage)
		return err
	case "plan", "explain", "dump", "status":
	default:
		return fmt.Errorf("%q is not plan, explain, dump or status", a.command)
	}
	config, err := access.Connect(a.kubeconfig, a.context)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := access.CheckServer(ctx, client.Discovery(), config.Host); err != nil {
		return err
	}
	switch a.command {
	case "status":
		return printStatus(ctx, client, a.rest, out)
	case "dump":
		return a.dump(ctx, client, out, problems)
	}
	return a.runEbb(ctx, client, out, problems)
}

// read separates kubectl's own flags from the others.
func read(args []string) (*arguments, error) {
	a := &arguments{ebb: os.Getenv("EBB")}
	if a.ebb == "" {
		a.ebb = "ebb"
	}
	own := map[string]*string{"--kubeconfig": &a.kubeconfig, "--context": &a.context, "--ebb": &a.ebb}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		to := own[name]
		switch {
		case to != nil && joined:
			*to = value
		case to != nil && i+1 == len(args):
			return nil, fmt.Errorf("%s needs a value", name)
		case to != nil:
			i++
			*to = args[i]
		case a.command == "" && (!strings.HasPrefix(args[i], "-") || args[i] == "-h" || args[i] == "--help"):
			a.command = args[i]
		default:
			a.rest = append(a.rest, args[i])
		}
	}
	return a, nil
}

// ebbArguments returns the arguments for the program ebb.
func (a *arguments) ebbArguments() ([]string, error) {
	call := []string{"plan", "-"}
	if a.command == "plan" {
		return append(call, a.rest...), nil
	}
	// Names come before the flags; otherwise a flag's value could be taken for a name.
	nodes := 0
	for _, argument := range a.rest {
		if strings.HasPrefix(argument, "-") {
			break
		}
		call = append(call, "--explain", argument)
		nodes++
	}
	if nodes == 0 {
		return nil, errors.New("explain: which node? kubectl ebb explain NODE... [FLAG...]")
	}
	return append(call, a.rest[nodes:]...), nil
}

// exitPartial is the exit code for a dump that lacks kinds, as in `ebb dump`.
const exitPartial = 3

func (a *arguments) dump(ctx context.Context, client kubernetes.Interface, out, problems io.Writer) error {
	path := ""
	for i := 0; i < len(a.rest); i++ {
		name, value, joined := strings.Cut(a.rest[i], "=")
		switch {
		case (name == "-o" || name == "--output") && joined:
			path = value
		case (name == "-o" || name == "--output") && i+1 < len(a.rest):
			i++
			path = a.rest[i]
		default:
			return fmt.Errorf("dump: %q is not expected; kubectl ebb dump [-o FILE]", a.rest[i])
		}
	}
	err := WriteDump(ctx, client, path, out, problems)
	if errors.Is(err, ErrPartial) {
		return &ExitError{Code: exitPartial}
	}
	return err
}

func namesVersion(argument string) bool {
	name, _, _ := strings.Cut(argument, "=")
	return name == "--kubernetes-version"
}

// rulesOf returns the version of the scheduler whose rules ebb should use, in the form of
// --kubernetes-version: the API server's version, which may be newer than all kubelets. "" if the
// API server does not report it.
func rulesOf(client kubernetes.Interface) string {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return ""
	}
	var major, minor int
	if n, _ := fmt.Sscanf(version.GitVersion, "v%d.%d", &major, &minor); n != 2 {
		return ""
	}
	if major > 1 || minor >= 37 {
		return "1.37"
	}
	return "1.36"
}

func (a *arguments) runEbb(ctx context.Context, client kubernetes.Interface, out, problems io.Writer) error {
	call, err := a.ebbArguments()
	if err != nil {
		return err
	}
	program, err := exec.LookPath(a.ebb)
	if err != nil {
		return fmt.Errorf("the program ebb: %w; --ebb PATH names it", err)
	}
	dump, err := Dump(ctx, client, problems)
	if err != nil {
		return err
	}
	if version := rulesOf(client); version != "" && !slices.ContainsFunc(call, namesVersion) {
		call = append(call, "--kubernetes-version="+version)
	}
	command := exec.CommandContext(ctx, program, call...)
	command.Stdin, command.Stdout, command.Stderr = dump, out, problems
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &ExitError{Code: exit.ExitCode()}
	}
	return err
}
