#!/usr/bin/env python3
"""Every question gives the same bytes over files, over a daemon and over watched files.

    sources_test.py EBB
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

EBB = str(pathlib.Path(sys.argv[1]).resolve())
NOW = "2026-06-01T12:00:00Z"
WAIT_S = 120  # For a daemon to listen; a machine may be slow.

CHANGES = """
objects:
- kind: Node
  metadata: {name: NODE}
  $patch: delete
- kind: Pod
  metadata: {namespace: NAMESPACE, name: POD, annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}}
  status: {noSuchField: 1}
options:
  scale-down-utilization-threshold: 0.8
"""

PRICES = """
currency: EUR
default: 0.2
prices:
- {instanceType: m8, hourly: 0.4}
"""


def without_times(text):
    """Removes how long a plan took, which differs from run to run."""
    return re.sub(r"(Planned (?:and verified )?in|verified in) [^,\n]+", r"\1 T", text)


class SourcesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ebb-sources-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.dump = cls.path("cluster.json")
        subprocess.run([EBB, "gen", "company", "--nodes", "40", "-o", cls.dump], check=True,
                       capture_output=True)
        objects = json.loads(pathlib.Path(cls.dump).read_text())["items"]
        cls.events = cls.path("events")
        pathlib.Path(cls.events).write_text("".join(
            json.dumps({"type": "ADDED", "object": each}) + "\n" for each in objects))
        socket = cls.path("e.sock")
        cls.server = f"unix:{socket}"
        daemon = subprocess.Popen([EBB, "serve", "--socket", socket, "--log", "none"],
                                  stderr=subprocess.DEVNULL)
        cls.addClassCleanup(daemon.wait)
        cls.addClassCleanup(daemon.terminate)
        deadline = time.monotonic() + WAIT_S
        while not os.path.exists(socket):
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("the daemon does not listen")
            time.sleep(0.01)
        plan = json.loads(cls.ask("plan", cls.dump, "-o", "json")[1])
        cls.goes = [node["node"] for node in plan["remove"]]
        cls.moves = [f'{pod["namespace"]}/{pod["name"]}' for node in plan["remove"] for pod in node["pods"]]
        kept = {}
        for node in plan["keep"]:
            kept.setdefault(node["reason"], node)
        cls.stays = [node["node"] for node in kept.values()]
        blocking = kept["BlockedByPod"]["blockingPod"]
        cls.write("changes.yaml", CHANGES.replace("NODE", cls.stays[0])
                  .replace("NAMESPACE", blocking["namespace"]).replace("POD", blocking["name"]))
        cls.write("prices.yaml", PRICES)

    @classmethod
    def path(cls, name):
        return str(pathlib.Path(cls.folder.name) / name)

    @classmethod
    def write(cls, name, text):
        pathlib.Path(cls.path(name)).write_text(text)

    @classmethod
    def ask(cls, command, *words):
        now = [] if command == "filter" else ["--now", NOW]
        done = subprocess.run([EBB, command, *words, *now, "--assume-complete"], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        return done.returncode, without_times(done.stdout), done.stderr

    def check(self, command, *words, code=0):
        """Runs the command over files, over a daemon that loads them, over the loaded session, and over watched files."""
        expected = self.ask(command, self.dump, *words)
        self.assertEqual(expected[0], code, expected[2])
        self.assertNotEqual(expected[1], "")
        for source in ((self.dump, "--server", self.server), ("--server", self.server),
                       ("--watch-file", self.events, "--watch-quiet-time", "1h")):
            with self.subTest(source=source[-2], command=command, words=words):
                answer = self.ask(command, *source, *words)
                self.assertEqual(answer[0], code, answer[2])
                self.assertEqual(answer[1], expected[1])

    def test_plans(self):
        for form in ("table", "wide", "json", "yaml", "csv", "name", "sh", "patch"):
            self.check("plan", "-o", form)
        self.check("plan", "--exit-code", code=10)
        self.check("plan", "--scale-down-utilization-threshold", "0.3", "--max-workload-share", "0.5")

    def test_better_plans(self):
        prices = ("--prices", self.path("prices.yaml"))
        self.check("plan", "--optimize", "--iterations", "2", "--bound")
        self.check("plan", "--optimize", "--iterations", "2", "--objective", "cost", *prices)
        for form in ("table", "wide", "json", "csv"):
            self.check("plan", "--prices", "builtin", "--price-rule", "spot=0.3", "-o", form)
        self.check("plan", "--trials", "2", "--seed", "3")
        self.check("plan", "--robust", "0.2", "-o", "json")

    def test_waves_of_a_daemon(self):
        for words in (("--pod-startup-time", "2m"), ("--prices", self.path("prices.yaml")),
                      ("--scale-down-unneeded-time", "10m")):
            for form in ("table", "wide", "json", "yaml"):
                words_of_form = ("--waves", *words, "-o", form)
                expected = self.ask("plan", self.dump, *words_of_form)
                self.assertIn("waves", expected[1].lower())
                for source in ((self.dump, "--server", self.server), ("--server", self.server)):
                    answer = self.ask("plan", *source, *words_of_form)
                    self.assertEqual(answer[:2], (0, expected[1]), answer[2])

    def test_purchases_of_a_daemon(self):
        words = ("--prices", self.path("prices.yaml"), "--scale-down-utilization-threshold=1", "--replace",
                 "--max-new-nodes", "2")
        for form in ("table", "wide", "json", "yaml"):
            expected = self.ask("plan", self.dump, *words, "-o", form)
            self.assertIn("assum", expected[1])
            for source in ((self.dump, "--server", self.server), ("--server", self.server)):
                answer = self.ask("plan", *source, *words, "-o", form)
                self.assertEqual(answer[:2], (0, expected[1]), answer[2])

    def test_rules_of_a_daemon(self):
        for rules in ("auto", "autoscaler", "karpenter"):
            self.check("plan", "--rules", rules, "-o", "json")

    def test_explanations(self):
        nodes = ",".join([*self.stays, self.goes[0], self.goes[-1]])
        for form in ("table", "json", "yaml"):
            self.check("plan", "--explain", nodes, "-o", form)

    def test_counterfactuals(self):
        nodes = ",".join([self.stays[0], self.goes[0], self.stays[-1]])
        for form in ("table", "json"):
            self.check("plan", "--explain", nodes, "--counterfactual", "-o", form)

    def test_filters(self):
        for words in (("--pod", self.moves[0], "--pod", self.moves[-1]),
                      ("--pod", self.moves[0], "--node", self.stays[0])):
            for form in ("table", "json"):
                self.check("filter", *words, "-o", form)

    def test_blockers(self):
        for form in ("table", "json", "yaml"):
            self.check("blockers", "--limit", "3", "-o", form)
        self.check("blockers", "--limit", "2", "--prices", self.path("prices.yaml"))

    def test_frontiers(self):
        for words in ((), ("--prices", self.path("prices.yaml"))):
            for form in ("table", "csv", "json", "yaml"):
                self.check("frontier", "--iterations", "1", "--budget", "500s", "-o", form, *words)

    def test_what_if(self):
        for form in ("table", "json", "yaml"):
            self.check("plan", "--what-if", self.path("changes.yaml"), "-o", form)
        self.check("plan", "--what-if", self.path("changes.yaml"), "--exit-code", code=10)

    def test_what_if_reports_changes_without_effect(self):
        words = ("--what-if", self.path("changes.yaml"))
        for source in ((self.dump,), (self.dump, "--server", self.server),
                       ("--watch-file", self.events, "--watch-quiet-time", "1h")):
            self.assertIn("no decision reads status.noSuchField", self.ask("plan", *source, *words)[2])

    def test_a_question_that_tries_changes_leaves_the_session_as_it_was(self):
        load = ("plan", self.dump, "--server", self.server, "--session", "asked", "-o", "json")
        here = ("--server", self.server, "--session", "asked")
        before = self.ask(*load)[1]
        for words in (("blockers", *here, "--limit", "5"),
                      ("plan", *here, "--explain", self.stays[0], "--counterfactual"),
                      ("plan", *here, "--what-if", self.path("changes.yaml"))):
            code, _, err = self.ask(*words)
            self.assertEqual(code, 0, err)
        self.assertEqual(self.ask("plan", *here, "-o", "json")[1], before)

    def test_refusals_say_why(self):
        for words, why in ((("plan", "--state", "s.db", "--server", "unix:x"), "ebb run --server"),
                           (("plan", "--server", "unix:x", "--watch-file", "f"), "its feeder"),
                           (("blockers", "--server", "unix:x", "--watch-file", "f"), "its feeder")):
            code, _, err = self.ask(*words)
            self.assertEqual(code, 2, err)
            self.assertIn("excludes", err)
            self.assertIn(why, err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
