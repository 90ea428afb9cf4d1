//go:build !cgo || !ebb

package engine_test

import (
	"strings"
	"testing"

	"ebb/go/clusterautoscaler/engine"
)

func TestNewSaysWhyThereIsNoEbb(t *testing.T) {
	made, err := engine.New()
	if made != nil || err == nil || !strings.Contains(err.Error(), "without -tags ebb") {
		t.Errorf("got %v, %v", made, err)
	}
}
