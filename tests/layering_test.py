#!/usr/bin/env python3
"""Checks the source tree against rules that no compiler checks.

  layering_test.py ROOT

Includes, clocks and files: which folders may use which.  READMEs: every folder has one, which names every
header.  Tests: each file has a namespace of its own, because several are compiled as one.

Prints one line for each offence, as `file:line: what`, and exits with 1 if there is one.
"""

import pathlib
import re
import sys
import unittest

# Each folder, with the other folders whose headers it may include.  No folder may reach itself through
# others; circle() checks that.
_SNAPSHOT = {"base", "cel", "snapshot", "snapshot/objects"}
_IMPORT = _SNAPSHOT | {"snapshot/formats"}
_PASS = _SNAPSHOT | {"predicates", "engine/plan"}
_ENGINE = _PASS | {"engine/pass", "engine/verify", "engine"}
_GROUPS = _ENGINE | _IMPORT | {"engine/scale_down", "snapshot/import", "snapshot/live", "search", "options", "platform"}
_REPORT = _GROUPS | {"groups"}
_ROUNDS = _REPORT | {"report"}
_PLANNING = _ROUNDS | {"rounds", "simulation"}
_SESSION = _PLANNING | {"planning", "what_if", "loop", "wire"}
_POLICY = {"base", "sizing/policy"}
_COMMANDS = _SESSION | {"session", "daemon", "loop/actuators", "loop/run", "sizing", "sizing/policy", "sizing/policy_simulation",
                        "snapshot/samples", "cli/flags", "cli/print"}
FOLDERS = {
    "base": set(),
    "cel": {"base"},
    "snapshot/objects": {"base"},
    "snapshot": {"base", "cel", "snapshot/objects"},
    "snapshot/formats": _SNAPSHOT,
    "snapshot/import": _IMPORT,
    "snapshot/live": _IMPORT,
    "snapshot/samples": _SNAPSHOT,
    "predicates": _SNAPSHOT,
    "engine/plan": _SNAPSHOT | {"predicates"},
    "engine/pass": _PASS,
    "engine/verify": _PASS,
    "engine": _PASS | {"engine/pass", "engine/verify"},
    "engine/scale_down": _ENGINE,
    "search": _ENGINE,
    "loop": _ENGINE | {"engine/scale_down"},
    "simulation": _ENGINE | {"engine/scale_down", "loop", "snapshot/formats", "snapshot/live"},
    "options": _ENGINE | {"engine/scale_down", "snapshot/import"},
    "platform": _IMPORT,
    "groups": _GROUPS,
    "report": _REPORT,
    "rounds": _ROUNDS,
    "planning": _PLANNING,
    "what_if": _PLANNING | {"planning"},
    "wire": set(),
    "session": _SESSION,
    "tables": _ROUNDS,
    "embed": _SESSION | {"session", "snapshot/samples", "tables"},
    "daemon": _SESSION | {"session"},
    "loop/actuators": _ENGINE | {"loop", "platform", "wire"},
    "loop/run": _SESSION | {"session", "daemon", "loop/actuators"},
    "sizing/policy": {"base"},
    "sizing/policy/clusterman": _POLICY,
    "sizing/policy/maestro": _POLICY,
    "sizing/policy/replicator": _POLICY,
    "sizing/policy/escalator": _POLICY | {"sizing/policy/replicator"},
    "sizing": _ENGINE | _IMPORT | {"engine/scale_down", "loop", "platform", "sizing/policy", "sizing/policy/maestro",
                                   "sizing/policy/replicator"},
    "sizing/policy_simulation": _ENGINE | {"engine/scale_down", "loop", "simulation", "sizing"},
    "cli/flags": _PLANNING | {"planning"},
    "cli/print": _SESSION | {"session"},
    "cli/commands": _COMMANDS,
    "cli/policies": _COMMANDS,
    "cli/rounds": _COMMANDS | {"cli/commands", "cli/policies"},
    "cli": _COMMANDS | {"cli/commands", "cli/policies", "cli/rounds"},
    "tools": {"base", "cli", "cli/print", "platform"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')

# Headers that only some folders may include: the header, the folders, the reason.
PRIVATE = [
    (re.compile(r"^google/protobuf/|\.pb\.h$"), re.compile(r"^snapshot/formats/|/wire/|^(session|daemon|embed|loop/(actuators|run)|cli|planning|what_if|report|rounds)/"),
     "protobuf stays in snapshot/formats and in what speaks to other programs"),
    (re.compile(r"^(tbb|oneapi)/"), re.compile(r"^base/parallel\.(h|cc)$"),
     "oneTBB is seen by base/parallel only"),
    (re.compile(r"^re2/"), re.compile(r"^cel/"), "regular expressions are those of selectors"),
    (re.compile(r"^(gtest|gmock|benchmark)/"), re.compile(r"^$"), "test libraries stay out of the libraries"),
    (re.compile(r"^(fstream|filesystem|fcntl\.h|unistd\.h|sys/(mman|stat)\.h)$"),
     re.compile(r"^(snapshot/(formats|import)|platform|rounds|session|embed|daemon|loop/(actuators|run)|sizing|cli|tools)/"
                r"|^snapshot/samples/openb\.cc$|^base/unique_fd\.cc$"),
     "files are the business of readers: invariant 8 of docs/design.md"),
]
# Headers that are expensive to compile, and would be part of many translation units.
HEAVY = re.compile(r"^(simdjson|yaml-cpp/|grpcpp/|CLI/|nlohmann/json\.hpp$)")
# A few files of the JSON reader share these headers.
HEAVY_ALLOWED = re.compile(r"^snapshot/formats/json_\w+\.h$")
# The functions that make plans, and the files that may call them: the engine itself, and planning for
# all other code.  A pass (Planner::Pass) and a round (ScaleDown::Round) are other questions.
PLANNERS = re.compile(r"\b(MakePlan|OptimizePlan|FindFrontier|BoundRemovals|MakeRobust)\(")
# The MakePlan in embed/cluster.h is a call of libebb.
MAY_PLAN = re.compile(r"^(engine|search|simulation|planning)/|^loop/shrink_plan\.cc$|^embed/cluster\.h$")
# The engine takes `now` as an argument, so that any plan can be replayed.
AMBIENT = re.compile(r"""
    \b(system|steady|high_resolution|utc|tai|gps|file)_clock\b
  | \babsl::(Now|GetCurrentTimeNanos|LocalTimeZone)\b | \bcurrent_zone\b
  | \bstd::(time|clock)\b | (?<![\w.>])time\(\s*(nullptr|NULL|0\b|&) | (?<![\w.>])clock\(\s*\)
  | \b(gettimeofday|clock_gettime|timespec_get|localtime(_r)?|mktime|__rdtsc)\b
  | \b(secure_)?getenv\b | \b(__)?environ\b
  | \bABSL_FLAG\b | \babsl::GetFlag\b
  | \bstd::(random_device|rand)\b | \babsl::(Insecure)?BitGen\b | \bgetrandom\b
""", re.VERBOSE)
MAY_LOOK_AROUND = {"platform", "groups", "report", "rounds", "planning", "what_if", "session", "embed", "daemon", "loop/actuators",
                   "loop/run", "sizing", "cli", "cli/flags", "cli/print", "cli/commands", "cli/policies", "cli/rounds", "tools"}
# Folders beside FOLDERS whose headers must be named in a README.
ALSO_DESCRIBED = ["bench", "examples", "fuzz", "go", "tests"]
# For example "`engine/scale_down/round.h`" in a README.
NAMED_FILE = re.compile(r"`([\w/]+\.(?:h|cc))`")


def folder_of(path):
    """The folder of FOLDERS that a source file or header belongs to, or ""."""
    folder = path.rpartition("/")[0]
    while folder and folder not in FOLDERS:
        folder = folder.rpartition("/")[0]
    return folder


def offences(path, text):
    """Yields (line number, what) for each broken rule of one file."""
    folder = folder_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            header = match.group(1)
            target = folder_of(header)
            if target and target != folder and target not in FOLDERS[folder]:
                yield number, f"{folder}/ must not include {header}: see FOLDERS in tests/layering_test.py"
            for pattern, allowed, why in PRIVATE:
                if pattern.search(header) and not allowed.search(path):
                    yield number, f"{header}: {why}"
            if path.endswith(".h") and HEAVY.search(header) and not HEAVY_ALLOWED.search(path):
                yield number, f"{header}: too heavy for a header"
        elif PLANNERS.search(code := line.split("//")[0]) and not MAY_PLAN.search(path):
            yield number, f"makes a plan by {PLANNERS.search(code).group(1)}: ask planning/"
        elif folder not in MAY_LOOK_AROUND and AMBIENT.search(line.split("//")[0]):
            yield number, "reads a clock, a flag, the environment or a random device: take it as an argument"


def unit(path):
    """The unit of a file: a header and its .cc are one unit, which depends on the includes of both."""
    return path.rpartition(".")[0]


def includes(files):
    """The graph of includes, from {path: text}: unit -> the units that it includes."""
    units = {unit(path) for path in files}
    graph = {name: set() for name in units}
    for path, text in files.items():
        for line in text.splitlines():
            match = INCLUDE.match(line)
            if match and unit(match.group(1)) in units and unit(match.group(1)) != unit(path):
                graph[unit(path)].add(unit(match.group(1)))
    return graph


def circle(graph):
    """The nodes of one circle of {node: successors}, with the first again at the end; [] if there is no circle."""
    done, way = set(), []

    def walk(node):
        if node in way:
            return way[way.index(node):] + [node]
        if node in done:
            return []
        way.append(node)
        for successor in sorted(graph[node]):
            if found := walk(successor):
                return found
        way.pop()
        done.add(node)
        return []

    for start in sorted(graph):
        if found := walk(start):
            return found
    return []


def undescribed(paths, readmes):
    """Yields (README, what) for each header that no README names, and each named file that does not exist.

    `paths`: all headers and .cc files; `readmes`: {folder: text}.  The nearest README above a header must name
    it, by its path from there or by the last part of the path.
    """
    named = {folder: set(NAMED_FILE.findall(text)) for folder, text in readmes.items()}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in readmes:
            folder = folder.rpartition("/")[0]
        names = {path.rpartition("/")[2], path[len(folder) + 1:]}
        if path.endswith(".h") and not names & named.get(folder, set()):
            yield f"{folder}/README.md".lstrip("/"), f"does not name {path}"
    for folder, names in sorted(named.items()):
        for name in sorted(names):
            if name in paths or any(path.startswith(folder + "/") and path.endswith("/" + name) for path in paths):
                continue
            yield f"{folder}/README.md", f"names {name}, which does not exist"


def shares_its_namespace(path, text):
    """Whether a test file lacks a namespace with its own name."""
    name = path.rpartition("/")[2].removesuffix(".cc")
    return name.endswith("_test") and not re.search(rf"^namespace ebb::(\w+::)?{name} {{$", text, re.MULTILINE)


class OffencesTest(unittest.TestCase):
    """The checker reports each kind of offence."""

    def found(self, path, text):
        return [what for _, what in offences(path, text)]

    def test_include_against_the_order_is_found(self):
        self.assertTrue(self.found("snapshot/a.h", '#include "engine/pass/planner.h"'))
        self.assertFalse(self.found("engine/a.h", '#include "snapshot/ids.h"'))

    def test_a_folder_below_another_has_rules_of_its_own(self):
        self.assertTrue(self.found("snapshot/a.h", '#include "snapshot/formats/read_json.h"'))
        self.assertFalse(self.found("snapshot/formats/a.h", '#include "snapshot/objects/objects.h"'))

    def test_a_plan_that_is_made_beside_the_planning_module_is_found(self):
        for code in ("auto made = MakePlan(snapshot, groups, request);", "return OptimizePlan(snapshot, groups);",
                     "FindFrontier(a)", "ebb::BoundRemovals(a)", "MakeRobust(a)"):
            with self.subTest(code):
                self.assertTrue(self.found("loop/run/a.cc", code))
                self.assertTrue(self.found("tools/a.cc", code))
                self.assertFalse(self.found("planning/a.cc", code))
                self.assertFalse(self.found("search/a.cc", code))
        self.assertFalse(self.found("tools/a.cc", "// MakePlan(snapshot) in a comment"))

    def test_protobuf_outside_its_folders_is_found(self):
        header = '#include "snapshot/formats/wire/snapshot.pb.h"'
        self.assertTrue(self.found("engine/a.cc", header))
        self.assertFalse(self.found("snapshot/formats/a.cc", header))

    def test_clock_in_the_engine_is_found_but_not_in_a_comment(self):
        self.assertTrue(self.found("engine/a.cc", "auto t = absl::Now();"))
        self.assertTrue(self.found("base/a.h", "using Clock = std::chrono::steady_clock;"))
        self.assertFalse(self.found("engine/a.cc", "// never absl::Now()"))
        self.assertFalse(self.found("platform/a.cc", "using Clock = std::chrono::steady_clock;"))

    def test_every_way_to_look_around_is_found(self):
        for code in ("absl::GetCurrentTimeNanos()", "absl::LocalTimeZone()", "std::chrono::utc_clock::now()",
                     "std::chrono::file_clock::now()", "std::chrono::current_zone()", "std::time(nullptr)",
                     "time(nullptr)", "::time(NULL)", "time(&now)", "std::clock()", "clock()", "gettimeofday(&t, 0)",
                     "clock_gettime(CLOCK_REALTIME, &t)", "localtime_r(&t, &tm)", "mktime(&tm)", "__rdtsc()",
                     "std::getenv(name)", "secure_getenv(name)", "environ[0]", "absl::GetFlag(FLAGS_x)",
                     "std::random_device seed", "std::rand()", "absl::BitGen random"):
            with self.subTest(code):
                self.assertTrue(self.found("engine/a.cc", f"auto x = {code};"))

    def test_words_that_resemble_a_clock_are_not_found(self):
        for code in ("std::time_t t", "result.time(0)", "node->clock()", "hh_mm_ss clock(time - day)", "uptime(0)",
                     "state_clock.h", "int64_t environment"):
            with self.subTest(code):
                self.assertFalse(self.found("engine/a.cc", f"{code};"))

    def test_reading_files_outside_the_readers_is_found(self):
        for header in ("<fstream>", "<filesystem>", "<fcntl.h>", "<unistd.h>", "<sys/stat.h>", "<sys/mman.h>"):
            with self.subTest(header):
                self.assertTrue(self.found("engine/a.cc", f"#include {header}"))
                self.assertTrue(self.found("snapshot/samples/web.cc", f"#include {header}"))
                self.assertFalse(self.found("snapshot/formats/a.cc", f"#include {header}"))

    def test_header_that_no_readme_names_is_found(self):
        paths = ["engine/a.h", "engine/b.cc", "tests/support/c.h"]
        self.assertEqual(list(undescribed(paths, {"engine": "`a.h`, `b.cc`", "tests": "`support/c.h`"})), [])
        self.assertEqual(list(undescribed(paths, {"engine": "a.h", "tests": "`c.h`"})),
                         [("engine/README.md", "does not name engine/a.h")])

    def test_folder_without_readme_is_found(self):
        self.assertEqual(list(undescribed(["fuzz/a.h"], {})), [("README.md", "does not name fuzz/a.h")])

    def test_file_that_is_named_in_vain_is_found(self):
        self.assertEqual(list(undescribed(["engine/a.h"], {"engine": "`a.h`, `engine/a.h`, `gone.h`"})),
                         [("engine/README.md", "names gone.h, which does not exist")])

    def test_circle_of_files_is_found(self):
        there = '#include "engine/b.h"'
        back = '#include "engine/a.h"'
        self.assertEqual(circle(includes({"engine/a.h": there, "engine/b.cc": back, "engine/b.h": ""})),
                         ["engine/a", "engine/b", "engine/a"])
        self.assertEqual(circle(includes({"engine/a.h": there, "engine/a.cc": back, "engine/b.h": ""})), [])

    def test_test_file_without_a_namespace_of_its_own_is_found(self):
        self.assertTrue(shares_its_namespace("tests/a_test.cc", "namespace ebb {\n"))
        self.assertTrue(shares_its_namespace("tests/a_test.cc", "namespace ebb::b_test {\n"))
        self.assertFalse(shares_its_namespace("tests/a_test.cc", "namespace ebb::a_test {\n"))
        self.assertFalse(shares_its_namespace("tests/twin.cc", "namespace ebb {\n"))

    def test_folders_make_no_circle(self):
        self.assertEqual(circle(FOLDERS), [])
        self.assertTrue(circle({"a": {"b"}, "b": {"a"}}))


def read(root, folders, suffixes):
    """{path: text} of the files below `folders` with one of the suffixes."""
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for folder in folders for path in sorted((root / folder).rglob("*"))
            # A build put these there.
            if path.suffix in suffixes and "lib" not in path.parts[len(root.parts):]}


def main(root):
    if not unittest.TextTestRunner(verbosity=0).run(
            unittest.defaultTestLoader.loadTestsFromTestCase(OffencesTest)).wasSuccessful():
        return 1
    tops = sorted({name.split("/")[0] for name in FOLDERS})
    files = read(root, tops, (".h", ".cc"))
    everywhere = [*files, *read(root, ALSO_DESCRIBED, (".h", ".cc"))]
    readmes = {path.rpartition("/")[0]: text for path, text in read(root, [*tops, *ALSO_DESCRIBED], (".md",)).items()
               if path.endswith("/README.md")}
    found = [f"{path}:{number}: {what}" for path, text in files.items() for number, what in offences(path, text)]
    found += [f"{folder}: has no README.md" for folder in [*FOLDERS, *ALSO_DESCRIBED] if folder not in readmes]
    found += [f"{readme}: {what}" for readme, what in undescribed(everywhere, readmes)]
    found += [f"{path}: has no namespace of its own, ebb::<file>" for path, text in read(root, ["tests"], (".cc",)).items()
              if shares_its_namespace(path, text)]
    if around := circle(includes(files)):
        found.append("files that include each other: " + " -> ".join(around))
    print("\n".join([*found, f"{len(files)} files, {len(found)} offences"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
