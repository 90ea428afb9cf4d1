// PlannerMemory: what a Planner remembers between passes, as text, so that it can outlive the
// process.

#ifndef EBB_ENGINE_PASS_PLANNER_MEMORY_H_
#define EBB_ENGINE_PASS_PLANNER_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ebb {

struct PlannerMemory {
  struct Hint {
    std::string pod_key;  // PodInfo::key
    std::string node;
    friend bool operator==(const Hint&, const Hint&) = default;
  };
  struct Unremovable {
    std::string node;
    int64_t until_s;
    // The reason, as PastVerdict; spelled as by ToString.  Empty: unknown.
    std::string reason = {};
    std::string blocking_reason = {};
    std::string pod_namespace = {};
    std::string pod_name = {};
    std::string pdb = {};
    friend bool operator==(const Unremovable&, const Unremovable&) = default;
  };
  std::vector<Hint> hints;  // All lists are sorted.
  std::vector<Hint> pending_hints;
  std::vector<Unremovable> unremovable;
  uint64_t scan_pointer = 0;
  friend bool operator==(const PlannerMemory&, const PlannerMemory&) = default;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_PLANNER_MEMORY_H_
