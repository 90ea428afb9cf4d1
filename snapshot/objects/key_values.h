// What a list of labels or annotations says of one key.
//
// Of equal keys the last counts, as in the JSON object that the list stands for.  The
// readers keep no two of a key; a program that fills objects itself may hand over both.
//
// Threads: pure.

#ifndef EBB_SNAPSHOT_OBJECTS_KEY_VALUES_H_
#define EBB_SNAPSHOT_OBJECTS_KEY_VALUES_H_

#include <optional>
#include <ranges>

#include "snapshot/objects/objects.h"

namespace ebb {

// nullopt: the key is not there.  Cost: O(values).
inline std::optional<objects::Text> FindValue(const objects::KeyValues& values, objects::Text key) {
  for (const objects::KeyValue& entry : std::views::reverse(values)) {
    if (entry.key == key) return entry.value;
  }
  return std::nullopt;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_KEY_VALUES_H_
