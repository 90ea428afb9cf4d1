#!/usr/bin/env bash
# link_statically.sh some|all LIBRARY... -- LINK COMMAND: runs the command with the archives LIBRARY... in
# place of the shared libraries of gRPC, RE2, protobuf and Abseil (some), or of all shared libraries (all).
# CMake knows these libraries only as shared ones (ebb_link_statically in targets.cmake).
set -euo pipefail
which=$1
shift
libraries=()
while [[ $1 != -- ]]; do
  libraries+=("$1")
  shift
done
shift
command=()
for word in "$@"; do
  case $which:$word in
    *:*/libgrpc*.so* | *:*/libgpr.so* | *:*/libre2.so* | *:*/libprotobuf.so* | *:*/libabsl_*.so*) ;;
    all:*/lib*.so | all:*/lib*.so.*) ;;
    *) command+=("$word") ;;
  esac
done
# A group, because the archives need each other.
exec "${command[@]}" -Wl,--start-group "${libraries[@]}" -Wl,--end-group
