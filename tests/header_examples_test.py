#!/usr/bin/env python3
"""Every example in a header compiles: its lines occur in header_examples.cc, which is built.

    header_examples_test.py SOURCE_DIR

An example is a block of lines in a header's first comment that are indented by three blanks, of which one
ends as a call does.  Lists with dashes are not examples.  Comments at the end of lines are ignored.
"""

import pathlib
import re
import sys

import layering_test


def code_of(line):
    return re.sub(r"\s*//.*", "", line).strip()


def examples(header):
    """The lines of code of each example in the header's first comment."""
    blocks, block = [], []
    for line in header.splitlines():
        if not line.startswith("//"):
            break
        if line.startswith("//   "):
            block.append(code_of(line[2:].strip()))
        else:
            blocks.append(block)
            block = []
    blocks.append(block)
    return [[line for line in block if line] for block in blocks
            if any(line.endswith(");") for line in block) and not block[0].startswith("- ")]


def sections(source):
    """The code under each header's name, in one line."""
    found, name = {}, ""
    for line in source.splitlines():
        heading = re.fullmatch(r"// (\S+\.h)", line)
        name = heading[1] if heading else name
        found[name] = found.get(name, "") + " " + code_of(line)
    return found


def faults(headers, source):
    compiled = sections(source)
    found = 0
    for name, text in headers:
        for example in examples(text):
            found += 1
            for line in example:
                if line not in compiled.get(name, ""):
                    yield f"{name}: not in header_examples.cc: {line}"
    if found < 10:
        yield f"only {found} examples were found"


def main(root):
    headers = [(str(path.relative_to(root)), path.read_text(encoding="utf-8"))
               for folder in layering_test.FOLDERS for path in sorted((root / folder).glob("*.h"))]
    source = (root / "tests/header_examples.cc").read_text(encoding="utf-8")
    wrong = list(faults(headers, source))
    broken = [(name, text.replace("SnapshotBuilder builder;", "SnapshotBuilder maker;"))
              for name, text in headers]
    if len(list(faults(broken, source))) <= len(wrong):
        wrong.append("a line that is not compiled was not noticed")
    print("\n".join(wrong) or "all examples are compiled")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
