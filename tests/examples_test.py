#!/usr/bin/env python3
"""Runs the programs of examples/ and compares what they print with what is recorded.

  examples_test.py EXAMPLES BUILD

EXAMPLES holds NAME.cc and NAME.txt, BUILD the program NAME.  Prints one line per example
that differs and exits 1 if there is one, or if there is no example at all.
"""

import pathlib
import subprocess
import sys


def difference(source, build):
    """How the example departs from what is recorded; "" if it does not."""
    recorded = source.with_suffix(".txt")
    if not recorded.exists():
        return f"{recorded.name} is missing"
    run = subprocess.run([build / source.stem], capture_output=True, text=True, timeout=60)
    if run.returncode != 0 or run.stderr:
        return f"exit code {run.returncode}: {run.stderr.strip()}"
    if run.stdout != recorded.read_text():
        return f"prints other than {recorded.name}:\n{run.stdout}"
    return ""


def main():
    examples, build = map(pathlib.Path, sys.argv[1:3])
    sources = sorted(examples.glob("*.cc"))
    failed = not sources
    for source in sources:
        what = difference(source, build)
        if what:
            print(f"{source.name}: {what}")
            failed = True
    print(f"{len(sources)} examples")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
