# Compiler, linker and the flags that every target of ours gets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # The libraries also go into libebb.so.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "ebb needs g++ 12 or newer; this is ${CMAKE_CXX_COMPILER_VERSION}")
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "ebb needs clang 16 or newer; this is ${CMAKE_CXX_COMPILER_VERSION}")
endif()

# Line tables in release too: they cost nothing at run time and make profiles and
# crash reports readable.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
if(EBB_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")  # Sanitized -O0 code is too slow for 100,000-step tests.
endif()

find_program(EBB_CCACHE ccache)
if(EBB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Worktrees share what was compiled: paths below this tree count as relative ones.  Precompiled
  # headers (precompiled.cmake) are cached only with these sloppinesses.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 "${EBB_CCACHE}")
endif()

# A program loads only the libraries that it uses, whatever its parts could link.
add_link_options(-Wl,--as-needed)
find_program(EBB_MOLD mold)
if(EBB_MOLD AND NOT CMAKE_CROSSCOMPILING)  # A cross compiler looks for one of its own.
  add_link_options(-fuse-ld=mold)
endif()

# ebb_flags carries what only our own code must obey.
add_library(ebb_flags INTERFACE)
target_include_directories(ebb_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(ebb_flags INTERFACE -Wall -Wextra $<$<BOOL:${EBB_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies in `"literal" + std::string` (its bug 105651).
  target_compile_options(ebb_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's own std::stable_sort calls what it deprecates.
  target_compile_options(ebb_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND EBB_ARCH_BASELINE)
  target_compile_options(ebb_flags INTERFACE "-march=${EBB_ARCH_BASELINE}")
endif()
# A fused multiply-add rounds once, not twice: where the processor has one, plans would
# differ from those of x86-64's baseline, which has none.
if(NOT (CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND
        EBB_ARCH_BASELINE MATCHES "^(x86-64(-v2)?)?$"))
  target_compile_options(ebb_flags INTERFACE -ffp-contract=off)
endif()

if(EBB_SANITIZE)
  add_compile_options("-fsanitize=${EBB_SANITIZE}" -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${EBB_SANITIZE}")
  # g++ takes what the sanitizers insert for uses of unset variables.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(ebb_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

if(EBB_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "EBB_FUZZ needs clang; this is ${CMAKE_CXX_COMPILER_ID}")
  endif()
endif()
