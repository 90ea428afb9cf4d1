#include "tools/read_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "snapshot/text.h"
#include "tools/binary_snapshot.h"
#include "tools/read_json.h"
#include "tools/read_yaml.h"

namespace ebb {
namespace {

namespace fs = std::filesystem;

// A gzip member of a few kilobytes can hold terabytes of blanks.
constexpr size_t kInflatedBytesMax = size_t{16} << 30;
constexpr std::string_view kStandardInput = "standard input";

absl::Status FileError(std::string_view name, int error) {
  const std::string message =
      absl::StrCat(Absl(name), ": ", std::generic_category().message(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

// Closes a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// A file's bytes in memory, with kJsonPadding readable ones behind them.
class Mapping {
 public:
  Mapping(void* base, size_t mapped, size_t size) : base_(base), mapped_(mapped), size_(size) {}
  ~Mapping() { ::munmap(base_, mapped_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(base_), size_}; }

  // Maps a file over room that is a page larger, so that there is something to
  // read behind a file that ends with its page.
  static absl::StatusOr<std::unique_ptr<Mapping>> Make(std::string_view name, int fd, size_t size) {
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t room = (size + page - 1) / page * page + page;
    void* const base = ::mmap(nullptr, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return FileError(name, errno);
    auto mapping = std::make_unique<Mapping>(base, room, size);
    if (::mmap(base, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
      return FileError(name, errno);
    }
    ::madvise(base, size, MADV_SEQUENTIAL);
    return mapping;
  }

 private:
  void* base_;
  size_t mapped_;
  size_t size_;
};

absl::StatusOr<std::string> ReadAll(std::string_view name, int fd) {
  constexpr size_t kStep = size_t{1} << 20;
  std::string bytes;
  while (true) {
    const size_t before = bytes.size();
    bytes.resize(before + kStep);
    const ssize_t got = ::read(fd, bytes.data() + before, kStep);
    if (got < 0 && errno == EINTR) {
      bytes.resize(before);
      continue;
    }
    if (got < 0) return FileError(name, errno);
    bytes.resize(before + static_cast<size_t>(got));
    if (got == 0) return bytes;
  }
}

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// Frees what zlib keeps.
struct Inflater {
  z_stream stream = {};
  bool ready = inflateInit2(&stream, 15 + 16) == Z_OK;  // 16: gzip, not zlib.
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

// All members of a gzip file, one after the other.
absl::StatusOr<std::string> Inflate(std::string_view name, std::string_view bytes) {
  Inflater inflater;
  if (!inflater.ready) return absl::ResourceExhaustedError(absl::StrCat(Absl(name), ": no memory"));
  z_stream& stream = inflater.stream;
  std::string out;
  size_t in = 0;
  size_t filled = 0;
  while (true) {
    const size_t give = std::min(bytes.size() - in, size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + in));
    stream.avail_in = static_cast<uInt>(give);
    if (out.size() - filled < size_t{64} << 10) {
      if (filled > kInflatedBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat(Absl(name), ": is too large inside its gzip"));
      }
      out.resize(std::max(size_t{1} << 20, 2 * out.size()));
    }
    const size_t room = std::min(out.size() - filled, size_t{1} << 30);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    in += give - stream.avail_in;
    filled += room - stream.avail_out;
    if (result == Z_STREAM_END) {
      if (!IsGzip(bytes.substr(in))) break;  // What follows the last member is padding.
      inflateReset(&stream);
    } else if (result == Z_BUF_ERROR ||
               (result == Z_OK && in == bytes.size() && stream.avail_out > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(Absl(name), ": its gzip data is truncated"));
    } else if (result != Z_OK) {
      return absl::InvalidArgumentError(
          absl::StrCat(Absl(name), ": byte ", in, ": its gzip data is damaged"));
    }
  }
  out.resize(filled);
  return out;
}

bool EndsWith(std::string_view name, std::string_view suffix) { return name.ends_with(suffix); }

std::string_view WithoutGz(std::string_view name) {
  if (EndsWith(name, ".gz")) name.remove_suffix(3);
  return name;
}

enum class Form { kJson, kYaml, kUnknown };

// The form of a text.  JSON shows in its first bytes; whether anything else is
// YAML is for the name to say, or for the first line to look like it.
Form FormOf(std::string_view name, std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  const auto skip_blanks = [](std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    return text;
  };
  bytes = skip_blanks(bytes);
  name = WithoutGz(name);
  const bool says_yaml = EndsWith(name, ".yaml") || EndsWith(name, ".yml");
  const bool says_json = EndsWith(name, ".json");
  if (!bytes.empty() && (bytes[0] == '{' || bytes[0] == '[')) {
    // YAML's flow style may leave quotes off, which JSON may not.
    const std::string_view inside = skip_blanks(bytes.substr(1));
    const bool quoted = !inside.empty() && (inside[0] == '"' || inside[0] == '}' ||
                                            inside[0] == '{' || inside[0] == ']');
    return says_yaml && !quoted ? Form::kYaml : Form::kJson;
  }
  if (says_json) return Form::kJson;
  if (says_yaml) return Form::kYaml;
  if (bytes.empty()) return Form::kJson;  // Which says that it is empty.
  for (const std::string_view start :
       {"---", "apiVersion:", "kind:", "items:", "metadata:", "#", "%YAML", "- "}) {
    if (bytes.starts_with(start)) return Form::kYaml;
  }
  return Form::kUnknown;
}

absl::Status Parse(std::string_view name, std::string_view bytes, bool padded, ObjectSink& sink,
                   ImportStats& stats, const Parallelism& parallelism) {
  if (IsGzip(bytes)) {
    absl::StatusOr<std::string> inside = Inflate(name, bytes);
    if (!inside.ok()) return inside.status();
    if (IsGzip(*inside)) {
      return absl::InvalidArgumentError(absl::StrCat(Absl(name), ": is gzip within gzip"));
    }
    const size_t size = inside->size();
    inside->append(kJsonPadding, ' ');
    return Parse(name, std::string_view(*inside).substr(0, size), true, sink, stats, parallelism);
  }
  if (IsBinarySnapshot(bytes)) return ReadBinarySnapshot(name, bytes, sink, stats);
  switch (FormOf(name, bytes)) {
    case Form::kJson:
      return ReadJson(name, bytes, padded, sink, stats, parallelism);
    case Form::kYaml:
      return ReadYaml(name, bytes, sink, stats);
    case Form::kUnknown:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(name), ": is neither JSON nor YAML nor a snapshot of ebb's"));
}

absl::Status ReadStandardInput(ObjectSink& sink, ImportStats& stats,
                               const Parallelism& parallelism) {
  absl::StatusOr<std::string> bytes = ReadAll(kStandardInput, STDIN_FILENO);
  if (!bytes.ok()) return bytes.status();
  ++stats.files;
  const size_t size = bytes->size();
  bytes->append(kJsonPadding, ' ');
  return Parse(kStandardInput, std::string_view(*bytes).substr(0, size), true, sink, stats,
               parallelism);
}

absl::Status ReadFile(const std::string& path, ObjectSink& sink, ImportStats& stats,
                      const Parallelism& parallelism) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return FileError(path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return FileError(path, errno);
  if (S_ISDIR(status.st_mode)) return FileError(path, EISDIR);
  ++stats.files;
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    absl::StatusOr<std::unique_ptr<Mapping>> mapping =
        Mapping::Make(path, file.get(), static_cast<size_t>(status.st_size));
    if (!mapping.ok()) return mapping.status();
    return Parse(path, (*mapping)->bytes(), true, sink, stats, parallelism);
  }
  // A pipe, or a file that the system makes up as it is read.
  const absl::StatusOr<std::string> bytes = ReadAll(path, file.get());
  if (!bytes.ok()) return bytes.status();
  return Parse(path, *bytes, false, sink, stats, parallelism);
}

absl::Status ReadFolder(const std::string& path, ObjectSink& sink, ImportStats& stats,
                        const Parallelism& parallelism) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator each(path, error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    std::error_code ignored;
    if (IsDumpName(each->path().filename().string()) && !fs::is_directory(each->path(), ignored)) {
      files.push_back(each->path().string());
    }
  }
  if (error) return FileError(path, error.value());
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds no dump (*.json, *.yaml, *.yml, *.pb, *.gz)"));
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    if (absl::Status read = ReadFile(file, sink, stats, parallelism); !read.ok()) return read;
  }
  return absl::OkStatus();
}

}  // namespace

bool IsDumpName(std::string_view name) {
  for (const std::string_view suffix : {".json", ".yaml", ".yml", ".gz", ".pb"}) {
    if (EndsWith(name, suffix)) return true;
  }
  return false;
}

absl::Status ReadInput(std::string_view path, ObjectSink& sink, ImportStats& stats,
                       const Parallelism& parallelism) {
  if (path == "-") return ReadStandardInput(sink, stats, parallelism);
  const std::string name(path);
  std::error_code error;
  if (fs::is_directory(name, error)) return ReadFolder(name, sink, stats, parallelism);
  return ReadFile(name, sink, stats, parallelism);
}

absl::Status ReadBytes(std::string_view name, std::string_view bytes, ObjectSink& sink,
                       ImportStats& stats, const Parallelism& parallelism) {
  return Parse(name, bytes, false, sink, stats, parallelism);
}

}  // namespace ebb
