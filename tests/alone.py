#!/usr/bin/env python3
"""Each file compiles alone: it includes what it uses.

    alone.py BUILD FILE...
    alone.py --self-test

CI compiles up to 24 files as one (EBB_TOGETHER), where a file can use what another includes.
So each FILE is compiled by itself, with the flags of BUILD (a configured and built folder),
and no object is written.  Prints the compiler's errors, and exits 1 if there is one.
"""

import concurrent.futures
import os
import subprocess
import sys
import tempfile
import unittest

import tidy


def errors_of(file, flags):
    """The compiler's errors in the file; an empty text for none."""
    result = subprocess.run(["clang++-19", "-fsyntax-only", "-w", *flags, file],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stderr or f"{file}: the compiler failed\n"


def main(build, *files):
    flags = tidy.flags_of(build)
    unknown = [file for file in files if os.path.realpath(file) not in flags]
    found = [f"{file}: {build} does not compile it\n" for file in unknown]
    known = [os.path.realpath(file) for file in files if file not in unknown]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found += [errors for errors in pool.map(lambda file: errors_of(file, flags[file]), known) if errors]
    sys.stdout.write("".join(found))
    print(f"{len(files)} files, {len(found)} of them with errors")
    return 1 if found or not files else 0


class SelfTest(unittest.TestCase):
    """The check can say no."""

    def errors(self, text):
        with tempfile.TemporaryDirectory(prefix="alone-") as folder:
            path = os.path.join(folder, "a.cc")
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            return errors_of(path, ["-std=c++20"])

    def test_a_file_that_uses_what_it_does_not_include_is_found(self):
        self.assertIn("string", self.errors("std::string Name();\n"))

    def test_a_file_that_includes_what_it_uses_is_clean(self):
        self.assertEqual(self.errors("#include <string>\nstd::string Name();\n"), "")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    sys.exit(main(*sys.argv[1:]))
