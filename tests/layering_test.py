#!/usr/bin/env python3
"""Holds the source tree to the rules that no compiler checks.

  layering_test.py ROOT

Prints one line per offence, as `file:line: what`, and exits 1 if there is one.
"""

import pathlib
import re
import sys
import unittest

ORDER = ["snapshot", "predicates", "engine", "tools"]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')

# Headers that only some places may see: what, where, why.
PRIVATE = [
    (re.compile(r"^google/protobuf/|\.pb\.h$"), re.compile(r"/wire/|^tools/"), "protobuf stays in wire/ and tools/"),
    (re.compile(r"^(tbb|oneapi)/"), re.compile(r"^engine/parallel\.(h|cc)$"),
     "oneTBB is seen by engine/parallel only"),
    (re.compile(r"^(gtest|gmock|benchmark)/"), re.compile(r"^$"), "test libraries stay out of the libraries"),
]
# Seen in many translation units, so their cost would be paid everywhere.
HEAVY = re.compile(r"^(simdjson|yaml-cpp/|grpcpp/|CLI/|nlohmann/json\.hpp$)")
# What the JSON reader's own few files share.
HEAVY_ALLOWED = re.compile(r"^tools/json_\w+\.h$")
# The engine takes `now` as an argument, so that any plan can be replayed.
AMBIENT = re.compile(r"\b(absl::Now\(|system_clock::now|std::getenv|\bgetenv\(|gettimeofday|std::random_device|std::rand\b)")


def offences(path, text):
    """Yields (line number, what) for every broken rule of one file."""
    folder = path.split("/")[0]
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            header = match.group(1)
            target = header.split("/")[0]
            if target in ORDER and ORDER.index(target) > ORDER.index(folder):
                yield number, f"{folder}/ must not include {header}: includes point one way"
            for pattern, allowed, why in PRIVATE:
                if pattern.search(header) and not allowed.search(path):
                    yield number, f"{header}: {why}"
            if path.endswith(".h") and HEAVY.search(header) and not HEAVY_ALLOWED.search(path):
                yield number, f"{header}: too heavy for a header"
        elif folder != "tools" and AMBIENT.search(line.split("//")[0]):
            yield number, "reads a clock, the environment or a random device: take it as an argument"


class OffencesTest(unittest.TestCase):
    """The checker can say no."""

    def found(self, path, text):
        return [what for _, what in offences(path, text)]

    def test_include_against_the_order_is_found(self):
        self.assertTrue(self.found("snapshot/a.h", '#include "engine/planner.h"'))
        self.assertFalse(self.found("engine/a.h", '#include "snapshot/ids.h"'))

    def test_protobuf_outside_wire_and_tools_is_found(self):
        self.assertTrue(self.found("engine/a.cc", '#include "tools/wire/snapshot.pb.h"'))
        self.assertFalse(self.found("tools/a.cc", '#include "tools/wire/snapshot.pb.h"'))

    def test_clock_in_the_engine_is_found_but_not_in_a_comment(self):
        self.assertTrue(self.found("engine/a.cc", "auto t = absl::Now();"))
        self.assertFalse(self.found("engine/a.cc", "// never absl::Now()"))


def main(root):
    if not unittest.TextTestRunner(verbosity=0).run(
            unittest.defaultTestLoader.loadTestsFromTestCase(OffencesTest)).wasSuccessful():
        return 1
    count = files = 0
    for folder in ORDER:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            files += 1
            relative = path.relative_to(root).as_posix()
            for number, what in offences(relative, path.read_text(encoding="utf-8")):
                count += 1
                print(f"{relative}:{number}: {what}")
    print(f"{files} files, {count} offences")
    return 1 if count or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
