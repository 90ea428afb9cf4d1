// RunConformance: what an actuator plugin must hold, tried out on it check by check.
//
//   auto checks = RunConformance({.plugin = "unix:p.sock",
//                                 .nodes = {"worker-7"},
//                                 .session = "conformance",
//                                 .now_s = Now,
//                                 .sleep_ms = Sleep});
//
// Without nodes it asks only for what must be refused.  Nodes that are named are tainted and rolled
// back; with drain_and_delete the first of them is drained and deleted.  What a failed check leaves
// is rolled back.
//
// It sees a cluster through the plugin alone.  Whether the taints are in the cluster, budgets hold
// and pods are looked at again before a drain, the plugin's own tests must show.
//
// Cost:    some 45 calls; a drain and a deletion take as long as they take, wait_s each at most.
// Errors:  InvalidArgument: no unix:PATH, or a name that no node has.
// Threads: none.

#ifndef EBB_LOOP_ACTUATORS_CONFORMANCE_H_
#define EBB_LOOP_ACTUATORS_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ebb {

struct ConformanceOptions {
  std::string plugin;
  std::vector<std::string> nodes = {};
  bool drain_and_delete = false;
  std::string session = {};  // Keys of calls begin with it; another one each time.
  int64_t call_timeout_ms = 10'000;
  int64_t wait_s = 600;
  std::function<int64_t()> now_s = nullptr;
  std::function<void(int64_t ms)> sleep_ms = nullptr;
};

enum class CheckOutcome : uint8_t { kPassed, kFailed, kSkipped };

struct ConformanceCheck {
  std::string_view name;
  std::string_view what;  // It must hold.
  CheckOutcome outcome = CheckOutcome::kSkipped;
  std::string why = {};  // Of one that failed or was skipped.
};

// All checks, in the order in which they are tried.
absl::StatusOr<std::vector<ConformanceCheck>> RunConformance(const ConformanceOptions& options);

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_CONFORMANCE_H_
