# Toolchain for arm64 programs that are built on another machine, as ./dev arm64 does.  It uses the
# distribution's cross compiler and its arm64 packages, unpacked below EBB_SYSROOT.  protoc is the
# host's. Tests run under qemu-user.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(EBB_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot" CACHE PATH
    "Where the arm64 packages are unpacked")
get_filename_component(sysroot "${EBB_SYSROOT}" REALPATH)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EBB_SYSROOT)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT "${sysroot}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${sysroot}")

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${sysroot}")
