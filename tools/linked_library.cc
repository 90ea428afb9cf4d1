// LoadedLibrary of the program that is linked statically (platform/loaded_library.h): the functions
// of libcurl that ebb uses are linked in.  glibc's own loader would need the machine to have the
// very glibc that the program was linked with.

#include <curl/curl.h>

#include <span>
#include <string>
#include <string_view>

#include "platform/loaded_library.h"

namespace ebb {
namespace {

struct LinkedFunction {
  std::string_view name;
  void* function;
};

template <typename Function>
void* Address(Function* function) {
  return reinterpret_cast<void*>(function);
}

constexpr std::string_view kCurl = "libcurl.so.4";

// curl_easy_setopt and curl_easy_getinfo are macros too; their names in parentheses are functions.
std::span<const LinkedFunction> CurlFunctions() {
  static const LinkedFunction kFunctions[] = {
      {"curl_global_init", Address(curl_global_init)},
      {"curl_version", Address(curl_version)},
      {"curl_easy_init", Address(curl_easy_init)},
      {"curl_easy_setopt", Address((curl_easy_setopt))},
      {"curl_easy_perform", Address(curl_easy_perform)},
      {"curl_easy_getinfo", Address((curl_easy_getinfo))},
      {"curl_easy_escape", Address(curl_easy_escape)},
      {"curl_easy_strerror", Address(curl_easy_strerror)},
      {"curl_easy_cleanup", Address(curl_easy_cleanup)},
      {"curl_slist_append", Address(curl_slist_append)},
      {"curl_slist_free_all", Address(curl_slist_free_all)},
      {"curl_free", Address(curl_free)},
  };
  return kFunctions;
}

}  // namespace

absl::StatusOr<LoadedLibrary> LoadedLibrary::Load(const char* name) {
  if (name == kCurl) return LoadedLibrary(nullptr);
  return absl::InternalError(std::string(name) + ": this program loads no libraries");
}

void* LoadedLibrary::Find(const char* name) {
  for (const LinkedFunction& linked : CurlFunctions()) {
    if (linked.name == name) return linked.function;
  }
  status_.Update(absl::InternalError(std::string(name) + ": is not linked into this program"));
  return nullptr;
}

}  // namespace ebb
