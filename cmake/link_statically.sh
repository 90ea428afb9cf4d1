#!/usr/bin/env bash
# link_statically.sh LIBRARY... -- LINK COMMAND: runs the command with LIBRARY... in place of the shared
# libraries of gRPC, protobuf and Abseil.  CMake knows these libraries only as shared ones
# (ebb_link_statically in targets.cmake).
set -euo pipefail
libraries=()
while [[ $1 != -- ]]; do
  libraries+=("$1")
  shift
done
shift
command=()
for word in "$@"; do
  case $word in
    */libgrpc*.so* | */libgpr.so* | */libprotobuf.so* | */libabsl_*.so*) ;;
    *) command+=("$word") ;;
  esac
done
# A group, because the archives need each other.
exec "${command[@]}" -Wl,--start-group "${libraries[@]}" -Wl,--end-group
