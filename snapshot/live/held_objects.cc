#include "snapshot/live/held_objects.h"

#include <algorithm>
#include <charconv>

namespace ebb {

uint64_t VersionOf(std::string_view resource_version) {
  uint64_t version = 0;
  const char* const end = resource_version.data() + resource_version.size();
  const auto [at, error] = std::from_chars(resource_version.data(), end, version);
  return error == std::errc() && at == end ? version : 0;
}

HeldObjects::Key HeldObjects::KeyOf(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  size_t which = 0;
  if (const auto* controller = std::get_if<const objects::Controller*>(&object)) {
    which = static_cast<size_t>((*controller)->kind);
  } else if (const auto* storage = std::get_if<const objects::StorageObject*>(&object)) {
    which = (*storage)->index();
  }
  return {.type = static_cast<uint8_t>(object.index()),
          .which = static_cast<uint8_t>(which),
          .namespace_name = symbols_.Intern(meta.namespace_name),
          .name = symbols_.Intern(meta.name)};
}

HeldObject* HeldObjects::Find(const objects::ObjectRef& object) {
  const auto it = objects_.find(KeyOf(object));
  return it == objects_.end() ? nullptr : &it->second;
}

HeldObject& HeldObjects::Add(const objects::ObjectRef& object) {
  HeldObject& held = objects_[KeyOf(object)];
  held.uid = symbols_.Intern(objects::MetaOf(object).uid);
  return held;
}

void HeldObjects::Erase(const objects::ObjectRef& object) { objects_.erase(KeyOf(object)); }

std::vector<const HeldObject*> HeldObjects::InOrder(size_t type) const {
  std::vector<const HeldObject*> list;
  for (const auto& [key, object] : objects_) {
    if (key.type == type) list.push_back(&object);
  }
  std::ranges::sort(list, {}, &HeldObject::order);
  return list;
}

}  // namespace ebb
