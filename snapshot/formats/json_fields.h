// JsonFields walks one JSON object and returns typed fields.  object_fields.h, which knows
// Kubernetes' fields, is written against it.  Internal to snapshot/formats/: no other header
// includes simdjson.
//
// How it works: simdjson finds the tokens of the object (its "stage 1", which uses vector
// instructions and checks that the text is UTF-8); the walk goes from token to token.  A value
// that is not asked for is skipped by counting braces.
//
// Errors:  see field_problem.h.
// Order:   values are read in the order of the text.
// Absent:  members and elements that are null are skipped, as if they were absent.
// Text:    views into the object's own bytes, or into the arena where an escape had to be
//          resolved.
// Cost:    one step per JSON token; no allocation per field.
// Threads: one thread at a time.

#ifndef EBB_SNAPSHOT_FORMATS_JSON_FIELDS_H_
#define EBB_SNAPSHOT_FORMATS_JSON_FIELDS_H_

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/formats/field_problem.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/spec_digest.h"
#include "snapshot/objects/quantity.h"

namespace ebb {

class JsonFields : public FieldProblem {
 public:
  using Key = Text;  // A member's name.

  // A member's or element's value, identified by its first token.
  class Value {
   private:
    friend class JsonFields;
    explicit Value(size_t token) : token_(token) {}
    size_t token_;
  };

  // Starts on `object`, which must be followed by kJsonPadding readable bytes.  Resolved escapes
  // are stored in `arena`.
  bool Open(std::string_view object, TextArena& arena) {
    begin_ = object.data();
    size_ = object.size();
    arena_ = &arena;
    tokens_ = nullptr;
    Rewind();
    if (capacity_ < size_) {
      // At first enough for most objects.  Doubled, so that growing objects rarely allocate.
      capacity_ = std::max(2 * size_, size_t{4096});
      constexpr size_t kNesting = 1;  // Only simdjson's second stage, which is not run, uses it.
      if (simdjson::get_active_implementation()->create_dom_parser_implementation(
              capacity_, kNesting, stage1_) != simdjson::SUCCESS) {
        capacity_ = 0;
        return Unreadable(simdjson::MEMALLOC);
      }
    }
    const auto error = stage1_->stage1(reinterpret_cast<const uint8_t*>(begin_), size_,
                                       simdjson::stage1_mode::regular);
    if (error != simdjson::SUCCESS) return Unreadable(error);
    tokens_ = stage1_->structural_indexes.get();
    token_count_ = stage1_->n_structural_indexes;
    return true;
  }

  // Goes back to the start of the object that was passed to Open().
  void Rewind() {
    next_ = 0;
    escape_ = begin_;
    Clear();
  }

  // Calls field(key, value) for each member that is not null.  `field` returns false to stop.
  template <typename Field>
  bool Members(Field&& field) {
    Value top(0);
    return Members(top, field);
  }
  template <typename Field>
  bool Members(Value& value, Field&& field) {
    size_t at = value.token_;
    if (First(at) != '{') return WrongType(value, "an object");
    if (++at < token_count_ && First(at) == '}') return Close(at);
    while (true) {
      if (at + 2 >= token_count_) return Malformed(token_count_, "it ends too early");
      if (First(at) != '"') return Malformed(at, "a member's name was expected");
      if (First(at + 1) != ':') return Malformed(at + 1, "a colon was expected");
      Text key;
      if (!StringAt(at, key)) return false;
      at += 2;
      if (!IsNull(at)) {
        if (kCloses[static_cast<uint8_t>(First(at))]) return Malformed(at, "a value was expected");
        Value member(at);
        next_ = at;
        if (!field(key, member)) return In(key);
        at = next_ == at ? Skip(at) : next_;
      } else {
        ++at;
      }
      if (at >= token_count_) return Malformed(token_count_, "it ends too early");
      if (First(at) == '}') return Close(at);
      if (First(at) != ',') return Malformed(at, "a comma or the end of the object was expected");
      ++at;
    }
  }

  // Calls element(value) for each element that is not null.  `element` returns false to stop.
  template <typename Element>
  bool Elements(Value& value, Element&& element) {
    size_t at = value.token_;
    if (First(at) != '[') return WrongType(value, "an array");
    if (++at < token_count_ && First(at) == ']') return Close(at);
    for (size_t index = 0;; ++index) {
      if (at >= token_count_) return Malformed(token_count_, "it ends too early");
      if (!IsNull(at)) {
        if (kCloses[static_cast<uint8_t>(First(at))]) return Malformed(at, "a value was expected");
        Value item(at);
        next_ = at;
        if (!element(item)) return In(index);
        at = next_ == at ? Skip(at) : next_;
      } else {
        ++at;
      }
      if (at >= token_count_) return Malformed(token_count_, "it ends too early");
      if (First(at) == ']') return Close(at);
      if (First(at) != ',') return Malformed(at, "a comma or the end of the list was expected");
      ++at;
    }
  }

  // The whole object, as it was passed to Open().
  [[nodiscard]] Text Whole() const { return {begin_, size_}; }

  bool IsString(const Value& value) const { return First(value.token_) == '"'; }
  bool String(Value& value, Text& text) {
    if (First(value.token_) != '"') return WrongType(value, "a string");
    return StringAt(value.token_, text);
  }

  bool Bool(Value& value, bool& flag) {
    const Text token = Token(value);
    if (token != "true" && token != "false") return WrongType(value, "true or false");
    flag = token == "true";
    return true;
  }

  // A whole number; `least` and `most` are the limits of the API's type.
  bool Int(Value& value, int64_t& number, int64_t least = std::numeric_limits<int64_t>::min(),
           int64_t most = std::numeric_limits<int64_t>::max()) {
    const Text token = Token(value);
    int64_t parsed = 0;
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, parsed);
    if (error == std::errc::result_out_of_range && stop == end) {
      return Fail(absl::StrCat(Quote(token), " is out of range"));
    }
    if (error != std::errc() || stop != end) return WrongType(value, "a whole number");
    if (!CheckRange(parsed, token, least, most)) return false;
    number = parsed;
    return true;
  }

  // An int32 field for which the API's lower limit is `least`.
  bool Int32(Value& value, int64_t& number, int64_t least = std::numeric_limits<int32_t>::min()) {
    return Int(value, number, least, std::numeric_limits<int32_t>::max());
  }

  // The text of a quantity, which is a string or a bare number.  It is not parsed.
  bool Quantity(Value& value, Text& text) {
    const Text token = Token(value);
    const char first = token.empty() ? '\0' : token.front();
    if (first == '"') return String(value, text);
    if (first != '-' && (first < '0' || first > '9')) return WrongType(value, "a quantity");
    text = token;
    return true;
  }

  // A quantity, measured in `unit`, as a string or a bare number; not negative.  A quantity that
  // exceeds int64 is kUncountable.
  bool Amount(Value& value, QuantityUnit unit, ExactQuantity& amount) {
    Text text;
    return Quantity(value, text) && ParseAmount(text, unit, amount);
  }

  // Seconds since the Unix epoch.
  bool Time(Value& value, int64_t& seconds) {
    Text text;
    if (!String(value, text)) return false;
    const std::optional<int64_t> parsed = ParseRfc3339(text);
    if (!parsed.has_value()) {
      return Fail(absl::StrCat(Escaped(text), " is not an RFC 3339 time"));
    }
    seconds = *parsed;
    return true;
  }

  // Digest of a pod's whole spec (spec_digest.h).
  static uint64_t SpecDigest(std::string_view spec) { return DigestOfJsonSpec(spec); }
  // The object's text from the start of `value` to the object's end.
  Text From(const Value& value) const {
    const size_t at = tokens_[value.token_];
    return {begin_ + at, size_ - at};
  }

  // Whether the last error is that the text is not JSON, rather than that a field is wrong.
  bool malformed() const { return of_document(); }
  // Where the text stops being JSON, in bytes from the start of the object; -1: unknown.
  int64_t malformed_at() const { return malformed_at_; }

 private:
  // Bytes that cannot begin a value.
  static constexpr auto kCloses = [] {
    std::array<bool, 256> table{};
    for (const char c : {',', ':', '}', ']'}) table[static_cast<uint8_t>(c)] = true;
    return table;
  }();
  // How a token changes the nesting depth.
  static constexpr auto kDepth = [] {
    std::array<int, 256> table{};
    table['{'] = table['['] = 1;
    table['}'] = table[']'] = -1;
    return table;
  }();

  // The first byte of a token.  REQUIRES: at < token_count_.
  char First(size_t at) const {
    EBB_DCHECK(at < token_count_);
    return begin_[tokens_[at]];
  }

  bool Close(size_t at) {
    next_ = at + 1;
    return true;
  }

  // The first token after the value that starts at token `at`.
  size_t Skip(size_t at) const {
    int depth = kDepth[static_cast<uint8_t>(First(at))];
    while (depth > 0 && ++at < token_count_) depth += kDepth[static_cast<uint8_t>(First(at))];
    return at + 1;
  }

  // A token without the blanks that follow it.
  Text TokenAt(size_t at) const {
    const char* const first = begin_ + tokens_[at];
    // After the last token, simdjson stores the size of the text.
    const char* end = begin_ + tokens_[at + 1];
    while (end - first > 1 && static_cast<unsigned char>(end[-1]) <= ' ') --end;
    return {first, static_cast<size_t>(end - first)};
  }
  Text Token(const Value& value) const { return TokenAt(value.token_); }

  bool IsNull(size_t at) const { return First(at) == 'n' && TokenAt(at) == "null"; }

  // The string that starts at token `at`, which is its opening quote.
  bool StringAt(size_t at, Text& text) {
    const char* const first = begin_ + tokens_[at] + 1;
    const char* end = begin_ + tokens_[at + 1] - 1;
    while (end >= first && *end != '"') --end;  // Skip blanks after the closing quote.
    if (end < first) return Malformed(at, "a string does not end");
    text = Text(first, static_cast<size_t>(end - first));
    if (end <= escape_) return true;
    if (first > escape_) escape_ = FindBackslash(first);
    return end <= escape_ || Unescape(text);
  }

  const char* FindBackslash(const char* from) const {
    const char* const end = begin_ + size_;
    const void* const found = std::memchr(from, '\\', static_cast<size_t>(end - from));
    return found == nullptr ? end : static_cast<const char*>(found);
  }

  bool Unescape(Text& text) {
    const simdjson::ondemand::raw_json_string raw(reinterpret_cast<const uint8_t*>(text.data()));
    uint8_t* next = arena_->Room(text.size() + simdjson::SIMDJSON_PADDING);
    const size_t at = static_cast<size_t>(text.data() - begin_);
    // This parser only resolves escapes, but needs its tables for that.
    if (parser_.capacity() == 0) {
      if (const auto error = parser_.allocate(1, 1))
        return NotJson(at, simdjson::error_message(error));
    }
    if (const auto error = parser_.unescape(raw, next).get(text)) {
      return NotJson(at, simdjson::error_message(error));
    }
    arena_->Keep(next);
    return true;
  }

  // The text could not be split into tokens.
  bool Unreadable(simdjson::error_code error) {
    if (error == simdjson::UTF8_ERROR) {
      malformed_at_ = static_cast<int64_t>(FirstInvalidUtf8({begin_, size_}));
      return FailDocument("is not UTF-8");
    }
    malformed_at_ = -1;
    return FailDocument(absl::StrCat("is not JSON: ", simdjson::error_message(error)));
  }

  bool Malformed(size_t at, std::string_view what) {
    return NotJson(at < token_count_ ? tokens_[at] : size_, what);
  }

  bool NotJson(size_t offset, std::string_view what) {
    malformed_at_ = static_cast<int64_t>(offset);
    return FailDocument(absl::StrCat("is not JSON: ", Absl(what)));
  }

  bool WrongType(Value& value, std::string_view wanted) {
    const Text token = Token(value);
    const std::string what = token[0] == '{'   ? "an object"
                             : token[0] == '[' ? "an array"
                                               : Quote(token);
    return Fail(absl::StrCat(what, " is not ", Absl(wanted)));
  }

  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage1_;
  size_t capacity_ = 0;                // Bytes for which stage1_ has room.
  simdjson::ondemand::parser parser_;  // Resolves escapes.
  const char* begin_ = nullptr;
  size_t size_ = 0;
  const uint32_t* tokens_ = nullptr;  // Offset of each.
  size_t token_count_ = 0;
  size_t next_ = 0;  // The token after the container that was walked last.
  // The first backslash at or after the text that was read last, or the object's end.  A text
  // that ends before it has no escapes, and is not searched for any.
  const char* escape_ = nullptr;
  TextArena* arena_ = nullptr;
  int64_t malformed_at_ = -1;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_JSON_FIELDS_H_
