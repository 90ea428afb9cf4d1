// OutputFile writes one file whole or not at all.
//
//   absl::StatusOr<OutputFile> file = OutputFile::Create("cluster.pb");
//   if (absl::Status s = file->Write(bytes); !s.ok()) return s;  // As often as needed.
//   if (absl::Status s = file->Commit(); !s.ok()) return s;
//
// Write writes to a temporary file beside the target, and Commit renames it to the target.  Until
// then, and after any error, the old file stays unchanged, and the temporary file is removed.  A
// process that is killed at any moment leaves the old file or the new one.  It may also leave a
// temporary file, which ebb ignores: ".cluster.pb.ebb-tmp-<process>-<number>".
//
// Target:      through a symbolic link, the file that the link points to; the link stays.
//              Permissions and, where allowed, owner are those of the file that is replaced, else
//              what the umask leaves of 0666.  A file without permission to write is not replaced.
//              Other names (hard links) of the old file keep the old content.
// Other files: a target that is not a regular file (/dev/full, /dev/null, a pipe), or that is
//              standard output, is written directly, because it has no old content to keep.
// Errors:      one line naming the path: cannot be made, written, synced or renamed.
// Cost:        Commit syncs the file and its folder: some milliseconds on a disk.
// Threads:     one at a time.

#ifndef EBB_PLATFORM_OUTPUT_FILE_H_
#define EBB_PLATFORM_OUTPUT_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ebb {

class OutputFile {
 public:
  // Part of the name of every temporary file.
  static constexpr std::string_view kTemporaryMark = ".ebb-tmp-";

  static absl::StatusOr<OutputFile> Create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  // Discards bytes that were not committed.
  ~OutputFile();

  // After an error every further call returns that error.
  absl::Status Write(std::string_view bytes);

  // Replaces the target with what was written.  Call it once, after the last Write.
  absl::Status Commit();

 private:
  OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  absl::Status Flush();
  absl::Status Sync();
  absl::Status Close();
  absl::Status Error(std::string_view doing, int error);
  void Abandon();

  std::string path_;  // As the user wrote it.
  int fd_;            // -1: closed.
  std::string target_;
  std::string temporary_;  // Empty: the target is written directly.
  std::string buffer_;
  absl::Status status_;
};

// Writes a whole file at once.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// Writes all of `bytes` to `fd`.  Returns 0 or the system's error number.
int WriteAll(int fd, std::string_view bytes);

}  // namespace ebb

#endif  // EBB_PLATFORM_OUTPUT_FILE_H_
