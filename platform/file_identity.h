// Which names of files are one file, so that no command writes over what it reads.
//
//   CheckFiles({{"INPUT", "dump.json", FileUse::kRead},
//               {"--output", "./dump.json", FileUse::kWrite}})
//   -> dump.json: is both INPUT and --output; name another file
//
// Names are one file if the system says so (device and inode: links of both kinds,
// other spellings), or, where there is no file yet, if they lead to the same place.
// A folder that is read stands for all dumps below it, also those that are yet to be made.
// What is not a regular file (a terminal, /dev/null, a pipe) never equals another file.
//
// Threads: pure functions of the file system.

#ifndef EBB_PLATFORM_FILE_IDENTITY_H_
#define EBB_PLATFORM_FILE_IDENTITY_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ebb {

enum class FileUse : uint8_t {
  kRead,
  kWrite,     // Replaced, or made.
  kDatabase,  // SQLite's: read and written; its journals lie beside it.
};

struct UsedFile {
  std::string flag;  // As the user knows it: "--metrics", "INPUT".
  std::string path;  // Empty: not given.  "-": standard input where it is read, else output.
  FileUse use;
};

// An error naming both flags if a file that the command writes is also another one of
// its files, or if both read standard input.  Standard output counts as written too, as a
// shell makes it a file; a file that is written may be that, for what goes there follows
// what is printed.
absl::Status CheckFiles(std::span<const UsedFile> files);

// What the last link of a chain of symbolic links points to, whether or not it exists;
// the path itself if it is no link.
absl::StatusOr<std::string> FollowLinks(const std::string& path);

}  // namespace ebb

#endif  // EBB_PLATFORM_FILE_IDENTITY_H_
