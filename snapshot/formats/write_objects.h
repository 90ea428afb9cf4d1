// ObjectWriter is a sink that writes the objects it is given as JSON (a v1 List, one
// object a line) or as YAML documents, in the form of the Kubernetes API.  Reading the
// output back gives the same objects.
//
// A JSON list that was cut off does not parse.  YAML documents that were cut off may still
// parse.  So the first line announces a last line, and ReadYaml (read_yaml.h) refuses a
// file that has the first without the last.
//
// Holds: the fields that a scale-down decision can read, and no others.
// Errors: a pod with a constraint that the reader did not understand, since it
//         cannot be written; what the output returns.
// Memory: one object.

#ifndef EBB_SNAPSHOT_FORMATS_WRITE_OBJECTS_H_
#define EBB_SNAPSHOT_FORMATS_WRITE_OBJECTS_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// The first and the last line of YAML documents; comments to everyone else.
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
  // A list of no budgets is written as such: it says that the cluster has none.
  absl::Status OnList(std::string_view kind, uint64_t items) override;
  absl::Status OnUnevaluated(const Unevaluated& object) override;
  void OnAside(const Aside& aside) override {
    pods_ready_ = aside.pods_ready;
    heartbeat_time_ = aside.heartbeat_time;
  }

  // Writes the end.  Call it once, after the last object.
  absl::Status Finish();

 private:
  absl::Status Write(std::string_view object);

  ObjectFormat format_;
  Output output_;
  // Of the object that comes next.
  int64_t pods_ready_ = 0;
  int64_t heartbeat_time_ = 0;
  bool first_ = true;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_WRITE_OBJECTS_H_
