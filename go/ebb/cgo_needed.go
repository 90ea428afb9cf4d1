//go:build !cgo

package ebb

// The engine is linked through cgo, and everything else in this package needs it. Without cgo the
// compiler reports this name first.
var _ = ebbNeedsCgo_setCGO_ENABLED_1_andInstallACCompiler
