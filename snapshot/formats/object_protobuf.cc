#include "snapshot/formats/object_protobuf.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "snapshot/formats/object_fields.h"
#include "snapshot/formats/object_reader.h"
#include "snapshot/formats/proto_fields.h"
#include "snapshot/formats/proto_schema.h"

namespace ebb {
namespace {

// Does not show fields that ObjectFields would skip anyway.
const ProtoSchema& Schema() {
  static const auto* const schema = new ProtoSchema([](Text message, Text field) {
    return message == "PodSpec" &&
           std::binary_search(kHarmlessPodSpec.begin(), kHarmlessPodSpec.end(), field);
  });
  return *schema;
}

}  // namespace

class ProtobufObjectReader::Impl : public ObjectFields<ProtoFields> {
 public:
  void Read(std::string_view bytes, const ObjectPlace& place, ObjectBatch& batch);
};

void ProtobufObjectReader::Impl::Read(std::string_view bytes, const ObjectPlace& place,
                                      ObjectBatch& batch) {
  Begin(batch);
  if (!fields_.Open(bytes, Schema(), batch.texts)) {
    return FieldError(place.kind.empty() ? "object" : place.kind, place);
  }
  const bool own = !fields_.kind().empty();
  const Text api_version = own ? fields_.api_version() : place.api_version;
  const Text kind = own ? fields_.kind() : place.kind;
  if (kind.empty()) return batch.AddWithoutKind();
  const Kind* const rule = RuleFor(api_version, kind);
  const bool status = kind == "Status" && api_version == "v1";
  if (rule == nullptr && !status) {
    if (own && IsOddKind(api_version, kind)) return FieldError(Printable(kind), place);
    const bool list =
        own && !place.no_list && kind.ends_with("List") && !ObjectReader::IsForeign(api_version);
    if (list) return batch.AddList();
    // Its fields are unknown, and so its name is too.
    if (FindUnevaluatedKind(api_version, kind) == nullptr) return batch.AddIgnored(kind);
    return batch.AddUnevaluated({api_version, kind, {}, {}});
  }
  // In another version these numbers may mean other fields.
  if (!fields_.OpenAs(api_version, kind)) {
    fields_.FailAt(".apiVersion", absl::StrCat("the protobuf fields of \"", Printable(api_version),
                                               "\" are not known"));
    return FieldError(Printable(kind), place);
  }
  return status ? StatusError(place) : ReadAs(*rule, place);
}

ProtobufObjectReader::ProtobufObjectReader() : impl_(std::make_unique<Impl>()) {}
ProtobufObjectReader::~ProtobufObjectReader() = default;

void ProtobufObjectReader::Read(std::string_view bytes, const ObjectPlace& place,
                                ObjectBatch& batch) {
  impl_->Read(bytes, place, batch);
}

std::string_view ProtobufObjectReader::last_name() const { return impl_->last_name(); }

}  // namespace ebb
