// ObjectSink is where readers put what they read: one call per Kubernetes object,
// in the order of the input.
//
// Ownership: the object and every view in it live until the call returns.
// Errors:    what a call returns stops the reading, which returns it with the
//            file and the object's name put in front.  A sink that would rather go
//            on (a pod on a node that the dump lacks) counts and returns OK.
// Threads:   calls come one at a time from the thread that called the reader.

#ifndef EBB_SNAPSHOT_OBJECTS_OBJECT_SINK_H_
#define EBB_SNAPSHOT_OBJECTS_OBJECT_SINK_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/objects/objects.h"
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
  // Volumes, claims, classes, drivers.  A sink that cannot take them refuses them,
  // since what it would leave out may keep a pod where it is.
  virtual absl::Status OnStorageObject(const objects::StorageObject& object) {
    (void)object;
    return absl::UnimplementedError("storage objects are not taken here");
  }

  // What the reader saw of the object that the next call hands over, for judging the
  // input rather than the cluster.  Not every form has it.
  struct Aside {
    // Whether the object stood in a list or was all of its document.
    enum class Place : uint8_t { kUnknown, kInList, kAlone };

    std::string_view resource_version = {};  // metadata.resourceVersion; may be empty.
    int64_t pods_ready = 0;  // status.readyReplicas of a controller, a DaemonSet's numberReady.
    // Of a node: the newest lastHeartbeatTime of its conditions; 0: they have none.
    int64_t heartbeat_time = 0;
    Place place = Place::kUnknown;
  };
  virtual void OnAside(const Aside& aside) { (void)aside; }

  // A list has been read to its end.  `kind` is what its own kind says that it lists
  // ("Pod" for a PodList), empty for a v1 List and for what is no list of Kubernetes'.
  // A list of no items says that the cluster has none of the kind.
  virtual absl::Status OnList(std::string_view kind, uint64_t items) {
    (void)kind, (void)items;
    return absl::OkStatus();
  }

  // A list that says itself that there is more of it.  `why` tells which and how.  Sinks take none
  // of them unless they know what to do with a part.
  virtual absl::Status OnPartOfList(std::string_view why) {
    return absl::InvalidArgumentError(absl::string_view(why.data(), why.size()));
  }

  // An object of a kind that no decision reads ("Deployment", "ConfigMap").
  // `kind` is empty where there is none to name.
  virtual absl::Status OnIgnored(std::string_view kind) {
    (void)kind;
    return absl::OkStatus();
  }

  // Before OnIgnored, where the kind is one that may matter (unevaluated_kinds.h).  The name may
  // be empty.
  struct Unevaluated {
    std::string_view api_version;
    std::string_view kind;
    std::string_view namespace_name;
    std::string_view name;
  };
  virtual absl::Status OnUnevaluated(const Unevaluated& object) {
    (void)object;
    return absl::OkStatus();
  }
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_OBJECT_SINK_H_
