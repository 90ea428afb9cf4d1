// InputWatch tells whether an input can be all of a cluster.
//
// A plan over part of a cluster is wrong in ways that the plan does not show: missing pods
// leave room, missing budgets allow moves.  So the watch stands between the readers and
// the sink of the objects, remembers what only the input shows, and judges the cluster
// that was made from it:
//
//   InputWatch watch;
//   absl::StatusOr<LoadedCluster> cluster =
//       LoadNewest(watch, [&]() -> absl::StatusOr<LoadedCluster> {
//         ClusterLoader loader(options);
//         absl::Status read = watch.Read(inputs, loader, stats);
//         if (!read.ok()) return read;
//         return std::move(loader).Finish();
//       });
//   watch.Judge(InputUse::kPlan, cluster->snapshot, cluster->newest_time, cluster->warnings);
//
// What the input seems to lack becomes an InputWarning with the command that gets the missing part,
// or what a feeder's user does (advice.h), and with what it lacks; incomplete.h has the rule which
// answers that ends.  docs/input.md lists the warnings.
//
// An object (kind, namespace and name) that comes twice is one object where its content is
// the same (object_content.h): must-gather writes a pod into its list and into a file of
// its own.  Anything else is a contradiction and is refused, whatever flags say: different
// UIDs come from two clusters or two moments; different content comes from two moments, or
// from an editor if the resourceVersion is the same.  There is one exception: a dump may
// hold one version in a list and another alone.  Then the newer one is taken, for which the
// inputs may have to be read again.  Objects without a resourceVersion, as ebb writes them,
// are left to the sink, which may refuse an object that comes twice.
//
// Cost:    some 100 bytes and a hash of the content of an object, if it has a
//          resourceVersion; one or two names a controller that has pods, a claim and a
//          bound volume.
// Threads: one at a time.

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
#include "snapshot/objects/unevaluated_kinds.h"

namespace ebb {

// What the cluster is loaded for: which missing kinds matter.
enum class InputUse : uint8_t {
  kPlan,    // Everything.
  kFilter,  // Nodes, pods and what filters read: no budgets, no controllers.
};

class InputWatch : public ObjectSink {
 public:
  // Whether the inputs may be read a second time; pipes may not in any case.
  enum class ReadAgain : uint8_t { kNo, kIfNeeded };

  // Pods of a priority below the cutoff are those that a plan leaves out.
  explicit InputWatch(int64_t expendable_pods_priority_cutoff = kExpendablePodsPriorityCutoff)
      : expendable_pods_priority_cutoff_(expendable_pods_priority_cutoff) {}

  // Reads all of `inputs` (read_input.h) into `to`.  If MustReadAgain() then, an object of
  // which there is a newer version was handed over: drop everything and call this once more;
  // the second call skips the older version.  LoadNewest() below does that.
  absl::Status Read(std::span<const std::string> inputs, ObjectSink& to, ImportStats& stats,
                    const Parallelism& parallelism = Parallelism::One(),
                    const InputLimits& limits = {}, ReadAgain again = ReadAgain::kIfNeeded);
  [[nodiscard]] bool MustReadAgain() const { return !newer_.empty(); }

  // The same of one input whose bytes are in memory; `name` stands for it in errors.
  absl::Status Read(std::string_view name, std::string_view bytes, ObjectSink& to,
                    ImportStats& stats, const Parallelism& parallelism = Parallelism::One(),
                    const InputLimits& limits = {});

  // The same of objects that are at hand, each once: `give` hands them to the sink that it
  // gets.  Whether they stood in lists is not known, nor whether lists without items were there;
  // and what controllers say of their pods need not be of quite the same moment as the pods, of
  // which more may be missing before that is told.
  absl::Status Look(const std::function<absl::Status(ObjectSink&)>& give, ObjectSink& to);

  // In a Look: `pods` pods, of which this is the first and the others differ from it in name, UID,
  // times and node alone.
  absl::Status OnPodsLike(const objects::Pod& first, uint64_t pods);

  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
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

  // Parts of lists are taken and judged; otherwise they are errors, as for other sinks.
  void TakePartsOfLists() { takes_pages_ = true; }
  // The objects come from lists of all kinds: the cluster has no object of an absent kind.
  void AllKindsAreListed() { lists_all_kinds_ = true; }

  // Whether `missing` of `all` objects are more than a cluster that changes while it is listed, or
  // a small one that was written by hand, explains.
  [[nodiscard]] static bool MustBeMissing(uint64_t missing, uint64_t all);

  // The UID of the namespace kube-system, which tells one cluster from all others; "" where
  // the input does not have it.
  [[nodiscard]] const std::string& cluster_uid() const { return cluster_uid_; }

  // The newest lastHeartbeatTime of a node's conditions, Unix seconds; 0: no node has one.
  [[nodiscard]] int64_t newest_heartbeat() const { return newest_heartbeat_; }

  // Objects that were there already.
  [[nodiscard]] uint64_t repeated() const { return repeated_; }

  // What was there and is not evaluated.
  [[nodiscard]] const UnevaluatedObjects& unevaluated() const { return unevaluated_; }

  // Appends what the input seems to lack.  `newest_time` is the time of the dump, as far
  // as its objects tell it, in Unix seconds.  `source` decides what the warnings advise.
  // Cost: one pass over nodes and pods.
  void Judge(InputUse use, const ClusterSnapshot& cluster, int64_t newest_time,
             std::vector<InputWarning>& warnings, InputSource source = InputSource::kDump) const;

 private:
  // Starts anew, for objects that go to `to`; of the reading before stays which objects had
  // newer versions.
  void Begin(ObjectSink& to, bool may_read_again);

  // A controller whose status says that it has pods.
  struct Workload {
    objects::ControllerKind kind;
    std::string namespace_name;
    std::string name;
    int64_t pods;   // That it counts at least.
    int64_t ready;  // Of which it says that they are ready.
    int64_t creation_time;
  };
  struct ListedNamespace {
    std::string name;
    int64_t creation_time;
  };
  using Hash128 = std::pair<uint64_t, uint64_t>;
  // A volume that says which claim it is bound to.
  struct BoundVolume {
    Hash128 claim;
    std::string name;
    std::string claim_name;
  };
  class Judgement;

  // A hash of kind, namespace and name.
  using Key = std::pair<uint64_t, uint64_t>;
  // An object as it came first.
  struct Seen {
    uint64_t content;
    uint64_t texts_at;  // In texts_: UID and version.
    uint32_t uid_bytes;
    uint32_t version_bytes;
    uint32_t input;
    Aside::Place place;
  };

  // Sets `is_new` to whether the object is to be handed on: it was not there before.
  template <typename Object>
  absl::Status Meet(std::string_view kind, const objects::ObjectMeta& meta, const Object& object,
                    bool& is_new);
  // The same for an object that was there.
  absl::Status MeetAgain(const Key& key, const Seen& first, std::string_view kind,
                         const objects::ObjectMeta& meta, const Aside& aside, uint64_t content);
  Key KeyOf(std::string_view kind, const objects::ObjectMeta& meta);
  void PassOver(std::string_view kind, const objects::ObjectMeta& meta);
  void NoteUid(std::string_view kind, const objects::ObjectMeta& meta, uint64_t objects = 1);
  // That the namespace holds something other than pods.
  void NoteHolding(std::string_view namespace_name);
  void NotePlace(std::string_view kind);
  void NoteSelectors(const objects::Pod& pod);
  void NoteIdle(const objects::Pod& pod, PodListing listing);
  void NoteVolumes(const objects::Pod& pod);
  void NoteStorage(const objects::StorageObject& object);
  // Of both names; neither holds a "/".
  Hash128 HashOf(std::string_view namespace_name, std::string_view name);

  ObjectSink* to_ = nullptr;  // While objects are read.
  bool of_one_moment_ = true;
  bool takes_pages_ = false;
  bool lists_all_kinds_ = false;
  Aside aside_;
  uint64_t repeated_ = 0;
  absl::flat_hash_map<Key, Seen> seen_;
  std::string texts_;
  std::string first_of_two_versions_;
  uint64_t of_two_versions_ = 0;
  // In two versions with one content, and not once in a list and once alone.
  std::string first_of_two_moments_;
  uint64_t of_two_moments_ = 0;
  uint32_t input_ = 0;  // Of Read's.
  bool may_read_again_ = false;
  // Versions that are newer than what was handed on, and, in a second reading, older than
  // which nothing is.
  absl::flat_hash_map<Key, std::string> newer_;
  absl::flat_hash_map<Key, std::string> newest_;
  std::string key_;

  int64_t expendable_pods_priority_cutoff_;
  uint64_t nodes_ = 0;
  int64_t newest_heartbeat_ = 0;
  uint64_t pods_ = 0;              // Of every phase.
  bool has_pending_pods_ = false;  // Some pod is in phase Pending.
  uint64_t pods_now_ = 1;          // How many the pod at hand stands for.
  std::string last_namespace_;
  absl::flat_hash_set<std::string> namespaces_of_pods_;
  std::string last_holding_;
  absl::flat_hash_set<std::string> namespaces_that_hold_;  // Something other than pods.
  absl::flat_hash_set<std::string> namespaces_;            // That have an object.
  std::vector<ListedNamespace> own_namespaces_;            // Those that people made.
  // Nodes of pods that a plan leaves out, but which show that the dump has the node's.
  absl::flat_hash_set<std::string> nodes_of_idle_pods_;
  // That have pods which ended or which a plan leaves out as expendable.
  absl::flat_hash_set<std::string> namespaces_of_idle_pods_;
  // By controller, as "kind/namespace/name": its pods that a plan leaves out as expendable.
  absl::flat_hash_map<std::string, int64_t> expendable_pods_;
  // Where nodes, pods and Namespaces stood.
  bool pods_in_list_ = false;
  bool namespaces_in_list_ = false;
  bool nodes_or_namespaces_alone_ = false;
  bool budgets_known_ = false;
  // "namespace/name" of each budget by namespace.
  std::map<std::string, std::vector<std::string>> budgets_;
  std::string cluster_uid_;
  bool empty_list_of_any_kind_ = false;           // As kubectl prints where it found nothing.
  absl::flat_hash_set<std::string> empty_kinds_;  // The input has an empty list of each.
  uint64_t parts_of_lists_ = 0;
  std::string first_part_of_list_;
  // Those with a resourceVersion.
  uint64_t nodes_with_version_ = 0;
  uint64_t pods_with_version_ = 0;
  std::vector<Workload> workloads_;  // With pods.

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
  uint64_t node_claims_ = 0;  // Karpenter's.
  uint64_t openshift_machines_ = 0;
  // Nodes that a Machine of OpenShift made.
  uint64_t nodes_of_machines_ = 0;
  std::string first_of_machines_;
  uint64_t pods_with_ephemeral_claims_ = 0;
  absl::flat_hash_map<std::string, uint64_t> bound_volumes_of_driver_;
  absl::flat_hash_set<std::string> drivers_with_limit_;
  absl::flat_hash_set<std::string> drivers_with_capacity_;       // Those that publish it.
  absl::flat_hash_map<std::string, uint64_t> unbound_of_class_;  // Claims.
  // Of classes whose volumes are made where their first pod runs: the provisioner.
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

// Appends a warning if there are pods that more than one PodDisruptionBudget selects: the
// eviction API refuses to evict them, which the autoscaler's simulation does not know.
// Pods that nobody evicts (a DaemonSet's, waiting ones) are not meant.
// Cost: one look at each pod's shape.
void WarnOfSeveralBudgets(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings);

// For a pod that is kept because its controller is not in the input: what to say beside
// ControllerNotFound where the input has no controller of that kind at all; else "".
std::string MissingControllerDetail(const Catalog& catalog, PodId pod);

// What `load` makes of the inputs, each object in its newest version.  `load` calls
// watch.Read() once and starts from nothing each time it is called; that is twice where an
// object came before a newer version of it, and once otherwise.  Returns what the last call
// returned, an absl::Status or absl::StatusOr.
template <typename Load>
auto LoadNewest(InputWatch& watch, Load load) {
  auto loaded = load();
  if (loaded.ok() && watch.MustReadAgain()) loaded = load();
  return loaded;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_COMPLETENESS_H_
