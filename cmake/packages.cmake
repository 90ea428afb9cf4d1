# Libraries, all from the distribution's packages (their names are in ./dev).  The versions are the
# oldest that were tried; docs/decisions/0001-dependencies.md gives the reason for each library.

# Checks the version of a package that has no version file, or one that is stricter than we are.
function(ebb_require_version name found minimum)
  if("${found}" VERSION_LESS "${minimum}")
    message(FATAL_ERROR "ebb needs ${name} ${minimum} or newer; found '${found}'")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
ebb_require_version(Abseil "${absl_VERSION}" 20220623)
find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS container)
find_package(TBB CONFIG REQUIRED)
ebb_require_version(oneTBB "${TBB_VERSION}" 2021.8)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy>=1.0)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
# Without its pkg-config file, whose -pthread is not among the flags of precompiled headers.
find_path(EBB_RE2_INCLUDE re2/re2.h REQUIRED)
find_library(EBB_LIBRARY_re2 re2 REQUIRED)
add_library(ebb_re2 INTERFACE)
target_link_libraries(ebb_re2 INTERFACE "${EBB_LIBRARY_re2}")

if(NOT EBB_SESSION)
  return()
endif()

# Readers of dumps, state files and metrics: what a session needs.
find_package(simdjson CONFIG REQUIRED)
ebb_require_version(simdjson "${simdjson_VERSION}" 3.0)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
ebb_require_version(fmt "${fmt_VERSION}" 9.1)
find_package(Protobuf 3.21 REQUIRED)
find_package(ZLIB 1.2.11 REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
ebb_require_version(yaml-cpp "${yaml-cpp_VERSION}" 0.7)
if(NOT TARGET yaml-cpp::yaml-cpp)  # Before 0.8 the target has no namespace.
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
find_package(SQLite3 3.40 REQUIRED)
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core>=1.0)

if(NOT EBB_DAEMON)
  return()
endif()

# The program: its daemon, its loops and its commands.
find_package(CLI11 CONFIG REQUIRED)
ebb_require_version(CLI11 "${CLI11_VERSION}" 2.1)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl>=7.88)

# Without gRPC's own CMake files, which also need its programs, and a cross build does not have these.
# pkg-config takes half a minute for all of gRPC's dependencies.
find_path(EBB_GRPC_INCLUDE grpcpp/version_info.h REQUIRED)
file(STRINGS "${EBB_GRPC_INCLUDE}/grpcpp/version_info.h" grpc_version REGEX "VERSION_STRING")
string(REGEX MATCH "[0-9.]+" grpc_version "${grpc_version}")
ebb_require_version(gRPC "${grpc_version}" 1.51)
add_library(ebb_grpc INTERFACE)
foreach(library grpc++_reflection grpc++ grpc gpr)
  find_library(EBB_LIBRARY_${library} ${library} REQUIRED)
  target_link_libraries(ebb_grpc INTERFACE "${EBB_LIBRARY_${library}}")
endforeach()
find_program(EBB_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

if(BUILD_TESTING)
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib>=0.11)
  find_package(GTest CONFIG REQUIRED)
  ebb_require_version(GoogleTest "${GTest_VERSION}" 1.12)
  find_package(benchmark CONFIG REQUIRED)
  ebb_require_version("Google Benchmark" "${benchmark_VERSION}" 1.7)
endif()
