#!/usr/bin/env bash
# unpacked.sh ROOT QEMU COMPILER: runs what the packages of another architecture bring, in a root
# with them and what they depend on.  Nothing in the root has been run: its programs need QEMU.
set -euo pipefail
root=$1 qemu=$2 compiler=$3
failed() { printf 'packages: %s\n' "$*" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ebb() { "$qemu" -L "$root" "$root/usr/bin/ebb" "$@"; }

ebb gen uniform --nodes 60 -o "$folder/cluster.json"
ebb plan "$folder/cluster.json"
nodes=$(ebb plan "$folder/cluster.json" -o name | sed 's,^node/,,')
[[ $(wc -l <<<"$nodes") -gt 10 ]] || failed "the plan has $(wc -l <<<"$nodes") nodes"
"$compiler" --sysroot="$root" -std=c11 "$root/usr/share/doc/libebb-dev/examples/plan.c" -lebb -o "$folder/plan"
[[ $("$qemu" -L "$root" "$folder/plan" <"$folder/cluster.json") == "$nodes" ]] || failed "plan.c plans otherwise"
echo "packages: unpacked and used"
