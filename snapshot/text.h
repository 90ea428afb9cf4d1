// Text on its way into Abseil, whose packaged string_view is a type of its own.

#ifndef EBB_SNAPSHOT_TEXT_H_
#define EBB_SNAPSHOT_TEXT_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace ebb {

inline absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace ebb

#endif  // EBB_SNAPSHOT_TEXT_H_
