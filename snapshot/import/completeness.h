// InputCensus checks whether an input can be a whole cluster.
//
// A plan over part of a cluster is wrong in ways that the plan does not show: missing pods leave
// room, missing budgets allow moves.  So the census sits between the readers and the sink of the
// objects, records what only the input shows, and then checks the cluster that was built from the
// input:
//
//   InputCensus census;
//   absl::StatusOr<LoadedCluster> cluster =
//       LoadNewest(census, [&]() -> absl::StatusOr<LoadedCluster> {
//         ClusterLoader loader(options);
//         absl::Status read = census.Read(inputs, loader, stats);
//         if (!read.ok()) return read;
//         return std::move(loader).Finish();
//       });
//   census.FindLacks(InputUse::kPlan, cluster->snapshot, cluster->newest_time, cluster->warnings);
//
// Each thing that the input seems to lack becomes an InputWarning.  The warning has the command
// that fetches the missing part, or advice for the user of a feeder (advice.h), and how severe the
// lack is; incomplete.h defines which lacks prevent an answer.  docs/input.md lists the warnings.
//
// The input may have an object (kind, namespace and name) twice.  If both have the same content
// (object_content.h), they count as one object: must-gather writes a pod into its list and into a
// file of its own.  Otherwise they contradict each other and the input is rejected, whatever the
// flags: different UIDs come from two clusters or two moments; different content comes from two
// moments, or from an editor if the resourceVersion is the same.  There is one exception: one dump
// may have an object once in a list and once by itself, in two versions.  Then the newer version is
// used; the inputs may have to be read again for that.  Objects without a resourceVersion, as ebb
// writes them, are passed to the sink, which may reject the second one.
//
// Errors:  those of the readers and the sink; InvalidArgument for objects that contradict each
//          other.
// Cost:    for each object with a resourceVersion some 100 bytes and a hash of its content; one or
//          two names for each controller that has pods, each claim and each bound volume.
// Threads: one thread at a time.

#ifndef EBB_SNAPSHOT_IMPORT_COMPLETENESS_H_
#define EBB_SNAPSHOT_IMPORT_COMPLETENESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/import/advice.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/objects/listed_pods.h"
#include "snapshot/objects/object_sink.h"
#include "snapshot/objects/pod_columns.h"
#include "snapshot/objects/unevaluated_kinds.h"

namespace ebb {

// What the cluster is loaded for; decides which missing kinds matter.
enum class InputUse : uint8_t {
  kPlan,    // Everything.
  kFilter,  // Nodes, pods and what filters read: no budgets, no controllers.
};

class InputCensus : public ObjectSink {
 public:
  // Whether the inputs may be read a second time; pipes never are.
  enum class ReadAgain : uint8_t { kNo, kIfNeeded };

  // A plan leaves out pods whose priority is below the cutoff.
  explicit InputCensus(int64_t expendable_pods_priority_cutoff = kExpendablePodsPriorityCutoff)
      : expendable_pods_priority_cutoff_(expendable_pods_priority_cutoff) {}

  // Reads all of `inputs` (read_input.h) into `to`.  If MustReadAgain() is true afterwards, `to`
  // received an object before a newer version of it was read.  Then drop everything and call Read()
  // again; the second call skips the older version.  LoadNewest() below does that.
  absl::Status Read(std::span<const std::string> inputs, ObjectSink& to, ImportStats& stats,
                    const Parallelism& parallelism = Parallelism::One(),
                    const InputLimits& limits = {}, ReadAgain again = ReadAgain::kIfNeeded);
  [[nodiscard]] bool MustReadAgain() const { return !newer_.empty(); }

  // Reads one input whose bytes are in memory; `name` is its name in errors.
  absl::Status Read(std::string_view name, std::string_view bytes, ObjectSink& to,
                    ImportStats& stats, const Parallelism& parallelism = Parallelism::One(),
                    const InputLimits& limits = {});

  // Records objects from memory, each of which comes once: `give` passes them to the sink that it
  // receives.  Such objects do not show whether they were in a list, nor which lists were empty,
  // and controllers and pods need not be of exactly the same moment.  So more pods may be missing
  // before there is a warning.
  absl::Status Look(const std::function<absl::Status(ObjectSink&)>& give, ObjectSink& to);

  // Only during Look(): records `pods` pods that differ from `first` in nothing but name, UID,
  // times and node.
  absl::Status OnPodsLike(const objects::Pod& first, uint64_t pods);

  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  [[nodiscard]] bool TakesPodColumns() const override { return to_->TakesPodColumns(); }
  absl::Status OnTexts(const TextTable& texts) override;
  absl::Status OnPodPattern(const objects::Pod& first, uint64_t pods) override;
  absl::Status OnPods(const PodColumns& pods) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  absl::Status OnIgnored(std::string_view kind) override { return to_->OnIgnored(kind); }
  absl::Status OnUnevaluated(const Unevaluated& object) override {
    unevaluated_.Put(object);
    return to_->OnUnevaluated(object);
  }
  absl::Status OnList(std::string_view kind, uint64_t items) override;
  absl::Status OnPartOfList(std::string_view why) override;
  void OnAside(const Aside& aside) override { aside_ = aside; }

  // Accept parts of lists, and check them; without this call they are errors, as for other sinks.
  void TakePartsOfLists() { takes_pages_ = true; }
  // The objects come from lists of all kinds: a kind without objects is empty, not missing.
  // Call it after Read() or Look(), which reset it.
  void AllKindsAreListed() { lists_all_kinds_ = true; }

  // Whether `missing` of `all` objects are too many to be explained by a cluster that changed while
  // it was listed, or by a small hand-written one.
  [[nodiscard]] static bool MustBeMissing(uint64_t missing, uint64_t all);

  // The UID of the namespace kube-system, which identifies the cluster; "" if the input does not
  // contain that namespace.
  [[nodiscard]] const std::string& cluster_uid() const { return cluster_uid_; }

  // The newest lastHeartbeatTime of a node's conditions, Unix seconds; 0: no node has one.
  [[nodiscard]] int64_t newest_heartbeat() const { return newest_heartbeat_; }

  // The number of objects that were read a second time.
  [[nodiscard]] uint64_t repeated() const { return repeated_; }

  // Objects of kinds that ebb does not evaluate.
  [[nodiscard]] const UnevaluatedObjects& unevaluated() const { return unevaluated_; }

  // Appends warnings about what the input seems to lack.  `newest_time` is the time of the dump,
  // in Unix seconds, as far as its objects show it.  `source` decides what the warnings advise.
  // Cost: one pass over nodes and pods.
  void FindLacks(InputUse use, const ClusterSnapshot& cluster, int64_t newest_time,
                 std::vector<InputWarning>& warnings,
                 InputSource source = InputSource::kDump) const;

 private:
  // Resets everything for objects that go to `to`, except TakePartsOfLists() and, from the reading
  // before, which objects have newer versions.
  void Begin(ObjectSink& to, bool may_read_again);

  // A controller whose status says that it has pods.
  struct Workload {
    objects::ControllerKind kind;
    std::string namespace_name;
    std::string name;
    int64_t pods;   // A lower bound, from its status.
    int64_t ready;  // How many of them are ready, from its status.
    int64_t creation_time;
  };
  struct ListedNamespace {
    std::string name;
    int64_t creation_time;
  };
  using Hash128 = std::pair<uint64_t, uint64_t>;
  // A volume whose spec names the claim to which it is bound.
  struct BoundVolume {
    Hash128 claim;
    std::string name;
    std::string claim_name;
  };
  class LackFinder;

  // A hash of kind, namespace and name.
  using Key = std::pair<uint64_t, uint64_t>;
  // An object as it was read first.
  struct Seen {
    uint64_t content;
    uint64_t texts_at;  // Where its UID and version are in texts_.
    uint32_t uid_bytes;
    uint32_t version_bytes;
    uint32_t input;
    Aside::Place place;
  };

  // Sets `is_new` to whether the object must be handed on, because it is read for the first time.
  template <typename Object>
  absl::Status Meet(std::string_view kind, const objects::ObjectMeta& meta, const Object& object,
                    bool& is_new);
  // Meet() for an object that was read before.
  absl::Status MeetAgain(const Key& key, const Seen& first, std::string_view kind,
                         const objects::ObjectMeta& meta, const Aside& aside, uint64_t content);
  Key KeyOf(std::string_view kind, const objects::ObjectMeta& meta);
  void PassOver(std::string_view kind, const objects::ObjectMeta& meta);
  // Records a pod, or pods_now_ pods like it, that was not read before.
  PodListing NotePod(const objects::Pod& pod);
  void NoteUid(std::string_view kind, const objects::ObjectMeta& meta, uint64_t objects = 1);
  // Records that the namespace contains something other than pods.
  void NoteHolding(std::string_view namespace_name);
  void NotePlace(std::string_view kind);
  void NoteSelectors(const objects::Pod& pod);
  void NoteIdle(const objects::Pod& pod, PodListing listing);
  void NoteVolumes(const objects::Pod& pod);
  void NoteStorage(const objects::StorageObject& object);
  // A hash of both names, neither of which contains a "/".
  Hash128 HashOf(std::string_view namespace_name, std::string_view name);

  ObjectSink* to_ = nullptr;  // Only set while objects are read.
  bool of_one_moment_ = true;
  bool takes_pages_ = false;
  bool lists_all_kinds_ = false;
  Aside aside_;
  uint64_t repeated_ = 0;
  absl::flat_hash_map<Key, Seen> seen_;
  std::string texts_;
  std::string first_of_two_versions_;
  uint64_t of_two_versions_ = 0;
  // Read in two versions with equal content, but not once in a list and once alone.
  std::string first_of_two_moments_;
  uint64_t of_two_moments_ = 0;
  uint32_t input_ = 0;  // Number of the current input of Read().
  bool may_read_again_ = false;
  // Newest versions of objects of which an older version was handed on, found in this reading; and
  // the versions that the reading before found, so that this one skips older versions.
  absl::flat_hash_map<Key, std::string> newer_;
  absl::flat_hash_map<Key, std::string> newest_;
  std::string key_;

  int64_t expendable_pods_priority_cutoff_;
  uint64_t nodes_ = 0;
  int64_t newest_heartbeat_ = 0;
  uint64_t pods_ = 0;              // Pods in any phase.
  bool has_pending_pods_ = false;  // Some pod is in phase Pending.
  // How many pods the current one represents (OnPodsLike, OnPodPattern).
  uint64_t pods_now_ = 1;
  // Of the current file: its texts, and by pattern whether a plan leaves out its pods.
  TextTable table_;
  std::vector<bool> is_idle_;
  std::string last_namespace_;
  absl::flat_hash_set<std::string> namespaces_of_pods_;
  std::string last_holding_;
  absl::flat_hash_set<std::string> namespaces_that_hold_;  // That contain something besides pods.
  absl::flat_hash_set<std::string> namespaces_;            // That have a Namespace object.
  std::vector<ListedNamespace> own_namespaces_;            // Created by users.
  // Nodes of pods that a plan leaves out.  Such a pod shows that the dump has that node's pods.
  absl::flat_hash_set<std::string> nodes_of_idle_pods_;
  // Namespaces with pods that ended or that a plan leaves out as expendable.
  absl::flat_hash_set<std::string> namespaces_of_idle_pods_;
  // "kind/namespace/name" of a controller -> its pods that a plan leaves out as expendable.
  absl::flat_hash_map<std::string, int64_t> expendable_pods_;
  // Whether pods and Namespaces were in lists, and whether nodes or Namespaces were alone.
  bool pods_in_list_ = false;
  bool namespaces_in_list_ = false;
  bool nodes_or_namespaces_alone_ = false;
  bool budgets_known_ = false;
  // Namespace -> "namespace/name" of each of its budgets.
  std::map<std::string, std::vector<std::string>> budgets_;
  std::string cluster_uid_;
  bool empty_list_of_any_kind_ = false;           // As kubectl prints it if it found nothing.
  absl::flat_hash_set<std::string> empty_kinds_;  // Kinds of which the input has an empty list.
  uint64_t parts_of_lists_ = 0;
  std::string first_part_of_list_;
  // How many have a resourceVersion.
  uint64_t nodes_with_version_ = 0;
  uint64_t pods_with_version_ = 0;
  std::vector<Workload> workloads_;  // Only controllers with pods.

  uint64_t pods_with_claims_ = 0;
  std::string first_with_claims_;
  absl::flat_hash_set<Hash128> claims_;
  uint64_t bound_claims_ = 0;
  uint64_t unbound_with_class_ = 0;
  std::string first_unbound_;
  uint64_t storage_classes_ = 0;
  std::vector<BoundVolume> bound_volumes_;
  uint64_t volumes_ = 0;
  uint64_t bound_csi_volumes_ = 0;
  uint64_t csi_nodes_ = 0;
  uint64_t csi_drivers_ = 0;
  uint64_t attachments_ = 0;
  uint64_t capacities_ = 0;
  uint64_t node_claims_ = 0;  // Of Karpenter.
  uint64_t node_pools_ = 0;   // Of Karpenter.
  uint64_t openshift_machines_ = 0;
  // Nodes that a Machine of OpenShift created.
  uint64_t nodes_of_machines_ = 0;
  std::string first_of_machines_;
  uint64_t pods_with_ephemeral_claims_ = 0;
  absl::flat_hash_map<std::string, uint64_t> bound_volumes_of_driver_;
  absl::flat_hash_set<std::string> drivers_with_limit_;
  absl::flat_hash_set<std::string> drivers_with_capacity_;       // That publish their capacity.
  absl::flat_hash_map<std::string, uint64_t> unbound_of_class_;  // Class -> unbound claims.
  // Classes whose volumes are created on the node of their first pod -> the provisioner.
  absl::flat_hash_map<std::string, std::string> waiting_classes_;

  uint64_t with_uid_ = 0;
  uint64_t without_uid_ = 0;
  std::string first_without_uid_;

  uint64_t pods_without_containers_ = 0;
  std::string first_without_containers_;

  uint64_t pods_that_ask_namespaces_ = 0;
  std::string first_that_asks_namespaces_;

  UnevaluatedObjects unevaluated_;
};

// Appends a warning if more than one PodDisruptionBudget selects a pod: the eviction API refuses to
// evict such a pod, but the autoscaler's simulation does not know that.  Leaves out pods that are
// never evicted: those of a DaemonSet, and those without a node.
// Cost: one look at each pod's shape.
void WarnOfSeveralBudgets(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings);

// For a pod that is kept because its controller is not in the input.  Returns what to add to
// ControllerNotFound if the input has no controller of that kind at all, else "".
std::string MissingControllerDetail(const Catalog& catalog, PodId pod);

// Returns what `load` makes of the inputs, with each object in its newest version.  `load` must
// call census.Read() once and start from scratch each time it is called.  It is called twice if an
// object was read before a newer version of it, else once.  Returns the result of the last call, an
// absl::Status or absl::StatusOr.
template <typename Load>
auto LoadNewest(InputCensus& census, Load load) {
  auto loaded = load();
  if (loaded.ok() && census.MustReadAgain()) loaded = load();
  return loaded;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_COMPLETENESS_H_
