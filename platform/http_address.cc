#include "platform/http_address.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace ebb {

absl::StatusOr<HttpAddress> ParseHttpAddress(const std::string& url) {
  const size_t scheme = url.find("://");
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  if (!is_http || url.find_first_of(" \t\r\n#?") != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "\"{}\" is not an http:// or https:// address without a query", Printable(url)));
  }
  const size_t path = std::min(url.find('/', scheme + 3), url.size());
  if (path == scheme + 3 || url.substr(0, path).find('@') != std::string::npos) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" has no host, or names a user", Printable(url.substr(0, scheme + 3))));
  }
  return HttpAddress{.server = url.substr(0, path), .path = url.substr(path)};
}

}  // namespace ebb
