#include "what_if/strategic_merge.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDirective = "$patch";

// Lists that are merged: their name, the name of their parent (empty: any), and the member that
// identifies their elements.
struct MergedList {
  std::string_view in;
  std::string_view list;
  const char* key;
};
constexpr MergedList kMergedLists[] = {
    {"", "containers", "name"},
    {"", "initContainers", "name"},
    {"", "ephemeralContainers", "name"},
    {"", "volumes", "name"},
    {"", "imagePullSecrets", "name"},
    {"", "hostAliases", "ip"},
    {"", "topologySpreadConstraints", "topologyKey"},
    {"", "schedulingGates", "name"},
    {"spec", "resourceClaims", "name"},
    {"", "ports", "containerPort"},
    {"", "env", "name"},
    {"", "volumeMounts", "mountPath"},
    {"", "volumeDevices", "devicePath"},
    {"", "ownerReferences", "uid"},
    {"status", "conditions", "type"},
    {"status", "addresses", "type"},
    {"status", "resourceClaimStatuses", "name"},
};

// Null: the list is replaced.  `where`: the path of its parent, "spec.template.spec".
const char* KeyOfList(std::string_view where, std::string_view list) {
  const size_t dot = where.rfind('.');
  const std::string_view in = dot == std::string_view::npos ? where : where.substr(dot + 1);
  for (const MergedList& merged : kMergedLists) {
    if (merged.list == list && (merged.in.empty() || merged.in == in)) return merged.key;
  }
  return nullptr;
}

bool IsContainers(std::string_view list) {
  return list == "containers" || list == "initContainers";
}

std::string Member(std::string_view where, std::string_view key) {
  return absl::StrCat(Absl(where), where.empty() ? "" : ".", Absl(key));
}

std::string Show(const Json& key) {
  return Printable(key.is_string() ? key.get<std::string>() : key.dump());
}

std::string Element(std::string_view where, const Json& key) {
  return absl::StrCat(Absl(where), "[", Show(key), "]");
}

std::string DirectiveOf(const Json& map) {
  const auto found = map.find(kDirective);
  if (found == map.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// "web, proxy"
std::string KeysOf(const Json& list, const char* key) {
  std::string keys;
  for (const Json& each : list) {
    if (each.is_object() && each.contains(key)) {
      absl::StrAppend(&keys, keys.empty() ? "" : ", ", Show(each[key]));
    }
  }
  return keys;
}

Json::iterator Find(Json& list, const char* key, const Json& value) {
  return std::ranges::find_if(list, [&](const Json& each) {
    return each.is_object() && each.contains(key) && each[key] == value;
  });
}

// The most members of one map of an object.  Each member is searched for among the others, so the
// time grows with the square of their number.  Kubernetes keeps labels and annotations below 256
// KiB.
constexpr size_t kMembersMax = 2'000;

class Merger {
 public:
  [[nodiscard]] std::string& wrong() { return wrong_; }

  void Map(const Json& patch, std::string_view where, Json& object) {
    const std::string directive = DirectiveOf(patch);
    if (directive == "replace") {
      object = patch;
      object.erase(kDirective);
      return;
    }
    if (directive == "delete") {
      object = Json::object();
      return;
    }
    if (!directive.empty() && directive != "merge") {
      return Wrong(Member(where, kDirective),
                   absl::StrCat(Printable(directive), " is not delete, replace or merge"));
    }
    for (const auto& [key, value] : patch.items()) {
      if (!wrong_.empty()) return;
      if (key == kDirective) continue;
      const std::string at = Member(where, key);
      if (key.starts_with('$')) {
        return Wrong(at, "this directive is not supported; use $patch: delete or $patch: replace");
      }
      Set(key, value, where, at, object);
    }
    if (object.size() > kMembersMax) {
      Wrong(where, absl::StrCat("has ", object.size(), " members; at most ", kMembersMax,
                                " are expected"));
    }
  }

 private:
  void Wrong(std::string_view field, std::string_view what) {
    if (wrong_.empty()) wrong_ = absl::StrCat(Absl(field), ": ", Absl(what));
  }

  void Set(const std::string& key, const Json& value, std::string_view where, const std::string& at,
           Json& object) {
    if (value.is_null()) {
      if (IsContainers(key) && object.contains(key)) Dropped(at, object[key], Json::array());
      object.erase(key);
      return;
    }
    if (value.is_object()) {
      // An object that is set where there was none must not contain nulls either.
      Json& member = object[key];
      if (!member.is_object()) member = Json::object();
      Map(value, at, member);
      if (DirectiveOf(value) == "delete") object.erase(key);
      return;
    }
    const char* const merge_key = value.is_array() ? KeyOfList(where, key) : nullptr;
    if (merge_key == nullptr) {
      object[key] = value;
      return;
    }
    Json& list = object[key];
    if (!list.is_array()) list = Json::array();
    List(value, merge_key, at, IsContainers(key), key == "volumes", list);
  }

  void List(const Json& patch, const char* key, const std::string& at, bool containers,
            bool volumes, Json& list) {
    const bool replaces = std::ranges::any_of(patch, [](const Json& each) {
      return each.is_object() && each.size() == 1 && DirectiveOf(each) == "replace";
    });
    if (replaces) {
      Json replaced = Json::array();
      for (const Json& each : patch) {
        if (!each.is_object() || !each.contains(kDirective)) replaced.push_back(each);
      }
      if (containers) Dropped(at, list, replaced);
      list = std::move(replaced);
      return;
    }
    for (const Json& each : patch) {
      if (!wrong_.empty()) return;
      if (!each.is_object()) return Wrong(at, absl::StrCat(Show(each), " is not a map"));
      const auto value = each.find(key);
      if (value == each.end() || value->is_null()) {
        const std::string keys = KeysOf(list, key);
        return Wrong(at, absl::StrCat("an element has no ", key, ", which tells elements apart",
                                      keys.empty() ? "" : "; there are ", keys));
      }
      const auto found = Find(list, key, *value);
      const std::string element = Element(at, *value);
      if (DirectiveOf(each) == "delete") {
        if (found == list.end()) {
          return Wrong(element, absl::StrCat("is not there; there are ", KeysOf(list, key)));
        }
        list.erase(found);
        continue;
      }
      if (found != list.end()) {
        Map(each, element, *found);
        if (volumes && found->size() > 2) {
          return Wrong(element, "has two sources; set the one that is to go to null");
        }
        continue;
      }
      const auto lacks_key = [&](const Json& other) {
        return other.is_object() && !other.contains(key);
      };
      if (std::ranges::any_of(list, lacks_key)) {
        return Wrong(at, absl::StrCat("what is kept of its elements has no ", key,
                                      "; give the whole list, with an element {$patch: replace}"));
      }
      if (containers && !each.contains("image")) {
        const std::string keys = KeysOf(list, key);
        return Wrong(element, absl::StrCat("there is no such container, and a new one needs an "
                                           "image; there ",
                                           keys.empty() ? "is none" : "are ", keys));
      }
      Json added = Json::object();
      Map(each, element, added);
      list.push_back(std::move(added));
    }
  }

  // Rejects a list that drops containers, since they were probably forgotten.
  void Dropped(const std::string& at, const Json& before, const Json& after) {
    std::string dropped;
    for (const Json& each : before) {
      if (!each.is_object() || !each.contains("name")) continue;
      const auto is_same = [&](const Json& other) {
        return other.is_object() && other.value("name", Json()) == each["name"];
      };
      if (std::ranges::none_of(after, is_same)) {
        absl::StrAppend(&dropped, dropped.empty() ? "" : ", ", Show(each["name"]));
      }
    }
    if (dropped.empty()) return;
    Wrong(at, absl::StrCat("drops ", dropped,
                           "; patch the containers that change by their names, and take one away "
                           "with {name: ..., $patch: delete}"));
  }

  std::string wrong_;
};

const Json* MemberOf(const Json* object, const std::string& key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

const Json* ElementOf(const Json* list, const char* key, const Json& value) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& each : *list) {
    if (each.is_object() && each.value(key, Json()) == value) return &each;
  }
  return nullptr;
}

// Null pointers stand for absent values.
void FindWithoutEffect(const Json& patch, const Json* before, const Json* after,
                       std::string_view where, std::vector<std::string>& fields) {
  for (const auto& [key, value] : patch.items()) {
    if (key.starts_with('$')) continue;
    if (where.empty() && (key == "kind" || key == "apiVersion")) continue;
    if (where == "metadata" && (key == "name" || key == "namespace")) continue;
    const std::string at = Member(where, key);
    const Json* const was = MemberOf(before, key);
    const Json* const is = MemberOf(after, key);
    if (was == nullptr && is == nullptr) {
      // Empty lists and maps set nothing.
      if (value.is_null() || !value.empty()) fields.push_back(at);
      continue;
    }
    if (value.is_object() && is != nullptr) {
      FindWithoutEffect(value, was, is, at, fields);
      continue;
    }
    const char* const merge_key = value.is_array() ? KeyOfList(where, key) : nullptr;
    if (merge_key == nullptr) continue;
    for (const Json& each : value) {
      if (!each.is_object() || !each.contains(merge_key) || each.contains(kDirective)) continue;
      Json rest = each;
      rest.erase(merge_key);
      FindWithoutEffect(rest, ElementOf(was, merge_key, each[merge_key]),
                        ElementOf(is, merge_key, each[merge_key]), Element(at, each[merge_key]),
                        fields);
    }
  }
}

// What decisions read instead of a field.
struct Instead {
  std::string_view kind;
  std::string_view field;  // A prefix of the field; if it begins with a dot, any part of the field.
  std::string_view patch;
};
constexpr Instead kInstead[] = {
    {"PodDisruptionBudget", "spec", "status.disruptionsAllowed, which decisions read"},
    {"PodDisruptionBudget", "status",
     "status.disruptionsAllowed, the one field of it that decisions read"},
    {"Node", "status.capacity", "status.allocatable"},
    {"Pod", ".resources.limits", "resources.requests of the container"},
    {"Pod", "spec.template", "each pod: the same fields, without spec.template"},
    {"Pod", "spec.replicas", "each pod: its own fields, without those of the workload"},
    {"Pod", "status", "spec"},
    {"ReplicaSet", "spec.template", "its pods, under workloads"},
    {"ReplicationController", "spec.template", "its pods, under workloads"},
    {"StatefulSet", "spec.template", "its pods, under workloads"},
    {"DaemonSet", "spec", "its pods, under workloads"},
    {"Job", "spec.template", "its pods, under workloads"},
};

}  // namespace

std::string StrategicMerge(const Json& patch, Json& object) {
  Merger merger;
  merger.Map(patch, "", object);
  return std::move(merger.wrong());
}

std::vector<std::string> FieldsWithoutEffect(const Json& patch, const Json& before,
                                             const Json& after) {
  std::vector<std::string> fields;
  FindWithoutEffect(patch, &before, &after, "", fields);
  return fields;
}

std::string_view PatchInstead(std::string_view kind, std::string_view field) {
  for (const Instead& each : kInstead) {
    const bool fits = each.field.starts_with('.') ? absl::StrContains(Absl(field), Absl(each.field))
                                                  : field.starts_with(each.field);
    if (each.kind == kind && fits) return each.patch;
  }
  return "";
}

}  // namespace ebb
