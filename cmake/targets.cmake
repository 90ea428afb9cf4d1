# The functions that the folders' CMakeLists.txt call.

# ebb_library(<name> [MEASURED] [SMALL|SMALLEST] [FOLDERS folder...] LINK target...)
#
# Makes ebb_<name> from the *.cc of the current folder and of FOLDERS below it, and ebb_<name>_wire from
# its wire/*.proto.  <name> is the last part of the folder's path.  A folder without sources makes an
# interface library, so that the tree configures while it grows.  MEASURED: benchmarks time the library.
# g++ inlines less in a unit that it considers large (verification became up to 14% slower,
# repelling:5000).  So for MEASURED libraries the files that are compiled as one count as a small unit.
# SMALL: the library works on one plan, after the planner, or gains nothing from -O3, so that release builds
# optimize it less (-O2).
# SMALLEST: it runs once for each command, or waits for other programs, so that release builds optimize it
# for size (-Os, with which g++ warns of optional values that are set).
function(ebb_library name)
  cmake_parse_arguments(arg "MEASURED;SMALL;SMALLEST" "" "FOLDERS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB more CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
    list(APPEND sources ${more})
  endforeach()
  ebb_wire_library(${name})
  if(TARGET ebb_${name}_wire)
    list(APPEND arg_LINK ebb_${name}_wire)
  endif()

  if(sources)
    add_library(ebb_${name} STATIC ${sources})
    target_link_libraries(ebb_${name} PRIVATE ebb_flags PUBLIC ${arg_LINK})
    target_include_directories(ebb_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
    ebb_coverage(ebb_${name})
    ebb_precompile(ebb_${name} ebb_precompiled)
    if(NOT EBB_TOGETHER STREQUAL "TESTS")
      ebb_together(ebb_${name})
    endif()
    if(arg_MEASURED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(ebb_${name} PRIVATE --param=large-unit-insns=1000000)
    endif()
    if(arg_SMALL)
      target_compile_options(ebb_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
    elseif(arg_SMALLEST)
      target_compile_options(ebb_${name} PRIVATE "$<$<CONFIG:Release>:-Os;-Wno-maybe-uninitialized>")
    endif()
  else()
    add_library(ebb_${name} INTERFACE)
    target_link_libraries(ebb_${name} INTERFACE ${arg_LINK})
    target_include_directories(ebb_${name} INTERFACE "${PROJECT_SOURCE_DIR}")
  endif()
endfunction()

# Compiles <folder>/wire/*.proto, or the *.proto of the top folder wire/.  The headers are included by
# the path of the .proto: "<folder>/wire/<name>.pb.h".
function(ebb_wire_library library)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT folder STREQUAL "wire")
    string(APPEND folder "/wire")
  endif()
  file(GLOB protos CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.proto")
  if(NOT protos)
    return()
  endif()
  set(out "${PROJECT_BINARY_DIR}/generated")
  file(MAKE_DIRECTORY "${out}")
  set(generated "")
  foreach(proto IN LISTS protos)
    get_filename_component(name "${proto}" NAME_WE)
    set(base "${out}/${folder}/${name}.pb")
    add_custom_command(
      OUTPUT "${base}.cc" "${base}.h"
      COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}" "--cpp_out=${out}" "${proto}"
      DEPENDS "${proto}"
      COMMENT "protoc ${folder}/${name}.proto"
      VERBATIM)
    list(APPEND generated "${base}.cc")
  endforeach()
  add_library(ebb_${library}_wire STATIC ${generated})
  # Our warnings do not apply to generated code, neither when it is compiled nor when it is included.
  target_include_directories(ebb_${library}_wire SYSTEM PUBLIC "${out}")
  target_link_libraries(ebb_${library}_wire PUBLIC protobuf::libprotobuf)
  if(EBB_SANITIZE)  # The check for undefined behaviour takes the compiler long.
    target_compile_options(ebb_${library}_wire PRIVATE -O0 -fno-sanitize=undefined)
  endif()
endfunction()

# ebb_grpc_library(<name> <library> <proto>): makes ebb_<name>_grpc with the gRPC calls of a .proto;
# ebb_<library>_wire has its messages.  The header is "<path of the .proto>.grpc.pb.h".
function(ebb_grpc_library name library proto)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${proto}")
  string(REGEX REPLACE "\\.proto$" ".grpc.pb" base "${path}")
  set(out "${PROJECT_BINARY_DIR}/generated")
  add_custom_command(
    OUTPUT "${out}/${base}.cc" "${out}/${base}.h"
    COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}" "--grpc_out=${out}"
            "--plugin=protoc-gen-grpc=${EBB_GRPC_CPP_PLUGIN}" "${proto}"
    DEPENDS "${proto}"
    COMMENT "protoc ${path}, calls"
    VERBATIM)
  add_library(ebb_${name}_grpc STATIC "${out}/${base}.cc")
  target_include_directories(ebb_${name}_grpc SYSTEM PUBLIC "${out}")
  target_link_libraries(ebb_${name}_grpc PUBLIC ebb_${library}_wire ebb_grpc)
  target_compile_options(ebb_${name}_grpc PRIVATE $<$<CONFIG:Release>:-Os>)  # As SMALLEST libraries.
endfunction()

# ebb_executable(<name> SOURCES file... LINK target...): a program at the top of
# the build directory.  Does nothing while its first source does not exist.
function(ebb_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  list(GET arg_SOURCES 0 first)
  file(GLOB first_exists CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${first}")
  if(NOT first_exists)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ebb_flags ${arg_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endfunction()

# ebb_link_statically(<program>): links gRPC, protobuf and Abseil from static archives.  The program then
# starts in a third of the time, because the loader has sixty fewer libraries to load and to relocate.
# Only in release builds: tests link many programs, and link times and sizes grow.  Without the archives
# the program is linked as usual.
function(ebb_link_statically program)
  if(NOT TARGET ${program} OR EBB_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  set(libraries "")
  foreach(library IN ITEMS
          libgrpc++_reflection.a libgrpc++.a libgrpc.a libgpr.a libupb.a libaddress_sorting.a libre2.a libcares.a
          libprotobuf.a libabsl_base.a libssl.so libcrypto.so libz.so)
    find_library(EBB_STATIC_${library} ${library})
    if(NOT EBB_STATIC_${library})
      message(STATUS "No ${library}: ${program} links shared libraries and starts slowly")
      return()
    endif()
    list(APPEND libraries "${EBB_STATIC_${library}}")
  endforeach()
  get_filename_component(folder "${EBB_STATIC_libabsl_base.a}" DIRECTORY)
  file(GLOB abseil "${folder}/libabsl_*.a")
  list(REMOVE_ITEM libraries "${EBB_STATIC_libabsl_base.a}")
  ebb_launch_link(${program} some ${abseil} ${libraries})
endfunction()

# ebb_link_all_statically(<program>): links a program that needs no file beside itself, not even a loader.
# ./dev release first builds the archives that the distribution lacks, in EBB_STATIC_FOLDER.
set(machine "")
if(CMAKE_CROSSCOMPILING)
  set(machine "-arm64")
endif()
set(EBB_STATIC_FOLDER "${PROJECT_SOURCE_DIR}/build/static${machine}" CACHE PATH
    "Archives of libraries of which the distribution has none (./dev release)")
set(EBB_SHAREABLE_FOLDER "${PROJECT_SOURCE_DIR}/build/shareable${machine}" CACHE PATH
    "Archives whose objects may become part of a shared object (./dev archive)")
function(ebb_link_all_statically program)
  set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
  get_filename_component(folder "${EBB_LIBRARY_grpc}" DIRECTORY)
  file(GLOB abseil "${folder}/libabsl_*.a")
  set(libraries grpc++_reflection grpc++ grpc gpr upb address_sorting re2 cares ssl crypto protobuf yaml-cpp
      xxhash sqlite3 boost_container z)
  list(TRANSFORM libraries REPLACE "(.+)" "${folder}/lib\\1.a")
  set(built simdjson hwy fmt prometheus-cpp-core tbb curl)
  list(TRANSFORM built REPLACE "(.+)" "${EBB_STATIC_FOLDER}/lib/lib\\1.a")
  ebb_launch_link(${program} all ${abseil} ${libraries} ${built})
  # A program that is linked statically can still be loaded to an address that an attacker cannot guess.
  # No build id: it would depend on the debug information, which has the paths of the machine.
  target_link_options(${program} PRIVATE -static-pie -Wl,-z,relro,-z,now,-z,pack-relative-relocs,--build-id=none)
  if(CMAKE_CROSSCOMPILING AND EBB_MOLD)  # Otherwise the cross compiler does not find mold.
    cmake_path(GET EBB_MOLD PARENT_PATH bin)
    target_link_options(${program} PRIVATE "-B${bin}/../libexec/mold")
  endif()
endfunction()

# Links the program through link_statically.sh.
function(ebb_launch_link program which)
  list(JOIN ARGN " " libraries)
  set_property(TARGET ${program} PROPERTY RULE_LAUNCH_LINK
    "${PROJECT_SOURCE_DIR}/cmake/link_statically.sh ${which} ${libraries} --")
  # packaging/contents.py reads the map: which libraries are in the program.
  target_link_options(${program} PRIVATE -Wl,--gc-sections "-Wl,-Map=$<TARGET_FILE:${program}>.map")
  set_property(TARGET ${program} APPEND PROPERTY
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/link_statically.sh" ${ARGN})
endfunction()
