#include "sizing/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <signal.h>

#include <memory>
#include <mutex>

#include "base/duration.h"
#include "base/printable.h"

namespace ebb {
namespace {

std::string NameOf(const HttpAddress& address) { return Printable(address.server + address.path); }

// While this lives, writing to a closed connection makes the request fail, instead of raising
// SIGPIPE, which would end the process.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

struct HttpAnswer {
  std::string body;
  size_t head_bytes = 0;
  bool too_large = false;
  const std::atomic<bool>* give_up = nullptr;  // Null: never.
};

// Callbacks of curl for a part of the body, and for each line of the head and of trailers.  A
// result other than the size ends the request.
size_t TakeBody(const char* data, size_t, size_t size, void* to) {
  auto& answer = *static_cast<HttpAnswer*>(to);
  answer.too_large = size > kHttpAnswerBytesMax - answer.body.size();
  if (answer.too_large) return 0;
  answer.body.append(data, size);
  return size;
}
size_t TakeHead(const char*, size_t, size_t size, void* to) {
  auto& answer = *static_cast<HttpAnswer*>(to);
  answer.head_bytes += size;
  answer.too_large = answer.head_bytes > kHttpHeadBytesMax;
  return answer.too_large ? 0 : size;
}

// Progress callback of curl; a result other than 0 ends the request.
int MayGoOn(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const std::atomic<bool>* const give_up = static_cast<HttpAnswer*>(of)->give_up;
  return give_up != nullptr && give_up->load() ? 1 : 0;
}

struct CurlDelete {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlHandle = std::unique_ptr<CURL, CurlDelete>;

// Options of both kinds of request.  False: this build of libcurl lacks one of them.
bool SetUp(CURL* curl, const std::string& url, int64_t timeout_s, HttpAnswer& answer) {
  bool ok = true;
  const auto set = [&](CURLoption option, auto value) {
    ok &= curl_easy_setopt(curl, option, value) == CURLE_OK;
  };
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROXY, "");  // No proxy, whatever the environment says.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT, static_cast<long>(timeout_s));
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(timeout_s));
  set(CURLOPT_WRITEFUNCTION, TakeBody);
  set(CURLOPT_WRITEDATA, &answer);
  set(CURLOPT_HEADERFUNCTION, TakeHead);
  set(CURLOPT_HEADERDATA, &answer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, MayGoOn);
  set(CURLOPT_XFERINFODATA, &answer);
  return ok;
}

absl::Status Refused(const HttpAddress& address, long code) {
  const std::string what = fmt::format("{}: HTTP {}", NameOf(address), code);
  if (code == 408 || code == 429 || code >= 500) return absl::UnavailableError(what);
  return absl::FailedPreconditionError(what);
}

absl::Status StatusOf(const HttpAddress& address, CURLcode result, const HttpAnswer& answer,
                      int64_t timeout_s) {
  if (answer.too_large) {
    return absl::FailedPreconditionError(
        answer.head_bytes > kHttpHeadBytesMax
            ? fmt::format("{}: the head of its answer has more than {} KiB", NameOf(address),
                          kHttpHeadBytesMax >> 10)
            : fmt::format("{}: its answer has more than {} MiB", NameOf(address),
                          kHttpAnswerMiBMax));
  }
  switch (result) {
    case CURLE_OK:
      return absl::OkStatus();
    case CURLE_OPERATION_TIMEDOUT:
      return absl::UnavailableError(fmt::format("{}: it gave no whole answer within {}",
                                                NameOf(address), DurationText(timeout_s)));
    case CURLE_ABORTED_BY_CALLBACK:
      return absl::CancelledError(fmt::format("{}: ebb ends", NameOf(address)));
    case CURLE_OUT_OF_MEMORY:  // libcurl also returns this for a line beyond its own limit.
      return absl::FailedPreconditionError(fmt::format(
          "{}: the head of its answer has too long a line, or memory is short", NameOf(address)));
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return absl::InvalidArgumentError(
          fmt::format("{}: this build cannot speak to such an address", NameOf(address)));
    default:
      return absl::UnavailableError(
          fmt::format("{}: {}", NameOf(address), curl_easy_strerror(result)));
  }
}

// The address with `query`; bytes that a URL must not contain are escaped.
std::string UrlOf(const HttpAddress& address, const std::string& query) {
  std::string url = address.server;
  for (const char c : address.path.empty() ? "/" : address.path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f) {
      url += c;
    } else {
      url += fmt::format("%{:02X}", byte);
    }
  }
  return query.empty() ? url : url + "?" + query;
}

CurlHandle NewCurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  return CurlHandle(curl_easy_init());
}

// `body`: for a POST; null: a GET.
absl::StatusOr<std::string> Send(const HttpAddress& address, CURL* curl, const std::string& query,
                                 const std::string* body, int64_t timeout_s,
                                 const std::atomic<bool>* give_up) {
  HttpAnswer answer;
  answer.give_up = give_up;
  bool ready = curl != nullptr && SetUp(curl, UrlOf(address, query), timeout_s, answer);
  std::unique_ptr<curl_slist, CurlDelete> headers;
  if (body != nullptr && ready) {
    headers.reset(curl_slist_append(nullptr, "Content-Type: application/json"));
    // Otherwise curl would wait for "100 Continue" before it sends a larger body.
    headers.reset(curl_slist_append(headers.release(), "Expect:"));
    ready = headers != nullptr &&
            curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get()) == CURLE_OK &&
            curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                             static_cast<curl_off_t>(body->size())) == CURLE_OK &&
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data()) == CURLE_OK;
  }
  if (!ready) return absl::InternalError("libcurl does not take the settings of a request");
  const NoPipeSignal no_signal;
  const CURLcode result = curl_easy_perform(curl);
  if (absl::Status s = StatusOf(address, result, answer, timeout_s); !s.ok()) return s;
  long code = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  if (code < 200 || code >= 300) return Refused(address, code);
  return std::move(answer.body);
}

std::string Escaped(CURL* curl, const std::string& text) {
  const std::unique_ptr<char, decltype(&curl_free)> escaped(
      curl_easy_escape(curl, text.data(), static_cast<int>(text.size())), &curl_free);
  return escaped == nullptr ? "" : escaped.get();
}

}  // namespace

absl::StatusOr<std::string> HttpGet(
    const HttpAddress& address, const std::vector<std::pair<std::string, std::string>>& parameters,
    int64_t timeout_s) {
  const CurlHandle curl = NewCurl();
  std::string query;
  for (const auto& [name, value] : parameters) {
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", Escaped(curl.get(), name),
                         Escaped(curl.get(), value));
  }
  return Send(address, curl.get(), query, nullptr, timeout_s, nullptr);
}

absl::StatusOr<std::string> HttpPostJson(const HttpAddress& address, const std::string& body,
                                         int64_t timeout_s, const std::atomic<bool>* give_up) {
  const CurlHandle curl = NewCurl();
  return Send(address, curl.get(), "", &body, timeout_s, give_up);
}

}  // namespace ebb
