#include "snapshot/live/change_batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/json_scan.h"
#include "snapshot/formats/object_name.h"
#include "snapshot/formats/proto_schema.h"

namespace ebb {
namespace {

constexpr size_t kKindShown = 64;

// Calls `visit` with a blank object of each kind until it returns true.
template <typename Visit>
void ForEachKind(Visit&& visit) {
  using objects::ControllerKind;
  if (visit(objects::Node()) || visit(objects::Pod()) || visit(objects::PodDisruptionBudget()) ||
      visit(objects::Namespace())) {
    return;
  }
  for (const ControllerKind kind :
       {ControllerKind::kReplicationController, ControllerKind::kReplicaSet,
        ControllerKind::kStatefulSet, ControllerKind::kDaemonSet, ControllerKind::kJob}) {
    objects::Controller controller;
    controller.kind = kind;
    if (visit(std::move(controller))) return;
  }
  [&]<size_t... kWhich>(std::index_sequence<kWhich...>) {
    (void)(visit(objects::StorageObject(std::in_place_index<kWhich>)) || ...);
  }(std::make_index_sequence<std::variant_size_v<objects::StorageObject>>());
}

// Whether the text is one JSON object and nothing else.  The reader alone would not notice text
// behind the object.
bool IsOneContainer(std::string_view json) {
  const char* const end = json.data() + json.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): `end` bounds the text.
  const char* const start = json_scan::SkipBlanks(json.data(), end);
  if (start == end || *start != '{') return false;
  const char* const behind = json_scan::SkipContainer(start, end);
  return behind != nullptr && json_scan::SkipBlanks(behind, end) == end;
}

objects::ObjectRef RefOf(const ChangeBatch::BlankObject& object) {
  return std::visit([](const auto& each) { return objects::ObjectRef(&each); }, object);
}

// The object reduced to the members that identify it.  Empty if the text is not one JSON object,
// or no decision reads its kind.
std::string NamesIn(std::string_view json) {
  std::string names;
  bool known = false;
  const bool whole =
      json_scan::ForEachMember(json, [&](std::string_view key, std::string_view value) {
        if (key != "apiVersion" && key != "kind" && key != "metadata") return;
        absl::StrAppend(&names, names.empty() ? "{" : ",", "\"", Absl(key), "\":", Absl(value));
        known |= key == "kind" && value.size() > 2 &&
                 ChangeBatch::NamesOf(value.substr(1, value.size() - 2)).has_value();
      });
  return known && whole && IsOneContainer(json) ? names + "}" : "";
}

}  // namespace

absl::Status ChangeBatch::PutJson(std::string_view json) {
  if (absl::Status s = Check(json.size()); !s.ok()) return s;
  if (!IsOneContainer(json)) {
    return absl::InvalidArgumentError("the text is not one JSON object and nothing else");
  }
  uint8_t* const room = read_.texts.Room(json.size() + kJsonPadding);
  std::memcpy(room, json.data(), json.size());
  std::memset(room + json.size(), ' ', kJsonPadding);
  read_.texts.Keep(room + json.size() + kJsonPadding);
  json_reader_.Read({reinterpret_cast<const char*>(room), json.size()}, {}, read_);
  return AddLast(Change::Type::kPut);
}

absl::Status ChangeBatch::PutProtobuf(std::string_view bytes) {
  if (absl::Status s = Check(bytes.size()); !s.ok()) return s;
  if (!bytes.starts_with(kEnvelopeMagic)) {
    return absl::InvalidArgumentError(
        "the bytes do not start with \"k8s\\0\" and a runtime.Unknown, which names the object's "
        "kind; client-go's protobuf serializer writes them, an object's own Marshal() does not");
  }
  protobuf_reader_.Read(read_.texts.Copy(bytes), {}, read_);
  return AddLast(Change::Type::kPut);
}

absl::Status ChangeBatch::DeleteJson(std::string_view json) {
  if (absl::Status s = Check(json.size()); !s.ok()) return s;
  const size_t before = changes_.size();
  const size_t unevaluated_before = unevaluated_.size();
  if (const absl::Status s = PutJson(json); !s.ok()) {
    const std::string names = NamesIn(json);
    if (names.empty() || !PutJson(names).ok()) return s;
  }
  if (changes_.size() > before) changes_.back().type = Change::Type::kDelete;
  MarkDeleted(unevaluated_before);
  return absl::OkStatus();
}

absl::Status ChangeBatch::DeleteProtobuf(std::string_view bytes) {
  const size_t before = changes_.size();
  const size_t unevaluated_before = unevaluated_.size();
  if (absl::Status s = PutProtobuf(bytes); !s.ok()) return s;
  if (changes_.size() > before) changes_.back().type = Change::Type::kDelete;
  MarkDeleted(unevaluated_before);
  return absl::OkStatus();
}

void ChangeBatch::MarkDeleted(size_t unevaluated_before) {
  if (unevaluated_.size() > unevaluated_before) unevaluated_.back().type = Change::Type::kDelete;
}

std::optional<ChangeBatch::BlankObject> ChangeBatch::NamesOf(std::string_view kind) {
  std::optional<BlankObject> found;
  ForEachKind([&](auto&& blank) {
    BlankObject object(std::forward<decltype(blank)>(blank));
    if (objects::KindOf(RefOf(object)) != kind) return false;
    found = std::move(object);
    return true;
  });
  return found;
}

void ChangeBatch::Delete(BlankObject object, std::string_view namespace_name, std::string_view name,
                         std::string_view uid) {
  BlankObject& kept = deleted_.emplace_back(std::move(object));
  auto& meta = const_cast<objects::ObjectMeta&>(objects::MetaOf(RefOf(kept)));
  meta.namespace_name =
      read_.texts.Copy(NamespaceAsRead(namespace_name, objects::IsNamespaced(RefOf(kept))));
  meta.name = read_.texts.Copy(name);
  meta.uid = read_.texts.Copy(uid);
  changes_.push_back({.type = Change::Type::kDelete, .object = RefOf(kept)});
}

absl::Status ChangeBatch::DeleteNamed(std::string_view kind, std::string_view namespace_name,
                                      std::string_view name, std::string_view uid) {
  if (kind == "Pod") {  // Most deletions are of pods; this avoids the search over all kinds.
    Delete(BlankObject(std::in_place_type<objects::Pod>), namespace_name, name, uid);
  } else if (auto object = NamesOf(kind)) {
    if (!namespace_name.empty() && !objects::IsNamespaced(RefOf(*object))) {
      return absl::InvalidArgumentError(absl::StrCat("objects of kind ", Absl(kind),
                                                     " have no namespace, and ",
                                                     Printable(namespace_name), " is given"));
    }
    Delete(*std::move(object), namespace_name, name, uid);
  } else if (const std::string problem = ObjectReader::KindProblem("v1", kind); !problem.empty()) {
    return absl::InvalidArgumentError(problem);
  } else {
    CountIgnored(kind);
    unevaluated_.push_back({.type = Change::Type::kDelete,
                            .object = {.api_version = {},
                                       .kind = read_.texts.Copy(kind),
                                       .namespace_name = read_.texts.Copy(namespace_name),
                                       .name = read_.texts.Copy(name)}});
  }
  return absl::OkStatus();
}

void ChangeBatch::CountIgnored(std::string_view kind) {
  const std::string shown(kind.substr(0, kKindShown));
  if (ignored_.size() < kIgnoredKindsMax || ignored_.contains(shown)) ++ignored_[shown];
}

std::string_view ChangeBatch::ClusterUid() const {
  for (const Change& change : changes_) {
    if (change.type != Change::Type::kPut) continue;
    const auto* const space = std::get_if<const objects::Namespace*>(&change.object);
    if (space != nullptr && (*space)->meta.name == "kube-system") return (*space)->meta.uid;
  }
  return "";
}

void ChangeBatch::Clear() {
  changes_.clear();
  unevaluated_.clear();
  deleted_.clear();
  read_.Clear();
}

absl::Status ChangeBatch::Check(size_t bytes) const {
  if (bytes <= object_bytes_max_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "an object of ", Bytes(bytes), " is larger than may be taken, ", Bytes(object_bytes_max_)));
}

absl::Status ChangeBatch::AddLast(Change::Type type) {
  ObjectSink::Unevaluated ignored;
  const absl::StatusOr<std::optional<ObjectBatch::Read>> read = read_.Last(ignored);
  if (!read.ok()) {
    // The reader's message begins with the name of a file, which is empty here.
    const absl::string_view message = read.status().message();
    return {read.status().code(), absl::StripPrefix(message, ": ")};
  }
  if (!read->has_value()) {
    CountIgnored(ignored.kind);
    if (!ignored.name.empty()) unevaluated_.push_back({.type = type, .object = ignored});
    return absl::OkStatus();
  }
  changes_.push_back({.type = type,
                      .object = (*read)->object,
                      .resource_version = (*read)->aside.resource_version,
                      .pods_ready = (*read)->aside.pods_ready});
  return absl::OkStatus();
}

}  // namespace ebb
