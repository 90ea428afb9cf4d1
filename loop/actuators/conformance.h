// RunConformance: checks an actuator plugin against the plugin contract, one check after the other.
//
//   auto checks = RunConformance({.plugin = "unix:p.sock",
//                                 .nodes = {"worker-7"},
//                                 .session = "conformance",
//                                 .now_s = Now,
//                                 .sleep_ms = Sleep});
//
// Without nodes it makes only calls that the plugin must refuse.  With nodes, it taints the first
// named node and rolls it back; with drain_and_delete it then drains and deletes that node.  Begin
// orders for all named nodes are sent once, and must be refused.  After a failed check, whatever it
// left is rolled back.
//
// It sees a cluster only through the plugin.  The plugin's own tests must show that the taints are
// in the cluster, that budgets hold, and that pods are read again before a drain.
//
// Cost:    about 45 calls; a drain and a deletion may each take up to wait_s.
// Errors:  InvalidArgument: not unix:PATH, or a string that is not the name of a node.
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
  std::string session = {};  // The keys of calls begin with it; use another one for each run.
  int64_t call_timeout_ms = 10'000;
  int64_t wait_s = 600;
  std::function<int64_t()> now_s = nullptr;
  std::function<void(int64_t ms)> sleep_ms = nullptr;
};

enum class CheckOutcome : uint8_t { kPassed, kFailed, kSkipped };

struct ConformanceCheck {
  std::string_view name;
  std::string_view what;  // The property that must hold.
  CheckOutcome outcome = CheckOutcome::kSkipped;
  std::string why = {};  // If it failed or was skipped.
};

// All checks, in the order in which they run.
absl::StatusOr<std::vector<ConformanceCheck>> RunConformance(const ConformanceOptions& options);

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_CONFORMANCE_H_
