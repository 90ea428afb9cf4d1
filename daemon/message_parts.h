// Checks how much memory a protobuf message needs, before it is parsed.
//
// A part of two bytes on the wire (an empty message in a list) becomes about a hundred bytes in
// memory: 61 MiB became 3.2 GB.  So the parts are counted on the wire, which needs no memory, and a
// message whose parts would need too much is rejected.
//
// Cost:    reads the bytes once, but not the bytes of strings; stops when it rejects.
// Errors:  ResourceExhausted: the parts need more than kPartsBytesMax; InvalidArgument: the bytes
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

// Not counting the bytes of strings. 700,000 objects fit, or all that fit into 64 MiB at 100 bytes
// per object.
inline constexpr uint64_t kPartsBytesMax = uint64_t{128} << 20;

absl::Status CheckMessageParts(const google::protobuf::Descriptor& type,
                               google::protobuf::io::ZeroCopyInputStream& bytes,
                               uint64_t parts_bytes_max = kPartsBytesMax);

}  // namespace ebb

#endif  // EBB_DAEMON_MESSAGE_PARTS_H_
