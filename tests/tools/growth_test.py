#!/usr/bin/env python3
"""`./dev bench growth`: every command runs and has a row; what the figures are is not tested.

usage: growth_test.py EBB SOURCE_DIR [EBB_BENCH]
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

EBB, SOURCE, *BENCH = sys.argv[1:]
sys.path.insert(0, os.path.join(SOURCE, "bench"))
import growth  # noqa: E402


class GrowthTest(unittest.TestCase):
    def run_growth(self, *words):
        return subprocess.run([sys.executable, os.path.join(SOURCE, "bench", "growth.py"), *words],
                              capture_output=True, text=True, check=False)

    def test_every_command_and_change_has_a_row_for_each_kind_of_cluster(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "rows.json")
            bench = ["--bench", BENCH[0]] if BENCH else []
            done = self.run_growth(EBB, *bench, "--sizes", "8,16", "--runs", "1", "--json", out)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            rows = json.loads(pathlib.Path(out).read_text(encoding="utf-8"))
            names = [name for name, _ in growth.Cluster(EBB, "uniform", 2, folder).commands()]
        names += [f"change {name}" for name in growth.CHANGES] if BENCH else []
        for kind in growth.KINDS:
            of_kind = [row for row in rows if row["kind"] == kind]
            self.assertEqual([row["what"] for row in of_kind], names)
            for row in of_kind:
                self.assertEqual(list(row["seconds"]), ["8", "16"], row)
                self.assertIn(f"| {kind} | {row['what']} | ", done.stdout)
        self.assertIn(f"{len(rows)} rows, ", done.stdout)

    def test_a_command_that_fails_is_named(self):
        done = self.run_growth("/bin/false", "--sizes", "2", "--runs", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("growth: /bin/false --version: exit code 1", done.stderr)

    def test_the_exponent_is_that_of_the_power_law(self):
        points = {size: 3e-4 * size ** 1.25 for size in (500, 1000, 5000, 20000)}
        self.assertAlmostEqual(growth.power(points), 1.25)
        self.assertAlmostEqual(growth.power({**points, 10: 1e-6}, least=1e-5), 1.25)
        self.assertIsNone(growth.power(points, least=math.inf))
        self.assertIsNone(growth.power({500: 0.1}))

    def test_an_exponent_above_the_limit_is_marked(self):
        row = {"kind": "mixed", "what": "plan", "seconds": {500: 0.02, 1000: 0.1}, "power": 2.32}
        self.assertEqual(growth.line(row, [500, 1000]), "| mixed | plan | 20.0 ms | 100.0 ms | **2.32** |")
        self.assertEqual(growth.line({**row, "power": 1.0, "seconds": {1000: 2e-6}}, [500, 1000]),
                         "| mixed | plan |  | 2.0 us | 1.00 |")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
