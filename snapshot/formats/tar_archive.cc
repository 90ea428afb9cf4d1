#include "snapshot/formats/tar_archive.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "snapshot/formats/form_error.h"

namespace ebb {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMagicAt = 257;

// A text field of the header, up to its first zero byte.
std::string_view FieldOf(std::string_view header, size_t at, size_t size) {
  const std::string_view field = header.substr(at, size);
  return field.substr(0, field.find('\0'));
}

// A number: octal digits between blanks, or, as GNU writes large numbers, bytes after 0x80.
std::optional<uint64_t> NumberOf(std::string_view header, size_t at, size_t size) {
  const std::string_view bytes = header.substr(at, size);
  uint64_t number = 0;
  if (static_cast<unsigned char>(bytes[0]) == 0x80) {
    for (const char c : bytes.substr(1)) {
      if (number >> 48 != 0) return std::nullopt;
      number = number << 8 | static_cast<unsigned char>(c);
    }
    return number;
  }
  std::string_view digits = FieldOf(header, at, size);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  for (const char c : digits) {
    if (c < '0' || c > '7') return std::nullopt;
    number = number << 3 | static_cast<uint64_t>(c - '0');
  }
  return number;
}

// Whether the checksum is right: the sum of the header's bytes, with its own field as blanks.
bool SumIsRight(std::string_view header) {
  constexpr size_t kSumAt = 148;
  constexpr size_t kSumBytes = 8;
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kSumAt && i < kSumAt + kSumBytes;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return NumberOf(header, kSumAt, kSumBytes) == sum;
}

// The value of `key` in pax records ("LENGTH KEY=VALUE\n", repeated), or "".
std::string_view PaxValue(std::string_view records, std::string_view key) {
  while (!records.empty()) {
    const size_t blank = records.find(' ');
    size_t length = 0;
    if (blank == records.npos || !absl::SimpleAtoi(Absl(records.substr(0, blank)), &length) ||
        length <= blank + 1 || length > records.size()) {
      return {};
    }
    const std::string_view record = records.substr(blank + 1, length - blank - 2);
    if (record.starts_with(key) && record.substr(key.size()).starts_with('=')) {
      return record.substr(key.size() + 1);
    }
    records.remove_prefix(length);
  }
  return {};
}

// Walks the archive from header to header.
class TarReader {
 public:
  TarReader(std::string_view archive, std::string_view bytes) : archive_(archive), bytes_(bytes) {}

  absl::StatusOr<std::vector<TarFile>> Read() {
    while (at_ + kBlock <= bytes_.size()) {
      const std::string_view header = bytes_.substr(at_, kBlock);
      if (header.find_first_not_of('\0') == header.npos) return Sorted();  // The archive's end.
      if (!SumIsRight(header)) return Error("is damaged");
      if (absl::Status read = Entry(header); !read.ok()) return read;
    }
    return Error("is truncated");
  }

 private:
  absl::Status Entry(std::string_view header) {
    uint64_t size = NumberOf(header, 124, 12).value_or(UINT64_MAX);
    if (const std::string_view pax = PaxValue(pax_, "size"); !pax.empty()) {
      if (!absl::SimpleAtoi(Absl(pax), &size)) return Error("is damaged");
    }
    const size_t left = bytes_.size() - at_ - kBlock;
    if (size > left) return Error("is truncated");
    const std::string_view content = bytes_.substr(at_ + kBlock, size);
    at_ += kBlock + (size + kBlock - 1) / kBlock * kBlock;
    switch (header[156]) {
      case 'x':
        pax_ = content;
        return absl::OkStatus();
      case 'L':
        long_name_ = content.substr(0, content.find('\0'));
        return absl::OkStatus();
      case '0':
      case '\0':
      case '7':
        files_.push_back({NameOf(header), content});
        break;
      case 'S':
        return Error("holds a sparse file, which ebb does not read; unpack it and pass its folder");
      default:  // Folders, links, devices, pax headers that apply to all files.
        break;
    }
    pax_ = long_name_ = {};
    return absl::OkStatus();
  }

  std::string NameOf(std::string_view header) const {
    std::string name(PaxValue(pax_, "path"));
    if (name.empty()) name = std::string(long_name_);
    if (name.empty()) {
      const std::string_view prefix = FieldOf(header, 345, 155);
      const bool has_prefix = !prefix.empty() && header.substr(kMagicAt, 6) != "ustar ";
      name = absl::StrCat(has_prefix ? Absl(prefix) : "", has_prefix ? "/" : "",
                          Absl(FieldOf(header, 0, 100)));
    }
    return name.starts_with("./") ? name.substr(2) : name;
  }

  std::vector<TarFile> Sorted() {
    std::ranges::stable_sort(files_, {}, &TarFile::name);
    return std::move(files_);
  }

  absl::Status Error(std::string_view problem) const {
    return BrokenText(archive_, absl::StrCat("byte ", at_, ": the tar archive ", Absl(problem)));
  }

  std::string_view archive_;
  std::string_view bytes_;
  size_t at_ = 0;
  std::string_view pax_;  // The pax records for the next entry.
  std::string_view long_name_;
  std::vector<TarFile> files_;
};

}  // namespace

bool IsTar(std::string_view bytes) {
  return bytes.size() > kMagicAt && bytes.substr(kMagicAt).starts_with("ustar");
}

absl::StatusOr<std::vector<TarFile>> FilesOfTar(std::string_view archive, std::string_view bytes) {
  return TarReader(archive, bytes).Read();
}

}  // namespace ebb
