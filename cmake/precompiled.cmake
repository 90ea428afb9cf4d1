# Compiles the headers that nearly every file includes once for all tests and, in sanitized builds, once
# for all libraries.  This saves a third of the compiler's work.  In other builds the libraries use no
# precompiled headers: with EBB_TOGETHER=OFF such a build shows that each file includes what it uses.

option(EBB_PRECOMPILE "Precompile what most files of the libraries include" OFF)
if(EBB_SANITIZE)
  set(EBB_PRECOMPILE ON)
endif()

set(EBB_PRECOMPILED_HEADERS
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory>
  <optional> <set> <span> <sstream> <string> <string_view> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h>)
# clang loads only the parts of a precompiled header that a file uses.  g++ loads all of it, so that more
# headers make it slower.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND EBB_PRECOMPILED_HEADERS
    <fmt/format.h> <nlohmann/json.hpp> <snapshot/cluster_snapshot.h>)
endif()

# ebb_precompiled_headers(<name> [header...]): precompiled headers for targets with the same compiler
# flags.
#
# With g++ a precompiled header differs each time; with clang it differs between two clones, because it
# contains the headers' paths.  A compilation cache keyed by its bytes would have no entry for another
# clone. Therefore ccache hashes <precompiled header>.sum instead (CCACHE_PCH_EXTSUM, toolchain.cmake):
# the same headers, preprocessed, with macros and line numbers and without the tree's path.
function(ebb_precompiled_headers name)
  set(headers ${EBB_PRECOMPILED_HEADERS} ${ARGN})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir")
  list(TRANSFORM headers REPLACE "(.+)" "#include \\1\n" OUTPUT_VARIABLE includes)
  string(CONCAT includes ${includes})
  file(CONFIGURE OUTPUT "${folder}/text.cc" CONTENT "${includes}" @ONLY)
  set_source_files_properties("${folder}/text.cc" PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "-E;-dD")

  add_library(${name} OBJECT "${PROJECT_SOURCE_DIR}/cmake/precompiled.cc" "${folder}/text.cc")
  # As ebb_base: with other macros the headers would differ.
  target_link_libraries(${name} PRIVATE ebb_flags absl::flat_hash_map absl::inlined_vector absl::statusor
    absl::strings fmt::fmt nlohmann_json::nlohmann_json simdjson::simdjson Threads::Threads TBB::tbb)
  target_precompile_headers(${name} PRIVATE ${headers})
  set(precompiled "${folder}/cmake_pch.hxx.gch")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # The file is valid as long as the headers' content is the same, whatever their times.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    set(precompiled "${folder}/cmake_pch.hxx.pch")
  endif()
  set(text "$<FILTER:$<TARGET_OBJECTS:${name}>,INCLUDE,/text\\.cc\\.[a-z]+$>")
  add_custom_command(OUTPUT "${precompiled}.sum"
    COMMAND sed "s|${PROJECT_SOURCE_DIR}/||g" "${text}" > "${precompiled}.sum"
    DEPENDS "${precompiled}" "${text}"
    VERBATIM)
  add_custom_target(${name}_sum DEPENDS "${precompiled}.sum")
  set_target_properties(${name} PROPERTIES EBB_PRECOMPILED "${precompiled}")
endfunction()

# ebb_precompile(<target> <name>): compiles the target with the precompiled headers of that name.
function(ebb_precompile target name)
  if(NOT TARGET ${name})
    return()
  endif()
  add_dependencies(${target} ${name}_sum)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Not REUSE_FROM, which hides the path from ccache, so that ccache would not make it relative.
    # Objects depend on the precompiled headers as on all headers: the compiler reports the files that it
    # read.
    get_target_property(precompiled ${name} EBB_PRECOMPILED)
    target_compile_options(${target} PRIVATE -Winvalid-pch "SHELL:-include-pch ${precompiled}")
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
  # g++ treats a precompiled header as our own code, and warns about inlined copies of the standard
  # library.
  target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
endfunction()

# ebb_coverage(<target>): instruments the target's code so that libFuzzer sees which parts run.  The
# tests' own code is not instrumented.
function(ebb_coverage target)
  if(EBB_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

if(EBB_PRECOMPILE AND EBB_SESSION)  # The headers are of libraries that the engine alone does not need.
  ebb_precompiled_headers(ebb_precompiled)
  ebb_coverage(ebb_precompiled)  # As for the libraries that are compiled with it.
endif()

# ebb_together(<target>): compiles up to 24 files of the target as one.  Most of the compiler's work for
# a file is in headers and in the templates that they instantiate, and is then done once.  The first
# build takes less than half as long (engine's tests: eight as one, 73 s, all as one, 50 s); a build
# after an edit takes longer.  Names in the files' anonymous namespaces must therefore differ throughout
# a folder; a test has a namespace of its own (ebb::<file>).  A file that is compiled for several vector
# widths includes itself and stays alone, as does a file with the property EBB_ALONE.
#
# We write the including file ourselves, because CMake's UNITY_BUILD includes by absolute paths, so that
# a compilation cache would have no entry for another clone or worktree.
#
# A person who edits has it OFF: one edit compiles one file.  Whole builds (./dev, CI) have it ON, and
# tests/alone.py compiles each file by itself, because together a file can use what another includes.
set(EBB_TOGETHER OFF CACHE STRING
  "Compile 24 files as one: ON, TESTS alone, or OFF")
set(EBB_TOGETHER_MAX 24)  # A folder may set a smaller number.
function(ebb_together target)
  if(NOT EBB_TOGETHER)
    return()
  endif()
  # g++ treats an included file as a header, and warns if its types use an anonymous namespace.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  get_target_property(sources ${target} SOURCES)
  set(together "")
  set(alone "")
  file(REAL_PATH "${PROJECT_SOURCE_DIR}" top)
  foreach(source IN LISTS sources)
    file(REAL_PATH "${source}" source)
    file(STRINGS "${source}" widths REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    get_source_file_property(is_alone "${source}" EBB_ALONE)
    if(widths OR definitions OR is_alone)
      list(APPEND alone "${source}")
    else()
      file(RELATIVE_PATH name "${top}" "${source}")
      list(APPEND together "#include \"${name}\"\n")
    endif()
  endforeach()
  list(LENGTH together left)
  set(first 0)
  while(left GREATER 0)
    list(SUBLIST together ${first} ${EBB_TOGETHER_MAX} includes)
    string(CONCAT includes ${includes})
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/together/${target}_${first}.cc")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "${includes}" @ONLY)
    list(APPEND alone "${unit}")
    math(EXPR first "${first} + ${EBB_TOGETHER_MAX}")
    math(EXPR left "${left} - ${EBB_TOGETHER_MAX}")
  endwhile()
  set_property(TARGET ${target} PROPERTY SOURCES ${alone})
endfunction()
