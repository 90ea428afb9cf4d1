package actuate_test

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/kube/internal/fakecluster"
)

// awayAfterFirst makes the API server go away at the second update of a node.
func awayAfterFirst(c *fakecluster.Cluster) clienttesting.ReactionFunc {
	var updates atomic.Int32
	return func(clienttesting.Action) (bool, runtime.Object, error) {
		if updates.Add(1) == 2 {
			c.SetAway(true)
		}
		return false, nil, nil
	}
}
