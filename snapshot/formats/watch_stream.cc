#include "snapshot/formats/watch_stream.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/json_scan.h"

namespace ebb {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Bytes of the object or array at the start of `text`; nothing: it has no end.
std::optional<size_t> SizeOf(std::string_view text) {
  const char* const end = json_scan::SkipContainer(text.data(), text.data() + text.size());
  if (end == nullptr) return std::nullopt;
  return static_cast<size_t>(end - text.data());
}

// Whether `text`, at the start of a line, starts an event.
enum class Starts : uint8_t { kNo, kYes, kNotYet };
Starts StartsEvent(std::string_view text) {
  constexpr std::string_view kType = "\"type\"";
  constexpr size_t kBlanksMax = 64;
  if (text.empty()) return Starts::kNotYet;
  if (text[0] != '{') return Starts::kNo;
  text.remove_prefix(1);
  const size_t blanks = std::min(text.find_first_not_of(kBlanks), text.size());
  if (blanks > kBlanksMax) return Starts::kNo;
  text.remove_prefix(blanks);
  if (text.starts_with(kType)) return Starts::kYes;
  return kType.starts_with(text) ? Starts::kNotYet : Starts::kNo;
}

// Where in `text` a line starts an event, or may start one: `starts` tells which.  The end of
// the text where no line does.
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
  bool has_kind = false;
};

// The members of the JSON object `text` that tell what it is.  False: it is no JSON.
bool FindMembers(std::string_view text, Members& members) {
  const char* p = text.data() + 1;
  const char* const end = text.data() + text.size();
  while (true) {
    p = json_scan::SkipBlanks(p, end);
    if (p == end) return false;
    if (*p == '}') return true;
    if (*p == ',') {
      ++p;
      continue;
    }
    if (*p != '"') return false;
    const char* const key_end = json_scan::SkipString(p, end);
    if (key_end == nullptr) return false;
    const std::string_view key(p + 1, static_cast<size_t>(key_end - p) - 2);
    p = json_scan::SkipBlanks(key_end, end);
    if (p == end || *p != ':') return false;
    const char* const value = json_scan::SkipBlanks(p + 1, end);
    if (value == end) return false;
    p = json_scan::SkipValue(value, end);
    if (p == nullptr || p == value) return false;
    const std::string_view text_of_value(value, static_cast<size_t>(p - value));
    if (key == "type") members.type = text_of_value;
    if (key == "object") members.object = text_of_value;
    members.has_kind |= key == "kind";
  }
}

std::optional<WatchEvent::Type> TypeOf(std::string_view text) {
  using enum WatchEvent::Type;
  if (text == "\"ADDED\"") return kAdded;
  if (text == "\"MODIFIED\"") return kModified;
  if (text == "\"DELETED\"") return kDeleted;
  if (text == "\"BOOKMARK\"") return kBookmark;
  if (text == "\"ERROR\"") return kError;
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

void WatchStream::SkipBlanks() { Skip(std::min(Rest().find_first_not_of(kBlanks), Rest().size())); }

absl::Status WatchStream::Error(absl::StatusCode code, std::string_view what) const {
  return {code, absl::StrCat("line ", line_, ": ", Absl(what))};
}

// Text that starts no document, up to the end of its line.
absl::Status WatchStream::SkipJunk() {
  const std::string_view rest = Rest();
  const size_t end = std::min(rest.find('\n'), rest.size());
  constexpr size_t kShown = 40;
  const absl::Status error =
      rest.starts_with("\x1f\x8b")
          ? Error(absl::StatusCode::kInvalidArgument, "is compressed; a watch is plain JSON")
          : Error(absl::StatusCode::kInvalidArgument,
                  absl::StrCat(Printable(rest.substr(0, std::min(end, kShown))),
                               " is no event of a watch"));
  Skip(end);
  return error;
}

// A document without an end: its first `bytes`.
absl::Status WatchStream::SkipUnended(size_t bytes, std::string_view what) {
  const absl::Status error = Error(absl::StatusCode::kInvalidArgument, what);
  Skip(bytes);
  return error;
}

// Up to where the next event begins.  Whether it does.
bool WatchStream::SkipToEvent() {
  Starts starts = Starts::kNo;
  Skip(FindEvent(Rest(), at_line_start_, starts));
  skipping_ = starts != Starts::kYes;
  if (skipping_ && ended_) Skip(Rest().size());
  return !skipping_;
}

absl::StatusOr<std::optional<WatchEvent>> WatchStream::Next() {
  Skip(std::exchange(given_, 0));
  if (skipping_ && !SkipToEvent()) return std::nullopt;
  SkipBlanks();
  const std::string_view rest = Rest();
  if (rest.empty()) return std::nullopt;
  if (rest[0] != '{' && rest[0] != '[') {
    // The rest of the line may still come.
    constexpr size_t kLineMax = 4096;
    if (!ended_ && rest.find('\n') == rest.npos && rest.size() < kLineMax) return std::nullopt;
    return SkipJunk();
  }
  // Most pieces cannot end a document.
  if (!ended_ && rest.size() <= document_bytes_max_ &&
      rest.find_first_of("}]", looked_) == rest.npos) {
    looked_ = rest.size();
    return std::nullopt;
  }
  // No event has another one within it, at the start of a line: where strings do not end, the
  // braces that match are those of others.
  const std::optional<size_t> size = SizeOf(rest);
  Starts starts = Starts::kNo;
  const size_t next =
      FindEvent(rest.substr(0, size.value_or(rest.size())), /*at_line_start=*/false, starts);
  if (starts == Starts::kYes) {
    return SkipUnended(next, "a document is cut off: the next event begins within it");
  }
  if (size.value_or(rest.size()) > document_bytes_max_) {
    const absl::Status error =
        Error(absl::StatusCode::kResourceExhausted,
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
    return WatchEvent{.type = WatchEvent::Type::kAdded, .object = document, .line = line_};
  }
  Members members;
  if (!FindMembers(document, members)) {
    return Error(absl::StatusCode::kInvalidArgument, "the document that begins here is not JSON");
  }
  if (members.has_kind) {
    return WatchEvent{.type = WatchEvent::Type::kAdded, .object = document, .line = line_};
  }
  const std::optional<WatchEvent::Type> type = TypeOf(members.type);
  if (!type) {
    return Error(absl::StatusCode::kInvalidArgument,
                 members.type.empty()
                     ? std::string("neither an event of a watch nor an object: it has no `type`")
                     : absl::StrCat("type: ", Printable(members.type),
                                    " is none of ADDED, MODIFIED, DELETED, BOOKMARK and ERROR"));
  }
  if (!members.object.starts_with('{')) {
    return Error(absl::StatusCode::kInvalidArgument, "the event has no `object`");
  }
  return WatchEvent{.type = *type, .object = members.object, .line = line_};
}

}  // namespace ebb
