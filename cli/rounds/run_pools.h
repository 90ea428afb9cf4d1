// RunPools: the pools of `ebb run --pools`, as a loop sizes them (pool_sizer.h).
//
//   absl::StatusOr<std::unique_ptr<RunPools>> pools = RunPools::Read(flags, err);
//   if (*pools != nullptr) loop_options.sizer = &(*pools)->sizer();
//
// A live loop tells notices to whom the file names.  A dry run and a simulation tell nobody: a
// notice is a line of their log, as any pool's failsafe is.
//
// Before a pool is decided, its signals are read: those of --series and --usage, whose files are
// read anew each time, and what Prometheus answers to its queries.  What cannot be read keeps the
// pool as it is in this turn.
//
// Errors:  NotFound and InvalidArgument, naming file and what is wrong with it (policy_file.h);
//          InvalidArgument for what the file has and a loop cannot do.
// Threads: one at a time.

#ifndef EBB_CLI_ROUNDS_RUN_POOLS_H_
#define EBB_CLI_ROUNDS_RUN_POOLS_H_

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/policies/pool_figures.h"
#include "engine/plan/node_groups.h"
#include "sizing/notice_queue.h"
#include "sizing/notifier.h"
#include "sizing/policy/policy.h"
#include "sizing/policy_file.h"
#include "sizing/pool_sizer.h"
#include "snapshot/catalog.h"

namespace ebb {

struct RunFlags;

class RunPools {
 public:
  // Null: there is no --pools.  `err` takes what notices and notifiers say, and outlives this.
  static absl::StatusOr<std::unique_ptr<RunPools>> Read(const RunFlags& flags, std::ostream& err);
  RunPools(const RunPools&) = delete;
  RunPools& operator=(const RunPools&) = delete;

  [[nodiscard]] PoolSizer& sizer() { return *sizer_; }
  // Prints which notices could not be sent since the last call.
  void PrintProblems(std::ostream& err);
  // Gives up notices that are not sent within a short while, and prints which.
  void EndNotices(std::ostream& err);
  // Names of the groups that have a node of some pool.
  [[nodiscard]] std::set<std::string> GroupsOf(const Catalog& catalog,
                                               const NodeGroups& groups) const;

 private:
  explicit RunPools(const RunFlags& flags);
  absl::Status ReadFile(const RunFlags& flags);
  void MakeSizer(const RunFlags& flags, std::ostream& err);
  absl::Status Enrich(const SizedPool& pool, int64_t now_s, PolicyObservation& seen);

  const std::string series_;
  const std::vector<std::string> usage_;
  SizingFile file_;
  std::vector<std::unique_ptr<Notifier>> loggers_;
  std::optional<NoticeQueue> notices_;  // To web hooks and commands.
  std::optional<PoolSizer> sizer_;
  // Of the last turn.
  std::optional<absl::StatusOr<PoolFigures>> figures_;
  int64_t figures_at_s_ = 0;
};

// What came of pools over many turns.
class PoolStories {
 public:
  // A turn of a pool that was not as the one before.
  struct Decision {
    int64_t at_s;
    PoolTurn turn;
  };
  struct Story {
    std::string pool;
    std::string policy;
    int64_t nodes_at_first = 0;
    int64_t nodes_at_last = 0;
    int64_t decided = 0;   // Turns.
    int64_t grew = 0;      // Times that machines were asked for.
    int64_t machines = 0;  // That were asked for.
    int64_t shrank = 0;    // Times that nodes were to go.
    int64_t left = 0;      // Nodes that were to go.
    bool failsafe = false;
    std::map<std::string, int64_t> denied{};  // Turns, by what denied them.
    std::vector<Decision> decisions{};
  };

  void Take(int64_t now_s, const std::vector<PoolTurn>& pools);
  // By pool.
  [[nodiscard]] const std::map<std::string, Story>& stories() const { return stories_; }

 private:
  std::map<std::string, Story> stories_;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_RUN_POOLS_H_
