#!/bin/sh
# merge_archives.sh OUT MAIN LD OBJCOPY AR -- LINKER_ARG...
#
# Makes of the archive MAIN, and of what it needs of the others, one archive OUT with a single
# object whose only global names are ebb_*.  A program that has another version of such a library
# does not meet this one.
set -eu
out=$1 main=$2 ld=$3 objcopy=$4 ar=$5
shift 5
[ "$1" = -- ] && shift
object=$out.o
trap 'rm -f "$object"' EXIT
# Without groups of sections: a linker that found the same group elsewhere would drop ours, whose
# names are local, and what refers to them would refer to nothing.
"$ld" -r --force-group-allocation -o "$object" --whole-archive "$main" --no-whole-archive \
  -Bstatic --start-group "$@" --end-group
"$objcopy" --strip-debug --wildcard --keep-global-symbol 'ebb_*' "$object"
rm -f "$out"
"$ar" rcs "$out" "$object"
