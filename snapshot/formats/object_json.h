// ObjectReader turns one Kubernetes object in JSON into a struct of objects.h.
//
// Start here to read a further kind: write a Read function in object_json.cc and
// give it a line in the table kKinds.
//
// Rule:      fields and defaults of k8s.io/api core/v1, apps/v1, batch/v1,
//            policy/v1; amounts as resource.Quantity has them.
// Ownership: the JSON text, and kJsonPadding readable bytes behind it, live as long as
//            the batch that takes the object.
// Cost:      keeps its buffers from object to object.
// Threads:   one thread at a time; several readers may run at once.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_JSON_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_JSON_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snapshot/formats/object_batch.h"

namespace ebb {

// Where an object stands in the text, and what the text around it says about it.
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

class ObjectReader {
 public:
  ObjectReader();
  ~ObjectReader();

  // Appends to `batch` the object, or that it is of an ignored kind, has no kind (if neither
  // it nor `place` names one), is a list, or is wrong.
  void Read(std::string_view json, const ObjectPlace& place, ObjectBatch& batch);

  // Why a kind may be neither read nor passed over: it is one that is read, in another
  // spelling or under another group of Kubernetes' own, or no name of a kind at all.
  // Empty if nothing is wrong with it.
  static std::string KindProblem(std::string_view api_version, std::string_view kind);

  // Whether the group is of custom resources: it has a dot and is not Kubernetes' own
  // (*.k8s.io).  Custom resources are never lists, whatever their kinds and fields are called.
  static bool IsForeign(std::string_view api_version);

  // metadata.name of the object read last; valid until the next Read().
  std::string_view last_name() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_JSON_H_
