#include "snapshot/formats/object_batch.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"

namespace ebb {
namespace {
// Larger blocks are allocated less often and waste more of a short batch.  Not tuned.
constexpr size_t kBlockBytes = size_t{16} << 10;
}  // namespace

uint8_t* TextArena::Room(size_t size) {
  if (left_ < size) {
    left_ = std::max(size, kBlockBytes);
    blocks_.push_back(std::make_unique_for_overwrite<uint8_t[]>(left_));
    next_ = blocks_.back().get();
  }
  return next_;
}

std::string_view TextArena::Copy(std::string_view text) {
  if (text.empty()) return {};
  uint8_t* const room = Room(text.size());
  std::memcpy(room, text.data(), text.size());
  Keep(room + text.size());
  return {reinterpret_cast<const char*>(room), text.size()};
}

void ObjectBatch::Clear() {
  nodes.Clear();
  pods.Clear();
  budgets.Clear();
  controllers.Clear();
  namespaces.Clear();
  storage.Clear();
  texts.Clear();
  entries_.clear();
  unevaluated_.clear();
  error_ = absl::OkStatus();
}

void ObjectBatch::Add(Type type, std::string_view kind, const ObjectSink::Aside& aside) {
  const auto used = [&] {
    switch (type) {
      case Type::kNode:
        return nodes.used();
      case Type::kPod:
        return pods.used();
      case Type::kBudget:
        return budgets.used();
      case Type::kController:
        return controllers.used();
      case Type::kNamespace:
        return namespaces.used();
      case Type::kStorage:
        break;
    }
    return storage.used();
  };
  entries_.push_back({What::kObject, type, static_cast<uint32_t>(used() - 1), kind, aside});
}

void ObjectBatch::AddIgnored(std::string_view kind) {
  entries_.push_back({What::kIgnored, Type::kNode, 0, kind, {}});
}

void ObjectBatch::AddUnevaluated(const ObjectSink::Unevaluated& object) {
  const auto index = static_cast<uint32_t>(unevaluated_.size());
  entries_.push_back({What::kUnevaluated, Type::kNode, index, object.kind, {}});
  unevaluated_.push_back(object);
}

void ObjectBatch::AddWithoutKind() {
  entries_.push_back({What::kWithoutKind, Type::kNode, 0, {}, {}});
}

void ObjectBatch::AddList() { entries_.push_back({What::kList, Type::kNode, 0, {}, {}}); }

void ObjectBatch::AddError(absl::Status error) {
  if (error_.ok()) error_ = std::move(error);
  entries_.push_back({What::kError, Type::kNode, 0, {}, {}});
}

objects::ObjectRef ObjectBatch::RefOf(const Entry& entry) {
  switch (entry.type) {
    case Type::kNode:
      return &nodes[entry.index];
    case Type::kPod:
      return &pods[entry.index];
    case Type::kBudget:
      return &budgets[entry.index];
    case Type::kController:
      return &controllers[entry.index];
    case Type::kNamespace:
      return &namespaces[entry.index];
    case Type::kStorage:
      break;
  }
  return &storage[entry.index];
}

absl::StatusOr<std::optional<ObjectBatch::Read>> ObjectBatch::Last(
    ObjectSink::Unevaluated& ignored) {
  const Entry last = entries_.back();
  switch (last.what) {
    case What::kObject:
      return Read{.object = RefOf(last), .aside = last.aside};
    case What::kIgnored:
      ignored = {.api_version = {}, .kind = last.kind, .namespace_name = {}, .name = {}};
      return std::nullopt;
    case What::kUnevaluated:
      ignored = unevaluated_[last.index];
      return std::nullopt;
    case What::kWithoutKind:
      entries_.pop_back();
      return absl::InvalidArgumentError("it has no kind, and is not an object of Kubernetes");
    case What::kList:
      entries_.pop_back();
      return absl::UnimplementedError("it is a list, where one object is expected");
    case What::kError:
      entries_.pop_back();
      break;
  }
  return std::exchange(error_, absl::OkStatus());
}

absl::Status ObjectBatch::HandOver(std::string_view file, ObjectSink& sink, ImportStats& stats,
                                   absl::FunctionRef<absl::Status(Left, size_t)> left) {
  for (size_t position = 0; position < entries_.size(); ++position) {
    const Entry& entry = entries_[position];
    absl::Status taken;
    switch (entry.what) {
      case What::kObject:
        ++stats.objects;
        sink.OnAside(entry.aside);
        taken = Give(RefOf(entry), sink);
        if (!taken.ok()) return ObjectError(file, entry.kind, MetaOf(RefOf(entry)), taken);
        continue;
      case What::kUnevaluated:
        taken = sink.OnUnevaluated(unevaluated_[entry.index]);
        if (!taken.ok()) break;
        [[fallthrough]];
      case What::kIgnored:
        ++stats.ignored.try_emplace(std::string(entry.kind), 0).first->second;
        taken = sink.OnIgnored(entry.kind);
        break;
      case What::kWithoutKind:
        taken = left(Left::kWithoutKind, position);
        break;
      case What::kList:
        taken = left(Left::kList, position);
        break;
      case What::kError:
        taken = error_;
        break;
    }
    if (!taken.ok()) return taken;
  }
  return absl::OkStatus();
}

std::string NameOf(const objects::ObjectMeta& meta) {
  if (meta.namespace_name.empty()) return std::string(meta.name);
  return absl::StrCat(Absl(meta.namespace_name), "/", Absl(meta.name));
}

absl::Status ObjectError(std::string_view file, std::string_view kind,
                         const objects::ObjectMeta& meta, const absl::Status& error) {
  std::string name = absl::StrCat(Absl(kind), " ", Printable(NameOf(meta)), ": ");
  if (absl::StartsWith(error.message(), name)) name.clear();
  return absl::Status(error.code(), absl::StrCat(Absl(file), ": ", name, error.message()));
}

}  // namespace ebb
