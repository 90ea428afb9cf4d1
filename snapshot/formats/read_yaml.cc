#include "snapshot/formats/read_yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/formats/form_error.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/write_objects.h"

namespace ebb {
namespace {

// The exception with which the handler stops yaml-cpp to reject a text.  It does not leave this
// file.
class Refused : public std::exception {
 public:
  Refused(const YAML::Mark& mark, std::string what) : mark(mark), problem(std::move(what)) {}
  const char* what() const noexcept override { return problem.c_str(); }

  YAML::Mark mark;
  std::string problem;
};

// A stream over bytes in memory.
class ByteBuffer : public std::streambuf {
 public:
  explicit ByteBuffer(std::string_view bytes) {
    char* const begin = const_cast<char*>(bytes.data());  // Never written.
    setg(begin, begin, begin + bytes.size());
  }
};

void AppendJsonString(std::string& json, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json += "\\u00";
      json += kHex[static_cast<unsigned char>(c) >> 4];
      json += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      json += c;
    }
  }
  json += '"';
}

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// 0o17 and 0x1f of the core schema, converted to decimal.
std::optional<std::string> Radix(std::string_view text) {
  const bool octal = text.starts_with("0o");
  if (!octal && !text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, octal ? 8 : 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::to_string(number);
}

// The JSON number for a plain scalar that is a number in the core schema:
// [-+]? ( [0-9]+ (\. [0-9]*)? | \. [0-9]+ ) ([eE] [-+]? [0-9]+)?  JSON is stricter
// about signs, leading zeros and points.
std::optional<std::string> Number(std::string_view text) {
  if (auto radix = Radix(text)) return radix;
  std::string json;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    if (text[0] == '-') json += '-';
    text.remove_prefix(1);
  }
  const size_t mantissa = std::min(text.find_first_of("eE"), text.size());
  std::string_view exponent = text.substr(mantissa);
  const size_t point = std::min(text.find('.'), mantissa);
  std::string_view whole = text.substr(0, point);
  const std::string_view fraction =
      point < mantissa ? text.substr(point + 1, mantissa - point - 1) : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if ((!whole.empty() && !IsDigits(whole)) || (!fraction.empty() && !IsDigits(fraction))) {
    return std::nullopt;
  }
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  absl::StrAppend(&json, whole.empty() ? "0" : Absl(whole));
  if (!fraction.empty()) absl::StrAppend(&json, ".", Absl(fraction));
  if (!exponent.empty()) {
    absl::StrAppend(&json, Absl(exponent));
    exponent.remove_prefix(1);
    if (!exponent.empty() && (exponent[0] == '-' || exponent[0] == '+')) exponent.remove_prefix(1);
    if (!IsDigits(exponent)) return std::nullopt;
  }
  return json;
}

// A plain scalar as JSON.
std::string Plain(std::string_view text) {
  for (const std::string_view yes : {"true", "True", "TRUE"}) {
    if (text == yes) return "true";
  }
  for (const std::string_view no : {"false", "False", "FALSE"}) {
    if (text == no) return "false";
  }
  if (auto number = Number(text)) return *std::move(number);
  std::string json;
  AppendJsonString(json, text);
  return json;
}

// Whether `json`, made from the plain scalar `value`, fits the core schema's tag `type`.
bool IsOfType(std::string_view type, std::string_view value, std::string_view json) {
  const bool number = json[0] == '-' || (json[0] >= '0' && json[0] <= '9');
  if (type == "int") return number && json.find_first_of(".eE") == std::string_view::npos;
  if (type == "float") return number;
  if (type == "bool") return json == "true" || json == "false";
  return type == "null" &&
         (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL");
}

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

// Aliases may repeat this many bytes, plus this many for each byte of the text.  A guard against
// aliases that multiply (a "billion laughs" text); not tuned.
constexpr size_t kRepeatedBytesFree = size_t{16} << 20;
constexpr size_t kRepeatedPerByte = 10;

// Writes the events of one document as JSON.
class JsonWriter : public YAML::EventHandler {
 public:
  // `repeated_max`: how many bytes aliases may add.
  explicit JsonWriter(size_t repeated_max) : repeated_left_(repeated_max) {}

  // Starts a text that yaml-cpp parses separately: marks count from its beginning.
  void BeginText() { last_start_ = -1; }
  // Starts the next document.  The bytes that aliases may still add carry over.
  void Clear() {
    json_.clear();
    open_.clear();
    anchors_.clear();
    has_items_ = false;
    has_kind_ = false;
  }
  const std::string& json() const { return json_; }
  // Whether the document lists items but has no kind.  kubectl sorts members by name, so that a
  // truncated list lacks its kind.  This is the only sign of it, because truncated YAML is mostly
  // still valid YAML.
  bool lists_without_kind() const { return has_items_ && !has_kind_; }

  // yaml-cpp reports endless empty documents for a token that cannot start a document.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == last_start_) throw Refused(mark, "nothing can start here");
    last_start_ = mark.pos;
    Clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (ExpectsKey()) throw Refused(mark, "a key is null");
    Scalar(anchor, "null");
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (ExpectsKey()) throw Refused(mark, "a key is an alias");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused(mark, "an alias stands within its own anchor");
    const auto [begin, end] = found->second;
    if (end - begin > repeated_left_) throw Refused(mark, "aliases repeat too much");
    repeated_left_ -= end - begin;
    Separate();
    const std::string copy = json_.substr(begin, end - begin);
    json_ += copy;
    ValueDone();
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (ExpectsKey()) return Key(mark, tag, value);
    if (IsString(tag)) {
      std::string text;
      AppendJsonString(text, value);
      return Scalar(anchor, text);
    }
    if (!IsKnown(tag)) throw Refused(mark, absl::StrCat("the tag ", tag, " is not supported"));
    if (IsOctalToSome(value)) {
      throw Refused(mark, absl::StrCat(value,
                                       " is octal to some readers of YAML and decimal to "
                                       "others; write it without the zero, or in quotes"));
    }
    std::string json = Plain(value);
    if (std::string_view(tag).starts_with(kCoreTag)) {
      const std::string_view type = std::string_view(tag).substr(kCoreTag.size());
      if (!IsOfType(type, value, json)) {
        throw Refused(mark,
                      absl::StrCat("\"", value, "\" is not what its tag says, !!", Absl(type)));
      }
      if (type == "null") json = "null";
    }
    Scalar(anchor, json);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, '[');
  }
  void OnSequenceEnd() override { Close(']'); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, '{');
  }
  void OnMapEnd() override { Close('}'); }

 private:
  struct Level {
    bool map;
    bool expects_key;
    bool first = true;
    YAML::anchor_t anchor = 0;
    size_t begin = 0;
    std::set<std::string, std::less<>> keys = {};  // Only of a map: its keys so far.
  };

  static bool IsString(const std::string& tag) {
    return tag == "!" || tag == "tag:yaml.org,2002:str";
  }
  static bool IsKnown(const std::string& tag) {
    if (tag.empty() || tag == "?") return true;
    if (!std::string_view(tag).starts_with(kCoreTag)) return false;
    const std::string_view type = std::string_view(tag).substr(kCoreTag.size());
    return type == "int" || type == "float" || type == "bool" || type == "null" || type == "map" ||
           type == "seq";
  }

  bool ExpectsKey() const { return !open_.empty() && open_.back().map && open_.back().expects_key; }

  // Writes the comma before a key or an element.
  void Separate() {
    if (open_.empty() || (open_.back().map && !open_.back().expects_key)) return;
    if (!open_.back().first) json_ += ',';
    open_.back().first = false;
  }

  void ValueDone() {
    if (!open_.empty() && open_.back().map) open_.back().expects_key = true;
  }

  void Key(const YAML::Mark& mark, const std::string& tag, const std::string& value) {
    if (value == "<<" && !IsString(tag)) throw Refused(mark, "merge keys (<<) are not supported");
    if (!open_.back().keys.insert(value).second) {
      const bool starts_object = open_.size() == 1 && (value == "apiVersion" || value == "kind");
      throw Refused(mark, absl::StrCat("the key \"", value, "\" occurs twice in one map",
                                       starts_object ? "; if these are several objects, put a line "
                                                       "`---` between them"
                                                     : ""));
    }
    Separate();
    AppendJsonString(json_, value);
    json_ += ':';
    open_.back().expects_key = false;
    if (open_.size() > 1) return;
    has_items_ |= value == "items";
    has_kind_ |= value == "kind";
  }

  void Scalar(YAML::anchor_t anchor, std::string_view json) {
    Separate();
    const size_t begin = json_.size();
    json_ += json;
    if (anchor != 0) anchors_[anchor] = {begin, json_.size()};
    ValueDone();
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, char brace) {
    if (ExpectsKey()) throw Refused(mark, "a key is not a scalar");
    const bool is_core = std::string_view(tag).starts_with(kCoreTag);
    if ((!IsKnown(tag) && tag != "!") ||
        (is_core &&
         std::string_view(tag).substr(kCoreTag.size()) != (brace == '{' ? "map" : "seq"))) {
      throw Refused(mark, absl::StrCat("the tag ", tag, " is not supported"));
    }
    Separate();
    const bool map = brace == '{';
    open_.push_back(Level{.map = map, .expects_key = map, .anchor = anchor, .begin = json_.size()});
    json_ += brace;
  }

  void Close(char brace) {
    json_ += brace;
    const Level level = open_.back();
    open_.pop_back();
    if (level.anchor != 0) anchors_[level.anchor] = {level.begin, json_.size()};
    ValueDone();
  }

  std::string json_;
  std::vector<Level> open_;
  std::map<YAML::anchor_t, std::pair<size_t, size_t>> anchors_;  // Their JSON's place in json_.
  size_t repeated_left_;
  int last_start_ = -1;  // Where the document before starts.
  bool has_items_ = false;
  bool has_kind_ = false;
};

// An error at `mark`, whose lines are counted after the first `lines` lines of the file.
absl::Status NotYaml(std::string_view name, size_t lines, const YAML::Mark& mark,
                     std::string_view problem) {
  const std::string where = mark.is_null()
                                ? ""
                                : absl::StrCat("line ", lines + static_cast<size_t>(mark.line) + 1,
                                               ", column ", mark.column + 1, ": ");
  return BrokenText(name, absl::StrCat(where, "is not YAML that can be read: ", Absl(problem)));
}

// The line that starts at `at`, without its line end.
std::string_view LineAt(std::string_view text, size_t at) {
  text.remove_prefix(at);
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// The last place at or after `after` where `line` is a whole line; npos: no such line.
size_t LastLine(std::string_view text, std::string_view line, size_t after = 0) {
  for (size_t at = text.rfind(line); at != text.npos && at >= after;
       at = text.rfind(line, at - 1)) {
    if ((at == 0 || text[at - 1] == '\n') && LineAt(text, at) == line) return at;
    if (at == 0) break;
  }
  return text.npos;
}

// Whether the last objects that ebb wrote in this file are incomplete.  Other documents may precede
// and follow them.
bool IsCutOff(std::string_view yaml) {
  const size_t start = LastLine(yaml, kYamlStart);
  return start != yaml.npos && LastLine(yaml, kYamlEnd, start) == yaml.npos;
}

// A part of a text: one or more documents.
struct YamlPart {
  std::string_view text;
  size_t lines_before;
};

// The key of a line that begins a member of the outermost map; "" for any other line.
std::string_view OuterKey(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos || colon == 0 ||
      !absl::ascii_isalpha(static_cast<unsigned char>(line[0]))) {
    return {};
  }
  const bool ends = colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\r';
  return ends ? line.substr(0, colon) : std::string_view();
}

// Splits a text that consists of several files without `---` between them.  Each file repeats
// apiVersion and kind in the outermost map.  The text is cut before each line that repeats the
// first of these two keys, if every document has both.  Otherwise the text stays one part, in
// which the parser reports the repeated key.
std::vector<YamlPart> YamlPartsOf(std::string_view yaml) {
  struct Start {
    size_t at;
    size_t lines_before;
    bool has_other;  // Whether the document has both apiVersion and kind.
  };
  std::vector<Start> starts;  // Since the last `---`: where each document's first key is.
  std::vector<YamlPart> parts;
  size_t part_at = 0;
  size_t part_lines = 0;
  std::string_view first;
  const auto end_document = [&](size_t at, size_t lines) {
    const bool whole =
        std::ranges::all_of(starts, [](const Start& each) { return each.has_other; });
    for (size_t i = 1; whole && i < starts.size(); ++i) {
      parts.push_back({yaml.substr(part_at, starts[i].at - part_at), part_lines});
      part_at = starts[i].at;
      part_lines = starts[i].lines_before;
    }
    starts.clear();
    first = {};
    if (at < yaml.size()) return;
    parts.push_back({yaml.substr(part_at), part_lines});
    part_lines = lines;
  };
  size_t lines = 0;
  for (size_t at = 0; at < yaml.size(); ++lines) {
    const size_t end = std::min(yaml.find('\n', at), yaml.size() - 1) + 1;
    const std::string_view line = yaml.substr(at, end - at);
    if (line.starts_with("---") || line.starts_with("...")) {
      end_document(at, lines);
    } else if (const std::string_view key = OuterKey(line.substr(0, line.find('\n')));
               !key.empty()) {
      if (first.empty()) first = key;
      const bool tells = key == "apiVersion" || key == "kind";
      if (key == first && tells) {
        starts.push_back({at, lines, false});
      } else if (tells && !starts.empty()) {
        starts.back().has_other = true;
      }
    }
    at = end;
  }
  end_document(yaml.size(), lines);
  return parts;
}

absl::Status ReadDocuments(std::string_view name, std::string_view yaml, JsonWriter& writer,
                           uint64_t& documents, ObjectSink& sink, ImportStats& stats,
                           Strangers strangers) {
  ByteBuffer bytes(yaml);
  std::istream stream(&bytes);
  YAML::Parser parser(stream);
  writer.BeginText();
  for (uint64_t index = 1; parser.HandleNextDocument(writer); ++index) {
    const std::string& json = writer.json();
    if (json == "null" || json.empty()) continue;
    ++documents;
    if (json[0] != '{' && json[0] != '[') {
      if (strangers == Strangers::kCounted) {
        ++stats.strangers;
        continue;
      }
      return MakeFormError(
          {}, absl::StrCat(Absl(name), ": document ", index, ": is not a Kubernetes object"));
    }
    if (absl::Status read = ReadJson(name, json, false, sink, stats, Parallelism::One(), strangers);
        !read.ok()) {
      return read;
    }
    if (writer.lists_without_kind()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Absl(name), ": is truncated: a list has items but no kind behind them"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadPart(std::string_view name, const YamlPart& part, JsonWriter& writer,
                      uint64_t& documents, ObjectSink& sink, ImportStats& stats,
                      Strangers strangers) {
  try {
    return ReadDocuments(name, part.text, writer, documents, sink, stats, strangers);
  } catch (const Refused& refused) {
    return NotYaml(name, part.lines_before, refused.mark, refused.problem);
  } catch (const YAML::Exception& error) {
    return NotYaml(name, part.lines_before, error.mark, error.msg);
  } catch (const std::exception& error) {
    return NotYaml(name, 0, YAML::Mark::null_mark(), error.what());
  }
}

absl::Status ReadParts(std::string_view name, std::string_view yaml, ObjectSink& sink,
                       ImportStats& stats, Strangers strangers) {
  JsonWriter writer(kRepeatedBytesFree + kRepeatedPerByte * yaml.size());
  uint64_t documents = 0;
  for (const YamlPart& part : YamlPartsOf(yaml)) {
    absl::Status read = ReadPart(name, part, writer, documents, sink, stats, strangers);
    if (!read.ok()) return read;
  }
  // A file that ebb wrote without objects is complete: IsCutOff() has checked its end.
  if (documents > 0 || LastLine(yaml, kYamlStart) != yaml.npos) return absl::OkStatus();
  return BrokenText(name, "is empty");
}

// What Troubleshoot writes in place of redacted text.  At the start of a value YAML would read it
// as an alias.
constexpr std::string_view kHidden = "***HIDDEN***";

// The text with each value that begins with kHidden put in quotes.  Lines stay the same, so that
// the line numbers of errors do too.  "" if the text has no such value.
std::string QuoteHidden(std::string_view yaml) {
  std::string quoted;
  size_t copied = 0;
  for (size_t at = yaml.find(kHidden); at != yaml.npos; at = yaml.find(kHidden, at + 1)) {
    size_t before = at;
    while (before > 0 && yaml[before - 1] == ' ') --before;
    const bool begins_value =
        before > 0 && before < at && (yaml[before - 1] == ':' || yaml[before - 1] == '-');
    const size_t end = std::min(yaml.find_first_of("\r\n", at), yaml.size());
    const std::string_view value = yaml.substr(at, end - at);
    if (!begins_value || value.find_first_of("\"\\") != value.npos) continue;
    absl::StrAppend(&quoted, Absl(yaml.substr(copied, at - copied)), "\"", Absl(value), "\"");
    copied = end;
    at = end - 1;
  }
  if (copied > 0) absl::StrAppend(&quoted, Absl(yaml.substr(copied)));
  return quoted;
}

}  // namespace

bool IsOctalToSome(std::string_view plain) {
  if (plain.starts_with('-') || plain.starts_with('+')) plain.remove_prefix(1);
  return plain.size() > 1 && plain[0] == '0' && IsDigits(plain);
}

std::optional<OddCharacter> FindOddCharacter(std::string_view yaml) {
  size_t number = 1;
  for (size_t begin = 0; begin < yaml.size(); ++number) {
    const size_t end = std::min(yaml.find('\n', begin), yaml.size());
    std::string_view line = yaml.substr(begin, end - begin);
    begin = end + 1;
    if (end < yaml.size() && line.ends_with('\r')) line.remove_suffix(1);
    for (const char c : line) {
      if (c == '\r') return OddCharacter{number, "a carriage return that ends no line"};
      if (absl::ascii_iscntrl(c) && c != '\t') return OddCharacter{number, "a control character"};
    }
    const size_t first = line.find_first_not_of(" \t");
    if (first == line.npos || line[first] != '#') continue;
    for (const std::string_view unicode_end : {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
      if (line.find(unicode_end) != line.npos) {
        return OddCharacter{number, "a comment with another line end than a line feed"};
      }
    }
  }
  return std::nullopt;
}

absl::Status ReadYaml(std::string_view name, std::string_view yaml, ObjectSink& sink,
                      ImportStats& stats, Strangers strangers) {
  // yaml-cpp would replace bytes that are not UTF-8; reading must not change a name.
  if (const size_t at = FirstInvalidUtf8(yaml); at < yaml.size()) {
    return BrokenText(name, absl::StrCat("byte ", at, ": is not UTF-8"));
  }
  if (const auto odd = FindOddCharacter(yaml)) {
    return BrokenText(name, absl::StrCat("line ", odd->line, ": ", Absl(odd->what)));
  }
  if (IsCutOff(yaml)) {
    return absl::InvalidArgumentError(absl::StrCat(Absl(name), ": is cut off: its last line, \"",
                                                   Absl(kYamlEnd), "\", is missing"));
  }
  const uint64_t bytes_before = stats.bytes;
  const std::string quoted = QuoteHidden(yaml);
  absl::Status read =
      ReadParts(name, quoted.empty() ? yaml : std::string_view(quoted), sink, stats, strangers);
  stats.bytes = bytes_before + yaml.size();
  return read;
}

}  // namespace ebb
