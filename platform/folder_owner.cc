#include "platform/folder_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/printable.h"

namespace ebb {
namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;  // As many as Linux follows.
// The owner that files have if their user is not mapped in this user namespace; usually root.
constexpr uid_t kUnmappedUser = 65534;

bool IsTrusted(uid_t owner, uid_t user) {
  return owner == user || owner == 0 || owner == kUnmappedUser;
}

absl::Status PlaceError(const fs::path& path, int error) {
  return absl::ErrnoToStatus(error, Printable(path.string()));
}

// Inserts the parts of a path before `rest`.
void Prepend(const fs::path& path, std::deque<std::string>& rest) {
  std::deque<std::string> parts;
  for (const fs::path& part : path.relative_path()) parts.push_back(part.string());
  rest.insert(rest.begin(), parts.begin(), parts.end());
}

// Errors: those of lstat.
absl::Status LookAt(const fs::path& path, PlaceFacts& facts) {
  struct stat status{};
  struct stat above{};
  if (lstat(path.c_str(), &status) != 0) return PlaceError(path, errno);
  const bool has_above = S_ISDIR(status.st_mode) && stat((path / "..").c_str(), &above) == 0;
  facts = {.uid = status.st_uid,
           .mode = status.st_mode,
           .is_mount = has_above && above.st_dev != status.st_dev};
  return absl::OkStatus();
}

}  // namespace

std::string WhyReplaceable(const PlaceFacts& folder, const PlaceFacts& entry, uid_t user) {
  if (!IsTrusted(folder.uid, user)) return "is another user's";
  if ((folder.mode & (S_IWGRP | S_IWOTH)) == 0 || folder.is_mount) return "";
  if ((folder.mode & S_ISVTX) == 0) return "may be written by others; chmod go-w it";
  return IsTrusted(entry.uid, user) ? "" : "has another user's entry of that name";
}

absl::Status CheckOnlyWeMayReplace(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return PlaceError(path, error.value());
  fs::path folder = "/";
  std::deque<std::string> rest;
  Prepend(absolute, rest);
  int links = 0;
  while (!rest.empty()) {
    const std::string part = rest.front();
    rest.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      folder = folder.parent_path();  // `folder` contains no links.
      continue;
    }
    const fs::path entry = folder / part;
    PlaceFacts above;
    PlaceFacts there;
    if (absl::Status s = LookAt(folder, above); !s.ok()) return s;
    absl::Status looked = LookAt(entry, there);
    const bool is_to_be_made = absl::IsNotFound(looked) && rest.empty();
    if (is_to_be_made) there.uid = geteuid();
    if (!looked.ok() && !is_to_be_made) return looked;
    if (const std::string why = WhyReplaceable(above, there, geteuid()); !why.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(folder.string()), ", in which ", Printable(part), " is, ", why));
    }
    if (!S_ISLNK(there.mode)) {
      folder = entry;
      continue;
    }
    if (++links > kLinksMax) return PlaceError(entry, ELOOP);
    const fs::path target = fs::read_symlink(entry, error);
    if (error) return PlaceError(entry, error.value());
    if (target.is_absolute()) folder = "/";
    Prepend(target, rest);
  }
  return absl::OkStatus();
}

}  // namespace ebb
