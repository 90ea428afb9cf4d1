#include "platform/loaded_library.h"

#include <dlfcn.h>

namespace ebb {

absl::StatusOr<LoadedLibrary> LoadedLibrary::Load(const char* name) {
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::InternalError(::dlerror());
  return LoadedLibrary(handle);
}

void* LoadedLibrary::Find(const char* name) {
  void* const found = ::dlsym(handle_, name);
  if (found == nullptr) status_.Update(absl::InternalError(::dlerror()));
  return found;
}

}  // namespace ebb
