//go:build cgo && ebb

package engine_test

import (
	"testing"

	"ebb/go/clusterautoscaler/engine"
	"ebb/go/clusterautoscaler/enginetest"
)

func TestEngine(t *testing.T) { enginetest.Run(t, engine.New) }

func BenchmarkLoop2000(b *testing.B) { enginetest.Loop2000(b, engine.New) }
func BenchmarkPass2000(b *testing.B) { enginetest.Pass2000(b, engine.New) }
