// Package lib links libebb.a into a program.
//
// libebb.a, ebb.h and archive.h are put here by "./dev archive". Go does not look at archives when
// it decides what to build anew, but it does look at the headers of a package's own folder, and at
// what a package exports: hence archive.h, which tells which archive this is, and hence a package
// of its own for three files.
package lib

// #cgo CFLAGS: -I${SRCDIR}
// #cgo LDFLAGS: ${SRCDIR}/libebb.a -lstdc++ -lm
// #if !__has_include("archive.h")
// #error "libebb.a is not here: run ./dev archive in the tree of ebb"
// #endif
// #include "archive.h"
import "C"

// Archive is the SHA-256 of libebb.a.
const Archive = C.EBB_ARCHIVE
