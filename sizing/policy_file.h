// The file of pools: which nodes belong to a pool, and which policy sizes it.
//
//   pools:
//   - name: web
//     policy: escalator
//     nodes: {pool: web}
//     cloud: {min: 1, max: 10}
//     options: {...}
//
// `nodes` are the labels of the pool's nodes.  `cloud` is the cloud's group behind the pool; the
// default of `desired` is the pool's number of nodes.  With `default: true`, pending pods that
// select no node also belong to the pool.  If a signal is older than `signalPeriod` seconds (0:
// never), the pool stays as it is.  `options` are the keys of the policy.  `file` (for Clusterman
// also `service`) names a file of the policy's own program (school_files.h), relative to the folder
// of this file; `options` override it.  Escalator's file also gives `nodes`.  `queries` maps
// signals to Prometheus queries.
//
// For pools that a loop sizes (pool_sizer.h): `group` is the actuator's name of the group (default:
// the group of the pool's nodes).  `period` is the minimum number of seconds between rounds
// (default: that of the policy's program, by its options).  `order` is the order in which nodes are
// removed ("policy" or "planner").  After `retries` failed steps in a row the pool enters failsafe
// (0: never).  `stepTimeout` is how long a step may take, in seconds.
//
// Besides `pools` a file may have `notifications` (a list of log: true, webhook: {url, retries,
// timeout} and exec: {command, timeout}), `prometheus: {url, timeout}`, and `discover: {prefix}`:
// nodes with Replicator's keys in labels or annotations under the prefix make further pools
// (replicator_pools.h).
//
// Errors:  InvalidArgument with file, line and key: not YAML, unknown keys with the nearest known
//          one, wrong types, numbers out of range, missing keys, two pools with the same name, and
//          problems that the policy finds in its options.  NotFound: a named file cannot be read.
// Cost:    O(file).
// Threads: pure, except that it reads the registry and the named files.

#ifndef EBB_SIZING_POLICY_FILE_H_
#define EBB_SIZING_POLICY_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sizing/policy/policy.h"
#include "sizing/policy/policy_registry.h"
#include "sizing/sizing_settings.h"

namespace ebb {

struct SizedPool {
  std::string name;
  std::string policy_name{};
  std::map<std::string, std::string> nodes{};
  // Names of its nodes, if labels do not select them.
  std::set<std::string, std::less<>> members{};
  PolicyCloud cloud{};
  std::optional<int64_t> desired{};
  bool is_default = false;
  int64_t signal_period_s = 0;
  std::map<std::string, std::string> queries{};  // By signal.
  std::string group{};                           // Empty: the group of its nodes.
  int64_t period_s = 0;
  bool planners_order = false;
  int64_t retries = 3;
  int64_t step_timeout_s = 900;
  std::unique_ptr<Policy> policy{};
};

struct SizingFile {
  std::vector<SizedPool> pools;  // In the order of the file.
  std::vector<NotifierSettings> notifications;
  PrometheusSettings prometheus;
  std::optional<std::string> discover_prefix;  // Absent: nothing is discovered.
  // Valid settings that are probably a mistake, a sentence each: "pool web: period is 60 s, ...".
  std::vector<std::string> warnings{};
  // Pools that one loop cannot size together, a sentence each: all nodes of one pool belong to
  // another pool too, or two pools name one group.
  std::vector<std::string> conflicts{};
};

// Reads the file's text, `yaml`.  `file` is its name in errors; files that it names are looked up
// in its folder.  With `all_errors` every error of the settings is appended there, and reading goes
// on; the result is usable only if no error was appended.
absl::StatusOr<SizingFile> ReadSizingFile(const std::string& file, const std::string& yaml,
                                          const PolicyRegistry& registry,
                                          std::vector<std::string>* all_errors = nullptr);
// Returns only the pools of the file.
absl::StatusOr<std::vector<SizedPool>> ReadPolicyFile(const std::string& file,
                                                      const std::string& yaml,
                                                      const PolicyRegistry& registry);

// "no node has the labels pool=web".
std::string NoNodes(const SizedPool& pool);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_FILE_H_
