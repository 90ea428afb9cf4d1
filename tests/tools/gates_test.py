"""Runs the scripts of examples/gates as a runner of GitHub or GitLab would.

Usage: gates_test.py EBB
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

EBB = ""
GATES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gates"
PRICES = "currency: USD\ndefault: 0.5\n"


class GatesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cluster = self.folder / "a cluster.json"
        subprocess.run([EBB, "gen", "mixed", "--nodes", "40", "-o", self.cluster], check=True,
                       capture_output=True)
        self.prices = self.folder / "prices.yaml"
        self.prices.write_text(PRICES)
        self.before = self.folder / "before.json"
        self.before.write_bytes(subprocess.run(
            [EBB, "plan", self.cluster, "-o", "json", "--max-scale-down-parallelism", "1"],
            check=True, capture_output=True).stdout)

    def run_script(self, shell, script, env):
        return subprocess.run([*shell, "-c", script], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={"PATH": os.environ["PATH"], **env})

    # As GitHub's runner: inputs with their defaults, `${{ inputs.X }}` in env, bash, the files of
    # outputs and summaries.
    def action(self, **inputs):
        action = yaml.safe_load((GATES / "action.yml").read_text())
        values = {name: each.get("default") for name, each in action["inputs"].items()}
        values.update({name.replace("_", "-"): str(value) for name, value in inputs.items()})
        self.assertEqual(action["runs"]["using"], "composite")
        [step] = action["runs"]["steps"]
        self.assertNotIn("${{", step["run"], "an input in a script is a command of its author")
        replace = lambda text: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda m: values[m[1]], text)
        env = {name: replace(text) for name, text in step["env"].items()}
        summary, output = self.folder / "summary.md", self.folder / "output"
        env.update(RUNNER_TEMP=str(self.folder), GITHUB_STEP_SUMMARY=str(summary),
                   GITHUB_OUTPUT=str(output))
        ran = self.run_script(["bash", "--noprofile", "--norc", "-eo", "pipefail"], step["run"], env)
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return ran, summary.read_text() if summary.exists() else "", outputs

    def gitlab(self, **variables):
        job = yaml.safe_load((GATES / "gitlab.yml").read_text())[".ebb-gate"]
        for name in variables:
            self.assertIn(name, job["variables"])
        env = {**job["variables"], **{name: str(value) for name, value in variables.items()}}
        ran = self.run_script(["sh", "-e"], "\n".join(job["script"]), env)
        files = [self.folder / name for name in job["artifacts"]["paths"]]
        return ran, files

    def test_an_action_without_conditions_succeeds_with_a_summary_and_the_plan(self):
        ran, summary, outputs = self.action(cluster=self.cluster, ebb=EBB)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        plan = json.loads(pathlib.Path(outputs["plan"]).read_text())
        self.assertEqual(plan["kind"], "Plan")
        self.assertIn(f"### {plan['summary']['removed']} of 40 nodes can go", summary)

    def test_an_action_fails_with_each_condition_that_holds_and_still_has_its_summary(self):
        ran, summary, _ = self.action(
            cluster=self.cluster, ebb=EBB, prices=self.prices, before=self.before,
            plan_fail_if="removed>1%\nkept<0\n\nsaved>1 USD/month\n", compare_fail_if="removed>0\n")
        self.assertEqual(ran.returncode, 11, ran.stderr)
        self.assertEqual(ran.stderr.count("--fail-if"), 3, ran.stderr)
        self.assertEqual(summary.count("### "), 2)
        self.assertIn("| nodes that go | 2 |", summary)
        ran, _, _ = self.action(cluster=self.cluster, ebb=EBB, before=self.before,
                                compare_fail_if="removed>0")
        self.assertEqual(ran.returncode, 11, ran.stderr)

    def test_an_action_whose_plan_fails_fails(self):
        ran, summary, _ = self.action(cluster="missing.json", ebb=EBB)
        self.assertEqual((ran.returncode, summary), (1, ""))
        ran, _, _ = self.action(cluster=self.cluster, ebb=EBB, plan_fail_if="nodez>1")
        self.assertEqual(ran.returncode, 2)

    def test_an_input_is_never_a_command(self):
        hostile = "$(touch owned)`touch owned`;touch owned\n"
        for inputs in ({"cluster": hostile}, {"cluster": self.cluster, "plan_fail_if": hostile},
                       {"cluster": self.cluster, "before": hostile},
                       {"cluster": self.cluster, "prices": hostile}):
            ran, _, _ = self.action(ebb=EBB, **inputs)
            self.assertNotEqual(ran.returncode, 0)
            self.assertFalse((self.folder / "owned").exists())

    def test_the_gitlab_job_writes_its_artifacts_and_fails_with_conditions(self):
        ran, files = self.gitlab(EBB=EBB, EBB_CLUSTER=self.cluster)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("nodes can go", ran.stdout)
        plan, markdown = files
        self.assertEqual(json.loads(plan.read_text())["kind"], "Plan")
        self.assertEqual(markdown.read_text(), ran.stdout)
        ran, _ = self.gitlab(EBB=EBB, EBB_CLUSTER=self.cluster, EBB_PRICES=self.prices,
                             EBB_PLAN_FAIL_IF="removed>1%\nsaved>1 USD/month")
        self.assertEqual(ran.returncode, 11)
        self.assertEqual(ran.stderr.count("--fail-if"), 2, ran.stderr)
        ran, _ = self.gitlab(EBB=EBB, EBB_CLUSTER=self.cluster, EBB_BEFORE=self.before,
                             EBB_COMPARE_FAIL_IF="removed>0")
        self.assertEqual(ran.returncode, 11)
        self.assertEqual(ran.stdout.count("### "), 2)
        ran, _ = self.gitlab(EBB=EBB, EBB_CLUSTER="missing.json")
        self.assertEqual(ran.returncode, 1)


if __name__ == "__main__":
    EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
