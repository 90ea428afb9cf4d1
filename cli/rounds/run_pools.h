// RunPools: the pools of `ebb run --pools`, as a loop sizes them (pool_sizer.h).
//
//   absl::StatusOr<std::unique_ptr<RunPools>> pools = RunPools::Read(flags, err);
//   if (*pools != nullptr) loop_options.sizer = &(*pools)->sizer();
//
// A live loop sends notices to the recipients that the file names.  A dry run and a simulation send
// none: a notice is a line of their log, as the failsafe of any pool is.
//
// Before each decision about a pool, its signals are read: the files of --series and --usage, which
// are read again each time, and the answers of Prometheus to the pool's queries.  If a signal
// cannot be read, the pool keeps its size in this turn.
//
// Errors:  NotFound and InvalidArgument, naming the file and what is wrong with it (policy_file.h);
//          InvalidArgument for settings of the file that this loop does not support.
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
  // Returns null if --pools was not given.  Notices and notifiers print to `err`, which must
  // outlive the result.
  static absl::StatusOr<std::unique_ptr<RunPools>> Read(const RunFlags& flags, std::ostream& err);
  RunPools(const RunPools&) = delete;
  RunPools& operator=(const RunPools&) = delete;

  [[nodiscard]] PoolSizer& sizer() { return *sizer_; }
  // Prints which notices could not be sent since the last call.
  void PrintProblems(std::ostream& err);
  // Waits a short while for notices that are not yet sent, then drops them and prints which.
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
  std::optional<NoticeQueue> notices_;  // To webhooks and commands.
  std::optional<PoolSizer> sizer_;
  // From the current turn.
  std::optional<absl::StatusOr<PoolFigures>> figures_;
  int64_t figures_at_s_ = 0;
};

// What happened to pools over many turns.
class PoolStories {
 public:
  // A turn of a pool that differs from the pool's turn before.
  struct Decision {
    int64_t at_s;
    PoolTurn turn;
  };
  struct Story {
    std::string pool;
    std::string policy;
    int64_t nodes_at_first = 0;
    int64_t nodes_at_last = 0;
    int64_t decided = 0;   // How many turns.
    int64_t grew = 0;      // How many turns requested machines.
    int64_t machines = 0;  // How many machines were requested.
    int64_t shrank = 0;    // How many turns requested that nodes leave.
    int64_t left = 0;      // How many nodes were requested to leave.
    bool failsafe = false;
    std::map<std::string, int64_t> denied{};  // How many turns, by the check that denied a change.
    std::vector<Decision> decisions{};
  };

  void Take(int64_t now_s, const std::vector<PoolTurn>& pools);
  // By the name of the pool.
  [[nodiscard]] const std::map<std::string, Story>& stories() const { return stories_; }

 private:
  std::map<std::string, Story> stories_;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_RUN_POOLS_H_
