# Compiler, linker and the flags for all of our targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # The libraries are also linked into libebb.so.
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
  # Worktrees share compiled objects: ccache treats paths below this tree as relative.  It caches
  # precompiled headers (precompiled.cmake) only with these sloppinesses.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 "${EBB_CCACHE}")
endif()

# A program loads only the libraries that it uses, even if its parts link more.
add_link_options(-Wl,--as-needed)
find_program(EBB_MOLD mold)
if(EBB_MOLD AND NOT CMAKE_CROSSCOMPILING)  # A cross compiler would look for a mold of its own.
  add_link_options(-fuse-ld=mold)
endif()

# ebb_flags has the flags for our own code only.
add_library(ebb_flags INTERFACE)
target_include_directories(ebb_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(ebb_flags INTERFACE -Wall -Wextra $<$<BOOL:${EBB_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 reports overlapping copies in `"literal" + std::string` by mistake (its bug 105651).
  target_compile_options(ebb_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # std::stable_sort of libstdc++ 12 calls a function that libstdc++ itself deprecates.
  target_compile_options(ebb_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND EBB_ARCH_BASELINE)
  target_compile_options(ebb_flags INTERFACE "-march=${EBB_ARCH_BASELINE}")
endif()
# A fused multiply-add rounds once instead of twice.  On processors that have it, plans would differ from
# those of x86-64's baseline, which does not.
if(NOT (CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND
        EBB_ARCH_BASELINE MATCHES "^(x86-64(-v2)?)?$"))
  target_compile_options(ebb_flags INTERFACE -ffp-contract=off)
endif()

if(EBB_SANITIZE)
  add_compile_options("-fsanitize=${EBB_SANITIZE}" -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${EBB_SANITIZE}")
  # g++ mistakes the code that sanitizers insert for uses of unset variables.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(ebb_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

if(EBB_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "EBB_FUZZ needs clang; this is ${CMAKE_CXX_COMPILER_ID}")
  endif()
endif()
