# Headers that nearly every file includes are compiled once for all tests and, in sanitized builds, once
# for all libraries, which saves a third of what the compiler does.  The libraries of other builds have
# none: with EBB_TOGETHER=OFF they show that each file includes what it uses.

option(EBB_PRECOMPILE "Precompile what most files of the libraries include" OFF)
if(EBB_SANITIZE)
  set(EBB_PRECOMPILE ON)
endif()

set(EBB_PRECOMPILED_HEADERS
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory>
  <optional> <set> <span> <sstream> <string> <string_view> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h>)
# clang reads of a precompiled header what a file uses, g++ all of it: there more of them are slower.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND EBB_PRECOMPILED_HEADERS
    <fmt/format.h> <nlohmann/json.hpp> <snapshot/cluster_snapshot.h>)
endif()

# ebb_precompiled_headers(<name> [header...]): what targets of the same compiler flags share.
#
# What is precompiled differs each time with g++, and between two clones with clang, since it holds the
# headers' paths.  A cache of compilations would have nothing for another clone.  In its place ccache
# takes what is in <precompiled header>.sum (CCACHE_PCH_EXTSUM, toolchain.cmake): the same headers
# preprocessed, with their macros and lines and without the tree's path.
function(ebb_precompiled_headers name)
  set(headers ${EBB_PRECOMPILED_HEADERS} ${ARGN})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir")
  list(TRANSFORM headers REPLACE "(.+)" "#include \\1\n" OUTPUT_VARIABLE includes)
  string(CONCAT includes ${includes})
  file(CONFIGURE OUTPUT "${folder}/text.cc" CONTENT "${includes}" @ONLY)
  set_source_files_properties("${folder}/text.cc" PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "-E;-dD")

  add_library(${name} OBJECT "${PROJECT_SOURCE_DIR}/cmake/precompiled.cc" "${folder}/text.cc")
  # As ebb_base: other macros would make other headers.
  target_link_libraries(${name} PRIVATE ebb_flags absl::flat_hash_map absl::inlined_vector absl::statusor
    absl::strings fmt::fmt nlohmann_json::nlohmann_json simdjson::simdjson Threads::Threads TBB::tbb)
  target_precompile_headers(${name} PRIVATE ${headers})
  set(precompiled "${folder}/cmake_pch.hxx.gch")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Valid as long as the headers hold the same, whatever their times.
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

# ebb_precompile(<target> <name>): the target is compiled with the headers of that name.
function(ebb_precompile target name)
  if(NOT TARGET ${name})
    return()
  endif()
  add_dependencies(${target} ${name}_sum)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # REUSE_FROM hides the path from ccache, which does not make it a relative one then.  The objects
    # depend on the precompiled headers as on all headers: by what the compiler says that it read.
    get_target_property(precompiled ${name} EBB_PRECOMPILED)
    target_compile_options(${target} PRIVATE -Winvalid-pch "SHELL:-include-pch ${precompiled}")
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
  # g++ takes what is precompiled for our own code, and warns of the standard library's inlined copies.
  target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
endfunction()

# ebb_coverage(<target>): the target's code counts what of it runs, by which libFuzzer steers.  The tests'
# own code does not.
function(ebb_coverage target)
  if(EBB_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

if(EBB_PRECOMPILE)
  ebb_precompiled_headers(ebb_precompiled)
  ebb_coverage(ebb_precompiled)  # As the libraries that are compiled with it.
endif()

# ebb_together(<target>): up to 24 files of the target are compiled as one.  Most of what the compiler does
# for a file is in headers and in what their templates become, which is then done once: the first build
# takes less than half as long (engine's tests: eight as one, 73 s, all as one, 50 s), a build after an
# edit longer.  It rests on names within files' anonymous namespaces, which must differ throughout a
# folder; a test has a namespace of its own (ebb::<file>).  A file that is compiled for several vector
# widths includes itself, and stays alone, as does one with the property EBB_ALONE.
#
# The file that includes them is ours, not one of CMake's UNITY_BUILD: that names them by absolute paths,
# so that a cache of compilations has nothing for another clone or worktree.
# A person who edits has it OFF: one edit compiles one file.  Whole builds (./dev, CI) have it ON, and
# tests/alone.py compiles each file by itself, as together a file can use what another includes.
set(EBB_TOGETHER OFF CACHE STRING
  "Compile 24 files as one: ON, TESTS alone, or OFF")
set(EBB_TOGETHER_MAX 24)  # A folder may set less.
function(ebb_together target)
  if(NOT EBB_TOGETHER)
    return()
  endif()
  # g++ takes a file that is included for a header, whose types would have to be the program's.
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
