// One HTTP request, at an http:// or https:// address.
//
// It ends after `timeout_s` seconds, however slowly the other side sends: an answer that is not
// whole by then, its head or its body, is none.  Looking up the server's name and connecting are
// within that time.  An answer's body has at most kHttpAnswerBytesMax bytes; its status line,
// headers and trailers have at most kHttpHeadBytesMax together.  Redirections are not followed,
// no proxy is used, and nothing is unpacked.
//
// Cost:    a thread while the name is looked up.
// Errors:  InvalidArgument: the address is none, or https where this build speaks none;
//          Unavailable: nobody answers in time, or with 408, 429 or 5xx: another try may help;
//          FailedPrecondition: any other answer that is not 2xx, or one that is too large.  Each
//          names the address, which has neither user nor query.
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

// Far more than any answer that ebb asks for: a number, or nothing.
inline constexpr size_t kHttpAnswerMiBMax = 64;
inline constexpr size_t kHttpAnswerBytesMax = kHttpAnswerMiBMax << 20;
inline constexpr size_t kHttpHeadBytesMax = size_t{64} << 10;

// The body of the answer.
absl::StatusOr<std::string> HttpGet(
    const HttpAddress& address, const std::vector<std::pair<std::string, std::string>>& parameters,
    int64_t timeout_s);
// Once `give_up` is set, the request ends within about a second, with Cancelled; null: never.
absl::StatusOr<std::string> HttpPostJson(const HttpAddress& address, const std::string& body,
                                         int64_t timeout_s,
                                         const std::atomic<bool>* give_up = nullptr);

}  // namespace ebb

#endif  // EBB_SIZING_HTTP_CLIENT_H_
