#include "snapshot/formats/read_yaml.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/formats/form_error.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/formats/yaml_documents.h"

namespace ebb {
namespace {

// The line that starts at `at`, without its line end.
std::string_view LineAt(std::string_view text, size_t at) {
  text.remove_prefix(at);
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// The last place at or after `after` where `line` is a whole line; npos: no such line.
size_t LastLine(std::string_view text, std::string_view line, size_t after = 0) {
  for (size_t end = text.size(); end > after;) {
    // memrchr is many times as fast as rfind.
    const void* const found = ::memrchr(text.data() + after, line[0], end - after);
    if (found == nullptr) break;
    const size_t at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if ((at == 0 || text[at - 1] == '\n') && LineAt(text, at) == line) return at;
    end = at;
  }
  return text.npos;
}

// Whether the last objects that ebb wrote in this file are incomplete.  Other documents may precede
// and follow them.
bool IsCutOff(std::string_view yaml) {
  const size_t start = LastLine(yaml, kYamlStart);
  return start != yaml.npos && LastLine(yaml, kYamlEnd, start) == yaml.npos;
}

absl::Status ReadDocument(std::string_view name, const YamlDocument& document, ObjectSink& sink,
                          ImportStats& stats, const Parallelism& parallelism, Strangers strangers) {
  const std::string_view json = document.json;
  if (json[0] != '{' && json[0] != '[') {
    if (strangers == Strangers::kCounted) {
      ++stats.strangers;
      return absl::OkStatus();
    }
    return MakeFormError({}, absl::StrCat(Absl(name), ": document ", document.index,
                                          ": is not a Kubernetes object"));
  }
  if (absl::Status read = ReadJson(name, json, false, sink, stats, parallelism, strangers);
      !read.ok()) {
    return read;
  }
  if (document.lists_without_kind) {
    return absl::InvalidArgumentError(
        absl::StrCat(Absl(name), ": is truncated: a list has items but no kind behind them"));
  }
  return absl::OkStatus();
}

absl::Status ReadDocuments(std::string_view name, std::string_view yaml, ObjectSink& sink,
                           ImportStats& stats, const Parallelism& parallelism,
                           Strangers strangers) {
  uint64_t documents = 0;
  absl::Status read = VisitYamlDocuments(
      name, yaml, YamlReaders::kBoth, [&](const YamlDocument& document) -> absl::Status {
        if (document.json == "null" || document.json.empty()) return absl::OkStatus();
        ++documents;
        return ReadDocument(name, document, sink, stats, parallelism, strangers);
      });
  if (!read.ok()) return read;
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

constexpr auto kUnicodeLineEnds =
    std::to_array<std::string_view>({"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"});

// Whether FindOddCharacter() must look at the text line by line.  Almost no text needs it.
bool MayHaveOddCharacter(std::string_view yaml) {
  // Without a branch, so that the compiler reads many bytes a step.
  bool control = false;
  for (const char c : yaml) {
    const unsigned char byte = static_cast<unsigned char>(c);
    control |= (byte < 0x20) & (byte != '\n') & (byte != '\t');
    control |= byte == 0x7f;
  }
  return control || std::ranges::any_of(kUnicodeLineEnds, [yaml](std::string_view end) {
           return yaml.find(end) != yaml.npos;
         });
}

}  // namespace

std::optional<OddCharacter> FindOddCharacter(std::string_view yaml) {
  if (!MayHaveOddCharacter(yaml)) return std::nullopt;
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
    for (const std::string_view unicode_end : kUnicodeLineEnds) {
      if (line.find(unicode_end) != line.npos) {
        return OddCharacter{number, "a comment with another line end than a line feed"};
      }
    }
  }
  return std::nullopt;
}

absl::Status ReadYaml(std::string_view name, std::string_view yaml, ObjectSink& sink,
                      ImportStats& stats, const Parallelism& parallelism, Strangers strangers) {
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
  absl::Status read = ReadDocuments(name, quoted.empty() ? yaml : std::string_view(quoted), sink,
                                    stats, parallelism, strangers);
  stats.bytes = bytes_before + yaml.size();
  return read;
}

}  // namespace ebb
