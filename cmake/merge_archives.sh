#!/bin/sh
# merge_archives.sh OUT MAIN LD OBJCOPY NM AR -- LINKER_ARG...
#
# Merges the archive MAIN, and the parts of other archives that it needs, into one archive OUT.  OUT has
# a single object whose only global names are ebb_*, so that a program may link another version of the
# same libraries.  OUT.map says which archives it has parts of.
set -eu
out=$1 main=$2 ld=$3 objcopy=$4 nm=$5 ar=$6
shift 6
[ "$1" = -- ] && shift
object=$out.o
names=$out.names
trap 'rm -f "$object" "$names"' EXIT
# Removes section groups.  Otherwise a linker that finds the same group elsewhere would drop ours; our
# names are local, so references to them would have no target.
"$ld" -r --force-group-allocation -Map="$out.map" -o "$object" --whole-archive "$main" --no-whole-archive \
  -Bstatic --start-group "$@" --end-group
"$objcopy" --strip-debug --wildcard --keep-global-symbol 'ebb_*' "$object"
# g++ gives static variables of inline functions and templates GNU's unique binding, which makes them one
# for a whole process.  objcopy cannot make such names local, but it can make them weak, and weak names local.
# The list has exactly the unique names.
"$nm" "$object" | awk '$2 == "u" { print $3 }' >"$names"
"$objcopy" --weaken-symbols="$names" "$object"
"$objcopy" --localize-symbols="$names" "$object"
rm -f "$out"
"$ar" rcs "$out" "$object"
