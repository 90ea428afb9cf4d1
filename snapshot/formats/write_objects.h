// ObjectWriter is a sink that writes the objects it receives as JSON (a v1 List, one object per
// line) or as YAML documents, in the form of the Kubernetes API.  Reading the output gives the
// same objects.
//
// A truncated JSON list does not parse, but truncated YAML documents may.  So the first line of
// YAML output announces a last line, and ReadYaml (read_yaml.h) rejects a file that has the first
// line without the last.
//
// Content: only the fields that a scale-down decision can read.
// Errors: a pod with a constraint that the reader did not understand, because it cannot be
//         written; errors of the output.
// Memory: one object.

#ifndef EBB_SNAPSHOT_FORMATS_WRITE_OBJECTS_H_
#define EBB_SNAPSHOT_FORMATS_WRITE_OBJECTS_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// The first and the last line of YAML documents; for other readers they are comments.
inline constexpr std::string_view kYamlStart =
    "# Objects written by ebb; the file is whole if it ends with \"# End of ebb's objects\".";
inline constexpr std::string_view kYamlEnd = "# End of ebb's objects";

enum class ObjectFormat : uint8_t {
  kJsonList,       // {"apiVersion":"v1","items":[...],"kind":"List"}
  kYamlDocuments,  // kYamlStart, documents with "---" between them, "...", kYamlEnd.
};

class ObjectWriter : public ObjectSink {
 public:
  using Output = std::function<absl::Status(std::string_view bytes)>;

  ObjectWriter(ObjectFormat format, Output output);

  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  // Writes an empty list of PodDisruptionBudgets: it records that the cluster has none.
  absl::Status OnList(std::string_view kind, uint64_t items) override;
  absl::Status OnUnevaluated(const Unevaluated& object) override;
  void OnAside(const Aside& aside) override {
    pods_ready_ = aside.pods_ready;
    heartbeat_time_ = aside.heartbeat_time;
  }

  // Writes the end of the output.  Call it once, after the last object.
  absl::Status Finish();

 private:
  absl::Status Write(std::string_view object);

  ObjectFormat format_;
  Output output_;
  // For the next object; set by OnAside().
  int64_t pods_ready_ = 0;
  int64_t heartbeat_time_ = 0;
  bool first_ = true;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_WRITE_OBJECTS_H_
