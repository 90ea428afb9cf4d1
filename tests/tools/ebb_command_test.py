#!/usr/bin/env python3
"""Runs the program `ebb` as its users do and holds it to what the documents say.

    ebb_command_test.py EBB [UNITTEST_ARGUMENT...]

Every test works in a folder of its own and starts real processes.
"""

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

EBB = ""
START = "2026-06-01T12:00:00Z"


def at(seconds):
    """The time so many seconds after START."""
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


def pod(name, on, cpu="500m", safe=True):
    meta = {"name": name, "namespace": "default", "uid": "uid-" + name}
    if safe:
        meta["annotations"] = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}
    if on:
        spec["nodeName"] = on
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec,
            "status": {"phase": "Running" if on else "Pending"}}


def deleting(now_s):
    return [("ToBeDeletedByClusterAutoscaler", str(now_s))]


# START as Unix time.
START_S = 1780315200

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/plan.schema.json")
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}


def schema_errors(value, schema, root, path="$"):
    """What of `value` is not as `schema` says; of JSON Schema it knows what ours uses."""
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
        for i, item in enumerate(value):
            errors += schema_errors(item, schema.get("items", {}), root, f"{path}[{i}]")
    if "minLength" in schema and len(value) < schema["minLength"]:
        errors.append(f"{path}: is empty")
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        errors.append(f"{path}: {value}")
    return errors

# a and b run a pod each, c is empty.
SMALL = [node("a"), node("b"), node("c"), pod("p", "a"), pod("q", "b")]


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

    def dump(self, items, name="dump.json"):
        return self.write(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def ebb(self, *words, code=0, stdin=""):
        """Runs ebb; returns (stdout, stderr) if it ended with `code`."""
        done = subprocess.run([EBB, *words], input=stdin, capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, code, f"ebb {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def ebb_json(self, *words):
        """The plan, which is as the schema says."""
        plan = json.loads(self.ebb(*words, "-o", "json")[0])
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        self.assertEqual(schema_errors(plan, schema, schema), [])
        return plan

    def assert_one_line(self, text):
        self.assertEqual(text.count("\n"), 1, text)


class PlanTest(EbbTest):

    def test_a_generated_cluster_is_planned_and_the_same_every_time(self):
        cluster = self.path("cluster.json")
        self.ebb("gen", "mixed", "--nodes", "100", "--seed", "1", "-o", cluster)
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

    def test_every_output_form_tells_the_same_nodes(self):
        dump = self.dump(SMALL)
        plan = self.ebb_json("plan", dump, "--now", START)
        nodes = [removal["node"] for removal in plan["remove"]]
        self.assertEqual(nodes, ["c", "a"])
        self.assertEqual(self.ebb("plan", dump, "-o", "name")[0], "node/c\nnode/a\n")
        table = self.ebb("plan", dump)[0]
        self.assertIn("2 of 3 nodes can go", table)
        self.assertIn("kind: Plan", self.ebb("plan", dump, "-o", "yaml")[0])

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

    def test_explain_tells_why_a_node_stays(self):
        dump = self.dump(SMALL + [pod("bare", "b", safe=False)])
        self.assertIn("NotReplicated", self.ebb("plan", dump, "--explain", "b")[0])

    def test_stats_are_one_line_of_json_at_the_end_of_stderr(self):
        err = self.ebb("plan", self.dump(SMALL), "--stats")[1]
        self.assertEqual(json.loads(err.splitlines()[-1])["nodes"], 3)


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

    def test_text_that_is_no_dump_is_refused(self):
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


class FilterTest(EbbTest):

    def test_filter_tells_which_nodes_take_a_pod_and_why_others_do_not(self):
        dump = self.dump(SMALL + [pod("new", "", cpu="3800m")])
        out = self.ebb("filter", dump, "--pod", "default/new")[0]
        verdicts = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
        self.assertEqual(verdicts["a"], ["no", "NodeResourcesFit", "Insufficient", "cpu"])
        self.assertEqual(verdicts["c"], ["yes"])

    def test_an_unknown_pod_is_named(self):
        err = self.ebb("filter", self.dump(SMALL), "--pod", "default/nobody", code=1)[1]
        self.assertIn("default/nobody", err)


class RoundBase(EbbTest):

    def round(self, seconds, *more, items=None, code=0):
        """One round; its plan if all went well, else stderr."""
        dump = self.dump(SMALL if items is None else items)
        words = ["plan", dump, "--state", self.path("state.db"), "--now", at(seconds), *more]
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

    def test_the_table_tells_status_and_who_waits(self):
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

    def test_a_node_of_another_uid_starts_anew_and_is_told(self):
        self.round(0)
        other = [node("a"), node("b"), node("c", uid="another"), pod("p", "a"), pod("q", "b")]
        out, err = self.ebb("plan", self.dump(other), "--state", self.path("state.db"), "--now",
                            at(300), "-o", "json")
        since = {n["node"]: n["since"] for n in json.loads(out)["unneeded"]}
        self.assertEqual(since, {"c": at(300), "a": START})
        self.assertIn("node c is another machine", err)

    def test_clocks_that_stand_or_run_backwards_are_told_and_harmless(self):
        self.round(0)
        for seconds, told in [(0, "time is that of the last round"), (-60, "ran backwards by 60 s")]:
            now = START if seconds == 0 else "2026-06-01T11:59:00Z"
            out, err = self.ebb("plan", self.dump(SMALL), "--state", self.path("state.db"), "--now",
                                now, "-o", "json")
            self.assertIn(told, err)
            self.assertEqual(json.loads(out)["unneeded"][0]["since"], START)

    def test_flags_that_count_only_in_rounds_are_warned_about_without_a_state(self):
        dump = self.dump(SMALL)
        err = self.ebb("plan", dump, "--scale-down-unneeded-time", "5m")[1]
        self.assertIn("--scale-down-unneeded-time counts only with --state", err)
        for flag in ["--record", "--metrics", "--events"]:
            self.assertIn("--state", self.ebb("plan", dump, flag, self.path("x"), code=2)[1])
        self.assertIn("--explain",
                      self.ebb("plan", dump, "--state", self.path("s"), "--explain", "a", code=2)[1])

    def test_stats_are_told_of_a_round_too(self):
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

    def test_growth_of_a_group_holds_it_back_alone_if_asked(self):
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
        # It is remembered, although nobody tells of it again.
        self.assertEqual(self.round(119, items=cluster)["status"], "ScaleDownNoRoomForPods")
        self.assertNotEqual(self.round(120, items=cluster)["status"], "ScaleDownNoRoomForPods")

    def test_the_autoscalers_looser_ways_can_be_had(self):
        events = {"recentEvictions": [{"pod": pod("big", "gone", cpu="3800m")}]}
        cluster = [node("a"), node("b"), pod("p", "a"), pod("q", "b")]
        plan = self.with_events(0, events, cluster, ["--displaced-pods", "best-effort"])
        self.assertEqual(len(plan["unneeded"]), 1)
        plan = self.with_events(10, events, cluster, ["--recent-eviction-ttl", "0s"])
        self.assertEqual(plan["displacedPods"], {"total": 0, "placed": 0})

    def test_nodes_said_to_be_unready_can_be_the_brake(self):
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

    def test_odd_events_are_told_and_harmless(self):
        events = {"scaleUps": [{"group": "nowhere"}], "unreadyNodes": ["ghost"],
                  "deletionsInProgress": [{"node": "ghost"}],
                  "recentEvictions": [{"namespace": "default", "name": "lost"}]}
        path = self.write("events.json", json.dumps(events))
        err = self.ebb("plan", self.dump(SMALL), "--state", self.path("state.db"), "--now", START,
                       "--events", path)[1]
        for word in ["group nowhere", "node ghost is not in the cluster", "ghost is said to be in",
                     "pod default/lost"]:
            self.assertIn(word, err)

    def test_wrong_events_are_refused_with_their_place(self):
        for text, words in [
                ("scaleUps: [{at: 2026-06-01T12:00:00Z}]", ["scaleUps[0]", "no group"]),
                ("scaleUps: [{group: g, at: noon}]", ["scaleUps[0].at", '"noon" is not a time']),
                ("scaleUps: {}", ["scaleUps: is not a list"]),
                ("scaleups: []", ["scaleups", "did you mean scaleUps?"]),
                ("deletionResults: [{node: a, result: Fine}]", ["deletionResults[0].result", "Fine"]),
                ("deletionResults: [{node: a}]", ["deletionResults[0]", "no result"]),
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

    def test_files_that_are_no_state_are_refused_and_kept(self):
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

    def test_rounds_are_kept_as_many_as_asked(self):
        for i in range(5):
            self.round(i, "--state-rounds", "3")
        with sqlite3.connect(self.path("state.db")) as state:
            rows = state.execute("SELECT round, length(input_digest) FROM rounds").fetchall()
        state.close()
        self.assertEqual(rows, [(3, 32), (4, 32), (5, 32)])

    def test_equal_input_has_an_equal_digest(self):
        self.round(0)
        self.round(10)
        self.round(20, items=SMALL + [pod("r", "a")])
        with sqlite3.connect(self.path("state.db")) as state:
            digests = [row[0] for row in state.execute("SELECT input_digest FROM rounds")]
        state.close()
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[1], digests[2])

    def test_killed_at_any_point_a_round_is_whole_and_the_rest_goes_on_the_same(self):
        """Rounds of one state are killed and made again; those of another never are."""
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


class MetricsTest(RoundBase):

    def test_counters_go_on_from_process_to_process_under_the_autoscalers_names(self):
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
        self.assertEqual(values[prefix + 'scaled_down_nodes_total{reason="empty"}'], 2)
        self.assertEqual(values[prefix + 'scaled_down_nodes_total{reason="underutilized"}'], 2)
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

    def test_how_long_the_longest_skipped_node_waits_is_told_everywhere(self):
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
        # n4 and n5 have their turn; n0 waits since then.
        table = self.ebb(*words, "--now", at(25))[0]
        self.assertIn("Longest skipped: n0 waits 15 s for its turn", table)


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
        self.assertIn("4 of 4 rounds identical", self.ebb("replay", self.path("record.db"))[0])

    def test_a_record_is_another_file_than_the_state(self):
        self.assertIn("is --state and --record both",
                      self.round(0, "--record", self.path("state.db"), code=1))

    def test_a_record_with_a_gap_is_refused(self):
        self.record(0)
        self.round(10)
        before = self.bytes_of("record.db")
        err = self.round(20, "--record", self.path("record.db"), code=1)
        self.assertIn("ends with round 1, and this is round 3", err)
        self.assertEqual(self.bytes_of("record.db"), before)
        self.assertEqual(self.round(20)["round"], 3)

    def test_the_first_difference_is_told(self):
        self.record(0)
        self.record(10)
        with sqlite3.connect(self.path("record.db")) as record:
            record.execute("UPDATE rounds SET decision = replace(decision, "
                           "'\"since\":\"2026-06-01T12:00:00Z\"', "
                           "'\"since\":\"2026-06-01T12:00:01Z\"') WHERE round = 2")
        record.close()
        out = self.ebb("replay", self.path("record.db"), code=1)[0]
        self.assertIn("round 1 at 2026-06-01T12:00:00Z: identical", out)
        self.assertIn('round 2 at 2026-06-01T12:00:10Z: DIFFERENT: unneeded[0].since: recorded '
                      '"2026-06-01T12:00:01Z", now "2026-06-01T12:00:00Z"', out)
        self.assertIn("1 of 2 rounds identical", out)

    def test_files_that_are_no_record_are_refused(self):
        self.assertIn("nowhere", self.ebb("replay", self.path("nowhere"), code=1)[1])
        self.assertIn("no.db", self.ebb("replay", self.write("no.db", "x" * 500), code=1)[1])
        self.round(0)
        self.assertIn("is a state file", self.ebb("replay", self.path("state.db"), code=1)[1])


if __name__ == "__main__":
    EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()
