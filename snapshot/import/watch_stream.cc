#include "snapshot/import/watch_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/json_scan.h"

namespace ebb {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

constexpr std::pair<std::string_view, WatchEvent::Type> kTypes[] = {
    {"\"ADDED\"", WatchEvent::Type::kAdded},     {"\"MODIFIED\"", WatchEvent::Type::kModified},
    {"\"DELETED\"", WatchEvent::Type::kDeleted}, {"\"BOOKMARK\"", WatchEvent::Type::kBookmark},
    {"\"ERROR\"", WatchEvent::Type::kError},
};

// First bytes of a stream, each with what is wrong with such a stream ("": nothing).
constexpr std::string_view kUtf16 =
    "is UTF-16, which `>` of Windows PowerShell writes; a watch is UTF-8, and ebb reads nothing of "
    "this one";
constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
    {"\xef\xbb\xbf", ""},  // UTF-8, as PowerShell may write it.
    {"\xff\xfe", kUtf16},
    {"\xfe\xff", kUtf16},
    {"\x1f\x8b", "is compressed; a watch is plain JSON, and ebb reads nothing of this one"},
};

// Size of the object or array at the start of `text`; nullopt: it has no end.
std::optional<size_t> SizeOf(std::string_view text) {
  const char* const end = json_scan::SkipContainer(text.data(), text.data() + text.size());
  if (end == nullptr) return std::nullopt;
  return static_cast<size_t>(end - text.data());
}

// Whether a text starts with something; kNotYet: more bytes are needed to decide.
enum class Starts : uint8_t { kNo, kYes, kNotYet };

// Removes `token` and blanks before it from the front of `text`.
Starts Take(std::string_view token, std::string_view& text) {
  constexpr size_t kBlanksMax = 64;  // A guard: writers put one blank or none.
  const size_t blanks = std::min(text.find_first_not_of(kBlanks), text.size());
  if (blanks > kBlanksMax) return Starts::kNo;
  text.remove_prefix(blanks);
  if (!text.starts_with(token)) return token.starts_with(text) ? Starts::kNotYet : Starts::kNo;
  text.remove_prefix(token.size());
  return Starts::kYes;
}

// Whether `text`, which starts at the start of a line, starts an event: `{"type": "ADDED"`.
Starts StartsEvent(std::string_view text) {
  if (!text.empty() && text[0] != '{') return Starts::kNo;
  for (const std::string_view token : {"{", "\"type\"", ":"}) {
    const Starts starts = Take(token, text);
    if (starts != Starts::kYes) return starts;
  }
  Starts starts = Starts::kNo;
  for (const auto& [token, type] : kTypes) {
    std::string_view rest = text;
    const Starts with = Take(token, rest);
    if (with == Starts::kYes) return with;
    if (with == Starts::kNotYet) starts = with;
  }
  return starts;
}

// The first line of `text` that starts an event or may start one; `starts` is set to which of the
// two.  Returns the end of the text if there is no such line.
size_t FindEvent(std::string_view text, bool at_line_start, Starts& starts) {
  size_t line = 0;
  if (!at_line_start) line = text.find('\n') == text.npos ? text.npos : text.find('\n') + 1;
  while (line != text.npos) {
    starts = StartsEvent(text.substr(line));
    if (starts != Starts::kNo) return line;
    const size_t end = text.find('\n', line);
    line = end == text.npos ? text.npos : end + 1;
  }
  starts = Starts::kNo;
  return text.size();
}

struct Members {
  std::string_view type;
  std::string_view object;
  std::string_view twice;  // Name of a member that occurs twice; empty: none does.
  bool has_kind = false;
};

// Finds the members that identify the JSON object `text`.  Returns false if it is not JSON.
bool FindMembers(std::string_view text, Members& members) {
  return json_scan::ForEachMember(text, [&](std::string_view key, std::string_view value) {
    if (key == "type" || key == "object") {
      std::string_view& member = key == "type" ? members.type : members.object;
      if (!member.empty()) members.twice = key == "type" ? "type" : "object";
      member = value;
    }
    members.has_kind |= key == "kind";
  });
}

std::optional<WatchEvent::Type> TypeOf(std::string_view text) {
  for (const auto& [token, type] : kTypes) {
    if (text == token) return type;
  }
  return std::nullopt;
}

}  // namespace

void WatchStream::Append(std::string_view bytes) {
  Skip(std::exchange(given_, 0));
  buffer_.erase(0, at_);
  at_ = 0;
  buffer_.append(bytes);
}

void WatchStream::Skip(size_t bytes) {
  if (bytes == 0) return;
  line_ += static_cast<uint64_t>(std::ranges::count(Rest().substr(0, bytes), '\n'));
  at_ += bytes;
  at_line_start_ = buffer_[at_ - 1] == '\n';
  looked_ = 0;
}

// Examines the first bytes of the stream.  Returns false if more bytes are needed.
// Errors: the stream is compressed or UTF-16.
absl::StatusOr<bool> WatchStream::Begin() {
  if (begun_) return true;
  for (const auto& [mark, foreign] : kMarks) {
    if (!ended_ && Rest().size() < mark.size() && mark.starts_with(Rest())) return false;
    if (!Rest().starts_with(mark)) continue;
    begun_ = true;
    foreign_ = !foreign.empty();
    if (foreign_) return Error(absl::StatusCode::kInvalidArgument, foreign);
    at_ += mark.size();
    break;
  }
  begun_ = true;
  return true;
}

void WatchStream::SkipBlanks() { Skip(std::min(Rest().find_first_not_of(kBlanks), Rest().size())); }

absl::Status WatchStream::Error(absl::StatusCode code, std::string_view what) const {
  return {code, absl::StrCat("line ", line_, ": ", Absl(what))};
}

// Skips text that does not start a document, to the end of its line.
absl::Status WatchStream::SkipJunk() {
  const std::string_view rest = Rest();
  const size_t end = std::min(rest.find('\n'), rest.size());
  constexpr size_t kShown = 40;
  absl::Status error = Error(absl::StatusCode::kInvalidArgument,
                             absl::StrCat(Printable(rest.substr(0, std::min(end, kShown))),
                                          " is not an event of a watch"));
  skipping_line_ = end == rest.size() && !ended_;
  Skip(end);
  return error;
}

// Skips the first `bytes` of a document that has no end.
absl::Status WatchStream::SkipUnended(size_t bytes, std::string_view what) {
  absl::Status error = Error(absl::StatusCode::kInvalidArgument, what);
  Skip(bytes);
  return error;
}

// Skips to where the next event begins.  Returns false if that has not come yet.
bool WatchStream::SkipToEvent() {
  Starts starts = Starts::kNo;
  Skip(FindEvent(Rest(), at_line_start_, starts));
  skipping_ = starts != Starts::kYes;
  if (skipping_ && ended_) Skip(Rest().size());
  return !skipping_;
}

absl::StatusOr<std::optional<WatchEvent>> WatchStream::Next() {
  Skip(std::exchange(given_, 0));
  if (skipping_line_) {
    const size_t end = Rest().find('\n');
    skipping_line_ = end == std::string_view::npos;
    Skip(std::min(end, Rest().size()));
  }
  if (skipping_ && !SkipToEvent()) return std::nullopt;
  if (foreign_) Skip(Rest().size());
  const absl::StatusOr<bool> begun = Begin();
  if (!begun.ok()) return begun.status();
  if (!*begun) return std::nullopt;
  SkipBlanks();
  const std::string_view rest = Rest();
  if (rest.empty()) return std::nullopt;
  if (rest[0] != '{' && rest[0] != '[') {
    // The rest of the line may still arrive.  A line without an end must not be kept for ever.
    constexpr size_t kLineMax = 4096;
    if (!ended_ && rest.find('\n') == rest.npos && rest.size() < kLineMax) return std::nullopt;
    return SkipJunk();
  }
  // Most pieces contain no end of a document.
  if (!ended_ && rest.size() <= document_bytes_max_ &&
      rest.find_first_of("}]", looked_) == rest.npos) {
    looked_ = rest.size();
    return std::nullopt;
  }
  // An event never contains another event at the start of a line.  If one seems to, the document
  // is truncated, probably inside a string, and the braces found belong to later events.
  const std::optional<size_t> size = SizeOf(rest);
  Starts starts = Starts::kNo;
  const size_t next =
      FindEvent(rest.substr(0, size.value_or(rest.size())), /*at_line_start=*/false, starts);
  if (starts == Starts::kYes) {
    return SkipUnended(next, "a document is cut off: the next event begins within it");
  }
  if (size.value_or(rest.size()) > document_bytes_max_) {
    absl::Status error = Error(absl::StatusCode::kResourceExhausted,
                               absl::StrCat("a document is larger than may be taken, ",
                                            Bytes(static_cast<int64_t>(document_bytes_max_))));
    skipping_ = !size;
    Skip(size.value_or(1));
    return error;
  }
  if (!size) {
    looked_ = rest.size();
    if (!ended_) return std::nullopt;
    return SkipUnended(rest.size(), "the document that begins here has no end");
  }
  given_ = *size;
  return Parse(rest.substr(0, *size));
}

absl::StatusOr<std::optional<WatchEvent>> WatchStream::Parse(std::string_view document) const {
  if (document[0] == '[') {
    return WatchEvent{
        .type = WatchEvent::Type::kAdded, .object = document, .line = line_, .bare = true};
  }
  Members members;
  if (!FindMembers(document, members)) {
    return Error(absl::StatusCode::kInvalidArgument, "the document that begins here is not JSON");
  }
  if (members.has_kind) {
    return WatchEvent{
        .type = WatchEvent::Type::kAdded, .object = document, .line = line_, .bare = true};
  }
  if (!members.twice.empty()) {  // Readers differ in which of the two they use.
    return Error(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("the event has two members `", Absl(members.twice), "`"));
  }
  const std::optional<WatchEvent::Type> type = TypeOf(members.type);
  if (!type) {
    return Error(absl::StatusCode::kInvalidArgument,
                 members.type.empty()
                     ? std::string("neither an event of a watch nor an object: it has no `type`")
                     : absl::StrCat("type: ", Printable(members.type),
                                    " is not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR"));
  }
  if (!members.object.starts_with('{')) {
    return Error(absl::StatusCode::kInvalidArgument, "the event has no `object`");
  }
  return WatchEvent{.type = *type, .object = members.object, .line = line_};
}

}  // namespace ebb
