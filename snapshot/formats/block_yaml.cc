#include "snapshot/formats/block_yaml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "snapshot/formats/yaml_scalar.h"

namespace ebb {
namespace {

// yaml-cpp reads up to 500 levels.
constexpr size_t kLevelsMax = 100;
// yaml-cpp reads no key of more than 1,024 bytes without `?`.
constexpr size_t kKeyBytesMax = 1000;
// Each key is compared with all others of its map, unless keys are sorted.
constexpr size_t kUnsortedKeysMax = 256;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A carriage return belongs to a line end: FindOddCharacter() found no other.
bool IsBreak(char c) { return c == '\n' || c == '\r'; }
bool IsBlankOrBreak(char c) { return c == ' ' || c == '\t' || IsBreak(c); }

// Characters that may start a plain scalar, apart from '-'.
constexpr auto kStartsPlain = [] {
  std::array<bool, 256> starts = {};
  for (int c = 0; c < 256; ++c) {
    starts[static_cast<size_t>(c)] =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
  }
  for (const char c : std::string_view("_./()+$^=;<~\\"))
    starts[static_cast<unsigned char>(c)] = true;
  return starts;
}();

bool StartsPlain(const char* p) {
  return *p == '-' ? !IsBlankOrBreak(p[1]) : kStartsPlain[static_cast<unsigned char>(*p)];
}

// Characters at which a plain scalar may end.
constexpr auto kStopsPlain = [] {
  std::array<bool, 256> stops = {};
  for (const char c : std::string_view(":#\t\r\n")) stops[static_cast<unsigned char>(c)] = true;
  return stops;
}();

// Characters that a quoted scalar does not have as they are, or that fold.
constexpr auto kStopsQuoted = [] {
  std::array<bool, 256> stops = {};
  for (const char c : std::string_view("\"'\\\t\r\n")) stops[static_cast<unsigned char>(c)] = true;
  return stops;
}();

std::string_view View(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

void AppendUtf8(std::string& text, uint32_t code) {
  const auto add = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_rest = [&add, code](int shift) { add(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | (code >> 6));
    add_rest(0);
  } else if (code < 0x10000) {
    add(0xe0 | (code >> 12));
    add_rest(6);
    add_rest(0);
  } else {
    add(0xf0 | (code >> 18));
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
}

// The byte for an escape of one letter; -1: another escape.
int ByteOfEscape(char letter) {
  switch (letter) {
    case '0':
      return '\0';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'v':
      return '\v';
    case 'f':
      return '\f';
    case 'r':
      return '\r';
    case 'e':
      return '\x1b';
    case ' ':
    case '"':
    case '\'':
    case '\\':
    case '/':
      return letter;
    default:
      return -1;
  }
}

}  // namespace

BlockYaml::BlockYaml(std::string_view text)
    : begin_(text.data()),
      end_(text.data() + text.size()),
      p_(text.data()),
      // All functions rely on a line feed at the end.
      stopped_(!text.empty() && text.back() != '\n') {
  if (text.starts_with(kByteOrderMark)) p_ += kByteOrderMark.size();
}

BlockYaml::Step BlockYaml::Next() {
  if (stopped_) return Step::kUnknown;
  const Step step = ReadDocument();
  stopped_ = step != Step::kDocument;
  return step;
}

BlockYaml::Step BlockYaml::ReadDocument() {
  document_at_ = next_at_;
  json_.clear();
  levels_.clear();
  keys_.clear();
  has_items_ = has_kind_ = false;
  if (!SkipBlankLines()) return Step::kUnknown;
  if (AtEnd()) return Step::kEnd;
  if (AtMarker("---")) {
    p_ += 3;
    if (!RestOfLine() || !SkipBlankLines()) return Step::kUnknown;
  } else if (document_at_ > 0 && *p_ == kByteOrderMark[0]) {
    return Step::kUnknown;  // Read on its own, the document could seem to have a byte order mark.
  }
  if (AtEnd() || AtMarker("---") || AtMarker("...")) {
    json_ = "null";
  } else if (!Content()) {
    return Step::kUnknown;
  }
  while (AtMarker("...")) {
    p_ += 3;
    if (!RestOfLine() || !SkipBlankLines()) return Step::kUnknown;
  }
  p_ -= column_;
  next_at_ = static_cast<size_t>(p_ - begin_);
  return Step::kDocument;
}

// Reads lines up to the end of the document.
bool BlockYaml::Content() {
  do {
    if (!Line() || !SkipBlankLines()) return false;
  } while (!AtEnd() && !AtMarker("---") && !AtMarker("..."));
  while (!levels_.empty()) Close();
  return true;
}

// Reads a line that starts with a key or a dash at column_, and the rest of a scalar that starts
// on it.
bool BlockYaml::Line() {
  const bool dash = AtDash();
  if (levels_.empty()) {
    if (!json_.empty()) return false;  // Something follows the outermost value.
    Open(!dash, column_);
    return Entry(column_);
  }
  // A list may stand at the column of the map whose value it is; a key there ends it.
  while (levels_.back().column > column_ ||
         (levels_.back().column == column_ && !levels_.back().map && !dash)) {
    Close();
    if (levels_.empty()) return false;
  }
  Level& level = levels_.back();
  if (level.column == column_ && level.map != dash) {
    if (level.awaits_value) json_ += "null";
    level.awaits_value = false;
  } else {
    if (!level.awaits_value) return false;
    Open(!dash, column_);
  }
  return Entry(column_);
}

// Reads the entries that start at `column` on one line: `- - a: b` has three.
bool BlockYaml::Entry(size_t column) {
  if (!AtDash()) return KeyOrValue(column, /*must_be_key=*/true);
  while (levels_.size() <= kLevelsMax) {
    Separate();
    levels_.back().awaits_value = true;
    const char* const dash = p_++;
    while (*p_ == ' ') ++p_;
    if (IsBreak(*p_) || *p_ == '#') return RestOfLine();
    column += static_cast<size_t>(p_ - dash);
    if (!AtDash()) return KeyOrValue(column, /*must_be_key=*/false);
    Open(/*map=*/false, column);
  }
  return false;
}

// Reads a key at `column` and its value, or a value that is no map.
bool BlockYaml::KeyOrValue(size_t column, bool must_be_key) {
  const char* const start = p_;
  const bool quoted = *p_ == '"' || *p_ == '\'';
  if (quoted) {
    if (!Quoted()) return false;
  } else if (!StartsPlain(p_)) {
    return !must_be_key && Value();
  } else if (ScanPlain() == PlainEnd::kColon && IsYamlNull(scalar_)) {
    return false;
  }
  if (AtKeyEnd() && !(quoted && many_lines_)) {
    if (static_cast<size_t>(p_ - start) > kKeyBytesMax || p_[-1] == ' ') return false;
    if (!quoted && scalar_ == "<<") return false;
    if (!must_be_key) Open(/*map=*/true, column);
    return AddKey(scalar_) && AfterKey();
  }
  if (must_be_key) return false;
  p_ = start;
  return Value();
}

// Reads the value of a key, or leaves it to the next lines.  p_ is at the colon.
bool BlockYaml::AfterKey() {
  ++p_;
  levels_.back().awaits_value = true;
  while (*p_ == ' ') ++p_;
  return IsBreak(*p_) || *p_ == '#' ? RestOfLine() : Value();
}

// Reads a value that starts at p_, to the end of its last line.
bool BlockYaml::Value() {
  if (*p_ == '|') return Literal();
  if (*p_ == '"' || *p_ == '\'') {
    if (!Quoted()) return false;
    AppendJsonString(json_, scalar_);
  } else if ((*p_ == '{' && p_[1] == '}') || (*p_ == '[' && p_[1] == ']')) {
    json_.append(p_, 2);
    p_ += 2;
  } else {
    return StartsPlain(p_) && PlainValue();
  }
  ValueDone();
  return RestOfLine();
}

// --- quoted scalars

// Reads the quoted scalar at p_ into scalar_, and moves p_ behind it.
bool BlockYaml::Quoted() {
  const char quote = *p_++;
  const char* const start = p_;
  while (!kStopsQuoted[static_cast<unsigned char>(*p_)]) ++p_;
  many_lines_ = false;
  if (*p_ == quote && !(quote == '\'' && p_[1] == '\'')) {
    scalar_ = View(start, p_++);
    return true;
  }
  p_ = start;
  text_.clear();
  empty_line_ = false;
  if (!(quote == '"' ? DoubleQuoted() : SingleQuoted())) return false;
  // yaml-cpp removes line feeds before a quote at the beginning of a line.
  if (many_lines_ && text_.ends_with('\n')) return false;
  scalar_ = text_;
  return true;
}

bool BlockYaml::SingleQuoted() {
  size_t kept = 0;  // The part of text_ that folding does not trim.
  while (true) {
    const char c = *p_;
    if (c == '\'') {
      ++p_;
      if (*p_ != '\'') return true;
    } else if (IsBreak(c)) {
      if (!FoldQuotedLine(kept, /*escaped_break=*/false)) return false;
      kept = text_.size();
      continue;
    }
    text_ += c;
    ++p_;
    if (c != ' ' && c != '\t') kept = text_.size();
  }
}

bool BlockYaml::DoubleQuoted() {
  size_t kept = 0;  // The part of text_ that folding does not trim.
  while (*p_ != '"') {
    const char c = *p_;
    if (c == '\\') {
      ++p_;
      if (IsBreak(*p_)) {
        if (!FoldQuotedLine(text_.size(), /*escaped_break=*/true)) return false;
      } else if (!Escape()) {
        return false;
      }
      kept = text_.size();
    } else if (IsBreak(c)) {
      if (!FoldQuotedLine(kept, /*escaped_break=*/false)) return false;
      kept = text_.size();
    } else {
      text_ += c;
      ++p_;
      if (c != ' ' && c != '\t') kept = text_.size();
    }
  }
  ++p_;
  return true;
}

// Appends what the escape at p_, behind its backslash, stands for.
bool BlockYaml::Escape() {
  const char letter = *p_++;
  if (const int byte = ByteOfEscape(letter); byte >= 0) {
    text_ += static_cast<char>(byte);
    return true;
  }
  const ptrdiff_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (digits == 0 || end_ - p_ < digits) return false;
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(p_, p_ + digits, code, 16);
  if (error != std::errc() || end != p_ + digits) return false;
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return false;
  AppendUtf8(text_, code);
  p_ += digits;
  return true;
}

// Ends a line of a quoted scalar: one line end is a blank, further ones are line feeds.
bool BlockYaml::FoldQuotedLine(size_t kept, bool escaped_break) {
  many_lines_ = true;
  text_.resize(kept);
  EatBreak();
  if (AtEnd()) return false;
  const char* const line = p_;
  while (*p_ == ' ' || *p_ == '\t') ++p_;
  const bool is_empty = IsBreak(*p_);
  if (!is_empty && p_ == line) return false;  // `---` would end the document here.
  if (is_empty) {
    text_ += '\n';
  } else if (!empty_line_ && !escaped_break) {
    text_ += ' ';
  }
  empty_line_ = is_empty;
  return true;
}

// --- plain and literal scalars

// Reads a plain scalar that may continue on the next lines.
bool BlockYaml::PlainValue() {
  const PlainEnd end = ScanPlain();
  if (end == PlainEnd::kColon || end == PlainEnd::kUnknown) return false;
  EatLine();
  size_t blank_lines = 0;
  bool unknown = false;
  if (end == PlainEnd::kLineEnd && Continues(blank_lines, unknown)) {
    text_ = scalar_;
    do {
      if (ScanPlain() != PlainEnd::kLineEnd) return false;
      EatLine();
      if (blank_lines > 0) {
        text_.append(blank_lines, '\n');
      } else {
        text_ += ' ';
      }
      text_ += scalar_;
    } while (Continues(blank_lines, unknown));
    scalar_ = text_;
  }
  if (unknown || IsOctalToSome(scalar_)) return false;
  if (IsYamlNull(scalar_)) {
    json_ += "null";
  } else {
    AppendPlainScalar(json_, scalar_);
  }
  ValueDone();
  return true;
}

// Reads a line of a plain scalar into scalar_, without the blanks behind it.  Leaves p_ at what
// ends it.
BlockYaml::PlainEnd BlockYaml::ScanPlain() {
  const char* const start = p_;
  PlainEnd end = PlainEnd::kUnknown;
  for (;; ++p_) {
    while (!kStopsPlain[static_cast<unsigned char>(*p_)]) ++p_;
    if (*p_ == ':') {
      if (!IsBlankOrBreak(p_[1])) continue;
      end = PlainEnd::kColon;
    } else if (*p_ == '#') {
      if (p_ > start && p_[-1] != ' ') continue;
      end = PlainEnd::kComment;
    } else if (IsBreak(*p_)) {
      end = PlainEnd::kLineEnd;
    }
    break;
  }
  const char* last = p_;
  while (last > start && last[-1] == ' ') --last;
  scalar_ = View(start, last);
  return end;
}

// Whether the plain scalar that was read up to the line before p_ continues.  Then moves p_ to the
// first character of the next line that is not blank.
bool BlockYaml::Continues(size_t& blank_lines, bool& unknown) {
  const char* p = p_;
  for (blank_lines = 0; p < end_; ++blank_lines) {
    const char* const line = p;
    while (*p == ' ') ++p;
    if (!IsBreak(*p)) {
      unknown = *p == '\t';
      const bool deeper = static_cast<size_t>(p - line) > levels_.back().column;
      if (unknown || *p == '#' || !deeper) return false;
      p_ = p;
      return true;
    }
    p += *p == '\r' ? 2 : 1;
  }
  return false;
}

// Reads the literal scalar whose `|` is at p_.
bool BlockYaml::Literal() {
  ++p_;
  char chomp = ' ';
  size_t indent = 0;  // 0: by the first line.
  for (int i = 0; i < 2 && !IsBreak(*p_); ++i, ++p_) {
    if ((*p_ == '+' || *p_ == '-') && chomp == ' ') {
      chomp = *p_;
    } else if (*p_ >= '1' && *p_ <= '9' && indent == 0) {
      indent = static_cast<size_t>(*p_ - '0');
    } else {
      return false;
    }
  }
  if (!IsBreak(*p_)) return false;
  EatBreak();
  bool detect = indent == 0;
  indent = levels_.back().column + (detect ? 1 : indent);
  text_.clear();
  while (!AtEnd()) {
    const char* p = p_;
    while (*p == ' ' && (detect || static_cast<size_t>(p - p_) < indent)) ++p;
    const size_t column = static_cast<size_t>(p - p_);
    if (detect) indent = std::max(indent, column);
    if (!IsBreak(*p)) {
      if (column < indent && *p == '\t') return false;
      if (column < indent) break;
      detect = false;
    }
    p_ = p;
    EatLine();
    const char* const line_end = p_ - (p_ - p > 1 && p_[-2] == '\r' ? 2 : 1);
    text_.append(p, line_end);
    text_ += '\n';
  }
  if (chomp != '+') {
    const size_t size = text_.find_last_not_of('\n') + 1;  // 0 if there is nothing else.
    text_.resize(size + (chomp == ' ' && size > 0 && size < text_.size() ? 1 : 0));
  }
  AppendJsonString(json_, text_);
  ValueDone();
  return true;
}

// --- JSON

void BlockYaml::Open(bool map, size_t column) {
  json_ += map ? '{' : '[';
  levels_.push_back({.column = column, .map = map, .keys_begin = keys_.size()});
}

void BlockYaml::Close() {
  const Level& level = levels_.back();
  if (level.awaits_value) json_ += "null";
  json_ += level.map ? '}' : ']';
  keys_.resize(level.keys_begin);
  levels_.pop_back();
  if (!levels_.empty()) ValueDone();
}

// Writes the comma before a key or an element.
void BlockYaml::Separate() {
  if (!levels_.back().first) json_ += ',';
  levels_.back().first = false;
}

// Writes a key.  Returns false if the map has it already, or has too many keys to find out, or is
// nested too deep.
bool BlockYaml::AddKey(std::string_view key) {
  if (levels_.size() > kLevelsMax) return false;
  Separate();
  const size_t at = json_.size();
  AppendJsonString(json_, key);
  Level& level = levels_.back();
  const auto text_of = [this](const std::pair<size_t, size_t>& each) {
    return std::string_view(json_).substr(each.first, each.second);
  };
  const std::pair<size_t, size_t> place{at, json_.size() - at};
  const std::string_view written = text_of(place);
  const size_t count = keys_.size() - level.keys_begin;
  level.sorted = level.sorted && (count == 0 || text_of(keys_.back()) < written);
  if (!level.sorted) {
    if (count > kUnsortedKeysMax) return false;
    const auto same = [&](const auto& each) { return text_of(each) == written; };
    if (std::any_of(keys_.end() - static_cast<ptrdiff_t>(count), keys_.end(), same)) return false;
  }
  keys_.push_back(place);
  json_ += ':';
  if (levels_.size() == 1) {
    has_items_ |= key == "items";
    has_kind_ |= key == "kind";
  }
  return true;
}

// --- steps through the text

// Skips blank lines and comments; p_ is at the start of a line.  Moves p_ to the first character
// that is not blank.  Returns false if that is a tab.
bool BlockYaml::SkipBlankLines() {
  while (p_ < end_) {
    const char* const line = p_;
    while (*p_ == ' ') ++p_;
    column_ = static_cast<size_t>(p_ - line);
    if (*p_ == '\t') return false;
    if (!IsBreak(*p_) && *p_ != '#') return true;
    EatLine();
  }
  column_ = 0;
  return true;
}

// Skips blanks, a comment and the line end.  Returns false if something else follows.
bool BlockYaml::RestOfLine() {
  while (*p_ == ' ') ++p_;
  if (!IsBreak(*p_) && !(*p_ == '#' && p_[-1] == ' ')) return false;
  EatLine();
  return true;
}

void BlockYaml::EatBreak() { p_ += *p_ == '\r' ? 2 : 1; }

void BlockYaml::EatLine() {
  p_ = static_cast<const char*>(std::memchr(p_, '\n', static_cast<size_t>(end_ - p_))) + 1;
}

bool BlockYaml::AtMarker(const char* marker) const {
  return column_ == 0 && end_ - p_ > 3 && std::memcmp(p_, marker, 3) == 0 && IsBlankOrBreak(p_[3]);
}

bool BlockYaml::AtDash() const { return *p_ == '-' && (p_[1] == ' ' || IsBreak(p_[1])); }

bool BlockYaml::AtKeyEnd() const { return *p_ == ':' && IsBlankOrBreak(p_[1]); }

}  // namespace ebb
