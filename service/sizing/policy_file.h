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
// is. `options` are the keys of the policy.
//
// Errors:  InvalidArgument with file, line and key: no YAML, unknown keys with the nearest known
//          one, wrong types, numbers out of range, keys that lack, two pools of one name, what the
//          policy makes of its options.
// Cost:    O(file).
// Threads: pure, but for reading the registry.

#ifndef EBB_SERVICE_SIZING_POLICY_FILE_H_
#define EBB_SERVICE_SIZING_POLICY_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/policy/policy.h"
#include "engine/policy/policy_registry.h"

namespace ebb {

struct SizedPool {
  std::string name;
  std::string policy_name{};
  std::map<std::string, std::string> nodes{};
  PolicyCloud cloud{};
  std::optional<int64_t> desired{};
  bool is_default = false;
  int64_t signal_period_s = 0;
  std::unique_ptr<Policy> policy{};
};

// In the order of the file.  `file` names it in errors, `yaml` is its text.
absl::StatusOr<std::vector<SizedPool>> ReadPolicyFile(const std::string& file,
                                                      const std::string& yaml,
                                                      const PolicyRegistry& registry);

}  // namespace ebb

#endif  // EBB_SERVICE_SIZING_POLICY_FILE_H_
