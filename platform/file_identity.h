// Finds out which file names denote the same file, so that no command overwrites a file that it
// reads.
//
//   CheckFiles({{"INPUT", "dump.json", FileUse::kRead},
//               {"--output", "./dump.json", FileUse::kWrite}})
//   -> dump.json: is both INPUT and --output; name another file
//
// Two names denote the same file if the system says so (same device and inode, whatever the
// spelling, through hard or symbolic links), or, if no file exists yet, if they lead to the same
// place.  A folder that is read stands for all dumps below it, including dumps that do not exist
// yet.  Something that is not a regular file (a terminal, /dev/null, a pipe) never equals another
// file.
//
// Threads: any; the functions only read the file system.

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
  kWrite,     // Replaced or created.
  kDatabase,  // An SQLite file: read and written, with its journals beside it.
};

struct UsedFile {
  std::string flag;  // As the user wrote it: "--metrics", "INPUT".
  std::string path;  // Empty: not given.  "-": standard input for kRead, else standard output.
  FileUse use;
};

// Returns an error that names both flags if a file that the command writes is also another one of
// its files, or if two flags both read standard input.  The file behind standard output (as the
// shell redirects it) counts as written too.  A flag may still write to that file, because its
// bytes then go through standard output, one after the other.
absl::Status CheckFiles(std::span<const UsedFile> files);

// The path to which a chain of symbolic links leads, whether or not a file exists there; `path`
// itself if it is not a link.
absl::StatusOr<std::string> FollowLinks(const std::string& path);

}  // namespace ebb

#endif  // EBB_PLATFORM_FILE_IDENTITY_H_
