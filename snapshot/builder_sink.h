// BuilderSink hands every object that a reader finds to a SnapshotBuilder unchanged.
// A caller that handles some kinds of objects differently overrides their functions.
//
// Ownership: borrows the builder, which must outlive it.
// Errors:    the builder's.
// Threads:   not thread-safe.

#ifndef EBB_SNAPSHOT_BUILDER_SINK_H_
#define EBB_SNAPSHOT_BUILDER_SINK_H_

#include "snapshot/builder.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

class BuilderSink : public ObjectSink {
 public:
  explicit BuilderSink(SnapshotBuilder& builder) : builder_(builder) {}

  absl::Status OnNode(const objects::Node& node) override { return builder_.AddNode(node); }
  absl::Status OnPod(const objects::Pod& pod) override { return builder_.AddPod(pod); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    return builder_.AddPodDisruptionBudget(budget);
  }
  absl::Status OnController(const objects::Controller& controller) override {
    return builder_.AddController(controller);
  }
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override {
    return builder_.AddNamespace(namespace_object);
  }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    return builder_.AddStorageObject(object);
  }

 private:
  SnapshotBuilder& builder_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_BUILDER_SINK_H_
