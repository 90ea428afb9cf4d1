#include "snapshot/live/held_objects.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/check.h"

namespace ebb {

uint64_t VersionOf(std::string_view resource_version) {
  uint64_t version = 0;
  const char* const end = resource_version.data() + resource_version.size();
  const auto [at, error] = std::from_chars(resource_version.data(), end, version);
  return error == std::errc() && at == end ? version : 0;
}

HeldObjects::Key HeldObjects::KeyOf(const objects::ObjectRef& object, TextId namespace_name,
                                    TextId name) {
  size_t which = 0;
  if (const auto* controller = std::get_if<const objects::Controller*>(&object)) {
    which = static_cast<size_t>((*controller)->kind);
  } else if (const auto* storage = std::get_if<const objects::StorageObject*>(&object)) {
    which = (*storage)->index();
  }
  return {.type = static_cast<uint8_t>(object.index()),
          .which = static_cast<uint8_t>(which),
          .namespace_name = namespace_name,
          .name = name};
}

void HeldObjects::MoveTo(Symbols& symbols) {
  absl::flat_hash_map<Key, HeldObject> moved;
  moved.reserve(objects_.size());
  for (auto& [key, object] : objects_) {
    Key now = key;
    now.namespace_name = symbols.Intern(symbols_->Text(key.namespace_name));
    now.name = symbols.Intern(symbols_->Text(key.name));
    object.uid = symbols.Intern(symbols_->Text(object.uid));
    moved.emplace(now, std::move(object));
  }
  objects_ = std::move(moved);
  symbols_ = &symbols;
}

HeldObject* HeldObjects::Find(const objects::ObjectRef& object) {
  EBB_DCHECK(!std::holds_alternative<const objects::Pod*>(object));
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  // A name that was never seen is not interned just because of a look-up.
  const std::optional<TextId> namespace_name = symbols_->Find(meta.namespace_name);
  const std::optional<TextId> name = symbols_->Find(meta.name);
  if (!namespace_name || !name) return nullptr;
  const auto it = objects_.find(KeyOf(object, *namespace_name, *name));
  return it == objects_.end() ? nullptr : &it->second;
}

uint64_t HeldObjects::Kinds() const {
  uint64_t kinds = 0;
  for (size_t kind = 0; kind < counts_.size(); ++kind) {
    kinds |= uint64_t{counts_[kind] > 0} << kind;
  }
  return kinds;
}

HeldObject& HeldObjects::Add(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  const Key key = KeyOf(object, symbols_->Intern(meta.namespace_name), symbols_->Intern(meta.name));
  const auto [it, is_new] = objects_.try_emplace(key);
  counts_[KindOf(key)] += is_new ? 1 : 0;
  return it->second;
}

void HeldObjects::Erase(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  const Key key = KeyOf(object, symbols_->Intern(meta.namespace_name), symbols_->Intern(meta.name));
  counts_[KindOf(key)] -= objects_.erase(key);
}

int64_t HeldObjects::NewestTime() const {
  int64_t newest = 0;
  for (const auto& [key, object] : objects_) newest = std::max(newest, object.newest_time);
  return newest;
}

std::vector<const HeldObject*> HeldObjects::InOrder(size_t type) const {
  std::vector<const HeldObject*> list;
  for (const auto& [key, object] : objects_) {
    if (key.type == type) list.push_back(&object);
  }
  std::ranges::sort(list, {}, &HeldObject::order);
  return list;
}

}  // namespace ebb
