#include "what_if/patched_cluster.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/objects/any_object_sink.h"
#include "what_if/strategic_merge.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

ObjectName NameOf(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  return {.kind = std::string(objects::KindOf(object)),
          .namespace_name = std::string(meta.namespace_name),
          .name = std::string(meta.name)};
}

std::string TextAt(const Json& object, const Json::json_pointer& place) {
  const Json text = object.value(place, Json());
  return text.is_string() ? text.get<std::string>() : "";
}

// The name in a patched object.
ObjectName NameIn(const Json& object) {
  return {.kind = TextAt(object, "/kind"_json_pointer),
          .namespace_name = TextAt(object, "/metadata/namespace"_json_pointer),
          .name = TextAt(object, "/metadata/name"_json_pointer)};
}

absl::StatusOr<std::string> JsonOf(const objects::ObjectRef& object,
                                   const ObjectSink::Aside& aside) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text += bytes;
    return absl::OkStatus();
  });
  writer.OnAside(aside);
  if (absl::Status s = Give(object, writer); !s.ok()) return s;
  if (absl::Status s = writer.Finish(); !s.ok()) return s;
  return Json::parse(text).at("items").at(0).dump();
}

// Keeps the one object that it receives, if that has the name.
class FindingSink final : public AnyObjectSink {
 public:
  explicit FindingSink(const ObjectName& name) : name_(name) {}

  // Absent: it received no such object.
  [[nodiscard]] std::optional<absl::StatusOr<std::string>>& found() { return found_; }
  void OnAside(const Aside& aside) override { aside_ = aside; }

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    const Aside aside = std::exchange(aside_, {});
    if (NameOf(object) == name_) found_ = JsonOf(object, aside);
    return absl::OkStatus();
  }

 private:
  const ObjectName& name_;
  std::optional<absl::StatusOr<std::string>> found_;
  Aside aside_;  // For the next object.
};

// The cluster's objects of these names, as JSON or why they cannot be written.
absl::StatusOr<std::map<ObjectName, absl::StatusOr<std::string>>> ObjectsOf(
    LiveCluster& cluster, const std::set<ObjectName>& names) {
  std::map<ObjectName, absl::StatusOr<std::string>> objects;
  ChangeBatch named;
  for (const ObjectName& name : names) {
    named.Clear();
    // An unknown kind is no change, and a cluster has no object with a namespace of a kind that has
    // none.
    if (!named.DeleteNamed(name.kind, name.namespace_name, name.name, "").ok()) continue;
    FindingSink sink(name);
    for (const Change& change : named.changes()) {
      if (absl::Status s = cluster.ExportOne(change.object, sink); !s.ok()) return s;
    }
    if (sink.found()) objects.emplace(name, *std::move(sink.found()));
  }
  return objects;
}

template <typename... What>
absl::Status Wrong(const ObjectName& name, const What&... what) {
  return absl::InvalidArgumentError(absl::StrCat(Printable(name.Text()), ": ", what...));
}

// Distinguishes objects of the same name.
struct Identity {
  std::string uid;          // Empty: the object has none.
  std::string api_version;  // "policy/v1"
};

Identity IdentityOf(const Json& object) {
  return {.uid = TextAt(object, "/metadata/uid"_json_pointer),
          .api_version = TextAt(object, "/apiVersion"_json_pointer)};
}

// "policy" of "policy/v1"; "" of "v1".
std::string_view GroupOf(std::string_view api_version) {
  const size_t end = api_version.find('/');
  return end == std::string_view::npos ? "" : api_version.substr(0, end);
}

// Checks that a patched object is still the same object.
absl::Status CheckIdentity(const ObjectName& name, const Identity& was, const Json& patched) {
  if (NameIn(patched) != name) {
    return Wrong(name, "a patch may not change kind, namespace or name");
  }
  const auto is_not = [&](std::string_view field, const std::string& is, const std::string& of) {
    return Wrong(name, Absl(field), ": \"", Printable(is), "\" is not the object's; ",
                 of.empty() ? "it has none" : absl::StrCat("\"", Printable(of), "\" is expected"));
  };
  const Identity is = IdentityOf(patched);
  if (is.uid != was.uid) return is_not("metadata.uid", is.uid, was.uid);
  const bool is_of_group = GroupOf(is.api_version) == GroupOf(was.api_version) &&
                           is.api_version.empty() == was.api_version.empty();
  return is_of_group ? absl::OkStatus() : is_not("apiVersion", is.api_version, was.api_version);
}

// Checks that a patch that deletes the object does not name another one.
absl::Status CheckDeleted(const ObjectName& name, const Json& merge, Json object) {
  const Identity was = IdentityOf(object);
  if (const std::string wrong = StrategicMerge(merge, object); !wrong.empty()) {
    return Wrong(name, wrong);
  }
  return CheckIdentity(name, was, object);
}

bool IsOnNode(const Json& pod) { return !TextAt(pod, "/spec/nodeName"_json_pointer).empty(); }

// Marks a pod that was taken off its node as waiting for the scheduler.
void MakeWait(Json& pod) {
  Json& conditions = pod["status"]["conditions"];
  Json others = Json::array();
  for (const Json& condition : conditions) {
    if (condition.value("type", "") != "PodScheduled") others.push_back(condition);
  }
  others.push_back({{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}});
  conditions = std::move(others);
}

// Whether a pod of this name is held but in no snapshot.
bool IsLeftOut(LiveCluster& cluster, const ObjectName& name) {
  objects::Pod pod;
  pod.meta.namespace_name = name.namespace_name;
  pod.meta.name = name.name;
  return name.kind == "Pod" && cluster.Holds(&pod);
}

}  // namespace

PatchedCluster::PatchedCluster(LiveCluster& cluster) : cluster_(cluster) {}

PatchedCluster::~PatchedCluster() = default;

absl::Status PatchedCluster::Find(std::span<const ObjectName> names) {
  std::set<ObjectName> unknown;
  for (const ObjectName& name : names) {
    if (!objects_.contains(name)) unknown.insert(name);
  }
  absl::StatusOr<std::map<ObjectName, absl::StatusOr<std::string>>> found =
      ObjectsOf(cluster_, unknown);
  if (!found.ok()) return found.status();
  objects_.merge(*found);
  std::string list;
  for (const ObjectName& name : unknown) {
    if (objects_.contains(name)) continue;
    absl::StrAppend(&list, list.empty() ? "" : ", ", Printable(name.Text()),
                    IsLeftOut(cluster_, name)   ? " (it has ended, or is expendable)"
                    : name.kind == "Deployment" ? " (patch its pods, under workloads)"
                                                : "");
  }
  if (list.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("not in the cluster: ", list));
}

const std::string* PatchedCluster::Object(const ObjectName& name) const {
  const auto found = objects_.find(name);
  EBB_CHECK(found != objects_.end());
  return found->second.ok() ? &*found->second : nullptr;
}

absl::Status PatchedCluster::Apply(std::span<const ObjectPatch> patches) {
  EBB_CHECK(patched_.empty());
  std::vector<ObjectName> names;
  for (const ObjectPatch& patch : patches) names.push_back(patch.of);
  if (absl::Status s = Find(names); !s.ok()) return s;

  struct Changed {
    Json object;
    Identity was;
  };
  std::map<ObjectName, Changed> changed;
  std::set<ObjectName> gone;
  for (const ObjectPatch& patch : patches) {
    const absl::StatusOr<std::string>& object = objects_.at(patch.of);
    if (!object.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          Printable(patch.of.Text()), ": cannot be patched: ", object.status().message()));
    }
    if (gone.contains(patch.of)) {
      return Wrong(patch.of, patch.gone ? "is deleted twice" : "is patched after it is deleted");
    }
    const Json merge = Json::parse(patch.merge, nullptr, /*allow_exceptions=*/false);
    if (!merge.is_object()) return Wrong(patch.of, "the patch is not a JSON object");
    if (patch.gone) {
      if (changed.contains(patch.of)) return Wrong(patch.of, "is deleted after it is patched");
      absl::Status s = CheckDeleted(patch.of, merge, Json::parse(*object));
      if (!s.ok()) return s;
      gone.insert(patch.of);
      continue;
    }
    const auto [place, is_new] = changed.try_emplace(patch.of);
    Changed& to = place->second;
    if (is_new) {
      to.object = Json::parse(*object);
      to.was = IdentityOf(to.object);
    }
    const bool ran = IsOnNode(to.object);
    if (const std::string wrong = StrategicMerge(merge, to.object); !wrong.empty()) {
      return Wrong(patch.of, wrong);
    }
    if (ran && !IsOnNode(to.object)) MakeWait(to.object);
  }
  batch_.Clear();
  for (const auto& [name, to] : changed) {
    if (absl::Status s = CheckIdentity(name, to.was, to.object); !s.ok()) return s;
    if (absl::Status s = batch_.PutJson(to.object.dump()); !s.ok()) return s;
  }
  for (const ObjectName& name : gone) {
    absl::Status s = batch_.DeleteNamed(name.kind, name.namespace_name, name.name, "");
    if (!s.ok()) return s;
  }
  if (absl::Status s = cluster_.Take(batch_.changes(), OlderObjects::kTake); !s.ok()) return s;
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  patched_ = std::move(names);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ObjectName>> PatchedCluster::Unchanged() {
  const absl::StatusOr<std::map<ObjectName, absl::StatusOr<std::string>>> now =
      ObjectsOf(cluster_, {patched_.begin(), patched_.end()});
  if (!now.ok()) return now.status();
  std::vector<ObjectName> unchanged;
  for (const ObjectName& name : patched_) {
    const auto found = now->find(name);
    if (found != now->end() && found->second.ok() && *found->second == *objects_.at(name)) {
      unchanged.push_back(name);
    }
  }
  return unchanged;
}

absl::StatusOr<std::vector<PatchedCluster::FieldWithoutEffect>> PatchedCluster::WithoutEffect(
    std::span<const ObjectPatch> patches) {
  const absl::StatusOr<std::map<ObjectName, absl::StatusOr<std::string>>> now =
      ObjectsOf(cluster_, {patched_.begin(), patched_.end()});
  if (!now.ok()) return now.status();
  std::vector<FieldWithoutEffect> all;
  for (const ObjectPatch& patch : patches) {
    const auto found = now->find(patch.of);
    if (patch.gone || found == now->end()) continue;
    // The object could be written before, so the patch set a field that cannot be written.
    if (!found->second.ok()) {
      const std::string why(found->second.status().message());
      const std::string field = why.substr(0, why.find(": "));
      const std::string_view instead = PatchInstead(patch.of.kind, field);
      return absl::InvalidArgumentError(absl::StrCat(
          Printable(patch.of.Text()), ": ", Printable(field), ": is a field that ebb does not know",
          instead.empty() ? "" : "; patch ", Absl(instead)));
    }
    for (std::string& field :
         FieldsWithoutEffect(Json::parse(patch.merge), Json::parse(*objects_.at(patch.of)),
                             Json::parse(*found->second))) {
      all.push_back({.of = patch.of, .field = std::move(field)});
    }
  }
  return all;
}

void PatchedCluster::Undo() {
  batch_.Clear();
  absl::Status status = absl::OkStatus();
  for (const ObjectName& name : patched_) status.Update(batch_.PutJson(*objects_.at(name)));
  status.Update(cluster_.Take(batch_.changes(), OlderObjects::kTake));
  // These objects were taken before, so taking them again cannot fail.
  EBB_CHECK(status.ok());
  patched_.clear();
}

}  // namespace ebb
