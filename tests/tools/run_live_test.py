#!/usr/bin/env python3
"""`ebb run` over a live cluster: the program with the example plugin and a feeder.

    run_live_test.py EBB SOURCE_DIR

Needs Python's grpcio and protobuf, protoc and its plugin for Python.  Nodes of the plugin lose one pod a
second while they drain.  No test depends on how long anything takes.
"""

import contextlib
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import grpc

EBB = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
PLUGIN = SOURCE / "examples/actuator_plugin/plugin.py"
STUBS = tempfile.TemporaryDirectory(prefix="ebb-stubs-")
subprocess.run(
    ["protoc", f"-I{SOURCE}", f"--python_out={STUBS.name}", f"--grpc_out={STUBS.name}",
     f"--plugin=protoc-gen-grpc={shutil.which('grpc_python_plugin')}",
     str(SOURCE / "wire/planner.proto"), str(SOURCE / "wire/actuator.proto")],
    check=True)
sys.path.insert(0, STUBS.name)
from wire import actuator_pb2 as plugin_pb  # noqa: E402
from wire import actuator_pb2_grpc  # noqa: E402
from wire import planner_pb2 as pb  # noqa: E402
from wire import planner_pb2_grpc  # noqa: E402

WAIT_S = 120  # For results that come soon; a machine may be slow.
NODES = 4
# Quick rounds; a node waits a second before it goes.
QUICK = ["--scan-interval", "1s", "--scale-down-unneeded-time", "1s",
         "--node-delete-delay-after-taint", "1s", "--scale-down-delay-after-failure", "0s"]


def node(name):
    return json.dumps({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": "uid-" + name[5:], "labels": {"nodegroup": "g"}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                   "conditions": [{"type": "Ready", "status": "True"}]}}).encode()


def pod(name, on):
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "uid": "uid-" + name, "namespace": "default",
                     "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                          "name": "web", "uid": "rs", "controller": True}]},
        # For Escalator, the pods of a group are those that select its label.
        "spec": {"nodeName": on, "nodeSelector": {"nodegroup": "g"},
                 "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
        "status": {"phase": "Running"}}).encode()


REPLICA_SET = json.dumps({
    "apiVersion": "apps/v1", "kind": "ReplicaSet",
    "metadata": {"name": "web", "uid": "rs", "namespace": "default"},
    "spec": {"replicas": 2 * NODES}, "status": {"replicas": 2 * NODES}}).encode()


def cluster():
    """The cluster of the example plugin: nodes with two pods each."""
    objects = [REPLICA_SET]
    for n in range(NODES):
        objects += [node(f"node-{n}"), pod(f"pod-{n}-0", f"node-{n}"), pod(f"pod-{n}-1", f"node-{n}")]
    return [pb.Change(put_json=each) for each in objects]


def listens(path):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
        try:
            probe.connect(str(path))
            return True
        except OSError:
            return False


def connect(path):
    return grpc.insecure_channel(f"unix:{path}", options=[("grpc.use_local_subchannel_pool", 1)])


class Feed:
    """A Sync stream that stays open."""

    def __init__(self, path, session="default"):
        self.channel = connect(path)
        self.session = session
        self.requests = queue.Queue()
        self.replies = planner_pb2_grpc.PlannerStub(self.channel).Sync(
            iter(self.requests.get, None), timeout=WAIT_S * 10)
        self.send(cluster(), resync_begins=True, resync_ends=True)

    def send(self, changes, **fields):
        self.requests.put(pb.SyncRequest(session=self.session, changes=changes, **fields))
        return next(self.replies)

    def drop(self, name):
        """Deletes the node and its pods."""
        n = name[5:]
        self.send([pb.Change(delete=pb.Deletion(kind="Pod", namespace="default", name=f"pod-{n}-{p}"))
                   for p in range(2)] + [pb.Change(delete=pb.Deletion(kind="Node", name=name))])

    def close(self):
        self.requests.put(None)
        self.channel.close()


class RunLiveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ebb-run-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.socket = self.folder / "e.sock"
        self.plugin_socket = self.folder / "p.sock"
        self.states = self.folder / "states"
        self.states.mkdir(mode=0o700)
        self.log = self.folder / "log"
        self.seen = 0

    def start_plugin(self):
        with contextlib.suppress(FileNotFoundError):
            self.plugin_socket.unlink()
        child = subprocess.Popen([sys.executable, str(PLUGIN), str(self.plugin_socket), str(NODES)],
                                 stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": STUBS.name})
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "serving\n")
        return child

    def plugin_status(self):
        with connect(self.plugin_socket) as channel:
            return actuator_pb2_grpc.ActuatorStub(channel).Status(
                plugin_pb.StatusRequest(), timeout=WAIT_S)

    def start(self, *flags):
        """Starts `ebb` with these arguments; writes its log to a file."""
        with open(self.log, "ab") as log:
            child = subprocess.Popen([str(EBB), *flags], stdout=subprocess.PIPE, stderr=log, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def start_run(self, *flags, state=True):
        if state:
            flags = ["--state-folder", str(self.states), *flags]
        child = self.start("run", "--actuator", f"unix:{self.plugin_socket}", "--socket",
                           str(self.socket), "--log", "json", *QUICK, *flags)
        self.wait_for(lambda: listens(self.socket), "it listens")
        return child

    def feed(self):
        """Starts a Sync stream, and a new one whenever it ends, as every feeder must."""
        for _ in range(5):
            with contextlib.suppress(grpc.RpcError):
                feed = Feed(self.socket)
                self.addCleanup(feed.close)
                return feed
        self.fail("no stream stays: " + self.log_text())

    def wait_for(self, condition, what):
        deadline = time.monotonic() + WAIT_S
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline, f"waits in vain: {what}\n{self.log_text()}")
            time.sleep(0.05)
        return found

    def log_text(self):
        return self.log.read_text() if self.log.exists() else ""

    def turns(self):
        """The turns so far, as JSON; lines about rebuilds are none."""
        lines = [json.loads(line) for line in self.log_text().splitlines() if line.startswith("{")
                 and line.endswith("}")]
        return [line for line in lines if "rebuild" not in line]

    def turn(self, condition, what):
        """Waits for the next turn, after the last one waited for, that meets the condition; returns it."""
        found = []

        def look():
            turns = self.turns()
            for at in range(self.seen, len(turns)):
                if condition(turns[at]):
                    found.append(turns[at])
                    self.seen = at + 1
                    return True
            return False
        self.wait_for(look, what)
        return found[0]

    def end(self, child):
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(WAIT_S), 0, self.log_text())

    def test_a_node_goes_and_the_program_ends_at_sigterm(self):
        self.start_plugin()
        run = self.start_run("--metrics-address", self.free_address())
        self.turn(lambda turn: "not found" in str(turn["log"]) or "no client feeds" in str(turn["log"])
                  or "no nodes" in str(turn["log"]), "no client has fed it yet")
        feed = self.feed()
        begun = self.turn(lambda turn: turn["begun"], "a deletion begins")
        self.assertEqual(begun["status"], "ScaleDownNodeDeleteStarted")
        self.assertEqual(begun["nodes"], NODES)
        name = begun["begun"][0]["node"]
        self.assertEqual(begun["begun"][0]["pods"], 2)
        ended = self.turn(lambda turn: turn["ended"], "it ends")
        self.assertEqual(ended["ended"], [{"node": name, "ok": True}])
        feed.drop(name)
        self.turn(lambda turn: turn.get("nodes") == NODES - 1, "the round sees it gone")
        warnings = [line for turn in self.turns() for line in turn["log"] if "none of kube-system" in line]
        self.assertEqual(len(warnings), 1, "a warning is logged when it comes")
        metrics = urllib.request.urlopen(f"http://{self.address}/metrics", timeout=WAIT_S).read().decode()
        for name in ("cluster_autoscaler_scaled_down_nodes_total", "cluster_autoscaler_unneeded_nodes_count",
                     "cluster_autoscaler_last_activity", "cluster_autoscaler_evicted_pods_total",
                     'ebb_loop_deletions_total{result="ok"} 1'):
            self.assertIn(name, metrics)
        self.end(run)
        self.assertTrue((self.states / "default.db").exists())
        shown = subprocess.run([EBB, "state", "show", str(self.states / "default.db")],
                               capture_output=True, text=True, check=True)
        self.assertIn("rounds", shown.stdout.lower())

    def free_address(self):
        with contextlib.closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        return self.address

    def test_with_a_daemon_of_its_own_process(self):
        self.start_plugin()
        serve = ["serve", "--socket", str(self.socket), "--state-folder", str(self.states), "--log", "none"]
        daemon = self.start(*serve)
        self.wait_for(lambda: listens(self.socket), "the daemon listens")
        run = self.start("run", "--actuator", f"unix:{self.plugin_socket}", "--server",
                         f"unix:{self.socket}", "--session", "prod", "--log", "json", *QUICK)
        feed = Feed(self.socket, "prod")
        begun = self.turn(lambda turn: turn["begun"], "a deletion begins")
        # Kills the daemon in the middle of the deletion.
        daemon.kill()
        daemon.wait()
        feed.close()
        self.turn(lambda turn: turn["status"] == "NoRound", "no round without a daemon")
        self.start(*serve)
        self.wait_for(lambda: listens(self.socket), "the daemon listens again")
        feed = Feed(self.socket, "prod")
        self.addCleanup(feed.close)
        after = self.turn(lambda turn: "round" in turn, "rounds go on")
        self.assertGreater(after["round"], begun["round"])
        self.end(run)

    def test_a_deletion_of_a_killed_process_is_continued(self):
        self.start_plugin()
        run = self.start_run()
        feed = self.feed()
        begun = self.turn(lambda turn: turn["begun"], "a deletion begins")
        name = begun["begun"][0]["node"]
        run.kill()
        run.wait()
        feed.close()
        run = self.start_run()
        feed = self.feed()
        after = self.turn(lambda turn: "round" in turn, "rounds go on")
        self.assertGreater(after["round"], begun["round"])
        self.turn(lambda turn: {"node": name, "ok": True} in turn["ended"], "it ends")
        again = [each for turn in self.turns() for each in turn["begun"] if each["node"] == name]
        self.assertEqual(len(again), 1, again)
        self.end(run)

    def test_a_plugin_that_is_away_costs_rounds(self):
        plugin = self.start_plugin()
        run = self.start_run()
        self.feed()
        self.turn(lambda turn: turn["begun"], "a deletion begins")
        plugin.kill()
        plugin.wait()
        left_out = self.turn(lambda turn: turn["status"] == "NoRound", "no round without a plugin")
        self.assertIn("the actuator's status: plugin unix:", left_out["log"][-1])
        self.assertEqual(left_out["begun"], [])
        self.start_plugin()
        self.turn(lambda turn: "round" in turn, "rounds go on")
        self.end(run)

    def test_at_the_end_tainted_nodes_are_untainted(self):
        self.start_plugin()
        run = self.start_run("--node-delete-delay-after-taint", "1h")
        self.feed()
        begun = self.turn(lambda turn: turn["begun"], "a deletion begins")
        self.assertEqual([each.phase for each in self.plugin_status().running], [plugin_pb.TAINTED])
        self.end(run)
        status = self.plugin_status()
        self.assertEqual(list(status.running), [])
        self.assertEqual([(each.node, each.ok, each.why) for each in status.results],
                         [(begun["begun"][0]["node"], False, "the loop ends")])

    def test_begun_deletions_finish_at_the_end(self):
        self.start_plugin()
        run = self.start_run()
        self.feed()
        self.turn(lambda turn: turn["begun"], "a deletion begins")
        self.wait_for(lambda: any(each.phase == plugin_pb.DRAINING
                                  for each in self.plugin_status().running), "it drains")
        self.end(run)
        status = self.plugin_status()
        self.assertEqual(list(status.running), [])
        self.assertEqual([each.ok for each in status.results], [True])

    def test_without_a_feeder_nothing_begins(self):
        self.start_plugin()
        run = self.start_run()
        self.feed().close()
        self.turn(lambda turn: "no client feeds" in str(turn["log"]), "no round without a feeder")
        self.end(run)

    def pools(self, low=30):
        """A file with one pool of all nodes; each node is a quarter full."""
        path = self.folder / "pools.yaml"
        path.write_text(f"""pools:
- name: web
  policy: escalator
  nodes: {{nodegroup: g}}
  cloud: {{min: 3, max: 10}}
  period: 1
  options: {{name: web, label_key: nodegroup, label_value: g, cloud_provider_group_name: g,
            min_nodes: 3, max_nodes: 10, scale_up_threshold_percent: 70,
            taint_upper_capacity_threshold_percent: 45,
            taint_lower_capacity_threshold_percent: {low}, slow_node_removal_rate: 1,
            fast_node_removal_rate: 1, soft_delete_grace_period: 1m, hard_delete_grace_period: 10m,
            scale_up_cool_down_period: 10m}}
notifications:
- exec: {{command: [sh, -c, 'cat >> {self.folder}/notices'], timeout: 10}}
""")
        return ["--pools", str(path)]

    @staticmethod
    def decided(turn):
        return turn["pools"][0] if turn.get("pools") else {}

    def test_a_policy_takes_a_node_of_its_pool_and_a_restart_takes_no_second(self):
        self.start_plugin()
        # The first process does not reach the drain.
        run = self.start_run(*self.pools(), "--node-delete-delay-after-taint", "1h")
        feed = self.feed()
        shrunk = self.decided(self.turn(lambda turn: self.decided(turn).get("leaving"), "it shrinks"))
        self.assertEqual((shrunk["pool"], shrunk["policy"], shrunk["nodes"], shrunk["delta"]),
                         ("web", "escalator", NODES, -1))
        self.assertEqual([each.phase for each in self.plugin_status().running], [plugin_pb.TAINTED])
        name = self.plugin_status().running[0].node
        run.kill()
        run.wait()
        feed.close()
        run = self.start_run(*self.pools())
        feed = self.feed()
        ended = self.turn(lambda turn: turn["ended"], "it ends")["ended"]
        self.assertEqual(ended, [{"node": name, "ok": True}])
        feed.drop(name)
        stays = self.decided(self.turn(lambda turn: turn.get("nodes") == NODES - 1, "it is gone"))
        self.assertEqual((stays["nodes"], stays["leaving"]), (NODES - 1, 0))
        self.end(run)
        turns = self.turns()
        self.assertEqual(sum(self.decided(turn).get("leaving", 0) for turn in turns), 1)
        # Rounds of the planner do not touch the pool's group.
        self.assertEqual([each for turn in turns for each in turn["begun"]], [])
        listed = subprocess.run([EBB, "policy", "failsafe", "list", "--state",
                                 str(self.states / "default.db")],
                                capture_output=True, text=True, check=True).stdout
        self.assertRegex(listed, r"web +escalator +no +0 ")

    def notice(self):
        """What the notifier wrote; None: it has not written all of it."""
        with contextlib.suppress(OSError, json.JSONDecodeError):
            return json.loads((self.folder / "notices").read_text())

    def test_a_pool_that_cannot_grow_is_in_failsafe_until_an_operator_ends_it(self):
        self.start_plugin()
        path = self.pools()[1]
        text = pathlib.Path(path).read_text().replace("threshold_percent: 70", "threshold_percent: 20")
        text = text.replace("percent: 45", "percent: 10").replace("percent: 30", "percent: 5")
        pathlib.Path(path).write_text(text.replace("  cloud:", "  retries: 1\n  cloud:"))
        run = self.start_run("--pools", path)
        self.feed()
        first = self.turn(lambda turn: "failsafe" in str(turn["log"]), "it is in failsafe")
        self.assertIn("it cannot grow: ", str(first["log"]))
        self.assertEqual(self.decided(first)["grow"]["group"], "g")
        notice = self.wait_for(self.notice, "a notifier is called")
        self.assertEqual((notice["pool"], notice["event"]), ("web", "failsafe"))
        idle = self.decided(self.turn(lambda turn: self.decided(turn).get("deniedBy") == "failsafe",
                                      "it does nothing"))
        self.assertEqual((idle["delta"], idle["reason"], idle["failsafe"]),
                         (0, "in failsafe until an operator ends it", True))
        self.assertNotIn("grow", idle)
        # The program continues with the state that the operator changed.
        subprocess.run([EBB, "policy", "failsafe", "clear", "web", "--state",
                        str(self.states / "default.db")], capture_output=True, check=True)
        self.turn(lambda turn: self.decided(turn).get("grow"), "it tries again")
        self.end(run)

    def test_a_dry_run_says_what_policies_would_do(self):
        run = self.start_run("--dry-run", *self.pools(), state=False)
        self.feed()
        line = run.stdout.readline()
        while " delete " not in line:
            self.assertNotEqual(line, "", self.log_text())
            line = run.stdout.readline()
        shrunk = self.decided(self.turn(lambda turn: self.decided(turn).get("leaving"), "it shrinks"))
        self.assertEqual(shrunk["delta"], -1)
        self.end(run)
        self.assertEqual(list(self.states.iterdir()), [])

    def test_a_dry_run_says_what_it_would_do_and_does_nothing(self):
        self.start_plugin()
        run = self.start_run("--dry-run", state=False)
        self.feed()
        line = run.stdout.readline()
        while " delete " not in line:
            self.assertNotEqual(line, "", self.log_text())
            line = run.stdout.readline()
        self.end(run)
        self.assertEqual(self.plugin_status(), plugin_pb.StatusReply())
        self.assertIn("would be gone", self.log_text())
        self.assertEqual(self.log_text().count("warning: all pods are of namespace default and none of kube-system"), 1)
        self.assertEqual(list(self.states.iterdir()), [])

    def test_a_turn_of_several_lines_is_logged_line_by_line(self):
        run = self.start("run", "--dry-run", "--socket", str(self.socket), *QUICK)
        self.wait_for(lambda: "no round: " in self.log_text(), "it logs why there is no round")
        self.end(run)
        self.assertNotIn("\\n", self.log_text())
        self.assertRegex(self.log_text(), r"(?m)^\S+Z round left out, 0 in deletion$")
        self.assertRegex(self.log_text(), r"(?m)^\S+Z no round: session .* no client feeds it")

    def test_a_state_belongs_to_one_process(self):
        self.start_plugin()
        state = ["--state", str(self.folder / "s.db")]
        run = self.start_run(*state, state=False)
        other = subprocess.run(
            [EBB, "run", "--actuator", f"unix:{self.plugin_socket}", "--socket",
             str(self.folder / "other.sock"), *state], capture_output=True, text=True, timeout=WAIT_S,
            check=False)
        self.assertEqual(other.returncode, 1)
        self.assertIn("s.db: --state: another ebb uses it", other.stderr)
        self.end(run)

    def test_a_file_of_rounds_that_cannot_be_used_ends_it_at_the_start(self):
        # Symptom: it ran, and no round was ever made.
        damaged = self.folder / "damaged.db"
        damaged.write_text("no database, and long enough to be looked at by whoever opens it: " * 3)
        before = damaged.read_bytes()
        good = self.folder / "good.db"
        shutil.copy(damaged, self.states / "default.db")
        for flags, named in [(["--state", damaged], str(damaged)),
                            (["--state-folder", self.states], str(self.states / "default.db")),
                            (["--state", good, "--record", damaged], str(damaged))]:
            run = subprocess.run(
                [EBB, "run", "--actuator", f"unix:{self.plugin_socket}", "--socket", self.socket, *flags],
                capture_output=True, text=True, timeout=WAIT_S, check=False)
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn(f"{named}: cannot be read: file is not a database", run.stderr)
            self.assertEqual(damaged.read_bytes(), before)

    def test_without_a_plugin_it_ends_long_before_the_grace(self):
        run = self.start_run("--grace", "1h")
        self.turn(lambda turn: turn["status"] == "NoRound", "no round without a plugin")
        self.end(run)

    def test_a_silent_plugin_does_not_delay_the_end(self):
        # Symptom: the end waited for all retries of all calls, two minutes and more.
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as mute:
            mute.bind(str(self.plugin_socket))
            mute.listen()
            mute.settimeout(WAIT_S)
            run = self.start_run("--grace", "1s")
            with contextlib.closing(mute.accept()[0]):  # A call is in progress.
                started = time.monotonic()
                self.end(run)
        # Each attempt of a call may take 10 s, and each call has four attempts.
        self.assertLess(time.monotonic() - started, 30)

    def test_a_plugin_that_reports_nonsense_costs_rounds(self):
        text = PLUGIN.read_text()
        wrong = text.replace("phase=each.phase,", "phase=77,")
        self.assertNotEqual(text, wrong)
        path = self.folder / "wrong.py"
        path.write_text(wrong)
        child = subprocess.Popen([sys.executable, str(path), str(self.plugin_socket), str(NODES)],
                                 stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": STUBS.name})
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "serving\n")
        run = self.start_run("--grace", "1s")
        self.feed()
        self.turn(lambda turn: turn["begun"], "a deletion begins")
        left_out = self.turn(lambda turn: turn["status"] == "NoRound", "no round on nonsense")
        self.assertIn("running[0].phase: 77 is not a phase", left_out["log"][-1])
        self.assertEqual(left_out["begun"], [])
        self.end(run)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
