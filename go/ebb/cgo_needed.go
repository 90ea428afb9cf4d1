//go:build !cgo

package ebb

// The engine is linked in through cgo, and all else of this package needs it. Without cgo the compiler
// names this first.
var _ = ebbNeedsCgo_setCGO_ENABLED_1_andInstallACCompiler
