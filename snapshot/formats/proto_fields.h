// ProtoFields walks one object in Kubernetes' protobuf and returns typed fields.  It has the same
// members as JsonFields (json_fields.h), so that object_fields.h can be written against either.
//
// How it works: the walk reads the bytes with the tables of ProtoSchema, which give each field
// number its name in JSON.  It shows the reader what the same object would have in JSON:
//   - Go writes fields that are not pointers even if they are zero; the walk treats a zero in
//     such a field as absent;
//   - a list or a map is a run of fields with one number; it is shown as one member, which
//     Elements() or Members() then walks;
//   - the members of a message that JSON has inline are shown as members of its parent;
//   - a field that is not in the tables is skipped.  If its message may gain fields that restrict
//     a pod, the field is shown as "field 57" instead, with a value of no type.
//
// Order:    fields are read in the order of the bytes.
// Rejected: bytes that are not protobuf or end too early, groups, a field whose wire type differs
//           from the API's, a field that occurs twice, a list whose run is interrupted, text that
//           is not UTF-8.  Skipped values are not checked.
// Text:     views into the object's own bytes; names of unknown fields are in the arena.
// Errors:   see field_problem.h.
// Cost:     one step per field; no allocation for known fields.  Recursion is only as deep as
//           the tables.
// Threads:  one thread at a time.

#ifndef EBB_SNAPSHOT_FORMATS_PROTO_FIELDS_H_
#define EBB_SNAPSHOT_FORMATS_PROTO_FIELDS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/formats/field_problem.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/proto_schema.h"
#include "snapshot/formats/spec_digest.h"
#include "snapshot/objects/quantity.h"

namespace ebb {

class ProtoFields : public FieldProblem {
 public:
  // A field's name as a literal, which a reader compares with a Key.
  class Name {
   public:
    template <size_t kSize>
    consteval Name(const char (&name)[kSize])  // NOLINT(google-explicit-constructor)
        : hash_(ProtoNameHash({name, kSize - 1})) {}

    uint64_t hash() const { return hash_; }

   private:
    uint64_t hash_;
  };

  // The name of the current field.
  class Key {
   public:
    operator Text() const { return field_->name; }  // NOLINT(google-explicit-constructor)
    friend bool operator==(Key key, Name name) { return key.field_->name_hash == name.hash(); }
    template <typename T>
      requires std::same_as<T, Text>
    friend bool operator==(Key key, T name) {
      return key.field_->name == name;
    }

   private:
    friend class ProtoFields;
    const ProtoField* field_ = nullptr;
  };

  // The value of a field, an element or an entry.
  class Value {
   private:
    friend class ProtoFields;
    bool Is(ProtoField::Type type) const {
      return field_ != nullptr && field_->type == type && !run_;
    }
    const ProtoField* field_ = nullptr;  // Null: the field is unknown.
    bool run_ = false;                   // A whole list or map, beginning at its first tag.
    const char* begin_ = nullptr;
    const char* end_ = nullptr;  // For a run: the end of the message around it.
    uint64_t number_ = 0;        // kBool, kInt; kTime: its seconds.
  };

  // Starts on an object with or without its envelope.  Names of unknown fields are stored in
  // `arena`.
  bool Open(std::string_view bytes, const ProtoSchema& schema, TextArena& arena) {
    Clear();
    begin_ = bytes.data();
    arena_ = &arena;
    schema_ = &schema;
    message_ = nullptr;
    api_version_ = kind_ = {};
    unknown_ = {};
    object_ = bytes;
    if (!bytes.starts_with(kEnvelopeMagic)) return true;
    object_ = {};
    bytes.remove_prefix(kEnvelopeMagic.size());
    return Walk(*schema.envelope(), bytes,
                [this](Key key, Value& value) { return EnvelopeField(key, value); });
  }
  // From the envelope; empty if it has none, or if there is no envelope.
  Text api_version() const { return api_version_; }
  Text kind() const { return kind_; }

  // Reads the object as this kind.  Returns false if the schema does not have the kind in this
  // version.
  bool OpenAs(Text api_version, Text kind) {
    message_ = schema_->Kind(api_version, kind);
    return message_ != nullptr;
  }

  // Goes back to the start of the object.
  void Rewind() { Clear(); }

  // Calls field(key, value) for each field that is not absent.  `field` returns false to stop.
  // REQUIRES: OpenAs() returned true.
  template <typename Field>
  bool Members(Field&& field) {
    EBB_DCHECK(message_ != nullptr);
    return Walk(*message_, object_, field);
  }
  template <typename Field>
  bool Members(Value& value, Field&& field) {
    // The name of a field is a Key; the key of a map's entry is any text.
    if constexpr (std::is_invocable_v<Field, Text, Value&>) {
      if (IsRun(value, ProtoField::Shape::kMap)) return Entries(value, field);
    }
    if (!value.Is(ProtoField::Type::kMessage)) return WrongType();
    // The analyzer does not see that Is() returned true only if there is a field.
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    return Walk(*value.field_->message, TextOf(value), field);
  }

  // Calls element(value) for each element.  `element` returns false to stop.
  template <typename Element>
  bool Elements(Value& value, Element&& element) {
    if (!IsRun(value, ProtoField::Shape::kList)) return WrongType();
    const char* p = value.begin_;
    Value item;
    item.field_ = value.field_;
    for (size_t index = 0; NextOfRun(value, p, item); ++index) {
      if (!element(item)) return In(index);
    }
    return p != nullptr;
  }

  bool IsString(const Value& value) const { return value.Is(ProtoField::Type::kString); }
  bool String(Value& value, Text& text) {
    if (!value.Is(ProtoField::Type::kString)) return WrongType();
    text = TextOf(value);
    return IsText(text) || NotText();
  }

  bool Bool(Value& value, bool& flag) {
    if (!value.Is(ProtoField::Type::kBool)) return WrongType();
    flag = value.number_ != 0;
    return true;
  }

  // A whole number; `least` and `most` are the limits of the API's type.
  bool Int(Value& value, int64_t& number, int64_t least = std::numeric_limits<int64_t>::min(),
           int64_t most = std::numeric_limits<int64_t>::max()) {
    if (!value.Is(ProtoField::Type::kInt)) return WrongType();
    const auto read = static_cast<int64_t>(value.number_);
    if (read < least || read > most) return CheckRange(read, std::to_string(read), least, most);
    number = read;
    return true;
  }
  bool Int32(Value& value, int64_t& number, int64_t least = std::numeric_limits<int32_t>::min()) {
    return Int(value, number, least, std::numeric_limits<int32_t>::max());
  }

  // A quantity, measured in `unit`; not negative.  One that exceeds int64 is kUncountable.
  bool Amount(Value& value, QuantityUnit unit, ExactQuantity& amount) {
    Text text;
    return Quantity(value, text) && ParseAmount(text, unit, amount);
  }
  bool Quantity(Value& value, Text& text) {
    if (!value.Is(ProtoField::Type::kQuantity)) return WrongType();
    return QuantityText(TextOf(value), text) && (IsText(text) || NotText());
  }

  // Seconds since the Unix epoch.
  bool Time(Value& value, int64_t& seconds) {
    if (!value.Is(ProtoField::Type::kTime)) return WrongType();
    constexpr int64_t kFirst = -62'167'219'200;  // 0000-01-01T00:00:00Z.
    constexpr int64_t kLast = 253'402'300'799;   // 9999-12-31T23:59:59Z.
    const auto read = static_cast<int64_t>(value.number_);
    if (read < kFirst || read > kLast) {
      return Fail(absl::StrCat(read, " s since 1970 is not a time of the years 0 to 9999"));
    }
    seconds = read;
    return true;
  }

  // Digest of a pod's whole spec (spec_digest.h).
  static uint64_t SpecDigest(std::string_view spec) { return DigestOfProtoSpec(spec); }
  // The bytes of `value`, which is a message.
  static Text From(const Value& value) { return TextOf(value); }

  // Always false: wrong bytes are reported as a problem of their field.
  static constexpr bool malformed() { return false; }
  static constexpr int64_t malformed_at() { return -1; }

 private:
  // The position of the walk in one message.
  struct Cursor {
    const ProtoMessage* message;
    const char* p;
    const char* end;
    uint64_t seen = 0;  // A bit for each known field that was read.
  };
  enum class Step : uint8_t { kMember, kRun, kInlined, kUnknown, kEnd, kWrong };

  static constexpr uint32_t kKey = 1;  // Field numbers of a map's entry.
  static constexpr uint32_t kValue = 2;
  enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

  template <typename Field>
  bool Walk(const ProtoMessage& message, Text bytes, Field&& field) {
    Cursor cursor{&message, bytes.data(), bytes.data() + bytes.size()};
    Key key;
    Value member;
    while (true) {
      switch (Next(cursor, member)) {
        case Step::kEnd:
          return true;
        case Step::kWrong:
          return false;
        case Step::kInlined:
          if (!Walk(*member.field_->message, TextOf(member), field)) return false;
          break;
        case Step::kUnknown:
          key.field_ = &unknown_;
          if (!field(key, member)) return In(unknown_.name);
          break;
        case Step::kMember:
          key.field_ = member.field_;
          if (!field(key, member)) return In(key.field_->name);
          break;
        case Step::kRun:
          key.field_ = member.field_;
          after_run_ = nullptr;
          if (!field(key, member) || !LeaveRun(member, cursor.p)) return In(key.field_->name);
      }
    }
  }

  // Calls field(key, value) for each entry of a map.
  template <typename Field>
  bool Entries(Value& run, Field& field) {
    const char* p = run.begin_;
    Value item;
    item.field_ = run.field_;
    while (NextOfRun(run, p, item)) {
      Text key;
      if (!Entry(item, key)) return false;
      if (!field(key, item)) return In(key);
    }
    return p != nullptr;
  }

  // Reads up to the next field that is to be shown.
  Step Next(Cursor& cursor, Value& member) {
    using Action = ProtoField::Action;
    const ProtoMessage& message = *cursor.message;
    const char* p = cursor.p;
    const char* const end = cursor.end;
    while (p != end) {
      const char* const at = p;
      uint32_t tag = 0;
      if (!ReadTag(p, end, tag)) return Step::kWrong;
      const ProtoField& known = message.Find(tag >> 3);
      if (known.action == Action::kSkip) {
        if (!Skip(p, end, tag)) return Step::kWrong;
        continue;
      }
      const uint64_t bit = uint64_t{1} << known.index;
      if (tag != known.tag || (cursor.seen & bit) != 0) [[unlikely]] {
        return Odd(cursor, member, known, at);
      }
      cursor.seen |= bit;
      if (known.zero_is_absent && p != end && *p == 0) {  // The number is 0, or the length is.
        ++p;
        continue;
      }
      member.field_ = &known;
      member.run_ = false;
      Step step = Step::kMember;
      switch (known.action) {
        case Action::kRun:
          member.run_ = true;
          member.begin_ = at;
          member.end_ = end;
          return Step::kRun;
        case Action::kNumber:
          if (!ReadVarint(p, end, member.number_)) return WrongIn(known);
          if (known.zero_is_absent && member.number_ == 0) continue;
          break;
        case Action::kTime: {
          bool null = false;
          if (!ReadLength(p, end, member) || !ReadTime(member, null)) return WrongIn(known);
          if (null) continue;
          break;
        }
        case Action::kInline:
          step = Step::kInlined;
          [[fallthrough]];
        default:
          if (!ReadLength(p, end, member)) return WrongIn(known);
          if (known.zero_is_absent && member.begin_ == member.end_) continue;
      }
      cursor.p = p;
      return step;
    }
    return Step::kEnd;
  }

  // Handles a field that is unknown, has another wire type than in the table, or occurs again.
  ABSL_ATTRIBUTE_NOINLINE Step Odd(Cursor& cursor, Value& member, const ProtoField& known,
                                   const char* p) {
    uint32_t tag = 0;
    if (!ReadTag(p, cursor.end, tag)) return Step::kWrong;
    if (known.action == ProtoField::Action::kBad) {
      Malformed(p, "there is no such field number");
      return Step::kWrong;
    }
    if (known.action != ProtoField::Action::kUnknown) {
      const bool again = (cursor.seen >> known.index & 1) != 0;
      const bool one = known.shape == ProtoField::Shape::kOne;
      Fail(std::string(!again ? kOtherType
                       : one  ? kTwice
                              : "does not stand together: other fields are in between"));
      return WrongIn(known);
    }
    if (!Skip(p, cursor.end, tag)) return Step::kWrong;
    cursor.p = p;
    member = {};
    NameUnknown(tag >> 3);
    return Step::kUnknown;
  }

  // Sets `item` to the bytes of the next element or entry.  Returns false at the end of the run;
  // sets `p` to null if the bytes are wrong.
  bool NextOfRun(const Value& run, const char*& p, Value& item) {
    if (p != run.end_) {
      const char* const at = p;
      uint32_t tag = 0;
      if (!ReadTag(p, run.end_, tag)) return p = nullptr, false;
      if (tag == run.field_->tag) {
        if (ReadLength(p, run.end_, item)) return true;
        p = nullptr;
        return false;
      }
      p = at;
    }
    after_run_ = p;
    return false;
  }

  // Moves `p` to the end of a run, whether or not the run was walked.
  bool LeaveRun(const Value& run, const char*& p) {
    if (after_run_ == nullptr) {
      Value item;
      const char* next = run.begin_;
      while (NextOfRun(run, next, item)) {
      }
      if (next == nullptr) return false;
    }
    p = after_run_;
    return true;
  }

  // Splits a map's entry, {key = 1, value = 2}, into its key and its value.
  bool Entry(Value& item, Text& key) {
    const char* const p = item.begin_;
    const char* const end = item.end_;
    // The form that Go writes, if both are short.
    if (IsShort(p, end, kKey) && IsLast(p + 2 + p[1], end, kValue)) {
      key = Text(p + 2, static_cast<size_t>(p[1]));
      item.begin_ = p + 2 + p[1] + 2;
    } else if (!AnyEntry(item, key)) {
      return false;
    }
    return IsText(key) || Fail("has a key that is not UTF-8");
  }
  ABSL_ATTRIBUTE_NOINLINE bool AnyEntry(Value& item, Text& key) {
    const char* p = item.begin_;
    const char* const end = item.end_;
    Text value;
    uint32_t seen = 0;
    while (p != end) {
      uint32_t tag = 0;
      if (!ReadValidTag(p, end, tag)) return false;
      const uint32_t number = tag >> 3;
      if (number != kKey && number != kValue) {
        if (!Skip(p, end, tag)) return false;
        continue;
      }
      if ((tag & 7) != kLength) return Fail(std::string(kOtherType));
      if ((seen & number) != 0) return Fail("has an entry with two keys or two values");
      seen |= number;
      if (!ReadLength(p, end, item)) return false;
      (number == kKey ? key : value) = TextOf(item);
    }
    item.begin_ = value.data();
    item.end_ = value.data() + value.size();
    return true;
  }

  // resource.Quantity, {string = 1}.
  bool QuantityText(Text message, Text& text) {
    const char* p = message.data();
    const char* const end = p + message.size();
    if (IsLast(p, end, 1)) {
      text = message.substr(2);
      return true;
    }
    text = "0";
    bool seen = false;
    while (p != end) {
      uint32_t tag = 0;
      if (!ReadValidTag(p, end, tag)) return false;
      if (tag >> 3 != 1) {
        if (!Skip(p, end, tag)) return false;
        continue;
      }
      if ((tag & 7) != kLength) return Fail(std::string(kOtherType));
      if (seen) return Fail(std::string(kTwice));
      seen = true;
      Value value;
      if (!ReadLength(p, end, value)) return false;
      text = TextOf(value);
    }
    return true;
  }

  // metav1.Time, {seconds = 1, nanos = 2}.
  bool ReadTime(Value& value, bool& null) {
    constexpr int64_t kZero = -62'135'596'800;  // 0001-01-01T00:00:00Z: Go's time.Time{}.
    const char* p = value.begin_;
    value.number_ = 0;
    bool seen = false;
    while (p != value.end_) {
      uint32_t tag = 0;
      if (!ReadValidTag(p, value.end_, tag)) return false;
      if (tag >> 3 != 1) {
        if (!Skip(p, value.end_, tag)) return false;
        continue;
      }
      if ((tag & 7) != kVarint) return Fail(std::string(kOtherType));
      if (seen) return Fail(std::string(kTwice));
      seen = true;
      if (!ReadVarint(p, value.end_, value.number_)) return false;
    }
    null = value.begin_ == value.end_ || static_cast<int64_t>(value.number_) == kZero;
    return true;
  }

  bool EnvelopeField(Key key, Value& value) {
    if (key == "typeMeta") {
      return Members(value, [this](Key part, Value& text) {
        if (part == "apiVersion") return String(text, api_version_);
        return part != "kind" || String(text, kind_);
      });
    }
    if (key == "raw") {
      object_ = TextOf(value);
      return true;
    }
    Text said;
    if (!String(value, said)) return false;
    return (key == "contentType" && said == "application/vnd.kubernetes.protobuf") ||
           Fail(absl::StrCat(Escaped(said), " is not known"));
  }

  // --- The wire format

  // Whether a field with this number and a length below 128 starts at `p` and ends before `end`.
  static bool IsShort(const char* p, const char* end, uint32_t number) {
    return end - p >= 2 && static_cast<uint8_t>(p[0]) == (number << 3 | kLength) &&
           static_cast<uint8_t>(p[1]) < 0x80 && end - p - 2 >= p[1];
  }
  // Like IsShort(), and the field ends at `end`.
  static bool IsLast(const char* p, const char* end, uint32_t number) {
    return IsShort(p, end, number) && end - p - 2 == p[1];
  }

  // The functions below are inlined.  Rare cases are in functions that pass `p` by value, so that
  // the inlined code can keep it in a register.

  // Accepts a field number of 0; the table rejects it.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ReadTag(const char*& p, const char* end, uint32_t& tag) {
    if (p != end && static_cast<uint8_t>(*p) < 0x80) {
      tag = static_cast<uint8_t>(*p++);
      return true;
    }
    uint64_t number = 0;
    const char* const at = p;
    if (!ReadVarint(p, end, number)) return false;
    tag = static_cast<uint32_t>(number);
    return number <= std::numeric_limits<uint32_t>::max() ||
           Malformed(at, "there is no such field number");
  }

  bool ReadValidTag(const char*& p, const char* end, uint32_t& tag) {
    const char* const at = p;
    return ReadTag(p, end, tag) && (tag >= 8 || Malformed(at, "there is no such field number"));
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ReadVarint(const char*& p, const char* end, uint64_t& number) {
    if (end - p >= 2) [[likely]] {
      const auto first = static_cast<uint8_t>(p[0]);
      if (first < 0x80) {
        number = first;
        ++p;
        return true;
      }
      const auto second = static_cast<uint8_t>(p[1]);
      if (second < 0x80) {
        number = (first & 0x7fU) | uint64_t{second} << 7;
        p += 2;
        return true;
      }
    }
    const Varint read = ReadLongVarint(p, end);
    number = read.number;
    if (read.after == nullptr) return false;
    p = read.after;
    return true;
  }

  struct Varint {
    const char* after;  // Null: the bytes are not a number.
    uint64_t number;
  };
  ABSL_ATTRIBUTE_NOINLINE Varint ReadLongVarint(const char* p, const char* end) {
    const char* const at = p;
    const auto wrong = [this](const char* where, std::string_view what) {
      Malformed(where, what);
      return Varint{nullptr, 0};
    };
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (p == end) return wrong(p, "it ends too early");
      const auto byte = static_cast<uint8_t>(*p++);
      number |= uint64_t{byte & 0x7fU} << shift;
      if (byte >= 0x80) continue;
      return shift < 63 || byte < 2 ? Varint{p, number} : wrong(at, "a number is too large");
    }
    return wrong(at, "a number is too long");
  }

  // Reads the bytes of a field that starts with its length.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool ReadLength(const char*& p, const char* end, Value& value) {
    const char* const at = p;
    uint64_t length = 0;
    if (!ReadVarint(p, end, length)) return false;
    if (length > static_cast<uint64_t>(end - p)) [[unlikely]] {
      return Malformed(at, "it ends too early");
    }
    value.begin_ = p;
    value.end_ = p += length;
    return true;
  }

  // Skips the value of a field.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Skip(const char*& p, const char* end, uint32_t tag) {
    if ((tag & 7) == kLength) {
      Value skipped;
      return ReadLength(p, end, skipped);
    }
    uint64_t number = 0;
    if ((tag & 7) == kVarint) return ReadVarint(p, end, number);
    const char* const after = SkipFixed(p, end, tag);
    if (after == nullptr) return false;
    p = after;
    return true;
  }
  // Returns the position after the value, or null on an error.
  ABSL_ATTRIBUTE_NOINLINE const char* SkipFixed(const char* p, const char* end, uint32_t tag) {
    const ptrdiff_t size = (tag & 7) == kFixed64 ? 8 : 4;
    const bool known = size == 8 || (tag & 7) == kFixed32;
    if (known && size <= end - p) return p + size;
    Malformed(p, known ? "it ends too early" : "there is no such wire type");
    return nullptr;
  }

  // --- Problems

  static constexpr std::string_view kTwice = "occurs twice in one object";
  static constexpr std::string_view kOtherType = "has another type on the wire than in the API";

  ABSL_ATTRIBUTE_NOINLINE bool Malformed(const char* at, std::string_view what) {
    return Fail(absl::StrCat("is not protobuf: ", Absl(what), " (byte ", at - begin_, ")"));
  }
  // The value does not have the type that the reader asks for.  An unknown field has no type.
  ABSL_ATTRIBUTE_NOINLINE bool WrongType() { return Fail("is of another type"); }

  ABSL_ATTRIBUTE_NOINLINE Step WrongIn(const ProtoField& field) {
    return In(field.name), Step::kWrong;
  }

  // --- Values

  static Text TextOf(const Value& value) {
    return {value.begin_, static_cast<size_t>(value.end_ - value.begin_)};
  }
  static bool IsRun(const Value& value, ProtoField::Shape shape) {
    return value.run_ && value.field_->shape == shape;
  }

  ABSL_ATTRIBUTE_NOINLINE void NameUnknown(uint32_t number) {
    if (number == unknown_.tag >> 3) return;
    unknown_.tag = number << 3;
    unknown_.name = arena_->Copy(absl::StrCat("field ", number));
  }

  // Whether a text is UTF-8.  Nearly all texts are ASCII, which is checked first.
  static bool IsText(Text text) {
    return !HasHighBits(text) || FirstInvalidUtf8(text) == text.size();
  }
  ABSL_ATTRIBUTE_NOINLINE bool NotText() { return Fail("is not UTF-8"); }
  static bool HasHighBits(Text text) {
    const char* const p = text.data();
    const size_t size = text.size();
    const auto load = [&]<typename T>(T& bytes, size_t at) {
      std::memcpy(&bytes, p + at, sizeof(T));
    };
    constexpr uint64_t kHigh = 0x8080808080808080U;
    if (size >= 8) {
      uint64_t bits = 0;
      load(bits, size - 8);
      for (size_t at = 0; at + 8 < size; at += 8) {
        uint64_t eight = 0;
        load(eight, at);
        bits |= eight;
      }
      return (bits & kHigh) != 0;
    }
    if (size >= 4) {
      uint32_t front = 0;
      uint32_t back = 0;
      load(front, 0);
      load(back, size - 4);
      return ((front | back) & kHigh) != 0;
    }
    unsigned bits = 0;
    for (size_t at = 0; at < size; ++at) bits |= static_cast<uint8_t>(p[at]);
    return (bits & 0x80) != 0;
  }

  const ProtoSchema* schema_ = nullptr;
  const ProtoMessage* message_ = nullptr;  // The object's table.
  const char* begin_ = nullptr;            // Start of all bytes, with the envelope.
  Text object_;
  Text api_version_;
  Text kind_;
  const char* after_run_ = nullptr;  // The end of the run that was walked last.
  TextArena* arena_ = nullptr;
  ProtoField unknown_;  // The unknown field that was shown last; matches no name's hash.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_PROTO_FIELDS_H_
