// Limits for messages from another process: for the daemon, messages of its clients; for a loop,
// messages of the daemon and of plugins.  Messages beyond a limit are rejected.

#ifndef EBB_WIRE_WIRE_LIMITS_H_
#define EBB_WIRE_WIRE_LIMITS_H_

#include <cstddef>

namespace ebb {

inline constexpr int kWireRowsMax = 100'000;  // Items of a repeated field.
inline constexpr size_t kWireNameMax = 1000;  // Bytes of a name that is displayed or compared.

}  // namespace ebb

#endif  // EBB_WIRE_WIRE_LIMITS_H_
