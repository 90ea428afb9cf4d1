// ProtobufObjectReader turns one Kubernetes object in Kubernetes' protobuf, as the API server
// and client-go marshal it (application/vnd.kubernetes.protobuf), into a struct of objects.h.
// Its fields are read by the same functions as JSON's (object_fields.h).
//
// Takes:     the envelope (the bytes "k8s" 0x00 and a runtime.Unknown with the object in it),
//            or the object alone, whose apiVersion and kind `place` then names.  Of an object
//            alone give all bytes: it has no end of its own, and without its last fields it
//            is another object.
// Means:     what the same object in JSON means, when Go has marshalled both.  A field of
//            the API that ebb does not know goes by the name "field 57".
// Errors:    as of JSON, by the same paths.  Refused are also bytes that end too early or are
//            no protobuf, a field that occurs twice, a list with other fields in between,
//            text that is not UTF-8, and a version of an API that wire/kubernetes.proto does
//            not name.  What nobody reads is passed over without being looked into.
// Limits:    none of its own; the caller knows how many bytes it takes.
// Cost:      one pass, linear in the bytes whatever they are; nothing is allocated per field.
// Ownership: the bytes live as long as the batch that takes the object.
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

  // Appends to `batch` what ObjectReader::Read() would.
  void Read(std::string_view bytes, const ObjectPlace& place, ObjectBatch& batch);

  // metadata.name of the object read last; valid until the next Read().
  std::string_view last_name() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_PROTOBUF_H_
