// What a message of protobuf takes in memory, before it is parsed.
//
// A part of two bytes on the wire (an empty message in a list) becomes some hundred bytes in
// memory: 61 MiB became 3.2 GB.  So the parts are counted on the wire, at no cost of memory, and a
// message that would take too much beside its own bytes is refused.
//
// Cost:    reads the bytes once, and the bytes of strings not at all; ends where it refuses.
// Errors:  ResourceExhausted: the parts take more than kPartsBytesMax; InvalidArgument: the bytes
//          are not a message.
// Threads: pure.

#ifndef EBB_DAEMON_MESSAGE_PARTS_H_
#define EBB_DAEMON_MESSAGE_PARTS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace google::protobuf {
class Descriptor;
namespace io {
class ZeroCopyInputStream;
}
}  // namespace google::protobuf

namespace ebb {

// Beside the bytes of strings.  700,000 objects fit, or all that fits into 64 MiB where an object
// has 100 bytes.
inline constexpr uint64_t kPartsBytesMax = uint64_t{128} << 20;

absl::Status CheckMessageParts(const google::protobuf::Descriptor& type,
                               google::protobuf::io::ZeroCopyInputStream& bytes,
                               uint64_t parts_bytes_max = kPartsBytesMax);

}  // namespace ebb

#endif  // EBB_DAEMON_MESSAGE_PARTS_H_
