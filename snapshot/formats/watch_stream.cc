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

bool StartsEvent(std::string_view text) {
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.starts_with("\"type\"");
}

// Where, behind the first line, a line starts an event.
size_t NextEvent(std::string_view text) {
  for (size_t at = text.find("\n{"); at != text.npos; at = text.find("\n{", at + 1)) {
    if (StartsEvent(text.substr(at + 1))) return at + 1;
  }
  return text.npos;
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
  line_ += static_cast<uint64_t>(std::ranges::count(Rest().substr(0, bytes), '\n'));
  at_ += bytes;
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

absl::StatusOr<std::optional<WatchEvent>> WatchStream::Next() {
  Skip(std::exchange(given_, 0));
  if (skipping_) {
    const size_t next = StartsEvent(Rest()) ? 0 : NextEvent(Rest());
    // The last line may be the start of an event.
    const size_t keep = std::min(Rest().size(), Rest().size() - (Rest().rfind('\n') + 1));
    Skip(next != std::string_view::npos ? next : Rest().size() - std::min(keep, size_t{64}));
    if (next == std::string_view::npos) return std::nullopt;
    skipping_ = false;
  }
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
  const std::optional<size_t> size = SizeOf(rest);
  const size_t next = NextEvent(rest.substr(0, size.value_or(rest.size())));
  if (next != rest.npos && (ended_ || !size || SizeOf(rest.substr(next)))) {
    return SkipUnended(next, "a document is cut off: the next event begins within it");
  }
  if (size.value_or(rest.size()) > document_bytes_max_) {
    const absl::Status error =
        Error(absl::StatusCode::kResourceExhausted,
              absl::StrCat("a document is larger than may be taken, ", Bytes(document_bytes_max_)));
    skipping_ = !size;
    Skip(size.value_or(rest.size()));
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
