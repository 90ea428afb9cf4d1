// ClusterLoader turns what readers hand over into the cluster that a plan is made
// for, leaving out what the autoscaler's own listing leaves out, and counts it.
//
//   ClusterLoader loader(options);
//   ImportStats stats;
//   if (absl::Status s = ReadInput("dump.json", loader, stats); !s.ok()) return s;
//   absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
//
// Left out: pods that have ended or are expendable (listed_pods.h).
// Kept without a node: pods that wait for one (LoadedCluster::pending); pods that do not, as they
// are gated, being deleted or not judged by the scheduler yet (WaitOf), which are counted; and
// pods whose node is not in the input, which are counted too, since a dump that lacks nodes is
// often a mistake.
//
// Errors:  those of SnapshotBuilder; a cluster without nodes.
// Doubt:   what the input seems to lack becomes LoadedCluster.warnings (completeness.h); where pods
//          must be missing, loading ends with an error (incomplete.h).
//          A pod that selects namespaces by labels keeps its node if the answer depends on
//          a namespace that is not in the input.  The label kubernetes.io/metadata.name of
//          such a namespace is known all the same: it is the namespace's name.
// Threads: one at a time.

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
  bool strict = false;           // Whoever loads fails if there are warnings: CheckStrict().
  bool assume_complete = false;  // The input is all there is; nothing is judged.
  // An answer about an input that lacks something is wanted all the same (incomplete.h).
  bool allow_incomplete = false;
  // As --bypassed-scheduler-names: room is kept for pods that these have not judged yet.
  std::vector<std::string> bypassed_schedulers = {};
  // ClusterSnapshot::SetMatchOs; else the scheduler's bare rules.
  bool match_os = true;
  // SnapshotBuilder::SetVersion: nullopt is the newest kubelet's.
  std::optional<KubernetesVersion> kubernetes_version = std::nullopt;
};

// How many pods, and "namespace/name" of the first.
struct PodTally {
  uint64_t pods = 0;
  std::string first;
  friend bool operator==(const PodTally&, const PodTally&) = default;
};

// Pods and other objects that a plan does not rest on.
struct LoadCounts {
  uint64_t ended = 0;
  uint64_t expendable = 0;
  uint64_t on_unknown_node = 0;
  std::string first_unknown;  // "namespace/name on node", of the first such pod.
  // Pods without a node by whether they wait for one: of those for which room is kept,
  // kNotRecorded and (where no pod has the condition PodScheduled) kUnprocessed.
  std::array<PodTally, kPodWaits> without_node = {};
  bool scheduling_recorded = false;  // Some pod has the condition PodScheduled.
  // The newest lastHeartbeatTime of a node, Unix seconds; 0: no node of the input has one.
  int64_t newest_heartbeat = 0;
  ImportStats input;
};

struct LoadedCluster {
  ClusterSnapshot snapshot;
  // Pods that wait for a node (TakesRoom), in the order of the input.
  std::vector<PodId> pending;
  int64_t newest_time = 0;  // The latest time that an object carries, Unix seconds.
  LoadCounts counts;
  std::vector<InputWarning> warnings;  // What cannot be told from the input.
  InputSource source = InputSource::kDump;
};

// Errors: no nodes, or no pod on any of them while some are on other nodes: no cluster at all.
// Reads `snapshot` and `counts`.
absl::Status CheckNodesAndPods(const LoadedCluster& cluster);

// Appends what ebb did with files that it could not read, or whose objects do not say their kind.
void WarnOfFiles(const ImportStats& input, bool assume_complete,
                 std::vector<InputWarning>& warnings);
// Errors: the first file that seems to hold objects which ebb needs and cannot read; for those who
// read files and hand on no warnings.
absl::Status CheckAllFilesRead(const ImportStats& input);

// The end of loading: fills `cluster.warnings` and `cluster.counts`.
// Errors: a cluster without nodes or of the nodes of another one; CheckWhole of the warnings.
absl::Status JudgeInput(const InputWatch& watch, ImportStats stats, const LoadOptions& options,
                        LoadedCluster& cluster);

// The code of a warning of the plan, not of the input.
inline constexpr std::string_view kMovesToOtherArchitecture = "MovesToOtherArchitecture";

// Errors: with --strict, any warning but kMovesToOtherArchitecture; to be asked when all are known,
// before anything is written.
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

  // `counts.input` stays empty; the reader holds it.
  absl::StatusOr<LoadedCluster> Finish() &&;

 private:
  void Saw(const objects::ObjectRef& object);
  absl::Status AddPod(const objects::Pod& pod);
  absl::Status AddUnknownNamespaces();

  LoadOptions options_;
  SnapshotBuilder builder_;
  LoadCounts counts_;
  int64_t newest_time_ = 0;
  absl::flat_hash_set<std::string> namespaces_;          // That have an object.
  absl::flat_hash_set<std::string> namespaces_of_pods_;  // Where all is assumed to be there.
  std::string last_namespace_;
  absl::flat_hash_set<PodId> nominated_;       // Without a node but the one they are nominated to.
  absl::flat_hash_map<PodId, PodWait> waits_;  // Of pods without a node.
};

// Pods without a node for which no room is kept, by why: pairs of a word for JSON and the pods.
std::vector<std::pair<std::string_view, PodTally>> PodsWithoutRoom(const LoadCounts& counts);

// "7 pods that have ended and 1 expendable pod": what the counts say was left out; empty: nothing.
std::string LeftOutText(const LoadCounts& counts);
// "No room is kept for 1 pod with scheduling gates (ns/name)."; empty: there are none.
std::string NoRoomText(const LoadCounts& counts);

// Reads all inputs into one cluster.
absl::StatusOr<LoadedCluster> LoadCluster(std::span<const std::string> inputs,
                                          const LoadOptions& options,
                                          const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_LOAD_CLUSTER_H_
