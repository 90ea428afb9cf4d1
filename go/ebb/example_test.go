package ebb_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"google.golang.org/protobuf/types/known/structpb"

	"ebb/go/ebb"
	"ebb/go/ebb/plannerpb"
)

// Two nodes with room for each other's pod.
const (
	first  = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","uid":"1"},"status":{"allocatable":{"cpu":"2","memory":"4Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}}`
	second = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n2","uid":"2"},"status":{"allocatable":{"cpu":"2","memory":"4Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}}`
	pod    = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"web","name":"shop","uid":"3","annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"true"}},"spec":{"nodeName":"n1","containers":[{"name":"c","resources":{"requests":{"cpu":"500m","memory":"1Gi"}}}]},"status":{"phase":"Running"}}`
	busy   = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"web","name":"cart","uid":"4"},"spec":{"nodeName":"n2","containers":[{"name":"c","resources":{"requests":{"cpu":"1200m","memory":"1Gi"}}}]},"status":{"phase":"Running"}}`
)

func clusterOf(objects ...string) *ebb.Cluster {
	cluster, err := ebb.New(ebb.Options{})
	if err != nil {
		log.Fatal(err)
	}
	batch, err := ebb.NewBatch()
	if err != nil {
		log.Fatal(err)
	}
	defer batch.Close()
	for _, object := range objects {
		if err := batch.PutJSON([]byte(object)); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := cluster.Apply(context.Background(), batch); err != nil {
		log.Fatal(err)
	}
	return cluster
}

// Which nodes can go, where their pods land, and why the others stay.
func ExampleCluster_Plan() {
	cluster := clusterOf(first, second, pod, busy)
	defer cluster.Close()
	plan, err := cluster.Plan(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, removal := range plan.Data.Removes {
		fmt.Println("remove", removal.Node)
		for _, move := range removal.Moves {
			fmt.Printf("  %s/%s to %s\n", move.Pod.Namespace, move.Pod.Name, move.To)
		}
	}
	for _, kept := range plan.Data.Keeps {
		fmt.Println("keep", kept.Node, kept.Reason)
	}
	// Output:
	// remove n1
	//   web/shop to n2
	// keep n2 NotUnderutilized
}

// Changes arrive in batches.
func ExampleCluster_Apply() {
	ctx := context.Background()
	cluster := clusterOf(first, second, pod, busy)
	defer cluster.Close()
	batch, err := ebb.NewBatch()
	if err != nil {
		log.Fatal(err)
	}
	defer batch.Close()
	if err := batch.Delete(ebb.Reference{Kind: "Pod", Namespace: "web", Name: "cart"}); err != nil {
		log.Fatal(err)
	}
	version, err := cluster.Apply(ctx, batch)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := cluster.Plan(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("version", version)
	for _, removal := range plan.Data.Removes {
		fmt.Println("remove", removal.Node)
	}
	// Output:
	// version 2
	// remove n2
}

// A pass is for a program that knows which nodes may go.
func ExampleCluster_Pass() {
	cluster := clusterOf(first, second, pod, busy)
	defer cluster.Close()
	reply, err := cluster.Pass(context.Background(), &plannerpb.PlanInput{Candidates: &plannerpb.NodeNames{Nodes: []string{"n2"}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, kept := range reply.Plan.Keeps {
		fmt.Println(kept.Node, kept.Reason)
	}
	// Output:
	// n2 NotUnderutilized
}

// Options have the names listed in docs/rounds.md.
func ExampleCluster_SetSettings() {
	ctx := context.Background()
	cluster := clusterOf(first, second, pod, busy)
	defer cluster.Close()
	options, err := structpb.NewStruct(map[string]any{
		"scaleDown": map[string]any{"planner": map[string]any{"scaleDownUtilizationThreshold": 0.1}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := cluster.SetSettings(ctx, &plannerpb.Settings{Options: options}); err != nil {
		log.Fatal(err)
	}
	plan, err := cluster.Plan(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Removes, "nodes can go")
	// Output:
	// 0 nodes can go
}

func ExampleError() {
	batch, err := ebb.NewBatch()
	if err != nil {
		log.Fatal(err)
	}
	defer batch.Close()
	err = batch.PutJSON([]byte(`{"kind":"Pod","metadata":{"namespace":"web","name":"shop"},"spec":{"priority":"high"}}`))
	fmt.Println(err)
	fmt.Println(errors.Is(err, ebb.InvalidArgument))
	// Output:
	// ebb: Pod web/shop: spec.priority: "high" is not a whole number
	// true
}
