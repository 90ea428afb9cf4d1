// ProtoSchema: the field numbers of Kubernetes' protobuf, as tables that direct the reader.
// Internal to that reader (proto_fields.h).
//
// Source:  wire/kubernetes.proto, through the descriptors that protoc generates from it, so that
//          the numbers are written once, in the form in which Kubernetes publishes them.
// Cost:    some 100 messages, built when the first object is read; then a look-up is one load.
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

// The first bytes of an envelope; a bare object never starts with them.
inline constexpr std::string_view kEnvelopeMagic("k8s\0", 4);

// FNV-1a of a field's name.  A reader compares a field with one name after the other, which is
// quick by hash.  The constructor checks that the hashes of a schema's names are distinct.
constexpr uint64_t ProtoNameHash(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

struct ProtoField {
  enum class Type : uint8_t { kString, kBytes, kBool, kInt, kQuantity, kTime, kMessage };
  enum class Shape : uint8_t { kOne, kList, kMap };
  // What the walk does with the field.
  enum class Action : uint8_t {
    kSkip,     // Skips it.
    kUnknown,  // Passes it on as a field of unknown meaning.
    kBad,      // Rejects it: the number is not valid.
    kBytes,    // Passes on the bytes that follow its length.
    kTime,     // Passes on a time, unless it is Go's zero time.
    kNumber,   // Passes on a number.
    kRun,      // Passes on a list or a map.
    kInline,   // Walks its message, as if its members were the parent's.
  };

  std::string_view name;                  // Of the member in JSON.
  uint64_t name_hash = 0;                 // 0: it has no name that a reader may ask for.
  const ProtoMessage* message = nullptr;  // Only for kMessage: the message's table.
  uint32_t tag = 0;                       // Number and wire type, as encoded before the value.
  Type type = Type::kMessage;             // For a map: the type of its values.
  Shape shape = Shape::kOne;
  uint8_t index = 0;  // In ProtoMessage::fields.
  Action action = Action::kSkip;
  bool zero_is_absent = false;  // A string, bool or number that is not a pointer in Go.
};

struct ProtoMessage {
  // Kubernetes' largest number is 43.
  static constexpr uint32_t kNumbers = 64;

  std::string_view name;
  std::vector<ProtoField> fields;
  std::array<const ProtoField*, kNumbers> by_number{};
  const ProtoField* others = nullptr;  // What to do with numbers that are not in `fields`.

  const ProtoField& Find(uint32_t number) const {
    return *(number < kNumbers ? by_number[number] : others);
  }
};

class ProtoSchema {
 public:
  // `harmless(message, field)` returns whether a field is known to restrict nothing, so that the
  // reader need not see it.
  explicit ProtoSchema(
      absl::FunctionRef<bool(std::string_view message, std::string_view field)> harmless);
  ProtoSchema(const ProtoSchema&) = delete;
  ProtoSchema& operator=(const ProtoSchema&) = delete;

  // The table of a kind in this version ("v1", "apps/v1"); null if the schema has no such kind.
  const ProtoMessage* Kind(std::string_view api_version, std::string_view kind) const;

  // runtime.Unknown, the envelope around an object.
  const ProtoMessage* envelope() const { return envelope_; }

 private:
  struct Version {
    std::string_view api_version;
    std::string_view kind;
    const ProtoMessage* message;
  };

  std::deque<ProtoMessage> messages_;  // A deque: their addresses do not change.
  std::vector<Version> versions_;
  const ProtoMessage* envelope_ = nullptr;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_PROTO_SCHEMA_H_
