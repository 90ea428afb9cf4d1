// The errors of this folder.  For this folder only.

#ifndef EBB_CEL_ERRORS_H_
#define EBB_CEL_ERRORS_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ebb::cel {

inline std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// Kubernetes refuses or fails, too.
inline absl::Status Refused(std::string_view why) {
  return {absl::StatusCode::kInvalidArgument, {why.data(), why.size()}};
}

// Kubernetes may do anything.
inline absl::Status NotUnderstood(std::string_view what) {
  return absl::UnimplementedError(Concat({"not understood: ", what}));
}

}  // namespace ebb::cel

#endif  // EBB_CEL_ERRORS_H_
