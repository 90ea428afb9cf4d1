package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// Dump reads all that a plan reads, as a list of lists in JSON.  What the user may not list is an
// error that names every such kind; of volumes and devices it is told to `problems`, and ebb says in
// its turn what it lacks.
func Dump(ctx context.Context, client kubernetes.Interface, problems io.Writer) (*bytes.Buffer, error) {
	var dump bytes.Buffer
	dump.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	var forbidden []string
	lists := 0
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
		if lists > 0 {
			dump.WriteByte(',')
		}
		lists++
		if err := json.NewEncoder(&dump).Encode(list); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Resource, err)
		}
	}
	if len(forbidden) > 0 {
		return nil, fmt.Errorf("you may not list %s in all namespaces, and a plan needs them", strings.Join(forbidden, ", "))
	}
	dump.WriteString("]}")
	return &dump, nil
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
