// The version of ebb, and what the program knows of its own build.

#ifndef EBB_BASE_VERSION_H_
#define EBB_BASE_VERSION_H_

#include <string_view>

namespace ebb {

// As `ebb --version` prints it.
inline constexpr std::string_view kVersion = "0.1.0";

// Filled in by the program's main; texts live as long as the program.
struct BuildInfo {
  std::string_view commit;       // In hexadecimal; "": not built from a git checkout.
  std::string_view commit_time;  // RFC 3339, in UTC; "" without a commit.
  bool changed = false;          // The checkout had changes that the commit lacks.
  bool portable = false;         // One file, linked statically: loads no library.
};

}  // namespace ebb

#endif  // EBB_BASE_VERSION_H_
