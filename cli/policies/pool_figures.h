// Figures of pools from files: signals over time (--series) and resource usage (--usage).
//
// Errors:  NotFound and InvalidArgument, naming the file and what is wrong with it.
// Threads: none.

#ifndef EBB_CLI_POLICIES_POOL_FIGURES_H_
#define EBB_CLI_POLICIES_POOL_FIGURES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sizing/signal_series.h"
#include "sizing/usage_reader.h"

namespace ebb {

struct PoolFigures {
  std::vector<SignalPoint> points;
  UsageReader usage;
};

// `series` may be empty: then there are no signals.
absl::StatusOr<PoolFigures> ReadPoolFigures(const std::string& series,
                                            const std::vector<std::string>& usage);

}  // namespace ebb

#endif  // EBB_CLI_POLICIES_POOL_FIGURES_H_
