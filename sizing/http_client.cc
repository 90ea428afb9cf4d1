#include "sizing/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <signal.h>

#include <memory>

#include "base/duration.h"
#include "base/printable.h"
#include "platform/loaded_library.h"

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

// The functions of libcurl, without their prefix "curl_".
struct Curl {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_version) version;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_escape) easy_escape;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_free) free;
};

absl::StatusOr<Curl> LoadCurl() {
  absl::StatusOr<LoadedLibrary> library = LoadedLibrary::Load("libcurl.so.4");
  if (!library.ok()) return library.status();
  Curl curl{};
  const auto find = [&library]<typename Pointer>(const char* name, Pointer& function) {
    function = library->Function<Pointer>(name);
  };
  find("curl_global_init", curl.global_init);
  find("curl_version", curl.version);
  find("curl_easy_init", curl.easy_init);
  find("curl_easy_setopt", curl.easy_setopt);
  find("curl_easy_perform", curl.easy_perform);
  find("curl_easy_getinfo", curl.easy_getinfo);
  find("curl_easy_escape", curl.easy_escape);
  find("curl_easy_strerror", curl.easy_strerror);
  find("curl_easy_cleanup", curl.easy_cleanup);
  find("curl_slist_append", curl.slist_append);
  find("curl_slist_free_all", curl.slist_free_all);
  find("curl_free", curl.free);
  if (!library->status().ok()) return library->status();
  curl.global_init(CURL_GLOBAL_DEFAULT);
  return curl;
}

// libcurl, which the first request loads.
const absl::StatusOr<Curl>& LoadedCurl() {
  static const auto* const curl = new absl::StatusOr<Curl>(LoadCurl());
  return *curl;
}

struct CurlDelete {
  const Curl* functions;
  void operator()(CURL* curl) const { functions->easy_cleanup(curl); }
  void operator()(curl_slist* list) const { functions->slist_free_all(list); }
  void operator()(char* text) const { functions->free(text); }
};
using CurlHandle = std::unique_ptr<CURL, CurlDelete>;

// Options of both kinds of request.  False: this build of libcurl lacks one of them.
bool SetUp(const CurlHandle& curl, const std::string& url, int64_t timeout_s, HttpAnswer& answer) {
  bool ok = true;
  const auto set = [&](CURLoption option, auto value) {
    ok &= curl.get_deleter().functions->easy_setopt(curl.get(), option, value) == CURLE_OK;
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

absl::Status StatusOf(const Curl& functions, const HttpAddress& address, CURLcode result,
                      const HttpAnswer& answer, int64_t timeout_s) {
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
          fmt::format("{}: {}", NameOf(address), functions.easy_strerror(result)));
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

absl::StatusOr<CurlHandle> NewCurl() {
  const absl::StatusOr<Curl>& functions = LoadedCurl();
  if (!functions.ok()) return functions.status();
  return CurlHandle(functions->easy_init(), CurlDelete{&*functions});
}

// `body`: for a POST; null: a GET.
absl::StatusOr<std::string> Send(const HttpAddress& address, const CurlHandle& curl,
                                 const std::string& query, const std::string* body,
                                 int64_t timeout_s, const std::atomic<bool>* give_up) {
  const Curl& functions = *curl.get_deleter().functions;
  HttpAnswer answer;
  answer.give_up = give_up;
  bool ready = curl != nullptr && SetUp(curl, UrlOf(address, query), timeout_s, answer);
  std::unique_ptr<curl_slist, CurlDelete> headers(nullptr, curl.get_deleter());
  if (body != nullptr && ready) {
    headers.reset(functions.slist_append(nullptr, "Content-Type: application/json"));
    // Otherwise curl would wait for "100 Continue" before it sends a larger body.
    headers.reset(functions.slist_append(headers.release(), "Expect:"));
    const auto set = [&](CURLoption option, auto value) {
      return functions.easy_setopt(curl.get(), option, value) == CURLE_OK;
    };
    ready = headers != nullptr && set(CURLOPT_HTTPHEADER, headers.get()) &&
            set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size())) &&
            set(CURLOPT_POSTFIELDS, body->data());
  }
  if (!ready) return absl::InternalError("libcurl does not take the settings of a request");
  const NoPipeSignal no_signal;
  const CURLcode result = functions.easy_perform(curl.get());
  if (absl::Status s = StatusOf(functions, address, result, answer, timeout_s); !s.ok()) return s;
  long code = 0;
  functions.easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
  if (code < 200 || code >= 300) return Refused(address, code);
  return std::move(answer.body);
}

std::string Escaped(const CurlHandle& curl, const std::string& text) {
  const Curl& functions = *curl.get_deleter().functions;
  const std::unique_ptr<char, CurlDelete> escaped(
      functions.easy_escape(curl.get(), text.data(), static_cast<int>(text.size())),
      curl.get_deleter());
  return escaped == nullptr ? "" : escaped.get();
}

}  // namespace

absl::StatusOr<std::string> HttpLibrary() {
  const absl::StatusOr<Curl>& curl = LoadedCurl();
  if (!curl.ok()) return curl.status();
  return curl->version();
}

absl::StatusOr<std::string> HttpGet(
    const HttpAddress& address, const std::vector<std::pair<std::string, std::string>>& parameters,
    int64_t timeout_s) {
  const absl::StatusOr<CurlHandle> curl = NewCurl();
  if (!curl.ok()) return curl.status();
  std::string query;
  for (const auto& [name, value] : parameters) {
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", Escaped(*curl, name),
                         Escaped(*curl, value));
  }
  return Send(address, *curl, query, nullptr, timeout_s, nullptr);
}

absl::StatusOr<std::string> HttpPostJson(const HttpAddress& address, const std::string& body,
                                         int64_t timeout_s, const std::atomic<bool>* give_up) {
  const absl::StatusOr<CurlHandle> curl = NewCurl();
  if (!curl.ok()) return curl.status();
  return Send(address, *curl, "", &body, timeout_s, give_up);
}

}  // namespace ebb
