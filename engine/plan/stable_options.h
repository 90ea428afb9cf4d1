// StableOptions: how a plan that is kept (stable_planner.h) is compared with a new one.
//
// Threads: plain data.

#ifndef EBB_ENGINE_PLAN_STABLE_OPTIONS_H_
#define EBB_ENGINE_PLAN_STABLE_OPTIONS_H_

#include <cstddef>
#include <cstdint>

namespace ebb {

struct StableOptions {
  // The greedy plan replaces the kept one if it removes more than this share more nodes; 0: if it
  // removes any more.  At least 0.
  double margin = 0.02;
  // The greedy plan is made beside each so many plans; 1: beside each; 0: never.
  uint32_t greedy_every = 10;
  // Each so many plans are verified whole; 1: each; 0: only if PlanRequest::verify asks for it, or
  // if certificates do not cover what changed.
  uint32_t verify_every = 10;

  bool operator==(const StableOptions&) const = default;
};

// Whether a plan that removes `greedy` nodes replaces one that removes `kept`.
inline bool ReplacesKept(size_t greedy, size_t kept, double margin) {
  return static_cast<double>(greedy) > static_cast<double>(kept) * (1 + margin);
}

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_STABLE_OPTIONS_H_
