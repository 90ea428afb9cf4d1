#!/usr/bin/env python3
"""archive_test.py BUILD: libebb.a links into any program.

Checks which names libebb.a defines for others, and links hosts in C and in C++ against it: with shared
libraries, and with none at all.  Every host prints the plan that `ebb` prints.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
ARCHIVE = BUILD / "libebb.a"
EBB = os.environ.get("EBB", BUILD / "ebb")
CC, CXX = os.environ.get("CC", "gcc"), os.environ.get("CXX", "g++")
EMULATOR = shutil.which(os.environ["EMULATOR"]) if "EMULATOR" in os.environ else None

# A host that brings its own copies of what libebb.a is made of: the unique names of make_shared, locales,
# regular expressions and containers.
HOST = r"""
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <ebb/ebb.h>

struct Node { std::string name; };

int main() {
  const std::string dump{std::istreambuf_iterator<char>(std::cin), {}};
  auto named = std::make_shared<std::map<std::string, std::shared_ptr<Node>>>();
  std::unordered_map<std::string, int> order;
  ebb_cluster* cluster = nullptr;
  ebb_plan* plan = nullptr;
  ebb_error* error = nullptr;
  if (ebb_cluster_new(EBB_ABI_VERSION, nullptr, &cluster, &error) == EBB_OK &&
      ebb_cluster_load(cluster, dump.data(), dump.size(), &error) == EBB_OK &&
      ebb_cluster_plan(cluster, EBB_JSON, nullptr, 0, &plan, &error) == EBB_OK) {
    for (size_t i = 0; i < plan->removals_count; ++i) {
      const std::string name = plan->removals[i].node.data;
      (*named)[name] = std::make_shared<Node>(Node{name});
      order[name] = static_cast<int>(i);
    }
  }
  if (error != nullptr) std::cerr << ebb_error_message(error) << "\n";
  std::ostringstream out;
  for (const auto& [name, node] : *named) out << node->name << " " << order[name] << "\n";
  std::cout << std::regex_replace(out.str(), std::regex(" [0-9]+\n"), "\n");
  const int status = error != nullptr;
  ebb_error_free(error);
  ebb_plan_free(plan);
  ebb_cluster_free(cluster);
  return status;
}
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class ArchiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="ebb-archive-"))
        (cls.top / "include" / "ebb").mkdir(parents=True)
        shutil.copy(SOURCE / "embed" / "ebb.h", cls.top / "include" / "ebb")
        cls.dump = cls.top / "cluster.json"
        run(EBB, "gen", "uniform", "--nodes", "60", "-o", cls.dump)
        cls.nodes = sorted(line.removeprefix("node/")
                           for line in run(EBB, "plan", cls.dump, "-o", "name").splitlines())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def linked(self, compiler, source, *flags):
        program = self.top / f"{pathlib.Path(source).stem}{''.join(flags)}"
        run(compiler, source, f"-I{self.top}/include", *flags, ARCHIVE, "-lstdc++", "-lm", "-o", program)
        return program

    def planned(self, program):
        with open(self.dump, "rb") as file:
            return sorted(run(*([EMULATOR] if EMULATOR else []), program, stdin=file).splitlines())

    def test_it_defines_the_interface_and_nothing_else(self):
        header = re.sub(r"/\*.*?\*/", "", (SOURCE / "embed" / "ebb.h").read_text(), flags=re.S)
        declared = sorted(set(re.findall(r"\b(ebb_\w+)\(", header)))
        listed = run(os.environ.get("NM", "nm"), "-g", "--defined-only", ARCHIVE).splitlines()
        self.assertEqual(sorted(" ".join(line.split()[1:]) for line in listed if len(line.split()) == 3),
                         [f"T {name}" for name in declared])

    def test_a_host_in_c(self):
        self.assertGreater(len(self.nodes), 10)
        for flags in (("-static",),) if EMULATOR else ((), ("-static",)):
            self.assertEqual(self.planned(self.linked(CC, SOURCE / "examples/embedded/plan.c", *flags)), self.nodes)

    def test_a_host_in_cpp_with_the_same_templates(self):
        source = self.top / "host.cc"
        source.write_text(HOST)
        for flags in (("-static",), ("-static-pie",)) if EMULATOR else ((), ("-static",), ("-static-pie",)):
            program = self.linked(CXX, source, "-std=c++20", *flags)
            self.assertEqual(self.planned(program), self.nodes, flags)

    @unittest.skipIf(shutil.which("go") is None, "there is no Go toolchain")
    def test_a_static_program_in_go_runs_in_an_empty_root(self):
        module = self.top / "go"
        shutil.copytree(SOURCE / "go" / "ebb", module, ignore=shutil.ignore_patterns("libebb.a", "archive.h", "ebb.h"))
        shutil.copy(ARCHIVE, module / "lib" / "libebb.a")
        shutil.copy(SOURCE / "embed" / "ebb.h", module / "lib" / "ebb.h")
        (module / "lib" / "archive.h").write_text('#define EBB_ARCHIVE ""\n')
        root = self.top / "root"
        root.mkdir()
        run("go", "build", "-ldflags", "-linkmode external -extldflags -static", "-o", root / "plan", "./example",
            cwd=module, env={**os.environ, "CGO_ENABLED": "1"})
        self.assertNotIn("NEEDED", run("readelf", "-d", root / "plan"))
        emulated = []
        if EMULATOR:
            shutil.copy(EMULATOR, root / "emulator")
            emulated = ["/emulator"]
        enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--root"]
        with open(self.dump, "rb") as file:
            found = run(*enter, root, *emulated, "/plan", stdin=file)
        self.assertEqual(sorted(found.splitlines()), self.nodes)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
