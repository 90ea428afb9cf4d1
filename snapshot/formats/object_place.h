// Where an object is in a text, and what the surrounding text says about it.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_PLACE_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_PLACE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb {

struct ObjectPlace {
  std::string_view file;
  std::string_view list;         // "items"; empty if the object is not in a list.
  uint64_t index = 0;            // In that list.
  uint64_t offset = 0;           // Of the object's first byte in the file.
  std::string_view api_version;  // Used, like `kind`, where the object has no kind of its own.
  std::string_view kind;
  // The node's name, for pods of a debugging snapshot ("": no node); otherwise nullopt.
  std::optional<std::string_view> on_node;
  // The text into which `offset` points, for errors; may be empty.
  std::string_view text;
  // The object is not a list even if its kind ends with "List".
  bool no_list = false;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_PLACE_H_
