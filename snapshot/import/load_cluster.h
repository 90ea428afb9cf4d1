// ClusterLoader turns the objects from readers into the cluster that a plan is made for.  It leaves
// out the pods that the autoscaler's own listing leaves out, and counts them.
//
//   ClusterLoader loader(options);
//   ImportStats stats;
//   if (absl::Status s = ReadInput("dump.json", loader, stats); !s.ok()) return s;
//   absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
//
// Left out: pods that have ended or are expendable (listed_pods.h).
// Kept without a node:
//   - pods that wait for a node (LoadedCluster::pending);
//   - pods that do not wait (WaitOf): gated, being deleted, or not judged by the scheduler yet.
//     They are counted;
//   - pods whose node is not in the input.  They are counted too, because a dump that lacks nodes
//     is often a mistake.
//
// Errors:  those of SnapshotBuilder.
// Gaps:    what the input seems to lack is added to LoadedCluster.warnings (completeness.h).  If
//          pods must be missing, loading ends with an error (incomplete.h).  A pod that selects
//          namespaces by labels keeps its node if the answer depends on a namespace that is not in
//          the input.  Only one label of such a namespace is known: kubernetes.io/metadata.name,
//          whose value is the namespace's name.
// Threads: one thread at a time.

#ifndef EBB_SNAPSHOT_IMPORT_LOAD_CLUSTER_H_
#define EBB_SNAPSHOT_IMPORT_LOAD_CLUSTER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/builder.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/import/advice.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/incomplete.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/objects/listed_pods.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

struct LoadOptions {
  int64_t expendable_pods_priority_cutoff = kExpendablePodsPriorityCutoff;
  InputLimits limits = {};
  InputUse use = InputUse::kPlan;
  bool strict = false;           // Warnings are errors.  The caller checks: CheckStrict().
  bool assume_complete = false;  // The input is the whole cluster; its completeness is not checked.
  // Answer even if the input is incomplete (incomplete.h).
  bool allow_incomplete = false;
  // As --bypassed-scheduler-names: room is kept for pods that these schedulers have not judged yet.
  std::vector<std::string> bypassed_schedulers = {};
  // ClusterSnapshot::SetMatchOs; false: only the scheduler's own rules.
  bool match_os = true;
  // SnapshotBuilder::SetVersion; nullopt: the version of the newest kubelet.
  std::optional<KubernetesVersion> kubernetes_version = std::nullopt;
  VpaRule vpa = VpaRule::kFollow;
  // The configuration of the scheduler, SnapshotBuilder::SetScheduler.  Null: the one in the input,
  // or else the default one.
  std::shared_ptr<const SchedulerConfig> scheduler = nullptr;
  UnhealthyPods unhealthy_pods = UnhealthyPods::kKeep;

  // Sets `scheduler` from a KubeSchedulerConfiguration; from an empty text to null.
  // Errors: as ParseSchedulerConfig (formats/read_scheduler_config.h).
  absl::Status ReadScheduler(std::string_view text);
};

// A number of pods, and "namespace/name" of the first one.
struct PodTally {
  uint64_t pods = 0;
  std::string first;
  friend bool operator==(const PodTally&, const PodTally&) = default;
};

// Counts of pods and other objects, most of which have no influence on a plan.
struct LoadCounts {
  uint64_t ended = 0;
  uint64_t expendable = 0;
  uint64_t on_unknown_node = 0;
  std::string first_unknown;  // "namespace/name on node", of the first such pod.
  // Pods without a node, indexed by PodWait; TakesRoom() says for which of them room is kept.
  std::array<PodTally, kPodWaits> without_node = {};
  bool scheduling_recorded = false;  // At least one pod has the condition PodScheduled.
  // The newest lastHeartbeatTime of a node, Unix seconds; 0: no node has one.
  int64_t newest_heartbeat = 0;
  ImportStats input;
};

struct LoadedCluster {
  ClusterSnapshot snapshot;
  // Pods that wait for a node (TakesRoom), in the order of the input.
  std::vector<PodId> pending;
  int64_t newest_time = 0;  // The latest time in any object, Unix seconds.
  LoadCounts counts;
  std::vector<InputWarning> warnings;  // Doubts that the input does not settle.
  InputSource source = InputSource::kDump;
};

// Errors: InvalidArgument: the cluster has no nodes, or none of its nodes has a pod while pods are
// on other nodes.
// Reads `snapshot` and `counts`.
absl::Status CheckNodesAndPods(const LoadedCluster& cluster);

// Appends warnings about files that could not be read or whose objects do not have a kind.
void WarnOfFiles(const ImportStats& input, bool assume_complete,
                 std::vector<InputWarning>& warnings);
// Errors: InvalidArgument: a file that seems to hold objects which ebb needs cannot be read; the
// message is that of the first such file.  For callers that do not pass on warnings.
absl::Status CheckAllFilesRead(const ImportStats& input);

// The last step of loading: fills `cluster.warnings` and `cluster.counts`.
// Errors: those of CheckNodesAndPods() and CheckWhole().
absl::Status CheckCompleteness(const InputCensus& census, ImportStats stats,
                               const LoadOptions& options, LoadedCluster& cluster);

// The code of a warning about the plan rather than the input.
inline constexpr std::string_view kMovesToOtherArchitecture = "MovesToOtherArchitecture";

// Errors: with --strict, any warning except kMovesToOtherArchitecture.  Call it when all warnings
// are known, before anything is written.
absl::Status CheckStrict(const LoadOptions& options, std::span<const InputWarning> warnings);

class ClusterLoader : public ObjectSink {
 public:
  explicit ClusterLoader(LoadOptions options = {});

  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  absl::Status OnUnevaluated(const Unevaluated& object) override;
  [[nodiscard]] bool TakesPodColumns() const override { return true; }
  absl::Status OnTexts(const TextTable& texts) override;
  absl::Status OnPodPattern(const objects::Pod& first, uint64_t pods) override;
  absl::Status OnPods(const PodColumns& pods) override;

  // Leaves `counts.input` empty; the caller has it from the reader.
  absl::StatusOr<LoadedCluster> Finish() &&;

 private:
  // What OnPods() needs of a pattern.
  struct Pattern {
    PodListing listing = PodListing::kListed;
    PodWait wait = PodWait::kWaits;    // For pods without a node.
    SnapshotBuilder::PodPattern pods;  // Only if listed.
  };

  void Saw(const objects::ObjectRef& object);
  // Counts pods that are left out.
  void LeaveOut(PodListing listing, uint64_t pods);
  // Records what all pods of a pattern have in common with the listed pod.
  void Note(const objects::Pod& pod);
  absl::Status AddPod(const objects::Pod& pod);
  void NoteWaiting(PodId pod, bool is_nominated, PodWait wait);
  absl::Status AddUnknownNamespaces();

  LoadOptions options_;
  SnapshotBuilder builder_;
  LoadCounts counts_;
  int64_t newest_time_ = 0;
  // Only filled with assume_complete: namespaces with an object, and namespaces of pods.
  absl::flat_hash_set<std::string> namespaces_;
  absl::flat_hash_set<std::string> namespaces_of_pods_;
  std::string last_namespace_;
  absl::flat_hash_set<PodId> nominated_;       // Pods without a node that are nominated to one.
  absl::flat_hash_map<PodId, PodWait> waits_;  // Only for pods without a node.
  // Of the current file.
  AdoptedTexts texts_;
  std::vector<Pattern> patterns_;
};

// Pods without a node for which no room is kept: for each reason its word in JSON, and the pods.
std::vector<std::pair<std::string_view, PodTally>> PodsWithoutRoom(const LoadCounts& counts);

// Which pods were left out: "7 pods that have ended and 1 expendable pod"; empty: none.
std::string LeftOutText(const LoadCounts& counts);
// "No room is kept for 1 pod with scheduling gates (ns/name)."; empty: no such pods.
std::string NoRoomText(const LoadCounts& counts);

// Reads all inputs into one cluster.
absl::StatusOr<LoadedCluster> LoadCluster(std::span<const std::string> inputs,
                                          const LoadOptions& options,
                                          const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_LOAD_CLUSTER_H_
