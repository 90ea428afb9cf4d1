// The files in a tar archive: ustar, with the long names of pax and of GNU.
//
// Errors:  a damaged or truncated archive.
// Cost:    reads each header once; copies only names.
// Threads: pure functions.
// Source:  POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar, "Basic Tar Format".

#ifndef EBB_SNAPSHOT_FORMATS_TAR_ARCHIVE_H_
#define EBB_SNAPSHOT_FORMATS_TAR_ARCHIVE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ebb {

// Whether `bytes` starts as a tar archive does.
bool IsTar(std::string_view bytes);

struct TarFile {
  std::string name;  // Without "./" in front.
  std::string_view bytes;
};

// The regular files, ordered by name.  Links are left out, as they lead to files of the archive.
// `archive` is the archive's name in errors.
absl::StatusOr<std::vector<TarFile>> FilesOfTar(std::string_view archive, std::string_view bytes);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_TAR_ARCHIVE_H_
