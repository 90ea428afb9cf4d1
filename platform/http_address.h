// HttpAddress: an http:// or https:// address in its two parts.
//
// It has a host, and neither a user nor a query: those could be secrets, and messages show the
// address.
//
// Errors:  InvalidArgument.
// Threads: pure.

#ifndef EBB_PLATFORM_HTTP_ADDRESS_H_
#define EBB_PLATFORM_HTTP_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace ebb {

// "http://host:9090" and "/path"; the path may be empty.
struct HttpAddress {
  std::string server;
  std::string path;
};
absl::StatusOr<HttpAddress> ParseHttpAddress(const std::string& url);

}  // namespace ebb

#endif  // EBB_PLATFORM_HTTP_ADDRESS_H_
