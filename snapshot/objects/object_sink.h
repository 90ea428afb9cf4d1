// ObjectSink receives what readers read: one call per Kubernetes object, in the order of
// the input.
//
// Ownership: the object and every view in it are valid until the call returns.
// Errors:    an error that a call returns stops the reader, which returns it with the
//            file and the object's name in front.  A sink that prefers to continue
//            (for example after a pod on a node that the dump lacks) counts it and returns OK.
// Threads:   calls come one at a time, from the thread that called the reader.

#ifndef EBB_SNAPSHOT_OBJECTS_OBJECT_SINK_H_
#define EBB_SNAPSHOT_OBJECTS_OBJECT_SINK_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/pod_columns.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb {

class ObjectSink {
 public:
  virtual ~ObjectSink() = default;

  virtual absl::Status OnNode(const objects::Node& node) = 0;
  virtual absl::Status OnPod(const objects::Pod& pod) = 0;
  virtual absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) = 0;
  virtual absl::Status OnController(const objects::Controller& controller) = 0;
  virtual absl::Status OnNamespace(const objects::Namespace& namespace_object) = 0;
  // Volumes, claims, classes, drivers.  A sink that cannot handle them must reject them,
  // because an object that it ignores may keep a pod where it is.
  virtual absl::Status OnStorageObject(const objects::StorageObject& object) {
    (void)object;
    return absl::UnimplementedError("storage objects are not taken here");
  }

  // --- Pods as columns (pod_columns.h).  A reader that has columns calls these functions instead
  // of OnPod, if TakesPodColumns() returns true.

  [[nodiscard]] virtual bool TakesPodColumns() const { return false; }
  // The texts of all objects that follow, until the next call: every Text of an object is one of
  // them.  Patterns count from 0 again.
  // Errors: InvalidArgument if two texts are equal.
  virtual absl::Status OnTexts(const TextTable& texts) {
    (void)texts;
    return absl::OkStatus();
  }
  // The next pattern.  `first` is the first pod that has it, complete; `pods` is the number of pods
  // of the file that have it.
  virtual absl::Status OnPodPattern(const objects::Pod& first, uint64_t pods) {
    (void)first, (void)pods;
    return absl::UnimplementedError("pods are not taken as columns here");
  }
  // The next pods.  Their patterns were given before.
  virtual absl::Status OnPods(const PodColumns& pods) {
    (void)pods;
    return absl::UnimplementedError("pods are not taken as columns here");
  }

  // Facts about the object of the next call that matter for checking the input rather than
  // the cluster.  Not every format provides them.
  struct Aside {
    // Whether the object was an item of a list or a document of its own.
    enum class Place : uint8_t { kUnknown, kInList, kAlone };

    std::string_view resource_version = {};  // metadata.resourceVersion; may be empty.
    int64_t pods_ready = 0;  // A controller's status.readyReplicas, a DaemonSet's numberReady.
    // For a node: the newest lastHeartbeatTime of its conditions; 0 if they have none.
    int64_t heartbeat_time = 0;
    Place place = Place::kUnknown;
  };
  virtual void OnAside(const Aside& aside) { (void)aside; }

  // Called at the end of each list.  `kind` is the kind of its items according to the list's own
  // kind ("Pod" for a PodList); empty for a v1 List and for a list that is not of Kubernetes.
  // A list without items means that the cluster has no object of the kind.
  virtual absl::Status OnList(std::string_view kind, uint64_t items) {
    (void)kind, (void)items;
    return absl::OkStatus();
  }

  // Called for a list that says that it is incomplete.  `why` names the list and says how it is
  // incomplete.  A sink rejects such lists unless it can work with a part.
  virtual absl::Status OnPartOfList(std::string_view why) {
    return absl::InvalidArgumentError(absl::string_view(why.data(), why.size()));
  }

  // Called for an object of a kind that no decision reads ("Deployment", "ConfigMap").
  // `kind` is empty if the object does not name one.
  virtual absl::Status OnIgnored(std::string_view kind) {
    (void)kind;
    return absl::OkStatus();
  }

  // Called before OnIgnored if objects of the kind may matter (unevaluated_kinds.h).  The name
  // may be empty.
  struct Unevaluated {
    std::string_view api_version;
    std::string_view kind;
    std::string_view namespace_name;
    std::string_view name;
    // The whole object as JSON; only for a KubeSchedulerConfiguration.
    std::string_view text = {};
  };
  virtual absl::Status OnUnevaluated(const Unevaluated& object) {
    (void)object;
    return absl::OkStatus();
  }
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_OBJECT_SINK_H_
