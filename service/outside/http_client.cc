#include "service/outside/http_client.h"

#include <fmt/format.h>
#include <httplib.h>

#include <string_view>

#include "base/printable.h"

namespace ebb {
namespace {

constexpr size_t kAnswerBytesMax = 64 << 20;

std::string NameOf(const HttpAddress& address) { return Printable(address.server + address.path); }

absl::StatusOr<std::string> BodyOf(const HttpAddress& address, const httplib::Result& answer) {
  if (!answer) {
    return absl::UnavailableError(
        fmt::format("{}: {}", NameOf(address), httplib::to_string(answer.error())));
  }
  const int code = answer->status;
  if (code >= 200 && code < 300 && answer->body.size() <= kAnswerBytesMax) return answer->body;
  const std::string what = fmt::format("{}: HTTP {}", NameOf(address), code);
  if (code == 408 || code == 429 || code >= 500) return absl::UnavailableError(what);
  return absl::FailedPreconditionError(what);
}

absl::StatusOr<std::unique_ptr<httplib::Client>> ClientFor(const HttpAddress& address,
                                                           int64_t timeout_s) {
  auto client = std::make_unique<httplib::Client>(address.server);
  if (!client->is_valid()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: this build cannot speak to such an address", NameOf(address)));
  }
  client->set_connection_timeout(timeout_s);
  client->set_read_timeout(timeout_s);
  client->set_write_timeout(timeout_s);
  return client;
}

}  // namespace

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

absl::StatusOr<std::string> HttpGet(
    const HttpAddress& address, const std::vector<std::pair<std::string, std::string>>& parameters,
    int64_t timeout_s) {
  const auto client = ClientFor(address, timeout_s);
  if (!client.ok()) return client.status();
  httplib::Params params;
  for (const auto& [name, value] : parameters) params.emplace(name, value);
  const std::string path = address.path.empty() ? "/" : address.path;
  return BodyOf(address, (*client)->Get(path, params, httplib::Headers()));
}

absl::StatusOr<std::string> HttpPostJson(const HttpAddress& address, const std::string& body,
                                         int64_t timeout_s) {
  const auto client = ClientFor(address, timeout_s);
  if (!client.ok()) return client.status();
  const std::string path = address.path.empty() ? "/" : address.path;
  return BodyOf(address, (*client)->Post(path, body, "application/json"));
}

}  // namespace ebb
