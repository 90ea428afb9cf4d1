// RebuildLog: how often a live cluster was built again, why, and how long that took.
//
//   RebuildLog log;
//   LiveSnapshot::Options options = LiveCluster::LiveOptionsOf(load);
//   options.rebuild_observer = &log;  // Must outlive the cluster.
//   LiveCluster cluster(load, options);
//
// Cost:    each rebuild reads the steady clock twice.
// Threads: that of the cluster.

#ifndef EBB_PLANNING_REBUILD_LOG_H_
#define EBB_PLANNING_REBUILD_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "platform/clock.h"
#include "snapshot/live/live_snapshot.h"

namespace ebb {

struct TimedRebuild {
  Rebuilt rebuilt;
  double seconds = 0;
};
// "shape, 412 ms", "dead-texts, 1.3 s, texts renewed".
std::string RebuildText(const TimedRebuild& rebuild);

struct RebuildTotals {
  struct Total {
    std::string_view cause;  // ToString(Rebuilt).
    uint64_t rebuilds = 0;
    double seconds = 0;
  };
  RebuildTotals();

  // One for each RebuildCause, and the last one for volumes.
  std::array<Total, kRebuildCauses + 1> by_cause;
  uint64_t text_renewals = 0;  // Each is a part of a rebuild.
};

class RebuildLog final : public RebuildObserver {
 public:
  // Calls `on_rebuild`, which may be null, at the end of each rebuild.
  explicit RebuildLog(std::function<void(const TimedRebuild&)> on_rebuild = nullptr)
      : on_rebuild_(std::move(on_rebuild)) {}
  RebuildLog(const RebuildLog&) = delete;
  RebuildLog& operator=(const RebuildLog&) = delete;

  [[nodiscard]] const RebuildTotals& totals() const { return totals_; }

  void OnBegin() override { began_ = Clock::now(); }
  void OnEnd(const Rebuilt& rebuilt) override;

 private:
  const std::function<void(const TimedRebuild&)> on_rebuild_;
  RebuildTotals totals_;
  Clock::time_point began_;
};

}  // namespace ebb

#endif  // EBB_PLANNING_REBUILD_LOG_H_
