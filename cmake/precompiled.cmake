# Headers of libraries that nearly every file includes are compiled once a target in sanitized
# builds, which halves what the compiler does there.  The release build has none: it is what shows
# that each file includes what it uses.

option(EBB_PRECOMPILE "Precompile what most files include" OFF)
if(EBB_SANITIZE)
  set(EBB_PRECOMPILE ON)
endif()

set(EBB_PRECOMPILED_HEADERS
  <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span>
  <string> <string_view> <utility> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/status/status.h>
  <absl/status/statusor.h> <absl/strings/str_cat.h>)

# ebb_precompile(<target> [header...]): these and the headers above, for a target of several files.
function(ebb_precompile target)
  if(EBB_PRECOMPILE)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # The same bytes each time, so that what is compiled with it can be cached.
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    target_precompile_headers(${target} PRIVATE ${EBB_PRECOMPILED_HEADERS} ${ARGN})
  endif()
endfunction()
