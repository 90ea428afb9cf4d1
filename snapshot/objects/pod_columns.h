// Pods as columns: how a snapshot file hands over pods that have most of their fields in common.
//
// Pods of one controller differ in few fields: the name, the UID, the creation time, the node, and
// the names of volumes that only provide data.  Everything else is their *pattern*.  A file has
// each pattern once, and each pod as a row of numbers.  A sink that takes columns
// (ObjectSink::TakesPodColumns) handles a pattern once instead of once per pod, and takes over the
// table of texts instead of hashing and copying each text.
//
// Ownership: borrows the file's bytes.  Only TextTable::owner keeps them alive.
// Threads:   const methods may run concurrently.

#ifndef EBB_SNAPSHOT_OBJECTS_POD_COLUMNS_H_
#define EBB_SNAPSHOT_OBJECTS_POD_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "snapshot/objects/objects.h"

namespace ebb {

// Texts, numbered from 1; number 0 is the empty text.  The texts lie one behind the other.
struct TextTable {
  const char* bytes = nullptr;
  // Where each text begins, and where the last one ends: one more than there are texts.  They do
  // not decrease.
  std::span<const uint32_t> offsets = {};
  // Keeps `bytes` and `offsets` alive.
  std::shared_ptr<const void> owner = nullptr;

  [[nodiscard]] uint32_t size() const {
    return offsets.empty() ? 0 : static_cast<uint32_t>(offsets.size() - 1);
  }
  // REQUIRES: number <= size().
  [[nodiscard]] std::string_view operator[](uint32_t number) const {
    if (number == 0) return {};
    return {bytes + offsets[number - 1], offsets[number] - offsets[number - 1]};
  }
};

// Some pods, in the order of the file.  All columns have the same size.
struct PodColumns {
  std::span<const int64_t> creation_time;
  std::span<const uint32_t> pattern;  // Patterns count from 0 in each file.
  // Numbers of texts.
  std::span<const uint32_t> name;
  std::span<const uint32_t> uid;
  std::span<const uint32_t> node_name;

  [[nodiscard]] size_t size() const { return pattern.size(); }
};

// Whether no decision depends on the volume.  The API server gives nearly every pod such a volume
// with a unique name, the token of its service account ("kube-api-access-x2x4q").  Its name
// belongs to the pod and not to the pattern.
inline bool OnlyProvidesData(const objects::Volume& volume) {
  return volume.source == "projected" || volume.source == "configMap" ||
         volume.source == "secret" || volume.source == "downwardAPI";
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_POD_COLUMNS_H_
