// Package lib links libebb.a into a program.
//
// "./dev archive" writes libebb.a, ebb.h and archive.h into this folder. When Go decides what to
// rebuild, it ignores archives, but it does look at the headers in a package's own folder and at
// what a package exports. Therefore archive.h holds the archive's checksum, and these three files
// have a package of their own.
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
