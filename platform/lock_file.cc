#include "platform/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ebb {
namespace {

// Whether the name is still that of the open file.
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
    // Another process that let go of it between the two has removed the file.
    if (IsNamed(fd.get(), path)) return LockFile(path, std::move(fd));
  }
}

LockFile::~LockFile() {
  // While it is locked: another process that has opened it finds its name gone.
  if (fd_.get() >= 0 && IsNamed(fd_.get(), path_)) unlink(path_.c_str());
}

}  // namespace ebb
