// WatchStream cuts the output of a watch into its documents, however the bytes come in.
//
//   WatchStream stream(10 << 20);
//   stream.Append(bytes);
//   while (true) {
//     absl::StatusOr<std::optional<WatchEvent>> event = stream.Next();
//     if (!event.ok()) {
//       Tell(event.status());  // One document is lost.
//       continue;
//     }
//     if (!event->has_value()) break;  // Until more bytes come.
//     Carry(**event);
//   }
//
// Takes what `kubectl get ... -w --output-watch-events -o json` prints: events, one document
// each, on one line or on many, and what kubectl prints without that flag: bare objects and
// lists.  A document that was cut off, or is too large, ends where the next event begins at the
// start of a line.
//
// Errors:  InvalidArgument or ResourceExhausted, naming the line at which the document begins:
//          text that is no JSON object, a document without an end, one beyond the limit, an
//          event without type or object or with two.  The next call goes on behind it.  Of a
//          stream that is compressed or UTF-16 nothing is taken; that is told once.
// Memory:  never more than the limit and what was appended last.
// Cost:    linear; a document that comes in pieces is looked through again for each piece
//          that holds a closing brace.
// Threads: one at a time.

#ifndef EBB_SNAPSHOT_FORMATS_WATCH_STREAM_H_
#define EBB_SNAPSHOT_FORMATS_WATCH_STREAM_H_

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
    kAdded,  // Or a bare object, or a list.
    kModified,
    kDeleted,
    kBookmark,  // Tells a version, and no change.
    kError,     // The watch has failed; `object` is a Status.
  };
  Type type;
  std::string_view object;  // JSON; valid until the next call.
  uint64_t line;            // At which the document begins, from 1.
  bool bare = false;        // No event stood around the object.
};

class WatchStream {
 public:
  explicit WatchStream(size_t document_bytes_max) : document_bytes_max_(document_bytes_max) {}

  void Append(std::string_view bytes);
  // No more bytes will come: what has no end by now never will.
  void End() { ended_ = true; }

  // The next event; nothing: not before more bytes come.
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
  size_t at_ = 0;         // What is before was given out.
  size_t given_ = 0;      // Bytes of the document that was given out last.
  size_t looked_ = 0;     // Bytes of Rest() that were found to have no end.
  uint64_t line_ = 1;     // Of at_.
  bool begun_ = false;    // A byte order mark can come no more.
  bool foreign_ = false;  // Compressed or UTF-16: no event is in it.
  bool at_line_start_ = true;
  bool skipping_line_ = false;  // Junk, up to its end.
  bool skipping_ = false;       // What was too large, up to the next event.
  bool ended_ = false;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_WATCH_STREAM_H_
