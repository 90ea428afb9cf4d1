#!/bin/sh
# third.sh RUNNER FOLDER OPEN: replays each case below FOLDER by itself.  Fails where a case that OPEN
# (third_open.txt) does not list disagrees, and where a listed case agrees.
set -eu
runner=$1 folder=$2 open=$3
passed=0 failed=0
for case in $(find "$folder" -name '*.json' | sort); do
  name=${case#"$folder"/}
  listed=$(grep -c "^$name " "$open" || true)
  if output=$("$runner" "$case" 2>&1); then agrees=1; else agrees=0; fi
  if [ "$agrees" -eq "$listed" ]; then
    failed=$((failed + 1))
    [ "$agrees" -eq 1 ] && echo "$name: agrees; take it off $open" || printf '%s: disagrees\n%s\n' "$name" "$output"
  else
    passed=$((passed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
