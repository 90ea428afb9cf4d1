// One HTTP request to an http:// or https:// address.
//
// It ends after `timeout_s` seconds, however slowly the other side sends; an answer that is
// incomplete by then is an error.  The time includes the name look-up and connecting.  An answer's
// body has at most kHttpAnswerBytesMax bytes; its status line, headers and trailers have at most
// kHttpHeadBytesMax together.  Redirects are not followed, no proxy is used, and bodies are not
// decompressed.
//
// Cost:    an extra thread during the name look-up.
// Errors:  InvalidArgument: the address is invalid, or is https and this build has no TLS;
//          Unavailable: there was no answer in time, or its status was 408, 429 or 5xx: a retry may
//          help; FailedPrecondition: any other answer that is not 2xx, or one that is too large.
//          Each error names the address, which has neither user nor query.
// Threads: calls may run concurrently.

#ifndef EBB_SIZING_HTTP_CLIENT_H_
#define EBB_SIZING_HTTP_CLIENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "platform/http_address.h"

namespace ebb {

// Far more than any answer that ebb asks for, which is a number or empty.
inline constexpr size_t kHttpAnswerMiBMax = 64;
inline constexpr size_t kHttpAnswerBytesMax = kHttpAnswerMiBMax << 20;
inline constexpr size_t kHttpHeadBytesMax = size_t{64} << 10;

// The version of libcurl and of the libraries that it uses: "libcurl/7.88.1 OpenSSL/3.0.17".
// Errors: Internal if libcurl cannot be loaded; every request then fails with this error.
absl::StatusOr<std::string> HttpLibrary();

// The body of the answer.
absl::StatusOr<std::string> HttpGet(
    const HttpAddress& address, const std::vector<std::pair<std::string, std::string>>& parameters,
    int64_t timeout_s);
// Once `give_up` is set, the request ends with Cancelled within about a second; null: never.
absl::StatusOr<std::string> HttpPostJson(const HttpAddress& address, const std::string& body,
                                         int64_t timeout_s,
                                         const std::atomic<bool>* give_up = nullptr);

}  // namespace ebb

#endif  // EBB_SIZING_HTTP_CLIENT_H_
