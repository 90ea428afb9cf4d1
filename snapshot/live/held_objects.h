// HeldObjects: the current objects of every kind except pods, packed, by name.  A LiveSnapshot
// keeps them.
//
// Cost:    a look-up hashes two names; an object takes its packed bytes and about 90 more.
// Threads: not thread-safe.

#ifndef EBB_SNAPSHOT_LIVE_HELD_OBJECTS_H_
#define EBB_SNAPSHOT_LIVE_HELD_OBJECTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/ids.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/symbols.h"

namespace ebb {

struct HeldObject {
  std::string packed;  // By PackObject.
  TextId uid;
  uint64_t version = 0;     // VersionOf its metadata.resourceVersion.
  uint64_t order = 0;       // Lower for objects that were added earlier.
  int64_t pods_ready = 0;   // Change::pods_ready.
  int64_t newest_time = 0;  // NewestTimeOf the object.
};

// metadata.resourceVersion as a number, as the API server writes it; 0 if it is not a number.
uint64_t VersionOf(std::string_view resource_version);

// Whether an object with `version` is older than the one that is held.
inline bool IsOlderVersion(uint64_t version, uint64_t held) {
  return version != 0 && version < held;
}

// Whether a deletion without a UID refers to an earlier object of the same name.
inline bool IsLateDelete(std::string_view uid, uint64_t version, uint64_t held) {
  return uid.empty() && IsOlderVersion(version, held);
}

class HeldObjects {
 public:
  explicit HeldObjects(Symbols& symbols) : symbols_(&symbols) {}

  // Converts all ids to those of `symbols`, which must live as long.
  void MoveTo(Symbols& symbols);

  // Null if the object is not held.  REQUIRES: `object` is not a pod.
  HeldObject* Find(const objects::ObjectRef& object);
  HeldObject& Add(const objects::ObjectRef& object);
  [[nodiscard]] size_t size() const { return objects_.size(); }
  [[nodiscard]] size_t Nodes() const { return counts_[0]; }
  // A bit for each kind of which an object is held.
  [[nodiscard]] uint64_t Kinds() const;
  void Erase(const objects::ObjectRef& object);
  // The latest newest_time; 0 if none exists.
  [[nodiscard]] int64_t NewestTime() const;

  // The objects of type `Struct`, in the order in which they were added.
  template <typename Struct>
  [[nodiscard]] std::vector<const HeldObject*> InOrder() const {
    return InOrder(objects::ObjectRef(static_cast<const Struct*>(nullptr)).index());
  }

 private:
  struct Key {
    uint8_t type;   // The index in ObjectRef.
    uint8_t which;  // Distinguishes kinds that share a type.
    TextId namespace_name;
    TextId name;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.type, key.which, key.namespace_name, key.name);
    }
  };
  static Key KeyOf(const objects::ObjectRef& object, TextId namespace_name, TextId name);
  [[nodiscard]] std::vector<const HeldObject*> InOrder(size_t type) const;

  // The kind's index in counts_.  Storage objects, which have the most kinds, are the last type.
  static size_t KindOf(const Key& key) { return size_t{key.type} * 8 + key.which; }

  Symbols* symbols_;
  absl::flat_hash_map<Key, HeldObject> objects_;
  std::array<size_t, 63> counts_{};  // By KindOf().
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_LIVE_HELD_OBJECTS_H_
