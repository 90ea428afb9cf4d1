#!/bin/sh
# run.sh RUNNER TARBALL SCRATCH [N]: unpacks recorded cases and runs golden_runner on
# all of them, or on each Nth.  Exits 77 (ctest: skipped) where the tarball is absent.
set -eu
runner=$1 tarball=$2 scratch=$3 each=${4:-1}
if [ ! -f "$tarball" ]; then
  echo "SKIPPED: $tarball is not here; it cannot be part of the project"
  exit 77
fi
rm -rf "$scratch"
mkdir -p "$scratch"
tar xzf "$tarball" -C "$scratch"
find "$scratch" -name '*.json' | sort | sed -n "1~${each}p" | xargs "$runner"
