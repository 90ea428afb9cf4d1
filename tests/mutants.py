#!/usr/bin/env python3
"""Breaks one line at a time, and reports which breaks no test notices.

    mutants.py [N] [--seed S] [--files PATTERN] [--jobs J]
    mutants.py --self-test

Takes N (default 200) random mutants, made by universalmutator, of the .cc files of snapshot/, predicates/
and engine/.  Builds each in a copy of the tree, in build/mutants (-O1), and runs the tests that link its
file until one fails.  A test also fails if it takes three times as long as without the mutant plus five
seconds.

These mutants are left out: mutants that do not compile; mutants with the machine code of the original;
mutants for which equivalent_mutants.txt gives a reason; loops by one that end at `!=` instead of `<`; a
`continue` at the end of a loop; and a removed check, which changes nothing while the program is right.  A
line that no test runs is not left out: its mutants survive.

Exits with 1 if less than 95% are killed.
"""

import argparse
import fnmatch
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build/mutants"
TREE = WORK / "tree"
BUILD = WORK / "build"
EQUIVALENTS = ROOT / "tests/equivalent_mutants.txt"
KILLED_AT_LEAST = 0.95
# After each of its mutants a file is compiled unchanged again; a cache of its own makes that fast.
ENVIRONMENT = dict(os.environ, CCACHE_DIR=str(WORK / "ccache"), CCACHE_MAXSIZE="2G")

# The tests of each folder, those most likely to fail first; then the tests that every folder runs.
TESTS = {
    "snapshot/samples": ["samples_test"],
    "snapshot/import": ["import_test"],
    "snapshot/formats": ["formats_test", "import_test"],
    "snapshot/live": ["live_test"],
    "snapshot": ["snapshot_test", "predicates_test", "engine_test", "import_test", "live_test",
                 "golden_runner"],
    "predicates": ["predicates_test", "engine_test", "golden_runner"],
    "engine": ["engine_test", "golden_runner", "simulation_test"],
    "search": ["search_test"],
    "loop": ["loop_test", "simulation_test", "session_test"],
    "simulation": ["simulation_test"],
    "sizing/policy": ["policy_test", "policy_runner"],
}
MUTATED = ("snapshot", "predicates", "engine", "search", "loop", "simulation")
TESTS_OF_ALL = ["planning_test", "report_test", "rounds_test", "what_if_test", "cli_test"]
for tests in TESTS.values():
    tests += TESTS_OF_ALL


def run(command, timeout=None):
    """Returns exit code and output; the code None means that the run took too long."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=timeout, check=False, cwd=TREE,
                              stdin=subprocess.DEVNULL, env=ENVIRONMENT)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        return None, str(late)


def folder_of(path):
    """The folder of the file's library: the nearest one that has tests."""
    folder = path.rpartition("/")[0]
    while folder and folder not in TESTS:
        folder = folder.rpartition("/")[0]
    return folder


def changed_line(before, after):
    """(number, text before, text after) of the first line that differs; None if no line does."""
    old, new = before.splitlines(), after.splitlines()
    for number, (a, b) in enumerate(zip(old, new), 1):
        if a != b:
            return number, a.strip(), b.strip()
    if len(old) != len(new):
        number = min(len(old), len(new)) + 1
        return number, "".join(old[number - 1:number]).strip(), "".join(new[number - 1:number]).strip()
    return None


def parse_equivalents(text):
    """{(file, line, line of the mutant)} from equivalent_mutants.txt."""
    known = set()
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        file, old, new, *why = lines
        if not (old.startswith("- ") and new.startswith("+ ") and why):
            sys.exit(f"mutants: equivalent_mutants.txt: {file}: not a file, two lines and a reason")
        known.add((file, old[2:], new[2:]))
    return known


def counts_up(old, new):
    """Whether the lines are a loop by one up to a bound, where `<` and `!=` end alike."""
    loop = re.fullmatch(r"for \((?:u?int\d+_t|size_t|int) (\w+) = 0; \1 < ([^;]+); \+\+\1\) ?\{?", old)
    return loop is not None and new == old.replace(f"{loop[1]} < {loop[2]};", f"{loop[1]} != {loop[2]};")


def ends_loop(text, number, new):
    """Whether line `number` of the mutant is a `continue` at the end of a loop's body."""
    lines = text.splitlines()
    if new != "continue;" or number >= len(lines) or lines[number].strip() != "}":
        return False
    indent = lines[number].index("}")
    # Continuation lines of a loop's head are indented more.
    head = next((line for line in reversed(lines[:number - 1])
                 if line.strip() and len(line) - len(line.lstrip()) <= indent), "")
    return len(head) - len(head.lstrip()) == indent and re.match(r"\s*(for|while) \(", head) is not None


def is_check_less(old, new):
    """Whether the mutant removes a check; a check fails only if ebb has a bug."""
    return re.fullmatch(r"EBB_D?CHECK\(.*\);", old) is not None and new == f"/*{old}*/"


def verdict(compiles, same_code, tests, runs):
    """The result for a mutant; `runs(test)` returns whether a test passes."""
    if not compiles():
        return "not compiled", ""
    if same_code():
        return "same code", ""
    for test in tests:
        if not runs(test):
            return "killed", test
    return "survived", ""


class Tree:
    """A copy of the sources, its build, and how long its tests take."""

    def __init__(self, jobs):
        self.jobs = jobs
        self.seconds = {}

    def prepare(self, tests):
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                               check=True).stdout.split("\n")
        names = set(filter(None, files))
        for target in TREE.rglob("*"):
            if target.is_file() and str(target.relative_to(TREE)) not in names:
                target.unlink()
        for name in sorted(names):
            source, target = ROOT / name, TREE / name
            if not source.is_file():
                continue
            if target.exists() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        if not (BUILD / "build.ninja").exists():
            self.must(["cmake", "-S", str(TREE), "-B", str(BUILD), "-G", "Ninja", "-DEBB_PRECOMPILE=ON", "-DEBB_TOGETHER=TESTS", "-DCMAKE_BUILD_TYPE=Mutants", "-DCMAKE_CXX_FLAGS_MUTANTS=-O1 -DNDEBUG -w"])
        for test in tests:
            self.must(["ninja", "-C", str(BUILD), "-j", str(self.jobs), test])
            start = time.monotonic()
            code, out = run(self.command(test))
            if code != 0:
                sys.exit(f"mutants: {test} fails without a mutant:\n{out[-2000:]}")
            self.seconds[test] = time.monotonic() - start

    @staticmethod
    def must(command):
        code, out = run(command)
        if code != 0:
            sys.exit(f"mutants: {' '.join(command)} failed:\n{out[-4000:]}")

    @staticmethod
    def command(test):
        if test == "golden_runner":
            return ["tests/golden/run.sh", str(BUILD / "golden_runner"), "tests/golden/wild.tar.gz",
                    str(WORK / "golden")]
        if test == "policy_runner":
            return ["sh", "-c", 'mkdir -p "$2" && tar xzf tests/policies/policies.tar.gz -C "$2" && "$1" "$2"',
                    "sh", str(BUILD / "policy_runner"), str(WORK / "policies")]
        return [str(BUILD / "tests" / test), "--gtest_brief=1", "--gtest_fail_fast"]

    @staticmethod
    def object_of(path):
        folder = folder_of(path)
        library = "ebb_" + folder.rpartition("/")[2]
        return f"{folder}/CMakeFiles/{library}.dir/{path[len(folder) + 1:]}.o"

    def build(self, target):
        return run(["ninja", "-C", str(BUILD), "-j", str(self.jobs), target])[0] == 0

    def code_of(self, path):
        """The machine code, without debug information."""
        stripped = WORK / "stripped.o"
        run(["objcopy", "--strip-debug", str(BUILD / self.object_of(path)), str(stripped)])
        return stripped.read_bytes()

    def judge(self, path, text):
        """Builds and tests the file with this text; restores the original afterwards."""
        file = TREE / path
        original = file.read_text(encoding="utf-8")
        target = self.object_of(path)
        self.build(target)
        code = self.code_of(path)
        file.write_text(text, encoding="utf-8")
        try:
            return verdict(
                lambda: self.build(target), lambda: self.code_of(path) == code,
                TESTS[folder_of(path)],
                lambda test: self.build(test) and
                run(self.command(test), 3 * self.seconds[test] + 5)[0] == 0)
        finally:
            file.write_text(original, encoding="utf-8")


def mutants_of(path):
    """The texts that universalmutator makes from a file, in its order; cached by the file's content."""
    digest = hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]
    folder = WORK / "made" / f"{path.replace('/', '-')}-{digest}"
    if not folder.exists():
        folder.mkdir(parents=True)
        tool = pathlib.Path(sys.executable).parent / "mutate"
        run([str(tool), str(ROOT / path), "cpp", "--noCheck", "--mutantDir", str(folder)])
    number = lambda file: int(re.search(r"mutant\.(\d+)", file.name)[1])
    return sorted(folder.glob("*.mutant.*"), key=number)


def chosen(files, count, dice):
    """`count` mutants; the chance of a file is proportional to its lines."""
    lines = [len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files]
    picked, seen = [], set()
    for _ in range(20 * count):
        if len(picked) == count:
            break
        file = dice.choices(files, lines)[0]
        made = mutants_of(file)
        if made:
            mutant = dice.choice(made)
            if mutant not in seen:
                seen.add(mutant)
                picked.append((file, mutant))
    return picked


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--files", default="*", metavar="PATTERN", help="only these: 'engine/*'")
    parser.add_argument("--jobs", type=int, default=1, metavar="J")
    options = parser.parse_args(argv)
    if shutil.which("mutate", path=str(pathlib.Path(sys.executable).parent)) is None:
        sys.exit("mutants: universalmutator is not installed; ./dev mutants does that")
    print(f"mutants: seed {options.seed}", flush=True)
    TREE.mkdir(parents=True, exist_ok=True)
    files = [str(file.relative_to(ROOT)) for top in MUTATED
             for file in sorted((ROOT / top).rglob("*.cc"))]
    files = [file for file in files if folder_of(file) in TESTS and fnmatch.fnmatch(file, options.files)]
    if not files:
        sys.exit(f"mutants: no file matches {options.files}")
    picked = chosen(files, options.count, random.Random(options.seed))
    tree = Tree(options.jobs)
    tree.prepare(sorted({test for file, _ in picked for test in TESTS[folder_of(file)]}))
    equivalents = parse_equivalents(EQUIVALENTS.read_text(encoding="utf-8"))
    counts = {"killed": 0, "survived": 0, "not compiled": 0, "same code": 0, "equivalent": 0}
    for done, (file, mutant) in enumerate(picked):
        if done % 10 == 0:
            print(f"mutants: {done} of {len(picked)}", file=sys.stderr, flush=True)
        text = mutant.read_text(encoding="utf-8", errors="replace")
        line = changed_line((TREE / file).read_text(encoding="utf-8"), text)
        if line is None:
            counts["same code"] += 1
            continue
        if ((file, *line[1:]) in equivalents or counts_up(*line[1:]) or is_check_less(*line[1:])
                or ends_loop(text, line[0], line[2])):
            counts["equivalent"] += 1
            continue
        what, _ = tree.judge(file, text)
        counts[what] += 1
        if what == "survived":
            print(f"{file}:{line[0]}: survived\n  - {line[1]}\n  + {line[2]}", flush=True)
    judged = counts["killed"] + counts["survived"]
    share = counts["killed"] / judged if judged else 1
    print(f"mutants: {judged} judged, {counts['killed']} killed ({share:.1%}), "
          f"{counts['survived']} survived; {counts['not compiled']} did not compile, "
          f"{counts['same code']} are the same code, {counts['equivalent']} are known to be equivalent")
    return 0 if share >= KILLED_AT_LEAST else 1


class SelfTest(unittest.TestCase):

    def test_the_first_line_that_differs_is_returned(self):
        self.assertEqual(changed_line("a\n b\nc\n", "a\n d\nc\n"), (2, "b", "d"))
        self.assertEqual(changed_line("a\nb\n", "a\n"), (2, "b", ""))
        self.assertIsNone(changed_line("a\n", "a\n"))

    def test_a_mutant_is_judged_by_the_first_test_that_fails(self):
        yes, no = lambda: True, lambda: False
        ran = []

        def runs(test):
            ran.append(test)
            return test != "b"
        self.assertEqual(verdict(no, no, ["a"], runs), ("not compiled", ""))
        self.assertEqual(verdict(yes, yes, ["a"], runs), ("same code", ""))
        self.assertEqual(verdict(yes, no, ["a"], runs), ("survived", ""))
        ran.clear()
        self.assertEqual(verdict(yes, no, ["a", "b", "c"], runs), ("killed", "b"))
        self.assertEqual(ran, ["a", "b"])

    def test_a_run_that_takes_too_long_has_no_exit_code(self):
        TREE.mkdir(parents=True, exist_ok=True)
        self.assertIsNone(run(["sleep", "10"], 0.01)[0])
        self.assertEqual(run(["false"])[0], 1)

    def test_every_equivalent_mutant_is_of_a_line_that_is_there(self):
        for file, old, _ in parse_equivalents(EQUIVALENTS.read_text(encoding="utf-8")):
            lines = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
            self.assertTrue(old in lines, f"{file}: {old}")

    def test_loops_by_one_end_at_their_bound_either_way(self):
        old = "for (uint32_t p = 0; p < pdbs.size(); ++p) {"
        self.assertTrue(counts_up(old, old.replace("p <", "p !=")))
        self.assertFalse(counts_up(old, old.replace("p <", "p <=")))
        self.assertFalse(counts_up(old.replace("++p", "p += 2"), old.replace("p <", "p !=")))

    def test_a_continue_that_ends_a_loop_changes_nothing(self):
        text = "void F() {\n  for (const A& a :\n       all) {\n    if (a) {\n      G();\n    }\n  }\n}\n"
        lines = text.splitlines()

        def with_line(at, new):
            return "\n".join(lines[:at - 1] + [new] + lines[at - 1:]), at, new.strip()
        self.assertTrue(ends_loop(*with_line(7, "    continue;")))
        # The `continue` of the condition, not at the end of the loop.
        self.assertFalse(ends_loop(*with_line(6, "    continue;")))
        self.assertFalse(ends_loop(*with_line(5, "    continue;")))
        self.assertFalse(ends_loop(*with_line(7, "    break;")))
        self.assertFalse(ends_loop(*with_line(8, "    continue;")))

    def test_a_removed_check_is_recognized(self):
        self.assertTrue(is_check_less("EBB_CHECK(a);", "/*EBB_CHECK(a);*/"))
        self.assertTrue(is_check_less("EBB_DCHECK(a(b));", "/*EBB_DCHECK(a(b));*/"))
        self.assertFalse(is_check_less("EBB_CHECK(a);", "EBB_CHECK(!a);"))
        self.assertFalse(is_check_less("Call(a);", "/*Call(a);*/"))

    def test_an_equivalent_mutant_needs_a_reason(self):
        self.assertEqual(parse_equivalents("# x\n\na.cc\n- 1\n+ 2\nwhy\n"), {("a.cc", "1", "2")})
        with self.assertRaises(SystemExit):
            parse_equivalents("a.cc\n- 1\n+ 2\n")

    def test_every_folder_with_sources_has_tests(self):
        for top in MUTATED:
            for file in (ROOT / top).rglob("*.cc"):
                self.assertIn(folder_of(str(file.relative_to(ROOT))), TESTS)


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    sys.exit(main(sys.argv[1:]))
