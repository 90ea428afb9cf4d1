// ObjectReader turns one Kubernetes object in JSON into a struct of objects.h.  The fields of
// each kind are in object_fields.h; object_protobuf.h reads the same from protobuf.
//
// Ownership: the JSON text, and kJsonPadding readable bytes behind it, live as long as
//            the batch that takes the object.
// Cost:      keeps its buffers from object to object.
// Threads:   one thread at a time; several readers may run at once.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_READER_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_place.h"

namespace ebb {

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

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_READER_H_
