// ObjectReader turns one Kubernetes object in JSON into a struct of objects.h.  object_fields.h
// reads the fields of each kind; object_protobuf.h does so from protobuf.
//
// Ownership: the JSON text must live as long as the batch that receives the object, and must be
//            followed by kJsonPadding readable bytes.
// Cost:      reuses its buffers from object to object.
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

  // Appends one entry to `batch`: the object, or that its kind is ignored, that it has no kind
  // (neither of its own nor from `place`), that it is a list, or an error.
  void Read(std::string_view json, const ObjectPlace& place, ObjectBatch& batch);

  // Why an object of this kind must be neither read nor ignored: the kind is a misspelled one that
  // ebb reads, is one that ebb reads under another of Kubernetes' own groups, or cannot be a kind's
  // name.  Empty if nothing is wrong.
  static std::string KindProblem(std::string_view api_version, std::string_view kind);

  // Whether the API group is one of custom resources: it has a dot and is not Kubernetes' own
  // (*.k8s.io).  Custom resources are never lists, whatever their kinds and fields are called.
  // Exceptions, which return false, are the groups whose lists hold kinds that ebb reads.
  static bool IsForeign(std::string_view api_version);

  // metadata.name of the object that was read last; valid until the next Read().
  std::string_view last_name() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_READER_H_
