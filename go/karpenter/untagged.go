//go:build !record

// Program karpenter records answers of Karpenter's disruption code.  Without the build tag `record` it has no
// dependencies, so that `go vet` and `go test` of this module need not build Karpenter.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "karpenter: build with the tag: go run -tags record . -o FOLDER")
	os.Exit(2)
}
