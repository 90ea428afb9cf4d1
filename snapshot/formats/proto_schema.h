// ProtoSchema: which field of Kubernetes' protobuf has which number, as tables that a reader
// walks by.  Internal to the reader of that form (proto_fields.h).
//
// Source:  wire/kubernetes.proto, through the descriptors that protoc makes of it, so that the
//          numbers stand in one place and in the form in which Kubernetes publishes them.
// Cost:    some 100 messages, made when the first object is read; then no look-up costs more
//          than two loads.
// Threads: immutable.

#ifndef EBB_SNAPSHOT_FORMATS_PROTO_SCHEMA_H_
#define EBB_SNAPSHOT_FORMATS_PROTO_SCHEMA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace ebb {

struct ProtoMessage;

struct ProtoField {
  enum class Type : uint8_t { kString, kBytes, kBool, kInt, kQuantity, kTime, kMessage };
  enum class Shape : uint8_t { kOne, kList, kMap };

  std::string_view name;                  // Of the member in JSON.
  const ProtoMessage* message = nullptr;  // kMessage: which.
  Type type = Type::kMessage;             // Of a map: that of its values.
  Shape shape = Shape::kOne;
  uint8_t index = 0;            // In ProtoMessage::fields.
  bool zero_is_absent = false;  // A string, bool or number without a pointer in Go.
  bool inlined = false;         // JSON has its members in its place.
  bool harmless = false;        // Known and read by nobody: it is passed over.
};

struct ProtoMessage {
  // Kubernetes' largest number is 43.
  static constexpr uint32_t kNumbers = 64;

  std::string_view name;
  bool skips_others = false;  // Fields that are not here are passed over.
  std::vector<ProtoField> fields;
  std::array<uint8_t, kNumbers> by_number{};  // Index + 1; 0: not here.

  // Null: not here.
  const ProtoField* Find(uint32_t number) const {
    if (number >= kNumbers) return nullptr;
    const uint8_t position = by_number[number];
    return position == 0 ? nullptr : &fields[position - size_t{1}];
  }
};

class ProtoSchema {
 public:
  // `harmless(message, field)` tells whether a field is known to restrict nothing, so that
  // it need not be shown to the reader.
  explicit ProtoSchema(
      absl::FunctionRef<bool(std::string_view message, std::string_view field)> harmless);
  ProtoSchema(const ProtoSchema&) = delete;
  ProtoSchema& operator=(const ProtoSchema&) = delete;

  // The message of a kind in this version ("v1", "apps/v1"); null if there is none.
  const ProtoMessage* Kind(std::string_view api_version, std::string_view kind) const;

  // runtime.Unknown, the envelope around an object.
  const ProtoMessage* envelope() const { return envelope_; }

 private:
  struct Version {
    std::string_view api_version;
    const ProtoMessage* message;
  };

  std::deque<ProtoMessage> messages_;  // They stay where they are.
  std::vector<Version> versions_;
  const ProtoMessage* envelope_ = nullptr;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_PROTO_SCHEMA_H_
