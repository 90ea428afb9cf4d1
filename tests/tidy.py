#!/usr/bin/env python3
"""Runs clang-tidy over the sources, many files at a time.

    tidy.py CLANG_TIDY BUILD [FILE...]   BUILD has compile_commands.json; FILE: .cc files
    tidy.py CLANG_TIDY --self-test       faults in a file that a unit includes are found

Much of clang-tidy's time goes into reading the headers that each file includes.  Therefore many files are
checked together, as a unit that includes them.  The analyzer treats included .cc files as part of a unit
whose name contains UnifiedSource.  Files that define the same name, each for itself, go into different
units.  If a file still does not compile after the others of its unit, it moves to a later unit.

CLANG_TIDY must be version 22 or later: earlier versions also run every check on every system header, which
takes two to four times as long.
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

# The rooms whose files are checked together; the files of all other rooms are also checked together.
TOWER = ("base", "snapshot", "predicates", "engine", "search", "loop", "simulation")
COMMANDS = ("cli", "tools")
UNIT_FILES_MAX = 40  # With more, the other processors wait for one unit at the end.
# The analyzer leaves a function after this many states; its default is nine times as many.  Both faults
# that it found in this tree (pointers in engine/pass/planner.cc and formats/proto_fields.h) are found
# with 25,000 as with 75,000, which takes 17 s instead of 7 s for planner.cc; with 10,000 it misses one.
ANALYZER_STATES_MAX = 25000
TREE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
FOLDERS = "|".join(name for name in sorted(os.listdir(TREE))
                   if os.path.isfile(os.path.join(TREE, name, "CMakeLists.txt")))


def files_of(name):
    """The file itself, or the files that it includes if it compiles several as one."""
    if os.path.dirname(name).endswith("/together"):
        with open(name, encoding="utf-8") as unit:
            names = re.findall(r'^#include "(.*)"$', unit.read(), re.MULTILINE)
        return [os.path.join(TREE, name) for name in names]
    return [name]


def flags_of(build):
    """The compiler flags of each file, without its own name and output."""
    flags = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        for entry in json.load(commands):
            words = shlex.split(entry["command"])
            while not os.path.basename(words[0]).startswith(("c++", "g++", "clang++")):
                words.pop(0)  # ccache
            words = words[1 : words.index("-o")]
            # g++'s own warnings and parameters are unknown to clang.
            words = [w for w in words if not w.startswith(("-W", "--param"))]
            # If a file is compiled twice, the entry of the program comes first.
            for file in files_of(entry["file"]):
                flags.setdefault(os.path.realpath(file), words)
    return flags


def write_unit(folder, files):
    handle, path = tempfile.mkstemp(prefix="UnifiedSource-", suffix=".cc", dir=folder, text=True)
    with os.fdopen(handle, "w", encoding="utf-8") as unit:
        unit.writelines(f'#include "{file}"\n' for file in files)
    return path


def strangers_of(unit, flags, files):
    """The files of the unit in which the compiler finds errors, or in whose includes it does."""
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


def check(clang_tidy, unit, flags):
    """clang-tidy's findings, or an empty text."""
    result = subprocess.run(
        [clang_tidy, "--quiet", "--checks=-bugprone-suspicious-include",
         f"--header-filter=/({FOLDERS})/([a-z_]+/)*[^/]*\\.(h|cc)$", unit, "--",
         "-Wno-unknown-warning-option", "-Xclang", "-analyzer-config", "-Xclang",
         f"max-nodes={ANALYZER_STATES_MAX}", *flags],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def check_together(clang_tidy, folder, files, flags):
    """The findings in the files that compile together, and the files that are left for later."""
    together, later = files, []
    while True:
        unit = write_unit(folder, together)
        findings = check(clang_tidy, unit, flags)
        if "[clang-diagnostic-error" not in findings:
            return findings, later
        # The first file always stays, so that the loop ends.
        strangers = [file for file in strangers_of(unit, flags, together) if file != together[0]]
        if not strangers:
            return findings, later
        together = [file for file in together if file not in strangers]
        later += strangers


def all_flags(flags, files):
    """Flags for several files together: macros and include paths of one library do not harm the others."""
    words = list(flags[files[0]])
    for file in files[1:]:
        more = iter(flags[file])
        for word in more:
            pair = [word, next(more)] if word in ("-isystem", "-include") else [word]
            if pair[-1] not in words:
                words += pair
    return words


def findings_of(clang_tidy, folder, paths, flags, threads):
    """Yields the findings of each unit as soon as they are there; an empty text for a clean unit."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        while paths:
            jobs = [pool.submit(check_together, clang_tidy, folder, files, all_flags(flags, files))
                    for files in slices_of(paths)]
            for job in concurrent.futures.as_completed(jobs):
                yield job.result()[0]
            paths = [file for job in jobs for file in job.result()[1]]


def own_names(path):
    """Names that a file defines for itself, in anonymous namespaces."""
    names, own = set(), False
    with open(path, encoding="utf-8") as text:
        for line in text:
            if line.startswith("namespace {"):
                own = True
            elif line.startswith("}  // namespace"):
                own = False
            elif own and (name := re.match(r"(?:struct|class|enum class|using) (\w+)", line) or
                          re.match(r"(?!return|typedef)[a-z_A-Z][^(={]*?(\w+) ?(?:[({\[]|= )", line)):
                names.add(name[1])
    return names


def slices_of(paths, files_max=UNIT_FILES_MAX):
    """Lists of files for one unit each, the largest first."""
    rooms = {}
    for path in paths:  # A name that a room's headers define may be a file's own in another room.
        top = os.path.relpath(path, TREE).split(os.sep)[0]
        rooms.setdefault((top in TOWER, top in COMMANDS), []).append(path)
    slices = []
    for files in rooms.values():
        units = [([], set(), [0]) for _ in range(-(-len(files) // files_max))]
        # The largest first, so that the units get similar sizes.
        for path in sorted(files, key=lambda path: (-os.path.getsize(path), path)):
            own = own_names(path)
            unit, names, size = min(units, key=lambda unit: (len(own & unit[1]), unit[2]))
            unit.append(path)
            names |= own
            size[0] += os.path.getsize(path)
        slices += [(size[0], sorted(unit)) for unit, _, size in units]
    return [files for _, files in sorted(slices, reverse=True)]


def main(clang_tidy, build, *names):
    flags = flags_of(build)
    paths = [os.path.realpath(name) for name in names]
    for name, path in zip(names, paths):
        if path not in flags:
            sys.exit(f"tidy: {name} is not in {build}/compile_commands.json")
    # clang-tidy searches for .clang-tidy upwards from the unit, so the unit must be in the tree: below
    # `build`.
    with tempfile.TemporaryDirectory(prefix="tidy-", dir=build) as scratch:
        clean = True
        for findings in findings_of(clang_tidy, scratch, paths, flags,
                                    len(os.sched_getaffinity(0))):
            if findings:
                clean = False
                print(findings, end="", flush=True)
    print(f"{len(names)} files, {'clean' if clean else 'see above'}")
    return 0 if clean else 1


class SelfTest(unittest.TestCase):
    clang_tidy = ""

    def checked(self, *texts):
        """The findings in .cc files with these texts, and the number of units."""
        with tempfile.TemporaryDirectory(prefix="tidy-", dir=".") as folder:
            os.mkdir(f"{folder}/base")
            files = [os.path.realpath(f"{folder}/base/{i}.cc") for i in range(len(texts))]
            for file, text in zip(files, texts):
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
            flags = {file: ["-std=c++20"] for file in files}
            found = list(findings_of(self.clang_tidy, folder, files, flags, threads=1))
            return len(found), "".join(found)

    def test_the_analyzer_checks_the_files_that_a_unit_includes(self):
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
        self.assertEqual(units, 3)  # The first and the last together, and one for each of the others.
        self.assertNotIn("clang-diagnostic-error", found)

    def test_files_that_use_a_name_each_for_itself_are_put_apart(self):
        text = "namespace {{\n{}\n}}  // namespace\n"
        with tempfile.TemporaryDirectory(prefix="tidy-", dir=".") as folder:
            files = []
            for name, defined in [("a", "constexpr int kMax = 1;"), ("b", "int Same(int a) {"),
                                  ("c", "static const int kMax = 2;"), ("d", "struct Same {")]:
                files.append(f"{folder}/{name}")
                with open(files[-1], "w", encoding="utf-8") as out:
                    out.write(text.format(defined))
            self.assertEqual(slices_of(files, files_max=2),
                             [[files[0], files[1]], [files[2], files[3]]])

    def test_a_file_that_does_not_compile_is_reported(self):
        self.assertIn("[clang-diagnostic-error", self.checked("int A() { return b; }\n")[1])

    def test_a_correct_file_is_clean(self):
        self.assertEqual(self.checked("int A() { return 1; }\n"), (1, ""))


if __name__ == "__main__":
    if sys.argv[2:] == ["--self-test"]:
        SelfTest.clang_tidy = sys.argv[1]
        unittest.main(argv=sys.argv[:1])
    sys.exit(main(*sys.argv[1:]))
