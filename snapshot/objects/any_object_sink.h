// AnyObjectSink: a sink that handles objects of all kinds alike.  TeeSink: forwards to two sinks.

#ifndef EBB_SNAPSHOT_OBJECTS_ANY_OBJECT_SINK_H_
#define EBB_SNAPSHOT_OBJECTS_ANY_OBJECT_SINK_H_

#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

class AnyObjectSink : public ObjectSink {
 public:
  absl::Status OnNode(const objects::Node& o) final { return OnObject(&o); }
  absl::Status OnPod(const objects::Pod& o) final { return OnObject(&o); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& o) final {
    return OnObject(&o);
  }
  absl::Status OnController(const objects::Controller& o) final { return OnObject(&o); }
  absl::Status OnNamespace(const objects::Namespace& o) final { return OnObject(&o); }
  absl::Status OnStorageObject(const objects::StorageObject& o) final { return OnObject(&o); }

 protected:
  virtual absl::Status OnObject(const objects::ObjectRef& object) = 0;
};

// Hands every object to the first sink, then to the second.
class TeeSink final : public AnyObjectSink {
 public:
  TeeSink(ObjectSink& first, ObjectSink& second) : sinks_{&first, &second} {}

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    for (ObjectSink* const sink : sinks_) {
      if (absl::Status s = Give(object, *sink); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

 private:
  ObjectSink* sinks_[2];
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_ANY_OBJECT_SINK_H_
