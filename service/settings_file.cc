#include "service/settings_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <set>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "base/utf8.h"
#include "snapshot/formats/read_yaml.h"

namespace ebb {
namespace {

template <typename T>
std::optional<T> As(const YAML::Node& value) {
  T result;
  if (!value.IsScalar() || IsOctalToSome(value.Scalar()) ||
      !YAML::convert<T>::decode(value, result)) {
    return std::nullopt;
  }
  return result;
}

// Walks a text and throws at errors that its tree would hide: a map that has a key
// twice, or a second document.
class Checker : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp makes endless empty documents of a token that can start none.
    if (mark.pos == start_) throw YAML::ParserException(mark, "nothing can start here");
    start_ = mark.pos;
    document_ = mark;
    has_content_ = false;
  }
  void OnDocumentEnd() override { ++documents_; }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Node(mark, nullptr, false); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Node(mark, nullptr, true); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    Node(mark, &value, true);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Node(mark, nullptr, true);
    open_.push_back({.map = false});
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Node(mark, nullptr, true);
    open_.push_back({.map = true});
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Level {
    bool map;
    bool at_key = true;
    std::set<std::string> keys = {};
  };

  // A key, a value or an item; `scalar` is null for anything but a scalar.
  void Node(const YAML::Mark& mark, const std::string* scalar, bool is_content) {
    has_content_ |= is_content;
    if (documents_ > 0 && has_content_) {
      throw YAML::ParserException(document_, "a second document; only one is allowed");
    }
    if (open_.empty() || !open_.back().map) return;
    Level& map = open_.back();
    if (map.at_key && scalar != nullptr && !map.keys.insert(*scalar).second) {
      throw YAML::ParserException(mark, absl::StrCat(*scalar, " occurs twice in one map"));
    }
    map.at_key = !map.at_key;
  }

  std::vector<Level> open_;
  YAML::Mark document_;
  int start_ = -1;  // Of the document before.
  int documents_ = 0;
  bool has_content_ = false;
};

void Check(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  Checker checker;
  while (parser.HandleNextDocument(checker)) {
  }
}

absl::Status SettingsFileError(absl::StatusCode code, const std::string& path, int error) {
  return {code, absl::StrCat(path, ": ", std::generic_category().message(error))};
}

// Process substitution (`<(...)`) and standard input are pipes under these names.
bool IsDescriptorName(const std::string& path) {
  return path.starts_with("/dev/") || path.starts_with("/proc/");
}

absl::Status CheckType(const std::string& path, mode_t mode) {
  const auto refuse = [&](std::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is ", Absl(what), "; a regular file is expected"));
  };
  if (S_ISDIR(mode)) return refuse("a directory");
  if (S_ISBLK(mode)) return refuse("a block device");
  if (S_ISFIFO(mode) && !IsDescriptorName(path)) return refuse("a named pipe");
  if (S_ISCHR(mode) && !IsDescriptorName(path)) return refuse("a character device");
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadToEnd(const std::string& path, int fd, size_t bytes_max) {
  constexpr size_t kStep = size_t{64} << 10;
  std::string text;
  size_t size = 0;
  while (true) {
    if (size > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": is larger than ", bytes_max, " bytes, the most that ebb reads"));
    }
    if (text.size() - size < kStep) text.resize(std::max(size + kStep, 2 * size));
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SettingsFileError(absl::StatusCode::kDataLoss, path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t bytes_max) {
  // Without O_NONBLOCK, opening a named pipe waits for a writer.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return SettingsFileError(absl::StatusCode::kNotFound, path, errno);
  }
  if (absl::Status s = CheckType(path, status.st_mode); !s.ok()) return s;
  ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
  try {
    return ReadToEnd(path, file.get(), bytes_max);
  } catch (const std::bad_alloc&) {
    return SettingsFileError(absl::StatusCode::kResourceExhausted, path, ENOMEM);
  }
}

absl::Status CheckUtf8(const std::string& file, std::string_view text) {
  const size_t at = FirstInvalidUtf8(text);
  if (at == text.size()) return absl::OkStatus();
  const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
  return BadSetting(file, absl::StrCat("line ", line), "is not UTF-8");
}

absl::Status ParseSettings(const std::string& file, const std::string& yaml,
                           absl::FunctionRef<absl::Status(const YAML::Node& root)> parse) {
  if (absl::Status s = CheckUtf8(file, yaml); !s.ok()) return s;
  if (const auto odd = FindOddCharacter(yaml)) {
    return BadSetting(file, absl::StrCat("line ", odd->line), odd->what);
  }
  try {
    Check(yaml);
    return parse(YAML::Load(yaml));
  } catch (const YAML::Exception& e) {
    return BadSetting(file, absl::StrCat("line ", e.mark.line + 1), e.msg);
  }
}

absl::Status BadSetting(std::string_view file, std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(file), ": ", Absl(where), where.empty() ? "" : ": ", Absl(what)));
}

std::string NoSuchField(const std::string& field, const std::vector<std::string>& known) {
  constexpr size_t kListed = 20;
  const std::string nearest = Nearest(field, known);
  std::string text = nearest.empty() ? "no such field; the fields here are "
                                     : absl::StrCat("no such field; did you mean ", nearest,
                                                    "? The fields here are ");
  const size_t listed = std::min(known.size(), kListed);
  absl::StrAppend(&text,
                  absl::StrJoin(known.begin(), known.begin() + static_cast<int>(listed), ", "));
  if (known.size() > listed) absl::StrAppend(&text, " and ", known.size() - listed, " more");
  return text;
}

std::string Quoted(const YAML::Node& value) {
  return value.IsScalar() ? absl::StrCat("\"", value.Scalar(), "\"") : "this";
}

std::optional<int64_t> AsInteger(const YAML::Node& value) { return As<int64_t>(value); }
std::optional<double> AsReal(const YAML::Node& value) { return As<double>(value); }

std::string ReadName(const YAML::Node& value, std::string& name) {
  if (!value.IsScalar() || value.Scalar().empty()) return "is not a name";
  name = value.Scalar();
  return "";
}

std::string ReadBool(const YAML::Node& value, bool& is) {
  const std::optional<bool> read = As<bool>(value);
  if (!read) return Quoted(value) + " is neither true nor false";
  is = *read;
  return "";
}

absl::Status VisitFields(
    const std::string& file, const std::string& where, const YAML::Node& node,
    absl::FunctionRef<std::string(const std::string& name, const YAML::Node& value)> read) {
  if (!node.IsMap()) return BadSetting(file, where, "is not a map");
  for (const auto& field : node) {
    if (!field.first.IsScalar()) return BadSetting(file, where, "a field's name is not a scalar");
    const std::string& name = field.first.Scalar();
    const std::string wrong = read(name, field.second);
    if (!wrong.empty()) {
      return BadSetting(file, absl::StrCat(where, where.empty() ? "" : ".", name), wrong);
    }
  }
  return absl::OkStatus();
}

}  // namespace ebb
