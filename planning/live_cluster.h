// LiveCluster: a cluster as it changes, and what can be asked of it as it is now.
//
//   LiveCluster cluster;
//   ChangeBatch batch;
//   absl::Status status = batch.PutJson(node_as_json);
//   status = cluster.Take(batch.changes());
//   absl::StatusOr<LiveCluster::Version> version = cluster.Checked();
//
// It answers what loading a dump of the objects that are there now would answer.
//
// Errors:    InvalidArgument, naming object and field; nothing has changed then.
// Ownership: ids in an answer are those of Snapshot(), until the next Take().
// Cost:      of Take() docs/live.md.
// Threads:   used by one thread at a time.  Version() is for others: they go on with it while
//            later changes are taken.

#ifndef EBB_PLANNING_LIVE_CLUSTER_H_
#define EBB_PLANNING_LIVE_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "groups/groups.h"
#include "rounds/round_settings.h"
#include "rounds/round_source.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/live/live_snapshot.h"

namespace ebb {

class LiveCluster {
 public:
  // Of `options` the priority cutoff, and what judging what is there asks for.
  explicit LiveCluster(const LoadOptions& options = {});
  LiveCluster(LoadOptions options, LiveSnapshot::Options live);
  // How the first one holds its objects.
  static LiveSnapshot::Options LiveOptionsOf(const LoadOptions& options);

  // The cluster of a dump (ReadBytes); `name` stands for it in errors.
  // Errors: as LoadCluster.
  static absl::StatusOr<std::unique_ptr<LiveCluster>> FromDump(
      std::string_view name, std::string_view bytes, const LoadOptions& options,
      const Parallelism& parallelism = Parallelism::One());
  static absl::StatusOr<std::unique_ptr<LiveCluster>> FromDump(std::string_view name,
                                                               std::string_view bytes,
                                                               const LoadOptions& options,
                                                               LiveSnapshot::Options live,
                                                               const Parallelism& parallelism);

  // The cluster of files (ReadInput), as LoadCluster loads them.
  static absl::StatusOr<std::unique_ptr<LiveCluster>> FromInputs(
      std::span<const std::string> inputs, const LoadOptions& options,
      const Parallelism& parallelism = Parallelism::One());

  // --- Changes ---------------------------------------------------------------

  // All of them, in their order, or none.
  absl::Status Take(std::span<const Change> changes, OlderObjects older = OlderObjects::kIgnore);
  // An object that is not evaluated and may matter came, or went; false: it is nothing new.
  bool PutUnevaluated(const ObjectSink::Unevaluated& object);
  bool EraseUnevaluated(const ObjectSink::Unevaluated& object);
  // From here on the objects are all that there is of every kind: a client has listed them.
  void AllKindsAreListed();
  // The next question is judged by what is there then: a client has named all of it.
  void ForgetJudgement() { judgement_.reset(); }
  // LoadOptions::assume_complete, from here on.
  void SetAssumeComplete(bool assume_complete);
  // Where the objects come from, which decides what warnings advise; at first a dump.  A client
  // that has listed all kinds is a feeder.
  void SetSource(InputSource source);
  // Every object that `read` hands over, each as a change of its own.
  // Errors: those of `read` and of an object; what came before it is taken.
  absl::Status Read(const std::function<absl::Status(ObjectSink&)>& read);
  // The version of the cluster's API server: its rules hold in place of the newest kubelet's,
  // unless the options name a version.
  void SetServerVersion(KubernetesVersion version);

  [[nodiscard]] const LiveCounts& counts() const { return live_.counts(); }
  // The latest time that an object carries, Unix seconds.
  [[nodiscard]] int64_t NewestTime() { return live_.NewestTime(); }
  [[nodiscard]] const LoadOptions& options() const { return options_; }
  // Objects that are held, and whether this one is.
  [[nodiscard]] size_t Objects() const { return live_.Objects(); }
  [[nodiscard]] size_t Nodes() const { return live_.Nodes(); }
  [[nodiscard]] size_t Pods() const { return live_.Pods(); }
  [[nodiscard]] bool Holds(const objects::ObjectRef& object) { return live_.Holds(object); }
  // "" where it is not held.
  [[nodiscard]] std::string_view UidOfNamespace(std::string_view name) {
    return live_.UidOfNamespace(name);
  }

  // --- The cluster as it is now ------------------------------------------------

  [[nodiscard]] ClusterSnapshot& Snapshot() { return live_.Snapshot(); }
  // Pods without a node, in the order in which they came.
  [[nodiscard]] std::vector<PodId> Pending() { return live_.Pending(); }
  [[nodiscard]] const std::shared_ptr<Symbols>& symbols() const { return live_.symbols(); }

  // A version for a reader, as a dump would be loaded.
  struct Version {
    LiveBranch branch;
    LoadedCluster cluster;  // Of the branch.
  };
  // Nothing is judged: no warnings.
  [[nodiscard]] Version Unchecked();
  // The same for the thread that takes the changes, until it takes the next one: no branch is made,
  // which the next change would have to make room beside.
  [[nodiscard]] LoadedCluster Here();
  // The same with what the cluster seems to lack (completeness.h).  Cost: O(cluster).
  // Errors: as JudgeInput of load_cluster.h: no nodes; CheckWhole of the warnings (incomplete.h) by
  // the options' allow_incomplete.
  absl::StatusOr<Version> Checked();
  // The same, but warnings may be those of an earlier version, as long as it allowed an answer, no
  // kind of objects came or went, their number is within a quarter of what it was, not every object
  // has changed several times, and there are at most five or a tenth more nodes, and as many fewer
  // pods, than there were.
  // Cost: mostly that of a branch.
  absl::StatusOr<Version> CheckedRecently();
  // The same of Here(), but CheckWhole is for the caller to ask: each of its questions has its own
  // word about incomplete clusters.
  absl::StatusOr<LoadedCluster> CheckedRecentlyHere();

  // --- Answers -----------------------------------------------------------------

  // What the filters say of a pod, "NAMESPACE/NAME", on each node or on one.
  absl::StatusOr<nlohmann::ordered_json> Filter(std::string_view pod,
                                                std::optional<std::string_view> node);

  // What RoundDriver makes a round of: this cluster itself, in which nodes that are reported
  // unready are so, and evicted pods that it lacks wait, until the source goes.  The source is
  // valid until the next Take(). Cost: that of a change for each of them; with kForRecord
  // O(cluster).
  absl::StatusOr<RoundSource> Source(const RoundSettings& settings,
                                     const std::optional<ScaleDownState>& before,
                                     RoundObjects objects);

  // Another cluster with the same objects, which gives the same plans and is judged anew: for
  // changes that are tried.  Cost: that of reading all objects.
  absl::StatusOr<std::unique_ptr<LiveCluster>> Copy();

  // All objects of the cluster; reading them gives the same plans.  Errors: the sink's.
  absl::Status Export(ObjectSink& sink) { return live_.Export(sink); }
  // The same, and after them the pods that are not in the snapshot (LiveSnapshot::ExportLeftOut),
  // and a list of no budgets where it is known that there are none.
  absl::Status ExportAll(ObjectSink& sink);

 private:
  // What is done to the cluster for a round, and undone when it goes (live_cluster.cc).
  class RoundMarks;
  // What ExportAll() gives beside the objects.
  absl::Status ExportRest(ObjectSink& sink);
  // What a version seemed to lack.
  struct Judgement {
    uint64_t changes = 0;  // Until then.
    uint64_t objects = 0;  // That were there.
    uint64_t kinds = 0;    // That were there.
    uint64_t nodes = 0;    // That were there.
    uint64_t pods = 0;     // That were there.
    std::vector<InputWarning> warnings;
    LoadCounts counts;
  };
  // How many changes the cluster has taken: tells how old a judgement is.
  [[nodiscard]] uint64_t Changes() const {
    return live_.counts().put + live_.counts().deleted + live_.counts().ready;
  }
  absl::Status Judge(const InputWatch& watch, ImportStats stats, LoadedCluster& cluster);
  absl::Status JudgeNow(LoadedCluster& cluster);
  absl::Status CheckRecently(LoadedCluster& cluster);
  // What a dump's loading would say of the objects, apart from judging them.
  [[nodiscard]] LoadedCluster LoadedAs(ClusterSnapshot snapshot, std::vector<PodId> pending);
  // What `read` reads, judged; `where` stands for it in errors.
  static absl::StatusOr<std::unique_ptr<LiveCluster>> Load(
      std::string_view where, const LoadOptions& options, LiveSnapshot::Options live,
      const std::function<absl::Status(InputWatch&, ObjectSink&, ImportStats&)>& read);

  LoadOptions options_;
  const LiveSnapshot::Options holding_;              // As it was made.
  std::optional<KubernetesVersion> server_version_;  // Absent: no client has named it.
  LiveSnapshot live_;
  std::optional<Judgement> judgement_;  // The last one.
  // An input listed budgets: where it has none, the cluster has none.
  bool budgets_known_ = false;
  UnevaluatedObjects unevaluated_;
  std::set<std::string, std::less<>> empty_kinds_;  // An input had an empty list of each.
  bool all_kinds_listed_ = false;
  InputSource source_ = InputSource::kDump;
};

// A copy of a cluster, on which changes are tried, and a version of it without them.
struct TrialCluster {
  // It says of itself what `judged`, a version of `cluster`, says.
  static absl::StatusOr<TrialCluster> Of(LiveCluster& cluster, const LoadedCluster& judged);

  std::unique_ptr<LiveCluster> live;
  LiveCluster::Version version;
};

}  // namespace ebb

#endif  // EBB_PLANNING_LIVE_CLUSTER_H_
