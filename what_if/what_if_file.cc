#include "what_if/what_if_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "platform/settings_file.h"
#include "report/plan_report.h"
#include "what_if/remedy.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// By YAML's core schema: a plain scalar may have another type than text.
Json ScalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // In quotes.
  if (text == "true" || text == "false") return text == "true";
  if (const std::optional<int64_t> whole = AsInteger(node)) return *whole;
  if (const std::optional<double> real = AsReal(node)) return *real;
  return text;
}

Json JsonOf(const YAML::Node& node) {
  if (node.IsScalar()) return ScalarOf(node);
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& each : node) list.push_back(JsonOf(each));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  Json map = Json::object();
  auto& members = map.get_ref<Json::object_t&>();
  for (const auto& field : node) {
    if (!field.first.IsScalar()) throw YAML::Exception(field.first.Mark(), "a key is not a scalar");
    // operator[] would search the earlier keys; no map has a duplicate key (ParseSettings).
    members.push_back({field.first.Scalar(), JsonOf(field.second)});
  }
  return map;
}

std::string TextIn(const Json& map, const char* key) {
  const auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}

// What is wrong with the item, or "".
std::string ReadObject(const YAML::Node& node, ObjectPatch& patch) {
  if (!node.IsMap()) return "is not an object";
  Json merge = JsonOf(node);
  const Json metadata = merge.value("metadata", Json::object());
  if (!metadata.is_object()) return "metadata: is not a map";
  patch.of = {.kind = TextIn(merge, "kind"),
              .namespace_name = TextIn(metadata, "namespace"),
              .name = TextIn(metadata, "name")};
  if (patch.of.kind.empty()) return "kind: is required";
  if (patch.of.name.empty()) return "metadata.name: is required";
  if (merge.contains("$patch")) {
    if (merge["$patch"] != "delete") return "$patch: is not \"delete\"";
    patch.gone = true;
    Json which = Json::object();
    if (merge.contains("apiVersion")) which["apiVersion"] = merge["apiVersion"];
    if (metadata.contains("uid")) which["metadata"]["uid"] = metadata["uid"];
    patch.merge = which.dump();
    return "";
  }
  const bool changes_nothing =
      merge.size() == 2 && metadata.size() == (patch.of.namespace_name.empty() ? 1 : 2);
  if (changes_nothing) return "names an object and changes nothing of it";
  patch.merge = merge.dump();
  return "";
}

// Quantities by resource, or a map of such quantities for each container name.
std::string ReadRequests(const YAML::Node& node, WorkloadPatch& workload) {
  constexpr const char* kWrong = "is neither a map of quantities nor one of such maps by container";
  const auto quantities = [](const YAML::Node& map, WorkloadPatch::Requests& requests) {
    for (const auto& field : map) {
      if (!field.first.IsScalar() || !field.second.IsScalar()) return false;
      requests[field.first.Scalar()] = field.second.Scalar();
    }
    return map.size() > 0;
  };
  if (!node.IsMap() || node.size() == 0) return kWrong;
  for (const auto& field : node) {
    if (!field.second.IsMap()) return quantities(node, workload.requests) ? "" : kWrong;
    if (!field.first.IsScalar()) return kWrong;
    if (!quantities(field.second, workload.of_containers[field.first.Scalar()])) return kWrong;
  }
  return "";
}

absl::Status ReadWorkload(const std::string& file, const std::string& where, const YAML::Node& node,
                          WorkloadPatch& workload) {
  bool changes = false;
  const FieldReaders<WorkloadPatch> readers = {
      {"kind",
       [](const YAML::Node& value, WorkloadPatch& to) { return ReadName(value, to.of.kind); }},
      {"namespace", [](const YAML::Node& value,
                       WorkloadPatch& to) { return ReadName(value, to.of.namespace_name); }},
      {"name",
       [](const YAML::Node& value, WorkloadPatch& to) { return ReadName(value, to.of.name); }},
      {"requests",
       [&](const YAML::Node& value, WorkloadPatch& to) {
         changes = true;
         return ReadRequests(value, to);
       }},
      {"patch",
       [&](const YAML::Node& value, WorkloadPatch& to) -> std::string {
         if (!value.IsMap()) return "is not a map";
         changes = true;
         to.merge = JsonOf(value).dump();
         return "";
       }},
  };
  if (absl::Status s = ReadFields(file, where, node, readers, workload); !s.ok()) return s;
  for (const auto& [field, text] :
       {std::pair("kind", &workload.of.kind), std::pair("namespace", &workload.of.namespace_name),
        std::pair("name", &workload.of.name)}) {
    if (text->empty()) return BadSetting(file, absl::StrCat(where, ".", field), "is required");
  }
  if (!changes) return BadSetting(file, where, "has neither requests nor patch");
  return absl::OkStatus();
}

absl::Status Read(const YAML::Node& root, WhatIf& what_if) {
  absl::Status wrong = absl::OkStatus();  // An error in an item, which names its place itself.
  const auto each = [&](const YAML::Node& list, const char* name, auto read) -> std::string {
    if (!list.IsSequence()) return "is not a list";
    for (size_t i = 0; i < list.size() && wrong.ok(); ++i) {
      wrong = read(fmt::format("{}[{}]", name, i), list[i]);
    }
    return "";
  };
  const FieldReaders<WhatIf> readers = {
      {"objects",
       [&](const YAML::Node& value, WhatIf& to) {
         return each(value, "objects", [&](const std::string& where, const YAML::Node& item) {
           const std::string what = ReadObject(item, to.objects.emplace_back());
           return what.empty() ? absl::OkStatus() : BadSetting(to.file, where, what);
         });
       }},
      {"workloads",
       [&](const YAML::Node& value, WhatIf& to) {
         return each(value, "workloads", [&](const std::string& where, const YAML::Node& item) {
           return ReadWorkload(to.file, where, item, to.workloads.emplace_back());
         });
       }},
      {"options",
       [](const YAML::Node& value, WhatIf& to) -> std::string {
         if (!value.IsMap()) return "is not a map of flags and values";
         for (const auto& field : value) {
           if (!field.first.IsScalar() || !field.second.IsScalar()) {
             return "is not a map of flags and values";
           }
           to.options.emplace_back(field.first.Scalar(), field.second.Scalar());
         }
         return "";
       }},
  };
  if (absl::Status s = ReadFields(what_if.file, "", root, readers, what_if); !s.ok()) return s;
  if (!wrong.ok()) return wrong;
  if (what_if.objects.empty() && what_if.workloads.empty() && what_if.options.empty()) {
    return BadSetting(what_if.file, "",
                      "changes nothing: objects, workloads and options are empty");
  }
  return absl::OkStatus();
}

// "web, proxy": the containers that have names.
std::string NamesOf(const Json& containers) {
  std::string names;
  for (const Json& container : containers) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", Printable(TextIn(container, "name")));
  }
  return names;
}

// The patch of a pod, with the requests of its containers.
absl::StatusOr<std::string> WithRequests(const WorkloadPatch& workload, const ObjectName& pod,
                                         const std::string& object) {
  Json merge = Json::parse(workload.merge);
  const Json spec = Json::parse(object).value("spec", Json::object());
  const Json containers = spec.value("containers", Json::array());
  const auto wrong = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(Printable(pod.Text()), ": ", parts...));
  };
  std::map<std::string, WorkloadPatch::Requests> of_containers = workload.of_containers;
  if (!workload.requests.empty()) {
    if (containers.size() != 1) {
      return wrong("has ", containers.size(),
                   " containers; requests name them: requests: {NAME: ", "{cpu: ...}}, of ",
                   NamesOf(containers));
    }
    const std::string name = TextIn(containers[0], "name");
    // Such a container has no name to merge by, so the patch contains the whole list.
    if (name.empty()) {
      Json container = containers[0];
      for (const auto& [resource, quantity] : workload.requests) {
        container["resources"]["requests"][resource] = quantity;
      }
      merge["spec"]["containers"] = {{{"$patch", "replace"}}, std::move(container)};
      return merge.dump();
    }
    of_containers[name] = workload.requests;
  }
  for (const auto& [name, requests] : of_containers) {
    const auto has = [&](const char* list) {
      const Json all = spec.value(list, Json::array());
      return std::ranges::any_of(all, [&](const Json& c) { return TextIn(c, "name") == name; });
    };
    const char* const list = has("containers") ? "containers" : "initContainers";
    if (!has(list)) {
      return wrong("requests: it has no container ", Printable(name), "; it has ",
                   NamesOf(containers));
    }
    Json container = {{"name", name}};
    for (const auto& [resource, quantity] : requests) {
      container["resources"]["requests"][resource] = quantity;
    }
    merge["spec"][list].push_back(std::move(container));
  }
  return merge.dump();
}

}  // namespace

absl::StatusOr<WhatIf> ReadWhatIfFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  return ParseWhatIf(path, *text);
}

absl::StatusOr<WhatIf> ParseWhatIf(const std::string& name, const std::string& yaml) {
  WhatIf what_if;
  what_if.file = name;
  absl::Status status =
      ParseSettings(name, yaml, [&](const YAML::Node& root) { return Read(root, what_if); });
  if (!status.ok()) return status;
  return what_if;
}

std::vector<ObjectName> PodsOf(const ObjectName& workload, const ClusterSnapshot& snapshot) {
  const Catalog& catalog = snapshot.catalog();
  std::vector<ObjectName> pods;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    if (!snapshot.Contains(NodeId{n})) continue;
    for (const PodId pod : snapshot.PodsOn(NodeId{n})) {
      const PlanReport::Keeper of = WorkloadOf(catalog, pod);
      if (of.namespace_name != workload.namespace_name) continue;
      const PodShape& shape = catalog.shape_of(pod);
      const bool is_controlled = shape.has_controller &&
                                 catalog.Text(shape.controller.kind) == workload.kind &&
                                 catalog.Text(shape.controller.name) == workload.name;
      if (is_controlled || (of.kind == workload.kind && of.name == workload.name)) {
        pods.push_back(NameOfPod(catalog, pod));
      }
    }
  }
  return pods;
}

absl::StatusOr<std::vector<ObjectPatch>> PatchesOf(const WhatIf& what_if,
                                                   const ClusterSnapshot& snapshot,
                                                   PatchedCluster& patched) {
  std::vector<ObjectPatch> patches = what_if.objects;
  std::set<ObjectName> gone;
  for (const ObjectPatch& patch : patches) {
    if (patch.gone) gone.insert(patch.of);
  }
  for (const WorkloadPatch& workload : what_if.workloads) {
    const std::vector<ObjectName> pods = PodsOf(workload.of, snapshot);
    if (pods.empty()) {
      return absl::NotFoundError(
          absl::StrCat("no pods of it run in the cluster: ", Printable(workload.of.Text())));
    }
    if (absl::Status s = patched.Find(pods); !s.ok()) return s;
    for (const ObjectName& pod : pods) {
      if (gone.contains(pod)) continue;
      const std::string* const object = patched.Object(pod);
      absl::StatusOr<std::string> merge =
          object == nullptr ? workload.merge : WithRequests(workload, pod, *object);
      if (!merge.ok()) return merge.status();
      patches.push_back({.of = pod, .merge = *std::move(merge)});
    }
  }
  return patches;
}

}  // namespace ebb
