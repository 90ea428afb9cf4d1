#!/usr/bin/env python3
"""Runs clang-tidy over the sources, many files at a time.

    tidy.py BUILD [FILE...]      BUILD has compile_commands.json; FILE: .cc files
    tidy.py --self-test          faults in a file that a unit includes are found

Most of clang-tidy's time goes into the headers that each file includes: of 85 s for 24 files
of engine/, 12 s into reading them and 38 s into all checks but the analyzer's.  Many files
are therefore checked together, as a unit that includes them.  The analyzer takes .cc files for
part of a unit if that is called UnifiedSource.  Files that cannot be compiled behind the others
(two files may use a name, each for itself) are left for a later unit.
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

UNIT_FILES_MAX = 40  # More make a unit that others wait for at the end.
# The analyzer leaves a function after so many states; its default is nine times as many.  Both
# faults that it found in this tree (pointers in engine/planner.cc and formats/proto_fields.h) are
# found with 25,000 as with 75,000, which takes 17 instead of 7 s for planner.cc; 10,000 miss one.
ANALYZER_STATES_MAX = 25000
# Looks into each function of each header for parameters that could be references: 75 of the 110 s
# that all checks but the analyzer's take for 24 files of tools/, and 18 of 38 s in engine/.  What
# these folders do once in a plan may copy a text.
SLOW_CHECK = "performance-unnecessary-value-param"
SLOW_CHECK_SPARES = ("service", "tools")
TREE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
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


def strangers_of(unit, flags, files):
    """The files that the compiler stumbles in, or in what they include."""
    result = subprocess.run(
        ["clang++-19", "-fsyntax-only", "-w", "-ferror-limit=0", *flags, unit],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return []
    wrong, file = set(), None
    for line in result.stderr.splitlines():
        included = re.match(r"In file included from (.*?):\d+:$", line)
        error = re.match(r"(.*?):\d+:\d+: (?:fatal )?error: ", line)
        if included or error:
            path = (included or error)[1]
            file = path if path in files else file
        if error:
            wrong.add(file)
    return [file for file in files if file in wrong]


def check(unit, flags, spares):
    """clang-tidy's findings, or an empty text.  `spares`: without the slow check."""
    checks = "-bugprone-suspicious-include" + (f",-{SLOW_CHECK}" if spares else "")
    result = subprocess.run(
        ["clang-tidy-19", "--quiet", f"--checks={checks}",
         f"--header-filter=/({FOLDERS})/([a-z]+/)*[^/]*\\.(h|cc)$", unit, "--",
         "-Wno-unknown-warning-option", "-Xclang", "-analyzer-config", "-Xclang",
         f"max-nodes={ANALYZER_STATES_MAX}", *flags],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def check_together(folder, files, flags, spares):
    """What is found in files that can stand together, and the others of them."""
    together, later = files, []
    while True:
        unit = write_unit(folder, together)
        strangers = strangers_of(unit, flags, together) if len(together) > 1 else []
        # At least the first file stays, so that there is an end.
        strangers = [file for file in strangers if file != together[0]]
        if not strangers:
            return check(unit, flags, spares), later
        together = [file for file in together if file not in strangers]
        later += strangers


def all_flags(flags, files):
    """Flags for files together: a library's macros and include paths do not harm the others."""
    words = list(flags[files[0]])
    for file in files[1:]:
        more = iter(flags[file])
        for word in more:
            pair = [word, next(more)] if word in ("-isystem", "-include") else [word]
            if pair[-1] not in words:
                words += pair
    return words


def findings_of(folder, paths, flags, threads):
    """What is found in each unit, as it is found; an empty text for a clean one."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        while paths:
            jobs = [pool.submit(check_together, folder, files, all_flags(flags, files), spares)
                    for files, spares in slices_of(paths, threads)]
            for job in concurrent.futures.as_completed(jobs):
                yield job.result()[0]
            paths = [file for job in jobs for file in job.result()[1]]


def slices_of(paths, threads):
    """Lists of files for one unit each, and whether they are spared the slow check."""
    tops = tuple(f"{TREE}/{top}/" for top in SLOW_CHECK_SPARES)
    slices = []
    for spares in (True, False):
        files = [path for path in paths if path.startswith(tops) == spares]
        if files:
            # As many units as threads or a multiple of it, of one size.  Neighbours stay together:
            # they include the same headers.
            rounds = -(-len(files) // (threads * UNIT_FILES_MAX))
            size = -(-len(files) // (threads * rounds))
            slices += [(files[at : at + size], spares) for at in range(0, len(files), size)]
    return slices


def main(arguments):
    build, names = arguments[0], arguments[1:]
    flags = flags_of(build)
    paths = [os.path.realpath(name) for name in names]
    for name, path in zip(names, paths):
        if path not in flags:
            sys.exit(f"tidy: {name} is not in {build}/compile_commands.json")
    # The checks are looked for upwards from a unit: below `build`, in the tree.
    with tempfile.TemporaryDirectory(prefix="tidy-", dir=build) as scratch:
        clean = True
        for findings in findings_of(scratch, paths, flags, len(os.sched_getaffinity(0))):
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
            flags = {file: ["-std=c++20"] for file in files}
            found = list(findings_of(folder, files, flags, threads=1))
            return len(found), "".join(found)

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

    def test_an_error_in_a_header_is_of_the_file_that_includes_it(self):
        with tempfile.TemporaryDirectory(prefix="tidy-", dir=".") as folder:
            header = os.path.realpath(f"{folder}/twice.h")
            with open(header, "w", encoding="utf-8") as out:
                out.write("static int Same() { return 1; }\n")
            text = f'#include "{header}"\nint Of@() {{ return Same(); }}\n'
            units, found = self.checked(*(text.replace("@", str(i)) for i in range(3)), "int Z();\n")
        self.assertEqual(units, 3)  # The first with the last, and one for each of the others.
        self.assertNotIn("clang-diagnostic-error", found)

    def test_service_and_tools_alone_are_spared_the_slow_check(self):
        engine, tools = f"{TREE}/engine/a.cc", f"{TREE}/tools/b.cc"
        self.assertEqual(slices_of([engine, tools], 2), [([tools], True), ([engine], False)])

    def test_a_file_that_cannot_be_compiled_is_told(self):
        self.assertIn("[clang-diagnostic-error", self.checked("int A() { return b; }\n")[1])

    def test_what_is_well_is_clean(self):
        self.assertEqual(self.checked("int A() { return 1; }\n"), (1, ""))


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    sys.exit(main(sys.argv[1:]))
