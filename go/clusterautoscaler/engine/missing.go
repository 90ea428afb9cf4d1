//go:build !cgo || !ebb

package engine

import (
	"errors"

	"ebb/go/clusterautoscaler"
)

// New returns an error: ebb is not part of this program.
func New() (clusterautoscaler.Engine, error) {
	return nil, errors.New("ebb is not inside this program, which was built without cgo or without -tags ebb; " +
		"the address of an ebb serve can be given instead")
}
