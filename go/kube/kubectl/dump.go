package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"ebb/go/kube/feed"
)

// pageSize is as kubectl's.
const pageSize = "500"

// page is one of a list.
type page struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// others are kinds that no feeder tells, and that an answer of ebb may depend on or name.  With those of
// the feeder they are the kinds of snapshot/import/dump_kinds.cc.  Secrets and ConfigMaps are never
// read.
var others = []struct{ group, kind, resource string }{
	{"", "Service", "services"},
	{"scheduling.k8s.io", "Workload", "workloads"},
	{"scheduling.k8s.io", "PodGroup", "podgroups"},
	{"scheduling.x-k8s.io", "PodGroup", "podgroups"},
	{"scheduling.volcano.sh", "PodGroup", "podgroups"},
	{"kueue.x-k8s.io", "Workload", "workloads"},
	{"autoscaling.k8s.io", "VerticalPodAutoscaler", "verticalpodautoscalers"},
	{"autoscaling.x-k8s.io", "CapacityBuffer", "capacitybuffers"},
	{"karpenter.sh", "NodePool", "nodepools"},
	{"karpenter.sh", "NodeClaim", "nodeclaims"},
	{"cluster.x-k8s.io", "Machine", "machines"},
	{"machine.openshift.io", "Machine", "machines"},
	{"cluster.x-k8s.io", "MachineSet", "machinesets"},
	{"machine.openshift.io", "MachineSet", "machinesets"},
}

// ErrPartial is of a dump that lacks kinds which the server has; `problems` names them.
var ErrPartial = errors.New("the dump lacks kinds that could not be read")

// othersServed are those of `others` that the server has, by its preferred versions.  What discovery
// cannot tell of one group goes to problems, and false is returned with the others.
func othersServed(client kubernetes.Interface, problems io.Writer) ([]*feed.Kind, bool) {
	served, err := client.Discovery().ServerPreferredResources()
	whole := err == nil
	if err != nil {
		fmt.Fprintf(problems, "kubectl ebb: what the server has is not known of all groups: %v\n", err)
	}
	var kinds []*feed.Kind
	for _, other := range others {
		for _, list := range served {
			group, _, grouped := strings.Cut(list.GroupVersion, "/")
			if !grouped {
				group = ""
			}
			for _, resource := range list.APIResources {
				if group == other.group && resource.Name == other.resource {
					kinds = append(kinds, &feed.Kind{GroupVersion: list.GroupVersion, Kind: other.kind, Resource: other.resource, Optional: true})
				}
			}
		}
	}
	return kinds, whole
}

// WriteDump writes all that an answer of ebb may depend on to a file, whole or not at all, or to out
// where the path is empty.  Kinds that the user may not list go to `problems`; nodes and pods are no
// dump without.  Errors: ErrPartial after a dump that lacks kinds was written.
func WriteDump(ctx context.Context, client kubernetes.Interface, path string, out, problems io.Writer) error {
	kinds, whole := othersServed(client, problems)
	dump := newDump()
	for _, kind := range append(slices.Clone(feed.Kinds), kinds...) {
		list, err := readAll(ctx, client, kind)
		if apierrors.IsNotFound(err) && (kind.Optional || mayLack(kind)) {
			continue
		}
		if err == nil {
			err = dump.add(list)
		} else if needed := kind.Resource == "nodes" || kind.Resource == "pods"; !needed && ctx.Err() == nil {
			fmt.Fprintf(problems, "kubectl ebb: %s could not be read: %v\n", kind.Resource, err)
			whole, err = false, nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Resource, err)
		}
	}
	if err := writeWhole(path, dump.end(), out); err != nil {
		return err
	}
	if !whole {
		return ErrPartial
	}
	return nil
}

// writeWhole renames a file that was written beside the target, which a process that is killed leaves
// as it was.
func writeWhole(path string, text *bytes.Buffer, out io.Writer) (err error) {
	if path == "" || path == "-" {
		_, err = out.Write(text.Bytes())
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".ebb-tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text.Bytes())
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	return err
}

// dump is a list of lists as it is written.
type dump struct {
	text  bytes.Buffer
	lists int
}

func newDump() *dump {
	d := &dump{}
	d.text.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	return d
}

func (d *dump) add(list *list) error {
	if d.lists++; d.lists > 1 {
		d.text.WriteByte(',')
	}
	return json.NewEncoder(&d.text).Encode(list)
}

func (d *dump) end() *bytes.Buffer {
	d.text.WriteString("]}")
	return &d.text
}

// Dump reads all that a plan reads, as a list of lists in JSON.  What the user may not list is an
// error that names every such kind; of volumes and devices it is told to `problems`, and ebb says in
// its turn what it lacks.
func Dump(ctx context.Context, client kubernetes.Interface, problems io.Writer) (*bytes.Buffer, error) {
	dump := newDump()
	var forbidden []string
	for _, kind := range feed.Kinds {
		list, err := readAll(ctx, client, kind)
		switch {
		case apierrors.IsForbidden(err) && mayLack(kind):
			fmt.Fprintf(problems, "kubectl ebb: you may not list %s; the plan is made without\n", kind.Resource)
			continue
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, kind.Resource)
			continue
		case apierrors.IsNotFound(err) && (kind.Optional || mayLack(kind)):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", kind.Resource, err)
		}
		if err := dump.add(list); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Resource, err)
		}
	}
	if len(forbidden) > 0 {
		return nil, fmt.Errorf("you may not list %s in all namespaces, and a plan needs them", strings.Join(forbidden, ", "))
	}
	return dump.end(), nil
}

func mayLack(kind *feed.Kind) bool {
	return kind.Group() == "storage.k8s.io" || kind.Group() == "resource.k8s.io" || strings.HasPrefix(kind.Resource, "persistentvolume")
}

func pathOf(kind *feed.Kind) string {
	if kind.Group() == "" {
		return "/api/" + kind.GroupVersion + "/" + kind.Resource
	}
	return "/apis/" + kind.GroupVersion + "/" + kind.Resource
}

// list is a whole one: ebb refuses what looks like a page.
type list struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

func readAll(ctx context.Context, client kubernetes.Interface, kind *feed.Kind) (*list, error) {
	whole := &list{APIVersion: kind.GroupVersion, Kind: kind.Kind + "List", Items: []json.RawMessage{}}
	token := ""
	for {
		request := client.Discovery().RESTClient().Get().AbsPath(pathOf(kind)).
			SetHeader("Accept", "application/json").Param("limit", pageSize)
		if token != "" {
			request = request.Param("continue", token)
		}
		data, err := request.DoRaw(ctx)
		if apierrors.IsResourceExpired(err) && token != "" {
			// The list changed under the pages: from the beginning.
			whole.Items, token = whole.Items[:0], ""
			continue
		}
		if err != nil {
			return nil, err
		}
		var read page
		if err := json.Unmarshal(data, &read); err != nil {
			return nil, fmt.Errorf("the API server's answer: %w", err)
		}
		whole.Items = append(whole.Items, read.Items...)
		if token = read.Metadata.Continue; token == "" {
			return whole, nil
		}
	}
}
