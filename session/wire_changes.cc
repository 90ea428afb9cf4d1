#include "session/wire_changes.h"

#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

namespace wire = v1alpha1;

absl::Status PutChange(const wire::Change& change, ChangeBatch& batch) {
  switch (change.change_case()) {
    case wire::Change::kPutJson:
      return batch.PutJson(change.put_json());
    case wire::Change::kPutProtobuf:
      return batch.PutProtobuf(change.put_protobuf());
    case wire::Change::kDeleteJson:
      return batch.DeleteJson(change.delete_json());
    case wire::Change::kDeleteProtobuf:
      return batch.DeleteProtobuf(change.delete_protobuf());
    case wire::Change::kDelete: {
      const wire::Deletion& deletion = change.delete_();
      if (deletion.kind().empty()) return absl::InvalidArgumentError("delete.kind: is missing");
      if (deletion.name().empty()) return absl::InvalidArgumentError("delete.name: is missing");
      absl::Status deleted = batch.DeleteNamed(deletion.kind(), deletion.namespace_(),
                                               deletion.name(), deletion.uid());
      if (deleted.ok()) return deleted;
      return {deleted.code(), absl::StrCat("delete.kind: ", deleted.message())};
    }
    case wire::Change::CHANGE_NOT_SET:
      return absl::InvalidArgumentError(
          "is not one of put_json, put_protobuf, delete_json, "
          "delete_protobuf and delete");
  }
  return absl::InvalidArgumentError("is of no known kind");
}

}  // namespace

absl::Status PutChanges(const google::protobuf::RepeatedPtrField<v1alpha1::Change>& changes,
                        ChangeBatch& batch) {
  for (int i = 0; i < changes.size(); ++i) {
    if (absl::Status s = PutChange(changes[i], batch); !s.ok()) {
      const bool limit = s.code() == absl::StatusCode::kResourceExhausted;
      return {s.code(),
              absl::StrCat("changes[", i, "]: ", s.message(), limit ? ", --max-object" : "")};
    }
  }
  return absl::OkStatus();
}

}  // namespace ebb
