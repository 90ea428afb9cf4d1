# Debian's packages, by CPack: libebb1, libebb-dev and ebb.

set(EBB_PACKAGER "ebb maintainers <maintainers@ebb.invalid>" CACHE STRING
    "Who makes the packages, as Debian's field Maintainer says it")
set(EBB_DEBIAN_REVISION 1 CACHE STRING "Counts packages of one version")
set(folder "${CMAKE_CURRENT_LIST_DIR}")

# The copyright and changelog of each package.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # Or SOURCE_DATE_EPOCH, if that is set.
configure_file("${folder}/changelog.in" changelog @ONLY)
function(ebb_compress from to)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${from}")
  execute_process(COMMAND gzip -9nc INPUT_FILE "${from}" OUTPUT_FILE "${to}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
ebb_compress("${CMAKE_CURRENT_BINARY_DIR}/changelog" "${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian.gz")
ebb_compress("${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${CMAKE_CURRENT_BINARY_DIR}/changelog.gz")
foreach(pair runtime:libebb1 dev:libebb-dev tools:ebb)
  string(REGEX MATCH "(.*):(.*)" pair "${pair}")
  install(FILES "${folder}/copyright" "${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian.gz"
    "${CMAKE_CURRENT_BINARY_DIR}/changelog.gz"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CMAKE_MATCH_2}" COMPONENT ${CMAKE_MATCH_1})
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/docs/embed.md"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libebb-dev" COMPONENT dev)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples/embedded/"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libebb-dev/examples" COMPONENT dev)
file(GLOB documents CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md" "${PROJECT_SOURCE_DIR}/docs/*.schema.json")
install(FILES ${documents} DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/ebb" COMPONENT tools)
install(FILES "${PROJECT_SOURCE_DIR}/examples/prices.yaml" "${PROJECT_SOURCE_DIR}/examples/prices.csv"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/ebb/examples" COMPONENT tools)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ebb)
set(CPACK_PACKAGE_VENDOR ebb)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # Each package has its own.
set(CPACK_PACKAGE_CONTACT "${EBB_PACKAGER}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_COMPONENTS_ALL runtime dev tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# CPack builds "all" before it installs; ./dev package has built what is needed.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY TRUE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE ebb)
set(CPACK_DEBIAN_PACKAGE_RELEASE "${EBB_DEBIAN_REVISION}")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(version "${PROJECT_VERSION}-${EBB_DEBIAN_REVISION}")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()

# Finds the packages that contain the libraries that ours link.  For another architecture it searches the
# packages that are unpacked for it.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(processor "")
if(CMAKE_CROSSCOMPILING)
  file(CONFIGURE OUTPUT shlibdeps @ONLY CONTENT
    "#!/bin/sh\nexec env DEB_HOST_ARCH=arm64 dpkg-shlibdeps -S'@CMAKE_SYSROOT@' \"$@\"\n")
  file(CHMOD "${CMAKE_CURRENT_BINARY_DIR}/shlibdeps" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  file(CONFIGURE OUTPUT cpack.cmake @ONLY CONTENT
    "set(SHLIBDEPS_EXECUTABLE \"@CMAKE_CURRENT_BINARY_DIR@/shlibdeps\")\n")
  set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_BINARY_DIR}/cpack.cmake")
elseif(EBB_ARCH_BASELINE STREQUAL "x86-64-v2")
  set(processor "sse4.2-support")  # This package cannot be installed on a processor without SSE 4.2.
endif()

set(about "\
ebb computes which nodes of a Kubernetes cluster can be removed together,
and on which node each of their pods lands. It plans as Cluster Autoscaler
plans, with the scheduler's own rules, and checks every plan with independent
code.
")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libebb1)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${processor}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${folder}/triggers")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "which nodes of a Kubernetes cluster can go: library
${about}
This package has the shared library that programs link.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libebb-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libebb1 (= ${version})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "which nodes of a Kubernetes cluster can go: headers
${about}
This package has what programs in C and C++ are built with: headers, files for
CMake and pkg-config, and the messages in Protocol Buffers' language.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ebb)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION admin)
# ebb loads libcurl when it needs it; no tool finds it in the program.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS
  "systemd-standalone-sysusers | systemd-sysusers | systemd, libcurl4")
if(processor)
  string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", ${processor}")
endif()
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA "${folder}/postinst;${folder}/prerm;${folder}/postrm")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "which nodes of a Kubernetes cluster can go
${about}
This package has the command line, and a daemon that answers over a Unix
socket; it is not started before ebb.socket is enabled.")

include(CPack)
