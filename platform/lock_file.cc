#include "platform/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ebb {
namespace {

// Whether `path` still names the open file.
bool IsNamed(int fd, const std::string& path) {
  struct stat open_file{};
  struct stat named{};
  return fstat(fd, &open_file) == 0 && lstat(path.c_str(), &named) == 0 &&
         open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

}  // namespace

absl::StatusOr<LockFile> LockFile::Take(const std::string& path) {
  while (true) {
    UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.get() < 0) {
      return absl::InvalidArgumentError(std::generic_category().message(errno));
    }
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return absl::FailedPreconditionError("another process holds it");
    }
    // Between open and lock, the previous owner released the lock and removed the file: try again.
    if (IsNamed(fd.get(), path)) return LockFile(path, std::move(fd));
  }
}

LockFile::~LockFile() {
  // The file is removed while it is still locked, so another process that has opened it then sees
  // that the path no longer names it.
  if (fd_.get() >= 0 && IsNamed(fd_.get(), path_)) unlink(path_.c_str());
}

}  // namespace ebb
