// What a message from another process may hold, whoever reads it: the daemon of its clients, a
// loop of the daemon and of plugins.  More is refused.

#ifndef EBB_WIRE_WIRE_LIMITS_H_
#define EBB_WIRE_WIRE_LIMITS_H_

#include <cstddef>

namespace ebb {

inline constexpr int kWireRowsMax = 100'000;  // Of a repeated field.
inline constexpr size_t kWireNameMax = 1000;  // Bytes of a name that is shown or compared.

}  // namespace ebb

#endif  // EBB_WIRE_WIRE_LIMITS_H_
