#!/usr/bin/env bash
# collect.sh EBB ROOT: copies the program and every library that it links or loads below ROOT, to the same
# paths as on this machine.
set -euo pipefail
program=$1 root=$2
install -D -m 0755 "$program" "$root/usr/bin/ebb"
strip "$root/usr/bin/ebb"
# The program loads libcurl when it needs it (platform/loaded_library.h): ldd does not show it.
loaded=$(PATH=$PATH:/sbin ldconfig -p | sed -n "s/^[[:space:]]*libcurl.so.4 .* => //p" | head -n 1)
# "libx.so => /lib/libx.so (0x...)" and the loader, "/lib64/ld-linux-x86-64.so.2 (0x...)".
{ printf '%s (loaded)\n' "$loaded"; ldd "$program" "$loaded"; } |
  sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | sort -u |
  while read -r library; do
    install -D -m 0755 "$(readlink -f "$library")" "$root$library"
  done
mkdir -p -m 1777 "$root/tmp"
