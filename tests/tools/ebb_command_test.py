#!/usr/bin/env python3
"""Runs the program `ebb` as its users do, and checks that it behaves as the documents say.

    ebb_command_test.py EBB [UNITTEST_ARGUMENT...]

Every test works in a folder of its own and starts real processes.
"""

import copy
import csv
import fcntl
import gzip
import io
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import threading
import time
import unittest
import zlib

EBB = ""
START = "2026-06-01T12:00:00Z"


def at(seconds):
    """The time `seconds` after START."""
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"2026-06-01T{12 + hour:02}:{minute:02}:{second:02}Z"


def node(name, group="ng", cpu="4", taints=(), ready=True, uid=None):
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": uid or "uid-" + name, "labels": {"nodegroup": group}},
        "spec": {"taints": [{"key": key, "value": value, "effect": "NoSchedule"}
                            for key, value in taints]},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "capacity": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}}


def rest_of(child):
    """(stdout, stderr) of a process that was read by line, until it ends.

    communicate() reads below Python's buffers, so it loses lines that came together with the last one that was read.
    """
    out = []
    reader = threading.Thread(target=lambda: out.append(child.stdout.read()))
    reader.start()
    err = child.stderr.read()
    reader.join()
    child.wait()
    return out[0], err


def pod(name, on, cpu="500m", safe=True):
    meta = {"name": name, "namespace": "default", "uid": "uid-" + name}
    if safe:
        meta["annotations"] = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}
    if on:
        spec["nodeName"] = on
    scheduled = {"type": "PodScheduled", "status": "True"}
    if not on:
        scheduled |= {"status": "False", "reason": "Unschedulable"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec,
            "status": {"phase": "Running" if on else "Pending", "conditions": [scheduled]}}


def deleting(now_s):
    return [("ToBeDeletedByClusterAutoscaler", str(now_s))]


# START as Unix time.
START_S = 1780315200

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}


def schema_errors(value, schema, root, path="$"):
    """Errors of `value` against `schema`; checks only the keywords of JSON Schema that our schemas use."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[t]) for t in types):
        return [f"{path}: {value!r} is no {types}"]
    errors = []
    if "const" in schema and value != schema["const"]:
        errors.append(f"{path}: {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        errors.append(f"{path}: {value!r}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties", {})
        errors += [f"{path}.{name}: missing" for name in schema.get("required", [])
                   if name not in value]
        for name, member in value.items():
            inner = known.get(name, others)
            if inner is False:
                errors.append(f"{path}.{name}: not in the schema")
            else:
                errors += schema_errors(member, inner, root, f"{path}.{name}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            errors.append(f"{path}: has {len(value)} items")
        for i, item in enumerate(value):
            errors += schema_errors(item, schema.get("items", {}), root, f"{path}[{i}]")
    if "minLength" in schema and len(value) < schema["minLength"]:
        errors.append(f"{path}: is empty")
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        errors.append(f"{path}: {value}")
    return errors

# a and b run a pod each; c is empty.
SMALL = [node("a"), node("b"), node("c"), pod("p", "a"), pod("q", "b")]


def packed(decision):
    """A decision as a state file stores it without reference to another (rounds/text_delta.cc)."""
    def number(value):
        low = bytes([value & 0x7f | (0x80 if value > 0x7f else 0)])
        return low + (number(value >> 7) if value > 0x7f else b"")
    steps = number(len(decision)) * 2 + decision.encode()
    return number(len(steps)) + zlib.compress(steps)


class EbbTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ebb-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def dump(self, items, name="dump.json", says_none=True):
        """Writes a dump of the objects.  If none is a budget, adds an empty list of budgets, unless `says_none` is false."""
        kinds = {item.get("kind") for item in items if isinstance(item, dict)}
        if says_none and "Node" in kinds and not kinds & {"PodDisruptionBudget",
                                                          "PodDisruptionBudgetList"}:
            items = [*items, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList",
                              "items": []}]
        return self.write(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def ebb(self, *words, code=0, stdin=""):
        """Runs ebb, which must exit with `code`; returns (stdout, stderr)."""
        done = subprocess.run([EBB, *words], input=stdin, capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, code, f"ebb {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def ebb_json(self, *words):
        """Returns the plan as JSON, checked against the schema."""
        plan = json.loads(self.ebb(*words, "-o", "json")[0])
        self.assert_schema(plan, "plan.schema.json")
        return plan

    def explain_json(self, *words):
        """Returns the nodes of an explanation, checked against the schema."""
        explanation = json.loads(self.ebb("plan", *words, "-o", "json")[0])
        self.assert_schema(explanation, "explain.schema.json")
        return explanation["nodes"]

    def assert_schema(self, value, name):
        with open(os.path.join(DOCS, name), encoding="utf-8") as file:
            schema = json.load(file)
        self.assertEqual(schema_errors(value, schema, schema), [])

    def on_terminal(self, columns, *words, env=None):
        """What ebb prints on a terminal with this many columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | (env or {})
        with subprocess.Popen([EBB, *words], stdout=slave, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, env=env) as process:
            os.close(slave)
            text = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:  # The other end was closed.
                    break
                if not part:
                    break
                text += part
            os.close(master)
            self.assertEqual(process.wait(timeout=300), 0)
        return text.decode().replace("\r\n", "\n")

    def assert_one_line(self, text):
        self.assertEqual(text.count("\n"), 1, text)


class PlanTest(EbbTest):

    # Symptom: depending on the command, nodes that go were `removed`, `nodes` and `greedyNodes`, and
    # evicted pods were `movedPods` and `evictedPods`.
    def test_a_figure_has_one_key_in_all_schemas(self):
        with open(os.path.join(DOCS, "plan.md"), encoding="utf-8") as file:
            section = file.read().split("## One name a figure")[1].split("\n## ")[0]
        named = {key for line in section.splitlines() if line.startswith("| `")
                 for cell in line.split("|")[1:3] for key in re.findall(r"`([a-zA-Z]+)`", cell)}

        def figures(schema):
            if isinstance(schema, list):
                return {key for each in schema for key in figures(each)}
            if not isinstance(schema, dict):
                return set()
            found = {key for key, value in schema.get("properties", {}).items()
                     if isinstance(value, dict) and
                     (value.get("type") in ("integer", "number") or
                      value.get("$ref") in ("#/$defs/count", "#/$defs/fraction"))}
            return found | figures(list(schema.values()))

        # The schema of a sweep describes its question, which has no figures of an answer.
        schemas = [name for name in os.listdir(DOCS)
                   if name.endswith(".schema.json") and name != "sweep.schema.json"]
        self.assertGreater(len(schemas), 4)
        for name in schemas:
            with open(os.path.join(DOCS, name), encoding="utf-8") as file:
                self.assertEqual(figures(json.load(file)) - named, set(), name)

    def test_a_generated_cluster_is_planned_and_the_same_every_time(self):
        cluster = self.path("cluster.json")
        self.ebb("gen", "company", "--nodes", "100", "--seed", "1", "-o", cluster)
        words = ["plan", cluster, "--now", START, "-o", "json"]
        first = self.ebb(*words)[0]
        self.assertEqual(first, self.ebb(*words)[0])
        plan = json.loads(first)
        self.assertEqual(plan["kind"], "Plan")
        self.assertGreater(len(plan["remove"]), 0)
        self.assertGreaterEqual(plan["summary"]["nodes"], 100)
        self.assertEqual(len(plan["remove"]) + len(plan["keep"]), plan["summary"]["nodes"])
        gone = {removal["node"] for removal in plan["remove"]}
        for removal in plan["remove"]:
            for moved in removal["pods"]:
                self.assertNotIn(moved["to"], gone)

    def test_every_output_form_lists_the_same_nodes(self):
        dump = self.dump(SMALL)
        plan = self.ebb_json("plan", dump, "--now", START)
        nodes = [removal["node"] for removal in plan["remove"]]
        self.assertEqual(nodes, ["c", "a"])
        self.assertEqual(self.ebb("plan", dump, "-o", "name")[0], "node/c\nnode/a\n")
        table = self.ebb("plan", dump)[0]
        self.assertIn("2 of 3 nodes can go", table)
        self.assertIn("kind: Plan", self.ebb("plan", dump, "-o", "yaml")[0])

    # Six nodes, and a budget of one disruption for the pods of all of them.
    def waiting(self):
        return os.path.join(DOCS, "../tests/cases/waves.json")

    def test_waves_go_on_when_budgets_recover(self):
        dump = self.waiting()
        self.assertEqual(self.ebb_json("plan", dump, "--now", START)["summary"]["removed"], 1)
        plan = self.ebb_json("plan", dump, "--now", START, "--waves", "--pod-startup-time", "90s")
        self.assertEqual([(wave["wave"], wave["atSeconds"], wave["remove"])
                          for wave in plan["waves"][:3]],
                         [(1, 0, ["n1"]), (2, 90, ["n2"]), (3, 270, ["n3"])])
        summary = plan["summary"]["waves"]
        self.assertEqual([summary[key] for key in ("waves", "removed", "nodes", "ended")],
                         [5, 5, 1, "nothingMoreGoes"])
        self.assertIn("1 min 30 s", " ".join(summary["assumptions"]))
        text = self.ebb("plan", dump, "--now", START, "--waves")[0]
        self.assertIn("Waves: 5 of 6 nodes can go in 5 waves, and 1 stays;", text)
        self.assertIn("The waves assume:", text)

    def test_waves_are_the_same_with_any_number_of_threads_and_have_prices(self):
        cluster = self.path("cluster.json")
        self.ebb("gen", "company", "--nodes", "200", "--seed", "1", "-o", cluster)
        prices = self.write("prices.yaml", "currency: USD\ndefault: 0.5\n")
        words = ["plan", cluster, "--now", START, "--waves", "--prices", prices, "--optimize",
                 "--iterations", "2"]
        plan = self.ebb_json(*words, "--threads", "1")
        self.assertEqual(plan, self.ebb_json(*words, "--threads", "3"))
        waves = plan["waves"]
        self.assertGreater(len(waves), 1)
        self.assertEqual(waves[0]["remove"], [each["node"] for each in plan["remove"]])
        self.assertEqual(waves[0]["savedPerHour"], plan["summary"]["savedPerHour"])
        self.assertEqual(waves[-1]["savedPerHour"], 0.5 * sum(w["removed"] for w in waves))
        self.assertIn("Only the first wave was searched for",
                      " ".join(plan["summary"]["waves"]["assumptions"]))

    def test_timers_of_an_autoscaler_count_in_waves_if_they_are_given(self):
        out, err = self.ebb("plan", self.waiting(), "--now", START, "--waves",
                            "--scale-down-unneeded-time", "10m", "--scale-down-unready-time", "5m",
                            "-o", "json")
        self.assertEqual([wave["atSeconds"] for wave in json.loads(out)["waves"]][:2], [600, 1260])
        self.assertIn("--scale-down-unready-time", err)
        self.assertNotIn("--scale-down-unneeded-time", err)

    # Three nodes of 0.19 an hour whose pods fit on one new node of 0.38.
    def replacing(self, *words, types=""):
        examples = os.path.join(DOCS, "../examples")
        return ("plan", examples + "/replace_cluster.yaml", "--now", START, "--prices",
                examples + "/prices.yaml", "--scale-down-utilization-threshold=1", "--replace",
                "--machine-types", types or examples + "/machine_types.yaml", *words)

    def test_dearer_nodes_are_replaced_by_a_cheaper_one(self):
        plan = self.ebb_json(*self.replacing("--threads", "1"))
        self.assertEqual(plan, self.ebb_json(*self.replacing("--threads", "2")))
        self.assertEqual(sorted(each["node"] for each in plan["remove"]),
                         ["general-0", "general-1", "general-2"])
        replace = plan["replace"]
        self.assertEqual([(each["machineType"], each["group"], each["like"][:8], each["pods"],
                           each["daemonSetPods"]) for each in replace["buy"]],
                         [("m8", "general", "general-", 3, 1)])
        self.assertEqual([replace["costPerHour"], replace["with"]["costPerHour"],
                          replace["with"]["netSavedPerHour"],
                          replace["without"]["netSavedPerHour"]], [0.57, 0.38, 0.19, 0])
        reasons = {each["reason"]: each["count"] for each in replace["unusableTypes"]}
        self.assertEqual((reasons["UnknownGroup"], reasons["NoSibling"]), (1, 1))
        for share, is_bought in (("33%", True), ("0.33", True), ("34%", False)):
            asked = self.ebb_json(*self.replacing("--min-saving", share))["replace"]
            self.assertEqual((share, bool(asked["buy"])), (share, is_bought))
        # Three pods move for a saving of 0.19.
        for price, is_bought in (("0.06", True), ("0.07", False)):
            asked = self.ebb_json(*self.replacing("--move-cost", price))["replace"]
            self.assertEqual((price, bool(asked["buy"])), (price, is_bought))
        self.assertTrue(replace["assumptions"])
        text = self.ebb(*self.replacing())[0]
        self.assertLess(text.index("First buy 1 node, and wait until it is Ready:"),
                        text.index("Plan: 3 of 3 nodes can go"))
        self.assertIn("The purchases assume:", text)

    # A cluster with three small nodes and a large one, which is full: another large one is cheaper.
    def market(self):
        def machine(name, kind, cpu):
            made = node(name, cpu=cpu)
            made["metadata"]["labels"] |= {"node.kubernetes.io/instance-type": kind, "topology.kubernetes.io/zone": "za",
                                           "karpenter.sh/capacity-type": "on-demand"}
            return made
        def web(name, on):
            made = pod(name, on, cpu="2500m", safe=False)
            made["metadata"]["labels"] = {"app": "web"}
            made["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-web",
                                                    "controller": True}]
            return made
        replicas = {"apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "metadata": {"name": "web", "namespace": "default", "uid": "u-web"},
                    "spec": {"replicas": 6, "selector": {"matchLabels": {"app": "web"}}}, "status": {"replicas": 6}}
        return self.dump([machine("small-" + i, "m4", "4") for i in "012"] + [machine("large", "m8", "8")] +
                         [web("w" + i, "small-" + i) for i in "012"] + [web("w" + i, "large") for i in "345"] + [replicas])

    def test_a_simulated_loop_buys_first_and_then_removes(self):
        words = ["run", "--simulate", "--input", self.market(), "--assume-complete", "--hours", "2", "--load", "none",
                 "-o", "json", "--scale-down-utilization-threshold", "1"]
        without = json.loads(self.ebb(*words)[0])["with"]
        prices = os.path.join(DOCS, "../examples/prices.yaml")
        bought = json.loads(self.ebb(*words, "--replace", "--prices", prices)[0])["with"]
        self.assertEqual((without["nodesBought"], without["nodesAtLast"]), (0, 4))
        self.assertEqual((bought["nodesBought"], bought["nodesAtLast"]), (1, 2))
        self.assertEqual((bought["nodesDeleted"], bought["podsThatWaited"]), (3, 0))

    def test_flags_of_purchases_of_the_loop_need_others(self):
        for words, says in [
                (["--replace"], "--replace needs --prices"),
                (["--replace-interval", "1h"], "--replace-interval needs --replace"),
                (["--prices", "builtin"], "--prices needs --replace"),
                (["--replace", "--prices", "builtin", "--pools", "p"], "policies say how many nodes there are")]:
            with self.subTest(words=words):
                self.assertIn(says, self.ebb("run", "--simulate", *words, code=2)[1])

    def test_purchases_that_save_too_little_are_not_made(self):
        plan = self.ebb_json(*self.replacing("--min-saving", "0.4"))
        self.assertEqual((plan["remove"], plan["replace"]["buy"]), ([], []))
        self.assertIn("less than 40", plan["replace"]["whyNone"])
        self.assertIn("Buy nothing:", self.ebb(*self.replacing("--min-saving", "0.4"))[0])

    def test_lists_of_the_clouds_are_machine_types_too(self):
        for cloud, name in (("aws", "m7i.large"), ("gcp", "n2-standard-4"), ("azure", "Standard_D4s_v5")):
            types = os.path.join(DOCS, f"../examples/machine_types_{cloud}.json")
            with self.subTest(cloud=cloud):
                replace = self.ebb_json(*self.replacing(types=types))["replace"]
                listed = {each["reason"]: each["first"] for each in replace["unusableTypes"]}
                self.assertIn(name, listed["NoGroups"])
                replace = self.ebb_json(*self.replacing("--machine-type-groups", "general,none",
                                                        types=types))["replace"]
                listed = {each["reason"]: each["first"] for each in replace["unusableTypes"]}
                self.assertEqual(listed["UnknownGroup"], ["all of none"])
                self.assertNotIn("NoGroups", listed)
        broken = self.write("types.json", '{"InstanceTypes": [{"InstanceType": "m7i.large", "VCpuInfo": {}}]}')
        err = self.ebb(*self.replacing(types=broken), code=1)[1]
        self.assertIn("types.json: InstanceTypes[0] (m7i.large).VCpuInfo.DefaultVCpus: is not a number", err)

    def test_the_bound_of_purchases_is_below_their_cost(self):
        replace = self.ebb_json(*self.replacing())["replace"]
        self.assertGreater(replace["leastCostPerHour"], 0)
        self.assertLessEqual(replace["leastCostPerHour"], replace["with"]["costPerHour"])
        self.assertEqual(replace["tried"], self.ebb_json(*self.replacing("--replace-budget", "1h"))["replace"]["tried"])
        replace = self.ebb_json(*self.replacing("--max-tries", "1"))["replace"]
        self.assertEqual((replace["tried"], replace["buy"]), (1, []))
        self.assertTrue(any("ended after 1 set" in each for each in replace["assumptions"]))

    def test_a_broken_file_of_machine_types_is_named(self):
        broken = self.write("types.yaml", "machineTypes: [{name: m9, groups: [g], offers: [{}], "
                                          "capacity: {cpu: 4x, memory: 1Gi}}]\n")
        err = self.ebb(*self.replacing(types=broken), code=1)[1]
        self.assertIn('types.yaml: machineTypes[0] (m9).capacity: cpu: "4x" is not a quantity', err)

    def test_flags_that_purchases_do_not_go_with_are_refused(self):
        for words, says in [
                (["-o", "name"], "-o name does not say what to buy first"),
                (["-o", "sh"], "-o sh does not say what to buy first"),
                (["-o", "csv"], "-o csv does not say what to buy first"),
                (["--gangs=move"], "--gangs=move: --replace searches"),
                (["--optimize"], "purchases have a search of their own"),
                (["--waves"], "a plan with purchases cannot do that yet"),
                (["--bound"], "purchases have a bound of their own"),
                (["--explain", "general-0"], "there is no place for purchases"),
                (["--max-new-nodes", "0"], "--max-new-nodes")]:
            with self.subTest(words=words):
                self.assertIn(says, self.ebb(*self.replacing(*words), code=2)[1])
        self.assertIn("--replace needs --prices",
                      self.ebb("plan", self.dump(SMALL), "--replace", code=2)[1])

    def test_flags_that_waves_do_not_go_with_are_refused(self):
        dump = self.waiting()
        for words, says in [
                (["--waves", "-o", "csv"], "-o csv is not a format of waves"),
                (["--waves", "-o", "markdown"], "-o markdown is not a format of waves"),
                (["--waves", "-o", "sh"], "-o sh is not a format of waves"),
                (["--waves", "-o", "name"], "expected table, wide, json or yaml"),
                (["--waves", "--explain", "a"], "there is no place for waves"),
                (["--waves", "--pod-startup-time", "soon"], "--pod-startup-time"),
                (["--waves", "--state", self.path("s.db")], "ebb run --simulate --input"),
                (["--pod-startup-time", "1m"], "--pod-startup-time needs --waves")]:
            self.assertIn(says, self.ebb("plan", dump, *words, code=2)[1])
        self.assertIn("-o csv is not a format of waves",
                      self.ebb("plan", "--server", "unix:/x", "--waves", "-o", "csv", code=2)[1])

    def test_a_request_for_scores_has_those_of_nodes_that_fit(self):
        node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"},
                "status": {"allocatable": {"cpu": "1", "memory": "1000Mi", "pods": "9"}}}
        full = {**node, "metadata": {"name": "n2"}, "status": {"allocatable": {"pods": "0"}}}
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "a"},
               "spec": {"containers": [{"name": "c"}]}}
        request = {"id": 1, "objects": [node, full, pod], "pods": ["a/p"]}

        def verdicts(**more):
            answer = self.ebb("filter", "--stdin", stdin=json.dumps({**request, **more}) + "\n")[0]
            return json.loads(answer)["results"][0]["nodes"]

        fits, refused = verdicts(scores=True)
        # 90% of the CPU and 80% of the memory are free.
        self.assertEqual(fits["scores"]["NodeResourcesFit"], 85)
        self.assertEqual(fits["total"], sum(fits["scores"].values()))
        self.assertNotIn("scores", refused)
        self.assertNotIn("scores", verdicts()[0])

    def test_stdin_gzip_and_folders_are_read_alike(self):
        dump = self.dump(SMALL)
        expected = self.ebb("plan", dump, "--now", START, "-o", "json")[0]
        with open(dump, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(self.ebb("plan", "-", "--now", START, "-o", "json", stdin=text)[0], expected)
        os.mkdir(self.path("folder"))
        with gzip.open(self.path("folder/dump.json.gz"), "wt", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(
            self.ebb("plan", self.path("folder"), "--now", START, "-o", "json")[0], expected)

    def test_an_imported_snapshot_gives_the_same_plan(self):
        dump = self.dump(SMALL)
        self.ebb("import", dump, "-o", self.path("cluster.ebb"))
        self.assertEqual(self.ebb("plan", self.path("cluster.ebb"), "--now", START, "-o", "json")[0],
                         self.ebb("plan", dump, "--now", START, "-o", "json")[0])

    def test_explain_says_why_a_node_stays(self):
        dump = self.dump(SMALL + [pod("bare", "b", safe=False)])
        self.assertIn("NotReplicated", self.ebb("plan", dump, "--explain", "b")[0])

    def test_stats_are_one_line_of_json_at_the_end_of_stderr(self):
        err = self.ebb("plan", self.dump(SMALL), "--stats")[1]
        self.assertEqual(json.loads(err.splitlines()[-1])["nodes"], 3)


def labelled(item, **labels):
    item["metadata"]["labels"].update(labels)
    return item


def budget(name, app, allowed):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed}}


REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet",
               "metadata": {"name": "rs", "namespace": "default", "uid": "1"},
               "spec": {"replicas": 9}, "status": {"replicas": 9}}


def app_pod(name, on, app, cpu="500m"):
    """A pod of REPLICA_SET with the label app."""
    item = pod(name, on, cpu, safe=False)
    item["metadata"]["labels"] = {"app": app}
    item["metadata"]["ownerReferences"] = [{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "1",
        "controller": True}]
    return item


class ExplainTest(EbbTest):

    def test_nodes_are_named_with_or_without_their_kind_and_several_at_once(self):
        dump = self.dump(SMALL)
        one = self.ebb("plan", dump, "--explain", "node/a")[0]
        self.assertEqual(one, self.ebb("plan", dump, "--explain", "a")[0])
        both = self.ebb("plan", dump, "--explain", "a,node/b")[0]
        self.assertEqual(both, self.ebb("plan", dump, "--explain", "a", "--explain", "b")[0])
        self.assertEqual([line for line in both.splitlines() if line.startswith("Node ")],
                         [line for line in both.splitlines() if line[:6] in ("Node a", "Node b")])
        self.assertEqual(both.count("Node "), 2)

    def test_every_unknown_node_is_named_with_the_nearest_name(self):
        dump = self.dump([node("general-1"), node("spot-1"), pod("p", "spot-1")])
        err = self.ebb("plan", dump, "--explain", "genral-1,spot-1,node/sopt-1", code=1)[1]
        self.assertEqual(err.splitlines()[-1],
                         "ebb: --explain: no such nodes: genral-1 (did you mean general-1?), "
                         "sopt-1 (did you mean spot-1?)")

    def test_a_name_like_no_other_is_answered_with_an_example(self):
        dump = self.dump([node("general-1"), node("spot-1"), pod("p", "spot-1")])
        err = self.ebb("plan", dump, "--explain", "nope", code=1)[1]
        self.assertEqual(err.splitlines()[-1], "ebb: --explain: no such node: nope; the input has "
                                               "2 nodes, the first is general-1")

    def test_an_annotation_that_another_reason_hides_is_reported_too(self):
        kept = node("b")
        kept["metadata"]["annotations"] = {
            "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
        dump = self.dump([node("a"), kept, pod("p", "a")])
        groups = self.write("groups.yaml", "nodeGroups:\n- {name: ng, minSize: 2}\n")
        words = [dump, "--node-groups", groups, "--explain", "b"]
        text = self.ebb("plan", *words)[0]
        self.assertIn("Node b is kept: NodeGroupMinSizeReached\n", text)
        self.assertIn("It is also annotated "
                      "cluster-autoscaler.kubernetes.io/scale-down-disabled.", text)
        self.assertIn("also annotated", self.explain_json(*words)[0]["detail"])

    def test_json_and_yaml_are_as_the_schema_says(self):
        dump = self.dump(SMALL + [pod("bare", "b", safe=False)])
        kept, gone = self.explain_json(dump, "--explain", "b,c")
        self.assertEqual((kept["decision"], kept["reason"]), ("keep", "BlockedByPod"))
        self.assertEqual({p["name"]: p["outcome"] for p in kept["pods"]},
                         {"q": "mayMove", "bare": "blocks", "p": "mayMove"})
        self.assertEqual((gone["decision"], gone["order"]), ("remove", 1))
        self.assertIn("kind: Explanation",
                      self.ebb("plan", dump, "--explain", "b", "-o", "yaml")[0])
        for form in ["csv", "name"]:
            self.ebb("plan", dump, "--explain", "b", "-o", form, code=2)

    # a and b each run a pod under a budget that allows one disruption.  a goes first, and its pod moves
    # to b.
    SPENT = [REPLICA_SET, node("a"), node("b", cpu="2"), budget("web", "web", 1),
             app_pod("w1", "a", "web"), app_pod("w2", "b", "web")]

    def test_explain_lists_pods_that_arrived_in_the_plan_and_budgets_it_spent(self):
        words = [self.dump(self.SPENT), "--candidate-order", "input", "--explain", "b"]
        text = self.ebb("plan", *words)[0]
        self.assertRegex(text, r"default/w1  blocks: NotEnoughPdb \(PodDisruptionBudget web\); .*recovers"
                               r".*; the plan moved it here from node a")
        self.assertIn("PodDisruptionBudget default/web allows 1 disruption. The plan spent 1 "
                      "before this node's turn, on node a.", text)
        b = self.explain_json(*words)[0]
        self.assertEqual(b["budgets"], [{
            "namespace": "default", "name": "web", "disruptionsAllowed": 1, "spent": 1,
            "spentFor": [{"node": "a", "disruptions": 1}]}])
        self.assertEqual({p["name"]: p.get("arrivedFrom") for p in b["pods"]},
                         {"w1": "a", "w2": None})

    # a's pod moves to b, and on to c together with b's pod when b goes; d's pod stays.
    @staticmethod
    def passing(allows):
        return [REPLICA_SET, node("a"), node("b", cpu="2"), node("c", cpu="4"), node("d"),
                budget("web", "web", allows), app_pod("w1", "a", "web", "300m"),
                app_pod("w2", "b", "web", "300m"), app_pod("w3", "d", "web", "300m"),
                app_pod("big", "c", "big", "2500m")]

    # Symptom: ebb reported that a budget that allows 2 had spent 3, and that b was risky, because it
    # counted the pod that passes through b on both nodes.
    def test_a_pod_that_passes_through_a_node_that_goes_later_is_evicted_once(self):
        words = [self.dump(self.passing(3)), "--candidate-order", "input"]
        plan = self.ebb_json("plan", *words)
        self.assertEqual([(n["node"], n["risky"], [(p["name"], p.get("via")) for p in n["pods"]])
                          for n in plan["remove"]],
                         [("a", False, [("w1", ["b"])]), ("b", False, [("w2", None)])])
        self.assertEqual(plan["summary"]["movedPods"], 2)
        # The count of the pass, which counts as the autoscaler does, decides which nodes stay; it is
        # printed too.
        text = self.ebb("plan", *words, "--explain", "d")[0]
        self.assertIn("default/w3  blocks: NotEnoughPdb", text)
        self.assertIn("PodDisruptionBudget default/web allows 3 disruptions. The plan spent 2 before this node's turn, "
                      "on node a, b. The autoscaler counts 3: a pod counts again on each node that it passes through.",
                      " ".join(text.split()))
        d = self.explain_json(*words, "--explain", "d")[0]
        self.assertEqual(d["budgets"], [{
            "namespace": "default", "name": "web", "disruptionsAllowed": 3, "spent": 2, "counted": 3,
            "spentFor": [{"node": "a", "disruptions": 1}, {"node": "b", "disruptions": 1}]}])

        for allows, risky in [(2, [False, False]), (1, [False])]:
            plan = self.ebb_json("plan", self.dump(self.passing(allows)), "--candidate-order", "input")
            self.assertEqual([n["risky"] for n in plan["remove"]], risky, allows)
        # If b has two pods of its own, which the budget admits one after the other, b is risky.
        two = self.passing(2) + [app_pod("w4", "b", "web", "300m")]
        plan = self.ebb_json("plan", self.dump(two), "--candidate-order", "input")
        self.assertEqual([n["risky"] for n in plan["remove"]], [False, True])

    def test_utilization_is_that_at_the_start_and_the_later_one_has_its_own_name(self):
        dump = self.dump(self.SPENT)
        b = self.explain_json(dump, "--candidate-order", "input", "--explain", "b")[0]
        self.assertEqual(b["utilization"]["cpu"], 0.25)
        self.assertEqual(b["utilizationAtTurn"]["cpu"], 0.5)
        plan = self.ebb_json("plan", dump, "--candidate-order", "input")
        self.assertEqual(plan["keep"][0]["utilization"]["cpu"], 0.25)
        self.assertEqual(plan["keep"][0]["utilizationAtTurn"]["cpu"], 0.5)
        self.assertNotIn("utilizationAtTurn", plan["remove"][0])

    def test_a_pending_pod_is_distinguished_from_running_pods(self):
        dump = self.dump([node("a"), pod("p", "a"), pod("new", "", cpu="3")])
        text = self.ebb("plan", dump, "--explain", "a")[0]
        self.assertIn("counts the room that the plan keeps here for 1 pending pod.", text)
        self.assertRegex(text, r"default/new +may move; it is pending, and the plan keeps room")
        self.assertNotRegex(text, r"default/p .*pending")
        pods = self.explain_json(dump, "--explain", "a")[0]["pods"]
        self.assertEqual([(p["name"], p.get("pending")) for p in pods],
                         [("p", None), ("new", True)])

    def test_room_is_kept_for_the_pods_that_the_autoscaler_counts(self):
        # The empty node is kept as room for `new`.
        def plan(change, *flags):
            new = pod("new", "", cpu="3")
            change(new)
            dump = self.dump([node("a"), node("full"), pod("p", "full", cpu="3500m"), new])
            return self.ebb_json("plan", dump, *flags), self.ebb("plan", dump, *flags)[0]

        def condition(new, **fields):
            new["status"]["conditions"] = [{"type": "PodScheduled", "status": "False"} | fields]

        def gated(new):
            new["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
            condition(new, reason="SchedulingGated")

        def new_of(scheduler):
            def change(new):
                new["spec"]["schedulerName"] = scheduler
                del new["status"]["conditions"]
            return change
        kept = {"total": 1, "placed": 1}

        def without(why):
            return {"total": 0, "placed": 0, "withoutRoom": {why: {"pods": 1, "first": "default/new"}}}
        for change, flags, pending in [
                (lambda new: None, [], kept),
                (gated, [], without("gated")),
                (lambda new: new["metadata"].update(deletionTimestamp=START), [], without("beingDeleted")),
                (new_of("default-scheduler"), [], without("unprocessed")),
                (new_of("custom"), ["--bypassed-scheduler-names=default-scheduler"], without("unprocessed")),
                (new_of("custom"), ["--bypassed-scheduler-names=x,custom"], kept),
                (lambda new: condition(new, reason="SchedulerError"), [], without("other")),
                (lambda new: new.pop("status"), [], kept)]:
            made, text = plan(change, *flags)
            self.assertEqual(made["summary"]["pendingPods"], pending)
            self.assertEqual([each["node"] for each in made["remove"]], [] if pending == kept else ["a"])
            self.assertEqual("No room is kept for 1 pod" in text, pending != kept)
        self.assertIn("No room is kept for 1 pod with scheduling gates (default/new).", plan(gated)[1])
        codes = [each["code"] for each in plan(lambda new: new.pop("status"))[0]["summary"]["warnings"]]
        self.assertIn("PodsWithoutConditions", codes)

    def test_an_unreadable_pending_pod_keeps_the_nodes_that_it_may_need(self):
        devices = pod("devices", "", cpu="3")
        devices["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]
        dump = self.dump([node("a"), node("b"), node("small", cpu="1"), devices])
        plan = self.ebb_json("plan", dump)
        self.assertEqual([each["node"] for each in plan["remove"]], ["small"])
        self.assertEqual([each["blockingPod"]["reason"] for each in plan["keep"]],
                         ["PendingPodNotUnderstood"] * 2)
        text = self.ebb("plan", dump, "--explain", "a")[0]
        self.assertIn("Pending pod default/devices may need it: spec.resourceClaims", text)
        self.assertRegex(self.ebb("blockers", dump)[0], r"Pod default/devices +PendingPodNotUnderstood +2 ")
        odd = pod("odd", "", cpu="3")
        odd["spec"]["cosmicPlacement"] = {}
        plan = self.ebb_json("plan", self.dump([node("a"), node("b"), odd]))
        self.assertEqual(plan["summary"]["pendingPods"], {"total": 1, "placed": 1})
        self.assertIn("PendingPodsWithUnknownFields", [each["code"] for each in plan["summary"]["warnings"]])

    def test_a_pod_nominated_to_a_node_that_is_gone_is_pending(self):
        waits = pod("waits", "", cpu="3")
        waits["status"]["nominatedNodeName"] = "gone"
        nodes = [node("a"), node("b"), pod("p", "a")]
        plan = self.ebb_json("plan", self.dump(nodes + [waits]))
        self.assertEqual(plan["summary"]["pendingPods"], {"total": 1, "placed": 1})
        self.assertEqual(plan["summary"].get("podsOnUnknownNodes", 0), 0)
        self.assertEqual(len(plan["remove"]), 1)
        waits["status"]["nominatedNodeName"] = "b"
        plan = self.ebb_json("plan", self.dump(nodes + [waits]))
        self.assertEqual(plan["summary"]["pendingPods"], {"total": 0, "placed": 0})

    def test_pods_on_nodes_in_deletion_have_their_room_first(self):
        now = ["--now", "2026-01-02T00:00:00Z"]
        since = deleting(1767312000 - 60)
        items = [node("a"), node("b", taints=since), node("z"), pod("of-a", "a", cpu="1"),
                 pod("of-b", "b", cpu="1"), pod("of-z", "z", cpu="2500m")]
        text = self.ebb("plan", self.dump(items), *now)[0]
        self.assertIn("1 pod on nodes in deletion must move, and room is kept for it.",
                      text)
        plan = self.ebb_json("plan", self.dump(items), *now)
        self.assertEqual(plan["remove"], [])
        reasons = {each["node"]: each["reason"] for each in plan["keep"]}
        self.assertEqual(reasons["b"], "CurrentlyBeingDeleted")
        text = self.ebb("plan", self.dump([*items, pod("new", "", cpu="500m")]), *now)[0]
        self.assertIn("2 pods are pending, 1 of them on nodes in deletion, and room is kept", text)
        items[-1] = pod("of-z", "z", cpu="3500m")
        text = self.ebb("plan", self.dump([*items[1:3], *items[4:]]), *now)[0]
        self.assertIn("1 pod on nodes in deletion must move, and there is no room for it.",
                      text)
        self.assertIn("do not all find room, so no node was judged.", text)

    def test_without_time_for_verification_room_is_not_checked(self):
        dump = self.dump([node("a"), pod("new", "", cpu="3")])
        text = self.ebb("plan", dump, "--scale-down-simulation-timeout", "0s")[0]
        self.assertIn("1 pod is pending, and there was no time to check whether there is room.", text)

    def test_a_node_checked_before_any_removal_shows_no_pods_of_the_plan(self):
        # a and b are below the threshold; p moves to busy, which was above it from the start.
        dump = self.dump([node("a"), node("busy"), pod("p", "a"), pod("q", "busy", cpu="3")])
        text = self.ebb("plan", dump, "--explain", "busy")[0]
        self.assertIn("default/q", text)
        self.assertNotIn("default/p", text)

    def test_a_mirror_pod_and_a_pod_past_its_grace_period_are_distinguished(self):
        mirror = pod("mirror", "a")
        mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x"
        gone = pod("gone", "a")
        gone["metadata"]["deletionTimestamp"] = at(-3600)
        text = self.ebb("plan", self.dump([node("a"), node("b"), mirror, gone]), "--now", START,
                        "--explain", "a")[0]
        self.assertRegex(text, r"default/mirror +is ignored: a mirror pod")
        self.assertRegex(text, r"default/gone +is ignored: deleted, and past its grace period")

    def test_a_gpu_node_shows_the_resource_that_counts(self):
        gpu = node("gpu")
        for amounts in ["allocatable", "capacity"]:
            gpu["status"][amounts]["nvidia.com/gpu"] = "4"
        user = pod("user", "gpu")
        user["spec"]["containers"][0]["resources"] = {
            "requests": {"cpu": "1", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}
        dump = self.dump([gpu, node("b"), user])
        text = self.ebb("plan", dump, "--explain", "gpu")[0]
        self.assertIn("Its utilization is 25.0% (nvidia.com/gpu).", text)
        plan = self.ebb_json("plan", dump)
        entry = next(n for n in plan["keep"] + plan["remove"] if n["node"] == "gpu")
        self.assertEqual(entry["utilization"],
                         {"resource": "nvidia.com/gpu", "value": 0.25, "gpu": 0.25})

    def test_parts_of_gpus_stand_beside_the_utilization(self):
        mig = labelled(node("mig"), **{"nvidia.com/gpu.count": "1",
                                       "k8s.amazonaws.com/accelerator": "a100"})
        mig["spec"]["providerID"] = "aws:///eu-1a/i-1"
        for amounts in ["allocatable", "capacity"]:
            mig["status"][amounts]["nvidia.com/mig-1g.5gb"] = "7"
        user = pod("user", "mig")
        user["spec"]["containers"][0]["resources"] = {
            "requests": {"cpu": "1", "nvidia.com/mig-1g.5gb": "3"},
            "limits": {"nvidia.com/mig-1g.5gb": "3"}}
        dump = self.dump([mig, node("b"), user])
        text = self.ebb("plan", dump, "--explain", "mig")[0]
        self.assertIn("Parts of its GPUs are requested: 3 of 7 nvidia.com/mig-1g.5gb.", text)
        plan = self.ebb_json("plan", dump)
        entry = next(n for n in plan["keep"] + plan["remove"] if n["node"] == "mig")
        self.assertEqual(entry["allocatable"]["gpus"], 1)
        self.assertEqual(entry["gpuSharing"], {"migDevices": [
            {"profile": "1g.5gb", "resource": "nvidia.com/mig-1g.5gb", "requested": 3,
             "allocatable": 7}]})

    # Symptom: JSON did not distinguish shared and partitioned GPUs from whole ones.
    def test_shared_and_partitioned_gpus_differ_from_whole_ones(self):
        def machine(name, gpus, **labels):
            made = labelled(node(name), **labels)
            for amounts in ["allocatable", "capacity"]:
                made["status"][amounts]["nvidia.com/gpu"] = gpus
            return made

        dump = self.dump([
            machine("whole", "2", **{"nvidia.com/gpu.count": "2"}),
            machine("slices", "8", **{"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4",
                                      "nvidia.com/gpu.sharing-strategy": "time-slicing"}),
            machine("single", "14", **{"nvidia.com/gpu.count": "14",
                                       "nvidia.com/mig.strategy": "single",
                                       "nvidia.com/gpu.product": "A100-SXM4-40GB-MIG-1g.5gb"})])
        plan = self.ebb_json("plan", dump, "--assume-complete")
        self.assert_schema(plan, "plan.schema.json")
        nodes = {each["node"]: each for each in plan["keep"] + plan["remove"]}
        self.assertEqual([nodes[name]["allocatable"]["gpus"] for name in nodes], [2, 2, 2])
        self.assertNotIn("gpuSharing", nodes["whole"])
        self.assertEqual(nodes["slices"]["gpuSharing"],
                         {"strategy": "time-slicing", "replicas": 4})
        self.assertEqual(nodes["single"]["gpuSharing"],
                         {"migStrategy": "single", "migProfile": "1g.5gb"})
        text = self.ebb("plan", dump, "--assume-complete", "--explain", "slices,single")[0]
        self.assertIn("not whole GPUs: each GPU offered 4 times (time-slicing), on 2 GPUs.", text)
        self.assertIn("not whole GPUs: MIG devices 1g.5gb, on 2 GPUs.", text)

    def test_a_node_that_would_fit_before_others_went_is_offered_the_search(self):
        # The room on c suffices for the pod of a or for the pod of b, not for both.
        dump = self.dump([node("a"), node("b"), node("c"), pod("of-a", "a", cpu="1500m"),
                          pod("of-b", "b", cpu="1600m"), pod("of-c", "c", cpu="2200m")])
        words = [dump, "--scale-down-utilization-threshold", "1"]
        kept = [n["node"] for n in self.ebb_json("plan", *words)["keep"]
                if n["reason"] == "NoPlaceToMovePods"]
        offered = [n for n in kept if "--optimize looks for a better choice of nodes" in
                   self.ebb("plan", *words, "--explain", n)[0]]
        self.assertNotEqual(offered, [], kept)
        self.assertTrue(self.explain_json(*words, "--explain", offered[0])[0]["fitsFirst"])

    def test_nodes_that_may_go_once_the_budget_recovers_are_counted(self):
        items = [REPLICA_SET, *[node(n) for n in "abcd"]]
        items += [app_pod(f"p{n}", n, "web", cpu="100m") for n in "abc"]
        items.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                      "metadata": {"name": "web", "namespace": "default"},
                      "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
                      "status": {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2,
                                 "expectedPods": 3}})
        dump = self.dump(items)
        plan = self.ebb_json("plan", dump)
        kept = [n for n in plan["keep"] if n["reason"] == "BlockedByPod"]
        self.assertGreater(len(kept), 0)
        self.assertEqual(plan["summary"]["mayGoLater"], len(kept))
        self.assertIn(f"{len(kept)} of them may go in later rounds", self.ebb("plan", dump)[0])

    def test_a_bundle_of_troubleshoot_is_read_as_an_archive_too(self):
        bundle = os.path.join(DOCS, "../tests/cases/troubleshoot")
        archive = self.path("bundle.tar.gz")
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(bundle, "support-bundle-2026")
        now = ["--now", "2026-11-26T12:00:00Z", "--allow-incomplete"]
        plan = self.ebb_json("plan", archive, *now)
        self.assertEqual(plan["remove"], self.ebb_json("plan", bundle, *now)["remove"])
        self.assertEqual([n["node"] for n in plan["remove"]], ["n1"])
        self.assertIn("KindsOfFileNames", [w["code"] for w in plan["summary"]["warnings"]])
        self.ebb("plan", archive, *now, "--strict", code=1)

    def test_pods_that_cannot_be_read_make_an_incomplete_answer(self):
        folder = self.path("d")
        os.mkdir(folder)
        self.dump(SMALL, "d/1.json")
        self.write("d/2.json", '{"Items": [{"name": "p", "Spec": {"Containers": []}}]}')
        plan = self.ebb_json("plan", folder)
        self.assertFalse(plan["complete"])
        self.assertIn("ObjectsNotRead", [w["code"] for w in plan["summary"]["warnings"]])
        self.ebb("plan", folder, "--strict", "--assume-complete", code=1)
        self.ebb("plan", folder, "-o", "name", code=1)
        self.ebb("import", folder, "-o", self.path("s.pb"), code=1)

    def test_the_pod_that_found_no_place_carries_the_reasons_of_the_filters(self):
        picky = pod("picky", "a")
        picky["spec"]["nodeSelector"] = {"disk": "ssd"}
        ssd = labelled(node("a"), disk="ssd")
        dump = self.dump([ssd, labelled(node("full", cpu="1"), disk="ssd"), node("c"), picky,
                          pod("q", "full", cpu="900m")])
        plan = self.ebb_json("plan", dump)
        kept = next(n for n in plan["keep"] if n["node"] == "a")
        self.assertEqual(kept["unplacedPod"], {
            "namespace": "default", "name": "picky", "nodes": 1, "fits": 0, "reasons": [
                {"filter": "NodeResourcesFit", "reason": "Insufficient cpu", "nodes": 1}]})
        self.assertEqual(self.explain_json(dump, "--explain", "a")[0]["places"],
                         [kept["unplacedPod"]])


class TableTest(EbbTest):

    def crowd(self, nodes):
        return self.dump([node(f"a-rather-long-node-name-{i:03}", cpu="4") for i in range(nodes)] +
                         [pod(f"p{i}", f"a-rather-long-node-name-{i:03}", cpu="100m")
                          for i in range(nodes)])

    def test_a_table_fits_the_terminal_and_shortens_names_in_the_middle(self):
        dump = self.crowd(20)
        wide = self.on_terminal(200, "plan", dump)
        self.assertIn("a-rather-long-node-name-000", wide)
        narrow = self.on_terminal(60, "plan", dump)
        table = [line for line in narrow.splitlines() if "\u2026" in line]
        self.assertGreaterEqual(len(table), 19)
        self.assertLessEqual(max(len(line) for line in table), 60)
        self.assertRegex(table[0], r"a-\S*\u2026\S*-0\d\d ")
        by_variable = self.on_terminal(200, "plan", dump, env={"COLUMNS": "60"})
        self.assertEqual([line for line in by_variable.splitlines() if "\u2026" in line], table)

    NAMES = {
        "eks": [f"ip-10-0-{12 + i // 4}-{34 + i}.eu-central-1.compute.internal"
                for i in range(12)],
        "gke": [f"gke-prod-pool-{1 + i % 2}-{'3f2a1b9c' if i % 2 else '9d8e7f6a'}-x{i:x}kq"
                for i in range(12)],
        "aks": [f"aks-nodepool1-12345678-vmss0000{i // 6}{'123abc'[i % 6]}" for i in range(12)],
    }

    def test_names_of_every_provider_stay_apart_in_80_columns(self):
        for provider, names in self.NAMES.items():
            for group in ["workers", "eksctl-production-nodegroup-standard-workers"]:
                items = [node(name, group=group) for name in names]
                items += [pod(f"p{i}-{k}", name, cpu="300m")
                          for i, name in enumerate(names) for k in range(3)]
                with self.subTest(provider=provider, group=group):
                    dump = self.dump(items)
                    text = self.on_terminal(80, "plan", dump)
                    self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
                    rows = re.findall(r"(?m)^ *\d+  (\S+)  \S+  .*%.*  +3  +(\S+)", text)
                    gone = self.ebb("plan", dump, "-o", "name")[0].split()
                    self.assertEqual(len(rows), len(gone), text)
                    self.assertEqual(len({name for name, _ in rows}), len(gone), text)
                    destinations = {re.sub(r"[,.]$", "", to) for _, to in rows}
                    self.assertEqual(len(destinations | {name for name, _ in rows}),
                                     len(destinations) + len(gone), text)

    def test_a_domain_that_all_nodes_have_is_left_out_with_a_note(self):
        names = self.NAMES["eks"]
        dump = self.dump([node(name) for name in names] +
                         [pod(f"p{i}", name, cpu="100m") for i, name in enumerate(names)])
        text = self.on_terminal(80, "plan", dump)
        self.assertIn("  ip-10-0-12-34  ", text)
        self.assertIn("names end in .eu-central-1.compute.internal, which is left out.", text)
        self.assertNotIn("left out.", self.on_terminal(200, "plan", dump))

    def test_sentences_are_broken_at_blanks(self):
        dump = self.dump([node("a-node-with-a-name"), node("b"), pod("p", "a-node-with-a-name"),
                          pod("q", "b", cpu="3800m")])
        whole = self.ebb("plan", dump, "--explain", "a-node-with-a-name")[0]
        narrow = self.on_terminal(50, "plan", dump, "--explain", "a-node-with-a-name")
        self.assertLessEqual(max(map(len, narrow.splitlines())), 50, narrow)
        self.assertEqual(narrow.split(), whole.split())
        self.assertIn("nodes are available", whole)

    def test_a_terminal_shows_40_rows_and_says_how_to_see_all(self):
        dump = self.crowd(60)
        cut = self.on_terminal(200, "plan", dump)
        gone = self.ebb("plan", dump, "-o", "name")[0].count("\n")
        self.assertIn(f"... {gone - 40} more; all with --all or -o wide\n", cut)
        for words in [["--all"], ["-o", "wide"]]:
            whole = self.on_terminal(200, "plan", dump, *words)
            self.assertNotIn("more; all with", whole)
            self.assertRegex(whole, rf"(?m)^ *{gone}  a-rather")

    def test_a_pipe_gets_every_row_whole_and_no_colour(self):
        text = self.ebb("plan", self.crowd(60))[0]
        self.assertNotIn("more; all with", text)
        self.assertNotIn("\u2026", text)
        self.assertNotIn("\x1b", text)

    def test_only_a_terminal_without_no_color_is_coloured(self):
        dump = self.dump(SMALL)
        self.assertIn("\x1b[1m", self.on_terminal(80, "plan", dump, env={"NO_COLOR": ""}))
        self.assertNotIn("\x1b", self.on_terminal(80, "plan", dump, env={"NO_COLOR": "1"}))

    def test_text_of_the_cluster_moves_no_cursor(self):
        evil = "x\x1b[2J\u202e\n7"
        dump = self.dump([node("a", group=evil), node("b", group=evil), pod("p", "a")])
        for words in [[], ["-o", "wide"], ["--explain", "a"], ["-o", "csv"]]:
            out = self.ebb("plan", dump, *words)[0]
            for raw in ["\x1b", "\u202e"]:
                self.assertNotIn(raw, out)
        self.assertIn("x\\x1b[2J\\u202e\\n7", self.ebb("plan", dump)[0])


class WhatIfTest(EbbTest):
    """What keeps nodes, and plans with changes."""

    def setUp(self):
        super().setUp()
        # b has room for all pods; w and v may not be evicted, u may.
        self.cluster = self.dump([
            node("a"), node("b", cpu="16"), node("c"), node("d"), REPLICA_SET,
            app_pod("big", "b", "big", "9"), app_pod("w", "a", "web"), app_pod("v", "c", "web"),
            app_pod("u", "d", "other"), budget("web", "web", 0)])

    def plan(self, *words):
        return self.ebb("plan", self.cluster, "--assume-complete", "--now", START, *words)[0]

    def test_blockers_are_ranked_by_tried_remedies(self):
        words = ["blockers", self.cluster, "--assume-complete", "--now", START]
        blockers = json.loads(self.ebb(*words, "-o", "json")[0])
        self.assert_schema(blockers, "blockers.schema.json")
        self.assertEqual(blockers["removed"], 1)
        first = blockers["blockers"][0]
        self.assertEqual((first["kind"], first["name"], first["nodes"], first["nodesGained"]),
                         ("PodDisruptionBudget", "web", 2, 2))
        self.assertNotIn("savedPerHour", first)
        prices = self.write("prices.yaml", "currency: EUR\ndefault: 0.25\n")
        priced = json.loads(self.ebb(*words, "--prices", prices, "-o", "json")[0])
        self.assert_schema(priced, "blockers.schema.json")
        self.assertEqual(priced["blockers"][0]["savedPerHourGained"], 0.5)
        table = self.ebb(*words, "--prices", prices)[0]
        self.assertRegex(table, r"PodDisruptionBudget default/web .* \+2 +0.50 EUR\n")
        self.ebb(*words, "--limit", "0", code=2)
        self.assertIn("no price", self.ebb(*words, "--prices", self.write(
            "few.yaml", "prices: [{zone: z, hourly: 1}]"), code=1)[1])

    def test_blockers_with_usage_name_what_they_leave_out(self):
        def usage(name):
            container = {"name": "c", "usage": {"cpu": "20m", "memory": "10Mi"}}
            return {"metadata": {"namespace": "default", "name": name}, "containers": [container]}
        words = ["blockers", self.cluster, "--assume-complete", "--now", START, "--usage"]
        file = self.write("usage.json", json.dumps(
            {"kind": "PodMetricsList", "items": [usage("w"), usage("elsewhere")]}))
        found = json.loads(self.ebb(*words, file, "-o", "json")[0])
        self.assert_schema(found, "blockers.schema.json")
        lower = found["lowerRequests"]
        self.assertEqual(lower["podsWithUsage"], 1)
        self.assertIn(("pods with usage that do not run in the cluster", 1, ["default/elsewhere"]),
                      [(each["what"], each["count"], each["first"]) for each in lower["skipped"]])
        self.assertIn("requested what they use", self.ebb(*words, file)[0])
        other = self.write("other.json", json.dumps({"kind": "PodMetricsList",
                                                     "items": [usage("elsewhere")]}))
        self.assertIn("none of its 1 pod runs in the cluster", self.ebb(*words, other, code=1)[1])
        self.assertIn("is not JSON", self.ebb(*words, self.write("bad.json", "{"), code=1)[1])

    def test_a_counterfactual_is_a_what_if(self):
        out = self.plan("--explain", "a", "--counterfactual", "-o", "json")
        explanation = json.loads(out)
        self.assert_schema(explanation, "explain.schema.json")
        remedies = explanation["nodes"][0]["remedies"]
        self.assertEqual([(help["change"], help["removed"], help["nodesGained"])
                          for help in remedies["helps"]], [
            ("PodDisruptionBudget default/web allows 1 disruption more", 2, 1)])
        self.assertEqual(len(remedies["inVain"]), 1)
        self.assertIn("NotEnoughPdb web", remedies["inVain"][0]["stillKeptBy"])
        file = self.write("w.json", json.dumps({"objects": remedies["helps"][0]["objects"]}))
        comparison = json.loads(self.plan("--what-if", file, "-o", "json"))
        self.assert_schema(comparison, "comparison.schema.json")
        self.assertEqual(comparison["after"]["removed"], 2)
        self.assertEqual([each["node"] for each in comparison["removedAfterAlone"]], ["a"])
        self.assertIn("NotEnoughPdb web", comparison["removedAfterAlone"][0]["keptBecause"])
        self.assertIn("if PodDisruptionBudget default/web allows 1 disruption more",
                      self.plan("--explain", "a", "--counterfactual"))
        self.assertNotIn("if ", self.plan("--explain", "d", "--counterfactual"))

    def test_what_if_takes_options_and_workloads(self):
        file = self.write("w.yaml", """
workloads:
- {kind: ReplicaSet, namespace: default, name: rs, requests: {cpu: 3900m}}
options: {scale-down-utilization-threshold: 0.2}
""")
        comparison = json.loads(self.plan("--what-if", file, "-o", "json"))
        self.assertEqual((comparison["before"]["removed"], comparison["after"]["removed"]), (1, 0))
        self.assertEqual(comparison["removedBeforeAlone"][0]["keptBecause"], "NotUnderutilized")
        table = self.plan("--what-if", file)
        self.assertRegex(table, r"nodes that go +1 +0 +-1\n")
        words = ["plan", self.cluster, "--assume-complete", "--now", START, "--what-if"]
        self.assertNotIn("changes nothing", self.ebb(*words, file)[1])
        misspelt = self.write("misspelt.yaml", """
workloads:
- {kind: ReplicaSet, namespace: default, name: rs, patch: {metadata: {anotations: {x: y}}}}
""")
        self.assertIn("misspelt.yaml: ReplicaSet default/rs: no decision reads metadata.anotations",
                      self.ebb(*words, misspelt)[1])
        for text, error in [("options: {nodez: 3}", "options.nodez: is not a flag of a plan; did you mean nodes?"),
                            ("options: {threads: x}", "options: --threads"),
                            ("objects: [{kind: Node, metadata: {name: z}, spec: {}}]",
                             "not in the cluster: Node z"),
                            ("{}", "changes nothing")]:
            wrong = self.write("wrong.yaml", text)
            err = self.ebb("plan", self.cluster, "--what-if", wrong, code=1)[1]
            self.assertIn("wrong.yaml: ", err)
            self.assertIn(error, err)
        self.ebb("plan", self.cluster, "--what-if", file, "-o", "csv", code=2)
        self.ebb("plan", self.cluster, "--what-if", file, "--explain", "a", code=2)

    # Symptom: it was 0 whatever the plans did.
    def test_the_exit_code_of_a_what_if_depends_on_the_plan_after_the_changes(self):
        none_goes = self.write("none.yaml", "options: {scale-down-utilization-threshold: 0}\n")
        some_go = self.write("some.yaml", "options: {scale-down-utilization-threshold: 0.5}\n")
        words = ["plan", self.cluster, "--assume-complete", "--now", START]
        self.ebb(*words, "--exit-code", "--what-if", some_go, code=10)
        self.ebb(*words, "--exit-code", "--what-if", none_goes, code=0)
        stays = ["--scale-down-utilization-threshold", "0"]
        self.ebb(*words, *stays, "--exit-code", code=0)
        self.ebb(*words, *stays, "--exit-code", "--what-if", some_go, code=10)
        self.ebb(*words, *stays, "--what-if", some_go, code=0)

    # Symptom: the table ended after 40 nodes all the same.
    def test_all_rows_of_a_what_if_are_shown_on_a_terminal_with_all(self):
        items = [node("big", cpu="64"), pod("p", "big", cpu="40")]
        for i in range(45):
            items += [node(f"n{i}"), pod(f"p{i}", f"n{i}", cpu="100m")]
        words = ["plan", self.dump(items), "--assume-complete", "--now", START,
                 "--scale-down-utilization-threshold", "0", "--what-if",
                 self.write("w.yaml", "options: {scale-down-utilization-threshold: 0.5}")]
        self.assertIn("... 5 more; all with -o json", self.on_terminal(120, *words))
        whole = self.on_terminal(120, *words, "--all")
        self.assertNotIn("more; all with", whole)
        self.assertEqual(len(re.findall(r"^  n[0-9]+ ", whole, re.MULTILINE)), 45)

    def test_a_what_if_names_fields_that_no_decision_reads(self):
        file = self.write("w.yaml", """
objects:
- {kind: PodDisruptionBudget, metadata: {namespace: default, name: web}, spec: {maxUnavailable: 3}}
""")
        err = self.ebb("plan", self.cluster, "--assume-complete", "--now", START, "--what-if", file)[1]
        self.assertIn("PodDisruptionBudget default/web: no decision reads spec.maxUnavailable; "
                      "patch status.disruptionsAllowed", err)

    def test_options_of_a_what_if_go_with_the_flags_of_the_command(self):
        budget = self.write("w.yaml", "options: {budget: 2s, max-evictions: 5}")
        self.plan("--optimize", "--what-if", budget)
        self.assertIn("--budget needs --optimize: ", self.ebb(
            "plan", self.cluster, "--what-if", budget, code=1)[1])
        seed = self.write("w.yaml", "options: {seed: 3}")
        self.plan("--robust", "0.1", "--what-if", seed)
        self.assertIn("w.yaml: options: --seed needs --optimize or --trials or --robust", self.ebb(
            "plan", self.cluster, "--what-if", seed, code=1)[1])
        cost = self.write("w.yaml", "options: {optimize: true, objective: cost, move-cost: 2}")
        self.assertIn("w.yaml: options: --move-cost needs --prices", self.ebb(
            "plan", self.cluster, "--assume-complete", "--what-if", cost, code=1)[1])
        dear = self.write("dear.yaml", "options: {optimize: true, objective: cost}")
        self.assertIn("dear.yaml: options.objective: cost needs prices", self.ebb(
            "plan", self.cluster, "--assume-complete", "--what-if", dear, code=1)[1])
        prices = self.write("p.yaml", "currency: EUR\ndefault: 1")
        self.assertRegex(self.plan("--prices", prices, "--what-if", cost),
                         r"saved an hour +1.00 EUR +0.00 EUR +-1.00 EUR\n")

    def test_money_of_two_currencies_is_shown_and_not_compared(self):
        plans = []
        for currency in ("EUR", "USD"):
            prices = self.write(f"{currency}.yaml", f"currency: {currency}\ndefault: 1")
            plans.append(self.write(f"{currency}.json", self.plan("--prices", prices, "-o", "json")))
        self.assertRegex(self.ebb("compare", *plans)[0], r"saved an hour +1.00 EUR +1.00 USD +-\n")
        none = self.write("none.json", self.plan("-o", "json"))
        self.assertRegex(self.ebb("compare", none, plans[1])[0], r"saved an hour +- +1.00 USD +-\n")

    def test_plans_are_compared(self):
        before = self.write("before.json", self.plan("-o", "json"))
        after = self.write("after.json",
                           self.plan("-o", "json", "--scale-down-utilization-threshold", "0.1"))
        comparison = json.loads(self.ebb("compare", before, after, "-o", "json")[0])
        self.assert_schema(comparison, "comparison.schema.json")
        self.assertEqual([each["node"] for each in comparison["removedBeforeAlone"]], ["d"])
        self.assertIn("Both plans remove the same 1 node.", self.ebb("compare", before, before)[0])
        err = self.ebb("compare", before, self.cluster, code=1)[1]
        self.assertIn("the second is not a plan", err)
        deep = self.write("deep", '{"kind":"Plan","summary":' + "[" * 500000 + "]" * 500000 + "}")
        self.assertIn("is nested too deep", self.ebb("compare", deep, after, code=1)[1])
        self.assertIn("is not JSON", self.ebb("compare", self.write("x", "{"), after, code=1)[1])

    def test_a_frontier_is_printed_in_every_form(self):
        words = ["frontier", self.cluster, "--assume-complete", "--now", START, "--iterations", "2"]
        prices = self.write("prices.yaml", "currency: <b>\ndefault: 0.25\n")
        frontier = json.loads(self.ebb(*words, "-o", "json")[0])
        self.assert_schema(frontier, "frontier.schema.json")
        self.assertEqual(frontier["points"], [{"removed": 1, "movedPods": 1}])
        lines = self.ebb(*words, "-o", "jsonl")[0].splitlines()
        for line in lines:
            self.assert_schema(json.loads(line), "frontier.schema.json")
        self.assertEqual(json.loads(lines[-1]), frontier)
        page = self.path("page.html")
        priced = json.loads(self.ebb(*words, "--prices", prices, "--report", page, "-o", "json")[0])
        self.assert_schema(priced, "frontier.schema.json")
        self.assertEqual(priced["points"][0]["savedPerHour"], 0.25)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertIn('"currency":"\\u003cb>"', html)
        self.assertIn("default-src 'none'", html)
        self.assertIn("up to 1 with 1 pod evicted can go", self.ebb(*words)[0])
        self.assertEqual(self.ebb(*words, "-o", "csv")[0].split(), ["pods_moved,removed", "1,1"])
        self.assertIn("none can go", self.ebb(
            *words, "--scale-down-utilization-threshold", "0", "--report", page)[0])
        self.ebb(*words, "--report", self.cluster, code=1)
        self.ebb(*words, "--budget", "soon", code=2)

    def test_savings_are_computed_from_prices(self):
        prices = self.write("prices.csv", "instance_type,hourly\n,0.25\n")
        plan = self.ebb_json("plan", self.cluster, "--assume-complete", "--prices", prices,
                             "--now", START)
        self.assertEqual(plan["summary"]["savedPerHour"], 0.25)
        self.assertEqual(plan["remove"][0]["pricePerHour"], 0.25)
        words = ["plan", self.cluster, "--assume-complete", "--now", START, "--prices", prices,
                 "--optimize", "--objective", "cost", "--bound"]
        cheap = self.ebb_json(*words, "--move-cost", "0.2")
        self.assertAlmostEqual(cheap["summary"]["search"]["netSavedPerHour"], 0.05)
        self.assertGreaterEqual(cheap["summary"]["bound"]["netSavedPerHour"], 0.05)
        dear = self.ebb_json(*words, "--move-cost", "0.3")
        self.assertEqual(dear["summary"]["removed"], 0)
        self.assertEqual(dear["summary"]["search"]["netSavedPerHour"], 0)
        self.assertIn("cost 0.25 an hour", self.plan("--prices", prices))
        self.ebb("plan", self.cluster, "--optimize", "--objective", "cost", code=2)
        self.ebb("plan", self.cluster, "--objective", "cost", "--prices", prices, code=2)
        self.assertIn("--move-cost: pass --objective cost too", self.ebb(
            "plan", self.cluster, "--optimize", "--objective", "nodes", "--prices", prices,
            "--move-cost", "1", code=2)[1])
        for sample in ("prices.yaml", "prices.csv"):
            plan = self.ebb_json("plan", self.cluster, "--assume-complete", "--now", START,
                                 "--prices", os.path.join(DOCS, "../examples", sample))
            self.assertEqual(plan["summary"]["savedPerHour"], 0.38)
        wrong = self.write("wrong.csv", "zone,hourly\nz,-1\n")
        self.assertIn("wrong.csv: line 2: hourly: -1 is below 0",
                      self.ebb("plan", self.cluster, "--prices", wrong, code=1)[1])


    def test_a_share_of_each_workload_at_most_is_evicted(self):
        items = [REPLICA_SET] + [node(name) for name in "abcd"] + [
            app_pod(f"w{n}", name, "web") for n, name in enumerate("abcd")]
        dump = self.dump(items)
        words = ["plan", dump, "--assume-complete", "--now", START, "-o", "json"]
        self.assertEqual(json.loads(self.ebb(*words)[0])["summary"]["removed"], 3)
        plan = json.loads(self.ebb(*words, "--max-workload-share", "0.3")[0])
        self.assert_schema(plan, "plan.schema.json")
        self.assertEqual(plan["summary"]["removed"], 2)
        self.assertEqual(plan["keep"][0]["blockingPod"]["reason"], "WorkloadShareReached")
        searched = json.loads(self.ebb(*words, "--max-workload-share", "0.3", "--optimize",
                                       "--bound")[0])["summary"]
        self.assertEqual((searched["removed"], searched["bound"]["removed"]), (2, 2))
        for wrong in ("0", "1.5", "many"):
            self.ebb("plan", dump, "--max-workload-share", wrong, code=2)
        self.ebb("plan", dump, "--max-workload-share", "0.5", "--state", self.path("s.db"), code=2)

    def test_a_search_without_time_or_candidates_has_the_first_plan(self):
        words = ["plan", self.cluster, "--assume-complete", "--now", START, "--optimize", "-o", "json"]
        plan = json.loads(self.ebb(*words, "--budget", "0s")[0])
        self.assertEqual(plan["summary"]["removed"], plan["summary"]["search"]["firstPlanRemoved"])
        self.assertEqual(plan["summary"]["search"]["iterations"], 0)
        none = json.loads(self.ebb(*words, "--scale-down-utilization-threshold", "0", "--bound")[0])
        self.assertEqual(none["summary"]["removed"], 0)
        self.assertEqual(none["summary"]["bound"], {"removed": 0, "gap": 0.0})
        within = json.loads(self.ebb(*words, "--max-evictions", "0", "--iterations", "2")[0])
        self.assertEqual(within["summary"]["movedPods"], 0)

    # A search that would run for hours, because no plan reaches its bound.
    ENDLESS = ["--now", START, "--optimize", "--iterations", "1000000000"]

    def mixed(self, nodes=500):
        cluster = self.path(f"mixed-{nodes}.json")
        self.ebb("gen", "mixed", "--nodes", str(nodes), "-o", cluster)
        return cluster

    def test_an_interrupted_search_prints_the_best_plan_so_far(self):
        # A frontier ends by itself after some seconds, and a search that reaches its bound at once.
        small, large = self.path("company.json"), self.mixed(nodes=4000)
        self.ebb("gen", "company", "--nodes", "300", "--seed", "1", "-o", small)
        for words in [["plan", small, *self.ENDLESS, "-o", "json"],
                      ["frontier", large, "--now", START, "--budget", "1h",
                       "--iterations", "1000000000", "-o", "json"]]:
            for sent in (signal.SIGINT, signal.SIGTERM):
                # While ebb still reads the input, there is no search to end.
                for wait in (0.5, 1, 2, 4, 8, 16, 32):
                    search = subprocess.Popen([EBB, *words], stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True)
                    time.sleep(wait)
                    search.send_signal(sent)
                    out, err = search.communicate(timeout=60)
                    if search.returncode == 0:
                        break
                self.assertEqual(search.returncode, 0, err)
                self.assertIn("interrupted; this is the best", err, words)
                found = json.loads(out)
                if words[0] == "plan":
                    self.assertGreaterEqual(found["summary"]["removed"],
                                            found["summary"]["search"]["firstPlanRemoved"])
                else:
                    self.assertGreater(len(found["points"]), 10)

    def test_the_simulation_timeout_ends_searches_and_trials(self):
        limit = ["--scale-down-simulation-timeout", "4s"]
        cluster = self.mixed()
        found = self.ebb_json("plan", cluster, *self.ENDLESS, *limit)["summary"]
        self.assertGreater(found["removed"], found["search"]["firstPlanRemoved"])
        words = ["plan", cluster, "--now", START, "--trials", "10000", *limit]
        tried = self.ebb_json(*words)["summary"]
        self.assertLess(tried.get("trials", {"trials": 0})["trials"], 10000)
        robust = self.ebb_json(*words, "--robust", "0")["summary"]
        self.assertEqual((robust["removed"], robust["termination"]), (0, "deadline"))
        points = json.loads(self.ebb("frontier", cluster, "--now", START, "--budget", "1h", "-o",
                                     "json", "--iterations", "1000000000", *limit)[0])["points"]
        self.assertGreater(len(points), 10)

    def test_trials_may_nominate_pods(self):
        words = ["plan", self.cluster, "--assume-complete", "--now", START, "--trials", "2"]
        trials = self.ebb_json(*words, "--nominated-share", "1")["summary"]["trials"]
        self.assertEqual(trials["planOrder"]["landedAsPlanned"], 1)
        self.ebb(*words, "--nominated-share", "2", code=2)


class PagesTest(EbbTest):
    """README.md and the pages of docs/ show what ebb really prints."""

    def shown(self, command, page):
        """The lines of a page that show the output of a command."""
        with open(os.path.join(DOCS, page), encoding="utf-8") as file:
            text = file.read()
        return re.search(re.escape(f"$ {command}\n") + r"(.*?)\n(?:\$|```)", text,
                         re.DOTALL)[1].splitlines()

    def expect_in_order(self, shown, printed):
        """Each line of `shown` except "..." must occur in `printed`, in the same order."""
        at = 0
        for line in shown:
            if line == "...":
                continue
            self.assertIn(line, printed[at:])
            at = printed.index(line, at) + 1

    def test_the_pages_show_real_output(self):
        cluster = self.path("cluster.json")
        done = self.ebb("gen", "company", "--nodes", "1000", "--seed", "1", "-o", cluster)[1]
        file = "build/demo/cluster.json"
        gen = f"ebb gen company --nodes 1000 --seed 1 -o {file}"
        for page in ("../README.md", "first-plan.md"):
            self.assertEqual(done.replace(cluster, file).splitlines(), self.shown(gen, page))
        explain = ["plan", "--explain", "general-m8-c-0091", "--counterfactual"]
        for words, pages in [(["plan"], ["../README.md", "first-plan.md"]),
                             (explain, ["first-plan.md"]), (["blockers"], ["what-if.md"])]:
            words.insert(1, cluster)
            out, err = self.ebb(*words)
            words[1] = file
            times = re.compile(r"(under )?\d+(\.\d+)? m?s\b")  # A slow machine prints "1.2 s".
            printed = times.sub("T", err + out).splitlines()
            for page in pages:
                shown = self.shown(" ".join(["ebb", *words]), page)
                self.expect_in_order([times.sub("T", line) for line in shown], printed)

    def test_a_page_shows_the_error_for_a_dump_of_one_namespace(self):
        cluster = self.path("cluster.json")
        self.ebb("gen", "company", "--nodes", "1000", "--seed", "1", "-o", cluster)
        with open(cluster, encoding="utf-8") as file:
            items = json.load(file)["items"]
        dump = self.dump([item for item in items
                          if item["metadata"].get("namespace", "team-1") == "team-1"],
                         "one-namespace.json", says_none=False)
        err = self.ebb("plan", dump, code=1)[1].replace(dump, "one-namespace.json")
        self.assertEqual(err.splitlines(), self.shown("ebb plan one-namespace.json", "input.md"))

    def test_a_page_shows_the_output_of_a_simulated_loop(self):
        words = ["run", "--simulate", "--nodes", "60", "--hours", "6"]
        self.assertEqual(self.ebb(*words)[0].splitlines(),
                         self.shown(" ".join(["ebb", *words]), "run.md"))

    def test_a_page_shows_a_pool_under_each_school(self):
        root = os.path.abspath(os.path.join(DOCS, ".."))
        with open(os.path.join(root, "examples/pools.yaml"), encoding="utf-8") as file:
            pools = file.read()
        with open(os.path.join(DOCS, "policies.md"), encoding="utf-8") as file:
            self.assertIn("```yaml\n" + pools[pools.index("pools:"):] + "```", file.read())
        words = ["policy", "eval", "examples/pools.yaml", "examples/pools_cluster.yaml"]
        printed = self.ebb(*[os.path.join(root, word) if "/" in word else word
                             for word in words])[0].splitlines()
        self.expect_in_order(self.shown(" ".join(["ebb", *words]), "policies.md"), printed)
        for school in ("replicator", "clusterman", "maestro", "escalator"):
            self.assertIn(f", {school}: 2 nodes, +1 (", "\n".join(printed))


class IncompleteTest(EbbTest):
    """Warnings and errors when the input lacks a part of the cluster."""

    def company(self, keep, name="part.json"):
        """A dump of a company of 1,003 nodes, with only those objects that `keep` accepts."""
        cluster = self.path("cluster.json")
        if not os.path.exists(cluster):
            self.ebb("gen", "company", "--nodes", "1000", "--seed", "1", "-o", cluster)
        with open(cluster, encoding="utf-8") as file:
            items = json.load(file)["items"]
        return self.dump([item for item in items if keep(item)], name, says_none=False)

    def refused(self, *words):
        out, err = self.ebb(*words, code=1)
        self.assertEqual(out, "")
        return err

    def test_a_dump_of_one_namespace_is_not_a_cluster(self):
        part = self.company(lambda o: o["metadata"].get("namespace", "team-1") == "team-1")
        for words in (["plan"], ["plan", "-o", "name"], ["plan", "-o", "json"], ["blockers"],
                      ["frontier", "--iterations", "1"], ["plan", "--explain", "spot-m8-a-0023"],
                      ["plan", "--state", self.path("s.db")], ["run", "--dry-run", "--input"]):
            err = self.refused(*words, part)
            self.assertIn("all pods are of namespace team-1", err)
            self.assertIn("`ebb dump`", err)
        out = self.ebb("plan", part, "--allow-incomplete")[0]
        self.assertTrue(out.startswith("Plan of an incomplete cluster: "), out[:80])
        self.assertIn("node/", self.ebb("plan", part, "--allow-incomplete", "-o", "name")[0])
        plan = self.ebb_json("plan", part, "--allow-incomplete")
        self.assertFalse(plan["complete"])
        self.assertIn("pods", {each["lacks"] for each in plan["missing"]})
        self.assertTrue(self.ebb_json("plan", part, "--assume-complete")["complete"])

    def test_half_of_the_pods_are_not_a_cluster(self):
        number = iter(range(1_000_000))
        part = self.company(lambda o: o["kind"] != "Pod" or next(number) % 2 == 0)
        self.assertIn("that controllers count", self.refused("plan", part))
        number = iter(range(1_000_000))
        bare = self.company(lambda o: o["kind"] == "Node"
                            or o["kind"] == "Pod" and hash_of(o) % 2 == 0, "bare.json")
        self.assertIn("none of a DaemonSet of the system", self.refused("plan", bare))

    def test_without_budgets_a_plan_is_shown_and_not_carried_out(self):
        part = self.company(lambda o: o["kind"] != "PodDisruptionBudget")
        out, err = self.ebb("plan", part)
        self.assertTrue(out.startswith("Plan of an incomplete cluster: "), out[:80])
        self.assertIn("the input has no PodDisruptionBudget", err)
        plan = self.ebb_json("plan", part)
        self.assertFalse(plan["complete"])
        self.assertEqual([each["code"] for each in plan["missing"]], ["NoPodDisruptionBudgets"])
        blockers = self.ebb("blockers", part, "--limit", "1")[0]
        self.assertIn("of an incomplete cluster", blockers.splitlines()[0])
        state = self.path("s.db")
        for words in (["plan", "-o", "name"], ["plan", "--state", state],
                      ["run", "--dry-run", "--input"]):
            self.assertIn("is shown and not carried out", self.refused(*words, part))
        names = self.ebb("plan", part, "-o", "name", "--allow-incomplete")[0]
        self.assertEqual(names.split(), ["node/" + each["node"] for each in plan["remove"]])
        self.ebb("plan", "--state", state, part, "--allow-incomplete")
        # An empty list of budgets means that the cluster has no budgets.
        none = self.write("none.json", json.dumps({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []}))
        whole = self.ebb_json("plan", part, none)
        self.assertTrue(whole["complete"])
        self.assertNotIn("missing", whole)

    def test_a_few_handwritten_nodes_and_pods_give_a_warning(self):
        items = [node("a"), node("b"), pod("x", "a"), pod("y", "b"), pod("z", "b")]
        items.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []})
        plan = self.ebb_json("plan", self.dump(items))
        self.assertTrue(plan["complete"])
        self.assertEqual([each["code"] for each in plan["summary"]["warnings"]],
                         ["NoKubeSystemPods"])

    def test_a_page_of_a_list_is_planned_for_where_that_is_allowed(self):
        page = self.write("page.json", json.dumps({
            "apiVersion": "v1", "kind": "List", "metadata": {"continue": "more"},
            "items": [node("a"), pod("x", "a")]}))
        self.assertIn("--allow-incomplete", self.refused("plan", page) + "--allow-incomplete")
        plan = self.ebb_json("plan", page, "--allow-incomplete")
        self.assertIn("PartOfAList", [each["code"] for each in plan["missing"]])
        self.refused("import", page, "-o", self.path("x.pb"))


def hash_of(item):
    return sum(map(ord, item["metadata"]["name"])) // 3


# A kubectl that serves files of the test's folder: api-resources, and one file for each resource.
KUBECTL = """#!/bin/sh
echo "$@" >> calls
while [ "${1#--}" != "$1" ]; do shift; done
case "$1" in
api-resources) cat resources; [ ! -e broken ] || { cat broken >&2; exit 1; } ;;
get) if [ -e "$2.json" ]; then cat "$2.json"
     elif [ -e "$2.err" ]; then cat "$2.err" >&2; exit 1
     else printf '{"apiVersion":"v1","items":[],"kind":"List","metadata":{"resourceVersion":""}}\n'; fi ;;
esac
"""


class DumpTest(EbbTest):

    def setUp(self):
        super().setUp()
        self.kubectl = self.write("kubectl", KUBECTL)
        os.chmod(self.kubectl, 0o700)
        self.serve("nodes", [node("a"), node("b")])
        env = [{"name": "PASSWORD", "value": "hunter2"}]
        here = pod("x", "a")
        here["spec"]["containers"][0]["env"] = env
        here["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "hunter2"
        self.serve("pods", [here, pod("y", "b")])
        self.write("resources", "\n".join([
            "nodes", "pods", "configmaps", "secrets", "namespaces", "poddisruptionbudgets.policy",
            "replicasets.apps", "volumeattachments.storage.k8s.io", "nodepools.karpenter.sh",
            "nodes.metrics.k8s.io"]) + "\n")

    def serve(self, resource, items):
        self.write(resource + ".json", json.dumps(
            {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}))

    def run_dump(self, *words, code=0):
        done = subprocess.run([EBB, "dump", "--kubectl", self.kubectl, *words], cwd=self.folder.name,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def kinds(self, text):
        return {each["kind"]: each["items"] for each in json.loads(text)["items"]}

    def test_a_dump_has_every_kind_of_the_server(self):
        path = self.path("all.json")
        err = self.run_dump("-o", path, "--context", "prod", "--", "--as=me")[1]
        with open(path, encoding="utf-8") as file:
            lists = json.load(file)["items"]
        empty = {each["kind"] for each in lists if not each["items"]}
        self.assertEqual(empty, {"NamespaceList", "PodDisruptionBudgetList", "ReplicaSetList",
                                 "VolumeAttachmentList", "NodePoolList"})
        self.assertEqual(len(lists), 7)
        self.assertIn("the server has no", err)
        self.assertIn("nodeclaims.karpenter.sh", err)
        with open(self.path("calls"), encoding="utf-8") as file:
            calls = file.read()
        for line in calls.splitlines():
            self.assertTrue(line.startswith("--context=prod --as=me "), line)
        self.assertNotIn("secrets", calls)
        self.assertNotIn("configmaps", calls)
        plan = self.ebb_json("plan", path)
        self.assertTrue(plan["complete"], plan)  # The dump has an empty list of budgets.
        self.assertEqual(sorted(os.listdir(self.folder.name)), sorted(
            ["all.json", "calls", "kubectl", "nodes.json", "pods.json", "resources"]))

    def test_kinds_that_may_not_be_read_are_named_and_the_rest_is_written(self):
        self.write("poddisruptionbudgets.policy.err",
                   'Error from server (Forbidden): poddisruptionbudgets.policy is forbidden: User "me"'
                   ' cannot list resource\n')
        out, err = self.run_dump(code=3)
        self.assertIn("poddisruptionbudgets.policy could not be read: Error from server (Forbidden)", err)
        self.assertNotIn("PodDisruptionBudgetList", out)
        self.assertFalse(json.loads(self.ebb("plan", "-", "-o", "json", stdin=out)[0])["complete"])

    def test_groups_that_do_not_answer_are_named(self):
        self.write("broken", "error: unable to retrieve the complete list of server APIs: metrics\n")
        self.assertIn("unable to retrieve", self.run_dump("-o", self.path("all.json"), code=3)[1])

    def test_without_pods_nothing_is_written(self):
        os.remove(self.path("pods.json"))
        self.write("pods.err", "Error from server (Forbidden): pods is forbidden\n")
        path = self.write("all.json", "the old file")
        out, err = self.run_dump("-o", path, code=1)
        self.assertIn("pods cannot be read, and there is no dump without them", err)
        self.assertEqual(self.run_dump(code=1)[0], "")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "the old file")
        self.assertFalse([name for name in os.listdir(self.folder.name) if "ebb-tmp" in name])

    def test_a_server_without_nodes_or_pods_is_not_a_cluster(self):
        for resources in ("namespaces", "nodes", "pods"):
            self.write("resources", resources + "\n")
            err = self.run_dump("-o", self.path("all.json"), code=1)[1]
            self.assertIn("the server does not have them", err)
            self.assertFalse(os.path.exists(self.path("all.json")))

    def test_objects_of_gang_schedulers_and_machine_controllers_are_fetched(self):
        more = ["podgroups.scheduling.volcano.sh", "workloads.kueue.x-k8s.io",
                "machinesets.machine.openshift.io", "machinesets.cluster.x-k8s.io"]
        self.write("resources", "\n".join(["nodes", "pods"] + more) + "\n")
        self.run_dump()
        with open(self.path("calls"), encoding="utf-8") as file:
            calls = file.read()
        for resource in more:
            self.assertIn("get " + resource + " ", calls)

    def test_without_kubectl_it_is_named(self):
        err = subprocess.run([EBB, "dump", "--kubectl", "/no/such"], capture_output=True, text=True,
                             timeout=60, check=False)
        self.assertEqual(err.returncode, 1)
        self.assertIn("/no/such: No such file or directory; install kubectl", err.stderr)
        self.write("resources", "")
        self.write("broken", "The connection to the server localhost:8080 was refused\n")
        self.assertIn("was refused", self.run_dump(code=1)[1])

    def test_dump_redact_leaves_out_the_environment(self):
        self.assertIn("hunter2", self.run_dump()[0])
        redacted = self.run_dump("--redact")[0]
        self.assertNotIn("hunter2", redacted)
        self.assertEqual(len(self.kinds(redacted)), 6)  # Nodes and pods are both lists of kind List.


class CostTest(EbbTest):

    LABELS = {
        "eks": {"node.kubernetes.io/instance-type": "m5.large",
                "topology.kubernetes.io/zone": "eu-1a", "eks.amazonaws.com/capacityType": "SPOT"},
        "gke": {"beta.kubernetes.io/instance-type": "n1-2",
                "failure-domain.beta.kubernetes.io/zone": "west-b",
                "cloud.google.com/gke-preemptible": "true"},
        "aks": {"node.kubernetes.io/instance-type": "D4", "topology.kubernetes.io/zone": "0",
                "kubernetes.azure.com/scalesetpriority": "regular"},
        "karpenter": {"node.kubernetes.io/instance-type": "m5.large",
                      "karpenter.sh/capacity-type": "on-demand"},
        "rest": {},
    }

    def cluster(self):
        items = [pod("p", "eks", cpu="100m"), pod("busy", "rest", cpu="3")]
        for name, labels in self.LABELS.items():
            item = node(name, group="g-" + name)
            item["metadata"]["labels"].update(labels)
            items.append(item)
        return self.dump(items)

    def test_json_has_the_cost_of_nodes_and_what_is_freed(self):
        plan = self.ebb_json("plan", self.cluster())
        nodes = {n["node"]: n for n in plan["remove"] + plan["keep"]}
        found = {name: (n.get("instanceType"), n.get("zone"), n.get("capacityType"))
                 for name, n in nodes.items()}
        self.assertEqual(found, {"eks": ("m5.large", "eu-1a", "spot"),
                                 "gke": ("n1-2", "west-b", "preemptible"),
                                 "aks": ("D4", "0", "on-demand"),
                                 "karpenter": ("m5.large", None, "on-demand"),
                                 "rest": (None, None, None)})
        self.assertEqual(len(plan["remove"]), 4)
        summary = plan["summary"]
        self.assertEqual(summary["freed"],
                         {"cpuMilli": 16000, "memoryBytes": 4 * 8 << 30, "gpus": 0})
        types = {t["instanceType"]: t for t in summary["byInstanceType"]}
        self.assertEqual(types["m5.large"]["removed"], 2)
        self.assertEqual(types["m5.large"]["freed"]["cpuMilli"], 8000)
        self.assertEqual(sum(g["removed"] for g in summary["byGroup"]), 4)
        self.assertEqual([(c["capacityType"], c["nodes"], c["removed"], c["freed"]["cpuMilli"])
                          for c in summary["byCapacityType"]],
                         [("on-demand", 2, 2, 8000), ("preemptible", 1, 1, 4000),
                          ("spot", 1, 1, 4000)])
        self.assertEqual({g["group"]: g["nodes"] for g in summary["byGroup"]}["g-rest"], 1)

    def test_tables_show_what_is_freed_by_group_and_by_instance_type(self):
        table = self.ebb("plan", self.cluster())[0]
        self.assertIn("Freed: 16 cores and 32.0 GiB of memory\n", table)
        self.assertRegex(table, r"(?m)^m5.large +2 +2 +8.0 +16.0 GiB$")
        self.assertRegex(table, r"(?m)^g-eks +1 +1 +4.0 +8.0 GiB$")
        self.assertRegex(table, r"(?m)^CAPACITY TYPE +GO +OF +CPU +MEMORY$")
        self.assertRegex(table, r"(?m)^on-demand +2 +2 +8.0 +16.0 GiB$")
        self.assertRegex(self.ebb("plan", self.cluster(), "-o", "wide")[0],
                         r"eks +g-eks +m5.large +eu-1a +spot ")

    def test_csv_has_a_row_for_every_node(self):
        text = self.ebb("plan", self.cluster(), "-o", "csv")[0]
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        plan = self.ebb_json("plan", self.cluster())
        self.assertEqual([r["node"] for r in rows if r["decision"] == "remove"],
                         [n["node"] for n in plan["remove"]])
        self.assertEqual([r["node"] for r in rows if r["decision"] == "keep"], ["rest"])
        eks = next(r for r in rows if r["node"] == "eks")
        self.assertEqual((eks["instance_type"], eks["zone"], eks["capacity_type"],
                          eks["cpu_cores"], eks["memory_bytes"], eks["pods_moved"]),
                         ("m5.large", "eu-1a", "spot", "4", str(8 << 30), "1"))
        self.assertEqual(rows[-1]["reason"], "NotUnderutilized")

    def test_csv_has_no_formula_and_quotes_separators(self):
        a = node("a", group="=HYPERLINK(1)")
        a["metadata"]["labels"]["node.kubernetes.io/instance-type"] = 'm"5,\nx'
        text = subprocess.run([EBB, "plan", self.dump([a, node("b", group="@x"), pod("p", "b")]),
                               "-o", "csv"], capture_output=True, check=True).stdout.decode()
        self.assertEqual(text.count("\n"), text.count("\r\n"))
        rows = {r["node"]: r for r in csv.DictReader(io.StringIO(text, newline=""), strict=True)}
        self.assertEqual(rows["a"]["group"], "'=HYPERLINK(1)")
        self.assertEqual(rows["a"]["instance_type"], 'm"5,\\nx')
        self.assertEqual(rows["b"]["group"], "'@x")

    def test_blockers_are_ranked_by_the_nodes_that_they_keep(self):
        items = [REPLICA_SET, budget("web", "web", 0)] + [node(name) for name in "abcde"]
        items += [app_pod(f"w{name}", name, "web", cpu="100m") for name in "abc"]
        owned = pod("worker-5d4f8-x", "d", cpu="100m", safe=False)
        owned["metadata"]["labels"] = {"pod-template-hash": "5d4f8"}
        owned["metadata"]["ownerReferences"] = [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "worker-5d4f8", "uid": "1",
            "controller": True}]
        plan = self.ebb_json("plan", self.dump(items + [owned]))
        self.assertEqual(
            [(k["kind"], k["namespace"], k["name"], k["reason"], k["nodes"])
             for k in plan["summary"]["keptMostBy"]],
            [("PodDisruptionBudget", "default", "web", "NotEnoughPdb", 3),
             ("Deployment", "default", "worker", "ControllerNotFound", 1)])
        self.assertRegex(self.ebb("plan", self.dump(items + [owned]))[0],
                         r"In the way of most nodes:\n  PodDisruptionBudget +default/web +3  NotEn")

class InputTest(EbbTest):
    """What the input may lack, and what it must not contain (docs/input.md)."""

    def whole(self):
        """A dump of a complete cluster."""
        system = pod("proxy", "a")
        system["metadata"]["namespace"] = "kube-system"
        budgets = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []}
        namespaces = [{"apiVersion": "v1", "kind": "Namespace",
                       "metadata": {"name": name, "uid": "uid-" + name}}
                      for name in ("default", "kube-system")]
        return SMALL + [system, *namespaces, budgets]

    def test_nodes_without_pods_are_rejected_unless_assumed_complete(self):
        dump = self.dump([node("a"), node("b")])
        out, err = self.ebb("plan", dump, code=1)
        self.assertEqual(out, "")
        self.assert_one_line(err)
        self.assertIn("2 nodes and not a single pod", err)
        self.assertIn("kubectl get nodes,pods", err)
        self.assertEqual(self.ebb("plan", dump, "--assume-complete", "--nodes", "0:9:ng")[1], "")
        state = self.path("state")
        self.ebb("plan", dump, "--state", state, code=1)
        self.ebb("plan", dump, "--state", state, "--assume-complete")

    def test_a_page_of_a_list_is_rejected_in_every_form(self):
        page = {"kind": "PodList", "apiVersion": "v1", "items": [pod("p", "a")],
                "metadata": {"resourceVersion": "5", "continue": "eyJ2", "remainingItemCount": 9}}
        text = json.dumps(page)
        with gzip.open(self.path("page.json.gz"), "wt", encoding="utf-8") as file:
            file.write(text)
        first = {"kind": "PodList", "metadata": {"remainingItemCount": 1}, "items": []}
        paths = [self.write("page.json", text), self.path("page.json.gz"),
                 self.write("page.yaml", "---\n" + text), self.write("first.json", json.dumps(first)),
                 self.dump([page], "nested.json")]
        nodes = self.dump([node("a"), pod("q", "a")], "nodes.json")
        for path in paths:
            for words in (["plan", nodes, path, "--assume-complete"], ["import", path],
                          ["filter", nodes, path, "--pod", "default/q"]):
                err = self.ebb(*words, code=1)[1]
                self.assertIn("is not whole", err)
                self.assert_one_line(err)

    def test_a_whole_cluster_raises_no_warning_in_any_form(self):
        dump = self.dump(self.whole())
        self.assertEqual(self.ebb("plan", dump, "--strict")[1], "")
        self.assertNotIn("warnings", self.ebb_json("plan", dump)["summary"])
        for name in ("c.json", "c.yaml", "c.pb"):
            self.ebb("import", dump, "-o", self.path(name))
            self.assertEqual(self.ebb("plan", self.path(name), "--strict")[1], "", name)
        for kind in ("uniform", "mixed", "company", "terms", "claims"):
            for name in ("g.json", "g.pb"):
                self.ebb("gen", kind, "--nodes", "20", "-o", self.path(name))
                # All nodes of one of its groups go, and ebb would have to assume a minimum of 0.
                minimum = ["--nodes", "0:99:spot-m8-a"] if kind == "company" else []
                err = self.ebb("plan", self.path(name), "--strict", *minimum)[1]
                self.assertNotIn("warning", err, kind)

    def test_a_warning_has_its_command_is_in_json_and_is_an_error_if_strict(self):
        dump = self.dump(SMALL, says_none=False)
        err = self.ebb("plan", dump)[1]
        self.assertIn("ebb: warning: all pods are of namespace default", err)
        self.assertIn("`kubectl get --raw /apis/policy/v1/poddisruptionbudgets`", err)
        warnings = self.ebb_json("plan", dump)["summary"]["warnings"]
        self.assertEqual([w["code"] for w in warnings],
                         ["NoKubeSystemPods", "NoPodDisruptionBudgets"])
        self.assertEqual(warnings[1]["command"],
                         "kubectl get --raw /apis/policy/v1/poddisruptionbudgets")
        out, err = self.ebb("plan", dump, "--strict", code=1)
        self.assertEqual(out, "")
        self.assertEqual(err.count("ebb: warning: "), 2)
        self.assertIn("--strict, and 2 warnings", err)
        self.assertEqual(self.ebb("plan", dump, "--assume-complete")[1], "")
        # Then missing objects are not an error; wrong input still is.
        self.ebb("plan", dump, "--strict", "--assume-complete")
        self.ebb("plan", dump, "--strict", "--assume-complete", "--feature-gates=A=true",
                 code=1)
        # Filters do not read budgets.
        err = self.ebb("filter", dump, "--pod", "default/p")[1]
        self.assertIn("namespace default", err)
        self.assertNotIn("PodDisruptionBudget", err)

    def test_a_strict_round_leaves_the_state_alone_and_a_lenient_one_is_replayed(self):
        dump = self.dump(SMALL, says_none=False)
        state, record = self.path("state"), self.path("record")
        self.ebb("plan", dump, "--state", state, "--strict", code=1)
        plan = self.ebb_json("plan", dump, "--state", state, "--record", record, "--now", START,
                             "--allow-incomplete")
        self.assertEqual(plan["round"], 1)
        self.assertEqual(len(plan["summary"]["warnings"]), 2)
        self.assertIn("1 of 1 round identical", self.ebb("replay", record)[0])

    def test_a_missing_controller_blocks_and_its_kind_is_named(self):
        owned = pod("web-1", "a", safe=False)
        owned["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}]
        dump = self.dump([node("a"), node("b"), owned])
        kept = [k for k in self.ebb_json("plan", dump)["keep"] if k["node"] == "a"][0]
        self.assertEqual(kept["blockingPod"]["reason"], "ControllerNotFound")
        self.assertIn("no ReplicaSet", kept["blockingPod"]["detail"])
        self.assertIn("no ReplicaSet", self.ebb("plan", dump, "-o", "wide")[0])

    def test_names_that_break_lines_are_refused_escaped(self):
        for name in ("a\nb", "a\u001b[31mb", "a b", "a/b", "x" * 254, "a\u202eb", ""):
            for broken in ({"metadata": {"name": name}, "kind": "Node"},
                           {"metadata": {"name": name}, "kind": "Pod"},
                           {"metadata": {"name": name}, "kind": "Namespace"},
                           {"metadata": {"name": "p"}, "kind": "Pod", "spec": {"nodeName": name}},
                           {"metadata": {"name": "p", "namespace": name}, "kind": "Pod"}):
                if name == "" and broken["metadata"]["name"]:
                    continue
                err = self.ebb("import", self.dump([broken]), code=1)[1]
                self.assert_one_line(err)
                self.assertNotIn("\x1b", err)
                self.assertNotIn("\u202e", err)
        taken = [node("Node_A.\u00e9"), pod("p", "Node_A.\u00e9")]
        self.assertIn("Node_A", self.ebb("plan", self.dump(taken), "-o", "json")[0])

    def test_input_is_bounded_and_the_error_names_the_flag(self):
        bomb = self.path("bomb.json.gz")
        with gzip.open(bomb, "wb") as file:
            for _ in range(300):
                file.write(b" " * (1 << 20))
        err = self.ebb("plan", bomb, code=1)[1]
        self.assert_one_line(err)
        self.assertIn("--max-input-bytes", err)
        dump = self.dump(SMALL)
        err = self.ebb("plan", dump, "--max-input-bytes", "100", code=1)[1]
        self.assertIn("larger than 100 bytes", err)
        self.ebb("plan", dump, "--max-input-bytes", "1MB")
        err = self.ebb("plan", "/dev/zero", code=1)[1]
        self.assert_one_line(err)
        self.assertIn("/dev/zero", err)
        err = self.ebb("plan", "-", "--max-input-bytes", "3MB", code=1, stdin='{"a":[' + "1," * 3000000)[1]
        self.assertIn("--max-input-bytes", err)

    def test_other_files_in_a_folder_neither_hang_nor_fail_the_input(self):
        os.makedirs(self.path("tree/deep/deeper"))
        self.dump(self.whole(), "tree/deep/deeper/dump.json")
        os.mkfifo(self.path("tree/pipe.json"))
        self.write("tree/package.json", '{"name": "x", "version": "1.0.0"}')
        self.write("tree/notes.txt", "nothing")
        os.symlink(self.path("tree"), self.path("tree/deep/again"))
        os.symlink(self.path("tree/deep/deeper/dump.json"), self.path("tree/link.json"))
        err = self.ebb("plan", self.path("tree"), "--strict")[1]
        self.assertIn("ignored 1 file that holds no objects", err)
        self.assertIn("package.json", err)
        self.assertIn("skipped 1 pipe, socket or device", err)
        self.write("tree/empty.json", "")
        self.assertIn("empty.json: is empty", self.ebb("plan", self.path("tree"))[1])
        self.assertIn("--strict, and 1 warning",
                      self.ebb("plan", self.path("tree"), "--strict", code=1)[1])
        self.write("tree/pods.json", "")
        self.assertIn("pods.json: is empty", self.ebb("plan", self.path("tree"), code=1)[1])

    def test_the_error_for_text_that_is_not_json_has_line_and_column(self):
        text = json.dumps({"kind": "List", "items": [node("a")]}, indent=2)
        err = self.ebb("plan", self.write("bad.json", text[:-1] + "oops"), code=1)[1]
        lines = text.count("\n") + 1
        self.assertIn(f", line {lines}, column 1: is not JSON", err)
        for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
            with open(self.path("wide.json"), "wb") as file:
                file.write(text.encode(encoding))
            err = self.ebb("plan", self.path("wide.json"), code=1)[1]
            self.assertIn("looks like UTF-16", err)
            self.assert_one_line(err)

    def test_nesting_ends_with_a_clear_error_or_not_at_all(self):
        deep = "[" * 200000
        for name, text in (("a.json", deep), ("b.json", '{"kind":"Pod","metadata":' + deep),
                           ("c.yaml", "a: " + deep)):
            self.assert_one_line(self.ebb("plan", self.write(name, text), code=1)[1])
        nested = node("a")
        for _ in range(20):
            nested = {"kind": "List", "items": [nested]}
        err = self.ebb("plan", self.write("d.json", json.dumps(nested)), code=1)[1]
        self.assertIn("nested too deep", err)
        laughs = "a0: &a0 [x, x]\n" + "".join(
            f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
        self.assertIn("aliases", self.ebb("plan", self.write("e.yaml", laughs), code=1)[1])


class BadInputTest(EbbTest):

    def test_a_missing_file_is_named(self):
        err = self.ebb("plan", self.path("nowhere.json"), code=1)[1]
        self.assert_one_line(err)
        self.assertIn("nowhere.json", err)

    def test_a_wrong_value_is_named_with_file_object_and_field(self):
        broken = pod("p", "a", cpu="4x")
        err = self.ebb("plan", self.dump([node("a"), broken]), code=1)[1]
        self.assert_one_line(err)
        for word in ["dump.json", "default/p", "cpu", "4x"]:
            self.assertIn(word, err)

    def test_text_that_is_not_a_dump_is_rejected(self):
        for text in ["{", "[]", "\x00\x01", "kind: ["]:
            err = self.ebb("plan", self.write("bad", text), code=1)[1]
            self.assertIn("bad", err, text)

    def test_a_dump_without_nodes_is_refused(self):
        self.assertIn("no nodes", self.ebb("plan", self.dump([pod("p", "")]), code=1)[1])

    def test_an_unknown_flag_is_a_usage_error_with_the_nearest_name(self):
        err = self.ebb("plan", self.dump(SMALL), "--scale-down-utilisation-threshold=0.5", code=2)[1]
        self.assertIn("--scale-down-utilization-threshold", err)

    def test_an_unknown_command_is_a_usage_error(self):
        self.assertIn("did you mean plan?", self.ebb("plam", code=2)[1])

    def test_the_error_for_a_dump_without_a_command_names_plan(self):
        dump = self.dump(SMALL)
        for words in ([dump], [dump, "-o", "json"], ["nowhere.json"], ["-"]):
            self.assertIn(f"{words[0]} is not a command; to plan with it: `ebb plan {words[0]}`",
                          self.ebb(*words, code=2)[1])

    def test_a_flag_with_a_wrong_value_is_a_usage_error(self):
        dump = self.dump(SMALL)
        for words in [["--now", "noon"], ["--state", "s", "--scale-down-unneeded-time", "10"],
                      ["--state", "s", "--cores-total", "5"], ["-o", "xml"]]:
            self.assertIn(words[-1], self.ebb("plan", dump, *words, code=2)[1])
        self.assertFalse(os.path.exists("s"))

    def test_group_files_are_checked(self):
        groups = self.write("groups.yaml", "nodeGroups:\n- {name: ng, minSize: many}\n")
        err = self.ebb("plan", self.dump(SMALL), "--node-groups", groups, code=1)[1]
        self.assertIn("groups.yaml: nodeGroups[0] (ng).minSize", err)

    def test_help_names_the_flags_of_rounds(self):
        out = self.ebb("plan", "--help")[0]
        for flag in ["--state", "--events", "--record", "--metrics", "--max-drain-parallelism"]:
            self.assertIn(flag, out)


def machine(name, labels, provider_id="", taints=(), annotations=None, cpu="4"):
    """A node as a cloud makes it: `labels` are added to the labels that every kubelet sets."""
    made = node(name, cpu=cpu)
    made["metadata"]["labels"] = {
        "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **labels}
    made["metadata"]["annotations"] = {"volumes.kubernetes.io/controller-managed-attach-detach":
                                       "true", **(annotations or {})}
    made["spec"] = {"providerID": provider_id,
                    "taints": [{"key": k, "value": v, "effect": "NoSchedule"} for k, v in taints]}
    return made


def eks(name, group):
    return machine(name, {"eks.amazonaws.com/nodegroup": group,
                          "eks.amazonaws.com/capacityType": "ON_DEMAND",
                          "node.kubernetes.io/instance-type": "m5.xlarge",
                          "topology.kubernetes.io/zone": "eu-west-1a"},
                   "aws:///eu-west-1a/i-" + name)


def karpenter(name, pool, annotations=None):
    return machine(name, {"karpenter.sh/nodepool": pool, "karpenter.sh/capacity-type": "spot",
                          "karpenter.sh/initialized": "true", "karpenter.sh/registered": "true",
                          "node.kubernetes.io/instance-type": "m5.xlarge"},
                   "aws:///eu-west-1a/i-" + name, annotations=annotations)


def fargate(name):
    return machine(name, {"eks.amazonaws.com/compute-type": "fargate",
                          "topology.kubernetes.io/zone": "eu-west-1a"},
                   "aws:///eu-west-1a/1234567890-abc/" + name,
                   taints=[("eks.amazonaws.com/compute-type", "fargate")])


def aci(name):
    return machine(name, {"alpha.service-controller.kubernetes.io/exclude-balancer": "true",
                          "kubernetes.azure.com/managed": "false",
                          "kubernetes.azure.com/role": "agent", "kubernetes.io/role": "agent",
                          "node-role.kubernetes.io/agent": "",
                          "node.kubernetes.io/exclude-from-external-load-balancers": "true",
                          "type": "virtual-kubelet"},
                   taints=[("virtual-kubelet.io/provider", "azure")], cpu="10k")


def annotated(made, key, value):
    made["metadata"].setdefault("annotations", {})[key] = value
    return made


class GroupsTest(EbbTest):
    """Clusters of the clouds: the group of each node, and why a node has no group."""

    def plan(self, items, *words):
        return self.ebb_json("plan", self.dump(items), "--now", START, *words)

    def kept(self, plan):
        return {n["node"]: (n["reason"], n.get("detail", "")) for n in plan["keep"]}

    def removed(self, plan):
        return {n["node"]: n["group"] for n in plan["remove"]}

    def groups_file(self, text):
        return self.write("groups.yaml", text)

    def test_fargate_nodes_of_eks_are_never_removed(self):
        cluster = [eks("ip-10-0-0-1.ec2.internal", "general"),
                   eks("ip-10-0-0-2.ec2.internal", "general"),
                   fargate("fargate-ip-10-0-0-3.ec2.internal"),
                   fargate("fargate-ip-10-0-0-4.ec2.internal"),
                   machine("ip-10-0-0-9.ec2.internal", {}, "aws:///eu-west-1a/i-9"),
                   pod("web", "ip-10-0-0-1.ec2.internal"),
                   pod("serverless", "fargate-ip-10-0-0-4.ec2.internal", cpu="100m")]
        plan = self.plan(cluster)
        self.assertEqual(self.removed(plan), {"ip-10-0-0-1.ec2.internal": "general",
                                              "ip-10-0-0-2.ec2.internal": "general"})
        kept = self.kept(plan)
        for name in ["fargate-ip-10-0-0-3.ec2.internal", "fargate-ip-10-0-0-4.ec2.internal"]:
            self.assertEqual(kept[name], ("NotAutoscaled", "a Fargate node"))
        reason, detail = kept["ip-10-0-0-9.ec2.internal"]
        self.assertEqual(reason, "NotAutoscaled")
        self.assertIn("in no node group", detail)
        table = self.ebb("plan", self.dump(cluster))[0]
        self.assertIn("2  a Fargate node", table)
        self.assertIn("a Fargate node", self.ebb("plan", self.dump(cluster), "-o", "wide")[0])
        explained = self.ebb("plan", self.dump(cluster), "--explain",
                             "fargate-ip-10-0-0-3.ec2.internal")[0]
        self.assertIn("a Fargate node", explained)

    def test_the_virtual_node_of_aks_is_never_removed(self):
        pool = {"agentpool": "nodepool1", "kubernetes.azure.com/agentpool": "nodepool1",
                "kubernetes.azure.com/mode": "user", "kubernetes.azure.com/role": "agent"}
        cluster = [machine("aks-nodepool1-1-vmss000000", pool, "azure:///subscriptions/s/0"),
                   machine("aks-nodepool1-1-vmss000001", pool, "azure:///subscriptions/s/1"),
                   aci("virtual-node-aci-linux"), pod("web", "aks-nodepool1-1-vmss000000")]
        plan = self.plan(cluster)
        self.assertEqual(self.kept(plan)["virtual-node-aci-linux"],
                         ("NotAutoscaled", "a virtual kubelet"))
        self.assertEqual(set(self.removed(plan).values()), {"nodepool1"})

    def test_a_nodepool_named_default_has_only_its_own_nodes(self):
        cluster = [eks("a", "default"), eks("b", "default"), karpenter("k1", "default"),
                   karpenter("k2", "default"), pod("p", "a"), pod("q", "k1")]
        groups = self.groups_file(
            "nodeGroups: [{name: karpenter.sh/nodepool=default, minSize: 2}]")
        # Minimum sizes are no rule of Karpenter's.
        plan = self.plan(cluster, "--node-groups", groups, "--rules", "autoscaler")
        self.assertEqual(set(self.removed(plan).values()), {"eks.amazonaws.com/nodegroup=default"})
        self.assertEqual(self.kept(plan)["k1"], ("NodeGroupMinSizeReached", ""))
        self.assertEqual({n["group"] for n in plan["keep"] if n["node"].startswith("k")},
                         {"karpenter.sh/nodepool=default"})

    def test_karpenters_protection_holds_on_its_nodes_only(self):
        cluster = [karpenter("k1", "default"), karpenter("k2", "default"),
                   karpenter("k3", "default", {"karpenter.sh/do-not-disrupt": "true"}),
                   eks("e1", "general"), eks("e2", "general"), eks("e3", "general"),
                   annotated(pod("job", "k1"), "karpenter.sh/do-not-disrupt", "true"),
                   annotated(pod("other", "e1"), "karpenter.sh/do-not-disrupt", "true")]
        plan = self.plan(cluster)
        kept = {n["node"]: n for n in plan["keep"]}
        self.assertEqual(kept["k1"]["reason"], "BlockedByPod")
        self.assertEqual(kept["k1"]["blockingPod"],
                         {"namespace": "default", "name": "job",
                          "reason": "DoNotDisruptAnnotation"})
        self.assertEqual(kept["k3"]["reason"], "ScaleDownDisabledAnnotation")
        self.assertIn("karpenter.sh/do-not-disrupt", kept["k3"]["detail"])
        self.assertIn("e1", self.removed(plan))
        self.assertIn("DoNotDisruptAnnotation",
                      self.ebb("plan", self.dump(cluster), "--explain", "k1")[0])

    def test_a_gke_node_without_its_gpu_driver_has_no_utilization(self):
        def gke(name, **labels):
            return machine(name, {"cloud.google.com/gke-nodepool": "gpu-pool",
                                  "cloud.google.com/machine-family": "n1",
                                  **{k.replace("__", "/").replace("_", "-"): v
                                     for k, v in labels.items()}},
                           "gce://project/europe-west1-b/" + name)
        accelerator = {"cloud.google.com__gke_accelerator": "nvidia-tesla-t4"}
        cluster = [gke("no-driver", **accelerator), gke("plain"),
                   pod("p", "no-driver", cpu="3"), pod("q", "plain", cpu="500m")]
        plan = self.plan(cluster, "--candidate-order", "input")
        self.assertEqual(plan["remove"][0]["node"], "no-driver")
        self.assertEqual(plan["remove"][0]["utilization"]["resource"], "nvidia.com/gpu")
        self.assertEqual(plan["remove"][0]["utilization"]["value"], 0)
        self.assertEqual(self.plan([cluster[0], cluster[1], cluster[2]], "--node-groups",
                                   self.groups_file("gpuLabel: example.com/gpu"))["keep"][0]
                         ["reason"], "NotUnderutilized")

    def test_on_kind_all_workers_are_one_group(self):
        cluster = [machine("kind-control-plane", {"node-role.kubernetes.io/control-plane": ""}),
                   machine("kind-worker", {}, "kind://docker/kind/kind-worker"),
                   machine("kind-worker2", {}, "kind://docker/kind/kind-worker2"),
                   pod("p", "kind-worker")]
        plan = self.plan(cluster)
        self.assertEqual(set(self.removed(plan).values()), {"default"})
        self.assertEqual(self.kept(plan)["kind-control-plane"], ("NotAutoscaled", "control plane"))

    def test_a_rule_with_a_typo_is_a_warning_that_names_the_nearest_group(self):
        groups = self.groups_file("nodeGroups: [{name: gneral, minSize: 2}]")
        cluster = [eks("a", "general"), eks("b", "general"), pod("p", "a")]
        err = self.ebb("plan", self.dump(cluster), "--node-groups", groups)[1]
        self.assertIn("groups.yaml: nodeGroups[0] (gneral): no node is in a group of that name; "
                      "did you mean general?", err)
        err = self.ebb("plan", self.dump(cluster), "--node-groups", groups, "--state",
                       self.path("state.db"), "--now", START)[1]
        self.assertIn("did you mean general?", err)


class ShellTest(EbbTest):
    """Man pages and completion, in the programs that use them."""

    def pages(self):
        """The man pages: {name of the file: text}."""
        folder = self.path("man")
        os.mkdir(folder)
        self.ebb("man", "--folder", folder)
        return {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}

    def test_a_folder_gets_the_page_of_every_command(self):
        pages = self.pages()
        self.assertEqual(pages["ebb.1"], self.ebb("man")[0])
        self.assertEqual(pages["ebb-import-openb.1"], self.ebb("man", "import", "openb")[0])
        for text in pages.values():  # Each page that is referred to exists.
            for name in re.findall(r"^\.BR (\S+) \(1\)", text, re.M):
                self.assertIn(name.replace("\\-", "-") + ".1", pages)
        self.assertLess(18, len(pages))
        self.assertIn("nowhere", self.ebb("man", "--folder", self.path("nowhere"), code=1)[1])
        self.ebb("man", "plan", "--folder", self.folder.name, code=2)

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_man_pages_render_without_a_warning(self):
        pages = self.pages()
        for page, source in pages.items():
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=source,
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "", page)
            plain = re.sub(r".\x08", "", done.stdout)  # Bold is a letter printed over itself.
            for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"]:
                self.assertIn(heading, plain, page)
        linter = shutil.which("mandoc")
        if linter:
            for page, source in pages.items():
                done = subprocess.run([linter, "-Tlint", "-Werror"], input=source,
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.stdout, "", page)

    def complete(self, line):
        """What bash offers at the end of the line, whose last word is typed in part."""
        words = line.split(" ")
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        script = self.write("ebb.bash", self.ebb("completion", "bash")[0])
        done = subprocess.run(
            ["bash", "--norc", "-ec", f"source '{script}'\nCOMP_WORDS=({quoted})\n"
             f"COMP_CWORD={len(words) - 1}\nset +e\n_ebb\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""],
            capture_output=True, text=True, check=True, cwd=self.folder.name)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_commands_flags_choices_files_and_nodes(self):
        self.dump(SMALL)
        self.assertEqual(self.complete(EBB + " pl"), ["plan"])
        self.assertEqual(self.complete(EBB + " gen m"), ["mixed"])
        self.assertEqual(self.complete(EBB + " gen co"), ["company"])
        self.assertEqual(self.complete(EBB + " plan --scale-down-unne"),
                         ["--scale-down-unneeded-time"])
        self.assertEqual(self.complete(EBB + " plan x -o js"), ["json"])
        self.assertEqual(self.complete(EBB + " plan x --output = ya"), ["yaml"])
        self.assertIn("wide", self.complete(EBB + " plan x --output ="))
        self.assertEqual(self.complete(EBB + " plan du"), ["dump.json"])
        self.assertEqual(self.complete(EBB + " plan dump.json --explain "), ["a", "b", "c"])
        self.assertEqual(self.complete(EBB + " filter dump.json --node b"), ["b"])
        self.assertEqual(self.complete(EBB + " plan nowhere.json --explain "), [])
        self.assertEqual(self.complete(EBB + " completion z"), ["zsh"])
        self.assertEqual(self.complete(EBB + " help fi"), ["filter"])
        self.assertEqual(set(self.complete(EBB + " import openb --p")), {"--pods"})
        self.assertIn("dump.json", self.complete(EBB + " import "))
        self.assertEqual(self.complete(EBB + " plan --threads "), [])

    def on_path(self):
        """An environment in which `ebb` is the program under test."""
        os.mkdir(self.path("bin"))
        os.symlink(os.path.abspath(EBB), self.path("bin/ebb"))
        return {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"],
                "HOME": self.folder.name}

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_completes_commands_flags_choices_files_and_nodes(self):
        self.dump(SMALL)
        environment = self.on_path()
        script = self.write("ebb.fish", self.ebb("completion", "fish")[0])

        def complete(line):
            done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                                   script, line], env=environment, cwd=self.folder.name,
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            return [word.split("\t")[0] for word in done.stdout.splitlines()]

        self.assertEqual(complete("ebb pl"), ["plan"])
        self.assertEqual(complete("ebb gen co"), ["company"])
        self.assertEqual(complete("ebb plan x -o js"), ["json"])
        self.assertEqual(complete("ebb plan x --output=js"), ["--output=json"])
        self.assertEqual(complete("ebb plan du"), ["dump.json"])
        self.assertEqual(complete("ebb plan dump.json --explain "), ["a", "b", "c"])
        self.assertEqual(complete("ebb import openb --p"), ["--pods"])
        self.assertEqual(complete("ebb state "), ["set-clock", "show"])
        self.assertEqual(complete("ebb state show du"), ["dump.json"])
        self.assertEqual(complete("ebb serve st"), ["status"])
        # --socket is a flag of `ebb serve`, not of `ebb serve status`.
        self.assertEqual(complete("ebb serve status --sock"), [])
        self.assertEqual(complete("ebb help plan --expl"), [])

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh_completes_commands_flags_choices_files_and_nodes(self):
        self.dump([node("node-one"), pod("p", "node-one")])
        environment = {**self.on_path(), "TERM": "dumb"}
        os.mkdir(self.path("functions"))
        self.write("functions/_ebb", self.ebb("completion", "zsh")[0])
        # Types a line, tab, and a key that writes the resulting line to a file.
        setup = self.write("setup", f"""
fpath=({self.path("functions")} $fpath)
autoload -U compinit && compinit -u -D
cd {self.folder.name}
tell() {{ print -r -- "$BUFFER" >>told; BUFFER=; }}
zle -N tell
bindkey '^X' tell
print ready >>told
""")
        lines = {
            "ebb pl": "ebb plan ",
            "ebb gen co": "ebb gen company ",
            "ebb plan x -o js": "ebb plan x -o json ",
            "ebb plan x --output=ya": "ebb plan x --output=yaml ",
            "ebb plan --scale-down-unne": "ebb plan --scale-down-unneeded-time=",
            "ebb plan du": "ebb plan dump.json ",
            "ebb plan dump.json --explain=": "ebb plan dump.json --explain=node-one ",
            "ebb import op": "ebb import openb ",
            "ebb import openb --po": "ebb import openb --pods=",
            "ebb state sh": "ebb state show ",
            "ebb state show du": "ebb state show dump.json ",
            "ebb serve st": "ebb serve status ",
            "ebb serve status --ser": "ebb serve status --server=",
            "ebb serve status --sock": "ebb serve status --sock",
            "ebb help plan --expl": "ebb help plan --expl",
        }
        process, terminal = pty.fork()
        if process == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
        drain = threading.Thread(target=self.drain, args=[terminal])
        drain.start()
        os.write(terminal, f"source {setup}\n".encode())
        told = []
        for line, expected in [(None, "ready"), *lines.items()]:
            if line is not None:
                os.write(terminal, line.encode() + b"\t\x18")
            told.append(expected)
            self.wait_for(lambda: len(self.lines_of("told")) >= len(told))
            self.assertEqual(self.lines_of("told"), told)
        os.write(terminal, b"exit\n")
        os.waitpid(process, 0)
        drain.join()
        os.close(terminal)

    def lines_of(self, name):
        path = pathlib.Path(self.path(name))
        return path.read_text().splitlines() if path.exists() else []

    def wait_for(self, holds):
        for _ in range(3000):
            if holds():
                return
            time.sleep(0.02)
        self.fail("nothing came")

    @staticmethod
    def drain(terminal):
        try:
            while os.read(terminal, 4096):
                pass
        except OSError:  # The shell ended.
            pass

    def test_scripts_have_the_syntax_of_their_shells(self):
        for shell in ["bash", "zsh", "fish"]:
            script = self.write(shell, self.ebb("completion", shell)[0])
            if shutil.which(shell):
                subprocess.run([shell, "-n", script], check=True)

    def test_a_plan_says_by_its_exit_code_whether_it_has_something_to_do(self):
        self.ebb("plan", self.dump(SMALL), "--exit-code", code=10)
        self.ebb("plan", self.dump([node("a"), pod("p", "a", cpu="3500m")]), "--exit-code", code=0)

    def test_a_rounds_exit_code_is_of_the_nodes_to_delete_now(self):
        words = ["plan", self.dump(SMALL), "--state", self.path("state.db"), "--exit-code"]
        self.ebb(*words, "--now", at(0), code=0)
        self.ebb(*words, "--now", at(601), code=10)

    def test_sizes_from_the_command_line_count_in_rounds_and_their_replay(self):
        words = ["plan", self.dump(SMALL), "--state", self.path("state.db"), "--record",
                 self.path("record.db"), "--nodes=3:9:ng", "--exit-code", "--v=4"]
        self.ebb(*words, "--now", at(0), code=0)
        self.ebb(*words, "--now", at(600), code=0)
        self.assertIn("2 of 2 rounds identical", self.ebb("replay", self.path("record.db"))[0])


class FilterTest(EbbTest):

    def test_filter_lists_nodes_that_accept_a_pod_and_why_others_do_not(self):
        dump = self.dump(SMALL + [pod("new", "", cpu="3800m")])
        out = self.ebb("filter", dump, "--pod", "default/new")[0]
        verdicts = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
        self.assertEqual(verdicts["a"], ["no", "NodeResourcesFit", "Insufficient", "cpu"])
        self.assertEqual(verdicts["c"], ["yes"])

    def test_the_error_for_a_pod_that_was_left_out_gives_the_reason(self):
        ended = pod("done", "a")
        ended["status"]["phase"] = "Succeeded"
        err = self.ebb("filter", self.dump(SMALL + [ended]), "--pod", "default/done", code=1)[1]
        self.assertIn('no pod "default/done"; left out of the input: 1 pod that has ended', err)

    def test_an_unknown_pod_is_named(self):
        err = self.ebb("filter", self.dump(SMALL), "--pod", "default/nobody", code=1)[1]
        self.assertIn("default/nobody", err)


class RoundBase(EbbTest):

    def round(self, seconds, *more, items=None, code=0):
        """Makes one round, which must exit with `code`; returns its plan, or stderr if `code` is not 0."""
        dump = self.dump(SMALL if items is None else items)
        words = ["plan", dump, "--state", self.path("state.db"), "--now", at(seconds),
                 "--assume-complete", *more]
        if code != 0:
            return self.ebb(*words, code=code)[1]
        return self.ebb_json(*words)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


class RoundTest(RoundBase):

    def test_a_node_goes_once_it_was_unneeded_for_long_enough(self):
        first = self.round(0)
        self.assertEqual(first["status"], "ScaleDownNoNodeDeleted")
        self.assertEqual({n["node"]: n["since"] for n in first["unneeded"]},
                         {"c": START, "a": START})
        self.assertEqual(first["deleteNow"], {"empty": [], "drain": []})
        self.assertEqual({n["reason"] for n in first["notYet"]}, {"NotUnneededLongEnough"})
        self.assertEqual(self.round(600)["deleteNow"], {"empty": [], "drain": []})
        third = self.round(601)
        self.assertEqual(third["round"], 3)
        self.assertEqual(third["status"], "ScaleDownNodeDeleteStarted")
        self.assertEqual(third["deleteNow"], {"empty": ["c"], "drain": ["a"]})

    def test_a_recently_unremovable_node_has_the_reason_found_before(self):
        cluster = SMALL + [pod("bare", "b", safe=False)]
        self.round(0, items=cluster)
        kept = {n["node"]: n for n in self.round(60, items=cluster)["keep"]}
        self.assertEqual(kept["b"]["reason"], "RecentlyUnremovable")
        self.assertEqual(kept["b"]["recentReason"], "BlockedByPod")
        self.assertEqual(kept["b"]["blockingPod"], {
            "namespace": "default", "name": "bare", "reason": "NotReplicated"})
        wide = self.ebb("plan", self.dump(cluster), "--state", self.path("state.db"), "--now",
                        at(120), "-o", "wide")[0]
        self.assertRegex(
            wide, r"RecentlyUnremovable \(BlockedByPod\) +default/bare: NotReplicated")

    def test_a_round_that_waits_says_that_no_node_was_checked(self):
        self.round(0)
        words = ["plan", self.dump(SMALL), "--state", self.path("state.db"), "--now", at(7200)]
        plan = json.loads(self.ebb(*words, "-o", "json", code=3)[0])
        self.assert_schema(plan, "plan.schema.json")
        self.assertEqual(plan["status"], "ScaleDownClockJumped")
        self.assertEqual(plan["summary"]["termination"], "notStarted")
        self.assertEqual(plan["summary"]["keptByReason"], {"NotJudged": 3})
        text = self.ebb(*words[:-1], at(14400), code=3)[0]
        self.assertTrue(text.startswith("No plan was made, so none of the 3 nodes goes\n"), text)

    def test_nodes_of_a_group_in_cooldown_say_so(self):
        events = self.write("up.yaml", f"scaleUps:\n- {{group: ng, at: '{START}'}}\n")
        plan = self.round(60, "--events", events, "--scale-down-delay-type-local")
        self.assertEqual({(n["reason"], n["detail"]) for n in plan["keep"]},
                         {("NotUnneededOtherReason", "its group is in cooldown")})

    def test_an_annotation_shows_behind_a_reason_that_passes(self):
        full = [node("a"), node("b"), pod("p", "a", cpu="1900m"), pod("q", "b", cpu="2900m")]
        self.assertEqual(self.round(0, items=full)["keep"][0]["reason"], "NoPlaceToMovePods")
        full[0]["metadata"]["annotations"] = {
            "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
        kept = self.round(10, items=full)["keep"][0]
        self.assertEqual((kept["reason"], kept["recentReason"]),
                         ("RecentlyUnremovable", "NoPlaceToMovePods"))
        self.assertEqual(kept["detail"], "also annotated "
                         "cluster-autoscaler.kubernetes.io/scale-down-disabled")

    def test_the_table_shows_the_status_and_the_nodes_that_wait(self):
        out = self.ebb("plan", self.dump(SMALL), "--state", self.path("s"), "--now", START)[0]
        self.assertIn(f"Round 1 at {START}: ScaleDownNoNodeDeleted", out)
        self.assertIn("NotUnneededLongEnough", out)

    def test_nodes_that_are_being_deleted_count_for_the_budgets(self):
        cluster = [node(name) for name in "abcd"] + [pod("p" + name, name) for name in "abcd"]
        self.round(0, items=cluster)
        cluster[0] = node("a", taints=deleting(START_S + 600))
        plan = self.round(601, items=cluster)
        self.assertEqual(plan["inDeletion"], {"empty": [], "drain": ["a"]})
        self.assertEqual(plan["deleteNow"], {"empty": [], "drain": []})
        self.assertEqual(plan["displacedPods"], {"total": 1, "placed": 1})
        self.assertNotIn("a", [n["node"] for n in plan["unneeded"]])

    def test_one_node_drains_at_a_time(self):
        cluster = [node(name) for name in "abcdef"] + [pod("p" + name, name) for name in "abcdef"]
        self.round(0, "--max-drain-parallelism", "1", items=cluster)
        plan = self.round(601, "--max-drain-parallelism", "1", items=cluster)
        self.assertEqual(len(plan["deleteNow"]["drain"]), 1)
        self.assertGreater(len(plan["unneeded"]), 1)

    def test_the_old_flag_for_parallelism_is_warned_about_and_taken(self):
        self.round(0)
        dump = self.dump(SMALL)
        out, err = self.ebb("plan", dump, "--state", self.path("state.db"), "--now", at(601),
                            "--max-empty-bulk-delete=1", "-o", "json")
        self.assertIn("use --max-scale-down-parallelism", err)
        self.assertEqual(json.loads(out)["deleteNow"], {"empty": ["c"], "drain": []})

    def test_the_candidate_order_is_honoured(self):
        cluster = [node("a"), node("b"), node("c", cpu="1")]
        cluster += [pod("p", "a", cpu="1"), pod("q", "b", cpu="500m")]
        cluster += [pod("r", "c", cpu="400m")]
        first = {}
        for order in ["input", "least-utilized"]:
            plan = self.ebb_json("plan", self.dump(cluster), "--state", self.path(order + ".db"),
                                 "--now", START, "--candidate-order", order)
            first[order] = plan["unneeded"][0]["node"]
        self.assertEqual(first, {"input": "a", "least-utilized": "b"})

    def test_a_node_of_another_uid_restarts_its_timer_with_a_note(self):
        self.round(0)
        other = [node("a"), node("b"), node("c", uid="another"), pod("p", "a"), pod("q", "b")]
        out, err = self.ebb("plan", self.dump(other), "--state", self.path("state.db"), "--now",
                            at(300), "-o", "json")
        since = {n["node"]: n["since"] for n in json.loads(out)["unneeded"]}
        self.assertEqual(since, {"c": at(300), "a": START})
        self.assertIn("node c is another machine", err)

    def test_clocks_that_stand_or_run_backwards_give_a_warning_and_do_no_harm(self):
        self.round(0)
        for seconds, warning in [(0, "time is that of the last round"), (-60, "ran backwards by 1 min")]:
            now = START if seconds == 0 else "2026-06-01T11:59:00Z"
            out, err = self.ebb("plan", self.dump(SMALL), "--state", self.path("state.db"), "--now",
                                now, "-o", "json")
            self.assertIn(warning, err)
            self.assertEqual(json.loads(out)["unneeded"][0]["since"], START)

    def test_flags_that_count_only_in_rounds_are_warned_about_without_a_state(self):
        dump = self.dump(SMALL)
        err = self.ebb("plan", dump, "--scale-down-unneeded-time", "5m")[1]
        self.assertIn("these flags have no effect without --state: --scale-down-unneeded-time", err)
        for flag in ["--record", "--metrics", "--events"]:
            self.assertIn("--state", self.ebb("plan", dump, flag, self.path("x"), code=2)[1])
        self.assertIn("--explain",
                      self.ebb("plan", dump, "--state", self.path("s"), "--explain", "a", code=2)[1])

    def test_stats_are_printed_for_a_round_too(self):
        err = self.ebb("plan", self.dump(SMALL), "--state", self.path("s"), "--stats")[1]
        self.assertEqual(json.loads(err.splitlines()[-1])["nodes"], 3)


class EventsTest(RoundBase):

    def with_events(self, seconds, events, items=None, more=()):
        path = self.write("events.json", json.dumps(events))
        return self.round(seconds, "--events", path, *more, items=items)

    def refused(self, text):
        path = self.write("events.yaml", text)
        err = self.round(0, "--events", path, code=1)
        self.assert_one_line(err)
        self.assertIn("events.yaml: ", err)
        self.assertFalse(os.path.exists(self.path("state.db")))
        return err

    def test_growth_holds_every_deletion_back_for_its_time(self):
        self.round(0)
        held = self.with_events(601, {"scaleUps": [{"group": "ng", "at": at(500)}]})
        self.assertEqual(held["status"], "ScaleDownInCooldown")
        self.assertEqual(len(held["unneeded"]), 2)
        self.assertEqual(self.round(1099)["status"], "ScaleDownInCooldown")
        self.assertEqual(self.round(1100)["status"], "ScaleDownNodeDeleteStarted")

    def test_with_the_local_delay_growth_of_a_group_holds_back_only_that_group(self):
        cluster = [node("a", "one"), node("b", "two")]
        local = ["--scale-down-delay-type-local"]
        self.round(0, *local, items=cluster)
        plan = self.with_events(601, {"scaleUps": [{"group": "one"}]}, cluster, local)
        self.assertEqual(plan["deleteNow"]["empty"], ["b"])

    def test_a_failed_deletion_starts_a_cooldown_and_is_counted(self):
        self.round(0)
        metrics = self.path("metrics.prom")
        plan = self.with_events(
            601, {"deletionResults": [{"node": "a", "result": "FailedToEvictPods"}]},
            more=["--metrics", metrics])
        self.assertEqual(plan["status"], "ScaleDownInCooldown")
        with open(metrics, encoding="utf-8") as file:
            self.assertIn('failed_scale_down_total{reason="FailedToEvictPods"} 1', file.read())
        self.assertEqual(self.round(601 + 180)["status"], "ScaleDownNodeDeleteStarted")

    def test_a_failed_deletion_frees_its_budget_although_the_taint_is_still_there(self):
        cluster = [node(name) for name in "abcd"] + [pod("p" + name, name) for name in "abcd"]
        cluster[0] = node("a", taints=deleting(START_S))
        self.assertEqual(self.round(1, items=cluster)["inDeletion"]["drain"], ["a"])
        plan = self.with_events(
            2, {"deletionResults": [{"node": "a", "result": "FailedToDelete"}]}, cluster)
        self.assertEqual(plan["inDeletion"], {"empty": [], "drain": []})
        reasons = {kept["node"]: kept["reason"] for kept in plan["keep"]}
        self.assertEqual(reasons["a"], "CurrentlyBeingDeleted")

    def test_deletions_in_progress_spend_the_budgets(self):
        self.round(0)
        plan = self.with_events(
            601, {"deletionsInProgress": [{"node": "elsewhere", "drained": True}]})
        self.assertEqual(plan["deleteNow"], {"empty": ["c"], "drain": []})
        self.assertEqual(plan["inDeletion"]["drain"], ["elsewhere"])

    def test_a_deleted_node_that_the_dump_still_shows_takes_no_pods(self):
        plan = self.with_events(0, {"deletionResults": [{"node": "c", "result": "Ok"}]})
        self.assertEqual(plan["inDeletion"]["empty"], ["c"])
        for removal in plan["remove"]:
            for moved in removal["pods"]:
                self.assertNotEqual(moved["to"], "c")

    def test_room_is_kept_for_an_evicted_pod_until_it_is_forgotten(self):
        events = {"recentEvictions": [{"pod": pod("big", "gone", cpu="3800m"), "at": START}]}
        cluster = [node("a"), node("b"), pod("p", "a"), pod("q", "b")]
        held = self.with_events(0, events, cluster)
        self.assertEqual(held["status"], "ScaleDownNoRoomForPods")
        self.assertIn("default/big", held["message"])
        # The state remembers the eviction; no event reports it again.
        self.assertEqual(self.round(119, items=cluster)["status"], "ScaleDownNoRoomForPods")
        self.assertNotEqual(self.round(120, items=cluster)["status"], "ScaleDownNoRoomForPods")

    def test_flags_enable_the_autoscalers_looser_rules(self):
        events = {"recentEvictions": [{"pod": pod("big", "gone", cpu="3800m")}]}
        cluster = [node("a"), node("b"), pod("p", "a"), pod("q", "b")]
        plan = self.with_events(0, events, cluster, ["--displaced-pods", "best-effort"])
        self.assertEqual(len(plan["unneeded"]), 1)
        plan = self.with_events(10, events, cluster, ["--recent-eviction-ttl", "0s"])
        self.assertEqual(plan["displacedPods"], {"total": 0, "placed": 0})

    def test_nodes_reported_as_unready_can_make_the_cluster_unhealthy(self):
        cluster = [node(name) for name in "abcde"]
        plan = self.with_events(0, {"unreadyNodes": ["a", "b", "c", "d"]}, cluster)
        self.assertEqual(plan["status"], "ScaleDownClusterUnhealthy")
        self.assertIn("4 of 5 nodes", plan["message"])

    def test_unregistered_machines_count_for_the_size_of_their_group(self):
        groups = self.write("groups.yaml", "nodeGroups: [{name: ng, minSize: 3}]")
        more = ["--node-groups", groups]
        self.assertEqual(self.round(0, *more)["unneeded"], [])
        events = {"unregisteredNodes": [{"group": "ng", "count": 1}]}
        self.assertEqual(len(self.with_events(1, events, more=more)["unneeded"]), 2)

    def test_odd_events_give_warnings_and_do_no_harm(self):
        events = {"scaleUps": [{"group": "nowhere"}], "unreadyNodes": ["ghost"],
                  "deletionsInProgress": [{"node": "ghost"}],
                  "recentEvictions": [{"namespace": "default", "name": "lost"}]}
        path = self.write("events.json", json.dumps(events))
        err = self.ebb("plan", self.dump(SMALL), "--state", self.path("state.db"), "--now", START,
                       "--events", path)[1]
        for word in ["group nowhere", "node ghost is not in the cluster", "ghost is reported as in",
                     "pod default/lost"]:
            self.assertIn(word, err)

    def test_results_of_unknown_nodes_and_groups_give_warnings(self):
        # Symptom: a misspelled name began a cooldown of the whole cluster without a word.
        def warnings_of(*results):
            path = self.write("events.json", json.dumps({"deletionResults": results}))
            err = self.ebb("plan", self.dump(SMALL), "--state", self.path("state.db"), "--now", START,
                           "--events", path)[1]
            return [line for line in err.splitlines() if "deletionResults" in line]
        nowhere = "ebb: deletionResults: no node of group nowhere is in the cluster"
        self.assertEqual(
            warnings_of({"node": "ghost", "result": "FailedToDelete", "group": "nowhere"}),
            [nowhere, "ebb: deletionResults: node ghost is not in the cluster; its FailedToDelete begins the "
             "cooldown after failures all the same"])
        self.assertEqual(warnings_of({"node": "a", "result": "Ok", "group": "nowhere"}), [nowhere])
        self.assertEqual(warnings_of({"node": "ghost", "result": "Ok", "group": "nowhere"}), [], "it is gone")
        for results in ["Ok", "FailedToDelete"], ["Internal", "Ok"]:
            self.assertEqual(
                warnings_of(*[{"node": "a", "result": result} for result in results]),
                ["ebb: deletionResults: node a has the result Ok and a failure: both begin their cooldowns, and "
                 "the node takes no pods in this round"])

    def test_wrong_events_are_refused_with_their_place(self):
        for text, words in [
                ("scaleUps: [{at: 2026-06-01T12:00:00Z}]", ["scaleUps[0]", "no group"]),
                ("scaleUps: [{group: g, at: noon}]", ["scaleUps[0].at", '"noon" is not a time']),
                ("scaleUps: {}", ["scaleUps: is not a list"]),
                ("scaleups: []", ["scaleups", "did you mean scaleUps?"]),
                ("deletionResults: [{node: a, result: Fine}]", ["deletionResults[0].result", "Fine"]),
                ("deletionResults: [{node: a}]",
                 ["deletionResults[0]: has no result, which must be one of Ok, FailedToMarkToBeDeleted, "
                  "FailedToEvictPods, FailedToDelete, Internal"]),
                ("deletionsInProgress: [{node: a, drained: perhaps}]", ["[0].drained", "perhaps"]),
                ("{deletionsInProgress: [{node: a}], deletionResults: [{node: a, result: Ok}]}",
                 ["deletionsInProgress[0]", "deletionResults too"]),
                ("recentEvictions: [{pod: {apiVersion: v1, kind: Node, metadata: {name: n}}}]",
                 ["recentEvictions[0].pod", "not a Pod"]),
                ("recentEvictions: [{name: p}]", ["recentEvictions[0]", "no namespace"]),
                ("unregisteredNodes: [{group: g, count: -1}]", ["[0].count", "-1"]),
                ("unreadyNodes: [[]]", ["unreadyNodes[0]"]),
                ("- a", ["is not a map"]),
                ("a: [", ["line "]),
        ]:
            err = self.refused(text)
            for word in words:
                self.assertIn(word, err, text)

    def test_a_missing_events_file_is_named(self):
        self.assertIn("no.yaml", self.round(0, "--events", self.path("no.yaml"), code=1))


class StateTest(RoundBase):

    def test_files_that_are_not_states_are_rejected_and_kept(self):
        with sqlite3.connect(self.path("other.db")) as other:
            other.execute("CREATE TABLE t(x)")
        other.close()
        files = {"text": b"timers: none, and more text than a header has " * 9,
                 "other.db": self.bytes_of("other.db")}
        for name, content in files.items():
            with open(self.path(name), "wb") as file:
                file.write(content)
            err = self.ebb("plan", self.dump(SMALL), "--state", self.path(name), code=1)[1]
            self.assert_one_line(err)
            self.assertIn(name, err)
            self.assertEqual(self.bytes_of(name), content)

    def test_a_later_version_is_refused_and_kept(self):
        self.round(0)
        with sqlite3.connect(self.path("state.db")) as state:
            state.execute("PRAGMA user_version = 99")
        state.close()
        before = self.bytes_of("state.db")
        self.assertIn("later ebb", self.round(1, code=1))
        self.assertEqual(self.bytes_of("state.db"), before)

    def test_a_damaged_file_is_refused_and_kept(self):
        many = [node(f"n{i}") for i in range(800)]
        self.round(0, items=many)
        damaged = bytearray(self.bytes_of("state.db"))
        for i in range(8192, len(damaged), 512):
            damaged[i] ^= 0xff
        with open(self.path("state.db"), "wb") as file:
            file.write(damaged)
        self.assertIn("state.db", self.round(1, items=many, code=1))
        self.assertEqual(self.bytes_of("state.db"), bytes(damaged))

    def test_bad_input_leaves_the_state_as_it_was(self):
        self.round(0)
        before = self.bytes_of("state.db")
        self.round(5, items=[node("a"), pod("p", "a", cpu="4x")], code=1)
        self.assertEqual(self.bytes_of("state.db"), before)
        self.assertEqual(self.round(601)["round"], 2)

    def test_state_rounds_limits_how_many_rounds_are_kept(self):
        for i in range(5):
            self.round(i, "--state-rounds", "3")
        with sqlite3.connect(self.path("state.db")) as state:
            rows = state.execute("SELECT round, length(input_digest) FROM rounds").fetchall()
        state.close()
        self.assertEqual(rows, [(3, 32), (4, 32), (5, 32)])

    def test_equal_input_of_recorded_rounds_has_an_equal_digest(self):
        record = ("--record", self.path("record.db"))
        self.round(0, *record)
        self.round(10, *record)
        self.round(20, *record, items=SMALL + [pod("r", "a")])
        with sqlite3.connect(self.path("state.db")) as state:
            digests = [row[0] for row in state.execute("SELECT input_digest FROM rounds")]
        state.close()
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[1], digests[2])

    def test_a_round_killed_at_any_point_is_whole_and_later_rounds_are_the_same(self):
        """Rounds of one state are killed and repeated; rounds of a second state never are.  Both must end equal."""
        many = [node(f"n{i}") for i in range(300)] + [pod(f"p{i}", f"n{i}") for i in range(300)]
        dump = self.dump(many)

        def words(state, i):
            return ["plan", dump, "--state", self.path(state), "--now", at(60 * i), "-o", "json"]

        started = time.monotonic()
        self.ebb(*words("calm.db", 0))
        took = time.monotonic() - started
        self.ebb(*words("killed.db", 0))
        for i in range(1, 12):
            with subprocess.Popen([EBB, *words("killed.db", i)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                time.sleep(took * i / 11)
                process.send_signal(signal.SIGKILL)
            with sqlite3.connect(self.path("killed.db")) as state:
                rounds = state.execute("SELECT max(round) FROM rounds").fetchone()[0]
                held = dict(state.execute("SELECT key, value FROM state").fetchall())
            state.close()
            self.assertIn(rounds, [i, i + 1])
            self.assertEqual(held["rounds"], rounds)
            calm = self.ebb(*words("calm.db", i))[0]
            if rounds == i:
                self.assertEqual(self.ebb(*words("killed.db", i))[0], calm)


class ConcurrentRoundsTest(RoundBase):

    @staticmethod
    def ends_at_once(commands, state, hold):
        """Runs the commands at once; returns [stdout, stderr, exit code] for each.

        For the first `hold` seconds no command may write `state`, so that all have read it by then on a fast machine.
        """
        keeper = None
        if hold > 0:
            keeper = sqlite3.connect(state, isolation_level=None)
            keeper.execute("BEGIN IMMEDIATE")  # Other processes may read, and wait 5 s to write.
        processes = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                     for words in commands]
        if keeper is not None:
            time.sleep(hold)
            keeper.execute("ROLLBACK")
            keeper.close()
        return [(*process.communicate(), process.returncode) for process in processes]

    def test_two_concurrent_rounds_run_one_after_the_other_or_one_is_refused(self):
        state = self.path("both.db")
        words = [EBB, "plan", self.dump(SMALL), "--state", state, "-o", "json", "--now"]
        made = 0
        refused = 0
        for i in range(50):
            if i >= 25 and refused > 0:  # Until some commands ran at the same time.
                break
            hold = 0 if i % 5 < 2 else 0.2 if refused > 0 else min(4, 0.1 * i)
            rounds = []
            for out, err, code in self.ends_at_once([[*words, at(i)]] * 2, state, hold):
                if code == 0:
                    rounds.append(json.loads(out)["round"])
                else:
                    self.assertEqual((code, out), (1, ""))
                    self.assertIn(f"ebb: {state}: another round was made from the same state "
                                  "meanwhile; run again\n", err)
                    refused += 1
            self.assertEqual(sorted(rounds), list(range(made + 1, made + 1 + len(rounds))))
            self.assertGreater(len(rounds), 0)
            made += len(rounds)
            if i % 5 == 4:  # First rounds compete too.
                with sqlite3.connect(state) as kept:
                    numbers = [row[0] for row in kept.execute("SELECT round FROM rounds")]
                kept.close()
                self.assertEqual(numbers, list(range(1, made + 1)))
                os.remove(state)
                made = 0
        self.assertGreater(refused, 0)

    def test_the_record_of_two_concurrent_rounds_has_the_one_that_was_made(self):
        words = [EBB, "plan", self.dump(SMALL), "--state", self.path("state.db"), "--record",
                 self.path("record.db"), "-o", "json", "--now"]
        made = {}
        refused = 0
        for i in range(50):  # Until some commands ran at the same time.
            if refused >= 5:
                break
            times = [at(100 * i), at(100 * i + 1)]
            hold = 0 if i == 0 else 0.2 if refused > 0 else min(4, 0.1 * i)
            for out, err, code in self.ends_at_once([[*words, now] for now in times],
                                                    self.path("state.db"), hold):
                if code == 0:
                    plan = json.loads(out)
                    made[plan["round"]] = plan["now"]
                else:
                    self.assertEqual((code, out), (1, ""))
                    self.assertIn("run again", err)
                    refused += 1
        self.assertGreater(refused, 0)
        with sqlite3.connect(self.path("record.db")) as record:
            numbers = [row[0] for row in record.execute("SELECT round FROM rounds")]
        record.close()
        decided = {number: json.loads(self.ebb("state", "show", self.path("record.db"),
                                               "--round", str(number))[0]) for number in numbers}
        self.assertEqual({number: each["now"] for number, each in decided.items()}, made)
        self.assertIn(f"{len(made)} of {len(made)} rounds identical",
                      self.ebb("replay", self.path("record.db"))[0])

    def test_a_state_that_cannot_be_saved_is_kept_and_no_plan_is_printed(self):
        """A limit on the size of files stands for a full disk."""
        self.round(0)
        many = [node(f"n{i}") for i in range(1500)] + SMALL
        dump = self.dump(many)
        for extra in [[], ["--record", self.path("full.record")]]:
            before = self.bytes_of("state.db")

            def limit(size=len(before) + 4096):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

            ended = subprocess.run(
                [EBB, "plan", dump, "--state", self.path("state.db"), "--now", at(60), *extra],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                preexec_fn=limit)
            self.assertEqual((ended.returncode, ended.stdout), (1, ""), ended.stderr)
            self.assertIn("cannot be written", ended.stderr)
            self.assertEqual(self.bytes_of("state.db"), before)
        self.assertEqual(self.round(70)["round"], 2)

    def test_a_read_only_state_is_an_error_before_anything_is_planned(self):
        self.round(0)
        os.chmod(self.path("state.db"), 0o400)
        if os.access(self.path("state.db"), os.W_OK):
            self.skipTest("root may write everything")
        self.assertIn("may not be written", self.round(1, code=1))


    def test_a_round_whose_output_is_lost_is_made_and_says_so(self):
        self.round(0)
        for i, more in enumerate([[], ["--metrics", self.path("m.prom")]]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(
                    [EBB, "plan", self.dump(SMALL), "--state", self.path("state.db"), "--now",
                     at(601 + i), "--assume-complete", "-o", "json", *more],
                    stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"round {i + 2} was made and saved", done.stderr)
        self.assertTrue(os.path.exists(self.path("m.prom")))
        again = self.round(603)
        self.assertEqual(again["round"], 4)
        self.assertEqual(again["deleteNow"], {"empty": ["c"], "drain": ["a"]})

    def test_unwritable_metrics_are_an_error_before_the_round_is_made(self):
        self.round(0)
        before = self.bytes_of("state.db")
        self.assertIn("nowhere", self.round(10, "--metrics", self.path("nowhere/m.prom"), code=1))
        self.assertEqual(self.bytes_of("state.db"), before)
        err = self.round(10, "--metrics", "/dev/full", code=1)
        self.assertIn("/dev/full: No space left on device; round 2 was made", err)
        self.assertEqual(self.round(20)["round"], 3)

    def test_names_of_states_are_names_of_files(self):
        here = self.folder.name
        for name in [":memory:", "file:x.db?mode=memory"]:
            for number in (1, 2):
                done = subprocess.run(
                    [EBB, "plan", self.dump(SMALL), "--state", name, "--record", name + "r",
                     "--now", at(number), "-o", "json"],
                    cwd=here, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["round"], number)
            self.assertTrue(os.path.exists(self.path(name)))
        done = subprocess.run(
            [EBB, "plan", self.dump(SMALL), "--state", "file:u.db", "--metrics", "u.db", "--now",
             at(0)], cwd=here, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.bytes_of("file:u.db").startswith(b"SQLite format 3"))
        self.assertTrue(self.bytes_of("u.db").startswith(b"#"))


class MetricsTest(RoundBase):

    def test_counters_continue_across_processes_under_the_autoscalers_names(self):
        metrics = self.path("metrics.prom")
        for seconds in [0, 601, 602]:
            self.round(seconds, "--metrics", metrics)
        with open(metrics, encoding="utf-8") as file:
            text = file.read()
        values = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        prefix = "cluster_autoscaler_"
        self.assertEqual(values[prefix + 'scaled_down_nodes_total{reason="empty"}'], 1)
        self.assertEqual(values[prefix + 'scaled_down_nodes_total{reason="underutilized"}'], 1)
        self.assertEqual(values['ebb_rounds_total{status="ScaleDownNodeDeleteStarted"}'], 2)
        self.assertEqual(values['ebb_rounds_total{status="ScaleDownNoNodeDeleted"}'], 1)
        self.assertEqual(values[prefix + "unneeded_nodes_count"], 2)
        self.assertEqual(values[prefix + "max_node_skip_eval_duration_seconds"], 0)
        duration = prefix + 'function_duration_seconds_count{function="%s"}'
        self.assertEqual([values[duration % f]
                          for f in ["scaleDown", "scaleDown:empty", "scaleDown:nonEmpty"]],
                         [3, 2, 2])
        self.assertIn("# TYPE cluster_autoscaler_function_duration_seconds histogram", text)

    def test_metrics_can_go_to_standard_output(self):
        out = self.ebb("plan", self.dump(SMALL), "--state", self.path("s"), "--now", START, "-o",
                       "name", "--metrics", "-")[0]
        self.assertIn("cluster_autoscaler_unneeded_nodes_count 2", out)

    def test_the_wait_of_the_longest_skipped_node_is_in_every_output(self):
        many = [node(f"n{i}") for i in range(6)]
        many += [pod(f"p{i}", f"n{i}", safe=False) for i in range(6)]
        metrics = self.path("metrics.prom")
        words = ["plan", self.dump(many), "--state", self.path("state.db"), "--metrics", metrics,
                 "--scale-down-simulation-timeout", "0s", "--min-nodes-per-pass", "2",
                 "--unremovable-node-recheck-timeout", "0s"]
        self.ebb(*words, "--now", at(0))
        plan = self.ebb_json(*words, "--now", at(10))
        self.assertEqual(plan["summary"]["termination"], "deadline")
        self.assertEqual((plan["longestSkippedNode"], plan["longestSkippedSeconds"]), ("n4", 10))
        with open(metrics, encoding="utf-8") as file:
            self.assertIn("max_node_skip_eval_duration_seconds 10", file.read())
        # n4 and n5 had their turn; n0 has waited since then.
        table = self.ebb(*words, "--now", at(25))[0]
        self.assertIn("Longest skipped: n0 has waited 15 s for its turn", table)


class ReplayTest(RoundBase):

    def record(self, seconds, *more, items=None):
        return self.round(seconds, "--record", self.path("record.db"), *more, items=items)

    def test_recorded_rounds_are_byte_identical(self):
        groups = self.write("groups.yaml", "nodeGroups: [{name: ng, minSize: 1}]")
        events = self.write("events.yaml", "unreadyNodes: [b]\nrecentEvictions:\n- pod: "
                            + json.dumps(pod("evicted", "gone")) + "\n")
        self.round(0)  # Not recorded: a record may begin in the middle.
        self.record(10, "--node-groups", groups, "--max-drain-parallelism", "2")
        self.record(20, "--events", events)
        self.record(30, "--candidate-order", "fewest-pods")
        self.record(601, items=SMALL[:4])
        for name in ["groups.yaml", "events.yaml", "dump.json", "state.db"]:
            os.remove(self.path(name))
        out = self.ebb("replay", self.path("record.db"))[0]
        self.assertIn("4 of 4 rounds identical", out)

    def test_rounds_that_a_deadline_cut_are_identical_too(self):
        many = [node(f"n{i}") for i in range(60)] + [pod(f"p{i}", f"n{i}") for i in range(60)]
        cut = 0
        for i in range(4):
            plan = self.record(i, "--scale-down-simulation-timeout", "10us",
                               "--min-nodes-per-pass", "3", items=many)
            cut += plan["summary"]["termination"] == "deadline"
        self.assertGreater(cut, 0)
        page = self.path("replay.html")
        self.assertIn("4 of 4 rounds identical", self.ebb("replay", self.path("record.db"), "--report", page)[0])
        with open(page, encoding="utf-8") as file:
            text = file.read()
        story = json.loads(text.split('id="data">\n')[1].split("\n</script>")[0])["story"]
        self.assertEqual(story["headline"], "4 of 4 rounds identical")
        rounds = story["parts"][1]["items"][0]["rows"]
        self.assertEqual([(row[0], row[-1]) for row in rounds], [(str(n), "identical") for n in range(1, 5)])
        self.assertEqual(len(story["parts"][0]["items"][0]["lines"][0]["points"]), 4)
        self.assertIn("nowhere", self.ebb("replay", self.path("record.db"), "--report", "/nowhere/p.html", code=1)[1])

    def test_a_record_is_another_file_than_the_state(self):
        self.assertIn("is both --state and --record",
                      self.round(0, "--record", self.path("state.db"), code=1))

    def test_a_record_with_a_gap_is_refused(self):
        self.record(0)
        self.round(10)
        before = self.bytes_of("record.db")
        err = self.round(20, "--record", self.path("record.db"), code=1)
        self.assertIn("ends with round 1, and this is round 3", err)
        self.assertEqual(self.bytes_of("record.db"), before)
        self.assertEqual(self.round(20)["round"], 3)

    def test_replay_prints_the_first_difference(self):
        self.record(0)
        self.record(10)
        decision = self.ebb("state", "show", self.path("record.db"), "--round", "2")[0].strip()
        self.assertIn('"since":"2026-06-01T12:00:00Z"', decision)
        other = decision.replace('"since":"2026-06-01T12:00:00Z"', '"since":"2026-06-01T12:00:01Z"')
        with sqlite3.connect(self.path("record.db")) as record:
            record.execute("UPDATE rounds SET decision = ? WHERE round = 2", (packed(other),))
        record.close()
        out = self.ebb("replay", self.path("record.db"), code=1)[0]
        self.assertIn("round 1 at 2026-06-01T12:00:00Z: identical", out)
        self.assertIn('round 2 at 2026-06-01T12:00:10Z: DIFFERENT: unneeded[0].since: recorded '
                      '"2026-06-01T12:00:01Z", now "2026-06-01T12:00:00Z"', out)
        self.assertIn("1 of 2 rounds identical", out)

    def test_a_record_that_lacks_rounds_is_refused(self):
        for i in range(3):
            self.record(10 * i)
        for rows, problem in [("round = 2", "round 2 is missing"), ("round = 1", "round 1 is missing"),
                              ("1", "holds no round")]:
            with sqlite3.connect(self.path("record.db")) as record:
                record.execute("DELETE FROM rounds WHERE " + rows)
            record.close()
            self.assertIn(problem, self.ebb("replay", self.path("record.db"), code=1)[1])

    def test_files_that_are_not_records_are_rejected(self):
        self.assertIn("nowhere", self.ebb("replay", self.path("nowhere"), code=1)[1])
        self.assertIn("no.db", self.ebb("replay", self.write("no.db", "x" * 500), code=1)[1])
        self.round(0)
        self.assertIn("is a state file", self.ebb("replay", self.path("state.db"), code=1)[1])


class MessageTest(EbbTest):
    """Every message is one line, whatever it quotes, and quoted text cannot forge another line."""

    FORGED = "x\nebb: wrote 9 nodes to all.json\x1b[2J\u202e"

    def assert_not_forged(self, *words, code=1):
        err = self.ebb(*words, code=code)[1]
        self.assertNotEqual(err, "")
        for line in err.splitlines():
            self.assertFalse(line.startswith("ebb: wrote"), err)
        for hidden in ["\x1b", "\u202e", "\r"]:
            self.assertNotIn(hidden, err)
        return err

    def test_names_of_files_and_values_of_flags_forge_no_line(self):
        dump = self.dump(SMALL)
        bad = self.write(self.FORGED.replace("/", ""), "not: [a dump")
        self.assert_not_forged("plan", self.path("no\nebb: wrote it"))
        for words in [("plan", bad), ("import", bad), ("filter", bad, "--pod", "a/b"),
                      ("replay", bad), ("state", "show", bad),
                      ("plan", dump, "--node-groups", bad),
                      ("plan", dump, "--state", self.path("s.db"), "--events", bad)]:
            self.assert_not_forged(*words)
        for flag in ["--now", "--candidate-order", "-o", "--scale-down-utilization-threshold",
                     "--nodes", "--threads", "--max-input-bytes", "--" + self.FORGED]:
            self.assert_not_forged("plan", dump, flag, self.FORGED, code=2)
        self.assert_not_forged("plan", dump, "--explain", self.FORGED)
        self.assert_not_forged(self.FORGED, code=2)
        self.assert_not_forged("help", self.FORGED, code=2)

    def test_texts_of_objects_forge_no_line(self):
        forged = self.FORGED
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                  "metadata": {"name": "b", "namespace": "default"}}
        expressions = [{"key": forged, "operator": forged, "values": [forged]}]
        for bad in [
                node("d") | {"metadata": {"name": "d", "creationTimestamp": forged}},
                node(forged), pod(forged, "a"), pod("r", forged), node("d", cpu=forged),
                node("d") | {"status": {"allocatable": {forged: "x"}}},
                budget | {"spec": {"selector": {"matchExpressions": expressions}}},
                budget | {"apiVersion": "v1"},
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", forged: 1,
                                                                 "labels": {forged: 5}}}]:
            self.assert_not_forged("plan", self.dump(SMALL + [bad]))

    def test_settings_forge_no_line(self):
        dump = self.dump(SMALL)
        quoted = json.dumps(self.FORGED)
        for text in [f"{quoted}: 1", f"nodeGroups: [{{{quoted}: 1}}]",
                     f"nodeGroups: [{{name: {quoted}, minSize: x}}]",
                     f"nodeGroups: [{{name: a, minSize: {quoted}}}]"]:
            groups = self.write("groups.yaml", text)
            self.assert_not_forged("plan", dump, "--node-groups", groups)
        state = self.path("state.db")
        for text in [f"{quoted}: 1", f"scaleUps: [{{{quoted}: 1}}]",
                     f"scaleUps: [{{group: a, at: {quoted}}}]",
                     f"recentEvictions: [{{pod: {{apiVersion: v1, kind: Pod, metadata: "
                     f"{{name: {quoted}}}}}}}]"]:
            events = self.write("events.yaml", text)
            self.assert_not_forged("plan", dump, "--state", state, "--events", events)
        events = self.write("events.yaml", f"unreadyNodes: [{quoted}]")
        self.assert_not_forged("plan", dump, "--state", state, "--events", events, code=0)

    def test_data_escapes_invisible_characters_and_keeps_its_value(self):
        zone = "a\u202eb\u00ad\U000e0041"
        one = node("c")
        one["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone
        dump = self.dump(SMALL[:2] + [one] + SMALL[3:])
        for form in ["json", "yaml"]:
            out = self.ebb("plan", dump, "-o", form)[0]
            self.assertIn("\\u202e", out)
            self.assertNotIn("\u202e", out)
            if form == "json":
                self.assertEqual(json.loads(out)["remove"][0]["zone"], zone)


class ContradictionTest(EbbTest):

    def test_dumps_of_two_clusters_are_rejected_under_any_assumption(self):
        def stamped(item, cluster):
            item = json.loads(json.dumps(item))
            item["metadata"] |= {"uid": f"{cluster}-{item['metadata']['name']}",
                                 "resourceVersion": "7"}
            return item
        one = self.dump([stamped(item, "one") for item in SMALL], "one.json")
        two = self.dump([stamped(item, "two") for item in SMALL], "two.json")
        for words in [("plan", one, two), ("plan", two, one, "--assume-complete"),
                      ("plan", one, two, "--state", self.path("s.db")),
                      ("import", one, two, "-o", self.path("all.pb")),
                      ("filter", one, two, "--pod", "default/p")]:
            err = self.ebb(*words, code=1)[1]
            self.assertIn("Node a: comes twice with different UIDs", err)
            self.assertIn("one-a", err)
            self.assertIn("two-a", err)
        self.ebb("plan", one, one, "--allow-incomplete")

    def test_keys_that_come_twice_are_refused_with_their_line(self):
        dump = self.dump(SMALL)
        for text, line in [("nodeGroups: [{name: ng, minSize: 1}]\nnodeGroups: []\n", 2),
                           ("nodeGroups:\n- name: ng\n  minSize: 3\n  minSize: 0\n", 4),
                           ("nodeGroups:\n- name: ng\n  nodeSelector:\n    a: b\n    a: c\n", 5)]:
            groups = self.write("groups.yaml", text)
            err = self.ebb("plan", dump, "--node-groups", groups, code=1)[1]
            self.assertIn(f"line {line}: ", err)
            self.assertIn("occurs twice in one map", err)
        groups = self.write("groups.yaml", "nodeGroups: []\n---\nnodeGroups: [{name: ng}]\n")
        self.assertIn("a second document", self.ebb("plan", dump, "--node-groups", groups, code=1)[1])
        groups = self.write("groups.yaml", "nodeGroups: [{name: ng, minSize: 010}]\n")
        self.assertIn("is not a number of nodes",
                      self.ebb("plan", dump, "--node-groups", groups, code=1)[1])
        groups = self.write("groups.yaml", "# ours\n---\nnodeGroups: [{name: ng}]\n...\n---\n")
        self.ebb("plan", dump, "--node-groups", groups)
        events = self.write("events.yaml", "unreadyNodes: [a]\nunreadyNodes: [b]\n")
        err = self.ebb("plan", dump, "--state", self.path("s.db"), "--events", events, code=1)[1]
        self.assertIn("line 2: unreadyNodes occurs twice in one map", err)

    def test_a_budget_list_of_another_group_does_not_prove_that_there_are_none(self):
        dump = self.dump(SMALL)
        budgets = self.write("pdb.json", json.dumps(
            {"kind": "PodDisruptionBudgetList", "apiVersion": "v1", "metadata": {}, "items": []}))
        out, err = self.ebb("plan", dump, budgets, code=1)[:2]
        self.assertEqual(out, "")
        self.assertIn("PodDisruptionBudget of policy is", err)

    def test_a_custom_resource_with_items_adds_no_node(self):
        dump = self.dump(SMALL)
        for items in ([node("forged")], ["10.0.0.1"]):
            resource = self.write("cr.json", json.dumps(
                {"apiVersion": "evil.io/v1", "kind": "AllowList", "metadata": {"name": "x"},
                 "items": items}))
            self.assertEqual(self.ebb("plan", dump, resource, "-o", "name")[0],
                             self.ebb("plan", dump, "-o", "name")[0])

    def test_a_pod_of_two_budgets_gives_a_warning_and_is_explained(self):
        labelled = pod("p", "a")
        labelled["metadata"]["labels"] = {"app": "p"}
        budgets = [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"selector": {"matchLabels": {"app": "p"}}},
                    "status": {"disruptionsAllowed": 1}} for name in ["one", "two"]]
        dump = self.dump(SMALL[:3] + [labelled, SMALL[4]] + budgets)
        plan = self.ebb_json("plan", dump, "--assume-complete", "--now", START)
        codes = [warning["code"] for warning in plan["summary"]["warnings"]]
        self.assertEqual(codes, ["PodsWithSeveralBudgets"])
        self.assertIn("default/p", plan["summary"]["warnings"][0]["message"])
        # The warning does not change the plan, which is the autoscaler's.
        self.assertEqual([removal["node"] for removal in plan["remove"]], ["c", "a"])
        self.assertIn("2 budgets select it", self.ebb("plan", dump, "--explain", "a")[0])
        pods = self.explain_json(dump, "--explain", "a")[0]["pods"]
        self.assertEqual(pods[0]["selectedBy"], ["one", "two"])

    def test_the_state_of_another_cluster_is_refused_or_gives_a_warning(self):
        def cluster(uid, suffix=""):
            items = [node(name, uid=f"uid-{name}{suffix}") for name in "abc"] + SMALL[3:]
            if uid:
                items.append({"apiVersion": "v1", "kind": "Namespace",
                              "metadata": {"name": "kube-system", "uid": uid}})
            return self.dump(items)
        state = self.path("state.db")
        words = ["--state", state, "--assume-complete", "-o", "json", "--now"]
        self.ebb("plan", cluster("one"), *words, at(0))
        self.ebb("plan", cluster("one"), *words, at(10))
        with open(state, "rb") as file:
            before = file.read()
        err = self.ebb("plan", cluster("two"), *words, at(20), code=1)[1]
        self.assertIn("is the state of another cluster", err)
        with open(state, "rb") as file:
            self.assertEqual(file.read(), before)
        self.ebb("plan", cluster("one"), *words, at(20))
        # Without namespaces the nodes show it: all came back with other UIDs.
        os.remove(state)
        self.assertNotIn("another cluster", self.ebb("plan", cluster(""), *words, at(0))[1])
        self.assertNotIn("another cluster", self.ebb("plan", cluster(""), *words, at(10))[1])
        out, err = self.ebb("plan", cluster("", "-new"), *words, at(20))
        self.assertIn("seems to be of another cluster", err)
        codes = [warning["code"] for warning in json.loads(out)["summary"]["warnings"]]
        self.assertIn("StateOfAnotherCluster", codes)

    def test_missing_files_and_empty_names_are_rejected(self):
        dump = self.dump(SMALL)
        before = os.path.exists("/dev/full-journal")  # Another user of the machine may have made it.
        for words in [("plan", dump, "--state", "/dev/full"),
                      ("plan", dump, "--state", self.path("s.db"), "--record", "/dev/full"),
                      ("replay", "/dev/full"), ("state", "show", "/dev/full")]:
            self.assertIn("/dev/full: is not a regular file", self.ebb(*words, code=1)[1])
        self.assertEqual(os.path.exists("/dev/full-journal"), before)
        for words in [("gen", "uniform", "--nodes", "1", "-o", ""), ("import", dump, "-o", ""),
                      ("import", dump, "--output="), ("plan", ""), ("plan", dump, "--state", ""),
                      ("plan", dump, "--node-groups", ""), ("replay", ""), ("state", "show", ""),
                      ("plan", dump, "--state", self.path("s.db"), "--metrics", "")]:
            self.assertEqual(self.ebb(*words, code=2)[0], "", words)

    def test_a_record_whose_writer_was_killed_is_replayed(self):
        dump, record = self.dump(SMALL), self.path("record.db")
        for second in (0, 10):
            self.ebb("plan", dump, "--state", self.path("state.db"), "--record", record,
                     "--now", at(second))
        child = os.fork()
        if child == 0:
            database = sqlite3.connect(record, isolation_level=None)
            for sql in ["PRAGMA cache_size = 5", "BEGIN", "UPDATE rounds SET now_s = 1",
                        "CREATE TABLE filler(x)"] + ["INSERT INTO filler VALUES(randomblob(9000))"] * 99:
                database.execute(sql)
            os._exit(0)
        os.waitpid(child, 0)
        self.assertTrue(os.path.exists(record + "-journal"))
        self.assertIn("2 of 2 rounds identical", self.ebb("replay", record)[0])


class RunTest(EbbTest):
    def test_a_dry_run_says_what_it_would_do_and_ends_at_sigterm(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen(
                    [EBB, "run", "--input", self.dump(SMALL), "--dry-run", "--scan-interval", "1s",
                     "--scale-down-unneeded-time", "0s"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
                giving_up = threading.Timer(120, child.kill)
                giving_up.start()
                try:
                    steps = []
                    for line in child.stdout:
                        steps.append(line.split(" ", 1)[1])
                        if steps[-1] == "delete c\n":
                            break
                    child.send_signal(number)
                    rest, err = rest_of(child)
                finally:
                    giving_up.cancel()
                    child.kill()
            self.assertEqual(child.returncode, 0, err)
            self.assertIn("taint c\n", steps)
            self.assertRegex(err, r"ebb run: ends; \d nodes? would be gone")
            # From then on what would be done counts as done, and is printed once.
            steps += [line.split(" ", 1)[1] for line in rest.splitlines(True)]
            self.assertEqual(len(steps), len(set(steps)), steps)

    # Symptom: with a budget that allows one disruption, a dry run removed one of six nodes; a loop
    # removes five.
    def test_a_dry_run_continues_when_evicted_pods_run_again(self):
        dump = pathlib.Path(__file__).resolve().parent.parent / "cases" / "waves.json"
        with subprocess.Popen([EBB, "run", "--input", dump, "--dry-run", "--scan-interval", "1s",
                               "--scale-down-unneeded-time", "0s"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            giving_up = threading.Timer(120, child.kill)
            giving_up.start()
            try:
                gone = []
                for line in child.stdout:
                    if " delete " in line:
                        gone.append(line.split()[-1])
                    if len(gone) == 5:
                        break
                child.send_signal(signal.SIGTERM)
                err = child.communicate()[1]
            finally:
                giving_up.cancel()
                child.kill()
        self.assertEqual(len(set(gone)), 5, err)
        self.assertIn("counts as running again in the next turn", err)
        self.assertIn("ends; 5 nodes would be gone", err)

    def test_turns_of_a_dry_run_are_objects_with_log_json(self):
        with subprocess.Popen(
                [EBB, "run", "--input", self.dump(SMALL), "--dry-run", "--scan-interval", "1s",
                 "--log", "json"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            giving_up = threading.Timer(120, child.kill)
            giving_up.start()
            try:
                turn = next(json.loads(line) for line in child.stderr if line.startswith("{"))
                child.send_signal(signal.SIGTERM)
                child.communicate()
            finally:
                giving_up.cancel()
                child.kill()
        self.assertEqual(child.returncode, 0)
        self.assertEqual((turn["nodes"], turn["begun"]), (3, []), turn)

    POOL = """pools:
- name: general
  policy: clusterman
  nodes: {pool: general}
  cloud: {min: 1, max: 60}
  period: 600
  options:
    autoscaling: {setpoint: 0.7, target_capacity_margin: 0.1}
    scaling_limits: {min_capacity: 1, max_capacity: 60, max_weight_to_add: 10,
                     max_weight_to_remove: 10, max_tasks_to_kill: 1000}
    draining_enabled: true
    autoscale_signal: {internal: true, period_minutes: 10}
"""
    GROUPS = "nodeGroups: [{name: general, nodeSelector: {pool: general}}]\n"

    def simulate(self, pools, *words):
        groups = self.write("groups.yaml", self.GROUPS)
        out = self.ebb("run", "--simulate", "--nodes", "60", "--hours", "36", "-o", "json",
                       "--node-groups", groups, "--pools", pools, *words)[0]
        return json.loads(out)

    def test_the_cluster_of_a_dump_is_simulated(self):
        waves = os.path.join(DOCS, "../tests/cases/waves.json")
        words = ["run", "--simulate", "--input", waves, "--hours", "3", "--load", "none"]
        result = json.loads(self.ebb(*words, "-o", "json")[0])
        self.assertEqual(result, json.loads(self.ebb(*words, "-o", "json")[0]))
        self.assertEqual((result["with"]["nodesAtFirst"], result["with"]["nodesAtLast"],
                          result["with"]["nodesFewest"], result["without"]["nodesAtLast"]),
                         (6, 1, 1, 6))
        self.assertEqual(result["simplified"], [])
        page = self.path("page.html")
        text = self.ebb(*words, "--report", page)[0]
        self.assertIn("6 nodes of " + waves + " for 3 h, seed 1", text)
        self.assertIn("The time begins at 2026-11-26T09:00:00Z", text)
        self.assertTrue(os.path.exists(page))

    def test_what_a_simulation_of_a_dump_simplifies_is_listed(self):
        bare = pod("bare", "b")
        bare["metadata"]["ownerReferences"] = []
        gated = pod("gated", "")
        gated["spec"].pop("nodeName", None)
        gated["status"] = {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}
        ended = pod("ended", "a")
        ended["status"]["phase"] = "Succeeded"
        dump = self.dump([*SMALL, bare, gated, ended])
        result = json.loads(self.ebb("run", "--simulate", "--input", dump, "--hours", "1",
                                     "--allow-incomplete", "-o", "json")[0])
        lines = {each["what"].split(":")[0]: each for each in result["simplified"]}
        self.assertEqual(lines["pods that have ended"]["objects"], 1)
        self.assertEqual(lines["pods with scheduling gates"]["first"], "default/gated")
        self.assertGreaterEqual(lines["pods without a controller"]["objects"], 1)

    def test_a_dump_that_cannot_be_simulated_is_an_error_that_names_it(self):
        missing = self.path("missing.json")
        error = self.ebb("run", "--simulate", "--input", missing, code=1)[1]
        self.assertIn(missing, error)
        self.assert_one_line(error)
        none = self.write("none.json", '{"apiVersion": "v1", "kind": "List", "items": []}')
        self.assertIn("no nodes", self.ebb("run", "--simulate", "--input", none, code=1)[1])

    def test_a_simulated_pool_grows_and_shrinks_under_its_policy(self):
        pools, page = self.write("pools.yaml", self.POOL), self.path("page.html")
        result = self.simulate(pools, "--report", page)
        self.assertEqual(result["version"], "ebb.run.simulate/v1")
        pool = result["pools"][0]
        self.assertEqual((pool["pool"], pool["policy"], pool["failsafe"]), ("general", "clusterman", False))
        self.assertGreater(pool["grew"], 0)
        self.assertGreater(pool["shrank"], 0)
        for decision in pool["decisions"]:
            self.assertLessEqual(decision.get("grow", {"machines": 0})["machines"], 60)
            self.assertGreaterEqual(decision["nodes"] - decision["leaving"], 1, decision)
        self.assertEqual(sum(d["leaving"] for d in pool["decisions"]), pool["nodesToGo"])
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertIn("pool general, clusterman: ", html)
        self.assertIn(", group general is to have ", html)
        # The same arguments give the same figures.
        self.assertEqual(self.simulate(pools), result)

    def test_a_dump_is_sized_in_a_dry_run(self):
        dump = self.dump(SMALL)
        pools = self.write("pools.yaml", self.POOL)
        self.assertEqual(self.ebb("policy", "check", pools)[0], "1 pool is right\n")
        self.ebb("gen", "company", "--nodes", "40", "--seed", "1", "-o", dump)
        with subprocess.Popen([EBB, "run", "--input", dump, "--dry-run", "--scan-interval", "1s",
                               "--pools", pools],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
            giving_up = threading.Timer(120, child.kill)
            giving_up.start()
            try:
                turn = next(line for line in child.stderr if "pool general, clusterman: " in line)
                child.send_signal(signal.SIGTERM)
                child.communicate()
            finally:
                giving_up.cancel()
                child.kill()
        self.assertEqual(child.returncode, 0)
        self.assertRegex(turn, r"pool general, clusterman: \d+ nodes, -\d+ \(scaled to the setpoint\)")

    def test_pools_that_cannot_be_sized_are_refused(self):
        def refused(text, *words, code=1):
            pools = self.write("pools.yaml", text)
            return self.ebb("run", "--simulate", "--nodes", "4", "--hours", "1", "--pools", pools,
                            *words, code=code)[1]
        self.assertRegex(refused(self.POOL.replace("period: 600", "perod: 600")),
                         r"pools.yaml: line 6: pools.0..perod: no such field; did you mean period")
        self.assertRegex(refused(self.POOL.replace("max: 60}", "max: many}")), r"pools.yaml: line 5: pools.0..cloud.max: ")
        self.assertIn("discover: ", refused(self.POOL + "discover: {prefix: example.com/}\n"))
        self.assertIn("pool general: queries: ", refused(self.POOL.replace(
            "  period:", "  queries: {cpus: up}\n  period:") + "prometheus: {url: 'http://localhost:1'}\n"))
        self.assertIn("--simulate excludes --usage", refused(self.POOL, "--usage", "x", code=2))
        self.assertIn("no.csv", refused(self.POOL, "--series", self.path("no.csv")))
        err = self.ebb("run", "--simulate", "--series", "x", code=2)[1]
        self.assertIn("--series needs --pools: ", err)
        self.assertIn("no.yaml", self.ebb("run", "--simulate", "--pools", self.path("no.yaml"), code=1)[1])
        self.assertIn("--output needs --simulate: ",
                      self.ebb("run", "--input", "x", "--dry-run", "-o", "json", code=2)[1])

    def test_inputs_that_cannot_be_run_are_errors(self):
        self.assertIn("a dump cannot be changed", self.ebb("run", "--input", "x", code=2)[1])
        self.assertIn("--input FILE with --dry-run", self.ebb("run", "--dry-run", code=2)[1])
        self.assertIn("x: ", self.ebb("run", "--input", "x", "--dry-run", code=1)[1])


class WatchTest(EbbTest):
    """`ebb plan --watch-file`."""

    NOW = ("--now", START)
    WHOLE = ("--assume-complete", *NOW)

    @staticmethod
    def event(item, kind="ADDED"):
        return json.dumps({"type": kind, "object": item}) + "\n"

    def events(self, items, name="events.json"):
        return self.write(name, "".join(map(self.event, items)))

    def plan_over_dump(self, items, *words):
        return self.ebb("plan", self.dump(items), *words)[0]

    def test_stats_list_the_rebuilds_since_the_plan_before(self):
        err = self.ebb("plan", "--watch-file", self.events(SMALL), *self.WHOLE, "--stats")[1]
        rebuilds = json.loads(err.splitlines()[-1])["rebuilds"]
        self.assertEqual([each["cause"] for each in rebuilds], ["first"])
        self.assertGreater(rebuilds[0]["s"], 0)
        err = self.ebb("plan", self.dump(SMALL), *self.WHOLE, "--stats")[1]
        self.assertNotIn("rebuilds", json.loads(err.splitlines()[-1]))

    def test_a_plan_over_events_is_the_plan_over_the_dump(self):
        events = self.events(SMALL)
        for words in [("-o", "json"), ("-o", "name"), ("-o", "csv"), ("-o", "wide"),
                      ("--explain", "node/a", "-o", "json")]:
            out, err = self.ebb("plan", "--watch-file", events, *self.WHOLE, *words)
            want = self.plan_over_dump(SMALL, *self.WHOLE, *words)
            # A table shows how long planning took, which varies.
            timeless = [re.sub(r"Planned in .*", "", text) for text in (out, want)]
            self.assertEqual(*timeless, words)
            self.assertIn("plan 1: 5 events, 5 objects put and 0 deleted", err)

    def test_events_of_a_generated_cluster_give_its_plan(self):
        dump = self.path("company.json")
        with open(dump, "w", encoding="utf-8") as file:
            file.write(self.ebb("gen", "company", "--nodes", "20")[0])
        with open(dump, encoding="utf-8") as file:
            items = json.load(file)["items"]
        words = ("--strict", "-o", "json", "--nodes", "0:99:spot-m8-a", *self.NOW)
        want = self.ebb("plan", dump, *words)[0]
        self.assertGreater(json.loads(want)["summary"]["removed"], 0)
        self.assertEqual(self.ebb("plan", "--watch-file", self.events(items), *words)[0], want)
        pretty = self.write("pretty.json", "".join(
            json.dumps({"type": "ADDED", "object": item}, indent=4) + "\n" for item in items))
        self.assertEqual(self.ebb("plan", "--watch-file", pretty, *words)[0], want)
        # The output of kubectl without --output-watch-events.
        self.assertEqual(self.ebb("plan", "--watch-file", dump, *words)[0], want)
        bare = self.write("bare.json", "".join(json.dumps(item, indent=4) + "\n" for item in items))
        plan = json.loads(self.ebb("plan", "--watch-file", bare, *words[1:])[0])
        self.assertEqual([w["code"] for w in plan["summary"].pop("warnings")], ["WatchWithoutEvents"])
        self.assertIs(plan.pop("complete"), False)
        self.assertEqual([w["code"] for w in plan.pop("missing")], ["WatchWithoutEvents"])
        want = json.loads(want)
        want["summary"].pop("warnings", None)
        want.pop("complete")
        self.assertEqual(plan, want)
        _, err = self.ebb("plan", "--watch-file", bare, *words, code=1)
        self.assertIn("--output-watch-events", err)

    def test_json_of_a_watch_is_as_the_schema_says(self):
        plan = self.ebb_json("plan", "--watch-file", self.events(SMALL), *self.WHOLE)
        self.assertEqual(plan["summary"]["nodes"], 3)

    def test_standard_input_is_watched_as_a_file_is(self):
        words = ("-o", "json", *self.WHOLE)
        out = self.ebb("plan", "--watch-file", "-", *words,
                       stdin="".join(map(self.event, SMALL)))[0]
        self.assertEqual(out, self.plan_over_dump(SMALL, *words))
        for others in [("--watch-file", "-"), ("-",)]:
            err = self.ebb("plan", "--watch-file", "-", *others, code=1)[1]
            self.assertIn("standard input can be read once", err)

    def test_two_files_make_one_cluster(self):
        nodes = self.events(SMALL[:3], "nodes.json")
        pods = self.events(SMALL[3:], "pods.json")
        words = ("-o", "json", *self.WHOLE)
        out, err = self.ebb("plan", "--watch-file", pods, "--watch-file", nodes, *words)
        self.assertEqual(out, self.plan_over_dump(SMALL, *words))
        self.assertIn("plan 1: 5 events", err)

    def test_deletions_and_modifications_are_in_the_plan(self):
        changed = pod("p", "a", cpu="3500m")
        events = self.write("events.json", "".join(
            [self.event(item) for item in SMALL] +
            [self.event(changed, "MODIFIED"), self.event(SMALL[2], "DELETED"),
             self.event(node("never"), "DELETED"),
             self.event({"kind": "Pod", "apiVersion": "v1",
                         "metadata": {"resourceVersion": "99"}}, "BOOKMARK")]))
        words = ("-o", "json", *self.WHOLE)
        out, err = self.ebb("plan", "--watch-file", events, *words)
        self.assertEqual(out, self.plan_over_dump([*SMALL[:2], changed, SMALL[4]], *words))
        self.assertIn("plan 1: 9 events, 6 objects put and 1 deleted", err)

    def test_events_change_the_cluster_that_was_loaded(self):
        events = self.write("events.json", self.event(SMALL[2], "DELETED") +
                            self.event(pod("new", "b", cpu="3")))
        words = ("-o", "json", *self.WHOLE)
        out = self.ebb("plan", self.dump(SMALL, "input.json"), "--watch-file", events, *words)[0]
        self.assertEqual(out, self.plan_over_dump([*SMALL[:2], *SMALL[3:], pod("new", "b", cpu="3")],
                                                  *words))
        # No event comes: the plan is the one over INPUT.
        out = self.ebb("plan", self.dump(SMALL), "--watch-file", self.write("none", ""), *words)[0]
        self.assertEqual(out, self.plan_over_dump(SMALL, *words))

    def test_events_that_cannot_be_read_are_reported_and_skipped(self):
        odd = pod("odd", "a")
        odd["spec"]["nodeName"] = 5
        events = self.write("events.json", self.event(SMALL[0]) + "junk\n" + self.event(odd) +
                            "{\"type\":\"ADDED\",\"object\":{\"kind\":\n" +
                            "".join(map(self.event, SMALL[1:])) + '{"type":"ODD","object":{}}\n')
        words = ("--watch-file", events, "-o", "json", *self.WHOLE)
        out, err = self.ebb("plan", *words)
        for line, what in [(2, "junk is not an event"), (3, "spec.nodeName"), (4, "cut off"),
                           (9, "not ADDED")]:
            self.assertRegex(err, f"(?m)^ebb: warning: .*events.json: line {line}: .*{what}")
        plan, want = json.loads(out), json.loads(self.plan_over_dump(SMALL, "-o", "json", *self.WHOLE))
        self.assertEqual(plan["remove"], want["remove"])
        warnings = plan["summary"]["warnings"]
        self.assertEqual([warning["code"] for warning in warnings], ["WatchEventsRefused"])
        self.assertIn("4 events", warnings[0]["message"])
        self.assertEqual(self.ebb("plan", *words, "--strict", code=1)[0], "")
        # Names would be acted upon, and an object may be missing.
        self.assertIs(plan["complete"], False)
        names = ("--watch-file", events, "-o", "name", *self.WHOLE)
        out, err = self.ebb("plan", *names, code=1)
        self.assertEqual(out, "")
        self.assertIn("4 events of the watch could not be applied", err)
        self.assertEqual(self.ebb("plan", *names, "--allow-incomplete")[0],
                         "".join(f"node/{each['node']}\n" for each in want["remove"]))

    # Symptom: ebb placed pods of one cluster on the nodes of another.
    def test_watches_of_two_clusters_are_refused(self):
        def space(uid):
            return {"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": "kube-system", "uid": uid}}
        nodes = self.events([space("uid-one"), *SMALL[:3]], "nodes.json")
        pods = self.events([space("uid-two"), *SMALL[3:]], "pods.json")
        out, err = self.ebb("plan", "--watch-file", nodes, "--watch-file", pods, *self.WHOLE, code=1)
        self.assertEqual(out, "")
        self.assertRegex(err, "Namespace kube-system has the UID uid-(one|two), .*watch one cluster")
        dump = self.dump([space("uid-one"), *SMALL], "input.json")
        err = self.ebb("plan", dump, "--watch-file", pods, *self.WHOLE, code=1)[1]
        self.assertRegex(err, "pods.json: line 1: Namespace kube-system has the UID uid-two, .*uid-one")

    def test_many_events_that_cannot_be_read_are_not_all_reported(self):
        events = self.write("events.json", "junk\n" * 1000 + "".join(map(self.event, SMALL)))
        err = self.ebb("plan", "--watch-file", events, *self.WHOLE)[1]
        self.assertLess(err.count("junk is not an event"), 20)
        self.assertIn("further warnings of this kind are suppressed", err)
        self.assertIn("1,000 events", err)

    def test_a_failed_watch_gives_a_warning_and_earlier_events_count(self):
        gone = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired",
                "message": "too old resource version: 1 (2)", "code": 410}
        events = self.write("events.json", "".join(map(self.event, SMALL)) +
                            self.event(gone, "ERROR"))
        words = ("--watch-file", events, "-o", "json", *self.WHOLE)
        out, err = self.ebb("plan", *words)
        self.assertIn("line 6: the watch has failed: too old resource version: 1 (2)", err)
        self.assertEqual(json.loads(out)["summary"]["warnings"][0]["code"], "WatchEventsRefused")
        self.ebb("plan", *words, "--strict", code=1)

    # Symptom: README's own command watches Services, and ebb reported them as useless.  It reported
    # that no Provisioner decides anything, and also warned that one may.
    def test_kinds_that_ebb_asks_for_are_not_reported_as_skipped(self):
        service = {"apiVersion": "v1", "kind": "Service",
                   "metadata": {"name": "s", "namespace": "default"}}
        budget = {"apiVersion": "example.com/v1", "kind": "ShardDisruptionBudget",
                  "metadata": {"name": "b", "namespace": "default"}}
        pool = {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": {"name": "p"}}
        out, err = self.ebb("plan", "--watch-file", self.events([*SMALL, service, budget, pool]),
                            "-o", "json", *self.WHOLE)
        self.assertNotIn("passed over", err)
        codes = {warning["code"] for warning in json.loads(out)["summary"]["warnings"]}
        self.assertLessEqual({"CustomBudgetsNotEvaluated", "NodePoolsNotEvaluated"}, codes)

    def test_ignored_objects_are_reported_once_a_kind(self):
        maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}}
                for i in range(3)]
        out, err = self.ebb("plan", "--watch-file", self.events(SMALL + maps), "-o", "json",
                            "--strict", *self.WHOLE)
        self.assertEqual(err.count("ignored objects of kind ConfigMap"), 1)
        self.assertEqual(json.loads(out)["summary"]["nodes"], 3)

    def test_objects_beyond_the_limit_are_refused(self):
        large = pod("large", "a")
        large["metadata"]["annotations"]["text"] = "x" * 5000
        events = self.events([*SMALL, large])
        words = ("--watch-file", events, "-o", "json", *self.WHOLE)
        out, err = self.ebb("plan", *words, "--max-object-bytes", "4KiB")
        self.assertIn("line 6: ", err)
        self.assertIn("4.0 KiB", err)
        self.assertEqual(json.loads(out)["summary"]["pods"], 2)
        self.assertEqual(json.loads(self.ebb("plan", *words)[0])["summary"]["pods"], 3)

    def test_a_watch_without_a_cluster_ends_with_an_error(self):
        for text in ["", "junk\n", "".join(map(self.event, SMALL[3:]))]:
            out, err = self.ebb("plan", "--watch-file", self.write("events.json", text), code=1)
            self.assertEqual(out, "")
            self.assertIn("no nodes in the input", err)
        err = self.ebb("plan", "--watch-file", self.path("missing"), code=1)[1]
        self.assertIn("missing: No such file or directory", err)

    def test_inputs_that_contradict_each_other_are_refused_before_a_watch_too(self):
        items = copy.deepcopy(SMALL)
        for item in items:
            item["metadata"]["resourceVersion"] = "7"
        other = copy.deepcopy(items)
        other[0]["metadata"]["uid"] = "another"
        words = (self.dump(items), self.write("other.json", json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": other})))
        error = self.ebb("plan", *words, code=1)[1]
        self.assertIn("different UIDs", error)
        out, err = self.ebb("plan", *words, "--watch-file", self.write("none.json", ""), code=1)
        self.assertEqual((out, err), ("", error))

    def test_pods_that_controllers_count_and_a_watch_lacks_give_a_warning(self):
        sets = {"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "metadata": {"name": "web", "namespace": "default", "uid": "uid-web"},
                "spec": {"replicas": 90}, "status": {"replicas": 90}}
        items = [*SMALL, sets]

        def warnings():
            plan = json.loads(self.ebb("plan", "--watch-file", self.events(items), "-o", "json",
                                       "--allow-incomplete", *self.NOW)[0])
            return [warning["code"] for warning in plan["summary"].get("warnings", [])]

        self.assertIn("PodsMissing", warnings())
        self.assertIn("that controllers count", self.ebb("plan", "--watch-file", self.events(items),
                                                         *self.NOW, code=1)[1])
        sets["status"]["replicas"] = 4  # Some may still be on their way.
        self.assertNotIn("PodsMissing", warnings())

    # Symptom: ebb waited for ever, although the limit includes reading.
    def test_the_time_limit_holds_while_the_first_event_is_awaited(self):
        pipe = self.path("silent")
        os.mkfifo(pipe)
        with open(pipe, "r+b", buffering=0):  # A writer that writes nothing.
            for words in [(), (self.dump(SMALL),)]:
                err = self.ebb("plan", *words, "--watch-file", pipe, "--watch-quiet-time", "1h",
                               "--scale-down-simulation-timeout", "200ms", *self.WHOLE, code=1)[1]
                self.assertIn("--watch-file: no event came within 200ms (--scale-down-simulation-timeout)", err)

    # Symptom: ebb read /dev/zero for ever.
    def test_a_stream_without_events_ends_with_an_error(self):
        for words in [(), (self.dump(SMALL),)]:
            err = self.ebb("plan", *words, "--watch-file", "/dev/zero", *self.WHOLE, code=1)[1]
            self.assertIn("/dev/zero: its first 10,485,760 bytes (--max-object-bytes) hold no event", err)

    def test_a_pipe_that_ends_while_others_go_on_is_reported_at_once(self):
        pipes = [self.path("one"), self.path("two")]
        for pipe in pipes:
            os.mkfifo(pipe)
        with subprocess.Popen([EBB, "plan", "--watch-file", pipes[0], "--watch-file", pipes[1],
                               "--watch-quiet-time", "50ms", "-o", "name", "--strict", *self.WHOLE],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            giving_up = threading.Timer(120, child.kill)
            giving_up.start()
            try:
                with open(pipes[1], "wb", buffering=0) as goes_on:
                    with open(pipes[0], "wb", buffering=0) as ends:
                        ends.write("".join(map(self.event, SMALL)).encode())
                        self.assertTrue(any("plan 1" in line for line in child.stderr))
                    self.assertTrue(any(re.search(
                        "one has ended at 20.*Z, and later changes of Node, Pod are not seen", line)
                        for line in child.stderr))
                    self.assertTrue(any("plan 2" in line for line in child.stderr))
                    goes_on.write(b"")
                child.communicate()
            finally:
                giving_up.cancel()
                child.kill()
        self.assertEqual(child.returncode, 1)

    # Symptom: if the pods' watch was slower than the nodes' watch, all nodes could go.
    def test_no_plan_is_made_before_the_first_list_of_each_watch_is_over(self):
        pipes = [self.path("nodes"), self.path("pods"), self.path("budgets")]
        for pipe in pipes:
            os.mkfifo(pipe)
        flags = [word for pipe in pipes for word in ("--watch-file", pipe)]
        with subprocess.Popen([EBB, "plan", *flags, "--watch-quiet-time", "500ms", "-o", "name",
                               *self.WHOLE], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            giving_up = threading.Timer(120, child.kill)
            giving_up.start()
            try:
                with open(pipes[0], "wb", buffering=0) as nodes, \
                        open(pipes[1], "wb", buffering=0) as pods, \
                        open(pipes[2], "wb", buffering=0):
                    nodes.write("".join(map(self.event, SMALL[:4])).encode())
                    # The watch of the nodes has been quiet for long enough, and no pod has come.
                    line = child.stderr.readline()
                    self.assertRegex(line, "waits for the first list of .*(pods|budgets)")
                    pods.write("".join(map(self.event, SMALL[4:])).encode())
                    # The watch of a kind without objects prints nothing.
                    line = child.stderr.readline()
                    self.assertRegex(line, "nothing has come from .*budgets yet")
                    self.assertIn("plan 1: 5 events", child.stderr.readline())
                out, err = rest_of(child)
            finally:
                giving_up.cancel()
                child.kill()
        self.assertEqual(child.returncode, 0, err)
        self.assertEqual(out.split("\n\n")[0].strip(),
                         self.plan_over_dump(SMALL, "-o", "name", *self.WHOLE).strip())

    def test_a_watch_excludes_a_state(self):
        err = self.ebb("plan", "--watch-file", self.events(SMALL), "--state", self.path("s.db"),
                       code=2)[1]
        self.assertIn("excludes --watch-file", err)
        self.assertFalse(os.path.exists(self.path("s.db")))

    def watch_pipe(self, *steps, words=("-o", "name")):
        """Watches a pipe.  For each (text, wanted), writes the text and waits for a line that contains `wanted`.

        Returns (exit code, stdout, the rest of stderr).
        """
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        with subprocess.Popen([EBB, "plan", "--watch-file", fifo, "--watch-quiet-time", "50ms",
                               *words, *self.WHOLE], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:
            giving_up = threading.Timer(120, child.kill)
            giving_up.start()
            try:
                with open(fifo, "wb", buffering=0) as pipe:
                    for text, wanted in steps:
                        # One write is read as a whole.
                        self.assertLess(len(text), 4096)
                        pipe.write(text.encode())
                        if wanted:
                            self.assertTrue(any(wanted in line for line in child.stderr), wanted)
                out, err = rest_of(child)
            finally:
                giving_up.cancel()
                child.kill()
        return child.returncode, out, err

    def test_each_time_that_a_pipe_falls_silent_a_plan_is_made(self):
        code, out, err = self.watch_pipe(
            ("".join(map(self.event, SMALL)), "plan 1: 5 events"),
            (self.event(SMALL[2], "DELETED") + self.event(SMALL[1], "DELETED"),
             "plan 2: 7 events, 5 objects put and 2 deleted"))
        self.assertEqual(code, 0)
        self.assertNotIn("plan 3", err)
        first = self.plan_over_dump(SMALL, "-o", "name", *self.WHOLE)
        second = self.plan_over_dump([SMALL[0], *SMALL[3:]], "-o", "name", *self.WHOLE)
        self.assertNotEqual(first, second)
        self.assertEqual(out, first + "\n" + second)

    # The node "empty" comes and goes; then an event is lost.
    STABLE_STEPS = (("".join(json.dumps({"type": "ADDED", "object": item}) + "\n" for item in SMALL), "plan 1: "),
                    (json.dumps({"type": "ADDED", "object": node("empty")}) + "\n", "plan 2: "),
                    (json.dumps({"type": "DELETED", "object": node("empty")}) + "\n", "plan 3: "),
                    ("junk\n", "plan 4: "))

    def test_a_stable_plan_says_how_it_continues_the_last_one(self):
        code, out, err = self.watch_pipe(*self.STABLE_STEPS, words=("--stable", "-o", "json"))
        self.assertEqual(code, 0, err)
        plans = []
        while out.strip():
            plan, end = json.JSONDecoder().raw_decode(out.lstrip())
            plans.append(plan)
            out = out.lstrip()[end:]
        stables = [plan["summary"]["stable"] for plan in plans]
        self.assertEqual([stable["origin"] for stable in stables], ["first", "kept", "kept", "changesMissed"])
        self.assertEqual([[(change["node"], change["removes"], change["detail"]) for change in stable["changes"]]
                          for stable in stables],
                         [[], [("empty", True, "the last plan did not judge it")],
                          [("empty", False, "is no longer in the cluster")], []])
        self.assertEqual(stables[1]["kept"], plans[0]["summary"]["removed"])
        self.assertEqual(stables[1]["unchanged"], stables[1]["kept"])
        # A node that comes or goes is a change that certificates do not cover.
        self.assertEqual([stable["certificates"] for stable in stables],
                         [{"notCovered": cause} for cause in ("nothingCertified", "nodes", "nodes", "nothingCertified")])
        for plan in plans:
            self.assert_schema(plan, "plan.schema.json")

    def test_tables_of_stable_plans_say_what_came_and_left(self):
        _, out, err = self.watch_pipe(*self.STABLE_STEPS, words=("--stable",))
        for text in ["This is the first stable plan", "1 came and 0 left.",
                     "  came empty (the last plan did not judge it)",
                     "  left empty (is no longer in the cluster)",
                     "The plan was made from nothing: changes since the last plan may have been missed."]:
            self.assertIn(text, out, err)
        self.assertIn("Planned in", out)

    def test_stats_say_why_certificates_do_not_cover_a_stable_plan(self):
        _, _, err = self.watch_pipe(*self.STABLE_STEPS[:2], words=("--stable", "--stats"))
        self.assertIn('"certificates_not_covered":"nodes"', err)

    def test_stats_of_a_stable_plan_count_certificates(self):
        _, _, err = self.watch_pipe(self.STABLE_STEPS[0], (self.event(SMALL[-1], "DELETED"), "plan 2: "),
                                    words=("--stable", "--stats"))
        self.assertRegex(err, '"certificates_held":[0-9]+,"certificates_checked":[0-9]+')

    def test_a_watch_says_where_stable_names_come_from(self):
        _, _, err = self.watch_pipe(("".join(map(self.event, SMALL)), "stable plan: first"),
                                    (self.event(node("empty")), "stable plan: kept"),
                                    words=("--stable", "-o", "name"))
        self.assertNotIn("stable plan: first", err)

    def test_a_stable_plan_of_a_dump_is_refused(self):
        dump = self.dump(SMALL)
        self.assertIn("--stable needs --watch-file or --server: it keeps the last plan",
                      self.ebb("plan", dump, "--stable", code=2)[1])
        self.assertIn("--stable: takes no INPUT with --server",
                      self.ebb("plan", dump, "--stable", "--server", "unix:/nowhere", code=1)[1])
        events = self.events(SMALL)
        for words in [("--optimize",), ("--robust", "0"), ("--what-if", dump), ("--state", self.path("s.db"))]:
            self.assertIn("excludes", self.ebb("plan", "--watch-file", events, "--stable", *words, code=2)[1])
        self.ebb("plan", "--watch-file", events, "--stable", "--stable-margin", "-1", code=2)

    def test_ebb_waits_for_a_pipe_without_a_cluster_yet(self):
        # First there are no nodes: ebb prints nothing and makes no plan before nodes come.
        code, out, err = self.watch_pipe(("".join(map(self.event, SMALL[3:])), None),
                                         ("".join(map(self.event, SMALL[:3])), "plan 1: 5 events"))
        self.assertEqual(code, 0)
        self.assertEqual(err.count("plan "), 0)
        self.assertEqual(out, self.plan_over_dump(SMALL, "-o", "name", *self.WHOLE))

    def test_a_cluster_that_can_no_longer_be_planned_for_is_an_error(self):
        _, out, err = self.watch_pipe(
            ("".join(map(self.event, SMALL)), "plan 1: 5 events"),
            ("".join(self.event(item, "DELETED") for item in SMALL[:3]), None))
        self.assertEqual(out, self.plan_over_dump(SMALL, "-o", "name", *self.WHOLE))
        self.assertIn("no nodes in the input", err)

    def test_strict_ends_where_a_watch_cannot_be_read(self):
        words = ("plan", self.dump(SMALL), "--watch-file", self.folder.name, *self.WHOLE)
        self.assertIn("Is a directory", self.ebb(*words)[1])
        self.ebb(*words, "--strict", code=1)


if __name__ == "__main__":
    EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
