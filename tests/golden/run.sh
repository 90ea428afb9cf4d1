#!/bin/sh
# run.sh RUNNER TARBALL SCRATCH: unpacks recorded cases and runs golden_runner on
# all of them.  Exits 77 (ctest: skipped) where the tarball is absent.
set -eu
runner=$1 tarball=$2 scratch=$3
if [ ! -f "$tarball" ]; then
  echo "SKIPPED: $tarball is not here; it cannot be part of the project"
  exit 77
fi
rm -rf "$scratch"
mkdir -p "$scratch"
tar xzf "$tarball" -C "$scratch"
find "$scratch" -name '*.json' | sort | xargs "$runner"
