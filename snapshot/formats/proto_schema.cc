#include "snapshot/formats/proto_schema.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "snapshot/formats/wire/kubernetes.pb.h"

namespace ebb {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

ProtoField::Type TypeOf(const FieldDescriptor& field) {
  using Type = ProtoField::Type;
  switch (field.type()) {
    case FieldDescriptor::TYPE_STRING:
      return Type::kString;
    case FieldDescriptor::TYPE_BYTES:
      return Type::kBytes;
    case FieldDescriptor::TYPE_BOOL:
      return Type::kBool;
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_INT64:
      return Type::kInt;
    default:
      EBB_CHECK(field.type() == FieldDescriptor::TYPE_MESSAGE);
  }
  if (field.message_type()->name() == "Quantity") return Type::kQuantity;
  if (field.message_type()->name() == "Time") return Type::kTime;
  return Type::kMessage;
}

ProtoField FieldOf(const FieldDescriptor& field) {
  ProtoField made;
  made.name = field.name();
  made.name_hash = ProtoNameHash(made.name);
  const FieldDescriptor* value = &field;
  if (field.is_map()) {
    made.shape = ProtoField::Shape::kMap;
    value = field.message_type()->map_value();
  } else if (field.is_repeated()) {
    made.shape = ProtoField::Shape::kList;
  }
  made.type = TypeOf(*value);
  constexpr uint32_t kVarint = 0;
  constexpr uint32_t kLength = 2;
  const bool varint = made.type == ProtoField::Type::kBool || made.type == ProtoField::Type::kInt;
  EBB_CHECK(!varint || !field.is_repeated());  // ebb reads no lists of numbers.
  made.tag = static_cast<uint32_t>(field.number()) << 3 | (varint ? kVarint : kLength);
  made.zero_is_absent = !field.is_repeated() && !field.has_presence();
  if (field.is_repeated()) {
    made.action = ProtoField::Action::kRun;
  } else if (field.options().GetExtension(wire::kubernetes::inlined)) {
    made.action = ProtoField::Action::kInline;
  } else if (varint) {
    made.action = ProtoField::Action::kNumber;
  } else if (made.type == ProtoField::Type::kTime) {
    made.action = ProtoField::Action::kTime;
  } else {
    made.action = ProtoField::Action::kBytes;
  }
  return made;
}

// Entries for numbers that are not in a message.  Their tag matches no field.
constexpr ProtoField Other(ProtoField::Action action) {
  ProtoField field;
  field.tag = std::numeric_limits<uint32_t>::max();
  field.action = action;
  return field;
}
constexpr ProtoField kSkipped = Other(ProtoField::Action::kSkip);
constexpr ProtoField kUnknown = Other(ProtoField::Action::kUnknown);
constexpr ProtoField kBad = Other(ProtoField::Action::kBad);

}  // namespace

ProtoSchema::ProtoSchema(
    absl::FunctionRef<bool(std::string_view message, std::string_view field)> harmless) {
  const FileDescriptor& file = *wire::kubernetes::Unknown::descriptor()->file();
  messages_.resize(static_cast<size_t>(file.message_type_count()));
  absl::flat_hash_map<uint64_t, std::string_view> names = {{0, ""}};
  for (int i = 0; i < file.message_type_count(); ++i) {
    const Descriptor& from = *file.message_type(i);
    ProtoMessage& message = messages_[static_cast<size_t>(i)];
    message.name = from.name();
    message.others =
        from.options().GetExtension(wire::kubernetes::skips_others) ? &kSkipped : &kUnknown;
    message.by_number.fill(message.others);
    message.by_number[0] = &kBad;
    for (int j = 0; j < from.field_count(); ++j) {
      const FieldDescriptor& field = *from.field(j);
      ProtoField& made = message.fields.emplace_back(FieldOf(field));
      made.index = static_cast<uint8_t>(j);
      if (harmless(message.name, made.name)) made.action = ProtoField::Action::kSkip;
      EBB_CHECK(names.emplace(made.name_hash, made.name).first->second == made.name);
      if (made.type == ProtoField::Type::kMessage) {
        const Descriptor& of = field.is_map() ? *field.message_type()->map_value()->message_type()
                                              : *field.message_type();
        made.message = &messages_[static_cast<size_t>(of.index())];
      }
    }
    for (const ProtoField& field : message.fields) {
      EBB_CHECK(field.tag >> 3 < ProtoMessage::kNumbers);
      message.by_number[field.tag >> 3] = &field;
    }
    for (int j = 0; j < from.options().ExtensionSize(wire::kubernetes::api_version); ++j) {
      versions_.push_back(
          {from.options().GetExtension(wire::kubernetes::api_version, j),
           from.options().HasExtension(wire::kubernetes::kind)
               ? std::string_view(from.options().GetExtension(wire::kubernetes::kind))
               : message.name,
           &message});
    }
    if (message.name == "Unknown") envelope_ = &message;
  }
}

const ProtoMessage* ProtoSchema::Kind(std::string_view api_version, std::string_view kind) const {
  const auto found = std::find_if(versions_.begin(), versions_.end(), [&](const Version& each) {
    return each.kind == kind && each.api_version == api_version;
  });
  return found == versions_.end() ? nullptr : found->message;
}

}  // namespace ebb
