// Package chain carries out a plan of ebb on a cluster in the shortest way: dump, plan, taint,
// evict, delete, in plain client-go. It does only the minimum of what a program that removes nodes
// must do, so that a test shows whether ebb's plan holds on a real control plane, and nothing else.
package chain

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/client-go/kubernetes"
)

// dumped are the objects that a plan reads, as `kubectl get -A -o json` would list them.
var dumped = []string{
	"/api/v1/nodes",
	"/api/v1/namespaces",
	"/api/v1/pods",
	"/api/v1/replicationcontrollers",
	"/api/v1/persistentvolumes",
	"/api/v1/persistentvolumeclaims",
	"/apis/apps/v1/replicasets",
	"/apis/apps/v1/statefulsets",
	"/apis/apps/v1/daemonsets",
	"/apis/batch/v1/jobs",
	"/apis/policy/v1/poddisruptionbudgets",
	"/apis/storage.k8s.io/v1/storageclasses",
	"/apis/storage.k8s.io/v1/csinodes",
}

// Dump returns a cluster as JSON for ebb: a list of lists. The lists are read one after the other,
// so the cluster should not change meanwhile.
func Dump(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	lists := make([]json.RawMessage, 0, len(dumped))
	for _, path := range dumped {
		list, err := client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		lists = append(lists, list)
	}
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": lists})
}
