//go:build record

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		os.Exit(1)
	}
}

func run() error {
	seed := flag.Uint64("seed", 1, "seed of the generator; the same seed makes the same cases")
	count := flag.Int("cases", 300, "number of cases")
	perFile := flag.Int("per-file", 50, "cases in one file")
	folder := flag.String("o", "", "folder that gets the files SEED-NUMBER.json; with -consolidate the file that gets the result")
	again := flag.Bool("answer", false, "instead of making cases, ask Karpenter again about those in the files of the arguments, and write its answers there")
	cluster := flag.String("consolidate", "", "instead of making cases, run Karpenter's consolidation on the cluster in this file until it finds nothing more, and write the result to -o")
	types := flag.String("types", "", "with -consolidate and -check: machine types, as bench/lognormal_cluster.py writes them (default: those of the cases)")
	prices := flag.String("prices", "", "with -consolidate and -check: their prices")
	policy := flag.String("policy", "", "with -consolidate: consolidationPolicy of the NodePool, instead of that in the file")
	limit := flag.Duration("limit", time.Hour, "with -consolidate: begin no command after this long")
	left := flag.String("left", "", "with -consolidate: write the cluster that is left to this file")
	plans := flag.Bool("check", false, "instead of making cases, ask Karpenter whether it could carry out plans of ebb: the arguments are CLUSTER.json PLAN.json ...")
	at := flag.String("at", "", "with -check: the time of the clusters, RFC 3339 (default: now)")
	flag.Parse()
	if *plans {
		return checkPlans(flag.Args(), *types, *prices, *at)
	}
	if *cluster != "" {
		return recordConsolidation(*cluster, *types, *prices, *policy, *limit, *folder, *left)
	}
	if *again {
		return answerAgain(flag.Args())
	}
	if *folder == "" || flag.NArg() > 0 {
		return fmt.Errorf("-o FOLDER is required, and arguments only with -answer")
	}
	cases, err := record(*seed, *count)
	if err != nil {
		return err
	}
	names, err := writeFiles(*folder, instanceTypes, cases, *perFile)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Println(filepath.Base(name))
	}
	return nil
}

func record(seed uint64, count int) ([]Case, error) {
	var cases []Case
	for number := range count {
		kase, err := generate(seed, number)
		if err != nil {
			return nil, fmt.Errorf("case %d of seed %d: %w", number, seed, err)
		}
		cases = append(cases, *kase)
	}
	return cases, nil
}

// answerAgain serves cases written by hand.
func answerAgain(paths []string) error {
	for _, path := range paths {
		file, err := readFile(path)
		if err != nil {
			return err
		}
		file.Karpenter = karpenterVersion
		for i := range file.Cases {
			if file.Cases[i].Answers, err = answer(&file.Cases[i], file.InstanceTypes); err != nil {
				return fmt.Errorf("%s: case %s: %w", path, file.Cases[i].Name, err)
			}
		}
		text, err := marshalFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func recordConsolidation(cluster, typesPath, pricesPath, policy string, limit time.Duration, to, left string) error {
	if to == "" {
		return fmt.Errorf("-consolidate needs -o FILE")
	}
	types, err := readTypes(typesPath, pricesPath)
	if err != nil {
		return err
	}
	result, err := consolidate(cluster, types, policy, limit, left)
	if err != nil {
		return err
	}
	text, err := marshalConsolidation(result)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

func checkPlans(paths []string, typesPath, pricesPath, at string) error {
	types := instanceTypes
	if typesPath != "" {
		var err error
		if types, err = readTypes(typesPath, pricesPath); err != nil {
			return err
		}
	}
	if at == "" {
		return checkAll(paths, types, newRunningClock())
	}
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return fmt.Errorf("-at: %w", err)
	}
	return checkAll(paths, types, &stoppedClock{clocktesting.NewFakeClock(now)})
}
