// ebb_bench: Google Benchmark over snapshots.
//
//   ebb_bench [--snapshots NAME,NAME...] [--snapshot FILE]... [--openb FOLDER]
//             [--benchmark_...]
//
// --snapshots  which clusters the planner rows run over (workloads.h); default
//              uniform:400, uniform:1000, uniform:5000, mixed:1000, mixed:5000,
//              topology:5000, openb.
// --snapshot   a cluster of your own beside them: what `ebb plan` reads.
// --openb      the folder of the openb files; default ../shared/data.
//
// Unless told otherwise each row runs 5 times after a warm-up and the figures are
// medians; `--benchmark_out=FILE` writes them all as JSON.  A table at the end sets
// Cluster Autoscaler's figures beside ours.

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/rows.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"

namespace {

struct Rival {
  const char* snapshot;
  double cold_ms;
  double second_ms;
};

// Cluster Autoscaler's planner (mid 2026) over the same kind of snapshots, on two
// cores, the snapshot already loaded.
constexpr Rival kClusterAutoscaler[] = {
    {"uniform:400", 1600, 600}, {"uniform:1000", 5800, 2700}, {"uniform:5000", 172000, 98000},
    {"mixed:1000", 1900, 1400}, {"mixed:5000", 77000, 54000}, {"openb", 1500, 450},
};

// Prints as the console reporter does, and remembers the medians.
class MedianReporter : public benchmark::ConsoleReporter {
 public:
  MedianReporter() : ConsoleReporter(OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred) continue;
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name != "median") continue;
      median_ms_[run.run_name.function_name] =
          run.GetAdjustedRealTime() * 1e3 / benchmark::GetTimeUnitMultiplier(run.time_unit);
    }
  }

  void PrintRivals() const {
    bool any = false;
    for (const Rival& rival : kClusterAutoscaler) {
      const std::string name = rival.snapshot;
      const double cold = Find("BM_Planner_ColdPass/" + name);
      const double second = Find("BM_Planner_SecondPass/" + name);
      if (cold == 0 && second == 0) continue;
      if (!any) {
        std::printf("\n%-14s %12s %12s %9s %12s %12s %9s\n", "snapshot", "cold: CA ms", "ebb ms",
                    "times", "second: CA", "ebb ms", "times");
      }
      any = true;
      std::printf("%-14s", name.c_str());
      PrintPair(rival.cold_ms, cold);
      PrintPair(rival.second_ms, second);
      std::printf("\n");
    }
  }

 private:
  double Find(const std::string& name) const {
    const auto it = median_ms_.find(name);
    return it == median_ms_.end() ? 0 : it->second;
  }
  static void PrintPair(double rival_ms, double ours_ms) {
    if (ours_ms == 0) {
      std::printf(" %12.0f %12s %9s", rival_ms, "-", "-");
    } else {
      std::printf(" %12.0f %12.3f %9.0f", rival_ms, ours_ms, rival_ms / ours_ms);
    }
  }

  std::map<std::string, double> median_ms_;
};

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return parts;
}

// "--name VALUE" or "--name=VALUE" at argv[i]; moves `i` to the last word of it.
bool Take(std::string_view name, int argc, char** argv, int& i, std::string& value) {
  const std::string_view word = argv[i];
  if (word == name && i + 1 < argc) {
    value = argv[++i];
    return true;
  }
  if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") return false;
  value = word.substr(name.size() + 1);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> snapshots = {"uniform:400", "uniform:1000", "uniform:5000",
                                        "mixed:1000",  "mixed:5000",   "topology:5000",
                                        "openb"};
  std::vector<std::string> own;
  // Ours come first, so that the caller's flags, which come later, win.
  std::vector<std::string> words = {argv[0], "--benchmark_repetitions=5",
                                    "--benchmark_report_aggregates_only=true",
                                    "--benchmark_min_time=0.1"};
  for (int i = 1; i < argc; ++i) {
    std::string value;
    if (Take("--snapshots", argc, argv, i, value)) {
      snapshots = Split(value);
    } else if (Take("--snapshot", argc, argv, i, value)) {
      own.push_back(value);
    } else if (Take("--openb", argc, argv, i, value)) {
      ebb::bench::SetOpenbFolder(value);
    } else {
      words.emplace_back(argv[i]);
    }
  }
  snapshots.insert(snapshots.end(), own.begin(), own.end());

  std::vector<char*> args;
  for (std::string& word : words) args.push_back(word.data());
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  if (benchmark::ReportUnrecognizedArguments(count, args.data())) return 2;

  ebb::bench::RegisterSnapshotRows();
  ebb::bench::RegisterPlannerRows(snapshots);
  ebb::bench::RegisterRoundRows({"uniform:5000", "mixed:5000"});
  ebb::bench::RegisterImportRows();
  MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.PrintRivals();
  return 0;
}
