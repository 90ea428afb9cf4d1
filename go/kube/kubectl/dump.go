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
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"ebb/go/kube/feed"
)

// pageSize is kubectl's.
const pageSize = "500"

// page is one page of a list.
type page struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// ErrPartial means that the dump lacks kinds that the server has; they were named in `problems`.
var ErrPartial = errors.New("the dump lacks kinds that could not be read")

// served returns the kinds that the server has, and whether discovery worked for all of them;
// problems receives what failed. Kinds that every server has are returned without asking.
func served(client kubernetes.Interface, problems io.Writer) ([]*feed.Kind, bool) {
	var optional []*feed.Kind
	for _, kind := range feed.Kinds {
		if kind.Optional {
			optional = append(optional, kind)
		}
	}
	found, err := feed.Look(client.Discovery(), optional)
	if err != nil {
		fmt.Fprintf(problems, "kubectl ebb: cannot list the kinds of the server: %v\n", err)
		found = &feed.Served{}
	}
	for _, kind := range optional {
		if err := found.Unknown[kind]; err != nil {
			fmt.Fprintf(problems, "kubectl ebb: cannot find out whether the server has %v: %v\n", kind, err)
		}
	}
	version := map[string]*feed.Kind{}
	for _, kind := range found.Kinds {
		version[kind.String()] = kind
	}
	var kinds []*feed.Kind
	for _, kind := range feed.Kinds {
		if !kind.Optional {
			kinds = append(kinds, kind)
		} else if has := version[kind.String()]; has != nil {
			kinds = append(kinds, has)
		}
	}
	return kinds, err == nil && len(found.Unknown) == 0
}

// WriteDump writes everything that an answer of ebb may depend on to a file, completely or not at
// all; with an empty path it writes to out. Kinds that the user may not list are named in problems;
// without nodes or pods WriteDump fails. It returns ErrPartial after it has written a dump that
// lacks kinds.
func WriteDump(ctx context.Context, client kubernetes.Interface, path string, out, problems io.Writer) error {
	kinds, whole := served(client, problems)
	dump := newDump()
	for _, kind := range kinds {
		list, err := readAll(ctx, client, kind)
		if apierrors.IsNotFound(err) && mayLack(kind) {
			continue
		}
		if err == nil {
			err = dump.add(list)
		} else if needed := kind.Resource == "nodes" || kind.Resource == "pods"; !needed && ctx.Err() == nil {
			fmt.Fprintf(problems, "kubectl ebb: %s could not be read: %v\n", nameOf(kind), err)
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

// writeWhole writes a temporary file next to the target and renames it, so that a killed process
// leaves the target unchanged.
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

// dump is a JSON list of lists that is being written.
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

// Dump returns everything that a plan reads, as a JSON list of lists. If the user may not list a
// kind, Dump returns an error that names every such kind. Volumes and optional kinds are the
// exception: problems receives their names, and ebb itself reports what is missing.
func Dump(ctx context.Context, client kubernetes.Interface, problems io.Writer) (*bytes.Buffer, error) {
	dump := newDump()
	var forbidden []string
	kinds, _ := served(client, problems)
	for _, kind := range kinds {
		list, err := readAll(ctx, client, kind)
		switch {
		case apierrors.IsForbidden(err) && mayLack(kind):
			fmt.Fprintf(problems, "kubectl ebb: you may not list %s; the plan is made without\n", nameOf(kind))
			continue
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, kind.Resource)
			continue
		case apierrors.IsNotFound(err) && mayLack(kind):
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

// nameOf returns "pods", or for an optional kind "machines.cluster.x-k8s.io".
func nameOf(kind *feed.Kind) string {
	if !kind.Optional {
		return kind.Resource
	}
	return kind.Resource + "." + kind.Group()
}

func mayLack(kind *feed.Kind) bool {
	return kind.Optional || kind.Group() == "storage.k8s.io" || strings.HasPrefix(kind.Resource, "persistentvolume")
}

func pathOf(kind *feed.Kind) string {
	if kind.Group() == "" {
		return "/api/" + kind.GroupVersion + "/" + kind.Resource
	}
	return "/apis/" + kind.GroupVersion + "/" + kind.Resource
}

// list is a complete list: ebb rejects a list that looks like one page.
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
			// The list expired between two pages: start again.
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
