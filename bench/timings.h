// Measures repeated calls, to report percentiles in addition to a row's mean.

#ifndef EBB_BENCH_TIMINGS_H_
#define EBB_BENCH_TIMINGS_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

namespace ebb::bench {

inline double ThreadCpuMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

class Timings {
 public:
  // Calls `call` and returns how many seconds passed.
  template <typename Call>
  double Time(Call&& call) {
    const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    const double cpu_begin_ms = ThreadCpuMs();
    call();
    cpu_ms_.push_back(ThreadCpuMs() - cpu_begin_ms);
    const double took_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    wall_ms_.push_back(took_s * 1e3);
    return took_s;
  }

  // Adds counters to the row: median, 99th percentile and maximum, of the time that passed and of
  // the thread's CPU time (cpu_*).
  void Report(benchmark::State& state) {
    if (wall_ms_.empty()) return;
    Report(state, "", wall_ms_);
    Report(state, "cpu_", cpu_ms_);
  }

 private:
  static void Report(benchmark::State& state, const std::string& prefix, std::vector<double>& ms) {
    std::sort(ms.begin(), ms.end());
    const auto at = [&](double share) {
      return ms[static_cast<size_t>(share * static_cast<double>(ms.size() - 1))];
    };
    state.counters[prefix + "p50_ms"] = at(0.50);
    state.counters[prefix + "p99_ms"] = at(0.99);
    state.counters[prefix + "max_ms"] = ms.back();
  }

  std::vector<double> wall_ms_;
  std::vector<double> cpu_ms_;
};

}  // namespace ebb::bench

#endif  // EBB_BENCH_TIMINGS_H_
