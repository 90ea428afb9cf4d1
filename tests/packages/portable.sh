#!/usr/bin/env bash
# portable.sh PROGRAM ROOT EBB [EMULATOR]: runs the portable program in ROOT, which may be empty: version,
# gen, plan, and a plan by a daemon.  Its plans must be those of EBB, byte by byte.  EMULATOR runs a program
# of another architecture; it must be linked statically too.
#
# ./dev release calls it.
set -euo pipefail
program=$1 root=$2 ebb=$3
failed() { printf 'portable: %s\n' "$*" >&2; exit 1; }

rm -rf "$root/try"
mkdir -m 700 "$root/try"
cp "$program" "$root/try/ebb"
inside=(env -i "$(command -v chroot)" "$root")
if [[ $# -gt 3 ]]; then
  cp "$(command -v "$4")" "$root/try/emulator"
  inside+=(/try/emulator)
fi
inside+=(/try/ebb)
daemon=
trap '[[ -z $daemon ]] || kill "$daemon"; rm -rf "$root/try"' EXIT

text=$("${inside[@]}" version)
[[ $text == "$("$ebb" --version)"$'\n'* ]] || failed "it is another version: $text"
[[ $text == *"linked statically"* && $text == *"has       http"* ]] || failed "it lacks what it should have: $text"
[[ $text != *"changes that are not in it"* && $text != *unknown* ]] || failed "it was not built from a commit: $text"

"${inside[@]}" gen company --nodes 500 --seed 1 -o /try/cluster.json
"$ebb" gen company --nodes 500 --seed 1 -o "$root/try/expected.json"
cmp "$root/try/cluster.json" "$root/try/expected.json"
plan=(-o json --now 2026-01-02T03:04:05Z)
"$ebb" plan "$root/try/cluster.json" "${plan[@]}" >"$root/try/expected"
"${inside[@]}" plan /try/cluster.json "${plan[@]}" >"$root/try/plan"
cmp "$root/try/expected" "$root/try/plan" || failed "its plan is another one"

# The daemon says when it serves, so that nothing waits for a fixed time.
mkfifo "$root/try/log"
"${inside[@]}" serve --socket /try/ebb.sock --log none 2>"$root/try/log" &
daemon=$!
exec 3<"$root/try/log"
read -r line <&3
[[ $line == *"serves on"* ]] || failed "the daemon: $line"
"${inside[@]}" plan /try/cluster.json --server unix:/try/ebb.sock "${plan[@]}" >"$root/try/served"
cmp "$root/try/expected" "$root/try/served" || failed "the daemon's plan is another one"
kill "$daemon"
wait "$daemon" || failed "the daemon ended with $?"
daemon=
echo "portable: used in $root"
