#!/usr/bin/env python3
"""`ebb serve` as any gRPC client sees it.

    serve_test.py EBB SOURCE_DIR

Needs Python's grpcio and protobuf, protoc and its plugin for Python.  The stubs are made from
wire/planner.proto, as any client would make them.  The examples of docs/service.md are run too.
"""

import concurrent.futures
import contextlib
import gzip
import http.client
import io
import json
import os
import pathlib
import queue
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc

EBB = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
STUBS = tempfile.TemporaryDirectory(prefix="ebb-stubs-")
subprocess.run(
    ["protoc", f"-I{SOURCE}", f"--python_out={STUBS.name}", f"--grpc_out={STUBS.name}",
     f"--plugin=protoc-gen-grpc={shutil.which('grpc_python_plugin')}",
     str(SOURCE / "wire/planner.proto")], check=True)
sys.path.insert(0, STUBS.name)
from wire import planner_pb2 as pb  # noqa: E402
from wire import planner_pb2_grpc  # noqa: E402

NOW = 1780315200
WAIT_S = 60  # For results that come at once; a machine may be slow.
Code = grpc.StatusCode


def node(name, **labels):
    return json.dumps({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": "uid-" + name, "labels": {"nodegroup": "g", **labels}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                   "conditions": [{"type": "Ready", "status": "True"}]}}).encode()


def pod(name, on, cpu="1", version=""):
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "uid": "uid-" + name, "namespace": "default",
                     "resourceVersion": version,
                     "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                          "name": "web", "uid": "rs", "controller": True}]},
        "spec": {"nodeName": on,
                 "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running"}}).encode()


REPLICA_SET = json.dumps({
    "apiVersion": "apps/v1", "kind": "ReplicaSet",
    "metadata": {"name": "web", "uid": "rs", "namespace": "default"},
    "spec": {"replicas": 2}, "status": {"replicas": 2}}).encode()


def put(*objects):
    return [pb.Change(put_json=each) for each in objects]


# Two nodes with one pod each; one of the nodes can go.
CLUSTER = put(node("a"), node("b"), REPLICA_SET, pod("p", "a"), pod("q", "b"))


class Server:
    """A daemon in a folder of its own."""

    def __init__(self, folder, *flags, state=True, **popen):
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "e.sock"
        states = self.folder / "states"
        states.mkdir(mode=0o700, exist_ok=True)
        command = [str(EBB), "serve", "--socket", str(self.socket), *flags]
        if state:
            command += ["--state-folder", str(states)]
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(command, stderr=self.log, **popen)
        deadline = time.monotonic() + WAIT_S
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("does not serve: " + self.log_text())
            time.sleep(0.01)
        self.channel = self.connect()
        self.stub = planner_pb2_grpc.PlannerStub(self.channel)

    def listens(self):
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
            try:
                probe.connect(str(self.socket))
                return True
            except OSError:
                return False

    def connect(self):
        return grpc.insecure_channel(
            f"unix:{self.socket}", options=[("grpc.max_receive_message_length", -1),
                                            ("grpc.max_send_message_length", -1),
                                            ("grpc.use_local_subchannel_pool", 1)])

    def log_text(self):
        return (self.folder / "log").read_text(errors="replace")

    def close(self):
        self.channel.close()
        self.log.close()

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(WAIT_S)
        self.close()
        return self.process.returncode


class ServeTest(unittest.TestCase):
    FLAGS = ()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ebb-serve-")
        self.addCleanup(self.folder.cleanup)
        self.server = None
        self.start()
        self.addCleanup(self.stop)

    def start(self, *flags, **popen):
        self.server = Server(self.folder.name, *(flags or self.FLAGS), **popen)
        self.stub = self.server.stub

    def stop(self):
        if self.server.process.poll() is None:
            self.server.kill()
        self.server.close()

    def apply(self, changes=None, session=""):
        request = pb.ApplyRequest(session=session, changes=CLUSTER if changes is None else changes)
        return self.stub.Apply(request).version

    def plan(self, session="", **fields):
        fields.setdefault("now", NOW)
        reply = self.stub.Plan(pb.PlanCall(input=pb.PlanInput(session=session, **fields)))
        return json.loads(reply.plan)

    def removed(self, **fields):
        return [each["node"] for each in self.plan(**fields)["remove"]]

    @contextlib.contextmanager
    def refused(self, code, *texts):
        with self.assertRaises(grpc.RpcError) as caught:
            yield
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        for text in texts:
            self.assertIn(text, caught.exception.details())


class CallsTest(ServeTest):

    def ask_with_bytes(self, call, request):
        ask = self.server.channel.unary_unary("/ebb.v1alpha1.Planner/" + call,
                                              request_serializer=lambda each: each,
                                              response_deserializer=lambda each: each)
        return ask(request, timeout=WAIT_S)

    def test_a_message_of_too_many_parts_is_refused_before_it_is_parsed(self):
        # Symptom: 61 MiB of empty parts took 3.2 GB of memory.
        self.apply()
        with self.refused(Code.RESOURCE_EXHAUSTED, "message: ", "send fewer at a time"):
            self.ask_with_bytes("Filter", b"\x1a\x00" * 3_000_000)
        stream = self.server.channel.stream_stream("/ebb.v1alpha1.Planner/Sync",
                                                   request_serializer=lambda each: each,
                                                   response_deserializer=lambda each: each)
        with self.refused(Code.RESOURCE_EXHAUSTED, "send fewer at a time"):
            list(stream(iter([b"\x12\x00" * 2_000_000]), timeout=WAIT_S))
        self.assertEqual(self.removed(), ["a"])

    def test_bytes_that_are_not_a_message_are_rejected_with_a_text(self):
        # Symptom: UNIMPLEMENTED without a text, and libprotobuf's messages on standard error.
        for call in ("Plan", "Filter", "Apply", "Round"):
            for request in (b"\xff", b"\x0a\x05zz"):
                with self.refused(Code.INVALID_ARGUMENT, "the bytes are not a message"):
                    self.ask_with_bytes(call, request)
        with self.refused(Code.INVALID_ARGUMENT, "is not UTF-8"):
            self.ask_with_bytes("Filter", b"\x0a\x01\xff")
        self.assertNotIn("libprotobuf", self.server.log_text())

    def test_plans_within_a_deadline(self):
        dump = self.folder.name + "/c.json"
        subprocess.run([EBB, "gen", "company", "--nodes", "300", "-o", dump], check=True,
                       stderr=subprocess.DEVNULL)
        self.stub.Load(iter([pb.LoadRequest(dump=pathlib.Path(dump).read_bytes())]))
        whole = self.plan()["summary"]
        for step in range(40):
            request = pb.PlanCall(input=pb.PlanInput(now=NOW + 1 + step))
            try:
                reply = self.stub.Plan(request, timeout=0.0005 * 1.2 ** step)
            except grpc.RpcError as late:
                self.assertEqual(late.code(), Code.DEADLINE_EXCEEDED)
            else:
                json.loads(reply.plan)
            # The call's deadline has not passed, but the planner's time limit has.
            limit = pb.PlanInput(now=NOW + 100 + step, time_limit_seconds=0.0005 * 1.2 ** step)
            plan = json.loads(self.stub.Plan(pb.PlanCall(input=limit), timeout=WAIT_S).plan)
            if plan["summary"]["termination"] != "deadline":
                self.assertEqual(plan["summary"]["termination"], whole["termination"])
        self.assertEqual(self.plan()["summary"]["termination"], whole["termination"])

    # Symptom: a session that was closed while it was watched was never freed.  Sanitizers report that.
    def test_session_that_is_watched_is_closed(self):
        self.apply()
        stream = self.stub.WatchPlans(pb.WatchPlansCall(min_interval_ms=1), timeout=WAIT_S)
        next(stream)
        self.stub.Close(pb.CloseRequest())
        with self.refused(Code.ABORTED, "was closed"):
            next(stream)
        self.assertEqual(self.server.kill(signal.SIGTERM), 0, self.server.log_text())

    def test_watchers_receive_the_plan_that_new_settings_change(self):
        self.apply()
        stream = self.stub.WatchPlans(pb.WatchPlansCall(min_interval_ms=1), timeout=WAIT_S)
        self.assertEqual(next(stream).remove_count, 1)
        sizes = [pb.GroupSize(name="g", min_size=2, max_size=5)]
        self.stub.Open(pb.OpenRequest(settings=pb.Settings(group_sizes=sizes)))
        self.assertEqual(next(stream).remove_count, 0)
        stream.cancel()

    def test_settings_of_a_call_are_in_place_of_the_sessions_or_laid_over_them(self):
        sizes = [pb.GroupSize(name="g", min_size=2, max_size=5)]
        settings = pb.Settings(group_sizes=sizes)
        settings.options.update({"scaleDown": {"planner": {"scaleDownUtilizationThreshold": 0.6}}})
        self.stub.Open(pb.OpenRequest(settings=settings))
        self.apply()
        own = pb.Settings()
        own.options.update({"scaleDown": {"planner": {"minNodesPerPass": 3}}})
        self.assertEqual(self.removed(), [])
        self.assertEqual(self.removed(settings=own), ["a"])
        self.assertEqual(self.removed(settings=own, settings_over_session=True), [])
        own.group_sizes.append(pb.GroupSize(name="g", min_size=1, max_size=5))
        self.assertEqual(self.removed(settings=own, settings_over_session=True), ["a"])
        own.options.update({"scaleDown": {"planner": {"scaleDownUtilizationThreshold": 7}}})
        with self.refused(Code.INVALID_ARGUMENT, "scaleDownUtilizationThreshold"):
            self.plan(settings=own, settings_over_session=True)

    def test_version(self):
        reply = self.stub.Version(pb.VersionRequest())
        self.assertEqual(reply.pid, self.server.process.pid)
        self.assertIn(reply.version, subprocess.check_output([EBB, "version"], text=True))
        self.assertEqual(reply.protocol, 1)

    def test_a_table_of_a_pass_has_the_plan_of_the_pass(self):
        self.apply()
        call = pb.PlanInput(candidates=pb.NodeNames(nodes=["a", "b"]), now=NOW)
        plan, table = self.stub.Pass(call).plan, self.stub.PassTable(call)
        self.assertEqual([each.node for each in plan.removes],
                         [table.nodes[each] for each in table.removed_nodes])
        self.assertEqual([each.to for removal in plan.removes for each in removal.moves],
                         [table.nodes[each] for each in table.to])
        self.assertEqual([each.node for each in plan.keeps],
                         [table.nodes[each] for each in table.kept_nodes])
        self.assertEqual(len(table.removed_nodes), 1)

    def test_plan_and_change(self):
        self.assertEqual(self.apply(), 1)
        self.assertEqual(self.removed(), ["a"])
        self.assertEqual(self.apply(put(pod("q", "b", cpu="3500m"))), 2)
        self.assertEqual(self.removed(), [])

    def test_sessions_are_apart(self):
        self.apply(session="one")
        self.apply(put(node("x"), pod("y", "x")), session="two")
        self.assertEqual(self.removed(session="one"), ["a"])
        self.assertEqual(self.removed(session="two"), [])
        names = [each.session for each in self.stub.Status(pb.StatusRequest()).sessions]
        self.assertEqual(names, ["one", "two"])
        self.stub.Close(pb.CloseRequest(session="one"))
        with self.refused(Code.NOT_FOUND, "session one"):
            self.removed(session="one")

    def test_min_version_is_waited_for(self):
        self.apply(put(node("a"), node("b"), REPLICA_SET, pod("p", "a")))
        call = self.stub.Plan.future(
            pb.PlanCall(input=pb.PlanInput(min_version=2, now=NOW)), timeout=WAIT_S)
        self.apply(put(pod("q", "b")))
        self.assertEqual(call.result().version, 2)

    def test_min_version_that_never_comes_ends_with_the_call(self):
        self.apply()
        with self.refused(Code.DEADLINE_EXCEEDED):
            self.stub.Plan(pb.PlanCall(input=pb.PlanInput(min_version=99)), timeout=0.2)
        while self.stub.Status(pb.StatusRequest(session="default")).sessions[0].calls_waiting:
            time.sleep(0.01)

    def test_explain_filter_export_load(self):
        self.apply()
        why = self.stub.Explain(pb.ExplainCall(input=pb.PlanInput(now=NOW), nodes=["a"]))
        self.assertEqual(json.loads(why.json)["nodes"][0]["decision"], "remove")
        fits = self.stub.Filter(pb.FilterCall(pods=["default/p"]))
        self.assertEqual(len(json.loads(fits.json)["results"][0]["nodes"]), 2)
        table = self.stub.Filter(
            pb.FilterCall(pods=["default/p"], form=pb.AS_TABLES))
        self.assertEqual([v.fits for v in table.pods[0].verdicts], [True, True])
        parts = list(self.stub.Export(pb.ExportCall()))
        self.assertEqual(parts[0].version, 1)
        snapshot = b"".join(part.snapshot for part in parts)
        loaded = self.stub.Load(
            iter([pb.LoadRequest(session="copy", dump=snapshot[:10]),
                  pb.LoadRequest(dump=snapshot[10:])]))
        self.assertEqual((loaded.nodes, loaded.pods), (2, 2))
        self.assertEqual(self.removed(session="copy"), ["a"])

    def test_watched_plans(self):
        self.apply()
        stream = self.stub.WatchPlans(
            pb.WatchPlansCall(input=pb.PlanInput(), min_interval_ms=1), timeout=WAIT_S)
        first = next(stream)
        self.assertTrue(first.whole)
        self.assertEqual([json.loads(each)["node"] for each in first.removes], ["a"])
        self.apply(put(pod("q", "b", cpu="3500m")))
        second = next(stream)
        self.assertFalse(second.whole)
        self.assertEqual(second.remove_count, 0)
        self.assertEqual([json.loads(each)["node"] for each in second.keeps], ["a", "b"])
        stream.cancel()

    def test_a_client_of_stable_plans_receives_only_what_differs(self):
        self.apply()
        question = pb.PlanCall(input=pb.PlanInput(stable=pb.Stable(greedy_every=0)), form=pb.AS_DATA,
                               since_version="")
        first = self.stub.Plan(question)
        self.assertEqual((first.stable.origin, first.whole), ("first", True))
        self.assertEqual([each.node for each in first.data.removes], ["a"])
        self.apply(put(node("empty")))
        question.since_version = first.plan_version
        second = self.stub.Plan(question)
        self.assertEqual((second.stable.origin, second.whole), ("kept", False))
        self.assertEqual([each.node for each in second.data.removes], ["empty"])
        self.assertEqual((list(second.places), list(second.data.keeps)), ([1], []))
        self.assertEqual([(each.node, each.removes) for each in second.stable.changes], [("empty", True)])
        # The daemon that starts again does not know the client's plan.
        self.server.kill()
        self.start()
        self.apply()
        question.since_version = second.plan_version
        third = self.stub.Plan(question)
        self.assertEqual((third.stable.origin, third.whole), ("first", True))

    def test_a_watch_of_stable_plans_continues_where_it_ended(self):
        self.apply()
        call = pb.WatchPlansCall(input=pb.PlanInput(stable=pb.Stable(greedy_every=0)), min_interval_ms=1)
        stream = self.stub.WatchPlans(call, timeout=WAIT_S)
        first = next(stream)
        self.assertEqual((first.whole, first.stable.origin), (True, "first"))
        stream.cancel()
        self.apply(put(node("empty")))
        call.since_version = first.plan_version
        stream = self.stub.WatchPlans(call, timeout=WAIT_S)
        second = next(stream)
        self.assertEqual((second.whole, second.stable.origin), (False, "kept"))
        self.assertEqual([json.loads(each)["node"] for each in second.removes], ["empty"])
        self.assertEqual(list(second.keeps), [])
        stream.cancel()

    def test_round_and_actuation(self):
        self.apply()
        first = self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW)))
        self.assertEqual((first.round, list(first.delete_drain)), (1, []))
        # After a kill the daemon continues from its saved state.
        self.server.kill()
        self.start()
        self.apply()
        second = self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW + 601)))
        self.assertEqual((second.round, list(second.delete_drain)), (2, ["a"]))
        begun = self.stub.ReportActuation(pb.ActuationReport(
            begun=[pb.BegunDeletion(node="a", drained=True)]))
        self.assertEqual(begun.in_progress, 1)
        self.server.kill()
        self.start()
        self.apply()
        ended = self.stub.ReportActuation(pb.ActuationReport(
            ended=[pb.EndedDeletion(node="a", result="FailedToEvictPods")]))
        self.assertEqual(ended.in_progress, 0)
        third = self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW + 610)))
        self.assertEqual(third.status, "ScaleDownInCooldown")

    def test_health_and_reflection(self):
        health = self.server.channel.unary_unary("/grpc.health.v1.Health/Check")
        self.assertEqual(health(b""), b"\x08\x01")  # SERVING
        reflection = self.server.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        # list_services = 7
        reply = next(reflection(iter([b"\x3a\x01*"])))
        self.assertIn(b"ebb.v1alpha1.Planner", reply)

    def test_status_command(self):
        self.apply()
        server = f"unix:{self.server.socket}"
        text = subprocess.check_output([EBB, "serve", "status", "--server", server], text=True)
        self.assertIn("default", text)
        data = json.loads(subprocess.check_output(
            [EBB, "serve", "status", "--server", server, "-o", "json"]))
        self.assertEqual(data["sessions"][0]["nodes"], 2)

    def test_status_says_which_nodes_the_last_round_kept_and_until_when(self):
        """The status printed "0 unneeded" for minutes, and nothing about the nodes that rounds remember."""
        bare = json.loads(pod("bare", "a"))
        del bare["metadata"]["ownerReferences"]
        self.apply(CLUSTER + [pb.Change(put_json=json.dumps(bare).encode())])
        now = 1780315200  # 2026-06-01T12:00:00Z
        self.stub.Round(pb.RoundCall(input=pb.PlanInput(now=now, allow_incomplete=True)))
        server = f"unix:{self.server.socket}"
        text = subprocess.check_output([EBB, "serve", "status", "--server", server], text=True)
        self.assertRegex(text, r"Round of 2026-06-01T12:00:00Z, session default: \d unremovable \(.*1 NotReplicated"
                               r".*looked at again at 2026-06-01T12:05:00Z\)")
        data = json.loads(subprocess.check_output(
            [EBB, "serve", "status", "--server", server, "-o", "json"]))
        last_round = data["sessions"][0]["lastRound"]
        self.assertEqual(last_round["at"], "2026-06-01T12:00:00Z")
        self.assertEqual(last_round["unremovable"]["reasons"]["NotReplicated"], 1)
        self.assertEqual(last_round["unremovable"]["lookedAtAgain"]["first"], "2026-06-01T12:05:00Z")


class AsGivenTest(ServeTest):
    """Sessions of clients that leave out by themselves what does not count."""

    def open(self, **fields):
        return self.stub.Open(pb.OpenRequest(session="s", **fields))

    def cpu(self):
        table = self.stub.PassTable(pb.PlanInput(
            session="s", now=NOW, candidates=pb.NodeNames(nodes=["a"])))
        return list(table.cpu)

    def test_ended_pods_count(self):
        ended = json.loads(pod("p", "a"))
        ended["status"]["phase"] = "Succeeded"
        changes = put(node("a"), json.dumps(ended).encode())
        self.apply(changes, session="s")
        self.assertEqual(self.cpu(), [0])
        self.stub.Close(pb.CloseRequest(session="s"))
        self.assertTrue(self.open(as_given=True).as_given)
        self.apply(changes, session="s")
        self.assertEqual(self.cpu(), [0.25])

    def test_only_a_new_session_takes_objects_as_given(self):
        self.apply(session="s")
        with self.refused(Code.FAILED_PRECONDITION, "as_given: session s exists"):
            self.open(as_given=True)
        self.assertFalse(self.open().as_given)
        self.stub.Close(pb.CloseRequest(session="s"))
        self.assertTrue(self.open(as_given=True).as_given)
        self.assertTrue(self.open().as_given)


class TokenTest(ServeTest):
    """Streams that are about a session in one state."""

    def sync(self, token, changes=CLUSTER):
        return list(self.stub.Sync(iter([
            pb.SyncRequest(session="s", cluster_token=token, changes=changes[:2]),
            pb.SyncRequest(changes=changes[2:])])))

    def test_a_stream_continues_from_its_token(self):
        token = self.stub.Open(pb.OpenRequest(session="s")).cluster_token
        for _ in range(2):
            replies = self.sync(token)
            self.assertEqual(len({token, *(each.cluster_token for each in replies)}), 3)
            token = replies[-1].cluster_token
        table = self.stub.PassTable(pb.PlanInput(
            session="s", cluster_token=token, now=NOW, candidates=pb.NodeNames(nodes=["a"])))
        self.assertEqual(table.version, 4)

    def test_a_stream_about_another_state_applies_nothing(self):
        token = self.sync("")[-1].cluster_token
        self.stub.Apply(pb.ApplyRequest(session="s", changes=put(node("c"))))
        with self.refused(Code.ABORTED, "session s holds another cluster"):
            self.sync(token, put(node("x"), node("y"), node("z")))
        with self.refused(Code.ABORTED, "session s holds another cluster"):
            self.stub.PassTable(pb.PlanInput(session="s", cluster_token=token))
        self.stub.Close(pb.CloseRequest(session="s"))
        with self.refused(Code.NOT_FOUND, "session s"):
            self.sync(token)
        self.assertEqual(len(self.stub.Status(pb.StatusRequest()).sessions), 0)


class Batches:
    """The messages of a stream, as a test adds them; None ends the stream."""

    def __init__(self):
        self.queue = queue.Queue()
        self.taken = 0

    def put(self, message):
        self.queue.put(message)

    def __iter__(self):
        return self

    def __next__(self):
        message = self.queue.get(timeout=WAIT_S)
        if message is None:
            raise StopIteration
        self.taken += 1
        return message


class BusyTest(ServeTest):
    """A session that a long question keeps at work."""

    def setUp(self):
        super().setUp()
        dump = self.folder.name + "/c.json"
        subprocess.run([EBB, "gen", "company", "--nodes", "60", "-o", dump], check=True,
                       stderr=subprocess.DEVNULL)
        self.objects = json.loads(pathlib.Path(dump).read_bytes())["items"]
        self.batches = Batches()
        self.replies = self.stub.Sync(self.batches)
        self.addCleanup(self.batches.put, None)
        self.batches.put(pb.SyncRequest(changes=self.puts(self.objects), resync_begins=True, resync_ends=True))
        next(self.replies)

    @staticmethod
    def puts(objects):
        return [pb.Change(put_json=json.dumps(each).encode()) for each in objects]

    def cordons(self):
        nodes = [each for each in self.objects if each["kind"] == "Node"]
        return self.puts([{**each, "spec": {**each["spec"], "unschedulable": True},
                           "metadata": {**each["metadata"], "resourceVersion": "1000000000"}} for each in nodes])

    def status(self):
        return self.stub.Status(pb.StatusRequest(session="default")).sessions[0]

    def wait_for_calls(self, count):
        while self.status().calls_waiting != count:
            time.sleep(0.001)

    def ask(self, **fields):
        return self.stub.Plan.future(pb.PlanCall(input=pb.PlanInput(**fields), form=pb.AS_NAMES),
                                     timeout=WAIT_S)

    def ask_long(self):
        """The session is at work on it when this returns."""
        call = self.ask(trials=pb.Trials(trials=10000), min_version=self.status().version + 1)
        self.wait_for_calls(1)
        self.apply([])
        self.wait_for_calls(0)
        return call

    # Symptom: a change that had come 13 s before was taken after the answer, which was as of now.
    def test_changes_that_have_come_are_taken_before_the_next_question(self):
        def sync():
            self.batches.put(pb.SyncRequest(changes=self.cordons()))
            return lambda: next(self.replies).version

        def apply():
            call = self.stub.Apply.future(pb.ApplyRequest(changes=self.cordons()))
            return lambda: call.result(WAIT_S).version
        for send in (sync, apply):
            long = self.ask_long()
            asked = self.ask(max_age_seconds=30)
            self.wait_for_calls(1)
            version = send()
            self.wait_for_calls(2)
            long.cancel()
            self.assertEqual(asked.result().version, version())

    def test_changes_of_a_client_that_has_gone_are_applied(self):
        long = self.ask_long()
        before = self.status().version
        self.batches.put(pb.SyncRequest(changes=self.cordons()))
        self.wait_for_calls(1)
        self.replies.cancel()
        asked = self.ask()
        self.wait_for_calls(2)
        long.cancel()
        self.assertEqual(asked.result().version, before + 1)

    # Symptom: the answer came as good, about a cluster that was gone, with a version that the new
    # session of that name has too.
    def test_a_question_at_work_ends_when_its_session_is_closed(self):
        asked, waiting = self.ask_long(), self.ask()
        self.wait_for_calls(1)
        self.stub.Close(pb.CloseRequest())
        for call in (asked, waiting):
            with self.refused(Code.ABORTED, "session default was closed"):
                call.result(WAIT_S)


class SyncTest(ServeTest):

    def test_each_batch_is_acknowledged(self):
        batches = [pb.SyncRequest(session="s", changes=CLUSTER)]
        batches += [pb.SyncRequest(changes=put(pod(f"r{i}", "a", cpu="1m"))) for i in range(200)]
        replies = list(self.stub.Sync(iter(batches)))
        self.assertEqual([each.version for each in replies], list(range(1, 202)))
        status = self.stub.Status(pb.StatusRequest(session="s")).sessions[0]
        self.assertEqual(status.pods, 202)

    def test_bad_batch_ends_the_stream_and_those_before_stay(self):
        versions = []
        batches = [pb.SyncRequest(changes=CLUSTER), pb.SyncRequest(changes=put(pod("r", "a"))),
                   pb.SyncRequest(changes=put(pod("good", "a"), pod("bad", "a", cpu="four"))),
                   pb.SyncRequest(changes=put(pod("late", "a")))]
        with self.refused(Code.INVALID_ARGUMENT, "changes[1]", "default/bad", "cpu"):
            for reply in self.stub.Sync(iter(batches)):
                versions.append(reply.version)
        self.assertEqual(versions, [1, 2])
        self.assertEqual(self.stub.Status(pb.StatusRequest()).sessions[0].pods, 3)

    def test_full_resync(self):
        self.apply(put(node("gone"), pod("left", "gone")))
        replies = list(self.stub.Sync(iter([
            pb.SyncRequest(changes=CLUSTER[:2], resync_begins=True),
            pb.SyncRequest(changes=CLUSTER[2:], resync_ends=True)])))
        self.assertEqual(replies[-1].deleted_by_resync, 2)
        self.assertEqual(self.removed(), ["a"])

    def test_resync_that_does_not_end_deletes_nothing(self):
        self.apply()
        list(self.stub.Sync(iter([pb.SyncRequest(resync_begins=True)])))
        self.assertEqual(self.stub.Status(pb.StatusRequest()).sessions[0].nodes, 2)
        with self.refused(Code.INVALID_ARGUMENT, "resync_ends"):
            list(self.stub.Sync(iter([pb.SyncRequest(resync_ends=True)])))

    # Symptom: the end of the first resync deleted objects that it had named before the second began.
    def test_resyncs_at_once(self):
        self.apply()
        first, second = Batches(), Batches()
        of_first, of_second = self.stub.Sync(first), self.stub.Sync(second)
        first.put(pb.SyncRequest(changes=CLUSTER, resync_begins=True))
        next(of_first)
        second.put(pb.SyncRequest(changes=CLUSTER[:2], resync_begins=True))
        next(of_second)
        first.put(pb.SyncRequest(resync_ends=True))
        self.assertEqual(next(of_first).deleted_by_resync, 0)
        self.assertEqual(self.removed(), ["a"])
        second.put(pb.SyncRequest(resync_ends=True))
        self.assertEqual(next(of_second).deleted_by_resync, 3)
        for batches in (first, second):
            batches.put(None)

    def test_load_ends_resyncs(self):
        self.apply()
        snapshot = b"".join(part.snapshot for part in self.stub.Export(pb.ExportCall()))
        batches = Batches()
        stream = self.stub.Sync(batches)
        batches.put(pb.SyncRequest(resync_begins=True, cluster_uid="uid-one"))
        next(stream)
        with self.refused(Code.FAILED_PRECONDITION, "nothing says that the dump is of the same"):
            self.stub.Load(iter([pb.LoadRequest(dump=snapshot)]))
        self.stub.Load(iter([pb.LoadRequest(dump=snapshot, cluster_uid="uid-one")]))
        batches.put(pb.SyncRequest(changes=put(node("late")), resync_ends=True))
        with self.refused(Code.ABORTED, "resync_ends"):
            next(stream)
        batches.put(None)
        self.assertEqual(self.removed(), ["a"])
        self.assertEqual(self.stub.Status(pb.StatusRequest()).sessions[0].nodes, 2)

    def test_one_stream_is_about_one_session(self):
        with self.refused(Code.INVALID_ARGUMENT, "session"):
            list(self.stub.Sync(iter([pb.SyncRequest(session="one"),
                                      pb.SyncRequest(session="two")])))

    # Symptom: if the daemon reported a batch while it parsed the next one, it read the batch after that
    # into the same memory.  Ends of resyncs came too early or twice, and batches changed places.
    def test_batches_keep_their_order(self):
        batches = [pb.SyncRequest(changes=CLUSTER)]
        for i in range(2000):
            batches += [pb.SyncRequest(changes=CLUSTER, resync_begins=True),
                        pb.SyncRequest(changes=put(pod(f"r{i}", "a", cpu="1m"))),
                        pb.SyncRequest(resync_ends=True)]
        replies = list(self.stub.Sync(iter(batches)))
        # Each resync ends with its own pod, and deletes the pod of the one before.
        self.assertEqual([each.deleted_by_resync for each in replies[3::3]],
                         [0] + [1] * 1999)
        self.assertEqual(sum(each.deleted_by_resync for each in replies), 1999)
        versions = [each.version for each in replies]
        self.assertEqual(versions, sorted(set(versions)))

    def test_client_that_goes_in_the_middle(self):
        taken = threading.Event()

        def batches():
            yield pb.SyncRequest(changes=CLUSTER)
            taken.wait(WAIT_S)

        stream = self.stub.Sync(batches())
        self.assertEqual(next(stream).version, 1)
        stream.cancel()
        taken.set()
        self.assertEqual(self.removed(), ["a"])

    def test_client_that_reads_nothing(self):
        # More acknowledgements than the daemon keeps for one client; other clients are served meanwhile.
        count = 10000
        batches = [pb.SyncRequest(session="silent", changes=CLUSTER)]
        batches += [pb.SyncRequest()] * count
        stream = self.stub.Sync(iter(batches))
        watch = self.stub.WatchPlans(pb.WatchPlansCall(
            input=pb.PlanInput(session="silent"), min_interval_ms=1))
        self.apply(session="other")
        export = self.stub.Export(pb.ExportCall(session="other"))
        self.assertEqual(self.removed(session="other"), ["a"])
        # None is lost once the client reads.
        self.assertEqual([each.version for each in stream], list(range(1, count + 2)))
        self.assertEqual(next(export).version, 1)
        watch.cancel()

    def test_clients_that_go_one_after_the_other(self):
        for i in range(50):
            channel = self.server.connect()
            stub = planner_pb2_grpc.PlannerStub(channel)
            batches = Batches()
            stream = stub.Sync(batches)
            batches.put(pb.SyncRequest(changes=CLUSTER, resync_begins=True))
            if i % 2:
                next(stream)
            batches.put(pb.SyncRequest(changes=[pb.Change(put_json=b"{")] * (i % 3)))
            channel.close()
            batches.put(None)
        self.apply()
        # Once the last resync was given up, a client may declare the session whole.
        while True:
            try:
                self.assertEqual(len(list(self.stub.Sync(iter([pb.SyncRequest(whole=True)])))), 1)
                break
            except grpc.RpcError as error:
                self.assertEqual(error.code(), Code.FAILED_PRECONDITION, error)
        self.assertEqual(self.removed(), ["a"])

    def test_dump_is_about_one_session(self):
        with self.refused(Code.INVALID_ARGUMENT, "session"):
            self.stub.Load(iter([pb.LoadRequest(session="one", dump=b"{"),
                                 pb.LoadRequest(session="two", dump=b"}")]))

    # Symptom: if a client went in the middle of a dump, its part was taken for the whole.
    def test_dump_that_is_cut_off(self):
        self.apply()
        dump = b"\n".join([node("n"), pod("r", "n")])
        tries = 60
        for i in range(tries):
            channel = self.server.connect()
            stub = planner_pb2_grpc.PlannerStub(channel)
            parts = Batches()
            call = stub.Load.future(parts)
            parts.put(pb.LoadRequest(session="default", dump=dump))
            while parts.taken < 1:
                time.sleep(0.001)
            if i % 3 == 0:
                time.sleep(0.01)  # By now it has most likely arrived.
            call.cancel() if i % 2 else channel.close()
            parts.put(None)
        # Dumps that never reached the daemon are not in its log; the last one is complete.
        loaded = self.stub.Load(iter([pb.LoadRequest(session="last", dump=dump)]))
        self.assertEqual(loaded.nodes, 1)
        status = self.stub.Status(pb.StatusRequest(session="default")).sessions[0]
        self.assertEqual((status.version, status.nodes), (1, 2))

    # Symptom: a change was acknowledged, and then replaced by a dump that had begun before it.
    def test_a_change_that_is_taken_while_a_dump_comes_is_kept(self):
        self.apply()
        parts = Batches()
        call = self.stub.Load.future(parts)
        parts.put(pb.LoadRequest(session="default", dump=b"\n".join([node("n"), pod("r", "n")])))
        while parts.taken < 1:
            time.sleep(0.001)
        time.sleep(0.2)  # By now it has most likely arrived.
        version = self.apply(put(node("new")))
        parts.put(None)
        try:
            call.result(WAIT_S)
            self.fail("the dump was loaded over the change")
        except grpc.RpcError as error:
            self.assertEqual(error.code(), Code.ABORTED)
            self.assertIn("changed while the dump was sent", error.details())
        status = self.stub.Status(pb.StatusRequest(session="default")).sessions[0]
        self.assertEqual((status.version, status.nodes), (version, 3))

    def test_protobuf_of_kubernetes(self):
        # runtime.Unknown{typeMeta{apiVersion, kind}, raw}: a Node with a name and cpu.
        def field(number, data):
            return bytes([number << 3 | 2, len(data)]) + data

        def quantity(key, text):
            return field(1, field(1, key) + field(2, field(1, text)))
        meta = field(1, b"pb-node")
        allocatable = (field(2, field(1, b"cpu") + field(2, field(1, b"4"))) +
                       field(2, field(1, b"pods") + field(2, field(1, b"10"))))
        raw = field(1, meta) + field(3, allocatable)
        unknown = field(1, field(1, b"v1") + field(2, b"Node")) + field(2, raw)
        self.apply([pb.Change(put_protobuf=b"k8s\0" + unknown)])
        self.assertEqual(self.stub.Status(pb.StatusRequest()).sessions[0].nodes, 1)
        self.apply([pb.Change(delete_protobuf=b"k8s\0" + unknown)])
        self.assertEqual(self.stub.Status(pb.StatusRequest()).sessions[0].nodes, 0)


# How a call may end whose message is wrong.  gRPC returns INTERNAL, or UNIMPLEMENTED for a stream, for
# bytes that are not a message.  DEADLINE_EXCEEDED comes from waiting for a version that never comes.
CODES = {Code.OK, Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION,
         Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED, Code.INTERNAL,
         Code.UNIMPLEMENTED}


def namespace(name, uid):
    return json.dumps({"apiVersion": "v1", "kind": "Namespace",
                       "metadata": {"name": name, "uid": uid}}).encode()


class WholeTest(ServeTest):
    """Which client fills a session, whether the session's cluster is whole, and how old it is."""

    def feed(self, *changes, session="default", **fields):
        """Begins a resync; returns the stream's messages and replies."""
        batches = Batches()
        replies = self.stub.Sync(batches)
        self.addCleanup(batches.put, None)
        batches.put(pb.SyncRequest(session=session, changes=changes, resync_begins=True, **fields))
        next(replies)
        return batches, replies

    def end(self, batches, replies):
        """Ends the stream; returns once the session has seen the end."""
        batches.put(None)
        self.assertEqual(list(replies), [])

    def status(self, session="default"):
        return self.stub.Status(pb.StatusRequest(session=session)).sessions[0]

    def warnings(self, session="default"):
        reply = self.stub.Plan(pb.PlanCall(input=pb.PlanInput(session=session)))
        return {each.code: each.message for each in reply.warnings
                if each.code.startswith("Session")}

    def questions(self):
        of = pb.PlanInput(session="default", now=NOW)
        return {
            "Plan": lambda: self.stub.Plan(pb.PlanCall(input=of)),
            "Explain": lambda: self.stub.Explain(pb.ExplainCall(input=of, nodes=["a"])),
            "Pass": lambda: self.stub.Pass(of),
            "PassTable": lambda: self.stub.PassTable(of),
            "Filter": lambda: self.stub.Filter(pb.FilterCall(pods=["default/p"])),
            "WatchPlans": lambda: next(self.stub.WatchPlans(pb.WatchPlansCall(), timeout=WAIT_S)),
            "Export": lambda: next(self.stub.Export(pb.ExportCall()))}

    # Symptom: while the pods of a cluster were still to come, every node could go.
    def test_no_question_is_answered_before_the_first_resync_has_ended(self):
        batches, replies = self.feed(*CLUSTER[:4])
        for call, ask in self.questions().items():
            with self.subTest(call), self.refused(
                    Code.UNAVAILABLE, "session default: is being filled since",
                    "4 objects so far, with 2 nodes and 1 pod"):
                ask()
        with self.refused(Code.FAILED_PRECONDITION, "is being filled"):
            self.stub.Round(pb.RoundCall())
        status = self.status()
        self.assertEqual((status.fill, status.objects), (pb.SessionStatus.FILLING, 4))
        batches.put(pb.SyncRequest(changes=CLUSTER[4:], resync_ends=True))
        next(replies)
        for call, ask in self.questions().items():
            with self.subTest(call):
                self.assertFalse(ask().freshness.HasField("not_fed_since"))
        self.assertEqual(self.removed(), ["a"])
        self.assertEqual(self.status().fill, pb.SessionStatus.WHOLE)
        self.assertEqual(self.warnings(), {})

    def test_a_first_resync_that_broke_off_is_waited_for_still(self):
        self.end(*self.feed(*CLUSTER[:4]))
        with self.refused(Code.UNAVAILABLE, "is being filled"):
            self.removed()

    def command(self, *words, **popen):
        return subprocess.Popen([EBB, *words, "--server", f"unix:{self.server.socket}"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)

    def test_the_command_waits_for_the_first_resync_or_fails(self):
        batches, replies = self.feed(*CLUSTER[:4])
        for words in (("plan", "-o", "name"), ("plan", "--explain", "a"),
                      ("filter", "--pod", "default/p")):
            with self.command(*words, "--wait", "0s") as child:
                out, err = child.communicate(timeout=WAIT_S)
            self.assertEqual((child.returncode, out), (1, ""), words)
            self.assertIn("is being filled", err)
        with self.command("serve", "status") as child:
            self.assertIn("filling since", child.communicate(timeout=WAIT_S)[0])
        with self.command("plan", "-o", "name", "--wait", "1h", "--exit-code") as child:
            self.assertIn("4 objects so far, with 2 nodes and 1 pod; waits for it up to 1h",
                          child.stderr.readline())
            batches.put(pb.SyncRequest(changes=CLUSTER[4:], resync_ends=True))
            next(replies)
            out, _ = child.communicate(timeout=WAIT_S)
            self.assertEqual((child.returncode, out), (10, "node/a\n"))

    def test_a_load_in_parts_is_answered_about_once_it_is_whole(self):
        self.apply(put(node("old"), pod("r", "old")), session="default")
        dump = b"\n".join([node("a"), node("b"), REPLICA_SET, pod("p", "a"), pod("q", "b")])
        for session, before in (("default", lambda: self.assertEqual(self.removed(), [])),
                                ("new", None)):
            parts = Batches()
            call = self.stub.Load.future(parts)
            parts.put(pb.LoadRequest(session=session, dump=dump[:len(dump) // 2]))
            while parts.taken < 1:
                time.sleep(0.001)
            if before:
                before()
            else:
                with self.refused(Code.NOT_FOUND):
                    self.removed(session=session)
            parts.put(pb.LoadRequest(dump=dump[len(dump) // 2:]))
            parts.put(None)
            self.assertEqual(call.result(WAIT_S).nodes, 2)
            self.assertEqual(self.removed(session=session), ["a"])
            self.assertEqual(self.warnings(session), {})

    def test_a_session_that_batches_fill_is_answered_with_a_warning(self):
        self.apply()
        self.assertEqual(list(self.warnings()), ["SessionMaybeIncomplete"])
        self.assertEqual(self.status().fill, pb.SessionStatus.MAYBE_INCOMPLETE)
        list(self.stub.Sync(iter([pb.SyncRequest(whole=True)])))
        self.assertNotIn("SessionMaybeIncomplete", self.warnings())
        self.assertEqual(self.status().fill, pb.SessionStatus.WHOLE)

    # Symptom: after the feeder had gone, answers did not say that they were old.
    def test_answers_say_since_when_no_client_feeds_the_session(self):
        batches, replies = self.feed(*CLUSTER)
        batches.put(pb.SyncRequest(resync_ends=True))
        next(replies)
        watch = self.stub.WatchPlans(pb.WatchPlansCall(min_interval_ms=1), timeout=WAIT_S)
        self.assertFalse(next(watch).freshness.HasField("not_fed_since"))
        before = int(time.time())
        self.end(batches, replies)
        self.assertGreaterEqual(next(watch).freshness.not_fed_since, before)
        watch.cancel()
        for call, ask in self.questions().items():
            with self.subTest(call):
                freshness = ask().freshness
                self.assertGreaterEqual(freshness.not_fed_since, before)
                self.assertEqual(freshness.as_of, freshness.not_fed_since)
        self.assertIn("no client feeds it since 20", self.warnings()["SessionNotFed"])
        self.assertIn("notFedSince", self.plan()["summary"]["session"])
        self.assertGreaterEqual(self.status().not_fed_since, before)
        with self.command("plan", "-o", "name") as child:
            self.assertIn("warning: session default: no client feeds it since",
                          child.communicate(timeout=WAIT_S)[1])
        # The data gets too old.
        while True:
            with self.command("plan", "-o", "name", "--max-age", "1s") as child:
                out, err = child.communicate(timeout=WAIT_S)
            if child.returncode != 0:
                break
        self.assertEqual((child.returncode, out), (1, ""))
        self.assertRegex(err, "its cluster is as of 20.*the call allows at most 1 s; no client")
        of = pb.PlanInput(max_age_seconds=1)
        for ask in (lambda: self.stub.Plan(pb.PlanCall(input=of)),
                    lambda: self.stub.Pass(of),
                    lambda: self.stub.PassTable(of),
                    lambda: self.stub.Round(pb.RoundCall(input=of)),
                    lambda: self.stub.Filter(pb.FilterCall(pods=["default/p"],
                                                           max_age_seconds=1))):
            with self.refused(Code.FAILED_PRECONDITION, "at most 1 s"):
                ask()
        with self.refused(Code.INVALID_ARGUMENT, "max_age_seconds"):
            next(self.stub.WatchPlans(pb.WatchPlansCall(input=of), timeout=WAIT_S))

    # Symptom: the resync of another cluster's feeder deleted all objects of the first cluster.
    def test_a_feeder_of_another_cluster_is_refused(self):
        batches, replies = self.feed(*CLUSTER, cluster_uid="uid-one")
        batches.put(pb.SyncRequest(resync_ends=True))
        next(replies)
        version = self.status().version
        others = put(node("x"), pod("y", "x"))
        for request in (
                pb.SyncRequest(changes=others, resync_begins=True, cluster_uid="uid-two"),
                pb.SyncRequest(changes=put(namespace("kube-system", "uid-two")) + others,
                               resync_begins=True, resync_ends=True)):
            with self.refused(Code.FAILED_PRECONDITION, "uid-one", "uid-two"):
                list(self.stub.Sync(iter([request])))
        with self.refused(Code.FAILED_PRECONDITION, "uid-one", "uid-two"):
            self.stub.Load(iter([pb.LoadRequest(dump=b"{}", cluster_uid="uid-two")]))
        with self.refused(Code.FAILED_PRECONDITION, "uid-one", "uid-two"):
            self.apply(put(namespace("kube-system", "uid-two")))
        status = self.status()
        self.assertEqual((status.version, status.nodes, status.cluster_uid),
                         (version, 2, "uid-one"))
        self.assertEqual(self.removed(), ["a"])
        # A second feeder of the same cluster is accepted.
        second, of_second = self.feed(*CLUSTER, cluster_uid="uid-one")
        second.put(pb.SyncRequest(resync_ends=True))
        self.assertEqual(next(of_second).deleted_by_resync, 0)
        self.assertEqual(self.status().feeds, 2)

    def test_a_cluster_is_known_by_its_namespace_too(self):
        space = put(namespace("kube-system", "uid-one"))
        batches, replies = self.feed(*space, *CLUSTER)
        batches.put(pb.SyncRequest(resync_ends=True))
        next(replies)
        self.assertEqual(self.status().cluster_uid, "uid-one")
        with self.refused(Code.FAILED_PRECONDITION, "uid-one", "uid-two"):
            list(self.stub.Sync(iter([pb.SyncRequest(
                changes=put(namespace("kube-system", "uid-two")), resync_begins=True)])))
        self.assertEqual(self.removed(), ["a"])

    def test_the_page_shows_how_far_it_is_and_since_when_it_is_not_fed(self):
        self.server.kill()
        pages = self.folder.name + "/pages.sock"
        self.start("--metrics-socket", pages)

        def get(path):
            connection = http.client.HTTPConnection("localhost")
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(pages)
            connection.request("GET", path)
            reply = connection.getresponse()
            with contextlib.closing(connection):
                return reply.status, reply.read().decode()

        batches, replies = self.feed(*CLUSTER[:4])
        for path in ("/page.json?session=default", "/explain.json?session=default&node=a"):
            status, text = get(path)
            self.assertEqual(status, 503)
            self.assertIn("4 objects so far, with 2 nodes and 1 pod", text)
        batches.put(pb.SyncRequest(changes=CLUSTER[4:], resync_ends=True))
        next(replies)
        self.assertNotIn("notFedSince", get("/page.json?session=default")[1])
        self.end(batches, replies)
        page = json.loads(get("/page.json?session=default")[1])
        self.assertIn("notFedSince", page)
        self.assertIn("no client feeds it", " ".join(
            each["message"] for each in page["plan"]["summary"]["warnings"]))

    def test_the_metrics_name_each_rebuild_by_its_cause(self):
        self.server.kill()
        pages = self.folder.name + "/pages.sock"
        self.start("--metrics-socket", pages)

        def metric(name, cause):
            connection = http.client.HTTPConnection("localhost")
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(pages)
            connection.request("GET", "/metrics")
            with contextlib.closing(connection):
                text = connection.getresponse().read().decode()
            found = [line.rsplit(" ", 1)[1] for line in text.splitlines()
                     if line.startswith(name + "{") and f'cause="{cause}"' in line]
            self.assertEqual(len(found), 1, text)
            return float(found[0])

        batches, replies = self.feed(*CLUSTER)
        batches.put(pb.SyncRequest(resync_ends=True))
        next(replies)
        self.assertEqual(self.removed(), ["a"])
        self.assertEqual(metric("ebb_session_rebuilds_total", "first"), 1)
        self.assertGreater(metric("ebb_session_rebuild_seconds_total", "first"), 0)
        for cause in ("node", "shape", "budget", "namespace", "storage", "amounts", "dead-shapes",
                      "gone-nodes", "dead-texts", "volumes"):
            self.assertEqual(metric("ebb_session_rebuilds_total", cause), 0)
        self.end(batches, replies)

    def test_a_watcher_waits_for_the_end_of_a_later_resync(self):
        batches, replies = self.feed(*CLUSTER)
        batches.put(pb.SyncRequest(resync_ends=True))
        next(replies)
        watch = self.stub.WatchPlans(pb.WatchPlansCall(min_interval_ms=1), timeout=WAIT_S)
        self.assertEqual(next(watch).remove_count, 1)
        # A node was added; its pod is still to come.
        batches.put(pb.SyncRequest(changes=CLUSTER + put(node("new")), resync_begins=True))
        next(replies)
        with self.refused(Code.UNAVAILABLE, "has brought new nodes"):
            self.removed()
        self.assertIn("has brought new nodes", next(watch).refused)
        batches.put(pb.SyncRequest(changes=put(pod("r", "new", cpu="3500m")), resync_ends=True))
        next(replies)
        news = next(watch)
        self.assertTrue(news.whole)
        self.assertIn("new", [json.loads(each)["node"] for each in news.keeps])
        watch.cancel()

    def test_broken_watches_give_a_warning(self):
        batches, replies = self.feed(*CLUSTER)
        watches = [pb.BrokenWatch(kind="Pod", since=NOW)]
        batches.put(pb.SyncRequest(resync_ends=True,
                                   broken_watches=pb.BrokenWatches(watches=watches)))
        next(replies)
        self.assertIn("does not see changes of Pod since 2026-06-01T12:00:00Z",
                      self.warnings()["SessionWatchBroken"])
        batches.put(pb.SyncRequest(broken_watches=pb.BrokenWatches()))
        next(replies)
        self.assertEqual(self.warnings(), {})


def wrong_values(field):
    """Values of a field that a client should not send; for a number, the ends of its range."""
    kinds = type(field)
    if field.type == kinds.TYPE_STRING:
        return ["", "x" * 100000, "a\nb\0c\u202e", "../../x"]
    if field.type == kinds.TYPE_BYTES:
        return [b"", b"\xff" * 100000, b"{", b"\0"]
    if field.type == kinds.TYPE_BOOL:
        return [True]
    if field.type == kinds.TYPE_DOUBLE:
        return [0, -1, float("nan"), float("inf"), 1e308]
    if field.type == kinds.TYPE_ENUM:
        return [5, 99, -1]
    bits = 32 if field.type in (kinds.TYPE_UINT32, kinds.TYPE_INT32) else 64
    signed = field.type in (kinds.TYPE_INT64, kinds.TYPE_INT32)
    return [0, -1, -2 ** (bits - 1), 2 ** (bits - 1) - 1] if signed else [0, 2 ** bits - 1]


def parts_of(message, path=()):
    """Every message in a message, with its path."""
    yield path, message
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        several = field.label == field.LABEL_REPEATED
        for i, each in enumerate(value if several else [value]):
            yield from parts_of(each, (*path, (field.name, i if several else None)))


def at(message, path):
    for name, index in path:
        message = getattr(message, name)
        if index is not None:
            message = message[index]
    return message


def wrong_forms(request):
    """Wrong encodings of the request: (what is wrong, bytes)."""
    yield "nothing", b""
    whole = request.SerializeToString()
    for cut in range(1, len(whole), max(1, len(whole) // 20)):
        yield f"cut off at {cut}", whole[:cut]
    for path, part in parts_of(request):
        for field in part.DESCRIPTOR.fields:
            name = ".".join([each for each, _ in path] + [field.name])
            copy = type(request)()
            copy.CopyFrom(request)
            at(copy, path).ClearField(field.name)
            yield name + " missing", copy.SerializeToString()
            if field.message_type is None:
                for value in wrong_values(field):
                    copy.CopyFrom(request)
                    if field.label == field.LABEL_REPEATED:
                        getattr(at(copy, path), field.name)[:] = [value] * 3
                    else:
                        setattr(at(copy, path), field.name, value)
                    yield f"{name} {str(value)[:20]!r}", copy.SerializeToString()
            elif field.label == field.LABEL_REPEATED and not field.message_type.GetOptions(
            ).map_entry:
                for _ in range(1000):
                    getattr(at(copy, path), field.name).add()
                yield name + " 1000 empty ones", copy.SerializeToString()
            if not path:  # With another wire type, and with bytes that are not of its type.
                for wire, data in ((0, b"\x01"), (1, b"\xff" * 8), (2, b"\x03\xff\xfe\xfd"),
                                   (5, b"\xff" * 4), (3, b""), (2, b"\x7f")):
                    tag = field.number << 3 | wire
                    yield f"{name} of wire type {wire}", whole + bytes([tag]) + data


class CarelessTest(ServeTest):
    """Messages that no client should send.  The daemon and its sessions must survive them."""

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), self.server.log_text())

    def test_every_call_with_nothing_in_it(self):
        with self.refused(Code.INVALID_ARGUMENT):
            self.stub.Load(iter([]))
        self.assertEqual(self.stub.Apply(pb.ApplyRequest()).version, 1)
        with self.refused(Code.INVALID_ARGUMENT, "changes[0]"):
            self.stub.Apply(pb.ApplyRequest(changes=[pb.Change()]))
        with self.refused(Code.INVALID_ARGUMENT, "delete.kind"):
            self.stub.Apply(pb.ApplyRequest(changes=[pb.Change(delete=pb.Deletion())]))
        for call, request in ((self.stub.Plan, pb.PlanCall()),
                              (self.stub.Round, pb.RoundCall())):
            with self.refused(Code.FAILED_PRECONDITION, "no nodes"):
                call(request)
        for call, request in ((self.stub.Explain, pb.ExplainCall()),
                              (self.stub.Filter, pb.FilterCall())):
            with self.refused(Code.INVALID_ARGUMENT):
                call(request)
        self.stub.Open(pb.OpenRequest())
        self.stub.ReportActuation(pb.ActuationReport())
        list(self.stub.Sync(iter([])))
        list(self.stub.Export(pb.ExportCall()))
        self.stub.Close(pb.CloseRequest())

    def test_bytes_that_are_not_a_message(self):
        self.apply()
        for method in ("Plan", "Apply", "Open", "Round", "ReportActuation", "Filter", "Explain"):
            raw = self.server.channel.unary_unary(f"/ebb.v1alpha1.Planner/{method}")
            for junk in (b"\xff", b"\x0a\x7f", b"\x0a\x04\xff\xfe\xfd\xfc",
                         bytes(range(255, 155, -1))):
                with self.assertRaises(grpc.RpcError):
                    raw(junk)
        with self.refused(Code.UNIMPLEMENTED):
            self.server.channel.unary_unary("/ebb.v1alpha1.Planner/Nothing")(b"")
        self.assertEqual(self.removed(), ["a"])

    def test_invalid_session_names(self):
        for name in ("A", "../x", "a" * 64, "a b", "\u202e"):
            for call in (lambda n: self.apply(session=n), lambda n: self.removed(session=n)):
                with self.refused(Code.INVALID_ARGUMENT, "session"):
                    call(name)

    def test_malformed_objects_name_object_and_field(self):
        self.apply()
        before = self.plan()
        for bad, texts in (
                (b"", ()), (b"{", ()), (b"[]", ()), (b"\xff\xfe", ()),
                (b'{"kind":"Pod"}', ("Pod",)),
                (pod("x", "a", cpu="-1"), ("default/x", "cpu")),
                (node("n").replace(b'"4"', b'"four"'), ("n", "cpu"))):
            with self.subTest(bad[:80]), self.refused(Code.INVALID_ARGUMENT, *texts):
                self.apply(put(bad))
        for bad in (b"", b"k8s\0", b"k8s\0\xff", bytes(range(255, 205, -1))):
            with self.refused(Code.INVALID_ARGUMENT, "changes[0]"):
                self.apply([pb.Change(put_protobuf=bad)])
        self.assertEqual(self.plan(), before)

    def test_evictions_without_end(self):
        # Symptom: the daemon's stack overflowed on a message that is nested deep.
        deep = b'{"a":' + b"[" * 2000000 + b"]" * 2000000 + b"}"
        with self.refused(Code.INVALID_ARGUMENT, "evicted[0].json"):
            self.apply()
            self.stub.ReportActuation(pb.ActuationReport(evicted=[pb.EvictedPod(json=deep)]))
        with self.refused(Code.INVALID_ARGUMENT, "settings"):
            self.plan(settings=pb.Settings(node_groups="[" * 1000000))

    def test_filter_of_too_much(self):
        self.apply()
        with self.refused(Code.RESOURCE_EXHAUSTED, "pods"):
            self.stub.Filter(pb.FilterCall(pods=["default/p"] * 600000))

    def test_every_field_of_every_call(self):
        """Each field in turn is missing, too large, out of range and wrongly encoded."""
        self.apply(session="kept")
        before = self.plan(session="kept")
        for name, (kind, request) in self.sane_requests().items():
            method = "/ebb.v1alpha1.Planner/" + name
            unary = getattr(self.server.channel, kind)(method)
            for what, data in wrong_forms(request):
                with self.subTest(call=name, field=what):
                    # A token of another cluster ends a question alone.
                    codes = CODES | {Code.ABORTED} if "cluster_token" in what else CODES
                    self.assertIn(self.code_of(kind, unary, data), codes)
            self.assertIsNone(self.server.process.poll(), name)
            self.assertEqual(self.plan(session="kept"), before, name)

    @staticmethod
    def sane_requests():
        settings = pb.Settings(node_groups="nodeGroups: [{name: g}]",
                               group_sizes=[pb.GroupSize(name="g", min_size=1, max_size=2)])
        settings.options.update({"candidateOrder": "autoscaler"})
        plan_input = pb.PlanInput(session="x", min_version=1, settings=settings, now=NOW,
                                  max_scale_down_parallelism=3, time_limit_seconds=5,
                                  warnings=[pb.Warning(code="C", message="m", command="c")])
        watched = pb.PlanInput(session="x", settings=settings)
        changes = [*CLUSTER, pb.Change(delete=pb.Deletion(kind="Pod", namespace="n", name="p",
                                                          uid="u"))]
        report = pb.ActuationReport(
            session="x", begun=[pb.BegunDeletion(node="a", group="g", drained=True)],
            ended=[pb.EndedDeletion(node="b", result="Ok", group="g", at=NOW)],
            evicted=[pb.EvictedPod(namespace="default", name="p", uid="u", at=NOW),
                     pb.EvictedPod(json=pod("p", "a"))],
            scale_ups=[pb.ScaleUp(group="g", at=NOW)],
            unready_nodes=pb.NodeNames(nodes=["a"]),
            unregistered_nodes=pb.UnregisteredNodes(
                groups=[pb.UnregisteredNodes.Group(group="g", count=1)]))
        sane_pass = pb.PlanInput(
            session="x", min_version=1, settings=settings, now=NOW, time_limit_seconds=5,
            candidates=pb.NodeNames(nodes=["a"]), destinations=pb.NodeNames(nodes=["a"]),
            groups=pb.PassGroups(gpu_nodes=["a"], groups=[pb.PassGroup(
                name="g", nodes=["a"], atomic=True, scale_down_utilization_threshold=0.5,
                scale_down_gpu_utilization_threshold=0.5,
                ignore_daemonsets_utilization=True)]),
            unneeded_limit=1)
        return {
            "Apply": ("unary_unary", pb.ApplyRequest(session="x", changes=changes)),
            "Open": ("unary_unary", pb.OpenRequest(session="x", settings=settings)),
            "Status": ("unary_unary", pb.StatusRequest(session="x")),
            "Version": ("unary_unary", pb.VersionRequest()),
            "Plan": ("unary_unary", pb.PlanCall(input=plan_input, form=pb.AS_TABLES, rows=2, every_node=True)),
            "Explain": ("unary_unary", pb.ExplainCall(input=plan_input, form=pb.AS_TABLES, nodes=["a"])),
            "Pass": ("unary_unary", sane_pass),
            "PassTable": ("unary_unary", sane_pass),
            "Filter": ("unary_unary", pb.FilterCall(session="x", min_version=1,
                                                    pods=["default/p"], node="a", form=pb.AS_TABLES)),
            "Round": ("unary_unary", pb.RoundCall(
                input=plan_input, form=pb.AS_DATA, left_alone=["a"], sizing=pb.Sizing(
                    pools=[pb.PoolMemory(pool="p", policy="escalator", state=b"{}", at=NOW, failures=1,
                                         failsafe=True, grow_to=3, grow_by=1, grow_since=NOW)],
                    queue=[pb.QueuedNode(node="a", uid="u", pool="p", terminating=True, since=NOW,
                                         attempts=1, retry_after=NOW)]))),
            "Sizing": ("unary_unary", pb.SizingCall(session="x")),
            "ReportActuation": ("unary_unary", report),
            "WatchPlans": ("unary_stream", pb.WatchPlansCall(input=watched, min_interval_ms=1)),
            "Export": ("unary_stream", pb.ExportCall(session="x", min_version=1)),
            "Load": ("stream_unary", pb.LoadRequest(
                session="x", dump=b"\n".join([node("a"), pod("p", "a")]), settings=settings)),
            "Sync": ("stream_stream", pb.SyncRequest(session="x", changes=changes,
                                                     resync_begins=True, resync_ends=True)),
            "Close": ("unary_unary", pb.CloseRequest(session="x")),
        }

    @staticmethod
    def code_of(kind, method, data):
        """How a call with these bytes ends; a stream is read until its first message."""
        request = iter([data]) if kind.startswith("stream") else data
        try:
            if kind.endswith("unary"):
                method(request, timeout=2)
            else:
                stream = method(request, timeout=2)
                next(stream, None)
                stream.cancel()
        except grpc.RpcError as error:
            return error.code()
        return Code.OK

    def test_error_longer_than_a_header(self):
        with self.refused(Code.INVALID_ARGUMENT):
            self.apply(put(pod("x" * 100000, "a", cpu="y" * 100000)))

    def test_wrong_settings(self):
        self.apply()
        settings = pb.Settings(node_groups="nodeGroups: [{nome: x}]")
        with self.refused(Code.INVALID_ARGUMENT, "nome"):
            self.plan(settings=settings)
        settings = pb.Settings()
        settings.options.update({"scaleDown": {"planner": {"scaleDownUtilizationThreshold": 9}}})
        with self.refused(Code.INVALID_ARGUMENT, "scaleDownUtilizationThreshold"):
            self.plan(settings=settings)
        for time_limit in (0, -1, float("nan"), float("inf")):
            with self.refused(Code.INVALID_ARGUMENT, "time_limit_seconds"):
                self.plan(time_limit_seconds=time_limit)
        for now in (-2**63, 2**63 - 1):
            with self.refused(Code.INVALID_ARGUMENT, "now"):
                self.plan(now=now)

    # Symptom: each size was searched for among all sizes before it.
    def test_many_sizes(self):
        sizes = [pb.GroupSize(name=f"g{i}", max_size=1) for i in range(300000)]
        self.apply()
        self.stub.Open(pb.OpenRequest(settings=pb.Settings(group_sizes=sizes)), timeout=WAIT_S)

    def test_reports_are_refused_by_their_own_fields(self):
        self.apply()
        self.stub.ReportActuation(pb.ActuationReport(
            ended=[pb.EndedDeletion(node="x", result="Ok")] * 3))
        for report, text in (
                (pb.ActuationReport(begun=[pb.BegunDeletion()]), "begun[0].node"),
                (pb.ActuationReport(in_progress=pb.DeletionsInProgress(
                    deletions=[pb.BegunDeletion()])), "in_progress.deletions[0].node"),
                (pb.ActuationReport(ended=[pb.EndedDeletion(result="Ok")]), "ended[0].node"),
                (pb.ActuationReport(ended=[pb.EndedDeletion(node="a", result="Fine")]),
                 "ended[0].result"),
                (pb.ActuationReport(evicted=[pb.EvictedPod()]), "evicted[0]"),
                (pb.ActuationReport(scale_ups=[pb.ScaleUp()]), "scale_ups[0]"),
                (pb.ActuationReport(unready_nodes=pb.NodeNames(nodes=[""])),
                 "unready_nodes.nodes[0]"),
                (pb.ActuationReport(unregistered_nodes=pb.UnregisteredNodes(
                    groups=[pb.UnregisteredNodes.Group(group="g", count=-1)])),
                 "unregistered_nodes.groups[0].count")):
            with self.assertRaises(grpc.RpcError) as error:
                self.stub.ReportActuation(report)
            self.assertEqual(error.exception.code(), Code.INVALID_ARGUMENT)
            self.assertTrue(error.exception.details().startswith(text), error.exception.details())

    def test_questions_are_refused_by_their_own_fields(self):
        self.apply()
        for asked, text in ((pb.PlanInput(now=2**63 - 1), "input.now"),
                            (pb.PlanInput(max_workload_share=0), "input.max_workload_share"),
                            (pb.PlanInput(search=pb.Search(objective=pb.Search.COST)),
                             "input.search.objective")):
            with self.refused(Code.INVALID_ARGUMENT, text):
                self.stub.Plan(pb.PlanCall(input=asked))
        with self.refused(Code.INVALID_ARGUMENT, "input.bound"):
            self.stub.Round(pb.RoundCall(input=pb.PlanInput(bound=True)))

    def test_call_without_time(self):
        self.apply()
        with contextlib.suppress(grpc.RpcError):  # Or the daemon was quick enough.
            self.stub.Plan(pb.PlanCall(), timeout=1e-6)
        self.assertEqual(self.removed(), ["a"])

    def test_invalid_dumps(self):
        self.apply()
        for dump in (b"", b"{", b"\x1f\x8b", b"{}", json.dumps({"kind": "List", "items": []}).encode()):
            with self.refused(Code.INVALID_ARGUMENT):
                self.stub.Load(iter([pb.LoadRequest(dump=dump)]))
        self.assertEqual(self.removed(), ["a"])


class LimitsTest(ServeTest):
    FLAGS = ("--max-sessions", "2", "--max-objects", "10", "--max-message", "100000",
             "--max-object", "5000", "--max-dump", "20000")

    def test_each_limit_names_its_flag(self):
        self.apply(session="one")
        self.apply(session="two")
        with self.refused(Code.RESOURCE_EXHAUSTED, "--max-sessions"):
            self.apply(session="three")
        with self.refused(Code.RESOURCE_EXHAUSTED, "--max-objects"):
            self.apply(put(*(pod(f"r{i}", "a") for i in range(6))), session="one")
        with self.refused(Code.RESOURCE_EXHAUSTED):
            self.apply(put(pod("x" * 6000, "a")), session="one")
        with self.refused(Code.RESOURCE_EXHAUSTED):
            self.apply(put(pod("x" * 200000, "a")), session="one")
        with self.refused(Code.RESOURCE_EXHAUSTED, "--max-dump"):
            self.stub.Load(iter([pb.LoadRequest(session="one", dump=b" " * 9000)] * 3))
        self.assertEqual(self.removed(session="one"), ["a"])


    def test_limits_of_objects_and_dumps_name_their_flags(self):
        with self.refused(Code.RESOURCE_EXHAUSTED, "changes[0]", "--max-object"):
            self.apply(put(pod("x" * 6000, "a")))
        bomb = gzip.compress(b" " * 10000000 + b"{}")
        with self.refused(Code.RESOURCE_EXHAUSTED, "--max-dump"):
            self.stub.Load(iter([pb.LoadRequest(dump=bomb)]))

    # Symptom: each stream that was opened and reset at once took 20 KB, 5 GB in a minute, and the daemon
    # kept them.
    def test_streams_that_are_reset_at_once_are_bounded(self):
        def literal(name, value):
            return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value

        def frame(kind, flags, stream, payload):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

        def peak_mib():
            status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
            return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) >> 10

        def await_end(connection, ends):
            """Reads frames.  Adds to `ends` whether the daemon closed the connection, or answered the ping."""
            with contextlib.suppress(OSError), connection.makefile("rb") as frames:
                while len(header := frames.read(9)) == 9:
                    frames.read(int.from_bytes(header[:3], "big"))
                    if header[3] == PING and header[4] == ACK:
                        ends.append("answered")
                        return
            ends.append("closed")

        HEADERS, DATA, RST_STREAM, SETTINGS, PING, ACK = 1, 0, 3, 4, 6, 1
        # All 40,000 calls would take 800 MiB.  With the address sanitizer a call takes four times as much.
        limit_mib = 1600 if b"__asan_init" in EBB.read_bytes() else 400
        for call in (b"/ebb.v1alpha1.Planner/Plan", b"/ebb.v1alpha1.Planner/Sync", b"/grpc.health.v1.Health/Check", b"/no/such"):
            headers = (b"\x83\x86" + literal(b":path", call) + literal(b":authority", b"x") +
                       literal(b"te", b"trailers") + literal(b"content-type", b"application/grpc"))
            before = peak_mib()
            ends = []
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
                client.connect(str(self.server.socket))
                reader = threading.Thread(target=await_end, args=(client, ends), daemon=True)
                reader.start()
                with contextlib.suppress(OSError):  # The daemon closed the connection.
                    client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b""))
                    for first in range(0, 40000, 500):
                        client.sendall(b"".join(
                            frame(HEADERS, 4, 2 * i + 1, headers) + frame(DATA, 1, 2 * i + 1, bytes(5)) +
                            frame(RST_STREAM, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(first, first + 500)))
                    client.sendall(frame(PING, 0, 0, bytes(8)))
                reader.join()
            with self.subTest(call=call):
                self.assertTrue(ends == ["closed"] or peak_mib() < before + limit_mib,
                                f"{ends}, {before} to {peak_mib()} MiB")
        self.apply(session="one")  # Other connections are served.
        self.assertEqual(self.removed(session="one"), ["a"])

    # Symptom: the daemon read a batch while it rejected the one before, and the batch outlived the call.
    def test_stream_that_continues_after_its_refusal(self):
        for i in range(100):
            batches = [pb.SyncRequest(session="one", changes=CLUSTER)]
            batches += [pb.SyncRequest(changes=put(*(pod(f"r{i}-{j}", "a") for j in range(6))))] * 5
            with self.refused(Code.RESOURCE_EXHAUSTED, "--max-objects"):
                list(self.stub.Sync(iter(batches)))
        self.assertEqual(self.removed(session="one"), ["a"])


class MemoryLimitTest(ServeTest):
    FLAGS = ("--max-memory", "1MB")

    def test_changes_are_refused(self):
        with self.refused(Code.RESOURCE_EXHAUSTED, "--max-memory"):
            self.apply()
        self.stub.Version(pb.VersionRequest())


class ProcessTest(ServeTest):

    def second(self, *flags):
        run = subprocess.run([EBB, "serve", *flags], stderr=subprocess.PIPE, text=True,
                             timeout=WAIT_S, check=False)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        return run.returncode, run.stderr

    def test_second_daemon_is_refused(self):
        code, text = self.second("--socket", str(self.server.socket))
        self.assertEqual(code, 1)
        self.assertIn("another ebb serves on it", text)
        code, text = self.second("--socket", self.folder.name + "/other.sock", "--state-folder",
                                 self.folder.name + "/states")
        self.assertEqual(code, 1)
        self.assertIn("another ebb uses it", text)
        self.assertTrue(self.server.listens())

    def test_invalid_paths(self):
        for path, what in (("x" * 200, "too long"), (self.folder.name + "/no/e.sock", "folder"),
                           (str(EBB), "is not a socket")):
            code, text = self.second("--socket", path)
            self.assertEqual(code, 1)
            self.assertIn(what, text)
        code, text = self.second("--socket", self.folder.name + "/n.sock", "--state-folder",
                                 self.folder.name + "/none")
        self.assertEqual(code, 1)
        self.assertIn("--state-folder", text)

    def test_socket_of_a_killed_daemon_is_taken_over(self):
        self.server.kill()
        self.assertTrue(self.server.socket.exists())
        self.start()
        self.apply()

    def test_the_folder_of_the_socket_is_made_for_this_user_alone(self):
        folder = pathlib.Path(self.folder.name, "private")
        path = folder / "e.sock"
        for _ in range(2):  # The second daemon finds the folder.
            with subprocess.Popen([EBB, "serve", "--socket", path, "--log", "none", "--make-folder"],
                                  stderr=subprocess.PIPE, text=True) as process:
                self.assertIn("serves on", process.stderr.readline())
                process.terminate()
            self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        below = folder / "a" / "b" / "e.sock"
        run = subprocess.run([EBB, "serve", "--socket", below, "--make-folder"],
                             stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"--make-folder: {below.parent}: No such file or directory", run.stderr)

    def test_ends_at_sigterm(self):
        self.apply()
        watch = self.stub.WatchPlans(pb.WatchPlansCall(), timeout=WAIT_S)
        next(watch)
        done = threading.Event()

        def batches():
            yield pb.SyncRequest(changes=CLUSTER)
            done.wait(WAIT_S)

        sync = self.stub.Sync(batches())
        next(sync)
        waiting = self.stub.Plan.future(pb.PlanCall(input=pb.PlanInput(min_version=99)))
        while not self.stub.Status(pb.StatusRequest()).sessions[0].calls_waiting:
            time.sleep(0.01)
        self.server.process.send_signal(signal.SIGTERM)
        for stream in (watch, sync):
            with self.refused(Code.UNAVAILABLE):
                next(stream)
        done.set()
        with self.assertRaises(grpc.RpcError):
            waiting.result(WAIT_S)
        self.assertEqual(self.server.process.wait(WAIT_S), 0, self.server.log_text())
        self.assertFalse(self.server.socket.exists())

    # Silent connections and waiting calls do not get the grace period; only calls at work do.
    def test_ends_soon_though_clients_are_silent(self):
        self.server.kill()
        self.start("--grace", "10m")
        self.apply()
        silent = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for connection in silent:
            connection.connect(str(self.server.socket))
        silent[1].sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        waiting = self.stub.Plan.future(pb.PlanCall(input=pb.PlanInput(min_version=99)))
        while not self.stub.Status(pb.StatusRequest()).sessions[0].calls_waiting:
            time.sleep(0.01)
        self.server.process.send_signal(signal.SIGTERM)
        with self.refused(Code.UNAVAILABLE, "the daemon ends"):
            waiting.result(WAIT_S)
        self.assertEqual(self.server.process.wait(WAIT_S), 0, self.server.log_text())
        for connection in silent:
            connection.close()

    def test_ends_at_sigterm_even_if_no_client_reads(self):
        self.server.kill()
        self.start("--grace", "200ms")
        self.apply()
        watch = self.stub.WatchPlans(pb.WatchPlansCall(min_interval_ms=1))
        next(watch)
        sync = self.stub.Sync(iter([pb.SyncRequest()] * 20000))
        export = self.stub.Export(pb.ExportCall())
        next(sync)
        self.assertEqual(self.server.kill(signal.SIGTERM), 0, self.server.log_text())
        del export

    def test_kill_in_the_middle_of_rounds(self):
        for attempt in range(6):
            self.apply()
            last_round = 0
            with contextlib.suppress(grpc.RpcError):
                killer = threading.Timer(random.random() * 0.2, self.server.process.kill)
                killer.start()
                while True:
                    # Too early for any node to go.
                    reply = self.stub.Round(pb.RoundCall(input=pb.PlanInput(
                        session="default", allow_incomplete=True, now=NOW + attempt)))
                    self.assertEqual(list(reply.delete_drain), [])
                    last_round = reply.round
            killer.join()
            self.server.process.wait(WAIT_S)
            self.server.close()
            self.start()
            self.apply()
            following = self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW + attempt)))
            # The daemon may have made one more round, whose reply was lost.
            if last_round:
                self.assertIn(following.round, (last_round + 1, last_round + 2))
        # Its timer has run since the first round.
        last = self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW + 606)))
        self.assertEqual(list(last.delete_drain), ["a"])

    def test_the_state_is_private_and_in_the_status_after_a_restart(self):
        self.apply()
        for round_number in range(2):
            self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW + round_number)))
        self.stub.ReportActuation(pb.ActuationReport(
            ended=[pb.EndedDeletion(node="z", result="Ok")]))
        for file in (self.server.folder / "states").iterdir():
            self.assertEqual(file.stat().st_mode & 0o077, 0, file)
        self.server.kill()
        self.start()
        self.apply()
        status = self.stub.Status(pb.StatusRequest())
        self.assertEqual([session.rounds for session in status.sessions], [2])

    def test_disk_that_is_full(self):
        self.server.kill()
        # Files may not grow beyond this size: for SQLite that is like a full disk.
        self.start(preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, 4096)))
        self.apply()
        with self.refused(Code.INTERNAL, "default.db"):
            self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW)))
        begun = [pb.BegunDeletion(node=f"n{i}") for i in range(200)]
        with self.refused(Code.INTERNAL, "default.db"):
            self.stub.ReportActuation(pb.ActuationReport(begun=begun))
        self.assertEqual(self.removed(), ["a"])
        self.server.kill()
        self.start()
        self.apply()
        self.assertEqual(self.stub.ReportActuation(pb.ActuationReport()).in_progress, 0)
        self.assertEqual(self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW))).round, 1)

    def test_half_written_state(self):
        self.apply()
        self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW)))
        self.server.kill()
        state = self.server.folder / "states/default.db"
        whole = state.read_bytes()
        self.start()
        self.apply()
        for size in (50, 1000, 5000, len(whole) // 2):
            state.write_bytes(whole[:size])
            with self.refused(Code.FAILED_PRECONDITION, "default.db"):
                self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW)))
            self.assertEqual(self.removed(), ["a"])
        # Once the file is back, the same daemon continues.
        state.write_bytes(whole)
        self.assertEqual(self.stub.Round(pb.RoundCall(input=pb.PlanInput(allow_incomplete=True, now=NOW))).round, 2)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_other_user(self):
        os.chmod(self.folder.name, 0o755)
        os.chmod(self.server.socket, 0o666)

        def become():
            os.setgid(65534)
            os.setuid(65534)
        text = subprocess.run(
            [EBB, "serve", "status", "--server", f"unix:{self.server.socket}"],
            stderr=subprocess.PIPE, text=True, timeout=WAIT_S, check=False, preexec_fn=become)
        self.assertEqual(text.returncode, 1, text.stderr)
        self.assertIn("uid 65534 (--allow-user)", text.stderr)
        # The client may connect, but gets nothing, not even gRPC's first frame.
        probe = ("import socket, sys; s = socket.socket(socket.AF_UNIX); "
                 "s.connect(sys.argv[1]); s.settimeout(60); print(s.recv(1))")
        received = subprocess.run(
            ["/usr/bin/python3", "-c", probe, str(self.server.socket)], stdout=subprocess.PIPE,
            text=True, timeout=WAIT_S, check=True, preexec_fn=become).stdout
        self.assertEqual(received, "b''\n")
        self.assertEqual(subprocess.call(
            [EBB, "serve", "status", "--server", f"unix:{self.server.socket}"],
            stdout=subprocess.DEVNULL), 0)

    def test_connections_that_say_nothing(self):
        silent = []
        for _ in range(100):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(self.server.socket))
            silent.append(connection)
        junk = socket.socket(socket.AF_UNIX)
        junk.connect(str(self.server.socket))
        junk.sendall(os.urandom(10000))
        self.apply()
        self.assertEqual(self.removed(), ["a"])
        for connection in (*silent, junk):
            connection.close()

    def test_log_lines(self):
        self.server.kill()
        self.start("--log", "json")
        self.apply(session="s")
        with self.refused(Code.NOT_FOUND):
            self.removed(session="none")
        self.server.kill(signal.SIGTERM)
        lines = [json.loads(line) for line in self.server.log_text().splitlines()
                 if line.startswith("{")]
        self.assertEqual([(each["call"], each["code"]) for each in lines],
                         [("Apply", "OK"), ("Plan", "NOT_FOUND")])


class Between:
    """A daemon that hands calls to the real one, and does something after each Load."""

    def __init__(self, stub, address, after_load):
        class Servicer(planner_pb2_grpc.PlannerServicer):
            """Answers as the real daemon does."""

        def hand_on(name):
            def answer(_servicer, request, context):
                try:
                    reply = getattr(stub, name)(request, timeout=WAIT_S)
                except grpc.RpcError as error:
                    context.abort(error.code(), error.details())
                if name == "Load":
                    after_load()
                return reply
            return answer
        for name in ("Load", "Status", "Plan", "Explain", "WhatIf", "Blockers", "Frontier", "Filter"):
            setattr(Servicer, name, hand_on(name))
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        planner_pb2_grpc.add_PlannerServicer_to_server(Servicer(), self.server)
        self.server.add_insecure_port(address)
        self.server.start()

    def stop(self):
        self.server.stop(None).wait(WAIT_S)


class CommandTest(ServeTest):
    """With --server the command prints the same as without, byte for byte."""

    def ebb(self, *words):
        run = subprocess.run([EBB, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=WAIT_S, check=False)
        return run.returncode, run.stdout, run.stderr

    def test_same_bytes(self):
        dump = self.folder.name + "/c.json"
        self.assertEqual(self.ebb("gen", "company", "--nodes", "60", "-o", dump)[0], 0)
        server = ("--server", f"unix:{self.server.socket}")
        now = ("--now", "2026-06-01T12:00:00Z")
        groups = self.folder.name + "/groups.yaml"
        pathlib.Path(groups).write_text("nodeGroups: [{name: general, minSize: 3}]")
        for flags in ((), ("--node-groups", groups), ("--exit-code",), ("--strict",),
                      ("--scale-down-utilization-threshold", "0.7", "--candidate-order", "input"),
                      ("--expendable-pods-priority-cutoff", "5"), ("--assume-complete",),
                      ("--max-scale-down-parallelism", "3"), ("--bound",),
                      ("--scale-down-simulation-timeout", "0s")):
            for form in ("json", "yaml", "csv", "name"):
                words = ("plan", *now, *flags, "-o", form)
                here = self.ebb(*words, dump)
                self.assertEqual(self.ebb(*words, dump, *server), here, words)
                if flags not in (("--expendable-pods-priority-cutoff", "5"),
                                 ("--assume-complete",)):
                    # Over the session's current cluster.
                    self.assertEqual(self.ebb(*words, *server)[:2], here[:2], words)
        self.ebb("plan", dump, *server)
        times = re.compile(rb"(under )?\d+(\.\d+)? m?s\b")
        for words in (("plan", *now, *flags, "-o", form) for form in ("table", "wide")
                      for flags in ((), ("--bound",))):
            here, there = (times.sub(b"T", self.ebb(*words, *where)[1])
                           for where in ((dump,), server))
            self.assertEqual(here, there)
        plan = json.loads(self.ebb("plan", dump, *now, "-o", "json")[1])
        names = (plan["remove"][0]["node"], plan["keep"][0]["node"])
        for form in ("table", "json", "yaml"):
            words = ("plan", *now, "--explain", ",".join(names), "-o", form)
            self.assertEqual(self.ebb(*words, *server)[:2], self.ebb(*words, dump)[:2])
        words = ("plan", *now, "--explain", "nosuch")
        self.assertEqual(self.ebb(*words, *server)[2].splitlines()[-1],
                         self.ebb(*words, dump)[2].splitlines()[-1])
        moved = next(each["pods"][0] for each in plan["remove"] if each["pods"])
        who = f"{moved['namespace']}/{moved['name']}"
        for flags in ((), ("-o", "json"), ("--node", names[1])):
            words = ("filter", "--pod", who, *flags)
            self.assertEqual(self.ebb(*words, *server)[:2], self.ebb(*words, dump)[:2])

    # Symptom: a flag of a question removed the session's node groups, and with them their minimums.
    def test_flags_of_a_question_are_laid_over_the_sessions_settings(self):
        dump = self.folder.name + "/c.json"
        self.assertEqual(self.ebb("gen", "company", "--nodes", "60", "-o", dump)[0], 0)
        groups = self.folder.name + "/groups.yaml"
        pathlib.Path(groups).write_text("nodeGroups: [{name: general-m8-b, minSize: 60}]")
        plan = ("plan", "--now", "2026-06-01T12:00:00Z", "-o", "name")
        low = ("--scale-down-utilization-threshold", "0.2")
        server = ("--server", f"unix:{self.server.socket}")
        self.ebb(*plan, dump, "--node-groups", groups, *low, *server)
        for flags in ((), ("--candidate-order", "input"), ("--nodes", "6:40:general-m8-b"),
                      ("--scale-down-utilization-threshold", "0.5")):
            words = (*plan, dump, "--node-groups", groups, *low, *flags)
            self.assertEqual(self.ebb(*plan, *flags, *server)[1], self.ebb(*words)[1], flags)
        self.assertNotEqual(self.ebb(*plan, dump)[1],
                            self.ebb(*plan, dump, "--node-groups", groups)[1])

    # Symptom: the answer was one about the other client's cluster, with exit code 0.
    def test_another_client_changes_the_session_between_the_load_and_the_question(self):
        dump = self.folder.name + "/c.json"
        pathlib.Path(dump).write_bytes(
            b"\n".join([node("a"), node("b"), REPLICA_SET, pod("p", "a"), pod("q", "b")]))
        changes = self.folder.name + "/changes.yaml"
        pathlib.Path(changes).write_text("objects: [{kind: Node, metadata: {name: a}, $patch: delete}]")
        other = b"\n".join([node("x"), pod("y", "x")])
        questions = (("plan", "-o", "name", "--assume-complete"), ("plan", "--explain", "a"), ("plan", "--what-if", changes),
                     ("blockers",), ("frontier",), ("filter", "--pod", "default/p"))

        def load(stub):
            stub.Load(iter([pb.LoadRequest(dump=other)]))

        def load_anew(stub):
            stub.Close(pb.CloseRequest())
            load(stub)
        meanwhile = [lambda stub: None]
        server = f"unix:{self.folder.name}/between.sock"
        between = Between(self.stub, server, lambda: meanwhile[0](self.stub))
        self.addCleanup(between.stop)
        for words in questions:
            meanwhile[0] = lambda stub: None
            code, out, err = self.ebb(*words, dump, "--server", server)
            self.assertEqual(code, 0, (words, err))
            self.assertTrue(out, words)
            for change in (load, load_anew, lambda stub: self.apply(put(node("c")))):
                meanwhile[0] = change
                code, out, err = self.ebb(*words, dump, "--server", server)
                self.assertEqual((code, out), (1, b""), (words, err))
                self.assertIn(b"session default holds another cluster than the one that was loaded", err)

    def test_errors(self):
        socket_name = f"unix:{self.server.socket}"
        for words, text in ((("plan", "--server", "unix:/nowhere"), b"No such file"),
                            (("plan", "--server", "tcp:1"), b"unix:PATH"),
                            (("plan", "--server", socket_name), b"session default"),
                            (("plan", "--server", socket_name, "--session", "A"), b"is not a name"),
                            # Symptom: an escape sequence was escaped again on the way to the client.
                            (("plan", "--server", socket_name, "--session", "a\x07b"), b"\"a\\x07b\" is"),
                            (("plan", "nothing.json", "--server", socket_name), b"nothing.json"),
                            (("filter", "--server", socket_name, "--pod", "a/b"), b"session")):
            code, out, err = self.ebb(*words)
            self.assertEqual((code, out, err.count(b"\n")), (1, b"", 1), (words, err))
            self.assertIn(text, err)
        self.assertEqual(self.ebb("plan", "--server", socket_name, "--state", "x")[0], 2)
        self.assertEqual(self.ebb("filter", "--server", socket_name)[0], 2)
        self.assertEqual(self.ebb("serve")[0], 2)


class DocsTest(ServeTest):

    def test_examples_of_the_docs_run(self):
        text = (SOURCE / "docs/service.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(examples), 5)
        calls = set(re.findall(r"rpc (\w+)\(", (SOURCE / "wire/planner.proto").read_text()))
        shown = "\n".join(examples)
        for call in calls:
            self.assertIn(f"planner.{call}(", shown)
        space = {}
        for example in examples:
            code = example.replace("/run/ebb/ebb.sock", str(self.server.socket))
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, space)  # pylint: disable=exec-used


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
