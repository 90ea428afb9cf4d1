// DumpSink writes every object that a reader passes on as one line with all its fields, so that two
// readers can be compared as text.

#ifndef EBB_TESTS_SUPPORT_DUMP_SINK_H_
#define EBB_TESTS_SUPPORT_DUMP_SINK_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb::testing {

class DumpSink : public ObjectSink {
 public:
  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  absl::Status OnIgnored(std::string_view kind) override;

  // One entry for each object, except for ignored objects.
  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  std::vector<std::string> lines_;
  std::vector<std::string> ignored_;
};

}  // namespace ebb::testing

#endif  // EBB_TESTS_SUPPORT_DUMP_SINK_H_
