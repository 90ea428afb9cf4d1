// LiveCluster: a cluster that changes, and answers about its current state.
//
//   LiveCluster cluster;
//   ChangeBatch batch;
//   absl::Status status = batch.PutJson(node_as_json);
//   status = cluster.Take(batch.changes());
//   absl::StatusOr<LiveCluster::Version> version = cluster.Checked();
//
// Loading a dump of the current objects would give the same answers.
//
// Errors:    InvalidArgument, naming object and field; then nothing has changed.
// Ownership: ids in an answer are those of Snapshot(), until the next Take().
// Cost:      docs/live.md lists the cost of Take().
// Threads:   one at a time.  A Version may be used by other threads while this one takes later
//            changes.

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
  // Uses the priority cutoff and the completeness settings of `options`, and the fields that
  // LiveOptionsOf() passes on.
  explicit LiveCluster(const LoadOptions& options = {});
  LiveCluster(LoadOptions options, LiveSnapshot::Options live);
  // The LiveSnapshot options that the first constructor uses.
  static LiveSnapshot::Options LiveOptionsOf(const LoadOptions& options);

  // The cluster of a dump (ReadBytes); `name` stands for it in errors.
  // Errors: as LoadCluster.
  static absl::StatusOr<std::unique_ptr<LiveCluster>> FromDump(
      std::string_view name, std::string_view bytes, const LoadOptions& options,
      const Parallelism& parallelism = Parallelism::One());

  // As FromDump(), for a dump that may never change: keeps what LoadCluster makes of it, and the
  // bytes.  The objects are read from the bytes when they are first needed: for a change, a branch,
  // a copy or an export.  Other questions cost what they cost without a LiveCluster, and have the
  // same answers either way.
  // Cost: that of LoadCluster, and of copying `bytes`.
  static absl::StatusOr<std::unique_ptr<LiveCluster>> FromUnchangedDump(
      std::string_view name, std::string_view bytes, const LoadOptions& options,
      LiveSnapshot::Options live, const Parallelism& parallelism);

  // The cluster of files (ReadInput), as LoadCluster loads them.
  static absl::StatusOr<std::unique_ptr<LiveCluster>> FromInputs(
      std::span<const std::string> inputs, const LoadOptions& options,
      const Parallelism& parallelism = Parallelism::One());

  // --- Changes ---------------------------------------------------------------

  // Applies all changes in order, or none of them.
  absl::Status Take(std::span<const Change> changes, OlderObjects older = OlderObjects::kIgnore);
  // Adds or removes an object that ebb does not evaluate and that may matter.  Returns whether that
  // changed anything.
  bool PutUnevaluated(const ObjectSink::Unevaluated& object);
  bool EraseUnevaluated(const ObjectSink::Unevaluated& object);
  // Declares that the objects so far are all objects of every kind: a client has listed them.
  void AllKindsAreListed();
  // Makes the next question check the cluster's completeness again: a client has listed everything.
  void ForgetLastCheck();
  // Sets LoadOptions::assume_complete from now on.
  void SetAssumeComplete(bool assume_complete);
  // Sets where the objects come from, which decides what warnings advise; initially a dump.  A
  // client that has listed all kinds is a feeder.
  void SetSource(InputSource source);
  // Takes every object that `read` passes to the sink, each as a separate change.
  // Errors: those of `read` and of an object; earlier objects stay.
  absl::Status Read(const std::function<absl::Status(ObjectSink&)>& read);
  // Sets the version of the cluster's API server.  Its rules apply instead of those of the newest
  // kubelet, unless the options set a version.
  void SetServerVersion(KubernetesVersion version);

  [[nodiscard]] const LiveCounts& counts() const {
    return as_read_ ? as_read_->counts : live_->counts();
  }
  // The latest time that an object carries, Unix seconds.
  [[nodiscard]] int64_t NewestTime() {
    return as_read_ ? as_read_->cluster.newest_time : live_->NewestTime();
  }
  [[nodiscard]] const LoadOptions& options() const { return options_; }
  // The number of objects held, and whether one is held.
  [[nodiscard]] size_t Objects() const {
    return as_read_ ? as_read_->counts.put : live_->Objects();
  }
  [[nodiscard]] size_t Nodes() const { return as_read_ ? as_read_->nodes : live_->Nodes(); }
  [[nodiscard]] size_t Pods() const { return as_read_ ? as_read_->pods : live_->Pods(); }
  [[nodiscard]] bool Holds(const objects::ObjectRef& object) { return Live().Holds(object); }
  // "" if the cluster does not hold the namespace.
  [[nodiscard]] std::string_view UidOfNamespace(std::string_view name);

  // --- The cluster as it is now ------------------------------------------------

  [[nodiscard]] ClusterSnapshot& Snapshot() {
    return as_read_ ? as_read_->cluster.snapshot : live_->Snapshot();
  }
  // Pods without a node, in order of arrival.
  [[nodiscard]] std::vector<PodId> Pending() {
    return as_read_ ? as_read_->cluster.pending : live_->Pending();
  }
  // Of Snapshot().  They may be others after a change (LiveSnapshot::Options::renew_texts).
  [[nodiscard]] const std::shared_ptr<Symbols>& symbols() const {
    return as_read_ ? as_read_->cluster.snapshot.catalog().shared_symbols() : live_->symbols();
  }

  // An immutable version of the cluster for a reader, as loading a dump would return it.
  struct Version {
    LiveBranch branch;
    LoadedCluster cluster;  // The cluster of `branch`.
  };
  // The current version, without checking whether it is complete: it has no warnings.
  [[nodiscard]] Version Unchecked();
  // As Unchecked(), for the thread that takes the changes, valid until its next Take().  It makes
  // no branch, so the next change does not have to copy what a branch still uses.
  [[nodiscard]] LoadedCluster Here();
  // As Unchecked(), with warnings about what the cluster seems to lack (completeness.h).
  // Cost: O(cluster).
  // Errors: as CheckCompleteness of load_cluster.h: the cluster has no nodes; as CheckWhole
  // (incomplete.h) of the warnings, with the options' allow_incomplete.
  absl::StatusOr<Version> Checked();
  // As Checked(), but may reuse the warnings of an earlier version.  That happens only if the
  // earlier version was complete enough for an answer, and since then no kind of objects came or
  // went, the number of objects is within a quarter of what it was, there were fewer changes than
  // four times the number of objects, and at most five or a tenth more nodes, and as many fewer
  // pods, than before.
  // Cost: usually that of a branch.
  absl::StatusOr<Version> CheckedRecently();
  // As CheckedRecently(), but for Here(), and without CheckWhole: the caller calls that, because
  // each of its questions has its own setting for incomplete clusters.
  absl::StatusOr<LoadedCluster> CheckedRecentlyHere();

  // --- Answers -----------------------------------------------------------------

  // What the filters say about the pod "NAMESPACE/NAME" on each node or on one.
  absl::StatusOr<nlohmann::ordered_json> Filter(std::string_view pod,
                                                std::optional<std::string_view> node);

  // The source from which RoundDriver makes a round: this cluster itself.  Until the source is
  // destroyed, nodes that are reported unready are marked so, and evicted pods that the cluster
  // lacks wait for a node.  The source is valid until the next Take().
  // Cost: one change for each such node or pod; with kForRecord O(cluster).
  absl::StatusOr<RoundSource> Source(const RoundSettings& settings,
                                     const std::optional<ScaleDownState>& before,
                                     RoundObjects objects);

  // Another cluster with the same objects, which gives the same plans and is checked from scratch:
  // for trying changes.  It has no RebuildObserver.  Cost: that of reading all objects.
  absl::StatusOr<std::unique_ptr<LiveCluster>> Copy();

  // Writes all objects of the cluster to `sink`; reading them back gives the same plans.
  // Errors: the sink's.
  absl::Status Export(ObjectSink& sink) { return Live().Export(sink); }
  // Writes one object of those to `sink`; nothing if the cluster lacks it
  // (LiveSnapshot::ExportOne).
  absl::Status ExportOne(const objects::ObjectRef& object, ObjectSink& sink) {
    return Live().ExportOne(object, sink);
  }
  // As Export(), followed by the pods that are not in the snapshot (LiveSnapshot::ExportLeftOut),
  // the objects that are not evaluated, and empty lists of the kinds that are known to have no
  // objects (PodDisruptionBudgets, for instance).
  absl::Status ExportAll(ObjectSink& sink);

 private:
  // A cluster from FromUnchangedDump() whose objects were not needed yet.
  struct AsRead {
    LoadedCluster cluster;  // Checked, with warnings.
    std::string name;       // Of the dump, in errors.
    std::string bytes;
    size_t threads = 1;       // For reading `bytes` again.
    std::string cluster_uid;  // The UID of the namespace kube-system.
    size_t nodes = 0;
    size_t pods = 0;
    LiveCounts counts;  // `put`: the number of objects.
  };
  // Null if LoadCluster rejects the dump, which LoadDump() may accept, or if `live` asks for more.
  static std::unique_ptr<LiveCluster> ReadAsDump(std::string_view name, std::string_view bytes,
                                                 const LoadOptions& options,
                                                 const LiveSnapshot::Options& live,
                                                 const Parallelism& parallelism);
  static absl::StatusOr<std::unique_ptr<LiveCluster>> LoadDump(std::string_view name,
                                                               std::string_view bytes,
                                                               const LoadOptions& options,
                                                               LiveSnapshot::Options live,
                                                               const Parallelism& parallelism);
  // The objects; reads them first, if that was not done yet.
  LiveSnapshot& Live();
  // Reads the objects from the dump's bytes.
  void HoldObjects(const AsRead& as_read);

  // The changes that are made to the cluster for a round; its destructor undoes them
  // (live_cluster.cc).
  class RoundMarks;
  // Writes what ExportAll() adds to Export().
  absl::Status ExportRest(ObjectSink& sink);
  // What a version seemed to lack, and counts of that version.
  struct CompletenessCheck {
    uint64_t changes = 0;  // Changes() at that time.
    uint64_t objects = 0;  // Number of objects.
    uint64_t kinds = 0;    // Number of kinds.
    uint64_t nodes = 0;    // Number of nodes.
    uint64_t pods = 0;     // Number of pods.
    std::vector<InputWarning> warnings;
    LoadCounts counts;
  };
  // How many changes the cluster has taken; the difference is the age of a check.
  [[nodiscard]] uint64_t Changes() const {
    return counts().put + counts().deleted + counts().ready;
  }
  absl::Status CheckCensus(const InputCensus& census, ImportStats stats, LoadedCluster& cluster);
  absl::Status CheckCurrent(LoadedCluster& cluster);
  absl::Status CheckRecently(LoadedCluster& cluster);
  // The cluster as loading a dump of its objects would return it, without checking it.
  [[nodiscard]] LoadedCluster LoadedAs(ClusterSnapshot snapshot, std::vector<PodId> pending);
  // Reads a cluster with `read` and checks it; `where` is its name in errors.
  static absl::StatusOr<std::unique_ptr<LiveCluster>> Load(
      std::string_view where, const LoadOptions& options, LiveSnapshot::Options live,
      const std::function<absl::Status(InputCensus&, ObjectSink&, ImportStats&)>& read);

  LoadOptions options_;
  const LiveSnapshot::Options holding_;              // As passed to the constructor.
  std::optional<KubernetesVersion> server_version_;  // Absent: no client has set it.
  std::optional<AsRead> as_read_;
  std::unique_ptr<LiveSnapshot> live_;           // Empty while there is as_read_.
  std::optional<CompletenessCheck> last_check_;  // The last one.
  // An input listed PodDisruptionBudgets: if none are held, the cluster has none.
  bool budgets_known_ = false;
  UnevaluatedObjects unevaluated_;
  std::set<std::string, std::less<>> empty_kinds_;  // Kinds of which an input had an empty list.
  bool all_kinds_listed_ = false;
  InputSource source_ = InputSource::kDump;
};

// A copy of a cluster, on which changes are tried, and a version of it without these changes.
struct ScratchCluster {
  // The warnings and counts are those of `checked`, a version of `cluster`.
  static absl::StatusOr<ScratchCluster> Of(LiveCluster& cluster, const LoadedCluster& checked);

  std::unique_ptr<LiveCluster> live;
  LiveCluster::Version version;
};

}  // namespace ebb

#endif  // EBB_PLANNING_LIVE_CLUSTER_H_
