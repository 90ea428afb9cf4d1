// WatchStream splits the output of a watch into its documents, however the bytes are divided.
//
//   WatchStream stream(10 << 20);
//   stream.Append(bytes);
//   while (true) {
//     absl::StatusOr<std::optional<WatchEvent>> event = stream.Next();
//     if (!event.ok()) {
//       Log(event.status());  // One document is lost.
//       continue;
//     }
//     if (!event->has_value()) break;  // Until more bytes come.
//     Carry(**event);
//   }
//
// Input:   the output of `kubectl get ... -w --output-watch-events -o json`: events, one document
//          each, on one line or on several.  Without that flag kubectl prints bare objects and
//          lists; these are accepted too.  A document that is truncated or too large ends where
//          the next event begins at the start of a line.
//
// Errors:  InvalidArgument or ResourceExhausted, with the line at which the document begins: text
//          that is not a JSON object, a document without an end, a document beyond the limit, an
//          event without type or object, an event with two of either.  The next call continues
//          after that document.  A stream that is compressed or UTF-16 is ignored as a whole;
//          the error is returned once.
// Memory:  at most the limit plus the bytes that were appended last.
// Cost:    linear; a document that arrives in pieces is scanned again for each piece that contains
//          a closing brace.
// Threads: one thread at a time.

#ifndef EBB_SNAPSHOT_IMPORT_WATCH_STREAM_H_
#define EBB_SNAPSHOT_IMPORT_WATCH_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ebb {

struct WatchEvent {
  enum class Type : uint8_t {
    kAdded,  // Also a bare object or a list.
    kModified,
    kDeleted,
    kBookmark,  // Has a new resourceVersion, and no change.
    kError,     // The watch has failed; `object` is a Status.
  };
  Type type;
  std::string_view object;  // JSON; valid until the next call.
  uint64_t line;            // Where the document begins, counted from 1.
  bool bare = false;        // Whether the object or list came without an event around it.
};

class WatchStream {
 public:
  explicit WatchStream(size_t document_bytes_max) : document_bytes_max_(document_bytes_max) {}

  void Append(std::string_view bytes);
  // Declares the end of the stream: a document without an end is now an error.
  void End() { ended_ = true; }

  // The next event, or nullopt if more bytes are needed.
  absl::StatusOr<std::optional<WatchEvent>> Next();

 private:
  [[nodiscard]] std::string_view Rest() const { return std::string_view(buffer_).substr(at_); }
  void Skip(size_t bytes);
  absl::StatusOr<bool> Begin();
  void SkipBlanks();
  bool SkipToEvent();
  absl::Status SkipJunk();
  absl::Status SkipUnended(size_t bytes, std::string_view what);
  [[nodiscard]] absl::Status Error(absl::StatusCode code, std::string_view what) const;
  absl::StatusOr<std::optional<WatchEvent>> Parse(std::string_view document) const;

  const size_t document_bytes_max_;
  std::string buffer_;
  size_t at_ = 0;         // Bytes before this were returned or skipped.
  size_t given_ = 0;      // Size of the document that was returned last.
  size_t looked_ = 0;     // Bytes of Rest() already scanned without finding an end.
  uint64_t line_ = 1;     // Of at_.
  bool begun_ = false;    // The start was read: a byte order mark can no longer come.
  bool foreign_ = false;  // The stream is compressed or UTF-16, and ignored.
  bool at_line_start_ = true;
  bool skipping_line_ = false;  // Skips junk to the end of its line.
  bool skipping_ = false;       // Skips a document that was too large, to the next event.
  bool ended_ = false;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_WATCH_STREAM_H_
