#!/usr/bin/env python3
"""Runs clang-tidy over the sources, a folder's files at a time.

    tidy.py BUILD [FILE...]      BUILD has compile_commands.json; FILE: .cc files
    tidy.py --self-test          faults in a file that a unit includes are found

Most of clang-tidy's time goes into the headers that each file includes.  Files of one
folder are therefore checked together, as a unit that includes them.  The analyzer takes
.cc files for part of a unit if that is called UnifiedSource.  A file that cannot be
compiled behind the others (two files may use a name, each for itself) is left for a later
unit.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

UNIT_FILES_MAX = 24  # More make a unit that others wait for at the end.
# The analyzer leaves a function after so many states.  Its default, three times as many, takes
# three times as long: 100 s instead of 33 s for 24 files of engine/, and finds the same there.
ANALYZER_STATES_MAX = 75000
FOLDERS = "base|snapshot|predicates|engine|service|tools"


def files_of(name):
    """The file, or those that it stands for where files are compiled together."""
    if os.path.dirname(name).endswith("/Unity"):
        with open(name, encoding="utf-8") as unit:
            return re.findall(r'^#include "(.*)"$', unit.read(), re.MULTILINE)
    return [name]


def flags_of(build):
    """What each file is compiled with, but for its own name and output."""
    flags = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        for entry in json.load(commands):
            words = shlex.split(entry["command"])
            while not os.path.basename(words[0]).startswith(("c++", "g++", "clang++")):
                words.pop(0)  # ccache
            words = words[1 : words.index("-o")]
            # g++'s own warnings mean nothing to clang.
            words = [w for w in words if not w.startswith("-W")]
            # Of a file that is compiled twice, as it is in the program: that comes first.
            for file in files_of(entry["file"]):
                flags.setdefault(os.path.realpath(file), words)
    return flags


def write_unit(folder, files):
    handle, path = tempfile.mkstemp(prefix="UnifiedSource-", suffix=".cc", dir=folder, text=True)
    with os.fdopen(handle, "w", encoding="utf-8") as unit:
        unit.writelines(f'#include "{file}"\n' for file in files)
    return path


def first_stranger(unit, flags, files):
    """The file that the compiler stumbles in; None if there is none."""
    result = subprocess.run(
        ["clang++-19", "-fsyntax-only", "-w", "-ferror-limit=1", *flags, unit],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    before = result.stderr.split("error:")[0]
    named = [(before.rfind(file), file) for file in files]
    at, file = max(named)
    return file if at >= 0 else files[-1]


def check(unit, flags):
    """clang-tidy's findings, or an empty text."""
    result = subprocess.run(
        ["clang-tidy-19", "--quiet", "--checks=-bugprone-suspicious-include",
         f"--header-filter=/({FOLDERS})/([a-z]+/)*[^/]*\\.(h|cc)$", unit, "--",
         "-Wno-unknown-warning-option", "-Xclang", "-analyzer-config", "-Xclang",
         f"max-nodes={ANALYZER_STATES_MAX}", *flags],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def check_folder(folder, files, flags):
    findings, units = [], 0
    while files:
        together, files = files[:UNIT_FILES_MAX], files[UNIT_FILES_MAX:]
        later = []
        while True:
            unit = write_unit(folder, together)
            stranger = first_stranger(unit, flags, together)
            if stranger is None or len(together) == 1:
                break
            together = [file for file in together if file != stranger]
            later.append(stranger)
        findings.append(check(unit, flags))
        units += 1
        files = later + files
    return units, "".join(findings)


def main(arguments):
    build, names = arguments[0], arguments[1:]
    flags = flags_of(build)
    folders = {}
    for name in names:
        path = os.path.realpath(name)
        if path not in flags:
            sys.exit(f"tidy: {name} is not in {build}/compile_commands.json")
        # One folder's files have the same flags, unless some are another program's.
        folders.setdefault((os.path.dirname(path), tuple(flags[path])), []).append(path)

    clean = True
    with tempfile.TemporaryDirectory(prefix="tidy-", dir=build) as scratch:
        # The checks are looked for upwards from a unit: below `build`, in the tree.
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            units = [
                (files[at : at + UNIT_FILES_MAX], list(words))
                for (_, words), files in folders.items()
                for at in range(0, len(files), UNIT_FILES_MAX)
            ]
            units.sort(key=lambda unit: len(unit[0]), reverse=True)  # The longest first.
            jobs = [pool.submit(check_folder, scratch, *unit) for unit in units]
            for job in concurrent.futures.as_completed(jobs):
                units, findings = job.result()
                if findings:
                    clean = False
                    print(findings, end="", flush=True)
    print(f"{len(names)} files, {'clean' if clean else 'see above'}")
    return 0 if clean else 1


class SelfTest(unittest.TestCase):

    def checked(self, *texts):
        """What is found in .cc files of these texts, and in how many units."""
        with tempfile.TemporaryDirectory(prefix="tidy-", dir=".") as folder:
            os.mkdir(f"{folder}/base")
            files = [os.path.realpath(f"{folder}/base/{i}.cc") for i in range(len(texts))]
            for file, text in zip(files, texts):
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
            return check_folder(folder, files, ["-std=c++20"])

    def test_the_analyzer_looks_into_what_a_unit_includes(self):
        units, found = self.checked("int A() { return 1; }\n",
                                    "int B(int* p) { delete p; return *p; }\n")
        self.assertEqual(units, 1)
        self.assertIn("[clang-analyzer-cplusplus.NewDelete", found)

    def test_files_that_cannot_stand_together_are_checked_apart(self):
        one = "static int Same() { return 1; }\nint A() { return Same(); }\n"
        two = "static int Same() { return 2; }\nint B(int* p) { delete p; return *p + Same(); }\n"
        units, found = self.checked(one, two)
        self.assertEqual(units, 2)
        self.assertIn("[clang-analyzer-cplusplus.NewDelete", found)
        self.assertNotIn("clang-diagnostic-error", found)

    def test_a_file_that_cannot_be_compiled_is_told(self):
        self.assertIn("[clang-diagnostic-error", self.checked("int A() { return b; }\n")[1])

    def test_what_is_well_is_clean(self):
        self.assertEqual(self.checked("int A() { return 1; }\n"), (1, ""))


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    sys.exit(main(sys.argv[1:]))
