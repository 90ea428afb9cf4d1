#!/usr/bin/env python3
"""`ebb conformance` against the example plugin, and against a wrong plugin.

    conformance_test.py EBB SOURCE_DIR

Needs Python's grpcio and protobuf, protoc and its plugin for Python.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

EBB = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
PLUGIN = SOURCE / "examples/actuator_plugin/plugin.py"


class ConformanceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stubs = tempfile.TemporaryDirectory(prefix="ebb-stubs-")
        cls.addClassCleanup(cls.stubs.cleanup)
        subprocess.run(
            ["protoc", f"-I{SOURCE}", f"--python_out={cls.stubs.name}",
             f"--grpc_out={cls.stubs.name}",
             f"--plugin=protoc-gen-grpc={shutil.which('grpc_python_plugin')}",
             str(SOURCE / "wire/actuator.proto")], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ebb-conformance-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.socket = self.folder / "plugin.sock"

    def serve(self, plugin=PLUGIN):
        """Starts the plugin over three nodes."""
        child = subprocess.Popen([sys.executable, str(plugin), str(self.socket), "3"],
                                 stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": self.stubs.name})
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.terminate)
        self.assertEqual(child.stdout.readline(), "serving\n")

    def conformance(self, *flags, code):
        run = subprocess.run([EBB, "conformance", "--actuator", f"unix:{self.socket}", *flags],
                             capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def test_the_example_passes(self):
        self.serve()
        self.assertIn("7 passed, 0 failed, 14 skipped", self.conformance(code=0))
        self.assertIn("18 passed, 0 failed, 3 skipped",
                      self.conformance("--node", "node-1", "--node", "node-2", code=0))
        self.assertIn("21 passed, 0 failed, 0 skipped",
                      self.conformance("--node", "node-1", "--drain-and-delete", code=0))
        # The node is gone now.
        printed = self.conformance("--node", "node-1", code=1)
        self.assertRegex(printed, r"soft-taint +FAIL +plugin unix:\S+: SoftTaint: node node-1 is not")

    def test_a_plugin_that_forgets_idempotency_keys_fails(self):
        text = PLUGIN.read_text()
        forgetful = text.replace("self.keys[request.key] = True", "pass")
        self.assertNotEqual(text, forgetful)
        wrong = self.folder / "wrong.py"
        wrong.write_text(forgetful)
        self.serve(wrong)
        printed = self.conformance("--node", "node-1", code=1)
        self.assertRegex(printed, r"late-copies +FAIL")
        self.assertRegex(printed, r"begin +pass")

    def test_hello_fails_if_no_plugin_listens(self):
        self.assertRegex(self.conformance(code=1), r"hello +FAIL +plugin unix:")

    def test_wrong_usage(self):
        self.conformance("--node", "A node", code=1)
        self.conformance("--wait", "long", code=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
