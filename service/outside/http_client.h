// One HTTP request, at an http:// or https:// address.
//
// Errors:  InvalidArgument: the address is none, or https where this build speaks none;
//          Unavailable: nobody answers in time, or with 408, 429 or 5xx: another try may help;
//          FailedPrecondition: any other answer that is not 2xx.  Each names the address without
//          user and query.
// Threads: calls may run concurrently.

#ifndef EBB_SERVICE_OUTSIDE_HTTP_CLIENT_H_
#define EBB_SERVICE_OUTSIDE_HTTP_CLIENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace ebb {

// "http://host:9090" and "/path"; the path may be empty.  Errors: InvalidArgument.
struct HttpAddress {
  std::string server;
  std::string path;
};
absl::StatusOr<HttpAddress> ParseHttpAddress(const std::string& url);

// The body of the answer.
absl::StatusOr<std::string> HttpGet(
    const HttpAddress& address, const std::vector<std::pair<std::string, std::string>>& parameters,
    int64_t timeout_s);
absl::StatusOr<std::string> HttpPostJson(const HttpAddress& address, const std::string& body,
                                         int64_t timeout_s);

}  // namespace ebb

#endif  // EBB_SERVICE_OUTSIDE_HTTP_CLIENT_H_
