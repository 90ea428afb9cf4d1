// LoadedLibrary: a shared library that is loaded when the program first needs it, and not when the
// program starts.  libcurl alone brings some thirty other libraries, which take longer to load
// than most commands take to run.
//
//   auto library = LoadedLibrary::Load("libcurl.so.4");
//   const auto init = library->Function<decltype(&curl_easy_init)>("curl_easy_init");
//
// packaging/ lists these libraries by name, because no tool finds them in the program.  A program
// that is linked statically loads nothing: tools/linked_library.cc then defines this class, and
// "loads" the libraries that are linked into the program.
//
// Ownership: the library stays loaded until the process ends.
// Errors:    Internal, with the loader's message, which names the file.
// Threads:   any.

#ifndef EBB_PLATFORM_LOADED_LIBRARY_H_
#define EBB_PLATFORM_LOADED_LIBRARY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ebb {

class LoadedLibrary {
 public:
  static absl::StatusOr<LoadedLibrary> Load(const char* name);

  // The function `name`; null if the library lacks it, which status() then says.
  template <typename Pointer>
  Pointer Function(const char* name) {
    return reinterpret_cast<Pointer>(Find(name));
  }

  // The first error of Function().
  const absl::Status& status() const { return status_; }

 private:
  explicit LoadedLibrary(void* handle) : handle_(handle) {}
  void* Find(const char* name);

  void* handle_;
  absl::Status status_;
};

}  // namespace ebb

#endif  // EBB_PLATFORM_LOADED_LIBRARY_H_
