// ProtoSchema: which field of Kubernetes' protobuf has which number, as tables that a reader
// walks by.  Internal to the reader of that form (proto_fields.h).
//
// Source:  wire/kubernetes.proto, through the descriptors that protoc makes of it, so that the
//          numbers stand in one place and in the form in which Kubernetes publishes them.
// Cost:    some 100 messages, made when the first object is read; then a look-up is one load.
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

// What an object within its envelope starts with, and no object alone does.
inline constexpr std::string_view kEnvelopeMagic("k8s\0", 4);

// What a field's name is told by, since the reader of a message asks for one name after the
// other: FNV-1a of it.  The names of a schema have different ones.
constexpr uint64_t ProtoNameHash(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

struct ProtoField {
  enum class Type : uint8_t { kString, kBytes, kBool, kInt, kQuantity, kTime, kMessage };
  enum class Shape : uint8_t { kOne, kList, kMap };
  // What the walk does with it.
  enum class Action : uint8_t {
    kSkip,     // Passes it over.
    kUnknown,  // Shows that it is there; nobody knows what it is.
    kBad,      // There is no such number.
    kBytes,    // Shows what follows its length.
    kTime,     // The same, unless it says that there is no time.
    kNumber,   // Shows a number.
    kRun,      // Shows a list or a map.
    kInline,   // Walks its message in its place.
  };

  std::string_view name;                  // Of the member in JSON.
  uint64_t name_hash = 0;                 // 0: of no name that a reader may ask for.
  const ProtoMessage* message = nullptr;  // kMessage: which.
  uint32_t tag = 0;                       // Its number and wire type, as they stand before it.
  Type type = Type::kMessage;             // Of a map: that of its values.
  Shape shape = Shape::kOne;
  uint8_t index = 0;  // In ProtoMessage::fields.
  Action action = Action::kSkip;
  bool zero_is_absent = false;  // A string, bool or number without a pointer in Go.
};

struct ProtoMessage {
  // Kubernetes' largest number is 43.
  static constexpr uint32_t kNumbers = 64;

  std::string_view name;
  std::vector<ProtoField> fields;
  std::array<const ProtoField*, kNumbers> by_number{};
  const ProtoField* others = nullptr;  // What a number that is not here stands for.

  const ProtoField& Find(uint32_t number) const {
    return *(number < kNumbers ? by_number[number] : others);
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
