// Command example prints which nodes of a cluster can go, from a dump on standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"ebb/go/ebb"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(in io.Reader, out io.Writer) error {
	dump, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	cluster, err := ebb.New(ebb.Options{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := cluster.Load(context.Background(), dump); err != nil {
		return err
	}
	plan, err := cluster.Plan(context.Background(), nil)
	if err != nil {
		return err
	}
	for _, removal := range plan.Data.Removes {
		fmt.Fprintln(out, removal.Node)
	}
	return nil
}
