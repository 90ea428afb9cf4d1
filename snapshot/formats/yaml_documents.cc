#include "snapshot/formats/yaml_documents.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
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
#include "snapshot/formats/block_yaml.h"
#include "snapshot/formats/form_error.h"
#include "snapshot/formats/yaml_scalar.h"

namespace ebb {
namespace {

using Visit = absl::FunctionRef<absl::Status(YamlDocument)>;

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

// Whether `json`, made from the plain scalar `value`, fits the core schema's tag `type`.
bool IsOfType(std::string_view type, std::string_view value, std::string_view json) {
  const bool number = json[0] == '-' || (json[0] >= '0' && json[0] <= '9');
  if (type == "int") return number && json.find_first_of(".eE") == std::string_view::npos;
  if (type == "float") return number;
  if (type == "bool") return json == "true" || json == "false";
  return type == "null" && IsYamlNull(value);
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
    std::string json;
    AppendPlainScalar(json, value);
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

// A document that BlockYaml has read.
struct ReadyDocument {
  size_t at = 0;  // Where it begins in its part.
  std::string json;
  bool lists_without_kind = false;
};

// Passes on the documents at the beginning of `part` that BlockYaml knows, and removes them from
// `part`.  yaml-cpp looks at the first token behind a document before it reports the document.
// So a document counts as read only when the next one is known too: else an error in that token
// would be found later than yaml-cpp finds it.
absl::Status VisitKnownDocuments(YamlPart& part, uint64_t& index, Visit visit) {
  BlockYaml reader(part.text);
  std::optional<ReadyDocument> last;
  for (BlockYaml::Step step = reader.Next();; step = reader.Next()) {
    const bool unknown = step == BlockYaml::Step::kUnknown;
    if (last.has_value() && !unknown) {
      if (absl::Status read = visit({++index, last->json, last->lists_without_kind}); !read.ok()) {
        return read;
      }
    }
    if (step == BlockYaml::Step::kDocument) {
      if (!last.has_value()) last.emplace();
      last->at = reader.document_at();
      last->json.swap(reader.json());
      last->lists_without_kind = reader.lists_without_kind();
      continue;
    }
    const size_t rest = !unknown           ? part.text.size()
                        : last.has_value() ? last->at
                                           : reader.document_at();
    const std::string_view known = part.text.substr(0, rest);
    part.lines_before += static_cast<size_t>(std::ranges::count(known, '\n'));
    part.text.remove_prefix(rest);
    return absl::OkStatus();
  }
}

absl::Status VisitDocuments(YamlPart& part, YamlReaders readers, JsonWriter& writer, Visit visit) {
  uint64_t index = 0;
  if (readers == YamlReaders::kBoth) {
    if (absl::Status read = VisitKnownDocuments(part, index, visit); !read.ok()) return read;
    if (part.text.empty()) return absl::OkStatus();
  }
  ByteBuffer bytes(part.text);
  std::istream stream(&bytes);
  YAML::Parser parser(stream);
  writer.BeginText();
  while (parser.HandleNextDocument(writer)) {
    if (absl::Status read = visit({++index, writer.json(), writer.lists_without_kind()});
        !read.ok()) {
      return read;
    }
  }
  return absl::OkStatus();
}

absl::Status VisitPart(std::string_view name, YamlPart part, YamlReaders readers,
                       JsonWriter& writer, Visit visit) {
  try {
    return VisitDocuments(part, readers, writer, visit);
  } catch (const Refused& refused) {
    return NotYaml(name, part.lines_before, refused.mark, refused.problem);
  } catch (const YAML::Exception& error) {
    return NotYaml(name, part.lines_before, error.mark, error.msg);
  } catch (const std::exception& error) {
    return NotYaml(name, 0, YAML::Mark::null_mark(), error.what());
  }
}

}  // namespace

absl::Status VisitYamlDocuments(std::string_view name, std::string_view yaml, YamlReaders readers,
                                Visit visit) {
  JsonWriter writer(kRepeatedBytesFree + kRepeatedPerByte * yaml.size());
  for (const YamlPart& part : YamlPartsOf(yaml)) {
    if (absl::Status read = VisitPart(name, part, readers, writer, visit); !read.ok()) return read;
  }
  return absl::OkStatus();
}

}  // namespace ebb
