// LockFile: a file that one process holds locked, and that is removed when the process releases it.
//
//   absl::StatusOr<LockFile> lock = LockFile::Take("/run/ebb/ebb.sock.lock");
//
// The lock is on the open file, so that it ends with its process, however that ends.  A killed
// process leaves an empty file behind, which the next process takes over.

#ifndef EBB_PLATFORM_LOCK_FILE_H_
#define EBB_PLATFORM_LOCK_FILE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace ebb {

class LockFile {
 public:
  LockFile() = default;
  // Errors, without the path: FailedPrecondition: another process holds the lock; InvalidArgument:
  // the file cannot be made, in the system's words.
  static absl::StatusOr<LockFile> Take(const std::string& path);
  LockFile(LockFile&& other) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  // Removes the file.
  ~LockFile();

 private:
  LockFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace ebb

#endif  // EBB_PLATFORM_LOCK_FILE_H_
