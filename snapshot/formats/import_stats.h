// Limits of reading, and counts of what was read.

#ifndef EBB_SNAPSHOT_FORMATS_IMPORT_STATS_H_
#define EBB_SNAPSHOT_FORMATS_IMPORT_STATS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace ebb {

// The largest input that is read; a larger one is an error.
struct InputLimits {
  // The total bytes of the inputs that share one ImportStats, after decompression.
  uint64_t bytes_max = uint64_t{8} << 30;
  // The largest ratio of a gzip file's content to its size; checked from 64 MiB of output on.
  // Dumps stay below 50; a file beyond the limit was made to fill the memory.
  uint64_t inflate_ratio_max = 100;
};

// Whether a document that is not a Kubernetes object is an error.
enum class Strangers : uint8_t { kRefused, kCounted };

// What an import read.  Counters only grow: pass one to several reads to add them up.
struct ImportStats {
  uint64_t files = 0;
  uint64_t bytes = 0;    // After decompression.
  uint64_t objects = 0;  // Handed to the sink; ignored objects do not count.
  std::map<std::string, uint64_t, std::less<>> ignored;  // Kind -> objects.
  uint64_t lists = 0;
  uint64_t strangers = 0;  // Documents that are not Kubernetes objects, where they are allowed.
  // Files whose objects have no kind of their own, so that the file's name gave the kind.  The
  // first is described as "FILE: KIND".
  uint64_t files_of_named_kind = 0;
  std::string first_of_named_kind;
  // Files in folders and archives that are broken or of a form that ebb does not read.  "unread":
  // files that seem to hold objects that ebb needs; "foreign": the others.  Each with the error
  // of the first file.
  uint64_t files_unread = 0;
  std::string first_unread;
  uint64_t files_foreign = 0;
  std::string first_foreign;
  // Archives that were skipped because a dump lies beside them in the folder, or because they are
  // inside another archive.
  uint64_t archives_unread = 0;
  std::string first_archive;
  // Files in folders that hold no object, and files that are not regular files.
  uint64_t files_without_objects = 0;
  std::string first_without_objects;
  uint64_t files_skipped = 0;
  std::string first_skipped;

  // The number of Kubernetes objects of any kind, plus the number of lists.
  [[nodiscard]] uint64_t known() const;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_IMPORT_STATS_H_
