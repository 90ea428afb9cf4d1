// The rows of the benchmark suite: one function for each file that registers rows.

#ifndef EBB_BENCH_ROWS_H_
#define EBB_BENCH_ROWS_H_

#include <string>
#include <vector>

#include "bench/workloads.h"
#include "benchmark/benchmark.h"

namespace ebb::bench {

// Returns null if the workload cannot be made; the row is then skipped with an error.
Workload* WorkloadOrSkip(benchmark::State& state, const std::string& name);

void RegisterSelectorRows();                                      // cel_benchmark.cc
void RegisterSnapshotRows();                                      // snapshot_benchmark.cc
void RegisterPlannerRows(const std::vector<std::string>& names);  // planner_benchmark.cc
void RegisterRoundRows(const std::vector<std::string>& names);    // round_benchmark.cc
void RegisterImportRows();                                        // import_benchmark.cc
// `changed`: the clusters of the CompanyChurn rows.
void RegisterLiveRows(const std::vector<std::string>& changed);  // live_benchmark.cc
void RegisterServeRows();                                        // serve_benchmark.cc

}  // namespace ebb::bench

#endif  // EBB_BENCH_ROWS_H_
