// Finds the value of a key in a list of labels or annotations.
//
// If a key occurs twice the last value counts, as in the JSON object that the list stands for.
// ebb's readers keep only one value for a key; a program that fills objects itself may pass both.
//
// Threads: pure.

#ifndef EBB_SNAPSHOT_OBJECTS_KEY_VALUES_H_
#define EBB_SNAPSHOT_OBJECTS_KEY_VALUES_H_

#include <optional>
#include <ranges>

#include "snapshot/objects/objects.h"

namespace ebb {

// nullopt if the key is missing.  Cost: O(values).
inline std::optional<objects::Text> FindValue(const objects::KeyValues& values, objects::Text key) {
  for (const objects::KeyValue& entry : std::views::reverse(values)) {
    if (entry.key == key) return entry.value;
  }
  return std::nullopt;
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_KEY_VALUES_H_
