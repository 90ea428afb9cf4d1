#!/usr/bin/env python3
"""Runs the programs of examples/ and compares their output with the recorded output.

  examples_test.py EXAMPLES BUILD

Also checks that the code that README.md and docs/embed.md quote occurs in an example, line for line.
tests/embed runs the programs of examples/embedded; the Go example has its own test.

EXAMPLES holds NAME.cc and NAME.txt and lies beside README.md and docs/.  BUILD holds the program NAME.
Prints one line for each example that differs and for each wrong quotation.  Exits with 1 if there is such
a line, or if there is no example or no quotation at all.
"""

import pathlib
import re
import subprocess
import sys


def difference(source, build):
    """How the output of the example differs from the recorded output; "" if it does not."""
    recorded = source.with_suffix(".txt")
    if not recorded.exists():
        return f"{recorded.name} is missing"
    run = subprocess.run([build / source.stem], capture_output=True, text=True, timeout=60)
    if run.returncode != 0 or run.stderr:
        return f"exit code {run.returncode}: {run.stderr.strip()}"
    if run.stdout != recorded.read_text():
        return f"prints other than {recorded.name}:\n{run.stdout}"
    return ""


def is_quoted(block, sources):
    """Whether the lines of `block` occur one after the other in one of the sources, indented alike."""
    pattern = "".join(rf"\1{re.escape(line)}\n" if line else "\n" for line in block.splitlines()[1:])
    first = re.escape(block.splitlines()[0])
    return any(re.search(rf"^( *){first}\n{pattern}", source, re.MULTILINE) for source in sources)


def misquotations(page, sources, least):
    """Yields the errors in the blocks of C, C++ and Go of the text `page`, which must have at least `least` blocks."""
    blocks = re.findall(r"^```(?:c|cpp|go)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if len(blocks) < least:
        yield f"quotes only {len(blocks)} examples"
    for block in blocks:
        if not is_quoted(block, sources):
            yield f"quotes what no example says:\n{block}"


def main():
    examples, build = map(pathlib.Path, sys.argv[1:3])
    sources = sorted(examples.glob("*.cc"))
    failed = not sources
    quoted = [*examples.rglob("*.c"), *examples.rglob("*.cc"), examples.parent / "go/ebb/example/main.go"]
    texts = [source.read_text() for source in quoted]
    for name, least, renamed in [("README.md", 1, "MakePlan"), ("docs/embed.md", 5, "pass.now_s")]:
        page = (examples.parent / name).read_text()
        for what in misquotations(page, texts, least):
            print(f"{name}: {what}")
            failed = True
        if not list(misquotations(page.replace(renamed, "other"), texts, least)):
            print(f"{name}: a quotation that is wrong was not noticed")
            failed = True
    for source in sources:
        what = difference(source, build)
        if what:
            print(f"{source.name}: {what}")
            failed = True
    print(f"{len(sources)} examples")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
