// The files in a tar archive: ustar, with the long names of pax and of GNU.
//
// Errors:  a damaged or truncated archive.
// Cost:    one look at each header; nothing is copied but names.
// Threads: pure functions.
// Source:  POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar, "Basic Tar Format".

#ifndef EBB_SNAPSHOT_FORMATS_TAR_ARCHIVE_H_
#define EBB_SNAPSHOT_FORMATS_TAR_ARCHIVE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ebb {

// Whether a text begins as a tar archive does.
bool IsTar(std::string_view bytes);

struct TarFile {
  std::string name;  // Without "./" in front.
  std::string_view bytes;
};

// The regular files, by name; links lead to files that are there themselves.  `archive` stands
// for it in errors.
absl::StatusOr<std::vector<TarFile>> FilesOfTar(std::string_view archive, std::string_view bytes);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_TAR_ARCHIVE_H_
