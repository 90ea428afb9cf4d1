#include "snapshot/formats/read_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/form_error.h"
#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/kind_by_path.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/formats/tar_archive.h"

namespace ebb {
namespace {

namespace fs = std::filesystem;

// Limits are checked each time that a text has grown by this much, so it may exceed them by as
// much.  Not tuned.
constexpr size_t kReadStep = size_t{1} << 20;
// Below this much output the ratio of a gzip file is not checked: small files may have any ratio
// and do no harm.
constexpr uint64_t kInflatedBytesFree = uint64_t{64} << 20;
constexpr std::string_view kStandardInput = "standard input";

absl::Status FileError(std::string_view name, int error) {
  const std::string message =
      absl::StrCat(Absl(name), ": ", std::generic_category().message(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

// A file mapped into memory, followed by kJsonPadding readable bytes.
class Mapping {
 public:
  Mapping(void* base, size_t mapped, size_t size) : base_(base), mapped_(mapped), size_(size) {}
  ~Mapping() { ::munmap(base_, mapped_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(base_), size_}; }

  // Maps a file over an anonymous mapping that is one page larger, so that bytes behind the file
  // are readable even if the file ends at the end of a page.
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

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// Frees zlib's memory.
struct Inflater {
  z_stream stream = {};
  bool ready = inflateInit2(&stream, 15 + 16) == Z_OK;  // 16: gzip, not zlib.
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

bool EndsWith(std::string_view name, std::string_view suffix) { return name.ends_with(suffix); }

std::string_view WithoutGz(std::string_view name) {
  if (EndsWith(name, ".gz")) name.remove_suffix(3);
  return name;
}

enum class Form { kJson, kYaml, kUnknown };

// The form of a text.  JSON is recognised by its first bytes.  Anything else is YAML only if the
// name says so or the first line looks like YAML.
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
    // YAML's flow style may omit quotes, which JSON may not.
    const std::string_view inside = skip_blanks(bytes.substr(1));
    const bool quoted = !inside.empty() && (inside[0] == '"' || inside[0] == '}' ||
                                            inside[0] == '{' || inside[0] == ']');
    return says_yaml && !quoted ? Form::kYaml : Form::kJson;
  }
  if (says_json) return Form::kJson;
  if (says_yaml) return Form::kYaml;
  if (bytes.empty()) return Form::kJson;  // Whose reader reports that the text is empty.
  for (const std::string_view start :
       {"---", "apiVersion:", "kind:", "items:", "metadata:", "#", "%YAML", "- "}) {
    if (bytes.starts_with(start)) return Form::kYaml;
  }
  return Form::kUnknown;
}

// Enough of a text to recognise its form.
constexpr size_t kFirstBytes = 512;

// Text of two bytes a character: a byte order mark, or every other byte zero.
bool IsUtf16(std::string_view bytes) {
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) return true;
  if (bytes.size() < 4) return false;
  const auto zeros = [bytes](size_t from) { return bytes[from] == 0 && bytes[from + 2] == 0; };
  return zeros(0) != zeros(1);
}

// --- What a file may hold instead of a dump, because the shell or kubectl did not do what was
// intended

std::string_view FirstLine(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  text = text.substr(0, text.find('\n'));
  while (text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [text](std::string_view start) { return text.starts_with(start); });
}

// A line of kubectl's log: "E0102 15:04:05.000000   12345 memcache.go:265] ...".
bool IsLogLine(std::string_view line, std::string_view levels) {
  constexpr size_t kDate = 5;
  return line.size() > 20 && levels.find(line[0]) != levels.npos && line[kDate] == ' ' &&
         line[kDate + 3] == ':' && line.find("] ") != line.npos &&
         std::all_of(line.begin() + 1, line.begin() + kDate,
                     [](char c) { return c >= '0' && c <= '9'; });
}

bool IsKubectlError(std::string_view line) {
  return StartsWithAny(line, {"error: ", "Error: ", "Error from server", "Unable to connect to",
                              "The connection to the server", "No resources found", "Unauthorized",
                              "Forbidden"}) ||
         // Messages of shells, after the shell's own name.
         line.ends_with("kubectl: not found") || line.ends_with("kubectl: command not found") ||
         line.ends_with("command not found: kubectl") || IsLogLine(line, "EF");
}

// "NAMESPACE   NAME   READY   STATUS": words in capitals with columns between them.
bool IsTableHead(std::string_view line) {
  return StartsWithAny(line, {"NAME ", "NAMESPACE ", "LAST SEEN "}) &&
         line.find_first_of("abcdefghijklmnopqrstuvwxyz:{\"") == line.npos;
}

// "pod/web-0", "deployment.apps/web": what `-o name` prints.
bool IsObjectName(std::string_view line) {
  const size_t slash = line.find('/');
  constexpr std::string_view kInNames = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  return slash != line.npos && slash > 0 && slash + 1 < line.size() &&
         line.substr(0, slash).find_first_not_of(kInNames) == line.npos &&
         line.substr(slash + 1).find_first_not_of(kInNames) == line.npos;
}

// What the file is instead of a dump, and what to do about it; empty: not recognised.
std::string InsteadOfDump(std::string_view text) {
  constexpr std::string_view kAsJson = "; dump with `kubectl get ... -A -o json`";
  const std::string_view line = FirstLine(text.substr(0, size_t{4} << 10));
  const std::string quoted = absl::StrCat("\"", Printable(line.substr(0, 200)), "\"");
  if (IsKubectlError(line)) {
    return absl::StrCat("holds a message instead of objects: ", quoted,
                        "; mend that and dump again");
  }
  if (line.starts_with("Warning: ") || IsLogLine(line, "WI")) {
    return absl::StrCat("begins with a message of kubectl's before any object: ", quoted,
                        "; dump again without `2>&1`");
  }
  if (IsTableHead(line)) return absl::StrCat("is a table for people", Absl(kAsJson));
  if (line.starts_with("Name:  ") && text.find("\nLabels:  ") != text.npos) {
    return absl::StrCat("is what `kubectl describe` prints", Absl(kAsJson));
  }
  if (IsObjectName(line)) return absl::StrCat("is a list of names", Absl(kAsJson));
  if (StartsWithAny(line, {"<!DOCTYPE", "<!doctype", "<html", "<HTML"})) {
    return absl::StrCat("is a web page, such as the login of a proxy", Absl(kAsJson));
  }
  return "";
}

// A message of kubectl behind the objects of a text that could not be read to its end, and what to
// do about it; empty: the text has no such message.
std::string BehindDump(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != text.npos) {
    text.remove_suffix(1);
  }
  text.remove_prefix(text.rfind('\n') + 1);  // 0 on the first line, as npos + 1 is 0.
  text = text.substr(0, 200);
  if (!IsKubectlError(text) && !text.starts_with("Warning: ") && !IsLogLine(text, "WI")) return "";
  return absl::StrCat("ends with a message of kubectl's behind the objects: \"", Printable(text),
                      "\"; mend that and dump again without `2>&1`");
}

// The line that `kubectl cluster-info dump` prints before the logs of a container.
constexpr std::string_view kLogsBegin = "==== START logs for container ";

absl::Status IsClusterInfoDump(std::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(name),
                   ": is what `kubectl cluster-info dump` prints, with logs between the objects; "
                   "pass the folder "
                   "that `kubectl cluster-info dump -A --output-directory DIR` writes"));
}

// A buffer that grows at its end.  realloc moves pages instead of copying them, so that growing
// does not need memory for a second copy.
class OwnedBytes {
 public:
  OwnedBytes() = default;
  ~OwnedBytes() { std::free(data_); }
  OwnedBytes(const OwnedBytes&) = delete;
  OwnedBytes& operator=(const OwnedBytes&) = delete;
  OwnedBytes(OwnedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}

  // Returns room for at least `least` bytes behind the content.  Keep() appends what was filled.
  std::span<char> Room(size_t least) {
    if (capacity_ - size_ < least) {
      capacity_ = std::max(size_ + least, size_ + size_ / 2);
      void* const grown = std::realloc(data_, capacity_);
      if (grown == nullptr) throw std::bad_alloc();
      data_ = static_cast<char*>(grown);
    }
    return {data_ + size_, capacity_ - size_};
  }
  void Keep(size_t filled) { size_ += filled; }
  // Makes kJsonPadding bytes behind the content readable.
  void Pad() { std::fill_n(Room(kJsonPadding).data(), kJsonPadding, ' '); }
  [[nodiscard]] std::string_view view() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// How a text is read, and where its objects and counts go.
struct Reading {
  ObjectSink& sink;
  ImportStats& stats;
  const Parallelism& parallelism;
  const InputLimits& limits;
  Strangers strangers = Strangers::kRefused;
  // Whether archives are read; false inside an archive and beside a dump.
  bool archives = true;
  // Keeps the text that is read alive; null if it only lives until the reading ends.
  std::shared_ptr<const void> owner = nullptr;

  // How many more bytes the limit allows.
  [[nodiscard]] uint64_t BytesLeft() const {
    return limits.bytes_max - std::min(limits.bytes_max, stats.bytes);
  }
};

// The share of this process's memory that one text may take; the rest is for the cluster that is
// built from it.  If it took more, the kernel could kill the process without a message.
uint64_t HeldBytesMax() {
  uint64_t memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t allowed = 0;  // Stays unused if the file says "max": a container without a limit.
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> allowed) memory = std::min(memory, allowed);
  return memory / 4 * 3;
}

absl::Status TooLarge(std::string_view name, const Reading& reading) {
  return absl::ResourceExhaustedError(absl::StrCat(Absl(name), ": the input is larger than ",
                                                   reading.limits.bytes_max,
                                                   " bytes; --max-input-bytes allows for more"));
}

// Checks whether `held` bytes of a text may be held in memory.
absl::Status Check(size_t held, uint64_t held_max, std::string_view name, const Reading& reading) {
  if (held > reading.BytesLeft()) return TooLarge(name, reading);
  if (held <= held_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(Absl(name), ": more than ", held_max,
                   " bytes would fill the memory; a plain file is read without being held"));
}

// Whether a text that starts with these bytes cannot be a dump, so that the rest need not be read.
bool IsNoDump(std::string_view name, std::string_view first) {
  if (first.empty() || IsGzip(first) || IsBinarySnapshot(first) || IsUtf16(first) || IsTar(first)) {
    return false;
  }
  return first[0] == '\0' || FormOf(name, first) == Form::kUnknown;
}

// Everything that a descriptor returns until its end.  `expected`: the likely number of bytes.
absl::StatusOr<OwnedBytes> ReadAll(std::string_view name, int fd, const Reading& reading,
                                   size_t expected = 0) {
  const uint64_t held_max = HeldBytesMax();
  OwnedBytes bytes;
  bytes.Room(expected + kReadStep);
  while (true) {
    const std::span<char> room = bytes.Room(kReadStep);
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(name, errno);
    const bool first = bytes.view().empty();
    bytes.Keep(static_cast<size_t>(got));
    if (got == 0) break;
    // The rest would not change the result.
    if (first && static_cast<size_t>(got) >= kFirstBytes && IsNoDump(name, bytes.view())) break;
    absl::Status held = Check(bytes.view().size(), held_max, name, reading);
    if (!held.ok()) return held;
  }
  bytes.Pad();
  return bytes;
}

absl::Status InflatesTooMuch(std::string_view name, size_t bytes, const Reading& reading) {
  return absl::ResourceExhaustedError(
      absl::StrCat(Absl(name), ": the first ", bytes, " bytes of its gzip hold more than ",
                   reading.limits.inflate_ratio_max,
                   " times as much; if it is a dump, --max-input-bytes says how much may be read"));
}

// The content of all members of a gzip file, concatenated.
absl::StatusOr<OwnedBytes> Inflate(std::string_view name, std::string_view bytes,
                                   const Reading& reading) {
  Inflater inflater;
  if (!inflater.ready) return absl::ResourceExhaustedError(absl::StrCat(Absl(name), ": no memory"));
  z_stream& stream = inflater.stream;
  const uint64_t ratio_max = std::max(reading.limits.inflate_ratio_max, uint64_t{1});
  const uint64_t held_max = HeldBytesMax();
  OwnedBytes out;
  size_t in = 0;
  bool judged = false;
  while (true) {
    const size_t give = std::min(bytes.size() - in, size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + in));
    stream.avail_in = static_cast<uInt>(give);
    const std::span<char> room = out.Room(kReadStep);
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    const auto offered = static_cast<uInt>(std::min(room.size(), size_t{1} << 30));
    stream.avail_out = offered;
    const int result = inflate(&stream, Z_NO_FLUSH);
    in += give - stream.avail_in;
    out.Keep(offered - stream.avail_out);
    const size_t filled = out.view().size();
    if (absl::Status held = Check(filled, held_max, name, reading); !held.ok()) return held;
    // Compares with the bytes read so far, so that a bomb is stopped before it has grown.
    if (filled > kInflatedBytesFree && filled / ratio_max > in) {
      return InflatesTooMuch(name, in, reading);
    }
    if (!judged && filled >= kFirstBytes) {
      judged = true;
      if (IsNoDump(name, out.view())) break;  // The rest would not change the result.
    }
    if (result == Z_STREAM_END) {
      const std::string_view rest = bytes.substr(in);
      if (rest.find_first_not_of('\0') == rest.npos) break;  // Zero padding, as on tapes.
      // A damaged member looks like other padding, and could hold objects that keep a node.
      if (!IsGzip(rest)) {
        return BrokenText(
            name,
            absl::StrCat("byte ", in, ": its gzip data is damaged: neither gzip nor padding"));
      }
      inflateReset(&stream);
    } else if (result == Z_BUF_ERROR ||
               (result == Z_OK && in == bytes.size() && stream.avail_out > 0)) {
      return BrokenText(name, "its gzip data is truncated");
    } else if (result != Z_OK) {
      return BrokenText(name, absl::StrCat("byte ", in, ": its gzip data is damaged"));
    }
  }
  out.Pad();
  return out;
}

absl::Status ReadText(Form form, std::string_view name, std::string_view bytes, bool padded,
                      const Reading& reading) {
  if (form == Form::kYaml) {
    return ReadYaml(name, bytes, reading.sink, reading.stats, reading.parallelism,
                    reading.strangers);
  }
  return ReadJson(name, bytes, padded, reading.sink, reading.stats, reading.parallelism,
                  reading.strangers);
}

// Whether a text that ebb cannot read, or in which it finds no object, may hold objects that it
// needs: pods on nodes, nodes, budgets.  Looks for field names in every spelling that Go writes.
// Plain manifests (a chart's templates) do not contain these names together.
bool MayHoldObjects(std::string_view text) {
  const auto has = [text](std::string_view upper, std::string_view lower) {
    return text.find(upper) != text.npos || text.find(lower) != text.npos;
  };
  return (has("Containers", "containers") && has("NodeName", "nodeName")) ||
         has("KubeletVersion", "kubeletVersion") || has("DisruptionsAllowed", "disruptionsAllowed");
}

absl::Status ReadArchive(std::string_view name, std::string_view bytes, const Reading& reading);

absl::Status ParseText(std::string_view name, std::string_view bytes, bool padded,
                       const Reading& reading) {
  if (bytes.size() > reading.BytesLeft()) return TooLarge(name, reading);
  if (IsBinarySnapshot(bytes)) {
    return ReadBinarySnapshot(name, bytes, reading.sink, reading.stats, SnapshotVersions::kChecked,
                              reading.owner);
  }
  if (IsUtf16(bytes)) {
    return BrokenText(
        name,
        "looks like UTF-16, which `>` of Windows PowerShell writes; write the dump with "
        "`| Out-File -Encoding utf8`, or from cmd");
  }
  if (const std::string instead = InsteadOfDump(bytes); !instead.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(Absl(name), ": ", instead));
  }
  const Form form = FormOf(name, bytes);
  if (form != Form::kUnknown) {
    const uint64_t known = reading.stats.known();
    absl::Status read = ReadText(form, name, bytes, padded, reading);
    // YAML reads such a message as one more member of the last object.
    if (read.ok() && (form == Form::kJson || reading.stats.known() == known)) return read;
    if (!read.ok() && bytes.find(kLogsBegin) != bytes.npos) return IsClusterInfoDump(name);
    const std::string behind = BehindDump(bytes);
    if (behind.empty()) return read;
    return absl::InvalidArgumentError(absl::StrCat(Absl(name), ": ", behind));
  }
  if (reading.strangers == Strangers::kCounted) return ++reading.stats.strangers, absl::OkStatus();
  return BrokenText(name, "is neither JSON nor YAML nor a snapshot of ebb's");
}

absl::Status ParseOwned(std::string_view name, OwnedBytes bytes, const Reading& reading);

absl::Status Parse(std::string_view name, std::string_view bytes, bool padded,
                   const Reading& reading) {
  if (IsGzip(bytes)) {
    absl::StatusOr<OwnedBytes> inside = Inflate(name, bytes, reading);
    if (!inside.ok()) return inside.status();
    if (IsGzip(inside->view())) return BrokenText(name, "is gzip within gzip");
    return ParseOwned(name, *std::move(inside), reading);
  }
  if (IsTar(bytes)) {
    if (reading.archives) return ReadArchive(name, bytes, reading);
    if (reading.stats.archives_unread++ == 0) reading.stats.first_archive = std::string(name);
    return absl::OkStatus();
  }
  const uint64_t known = reading.stats.known();
  absl::Status read = ParseText(name, bytes, padded, reading);
  const bool passed_over =
      read.ok() && reading.strangers == Strangers::kCounted && reading.stats.known() == known;
  const auto form_error = FormErrorOf(read);
  if (!passed_over && !form_error.has_value()) return read;
  if (!MayHoldObjects(bytes)) return read;
  const std::string problem =
      passed_over ? absl::StrCat(Absl(name),
                                 ": seems to hold pods, nodes or budgets in a form that "
                                 "ebb does not read; pass what `kubectl get KIND -A "
                                 "-o json` prints")
                  : std::string(read.message());
  const bool broken = form_error.has_value() && form_error->broken;
  return MakeFormError({.broken = broken, .matters = true}, problem);
}

// The bytes live for as long as a sink keeps Reading::owner.
absl::Status ParseOwned(std::string_view name, OwnedBytes bytes, const Reading& reading) {
  const auto owner = std::make_shared<const OwnedBytes>(std::move(bytes));
  Reading owned = reading;
  owned.owner = owner;
  return Parse(name, owner->view(), true, owned);
}

absl::Status ReadStandardInput(const Reading& reading) {
  absl::StatusOr<OwnedBytes> bytes = ReadAll(kStandardInput, STDIN_FILENO, reading);
  if (!bytes.ok()) return bytes.status();
  ++reading.stats.files;
  return ParseOwned(kStandardInput, *std::move(bytes), reading);
}

// Checks that a file is unchanged since `before`.  A part of an old dump followed by a part of a
// new one may look complete.
absl::Status CheckUnchanged(std::string_view name, int fd, const struct stat& before) {
  struct stat now = {};
  if (::fstat(fd, &now) != 0) return FileError(name, errno);
  if (now.st_size == before.st_size && now.st_mtim.tv_sec == before.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == before.st_mtim.tv_nsec) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Absl(name), ": was written while ebb read it (", before.st_size, " bytes before, ",
      now.st_size, " after); write the dump to another name and rename it when it is whole"));
}

absl::Status ReadFile(const std::string& path, const Reading& reading) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return FileError(path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return FileError(path, errno);
  if (S_ISDIR(status.st_mode)) return FileError(path, EISDIR);
  ++reading.stats.files;
  const bool regular = S_ISREG(status.st_mode);
  const auto size = static_cast<uint64_t>(regular ? status.st_size : 0);
  if (size > reading.BytesLeft()) return TooLarge(path, reading);
  if (size > HeldBytesMax()) {
    // A mapped file must not be truncated: the process would receive SIGBUS.
    absl::StatusOr<std::unique_ptr<Mapping>> mapping = Mapping::Make(path, file.get(), size);
    if (!mapping.ok()) return mapping.status();
    return Parse(path, (*mapping)->bytes(), true, reading);
  }
  absl::StatusOr<OwnedBytes> bytes = ReadAll(path, file.get(), reading, size);
  if (!bytes.ok()) return bytes.status();
  if (regular) {
    if (absl::Status s = CheckUnchanged(path, file.get(), status); !s.ok()) return s;
  }
  return ParseOwned(path, *std::move(bytes), reading);
}

// --- Folders

// The files below a folder that are to be read, each listed once.
class FolderWalk {
 public:
  explicit FolderWalk(ImportStats& stats) : stats_(stats) {}

  absl::Status Enter(const std::string& path) {
    if (struct stat status = {}; ::stat(path.c_str(), &status) != 0) {
      return FileError(path, errno);
    } else if (!seen_.emplace(status.st_dev, status.st_ino).second) {
      return absl::OkStatus();
    }
    std::error_code error;
    std::vector<std::string> names;
    fs::directory_iterator each(path, error);
    for (; !error && each != fs::directory_iterator(); each.increment(error)) {
      names.push_back(each->path().filename().string());
    }
    if (error) return FileError(path, error.value());
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (name.starts_with('.')) continue;
      if (absl::Status met = Meet((fs::path(path) / name).string(), name); !met.ok()) return met;
    }
    return absl::OkStatus();
  }

  [[nodiscard]] std::vector<std::string> TakeFiles() && {
    std::sort(files_.begin(), files_.end());
    return std::move(files_);
  }

 private:
  absl::Status Meet(const std::string& path, const std::string& name) {
    struct stat status = {};
    const bool dump = IsDumpName(name);
    if (::stat(path.c_str(), &status) != 0) {
      return dump ? FileError(path, errno) : absl::OkStatus();  // Such as a dangling link.
    }
    if (S_ISDIR(status.st_mode)) return Enter(path);
    if (!dump) return absl::OkStatus();
    if (!S_ISREG(status.st_mode)) {
      if (stats_.files_skipped++ == 0) stats_.first_skipped = path;
      return absl::OkStatus();
    }
    if (seen_.emplace(status.st_dev, status.st_ino).second) files_.push_back(path);
    return absl::OkStatus();
  }

  ImportStats& stats_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<std::string> files_;
};

// Reads the files of one folder or archive, one file at a time.
class FilesTogether {
 public:
  explicit FilesTogether(const Reading& reading) : reading_(reading) {
    reading_.strangers = Strangers::kCounted;
  }

  [[nodiscard]] const Reading& reading() const { return reading_; }
  [[nodiscard]] bool found() const { return found_; }

  // `read` reads the file at `path`.  A FormError stops the import only if objects of the file
  // were read before it, or if the file is broken and its name is that of a kind that ebb reads.
  template <typename Read>
  absl::Status Add(const std::string& path, Read&& read) {
    ImportStats& stats = reading_.stats;
    const uint64_t known = stats.known();
    const uint64_t objects = stats.objects;
    const uint64_t archives = stats.archives_unread;
    const uint64_t files = stats.files;
    absl::Status status = read(reading_);
    const bool holds = stats.known() > known;
    found_ |= holds;
    ++files_;
    if (status.ok()) {
      const bool passed_over = stats.archives_unread > archives || stats.files > files + 1;
      if (!holds && !passed_over && stats.files_without_objects++ == 0) {
        stats.first_without_objects = path;
      }
      return status;
    }
    const auto problem = FormErrorOf(status);
    if (!problem.has_value() || stats.objects > objects) return status;
    if (problem->broken && KindByName(path).read) return status;
    const bool matters = problem->matters;
    std::string& first = matters ? stats.first_unread : stats.first_foreign;
    if ((matters ? stats.files_unread : stats.files_foreign)++ == 0)
      first = std::string(status.message());
    if (first_problem_.ok() || (matters && !problem_matters_)) first_problem_ = std::move(status);
    problem_matters_ |= matters;
    return absl::OkStatus();
  }

  // The error for a folder or archive in which no file holds a Kubernetes object.
  [[nodiscard]] absl::Status NothingFound(std::string_view name) const {
    if (!first_problem_.ok()) return first_problem_;
    if (files_ == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(Absl(name),
                       ": has no file with the name of a dump (*.json, *.yaml, *.yml, *.pb, *.gz, "
                       "*.tar, *.tgz)"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        Absl(name), ": none of its ", files_, files_ == 1 ? " file" : " files",
        " holds an object of Kubernetes, the first being ", reading_.stats.first_without_objects,
        "; pass what `kubectl get ... -A -o json` prints"));
  }

 private:
  Reading reading_;
  bool found_ = false;
  uint64_t files_ = 0;
  absl::Status first_problem_;
  bool problem_matters_ = false;
};

absl::Status ReadArchive(std::string_view name, std::string_view bytes, const Reading& reading) {
  const absl::StatusOr<std::vector<TarFile>> all = FilesOfTar(name, bytes);
  if (!all.ok()) return all.status();
  Reading inner = reading;
  inner.archives = false;
  FilesTogether files(inner);
  for (const TarFile& file : *all) {
    const std::string path = absl::StrCat(Absl(name), "/", file.name);
    const bool hidden = file.name.starts_with('.') || file.name.find("/.") != file.name.npos;
    if (hidden || !IsDumpName(file.name)) continue;
    absl::Status read = files.Add(path, [&](const Reading& each) {
      ++each.stats.files;
      return Parse(path, file.bytes, true, each);  // Padded: the archive's end follows it.
    });
    if (!read.ok()) return read;
  }
  return files.found() ? absl::OkStatus() : files.NothingFound(name);
}

// Whether the name is an archive's.  A folder's archives are read only if nothing else is a dump.
bool IsArchiveName(std::string_view name) {
  return WithoutGz(name).ends_with(".tar") || name.ends_with(".tgz");
}

absl::Status ReadFolder(const std::string& path, const Reading& reading) {
  FolderWalk walk(reading.stats);
  if (absl::Status entered = walk.Enter(path); !entered.ok()) return entered;
  std::vector<std::string> all = std::move(walk).TakeFiles();
  const auto archives = std::stable_partition(
      all.begin(), all.end(), [](const std::string& file) { return !IsArchiveName(file); });
  Reading beside = reading;
  beside.archives = false;
  FilesTogether files(beside);
  for (auto file = all.begin(); file != archives; ++file) {
    absl::Status read =
        files.Add(*file, [&](const Reading& each) { return ReadFile(*file, each); });
    if (!read.ok()) return read;
  }
  // A must-gather contains archives of other tools, which were made at another time.
  if (files.found()) {
    const auto left = static_cast<uint64_t>(all.end() - archives);
    if (left > 0 && reading.stats.archives_unread == 0) reading.stats.first_archive = *archives;
    reading.stats.archives_unread += left;
    return absl::OkStatus();
  }
  FilesTogether packed(reading);
  for (auto file = archives; file != all.end(); ++file) {
    absl::Status read =
        packed.Add(*file, [&](const Reading& each) { return ReadFile(*file, each); });
    if (!read.ok()) return read;
  }
  if (packed.found()) return absl::OkStatus();
  return archives == all.end() ? files.NothingFound(path) : packed.NothingFound(path);
}

}  // namespace

bool IsDumpName(std::string_view name) {
  for (const std::string_view suffix : {".json", ".yaml", ".yml", ".gz", ".pb", ".tar", ".tgz"}) {
    if (EndsWith(name, suffix)) return true;
  }
  return false;
}

uint64_t ImportStats::known() const {
  uint64_t known = objects + lists;
  for (const auto& [kind, count] : ignored) known += count;
  return known;
}

absl::Status ReadInput(std::string_view path, ObjectSink& sink, ImportStats& stats,
                       const Parallelism& parallelism, const InputLimits& limits) {
  const Reading reading{.sink = sink, .stats = stats, .parallelism = parallelism, .limits = limits};
  if (path == "-") return ReadStandardInput(reading);
  const std::string name(path);
  std::error_code error;
  if (fs::is_directory(name, error)) return ReadFolder(name, reading);
  return ReadFile(name, reading);
}

absl::Status ReadBytes(std::string_view name, std::string_view bytes, ObjectSink& sink,
                       ImportStats& stats, const Parallelism& parallelism,
                       const InputLimits& limits) {
  return Parse(name, bytes, false,
               {.sink = sink, .stats = stats, .parallelism = parallelism, .limits = limits});
}

}  // namespace ebb
