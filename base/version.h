// The version of ebb, as `ebb --version` prints it.

#ifndef EBB_BASE_VERSION_H_
#define EBB_BASE_VERSION_H_

#include <string_view>

namespace ebb {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace ebb

#endif  // EBB_BASE_VERSION_H_
