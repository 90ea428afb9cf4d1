#!/usr/bin/env python3
"""install_test.py BUILD SOURCE: programs outside the tree build against the installed library.

Installs the library into its own folder, builds examples/embedded there with find_package and with
pkg-config, and compares the output of the programs with that of `ebb`.  Also checks that docs/embed.md
quotes the examples exactly.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
EXAMPLES = SOURCE / "examples" / "embedded"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="ebb-install-"))
        cls.prefix = cls.top / "prefix"
        for component in ["runtime", "dev"]:
            run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component)
        shutil.copytree(EXAMPLES, cls.top / "source")  # So that the build finds nothing of the tree.
        cls.lib = next(cls.prefix.glob("lib*/**/libebb.so")).parent
        cls.environment = {**os.environ, "LD_LIBRARY_PATH": str(cls.lib)}
        cls.dump = cls.top / "cluster.json"
        run(BUILD / "ebb", "gen", "uniform", "--nodes", "60", "-o", cls.dump)
        cls.nodes = [
            line.removeprefix("node/")
            for line in run(BUILD / "ebb", "plan", cls.dump, "-o", "name").splitlines()
        ]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def printed(self, program, dump=None):
        with open(dump or self.dump, "rb") as file:
            return run(program, stdin=file, env=self.environment).splitlines()

    def test_the_public_headers_are_few_and_need_the_standard_library_alone(self):
        headers = sorted(str(p.relative_to(self.prefix)) for p in self.prefix.glob("include/**/*.h"))
        self.assertEqual(headers, ["include/ebb/cluster.h", "include/ebb/ebb.h"])
        for header in headers:
            text = (self.prefix / header).read_text()
            for included in re.findall(r"^\s*#\s*include\s+(\S+)", text, re.M):
                self.assertRegex(included, r"^<(ebb/ebb\.h|[a-z_]+(\.h)?)>$")

    def test_find_package(self):
        build = self.top / "build"
        run("cmake", "-S", self.top / "source", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertGreater(len(self.nodes), 10)
        self.assertEqual(self.printed(build / "plan_c"), self.nodes)
        self.assertEqual(self.printed(build / "plan"), self.nodes)
        recorded = (EXAMPLES / "changes.txt").read_text()
        self.assertEqual(run(build / "changes", env=self.environment), recorded)

    def test_an_older_or_newer_version_is_not_found(self):
        source = self.top / "wants"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(ebb 99 REQUIRED)\n")
        with self.assertRaises(AssertionError):
            run("cmake", "-S", source, "-B", self.top / "wants-build", f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_pkg_config_and_c11(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "ebb", env=environment).split()
        program = self.top / "plan-by-pkg-config"
        run("gcc", "-std=c11", *WARNINGS, EXAMPLES / "plan.c", *flags, "-o", program)
        self.assertEqual(self.printed(program), self.nodes)

    def test_headers_compile_alone_without_warnings(self):
        flags = [f"-I{self.prefix}/include", "-fsyntax-only", *WARNINGS]
        for compiler, language, header in [("gcc", "c11", "ebb.h"), ("g++", "c++17", "ebb.h"),
                                           ("g++", "c++17", "cluster.h"), ("g++", "c++20", "cluster.h")]:
            source = self.top / ("one.c" if compiler == "gcc" else "one.cc")
            source.write_text(f"#include <ebb/{header}>\nint one(void);\n")
            run(compiler, f"-std={language}", *flags, source)

    def build_against_it(self, compiler, standard, source):
        program = self.top / f"{source.name}-program"
        run(compiler, f"-std={standard}", source, f"-I{self.prefix}/include", f"-L{self.lib}", "-lebb",
            "-o", program)
        return program

    def test_bad_input_is_an_error_with_a_message(self):
        for compiler, standard, example in [("gcc", "c11", "plan.c"), ("g++", "c++20", "plan.cc")]:
            program = self.build_against_it(compiler, standard, EXAMPLES / example)
            for text in [b"", b"{", b"\xff\xfe", b"kind: Nonsense"]:
                done = subprocess.run([program], input=text, capture_output=True, env=self.environment)
                self.assertEqual(done.returncode, 1, text)
                self.assertGreater(len(done.stderr.strip()), 10, (example, text))

    def test_every_error_of_the_cpp_header_has_its_message(self):
        source = self.top / "errors.cc"
        source.write_text(r"""
#include <cstdio>
#include <ebb/cluster.h>
int main() {
  ebb::Result<ebb::Cluster> cluster = ebb::Cluster::New();
  ebb::Batch batch;
  for (const ebb::Error& error :
       {batch.PutJson("{"), batch.PutProtobuf("x"), batch.Delete("pods", "d", "x"),
        cluster->Load("{"), cluster->SetSettings("{")}) {
    std::printf("%d %s\n", static_cast<int>(error.code()), std::string(error.message()).c_str());
  }
}
""")
        program = self.build_against_it("g++", "c++20", source)
        messages = re.findall(r"^3 \S.{10,}", run(program, env=self.environment), re.MULTILINE)
        self.assertEqual(len(messages), 5, messages)  # A message may have several lines.

    def test_the_library_exports_its_header_and_nothing_else(self):
        exported = run("nm", "-D", "--defined-only", self.lib / "libebb.so")
        names = {line.split()[-1].split("@")[0] for line in exported.splitlines()} - {"EBB_1"}
        header = (self.prefix / "include" / "ebb" / "ebb.h").read_text()
        header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
        declared = set(re.findall(r"\b(ebb_\w+)\(", header))
        self.assertEqual(names, declared)

    def test_the_page_quotes_the_examples(self):
        page = (SOURCE / "docs" / "embed.md").read_text()
        for name in ["plan.c", "plan.cc"]:
            self.assertIn((EXAMPLES / name).read_text(), page, name)

    def test_the_interface_is_that_of_its_version(self):
        """A changed declaration needs another EBB_ABI_VERSION; an added one is recorded."""
        header = (SOURCE / "embed" / "ebb.h").read_text()
        version = re.search(r"#define EBB_ABI_VERSION (\d+)", header).group(1)
        text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        text = re.sub(r'extern "C" \{', "", text)
        declarations = [re.sub(r"\s+", " ", d).strip() for d in re.findall(r"[^;{}]+(?:\{[^}]*\}[^;]*)?;", text)]
        recorded = (SOURCE / "tests" / "embed" / f"abi_{version}.txt").read_text().splitlines()
        self.assertEqual(declarations, recorded, "tests/embed/README.md says what to do")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
