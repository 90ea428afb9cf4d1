#!/usr/bin/env python3
"""Compares plans with recorded answers of Karpenter's own code: tests/karpenter/README.md.

    karpenter_test.py EBB FOLDER

A plan may choose other nodes than Karpenter, and leaves room for pods of nodes that go before.  What must agree is
which nodes may go at all and why the others may not, which pods must move, and how many nodes of a NodePool go.
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

# Needed to compare prices, which a plan that only removes nodes does not.
PRICES = ("Node does not have label", "Instance Type")
# Why ebb keeps a node that Karpenter accepts: another removal took the room or the disruption.
IN_THE_PLAN = {"NoPlaceToMovePods", "EmptyBudgetReached", "UnderutilizedBudgetReached", "NodeNotEmpty", "BlockedByPod"}


def cases():
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield from json.load(file)["cases"]


def plan_of(case, folder):
    path = os.path.join(folder, "cluster.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(case["input"], file)
    run = subprocess.run(
        [EBB, "plan", path, "--rules", "karpenter", "--now", case["now"], "--assume-complete", "--allow-incomplete",
         "-o", "json"], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        raise AssertionError(f"{case['name']}: {run.stderr}")
    return json.loads(run.stdout)


def accepted(answer):
    """Whether emptiness or consolidation takes the node, or rejects it only for want of a price."""
    methods = answer.get("methods", {})
    return any(methods.get(m, "no").startswith("yes") or methods.get(m, "no").removeprefix("no: ").startswith(PRICES)
               for m in ("emptiness", "consolidation"))


def foreign(case):
    """The nodes whose NodeClaims belong to another cloud provider than that of the recorded Karpenter."""
    return {item["status"].get("nodeName") for item in case["input"]["items"] if item["kind"] == "NodeClaim"
            and item["spec"]["nodeClassRef"]["kind"] != "EC2NodeClass"}


def costs(case):
    """Whether Karpenter weighs pods by an annotation that ebb does not read."""
    return any("controller.kubernetes.io/pod-deletion-cost" in item["metadata"].get("annotations", {})
               for item in case["input"]["items"])


class KarpenterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.plans = [(case, plan_of(case, folder)) for case in cases()]
        assert len(cls.plans) >= 300, f"{len(cls.plans)} cases are there"

    def each(self):
        for case, plan in self.plans:
            yield case, plan, case["answers"]["nodes"]

    def test_nodes_go_that_karpenter_accepts_and_no_others(self):
        gone, wrong = 0, []
        for case, plan, answers in self.each():
            for removal in plan["remove"]:
                gone += 1
                answer = answers.get(removal["node"])
                if removal["node"] not in foreign(case) and (not answer or not accepted(answer)):
                    wrong.append((case["name"], removal["node"], answer))
        self.assertEqual(wrong, [])
        self.assertGreater(gone, 200)

    def test_what_keeps_a_node_is_said_in_karpenters_words(self):
        compared, wrong = collections.Counter(), []
        for case, plan, answers in self.each():
            for kept in plan["keep"]:
                answer = answers.get(kept["node"], {})
                detail = kept.get("detail", "")
                events = [text.removeprefix("no: ") for text in answer.get("methods", {}).values()
                          if text.startswith("no: ")]
                # Of a node that is leaving or starting, ebb says which taint, label or object it is.
                if kept["reason"] in ("CurrentlyBeingDeleted", "NotStarted", "NotJudged", "NotAutoscaled"):
                    continue
                if "blocked" in answer:
                    if kept["node"] in foreign(case):
                        continue
                    words = {answer["blocked"], *answer.get("blocking_pods", {}).values()}
                    if detail.lower() not in {each.lower() for each in words}:
                        wrong.append((case["name"], kept["node"], kept["reason"], detail, words))
                    compared[answer["blocked"].split(" (")[0]] += 1
                elif events and not accepted(answer) and kept["reason"] not in IN_THE_PLAN:
                    if detail not in events:
                        wrong.append((case["name"], kept["node"], kept["reason"], detail, events))
                    compared[re.sub('"[^"]*"', '""', events[0])] += 1
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(compared), 6, compared)

    def test_nodes_that_karpenter_accepts_go_unless_the_plan_itself_keeps_them(self):
        wrong = []
        for case, plan, answers in self.each():
            for kept in plan["keep"]:
                answer = answers.get(kept["node"], {})
                methods = answer.get("methods", {})
                if "yes" not in (methods.get("emptiness"), methods.get("consolidation")):
                    continue
                known = (kept["reason"] in IN_THE_PLAN or costs(case)
                         # Pods of nodes that are being deleted find no room: ebb judges no node.
                         or kept["reason"] == "NotJudged" and "deleting" in case["features"]
                         # The taint is there, although Karpenter does not know of a disruption.
                         or kept.get("detail") == "tainted karpenter.sh/disrupted"
                         # Karpenter waits for the condition only, which may be older.
                         or kept["reason"] == "NotConsolidatable" and answer.get("under_consolidate_after")
                         or kept["reason"] == "ConsolidationPolicyNotEvaluated" and not answer.get("empty"))
                if not known:
                    wrong.append((case["name"], kept["node"], kept["reason"], kept.get("detail")))
        self.assertEqual(wrong, [])

    def test_pods_move_that_karpenter_reschedules(self):
        compared, wrong = 0, []
        for case, plan, answers in self.each():
            pods = {f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["spec"]
                    for item in case["input"]["items"] if item["kind"] == "Pod"}
            at = {name: spec.get("nodeName") for name, spec in pods.items()}
            # --expendable-pods-priority-cutoff
            expendable = {name for name, spec in pods.items() if spec.get("priority", 0) < -10}
            for removal in plan["remove"]:
                moved = {f"{pod['namespace']}/{pod['name']}" for pod in removal["pods"] if pod.get("to")}
                own = {pod for pod in moved if at[pod] == removal["node"]}
                expected = set(answers.get(removal["node"], {}).get("reschedulable", [])) - expendable
                compared += len(own)
                if own != expected:
                    wrong.append((case["name"], removal["node"], own ^ expected))
        self.assertEqual(wrong, [])
        self.assertGreater(compared, 150)

    def test_no_pod_that_runs_comes_to_a_node_under_consolidate_after(self):
        wrong = [(case["name"], pod)
                 for case, plan, answers in self.each() for removal in plan["remove"] for pod in removal["pods"]
                 if pod.get("to") and answers.get(pod["to"], {}).get("under_consolidate_after")]
        self.assertEqual(wrong, [])

    def test_each_removal_leaves_the_budgets_of_its_nodepool_in_order(self):
        reached, wrong = 0, []
        for case, plan, answers in self.each():
            pool_of = {item["metadata"]["name"]: item["metadata"].get("labels", {}).get("karpenter.sh/nodepool")
                       for item in case["input"]["items"] if item["kind"] == "Node"}
            gone = collections.Counter()
            for removal in plan["remove"]:
                pool = pool_of[removal["node"]]
                gone[pool] += 1
                moves = any(pod.get("to") for pod in removal["pods"])
                budgets = case["answers"]["budgets"].get(pool, {})
                if gone[pool] > budgets.get("Underutilized" if moves else "Empty", 0) and not costs(case):
                    wrong.append((case["name"], removal["node"], gone[pool], budgets))
            reached += any(kept["reason"].endswith("BudgetReached") for kept in plan["keep"])
        self.assertEqual(wrong, [])
        self.assertGreater(reached, 20)


if __name__ == "__main__":
    FOLDER = sys.argv.pop(2)
    EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
