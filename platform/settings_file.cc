#include "platform/settings_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <set>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/figures.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "base/utf8.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/formats/yaml_scalar.h"

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

// The most keys of one map.  Readers search for each key among the earlier ones, so the time grows
// with the square of their number.
constexpr size_t kKeysMax = 1'000;

// The checker throws this through yaml-cpp to stop at the first value beyond a limit.  It does not
// leave this file.
class TooLarge : public std::exception {
 public:
  TooLarge(const YAML::Mark& mark, const std::string& what)
      : problem(absl::StrCat("line ", mark.line + 1, ": ", what)) {}
  const char* what() const noexcept override { return problem.c_str(); }

  std::string problem;
};

// Reads a text and throws on errors that the parsed tree would hide: a map with a duplicate key, or
// a second document.  Also throws at the first value, or byte of values, beyond the limits.
class Checker : public YAML::EventHandler {
 public:
  explicit Checker(const SettingsLimits& limits) : limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp produces endless empty documents from a token that cannot start one.
    if (mark.pos == start_) throw YAML::ParserException(mark, "nothing can start here");
    start_ = mark.pos;
    document_ = mark;
    has_content_ = false;
  }
  void OnDocumentEnd() override { ++documents_; }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Leaf(mark, anchor, nullptr, false);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto repeated = anchors_.find(anchor);
    if (repeated == anchors_.end()) {
      throw YAML::ParserException(mark, "an alias stands within its own anchor");
    }
    Grow(mark, repeated->second);
    Node(mark, nullptr, true);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    Leaf(mark, anchor, &value, true);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, false);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, true);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Size {
    size_t values = 0;
    size_t bytes = 0;  // Of scalars.
  };
  struct Level {
    bool map;
    YAML::anchor_t anchor;
    Size before;
    bool at_key = true;
    std::set<std::string> keys = {};
  };

  void Grow(const YAML::Mark& mark, const Size& by) {
    size_.values += by.values;
    size_.bytes += by.bytes;
    if (size_.values > limits_.values) {
      throw TooLarge(mark, absl::StrCat("value ", WithCommas(size_.values),
                                        ", with what aliases repeat; ebb reads at most ",
                                        WithCommas(limits_.values), " values"));
    }
    if (size_.bytes > limits_.bytes) {
      throw TooLarge(mark, absl::StrCat(WithCommas(size_.bytes),
                                        " bytes of values, with what aliases repeat; ebb reads at "
                                        "most ",
                                        WithCommas(limits_.bytes)));
    }
  }

  void Leaf(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string* scalar,
            bool is_content) {
    const Size size{.values = 1, .bytes = scalar == nullptr ? 0 : scalar->size()};
    Grow(mark, size);
    if (anchor != 0) anchors_[anchor] = size;
    Node(mark, scalar, is_content);
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, bool map) {
    const Size before = size_;
    Grow(mark, {.values = 1});
    Node(mark, nullptr, true);
    open_.push_back({.map = map, .anchor = anchor, .before = before});
  }

  void Close() {
    const Level& level = open_.back();
    if (level.anchor != 0) {
      anchors_[level.anchor] = {.values = size_.values - level.before.values,
                                .bytes = size_.bytes - level.before.bytes};
    }
    open_.pop_back();
  }

  // A key, a value or an item; `scalar` is null if it is not a scalar.
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
    if (map.keys.size() > kKeysMax) {
      throw TooLarge(mark, absl::StrCat("key ", WithCommas(map.keys.size()),
                                        " of one map; ebb reads at most ", WithCommas(kKeysMax)));
    }
    map.at_key = !map.at_key;
  }

  const SettingsLimits& limits_;
  Size size_;
  std::map<YAML::anchor_t, Size> anchors_;  // Of values that are complete.
  std::vector<Level> open_;
  YAML::Mark document_;
  int start_ = -1;  // Position of the previous document.
  int documents_ = 0;
  bool has_content_ = false;
};

void Check(const std::string& yaml, const SettingsLimits& limits) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  Checker checker(limits);
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

absl::Status CheckSize(const std::string& file, std::string_view text,
                       const SettingsLimits& limits) {
  const auto refuse = [&](size_t found, std::string_view what, size_t most) {
    return absl::ResourceExhaustedError(absl::StrCat(file, ": has ", WithCommas(found), " ",
                                                     Absl(what), "; ebb reads at most ",
                                                     WithCommas(most)));
  };
  if (text.size() > limits.bytes) return refuse(text.size(), "bytes", limits.bytes);
  const auto lines = 1 + static_cast<size_t>(std::ranges::count(text, '\n'));
  if (lines > limits.lines) return refuse(lines, "lines", limits.lines);
  return absl::OkStatus();
}

absl::Status ParseSettings(const std::string& file, const std::string& yaml,
                           absl::FunctionRef<absl::Status(const YAML::Node& root)> parse,
                           const SettingsLimits& limits) {
  if (absl::Status s = CheckSize(file, yaml, limits); !s.ok()) return s;
  if (absl::Status s = CheckUtf8(file, yaml); !s.ok()) return s;
  if (const auto odd = FindOddCharacter(yaml)) {
    return BadSetting(file, absl::StrCat("line ", odd->line), odd->what);
  }
  try {
    Check(yaml, limits);
    return parse(YAML::Load(yaml));
  } catch (const TooLarge& e) {
    return absl::ResourceExhaustedError(absl::StrCat(file, ": ", e.problem));
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
