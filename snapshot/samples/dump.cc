#include <fmt/format.h>

#include <string>
#include <string_view>
#include <variant>

#include "snapshot/samples/devices.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {
namespace {

// Adds missing UIDs, and records what else the cluster lacks.
class DumpSink final : public ObjectSink {
 public:
  explicit DumpSink(ObjectSink& to) : to_(to) {}

  absl::Status OnNode(const objects::Node& node) override { return to_.OnNode(node); }
  absl::Status OnPod(const objects::Pod& pod) override { return to_.OnPod(pod); }
  absl::Status OnController(const objects::Controller& controller) override {
    return to_.OnController(controller);
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    has_budgets_ = true;
    std::string uid;
    return to_.OnPodDisruptionBudget(WithUid(budget, "pdb", uid));
  }
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override {
    has_namespaces_ = true;
    std::string uid;
    return to_.OnNamespace(WithUid(namespace_object, "ns", uid));
  }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    std::string uid;
    return std::visit(
        [&](const auto& each) {
          return to_.OnStorageObject(WithUid(each, fmt::format("storage{}", object.index()), uid));
        },
        object);
  }
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    return to_.OnList(kind, items);
  }
  void OnAside(const Aside& aside) override { to_.OnAside(aside); }

  // Adds what the cluster lacks.  Call it after the last object.
  absl::Status Finish() {
    if (!has_namespaces_) {
      objects::Namespace only;
      only.meta.name = "default";
      only.meta.creation_time = kNewYearS;
      if (absl::Status s = OnNamespace(only); !s.ok()) return s;
    }
    return has_budgets_ ? absl::OkStatus() : to_.OnList("PodDisruptionBudget", 0);
  }

 private:
  // `uid` holds the text of a new UID, to which the returned object refers.
  template <typename Object>
  static Object WithUid(Object object, std::string_view kind, std::string& uid) {
    if (!object.meta.uid.empty()) return object;
    const std::string_view namespace_name = object.meta.namespace_name;
    uid = fmt::format("{}-{}{}{}", kind, namespace_name, namespace_name.empty() ? "" : "-",
                      object.meta.name);
    object.meta.uid = uid;
    return object;
  }

  ObjectSink& to_;
  bool has_budgets_ = false;
  bool has_namespaces_ = false;
};

}  // namespace

absl::Status GenerateDump(const Kind& kind, const GenerateOptions& options, ObjectSink& sink) {
  DumpSink dump(sink);
  DeviceSink with_devices(
      {.nodes = options.devices, .pods = 0.5, .used_max = kDevicesOfNode / 2, .seed = options.seed},
      dump);
  ObjectSink& to = options.devices > 0 ? static_cast<ObjectSink&>(with_devices) : dump;
  if (absl::Status s = kind.generate(options, to); !s.ok()) return s;
  return dump.Finish();
}

}  // namespace ebb::samples
