// Where an object stands in a text, and what the text around it says about it.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_PLACE_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_PLACE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb {

struct ObjectPlace {
  std::string_view file;
  std::string_view list;         // "items"; empty for an object of its own.
  uint64_t index = 0;            // In that list.
  uint64_t offset = 0;           // Of its first byte in the file.
  std::string_view api_version;  // Taken where the object has no kind of its own.
  std::string_view kind;
  // Set for the pods of a debugging snapshot: the node they are on ("": none).
  std::optional<std::string_view> on_node;
  // The text that `offset` counts in, for errors; may be empty.
  std::string_view text;
  // A kind that ends with "List" is the object's own: its surroundings know that it is
  // no list.
  bool no_list = false;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_PLACE_H_
