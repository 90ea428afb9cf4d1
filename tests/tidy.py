#!/usr/bin/env python3
"""Runs clang-tidy over the sources, a folder's files at a time.

    tidy.py BUILD [FILE...]      BUILD has compile_commands.json; FILE: .cc files

Most of clang-tidy's time goes into the headers that each file includes.  Files of one
folder are therefore checked together, as a unit that includes them; the analyzer takes
.cc files that a unit includes for part of it.  A file that cannot be compiled behind the
others (two files may use a name, each for itself) is left for a later unit.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

UNIT_FILES_MAX = 12  # More make a unit that others wait for at the end.
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
    handle, path = tempfile.mkstemp(suffix=".cc", dir=folder, text=True)
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
         "-Wno-unknown-warning-option", *flags],
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
            jobs = [
                pool.submit(check_folder, scratch, files[at : at + UNIT_FILES_MAX], list(words))
                for (_, words), files in folders.items()
                for at in range(0, len(files), UNIT_FILES_MAX)
            ]
            for job in concurrent.futures.as_completed(jobs):
                units, findings = job.result()
                if findings:
                    clean = False
                    print(findings, end="", flush=True)
    print(f"{len(names)} files, {'clean' if clean else 'see above'}")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
