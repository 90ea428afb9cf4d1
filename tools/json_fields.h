// JsonFields walks one JSON object with simdjson's on-demand parser and hands out
// typed fields; the files that know a Kubernetes schema are written with it.
// Internal to tools/*_json.cc: it is the one header that shows simdjson.
//
// Every reader returns false on the first problem, and its callers return false
// in turn; on the way out each level puts its name in front, so that a path costs
// nothing while all is well: spec.containers[2].resources.requests.cpu.
//
// Absent:  null members and elements are passed over, as if they were not there.
// Text:    views into the object's own bytes; into the arena where an escape had to
//          be resolved.  Both live until the next Open().
// Cost:    one step per JSON token; nothing is allocated per field.
// Threads: none of its own; one thread at a time.

#ifndef EBB_TOOLS_JSON_FIELDS_H_
#define EBB_TOOLS_JSON_FIELDS_H_

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "snapshot/objects.h"
#include "snapshot/quantity.h"
#include "snapshot/text.h"
#include "tools/utf8.h"

namespace ebb {

class JsonFields {
 public:
  using Value = simdjson::ondemand::value;
  using Text = objects::Text;

  // Starts on `object`, which kJsonPadding readable bytes follow.
  bool Open(std::string_view object) {
    problem_.clear();
    path_.clear();
    problem_at_document_ = false;
    begin_ = object.data();
    size_ = object.size();
    if (arena_size_ < object.size() + simdjson::SIMDJSON_PADDING) {
      arena_size_ = 2 * object.size() + simdjson::SIMDJSON_PADDING;
      arena_ = std::make_unique<uint8_t[]>(arena_size_);
    }
    arena_next_ = arena_.get();
    const auto error =
        parser_.iterate(object.data(), object.size(), object.size() + simdjson::SIMDJSON_PADDING)
            .get(document_);
    opened_ = error == simdjson::SUCCESS;
    return opened_ || Malformed(error);
  }

  // Back to the start of the object that Open() was given.
  void Rewind() {
    document_.rewind();
    arena_next_ = arena_.get();
    problem_.clear();
    path_.clear();
  }

  // Calls field(key, value) for each member that is not null.
  template <typename Field>
  bool Members(Field&& field) {
    simdjson::ondemand::object object;
    if (const auto error = document_.get_object().get(object)) return Malformed(error);
    return Walk(object, field);
  }
  template <typename Field>
  bool Members(Value& value, Field&& field) {
    if (Token(value)[0] != '{') return WrongType(value, "an object");
    simdjson::ondemand::object object;
    if (const auto error = value.get_object().get(object)) return Malformed(error);
    return Walk(object, field);
  }

  // Calls element(value) for each element that is not null.
  template <typename Element>
  bool Elements(Value& value, Element&& element) {
    if (Token(value)[0] != '[') return WrongType(value, "an array");
    simdjson::ondemand::array array;
    if (const auto error = value.get_array().get(array)) return Malformed(error);
    size_t index = 0;
    for (auto each : array) {
      Value item;
      if (const auto error = each.get(item)) return Malformed(error);
      if (!IsNull(item) && !element(item)) {
        if (!problem_at_document_) path_ = absl::StrCat("[", index, "]", path_);
        return false;
      }
      ++index;
    }
    return true;
  }

  bool String(Value& value, Text& text) {
    const Text token = Token(value);
    if (token.size() < 2 || token.front() != '"' || token.back() != '"') {
      return WrongType(value, "a string");
    }
    text = token.substr(1, token.size() - 2);
    if (text.empty() || std::memchr(text.data(), '\\', text.size()) == nullptr) return true;
    simdjson::ondemand::raw_json_string raw;
    if (const auto error = value.get_raw_json_string().get(raw)) return Malformed(error);
    return Unescape(raw, text);
  }

  bool Bool(Value& value, bool& flag) {
    const Text token = Token(value);
    if (token != "true" && token != "false") return WrongType(value, "true or false");
    flag = token == "true";
    return true;
  }

  // A whole number; `least` and `most` are what the API's type holds.
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
    if (parsed < least || parsed > most) {
      return Fail(absl::StrCat(Quote(token),
                               parsed < 0 && least == 0 ? " is negative" : " is out of range"));
    }
    number = parsed;
    return true;
  }

  // An int32 field that the API does not let go below `least`.
  bool Int32(Value& value, int64_t& number, int64_t least = std::numeric_limits<int32_t>::min()) {
    return Int(value, number, least, std::numeric_limits<int32_t>::max());
  }

  // A quantity of what is counted in `unit`, as a string or a bare number; not
  // below zero.
  bool Amount(Value& value, QuantityUnit unit, ExactQuantity& amount) {
    const Text token = Token(value);
    Text text = token;
    const char first = token.empty() ? '\0' : token.front();
    if (first == '"') {
      if (!String(value, text)) return false;
    } else if (first != '-' && (first < '0' || first > '9')) {
      return WrongType(value, "a quantity");
    }
    ExactQuantity parsed;
    switch (ParseQuantity(text, unit, parsed)) {
      case QuantityError::kNone:
        break;
      case QuantityError::kNotAQuantity:
        return Fail(absl::StrCat(Escaped(text), " is not a quantity"));
      case QuantityError::kTooLarge:
        return Fail(absl::StrCat(Escaped(text), " is too large a quantity"));
    }
    if (parsed.amount < 0) return Fail(absl::StrCat(Escaped(text), " is negative"));
    amount = parsed;
    return true;
  }

  // Records what is wrong with the value at hand.
  bool Fail(std::string problem) {
    problem_ = std::move(problem);
    problem_at_document_ = false;
    return false;
  }
  // The same, with the path of what is wrong below the value at hand (".name").
  bool FailAt(std::string_view path, std::string problem) {
    path_.assign(path);
    return Fail(std::move(problem));
  }

  // What is wrong, with its path in front ("spec.nodeName: 5 is not a string").
  std::string Problem() const {
    if (path_.empty()) return problem_;
    return absl::StrCat(path_[0] == '.' ? path_.substr(1) : path_, ": ", problem_);
  }
  // Whether the text is no JSON, where all else would be a wrong field.
  bool malformed() const { return problem_at_document_; }
  // Where it stops being JSON, counted from the start of the object; -1: unknown.
  int64_t malformed_at() const { return malformed_at_; }

 private:
  template <typename Field>
  bool Walk(simdjson::ondemand::object& object, Field& field) {
    for (auto each : object) {
      simdjson::ondemand::field member;
      if (const auto error = std::move(each).get(member)) return Malformed(error);
      Text key;
      if (!Key(member.key(), key)) return false;
      Value value = member.value();
      if (IsNull(value)) continue;
      if (!field(key, value)) {
        if (!problem_at_document_) path_ = absl::StrCat(".", Absl(key), path_);
        return false;
      }
    }
    return true;
  }

  // The value's own text, without the blanks behind it.  Never empty for values
  // that the parser let through.
  static Text Token(Value& value) {
    Text token = value.raw_json_token();
    while (token.size() > 1 && static_cast<unsigned char>(token.back()) <= ' ') {
      token.remove_suffix(1);
    }
    return token;
  }

  static bool IsNull(Value& value) {
    return static_cast<Text>(value.raw_json_token())[0] == 'n' && Token(value) == "null";
  }

  bool Key(simdjson::ondemand::raw_json_string raw, Text& key) {
    const char* const start = raw.raw();
    const char* p = start;
    while (*p != '"' && *p != '\\') ++p;  // The parser saw to it that a quote comes.
    if (*p == '"') {
      key = Text(start, static_cast<size_t>(p - start));
      return true;
    }
    return Unescape(raw, key);
  }

  bool Unescape(simdjson::ondemand::raw_json_string raw, Text& text) {
    const auto error = parser_.unescape(raw, arena_next_).get(text);
    return error == simdjson::SUCCESS || Malformed(error);
  }

  bool Malformed(simdjson::error_code error) {
    problem_ = absl::StrCat("is not JSON: ", simdjson::error_message(error));
    problem_at_document_ = true;
    malformed_at_ = -1;
    const char* at = nullptr;
    if (error == simdjson::UTF8_ERROR) {
      problem_ = "is not UTF-8";
      malformed_at_ = static_cast<int64_t>(FirstInvalidUtf8({begin_, size_}));
    } else if (opened_ && !document_.current_location().get(at)) {
      malformed_at_ = at - begin_;
    }
    return false;
  }

  bool WrongType(Value& value, std::string_view wanted) {
    const Text token = Token(value);
    const std::string what = token[0] == '{'   ? "an object"
                             : token[0] == '[' ? "an array"
                                               : Quote(token);
    return Fail(absl::StrCat(what, " is not ", Absl(wanted)));
  }

  // Text for a message: one line, not too long, cut between characters.
  static Text Shortened(Text text, bool& cut) {
    constexpr size_t kShown = 60;
    cut = text.size() > kShown;
    if (!cut) return text;
    size_t end = kShown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end);
  }
  static std::string Quote(Text token) {
    bool cut = false;
    token = Shortened(token, cut);
    return absl::StrCat(Absl(token), cut ? "..." : "");
  }
  static std::string Escaped(Text text) {
    bool cut = false;
    text = Shortened(text, cut);
    return absl::StrCat("\"", absl::Utf8SafeCHexEscape(Absl(text)), cut ? "...\"" : "\"");
  }

  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  const char* begin_ = nullptr;
  size_t size_ = 0;
  bool opened_ = false;
  std::unique_ptr<uint8_t[]> arena_;  // Resolved escapes; each is shorter than its source.
  size_t arena_size_ = 0;
  uint8_t* arena_next_ = nullptr;
  std::string problem_;
  std::string path_;
  bool problem_at_document_ = false;
  int64_t malformed_at_ = -1;
};

}  // namespace ebb

#endif  // EBB_TOOLS_JSON_FIELDS_H_
