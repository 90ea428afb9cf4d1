// Limits of reading, and counts of what was read.

#ifndef EBB_SNAPSHOT_FORMATS_IMPORT_STATS_H_
#define EBB_SNAPSHOT_FORMATS_IMPORT_STATS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace ebb {

// What an input may ask for; more of it is an error.
struct InputLimits {
  // Bytes that the inputs of one ImportStats may hold together, after decompression.
  uint64_t bytes_max = uint64_t{8} << 30;
  // How many times its own size a gzip file may hold; checked from 64 MiB of output on.
  // Dumps stay below 50; what goes beyond was made to fill the memory.
  uint64_t inflate_ratio_max = 100;
};

// Whether a document that is not a Kubernetes object is an error.
enum class Strangers : uint8_t { kRefused, kCounted };

// What an import met.  Counters only grow: pass one to several reads to add up.
struct ImportStats {
  uint64_t files = 0;
  uint64_t bytes = 0;    // As they were parsed, that is after decompression.
  uint64_t objects = 0;  // Handed to the sink, ignored ones not among them.
  std::map<std::string, uint64_t, std::less<>> ignored;  // Kind -> objects.
  uint64_t lists = 0;
  uint64_t strangers = 0;  // Documents that are no Kubernetes object, where that is allowed.
  // Files whose objects do not say their kind, which is of the file's name then; "FILE: KIND".
  uint64_t files_of_named_kind = 0;
  std::string first_of_named_kind;
  // Files of folders and archives that are broken or of a form that ebb does not read: those that
  // seem to hold objects which it needs, and others.  Each with the error of its first.
  uint64_t files_unread = 0;
  std::string first_unread;
  uint64_t files_foreign = 0;
  std::string first_foreign;
  // Archives in a folder that holds a dump beside them, or in an archive.
  uint64_t archives_unread = 0;
  std::string first_archive;
  // Files of folders: those that hold no object, and those that are no regular files.
  uint64_t files_without_objects = 0;
  std::string first_without_objects;
  uint64_t files_skipped = 0;
  std::string first_skipped;

  // Documents of Kubernetes: objects of any kind, and empty lists.
  [[nodiscard]] uint64_t known() const;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_IMPORT_STATS_H_
