#include "platform/file_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/read_input.h"

namespace ebb {
namespace {

namespace fs = std::filesystem;

// One of the files, as the system sees it.
struct Seen {
  const UsedFile* file = nullptr;
  std::string path;
  bool is_standard = false;  // Standard input or output, which was opened before ebb started.
  std::optional<std::pair<dev_t, ino_t>> identity;  // Set for a regular file that exists.
  bool is_other = false;                            // It exists and is not a regular file.
  bool is_folder = false;
  fs::path place;  // Its folder, with links resolved, and its name.
};

bool Writes(const Seen& seen) { return seen.file->use != FileUse::kRead; }

void SetIdentity(const struct stat& status, Seen& seen) {
  seen.is_folder = S_ISDIR(status.st_mode);
  seen.is_other = !S_ISREG(status.st_mode);
  if (!seen.is_other) seen.identity = {status.st_dev, status.st_ino};
}

Seen Look(const UsedFile& file, const std::string& path) {
  Seen seen;
  seen.file = &file;
  seen.path = path;
  struct stat status = {};
  if (path == "-") {
    seen.is_standard = true;
    seen.is_other = true;
    const int fd = file.use == FileUse::kRead ? STDIN_FILENO : STDOUT_FILENO;
    if (::fstat(fd, &status) == 0) SetIdentity(status, seen);
    return seen;
  }
  if (::stat(path.c_str(), &status) == 0) SetIdentity(status, seen);
  const absl::StatusOr<std::string> target = FollowLinks(path);
  std::error_code error;
  const fs::path end = target.ok() ? *target : path;
  seen.place = fs::weakly_canonical(fs::absolute(end, error), error);
  return seen;
}

bool IsOneFile(const Seen& a, const Seen& b) {
  if (a.identity && b.identity) return *a.identity == *b.identity;
  if (a.is_other || b.is_other || a.identity || b.identity) return false;
  return !a.place.empty() && a.place == b.place;  // Neither exists yet.
}

// Whether reading `folder` reads `file`, or would read it once it is written.
bool Holds(const Seen& folder, const Seen& file) {
  if (!folder.is_folder) return false;
  if (!file.place.empty() && IsDumpName(file.place.filename().string())) {
    const auto [rest, ignored] = std::mismatch(folder.place.begin(), folder.place.end(),
                                               file.place.begin(), file.place.end());
    if (rest == folder.place.end()) return true;
  }
  if (!file.identity) return false;
  // Another name of the file, or a link to it, may lie in the folder.
  std::error_code error;
  for (fs::recursive_directory_iterator each(folder.path, error), end; !error && each != end;
       each.increment(error)) {
    struct stat status = {};
    if (IsDumpName(each->path().filename().string()) &&
        ::stat(each->path().c_str(), &status) == 0 &&
        std::pair(status.st_dev, status.st_ino) == *file.identity) {
      return true;
    }
  }
  return false;
}

absl::Status Both(const Seen& a, const Seen& b) {
  const std::string& path = b.is_standard ? a.path : b.path;
  return absl::InvalidArgumentError(absl::StrCat(Printable(path), ": is both ", a.file->flag,
                                                 " and ", b.file->flag, "; name another file"));
}

absl::Status CheckPair(const Seen& a, const Seen& b) {
  const auto reads_input = [](const Seen& s) {
    return s.file->use == FileUse::kRead && s.path == "-";
  };
  if (reads_input(a) && reads_input(b)) {
    return absl::InvalidArgumentError(absl::StrCat("standard input can be read once, and is both ",
                                                   a.file->flag, " and ", b.file->flag,
                                                   "; name a file"));
  }
  if (!Writes(a) && !Writes(b)) return absl::OkStatus();
  // Bytes for a file that is also standard output are written through standard output.
  const auto writes_plainly = [](const Seen& s) { return s.file->use == FileUse::kWrite; };
  if ((a.is_standard || b.is_standard) && writes_plainly(a) && writes_plainly(b)) {
    return absl::OkStatus();
  }
  if (IsOneFile(a, b)) return Both(a, b);
  for (const auto& [folder, file] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (folder->file->use != FileUse::kRead || !Writes(*file) || !Holds(*folder, *file)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(folder->path), ": is ", folder->file->flag, " and a folder that holds ",
        file->file->flag, file->is_standard ? "" : " " + Printable(file->path),
        "; name a file elsewhere"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FollowLinks(const std::string& path) {
  constexpr int kLinksMax = 40;  // As many as Linux follows.
  fs::path at = path;
  for (int links = 0; links < kLinksMax; ++links) {
    std::error_code error;
    if (!fs::is_symlink(at, error)) return at.string();
    const fs::path next = fs::read_symlink(at, error);
    if (error) break;
    at = at.parent_path() / next;  // An absolute `next` replaces the folder.
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", std::generic_category().message(ELOOP)));
}

absl::Status CheckFiles(std::span<const UsedFile> files) {
  static const UsedFile kStandardOutput{"standard output", "-", FileUse::kWrite};
  std::vector<Seen> seen;
  for (const UsedFile& file : files) {
    if (file.path.empty()) continue;
    seen.push_back(Look(file, file.path));
    if (file.use != FileUse::kDatabase) continue;
    for (const char* journal : {"-journal", "-wal", "-shm"}) {
      seen.push_back(Look(file, file.path + journal));
    }
  }
  seen.push_back(Look(kStandardOutput, "-"));
  for (size_t a = 0; a < seen.size(); ++a) {
    for (size_t b = a + 1; b < seen.size(); ++b) {
      if (seen[a].file == seen[b].file) continue;
      if (absl::Status s = CheckPair(seen[a], seen[b]); !s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

}  // namespace ebb
