package ebb

import (
	"fmt"
	"testing"
)

const benchmarkPods = 10_000

// Puts 10,000 pods one by one.
func BenchmarkPutProtobuf(b *testing.B) {
	pods := make([][]byte, benchmarkPods)
	for i := range pods {
		pods[i] = podProtobuf(fmt.Sprint("p-", i), "a")
	}
	batch := newBatch(b)
	for b.Loop() {
		for _, pod := range pods {
			check(b, batch.PutProtobuf(pod))
		}
		check(b, batch.Clear())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchmarkPods, "ns/pod")
}

// Puts 10,000 pods in one call.
func BenchmarkPutManyProtobuf(b *testing.B) {
	var data []byte
	ranges := make([]Range, benchmarkPods)
	for i := range ranges {
		begin := uint(len(data))
		data = append(data, podProtobuf(fmt.Sprint("p-", i), "a")...)
		ranges[i] = Range{Begin: begin, End: uint(len(data))}
	}
	batch := newBatch(b)
	for b.Loop() {
		_, err := batch.PutManyProtobuf(data, ranges)
		check(b, err)
		check(b, batch.Clear())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchmarkPods, "ns/pod")
}

// Applies one changed pod and makes the next plan.
func BenchmarkApplyAndPlan(b *testing.B) {
	cluster, batch := loaded(b), newBatch(b)
	for i := 0; b.Loop(); i++ {
		check(b, batch.Clear())
		check(b, batch.PutJSON([]byte(podJSON("x", "a", fmt.Sprintf("%dm", 100+i%100)))))
		_, err := cluster.Apply(ctx, batch)
		check(b, err)
		_, err = cluster.Plan(ctx, nil)
		check(b, err)
	}
}
