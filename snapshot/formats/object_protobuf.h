// ProtobufObjectReader turns one Kubernetes object in Kubernetes' protobuf, as the API server
// and client-go marshal it (application/vnd.kubernetes.protobuf), into a struct of objects.h.
// The same functions read its fields as for JSON (object_fields.h).
//
// Input:     either the envelope (the bytes "k8s" 0x00, then a runtime.Unknown that holds the
//            object), or the bare object; then `place` must give its apiVersion and kind.  Pass
//            all bytes of a bare object: protobuf has no end mark, and without its last fields
//            an object means something else.
// Result:    the same as for the same object in JSON, if Go marshalled both.  A field of the API
//            that ebb does not know is called "field 57".
// Errors:    as for JSON, with the same paths.  Also rejected: bytes that end too early or are
//            not protobuf, a field that occurs twice, a list whose elements are interrupted by
//            other fields, text that is not UTF-8, and an API version that
//            wire/kubernetes.proto does not list.  Fields that ebb does not use are skipped
//            unchecked.
// Limits:    none here; the caller limits the number of bytes.
// Cost:      one pass, linear in the bytes even for hostile input; no allocation per field.
// Ownership: the bytes must live as long as the batch that receives the object.
// Threads:   one thread at a time; several readers may run at once.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_PROTOBUF_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_PROTOBUF_H_

#include <memory>
#include <string_view>

#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_place.h"

namespace ebb {

class ProtobufObjectReader {
 public:
  ProtobufObjectReader();
  ~ProtobufObjectReader();

  // Appends to `batch` an entry as ObjectReader::Read() does.
  void Read(std::string_view bytes, const ObjectPlace& place, ObjectBatch& batch);

  // metadata.name of the object that was read last; valid until the next Read().
  std::string_view last_name() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_PROTOBUF_H_
