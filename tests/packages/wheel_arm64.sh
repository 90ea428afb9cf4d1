#!/usr/bin/env bash
# wheel_arm64.sh ROOT PYTEST WHEEL...: tests of Python's package on arm64, with qemu.
#
# ROOT holds an arm64 Python that was unpacked and never run; its version decides which WHEEL is tried.
# PYTEST is a folder with pytest, which is the same for every machine.  Not tried here, because a program
# of arm64 cannot start another one: tests that start Python; and tests of tables, which need pyarrow.
#
# ./dev wheel arm64 calls it.
set -euo pipefail
root=$(realpath "$1") pytest=$2
shift 2
failed() { printf 'wheel: %s\n' "$*" >&2; exit 1; }
# Packages of newer distributions leave this link to the installation.
[[ -e $root/lib ]] || ln -s usr/lib "$root/lib"
qemu=$(command -v qemu-aarch64-static)
python=$(compgen -G "$root/usr/bin/python3.*" | grep -x '.*/python3\.[0-9]*')
minor=${python##*python3.}
tag=cp3$minor-cp3$minor
[[ $minor -lt 12 ]] || tag=cp312-abi3
wheel=$(printf '%s\n' "$@" | grep -e "-$tag-manylinux_.*_aarch64\.whl$") || failed "there is none for Python 3.$minor: $*"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m zipfile -e "$wheel" "$folder"
mv "$folder/ebb/bin/ebb" "$folder/ebb/bin/ebb.arm64"
printf '#!/bin/sh\nexec %s %s "$@"\n' "$qemu" "$folder/ebb/bin/ebb.arm64" >"$folder/ebb/bin/ebb"
chmod +x "$folder"/ebb/bin/*
tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../python/tests")
cd "$folder"
PYTHONPATH=$folder:$pytest PYTHONDONTWRITEBYTECODE=1 "$qemu" -L "$root" "$python" -m pytest -q -p no:cacheprovider \
  "$tests/cluster_test.py" -k "not keyboard_interrupt"
echo "wheel: $(basename "$wheel") tried with Python 3.$minor on arm64"
