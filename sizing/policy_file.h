// The file of pools: which nodes make a pool, and by which policy it is sized.
//
//   pools:
//   - name: web
//     policy: escalator
//     nodes: {pool: web}
//     cloud: {min: 1, max: 10}
//     options: {...}
//
// `nodes` are the labels of the pool's nodes.  `cloud` is the group behind it; `desired` is as many
// nodes as there are unless it is given.  With `default: true` pods that wait and ask for no node
// are the pool's too.  A signal older than `signalPeriod` seconds (0: never) keeps the pool as it
// is.  `options` are the keys of the policy.  `file` (of Clusterman also `service`) names a file of
// the policy's own program (school_files.h), by a path from this one's folder; `options` beside it
// count more.  Escalator's file tells the `nodes` too.  `queries` are signals by name, as queries
// of Prometheus.
//
// For pools that a loop sizes (pool_sizer.h): `group` is the actuator's name of the group (default:
// that of the pool's nodes), `period` how many seconds lie between rounds at least (default: those
// of the policy's program, by its options), `order` in which nodes go ("policy" or "planner"),
// `retries` after how many failed steps in a row the pool is in failsafe (0: never), `stepTimeout`
// how long a step may take.
//
// Beside `pools` a file may have `notifications` (a list of log: true, webhook: {url, retries,
// timeout} and exec: {command, timeout}), `prometheus: {url, timeout}`, and `discover: {prefix}`:
// nodes with Replicator's keys in labels or annotations under the prefix make pools of their own
// (replicator_pools.h).
//
// Errors:  InvalidArgument with file, line and key: no YAML, unknown keys with the nearest known
//          one, wrong types, numbers out of range, missing keys, two pools of one name, what the
//          policy makes of its options.  NotFound: a file that is named cannot be read.
// Cost:    O(file).
// Threads: pure, but for reading the registry and the files that are named.

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
  std::set<std::string, std::less<>> members{};  // Names of its nodes, if labels do not tell them.
  PolicyCloud cloud{};
  std::optional<int64_t> desired{};
  bool is_default = false;
  int64_t signal_period_s = 0;
  std::map<std::string, std::string> queries{};  // By signal.
  std::string group{};                           // Empty: that of its nodes.
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
  // What is right to read and probably not meant, a sentence each: "pool web: period is 60 s, ...".
  std::vector<std::string> warnings{};
  // Pools that no loop can size beside each other, a sentence each: all nodes of one are another's,
  // or two name one group.
  std::vector<std::string> conflicts{};
};

// `file` names it in errors, and its folder is where files are found that it names; `yaml` is its
// text.  With `all_errors` every error of settings is appended there instead of ending with the
// first; what is returned is of use only where none came.
absl::StatusOr<SizingFile> ReadSizingFile(const std::string& file, const std::string& yaml,
                                          const PolicyRegistry& registry,
                                          std::vector<std::string>* all_errors = nullptr);
// Its pools.
absl::StatusOr<std::vector<SizedPool>> ReadPolicyFile(const std::string& file,
                                                      const std::string& yaml,
                                                      const PolicyRegistry& registry);

// "no node has the labels pool=web".
std::string NoNodes(const SizedPool& pool);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_FILE_H_
